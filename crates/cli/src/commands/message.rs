//! `synod message`: what agents and people say to each other, over all conversations.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::Duration;

use adapters::journal::Sqlite;
use adapters::journal::follow::Changes;
use domain::Actor;
use domain::delegation::TOOL;
use domain::event::Event;
use domain::event::{CallEvent, SessionEvent, TurnEvent};
use domain::id::{AgentId, CallId, MessageId, Seq, SessionId, Time};
use domain::layout;
use domain::lifecycle::Lifecycle;
use domain::message::{CHANNEL_SIGN, Channel, Envelope, Kind};
use domain::session::{Head, Message, Speaker, Status};
use domain::tool::Call;
use formats::session::{MessageItem, RawCall};
use ports::journal::{Entry, Journal};
use serde_json::{Value, json};

use crate::args::MessageFilter;
use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text;
use crate::view::{self, files, sessions};

/// How soon `tail` looks again at a journal that could not be read, such as one that is only being made.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// So many events are read at once.
const EVENTS_AT_ONCE: usize = 1_000;
/// `type:` of what stands on the channel `state`.
const STATE_CHANGE: &str = "state_change";
/// Who tells agents what became of tasks, and what the rules did.
/// `type:` of what stands on the channel `task`.
const TASK: &str = "task";
/// How the result of a call begins that handed work on, behind who did it and before the task.
const ENDS: [&str; 3] = ["has done", "could not do", "no longer does, because it was cancelled,"];
/// The name, beside those of messages, of what a person is told when a conversation ends without an answer.
const OVER: &str = "over";

/// A message with all that stands on its envelope.
struct Letter {
    session: SessionId,
    id: String,
    at: Option<Time>,
    from: Actor,
    /// Who got it: an agent, or a person who is answered. Nobody does if a conversation only moved.
    to: Option<String>,
    channel: String,
    envelope: Envelope,
    content: String,
}

impl Letter {
    fn whom(&self) -> &str {
        self.to.as_ref().unwrap_or(&self.channel)
    }

    fn kind(&self) -> &'static str {
        match &self.to {
            None => STATE_CHANGE,
            Some(_) if self.channel == Channel::Task.as_str() => TASK,
            Some(_) => self.envelope.kind.as_str(),
        }
    }

    fn json(&self) -> Value {
        let Envelope { broadcast, priority, correlation_id, in_reply_to, approved, issues, .. } =
            &self.envelope;
        json!({
            "id": format!("{}/{}", self.session, self.id),
            "from": self.from,
            "to": match &self.envelope.channel {
                Some(name) => format!("{CHANNEL_SIGN}{name}"),
                None if *broadcast => domain::message::BROADCAST.to_owned(),
                None => self.whom().to_owned(),
            },
            "receiver": self.to,
            "session": self.session,
            "channel": self.channel,
            "type": self.kind(),
            "content": self.content,
            "correlation_id": correlation_id,
            "in_reply_to": in_reply_to,
            "priority": priority.as_str(),
            "timestamp": self.at.map(formats::time::print),
            "approved": approved,
            "issues": issues,
        })
    }

    fn print(&self, out: &Out) {
        let at = self.at.map_or_else(String::new, |at| format!("  {}", text::time(at)));
        let urgent = match self.envelope.priority.is_normal() {
            true => String::new(),
            false => format!(", {}", self.envelope.priority.as_str()),
        };
        let title = format!(
            "── {} → {}  {}{urgent}  {}/{}{at}",
            self.from,
            self.whom(),
            self.kind(),
            self.session,
            self.id
        );
        out.line(out.dim(&text::line(&title)));
        let Envelope { correlation_id, in_reply_to, .. } = &self.envelope;
        for (word, id) in [("correlation", correlation_id), ("in reply to", in_reply_to)] {
            id.iter().for_each(|id| out.line(out.dim(&format!("   {word} {}", text::line(id)))));
        }
        let verdict = self.envelope.approved.map(|good| if good { "approved" } else { "not approved" });
        verdict.iter().for_each(|verdict| out.line(out.dim(&format!("   {verdict}"))));
        out.line(text::visible(self.content.trim_end()));
        self.envelope.issues.iter().for_each(|issue| out.line(format!("   - {}", text::line(issue))));
    }

    fn fits(&self, filter: &MessageFilter) -> bool {
        let full = self.from.to_string();
        let from = self.from.agent().map_or(full.as_str(), AgentId::as_str);
        let is = |wanted: &Option<String>, fits: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(fits);
        is(&filter.agent, &|agent| agent == self.whom() || agent == from)
            && is(&filter.from, &|who| who == from || who == full)
            && filter.channel().map_or(self.to.is_some(), |channel| channel == self.channel)
            && is(&filter.correlation, &|id| self.envelope.correlation_id.as_deref() == Some(id))
    }
}

/// A conversation, as far as it is followed.
struct Talk {
    head: Head,
    /// Who waits for an answer, and to whom the last one went: the agent may say more when it is woken again.
    asked: Vec<Asked>,
    /// Calls that handed work on and have no result yet.
    handed_on: BTreeSet<CallId>,
}

/// A message that the agent answers.
struct Asked {
    /// Its name in the session.
    id: String,
    /// The person whose it is; nobody if an agent asks, who gets its answer as a message of its own.
    by: Option<String>,
    /// Whether the agent said something since it read this.
    answered: bool,
}

impl Talk {
    fn new(head: Head) -> Self {
        Self { head, asked: Vec::new(), handed_on: BTreeSet::new() }
    }

    /// The next message, if it was sent: to the agent, or by it to people who said something before.
    fn next(&mut self, item: &MessageItem) -> Vec<Letter> {
        if let Some(letter) = letter(&self.head, item) {
            // What a task begins with is answered by the task's result.
            let is_person = letter.from.is_person() && letter.channel != Channel::Task.as_str();
            let is_agent = letter.from.agent().is_some() && !letter.envelope.kind.answers();
            if is_person || is_agent {
                let by = is_person.then(|| letter.from.to_string());
                self.asked.push(Asked { id: letter.id.clone(), by, answered: false });
            }
            return vec![letter];
        }
        self.handed_on.extend(item.calls.iter().filter(|call| call.name == TOOL).map(|call| call.id.clone()));
        if item.call.as_ref().is_some_and(|call| self.handed_on.remove(call)) {
            return outcome(&self.head, item).into_iter().collect();
        }
        let is_last = item.speaker == Speaker::Assistant && item.calls.is_empty();
        if !is_last || item.content.trim().is_empty() {
            return Vec::new();
        }
        let id = item.id.as_ref().map_or_else(String::new, ToString::to_string);
        // What came while the answer was made stands before it, and has its own answer later.
        let late =
            item.read_through.as_ref().map_or(0..0, |through| number(through.as_str()) + 1..number(&id));
        let is_due = |asked: &Asked| !asked.answered && !late.contains(&number(&asked.id));
        if self.asked.iter().any(is_due) {
            // Who has an answer makes room for the next who asks.
            self.asked.retain(|asked| !asked.answered);
            self.asked.iter_mut().filter(|asked| is_due(asked)).for_each(|asked| asked.answered = true);
        }
        self.responses(&id, item.at, &item.content, |asked| asked.answered)
    }

    /// The conversation is over: what the people are told who may still wait for an answer.
    fn over(&mut self, at: Option<Time>, failed: bool, reason: &str) -> Vec<Letter> {
        let colon = if reason.is_empty() { "" } else { ": " };
        let told = match self.head.task {
            Some(_) => Vec::new(),
            None => self.responses(OVER, at, &format!("cannot answer{colon}{reason}"), |asked| {
                failed || !asked.answered
            }),
        };
        self.asked.clear();
        told
    }

    /// The same words for each request of a person that they answer.
    fn responses(
        &self,
        id: &str,
        at: Option<Time>,
        content: &str,
        answers: impl Fn(&Asked) -> bool,
    ) -> Vec<Letter> {
        let asked = self.asked.iter().filter(|asked| answers(asked));
        let asked = asked.filter_map(|asked| Some((&asked.id, asked.by.clone()?)));
        let response = |(request, by): (&String, String)| {
            let in_reply_to = Some(format!("{}/{request}", self.head.session));
            Letter {
                session: self.head.session.clone(),
                id: id.to_owned(),
                at,
                from: Actor::from(&self.head.agent),
                to: Some(by),
                channel: Channel::Direct.as_str().to_owned(),
                envelope: Envelope { kind: Kind::Response, in_reply_to, ..Envelope::default() },
                content: content.to_owned(),
            }
        };
        asked.map(response).collect()
    }
}

/// The number of a message (`m-0042` has 42); 0 if a person gave it another name, or none.
fn number(id: &str) -> u32 {
    id.strip_prefix("m-").and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// A message of a session file, if somebody sent it to the agent.
fn letter(head: &Head, item: &MessageItem) -> Option<Letter> {
    let is_sent = item.envelope.is_some() || (item.speaker == Speaker::User && item.from.is_some());
    if !is_sent {
        return None;
    }
    let begins = head.task.is_some() && item.id.as_ref().is_some_and(|id| id.as_str() == "m-0001");
    let is_talk = matches!(item.from, Some(Actor::Person(_) | Actor::Agent(_)));
    let is_synod = item.from == Some(Actor::Synod);
    let is_task = begins || is_synod || (head.task.is_some() && !is_talk);
    let channel = match &item.envelope {
        Some(_) if is_synod => Channel::Control,
        None if is_task => Channel::Task,
        Some(envelope) => envelope.kind.channel(),
        None => Channel::Direct,
    };
    let mut envelope = item.envelope.as_deref().cloned().unwrap_or_default();
    if channel == Channel::Task && begins {
        // All that is told of a task has its id.
        envelope.correlation_id = head.task.as_ref().map(ToString::to_string);
    } else if channel == Channel::Task && is_synod {
        envelope = about(ended(&item.content));
    }
    let named = envelope.channel.clone().unwrap_or_else(|| channel.as_str().to_owned());
    let from = item.from.clone().unwrap_or(Actor::Outside(String::new()));
    Some(told(head, item, (from, named, envelope)))
}

/// What came of work that was handed on: it stands there as the result of the call, in Synod's words.
fn outcome(head: &Head, item: &MessageItem) -> Option<Letter> {
    let (words, _) = item.content.split_once(": ")?;
    let (doer, what) = words.split_once(' ')?;
    let task = ENDS.iter().find_map(|end| what.strip_prefix(end)?.strip_prefix(' '))?;
    let from = Actor::Agent(AgentId::new(doer));
    Some(told(head, item, (from, Channel::Task.as_str().to_owned(), about(Some(task)))))
}

/// The task that Synod tells an agent the end of; nothing if there are several.
fn ended(content: &str) -> Option<&str> {
    let first = content.lines().next()?;
    first.strip_suffix(" has ended.").or_else(|| first.strip_prefix("- ")?.split(' ').next())
}

/// What stands on a message about the end of a task.
fn about(task: Option<&str>) -> Envelope {
    let id = task.map(str::to_owned);
    Envelope { correlation_id: id.clone(), in_reply_to: id, ..Envelope::default() }
}

/// A message to the agent of a session.
fn told(head: &Head, item: &MessageItem, (from, channel, envelope): (Actor, String, Envelope)) -> Letter {
    Letter {
        session: head.session.clone(),
        id: item.id.as_ref().map_or_else(String::new, ToString::to_string),
        at: item.at,
        from,
        to: Some(head.agent.to_string()),
        channel,
        envelope,
        content: item.content.clone(),
    }
}

/// What the journal knows of the moves of all conversations, the newest so many.
fn moves(home: &Path, filter: &MessageFilter) -> anyhow::Result<Vec<Letter>> {
    let path = home.join(layout::JOURNAL);
    let mut newest = VecDeque::new();
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut journal = Sqlite::open_read_only(&path)?;
    let mut talks = BTreeMap::new();
    let mut at = Seq(0);
    loop {
        let entries = journal.read(at, EVENTS_AT_ONCE)?;
        let Some(last) = entries.last() else { break };
        at = last.seq;
        for entry in &entries {
            let told = sent(home, entry, &mut talks)?;
            newest.extend(told.into_iter().filter(|letter| letter.fits(filter)));
            while newest.len() > filter.limit {
                newest.pop_front();
            }
        }
    }
    Ok(newest.into())
}

pub fn list(home: &Path, filter: &MessageFilter, out: &Out) -> anyhow::Result<Exit> {
    check(home, filter)?;
    if filter.channel() == Some(Channel::State.as_str()) {
        let moves = moves(home, filter)?;
        if out.json {
            let messages: Vec<Value> = moves.iter().map(Letter::json).collect();
            out.value(json!({ "messages": messages, "unreadable": [] }));
        } else if moves.is_empty() {
            out.line("No messages.");
        }
        moves.iter().filter(|_| !out.json).for_each(|letter| letter.print(out));
        return Ok(Exit::Ok);
    }
    // One file at a time, and never more messages than are shown.
    let mut newest: BTreeMap<(Option<Time>, String, usize), Letter> = BTreeMap::new();
    let mut broken = Vec::new();
    for path in files::list(home, layout::SESSIONS, layout::SESSION_END) {
        let Ok((file, _)) = sessions::read(home, &path) else {
            broken.push(path);
            continue;
        };
        let mut talk = Talk::new(file.head().clone());
        let mut place = 0;
        let mut keep = |letters: Vec<Letter>| {
            for letter in letters.into_iter().filter(|letter| letter.fits(filter)) {
                place += 1;
                newest.insert((letter.at, path.clone(), place), letter);
                if newest.len() > filter.limit {
                    newest.pop_first();
                }
            }
        };
        let status = file.status();
        file.messages().iter().for_each(|item| keep(talk.next(item)));
        if matches!(status, Status::Completed | Status::Error) {
            keep(talk.over(file.updated(), status == Status::Error, file.reason()));
        }
    }
    if out.json {
        let messages: Vec<Value> = newest.values().map(Letter::json).collect();
        out.value(json!({ "messages": messages, "unreadable": broken }));
        return Ok(Exit::Ok);
    }
    newest.values().for_each(|letter| letter.print(out));
    if newest.is_empty() {
        out.line("No messages.");
    }
    broken.iter().for_each(|path| out.line(format!("{path} cannot be read; see `synod check`")));
    Ok(Exit::Ok)
}

fn check(home: &Path, filter: &MessageFilter) -> anyhow::Result<()> {
    let mut known: Vec<String> = Channel::ALL.map(|channel| channel.as_str().to_owned()).into();
    known.extend(listened(home));
    if let Some(other) = filter.channel().filter(|channel| !known.iter().any(|known| known == channel)) {
        let help = format!("there are: {}", known.join(", "));
        return Err(fail(Exit::Usage, format!("there is no channel {}", text::line(other)), help));
    }
    let Some(agent) = &filter.agent else { return Ok(()) };
    let agents: Vec<AgentId> = view::agents(home).into_iter().map(|agent| agent.id).collect();
    // One that is over may have said something.
    let has_spoken = || {
        let all = files::list(home, layout::SESSIONS, layout::SESSION_END);
        all.iter()
            .any(|path| sessions::session_of(path).rsplit_once('-').is_some_and(|(own, _)| own == agent))
    };
    if agents.iter().any(|known| known.as_str() == agent) || has_spoken() {
        return Ok(());
    }
    Err(view::unknown("agent", agent, agents.iter().map(AgentId::as_str)))
}

impl MessageFilter {
    /// The channel, with or without the sign that it is sent to by.
    fn channel(&self) -> Option<&str> {
        self.channel.as_deref().map(|name| name.strip_prefix(CHANNEL_SIGN).unwrap_or(name))
    }
}

/// The channels that agents listen to.
fn listened(home: &Path) -> BTreeSet<String> {
    let read = |path: String| formats::agent::read(&path, &files::read(home, &path).ok()?).value;
    files::agents(home).into_iter().filter_map(read).flat_map(|agent| agent.channels).collect()
}

/// Shows messages as they are journalled, from now on or from the beginning, until so many were shown. Whoever works in
/// the home writes the journal, and the system tells when it did.
pub fn tail(home: &Path, filter: &MessageFilter, all: bool, out: &Out) -> anyhow::Result<Exit> {
    if filter.limit == 0 {
        return Ok(Exit::Ok);
    }
    check(home, filter)?;
    let path = home.join(layout::JOURNAL);
    let mut changes = Changes::of(home)?;
    let mut follower = Follower { home, filter, talks: BTreeMap::new(), after: None, shown: 0 };
    loop {
        let is_there = path.exists();
        let journal = is_there.then(|| Sqlite::open_read_only(&path).ok()).flatten();
        let is_unread = is_there && journal.is_none();
        if let Some(journal) = journal {
            if follower.read(journal, all, out)? {
                return Ok(Exit::Ok);
            }
        } else if !is_there {
            // A home that has never run, or whose journal was deleted: all that it will say is new.
            follower.after = Some(Seq(0));
        }
        changes.wait(is_unread.then_some(LOOK_AGAIN));
    }
}

/// What `tail` has shown so far.
struct Follower<'a> {
    home: &'a Path,
    filter: &'a MessageFilter,
    talks: BTreeMap<SessionId, Talk>,
    after: Option<Seq>,
    shown: usize,
}

impl Follower<'_> {
    /// Shows what is new; says whether enough was shown, or nobody looks any more.
    fn read(&mut self, mut journal: Sqlite, all: bool, out: &Out) -> anyhow::Result<bool> {
        let last = journal.last();
        let mut at = match self.after {
            // The journal was deleted, and another one begins.
            Some(after) if after > last => Seq(0),
            Some(after) => after,
            None if all => Seq(0),
            None => last,
        };
        loop {
            let entries = journal.read(at, EVENTS_AT_ONCE)?;
            let Some(end) = entries.last() else { break };
            at = end.seq;
            for entry in &entries {
                let told = sent(self.home, entry, &mut self.talks)?;
                for letter in told.iter().filter(|letter| letter.fits(self.filter)) {
                    if out.json {
                        out.value(letter.json())
                    } else {
                        letter.print(out)
                    }
                    self.shown += 1;
                    if self.shown >= self.filter.limit || out.is_closed() {
                        return Ok(true);
                    }
                }
            }
        }
        self.after = Some(at);
        Ok(false)
    }
}

/// The conversation, as its file tells it up to a message if nothing of it was seen yet.
fn talk_of<'a>(
    home: &Path,
    session: &SessionId,
    until: Option<&MessageId>,
    talks: &'a mut BTreeMap<SessionId, Talk>,
) -> Option<&'a mut Talk> {
    if !talks.contains_key(session) {
        let (file, _) = sessions::read(home, &layout::session_file(session)).ok()?;
        let mut talk = Talk::new(file.head().clone());
        let before = file.messages().iter().take_while(|item| until.is_none() || item.id.as_ref() != until);
        before.for_each(|item| _ = talk.next(item));
        talks.insert(session.clone(), talk);
    }
    talks.get_mut(session)
}

/// The message that an event delivers, or the move that it is and what a person is told by it.
fn sent(home: &Path, entry: &Entry, talks: &mut BTreeMap<SessionId, Talk>) -> anyhow::Result<Vec<Letter>> {
    let told = match engine::decode(entry)? {
        Event::Session(SessionEvent::Opened { head })
        | Event::Session(SessionEvent::Adopted { head, .. }) => {
            talks.insert(head.session.clone(), Talk::new(*head));
            Vec::new()
        }
        Event::Session(SessionEvent::MessageAdded { session, message, .. })
        | Event::Call(CallEvent::Finished { session, message, .. })
        | Event::Turn(TurnEvent::Replied { session, message, .. }) => {
            let talk = talk_of(home, &session, Some(&message.id), talks);
            talk.map_or_else(Vec::new, |talk| talk.next(&item(message)))
        }
        Event::Session(SessionEvent::Moved { session, to, failed, reason, .. }) => {
            let Some(talk) = talk_of(home, &session, None, talks) else { return Ok(Vec::new()) };
            let at = Some(entry.at);
            let is_over = to == Lifecycle::Complete;
            let over = if is_over { talk.over(at, failed, &reason) } else { Vec::new() };
            let moved = Letter {
                id: format!("e-{}", entry.seq.0),
                at,
                from: Actor::from(&talk.head.agent),
                to: None,
                channel: Channel::State.as_str().to_owned(),
                envelope: Envelope::default(),
                content: format!("{}: {reason}", to.as_str()),
                session,
            };
            std::iter::once(moved).chain(over).collect()
        }
        _ => Vec::new(),
    };
    Ok(told)
}

/// What is asked for does not count here.
fn raw(call: Call) -> RawCall {
    RawCall { id: call.id, name: call.want.tool().to_owned(), arguments: String::new() }
}

fn item(message: Message) -> MessageItem {
    MessageItem {
        id: Some(message.id),
        at: Some(message.at),
        speaker: message.speaker,
        from: message.from,
        label: message.label,
        content: message.content,
        calls: message.calls.into_iter().map(raw).collect(),
        call: message.call,
        summary_through: None,
        read_through: message.read_through,
        is_error: message.is_error,
        envelope: message.envelope,
        line: 0,
        span: 0..0,
    }
}
