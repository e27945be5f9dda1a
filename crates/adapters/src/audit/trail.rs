//! What of the events belongs into the log, and in which words. The same events give the same lines.

use std::collections::BTreeMap;

use domain::approval::{Answer, Outcome, Request};
use domain::budget::Cap;
use domain::delegation::{self, Delegation};
use domain::event::{
    AgentEvent, ApprovalEvent, BudgetEvent, CallEvent, DelegationEvent, LockEvent, OutageEvent, ReviewEvent,
    SessionEvent, SystemEvent, TaskEvent, TrustEvent, TurnEvent,
};
use domain::event::{Event, Finish, Found, FoundCall, Tail};
use domain::evidence::Evidence;
use domain::gate;
use domain::id::{AgentId, ApprovalId, CallId, DelegationId, LockName, ReviewId, SessionId, TaskId};
use domain::layout;
use domain::lock::Freed;
use domain::review::{Move, Review};
use domain::session::{Head, Message};
use domain::state::{Parked, Requester, Stage, State, Step};
use domain::task::Spec;
use domain::tool::{Act, Call, ContextPut, Permit, Want};
use domain::usage::Spent;
use formats::time::print;
use ports::printer::Recorded;
use serde::Serialize;

use super::line::{Kind, Line};
use super::tree::hash;
use crate::redact::{brief, redact};

/// So much of a call's arguments is shown.
const ARGS_BYTES_MAX: usize = 400;
/// So much of any other text.
const TEXT_BYTES_MAX: usize = 400;

/// What must be remembered of earlier events to tell of later ones.
#[derive(Debug, Default)]
pub struct Trail {
    tasks: BTreeMap<SessionId, TaskId>,
    calls: BTreeMap<SessionId, BTreeMap<CallId, Known>>,
    approvals: BTreeMap<ApprovalId, (SessionId, CallId)>,
}

/// A call that has no result yet.
#[derive(Debug, Clone)]
struct Known {
    action: String,
    act: String,
    args: String,
    step: Gone,
}

/// How far the gate is with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gone {
    /// The gate has not decided.
    New,
    /// It let the call through, or asked.
    Judged,
    /// A person was asked, and there was no yes.
    TurnedDown,
}

impl Known {
    fn of(call: &Call, step: Gone) -> Self {
        let (act, args) = match &call.want {
            Want::Act(act) => (act.digest(None, Permit::NONE), brief(&arguments(act), ARGS_BYTES_MAX)),
            Want::Invalid { .. } => (String::new(), brief(&call.arguments, ARGS_BYTES_MAX)),
        };
        Self { action: brief(call.want.tool(), TEXT_BYTES_MAX), act, args, step }
    }
}

impl Trail {
    /// What the state knows: calls under way, whom approvals are for, which session is about what.
    pub fn new(state: &State) -> Self {
        let mut trail = Self::default();
        for (id, session) in &state.sessions {
            if let Some(task) = &session.task {
                trail.tasks.insert(id.clone(), task.clone());
            }
            if let Stage::Acting { calls, .. } = &session.stage {
                let open = calls.iter().filter(|pending| !pending.step.is_finished()).map(|pending| {
                    let is_new = matches!(pending.step, Step::New | Step::Looking { .. } | Step::Looked);
                    let step = if is_new { Gone::New } else { Gone::Judged };
                    (pending.call.id.clone(), Known::of(&pending.call, step))
                });
                trail.calls.insert(id.clone(), open.collect());
            }
        }
        for (id, request) in &state.people.approvals {
            trail.approvals.insert(id.clone(), (request.session.clone(), request.call.clone()));
        }
        trail
    }

    /// The lines of one event, without number and hash.
    pub fn lines(&mut self, recorded: &Recorded) -> Vec<Line> {
        let new = |kind: Kind, outcome: &str| Line::new(kind, print(recorded.at), recorded.seq.0, outcome);
        let config = |action: &str, act: String| {
            let (action, by) = (action.to_owned(), "owner".to_owned());
            Line { action, act, by, ..new(Kind::Config, "changed") }
        };
        match &recorded.event {
            Event::System(SystemEvent::Started) => {
                vec![Line { by: "synod".to_owned(), ..new(Kind::Run, "started") }]
            }
            Event::System(SystemEvent::SettingsChanged { settings }) => {
                vec![config(layout::SETTINGS, digest(settings))]
            }
            Event::System(SystemEvent::PolicyChanged { policy }) => {
                vec![config(layout::COMMANDS, digest(policy))]
            }
            Event::System(SystemEvent::ToolsFound { server, tools }) => {
                let by = format!("tool:{server}");
                vec![Line { by, ..config(server, digest(tools)) }]
            }
            Event::Agent(_) => about_agent(config, &recorded.event).into_iter().collect(),
            Event::Task(TaskEvent::Added { spec, by: Requester::Session { session }, .. }) => {
                vec![self.delegation(new(Kind::Delegation, "given"), session, spec)]
            }
            Event::Session(SessionEvent::Opened { head }) => {
                self.opened(head);
                Vec::new()
            }
            Event::Session(SessionEvent::Adopted { head, tail, .. }) => {
                self.opened(head);
                self.found(&head.session, tail);
                Vec::new()
            }
            Event::Session(SessionEvent::Cut { session, tail, .. }) => {
                self.found(session, tail);
                Vec::new()
            }
            Event::Turn(TurnEvent::Replied { session, message, tokens_in, tokens_out, .. }) => {
                self.replied(session, message);
                vec![self.model(new(Kind::Model, "answered"), session, (*tokens_in, *tokens_out))]
            }
            Event::Turn(TurnEvent::Summarised { session, tokens_in, tokens_out, .. }) => {
                vec![self.model(new(Kind::Model, "summarised"), session, (*tokens_in, *tokens_out))]
            }
            Event::Turn(TurnEvent::EvidenceDemanded { session, message }) => {
                self.replied(session, message);
                Vec::new()
            }
            Event::Task(TaskEvent::Verified { task, evidence }) => vec![verified(&new, task, evidence)],
            Event::Turn(TurnEvent::Failed { session, reason, .. }) => {
                vec![self.unanswered(new(Kind::Model, "failed"), session, reason)]
            }
            Event::Outage(OutageEvent::Failed { session, error, .. }) => {
                vec![self.unanswered(new(Kind::Model, "failed"), session, error)]
            }
            Event::Call(CallEvent::Cleared { session, call, rule, .. }) => {
                vec![self.cleared(new(Kind::Gate, "allow"), session, call, rule)]
            }
            Event::Approval(ApprovalEvent::Asked { request }) => {
                vec![self.asked(new(Kind::Gate, "ask"), request)]
            }
            Event::Call(CallEvent::Retried { session, call }) => {
                vec![self.about(new(Kind::Call, "retried"), session, call)]
            }
            Event::Call(CallEvent::Finished { session, finish, message, .. }) => match &message.call {
                Some(call) => self.finished(&new, session, call, finish),
                None => Vec::new(),
            },
            Event::Approval(ApprovalEvent::Ended { approval, outcome }) => {
                self.ended(&new, approval, outcome)
            }
            Event::Trust(TrustEvent::FileTrusted { path, digest, by }) => {
                vec![trusted(new(Kind::Approval, "trusted"), path, digest, by)]
            }
            Event::Budget(BudgetEvent::Spent { session, tokens_in, tokens_out, .. }) => {
                vec![self.beside(new(Kind::Model, "answered"), session, (*tokens_in, *tokens_out))]
            }
            Event::Delegation(DelegationEvent::Made { delegation }) => {
                vec![self.delegated(new(Kind::Gate, "allow"), delegation)]
            }
            Event::Review(_) => self.review(&new, &recorded.event),
            Event::Budget(BudgetEvent::Parked { session, parked, .. }) => {
                vec![self.parked(&new, session, parked)]
            }
            Event::Lock(LockEvent::Freed { name, session, why }) => self.lock_taken(&new, session, name, why),
            Event::Budget(BudgetEvent::Raised { .. }) | Event::Budget(BudgetEvent::Found { .. }) => {
                about_budget(&new, &recorded.event)
            }
            Event::Budget(BudgetEvent::TaskParked { task, parked }) => vec![not_begun(&new, task, parked)],
            Event::Delegation(DelegationEvent::Crashed { delegation: id, reason, .. }) => {
                vec![crashed(new, id, reason)]
            }
            Event::System(_)
            | Event::Task(_)
            | Event::Notice(_)
            | Event::Session(_)
            | Event::Turn(_)
            | Event::Call(_)
            | Event::Approval(_)
            | Event::Lock(_)
            | Event::Budget(_)
            | Event::Outage(_)
            | Event::Trust(_) => Vec::new(),
        }
    }

    fn model(&self, line: Line, session: &SessionId, (tokens_in, tokens_out): (u64, u64)) -> Line {
        let note = format!("{tokens_in} tokens in, {tokens_out} out");
        Line { note, ..self.of(line, session) }
    }

    fn cleared(&mut self, line: Line, session: &SessionId, call: &CallId, rule: &str) -> Line {
        let line = self.about(line, session, call);
        self.step(session, call, Gone::Judged);
        Line { rule: brief(rule, TEXT_BYTES_MAX), by: "gate".to_owned(), ..line }
    }

    fn unanswered(&self, line: Line, session: &SessionId, reason: &str) -> Line {
        Line { note: brief(reason, TEXT_BYTES_MAX), ..self.of(line, session) }
    }

    fn beside(&self, line: Line, session: &SessionId, (tokens_in, tokens_out): (u64, u64)) -> Line {
        let note = format!("beside the conversation: {tokens_in} tokens in, {tokens_out} out");
        Line { note, ..self.of(line, session) }
    }

    fn parked(&self, new: &dyn Fn(Kind, &str) -> Line, session: &SessionId, parked: &Parked) -> Line {
        let (rule, note) = (brief(&parked.limit, TEXT_BYTES_MAX), brief(&parked.reason, TEXT_BYTES_MAX));
        Line { rule, note, ..self.of(new(Kind::Model, "parked"), session) }
    }

    /// Giving a lock back is a call like any other; taking it away is not.
    fn lock_taken(
        &self,
        new: &dyn Fn(Kind, &str) -> Line,
        session: &SessionId,
        name: &LockName,
        why: &Freed,
    ) -> Vec<Line> {
        let (outcome, by) = match why {
            Freed::Unlocked => return Vec::new(),
            Freed::Lapsed => ("lapsed", "synod".to_owned()),
            Freed::Person { by } => ("freed", brief(by, TEXT_BYTES_MAX)),
        };
        let args = brief(name.as_str(), ARGS_BYTES_MAX);
        vec![Line { action: "lock".to_owned(), args, by, ..self.of(new(Kind::Call, outcome), session) }]
    }

    fn delegation(&self, line: Line, session: &SessionId, spec: &Spec) -> Line {
        Line {
            task: spec.id.to_string(),
            action: "create_task".to_owned(),
            args: brief(&spec.title, ARGS_BYTES_MAX),
            to: spec.assignee.as_ref().map(ToString::to_string).unwrap_or_default(),
            ..self.of(line, session)
        }
    }

    fn delegated(&mut self, line: Line, delegation: &Delegation) -> Line {
        let line = self.about(line, &delegation.session, &delegation.call);
        self.step(&delegation.session, &delegation.call, Gone::Judged);
        let rule = by_tools(&line.action);
        let mut note = format!("{}: {}", delegation.id, delegation::shown(&delegation.chain));
        if !delegation.contexts.is_empty() {
            let contexts: Vec<String> = delegation.contexts.iter().map(ToString::to_string).collect();
            note.push_str(&format!(", with {}", contexts.join(", ")));
        }
        let (to, by) = (delegation.target.to_string(), "gate".to_owned());
        Line { rule, by, to, note, ..line }
    }

    fn review(&self, new: &dyn Fn(Kind, &str) -> Line, event: &Event) -> Vec<Line> {
        match event {
            Event::Review(ReviewEvent::Asked { review }) => {
                vec![self.review_asked(new(Kind::Review, "asked"), review)]
            }
            Event::Review(ReviewEvent::Moved { review, commit, to, by, session }) => {
                let line = self.of(new(Kind::Review, to.as_str()), session);
                vec![review_moved(line, review, commit, to, by)]
            }
            _ => Vec::new(),
        }
    }

    fn review_asked(&self, line: Line, review: &Review) -> Line {
        Line {
            action: domain::review::ASK.to_owned(),
            args: format!("{} round {}: {}", review.id, review.round, review.place.commit),
            to: review.reviewer.to_string(),
            note: brief(&review.title, TEXT_BYTES_MAX),
            ..self.of(line, &review.session)
        }
    }

    fn opened(&mut self, head: &Head) {
        if let Some(task) = &head.task {
            self.tasks.insert(head.session.clone(), task.clone());
        }
    }

    /// Calls that stand in a file without a result.
    fn found(&mut self, session: &SessionId, tail: &Tail) {
        self.calls.remove(session);
        let Tail::Calls { calls, .. } = tail else { return };
        let open = calls.iter().filter_map(|FoundCall { call, found }| {
            let step = match found {
                Found::Finished => return None,
                Found::Nothing => Gone::New,
                Found::Pending | Found::Approved => Gone::Judged,
                Found::Rejected => Gone::TurnedDown,
            };
            Some((call.id.clone(), Known::of(call, step)))
        });
        self.calls.insert(session.clone(), open.collect());
    }

    fn replied(&mut self, session: &SessionId, message: &Message) {
        let calls = message.calls.iter().map(|call| (call.id.clone(), Known::of(call, Gone::New)));
        self.calls.insert(session.clone(), calls.collect());
    }

    fn asked(&mut self, line: Line, request: &Request) -> Line {
        self.approvals.insert(request.id.clone(), (request.session.clone(), request.call.clone()));
        let mut line = self.about(line, &request.session, &request.call);
        self.step(&request.session, &request.call, Gone::Judged);
        if line.action.is_empty() {
            line.action = request.act.tool().to_owned();
            line.act = request.act.digest(None, Permit::NONE);
            line.args = brief(&arguments(&request.act), ARGS_BYTES_MAX);
        }
        let rule = request.factors.iter().find_map(|factor| factor.strip_prefix("rule: "));
        Line {
            agent: request.agent.to_string(),
            approval: request.id.to_string(),
            rule: brief(rule.unwrap_or_default(), TEXT_BYTES_MAX),
            by: "gate".to_owned(),
            // The digest binds more than the arguments: what the act depends on, and what it may do.
            note: format!("risk {}, digest {}", request.risk.as_str(), request.digest),
            ..line
        }
    }

    fn finished(
        &mut self,
        new: &impl Fn(Kind, &str) -> Line,
        session: &SessionId,
        call: &CallId,
        finish: &Finish,
    ) -> Vec<Line> {
        let line = |kind: Kind, outcome: &str| self.about(new(kind, outcome), session, call);
        let step = self.known(session, call).map_or(Gone::Judged, |known| known.step);
        let by = |line: Line, rule: &str| Line {
            rule: brief(rule, TEXT_BYTES_MAX),
            by: "gate".to_owned(),
            ..line
        };
        let lines = match finish {
            Finish::Refused { rule } if step == Gone::TurnedDown => {
                vec![Line { rule: brief(rule, TEXT_BYTES_MAX), ..line(Kind::Call, "refused") }]
            }
            Finish::Refused { rule } => vec![by(line(Kind::Gate, "deny"), rule)],
            Finish::Done | Finish::Failed => {
                let outcome = if *finish == Finish::Done { "done" } else { "failed" };
                let ended = line(Kind::Call, outcome);
                // Tasks and messages are carried out in the step that lets them through: one event tells both.
                match step {
                    Gone::New => {
                        let rule = by_tools(&ended.action);
                        vec![by(line(Kind::Gate, "allow"), &rule), ended]
                    }
                    Gone::Judged | Gone::TurnedDown => vec![ended],
                }
            }
            Finish::Unknown => vec![line(Kind::Call, "unknown")],
            Finish::Dropped => vec![line(Kind::Call, "dropped")],
        };
        if let Some(calls) = self.calls.get_mut(session) {
            calls.remove(call);
            if calls.is_empty() {
                self.calls.remove(session);
            }
        }
        lines
    }

    fn ended(
        &mut self,
        new: &impl Fn(Kind, &str) -> Line,
        approval: &ApprovalId,
        outcome: &Outcome,
    ) -> Vec<Line> {
        let whose = self.approvals.remove(approval);
        let (word, by, note) = match outcome {
            Outcome::Answered { answer: Answer::Approved, by, via } => ("approved", by.as_str(), via.clone()),
            Outcome::Answered { answer: Answer::Rejected { reason }, by, via } if reason.is_empty() => {
                ("rejected", by.as_str(), via.clone())
            }
            Outcome::Answered { answer: Answer::Rejected { reason }, by, via } => {
                ("rejected", by.as_str(), format!("{via}: {reason}"))
            }
            Outcome::Expired => ("expired", "synod", String::new()),
            Outcome::Withdrawn { reason } => ("withdrawn", "synod", reason.clone()),
        };
        let mut line = new(Kind::Approval, word);
        if let Some((session, call)) = &whose {
            line = self.about(line, session, call);
            if word != "approved" {
                self.step(session, call, Gone::TurnedDown);
            }
        }
        vec![Line {
            approval: approval.to_string(),
            by: brief(by, TEXT_BYTES_MAX),
            note: brief(&note, TEXT_BYTES_MAX),
            ..line
        }]
    }

    /// `line` with the conversation, its agent and its task.
    fn of(&self, line: Line, session: &SessionId) -> Line {
        let agent = session.as_str().rsplit_once('-').map_or("", |(agent, _)| agent);
        let task = if line.task.is_empty() { self.tasks.get(session).map(ToString::to_string) } else { None };
        Line {
            agent: agent.to_owned(),
            session: session.to_string(),
            task: task.unwrap_or(line.task),
            ..line
        }
    }

    /// `line` with all that is known of a call.
    fn about(&self, line: Line, session: &SessionId, call: &CallId) -> Line {
        let line = Line { call: redact(call.as_str()).into_owned(), ..self.of(line, session) };
        match self.known(session, call) {
            Some(known) => Line {
                action: known.action.clone(),
                act: known.act.clone(),
                args: known.args.clone(),
                ..line
            },
            None => line,
        }
    }

    fn known(&self, session: &SessionId, call: &CallId) -> Option<&Known> {
        self.calls.get(session)?.get(call)
    }

    fn step(&mut self, session: &SessionId, call: &CallId, step: Gone) {
        if let Some(known) = self.calls.get_mut(session).and_then(|calls| calls.get_mut(call)) {
            known.step = step;
        }
    }
}

/// The arguments of an act as JSON.
fn arguments(act: &Act) -> String {
    // What a context says is for those to whom it is granted; the digest of the act binds it all the same.
    let act = &match act {
        Act::ContextPut(ContextPut { context, content, field, value }) => Act::ContextPut(ContextPut {
            context: context.clone(),
            content: content.as_ref().map(|content| format!("[{} bytes]", content.len())),
            field: field.clone(),
            value: value.as_ref().map(|value| format!("[{} bytes]", value.to_string().len()).into()),
        }),
        other => other.clone(),
    };
    match serde_json::to_value(act) {
        Ok(serde_json::Value::Object(mut map)) => {
            map.remove("arguments").map(|arguments| arguments.to_string()).unwrap_or_default()
        }
        Ok(_) | Err(_) => String::new(),
    }
}

/// A line about who is in the team.
fn about_agent(config: impl Fn(&str, String) -> Line, event: &Event) -> Option<Line> {
    let line = |agent: &AgentId, act: String| Line { agent: agent.to_string(), ..config("agents", act) };
    Some(match event {
        Event::Agent(AgentEvent::Defined { spec }) => line(&spec.id, digest(spec)),
        Event::Agent(AgentEvent::Retired { agent }) => {
            Line { outcome: "removed".to_owned(), ..line(agent, String::new()) }
        }
        Event::Agent(AgentEvent::Spawned { spec, .. }) => {
            let by = spec.spawned_by.as_ref().map(ToString::to_string).unwrap_or_default();
            let (by, outcome) = (brief(&by, TEXT_BYTES_MAX), "spawned".to_owned());
            Line { by, outcome, ..line(&spec.id, digest(spec)) }
        }
        Event::Agent(AgentEvent::Terminated { agent, by, reason, .. }) => {
            let (by, note) = (brief(&by.to_string(), TEXT_BYTES_MAX), brief(reason, TEXT_BYTES_MAX));
            Line { by, note, outcome: "terminated".to_owned(), ..line(agent, String::new()) }
        }
        Event::Agent(AgentEvent::Cleaned { agent, kept }) => {
            let (outcome, note) = ("cleaned up".to_owned(), brief(&kept.join("; "), TEXT_BYTES_MAX));
            Line { by: "synod".to_owned(), outcome, note, ..config(&layout::workspace(agent), String::new()) }
        }
        _ => return None,
    })
}

fn crashed(new: impl Fn(Kind, &str) -> Line, id: &DelegationId, reason: &str) -> Line {
    let note = format!("{id}: {}", brief(reason, TEXT_BYTES_MAX));
    Line { note, ..new(Kind::Delegation, "crashed") }
}

/// The SHA-256 of a value in its journal form.
fn digest(value: &impl Serialize) -> String {
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    data_encoding::HEXLOWER.encode(&hash(&bytes))
}

/// What happened to a review, with the commit that it happened to.
fn review_moved(line: Line, review: &ReviewId, commit: &str, to: &Move, by: &AgentId) -> Line {
    let (action, note) = match to {
        Move::Checked { check, .. } => (check.tool(), String::new()),
        Move::Approved => (domain::review::ANSWER, String::new()),
        Move::Rejected { issues } => (domain::review::ANSWER, issues.join("; ")),
        Move::Merged { merge } => (domain::review::MERGE, format!("merge commit {merge}")),
        Move::Conflicted { files } => (domain::review::MERGE, files.join(", ")),
        Move::Lapsed => (domain::review::ANSWER, String::new()),
    };
    Line {
        action: action.to_owned(),
        args: format!("{review}: {commit}"),
        note: brief(&note, TEXT_BYTES_MAX),
        by: by.to_string(),
        ..line
    }
}

/// `line` about evidence that Synod saw itself.
fn trusted(line: Line, path: &str, digest: &str, by: &str) -> Line {
    let (action, act) = ("trust".to_owned(), digest.to_owned());
    Line { action, act, args: brief(path, ARGS_BYTES_MAX), by: brief(by, TEXT_BYTES_MAX), ..line }
}

fn verified(new: &dyn Fn(Kind, &str) -> Line, task: &TaskId, evidence: &[Evidence]) -> Line {
    let seen: Vec<String> = evidence.iter().map(ToString::to_string).collect();
    Line {
        task: task.to_string(),
        action: "check".to_owned(),
        args: brief(&seen.join("; "), ARGS_BYTES_MAX),
        by: "synod".to_owned(),
        ..new(Kind::Call, "verified")
    }
}

fn about_budget(new: &dyn Fn(Kind, &str) -> Line, event: &Event) -> Vec<Line> {
    match event {
        Event::Budget(BudgetEvent::Raised { budget, cap, approval }) => {
            vec![raised(new, budget, *cap, approval)]
        }
        Event::Budget(BudgetEvent::Found { sums, .. }) => {
            vec![found(new, &Spent::sum(sums.iter().map(|sum| &sum.spent)))]
        }
        _ => Vec::new(),
    }
}

/// A budget that a person lets be passed once.
fn raised(new: &dyn Fn(Kind, &str) -> Line, budget: &str, cap: Cap, approval: &ApprovalId) -> Line {
    let (rule, action) = (brief(budget, TEXT_BYTES_MAX), "raise_budget".to_owned());
    let note = format!("by {}", domain::usage::amount(cap.tokens, cap.money));
    let by = "synod".to_owned();
    Line { rule, action, note, by, approval: approval.to_string(), ..new(Kind::Config, "changed") }
}

/// What was spent before the journal began, as the list of it says.
fn found(new: &dyn Fn(Kind, &str) -> Line, spent: &Spent) -> Line {
    let (usage, list) = (&spent.usage, formats::usage::PATH);
    let (tokens_in, tokens_out) = (usage.tokens_in, usage.tokens_out);
    let note = format!(
        "{list}: {} answers, {tokens_in} tokens in, {tokens_out} out, cost {}",
        spent.replies,
        spent.money()
    );
    Line { note, by: "synod".to_owned(), ..new(Kind::Model, "found") }
}

/// A task that a budget keeps from beginning.
fn not_begun(new: &dyn Fn(Kind, &str) -> Line, task: &TaskId, parked: &Parked) -> Line {
    let (rule, note) = (brief(&parked.limit, TEXT_BYTES_MAX), brief(&parked.reason, TEXT_BYTES_MAX));
    Line { rule, note, task: task.to_string(), ..new(Kind::Model, "parked") }
}

/// The inspector and the rule by which a call is allowed that asks nobody.
fn by_tools(action: &str) -> String {
    format!("{}: {}", gate::Inspector::Tools, gate::asks_nobody(action))
}
