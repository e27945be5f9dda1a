//! Endings: of turns, sessions, tasks and approvals; and who is told.

use std::collections::{BTreeMap, BTreeSet};

use crate::approval::{Answer, Outcome};
use crate::brief;
use crate::decide::delegate;
use crate::decide::turn::{next_turn, result, unknown_text};
use crate::decide::{inside, locks, messages, moves, plan, question, review, said};
use crate::event::{Event, Finish};
use crate::evidence::ROUNDS_MAX;
use crate::id::{ApprovalId, CallId, SessionId, TaskId, Time};
use crate::label::Label;
use crate::lifecycle::Lifecycle;
use crate::message;
use crate::plan::is_hold;
use crate::refused::Refused;
use crate::session::{Message, Speaker};
use crate::settings::OnExpiry;
use crate::state::{Proving, Requester, Session, Stage, State, Step, TASK_DEPTH_MAX, Task, TaskStage};
use crate::task::{Change, End};
use crate::tool::{Act, Call, Want};
use crate::waits::{self, Node};

/// The model has answered without asking for anything.
pub(super) fn conclude(state: &State, at: Time, id: &SessionId, session: &Session, text: &str) -> Vec<Event> {
    if session.unread {
        // What was read so far is answered by this; the next turn is for what came meanwhile.
        let mut events = tell_answered(state, at, (id, session), text);
        let answered: BTreeSet<String> = events.iter().filter_map(messages::answers).cloned().collect();
        let next = next_turn(state, at, id, session);
        // If there is no next turn, that is nothing to those who have their answer.
        let is_new = |event: &Event| messages::answers(event).is_none_or(|name| !answered.contains(name));
        events.extend(next.into_iter().filter(is_new));
        return events;
    }
    let Some((task_id, task)) = session.task.as_ref().and_then(|t| state.tasks.get_key_value(t)) else {
        if let Some(notice) = locks::must_not_rest(state, at, id, session) {
            return vec![notice];
        }
        let mut events = tell_answered(state, at, (id, session), text);
        events.extend(moves(id, session, Lifecycle::Waiting, false, "it has said what it had to say"));
        return events;
    };
    let is_its = task.session() == Some(id);
    let mut open: Vec<String> = Vec::new();
    if is_its {
        open.extend(state.open_children(task).map(ToString::to_string));
    }
    // Whoever waits for this one cannot answer it: to wait for that would never end.
    let comes = |name: &&String| {
        let asked = session.asked.get(*name).into_iter().flat_map(|asked| asked.values());
        let asked = asked.map(|other| Node::Session(other.clone())).collect();
        waits::would_stand_still(state, id, asked).is_none()
    };
    open.extend(message::owed(session).filter(comes).map(|name| format!("the answer to {name}")));
    if !is_its && open.is_empty() {
        let mut events = tell_askers(state, at, (id, session), &nobody, (&Finish::Done, text));
        let reason = if task.is_ended() { "its task has ended" } else { "its task is worked on elsewhere" };
        events.extend(moves(id, session, Lifecycle::Complete, false, reason));
        return events;
    }
    if !open.is_empty() {
        if let Some(notice) = locks::must_not_rest(state, at, id, session) {
            return vec![notice];
        }
        let reason = format!("waits for {}", open.join(", "));
        let mut events = tell_answered(state, at, (id, session), text);
        events.extend(moves(id, session, Lifecycle::Waiting, false, &reason));
        return events;
    }
    match task.spec.evidence() {
        Ok(evidence) if evidence.is_empty() => done(state, at, id, session, (task_id, task), text),
        Ok(evidence) => {
            let calls = evidence.into_iter().enumerate().map(|(number, evidence)| {
                let act = Act::Check { task: task_id.clone(), evidence, result: text.to_owned() };
                Call {
                    id: CallId::new(format!("check-{}-{}", session.turns_total, number + 1)),
                    arguments: serde_json::to_string(&act).unwrap_or_default(),
                    want: Want::Act(act),
                    seen: None,
                }
            });
            let message = Message {
                speaker: Speaker::Assistant,
                calls: calls.collect(),
                ..said(at, "synod", String::new(), session.label.clone())
            };
            vec![Event::EvidenceDemanded { session: id.clone(), message }]
        }
        // Nothing can meet it, so a person must mend it; the agent's work is not lost, it stands in the session.
        Err(why) => fail(state, at, id, session, &format!("done_when of {task_id} cannot be read: {why}")),
    }
}

/// The evidence was looked at: the task is done, or the agent is told what is missing.
pub(super) fn proven(
    state: &State,
    at: Time,
    id: &SessionId,
    session: &Session,
    proving: &Proving,
) -> Vec<Event> {
    let task = session.task.as_ref().and_then(|t| state.tasks.get_key_value(t));
    let Some((task_id, task)) = task.filter(|(_, t)| t.session() == Some(id)) else {
        return next_turn(state, at, id, session);
    };
    if session.unread || (proving.missing && session.unproven + 1 < ROUNDS_MAX) {
        return next_turn(state, at, id, session);
    }
    if proving.missing {
        let reason =
            format!("done_when: it was reported done {ROUNDS_MAX} times, and the evidence was not there");
        return fail(state, at, id, session, &reason);
    }
    let evidence = task.spec.evidence().unwrap_or_default();
    let mut events = vec![Event::TaskVerified { task: task_id.clone(), evidence }];
    events.extend(done(state, at, id, session, (task_id, task), &proving.said));
    events
}

/// A session's task is done.
fn done(
    state: &State,
    at: Time,
    id: &SessionId,
    session: &Session,
    (task_id, task): (&TaskId, &Task),
    text: &str,
) -> Vec<Event> {
    let by = format!("agent:{}", session.agent);
    // Whoever asked for the task hears of its end in another way.
    let asker = asker_of(state, task);
    let mut events =
        tell_askers(state, at, (id, session), &|other| asker == Some(other), (&Finish::Done, text));
    events.extend(end_but(state, at, task_id, End::Done, text, &by, Some(id)));
    events.extend(moves(id, session, Lifecycle::Complete, false, "its task is done"));
    events
}

/// What the agent says reaches whoever it answers by it.
fn tell_answered(state: &State, at: Time, (id, session): (&SessionId, &Session), text: &str) -> Vec<Event> {
    let later = message::to_come(state, id, session);
    let open = session.askers.iter().filter_map(|id| state.sessions.get_key_value(id));
    open.filter(|(_, asker)| asker.lifecycle != Lifecycle::Complete)
        .flat_map(|asker| {
            messages::last_words(at, (id, session), asker, (false, &later), &Finish::Done, text)
        })
        .collect()
}

/// The agent's last words reach whoever asked for them, but for those who hear of it in another way.
pub(super) fn tell_askers(
    state: &State,
    at: Time,
    (id, session): (&SessionId, &Session),
    is_told: &dyn Fn(&SessionId) -> bool,
    (finish, text): (&Finish, &str),
) -> Vec<Event> {
    let open = session.askers.iter().filter_map(|id| state.sessions.get_key_value(id));
    open.filter(|(_, asker)| asker.lifecycle != Lifecycle::Complete)
        .flat_map(|(asker_id, asker)| {
            let told = (is_told(asker_id), &[][..]);
            messages::last_words(at, (id, session), (asker_id, asker), told, finish, text)
        })
        .collect()
}

pub(super) fn nobody(_: &SessionId) -> bool {
    false
}

/// A session cannot go on.
pub(super) fn fail(state: &State, at: Time, id: &SessionId, session: &Session, reason: &str) -> Vec<Event> {
    let mut events = Vec::new();
    if let Some((task_id, task)) = session.task.as_ref().and_then(|t| state.tasks.get_key_value(t))
        && task.session() == Some(id)
    {
        events.extend(end_parts_too(state, at, task_id, End::Failed, reason, "synod", Some(id)));
        events.extend(give_up_elsewhere(state, at, task_id, session));
    } else {
        events.extend(delegate::give_up(state, at, session, reason));
    }
    events.extend(stop_session(state, at, id, reason, true));
    tell_left_behind(state, at, events, Some(id))
}

/// Whoever waits for words of a session that is stopped by these events is told that none will come, unless it is
/// stopped itself, told of the end of the task, or `acting`: it stops them. Who only told it something gets that back.
pub(super) fn tell_left_behind(
    state: &State,
    at: Time,
    events: Vec<Event>,
    acting: Option<&SessionId>,
) -> Vec<Event> {
    let mut events = messages::stop_asked(state, at, events, acting);
    let mut stopped = BTreeMap::new();
    let mut spoken_to: BTreeSet<SessionId> = BTreeSet::new();
    for event in &events {
        match event {
            Event::Moved { session, to: Lifecycle::Complete, reason, .. } => {
                _ = stopped.insert(session.clone(), reason.clone())
            }
            Event::MessageAdded { session, .. } => _ = spoken_to.insert(session.clone()),
            _ => {}
        }
    }
    let out: BTreeSet<SessionId> = acting.into_iter().chain(stopped.keys()).cloned().collect();
    for (id, reason) in &stopped {
        let Some(session) = state.sessions.get(id) else { continue };
        // Who hears of the end of another task knows nothing of this conversation.
        let task = session.task.as_ref().and_then(|task| state.tasks.get(task));
        let asker = task.and_then(|task| asker_of(state, task)).filter(|asker| spoken_to.contains(*asker));
        let is_told = |id: &SessionId| out.contains(id) || asker == Some(id);
        let text = format!("{} cannot answer: {reason}", session.agent);
        let askers = tell_askers(state, at, (id, session), &is_told, (&Finish::Failed, &text));
        // Whoever is stopped itself gets nothing: its calls have their results already.
        let is_open = |event: &Event| match event {
            Event::CallFinished { session, .. } => !stopped.contains_key(session),
            _ => true,
        };
        events.extend(askers.into_iter().filter(is_open));
    }
    let answers = unanswered(state, at, &events, &stopped);
    events.extend(answers);
    events.extend(messages::give_back(state, at, &stopped));
    events
}

/// Results for calls that wait for delegated work, or a review, that these events end. Most end with their session; but
/// who ended its own task goes on without it, and what it waits for may end with what is above.
fn unanswered(
    state: &State,
    at: Time,
    events: &[Event],
    stopped: &BTreeMap<SessionId, String>,
) -> Vec<Event> {
    let finished = |event: &Event| match event {
        Event::CallFinished { session, message, .. } => Some((session.clone(), message.call.clone())),
        _ => None,
    };
    let answered: BTreeSet<_> = events.iter().filter_map(finished).collect();
    let ended = events.iter().filter_map(|event| match event {
        Event::TaskEnded { task, end, result, .. } => {
            let task = state.tasks.get(task)?;
            delegate::answer(state, at, task, *end, result)
                .or_else(|| review::answer(state, at, task, *end, result))
        }
        _ => None,
    });
    let is_left = |event: &Event| {
        finished(event).is_some_and(|call| !answered.contains(&call) && !stopped.contains_key(&call.0))
    };
    ended.filter(is_left).collect()
}

/// Ends a task and all that is below it, and tells whoever asked.
pub(super) fn end(state: &State, at: Time, id: &TaskId, end: End, result: &str, by: &str) -> Vec<Event> {
    end_but(state, at, id, end, result, by, None)
}

/// Like `end`, but leaves the session `acting` alone: it is the one that ends the task, and is told by the result of its call.
pub(super) fn end_but(
    state: &State,
    at: Time,
    id: &TaskId,
    end: End,
    result: &str,
    by: &str,
    acting: Option<&SessionId>,
) -> Vec<Event> {
    let events = end_parts_too(state, at, id, end, result, by, acting);
    tell_left_behind(state, at, events, acting)
}

/// Cancels a task and all that is below it, and tells nobody: whoever asked no longer listens.
pub(super) fn abandon(state: &State, at: Time, id: &TaskId, reason: &str) -> Vec<Event> {
    let mut events = end_parts_too(state, at, id, End::Cancelled, reason, "synod", None);
    let asker = state.delegations.of_task(id).map(|delegation| &delegation.session);
    let is_answer =
        |event: &Event| matches!(event, Event::CallFinished { session, .. } if Some(session) == asker);
    events.retain(|event| !is_answer(event));
    events
}

pub(super) fn end_parts_too(
    state: &State,
    at: Time,
    id: &TaskId,
    end: End,
    result: &str,
    by: &str,
    acting: Option<&SessionId>,
) -> Vec<Event> {
    let Some(task) = state.tasks.get(id) else { return Vec::new() };
    if task.is_ended() {
        return Vec::new();
    }
    let mut events = Vec::new();
    let mut after = None;
    if end != End::Done && is_hold(state, task) {
        let (down, so) = plan::turned_down(state, at, task, by, acting);
        (events, after) = (down, Some(so));
    }
    let all_below = all_below(state, id);
    for held in plan::steps_elsewhere(state, &all_below).into_iter().filter(|held| *held != id) {
        let reason = format!("{id}, of which its plan is a part, is {}", end.mark().as_str());
        events.extend(end_parts_too(state, at, held, End::Cancelled, &reason, by, acting));
    }
    events.extend(moved_elsewhere(state, at, (id, &all_below), acting));
    for below in all_below {
        if let Some(part) = state.tasks.get(&below).filter(|t| !t.is_ended()) {
            events.extend(stop_worker(state, at, part, acting, &format!("{id} has ended")));
            events.extend(mark_origin(state, part));
            events.push(Event::TaskEnded {
                task: below,
                end: End::Cancelled,
                result: format!("{id}, of which it is a part, is {}", end.mark().as_str()),
                by: by.to_owned(),
            });
        }
    }
    events.extend(stop_worker(state, at, task, acting, &format!("{id} is {}", end.mark().as_str())));
    events.extend(mark_origin(state, task));
    events.push(Event::TaskEnded { task: id.clone(), end, result: result.to_owned(), by: by.to_owned() });
    events.extend(tell_requester(after.as_deref().unwrap_or(state), at, task, end, result, acting));
    events
}

/// What those who work on a task and its parts wait for, and a person made a part of something else: it ends with them, too,
/// because it was handed on for them, and that other task hears so.
fn moved_elsewhere(
    state: &State,
    at: Time,
    (id, below): (&TaskId, &[TaskId]),
    acting: Option<&SessionId>,
) -> Vec<Event> {
    let ended = below.iter().chain([id]).filter_map(|task| state.tasks.get(task)?.session());
    let workers = ended.filter(|worker| Some(*worker) != acting);
    workers
        .filter_map(|worker| state.sessions.get(worker))
        .flat_map(|worker| give_up_elsewhere(state, at, id, worker))
        .collect()
}

/// What the calls of a session wait for, beside what is a part of a task that ends.
fn give_up_elsewhere(state: &State, at: Time, id: &TaskId, worker: &Session) -> Vec<Event> {
    let is_elsewhere =
        |waited: &&TaskId| !inside::is_within(state, waited, id) && !inside::is_within(state, id, waited);
    let reason = format!("{} gave it up: {id} has ended", worker.agent);
    let waited = delegate::waited(state, worker).filter(is_elsewhere);
    waited.flat_map(|waited| abandon(state, at, waited, &reason)).collect()
}

/// What came of a task is as bad as what its worker has read: whoever reads the file is told, also without a journal.
fn mark_origin(state: &State, task: &Task) -> Option<Event> {
    let label = label_of_result(state, task);
    let is_new = label.counts() && task.spec.properties.get("label") != Some(&label.to_string());
    is_new.then(|| Event::TaskEdited {
        task: task.spec.id.clone(),
        change: Change::Label(label),
        in_file: false,
    })
}

pub(super) fn label_of_result(state: &State, task: &Task) -> Label {
    let worker = task.session().and_then(|id| state.sessions.get(id));
    worker.map_or_else(|| task.label.clone(), |session| task.label.clone().joined(&session.label))
}

fn stop_worker(state: &State, at: Time, task: &Task, acting: Option<&SessionId>, reason: &str) -> Vec<Event> {
    match task.session() {
        Some(session) if Some(session) != acting => stop_session(state, at, session, reason, false),
        _ => Vec::new(),
    }
}

/// All parts of a task and their parts, deepest first.
fn all_below(state: &State, id: &TaskId) -> Vec<TaskId> {
    let mut found: Vec<TaskId> = Vec::new();
    // Files may say that tasks are parts of each other in a circle.
    let mut seen: BTreeSet<TaskId> = BTreeSet::from([id.clone()]);
    let mut level = vec![id.clone()];
    for _ in 0..TASK_DEPTH_MAX {
        level = level
            .iter()
            .filter_map(|id| state.tasks.get(id))
            .flat_map(|t| t.children.iter().cloned())
            .collect();
        level.retain(|child| seen.insert(child.clone()));
        if level.is_empty() {
            break;
        }
        found.extend(level.iter().cloned());
    }
    found.reverse();
    found
}

/// The conversation that waits for a task: that of the task it is a part of, else the one that asked for it.
pub(super) fn asker_of<'a>(state: &'a State, task: &'a Task) -> Option<&'a SessionId> {
    let parent = task.spec.parent.as_ref().and_then(|p| state.tasks.get(p));
    match (parent.and_then(Task::session), &task.by) {
        (Some(session), _) | (None, Requester::Session { session }) => Some(session),
        (None, Requester::Person { .. } | Requester::Inbox { .. }) => None,
    }
}

/// Whoever asked hears of the end: when all parts have ended, or at once when one did not work out.
fn tell_requester(
    state: &State,
    at: Time,
    task: &Task,
    end: End,
    result: &str,
    acting: Option<&SessionId>,
) -> Vec<Event> {
    let answered = delegate::answer(state, at, task, end, result)
        .or_else(|| review::answer(state, at, task, end, result));
    let mut events = Vec::from_iter(answered);
    let parent = task.spec.parent.as_ref().and_then(|p| state.tasks.get(p));
    let Some(asker) = asker_of(state, task) else { return events };
    // A person may have made it a part of something else than that of whoever waits for the answer.
    let has_answer =
        events.iter().any(|event| matches!(event, Event::CallFinished { session, .. } if session == asker));
    let is_over = state.sessions.get(asker).is_none_or(|s| s.lifecycle == Lifecycle::Complete);
    if has_answer || is_over || Some(asker) == acting {
        return events;
    }
    let label = label_of_result(state, task);
    let ended = Task { stage: TaskStage::Ended { end }, result: result.to_owned(), label, ..task.clone() };
    let is_open = |id: &TaskId| *id != task.spec.id && is_part(state, asker, id);
    let open_siblings = parent.is_some_and(|p| state.open_children(p).any(is_open));
    let (text, label) = if open_siblings {
        match end {
            // The others go on, and the last of them brings all results.
            End::Done => return events,
            End::Failed | End::Cancelled => (brief::trouble(task, end, result), ended.label),
        }
    } else {
        let parts: Vec<&Task> = match parent {
            Some(parent) => {
                let is_sibling = |id: &&TaskId| **id == task.spec.id || is_part(state, asker, id);
                let siblings = parent.children.iter().filter(is_sibling);
                siblings
                    .filter_map(|id| state.tasks.get(id))
                    .map(|t| if t.spec.id == task.spec.id { &ended } else { t })
                    .collect()
            }
            None => vec![&ended],
        };
        (brief::parts(&parts), label_of(&parts))
    };
    let message = said(at, "synod", text, label);
    events.push(Event::MessageAdded { session: asker.clone(), message, asker: None, in_file: false });
    events
}

/// Whether `asker` is told of the end of a task with that of others: not if it is the result of one of its calls.
fn is_part(state: &State, asker: &SessionId, id: &TaskId) -> bool {
    let delegated = state.delegations.of_task(id).map(|delegation| &delegation.session);
    delegated.or_else(|| state.reviews.of_task(id).map(|review| &review.session)) != Some(asker)
}

/// A person makes `part` a part of something else. If the others have ended, none of them is left to bring their results.
pub(super) fn moved_away(state: &State, at: Time, part: &Task) -> Option<Event> {
    let id = &part.spec.id;
    let parent = part.spec.parent.as_ref().and_then(|parent| state.tasks.get(parent))?;
    let (asker, session) = parent.session().and_then(|asker| state.sessions.get_key_value(asker))?;
    if part.is_ended() || !is_part(state, asker, id) || session.lifecycle == Lifecycle::Complete {
        return None;
    }
    let others = parent.children.iter().filter(|other| *other != id && is_part(state, asker, other));
    let others: Vec<&Task> = others.filter_map(|other| state.tasks.get(other)).collect();
    if others.iter().any(|other| !other.is_ended()) {
        return None;
    }
    let message = said(at, "synod", brief::moved_away(part, &others), label_of(&others));
    Some(Event::MessageAdded { session: asker.clone(), message, asker: None, in_file: false })
}

fn label_of(parts: &[&Task]) -> Label {
    parts.iter().fold(Label::owner(), |label, task| label.joined(&task.label))
}

/// A parent that was found in its file, and waits although all its parts have ended: nobody knows whether it was told, so the
/// sweep on start tells it. In what took a turn since then, everything was told when it happened.
pub(super) fn missed_parents(state: &State, at: Time) -> Vec<Event> {
    let mut events = Vec::new();
    for task in state.tasks.values() {
        let Some((id, session)) = task.session().and_then(|s| state.sessions.get_key_value(s)) else {
            continue;
        };
        let was_found = session.turns_total == 0;
        let waits = was_found && session.lifecycle == Lifecycle::Waiting && session.rests();
        if waits && !task.children.is_empty() && state.open_children(task).next().is_none() {
            let parts: Vec<&Task> = task.children.iter().filter_map(|id| state.tasks.get(id)).collect();
            let message = said(at, "synod", brief::parts(&parts), label_of(&parts));
            events.push(Event::MessageAdded { session: id.clone(), message, asker: None, in_file: false });
        }
    }
    events
}

/// Ends a session: withdraws what it asked for, says of each open call what became of it.
pub(super) fn stop_session(
    state: &State,
    at: Time,
    id: &SessionId,
    reason: &str,
    failed: bool,
) -> Vec<Event> {
    let Some(session) = state.sessions.get(id) else { return Vec::new() };
    if session.lifecycle == Lifecycle::Complete {
        return Vec::new();
    }
    let mut events = drop_calls(session, at, id, reason);
    events.extend(moves(id, session, Lifecycle::Complete, failed, reason));
    events
}

/// Gives every open call of the current turn a result, and withdraws its approval.
fn drop_calls(session: &Session, at: Time, id: &SessionId, reason: &str) -> Vec<Event> {
    let mut events = Vec::new();
    let Stage::Acting { calls, .. } = &session.stage else { return events };
    for pending in calls.iter().filter(|p| p.step != Step::Finished) {
        let (finish, text) = match &pending.step {
            Step::Running { nature: crate::tool::Nature::Once, .. } => {
                let act = match &pending.call.want {
                    Want::Act(act) => Some(act),
                    Want::Invalid { .. } => None,
                };
                (Finish::Unknown, unknown_text(act))
            }
            Step::Asking { approval } => {
                events.push(Event::ApprovalEnded {
                    approval: approval.clone(),
                    outcome: Outcome::Withdrawn { reason: reason.to_owned() },
                });
                (Finish::Dropped, format!("not carried out: {reason}"))
            }
            Step::New
            | Step::Approved { .. }
            | Step::Running { .. }
            | Step::Delegated { .. }
            | Step::Reviewing { .. }
            | Step::Awaiting { .. }
            | Step::Locking { .. }
            | Step::Locked { .. }
            | Step::Finished => (Finish::Dropped, format!("not carried out: {reason}")),
        };
        let message = result(at, &pending.call.id, text);
        events.push(Event::CallFinished { session: id.clone(), finish, message, wrote: Vec::new() });
    }
    events
}

/// Withdraws the approvals of a session's current turn.
pub(super) fn withdraw(session: &Session, reason: &str) -> Vec<Event> {
    let Stage::Acting { calls, .. } = &session.stage else { return Vec::new() };
    calls
        .iter()
        .filter_map(|p| match &p.step {
            Step::Asking { approval } => Some(Event::ApprovalEnded {
                approval: approval.clone(),
                outcome: Outcome::Withdrawn { reason: reason.to_owned() },
            }),
            Step::New
            | Step::Approved { .. }
            | Step::Running { .. }
            | Step::Delegated { .. }
            | Step::Reviewing { .. }
            | Step::Awaiting { .. }
            | Step::Locking { .. }
            | Step::Locked { .. }
            | Step::Finished => None,
        })
        .collect()
}

/// A person took a task out of its file.
pub(super) fn gone(state: &State, at: Time, id: &TaskId) -> Result<Vec<Event>, Refused> {
    if !state.tasks.contains_key(id) {
        return Err(Refused::NoTask(id.clone()));
    }
    Ok(end(state, at, id, End::Cancelled, "it was taken out of its file", "person"))
}

/// A person decided; the first decision counts.
pub(super) fn answered(
    state: &State,
    at: Time,
    id: &ApprovalId,
    answer: &Answer,
    by: &str,
    via: &str,
) -> Result<Vec<Event>, Refused> {
    let Some(request) = state.approvals.get(id) else {
        return Err(match state.decided.get(id) {
            Some(outcome) => Refused::ApprovalClosed { approval: id.clone(), outcome: outcome.clone() },
            None => Refused::NoApproval(id.clone()),
        });
    };
    let outcome = Outcome::Answered { answer: answer.clone(), by: by.to_owned(), via: via.to_owned() };
    let mut events = vec![Event::ApprovalEnded { approval: id.clone(), outcome }];
    if let Some(follows) = question::answered(request, answer) {
        events.extend(follows);
        return Ok(events);
    }
    if let Answer::Rejected { reason } = answer {
        let why = if reason.is_empty() { "no reason was given".to_owned() } else { reason.clone() };
        let text = format!("rejected by {by}: {why}");
        let message = result(at, &request.call, text);
        let finish = Finish::Refused { rule: format!("{id} was rejected") };
        events.push(Event::CallFinished {
            session: request.session.clone(),
            finish,
            message,
            wrote: Vec::new(),
        });
    }
    Ok(events)
}

/// An approval that nobody answered in time.
pub(super) fn expired(state: &State, at: Time, id: &ApprovalId) -> Vec<Event> {
    let Some(request) = state.approvals.get(id) else { return Vec::new() };
    let mut events = vec![Event::ApprovalEnded { approval: id.clone(), outcome: Outcome::Expired }];
    let settings = &state.settings.approvals;
    if settings.on_expiry == OnExpiry::Escalate && request.escalates.is_none() {
        let mut again = request.clone();
        again.id = ApprovalId::new(format!("approval-{:04}", state.next_approval));
        again
            .factors
            .insert(0, format!("nobody answered {id} in time; if nobody answers this one, it is not done"));
        again.escalates = Some(id.clone());
        again.created = at;
        again.expires = settings.expire_ms.map(|ms| at.plus_ms(ms));
        events.push(Event::CallAsked { request: Box::new(again) });
        return events;
    }
    if state.sessions.contains_key(&request.session) {
        let text = format!("not carried out: {id} was not answered in time (approvals.expire_after)");
        let message = result(at, &request.call, text);
        let finish = Finish::Refused { rule: "approvals.expire_after".to_owned() };
        events.push(Event::CallFinished {
            session: request.session.clone(),
            finish,
            message,
            wrote: Vec::new(),
        });
    }
    events
}
