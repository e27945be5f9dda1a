//! Deciding: an input and the state give events. Nothing here changes anything.
//!
//! One input makes only the events that follow from it directly. What follows from those is decided by
//! `Input::Proceed`, which takes one step at a time until there is none left, so that each step sees the
//! state that the step before made.

mod budget;
mod cancel;
mod config;
mod delegate;
mod finish;
mod inside;
mod intake;
mod locks;
mod messages;
mod plan;
mod question;
mod recover;
mod review;
mod spawn;
mod ties;
mod turn;

use std::collections::BTreeMap;

use crate::event::Event;
use crate::id::{AgentId, MessageId, SessionId, Time};
use crate::input::Input;
use crate::label::{Label, Readers};
use crate::lifecycle::Lifecycle;
use crate::refused::Refused;
use crate::session::{Message, Speaker};
use crate::state::{Session, State, Work};

/// What follows from `input` at the time `at`.
pub fn decide(state: &State, at: Time, input: &Input) -> Result<Vec<Event>, Refused> {
    let input = crate::redact::input(input);
    let mut events = follow(state, at, &input)?;
    withhold(state, &mut events);
    number_messages(state, &mut events);
    Ok(events)
}

/// Words that an agent may not see do not reach it, whichever way they were to come: as a message, or as the result of
/// a call that waits for them. Done here and nowhere else, because there are many ways.
fn withhold(state: &State, events: &mut [Event]) {
    let mut opened: Vec<(SessionId, AgentId)> = Vec::new();
    for event in events {
        match event {
            Event::SessionOpened { head } => opened.push((head.session.clone(), head.agent.clone())),
            Event::MessageAdded { session, message, .. } | Event::CallFinished { session, message, .. }
                if message.label.readers != Readers::Home =>
            {
                let new = opened.iter().find(|(id, _)| id == session).map(|(_, agent)| agent);
                let agent = new.or_else(|| state.sessions.get(session).map(|s| &s.agent));
                if agent.is_some_and(|agent| !message.label.readers.include(agent)) {
                    message.content =
                        format!("withheld: these words are for others to see ({})", message.label);
                    if let Some(envelope) = &mut message.envelope {
                        envelope.issues.clear();
                    }
                    message.label = Label::team();
                }
            }
            _ => {}
        }
    }
}

/// Gives each message its place in its session. Done here and nowhere else, because one decision may say
/// several things in one session.
fn number_messages(state: &State, events: &mut [Event]) {
    let mut next: BTreeMap<SessionId, u32> = BTreeMap::new();
    for event in events {
        match event {
            Event::SessionAdopted { head, next_message, .. } => {
                _ = next.insert(head.session.clone(), *next_message)
            }
            Event::SessionCut { session, next_message, .. } => {
                let given = state.sessions.get(session).map_or(0, Session::next_number);
                _ = next.insert(session.clone(), given.max(*next_message))
            }
            Event::MessageAdded { session, message, .. }
            | Event::Replied { session, message, .. }
            | Event::EvidenceDemanded { session, message }
            | Event::Summarised { session, message, .. }
            | Event::CallFinished { session, message, .. } => {
                let known = || state.sessions.get(session).map_or(1, Session::next_number);
                let number = next.entry(session.clone()).or_insert_with(known);
                message.id = MessageId::new(format!("m-{number:04}"));
                *number = number.saturating_add(1);
            }
            _ => {}
        }
    }
}

fn follow(state: &State, at: Time, input: &Input) -> Result<Vec<Event>, Refused> {
    match input {
        Input::Started => Ok(recover::started(state, at)),
        Input::Proceed => Ok(proceed(state, at)),
        Input::Ticked => Ok(recover::ticked(state, at)),
        Input::SettingsRead(settings) => Ok(config::settings(state, at, settings)),
        Input::PolicyRead(policy) => Ok(config::policy(state, policy)),
        Input::AgentRead(spec) => Ok(config::agent(state, at, spec)),
        Input::AgentGone(agent) => config::agent_gone(state, at, agent),
        Input::LineRead { source, line, from, channel, text } => {
            Ok(intake::line(state, source, *line, from, channel.as_deref(), text))
        }
        Input::TaskRead { spec, mark, result } => intake::task_read(state, at, spec, *mark, result),
        Input::TaskMarked { task, mark, why, by } => intake::task_marked(state, at, task, *mark, why, by),
        Input::TaskGone { task } => finish::gone(state, at, task),
        Input::CancelWanted { what, by } => cancel::wanted(state, at, what, by),
        Input::CancelRunWanted { run, by } => cancel::run_wanted(state, at, run, by),
        Input::SpawnWanted { order, by } => spawn::wanted(state, at, order, by),
        Input::TerminateWanted { agent, reason, by } => spawn::end_wanted(state, at, agent, reason, by),
        Input::LockFreed { name, by } => locks::free(state, at, name, by),
        Input::CleanedUp { agent, kept } => Ok(spawn::cleaned_up(state, at, agent, kept)),
        Input::TaskWanted { spec, by } => intake::task_wanted(state, spec, by),
        Input::ApprovalsFound { highest } => match highest.saturating_add(1) {
            next if next > state.next_approval => Ok(vec![Event::ApprovalsFound { next }]),
            _ => Ok(Vec::new()),
        },
        Input::IdsFound { delegations, reviews } => Ok(recover::ids(state, *delegations, *reviews)),
        Input::QuestionFound { approval } => Ok(question::orphaned(state, approval)),
        Input::SessionRead { head, status, next_message, tail, label, approvals } => {
            Ok(recover::session(state, at, head, *status, *next_message, tail, label, approvals))
        }
        Input::TiesFound { ties } => Ok(ties::found(state, at, ties)),
        Input::SessionCut { session, next_message, tail } => {
            recover::cut(state, at, session, *next_message, tail)
        }
        Input::MessageEdited { session, message } => match state.sessions.contains_key(session) {
            true => Ok(vec![Event::MessageEdited { session: session.clone(), message: message.clone() }]),
            false => Err(Refused::NoSession(session.clone())),
        },
        Input::MessageWritten { session, agent, text, urgency, by, in_file } => {
            let message = messages::of_person(at, text, *urgency, by);
            intake::message(state, at, session.as_ref(), agent, message, *in_file)
        }
        Input::Answered { approval, answer, by, via } => {
            finish::answered(state, at, approval, answer, by, via)
        }
        Input::Replied { session, ticket, text, calls, model, usage, read } => {
            turn::replied(state, at, session, *ticket, text, calls, (model, *usage), read)
        }
        Input::Summarised { session, ticket, through, text, model, usage } => {
            turn::summarised(state, at, session, *ticket, through, text, (model, *usage))
        }
        Input::Unsummarised { session, ticket } => budget::unsummarised(state, at, session, *ticket),
        Input::Outgrown { session, ticket, tokens_in } => {
            budget::outgrown(state, at, session, *ticket, *tokens_in)
        }
        Input::Spent { session, call, model, usage } => {
            turn::spent(state, session, call.as_ref(), model, *usage)
        }
        Input::FileTrusted { path, digest, by } => {
            Ok(vec![Event::FileTrusted { path: path.clone(), digest: digest.clone(), by: by.clone() }])
        }
        Input::LabelsFound { labels } => Ok(config::labels(state, labels)),
        Input::UsageFound { sums, raised } => Ok(config::usage(state, at, sums, raised)),
        Input::ModelFailed { session, ticket, reason, failure } => {
            turn::failed(state, at, session, *ticket, reason, *failure)
        }
        Input::ToolFinished { session, call, ticket, ok, text, read, wrote, finding } => {
            let outcome = turn::Finished { ok: *ok, text, read, wrote, finding: finding.as_deref() };
            turn::tool_finished(state, at, session, call, *ticket, &outcome)
        }
    }
}

/// Steps that are taken after one input; what is left then is taken with the next cycle, so that a batch that is
/// committed in one go has an end.
pub const STEPS_MAX: usize = 10_000;

/// Decides and applies `input` and all that follows from it, and gives every event with its place to `record`.
/// Says how many of them the input made itself; those come first. This is the whole of the domain's part in a cycle, for the
/// engine, tests and benchmarks alike.
pub fn play(
    state: &mut State,
    at: Time,
    input: &Input,
    proceed: bool,
    record: &mut dyn FnMut(&State, Event),
) -> Result<usize, Refused> {
    let mut events = decide(state, at, input)?;
    let own = events.len();
    for _ in 0..STEPS_MAX {
        for event in events.drain(..) {
            state.apply(at, &event);
            record(state, event);
        }
        if !proceed {
            for event in question::after_an_end(state, input) {
                state.apply(at, &event);
                record(state, event);
            }
            return Ok(own);
        }
        if state.is_settled() {
            return Ok(own);
        }
        events = decide(state, at, &Input::Proceed)?;
        debug_assert!(!events.is_empty(), "a state that is not settled has a next step");
        if events.is_empty() {
            return Ok(own);
        }
    }
    for event in events {
        state.apply(at, &event);
        record(state, event);
    }
    Ok(own)
}

/// The next step that needs nothing from outside: first what others wait for, then what is under way, then what can begin.
fn proceed(state: &State, at: Time) -> Vec<Event> {
    if let Some((name, waiter)) = state.locks.next() {
        return locks::hand_over(state, at, name, waiter);
    }
    if let Some(id) = state.agenda.first()
        && let Some(session) = state.sessions.get(id)
    {
        return turn::attend(state, at, id, session);
    }
    if !state.can_start() {
        return match state.next_to_look() {
            Some(Work::Session(id)) => vec![Event::Resumed { session: id.clone() }],
            Some(Work::Task(id)) => vec![Event::TaskResumed { task: id.clone() }],
            // Last, so that one question tells of all that was parked.
            None => question::settle(state, at),
        };
    }
    match state.next_work() {
        Some(Work::Session(id)) => turn::wake(state, at, id),
        Some(Work::Task(id)) => intake::start_task(state, at, id),
        None => Vec::new(),
    }
}

/// The moves that bring a session's agent to `to`.
fn moves(id: &SessionId, session: &Session, to: Lifecycle, failed: bool, reason: &str) -> Vec<Event> {
    moves_from(id, session, session.lifecycle, to, failed, reason)
}

fn moves_from(
    id: &SessionId,
    session: &Session,
    from: Lifecycle,
    to: Lifecycle,
    failed: bool,
    reason: &str,
) -> Vec<Event> {
    from.path(to)
        .into_iter()
        .map(|to| Event::Moved {
            session: id.clone(),
            task: session.task.clone(),
            to,
            failed: failed && to == Lifecycle::Complete,
            reason: reason.to_owned(),
        })
        .collect()
}

/// A message to an agent. Its id is given at the end of the decision.
fn said(at: Time, from: &str, content: String, label: Label) -> Message {
    Message {
        id: MessageId::new(""),
        at,
        speaker: Speaker::User,
        from: from.to_owned(),
        content,
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: None,
        envelope: None,
        label,
    }
}
