//! Data to stdout, talk to stderr; colour only on a terminal and never with NO_COLOR.

use std::io::{Error, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use adapters::redact::redact;
use serde_json::{Value, json};

/// The version of what `--json` prints.
pub const SCHEMA_VERSION: u32 = 1;

/// Where a command speaks.
pub struct Out {
    /// Whether a program listens.
    pub json: bool,
    color: bool,
    /// Why nothing can be printed any more.
    lost: OnceLock<Error>,
}

impl Out {
    /// For this process.
    pub fn new(json: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        Self { json, color: !json && !plain && std::io::stdout().is_terminal(), lost: OnceLock::new() }
    }

    /// Whether to use colour on stdout.
    pub fn color(&self) -> bool {
        self.color
    }

    /// One line of data.
    pub fn line(&self, text: impl AsRef<str>) {
        if let Err(error) = writeln!(std::io::stdout().lock(), "{}", text.as_ref()) {
            _ = self.lost.set(error);
        }
    }

    /// Whether what is printed goes nowhere any more: the end of what would go on for ever.
    pub fn is_closed(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Why something that was to be printed is lost. A closed pipe (`| head`) is no error of ours.
    pub fn lost(&self) -> Option<&Error> {
        self.lost.get().filter(|error| error.kind() != ErrorKind::BrokenPipe)
    }

    /// A value for a program; an object gets `schema_version`.
    pub fn value(&self, mut value: Value) {
        if let Value::Object(map) = &mut value {
            map.insert("schema_version".to_owned(), json!(SCHEMA_VERSION));
        }
        self.line(redact(&value.to_string()));
    }

    /// Talk, for a person.
    pub fn say(&self, text: impl AsRef<str>) {
        _ = writeln!(std::io::stderr().lock(), "{}", text.as_ref());
    }

    /// An error and what to do about it.
    pub fn error(&self, message: &str, help: Option<&str>) {
        let message = redact(message);
        if self.json {
            self.value(json!({ "error": { "message": message, "help": help } }));
            return;
        }
        self.complain(&message, help);
    }

    /// The same for a person, whoever listens.
    pub fn complain(&self, message: &str, help: Option<&str>) {
        let stderr = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let (red, cyan, reset) = if stderr { ("\x1b[1;31m", "\x1b[36m", "\x1b[0m") } else { ("", "", "") };
        self.say(format!("{red}error:{reset} {message}"));
        if let Some(help) = help {
            self.say(format!("{cyan}help:{reset} {help}"));
        }
    }

    /// `text` in bold, if colour is used.
    pub fn bold(&self, text: &str) -> String {
        if self.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// `text` dimmed, if colour is used.
    pub fn dim(&self, text: &str) -> String {
        if self.color { format!("\x1b[2m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Rows in columns that line up; the last column is not padded.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let width = |text: &str| text.chars().count();
    let mut widths: Vec<usize> = head.iter().map(|h| width(h)).collect();
    for row in rows {
        for (i, cell) in row.iter().enumerate() {
            widths[i] = widths[i].max(width(cell));
        }
    }
    let line = |cells: Vec<&str>| {
        let mut text = String::new();
        let last = cells.len().saturating_sub(1);
        for (i, cell) in cells.into_iter().enumerate() {
            text.push_str(cell);
            if i < last {
                text.push_str(&" ".repeat(widths[i] - width(cell) + 2));
            }
        }
        text.trim_end().to_owned()
    };
    let mut lines = vec![line(head.to_vec())];
    lines.extend(rows.iter().map(|row| line(row.iter().map(String::as_str).collect())));
    lines
}
