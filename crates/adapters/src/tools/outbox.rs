//! What goes out to people: one line for each message in a file that whoever carries it on reads. A line carries
//! the effect it is for, and is looked for before it is written again: so a message goes out once.

use std::fs::File;
use std::io::{Read, Write};

use domain::id::{Seq, Time};
use domain::layout;
use rustix::fs::{self, FileType, Mode, OFlags};
use serde_json::{Map, Value};

use crate::beneath::{Root, kind_words};

/// Adds one line to `inbox/<name>`, unless this effect's line stands there already. The caller lets in one at a time.
///
/// Effects are numbered by the journal, and a home whose journal was deleted counts from the start again: so a
/// line counts as this effect's only if it says the same to the same people.
pub(super) fn post(
    root: &Root,
    name: &str,
    effect: Seq,
    at: Time,
    said: &[(&str, &str)],
) -> Result<(), String> {
    let folder = root.make_own_folder(layout::INBOX).map_err(|e| e.to_string())?;
    let failed = |e: std::io::Error| format!("inbox/{name} cannot be written: {e}");
    let flags = OFlags::RDWR
        | OFlags::CREATE
        | OFlags::APPEND
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::CLOEXEC;
    let fd = fs::openat(&folder.fd, name, flags, Mode::from_raw_mode(0o666)).map_err(|e| failed(e.into()))?;
    let kind = FileType::from_raw_mode(fs::fstat(&fd).map_err(|e| failed(e.into()))?.st_mode);
    if kind != FileType::RegularFile {
        return Err(format!("inbox/{name} is {}, not a file", kind_words(kind)));
    }
    append(&mut File::from(fd), effect, at, said).map_err(failed)?;
    fs::fsync(&folder.fd).map_err(|e| failed(e.into()))
}

fn append(file: &mut File, effect: Seq, at: Time, said: &[(&str, &str)]) -> std::io::Result<()> {
    let effect = effect.to_string();
    let post: Vec<(&str, &str)> = [("effect", effect.as_str())].iter().chain(said).copied().collect();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let stands = bytes.split(|byte| *byte == b'\n').any(|line| is_same(line, &post));
    let is_torn = bytes.last().is_some_and(|byte| *byte != b'\n');
    let mut line = if stands { Vec::new() } else { line(&post, at)? };
    if is_torn {
        // A crash cut the last line short, or it was written without an end: ours starts on a new one.
        line.insert(0, b'\n');
    }
    if !line.is_empty() {
        file.write_all(&line)?;
    }
    // Also for a line that was found: it may not have reached the disk before the crash.
    file.sync_all()
}

/// The line with its end, its keys in this order.
fn line(post: &[(&str, &str)], at: Time) -> std::io::Result<Vec<u8>> {
    let at = stamp(at);
    let mut line = vec![b'{'];
    for (n, (key, value)) in post.iter().chain(&[("at", at.as_str())]).enumerate() {
        if n > 0 {
            line.push(b',');
        }
        serde_json::to_writer(&mut line, key)?;
        line.push(b':');
        serde_json::to_writer(&mut line, value)?;
    }
    line.extend_from_slice(b"}\n");
    Ok(line)
}

fn is_same(line: &[u8], post: &[(&str, &str)]) -> bool {
    !line.is_empty()
        && serde_json::from_slice::<Map<String, Value>>(line).is_ok_and(|found| {
            post.iter().all(|(key, value)| found.get(*key).and_then(Value::as_str) == Some(*value))
        })
}

/// The time as people read it.
fn stamp(at: Time) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |stamp| stamp.to_string())
}
