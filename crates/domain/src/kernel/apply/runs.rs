//! What events do to runs: which run a task or a conversation joins when it is made, and what its run counts.

use crate::kernel::state::State;
use crate::topics::agent::Agent;
use crate::topics::budget::Part;
use crate::topics::run::{Above, Member, Progress};
use crate::topics::session::{Message, Session};
use crate::topics::task::{Requester, Task};
use crate::words::actor::Actor;
use crate::words::id::{AgentId, SessionId, TaskId};
use crate::words::table::Table;

/// How far a task is, for its run.
pub(super) fn progress_of_task(task: &Task) -> Progress {
    task.end().map_or(Progress::Open, Progress::Ended)
}

/// How far a conversation is, for its run. One of an agent that nobody knows never works.
pub(super) fn progress_of_session(
    agents: &Table<AgentId, Agent>,
    id: &SessionId,
    session: &Session,
) -> Progress {
    let is_listed = || agents.get(&session.agent).is_some_and(|agent| agent.sessions.contains(id));
    match (session.is_over(), session.rests()) {
        (true, _) => Progress::Over { failed: session.failed },
        (false, false) if is_listed() => Progress::Working,
        (false, _) => Progress::Resting,
    }
}

impl State {
    /// A task is new: it joins its run, with the tasks that said before that they are a part of it.
    pub(super) fn join_task(&mut self, id: &TaskId) {
        self.join_run(&Member::Task(id.clone()));
        let Some(task) = self.work.tasks.get(id) else { return };
        let by = match &task.by {
            Requester::Person { name } => Actor::person(name),
            Requester::Inbox { source } => Actor::Outside(source.clone()),
            Requester::Session { session } => {
                let asker = self.sessions.get(session);
                asker.map_or(Actor::Synod, |asker| Actor::from(&asker.agent))
            }
        };
        let parts = task.children.clone();
        self.runs.name_requester(&Member::Task(id.clone()).run(), &by);
        parts.into_iter().for_each(|part| self.join_run(&Member::Task(part)));
    }

    /// A conversation is new: it joins its run, with those that named it before.
    pub(super) fn join_session(&mut self, id: &SessionId) {
        self.join_run(&Member::Session(id.clone()));
        for member in self.runs.take_awaiting(id) {
            self.join_run(&member);
        }
    }

    /// Puts a member into the run of what it was made for.
    pub(super) fn join_run(&mut self, member: &Member) {
        let (above, progress) = match member {
            Member::Task(id) => {
                let Some(task) = self.work.tasks.get(id) else { return };
                (self.above_task(id, task), progress_of_task(task))
            }
            Member::Session(id) => {
                let Some(session) = self.sessions.get(id) else { return };
                let above = match (&session.task, &session.ties.cause) {
                    (Some(task), _) => Ok(Some(Above::Of(Member::Task(task.clone())))),
                    (None, Some(cause)) => {
                        self.known(cause).map(|cause| Some(Above::Of(Member::Session(cause))))
                    }
                    (None, None) => Ok(None),
                };
                (above, progress_of_session(&self.team.agents, id, session))
            }
        };
        let above = above.unwrap_or_else(|unknown| {
            self.runs.await_session(&unknown, member);
            None
        });
        self.runs.put(self.at, member, above, progress);
    }

    /// What a task was made for: the task that it is a part of, else the conversation that asked for it. That is an error
    /// if nobody knows the conversation.
    fn above_task(&self, id: &TaskId, task: &Task) -> Result<Option<Above>, SessionId> {
        let parent = task.spec.parent.as_ref().filter(|parent| *parent != id);
        if let Some(parent) = parent.filter(|parent| self.work.tasks.contains_key(*parent)) {
            return Ok(Some(Above::Of(Member::Task(parent.clone()))));
        }
        let Requester::Session { session } = &task.by else { return Ok(None) };
        let asker = self.sessions.get(session).ok_or_else(|| session.clone())?;
        if asker.task.is_some() {
            return Ok(Some(Above::Of(Member::Session(session.clone()))));
        }
        // Whom a conversation works for now says nothing of what was asked for in it before.
        let asked = self.known(task.cause.as_ref().unwrap_or(session))?;
        let is_about_task = self.sessions.get(&asked).is_some_and(|session| session.task.is_some());
        Ok(Some(if is_about_task { Above::Of(Member::Session(asked)) } else { Above::Asked(asked) }))
    }

    fn known(&self, id: &SessionId) -> Result<SessionId, SessionId> {
        if self.sessions.contains_key(id) { Ok(id.clone()) } else { Err(id.clone()) }
    }

    /// Keeps what its run counts of a conversation true.
    pub(super) fn note_session(&mut self, id: &SessionId) {
        let Some(session) = self.sessions.get(id) else { return };
        let progress = progress_of_session(&self.team.agents, id, session);
        self.runs.note(self.at, &Member::Session(id.clone()), progress);
    }

    /// Whether a person who speaks in a conversation begins a new request: it rests, and all that followed from what was said
    /// before has ended.
    pub(super) fn begins_run(&self, id: &SessionId) -> bool {
        let rests = self.sessions.get(id).is_some_and(|session| session.task.is_none() && session.rests());
        rests && !self.runs.goes_on(&Member::Session(id.clone()).run())
    }

    /// Somebody spoke in a conversation. The cost of a request that begins with it is counted anew.
    pub(super) fn speak_in_run(&mut self, id: &SessionId, message: &Message, begins: bool) {
        let run = Member::Session(id.clone()).run();
        if begins {
            let part = Part::of_run(run.as_str());
            if self.ledger.counts(&part) {
                self.ledger.count_anew(&self.config.settings, self.at, &part);
            }
            self.runs.begin(self.at, &run, message.from.clone());
        }
        if let Some(from) = &message.from {
            self.runs.name_requester(&run, from);
        }
        // What a task is about is said in its own conversation, too, and is no message of an agent.
        if message.envelope.is_some() && message.sender().is_some() {
            self.runs.count(id, |counts| counts.messages += 1);
        }
    }
}
