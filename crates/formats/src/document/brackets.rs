//! Edits between brackets and braces, where commas count and lines do not: YAML flow collections and all of
//! JSON.

use std::ops::Range;

use super::place::{Places, Slot, in_brackets};
use super::splice::Splice;
use crate::lines;
use crate::yaml::{Kind, Node};

/// A collection in brackets.
pub(super) struct Brackets<'t> {
    places: Places<'t>,
    /// Right behind the opening bracket.
    open: usize,
    /// The closing bracket.
    close: usize,
    /// The bytes of each item or entry.
    members: Vec<Range<usize>>,
    /// What stands between a key and its value, if there is a key.
    pub(super) colon: String,
}

impl<'t> Brackets<'t> {
    pub(super) fn new(places: Places<'t>, node: &Node) -> Self {
        let range = |slot: Slot<'_>| slot.lead..places.end(&slot).max(slot.lead);
        let (members, colon): (Vec<Range<usize>>, Option<&str>) = match &node.kind {
            Kind::List { items, .. } => (items.iter().map(|i| range(in_brackets(i))).collect(), None),
            Kind::Map { entries, .. } => {
                let colon = entries.iter().rev().find_map(|e| {
                    let gap = places.text.get(e.key_span.end..e.value.span.start)?;
                    Some(gap).filter(|g| g.trim() == ":" && !g.contains(['\n', '\r']))
                });
                (entries.iter().map(|e| range(places.entry(e, true))).collect(), colon)
            }
            Kind::Scalar { .. } => (Vec::new(), None),
        };
        let colon = colon.unwrap_or(": ").to_owned();
        Self { places, open: node.span.start + 1, close: node.span.end - 1, members, colon }
    }

    /// Puts members in place of those at `range`; both may be none.
    pub(super) fn splice(&self, range: Range<usize>, with: &[String]) -> Splice {
        if with.is_empty() {
            return self.remove(range);
        }
        let gap = self.gap();
        let printed = with.join(&format!(",{gap}"));
        match self.members.get(range.clone()) {
            Some([first, .., last]) => Splice { at: first.start..last.end, with: printed },
            Some([one]) => Splice { at: one.clone(), with: printed },
            Some([]) | None => self.insert(range.start, &printed, gap),
        }
    }

    fn insert(&self, index: usize, printed: &str, gap: &str) -> Splice {
        let text = self.places.text;
        let Some(previous) = index.checked_sub(1).and_then(|i| self.members.get(i)) else {
            return match self.members.first() {
                Some(first) => Splice { at: first.start..first.start, with: format!("{printed},{gap}") },
                None if text[self.open..self.close].trim().is_empty() => {
                    Splice { at: self.open..self.close, with: printed.to_owned() }
                }
                None => Splice { at: self.open..self.open, with: format!("{printed} ") },
            };
        };
        let end = previous.end;
        let line_end = lines::end(text, end).min(self.close);
        let comma = self.places.skip_blanks(end);
        let has_comma = self.places.byte(comma) == Some(b',');
        let behind = if has_comma { comma + 1 } else { end };
        // A comment behind the member stays with it.
        match self.places.comment(behind) {
            Some(_) if gap.contains(['\n', '\r']) && line_end < self.close => {
                let rest = &text[end..line_end];
                let with = if has_comma {
                    format!("{rest}{gap}{printed},")
                } else {
                    format!(",{rest}{gap}{printed}")
                };
                Splice { at: end..line_end, with }
            }
            Some(_) | None => Splice { at: end..end, with: format!(",{gap}{printed}") },
        }
    }

    /// The white space behind a comma.
    fn gap(&self) -> &'t str {
        let text = self.places.text;
        match self.members.as_slice() {
            [first, second, ..] => {
                let between = &text[first.end..second.start];
                let behind = between.trim_start().trim_start_matches(',');
                let is_space = behind.trim().is_empty() && !behind.contains(['\n', '\r']);
                if is_space { behind } else { last_line(between) }
            }
            [one] if text[self.open..one.start].contains(['\n', '\r']) => {
                last_line(&text[self.open..one.start])
            }
            [_] if self.colon == ":" => "",
            [_] | [] => " ",
        }
    }

    fn remove(&self, range: Range<usize>) -> Splice {
        let text = self.places.text;
        let cut = |at: Range<usize>| Splice { at, with: String::new() };
        let (Some(first), Some(last)) = (self.members.get(range.start), self.members.get(range.end - 1))
        else {
            return cut(self.close..self.close);
        };
        let next_token = self.places.skip_space(last.end);
        let comma = (self.places.byte(next_token) == Some(b',')).then_some(next_token);
        let behind = comma.map_or(last.end, |c| c + 1);
        let own_lines = || {
            let alone = self.places.is_first(first.start) && self.places.comment(behind).is_some();
            alone.then(|| lines::start(text, first.start)..lines::next(text, behind))
        };
        let previous = range.start.checked_sub(1).and_then(|i| self.members.get(i));
        match (previous, self.members.get(range.end)) {
            (_, Some(next)) if !self.has_comment(last.end..next.start) => cut(first.start..next.start),
            (_, Some(_)) => cut(own_lines().unwrap_or(first.start..behind)),
            (None, None)
                if self.has_comment(self.open..first.start) || self.has_comment(last.end..self.close) =>
            {
                cut(first.start..behind)
            }
            (None, None) => cut(self.open..self.close),
            (Some(previous), None) if comma.is_some() || self.has_comment(previous.end..first.start) => {
                // YAML does not mind the comma that is left.
                let rest = if comma.is_some() { previous.end..last.end } else { first.start..last.end };
                cut(own_lines().filter(|own| own.end <= self.close).unwrap_or(rest))
            }
            (Some(previous), None) => {
                let own = self.places.is_first(first.start).then(|| self.places.comment(last.end)).flatten();
                cut(previous.end..last.end + own.map_or(0, str::len))
            }
        }
    }

    fn has_comment(&self, at: Range<usize>) -> bool {
        !self.places.json && self.places.text[at].contains('#')
    }
}

/// From the last line end on.
fn last_line(space: &str) -> &str {
    let at = space.rfind(['\n', '\r']).unwrap_or(0);
    let at = if space[..at].ends_with('\r') && space[at..].starts_with('\n') { at - 1 } else { at };
    let line = &space[at..];
    &line[..line.len() - line.trim_start().len()]
}
