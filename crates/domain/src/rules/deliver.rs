//! Delivering notices: each receiver hears at once of all that ended for it, in one decision of its own.

use crate::words::actor::Actor;
use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::draft::Draft;
use crate::kernel::event::Finish;
use crate::kernel::event::NoticeEvent;
use crate::kernel::state::State;
use crate::rules::answer;
use crate::rules::answer::last_words;
use crate::rules::brief;
use crate::rules::say::{notification, said};
use crate::rules::talk::{conversation_with, root, tell_agent};
use crate::rules::tree::is_part_for;
use crate::topics::notice::{Notice, Receiver};
use crate::topics::session::Message;
use crate::topics::task::End;
use crate::topics::task::Task;
use crate::topics::wait::Why;
use crate::words::id::{AgentId, SessionId, TaskId};
use crate::words::label::Label;

/// Delivers what one receiver is to be told.
pub(super) fn deliver(d: &mut Draft<'_>, receiver: Receiver, notices: Vec<Notice>) {
    match &receiver {
        Receiver::Session(id) => to_session(d, id, notices),
        Receiver::Agent(id) => to_agent(d, id, notices),
    }
    d.emit(NoticeEvent::Told { receiver });
}

fn to_session(d: &mut Draft<'_>, id: &SessionId, notices: Vec<Notice>) {
    let mut ended: BTreeMap<TaskId, (End, String)> = BTreeMap::new();
    let mut unanswered = Vec::new();
    for notice in notices {
        match notice {
            Notice::Ended { task, end, result } => _ = ended.insert(task, (end, result)),
            Notice::NoAnswer { from, reason } => unanswered.push((from, reason)),
            Notice::Unread { .. } => {}
        }
    }
    tell_ended(d, id, &ended);
    for (from, reason) in unanswered {
        let Some(session) = d.sessions.get(&from) else { continue };
        // It hears of the end of the task on which the other worked.
        let is_told = session.task.as_ref().is_some_and(|task| ended.contains_key(task));
        let text = format!("{} cannot answer: {reason}", session.agent);
        last_words(d, &from, id, (is_told, &[]), (&Finish::Failed, &text));
    }
}

/// Tells a conversation of the ends of tasks: a call that waits gets its result, the parts of its task come together when
/// none is left, and trouble is told at once.
fn tell_ended(d: &mut Draft<'_>, id: &SessionId, ended: &BTreeMap<TaskId, (End, String)>) {
    let mut told: BTreeSet<TaskId> = BTreeSet::new();
    for (task_id, (end, text)) in ended {
        let Some(task) = d.work.tasks.get(task_id) else { continue };
        if let Some((finish, message)) = answer::of_task(d, d.at, id, task, (*end, text)) {
            d.finish_call(id, finish, message);
            continue;
        }
        if is_taken_up_again(d, id, task_id) {
            let task = in_full(task, ended);
            let message = said(d.at, Some(Actor::Synod), brief::parts(&[&task]), task.label.clone());
            d.say(id, message, None);
            continue;
        }
        if !is_part_for(d, id, task_id) || told.contains(task_id) {
            continue;
        }
        let Some((message, tells)) = news(d, id, task, ended) else { continue };
        told.extend(tells);
        d.say(id, message, None);
    }
}

/// Whether a task that `asker` delegated went on after the call had its result: a person reopened it, and `asker` waits for it as
/// for any other part.
fn is_taken_up_again(state: &State, asker: &SessionId, id: &TaskId) -> bool {
    let own = state.delegations.of_task(id).filter(|own| own.callback && own.session == *asker);
    let asks = own.zip(state.sessions.get(asker).filter(|session| !session.is_over()));
    asks.is_some_and(|(own, session)| session.pending(&own.call).is_none())
}

/// What is said of the end of a task, and of which tasks that tells.
fn news(
    d: &Draft<'_>,
    asker: &SessionId,
    task: &Task,
    ended: &BTreeMap<TaskId, (End, String)>,
) -> Option<(Message, Vec<TaskId>)> {
    let (end, text) = ended.get(&task.spec.id)?;
    let parent = task.spec.parent.as_ref().and_then(|parent| d.work.tasks.get(parent));
    let is_part = |id: &&TaskId| is_part_for(d, asker, id);
    if parent.is_some_and(|parent| d.open_children(parent).any(|part| is_part(&part))) {
        return match end {
            // The others go on, and the last of them brings all results.
            End::Done => None,
            End::Failed | End::Cancelled => {
                let message =
                    said(d.at, Some(Actor::Synod), brief::trouble(task, *end, text), task.label.clone());
                Some((message, vec![task.spec.id.clone()]))
            }
        };
    }
    let parts: Vec<Task> = match parent {
        Some(parent) => {
            let siblings = parent.children.iter().filter(is_part);
            siblings.filter_map(|id| d.work.tasks.get(id)).map(|part| in_full(part, ended)).collect()
        }
        None => vec![in_full(task, ended)],
    };
    let parts: Vec<&Task> = parts.iter().collect();
    let message = said(d.at, Some(Actor::Synod), brief::parts(&parts), label_of(&parts));
    Some((message, parts.iter().map(|part| part.spec.id.clone()).collect()))
}

/// A task with the whole of its result, if it has just ended.
fn in_full(task: &Task, ended: &BTreeMap<TaskId, (End, String)>) -> Task {
    let mut task = task.clone();
    if let Some((_, result)) = ended.get(&task.spec.id) {
        task.result.clone_from(result);
    }
    task
}

/// The worst origin of these tasks.
fn label_of(parts: &[&Task]) -> Label {
    parts.iter().fold(Label::owner(), |label, task| label.joined(&task.label))
}

/// What the conversation of its parent hears when a person makes `part` a part of something else, and none of the others is
/// left to bring their results.
pub(super) fn moved_away(d: &Draft<'_>, part: &Task) -> Option<(SessionId, Message)> {
    let id = &part.spec.id;
    let parent = part.spec.parent.as_ref().and_then(|parent| d.work.tasks.get(parent))?;
    let (asker, session) = parent.session().and_then(|asker| d.sessions.get_key_value(asker))?;
    if part.is_ended() || !is_part_for(d, asker, id) || session.is_over() {
        return None;
    }
    let others = parent.children.iter().filter(|other| *other != id && is_part_for(d, asker, other));
    let others: Vec<&Task> = others.filter_map(|other| d.work.tasks.get(other)).collect();
    if others.iter().any(|other| !other.is_ended()) {
        return None;
    }
    Some((asker.clone(), said(d.at, Some(Actor::Synod), brief::moved_away(part, &others), label_of(&others))))
}

/// Conversations that were found in their files and wait although all parts of their task have ended: nobody knows whether
/// they were told, so a start tells them.
pub(super) fn tell_missed_parents(d: &mut Draft<'_>) {
    let is_missed = |task: &&Task| {
        let session = task.session().and_then(|id| d.sessions.get(id));
        let waits = |session: &crate::topics::session::Session| {
            session.pace.turns_total == 0
                && session.lifecycle == crate::topics::lifecycle::Lifecycle::Waiting
                && session.rests()
        };
        session.is_some_and(waits) && !task.children.is_empty() && d.open_children(task).next().is_none()
    };
    let found = d.work.tasks.values().filter(is_missed).filter_map(|task| {
        let parts: Vec<&Task> = task.children.iter().filter_map(|id| d.work.tasks.get(id)).collect();
        let message = said(d.at, Some(Actor::Synod), brief::parts(&parts), label_of(&parts));
        Some((task.session()?.clone(), message))
    });
    for (session, message) in found.collect::<Vec<_>>() {
        d.say(&session, message, None);
    }
}

/// Calls that wait although their task has ended: a start gives them their result.
pub(super) fn answer_missed_calls(d: &mut Draft<'_>) {
    let missed = d.waits.all().filter(|wait| wait.why == Why::Delegation).filter_map(|wait| {
        let (session, task) = (wait.from.session()?, d.work.tasks.get(wait.to.task()?)?);
        let (finish, message) = answer::of_task(d, d.at, session, task, (task.end()?, &task.result))?;
        Some((session.clone(), finish, message))
    });
    for (session, finish, message) in missed.collect::<Vec<_>>() {
        d.finish_call(&session, finish, message);
    }
}

/// An agent hears that what it wrote was not read. It is woken for that only if the reader is gone for good.
fn to_agent(d: &mut Draft<'_>, id: &AgentId, notices: Vec<Notice>) {
    let mut unread: BTreeMap<Option<SessionId>, Vec<(SessionId, String)>> = BTreeMap::new();
    for notice in notices {
        let Notice::Unread { by, reason } = notice else { continue };
        let Some((sender, reader)) = d.employed(id).zip(d.sessions.get(&by)) else { continue };
        let about = conversation_with(d, sender, reader.task.as_ref());
        let there = about.or_else(|| sender.sessions.first()).cloned();
        if there.is_some() || is_terminated(d, &reader.agent) {
            unread.entry(there).or_default().push((by, reason));
        }
    }
    for (there, readers) in unread {
        let Some((first, reason)) = readers.first() else { continue };
        let names: BTreeSet<&str> =
            readers.iter().filter_map(|(by, _)| Some(d.sessions.get(by)?.agent.as_str())).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let text = format!("{} has not read what you wrote: {reason}", names.join(", "));
        let mut message = notification(d.at, text);
        match there {
            Some(there) => {
                let cause = d.sessions.get(first).map(|session| root(first, session).clone());
                if let Some(envelope) = &mut message.envelope {
                    envelope.cause = cause;
                }
                d.say(&there, message, None);
            }
            None => tell_agent(d, id, None, message, None),
        }
    }
}

fn is_terminated(state: &State, id: &AgentId) -> bool {
    state.team.agents.get(id).is_some_and(|agent| agent.terminated.is_some())
}
