//! Slack through two files: what came in, and what is to go out.

use std::io::{Read, Seek, SeekFrom};

use domain::id::{Seq, Time};
use domain::layout;

use super::files::Answer;
use super::{outbox, text};
use crate::beneath::{PathRefused, Root};

pub(super) const MESSAGES: &str = layout::SLACK_MESSAGES;
/// In `inbox/`.
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

/// Posts a message, once for each effect.
pub(super) fn slack_send(root: &Root, effect: Seq, at: Time, channel: &str, text: &str) -> Answer {
    outbox::post(root, OUTBOX, effect, at, &[("channel", channel), ("text", text)])?;
    Ok(format!("posted to {channel}"))
}
