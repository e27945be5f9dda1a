//! The lines of a file that an answer shows: those with the most of what was looked for, without credentials.

use std::borrow::Cow;
use std::collections::HashSet;

use super::query::{Query, words};
use crate::redact::redact;

const LINES_OF_A_FILE_MAX: usize = 5;
const LINE_CHARS_MAX: usize = 240;
/// A word that is written as it was asked for counts so much more than another form of it.
const EXACT: usize = 4;

/// What a file has of a query.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// How many different words and phrases.
    pub(crate) different: usize,
    /// How often, exact words counting more.
    pub(crate) weight: usize,
    /// Line numbers from 1, and lines.
    pub(crate) lines: Vec<(usize, String)>,
    /// How many lines more have something of the query.
    pub(crate) left_out: usize,
}

/// The best lines of a text; `None` if it has nothing of the query.
pub(crate) fn best(query: &Query, text: &str) -> Option<Shown> {
    let mut seen = vec![false; query.count()];
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    let mut weight = 0;
    for (number, line) in text.lines().enumerate() {
        let words = words(line);
        let mut of_line = 0;
        for (piece, seen) in query.pieces().iter().zip(&mut seen) {
            let value = value_of(piece, &words);
            *seen |= value > 0;
            of_line += value;
        }
        if of_line > 0 {
            weight += of_line;
            found.push((of_line, number + 1, line));
        }
    }
    if found.is_empty() {
        return None;
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let left_out = found.len().saturating_sub(LINES_OF_A_FILE_MAX);
    found.truncate(LINES_OF_A_FILE_MAX);
    found.sort_by_key(|(_, number, _)| *number);
    let clean = Clean::of(text);
    let lines = found.into_iter().map(|(_, number, line)| (number, brief(&clean.line(line))));
    let different = seen.iter().filter(|seen| **seen).count();
    Some(Shown { different, weight, lines: lines.collect(), left_out })
}

/// The first line with something in it, from a line on, for a file that was found by its name or its meaning.
pub(crate) fn from(text: &str, first: usize) -> Option<(usize, String)> {
    let mut lines = text.lines().enumerate().skip(first.saturating_sub(1));
    let (number, line) = lines.find(|(_, line)| !line.trim().is_empty())?;
    // A credential may begin here and go on below; alone, it would not be known as one.
    let line = if matches!(redact(text), Cow::Owned(_)) { "[…]" } else { line };
    Some((number + 1, brief(&redact(line))))
}

/// The lines of a text as they are shown: a line may be the middle of a credential, which only the whole text shows.
pub(crate) struct Clean {
    /// The lines of the text without credentials; `None` if it has none.
    lines: Option<HashSet<String>>,
}

impl Clean {
    /// Of a whole text.
    pub(crate) fn of(text: &str) -> Self {
        match redact(text) {
            Cow::Borrowed(_) => Self { lines: None },
            Cow::Owned(clean) => Self { lines: Some(clean.lines().map(str::to_owned).collect()) },
        }
    }

    /// One line of it without credentials.
    pub(crate) fn line<'a>(&self, line: &'a str) -> Cow<'a, str> {
        let Some(lines) = &self.lines else { return Cow::Borrowed(line) };
        match redact(line) {
            Cow::Borrowed(line) if !lines.contains(line) => Cow::Borrowed("[redacted]"),
            line => line,
        }
    }
}

/// The beginning of a line, without blanks around it.
pub(crate) fn brief(line: &str) -> String {
    line.trim().chars().take(LINE_CHARS_MAX).collect()
}

/// How well a line has a word or a phrase.
fn value_of(piece: &[String], line: &[String]) -> usize {
    match piece {
        [word] => line.iter().map(|found| alike(word, found)).max().unwrap_or(0),
        phrase => {
            let windows = line.windows(phrase.len());
            let together =
                windows.map(|window| phrase.iter().zip(window).map(|(a, b)| alike(a, b)).min().unwrap_or(0));
            together.max().unwrap_or(0)
        }
    }
}

/// How much alike two words are: the same, forms of the same, one inside the other, or not at all.
fn alike(wanted: &str, found: &str) -> usize {
    if wanted == found {
        return EXACT;
    }
    let common = wanted.chars().zip(found.chars()).take_while(|(a, b)| a == b).count();
    let (a, b) = (wanted.chars().count(), found.chars().count());
    let is_form = common >= 3 && common + 2 >= a.min(b) && common * 2 + 1 >= a.max(b);
    usize::from(is_form || (a >= 3 && found.contains(wanted)) || (a < 3 && found.starts_with(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_lines_are_shown_in_their_order() {
        let query = Query::read("disk full").unwrap();
        let text = "nothing\nthe disks\nnothing\nthe disk is full\n\n  full of words\n";
        let shown = best(&query, text).unwrap();
        assert_eq!(shown.different, 2);
        let lines: Vec<(usize, &str)> = shown.lines.iter().map(|(n, l)| (*n, l.as_str())).collect();
        assert_eq!(lines, [(2, "the disks"), (4, "the disk is full"), (6, "full of words")]);
        assert_eq!(best(&query, "nothing\n"), None);
    }

    #[test]
    fn a_line_out_of_the_middle_of_a_key_is_not_shown() {
        let text = format!(
            "-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----\n",
            "MIIEpAIBAAKCAQEA7bq secretword\n".repeat(3)
        );
        let shown = best(&Query::read("secretword").unwrap(), &text).unwrap();
        assert!(shown.lines.iter().all(|(_, line)| line == "[redacted]"), "{shown:?}");
    }
}
