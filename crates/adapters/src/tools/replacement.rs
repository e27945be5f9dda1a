//! Replacing text in a text: where it is, what is near it if it is not there, and whether a replacement was made already.
//! Nothing here reads or writes a file.

use std::collections::HashMap;

/// So many line numbers are told.
const LINES_TOLD_MAX: usize = 20;
/// So many similar lines are shown.
const NEAREST_MAX: usize = 3;
/// So many lines are compared with the text that was not found.
const COMPARED_LINES_MAX: usize = 50_000;
/// So much of a line is compared.
const COMPARED_CHARS_MAX: usize = 200;
/// So many places are looked at to find out whether a replacement was made already.
const PLACES_MAX: usize = 256;

/// One replacement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replacement<'a> {
    /// Not empty.
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) all: bool,
}

/// Whether a replacement was made in a text, as far as the text can tell.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Made {
    Yes,
    No,
    Unknown,
}

/// The text with the replacement, and the numbers of the lines where it was made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Replaced {
    pub(super) text: String,
    pub(super) lines: Vec<usize>,
}

/// Why nothing is replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotReplaced {
    Absent,
    /// At these lines, of which one can have several.
    Repeated(Vec<usize>),
}

impl Replacement<'_> {
    pub(super) fn apply(&self, text: &str) -> Result<Replaced, NotReplaced> {
        let places: Vec<usize> = match self.all {
            true => text.match_indices(self.old).map(|(at, _)| at).collect(),
            false => overlapping(text, self.old).collect(),
        };
        let lines = line_numbers(text, &places);
        match places.len() {
            0 => return Err(NotReplaced::Absent),
            2.. if !self.all => return Err(NotReplaced::Repeated(lines)),
            _ => {}
        }
        let mut replaced = String::with_capacity(text.len());
        let mut from = 0;
        for at in places {
            replaced.push_str(&text[from..at]);
            replaced.push_str(self.new);
            from = at + self.old.len();
        }
        replaced.push_str(&text[from..]);
        Ok(Replaced { text: replaced, lines })
    }

    /// Whether `text` is the result of this replacement or the text before it. Both can be possible.
    pub(super) fn is_made(&self, text: &str) -> Made {
        let (applies, can_be_result) = (self.apply(text).is_ok(), self.can_be_result(text));
        match (applies, can_be_result) {
            (true, Some(false)) => Made::No,
            (false, Some(true)) => Made::Yes,
            // It was never possible: the error says why.
            (false, Some(false)) => Made::No,
            (true, Some(true)) | (_, None) => Made::Unknown,
        }
    }

    /// `None` if there are too many places to tell.
    fn can_be_result(&self, text: &str) -> Option<bool> {
        if !self.new.is_empty() && !text.contains(self.new) {
            return Some(false);
        }
        let olds: Vec<usize> = overlapping(text, self.old).take(PLACES_MAX).collect();
        if olds.is_empty() {
            return Some(true);
        }
        let news = || overlapping(text, self.new);
        // What still has the old text outside of the new one was not replaced.
        let touches = |old: usize, new: usize| old < new + self.new.len() && new < old + self.old.len();
        let is_apart = |old: usize| !news().any(|new| touches(old, new));
        if self.all {
            return Some(self.new.is_empty() || !olds.iter().any(|old| is_apart(*old)));
        }
        let mut looked = 0;
        for new in news().filter(|new| olds.iter().all(|old| touches(*old, *new))) {
            looked += 1;
            if looked > PLACES_MAX {
                return None;
            }
            let before = format!("{}{}{}", &text[..new], self.old, &text[new + self.new.len()..]);
            if overlapping(&before, self.old).nth(1).is_none() {
                return Some(true);
            }
        }
        Some(false)
    }
}

/// Where a part is in a text, also where one occurrence begins inside of another. An empty part is everywhere.
fn overlapping<'a>(text: &'a str, part: &'a str) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(part)?;
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
        Some(at)
    })
}

/// The line, from 1, of each place; the places are in order.
fn line_numbers(text: &str, places: &[usize]) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    places
        .iter()
        .map(|at| {
            line += text[from..*at].matches('\n').count();
            from = *at;
            line
        })
        .collect()
}

/// `line 3`, `lines 3, 9 and 12`.
pub(super) fn lines_in_words(lines: &[usize]) -> String {
    let mut lines = lines.to_vec();
    lines.dedup();
    let told: Vec<String> = lines.iter().take(LINES_TOLD_MAX).map(ToString::to_string).collect();
    let more = lines.len() - told.len();
    match (told.split_last(), more) {
        (Some((only, [])), 0) => format!("line {only}"),
        (Some((last, before)), 0) => format!("lines {} and {last}", before.join(", ")),
        (_, more) => format!("lines {} and {more} more", told.join(", ")),
    }
}

/// The lines that are most similar to the first line of `wanted` that says something: numbers from 1, in their order.
pub(super) fn nearest<'a>(text: &'a str, wanted: &str) -> Vec<(usize, &'a str)> {
    let Some(wanted) = wanted.lines().max_by_key(|line| line.trim().len().min(COMPARED_CHARS_MAX)) else {
        return Vec::new();
    };
    let wanted = Pairs::of(wanted);
    let mut found: Vec<(u32, usize, &str)> = Vec::new();
    for (number, line) in text.lines().enumerate().take(COMPARED_LINES_MAX) {
        let likeness = wanted.likeness(line);
        if likeness >= 50 {
            found.push((likeness, number + 1, line));
            found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            found.truncate(NEAREST_MAX);
        }
    }
    found.sort_by_key(|(_, number, _)| *number);
    found.into_iter().map(|(_, number, line)| (number, line)).collect()
}

/// Pairs of characters that follow each other, and how often.
struct Pairs {
    count: HashMap<(char, char), u32>,
    all: u32,
}

impl Pairs {
    fn of(line: &str) -> Self {
        let mut pairs = Self { count: HashMap::new(), all: 0 };
        for pair in pairs_of(line) {
            *pairs.count.entry(pair).or_default() += 1;
            pairs.all += 1;
        }
        pairs
    }

    /// How much alike two lines are, in percent.
    fn likeness(&self, line: &str) -> u32 {
        let mut left = self.count.clone();
        let (mut all, mut common) = (self.all, 0_u32);
        for pair in pairs_of(line) {
            all += 1;
            if let Some(count @ 1..) = left.get_mut(&pair) {
                *count -= 1;
                common += 1;
            }
        }
        (200 * common).checked_div(all).unwrap_or(0)
    }
}

fn pairs_of(line: &str) -> impl Iterator<Item = (char, char)> + '_ {
    let chars = line.trim().chars().take(COMPARED_CHARS_MAX);
    chars.clone().zip(chars.skip(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_replacement_is_never_taken_for_what_it_is_not(
            text in "[ab\n]{0,12}", old in "[ab]{1,3}", new in "[ab]{0,4}", all: bool,
        ) {
            let replacement = Replacement { old: &old, new: &new, all };
            prop_assume!(old != new);
            if let Ok(after) = replacement.apply(&text) {
                prop_assert_ne!(replacement.is_made(&text), Made::Yes);
                prop_assert_ne!(replacement.is_made(&after.text), Made::No, "{:?}", after.text);
            }
        }
    }

    #[test]
    fn an_ordinary_replacement_is_known_before_and_after() {
        let edit = |old, new, all| Replacement { old, new, all };
        for replacement in
            [edit("one", "two", false), edit("one", "two", true), edit("one", "one\ntwo", false)]
        {
            let before = "zero\none\nthree two\n";
            let after = replacement.apply(before).unwrap().text;
            assert_eq!(replacement.is_made(before), Made::No, "{replacement:?}");
            let again = replacement.is_made(&after);
            // The text before it could have been the result of the same edit of a shorter text.
            let expected = if replacement.new.contains("one") { Made::Unknown } else { Made::Yes };
            assert_eq!(again, expected, "{replacement:?}");
        }
    }

    #[test]
    fn similar_lines_are_found_in_their_order() {
        let text = "fn main() {\n    let total = sum(items);\n    print(total);\n}\n";
        assert_eq!(nearest(text, "let total = sum(item);"), [(2, "    let total = sum(items);")]);
        assert_eq!(nearest(text, "@@@@"), []);
        assert_eq!(nearest("", "x"), []);
    }

    #[test]
    fn many_lines_are_told_in_few_words() {
        assert_eq!(lines_in_words(&[3]), "line 3");
        assert_eq!(lines_in_words(&[3, 3, 9, 12]), "lines 3, 9 and 12");
        let many: Vec<usize> = (1..=30).collect();
        assert!(lines_in_words(&many).ends_with(", 20 and 10 more"));
    }
}
