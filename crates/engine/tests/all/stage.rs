//! Parts that write into one log what is done to them, so that tests see the order.

use std::sync::{Arc, Mutex};

use domain::agent;
use domain::effect::Effect;
use domain::id::{AgentId, CallId, Seq, TaskId, Time};
use domain::input::Input;
use domain::input::{FileInput, ModelInput, PersonInput, ToolInput};
use domain::state::State;
use domain::task::Spec;
use domain::tool::{Act, Call, ExecuteCommand, FinishStatus, FinishTask, Want};
use domain::usage::Usage;
use engine::Parts;
use policy::{CommandRule, CommandVerdict, Policy};
use ports::hands::Hands;
use ports::journal::{Entry, Journal, JournalError, Snapshot};
use ports::printer::{Printer, Recorded};
use testkit::clock::Virtual;
use testkit::journal::Disk;

/// What happened, in order.
#[derive(Clone, Default)]
pub struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    effects: Arc<Mutex<Vec<Effect>>>,
}

impl Log {
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// The effect that was let go last.
    pub fn last_effect(&self) -> Effect {
        self.effects.lock().unwrap().last().unwrap().clone()
    }

    fn say(&self, line: impl Into<String>) {
        self.lines.lock().unwrap().push(line.into());
    }

    /// The parts of an engine, all of which write here.
    pub fn parts(&self) -> Parts {
        Parts {
            hands: Box::new(Spy { log: self.clone() }),
            printer: Box::new(Ink { log: self.clone(), printed: Seq(0) }),
            clock: Arc::new(Virtual::at(Time(1_000_000))),
        }
    }
}

struct Spy {
    log: Log,
}

impl Hands for Spy {
    fn perform(&mut self, _: &State, effect: Effect) {
        let what = match &effect {
            Effect::CallModel { .. } => "model",
            Effect::RunTool { .. } => "tool",
            Effect::Look { .. } => "look",
            Effect::Stop { .. } => "stop",
            Effect::Fence(_) => "fence",
            Effect::CleanUp { .. } => "clean up",
        };
        self.log.say(format!("perform {what}"));
        self.log.effects.lock().unwrap().push(effect);
    }

    fn wind_down(&mut self) {
        self.log.say("wind down");
    }

    fn abort(&mut self) {
        self.log.say("abort");
    }
}

struct Ink {
    log: Log,
    printed: Seq,
}

impl Printer for Ink {
    fn print(&mut self, batch: Arc<[Recorded]>) {
        let (first, last) = (batch[0].seq, batch[batch.len() - 1].seq);
        self.log.say(format!("print {first}-{last}"));
        self.printed = last;
    }

    fn printed(&self) -> Seq {
        self.printed
    }

    fn flush(&mut self) {
        self.log.say("flush");
    }
}

/// A disk that says when it has kept something, and what is read of it.
pub struct Logged {
    pub disk: Disk,
    pub log: Log,
}

impl Journal for Logged {
    fn append(&mut self, batch: &[Entry]) -> Result<(), JournalError> {
        let kept = self.disk.append(batch);
        let word = if kept.is_ok() { "kept" } else { "lost" };
        self.log.say(format!("{word} {}-{}", batch[0].seq, batch[batch.len() - 1].seq));
        kept
    }

    fn last(&self) -> Seq {
        self.disk.last()
    }

    fn read(&mut self, after: Seq, limit: usize) -> Result<Vec<Entry>, JournalError> {
        self.log.say(format!("read after {after}"));
        self.disk.read(after, limit)
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, JournalError> {
        self.disk.snapshot()
    }

    fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), JournalError> {
        self.log.say(format!("snapshot {}", snapshot.seq));
        self.disk.save_snapshot(snapshot)
    }

    fn printed(&mut self) -> Result<Seq, JournalError> {
        self.disk.printed()
    }

    fn set_printed(&mut self, seq: Seq) -> Result<(), JournalError> {
        self.disk.set_printed(seq)
    }
}

/// A policy and one executor.
pub fn opening() -> Vec<Input> {
    let rule = CommandRule::new(CommandVerdict::Allow);
    let policy = Policy { commands: [("touch counter".to_owned(), rule)].into() };
    let spec = agent::Spec::new(AgentId::new("executor-001"), "executor", "m");
    vec![
        Input::File(FileInput::PolicyRead(policy)),
        Input::File(FileInput::AgentRead(Box::new(spec))),
        Input::Started,
    ]
}

/// A person wants a task done by the executor.
pub fn wanted() -> Input {
    let mut spec = Spec::new(TaskId::new(""), "tasks/x.task.md", "look");
    spec.assignee = Some(AgentId::new("executor-001"));
    Input::Person(PersonInput::AddTask { spec: Box::new(spec), by: "dana".to_owned() })
}

/// A line of an inbox that says nothing: one event and nothing more.
pub fn blank(line: u64) -> Input {
    Input::File(FileInput::LineRead {
        source: "inbox/x.jsonl".to_owned(),
        line,
        from: String::new(),
        channel: None,
        text: String::new(),
    })
}

/// The answer to a model call: the end of the task, or a command that must not run twice.
pub fn answer(effect: &Effect, acts: bool) -> Input {
    let Effect::CallModel { ticket, session, .. } = effect else { panic!("not a model call: {effect:?}") };
    let act = match acts {
        true => Act::ExecuteCommand(ExecuteCommand { command: "touch counter".to_owned() }),
        false => Act::FinishTask(FinishTask { status: FinishStatus::Done, result: "words".to_owned() }),
    };
    let call = Call { id: CallId::new("c-1"), arguments: String::new(), want: Want::Act(act), seen: None };
    Input::Model(ModelInput::Replied {
        read: Vec::new(),
        session: session.clone(),
        ticket: *ticket,
        text: "words".to_owned(),
        calls: vec![call],
        model: String::new(),
        usage: Usage::of(1, 1),
    })
}

/// The end of a tool call.
pub fn done(effect: &Effect) -> Input {
    let Effect::RunTool { ticket, session, call, .. } = effect else { panic!("not a tool call: {effect:?}") };
    Input::Tool(ToolInput::Finished {
        read: Vec::new(),
        wrote: Vec::new(),
        session: session.clone(),
        call: call.id.clone(),
        ticket: *ticket,
        ok: true,
        text: "done".to_owned(),
        finding: None,
    })
}
