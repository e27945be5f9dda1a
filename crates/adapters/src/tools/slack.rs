//! Slack through two files: what came in, and what is to go out.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use domain::id::{Seq, Time};
use rustix::fs::{self, FileType, Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::beneath::{PathRefused, Root, kind_words};
use super::files::Answer;
use super::text;

pub(super) const MESSAGES: &str = "inbox/slack-messages.jsonl";
const OUTBOX: &str = "slack-outbox.jsonl";
const MESSAGES_DEFAULT: u32 = 20;
const MESSAGES_MAX: u32 = 200;
/// So much of the end of the messages is looked at.
const TAIL_BYTES_MAX: u64 = 1 << 20;

/// The last messages, oldest first.
pub(super) fn slack_read(root: &Root, limit: Option<u32>, bytes_max: u64) -> Answer {
    let limit = limit.unwrap_or(MESSAGES_DEFAULT).clamp(1, MESSAGES_MAX);
    let (mut file, size) = match root.file(MESSAGES) {
        Ok(opened) => opened,
        Err(PathRefused::Absent { .. }) => return Ok("[no messages came in]".to_owned()),
        Err(refused) => return Err(refused.to_string()),
    };
    let failed = |e: std::io::Error| format!("{MESSAGES} cannot be read: {e}");
    let from = size.saturating_sub(TAIL_BYTES_MAX);
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    let tail = String::from_utf8_lossy(&bytes);
    // The first line may have been cut in two.
    let tail = if from == 0 { tail.as_ref() } else { tail.split_once('\n').map_or("", |(_, rest)| rest) };
    let lines: Vec<&str> = tail.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return Ok("[no messages came in]".to_owned());
    }
    let skip = lines.len().saturating_sub(limit as usize);
    Ok(newest(&lines[skip..], bytes_max))
}

/// As many of the last lines as fit; the newest are the ones that matter.
fn newest(lines: &[&str], bytes_max: u64) -> String {
    let mut left = bytes_max;
    let mut from = lines.len();
    while from > 0 && (lines[from - 1].len() as u64) < left {
        left -= lines[from - 1].len() as u64 + 1;
        from -= 1;
    }
    if from == lines.len() {
        let last = lines.last().copied().unwrap_or_default();
        return text::head(last.to_owned(), bytes_max);
    }
    let shown = lines[from..].join("\n");
    if from == 0 { shown } else { format!("[cut: {from} older messages]\n{shown}") }
}

/// One line of the outbox.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
struct Post<'a> {
    effect: String,
    #[serde(borrow)]
    channel: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    text: std::borrow::Cow<'a, str>,
    at: String,
}

/// Adds one line to the outbox, unless this effect's line stands there already. The caller lets in one at a time.
///
/// Effects are numbered by the journal, and a home whose journal was deleted counts from the start again: so a
/// line counts as this effect's only if it says the same to the same channel.
pub(super) fn slack_send(root: &Root, effect: Seq, at: Time, channel: &str, text: &str) -> Answer {
    let folder = root.make_own_folder("inbox").map_err(|e| e.to_string())?;
    let failed = |e: std::io::Error| format!("inbox/{OUTBOX} cannot be written: {e}");
    let flags = OFlags::RDWR
        | OFlags::CREATE
        | OFlags::APPEND
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::CLOEXEC;
    let fd =
        fs::openat(&folder.fd, OUTBOX, flags, Mode::from_raw_mode(0o666)).map_err(|e| failed(e.into()))?;
    let kind = FileType::from_raw_mode(fs::fstat(&fd).map_err(|e| failed(e.into()))?.st_mode);
    if kind != FileType::RegularFile {
        return Err(format!("inbox/{OUTBOX} is {}, not a file", kind_words(kind)));
    }
    let mut file = File::from(fd);
    let post = Post { effect: effect.to_string(), channel: channel.into(), text: text.into(), at: stamp(at) };
    append(&mut file, &post).map_err(failed)?;
    fs::fsync(&folder.fd).map_err(|e| failed(e.into()))?;
    Ok(format!("posted to {channel}"))
}

fn append(file: &mut File, post: &Post<'_>) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let stands = bytes.split(|byte| *byte == b'\n').any(|line| is_same(line, post));
    let is_torn = bytes.last().is_some_and(|byte| *byte != b'\n');
    let mut line = if stands { Vec::new() } else { serde_json::to_vec(post)? };
    if is_torn {
        // A crash cut the last line short, or it was written without an end: ours starts on a new one.
        line.insert(0, b'\n');
    }
    if !stands {
        line.push(b'\n');
    }
    if !line.is_empty() {
        file.write_all(&line)?;
    }
    // Also for a line that was found: it may not have reached the disk before the crash.
    file.sync_all()
}

fn is_same(line: &[u8], post: &Post<'_>) -> bool {
    serde_json::from_slice::<Post<'_>>(line).is_ok_and(|found| {
        found.effect == post.effect && found.channel == post.channel && found.text == post.text
    })
}

/// The time as people read it.
fn stamp(at: Time) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |stamp| stamp.to_string())
}
