//! Session files: adding messages at the end, and telling what a person wrote, changed or cut.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::Actor;
use domain::event::{AgentEvent, CallEvent, SessionEvent, TaskEvent, TurnEvent};
use domain::event::{Event, Found, FoundCall, Tail};
use domain::id::{MessageId, SessionId, Time};
use domain::input::Input;
use domain::input::{FileInput, PersonInput};
use domain::label::Label;
use domain::layout;
use domain::lifecycle::Lifecycle;
use domain::session::{Message, Speaker, Status};
use domain::state::Requester;
use domain::tool::{Call, Want};
use formats::session::{MessageItem, SessionFile, print_head, print_message};
use ports::model::RawCall;
use ports::tools::Tools;

use super::approvals::approvals_of;
use super::cabinet::Cabinet;
use super::fresh::Fresh;
use super::session_op::{SessionOp, carry_out, read_session};
use super::statuses::{Statuses, due_op};
use super::ties::Ties;
use super::turned::Due;
use crate::disk::{self, Added, Stamp};
use crate::session::Conversation;

/// Synod's own message numbers never come so far.
const NUMBER_MAX: u32 = 1_000_000_000;

/// The session with the call that an event outside of it follows from.
pub(super) fn asked_by(event: &Event) -> Option<&SessionId> {
    match event {
        Event::Task(TaskEvent::Added { by: Requester::Session { session }, in_file: false, .. }) => {
            Some(session)
        }
        Event::Agent(AgentEvent::Spawned { session, .. }) => session.as_ref(),
        Event::Session(SessionEvent::MessageAdded { asker, .. }) => asker.as_ref(),
        _ => None,
    }
}

/// What the desk knows of conversations beside their files.
pub(super) struct Sessions {
    tools: Arc<dyn Tools>,
    /// Messages without an id that the engine is asked to name.
    adopting: BTreeSet<(SessionId, String)>,
    /// Sessions whose cut the engine was told.
    cutting: BTreeSet<SessionId>,
    /// A hash of the words of each message, of sessions that were read.
    words: BTreeMap<SessionId, BTreeMap<MessageId, u64>>,
    /// While all files are looked at: who waits for whom.
    pub(super) ties: Option<Ties>,
    pub(super) statuses: Statuses,
    pub(super) fresh: Fresh,
}

impl Sessions {
    pub(super) fn new(tools: Arc<dyn Tools>, fresh: Fresh) -> Self {
        Self {
            tools,
            adopting: BTreeSet::new(),
            cutting: BTreeSet::new(),
            words: BTreeMap::new(),
            ties: None,
            statuses: Statuses::default(),
            fresh,
        }
    }

    /// What an event changes in a session file, given the state right before it.
    pub(super) fn op(
        &mut self,
        cabinet: &mut Cabinet,
        at: Time,
        event: &Event,
    ) -> Option<(SessionId, SessionOp)> {
        match event {
            Event::Session(SessionEvent::Opened { head }) => {
                Some((head.session.clone(), SessionOp::Create(head.clone())))
            }
            Event::Session(SessionEvent::MessageAdded { session, message, in_file: true, .. }) => {
                self.adopting.remove(&(session.clone(), message.content.clone()));
                cabinet.recent.message(session, message);
                Some((session.clone(), SessionOp::GiveId(message.clone())))
            }
            Event::Session(SessionEvent::MessageAdded { session, message, .. })
            | Event::Turn(TurnEvent::Replied { session, message, .. })
            | Event::Turn(TurnEvent::EvidenceDemanded { session, message })
            | Event::Turn(TurnEvent::Summarised { session, message, .. })
            | Event::Call(CallEvent::Finished { session, message, .. }) => {
                cabinet.recent.message(session, message);
                Some((session.clone(), SessionOp::Append(message.clone())))
            }
            Event::Session(SessionEvent::Moved { session, task, to, failed, reason }) => {
                let old = cabinet.state.sessions.get(session)?.status();
                let new = to.status(*failed);
                // Of a task its result says why; of a conversation nothing else does.
                let op = match (to, task) {
                    (Lifecycle::Complete, None) => SessionOp::Over(new, at, reason.clone()),
                    (_, _) => SessionOp::Status(new, at),
                };
                (old != new).then(|| (session.clone(), op))
            }
            Event::Session(SessionEvent::Reopened { session }) => {
                Some((session.clone(), SessionOp::Status(Status::Active, at)))
            }
            Event::Session(SessionEvent::Cut { session, .. }) => {
                self.cutting.remove(session);
                cabinet.recent.forget_session(session);
                None
            }
            _ => None,
        }
    }

    /// Carries out edits on one session file. Says whether all could be made: a file that does not read keeps
    /// them waiting.
    pub(super) fn settle(
        &mut self,
        cabinet: &mut Cabinet,
        id: &SessionId,
        ops: &[SessionOp],
        forced: bool,
    ) -> std::io::Result<bool> {
        let path = layout::session_file(id);
        if !forced && self.append_only(cabinet, id, &path, ops)? {
            if !ops.is_empty() {
                self.fresh.written(id, cabinet.taken, None);
            }
            return Ok(true);
        }
        let due = self.statuses.forget(id).and_then(|due| due_op(&cabinet.state, id, due));
        let (mut whole, mut lost, mut is_made) = (true, false, false);
        cabinet.rewrite(&path, forced, |cabinet, text, fresh| {
            is_made = text.is_none();
            let text = match (text, ops.first()) {
                // One that a power failure left without its bytes is made anew.
                (Some(text), first) if !(text.is_empty() && matches!(first, Some(SessionOp::Create(_)))) => {
                    text.to_owned()
                }
                (_, Some(SessionOp::Create(head))) => print_head(head, head.created, Status::Active),
                // A person deleted it: there is nothing to write to.
                (_, _) => return None,
            };
            let Some(mut file) = read_session(&mut cabinet.reports, &path, &text) else {
                whole = false;
                return None;
            };
            let repairs = if fresh { self.compare(cabinet, id, &file) } else { Vec::new() };
            carry_out(&mut file, due.iter().chain(ops).chain(&repairs));
            lost = ops.iter().any(|op| op.names_what_is_gone(&file));
            Some(file.text().to_owned())
        })?;
        if lost {
            // Something took it away before it had its name: it is printed again by who compares.
            cabinet.looks.again(&path);
        }
        if whole {
            let made = cabinet.known.get(&path).filter(|_| is_made).map(Stamp::from);
            self.fresh.written(id, cabinet.taken, made);
        }
        Ok(whole)
    }

    /// Adds messages at the end without reading the file, if it is what it was. How the conversation stands is told
    /// later.
    fn append_only(
        &mut self,
        cabinet: &mut Cabinet,
        id: &SessionId,
        path: &str,
        ops: &[SessionOp],
    ) -> std::io::Result<bool> {
        if cabinet.reports.is_broken(path) {
            return Ok(false);
        }
        let Some(known) = cabinet.known.get(path) else { return Ok(false) };
        let (mut text, mut turned) = (String::new(), None);
        for op in ops {
            match op {
                SessionOp::Append(message) => text.push_str(&print_message(message)),
                SessionOp::Status(_, at) => turned = Some(Due { at: *at, why: None }),
                SessionOp::Over(_, at, why) => turned = Some(Due { at: *at, why: Some(why.clone()) }),
                SessionOp::Create(_) | SessionOp::GiveId(_) => return Ok(false),
            }
        }
        // With nothing to add, this tells whether a person changed the file.
        if !text.is_empty() || turned.is_none() {
            match disk::append(&cabinet.home.join(path), known, &text)? {
                Added::Done(known) => {
                    cabinet.known.insert(path.to_owned(), known);
                    cabinet.touched.insert(path.to_owned());
                }
                Added::Changed => return Ok(false),
            }
        }
        if let Some(due) = turned {
            self.statuses.put(id, due);
        }
        Ok(true)
    }

    fn compare(&mut self, cabinet: &mut Cabinet, id: &SessionId, file: &SessionFile) -> Vec<SessionOp> {
        let Some(known) = cabinet.state.sessions.get(id) else {
            self.adopt(cabinet, file);
            return Vec::new();
        };
        let (agent, next) = (known.agent.clone(), known.talk.next_message);
        let last = last_number(file);
        let here: BTreeSet<&MessageId> = file.messages().iter().filter_map(|item| item.id.as_ref()).collect();
        let missing: Vec<Message> =
            cabinet.recent.messages(id).into_iter().filter(|m| !here.contains(&m.id)).collect();
        self.notice_words(cabinet, id, &agent, file, &missing);
        let first_recent = missing.iter().map(|m| number(&m.id)).min().unwrap_or(next);
        if last + 1 < next && last + 1 < first_recent {
            if self.cutting.contains(id) {
                return Vec::new();
            }
            if cabinet.looks.is_confirmed(&layout::session_file(id)) {
                self.cutting.insert(id.clone());
                let tail = self.tail_of(file, &BTreeMap::new());
                cabinet.outbox.say(Input::File(FileInput::SessionCut {
                    session: id.clone(),
                    next_message: last + 1,
                    tail,
                }));
            } else {
                cabinet.looks.confirm_later(&layout::session_file(id));
            }
            return Vec::new();
        }
        for message in &missing {
            cabinet.recent.again(id, &message.id);
        }
        // A message that a person wrote is there and only lost its id again; any other was lost whole.
        let mut repairs: Vec<SessionOp> =
            missing.into_iter().flat_map(|m| [SessionOp::GiveId(m.clone()), SessionOp::Append(m)]).collect();
        if let Some(known) = cabinet.state.sessions.get(id)
            && file.status() != known.status()
        {
            // The status is Synod's to say.
            repairs.push(SessionOp::Status(known.status(), file.updated().unwrap_or(Time(0))));
        }
        repairs
    }

    /// Messages that a person wrote or changed.
    fn notice_words(
        &mut self,
        cabinet: &mut Cabinet,
        id: &SessionId,
        agent: &domain::id::AgentId,
        file: &SessionFile,
        missing: &[Message],
    ) {
        let before = self.words.remove(id).unwrap_or_default();
        let mut now = BTreeMap::new();
        for item in file.messages() {
            match &item.id {
                Some(message) => {
                    let words = hash(&item.content);
                    if before.get(message).is_some_and(|old| *old != words) {
                        cabinet.outbox.say(Input::File(FileInput::MessageEdited {
                            session: id.clone(),
                            message: message.clone(),
                        }));
                    }
                    now.insert(message.clone(), words);
                }
                None if item.speaker == Speaker::User && !item.content.trim().is_empty() => {
                    let key = (id.clone(), item.content.clone());
                    if missing.iter().any(|m| m.content == item.content && m.speaker == Speaker::User) {
                        continue;
                    }
                    if self.adopting.insert(key) {
                        let by = match &item.from {
                            Some(Actor::Person(name)) if !name.is_empty() => name,
                            Some(_) | None => "owner",
                        };
                        cabinet.outbox.say(Input::Person(PersonInput::Say {
                            session: Some(id.clone()),
                            agent: agent.clone(),
                            text: item.content.clone(),
                            urgency: Default::default(),
                            by: by.to_owned(),
                            in_file: true,
                        }));
                    }
                }
                None => {}
            }
        }
        self.words.insert(id.clone(), now);
    }

    /// A session that the journal does not know.
    fn adopt(&mut self, cabinet: &mut Cabinet, file: &SessionFile) {
        let approvals = approvals_of(&cabinet.home, &file.head().session);
        let tail = self.tail_of(
            file,
            &approvals.iter().map(|(call, (found, _))| (call.clone(), found.clone())).collect(),
        );
        let pending =
            approvals.into_values().filter(|(found, _)| *found == Found::Pending).map(|(_, request)| request);
        cabinet.outbox.say(Input::File(FileInput::SessionRead {
            head: Box::new(file.head().clone()),
            status: file.status(),
            next_message: last_number(file) + 1,
            tail,
            label: file.messages().iter().fold(Label::owner(), |label, item| label.joined(&item.label)),
            approvals: pending.collect(),
        }));
        if let Some(ties) = &mut self.ties {
            ties.read(file);
        }
    }

    /// Where a conversation stands by its last messages.
    fn tail_of(&self, file: &SessionFile, approvals: &BTreeMap<domain::id::CallId, Found>) -> Tail {
        let items = file.messages();
        let Some(last_spoken) = items.iter().rposition(|m| m.speaker == Speaker::Assistant) else {
            return Tail::Unanswered;
        };
        let spoken = &items[last_spoken];
        let after = &items[last_spoken + 1..];
        if spoken.calls.is_empty() {
            // A summary is for the model to read and says nothing to the agent.
            let said = after.iter().any(|m| m.summary_through.is_none());
            let is_late = |m: &MessageItem| {
                let read = spoken.read_through.as_ref().zip(m.id.as_ref());
                m.speaker == Speaker::User && read.is_some_and(|(through, id)| number(id) > number(through))
            };
            let is_answered = !said && !items[..last_spoken].iter().any(is_late);
            return if is_answered { Tail::Answered } else { Tail::Unanswered };
        }
        let has_result = |call: &domain::id::CallId| after.iter().any(|m| m.call.as_ref() == Some(call));
        if spoken.calls.iter().all(|call| has_result(&call.id)) {
            return Tail::Unanswered;
        }
        let calls = spoken.calls.iter().enumerate().map(|(index, raw)| {
            let found = if has_result(&raw.id) {
                Found::Finished
            } else {
                approvals.get(&raw.id).cloned().unwrap_or(Found::Nothing)
            };
            FoundCall { call: self.located(file, self.read_call(raw, index)), found }
        });
        Tail::Calls { said: spoken.content.clone(), calls: calls.collect() }
    }

    /// A call with paths relative to the home in place of the agent's spellings.
    fn located(&self, file: &SessionFile, call: Call) -> Call {
        let folder = layout::workspace(&file.head().agent);
        match call.want {
            Want::Act(act) => Call { want: Want::Act(self.tools.locate(&folder, act, true)), ..call },
            Want::Invalid { .. } => call,
        }
    }

    fn read_call(&self, raw: &formats::session::RawCall, index: usize) -> Call {
        let raw =
            RawCall { id: raw.id.to_string(), name: raw.name.clone(), arguments: raw.arguments.clone() };
        self.tools.read(raw, index)
    }

    /// The conversation for a model call; `Ok(None)` if the file does not read now.
    pub(super) fn conversation(
        &mut self,
        cabinet: &mut Cabinet,
        id: &SessionId,
    ) -> std::io::Result<Option<Conversation>> {
        let path = layout::session_file(id);
        let found = disk::read(&cabinet.home.join(&path))?;
        let found = found.ok_or_else(|| std::io::Error::new(std::io::ErrorKind::NotFound, path.clone()))?;
        let Some(file) = read_session(&mut cabinet.reports, &path, &found.text) else { return Ok(None) };
        let messages = file.messages().iter().map(|item| self.message_of(item)).collect();
        Ok(Some(Conversation { system: file.head().system_prompt.clone(), messages }))
    }

    fn message_of(&self, item: &MessageItem) -> Message {
        Message {
            id: item.id.clone().unwrap_or_else(|| MessageId::new("m-0000")),
            at: item.at.unwrap_or(Time(0)),
            speaker: item.speaker,
            from: item.from.clone(),
            content: item.content.clone(),
            calls: item.calls.iter().enumerate().map(|(index, raw)| self.read_call(raw, index)).collect(),
            call: item.call.clone(),
            summary_through: item.summary_through.clone(),
            read_through: item.read_through.clone(),
            is_error: item.is_error,
            envelope: item.envelope.clone(),
            label: item.label.clone(),
        }
    }
}

fn last_number(file: &SessionFile) -> u32 {
    file.messages().iter().filter_map(|item| item.id.as_ref()).map(number).max().unwrap_or(0)
}

fn number(id: &MessageId) -> u32 {
    let number = id.as_str().rsplit('-').next().and_then(|digits| digits.parse().ok());
    // A number that only a person can have written is no number of ours, and must not make the next one overflow.
    number.filter(|number| *number < NUMBER_MAX).unwrap_or(0)
}

fn hash(text: &str) -> u64 {
    use std::hash::Hasher;
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}
