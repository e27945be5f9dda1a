//! What a command sees of the file system: a list of mounts that both backends make. What is not named here is not
//! there, so a control file is absent whether it exists or not.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Cage;
use super::guard::Guards;
use super::mount::Mount;

/// Folders of the system: links stay links, folders are bound read-only.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/// Parts of `/etc` that programs need and that hold no secrets.
const ETC: [&str; 27] = [
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "debian_version",
    "fonts",
    "group",
    "inputrc",
    "java",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust/extracted",
    "profile",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
];

/// Parts that only make sense with a network.
const ETC_NETWORK: [&str; 4] = ["host.conf", "hosts", "resolv.conf", "gai.conf"];

/// Room for folders that only hold mount points.
const FRAME_BYTES: u64 = 1 << 20;
/// The size of `/dev/shm`.
const SHARED_BYTES: u64 = 64 << 20;

/// Everything that is seen, in the order in which it is mounted. `/proc` and `/dev` come after the system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct View {
    pub(super) system: Vec<Mount>,
    pub(super) own: Vec<Mount>,
    /// What may be read of `memory/`, for a command without a view.
    pub(super) memory: Vec<PathBuf>,
}

impl View {
    /// What the command in a cage sees.
    pub(super) fn of(cage: &Cage, guards: &Guards) -> Self {
        let mut system: Vec<Mount> = SYSTEM.iter().filter_map(|at| seen(Path::new(at))).collect();
        let network: &[&str] = if cage.network { &ETC_NETWORK } else { &[] };
        let etc = ETC.iter().chain(network).map(|name| Path::new("/etc").join(name));
        // The real place, because a link may lead to where nothing is seen.
        system.extend(etc.filter_map(|at| Some(Mount::ReadOnly { from: fs::canonicalize(&at).ok()?, at })));
        let workspace = cage.workspace.clone();
        let mut own = vec![
            Mount::Memory { at: "/dev/shm".into(), bytes: SHARED_BYTES },
            Mount::Memory { at: "/tmp".into(), bytes: cage.limits.tmp_bytes_max },
        ];
        let more = cage.read.iter().filter_map(|at| {
            let from = fs::canonicalize(at).ok()?;
            Some(Mount::ReadOnly { at: at.clone(), from })
        });
        own.extend(more);
        // Also where it would be seen because it lies in a folder of the system.
        own.push(Mount::Memory { at: cage.home.clone(), bytes: FRAME_BYTES });
        own.extend_from_slice(cage.memory.mounts());
        own.push(match cage.writable {
            true => Mount::Writable { at: workspace.clone(), from: workspace },
            false => Mount::ReadOnly { at: workspace.clone(), from: workspace },
        });
        own.extend(guards.mounts());
        own.push(Mount::Sealed { at: cage.home.clone() });
        own.push(Mount::Sealed { at: "/".into() });
        let memory = cage.memory.readable(&cage.home);
        Self { system, own, memory }
    }
}

fn seen(at: &Path) -> Option<Mount> {
    let kind = fs::symlink_metadata(at).ok()?.file_type();
    let at = at.to_owned();
    if kind.is_symlink() {
        let to = fs::read_link(&at).ok()?;
        return Some(Mount::Link { at, to });
    }
    kind.is_dir().then(|| Mount::ReadOnly { from: at.clone(), at })
}
