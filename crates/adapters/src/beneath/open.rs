//! The two ways to open a path beneath a folder.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{self, CWD, Mode, OFlags};
use rustix::io::Errno;

/// Whether the kernel can open a path beneath a folder, and tell where it ended.
#[cfg(target_os = "linux")]
pub(super) fn kernel_resolves(fd: &OwnedFd) -> bool {
    by_kernel(fd, ".", OFlags::PATH | OFlags::CLOEXEC, true).is_ok_and(|fd| path_of(&fd).is_ok())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn kernel_resolves(_: &OwnedFd) -> bool {
    false
}

/// Opens a path that stays beneath the folder, links on the way included if they are followed at all.
#[cfg(target_os = "linux")]
pub(super) fn by_kernel(
    home: &OwnedFd,
    path: &str,
    flags: OFlags,
    follows_links: bool,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let links = if follows_links { ResolveFlags::NO_MAGICLINKS } else { ResolveFlags::NO_SYMLINKS };
    let resolve = ResolveFlags::BENEATH | links;
    // EAGAIN: a folder was renamed meanwhile, and the kernel cannot tell whether the path stayed beneath.
    for _ in 0..16 {
        match fs::openat2(home, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn by_kernel(_: &OwnedFd, _: &str, _: OFlags, _: bool) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Opens a path one name after the other, and follows no link at all.
pub(super) fn by_steps(home: &OwnedFd, parts: &[&str], flags: OFlags) -> Result<OwnedFd, Errno> {
    let Some((last, above)) = parts.split_last() else {
        return fs::openat(home, ".", flags, Mode::empty());
    };
    let step = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here: Option<OwnedFd> = None;
    for name in above {
        let from = here.as_ref().map_or(home.as_fd(), AsFd::as_fd);
        let next = fs::openat(from, *name, step, Mode::empty())?;
        here = Some(next);
    }
    let from = here.as_ref().map_or(home.as_fd(), AsFd::as_fd);
    fs::openat(from, *last, flags | OFlags::NOFOLLOW, Mode::empty())
}

/// Where an open handle is now.
pub(super) fn path_of(fd: &OwnedFd) -> Result<PathBuf, Errno> {
    let link = fs::readlinkat(CWD, format!("/proc/self/fd/{}", fd.as_raw_fd()), Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(link.as_bytes())))
}
