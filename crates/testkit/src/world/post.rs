//! What agents say to each other, checked word by word: what was sent stands with its receiver, once.

use std::collections::{BTreeMap, BTreeSet};

use domain::Actor;
use domain::event::{CallEvent, SessionEvent, TaskEvent};
use domain::event::{Event, Finish};
use domain::id::{AgentId, CallId, SessionId};
use domain::message::BROADCAST;
use domain::session::Message;
use domain::state::State;
use domain::tool::{Act, SendMessage, Want};

use super::broken::Broken;

/// How words begin of which there are no others.
pub(super) const WORDS: &str = "say ";

/// Every message of one agent to another, by its words, which no other message has.
#[derive(Debug, Default)]
pub(super) struct Post {
    delivered: BTreeMap<String, BTreeSet<AgentId>>,
    /// Who answered which request.
    answered: BTreeSet<(String, AgentId)>,
    /// What Synod last said of ends in each conversation.
    told: BTreeMap<SessionId, String>,
}

impl Post {
    pub(super) fn saw(&mut self, before: &State, event: &Event) -> Result<(), Broken> {
        match event {
            Event::Session(SessionEvent::MessageAdded { session, message, .. }) => {
                check_reader(before, session, message)?;
                self.tell(session, message)?;
                self.deliver(before, session, message)
            }
            // What ended may end once more, and what was said may be gone.
            Event::Task(TaskEvent::Reopened { .. }) | Event::Session(SessionEvent::Cut { .. }) => {
                self.told.clear();
                Ok(())
            }
            Event::Call(CallEvent::Finished { session, message, finish, .. }) => {
                check_reader(before, session, message)?;
                self.deliver(before, session, message)?;
                match &message.call {
                    Some(call) if *finish == Finish::Done => self.check_sent(before, session, call),
                    _ => Ok(()),
                }
            }
            Event::Call(CallEvent::Awaited { session, call, .. }) => self.check_sent(before, session, call),
            _ => Ok(()),
        }
    }

    /// Whoever waits is told of an end once, however often Synod starts.
    fn tell(&mut self, session: &SessionId, message: &Message) -> Result<(), Broken> {
        let of_ends = message.content.lines().next().is_some_and(|line| line.ends_with(" ended."));
        if message.from != Some(Actor::Synod) || !of_ends {
            return Ok(());
        }
        match self.told.insert(session.clone(), message.content.clone()) {
            Some(before) if before == message.content => {
                Err(Broken(format!("{session} is told twice: {before}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn deliver(&mut self, before: &State, session: &SessionId, message: &Message) -> Result<(), Broken> {
        let (Some(envelope), Some(from)) = (&message.envelope, message.sender()) else { return Ok(()) };
        if envelope.kind.answers()
            && let Some(name) = &envelope.correlation_id
            && !self.answered.insert((name.clone(), from.clone()))
        {
            return Err(Broken(format!("{from} answers {name} twice")));
        }
        if !message.content.starts_with(WORDS) {
            return Ok(());
        }
        let to = match before.sessions.get(session) {
            Some(session) => session.agent.clone(),
            None => AgentId::new(session.as_str().rsplit_once('-').map_or("", |(agent, _)| agent)),
        };
        if !self.delivered.entry(message.content.clone()).or_default().insert(to.clone()) {
            return Err(Broken(format!("{to} hears twice: {}", message.content)));
        }
        Ok(())
    }

    /// What an agent was told that it sent has arrived.
    fn check_sent(&self, before: &State, session: &SessionId, call: &CallId) -> Result<(), Broken> {
        let Some(sender) = before.sessions.get(session) else { return Ok(()) };
        let Some(Want::Act(Act::SendMessage(SendMessage { to, content, .. }))) =
            sender.pending(call).map(|p| &p.call.want)
        else {
            return Ok(());
        };
        if !content.starts_with(WORDS) {
            return Ok(());
        }
        let nobody = BTreeSet::new();
        let heard = self.delivered.get(content).unwrap_or(&nobody);
        let missing = if to.as_str() == BROADCAST {
            let others = before.team.agents.values().filter(|a| !a.retired && a.spec.id != sender.agent);
            others.map(|a| &a.spec.id).find(|id| !heard.contains(*id))
        } else {
            Some(to).filter(|to| !heard.contains(*to))
        };
        match missing {
            Some(agent) => Err(Broken(format!("{session} sent to {agent}, who never heard: {content}"))),
            None => Ok(()),
        }
    }
}

/// Nobody gets words that are for others to see.
fn check_reader(before: &State, session: &SessionId, message: &Message) -> Result<(), Broken> {
    match before.sessions.get(session) {
        Some(to) if !message.label.readers.include(&to.agent) => {
            Err(Broken(format!("{session} gets what is for others to see: {}", message.content)))
        }
        Some(_) | None => Ok(()),
    }
}
