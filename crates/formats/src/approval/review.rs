//! The parts of an approval's own file: lines outside of fences, and the labels of the review.

use std::ops::Range;

/// The bytes of each line that is not inside a fence (fence lines are not either), with line ends.
pub(super) fn open_lines(text: &str) -> (Vec<Range<usize>>, Vec<Fence>) {
    let (mut lines, mut fences): (Vec<Range<usize>>, Vec<Fence>) = (Vec::new(), Vec::new());
    let (mut at, mut open): (usize, Option<(usize, Fence)>) = (0, None);
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let body = line.trim_end();
        let ticks = body.len() - body.trim_start_matches('`').len();
        match &mut open {
            Some((length, fence)) if ticks >= *length && ticks == body.len() => {
                fence.inner.end = range.start;
                fences.extend(open.take().map(|(_, fence)| fence));
            }
            Some(_) => {}
            None if ticks >= 3 => {
                let inner = range.end..range.end;
                open = Some((ticks, Fence { language: body[ticks..].trim().to_owned(), inner }));
            }
            None => lines.push(range),
        }
    }
    (lines, fences)
}

/// What stands between two fence lines.
pub(super) struct Fence {
    pub(super) language: String,
    pub(super) inner: Range<usize>,
}

/// A label of the review with its value.
pub(super) struct Label {
    pub(super) name: &'static str,
    /// Where the value begins: right behind the label.
    pub(super) value_start: usize,
    /// The value without comments and white space around it; empty at `value_start` if there is none.
    pub(super) value: Range<usize>,
}

/// The labels that the review has.
pub(super) const LABELS: [&str; 4] = ["Decision", "Notes", "Reviewed by", "Reviewed at"];

/// The part behind the last `## Review` that stands outside of fences.
pub(super) fn review(text: &str) -> Option<Range<usize>> {
    let (lines, _) = open_lines(text);
    let line = lines.into_iter().rev().find(|l| {
        let line = text[l.clone()].trim_end();
        line.starts_with('#') && line.trim_start_matches('#').trim().eq_ignore_ascii_case("review")
    })?;
    Some(line.end..text.len())
}

/// Comments as spaces of the same length.
pub(super) fn without_comments(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find("<!--") {
        let end = rest[start..].find("-->").map_or(rest.len(), |i| start + i + 3);
        out.push_str(&rest[..start]);
        out.extend(rest[start..end].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
        rest = &rest[end..];
    }
    out + rest
}

/// The runs of a value between its comments, without white space around them.
pub(super) fn pieces(text: &str, value: &Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = value.start;
    while at < value.end {
        let rest = &text[at..value.end];
        let comment = rest.find("<!--").unwrap_or(rest.len());
        let piece = &rest[..comment];
        let start = at + piece.len() - piece.trim_start().len();
        if !piece.trim().is_empty() {
            found.push(start..start + piece.trim().len());
        }
        at += rest[comment..].find("-->").map_or(rest.len(), |end| comment + end + "-->".len());
    }
    found
}

/// The labels of the review in the order of the file.
pub(super) fn labels(text: &str) -> Vec<Label> {
    let Some(part) = review(text) else { return Vec::new() };
    let clean = without_comments(&text[part.clone()]);
    let mut found: Vec<(usize, &'static str, usize)> = Vec::new();
    let mut at = 0;
    for line in clean.split_inclusive('\n') {
        if let Some((name, length)) = label(line) {
            found.push((at, name, at + length));
        }
        at += line.len();
    }
    let ends: Vec<usize> = found.iter().skip(1).map(|f| f.0).chain([clean.len()]).collect();
    found
        .into_iter()
        .zip(ends)
        .map(|((_, name, start), end)| {
            let raw = &clean[start..end];
            let value = raw.trim();
            let from = if value.is_empty() { start } else { start + (raw.len() - raw.trim_start().len()) };
            let base = part.start;
            Label { name, value_start: base + start, value: base + from..base + from + value.len() }
        })
        .collect()
}

/// `**Name:**`, `Name:` or `- **Name**:` at the start of a line: the name, and where the value begins.
fn label(line: &str) -> Option<(&'static str, usize)> {
    let body = line.trim_start_matches([' ', '\t', '-', '*', '_']);
    let start = line.len() - body.len();
    for name in LABELS {
        let Some(head) = body.get(..name.len()).filter(|h| h.eq_ignore_ascii_case(name)) else { continue };
        let rest = &body[head.len()..];
        let marks = |s: &str| s.len() - s.trim_start_matches(['*', '_']).len();
        let before = marks(rest);
        let Some(after) = rest[before..].strip_prefix(':') else { continue };
        return Some((name, start + head.len() + before + 1 + marks(after)));
    }
    None
}
