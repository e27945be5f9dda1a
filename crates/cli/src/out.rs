//! Data to stdout, talk to stderr; colour only on a terminal and never with NO_COLOR, unless `--color` says otherwise.

use std::cell::RefCell;
use std::io::{Error, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use adapters::redact::redact;
use serde_json::{Value, json};

use crate::region::Region;
use crate::text;

/// The version of what `--json` prints.
pub const SCHEMA_VERSION: u32 = 1;

/// Where a command speaks.
pub struct Out {
    /// Whether a program listens.
    pub json: bool,
    color: bool,
    may_ask: bool,
    /// Lines below all others that are drawn again and again.
    region: RefCell<Region>,
    /// Why nothing can be printed any more.
    lost: OnceLock<Error>,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, and never with NO_COLOR.
    #[default]
    Auto,
    /// Also into files and programs.
    Always,
    /// Nowhere.
    Never,
}

/// What a line means, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// One of many.
    Plain,
    /// Something is finished.
    Good,
    /// Something did not work, or was denied.
    Bad,
    /// A person is asked.
    Asks,
}

impl Out {
    /// For this process.
    pub fn new(json: bool, color: Color, may_ask: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let color = match color {
            Color::Auto => !plain && std::io::stdout().is_terminal(),
            Color::Always => true,
            Color::Never => false,
        };
        Self { json, color: !json && color, may_ask, region: RefCell::default(), lost: OnceLock::new() }
    }

    /// Whether lines can be drawn again: a person looks at a terminal that can move its cursor.
    pub fn is_live(&self) -> bool {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        !self.json && !is_dumb && std::io::stdout().is_terminal()
    }

    /// Whether nobody may be asked, wherever they sit.
    pub fn never_asks(&self) -> bool {
        !self.may_ask
    }

    /// Whether whoever sits at the terminal may be asked.
    pub fn asks(&self) -> bool {
        self.may_ask && self.is_live()
    }

    /// How wide the terminal is; a file has any width.
    pub fn columns(&self) -> usize {
        text::columns()
    }

    /// Draws these lines below all others, in place of those drawn before.
    pub fn region(&self, lines: Vec<String>) {
        let drawn = self.region.borrow_mut().change(lines, self.columns());
        if !drawn.is_empty() {
            self.put(&drawn);
        }
    }

    fn put(&self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            _ = self.lost.set(error);
        }
    }

    /// A line of data on a terminal, in as many rows as it needs; later rows stand below `lead`. One line elsewhere.
    pub fn wrapped(&self, lead: &str, text: &str) {
        if !self.is_live() {
            return self.line(format!("{lead}{text}"));
        }
        let columns = self.columns();
        let indent = text::width(lead) + (text.len() - text.trim_start().len());
        let indent = if indent + 20 > columns { 2 } else { indent };
        for row in text::wrap(&format!("{lead}{text}"), columns, indent) {
            self.line(row);
        }
    }

    /// The text in the colour of what it means, if colour is used.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Asks => "1;33",
        };
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Whether to use colour on stdout.
    pub fn color(&self) -> bool {
        self.color
    }

    /// One line of data.
    pub fn line(&self, text: impl AsRef<str>) {
        let text = self.region.borrow().above(text.as_ref(), self.columns());
        self.put(&text);
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
        let lines = self.region.take().into_lines();
        let is_drawn = !lines.is_empty();
        if is_drawn {
            self.put(&Region::of(lines.clone()).change(Vec::new(), self.columns()));
        }
        _ = writeln!(std::io::stderr().lock(), "{}", text.as_ref());
        if is_drawn {
            self.region(lines);
        }
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
