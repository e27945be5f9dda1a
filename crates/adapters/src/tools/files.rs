//! Reading, listing and writing files.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use domain::id::Ticket;
use domain::layout;
use rustix::fs::{self, AtFlags, Dir, FileType, Mode};
use rustix::io::Errno;

use super::fences::Pass;
use crate::beneath::aside;
use crate::beneath::{Place, Root, kind_words, stat_in};
use crate::redact::{SLACK_BYTES, redact};
use crate::search::lines::Clean;
use crate::text;
use crate::until::Until;

/// So many entries of a folder are shown.
const ENTRIES_SHOWN_MAX: usize = 500;
/// So many are looked at; of more, any may be missing.
const ENTRIES_READ_MAX: usize = 20_000;

/// So much of a file is gone through to reach a line.
const SCANNED_BYTES_MAX: u64 = 1 << 30;

/// Larger files are not edited.
const CHANGED_BYTES_MAX: u64 = 8 << 20;

/// What the agent sees, or why it sees nothing.
pub(super) type Answer = Result<String, String>;

/// The same, with the place whose content it is.
pub(super) type Found = Result<(String, String), String>;

/// A real path as it is named in outcomes.
pub(super) fn place_of(real: &std::path::Path) -> String {
    real.to_string_lossy().into_owned()
}

/// The part of a file that is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// From 1.
    pub(super) from_line: u64,
    pub(super) lines: u64,
}

impl Part {
    pub(super) fn new(from_line: Option<u64>, lines: Option<u64>) -> Self {
        Self { from_line: from_line.unwrap_or(1).max(1), lines: lines.unwrap_or(u64::MAX).max(1) }
    }
}

/// Reads a text file, or a part of it.
pub(super) fn read_file(root: &Root, path: &str, part: Part, bytes_max: u64, until: &Until) -> Found {
    let (file, size, real) = root.real_file(path).map_err(|e| root.in_words(e))?;
    let (real, shown_path) = (place_of(&real), root.shown(path));
    let path = shown_path.as_str();
    let failed = |e: std::io::Error| format!("{path} cannot be read: {e}");
    let mut reader = BufReader::new((&file).take(SCANNED_BYTES_MAX));
    let mut before = 0;
    for line in 1..part.from_line {
        if until.is_over() {
            return Err(format!("the time did not suffice to reach line {} of {path}", part.from_line));
        }
        match reader.skip_until(b'\n').map_err(failed)? {
            0 => return Ok((format!("[{path} has only {} lines]", line - 1), real)),
            skipped => before += skipped as u64,
        }
    }
    let read = Lines::read(&mut reader, part, bytes_max).map_err(failed)?;
    let Some(text) = text::from_bytes(&read.bytes, read.end == End::InLine) else {
        return Err(format!("{path} is not a text file in UTF-8 ({size} bytes)"));
    };
    let first = part.from_line;
    if text.is_empty() && read.end == End::Whole {
        let note = if first == 1 { "is empty".to_owned() } else { format!("has only {} lines", first - 1) };
        return Ok((format!("[{path} {note}]"), real));
    }
    let clean = match read.end {
        End::Whole | End::AtLine => redact_lines(&file, before, text),
        End::InLine => redact_start(&file, before, text),
    };
    let mut shown = numbered(&clean, first);
    if read.end == End::Whole && first == 1 {
        return Ok((shown, real));
    }
    let rest = match read.end {
        End::Whole => Count { lines: 0, is_whole: true },
        End::AtLine | End::InLine => Count::from(&file, before + read.bytes.len() as u64, until),
    };
    let (all, last) = (first - 1 + read.count + rest.lines, first - 1 + read.count.max(1));
    let at_least = if rest.is_whole { "" } else { "at least " };
    if !shown.ends_with('\n') {
        shown.push('\n');
    }
    shown.push_str(&format!("[lines {first}-{last} of {at_least}{all}"));
    if read.end == End::InLine {
        shown.push_str(&format!("; cut: only the first {} bytes of line {first}", clean.len()));
    }
    if all > last {
        shown.push_str(&format!("; read on with from_line {}", last + 1));
    }
    shown.push(']');
    Ok((shown, real))
}

/// Lines with their numbers, as `cat -n` shows them.
fn numbered(text: &str, first: u64) -> String {
    let lines = text.split_inclusive('\n').zip(first..);
    lines.map(|(line, number)| format!("{number:>6}\t{line}")).collect()
}

/// How many bytes a line number takes.
fn number_bytes(number: u64) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0) + 1).max(6) + 1
}

/// How many lines there are from a place on.
struct Count {
    lines: u64,
    /// Whether the end was reached.
    is_whole: bool,
}

impl Count {
    fn from(file: &File, from: u64, until: &Until) -> Self {
        let mut bytes = vec![0; 64 << 10];
        let (mut at, mut lines, mut last) = (from, 0, b'\n');
        while at < SCANNED_BYTES_MAX && !until.is_over() {
            let Ok(read) = file.read_at(&mut bytes, at) else { break };
            let Some(end) = bytes[..read].last() else {
                return Self { lines: lines + u64::from(last != b'\n'), is_whole: true };
            };
            last = *end;
            lines += bytes[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
            at += read as u64;
        }
        Self { lines, is_whole: false }
    }
}

/// Lines of a file without credentials, also without parts of such that begin before or end behind them. Each line stays
/// one line, so that its number is right.
fn redact_lines(file: &File, from: u64, text: &str) -> String {
    let start = from.saturating_sub(SLACK_BYTES as u64);
    let clean = Clean::of(&around(file, start, from + text.len() as u64 + SLACK_BYTES as u64));
    let line = |line: &str| {
        let bare = line.trim_end_matches(['\r', '\n']);
        format!("{}{}", clean.line(bare), &line[bare.len()..])
    };
    text.split_inclusive('\n').map(line).collect()
}

/// The beginning of a line without credentials, also without one that goes on behind it.
fn redact_start(file: &File, from: u64, text: &str) -> String {
    let mut clean = redact(&around(file, from, from + (text.len() + SLACK_BYTES) as u64)).into_owned();
    clean.truncate(clean.floor_char_boundary(text.len()));
    clean
}

/// A part of a file as text; what cannot be read is missing.
fn around(file: &File, from: u64, to: u64) -> String {
    let mut bytes = vec![0; usize::try_from(to - from).unwrap_or(0)];
    let mut filled = 0;
    while let Ok(read @ 1..) = file.read_at(&mut bytes[filled..], from + filled as u64) {
        filled += read;
    }
    String::from_utf8_lossy(&bytes[..filled]).into_owned()
}

/// Lines of a file, as many as are wanted and fit.
struct Lines {
    bytes: Vec<u8>,
    count: u64,
    end: End,
}

/// Why no more lines are shown.
#[derive(PartialEq, Eq)]
enum End {
    /// There are none.
    Whole,
    /// They were not wanted, or do not fit.
    AtLine,
    /// The first one alone does not fit.
    InLine,
}

impl Lines {
    fn read(reader: &mut impl BufRead, part: Part, bytes_max: u64) -> std::io::Result<Self> {
        let mut bytes = Vec::new();
        let (mut count, mut numbers) = (0, 0);
        while count < part.lines {
            let before = bytes.len();
            numbers += if count == 0 { 0 } else { number_bytes(part.from_line + count) };
            let room = (bytes_max + 1).saturating_sub(before as u64 + numbers);
            if room == 0 {
                let end = if reader.fill_buf()?.is_empty() { End::Whole } else { End::AtLine };
                return Ok(Self { bytes, count, end });
            }
            if reader.take(room).read_until(b'\n', &mut bytes)? == 0 {
                return Ok(Self { bytes, count, end: End::Whole });
            }
            if bytes.len() as u64 + numbers > bytes_max {
                let end = if count == 0 { End::InLine } else { End::AtLine };
                let kept = if count == 0 { usize::try_from(bytes_max).unwrap_or(usize::MAX) } else { before };
                bytes.truncate(kept);
                return Ok(Self { bytes, count, end });
            }
            count += 1;
        }
        let end = if reader.fill_buf()?.is_empty() { End::Whole } else { End::AtLine };
        Ok(Self { bytes, count, end })
    }
}

/// Lists a folder.
pub(super) fn list_directory(root: &Root, path: &str, bytes_max: u64) -> Found {
    let found = root.folder(path).map_err(|e| root.in_words(e))?;
    let path = root.shown(path);
    let failed = |e: Errno| format!("{path} cannot be listed: {}", std::io::Error::from(e));
    let is_home = found.real.as_os_str().is_empty();
    // Only names are shown, and whoever made a file chose its name.
    let real = format!("names:{}", place_of(&found.real));
    let mut names: Vec<String> = Vec::new();
    for entry in Dir::read_from(&found.fd).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy();
        if matches!(name.as_ref(), "." | "..") || (is_home && name == layout::OWN) {
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
        lines.push(format!(
            "[cut: the first {ENTRIES_SHOWN_MAX} of {at_least}{} entries; search_files finds others by name]",
            names.len()
        ));
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

/// Reads a text file that is to be changed.
pub(super) fn read_whole(root: &Root, path: &str) -> Result<String, String> {
    let (file, size) = root.file(path).map_err(|refused| root.in_words(refused))?;
    let path = root.shown(path);
    let mut bytes = Vec::new();
    let read = file.take(CHANGED_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|e| format!("{path} cannot be read: {e}"))?;
    if bytes.len() as u64 > CHANGED_BYTES_MAX {
        return Err(format!(
            "{path} has {size} bytes; files larger than {} MiB are not edited",
            CHANGED_BYTES_MAX >> 20
        ));
    }
    let not_text = || format!("{path} is not a text file in UTF-8 ({size} bytes)");
    text::from_bytes(&bytes, false).map(str::to_owned).ok_or_else(not_text)
}

/// Makes a folder and those above it.
pub(super) fn create_directory(root: &Root, path: &str) -> Answer {
    root.make_folder(path).map_err(|e| root.in_words(e))?;
    Ok(format!("{} is there", root.shown(path)))
}

/// Writes a whole file or nothing: aside, to the disk, then in its place.
pub(super) fn write_file(root: &Root, ticket: Ticket, path: &str, content: &str, pass: &Pass) -> Answer {
    let place = root.place(path).map_err(|e| root.in_words(e))?;
    let failed = |e: std::io::Error| format!("{} cannot be written: {e}", root.shown(path));
    let old = stat_in(&place.folder.fd, &place.name).map_err(|e| failed(e.into()))?;
    let kind = old.as_ref().map_or(FileType::RegularFile, |stat| FileType::from_raw_mode(stat.st_mode));
    if kind != FileType::RegularFile {
        return Err(format!("{} is {}, not a file", root.shown(path), kind_words(kind)));
    }
    let mode = old.as_ref().map(|stat| Mode::from_raw_mode(stat.st_mode & 0o777));
    replace(&place, ticket, mode, content.as_bytes(), pass).map_err(failed)?;
    let done = if old.is_some() { "replaced" } else { "made" };
    Ok(format!("{} is {done}: {} bytes", root.shown(path), content.len()))
}

pub(super) fn replace(
    place: &Place,
    ticket: Ticket,
    mode: Option<Mode>,
    content: &[u8],
    pass: &Pass,
) -> std::io::Result<()> {
    let folder = &place.folder.fd;
    // Named after the effect: a try that a crash cut short is cleared away by the next.
    let name = |attempt| aside::name_of(&format!("{}-{attempt}", ticket.effect));
    for before in 1..ticket.attempt {
        // It may not be there, and what cannot be removed is in nobody's way.
        let _ = fs::unlinkat(folder, name(before).as_str(), AtFlags::empty());
    }
    let new = name(ticket.attempt);
    let written = aside::write(folder, &new, mode, content)
        .and_then(|()| pass.through(|| Ok(fs::renameat(folder, new.as_str(), folder, place.name.as_str())?)));
    if let Err(e) = written {
        // It may not be there; the first error is the one that counts.
        let _ = fs::unlinkat(folder, new.as_str(), AtFlags::empty());
        return Err(e);
    }
    // Without this, the new name could be lost with the power.
    Ok(fs::fsync(folder)?)
}
