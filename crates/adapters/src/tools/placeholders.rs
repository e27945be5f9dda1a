//! Placeholders in what agents write. An agent sees `[redacted: kind]` in place of a credential. If it writes such a line
//! back, the line of the file is put in its place, so that no write destroys a credential. What cannot be put back for
//! certain is refused.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::search::lines::Clean;

/// So many lines are compared to find the place of a line; a write that needs more is refused.
const COMPARED_MAX: usize = 20_000_000;

static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\[redacted(: [^\]\n]{1,40})?\]").expect("a fixed expression is well-formed")
});

/// Whether a text has a placeholder.
pub(super) fn has_any(text: &str) -> bool {
    PLACEHOLDER.is_match(text)
}

/// A text as agents see it, line by line.
pub(super) struct View<'a> {
    raw: Vec<&'a str>,
    shown: Vec<String>,
}

/// A line that cannot be written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// From 1, in what is written.
    line: usize,
    why: Why,
}

#[derive(Debug, PartialEq, Eq)]
enum Why {
    NoSuchLine,
    SeveralLines,
}

impl Refused {
    /// For the agent: which line, and what to do.
    pub(super) fn in_words(&self, path: &str, argument: &str) -> String {
        let line = self.line;
        match self.why {
            Why::NoSuchLine => format!(
                "line {line} of {argument} has a placeholder of a redacted credential that is not on such a line of {path}; \
                 nothing is written. Repeat the line exactly as it was shown, leave it out of the edit, or ask a person to set \
                 the value"
            ),
            Why::SeveralLines => format!(
                "line {line} of {argument} has a placeholder that stands for several credentials of {path}, and the lines around \
                 it do not show which; nothing is written. Use edit_file for the lines that change, and leave this line out"
            ),
        }
    }
}

impl<'a> View<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let clean = Clean::of(text);
        let raw: Vec<&str> = text.split_inclusive('\n').collect();
        let shown = raw.iter().map(|line| {
            let bare = bare(line);
            format!("{}{}", clean.line(bare), &line[bare.len()..])
        });
        Self { shown: shown.collect(), raw }
    }

    /// The whole text as it is shown.
    pub(super) fn text(&self) -> String {
        self.shown.concat()
    }

    /// The lines, from 0, in which a part of the shown text is.
    pub(super) fn lines_of(&self, part: Range<usize>) -> Range<usize> {
        let (mut at, mut first, mut end) = (0, None, 0);
        for (number, line) in self.shown.iter().enumerate() {
            let next = at + line.len();
            if part.start < next && first.is_none() {
                first = Some(number);
            }
            if at < part.end {
                end = number + 1;
            }
            at = next;
        }
        let first = first.unwrap_or(self.shown.len());
        first..end.max(first)
    }

    /// Where a line begins in the shown text.
    pub(super) fn start_of(&self, line: usize) -> usize {
        self.shown[..line].iter().map(String::len).sum()
    }

    /// The lines from one on, as they are.
    pub(super) fn raw_from(&self, line: usize) -> String {
        self.raw[line..].concat()
    }

    /// Some lines as they are.
    pub(super) fn raw(&self, lines: Range<usize>) -> String {
        self.raw[lines].concat()
    }

    /// What is written in place of the whole text, with its credentials put back.
    pub(super) fn put_back_all(&self, written: &str) -> Result<String, Refused> {
        self.put_back(0..self.raw.len(), written)
    }

    /// What is written in place of some lines, with the credentials of these lines put back.
    pub(super) fn put_back(&self, lines: Range<usize>, written: &str) -> Result<String, Refused> {
        if !has_any(written) {
            return Ok(written.to_owned());
        }
        let (raw, shown) = (&self.raw[lines.clone()], &self.shown[lines]);
        let new: Vec<&str> = written.split_inclusive('\n').collect();
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, line) in shown.iter().enumerate() {
            places.entry(bare(line)).or_default().push(number);
        }
        let around = Around { old: shown, new: &new };
        let mut compared = 0;
        let mut text = String::with_capacity(written.len());
        for (number, line) in new.iter().enumerate() {
            let content = bare(line);
            if !has_any(content) {
                text.push_str(line);
                continue;
            }
            let refused = |why| Refused { line: number + 1, why };
            let original = match places.get(content) {
                Some(places) => {
                    let place = around.find(number, places, raw, &mut compared);
                    bare(raw[place.ok_or_else(|| refused(Why::SeveralLines))?])
                }
                // The file itself says so, for instance because it is about placeholders.
                None if self.is_literal(content) => content,
                None => return Err(refused(Why::NoSuchLine)),
            };
            text.push_str(original);
            text.push_str(&line[content.len()..]);
        }
        Ok(text)
    }

    /// Whether the placeholders of a line are words of the file, and none of them stands for a credential of it.
    fn is_literal(&self, line: &str) -> bool {
        PLACEHOLDER.find_iter(line).all(|found| {
            let word = found.as_str();
            let mut lines = self.raw.iter().zip(&self.shown);
            let stands_for_one = lines.any(|(raw, shown)| raw != shown && shown.contains(word));
            !stands_for_one && self.raw.iter().any(|raw| raw.contains(word))
        })
    }
}

/// A line without its line ending.
fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// The lines around a line, before and after.
struct Around<'a> {
    old: &'a [String],
    new: &'a [&'a str],
}

impl Around<'_> {
    /// Which of several places with the same shown line a new line has, if the lines around it show it: one place must agree
    /// with more lines above or below than each other place, and with no fewer on the other side.
    fn find(&self, new: usize, places: &[usize], raw: &[&str], compared: &mut usize) -> Option<usize> {
        let first = *places.first()?;
        if places.iter().all(|place| bare(raw[*place]) == bare(raw[first])) {
            return Some(first);
        }
        let mut agree = Vec::with_capacity(places.len());
        for old in places {
            let (above, below) = (self.above(*old, new), self.below(*old, new));
            *compared += above + below + 1;
            if *compared > COMPARED_MAX {
                return None;
            }
            agree.push((above, below, *old));
        }
        let best = *agree.iter().max_by_key(|(above, below, _)| above + below)?;
        let is_less = |(above, below, _): &(usize, usize, usize)| {
            *above <= best.0 && *below <= best.1 && (*above, *below) != (best.0, best.1)
        };
        agree.iter().filter(|other| other.2 != best.2).all(is_less).then_some(best.2)
    }

    /// How many lines above agree; that both begin there counts as one.
    fn above(&self, old: usize, new: usize) -> usize {
        let pairs = self.old[..old].iter().rev().zip(self.new[..new].iter().rev());
        let same = pairs.take_while(|(old, new)| bare(old) == bare(new)).count();
        same + usize::from(same == old && same == new)
    }

    /// The same below.
    fn below(&self, old: usize, new: usize) -> usize {
        let (old, new) = (&self.old[old + 1..], &self.new[new + 1..]);
        let same = old.iter().zip(new).take_while(|(old, new)| bare(old) == bare(new)).count();
        same + usize::from(same == old.len() && same == new.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = "password = [redacted: password]";

    fn put_back(file: &str, written: &str) -> Result<String, Refused> {
        View::of(file).put_back_all(written)
    }

    #[test]
    fn a_line_that_was_shown_is_put_back() {
        let file = "user = a\npassword = hunter2hunter2\nport = 1\n";
        assert_eq!(View::of(file).text(), format!("user = a\n{SHOWN}\nport = 1\n"));
        let written = format!("user = b\n{SHOWN}\n\nport = 2\n");
        let expected = "user = b\npassword = hunter2hunter2\n\nport = 2\n";
        assert_eq!(put_back(file, &written), Ok(expected.to_owned()));
    }

    #[test]
    fn a_placeholder_that_no_line_has_is_refused() {
        let refused = |line| Err(Refused { line, why: Why::NoSuchLine });
        assert_eq!(put_back("a\n", &format!("a\n{SHOWN}\n")), refused(2));
        let file = "password = hunter2hunter2\n";
        assert_eq!(put_back(file, &format!("{SHOWN} # old\n")), refused(1));
        assert_eq!(put_back("", "[redacted]"), refused(1));
    }

    #[test]
    fn several_credentials_are_told_apart_by_the_lines_around_them() {
        let part = |name: &str, secret: &str| format!("[{name}]\nuser = root\npassword = {secret}\n\n");
        let (a, b) = (part("a", "hunter2hunter2"), part("b", "swordfish99swordfish"));
        let (file, shown) = (format!("{a}{b}"), |name: &str| part(name, "[redacted: password]"));
        let changed = format!("{}new\n{}", shown("a"), shown("b"));
        assert_eq!(put_back(&file, &changed), Ok(format!("{a}new\n{b}")));
        // The lines above speak for the first, and the end of the file for the second.
        let turned = format!("{}{}", shown("b"), shown("a"));
        assert_eq!(put_back(&file, &turned), Err(Refused { line: 7, why: Why::SeveralLines }));
        assert_eq!(put_back(&file, &shown("b")), Ok(b));
        let lines = "password = hunter2hunter2\npassword = swordfish99swordfish\nx\n";
        let refused = Err(Refused { line: 1, why: Why::SeveralLines });
        assert_eq!(put_back(lines, &format!("{SHOWN}\nx\n")), refused, "one of the two is gone");
    }

    #[test]
    fn a_file_about_placeholders_can_be_written() {
        let file = "a [redacted: password] is a placeholder\n";
        let written = "a [redacted: password] stands for a password\n";
        assert_eq!(put_back(file, written), Ok(written.to_owned()));
    }
}
