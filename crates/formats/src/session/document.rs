//! The session file as a document: parse, look, edit.

use std::ops::Range;

use domain::id::{MessageId, Time};
use domain::message::Envelope;
use domain::session::{Head, Message, Status};

use super::{List, MessageItem, RawCall, SHAPE, SessionFile, print, read};
use crate::diagnostic::{Diagnostic, Notes};
use crate::lines::{self, newline};
use crate::time;
use crate::yaml::{self, Kind};

impl SessionFile {
    /// Reads a session file. There is a document if and only if no diagnostic is an error.
    pub fn parse(path: &str, text: &str) -> (Option<Self>, Vec<Diagnostic>) {
        let mut notes = Notes::new(path, text);
        let file = yaml::parse(text, &mut notes).and_then(|root| {
            SHAPE.check(&root, &mut notes);
            if notes.failed() { None } else { read::document(path, text, &root, &mut notes) }
        });
        let read = notes.finish(file);
        (read.value, read.diagnostics)
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The path it was read from.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// All but the messages. What the file leaves out is empty, or the beginning of time.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// How it stands.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Why it is over, if the file says so.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// When it last changed, if the file says so.
    pub fn updated(&self) -> Option<Time> {
        self.updated
    }

    /// The messages in order.
    pub fn messages(&self) -> &[MessageItem] {
        &self.messages
    }

    /// Changes `status:`.
    pub fn set_status(&mut self, status: Status) {
        if self.status == status && self.places.status.is_some() {
            return;
        }
        self.status = status;
        let at = self.set_key("status", self.places.status.clone(), status.as_str());
        self.places.status = Some(at);
    }

    /// Changes `reason:`, which is one line.
    pub fn set_reason(&mut self, reason: &str) {
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        if self.reason == reason {
            return;
        }
        let printed = crate::scalar::print(&reason, 0);
        let at = self.set_key("reason", self.places.reason.clone(), printed.trim_start());
        self.reason = reason;
        self.places.reason = Some(at);
    }

    /// Changes `updated:`.
    pub fn set_updated(&mut self, updated: Time) {
        if self.updated == Some(updated) {
            return;
        }
        let printed = format!("'{}'", time::print(updated));
        self.updated = time::parse(&time::print(updated));
        let at = self.set_key("updated", self.places.updated.clone(), &printed);
        self.places.updated = Some(at);
    }

    /// Gives the message at `index` an id, or another one.
    pub fn set_message_id(&mut self, index: usize, id: &MessageId) {
        self.set_message_ids(&[(index, id)]);
    }

    /// Gives messages their ids, in time linear in the file however many there are.
    pub fn set_message_ids(&mut self, ids: &[(usize, &MessageId)]) {
        let new = |(index, id): &&(usize, &MessageId)| {
            self.messages.get(*index).is_some_and(|item| item.id.as_ref() != Some(*id))
        };
        let ids: Vec<&(usize, &MessageId)> = ids.iter().filter(new).collect();
        if ids.is_empty() {
            return;
        }
        let mut notes = Notes::new(&self.path, &self.text);
        let Some(root) = yaml::parse(&self.text, &mut notes) else { return };
        let Some(list) = root.get("messages") else { return };
        let mut splices: Vec<(Range<usize>, String)> =
            ids.into_iter().filter_map(|(index, id)| self.id_splice(list.items().get(*index)?, id)).collect();
        splices.sort_by_key(|(at, _)| at.start);
        let mut edited = String::with_capacity(self.text.len() + splices.len() * 24);
        let mut from = 0;
        for (at, with) in splices.into_iter().filter(|(at, _)| at.end <= self.text.len()) {
            edited.push_str(&self.text[from..at.start]);
            edited.push_str(&with);
            from = at.end;
        }
        edited.push_str(&self.text[from..]);
        if let (Some(file), _) = Self::parse(&self.path, &edited) {
            *self = file;
        }
    }

    /// Where a message's id goes, and how it is written there.
    fn id_splice(&self, node: &yaml::Node, id: &MessageId) -> Option<(Range<usize>, String)> {
        let Kind::Map { entries, flow } = &node.kind else { return None };
        let printed = crate::scalar::print(id.as_str(), 0);
        Some(match (node.entry("id"), entries.get(1).or(entries.first())) {
            (Some(entry), _) => {
                (entry.key_span.end + 1..entry.value.span.end.max(entry.key_span.end + 1), printed)
            }
            (None, Some(_)) if *flow => (node.span.start + 1..node.span.start + 1, format!("id:{printed}, ")),
            // Not in front: a message that starts with its id is one that Synod printed whole.
            (None, Some(next)) => {
                let start = next.key_span.start;
                let column = lines::column(&self.text, start);
                (start..start, format!("id:{printed}{}{:column$}", newline(&self.text), ""))
            }
            (None, None) => return None,
        })
    }

    /// Adds a message at the end, in time that does not depend on how many there are. Lines end as the file's
    /// lines do.
    pub fn append(&mut self, message: &Message) {
        let newline = newline(&self.text);
        match self.places.list.clone() {
            List::Block { end, indent } => self.append_lines(message, end, indent, newline),
            List::Absent { end } => {
                let lead = if self.text[..end].ends_with('\n') { "" } else { newline };
                let key = format!("{lead}messages:{newline}");
                self.text.insert_str(end, &key);
                self.shift(end, 0, key.len());
                self.places.messages = end + lead.len();
                self.append_lines(message, end + key.len(), print::INDENT, newline);
            }
            List::Empty { brackets, line_end } => {
                self.text.replace_range(brackets.clone(), "");
                self.shift(brackets.end, brackets.len(), 0);
                let end = line_end - brackets.len();
                self.append_lines(message, end, print::INDENT, newline);
            }
            List::Flow { end } => {
                let printed = format!(", {}", print::print_flow(message));
                self.text.insert_str(end, &printed);
                self.shift(end, 0, printed.len());
                let line = 1 + self.text[..end].bytes().filter(|b| *b == b'\n').count();
                self.messages.push(item_of(message, line, end + 2..end + printed.len()));
                self.places.list = List::Flow { end: end + printed.len() };
            }
        }
    }

    fn append_lines(&mut self, message: &Message, end: usize, indent: usize, newline: &str) {
        let lead = if self.text[..end].ends_with('\n') { "" } else { newline };
        let printed = print::print_at(message, indent);
        let printed = if newline == "\n" { printed } else { printed.replace('\n', newline) };
        let block = format!("{lead}{printed}");
        self.text.insert_str(end, &block);
        self.shift(end, 0, block.len());
        let start = end + lead.len() + indent + 2;
        // The last message's line is counted from the one before it, so that appending stays cheap.
        let (from, base) = self.messages.last().map_or((0, 1), |m| (m.span.start, m.line));
        let line = base + self.text[from..start].bytes().filter(|b| *b == b'\n').count();
        let stop = end + block.trim_end().len();
        self.messages.push(item_of(message, line, start..stop));
        self.places.list = List::Block { end: end + block.len(), indent };
    }

    /// Replaces the value of a key of the head, or adds the key above `messages:`. Says where the value is.
    fn set_key(&mut self, key: &str, old: Option<Range<usize>>, value: &str) -> Range<usize> {
        if let Some(old) = old {
            let gap = if self.text[..old.start].ends_with(':') { " " } else { "" };
            self.text.replace_range(old.clone(), &format!("{gap}{value}"));
            self.shift(old.end, old.len(), gap.len() + value.len());
            return old.start + gap.len()..old.start + gap.len() + value.len();
        }
        let at = self.places.messages;
        let newline = newline(&self.text);
        let lead = if at == lines::start(&self.text, at) { "" } else { newline };
        self.text.insert_str(at, lead);
        self.shift(at, 0, lead.len());
        let at = at + lead.len();
        let line = format!("{key}: {value}{newline}");
        self.text.insert_str(at, &line);
        self.shift(at, 0, line.len());
        let added = self.text[at..at + line.len()].matches('\n').count();
        self.messages.iter_mut().for_each(|m| m.line += added);
        at + key.len() + 2..at + key.len() + 2 + value.len()
    }

    /// Moves every place at or behind `from` after a change of `old` bytes to `new` bytes before it.
    fn shift(&mut self, from: usize, old: usize, new: usize) {
        let moved = |at: usize| if at >= from { at + new - old } else { at };
        let moved_range = |r: &mut Range<usize>| *r = moved(r.start)..moved(r.end).max(moved(r.start));
        if old == new {
            return;
        }
        let before = |r: &&mut Range<usize>| r.start >= from;
        self.places.status.as_mut().into_iter().filter(before).for_each(moved_range);
        self.places.reason.as_mut().into_iter().filter(before).for_each(moved_range);
        self.places.updated.as_mut().into_iter().filter(before).for_each(moved_range);
        self.places.messages = moved(self.places.messages);
        // Nearly always messages are behind all changes or in front of them.
        if self.messages.last().is_some_and(|m| m.span.start >= from) {
            self.messages.iter_mut().map(|m| &mut m.span).filter(before).for_each(moved_range);
        }
        match &mut self.places.list {
            List::Block { end, .. } | List::Absent { end } | List::Flow { end } => *end = moved(*end),
            List::Empty { brackets, line_end } => {
                moved_range(brackets);
                *line_end = moved(*line_end);
            }
        }
    }
}

fn item_of(message: &Message, line: usize, span: Range<usize>) -> MessageItem {
    let call = |c: &domain::tool::Call| RawCall {
        id: c.id.clone(),
        name: c.want.tool().to_owned(),
        arguments: c.arguments.clone(),
    };
    MessageItem {
        id: Some(message.id.clone()),
        at: time::parse(&time::print(message.at)),
        speaker: message.speaker,
        from: message.from.clone(),
        label: if message.label.counts() {
            message.label.to_string().parse().unwrap_or_default()
        } else {
            Default::default()
        },
        content: message.content.clone(),
        calls: message.calls.iter().map(call).collect(),
        call: message.call.clone(),
        summary_through: message.summary_through.clone(),
        read_through: message.read_through.clone(),
        is_error: message.is_error,
        envelope: message.envelope.as_ref().map(|envelope| {
            // What only the journal keeps.
            Box::new(Envelope { cause: None, hands: Default::default(), ..(**envelope).clone() })
        }),
        line,
        span,
    }
}
