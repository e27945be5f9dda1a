//! Going on: after a stop, after a crash, from the files alone, and when time is up.

use crate::approval::Request;
use crate::decide::messages;
use crate::decide::moves;
use crate::decide::turn::{result, settle, unique_ids, unknown_text};
use crate::decide::{budget, delegate, finish, inside, intake, locks, spawn, ties};
use crate::event::{Event, Finish, Found, Tail};
use crate::gate::{self, Asker, Verdict};
use crate::id::{AgentId, SessionId, Time};
use crate::label::Label;
use crate::lifecycle::Lifecycle;
use crate::refused::Refused;
use crate::session::{Head, Status};
use crate::state::{Deadline, Pending, Session, Stage, State, Step};
use crate::tool::{Act, Call, Nature, Seen, Want};

/// A process begins to work: what was under way is taken up, or reported as unknown.
pub(super) fn started(state: &State, at: Time) -> Vec<Event> {
    let mut events = vec![Event::Started];
    let (crashed, given_up) = delegate::crashed(state, at);
    events.extend(crashed);
    let mut after: Option<State> = None;
    for (id, session) in state.sessions_in_flight() {
        // It was stopped with what it was delegated.
        if session.task.as_ref().is_some_and(|task| inside::is_within_one(state, task, &given_up)) {
            continue;
        }
        match &session.stage {
            // By the budgets of now, one after the other: a person may have lowered one meanwhile, and a new window is
            // for all of them together.
            Stage::Thinking { .. } => {
                let after = after.get_or_insert_with(|| {
                    let mut after = state.clone();
                    events.iter().for_each(|event| after.apply(at, event));
                    after
                });
                // It may have ended with what was given up.
                if !after.sessions.get(id).is_some_and(|now| matches!(now.stage, Stage::Thinking { .. })) {
                    continue;
                }
                let more = budget::retry(after, at, id, "the answer had not come when Synod stopped");
                more.iter().for_each(|event| after.apply(at, event));
                events.extend(more);
            }
            Stage::Acting { calls, .. } => events.extend(take_up(at, id, session, calls)),
            Stage::Resting | Stage::Retrying { .. } | Stage::Concluding { .. } | Stage::Over => {}
        }
    }
    events.extend(intake::left_behind(state, &given_up));
    events.extend(finish::missed_parents(state, at));
    events.extend(delegate::missed(state, at));
    events.extend(ties::at_a_loss(state, at));
    events.extend(state.cleaning.keys().map(|agent| Event::CleaningResumed { agent: agent.clone() }));
    events
}

/// Numbers that were given before the journal began.
pub(super) fn ids(state: &State, delegations: u32, reviews: u32) -> Vec<Event> {
    if delegations <= state.delegations.found && reviews <= state.reviews.found {
        return Vec::new();
    }
    vec![Event::IdsFound { delegations, reviews }]
}

/// Calls that may be repeated are; of the others nobody knows. If only people are left to wait for, it is blocked.
fn take_up(at: Time, id: &SessionId, session: &Session, calls: &[Pending]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut steps = Vec::new();
    for pending in calls {
        steps.push(pending.step.clone());
        let Step::Running { nature, .. } = pending.step else { continue };
        let call = pending.call.id.clone();
        match nature {
            Nature::Read | Nature::Idempotent => {
                events.push(Event::CallRetried { session: id.clone(), call })
            }
            Nature::Once => {
                let act = match &pending.call.want {
                    Want::Act(act) => Some(act),
                    Want::Invalid { .. } => None,
                };
                let message = result(at, &call, unknown_text(act));
                steps.pop();
                events.push(Event::CallFinished {
                    session: id.clone(),
                    finish: Finish::Unknown,
                    message,
                    wrote: Vec::new(),
                });
            }
        }
    }
    settle(events, id, session, steps.iter(), None)
}

/// The first thing that is due. Given until nothing is, so what leads to nothing is dropped: it would keep all that is due
/// later from happening.
pub(super) fn ticked(state: &State, at: Time) -> Vec<Event> {
    let Some((due, what)) = state.deadlines.first().filter(|(due, _)| *due <= at) else { return Vec::new() };
    let events = is_due(state, at, what);
    if events.is_empty() {
        return vec![Event::DeadlineDropped { due: *due, what: what.clone() }];
    }
    events
}

fn is_due(state: &State, at: Time, what: &Deadline) -> Vec<Event> {
    let session = |id: &SessionId| state.sessions.get(id);
    match what {
        Deadline::Work(id) => match state.sessions.get_key_value(id) {
            Some((id, session)) => {
                let agent = state.agents.get(&session.agent);
                let most = agent.map_or(0, |a| state.delegations.work_ms_max(session.task.as_ref(), a));
                finish::fail(
                    state,
                    at,
                    id,
                    session,
                    &format!("task_timeout_ms: it worked longer than {most} ms"),
                )
            }
            None => Vec::new(),
        },
        Deadline::Retry(id) => match session(id).map(|session| &session.stage) {
            Some(Stage::Retrying { .. }) => budget::retry(state, at, id, "the time to wait is over"),
            Some(_) | None => Vec::new(),
        },
        Deadline::Approval(id) => finish::expired(state, at, id),
        Deadline::Delegation(id) => delegate::too_late(state, at, id),
        Deadline::Answer(id, call) => messages::time_out(state, at, id, call),
        Deadline::Lock(id, call) => locks::time_out(state, at, id, call),
        Deadline::Lease(name) => locks::lapsed(state, at, name),
        Deadline::Window(id) => match session(id).and_then(|session| session.parked.as_ref()) {
            Some(_) => vec![Event::Resumed { session: id.clone() }],
            None => Vec::new(),
        },
        Deadline::Queue(id) => intake::waited_too_long(state, at, id),
        Deadline::Begin(id) => {
            match state.tasks.get(id).and_then(|task| task.place()).and_then(|place| place.parked.as_ref()) {
                Some(_) => vec![Event::TaskResumed { task: id.clone() }],
                None => Vec::new(),
            }
        }
    }
}

/// A session file that the journal does not know: the journal was deleted, or a person brought the file.
#[expect(clippy::too_many_arguments, reason = "the parts of one input")]
pub(super) fn session(
    state: &State,
    at: Time,
    head: &Head,
    status: Status,
    next_message: u32,
    tail: &Tail,
    label: &Label,
    approvals: &[Request],
) -> Vec<Event> {
    if state.sessions.contains_key(&head.session) || !state.agents.contains_key(&head.agent) {
        return Vec::new();
    }
    let mut tail = told_apart(tail);
    if let Tail::Calls { calls, .. } = &mut tail {
        for found in calls {
            found.call.seen = request_for(&found.call, approvals).and_then(|r| r.seen.clone());
        }
    }
    let tail = &tail;
    let lifecycle = match (status, tail) {
        (Status::Completed | Status::Error, _) => Lifecycle::Complete,
        (Status::Sleeping, Tail::Answered | Tail::Unanswered) | (Status::Active, Tail::Answered) => {
            Lifecycle::Waiting
        }
        (Status::Active, Tail::Unanswered) => Lifecycle::Idle,
        // Nothing is under way any more: what happens next is the gate's to say.
        (Status::Active | Status::Sleeping, Tail::Calls { .. }) => Lifecycle::Blocked,
    };
    let mut events = vec![Event::SessionAdopted {
        head: Box::new(head.clone()),
        lifecycle,
        failed: status == Status::Error,
        next_message,
        tail: tail.clone(),
        label: label.clone(),
    }];
    if lifecycle != Lifecycle::Complete {
        events.extend(resume(state, at, &head.session, &head.agent, tail, approvals));
    }
    events
}

/// The tail with an id of its own for each call.
fn told_apart(tail: &Tail) -> Tail {
    let mut tail = tail.clone();
    if let Tail::Calls { calls, .. } = &mut tail {
        unique_ids(calls.iter_mut().map(|found| &mut found.call));
    }
    tail
}

/// The approval that was asked for exactly this call. One for other words is for nothing.
fn request_for<'a>(call: &Call, approvals: &'a [Request]) -> Option<&'a Request> {
    approvals.iter().find(|r| r.call == call.id && call.want == Want::Act(r.act.clone()))
}

/// What becomes of calls that were found in a file: those that may have run, and must not run twice, are unknown.
fn resume(
    state: &State,
    at: Time,
    id: &SessionId,
    agent: &AgentId,
    tail: &Tail,
    approvals: &[Request],
) -> Vec<Event> {
    let mut events = Vec::new();
    let Tail::Calls { calls, .. } = tail else { return events };
    for found in calls {
        let call = &found.call;
        let act = match &call.want {
            Want::Act(act) => Some(act),
            Want::Invalid { .. } => None,
        };
        let mut finish = |finish: Finish, text: String| {
            let message = result(at, &call.id, text);
            events.push(Event::CallFinished { session: id.clone(), finish, message, wrote: Vec::new() });
        };
        let ruling = act.map(|act| judge(state, agent, act, call.seen.as_ref()));
        match found.found {
            Found::Finished => {}
            Found::Pending => {
                if let Some(request) = request_for(call, approvals) {
                    events.push(Event::CallAsked { request: Box::new(request.clone()) });
                }
            }
            Found::Rejected => {
                finish(Finish::Refused { rule: "rejected".to_owned() }, "rejected by a person".to_owned());
            }
            // It was let through, and may have run. Only what changes nothing is simply done again.
            Found::Approved if ruling.as_ref().is_some_and(|r| r.nature == Nature::Read) => {}
            Found::Approved => finish(Finish::Unknown, unknown_text(act)),
            // Sent, for all that is known; what comes of it arrives as a message.
            Found::Nothing if act.is_some_and(messages::is_awaited) => {
                finish(Finish::Unknown, unknown_text(act))
            }
            Found::Nothing => {
                let allowed_once =
                    ruling.is_some_and(|r| r.verdict == Verdict::Allow && r.nature == Nature::Once);
                if allowed_once {
                    finish(Finish::Unknown, unknown_text(act));
                }
            }
        }
    }
    events
}

fn judge(state: &State, agent: &AgentId, act: &Act, seen: Option<&Seen>) -> gate::Ruling {
    let spec = state.agents.get(agent).map(|a| a.spec.clone());
    let spec = spec.unwrap_or_else(|| crate::agent::Spec::new(agent.clone(), "", ""));
    let role = state.role(&spec.role);
    let asker = Asker { spec: &spec, role, approval_required: false, label: &Label::owner(), above: &[] };
    gate::judge(&asker, &state.policy, act, seen)
}

/// A person cut messages off a session: what was under way no longer counts.
pub(super) fn cut(
    state: &State,
    at: Time,
    id: &SessionId,
    next_message: u32,
    tail: &Tail,
) -> Result<Vec<Event>, Refused> {
    let session = state.sessions.get(id).ok_or_else(|| Refused::NoSession(id.clone()))?;
    let tail = &told_apart(tail);
    let reason = "a person cut the session";
    let mut events = finish::withdraw(session, reason);
    // What it waited for is given up; the cut leaves none of its calls, but others may wait for what ends so.
    let given_up = delegate::give_up(state, at, session, reason);
    let told = finish::tell_left_behind(state, at, given_up, Some(id));
    events.extend(
        told.into_iter().filter(|e| !matches!(e, Event::CallFinished { session, .. } if session == id)),
    );
    // Nothing is left that it would answer: who asked hears so, and asks again if it matters.
    if *tail == Tail::Answered && session.lifecycle != Lifecycle::Complete {
        let text = format!("{} cannot answer: {reason}", session.agent);
        events.extend(finish::tell_askers(
            state,
            at,
            (id, session),
            &finish::nobody,
            (&Finish::Failed, &text),
        ));
        events = spawn::once(events);
    }
    match session.lifecycle {
        Lifecycle::Complete if *tail == Tail::Answered => {}
        Lifecycle::Complete => events.push(Event::SessionReopened { session: id.clone() }),
        Lifecycle::Idle => {}
        Lifecycle::Working | Lifecycle::Blocked | Lifecycle::Waiting => {
            events.extend(moves(id, session, Lifecycle::Waiting, false, reason));
        }
    }
    events.push(Event::SessionCut { session: id.clone(), next_message, tail: tail.clone() });
    // The approvals of the turn were withdrawn above: what still needs one is asked for again.
    events.extend(resume(state, at, id, &session.agent, tail, &[]));
    Ok(events)
}
