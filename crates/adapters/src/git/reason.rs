//! Why a file changed and who did it, from the events. Pure: what is not known is not guessed.

use std::collections::{BTreeMap, BTreeSet};

use domain::Actor;
use domain::approval::{Answer, Outcome};
use domain::event::{AgentEvent, ApprovalEvent, CallEvent, SessionEvent, SystemEvent, TaskEvent, TurnEvent};
use domain::event::{Event, Finish, Found, Tail};
use domain::id::{AgentId, ApprovalId, CallId, Seq, SessionId, TaskId, Time};
use domain::layout::{self, Decided};
use domain::session::Message;
use domain::spawn::Origin;
use domain::state::{Requester, Stage, State};
use domain::task::End;
use domain::tool::{Act, Call, Want};
use ports::printer::Recorded;

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    /// An agent.
    Agent(String),
    /// A person; without a name if nobody said who.
    Person(Option<String>),
    /// Synod itself.
    Synod,
}

/// How much a reason says of a batch; the weightiest makes the first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    Step,
    Word,
    Begin,
    Ask,
    Change,
    End,
    Deed,
}

/// One thing that happened to files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    pub(crate) seq: Seq,
    pub(crate) at: Time,
    pub(crate) who: Who,
    pub(crate) weight: Weight,
    /// In words; empty if a step is not worth any.
    pub(crate) text: String,
    pub(crate) agent: Option<String>,
    pub(crate) task: Option<TaskId>,
    /// The files, relative to the home.
    pub(crate) files: Vec<String>,
    /// How many lines of an inbox file were taken.
    pub(crate) lines: Option<u64>,
}

/// A call that is under way.
#[derive(Debug, Clone)]
struct Known {
    act: Act,
    approved_by: Option<String>,
}

/// Remembers what calls are about until they are finished.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    calls: BTreeMap<(SessionId, CallId), Known>,
    asked: BTreeMap<ApprovalId, (SessionId, CallId, AgentId, Option<TaskId>)>,
}

impl Reasons {
    /// What is under way in `state`.
    pub(crate) fn of(state: &State) -> Self {
        let mut all = Self::default();
        for (id, session) in &state.sessions {
            if let Stage::Acting { calls, .. } = &session.stage {
                all.know(id, calls.iter().map(|pending| &*pending.call));
            }
        }
        for request in state.people.approvals.values() {
            let place =
                (request.session.clone(), request.call.clone(), request.agent.clone(), request.task.clone());
            all.asked.insert(request.id.clone(), place);
        }
        all
    }

    fn know<'a>(&mut self, session: &SessionId, calls: impl Iterator<Item = &'a Call>) {
        for call in calls {
            if let Want::Act(act) = &call.want {
                let known = Known { act: act.clone(), approved_by: None };
                self.calls.insert((session.clone(), call.id.clone()), known);
            }
        }
    }

    /// What was under way goes with the cut and never finishes, but for what the file still has.
    fn cut(&mut self, session: &SessionId, tail: &Tail) {
        self.calls.retain(|(of, _), _| of != session);
        if let Tail::Calls { calls, .. } = tail {
            let open = calls.iter().filter(|found| found.found != Found::Finished);
            self.know(session, open.map(|found| &found.call));
        }
    }

    /// Why files change with an event, if any do.
    pub(crate) fn take(&mut self, state: &State, recorded: &Recorded) -> Option<Reason> {
        let told = self.tell(state, &recorded.event)?;
        let Told { who, weight, text, task, agent, files, lines } = told;
        let agent = agent.or_else(|| match &who {
            Who::Agent(agent) => Some(agent.clone()),
            Who::Person(_) | Who::Synod => None,
        });
        let named = |text: String| match &task {
            Some(task) if !text.is_empty() => format!("{task}: {text}"),
            Some(_) | None => text,
        };
        let text = named(text);
        Some(Reason { seq: recorded.seq, at: recorded.at, who, weight, text, agent, task, files, lines })
    }

    fn tell(&mut self, state: &State, event: &Event) -> Option<Told> {
        let told = match event {
            Event::System(SystemEvent::SettingsChanged { .. }) => {
                owner("changed the settings", layout::SETTINGS)
            }
            Event::System(SystemEvent::PolicyChanged { .. }) => {
                owner("changed the command policy", layout::COMMANDS)
            }
            Event::Agent(AgentEvent::Defined { spec }) => {
                let files = layout::agent_files(&spec.id).to_vec();
                let known = state.team.agents.get(&spec.id).is_some_and(|agent| !agent.retired);
                let did = if known { "changed" } else { "defined" };
                Told { files, ..owner(&format!("{did} the agent {}", spec.id), "") }
            }
            Event::Agent(AgentEvent::Retired { agent }) => {
                let files = layout::agent_files(agent).to_vec();
                Told { files, ..owner(&format!("removed the agent {agent}"), "") }
            }
            Event::Agent(AgentEvent::Spawned { spec, .. }) => {
                let who = spec.spawned_by.as_ref().map_or(Who::Synod, maker);
                let text = format!("{} spawned the agent {}", name_of(&who), spec.id);
                Told::new(who, Weight::Change, text, &layout::agent_file(&spec.id))
            }
            Event::Agent(AgentEvent::Terminated { agent, by, .. }) => {
                let who = speaker(by);
                let text = format!("{} terminated the agent {agent}", name_of(&who));
                Told::new(who, Weight::Change, text, &layout::agent_file(agent))
            }
            Event::System(SystemEvent::LineTaken { source, line }) => Told {
                lines: Some(*line),
                ..Told::new(Who::Synod, Weight::Begin, format!("took line {line} of {source}"), source)
            },
            Event::Task(TaskEvent::Added { .. })
            | Event::Task(TaskEvent::Edited { .. })
            | Event::Task(TaskEvent::Started { .. })
            | Event::Task(TaskEvent::Ended { .. })
            | Event::Task(TaskEvent::Reopened { .. }) => return tell_task(state, event),
            Event::Approval(ApprovalEvent::Asked { request }) => {
                let place = (
                    request.session.clone(),
                    request.call.clone(),
                    request.agent.clone(),
                    request.task.clone(),
                );
                self.asked.insert(request.id.clone(), place);
                let text = format!("{} asks whether it may: {}", request.agent, request.act.words().wish);
                let mut told = Told::new(agent(&request.agent), Weight::Ask, text, layout::QUEUE);
                told.files.push(layout::approval_file(Decided::Pending, &request.id));
                Told { task: request.task.clone(), ..told }
            }
            Event::Approval(ApprovalEvent::Ended { approval, outcome }) => {
                self.tell_outcome(approval, outcome)
            }
            Event::Call(CallEvent::Finished { session, finish, message, wrote }) => {
                return self.tell_call(state, session, finish, message, wrote);
            }
            _ => return self.tell_session(state, event),
        };
        Some(told)
    }

    fn tell_outcome(&mut self, approval: &ApprovalId, outcome: &Outcome) -> Told {
        let asked = self.asked.remove(approval);
        let known = asked
            .as_ref()
            .and_then(|(session, call, ..)| self.calls.get_mut(&(session.clone(), call.clone())));
        let what = known.as_ref().map_or_else(|| approval.to_string(), |known| known.act.words().wish);
        let (who, text, decided) = match outcome {
            Outcome::Answered { answer: Answer::Approved, by, .. } => {
                if let Some(known) = known {
                    known.approved_by = Some(by.clone());
                }
                (person(by), format!("{by} approved: {what}"), Decided::Approved)
            }
            Outcome::Answered { answer: Answer::Rejected { reason }, by, .. } => {
                let why = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
                (person(by), format!("{by} rejected: {what}{why}"), Decided::Rejected)
            }
            Outcome::Expired => (Who::Synod, format!("nobody decided in time: {what}"), Decided::Rejected),
            Outcome::Withdrawn { reason } => {
                (Who::Synod, format!("withdrawn ({reason}): {what}"), Decided::Rejected)
            }
        };
        let mut told = Told::new(who, Weight::Change, text, layout::QUEUE);
        told.files.push(layout::approval_file(Decided::Pending, approval));
        told.files.push(layout::approval_file(decided, approval));
        let (agent, task) = asked.map(|(_, _, agent, task)| (agent, task)).unzip();
        Told { agent: agent.map(|agent| agent.to_string()), task: task.flatten(), ..told }
    }

    fn tell_call(
        &mut self,
        state: &State,
        session: &SessionId,
        finish: &Finish,
        message: &Message,
        wrote: &[String],
    ) -> Option<Told> {
        let whose = agent_of(state, session);
        let known = message.call.clone().and_then(|call| self.calls.remove(&(session.clone(), call)));
        let mut told = Told::new(whose.clone(), Weight::Step, String::new(), &layout::session_file(session));
        told.task = task_of(state, session);
        let Some(known) = known else { return Some(told) };
        let name = name_of(&whose);
        let by = known.approved_by.as_ref().map_or_else(String::new, |by| format!(" (approved by {by})"));
        let did = known.act.words().done;
        let (weight, text) = match finish {
            Finish::Done => (Weight::Deed, format!("{name} {did}{by}")),
            Finish::Failed => (Weight::Deed, format!("{name} tried and failed: {did}{by}")),
            Finish::Refused { rule } => (Weight::Ask, format!("{name} was refused: {did} ({rule})")),
            Finish::Unknown => (Weight::Deed, format!("unknown whether {name} {did}{by}")),
            Finish::Dropped => (Weight::Step, String::new()),
        };
        let is_read = domain::tool::facts(known.act.tool()).is_some_and(|f| f.nature == policy::Nature::Read);
        let is_inside = domain::tool::facts(known.act.tool()).is_some_and(|f| f.inside);
        told.weight = if is_read || is_inside { weight.min(Weight::Word) } else { weight };
        told.text = text;
        told.files.extend(written(&known.act, wrote));
        Some(told)
    }

    fn tell_session(&mut self, state: &State, event: &Event) -> Option<Told> {
        let (session, who, weight, text) = match event {
            Event::Session(SessionEvent::Opened { head }) => {
                let told = Told::new(
                    agent(&head.agent),
                    Weight::Step,
                    String::new(),
                    &layout::session_file(&head.session),
                );
                return Some(Told { task: head.task.clone(), ..told });
            }
            Event::Session(SessionEvent::Adopted { head, .. }) => {
                let text = format!("found the session {}", head.session);
                let told = Told::new(Who::Synod, Weight::Step, text, &layout::session_file(&head.session));
                return Some(Told { task: head.task.clone(), ..told });
            }
            Event::Session(SessionEvent::Cut { session, tail, .. }) => {
                self.cut(session, tail);
                (session, Who::Person(None), Weight::Change, format!("cut the session {session}"))
            }
            Event::Session(SessionEvent::MessageEdited { session, message }) => {
                (session, Who::Person(None), Weight::Change, format!("edited {message} in {session}"))
            }
            Event::Session(SessionEvent::MessageAdded { session, message, .. }) => {
                let who = message.from.as_ref().map_or(Who::Synod, speaker);
                let text = format!("{} wrote to {}", name_of(&who), name_of(&agent_of(state, session)));
                (session, who, Weight::Word, text)
            }
            Event::Turn(TurnEvent::Replied { session, message, .. }) => {
                self.know(session, message.calls.iter());
                let whose = agent_of(state, session);
                let text = if message.calls.is_empty() {
                    format!("{} answered", name_of(&whose))
                } else {
                    String::new()
                };
                (session, whose, Weight::Word, text)
            }
            Event::Session(SessionEvent::Moved { session, .. })
            | Event::Session(SessionEvent::Reopened { session }) => {
                (session, agent_of(state, session), Weight::Step, String::new())
            }
            _ => return None,
        };
        let mut told = Told::new(who, weight, text, &layout::session_file(session));
        told.task = task_of(state, session);
        if let (Event::Session(SessionEvent::Moved { task: Some(task), .. }), Some(known)) =
            (event, &told.task)
            && task == known
        {
            told.files.extend(state.work.tasks.get(task).map(|t| t.spec.file.clone()));
        }
        Some(told)
    }
}

fn tell_task(state: &State, event: &Event) -> Option<Told> {
    let file = |task: &TaskId| state.work.tasks.get(task).map(|t| t.spec.file.clone());
    let (task, who, weight, text, file) = match event {
        Event::Task(TaskEvent::Added { spec, by, .. }) => {
            let who = match by {
                Requester::Person { name } => person(name),
                Requester::Session { session } => agent_of(state, session),
                Requester::Inbox { .. } => Who::Synod,
            };
            let text = format!("{} added \"{}\"", name_of(&who), spec.title);
            (&spec.id, who, Weight::Change, text, spec.file.clone())
        }
        Event::Task(TaskEvent::Edited { task, in_file, .. }) => {
            let who = if *in_file { Who::Person(None) } else { Who::Synod };
            (task, who, Weight::Change, "edited".to_owned(), file(task)?)
        }
        Event::Task(TaskEvent::Started { task, session }) => {
            let who = agent_of(state, session);
            let text = format!("{} began", name_of(&who));
            (task, who, Weight::Begin, text, file(task)?)
        }
        Event::Task(TaskEvent::Ended { task, end, by, .. }) => {
            let how = match end {
                End::Done => "done",
                End::Failed => "failed",
                End::Cancelled => "cancelled",
            };
            let who = speaker(by);
            (task, who.clone(), Weight::End, format!("{how}, says {}", name_of(&who)), file(task)?)
        }
        Event::Task(TaskEvent::Reopened { task, by }) => {
            let who = speaker(by);
            (task, who.clone(), Weight::Change, format!("{} opened it again", name_of(&who)), file(task)?)
        }
        _ => return None,
    };
    Some(Told { task: Some(task.clone()), ..Told::new(who, weight, text, &file) })
}

struct Told {
    who: Who,
    weight: Weight,
    text: String,
    task: Option<TaskId>,
    agent: Option<String>,
    files: Vec<String>,
    lines: Option<u64>,
}

impl Told {
    fn new(who: Who, weight: Weight, text: String, file: &str) -> Self {
        Self { who, weight, text, task: None, agent: None, files: vec![file.to_owned()], lines: None }
    }
}

fn owner(text: &str, file: &str) -> Told {
    Told::new(Who::Person(None), Weight::Change, text.to_owned(), file)
}

fn agent(id: &AgentId) -> Who {
    Who::Agent(id.to_string())
}

fn agent_of(state: &State, session: &SessionId) -> Who {
    let known = state.sessions.get(session).map(|session| session.agent.to_string());
    // A session is named after its agent, so this holds also for one that is not known any more.
    let by_name = || session.as_str().rsplit_once('-').map(|(agent, _)| agent.to_owned());
    known.or_else(by_name).map_or(Who::Synod, Who::Agent)
}

fn task_of(state: &State, session: &SessionId) -> Option<TaskId> {
    state.sessions.get(session).and_then(|session| session.task.clone())
}

/// Who made an agent.
fn maker(origin: &Origin) -> Who {
    match origin {
        Origin::Person(name) => person(name),
        Origin::Agents(_) => origin.parent().map_or(Who::Synod, agent),
    }
}

fn person(name: &str) -> Who {
    let unnamed = name.is_empty() || name == "owner" || name == "person";
    Who::Person((!unnamed).then(|| name.to_owned()))
}

fn speaker(from: &Actor) -> Who {
    match from {
        Actor::Person(name) => person(name),
        Actor::Agent(id) => agent(id),
        Actor::Synod | Actor::Outside(_) => Who::Synod,
    }
}

pub(crate) fn name_of(who: &Who) -> &str {
    match who {
        Who::Agent(name) | Who::Person(Some(name)) => name,
        Who::Person(None) => "the owner",
        Who::Synod => "synod",
    }
}

/// Files of the home that an act wrote: those that it names, and those that its performer found out.
fn written(act: &Act, wrote: &[String]) -> BTreeSet<String> {
    let reach = act.reach();
    let named = reach.writes.iter().map(|path| {
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        parts.join("/")
    });
    let outbox = reach.outward.map(|outward| outward.file.to_owned());
    named.chain(outbox).chain(wrote.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use domain::event::FoundCall;
    use domain::tool::{ExecuteCommand, Lint};

    use super::*;

    fn recorded(seq: u64, event: Event) -> Recorded {
        Recorded { seq: Seq(seq), at: Time(1), event }
    }

    fn message(call: &str) -> Message {
        serde_json::from_value(serde_json::json!({
            "id": "m-0002", "at": 1, "speaker": "tool_result", "content": "", "call": call
        }))
        .unwrap()
    }

    #[test]
    fn a_command_is_told_with_who_approved_it() {
        let mut reasons = Reasons::default();
        let key = (SessionId::new("executor-001-abc123"), CallId::new("c1"));
        let act = Act::ExecuteCommand(ExecuteCommand { command: "df -h".to_owned() });
        reasons.calls.insert(key.clone(), Known { act, approved_by: None });
        let place =
            (key.0.clone(), key.1.clone(), AgentId::new("executor-001"), Some(TaskId::new("task-003")));
        reasons.asked.insert(ApprovalId::new("approval-0001"), place);
        let state = State::new();
        let outcome =
            Outcome::Answered { answer: Answer::Approved, by: "dana".to_owned(), via: "cli".to_owned() };
        let ended =
            Event::Approval(ApprovalEvent::Ended { approval: ApprovalId::new("approval-0001"), outcome });
        let approved = reasons.take(&state, &recorded(1, ended)).unwrap();
        assert_eq!(approved.text, "task-003: dana approved: run `df -h`");
        assert_eq!(approved.who, Who::Person(Some("dana".to_owned())));
        let finished = Event::Call(CallEvent::Finished {
            session: key.0,
            finish: Finish::Done,
            message: message("c1"),
            wrote: Vec::new(),
        });
        let ran = reasons.take(&state, &recorded(2, finished)).unwrap();
        assert_eq!(ran.text, "executor-001 ran `df -h` (approved by dana)");
        assert_eq!((ran.who, ran.weight), (Who::Agent("executor-001".to_owned()), Weight::Deed));
    }

    #[test]
    fn of_a_cut_session_only_the_calls_are_remembered_that_its_file_still_has() {
        let mut reasons = Reasons::default();
        let [cut, other] = ["executor-001-abc123", "executor-002-abc123"].map(SessionId::new);
        let call = |id: &str| Call {
            id: CallId::new(id),
            arguments: String::new(),
            want: Want::Act(Act::Lint(Lint {})),
            seen: None,
        };
        let ids = |reasons: &Reasons| {
            let keys = reasons.calls.keys();
            keys.map(|(session, call)| format!("{session} {call}")).collect::<Vec<_>>()
        };
        let tell = |reasons: &mut Reasons, tail: Tail| {
            let event = Event::Session(SessionEvent::Cut { session: cut.clone(), next_message: 2, tail });
            assert!(reasons.take(&State::new(), &recorded(1, event)).is_some());
        };
        reasons.know(&cut, [call("c1"), call("c2"), call("c3")].iter());
        reasons.know(&other, [call("c1")].iter());
        let found = |id: &str, found| FoundCall { call: call(id), found };
        let calls = vec![found("c1", Found::Finished), found("c2", Found::Nothing)];
        tell(&mut reasons, Tail::Calls { said: String::new(), calls });
        assert_eq!(ids(&reasons), ["executor-001-abc123 c2", "executor-002-abc123 c1"]);
        tell(&mut reasons, Tail::Unanswered);
        assert_eq!(ids(&reasons), ["executor-002-abc123 c1"]);
    }

    #[test]
    fn a_line_of_an_inbox_says_how_far_it_was_read() {
        let event = Event::System(SystemEvent::LineTaken { source: "inbox/a.jsonl".to_owned(), line: 3 });
        let reason = Reasons::default().take(&State::new(), &recorded(1, event)).unwrap();
        assert_eq!((reason.files, reason.lines), (vec!["inbox/a.jsonl".to_owned()], Some(3)));
    }
}
