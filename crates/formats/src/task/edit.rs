//! Edits: each is a splice of the text, followed by a parse of the whole. An index that does not exist
//! changes nothing.

use std::ops::Range;

use domain::id::AgentId;
use domain::task::{Mark, Priority};

use super::{PropertyParts, QUEUE_FILE, TaskFile, TaskItem, line, parse, print};
use crate::lines;

/// The parent of a task and its properties.
type Outline = (Option<usize>, Vec<(String, String)>);

impl TaskFile {
    /// Changes the box. A box that already says so is kept as it was typed.
    pub fn set_mark(&mut self, index: usize, mark: Mark) {
        let Some(item) = self.items.get(index).filter(|i| i.mark != mark) else { return };
        let symbol = self.symbol(mark).to_string();
        self.splice(item.parts.mark.clone(), &symbol);
    }

    /// Sets a property, or adds it below the last one. A value with more than one line becomes a `|` block;
    /// blank lines at its end are not kept.
    pub fn set_property(&mut self, index: usize, key: &str, value: &str) {
        let Some(item) = self.items.get(index) else { return };
        let Some(at) = item.properties.iter().position(|(k, _)| k == key) else {
            return self.add_property(index, key, value);
        };
        if item.properties[at].1 == print::normal(value) {
            return;
        }
        let (parts, old) = (item.parts.properties[at].clone(), self.text.clone());
        let others = self.outline(index, key);
        let prefix = self.prefix_for(value, &old[parts.prefix.clone()], parts.lines.end);
        let printed = print::value(value, &prefix, self.newline());
        if prefix == old[parts.prefix.clone()] {
            self.splice(parts.value, &printed);
        } else {
            self.splice(parts.prefix.start..parts.value.end, &format!("{prefix}{key}:{printed}"));
        }
        // Between the children of a task there may be no place for a block: then it goes above them.
        if self.outline(index, key) != others {
            self.text = old;
            self.items = parse::parse(&self.path, &self.text).0;
            self.remove_property(index, key);
            self.add_property(index, key, value);
        }
    }

    fn add_property(&mut self, index: usize, key: &str, value: &str) {
        let Some(item) = self.items.get(index) else { return };
        let at = own_end(item);
        let prefix = self.prefix_for(value, &self.property_prefix(item), at);
        let printed = format!("{prefix}{key}:{}", print::value(value, &prefix, self.newline()));
        self.insert_lines(at, &printed);
    }

    /// What stands before the key. A block takes in all deeper lines behind it, so its property must stand as
    /// deep as the line at `next`.
    fn prefix_for(&self, value: &str, prefix: &str, next: usize) -> String {
        let indent = &prefix[..prefix.len() - prefix.trim_start_matches([' ', '\t', '\u{a0}']).len()];
        let lines = self.text[next..].split('\n').map(|l| l.strip_suffix('\r').unwrap_or(l));
        let deeper =
            lines.skip_while(|l| l.trim().is_empty()).map(line::indent_of).next().unwrap_or_default();
        let needed = print::normal(value).contains('\n') && line::width(deeper) > line::width(indent);
        if needed { deeper.to_owned() } else { prefix.to_owned() }
    }

    /// Takes a property out, with its lines.
    pub fn remove_property(&mut self, index: usize, key: &str) {
        let Some(item) = self.items.get(index) else { return };
        let Some(at) = item.properties.iter().position(|(k, _)| k == key) else { return };
        let parts = item.parts.properties[at].clone();
        let (old, others) = (self.text.clone(), self.outline(index, key));
        self.splice(parts.lines.clone(), "");
        // A property between tasks also ends those above it: something must still stand there.
        if self.outline(index, key) != others {
            let indent = line::indent_of(&old[parts.prefix.clone()]);
            let filler = format!("{indent}<!-- -->");
            self.text = old.clone();
            self.splice(parts.prefix.start..parts.value.end, &filler);
        }
    }

    /// Changes the title; its kind of quotes stays if it can. Line ends become spaces.
    pub fn set_title(&mut self, index: usize, title: &str) {
        let Some(item) = self.items.get(index) else { return };
        let title = print::one_line(title);
        if item.title == title {
            return;
        }
        let old = &self.text[item.parts.title.clone()];
        let printed = print::title(&title, old);
        let gap = if old.is_empty() { self.gap_before(item.parts.title.start) } else { "" };
        self.splice(item.parts.title.clone(), &format!("{gap}{printed}"));
    }

    /// Changes who works on it; `None` takes the assignee out.
    pub fn set_assignee(&mut self, index: usize, assignee: Option<&AgentId>) {
        let Some(item) = self.items.get(index).filter(|i| i.assignee.as_ref() != assignee) else { return };
        let after = item.parts.priority.as_ref().map_or(item.parts.mark.end + 1, |p| p.end);
        let token = assignee.map(|a| format!("@{a}"));
        self.set_token(index, item.parts.assignee.clone(), after, token);
    }

    /// Changes the letter; `None` takes it out.
    pub fn set_priority(&mut self, index: usize, priority: Option<Priority>) {
        let Some(item) = self.items.get(index).filter(|i| i.priority != priority) else { return };
        let after = item.parts.mark.end + 1;
        self.set_token(index, item.parts.priority.clone(), after, priority.map(|p| p.letter().to_string()));
    }

    /// Changes the tags. Characters that a tag cannot have are left out.
    pub fn set_tags(&mut self, index: usize, tags: &[String]) {
        let tags: Vec<String> = tags.iter().map(|t| print::tag(t)).filter(|t| !t.is_empty()).collect();
        if self.items.get(index).is_none_or(|i| i.tags == tags) {
            return;
        }
        self.quote_title(index);
        let old = self.items.get(index).map(|i| i.parts.tags.clone()).unwrap_or_default();
        for span in old.into_iter().rev() {
            let span = self.with_space(span);
            self.text.replace_range(span, "");
        }
        self.items = parse::parse(&self.path, &self.text).0;
        let Some(parts) = self.items.get(index).map(|i| &i.parts) else { return };
        let box_end = parts.mark.end + 1;
        let ends = [parts.priority.as_ref(), parts.assignee.as_ref()].into_iter().flatten().map(|r| r.end);
        let after = ends.filter(|e| *e <= parts.title.start).max().unwrap_or(box_end);
        let tokens: String = tags.iter().map(|t| format!(" #{t}")).collect();
        self.splice(after..after, &tokens);
    }

    /// Takes a task out, with everything below it.
    pub fn remove(&mut self, index: usize) {
        let Some(item) = self.items.get(index) else { return };
        let mut span = item.span.start..item.parts.subtree_end;
        // A blank line on both sides would become two.
        let before_blank =
            self.text[..span.start].ends_with("\n\n") || self.text[..span.start].ends_with("\n\r\n");
        let newline = self.newline();
        if before_blank && self.text[span.end..].starts_with(newline) {
            span.end += newline.len();
        }
        self.splice(span, "");
    }

    pub(super) fn is_queue(&self) -> bool {
        self.path.ends_with(QUEUE_FILE)
    }

    pub(super) fn symbol(&self, mark: Mark) -> char {
        if mark == Mark::Open && self.is_queue() { '_' } else { mark.symbol() }
    }

    /// The line end of the file: that of its first line.
    pub(super) fn newline(&self) -> &'static str {
        lines::newline(&self.text)
    }

    pub(super) fn property_indent(&self, item: &TaskItem) -> String {
        if let Some(parts) = item.parts.properties.first() {
            let prefix = &self.text[parts.prefix.clone()];
            return prefix[..prefix.len() - prefix.trim_start_matches([' ', '\t', '\u{a0}']).len()]
                .to_owned();
        }
        let indent = &self.text[item.parts.indent.clone()];
        format!("{indent}{}", if indent.contains('\t') { "\t" } else { "  " })
    }

    /// Which task is below which and what they say, without one property of one task.
    fn outline(&self, index: usize, key: &str) -> Vec<Outline> {
        let kept = |at: usize, k: &str| at != index || k != key;
        let properties = |(at, item): (usize, &TaskItem)| {
            (item.parent, item.properties.iter().filter(|(k, _)| kept(at, k)).cloned().collect())
        };
        self.items.iter().enumerate().map(properties).collect()
    }

    /// A space, if there is none before `at`.
    fn gap_before(&self, at: usize) -> &'static str {
        if self.text[..at].ends_with([' ', '\t', '\u{a0}']) { "" } else { " " }
    }

    /// What stands before the key of a new property: as before the last of its own, bullet included.
    fn property_prefix(&self, item: &TaskItem) -> String {
        let own = item.parts.properties.iter().rev().find(|p| p.lines.end <= item.span.end);
        own.map_or_else(|| self.property_indent(item), |p| self.text[p.prefix.clone()].to_owned())
    }

    /// Replaces a token, puts it behind the byte `after`, or takes it out. The title keeps its meaning.
    fn set_token(&mut self, index: usize, old: Option<Range<usize>>, after: usize, token: Option<String>) {
        match (old, token) {
            (Some(span), Some(token)) => self.splice(span, &token),
            (Some(span), None) => {
                let shift = self.quote_title(index);
                let span = if span.start < self.items[index].parts.title.start {
                    span
                } else {
                    span.start + shift..span.end + shift
                };
                let span = self.with_space(span);
                self.splice(span, "");
            }
            (None, Some(token)) => {
                self.quote_title(index);
                self.splice(after..after, &format!(" {token}"));
            }
            (None, None) => {}
        }
    }

    /// A bare title that could be taken for a token when its neighbour goes is put in quotes. Says how much
    /// longer it got.
    fn quote_title(&mut self, index: usize) -> usize {
        let Some(item) = self.items.get(index) else { return 0 };
        let old = &self.text[item.parts.title.clone()];
        if old.is_empty() {
            let gap = self.gap_before(item.parts.title.start);
            self.splice(item.parts.title.clone(), &format!("{gap}\"\""));
            return 0;
        }
        let bare = old == item.title;
        if !bare || print::is_bare(&item.title) {
            return 0;
        }
        let printed = print::title(&item.title, "");
        let longer = printed.len().saturating_sub(old.len());
        self.splice(item.parts.title.clone(), &printed);
        longer
    }

    /// A token with the white space before it.
    fn with_space(&self, span: Range<usize>) -> Range<usize> {
        let before = self.text[..span.start].trim_end_matches([' ', '\t']);
        before.len()..span.end
    }

    /// Inserts whole lines at the start of a line (or the end of the text); `lines` has no last line end.
    pub(super) fn insert_lines(&mut self, at: usize, lines: &str) {
        let newline = self.newline();
        let open = at > 0
            && !self.text[..at].ends_with('\n')
            && !self.text[..at].trim_start_matches('\u{feff}').is_empty();
        let printed = if open { format!("{newline}{lines}") } else { format!("{lines}{newline}") };
        // A file without a last line end keeps being one only if it had text.
        self.splice(at..at, &printed);
    }

    fn splice(&mut self, span: Range<usize>, with: &str) {
        self.text.replace_range(span, with);
        self.items = parse::parse(&self.path, &self.text).0;
    }
}

/// Where a task's own lines end: before its first child.
pub(super) fn own_end(item: &TaskItem) -> usize {
    let within = |p: &&PropertyParts| p.lines.end <= item.span.end;
    item.parts.properties.iter().rev().find(within).map_or(item.span.end, |p| p.lines.end)
}
