//! `inbox/*.jsonl`: what came in from outside, one JSON object a line. A foreign format: keys that Synod does
//! not know are left alone.

use domain::id::Time;
use serde_json::Value;

use crate::diagnostic::{Notes, Read};
use crate::shape::{Shape, may};
use crate::time;

/// One line of an inbox.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// Who wrote it; empty if the line does not say.
    pub from: String,
    /// Where.
    pub channel: Option<String>,
    /// What.
    pub text: String,
    /// When.
    pub at: Option<Time>,
    /// Its id at the source.
    pub id: Option<String>,
}

/// The longest line that is read.
pub const LINE_BYTES_MAX: usize = 1 << 20;

const TEXT: [&str; 3] = ["text", "message", "content"];
const FROM: [&str; 4] = ["user", "from", "sender", "username"];
const AT: [&str; 3] = ["timestamp", "ts", "time"];
const CHANNEL: [&str; 1] = ["channel"];
const ID: [&str; 3] = ["id", "message_id", "client_msg_id"];

/// The keys that are read; there may be others.
pub(crate) const SHAPE: Shape = Shape::Open(&[
    may("text", Shape::Text, "what was said; `message` and `content` are read too"),
    may("message", Shape::Text, "the same as `text`"),
    may("content", Shape::Text, "the same as `text`"),
    may("user", Shape::Text, "who wrote it; `from`, `sender` and `username` are read too"),
    may("from", Shape::Text, "the same as `user`"),
    may("sender", Shape::Text, "the same as `user`"),
    may("username", Shape::Text, "the same as `user`"),
    may("channel", Shape::Text, "where"),
    may(
        "timestamp",
        Shape::Text,
        "when: RFC 3339, or seconds or milliseconds since 1970; `ts` and `time` are read too",
    ),
    may("ts", Shape::Text, "the same as `timestamp`"),
    may("time", Shape::Text, "the same as `timestamp`"),
    may("id", Shape::Text, "its id at the source"),
    may("message_id", Shape::Text, "the same as `id`"),
    may("client_msg_id", Shape::Text, "the same as `id`"),
]);

/// One line without its line end, which [`read_line`] reads as the same.
pub fn print_line(line: &Line) -> String {
    let entries = [
        line.at.map(|at| ("ts", print_at(at))),
        line.id.as_deref().map(|id| ("id", Value::from(id))),
        line.channel.as_deref().map(|channel| ("channel", Value::from(channel))),
        Some(("user", Value::from(line.from.as_str()))).filter(|_| !line.from.is_empty()),
        Some(("text", Value::from(line.text.as_str()))),
    ];
    let entries: Vec<String> =
        entries.into_iter().flatten().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}", entries.join(","))
}

/// RFC 3339, or milliseconds for the years that it cannot say.
fn print_at(at: Time) -> Value {
    let printed = time::print(at);
    if time::parse(&printed) == Some(at) { Value::from(printed) } else { Value::from(at.0) }
}

/// Reads one line; `line_number` is its place in the file, from 1.
pub fn read_line(path: &str, line_number: usize, line: &str) -> Read<Line> {
    let mut notes = Notes::new(path, line);
    let value = read(line, &mut notes);
    let mut read = notes.finish(value);
    for diagnostic in &mut read.diagnostics {
        diagnostic.line = line_number;
    }
    read
}

fn read(line: &str, notes: &mut Notes<'_>) -> Option<Line> {
    if line.len() > LINE_BYTES_MAX {
        notes.error(0..0, format!("the line has {} bytes, at most {LINE_BYTES_MAX} are read", line.len()));
        return None;
    }
    let body = line.trim_start_matches('\u{feff}');
    let value = match serde_json::from_str::<Value>(body) {
        Ok(value) => value,
        Err(error) => {
            let at = (line.len() - body.len() + error.column().saturating_sub(1)).min(line.len());
            let message = error.to_string();
            notes.error(at..at, message.split(" at line ").next().unwrap_or("not JSON").to_lowercase());
            return None;
        }
    };
    let Value::Object(object) = &value else {
        notes.error(0..line.len(), "expected a JSON object such as {\"user\": …, \"text\": …}");
        return None;
    };
    let first = |keys: &[&str]| keys.iter().find_map(|k| object.get(*k)).filter(|v| !v.is_null());
    let word = |keys: &[&str]| first(keys).and_then(word);
    let Some(text) = word(&TEXT) else {
        let help = Some("the words go into `text`, `message` or `content`".to_owned());
        notes.error_with(0..line.len(), "the line has no text", help);
        return None;
    };
    Some(Line {
        from: word(&FROM).unwrap_or_default(),
        channel: word(&CHANNEL),
        text,
        at: first(&AT).and_then(at),
        id: word(&ID),
    })
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        // Slack and others nest who wrote it.
        Value::Object(object) => {
            ["name", "id"].iter().find_map(|k| object.get(*k)?.as_str().map(str::to_owned))
        }
        Value::Null | Value::Array(_) => None,
    }
}

fn at(value: &Value) -> Option<Time> {
    /// Seconds reach this number in the year 5138, milliseconds reached it in 1973.
    const SECONDS_MAX: f64 = 1e11;
    // A floating point number cannot hold every great whole one.
    if let Some(whole) = value.as_i64().filter(|n| *n as f64 >= SECONDS_MAX || *n as f64 <= -SECONDS_MAX) {
        return Some(Time(whole));
    }
    let number = match value {
        Value::String(text) => match time::parse(text) {
            Some(time) => return Some(time),
            None => text.parse::<f64>().ok()?,
        },
        other => other.as_f64()?,
    };
    let ms = if number.abs() < SECONDS_MAX { number * 1000.0 } else { number };
    ms.is_finite().then_some(Time(ms.round() as i64))
}
