//! Sessions, by their heads: conversations may be long, and most commands need only what stands above them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use domain::id::Time;
use domain::layout;
use domain::session::{Head, Status};
use formats::session::{SessionFile, torn_tail};

use super::files::{self, Unreadable};

/// A file up to this size is read whole; of a larger one, so much at first.
const HEAD_BYTES: usize = 16 << 10;

/// A session without its messages.
#[derive(Debug)]
pub struct Session {
    /// Relative to the home.
    pub path: String,
    /// What stands above the messages.
    pub head: Head,
    /// How it stands.
    pub status: Status,
    /// When it last changed: what the file says, else when it began.
    pub updated: Time,
    /// The messages of a file that was read whole.
    messages: Option<usize>,
}

/// The session of a file, if that is what is named; else the name as it is.
pub fn session_of(name: &str) -> &str {
    let inside = name.strip_prefix("./").unwrap_or(name).strip_prefix("sessions/");
    inside.and_then(|file| file.strip_suffix(layout::SESSION_END)).unwrap_or(name)
}

/// The sessions whose heads can be read, sorted by file, and the files of the others.
pub fn list(home: &Path) -> (Vec<Session>, Vec<String>) {
    let mut found = Vec::new();
    let mut broken = Vec::new();
    for path in files::list(home, layout::SESSIONS, layout::SESSION_END) {
        match read_head(home, &path) {
            Some(session) => found.push(session),
            None => broken.push(path),
        }
    }
    (found, broken)
}

impl Session {
    /// How many messages it has. A long file is counted line by line: only a message starts with a dash in
    /// the column of the first one's.
    pub fn messages(&self, home: &Path) -> usize {
        if let Some(known) = self.messages {
            return known;
        }
        let Ok(mut file) = files::open(home, &self.path) else { return 0 };
        let mut bytes = Vec::new();
        _ = file.read_to_end(&mut bytes);
        let Some((_, list)) = split(&bytes) else { return 0 };
        let mut lines = list.split(|b| *b == b'\n').skip(1);
        let Some(first) = lines.by_ref().find(|l| dash(l).is_some()) else { return 0 };
        1 + lines.filter(|l| dash(l) == dash(first)).count()
    }
}

/// The column of the dash that a line starts with.
fn dash(line: &[u8]) -> Option<usize> {
    let column = line.iter().position(|b| *b != b' ')?;
    (line[column] == b'-' && line.get(column + 1).is_none_or(|b| b" \r".contains(b))).then_some(column)
}

/// What stands above `messages:`, and the rest from there on.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    const KEY: &[u8] = b"\nmessages:";
    let at = bytes.windows(KEY.len()).position(|w| w == KEY)?;
    Some(bytes.split_at(at + 1))
}

fn read_head(home: &Path, path: &str) -> Option<Session> {
    let mut file = files::open(home, path).ok()?;
    let mut bytes = vec![0; HEAD_BYTES + 1];
    let length = read_up_to(&mut file, &mut bytes)?;
    bytes.truncate(length);
    if length <= HEAD_BYTES {
        let whole = std::str::from_utf8(&bytes).ok().and_then(|text| parse(path, text).ok());
        if let Some((file, _)) = whole {
            return Some(session(&file, Some(file.messages().len())));
        }
    } else if split(&bytes).is_none() {
        // A long system prompt; rare enough to read everything.
        file.seek(SeekFrom::Start(0)).ok()?;
        bytes.clear();
        file.read_to_end(&mut bytes).ok()?;
    }
    let (head, _) = split(&bytes)?;
    let (file, _) = SessionFile::parse(path, std::str::from_utf8(head).ok()?);
    Some(session(&file?, None))
}

fn session(file: &SessionFile, messages: Option<usize>) -> Session {
    let updated = file.updated().unwrap_or(file.head().created);
    Session {
        path: file.path().to_owned(),
        head: file.head().clone(),
        status: file.status(),
        updated,
        messages,
    }
}

fn read_up_to(file: &mut File, buffer: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]).ok()? {
            0 => break,
            n => length += n,
        }
    }
    Some(length)
}

/// Whether the last message was cut off while it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// The file is whole.
    Whole,
    /// It was left out.
    Torn,
}

/// Reads a whole session; its first error if that does not work.
pub fn read(home: &Path, path: &str) -> Result<(SessionFile, Tail), String> {
    let text =
        files::read(home, path).map_err(|error: Unreadable| format!("{path} cannot be read: {error}"))?;
    parse(path, &text)
}

fn parse(path: &str, text: &str) -> Result<(SessionFile, Tail), String> {
    if let Some(kept) = torn_tail(text)
        && let (Some(file), _) = SessionFile::parse(path, &text[..kept])
    {
        return Ok((file, Tail::Torn));
    }
    match SessionFile::parse(path, text) {
        (Some(file), _) => Ok((file, Tail::Whole)),
        (None, diagnostics) => Err(diagnostics.first().map_or_else(
            || format!("{path} cannot be read"),
            |d| format!("{}:{}:{}: {}", d.path, d.line, d.column, d.message),
        )),
    }
}
