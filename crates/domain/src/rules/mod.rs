//! The rules: what follows from an input. Each works on a draft and emits events; a rule calls another in one direction
//! only.
//!
//! One input makes only the events that follow from it directly. What follows from those is decided by `proceed`, one
//! step at a time until there is none left.

mod answer;
mod approve;
mod brief;
mod budget;
mod call;
mod cancel;
pub mod choices;
mod conclude;
mod config;
mod delegate;
mod deliver;
mod end;
mod finish;
pub mod gate;
mod intake;
mod locks;
mod look_up;
pub mod may_delegate;
mod may_plan;
mod may_spawn;
mod moves;
mod next;
pub mod offer;
mod outage;
mod plan;
mod question;
mod recover;
mod retry;
mod review;
pub mod route;
mod say;
mod send;
mod spawn;
mod talk;
mod tasks;
mod ties;
mod tree;
mod turn;

use crate::kernel::draft::Draft;
use crate::kernel::event::Event;
use crate::kernel::event::{BudgetEvent, SessionEvent, TrustEvent};
use crate::kernel::input::Input;
use crate::kernel::input::{FileInput, ModelInput, PersonInput, ToolInput};
use crate::kernel::refused::Refused;
use crate::kernel::state::State;
use crate::topics::task::queue::Work;
use crate::words::id::Time;

/// Emits what follows directly from an input, or refuses it and emits nothing.
fn decide(d: &mut Draft<'_>, input: &Input) -> Result<(), Refused> {
    match input {
        Input::Started => recover::start(d),
        Input::Proceed => proceed(d),
        Input::Ticked => recover::tick(d),
        Input::File(input) => return read_file(d, input),
        Input::Person(input) => return obey(d, input),
        Input::Model(input) => return take_from_model(d, input),
        Input::Tool(input) => return take_from_tool(d, input),
    }
    Ok(())
}

fn read_file(d: &mut Draft<'_>, input: &FileInput) -> Result<(), Refused> {
    match input {
        FileInput::SettingsRead(settings) => config::read_settings(d, settings),
        FileInput::PolicyRead(policy) => config::read_policy(d, policy),
        FileInput::AgentRead(spec) => config::read_agent(d, spec),
        FileInput::AgentGone(agent) => return config::lose_agent(d, agent),
        FileInput::LineRead { source, line, from, channel, text } => {
            intake::read_line(d, source, *line, from, channel.as_deref(), text);
        }
        FileInput::TaskRead { spec, mark, result } => intake::read_task(d, spec, *mark, result),
        FileInput::TaskMarked { task, mark, why, by } => return intake::mark_task(d, task, *mark, why, by),
        FileInput::TaskGone { task } => return intake::lose_task(d, task),
        FileInput::ApprovalsFound { highest } => recover::find_approvals(d, *highest),
        FileInput::IdsFound { delegations, reviews } => recover::find_ids(d, *delegations, *reviews),
        FileInput::QuestionFound { approval } => question::withdraw_orphan(d, approval),
        FileInput::SessionRead { head, status, next_message, tail, label, approvals } => {
            let (status, next_message) = (*status, *next_message);
            recover::adopt(d, &recover::File { head, status, next_message, tail, label, approvals });
        }
        FileInput::TiesFound { ties } => ties::take_over(d, ties),
        FileInput::SessionCut { session, next_message, tail } => {
            return recover::cut(d, session, *next_message, tail);
        }
        FileInput::MessageEdited { session, message } => match d.sessions.contains_key(session) {
            true => {
                d.emit(SessionEvent::MessageEdited { session: session.clone(), message: message.clone() })
            }
            false => return Err(Refused::NoSession(session.clone())),
        },
        FileInput::LabelsFound { labels } => config::find_labels(d, labels),
        FileInput::UsageFound { sums, raised } => config::find_usage(d, sums, raised),
    }
    Ok(())
}

fn obey(d: &mut Draft<'_>, input: &PersonInput) -> Result<(), Refused> {
    match input {
        PersonInput::Cancel { what, by } => return cancel::cancel(d, what, by),
        PersonInput::Retry { what, by } => return retry::retry(d, what, by),
        PersonInput::CancelRun { run, by } => return cancel::cancel_run(d, run, by),
        PersonInput::Spawn { order, by } => return spawn::spawn(d, order, by),
        PersonInput::Terminate { agent, reason, by } => return spawn::terminate(d, agent, reason, by),
        PersonInput::FreeLock { name, by } => return locks::free(d, name, by),
        PersonInput::AddTask { spec, by } => return intake::add_task(d, spec, by),
        PersonInput::Say { session, agent, text, urgency, by, in_file } => {
            let message = send::of_person(d.at, text, *urgency, by);
            return intake::hear_person(d, session.as_ref(), agent, message, *in_file);
        }
        PersonInput::Answer { approval, answer, by, via } => {
            return approve::answered(d, approval, answer, by, via);
        }
        PersonInput::TrustFile { path, digest, by } => {
            d.emit(TrustEvent::FileTrusted { path: path.clone(), digest: digest.clone(), by: by.clone() });
        }
    }
    Ok(())
}

fn take_from_model(d: &mut Draft<'_>, input: &ModelInput) -> Result<(), Refused> {
    match input {
        ModelInput::Replied { session, ticket, text, calls, model, usage, read } => {
            let reply = turn::Reply { text, calls, model, usage: *usage, read };
            turn::replied(d, session, *ticket, &reply)
        }
        ModelInput::Summarised { session, ticket, through, text, model, usage } => {
            turn::summarised(d, session, *ticket, (through, text), (model, *usage))
        }
        ModelInput::Unsummarised { session, ticket } => turn::unsummarised(d, session, *ticket),
        ModelInput::Outgrown { session, ticket, tokens_in } => {
            turn::outgrown(d, session, *ticket, *tokens_in)
        }
        ModelInput::Spent { session, call, model, usage } => {
            turn::spent(d, session, call.as_ref(), model, *usage)
        }
        ModelInput::Failed { session, ticket, reason, failure } => {
            turn::failed(d, session, *ticket, reason, *failure)
        }
    }
}

fn take_from_tool(d: &mut Draft<'_>, input: &ToolInput) -> Result<(), Refused> {
    match input {
        ToolInput::Found { server, tools } => config::find_tools(d, server, tools),
        ToolInput::CleanedUp { agent, kept } => spawn::cleaned_up(d, agent, kept),
        ToolInput::Looked { session, call, ticket, seen } => {
            return turn::looked(d, session, call, *ticket, seen.clone());
        }
        ToolInput::Finished { session, call, ticket, ok, text, read, wrote, finding } => {
            let outcome = turn::Finished { ok: *ok, text, read, wrote, finding: finding.as_deref() };
            return turn::tool_finished(d, session, call, *ticket, &outcome);
        }
    }
    Ok(())
}

/// Steps that are taken after one input; what is left then is taken with the next cycle, so that a batch that is
/// committed in one go has an end.
pub const STEPS_MAX: usize = 10_000;

/// Decides `input` and all that follows from it on `state`, and gives every event with its place to `record`. Says how many
/// of them the input made itself; those come first. This is the whole of the domain's part in a cycle, for the engine,
/// tests and benchmarks alike. A refusal changes nothing.
pub fn play(
    state: &mut State,
    at: Time,
    input: &Input,
    proceed_too: bool,
    record: &mut dyn FnMut(&State, Event),
) -> Result<usize, Refused> {
    let mut d = Draft::new(state, at, record);
    let decided = decide(&mut d, &crate::kernel::redacted::input(input));
    let own = d.emitted();
    if let Err(refused) = decided {
        debug_assert_eq!(own, 0, "a refusal comes before the first event");
        return Err(refused);
    }
    if !proceed_too {
        // Without hands nothing new begins, but whoever is owed news gets it.
        while deliver_next(&mut d) {}
        question::after_an_end(&mut d, input);
        return Ok(own);
    }
    for _ in 0..STEPS_MAX {
        if d.is_settled() {
            break;
        }
        let before = d.emitted();
        proceed(&mut d);
        debug_assert!(d.emitted() > before, "a state that is not settled has a next step");
        if d.emitted() == before {
            break;
        }
    }
    Ok(own)
}

/// Delivers to the next receiver of notices; whether there was one.
fn deliver_next(d: &mut Draft<'_>) -> bool {
    let next = d.notices.next();
    next.map(|(receiver, notices)| deliver::deliver(d, receiver, notices)).is_some()
}

/// The next step that needs nothing from outside: first what others wait for, then what is under way, then what can begin.
fn proceed(d: &mut Draft<'_>) {
    if deliver_next(d) {
        return;
    }
    if let Some((name, waiter)) = d.locks.next() {
        let (name, waiter) = (name.clone(), waiter.clone());
        return locks::hand_over(d, &name, &waiter);
    }
    if let Some(id) = d.schedule.agenda.first().cloned() {
        return turn::attend(d, &id);
    }
    if !d.can_start() {
        return match d.next_to_look().cloned() {
            Some(Work::Session(session)) => d.emit(BudgetEvent::Resumed { session }),
            Some(Work::Task(task)) => d.emit(BudgetEvent::TaskResumed { task }),
            // Last, so that one question tells of all that was parked.
            None => question::settle(d),
        };
    }
    match d.next_work().cloned() {
        Some(Work::Session(id)) => turn::wake(d, &id),
        Some(Work::Task(id)) => intake::start_task(d, &id),
        None => {}
    }
}
