//! New tasks: where they go and how they are printed.

use std::collections::HashSet;

use domain::id::TaskId;
use domain::task::{Mark, Spec};

use super::edit::own_end;
use super::{TaskFile, TaskItem, line, print};

impl TaskFile {
    /// Adds a task: below the last child of `parent`, or at the end of the last list of the file.
    pub fn add(&mut self, parent: Option<usize>, task: &Spec, mark: Mark, extra: &[(String, String)]) {
        let Some((at, item)) = parent.and_then(|p| self.items.get(p).map(|item| (p, item))) else {
            return self.add_top(task, mark, extra);
        };
        let indent = self.child_indent(at, item);
        let block = self.block(&indent, task, item.id.as_ref(), mark, extra);
        // Below a fence that nobody closed nothing is read; above it the task is, unless it would take in what is there.
        let mut places: Vec<_> = [item.parts.subtree_end, own_end(item)].map(|at| (at, block.clone())).into();
        places.extend(self.top_places(task, mark, extra));
        self.insert_first_read(places);
    }

    /// Adds many tasks that are parts of none in this file, as [`Self::add`] would one after the other, in one go.
    pub fn add_all(&mut self, tasks: &[New<'_>]) {
        // From the third on, each goes behind the one before with the same gap; that is not so for those before.
        let (first, rest) = tasks.split_at(tasks.len().min(2));
        for new in first {
            self.add_top(new.task, new.mark, &new.extra);
        }
        let Some(next) = rest.first() else { return };
        let places = self.top_places(next.task, next.mark, &next.extra);
        let Some((at, one)) = places.first() else { return };
        let (gap, indent) = shape_of(one);
        let blocks = rest.iter().map(|new| {
            let block = self.block(indent, new.task, None, new.mark, &new.extra);
            format!("{gap}{block}")
        });
        let lines = blocks.collect::<Vec<_>>().join(self.newline());
        let (old, at) = ((self.text.clone(), self.items.clone()), *at);
        self.insert_lines(at, &lines);
        let ids =
            |items: &[TaskItem]| items.iter().filter_map(|item| item.id.clone()).collect::<HashSet<_>>();
        let now = ids(&self.items);
        if self.items.len() == old.1.len() + rest.len() && rest.iter().all(|new| now.contains(&new.task.id)) {
            return;
        }
        // Something about this file or these tasks is odd: then one at a time.
        (self.text, self.items) = old;
        for new in rest {
            self.add_top(new.task, new.mark, &new.extra);
        }
    }

    fn add_top(&mut self, task: &Spec, mark: Mark, extra: &[(String, String)]) {
        let places = self.top_places(task, mark, extra);
        self.insert_first_read(places);
    }

    /// Inserts at the first place where the lines are read.
    fn insert_first_read(&mut self, places: Vec<(usize, String)>) {
        let count = self.items.len();
        for (at, lines) in places {
            let old = (self.text.clone(), self.items.clone());
            self.insert_lines(at, &lines);
            if self.items.len() > count {
                return;
            }
            (self.text, self.items) = old;
        }
    }

    /// Where a new task could go, the best place first: the list below `## TODO`, that heading, the last list,
    /// a new heading at the end, one at the start.
    fn top_places(&self, task: &Spec, mark: Mark, extra: &[(String, String)]) -> Vec<(usize, String)> {
        let newline = self.newline();
        let lines = line::lines(&self.text);
        let heading = lines.iter().position(|l| {
            let words = l.text.trim_start_matches('#');
            words.len() < l.text.len() && words.trim().eq_ignore_ascii_case("todo")
        });
        let tops: Vec<&TaskItem> = self.items.iter().filter(|i| i.parent.is_none()).collect();
        let mut places = Vec::new();
        let mut block = |gap: &str, indent: &str, more: &str, at: usize| {
            places.push((at, format!("{gap}{}{more}", self.block(indent, task, None, mark, extra))));
        };
        if let Some(at) = heading {
            let below = &lines[at + 1..];
            let end = below.iter().find(|l| l.text.starts_with('#')).map_or(self.text.len(), |l| l.start);
            let section: Vec<&TaskItem> =
                tops.iter().copied().filter(|i| (lines[at].next..end).contains(&i.span.start)).collect();
            if let Some(last) = section.last() {
                block(self.gap(&section), &self.text[last.parts.indent.clone()], "", last.parts.subtree_end);
            }
            // Indented text below the heading would become a part of the task.
            let text = below.iter().take_while(|l| l.is_blank() || l.width() > 0).filter(|l| !l.is_blank());
            let at = text.last().map_or(lines[at].next, |l| l.next);
            block(newline, "", if self.text[at..].trim().is_empty() { "" } else { newline }, at);
        }
        if let Some(last) = tops.last() {
            block(self.gap(&tops), &self.text[last.parts.indent.clone()], "", last.parts.subtree_end);
        }
        let gap = if self.text.trim_start_matches('\u{feff}').is_empty() { "" } else { newline };
        let title = format!("## TODO{newline}{newline}");
        block(&format!("{gap}{title}"), "", "", self.text.len());
        // Behind a fence or a comment that nobody closed nothing is read. The rule keeps it out of the task.
        block(
            &title,
            "",
            &format!("{newline}{newline}---"),
            self.text.len() - self.text.trim_start_matches('\u{feff}').len(),
        );
        places
    }

    /// A blank line, if the last task of a list has one above it or is the only one.
    fn gap(&self, list: &[&TaskItem]) -> &'static str {
        let before = list.last().map_or("", |l| &self.text[..l.span.start]);
        let spaced = list.len() == 1 || before.ends_with("\n\n") || before.ends_with("\n\r\n");
        if spaced { self.newline() } else { "" }
    }

    /// The lines of a new task, without the last line end.
    fn block(
        &self,
        indent: &str,
        task: &Spec,
        parent: Option<&TaskId>,
        mark: Mark,
        extra: &[(String, String)],
    ) -> String {
        let newline = self.newline();
        let mut out = format!("{indent}- [{}]", self.symbol(mark));
        if let Some(priority) = task.priority {
            out.push_str(&format!(" {}", priority.letter()));
        }
        if let Some(assignee) = &task.assignee {
            out.push_str(&format!(" @{assignee}"));
        }
        for tag in task.tags.iter().map(|t| print::tag(t)).filter(|t| !t.is_empty()) {
            out.push_str(&format!(" #{tag}"));
        }
        let old = if self.is_queue() { "`" } else { "\"" };
        out.push_str(&format!(" {}", print::title(&print::one_line(&task.title), old)));
        let prefix = format!("{indent}{}", if indent.contains('\t') { "\t" } else { "  " });
        for (key, value) in properties(task, parent).iter().chain(extra) {
            out.push_str(&format!("{newline}{prefix}{key}:{}", print::value(value, &prefix, newline)));
        }
        out
    }

    /// The least indent of what stands below a task: deeper, a child could be taken into a block.
    fn child_indent(&self, index: usize, item: &TaskItem) -> String {
        let children =
            self.items.iter().filter(|i| i.parent == Some(index)).map(|i| &self.text[i.parts.indent.clone()]);
        let own = item.parts.properties.iter().map(|p| line::indent_of(&self.text[p.prefix.clone()]));
        let least = children.chain(own).min_by_key(|i| line::width(i));
        least.map_or_else(|| self.property_indent(item), str::to_owned)
    }
}

/// One of many new tasks.
pub struct New<'a> {
    /// What it says.
    pub task: &'a Spec,
    /// Its box.
    pub mark: Mark,
    /// More properties.
    pub extra: Vec<(String, String)>,
}

/// What stands before a block, and how deep it is.
fn shape_of(block: &str) -> (&str, &str) {
    let start = block.find(|c: char| c != '\n' && c != '\r').unwrap_or(block.len());
    let (gap, rest) = block.split_at(start);
    (gap, line::indent_of(rest))
}

/// The properties of a spec in the order they are printed.
fn properties(task: &Spec, parent: Option<&TaskId>) -> Vec<(String, String)> {
    let mut list = vec![("id".to_owned(), task.id.to_string())];
    let mut put = |key: &str, value: String| list.push((key.to_owned(), value));
    if let Some(tag) = &task.tag {
        put("tag", tag.clone());
    }
    if let Some(own) = task.parent.as_ref().filter(|own| Some(*own) != parent) {
        put("parent", own.to_string());
    }
    if !task.depends_on.is_empty() {
        put("depends_on", task.depends_on.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    }
    if task.approval_required {
        put("approval_required", "true".to_owned());
    }
    if !task.text.is_empty() {
        put("description", task.text.clone());
    }
    for (key, value) in &task.properties {
        put(key, value.clone());
    }
    list
}
