//! What stands behind the box of a task: letter, assignee, tags, title.

use std::ops::Range;

use domain::id::AgentId;
use domain::task::Priority;

use crate::diagnostic::Notes;

/// What stands behind the box. Spans are relative to the line's body.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) priority: Option<Priority>,
    pub(super) priority_span: Option<Range<usize>>,
    pub(super) assignee: Option<AgentId>,
    pub(super) assignee_span: Option<Range<usize>>,
    pub(super) tags: Vec<String>,
    pub(super) tag_spans: Vec<Range<usize>>,
    pub(super) title: String,
    pub(super) title_span: Range<usize>,
}

const SPACE: [char; 3] = [' ', '\t', '\u{a0}'];

impl Head {
    pub(super) fn read(&mut self, body: &str, mut at: usize, notes: &mut Notes<'_>, base: usize) {
        loop {
            at = body.len() - body[at..].trim_start_matches(SPACE).len();
            let length = body[at..].find(SPACE).unwrap_or(body.len() - at);
            let (word, span) = (&body[at..at + length], at..at + length);
            let more = !body[at + length..].trim().is_empty();
            if !(self.token(word, span.clone(), notes, base)
                || self.letter(word, span, more, body, notes, base))
            {
                break;
            }
            at += length;
        }
        let end = at + body[at..].trim_end().len();
        self.title_span = at..end.max(at);
        let (title, length) = title(&body[at..end.max(at)]);
        self.title = title;
        // Words behind a closed quote are the rest of the title, unless all of them are tokens.
        if at + length < end {
            let tail = at + length..end;
            if body[tail.clone()].split(SPACE).filter(|w| !w.is_empty()).all(is_token) {
                self.title_span.end = at + length;
                self.tail(body, tail, notes, base);
            } else {
                self.title = body[at..end].to_owned();
            }
        }
    }

    fn tail(&mut self, body: &str, tail: Range<usize>, notes: &mut Notes<'_>, base: usize) {
        let mut at = tail.start;
        while at < tail.end {
            at = tail.end - body[at..tail.end].trim_start_matches(SPACE).len();
            let length = body[at..tail.end].find(SPACE).unwrap_or(tail.end - at);
            self.token(&body[at..at + length], at..at + length, notes, base);
            at += length.max(1);
        }
    }

    /// Takes `@agent` or `#tag`.
    fn token(&mut self, word: &str, span: Range<usize>, notes: &mut Notes<'_>, base: usize) -> bool {
        let at = base + span.start..base + span.end;
        if !is_token(word) {
            return false;
        }
        if let Some(tag) = word.strip_prefix('#') {
            self.tags.push(tag.to_owned());
            self.tag_spans.push(span);
            return true;
        }
        match AgentId::parse(&word[1..]) {
            Ok(_) if self.assignee_span.is_some() => {
                notes.error(at, "a task has one assignee, this is the second")
            }
            Ok(agent) => {
                self.assignee = Some(agent);
                self.assignee_span = Some(span);
            }
            Err(bad) => {
                notes.error(at, bad.to_string());
                self.assignee_span.get_or_insert(span);
            }
        }
        true
    }

    /// Takes a priority: a single capital letter with more behind it.
    fn letter(
        &mut self,
        word: &str,
        span: Range<usize>,
        more: bool,
        body: &str,
        notes: &mut Notes<'_>,
        base: usize,
    ) -> bool {
        let mut chars = word.chars();
        let (Some(letter), None) = (chars.next(), chars.next()) else { return false };
        if !more || !letter.is_ascii_uppercase() || self.priority_span.is_some() {
            return false;
        }
        let priority = Priority::from_letter(letter);
        // "I" starts many a title; a letter in front of a token or a quote was meant as a priority.
        let next = body[span.end..].trim_start_matches(SPACE);
        if priority.is_none() && !next.starts_with(['@', '#', '"', '`']) {
            return false;
        }
        if priority.is_none() {
            let message = format!("`{letter}` is not a priority");
            notes.error_with(
                base + span.start..base + span.end,
                message,
                Some("priorities are A to F".to_owned()),
            );
        }
        self.priority = priority;
        self.priority_span = Some(span);
        true
    }
}

fn is_token(word: &str) -> bool {
    word.len() > 1 && (word.starts_with('@') || (word.starts_with('#') && !word.starts_with("##")))
}

/// The title that a text starts with, and how many bytes of it that is.
fn title(text: &str) -> (String, usize) {
    if let Some(inner) = text.strip_prefix('`')
        && let Some(end) = inner.find('`')
    {
        return (inner[..end].to_owned(), end + 2);
    }
    if let Some(inner) = text.strip_prefix('"') {
        let (mut title, mut escaped) = (String::new(), false);
        for (i, c) in inner.char_indices() {
            match c {
                '"' if !escaped => return (title, i + 2),
                '"' | '\\' if escaped => {
                    title.pop();
                    title.push(c);
                    escaped = false;
                }
                _ => {
                    title.push(c);
                    escaped = c == '\\';
                }
            }
        }
    }
    (text.to_owned(), text.len())
}
