//! Going on: after a stop, after a crash, from the files alone, and when time is up.

use crate::kernel::draft::Draft;
use crate::kernel::event::{AgentEvent, ApprovalEvent, BudgetEvent, CallEvent, SessionEvent, SystemEvent};
use crate::kernel::event::{Finish, Found, Tail};
use crate::kernel::refused::Refused;
use crate::kernel::state::State;
use crate::rules::answer::last_words;
use crate::rules::deliver::{answer_missed_calls, tell_missed_parents};
use crate::rules::end::{fail, give_up, withdraw};
use crate::rules::gate;
use crate::rules::gate::{Asker, Verdict};
use crate::rules::intake;
use crate::rules::intake::take_left;
use crate::rules::moves::{move_to, settle};
use crate::rules::say::{act_of, result, unknown_text};
use crate::rules::ties::ask_at_a_loss;
use crate::rules::turn::unique_ids;
use crate::rules::{approve, budget, delegate, locks, outage, send};
use crate::topics::approval::Request;
use crate::topics::deadline::Deadline;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::lifecycle::Status;
use crate::topics::session::Head;
use crate::topics::session::{Pending, Stage, Step};
use crate::topics::tool::{Act, Call, Seen, Want};
use crate::words::id::{AgentId, SessionId};
use crate::words::label::Label;
use policy::Nature;

/// A process begins to work: what was under way is taken up, or reported as unknown.
pub(super) fn start(d: &mut Draft<'_>) {
    d.emit(SystemEvent::Started);
    delegate::take_up_crashed(d);
    let in_flight: Vec<SessionId> = d.sessions_in_flight().map(|(id, _)| id.clone()).collect();
    for id in in_flight {
        match d.sessions.get(&id).map(|session| &session.stage) {
            // By the budgets of now, one after the other: a person may have lowered one meanwhile, and a new window is
            // for all of them together.
            Some(Stage::Thinking { .. }) => {
                budget::retry(d, &id, "the answer had not come when Synod stopped");
            }
            Some(Stage::Acting { calls, .. }) => {
                let calls = calls.clone();
                take_up(d, &id, calls);
            }
            Some(Stage::Resting | Stage::Retrying { .. } | Stage::Concluding { .. } | Stage::Over) | None => {
            }
        }
    }
    // Whoever starts Synod again may have put right what was wrong.
    outage::try_now(d, None);
    take_left(d);
    tell_missed_parents(d);
    answer_missed_calls(d);
    ask_at_a_loss(d);
    let cleaning: Vec<AgentId> = d.team.cleaning.keys().cloned().collect();
    for agent in cleaning {
        d.emit(AgentEvent::CleaningResumed { agent });
    }
}

/// Numbers that were given before the journal began.
pub(super) fn find_ids(d: &mut Draft<'_>, delegations: u32, reviews: u32) {
    if delegations > d.delegations.found || reviews > d.reviews.found {
        d.emit(SystemEvent::IdsFound { delegations, reviews });
    }
}

/// Approval files were found with numbers up to this.
pub(super) fn find_approvals(d: &mut Draft<'_>, highest: u32) {
    let next = highest.saturating_add(1);
    if next > d.people.next_approval {
        d.emit(ApprovalEvent::Found { next });
    }
}

/// Calls that may be repeated are; of the others nobody knows. If only people are left to wait for, it is blocked.
fn take_up(d: &mut Draft<'_>, id: &SessionId, calls: Vec<Pending>) {
    for Pending { call, step } in calls {
        let nature = match step {
            Step::Running { nature, .. } => nature,
            Step::Looking { .. } => {
                d.emit(CallEvent::LookWanted { session: id.clone(), call: call.id.clone() });
                continue;
            }
            _ => continue,
        };
        match nature {
            Nature::Read | Nature::Idempotent => {
                d.emit(CallEvent::Retried { session: id.clone(), call: call.id.clone() });
            }
            Nature::Once => {
                let message = result(d.at, &call.id, unknown_text(&call.want));
                d.finish_call(id, Finish::Unknown, message);
            }
        }
    }
    settle(d, id);
}

/// Does the first thing that is due. Given until nothing is, so a deadline that leads to nothing is dropped: it would keep
/// all that is due later from happening.
pub(super) fn tick(d: &mut Draft<'_>) {
    let Some((due, what)) = d.schedule.deadlines.first().filter(|(due, _)| *due <= d.at).cloned() else {
        return;
    };
    let before = d.emitted();
    meet(d, &what);
    if d.emitted() == before {
        d.emit(SystemEvent::DeadlineDropped { due, what });
    }
}

fn meet(d: &mut Draft<'_>, what: &Deadline) {
    match what {
        Deadline::Work(id) => {
            let Some(session) = d.sessions.get(id) else { return };
            let agent = d.team.agents.get(&session.agent);
            let most = agent.map_or(0, |a| d.delegations.work_ms_max(session.task.as_ref(), a));
            fail(d, id, &format!("task_timeout_ms: it worked longer than {most} ms"));
        }
        Deadline::Retry(id) => {
            let stage = d.sessions.get(id).map(|session| &session.stage);
            if matches!(stage, Some(Stage::Retrying { .. })) {
                budget::retry(d, id, "the time to wait is over");
            }
        }
        Deadline::Approval(id) => approve::expired(d, id),
        Deadline::Delegation(id) => delegate::time_out(d, id),
        Deadline::Answer(id, call) => send::time_out(d, id, call),
        Deadline::Lock(id, call) => locks::time_out(d, id, call),
        Deadline::Lease(name) => locks::lapse(d, name),
        Deadline::Window(id) => {
            if d.sessions.get(id).is_some_and(|session| session.purse.parked.is_some()) {
                d.emit(BudgetEvent::Resumed { session: id.clone() });
            }
        }
        Deadline::Provider(name) => outage::due(d, name),
        Deadline::Queue(id) => intake::time_out(d, id),
        Deadline::Begin(id) => {
            let place = d.work.tasks.get(id).and_then(|task| task.place());
            if place.is_some_and(|place| place.parked.is_some()) {
                d.emit(BudgetEvent::TaskResumed { task: id.clone() });
            }
        }
    }
}

/// A session file as it was read.
pub(super) struct File<'a> {
    pub(super) head: &'a Head,
    pub(super) status: Status,
    pub(super) next_message: u32,
    pub(super) tail: &'a Tail,
    pub(super) label: &'a Label,
    pub(super) approvals: &'a [Request],
}

/// A session file that the journal does not know: the journal was deleted, or a person brought the file.
pub(super) fn adopt(d: &mut Draft<'_>, found: &File<'_>) {
    let File { head, status, next_message, tail, label, approvals } = found;
    if d.sessions.contains_key(&head.session) || !d.team.agents.contains_key(&head.agent) {
        return;
    }
    let mut tail = told_apart(tail);
    if let Tail::Calls { calls, .. } = &mut tail {
        for found in calls {
            found.call.seen = request_for(&found.call, approvals).and_then(|r| r.seen.clone());
        }
    }
    let lifecycle = match (status, &tail) {
        (Status::Completed | Status::Error, _) => Lifecycle::Complete,
        (Status::Sleeping, Tail::Answered | Tail::Unanswered) | (Status::Active, Tail::Answered) => {
            Lifecycle::Waiting
        }
        (Status::Active, Tail::Unanswered) => Lifecycle::Idle,
        // Nothing is under way any more: what happens next is the gate's to say.
        (Status::Active | Status::Sleeping, Tail::Calls { .. }) => Lifecycle::Blocked,
    };
    d.emit(SessionEvent::Adopted {
        head: Box::new((*head).clone()),
        lifecycle,
        failed: *status == Status::Error,
        next_message: *next_message,
        tail: tail.clone(),
        label: (*label).clone(),
    });
    if lifecycle != Lifecycle::Complete {
        resume(d, &head.session, &head.agent, &tail, approvals);
    }
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
fn resume(d: &mut Draft<'_>, id: &SessionId, agent: &AgentId, tail: &Tail, approvals: &[Request]) {
    let Tail::Calls { calls, .. } = tail else { return };
    let mut is_held_back = false;
    for found in calls {
        let call = &found.call;
        let act = act_of(&call.want);
        let ruling = act.map(|act| judge(d, agent, act, call.seen.as_ref()));
        let nature = ruling.as_ref().map(|ruling| ruling.nature);
        let unknown = (Finish::Unknown, unknown_text(&call.want));
        let (finish, text) = match found.found {
            Found::Finished => continue,
            Found::Pending => {
                if let Some(request) = request_for(call, approvals) {
                    d.emit(ApprovalEvent::Asked { request: Box::new(request.clone()) });
                    is_held_back = true;
                }
                continue;
            }
            Found::Rejected => {
                (Finish::Refused { rule: "rejected".to_owned() }, "rejected by a person".to_owned())
            }
            // It was let through, and may have run. Only a call that changes nothing is simply done again.
            Found::Approved if nature == Some(Nature::Read) => continue,
            Found::Approved => unknown,
            // A call before it waits for a person, so it has not begun.
            Found::Nothing if is_held_back => continue,
            // Sent, for all that is known; an answer arrives as a message.
            Found::Nothing if act.is_some_and(send::is_awaited) => unknown,
            Found::Nothing => match ruling {
                Some(ruling) if ruling.verdict == Verdict::Allow && nature == Some(Nature::Once) => unknown,
                Some(_) | None => continue,
            },
        };
        let message = result(d.at, &call.id, text);
        d.finish_call(id, finish, message);
    }
}

fn judge(state: &State, agent: &AgentId, act: &Act, seen: Option<&Seen>) -> gate::Ruling {
    let spec = state.team.agents.get(agent).map(|a| a.spec.clone());
    let spec = spec.unwrap_or_else(|| crate::topics::agent::Spec::new(agent.clone(), "", ""));
    let role = state.role(&spec.role);
    let label = Label::owner();
    gate::judge(&Asker::at_rest(&spec, role, &label), &state.config.policy, act, seen)
}

/// A person cut messages off a session: what was under way no longer counts.
pub(super) fn cut(d: &mut Draft<'_>, id: &SessionId, next_message: u32, tail: &Tail) -> Result<(), Refused> {
    let session = d.sessions.get(id).ok_or_else(|| Refused::NoSession(id.clone()))?;
    let (agent, lifecycle, askers) = (session.agent.clone(), session.lifecycle, session.ties.askers.clone());
    let tail = &told_apart(tail);
    let reason = "a person cut the session";
    withdraw(d, id, reason);
    // What it waited for is given up; the cut leaves none of its calls, but others may wait for what ends so.
    give_up(d, id, reason);
    // Nothing is left that it would answer: its askers hear so, and ask again if it matters.
    if *tail == Tail::Answered && lifecycle != Lifecycle::Complete {
        let text = format!("{agent} cannot answer: {reason}");
        for asker in askers {
            last_words(d, id, &asker, (false, &[]), (&Finish::Failed, &text));
        }
    }
    match lifecycle {
        Lifecycle::Complete if *tail == Tail::Answered => {}
        Lifecycle::Complete => d.emit(SessionEvent::Reopened { session: id.clone() }),
        Lifecycle::Idle => {}
        Lifecycle::Working | Lifecycle::Blocked | Lifecycle::Waiting => {
            move_to(d, id, Lifecycle::Waiting, reason);
        }
    }
    d.emit(SessionEvent::Cut { session: id.clone(), next_message, tail: tail.clone() });
    // The approvals of the turn were withdrawn above: what still needs one is asked for again.
    resume(d, id, &agent, tail, &[]);
    Ok(())
}
