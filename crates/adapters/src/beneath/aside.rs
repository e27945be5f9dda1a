//! Files that a write prepares beside their place, under a name that no other file has.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// How the name of such a file begins and ends.
const BEGIN: &str = ".synod-write-";
const END: &str = ".tmp";

/// The name under which an attempt prepares what it writes.
pub(crate) fn name_of(mark: &str) -> String {
    format!("{BEGIN}{mark}{END}")
}

/// Whether a file is named like one that a write prepares.
pub(crate) fn is_aside(name: &str) -> bool {
    name.starts_with(BEGIN) && name.ends_with(END)
}

/// Writes a new file to the disk. An old one of this name, which an attempt left behind, is removed first.
pub(crate) fn write(folder: &OwnedFd, name: &str, mode: Option<Mode>, content: &[u8]) -> std::io::Result<()> {
    match fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(e) => return Err(e.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(fs::openat(folder, name, flags, Mode::from_raw_mode(0o666))?);
    if let Some(mode) = mode {
        fs::fchmod(&file, mode)?;
    }
    file.write_all(content)?;
    file.sync_all()
}
