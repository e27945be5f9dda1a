//! The cage made by Synod itself where there is no bubblewrap: user, mount, process, network and other namespaces,
//! and a root folder in memory that holds the view and nothing else.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sendto, socket_with};
use rustix::process::{chdir, getgid, getuid, pivot_root};
use rustix::system::sethostname;
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, configure_capability_in_ambient_set, set_capabilities,
};

use super::job::Job;
use super::mount::{COVER, DEVICES, Mount};
use super::pids::Bound;
use super::stage::{self, Stage};

/// Where the old and the new root are while the view is made.
const OLD: &str = "/old";
const NEW: &str = "/new";
/// The least number of processes that the kernel takes as a limit of a namespace.
const PROCESSES_LEAST: u64 = 301;
/// The flags of a bound mount that must stay as they are.
const KEPT: [(StatVfsMountFlags, MountFlags); 5] = [
    (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
    (StatVfsMountFlags::NODEV, MountFlags::NODEV),
    (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
    (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
];

pub(super) fn command(program: &Path, network: bool) -> Command {
    stage::command(program, if network { Stage::Share } else { Stage::Unshare })
}

/// Goes into new namespaces. The next process that this one starts is the first of its own.
pub(super) fn enter(network: bool) -> io::Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let mut flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    if !network {
        flags |= UnshareFlags::NEWNET;
    }
    #[expect(deprecated, reason = "its other form is unsafe because of a flag that is not used here")]
    rustix::thread::unshare(flags)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    sethostname(b"cage")?;
    if !network {
        raise_loopback()?;
    }
    keep_mounting()
}

/// Whoever is not root loses every right when a program begins; the next stage still has to mount.
fn keep_mounting() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets)?;
    Ok(configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?)
}

/// A network of one's own begins with nothing; tests often want at least themselves.
fn raise_loopback() -> io::Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const NLM_F_REQUEST: u16 = 1;
    const IFF_UP: u32 = 1;
    const LOOPBACK: i32 = 1;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    // Number and sender, then family, padding and kind of device: none of them matters.
    message.extend([0; 12]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    Ok(())
}

/// Makes the view and leaves everything else behind. For the first process of the namespaces.
pub(super) fn settle(job: &Job) -> io::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // Two roots side by side: what is bound may lie anywhere in the old one, also where the new one begins.
    memory(Path::new("/tmp"), 1 << 20)?;
    fs::create_dir("/tmp/old")?;
    fs::create_dir("/tmp/new")?;
    pivot_root("/tmp", "/tmp/old")?;
    chdir("/")?;
    memory(Path::new(NEW), 1 << 20)?;
    for mount in &job.view.system {
        make(mount)?;
    }
    proc(job)?;
    devices()?;
    for mount in &job.view.own {
        make(mount)?;
    }
    chdir(NEW)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    chdir(&job.workspace)?;
    Ok(())
}

fn make(mount: &Mount) -> io::Result<()> {
    let step = match mount {
        Mount::Link { at, to } => folder(at.parent()).and_then(|()| symlink(to, new(at))),
        Mount::ReadOnly { at, from } => bind(from, at).and_then(|()| seal_all(&new(at))),
        Mount::Writable { at, from } => bind(from, at),
        Mount::Covered { at } => {
            bind(Path::new(COVER), at).and_then(|()| seal_with(&new(at), MountFlags::NODEV))
        }
        Mount::Memory { at, bytes } => folder(Some(at)).and_then(|()| memory(&new(at), *bytes)),
        Mount::Sealed { at } => seal(&new(at)),
    };
    step.map_err(|e| io::Error::new(e.kind(), format!("{mount:?}: {e}")))
}

/// A path of the view while it is made.
fn new(at: &Path) -> PathBuf {
    Path::new(NEW).join(at.strip_prefix("/").unwrap_or(at))
}

fn old(from: &Path) -> PathBuf {
    Path::new(OLD).join(from.strip_prefix("/").unwrap_or(from))
}

fn folder(at: Option<&Path>) -> io::Result<()> {
    fs::create_dir_all(new(at.unwrap_or(Path::new("/"))))
}

fn bind(from: &Path, at: &Path) -> io::Result<()> {
    let (from, target) = (old(from), new(at));
    if fs::metadata(&from)?.is_dir() {
        folder(Some(at))?;
    } else {
        folder(at.parent())?;
        if !target.exists() {
            File::create(&target)?;
        }
    }
    Ok(mount_bind_recursive(&from, &target)?)
}

fn memory(at: &Path, bytes: u64) -> io::Result<()> {
    let options = CString::new(format!("size={bytes},nr_inodes=65536,mode=755"))?;
    Ok(mount("tmpfs", at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())?)
}

/// Lets nothing more be written at a mount.
fn seal(at: &Path) -> io::Result<()> {
    seal_with(at, MountFlags::empty())
}

fn seal_with(at: &Path, more: MountFlags) -> io::Result<()> {
    let has = statvfs(at)?.f_flag;
    let kept = KEPT.iter().filter(|(flag, _)| has.contains(*flag)).map(|(_, flag)| *flag);
    let least = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | more;
    let flags = kept.fold(least, |all, flag| all | flag);
    Ok(mount_remount(at, flags, "")?)
}

/// The same for a mount and those beneath it.
fn seal_all(at: &Path) -> io::Result<()> {
    seal(at)?;
    let beneath = format!("{}/", at.display());
    let mounts = fs::read_to_string(old(Path::new("/proc/self/mountinfo")))?;
    for place in mounts.lines().filter_map(|line| line.split(' ').nth(4)) {
        if place.starts_with(&beneath) {
            seal(Path::new(&unescaped(place)))?;
        }
    }
    Ok(())
}

/// A path as `mountinfo` writes it: blanks and the like are octal.
fn unescaped(place: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(place.to_owned(), |text, (escape, character)| text.replace(escape, character))
}

fn proc(job: &Job) -> io::Result<()> {
    folder(Some(Path::new("/proc")))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let at = new(Path::new("/proc"));
    mount("proc", &at, "proc", flags, None)?;
    limit_processes(&at, job)?;
    Ok(mount_remount(&at, flags | MountFlags::BIND | MountFlags::RDONLY, "")?)
}

/// Lets the namespace of this process hold no more than the job may have, if it has a limit of its own. It binds
/// root too.
pub(super) fn limit_processes(proc: &Path, job: &Job) -> io::Result<()> {
    match job.bound {
        Bound::Namespace => {}
        Bound::User | Bound::Group | Bound::Watch => return Ok(()),
    }
    let processes_max = job.limits.processes_max;
    let settings = proc.join("sys");
    // Bubblewrap covers it; whoever may not uncover it is bound by the user's limit.
    let is_uncovered = unmount(&settings, UnmountFlags::DETACH).is_ok();
    let _ = fs::write(settings.join("kernel/pid_max"), processes_max.max(PROCESSES_LEAST).to_string());
    if is_uncovered {
        mount_bind_recursive(&settings, &settings)?;
        seal(&settings)?;
    }
    Ok(())
}

fn devices() -> io::Result<()> {
    let dev = new(Path::new("/dev"));
    fs::create_dir(&dev)?;
    memory(&dev, 1 << 20)?;
    for name in DEVICES {
        let at = Path::new("/dev").join(name);
        bind(&at, &at)?;
    }
    for (name, to) in [("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
        symlink(Path::new("/proc/self").join(to), dev.join(name))?;
    }
    fs::create_dir(dev.join("pts"))?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("devpts", dev.join("pts"), "devpts", flags, c"newinstance,ptmxmode=0666,mode=620")?;
    symlink("pts/ptmx", dev.join("ptmx"))?;
    fs::create_dir(dev.join("shm"))
}
