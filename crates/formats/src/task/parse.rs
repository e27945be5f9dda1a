//! From text to tasks, line by line, in time linear in the text.

use std::collections::HashMap;
use std::ops::Range;

use domain::id::{AgentId, TaskId};
use domain::task::{Mark, Priority};

use super::item::ids;
use super::line::{self, Line};
use super::{Parts, PropertyParts, TaskItem};
use crate::diagnostic::{Diagnostic, Notes, suggest};

pub(super) fn parse(path: &str, text: &str) -> (Vec<TaskItem>, Vec<Diagnostic>) {
    let lines = line::lines(text);
    let mut reader = Reader {
        text,
        lines: &lines,
        at: 0,
        items: Vec::new(),
        open: Vec::new(),
        notes: Notes::new(path, text),
    };
    while reader.at < lines.len() {
        reader.step();
    }
    reader.check();
    (reader.items, reader.notes.into_list())
}

struct Reader<'a> {
    text: &'a str,
    lines: &'a [Line<'a>],
    at: usize,
    items: Vec<TaskItem>,
    /// The tasks that the next line may be a part of: width of their indent and index.
    open: Vec<(usize, usize)>,
    notes: Notes<'a>,
}

impl<'a> Reader<'a> {
    fn step(&mut self) {
        let line = self.lines[self.at];
        if line.is_blank() {
            self.at += 1;
        } else if let Some(fence) = line::fence(line.body()) {
            self.close_tasks(line.width());
            self.skip_fence(fence);
        } else if line.body().starts_with("<!--") {
            self.close_tasks(line.width());
            self.skip_comment();
        } else {
            self.close_tasks(line.width());
            self.at += 1;
            if let Some(found) = line::task_box(line.body()) {
                self.task(line, &found);
            } else if let (Some((_, owner)), Some((key, value))) =
                (self.open.last(), line::property(line.body()))
            {
                self.property(line, *owner, key, value);
            }
        }
        self.extend_task();
    }

    /// Whatever is indented below a task is a part of what stands below it.
    fn extend_task(&mut self) {
        let line = self.lines[self.at - 1];
        if let Some((_, index)) = self.open.last().filter(|_| !line.is_blank()) {
            self.items[*index].parts.subtree_end = line.next;
        }
    }

    fn close_tasks(&mut self, width: usize) {
        while self.open.last().is_some_and(|(w, _)| *w >= width) {
            self.open.pop();
        }
    }

    fn skip_fence(&mut self, (c, length): (char, usize)) {
        let opened = self.lines[self.at];
        self.at += 1;
        while let Some(line) = self.lines.get(self.at) {
            self.at += 1;
            let body = line.body().trim_end();
            if body.len() >= length && body.chars().all(|x| x == c) {
                return;
            }
        }
        self.notes.warning(
            opened.start..opened.end(),
            "the fence is not closed",
            Some("tasks below it are not read".to_owned()),
        );
    }

    fn skip_comment(&mut self) {
        let opened = self.lines[self.at];
        while let Some(line) = self.lines.get(self.at) {
            self.at += 1;
            if line.text.contains("-->") {
                return;
            }
        }
        self.notes.warning(
            opened.start..opened.end(),
            "the comment is not closed",
            Some("tasks below it are not read".to_owned()),
        );
    }

    fn task(&mut self, line: Line<'a>, found: &line::Box<'a>) {
        let body = line.start + line.indent().len();
        let mark_span = body + found.mark_span.start..body + found.mark_span.end;
        let mut marks = found.mark.chars();
        let Some(mark) = marks.next().filter(|_| marks.next().is_none()).and_then(Mark::from_symbol) else {
            self.notes.error_with(
                mark_span.start - 1..mark_span.end + 1,
                format!("`[{}]` is not a mark", found.mark),
                Some(
                    "open `[ ]`, running `[/]`, asking `[?]`, failed `[!]`, done `[x]`, cancelled `[-]`"
                        .to_owned(),
                ),
            );
            return;
        };
        let mut head = Head::default();
        head.read(line.body(), found.rest, &mut self.notes, body);
        if head.title.is_empty() {
            self.notes.error(line.start + line.indent().len()..line.end(), "the task has no title");
        }
        let column = line.indent().chars().count() + 1;
        let shift = |r: Range<usize>| body + r.start..body + r.end;
        let parts = Parts {
            head: line.start..line.end(),
            indent: line.start..body,
            mark: mark_span,
            priority: head.priority_span.map(shift),
            assignee: head.assignee_span.map(shift),
            tags: head.tag_spans.into_iter().map(shift).collect(),
            title: shift(head.title_span),
            properties: Vec::new(),
            subtree_end: line.next,
        };
        let parent = self.open.last().map(|(_, index)| *index);
        self.open.push((line.width(), self.items.len()));
        self.items.push(TaskItem {
            id: None,
            mark,
            title: head.title,
            priority: head.priority,
            assignee: head.assignee,
            tags: head.tags,
            properties: Vec::new(),
            line: line.number,
            column,
            span: line.start..line.next,
            parent,
            parts,
        });
    }

    fn property(&mut self, line: Line<'a>, owner: usize, key: Range<usize>, value: Range<usize>) {
        let body = line.start + line.indent().len();
        let written = line.body()[value.clone()].trim_matches([' ', '\t']);
        let mut parts = PropertyParts {
            prefix: line.start..body + key.start,
            key: body + key.start..body + key.end,
            value: body + value.start..line.end(),
            lines: line.start..line.next,
        };
        let width = line::width(&self.text[parts.prefix.clone()]);
        let text = match line::block(written) {
            Some(explicit) => self.block(width, line.width(), explicit, &mut parts),
            None if written.is_empty() => self.list(width, &mut parts),
            None => unquote(written).to_owned(),
        };
        let last_child = self.items.len() - 1;
        let item = &mut self.items[owner];
        // Properties below a child are the task's own, but no part of its first run of lines.
        if last_child == owner {
            item.span.end = parts.lines.end;
        }
        item.properties.push((line.body()[key].to_owned(), text));
        item.parts.properties.push(parts);
    }

    /// The lines of a `|` block: all that are blank or indented deeper than the property.
    fn block(
        &mut self,
        key_width: usize,
        line_width: usize,
        explicit: Option<usize>,
        parts: &mut PropertyParts,
    ) -> String {
        let first = self.at;
        let mut last = first;
        while let Some(line) = self.lines.get(self.at) {
            if !line.is_blank() {
                if line.width() <= line_width {
                    break;
                }
                last = self.at + 1;
            }
            self.at += 1;
        }
        self.at = last;
        let block = &self.lines[first..last];
        let natural = block.iter().find(|l| !l.is_blank()).map_or(0, |l| line::width(l.indent()));
        let base = explicit.map_or(natural, |n| key_width + n);
        if let Some(end) = block.last() {
            parts.value.end = end.end();
            parts.lines.end = end.next;
        }
        block.iter().map(|l| line::unindent(l.text, base)).collect::<Vec<_>>().join("\n")
    }

    /// `key:` alone, then deeper lines `- value`: read as `value, value`.
    fn list(&mut self, width: usize, parts: &mut PropertyParts) -> String {
        let mut values = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            let item = line.body().strip_prefix("- ").map(str::trim).filter(|v| !v.is_empty());
            let Some(item) = item.filter(|_| line.width() > width) else { break };
            if line::task_box(line.body()).is_some() || line::property(line.body()).is_some() {
                break;
            }
            values.push(unquote(item));
            parts.value.end = line.end();
            parts.lines.end = line.next;
            self.at += 1;
        }
        values.join(", ")
    }

    /// What can be said only when all lines are read: ends of subtrees, ids, and values that must have a form.
    fn check(&mut self) {
        for index in (0..self.items.len()).rev() {
            let end = self.items[index].parts.subtree_end;
            if let Some(parent) = self.items[index].parent {
                let parent = &mut self.items[parent].parts;
                parent.subtree_end = parent.subtree_end.max(end);
            }
        }
        let mut seen: HashMap<TaskId, usize> = HashMap::new();
        for item in &mut self.items {
            let mut keys = std::collections::HashSet::new();
            for ((key, value), parts) in item.properties.iter().zip(&item.parts.properties) {
                if !keys.insert(key.as_str()) {
                    self.notes
                        .error(parts.key.clone(), format!("the property `{key}` stands here a second time"));
                    continue;
                }
                check_value(key, value, parts, &mut self.notes);
                if key == "id" {
                    item.id = TaskId::parse(value).ok();
                    let Some(id) = item.id.clone() else { continue };
                    if let Some(line) = seen.insert(id, item.line) {
                        let message = format!("the id `{value}` is already used in line {line}");
                        self.notes.error(parts.value.clone(), message);
                    }
                }
            }
        }
    }
}

fn check_value(key: &str, value: &str, parts: &PropertyParts, notes: &mut Notes<'_>) {
    let span = || trimmed(parts);
    match key {
        "id" | "parent" => {
            if let Err(bad) = TaskId::parse(value) {
                notes.error(span(), bad.to_string());
            }
        }
        "depends_on" => {
            for bad in ids(value).filter_map(|t| TaskId::parse(t).err()) {
                notes.error_with(
                    span(),
                    bad.to_string(),
                    Some("write ids with commas between them".to_owned()),
                );
            }
        }
        "approval_required" if !matches!(value, "true" | "false") => {
            notes.error_with(
                span(),
                format!("expected `true` or `false`, found `{value}`"),
                suggest(value, ["true", "false"]),
            );
        }
        _ => {}
    }
}

/// The value without the space behind the colon.
fn trimmed(parts: &PropertyParts) -> Range<usize> {
    (parts.value.start + 1).min(parts.value.end)..parts.value.end
}

/// One pair of equal quotes around the whole value is taken off; inside, nothing is escaped.
pub(super) fn unquote(value: &str) -> &str {
    let inner = |q: char| value.strip_prefix(q).and_then(|v| v.strip_suffix(q));
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

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
