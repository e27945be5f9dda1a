//! New tasks: where they go and how they are printed.

use domain::id::TaskId;
use domain::task::{Mark, Spec};

use super::{TaskFile, TaskItem, line, print};

impl TaskFile {
    /// Adds a task: below the last child of `parent`, or at the end of the last list of the file.
    pub fn add(&mut self, parent: Option<usize>, task: &Spec, mark: Mark, extra: &[(String, String)]) {
        match parent.and_then(|p| self.items.get(p).map(|item| (p, item))) {
            Some((at, item)) => {
                let indent = self.child_indent(at, item);
                let block = self.block(&indent, task, item.id.as_ref(), mark, extra);
                let end = item.parts.subtree_end;
                self.insert_lines(end, &block);
            }
            None => self.add_top(task, mark, extra),
        }
    }

    fn add_top(&mut self, task: &Spec, mark: Mark, extra: &[(String, String)]) {
        let newline = self.newline();
        let tops: Vec<&TaskItem> = self.items.iter().filter(|i| i.parent.is_none()).collect();
        if let Some(last) = tops.last() {
            let before = &self.text[..last.span.start];
            let spaced = tops.len() == 1 || before.ends_with("\n\n") || before.ends_with("\n\r\n");
            let indent = self.text[last.parts.indent.clone()].to_owned();
            let gap = if spaced { newline } else { "" };
            let block = format!("{gap}{}", self.block(&indent, task, None, mark, extra));
            let end = last.parts.subtree_end;
            return self.insert_lines(end, &block);
        }
        let lines = line::lines(&self.text);
        let heading = lines.iter().position(|l| {
            let words = l.text.trim_start_matches('#');
            words.len() < l.text.len() && words.trim().eq_ignore_ascii_case("todo")
        });
        // Indented text below the heading would become a part of the task.
        let heading = heading.map(|at| {
            let below = lines[at + 1..].iter().take_while(|l| l.is_blank() || l.width() > 0);
            below.filter(|l| !l.is_blank()).last().map_or(lines[at].next, |l| l.next)
        });
        let block = self.block("", task, None, mark, extra);
        match heading {
            Some(at) => {
                let more = if self.text[at..].trim().is_empty() { "" } else { newline };
                self.insert_lines(at, &format!("{newline}{block}{more}"));
            }
            None => {
                let gap = if self.text.trim_start_matches('\u{feff}').is_empty() { "" } else { newline };
                let at = self.text.len();
                self.insert_lines(at, &format!("{gap}## TODO{newline}{newline}{block}"));
            }
        }
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
