//! Reading, listing and writing files.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use domain::id::Ticket;
use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::beneath::{Place, Root, kind_words, stat_in};
use super::text;
use crate::redact::{SLACK_BYTES, redact};

/// So many entries of a folder are shown.
const ENTRIES_SHOWN_MAX: usize = 500;
/// So many are looked at; of more, any may be missing.
const ENTRIES_READ_MAX: usize = 20_000;

/// What the agent sees, or why it sees nothing.
pub(super) type Answer = Result<String, String>;

/// The same, with the place whose content it is.
pub(super) type Found = Result<(String, String), String>;

/// A real path as it is named in outcomes.
pub(super) fn place_of(real: &std::path::Path) -> String {
    real.to_string_lossy().into_owned()
}

/// Reads a text file.
pub(super) fn read_file(root: &Root, path: &str, bytes_max: u64) -> Found {
    let (file, size, real) = root.real_file(path).map_err(|e| e.to_string())?;
    let real = place_of(&real);
    let mut bytes = Vec::new();
    let failed = |e: std::io::Error| format!("{path} cannot be read: {e}");
    file.take(bytes_max.saturating_add(SLACK_BYTES as u64)).read_to_end(&mut bytes).map_err(failed)?;
    let is_cut = bytes.len() as u64 > bytes_max;
    let Some(text) = text::from_bytes(&bytes, is_cut) else {
        return Err(format!("{path} is not a text file in UTF-8 ({size} bytes)"));
    };
    // Redacted before it is cut, so that the cut leaves no half of a credential.
    let mut text = redact(text);
    if is_cut {
        let end = text.floor_char_boundary(usize::try_from(bytes_max).unwrap_or(usize::MAX));
        text.to_mut().truncate(end);
    }
    if is_cut {
        return Ok((format!("{text}\n[cut: the first {} of {size} bytes of {path}]", text.len()), real));
    }
    if text.is_empty() {
        return Ok((format!("[{path} is empty]"), real));
    }
    Ok((text.into_owned(), real))
}

/// Lists a folder.
pub(super) fn list_directory(root: &Root, path: &str, bytes_max: u64) -> Found {
    let found = root.folder(path).map_err(|e| e.to_string())?;
    let failed = |e: Errno| format!("{path} cannot be listed: {}", std::io::Error::from(e));
    let is_home = found.real.as_os_str().is_empty();
    // Only names are shown, and whoever made a file chose its name.
    let real = format!("names:{}", place_of(&found.real));
    let mut names: Vec<String> = Vec::new();
    for entry in Dir::read_from(&found.fd).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy();
        if matches!(name.as_ref(), "." | "..") || (is_home && name == ".synod") {
            continue;
        }
        names.push(name.into_owned());
        if names.len() == ENTRIES_READ_MAX {
            break;
        }
    }
    names.sort_unstable();
    if names.is_empty() {
        return Ok((format!("[{path} is empty]"), real));
    }
    let mut lines: Vec<String> =
        names.iter().take(ENTRIES_SHOWN_MAX).map(|name| line(&found.fd, name)).collect();
    if names.len() > ENTRIES_SHOWN_MAX {
        let at_least = if names.len() == ENTRIES_READ_MAX { "at least " } else { "" };
        lines.push(format!("[cut: the first {ENTRIES_SHOWN_MAX} of {at_least}{} entries]", names.len()));
    }
    Ok((text::head(lines.join("\n"), bytes_max), real))
}

fn line(folder: &OwnedFd, name: &str) -> String {
    let shown = if name.chars().any(char::is_control) { format!("{name:?}") } else { name.to_owned() };
    let Ok(Some(stat)) = stat_in(folder, name) else { return shown };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => format!("{shown}/"),
        FileType::RegularFile => format!("{shown}  {} bytes", stat.st_size),
        kind => format!("{shown}  {}", kind_words(kind)),
    }
}

/// Makes a folder and those above it.
pub(super) fn create_directory(root: &Root, path: &str) -> Answer {
    root.make_folder(path).map_err(|e| e.to_string())?;
    Ok(format!("{path} is there"))
}

/// Writes a whole file or nothing: aside, to the disk, then in its place.
pub(super) fn write_file(root: &Root, ticket: Ticket, path: &str, content: &str) -> Answer {
    let place = root.place(path).map_err(|e| e.to_string())?;
    let failed = |e: std::io::Error| format!("{path} cannot be written: {e}");
    let old = stat_in(&place.folder.fd, &place.name).map_err(|e| failed(e.into()))?;
    let kind = old.as_ref().map_or(FileType::RegularFile, |stat| FileType::from_raw_mode(stat.st_mode));
    if kind != FileType::RegularFile {
        return Err(format!("{path} is {}, not a file", kind_words(kind)));
    }
    let mode = old.as_ref().map(|stat| Mode::from_raw_mode(stat.st_mode & 0o777));
    replace(&place, ticket, mode, content.as_bytes()).map_err(failed)?;
    let done = if old.is_some() { "replaced" } else { "made" };
    Ok(format!("{path} is {done}: {} bytes", content.len()))
}

fn replace(place: &Place, ticket: Ticket, mode: Option<Mode>, content: &[u8]) -> std::io::Result<()> {
    let folder = &place.folder.fd;
    // Named after the effect: a try that a crash cut short is cleared away by the next.
    let aside = format!(".synod-write-{}-{}.tmp", ticket.effect, ticket.attempt);
    let written = write_aside(folder, &aside, mode, content)
        .and_then(|()| Ok(fs::renameat(folder, aside.as_str(), folder, place.name.as_str())?));
    if let Err(e) = written {
        // It may not be there; the first error is the one that counts.
        let _ = fs::unlinkat(folder, aside.as_str(), AtFlags::empty());
        return Err(e);
    }
    // Without this, the new name could be lost with the power.
    Ok(fs::fsync(folder)?)
}

fn write_aside(folder: &OwnedFd, aside: &str, mode: Option<Mode>, content: &[u8]) -> std::io::Result<()> {
    match fs::unlinkat(folder, aside, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(e) => return Err(e.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(fs::openat(folder, aside, flags, Mode::from_raw_mode(0o666))?);
    if let Some(mode) = mode {
        fs::fchmod(&file, mode)?;
    }
    file.write_all(content)?;
    file.sync_all()
}
