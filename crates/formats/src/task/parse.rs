//! From text to tasks, line by line, in time linear in the text.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use domain::id::TaskId;
use domain::task::Mark;

use super::head::Head;
use super::item::ids;
use super::line::{self, Line};
use super::{Parts, PropertyParts, TaskItem};
use crate::diagnostic::{Diagnostic, Notes, suggest};

thread_local! {
    static BYTES_READ: Cell<u64> = const { Cell::new(0) };
}

/// How many bytes this thread has read as tasks so far: what edits cost, whatever the machine.
pub fn bytes_read() -> u64 {
    BYTES_READ.get()
}

pub(super) fn parse(path: &str, text: &str) -> (Vec<TaskItem>, Vec<Diagnostic>) {
    BYTES_READ.set(BYTES_READ.get() + text.len() as u64);
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
                        self.notes.error(trimmed(parts), message);
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
        "done_when" => {
            if let Err(why) = domain::evidence::parse(value) {
                let help = "the task would never count as done".to_owned();
                notes.error_with(span(), format!("done_when: {why}"), Some(help));
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
