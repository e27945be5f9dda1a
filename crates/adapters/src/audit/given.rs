//! Which ids the log knows to be given, for a home whose journal is gone. It only looks, and believes what it reads.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Result};
use std::path::Path;

use super::LOG;
use super::line::{Kind, LINE_BYTES_MAX, Line};

/// The highest numbers that were given; zero if none was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Given {
    /// Of `delegation-0001`.
    pub delegations: u32,
    /// Of `review-0001`.
    pub reviews: u32,
}

/// Reads the log of a home for the ids that were given. No other file keeps all of them: tasks and sessions name them
/// only while somebody waits. So what the log lost (it was deleted or cut, or a crash took its last lines together
/// with the journal) is not known and may be given again.
pub fn given(home: &Path) -> Result<Given> {
    let mut reader = match File::open(home.join(LOG)) {
        Ok(file) => BufReader::with_capacity(1 << 16, file),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Given::default()),
        Err(error) => return Err(error),
    };
    let (mut given, mut bytes) = (Given::default(), Vec::new());
    loop {
        bytes.clear();
        // What is longer is no line of ours, nor is any part of it.
        if reader.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(given);
        }
        given.take(bytes.strip_suffix(b"\n").unwrap_or(&bytes));
    }
}

impl Given {
    fn take(&mut self, bytes: &[u8]) {
        // Most lines are about something else and need not be taken apart.
        let may_name = |text: &str| text.contains("\"delegation-") || text.contains("\"review-");
        if !str::from_utf8(bytes).is_ok_and(may_name) {
            return;
        }
        let Some(line) = Line::parse(bytes) else { return };
        // Agents and people have no say in these fields.
        if line.kind == Kind::Gate {
            self.delegations = self.delegations.max(number(&line.note, "delegation-"));
        }
        if line.kind == Kind::Review {
            self.reviews = self.reviews.max(number(&line.args, "review-"));
        }
    }
}

/// The number behind `name` at the beginning of a text; zero if there is none.
fn number(text: &str, name: &str) -> u32 {
    let Some(rest) = text.strip_prefix(name) else { return 0 };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
    digits.parse().unwrap_or_default()
}
