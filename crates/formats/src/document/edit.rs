//! Which bytes an edit changes, and into what.

use std::ops::Range;

use super::brackets::Brackets;
use super::expect::{is_same, node_of};
use super::place::{On, Places, Slot, is_absent};
use super::print::{self, ListLook, Steps};
use super::splice::Splice;
use super::{Refused, Scalar, Value, shown};
use crate::lines;
use crate::scalar::{self, Around};
use crate::yaml::{Entry, Kind, Node, Style};

impl Places<'_> {
    /// Changes or adds the value at a path.
    pub(super) fn set(&self, root: &Node, path: &[&str], value: &Value) -> Result<Splice, Refused> {
        let mut parent = self.root(root);
        let mut slot = parent;
        for (depth, key) in path.iter().enumerate() {
            match self.child(&slot, key) {
                Some(child) => (parent, slot) = (slot, child),
                None => return self.add(root, &slot, path, depth, value),
            }
        }
        if path.is_empty() { Err(Refused::NoPath) } else { Ok(self.replace(root, &parent, &slot, value)) }
    }

    /// Adds the keys of a path from `depth` on below a value that has none of them.
    fn add(
        &self,
        root: &Node,
        slot: &Slot<'_>,
        path: &[&str],
        depth: usize,
        value: &Value,
    ) -> Result<Splice, Refused> {
        let (above, keys) = path.split_at(depth);
        match &slot.node.kind {
            _ if slot.node.is_null() => Ok(self.fill(root, slot, keys, value)),
            Kind::Map { entries, flow: true } => {
                let brackets = Brackets::new(*self, slot.node);
                let style = self.key_style(entries);
                let printed = self.entry_in_braces(keys, value, style, &brackets.colon);
                Ok(brackets.splice(entries.len()..entries.len(), &[printed]))
            }
            Kind::Map { entries, flow: false } if !slot.flow => {
                let ends = entries.first().zip(entries.last());
                let Some((first, last)) = ends.map(|(f, l)| (self.entry(f, false), self.entry(l, false)))
                else {
                    return Err(Refused::NotReadBack { path: shown(path) });
                };
                let column = self.column(first.lead);
                let (steps, look) = (self.steps(root), list_look(slot.node));
                let style = self.key_style(entries);
                let printed = self.entry_in_lines(keys, value, column, steps, look, style);
                let at = lines::end(self.text, self.end(&last));
                Ok(Splice { at: at..at, with: self.in_lines(&format!("\n{:column$}{printed}", "")) })
            }
            Kind::Map { .. } => Err(Refused::NotReadBack { path: shown(path) }),
            Kind::List { .. } => Err(Refused::NotThere { path: shown(path) }),
            Kind::Scalar { .. } => Err(Refused::NotAMap { path: shown(above) }),
        }
    }

    /// Puts keys where there is nothing yet.
    fn fill(&self, root: &Node, slot: &Slot<'_>, keys: &[&str], value: &Value) -> Splice {
        if slot.flow {
            let style = if self.json { Style::Double } else { Style::Plain };
            return self.put_inline(slot, &format!("{{{}}}", self.entry_in_braces(keys, value, style, ": ")));
        }
        let steps = self.steps(root);
        let below = if slot.on == On::Root { 0 } else { self.column(slot.lead) + steps.map };
        let printed = self.entry_in_lines(keys, value, below, steps, ListLook::Lines, Style::Plain);
        if slot.on != On::Root {
            return self.put_lines(slot, &format!("\n{:below$}{printed}", ""));
        }
        let newline = lines::newline(self.text);
        let printed = self.in_lines(&printed);
        if is_absent(slot.node) {
            let at = lines::content_end(self.text, 0);
            let lead = if at == lines::start(self.text, at) { "" } else { newline };
            return Splice { at: at..at, with: format!("{lead}{printed}{newline}") };
        }
        let at = slot.node.span.clone();
        let lead = if self.is_first(at.start) { "" } else { newline };
        Splice { at, with: format!("{lead}{printed}") }
    }

    /// Changes a value that is there.
    fn replace(&self, root: &Node, parent: &Slot<'_>, slot: &Slot<'_>, value: &Value) -> Splice {
        let style = style_of(slot.node);
        match (value, &slot.node.kind) {
            (Value::List(new), Kind::List { items, flow })
                if !new.is_empty() && (*flow || !items.is_empty()) =>
            {
                self.set_items(root, slot, items, new)
            }
            (Value::List(new), _)
                if !new.is_empty() && !slot.flow && list_look(parent.node) == ListLook::Lines =>
            {
                let steps = self.steps(root);
                // Dashes may stand right below their key, never right below a dash.
                let list = if slot.on == On::Item { steps.map } else { steps.list };
                let steps = Steps { list, ..steps };
                let printed = self.behind_key(value, self.column(slot.lead), steps, ListLook::Lines);
                self.put_lines(slot, &printed)
            }
            (Value::List(_), _) => self.put_inline(slot, &self.in_brackets(value, Style::Plain)),
            (Value::Scalar(Scalar::Text(text)), _) if !slot.flow => {
                let printed = self.block(slot, text, style).filter(|printed| printed.starts_with(" |"));
                match printed {
                    Some(printed) => self.put_lines(slot, &printed),
                    None => self.put_inline(slot, &scalar::print_inline(text, style, Around::Lines)),
                }
            }
            (Value::Scalar(scalar), _) => {
                self.put_inline(slot, &self.inline(scalar, style, Around::Brackets))
            }
        }
    }

    /// A text as a `|` block, if it has lines or replaces one.
    fn block(&self, slot: &Slot<'_>, text: &str, style: Style) -> Option<String> {
        let column = self.column(slot.lead);
        match style {
            Style::Literal | Style::Folded => {
                let (head, head_end) = self.block_head(slot);
                let open_end = self.text[head..head_end].contains('+') && self.end(slot) < self.text.len();
                let step = self.block_step(slot, column).unwrap_or(2);
                let fits = open_end || print::is_closed(text);
                fits.then(|| scalar::print_block_at(text, column, step))
            }
            Style::Plain | Style::Single | Style::Double => {
                (text.contains('\n') && print::is_closed(text)).then(|| scalar::print(text, column))
            }
        }
    }

    /// How far the lines of a block stand behind their key.
    fn block_step(&self, slot: &Slot<'_>, column: usize) -> Option<usize> {
        let (head, head_end) = self.block_head(slot);
        let numbered = self.text[head..head_end].split('#').next()?.contains(|c: char| c.is_ascii_digit());
        let first = self.text[head_end..self.end(slot)].lines().find(|line| !line.trim().is_empty())?;
        let step = (first.len() - first.trim_start_matches(' ').len()).checked_sub(column)?;
        Some(step).filter(|step| !numbered && (1..=9).contains(step))
    }

    /// Changes the items of a list that differ, and no others.
    fn set_items(&self, root: &Node, slot: &Slot<'_>, items: &[Node], new: &[Scalar]) -> Splice {
        let wanted: Vec<Node> = new.iter().map(|s| node_of(&Value::Scalar(s.clone()))).collect();
        let same = |(a, b): &(&Node, &Node)| is_same(a, b);
        let front = items.iter().zip(&wanted).take_while(same).count();
        let back = items[front..].iter().rev().zip(wanted[front..].iter().rev()).take_while(same).count();
        let (old, new) = (front..items.len() - back, &new[front..new.len() - back]);
        if let (1, [one]) = (old.len(), new)
            && let Some(item) = self.child(slot, &old.start.to_string())
        {
            return self.replace(root, slot, &item, &Value::Scalar(one.clone()));
        }
        self.splice_items(slot, old, new)
    }

    /// Puts items in place of those at `range`; both may be none, but some item stays.
    fn splice_items(&self, slot: &Slot<'_>, range: Range<usize>, new: &[Scalar]) -> Splice {
        let style = slot.node.items().iter().map(style_of).next();
        let style = style.filter(|s| matches!(s, Style::Single | Style::Double)).unwrap_or(Style::Plain);
        if slot.flow || matches!(slot.node.kind, Kind::List { flow: true, .. }) {
            let printed: Vec<String> = new.iter().map(|s| self.inline(s, style, Around::Brackets)).collect();
            return Brackets::new(*self, slot.node).splice(range, &printed);
        }
        let slots = self.items(slot);
        let column = slots.first().map_or(0, |s| self.column(s.lead));
        let printed: Vec<String> = new.iter().map(|s| self.item(s, style, column)).collect();
        let printed = self.in_lines(&printed.join(&format!("\n{:column$}", "")));
        let line = |printed: &str| format!("{}{:column$}{printed}", lines::newline(self.text), "");
        match (slots.get(range.clone()), range.start.checked_sub(1).and_then(|i| slots.get(i))) {
            (Some([.., last]), _) if new.is_empty() => {
                let next = slots.get(range.end).map(|s| s.lead);
                self.cut_lines(slots[range.start].lead, self.end(last), next)
            }
            (Some([.., last]), _) => {
                Splice { at: slots[range.start].lead..lines::end(self.text, self.end(last)), with: printed }
            }
            (Some([]) | None, Some(previous)) => {
                let at = lines::end(self.text, self.end(previous));
                Splice { at: at..at, with: line(&printed) }
            }
            (Some([]) | None, None) => {
                let at = slots.first().map_or(slot.after, |s| s.lead);
                Splice { at: at..at, with: format!("{printed}{}", line("")) }
            }
        }
    }

    /// Adds an item to a list.
    pub(super) fn push(&self, root: &Node, path: &[&str], item: &Scalar) -> Result<Splice, Refused> {
        let mut slot = self.root(root);
        for key in path {
            slot = self.child(&slot, key).ok_or_else(|| Refused::NotThere { path: shown(path) })?;
        }
        match &slot.node.kind {
            Kind::List { items, .. } => {
                Ok(self.splice_items(&slot, items.len()..items.len(), std::slice::from_ref(item)))
            }
            Kind::Scalar { .. } | Kind::Map { .. } => Err(Refused::NotAList { path: shown(path) }),
        }
    }

    /// Takes a value with its key or dash out.
    pub(super) fn remove(&self, root: &Node, path: &[&str]) -> Result<Splice, Refused> {
        let (last, above) = path.split_last().ok_or(Refused::NoPath)?;
        let gone = || Refused::NotThere { path: shown(path) };
        let mut parent = self.root(root);
        for key in above {
            parent = self.child(&parent, key).ok_or_else(gone)?;
        }
        let slot = self.child(&parent, last).ok_or_else(gone)?;
        let in_lines = !parent.flow;
        match &parent.node.kind {
            Kind::Map { entries, flow } => {
                let at = entries.iter().position(|e| e.key == *last).ok_or_else(gone)?;
                let next = || entries.get(at + 1).map(|e| self.entry(e, false).lead);
                match flow {
                    true => Ok(Brackets::new(*self, parent.node).splice(at..at + 1, &[])),
                    false if in_lines => Ok(self.cut_lines(slot.lead, self.end(&slot), next())),
                    false => Err(Refused::NotReadBack { path: shown(path) }),
                }
            }
            Kind::List { items, flow: false } if items.len() == 1 => Ok(self.put_inline(&parent, "[]")),
            Kind::List { .. } => {
                let at = super::expect::index(last).ok_or_else(gone)?;
                Ok(self.splice_items(&parent, at..at + 1, &[]))
            }
            Kind::Scalar { .. } => Err(gone()),
        }
    }

    /// Takes lines out: from a key or dash to the end of its value; `next` is the key or dash behind it.
    fn cut_lines(&self, lead: usize, end: usize, next: Option<usize>) -> Splice {
        let line_end = lines::end(self.text, end);
        let cut = |at: Range<usize>| Splice { at, with: String::new() };
        if self.is_first(lead) {
            return cut(lines::start(self.text, lead)..lines::next(self.text, line_end));
        }
        // The first of its kind stands on the line of the dash above it.
        match next {
            Some(next) if self.text[line_end..next].trim().is_empty() => cut(lead..next),
            Some(_) | None => cut(self.text[..lead].trim_end_matches([' ', '\t']).len()..line_end),
        }
    }

    /// Writes a value on one line in place of another; comments behind it stay.
    fn put_inline(&self, slot: &Slot<'_>, printed: &str) -> Splice {
        let node = slot.node;
        match &node.kind {
            Kind::Scalar { .. } if is_absent(node) => {
                let mark = if slot.marked { "" } else { ":" };
                Splice { at: slot.after..slot.after, with: format!("{mark} {printed}") }
            }
            Kind::Scalar { style: Style::Literal | Style::Folded, .. } => {
                let (head, head_end) = self.block_head(slot);
                let comment = block_comment(&self.text[head..head_end]);
                Splice { at: head..self.end(slot), with: format!("{printed}{comment}") }
            }
            Kind::List { flow: false, .. } | Kind::Map { flow: false, .. } if !slot.flow => {
                let end = lines::end(self.text, self.end(slot));
                match self.comment(slot.after).filter(|_| slot.on != On::Root) {
                    Some(comment) => {
                        Splice { at: slot.after..end, with: format!(" {printed}{}", comment.trim_end()) }
                    }
                    None => Splice { at: self.skip_blanks(slot.after)..end, with: printed.to_owned() },
                }
            }
            Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. } => {
                Splice { at: node.span.clone(), with: printed.to_owned() }
            }
        }
    }

    /// Writes a value that has lines below its key in place of another. The comment on the key's line stays.
    fn put_lines(&self, slot: &Slot<'_>, printed: &str) -> Splice {
        let node = slot.node;
        let end = lines::end(self.text, self.end(slot));
        let start = self.skip_space(slot.after);
        let below = lines::end(self.text, slot.after) < start;
        let (from, comment) = match &node.kind {
            Kind::Scalar { .. } if is_absent(node) => {
                (slot.after, self.comment(slot.after).unwrap_or_default())
            }
            Kind::Scalar { style: Style::Literal | Style::Folded, .. } => {
                let (head, head_end) = self.block_head(slot);
                (if below { head } else { slot.after }, block_comment(&self.text[head..head_end]))
            }
            Kind::List { flow: false, .. } | Kind::Map { flow: false, .. } => {
                (slot.after, self.comment(slot.after).unwrap_or_default())
            }
            Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. } => {
                let comment = self.comment(node.span.end).unwrap_or_default();
                (if below && printed.starts_with(' ') { node.span.start } else { slot.after }, comment)
            }
        };
        let printed = if from == slot.after { printed } else { printed.trim_start_matches(' ') };
        let (first, rest) = printed.split_at(printed.find('\n').unwrap_or(printed.len()));
        let with = format!("{first}{}{}", comment.trim_end(), self.in_lines(rest));
        Splice { at: from..end, with }
    }

    /// With the line ends of the file.
    fn in_lines(&self, printed: &str) -> String {
        match lines::newline(self.text) {
            "\n" => printed.to_owned(),
            newline => printed.replace('\n', newline),
        }
    }

    /// The quotes of the keys beside a new one.
    fn key_style(&self, entries: &[Entry]) -> Style {
        match entries.first().and_then(|e| self.byte(e.key_span.start)) {
            _ if self.json => Style::Double,
            Some(b'"') => Style::Double,
            Some(b'\'') => Style::Single,
            Some(_) | None => Style::Plain,
        }
    }
}

/// The comment behind a `|` with the white space in front of it.
fn block_comment(head: &str) -> &str {
    let Some(at) = head.find(" #").or_else(|| head.find("\t#")) else { return "" };
    let start = head[..at].trim_end().len();
    &head[start..]
}

fn style_of(node: &Node) -> Style {
    match &node.kind {
        Kind::Scalar { style, .. } => *style,
        Kind::List { .. } | Kind::Map { .. } => Style::Plain,
    }
}

/// New lists are written as the first of their neighbours is.
fn list_look(node: &Node) -> ListLook {
    let flow = node.entries().iter().find_map(|e| match &e.value.kind {
        Kind::List { items, flow } if !items.is_empty() => Some(*flow),
        Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. } => None,
    });
    if flow == Some(true) { ListLook::Brackets } else { ListLook::Lines }
}
