//! The cage made by bubblewrap. Its arguments are the view; all else is off.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::Cage;
use super::mount::{COVER, Mount};
use super::stage::{self, Stage};
use super::view::View;

/// Where the inner program stands in the view.
const INNER: &str = "/run/synod-inner";

/// What is found in the fixed path.
pub(super) fn program() -> Option<&'static Path> {
    ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"].map(Path::new).into_iter().find(|p| p.exists())
}

pub(super) fn command(program_inside: &Path, cage: &Cage, view: &View) -> Command {
    let mut command = Command::new(program().unwrap_or(Path::new("bwrap")));
    command.args([
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]);
    if !cage.network {
        command.arg("--unshare-net");
    }
    // The inner program is the first process of its namespace: when it ends, so does everything.
    command.args(["--as-pid-1", "--new-session", "--clearenv", "--hostname", "cage"]);
    // The one right with which it limits its namespace, before it drops that too.
    command.args(["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN"]);
    command.args(view.system.iter().flat_map(words));
    command.args(["--proc", "/proc", "--dev", "/dev"]);
    command.args(["--ro-bind".as_ref(), program_inside.as_os_str(), INNER.as_ref()]);
    command.args(view.own.iter().flat_map(words));
    command.arg("--chdir").arg(&cage.workspace);
    command.args(["--", INNER, stage::COMMAND, Stage::Caged.as_str()]);
    command
}

fn words(mount: &Mount) -> Vec<OsString> {
    let words: &[&std::ffi::OsStr] = match mount {
        Mount::Link { at, to } => &["--symlink".as_ref(), to.as_ref(), at.as_ref()],
        Mount::ReadOnly { at, from } => &["--ro-bind".as_ref(), from.as_ref(), at.as_ref()],
        Mount::Writable { at, from } => &["--bind".as_ref(), from.as_ref(), at.as_ref()],
        // What is bound like this has no devices.
        Mount::Covered { at } => &["--ro-bind".as_ref(), COVER.as_ref(), at.as_ref()],
        Mount::Memory { at, bytes } => {
            let bytes = bytes.to_string();
            return ["--size".into(), bytes.into(), "--tmpfs".into(), at.clone().into_os_string()].into();
        }
        Mount::Sealed { at } => &["--remount-ro".as_ref(), at.as_ref()],
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}
