//! Redaction: what looks like a credential is replaced before a model, a log, a message or an answer of the API has
//! it. Pure, and linear in the text: every search has a bound.
//!
//! Two mistakes are possible, and both hurt: a key that gets through, and a hash that an agent needs and does not
//! get. So a bare text must have the form of a known kind of key; a text that is *named* a password or a token
//! needs only to look like one.

mod forms;
mod named;

use std::borrow::Cow;

/// A part of a text that must not be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
    kind: &'static str,
}

/// Known values shorter than this are not looked for: they would be found everywhere.
pub const KNOWN_BYTES_MIN: usize = 8;

/// The text without credentials.
pub fn redact(text: &str) -> Cow<'_, str> {
    redact_known(text, &[])
}

/// The text without credentials and without these exact values.
pub fn redact_known<'a>(text: &'a str, known: &[&str]) -> Cow<'a, str> {
    let mut spans = Vec::new();
    for value in known.iter().filter(|value| value.len() >= KNOWN_BYTES_MIN) {
        let found = text.match_indices(value);
        spans.extend(found.map(|(start, _)| Span { start, end: start + value.len(), kind: "known key" }));
    }
    forms::find(text, &mut spans);
    named::find(text, &mut spans);
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(replaced(text, spans))
}

/// The text with `[redacted: kind]` in place of each span; spans that touch become one.
fn replaced(text: &str, mut spans: Vec<Span>) -> String {
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut new = String::with_capacity(text.len());
    let mut behind = 0;
    for span in spans {
        if span.start >= behind {
            new.push_str(&text[behind..span.start]);
            new.push_str("[redacted: ");
            new.push_str(span.kind);
            new.push(']');
        }
        behind = behind.max(span.end);
    }
    new.push_str(&text[behind..]);
    new
}

#[cfg(test)]
mod tests;
