//! Where the values of a document stand: what the parser's spans leave out (colons, dashes, `|`, absent
//! values), found by reading on from what comes before.

use super::expect;
use crate::lines;
use crate::yaml::{Entry, Kind, Node, Style};

/// A text whose places are looked for.
#[derive(Clone, Copy)]
pub(super) struct Places<'t> {
    pub(super) text: &'t str,
    pub(super) json: bool,
}

/// The place of a value below its key, its dash or the root.
#[derive(Clone, Copy)]
pub(super) struct Slot<'n> {
    pub(super) node: &'n Node,
    /// The first byte of the key or the dash.
    pub(super) lead: usize,
    /// Right behind the colon or the dash; behind the key if there is no colon.
    pub(super) after: usize,
    /// There is a colon or a dash, or none is needed.
    pub(super) marked: bool,
    /// Inside brackets or braces, where lines mean nothing.
    pub(super) flow: bool,
    /// What the value hangs on.
    pub(super) on: On,
}

/// What a value hangs on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// Nothing: it is the whole document.
    Root,
    /// A key.
    Key,
    /// A dash, or a place between brackets.
    Item,
}

impl<'t> Places<'t> {
    pub(super) fn root<'n>(&self, node: &'n Node) -> Slot<'n> {
        let mark = self.text.len() - self.text.trim_start_matches('\u{feff}').len();
        let start = if is_absent(node) { mark } else { node.span.start };
        Slot { node, lead: start, after: start, marked: true, flow: self.json, on: On::Root }
    }

    /// The place of a key's value, or of an item by its number.
    pub(super) fn child<'n>(&self, slot: &Slot<'n>, key: &str) -> Option<Slot<'n>> {
        match &slot.node.kind {
            Kind::Map { flow, .. } => slot.node.entry(key).map(|entry| self.entry(entry, slot.flow || *flow)),
            Kind::List { items, flow } => {
                let at = expect::index(key).filter(|at| *at < items.len())?;
                if slot.flow || *flow {
                    items.get(at).map(in_brackets)
                } else {
                    self.items(slot).into_iter().nth(at)
                }
            }
            Kind::Scalar { .. } => None,
        }
    }

    pub(super) fn entry<'n>(&self, entry: &'n Entry, flow: bool) -> Slot<'n> {
        let key = entry.key_span.clone();
        // `? key` has its colon on another line. In brackets the line may be the whole file: not looked at.
        let line = if flow { key.start } else { lines::start(self.text, key.start) };
        let before = self.text[line..key.start].trim_end_matches([' ', '\t']);
        let asked = before.ends_with('?');
        let lead = if asked { line + before.len() - 1 } else { key.start };
        let colon = if flow || asked { self.skip_space(key.end) } else { self.skip_blanks(key.end) };
        let marked = self.byte(colon) == Some(b':');
        let after = if marked { colon + 1 } else { key.end };
        Slot { node: &entry.value, lead, after, marked, flow, on: On::Key }
    }

    /// The items of a list in lines.
    pub(super) fn items<'n>(&self, slot: &Slot<'n>) -> Vec<Slot<'n>> {
        self.items_and_end(slot).0
    }

    /// Each dash is the first thing behind the item before it. Every item is looked at once, however deep.
    fn items_and_end<'n>(&self, slot: &Slot<'n>) -> (Vec<Slot<'n>>, usize) {
        let mut at = slot.after;
        let mut slots = Vec::new();
        for node in slot.node.items() {
            let lead = self.skip_space(at);
            let after = (lead + 1).min(self.text.len());
            let item = Slot { node, lead, after, marked: true, flow: false, on: On::Item };
            at = self.end(&item).max(after);
            slots.push(item);
        }
        (slots, at)
    }

    /// Where a value ends: behind its last character, in front of the comment and the line end behind it.
    pub(super) fn end(&self, slot: &Slot<'_>) -> usize {
        let node = slot.node;
        match &node.kind {
            Kind::Scalar { .. } if is_absent(node) => slot.after,
            Kind::Scalar { text, style: style @ (Style::Literal | Style::Folded) } => {
                self.block_end(slot, text, *style)
            }
            Kind::Scalar { .. } | Kind::List { flow: true, .. } | Kind::Map { flow: true, .. } => {
                node.span.end
            }
            Kind::List { .. } => self.items_and_end(slot).1,
            Kind::Map { entries, .. } => {
                entries.last().map_or(node.span.end, |last| self.end(&self.entry(last, slot.flow)))
            }
        }
    }

    /// The `|` or `>` of a block, and the end of its line.
    pub(super) fn block_head(&self, slot: &Slot<'_>) -> (usize, usize) {
        let start = self.skip_space(slot.after);
        (start, lines::end(self.text, start))
    }

    fn block_end(&self, slot: &Slot<'_>, value: &str, style: Style) -> usize {
        let (start, head_end) = self.block_head(slot);
        let head = self.text[start..head_end].split('#').next().unwrap_or_default();
        let body = value.trim_end_matches('\n');
        let blank = value.len() - body.len();
        if style == Style::Folded {
            let inside = self.text.get(head_end..slot.node.span.end).unwrap_or_default();
            let kept = inside.trim_end().len();
            let kept =
                if head.contains('+') { inside.trim_end_matches([' ', '\n', '\r']).len() } else { kept };
            let end = head_end + kept;
            return (0..if head.contains('+') { blank.saturating_sub(1) } else { 0 })
                .fold(end, |end, _| lines::end(self.text, lines::next(self.text, end)));
        }
        let written = if body.is_empty() { 0 } else { 1 + body.matches('\n').count() };
        let kept = if head.contains('+') { blank - usize::from(!body.is_empty()).min(blank) } else { 0 };
        (0..written + kept).fold(head_end, |end, _| lines::end(self.text, lines::next(self.text, end)))
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Behind spaces and tabs.
    pub(super) fn skip_blanks(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        at + rest.len() - rest.trim_start_matches([' ', '\t']).len()
    }

    /// Behind white space, line ends and comments.
    pub(super) fn skip_space(&self, mut at: usize) -> usize {
        loop {
            let rest = &self.text[at..];
            let found = at + rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            let free = found == 0 || self.text[..found].ends_with([' ', '\t', '\n', '\r', '\u{feff}']);
            if self.json || self.byte(found) != Some(b'#') || !free {
                return found;
            }
            at = lines::end(self.text, found);
        }
    }

    /// What stands between `at` and the end of its line, if that is white space and a comment only.
    pub(super) fn comment(&self, at: usize) -> Option<&'t str> {
        let rest = &self.text[at..lines::end(self.text, at)];
        let words = rest.trim_start_matches([' ', '\t']);
        let comment = words.starts_with('#') && words.len() < rest.len() && !self.json;
        (words.is_empty() || comment).then_some(rest)
    }

    /// Nothing but indentation stands in front of `at` on its line.
    pub(super) fn is_first(&self, at: usize) -> bool {
        self.text[lines::start(self.text, at)..at].trim_matches([' ', '\t']).is_empty()
    }

    pub(super) fn column(&self, at: usize) -> usize {
        lines::column(self.text, at)
    }
}

/// An item in brackets.
pub(super) fn in_brackets(node: &Node) -> Slot<'_> {
    let start = node.span.start;
    Slot { node, lead: start, after: start, marked: true, flow: true, on: On::Item }
}

/// Nothing is written at all, not even `~`.
pub(super) fn is_absent(node: &Node) -> bool {
    matches!(&node.kind, Kind::Scalar { text, style: Style::Plain } if text.is_empty())
}
