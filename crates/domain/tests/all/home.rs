//! A home without files: plays inputs, remembers events, and replays each of them from its stored form.

use std::collections::BTreeSet;

use domain::agent;
use domain::approval::Answer;
use domain::budget::charge::{Charge, Raise};
use domain::effect::Effect;
use domain::event::{ApprovalEvent, BudgetEvent, CallEvent, SessionEvent, SystemEvent, TaskEvent, TurnEvent};
use domain::event::{Event, Finish};
use domain::id::{AgentId, ApprovalId, CallId, SessionId, TaskId, Ticket, Time};
use domain::input::{Failure, Input};
use domain::input::{FileInput, ModelInput, PersonInput, ToolInput};
use domain::lifecycle::Lifecycle;
use domain::session::{Message, is_due};
use domain::settings::Settings;
use domain::state::{Session, State, Task};
use domain::task::{End, Mark, Spec};
use domain::tool::{Act, Call, CreateTask, ExecuteCommand, FinishStatus, FinishTask, UpdateTask, Want};
use domain::usage::Usage;
use domain::{Refused, pending, play, react};
use policy::{CommandRule, CommandVerdict, Nature, Policy};

/// A home that has started, with all agents that a test names.
pub struct Home {
    pub state: State,
    pub at: Time,
    pub events: Vec<Event>,
    pub effects: Vec<Effect>,
    /// What models took, as a list beside the journal has it, and which budgets people raised.
    pub charges: Vec<Charge>,
    pub raises: Vec<Raise>,
    /// Whether steps are taken that need nothing from outside.
    pub live: bool,
    replayed: State,
}

impl Home {
    /// Agents by name; the role is the name without its number.
    pub fn new(agents: &[&str]) -> Self {
        Self::with(agents, |_| {}, |_| {})
    }

    /// The same, with settings and agents changed before they are read.
    pub fn with(
        agents: &[&str],
        settle: impl FnOnce(&mut Settings),
        mut define: impl FnMut(&mut agent::Spec),
    ) -> Self {
        let mut home = Self {
            state: State::new(),
            at: Time(1_000_000),
            events: Vec::new(),
            effects: Vec::new(),
            charges: Vec::new(),
            raises: Vec::new(),
            live: true,
            replayed: State::new(),
        };
        let mut settings = Settings::default();
        settle(&mut settings);
        home.give(Input::File(FileInput::SettingsRead(Box::new(settings))));
        let rule = |verdict, nature| CommandRule { nature, ..CommandRule::new(verdict) };
        let commands = [
            ("df -h".to_owned(), rule(CommandVerdict::Allow, Nature::Read)),
            ("touch counter".to_owned(), rule(CommandVerdict::Allow, Nature::Once)),
            ("rm -rf /".to_owned(), rule(CommandVerdict::Deny, Nature::Once)),
        ];
        home.give(Input::File(FileInput::PolicyRead(Policy { commands: commands.into() })));
        for name in agents {
            let role = name.rsplit_once('-').map_or(*name, |(role, _)| role);
            let mut spec = agent::Spec::new(AgentId::new(*name), role, "m");
            define(&mut spec);
            home.give(Input::File(FileInput::AgentRead(Box::new(spec))));
        }
        home.give(Input::Started);
        home
    }

    /// Plays an input that is accepted, and gives its events.
    pub fn give(&mut self, input: Input) -> Vec<Event> {
        self.try_give(input).expect("the input is accepted")
    }

    /// Plays an input. Each event also passes through its stored form into a second state, which must be the same.
    pub fn try_give(&mut self, input: Input) -> Result<Vec<Event>, Refused> {
        let before = self.state.clone();
        let again = decide(&self.state, self.at, &input);
        assert_eq!(decide(&self.state, self.at, &input), again, "deciding twice gives the same");
        let mut events = Vec::new();
        let effects = &mut self.effects;
        play(&mut self.state, self.at, &input, self.live, &mut |state, event| {
            effects.extend(react(state, &event));
            check(state, &event);
            events.push(event);
        })
        .inspect_err(|_| assert_eq!(self.state, before, "a refusal changes nothing"))?;
        for event in &events {
            self.charges.extend(self.replayed.charge(self.at, event));
            if let Event::Budget(BudgetEvent::Raised { budget, cap, .. }) = event {
                self.raises.push(Raise { at: self.at, budget: budget.clone(), cap: *cap });
            }
            let stored = serde_json::to_string(event).unwrap();
            self.replayed.apply(self.at, &serde_json::from_str(&stored).unwrap());
        }
        assert_eq!(self.replayed, self.state, "replay gives the live state");
        assert_eq!(self.state.wrong_list(), None, "what things are found by follows from them");
        assert_eq!(
            crate::walked::wrong_runs(&self.state),
            None,
            "the runs follow from what they are made of"
        );
        let mut ids = BTreeSet::new();
        for (session, message) in events.iter().filter_map(said) {
            assert!(ids.insert((session, &message.id)), "{session} has two messages {}", message.id);
            let next = self.state.sessions[session].talk.next_message;
            let before = next == u32::MAX || message.id.as_str() < format!("m-{next:04}").as_str();
            assert!(before, "the next message is behind {}", message.id);
        }
        self.events.extend(events.iter().cloned());
        Ok(events)
    }

    /// The refusal of an input, in words.
    pub fn refusal(&mut self, input: Input) -> String {
        self.try_give(input).expect_err("the input is refused").to_string()
    }

    /// Lets time pass and gives what was due, one thing after the other.
    pub fn pass(&mut self, ms: u64) -> Vec<Event> {
        self.at = self.at.plus_ms(ms);
        let mut events = Vec::new();
        while self.state.next_deadline().is_some_and(|due| due <= self.at) {
            let more = self.give(Input::Ticked);
            let dropped =
                more.iter().any(|event| matches!(event, Event::System(SystemEvent::DeadlineDropped { .. })));
            assert!(!more.is_empty() && !dropped, "what is due leads to something");
            events.extend(more);
        }
        events
    }

    /// A person adds a task for an agent.
    pub fn task(&mut self, title: &str, assignee: &str) -> TaskId {
        self.task_with(title, assignee, |_| {})
    }

    /// The same, with more said about it.
    pub fn task_with(&mut self, title: &str, assignee: &str, say: impl FnOnce(&mut Spec)) -> TaskId {
        let mut spec = Spec::new(TaskId::new(""), "tasks/x.task.md", title);
        spec.assignee = Some(AgentId::new(assignee));
        say(&mut spec);
        let events =
            self.give(Input::Person(PersonInput::AddTask { spec: Box::new(spec), by: "dana".to_owned() }));
        let added = events.iter().find_map(|event| match event {
            Event::Task(TaskEvent::Added { spec, .. }) => Some(spec.id.clone()),
            _ => None,
        });
        added.expect("a task was added")
    }

    /// The model call that an agent waits for.
    pub fn thinking(&self, agent: &str) -> (SessionId, Ticket) {
        self.calls_to_model(agent).into_iter().next().unwrap_or_else(|| panic!("{agent} is not thinking"))
    }

    /// All model calls that an agent waits for.
    pub fn calls_to_model(&self, agent: &str) -> Vec<(SessionId, Ticket)> {
        let of = |effect| match effect {
            Effect::CallModel { ticket, session, agent: whose, .. } if whose.as_str() == agent => {
                Some((session, ticket))
            }
            _ => None,
        };
        pending(&self.state).into_iter().filter_map(of).collect()
    }

    /// All tool calls of an agent that are under way.
    pub fn calls_to_tools(&self, agent: &str) -> Vec<(SessionId, CallId, Ticket)> {
        let of = |effect| match effect {
            Effect::RunTool { ticket, session, agent: whose, call, .. } if whose.as_str() == agent => {
                Some((session, call.id.clone(), ticket))
            }
            _ => None,
        };
        pending(&self.state).into_iter().filter_map(of).collect()
    }

    /// What calls depend on is looked at, and is as it was.
    pub fn looks(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for effect in pending(&self.state) {
            if let Effect::Look { ticket, session, call, .. } = effect {
                let (call, seen) = (call.id.clone(), call.seen.clone());
                events.extend(self.give(Input::Tool(ToolInput::Looked { session, call, ticket, seen })));
            }
        }
        events
    }

    /// The agent's model says its last words: with `finish_task` if it has a task to end, else in words alone.
    pub fn says(&mut self, agent: &str, text: &str) -> Vec<Event> {
        let (session, ticket) = self.thinking(agent);
        let last = ending(&self.state, &session, text);
        let mut input = reply(session, ticket, text, &[]);
        if let Input::Model(ModelInput::Replied { calls, .. }) = &mut input {
            *calls = last;
        }
        let events = self.give(input);
        events.into_iter().filter(|event| !is_of_ending(event)).collect()
    }

    /// The agent's model answers in words alone.
    pub fn says_only(&mut self, agent: &str, text: &str) -> Vec<Event> {
        let (session, ticket) = self.thinking(agent);
        self.give(reply(session, ticket, text, &[]))
    }

    /// The agent's model asks for tools; the calls are `c-1`, `c-2` and so on.
    pub fn wants(&mut self, agent: &str, acts: &[Act]) -> Vec<Event> {
        let (session, ticket) = self.thinking(agent);
        self.give(reply(session, ticket, "I need this", acts))
    }

    /// The agent's model asks for tools that end at once, each in an answer of its own.
    pub fn wants_each(&mut self, agent: &str, acts: &[Act]) -> Vec<Event> {
        acts.iter().flat_map(|act| self.wants(agent, std::slice::from_ref(act))).collect()
    }

    /// The agent's model fails.
    pub fn model_fails(&mut self, agent: &str, failure: Failure) -> Vec<Event> {
        let (session, ticket) = self.thinking(agent);
        self.give(Input::Model(ModelInput::Failed {
            session,
            ticket,
            reason: "overloaded".to_owned(),
            failure,
        }))
    }

    /// The first of the agent's tools that is under way comes to its end.
    pub fn tool_ends(&mut self, agent: &str, ok: bool, text: &str) -> Vec<Event> {
        let (session, call, ticket) = self
            .calls_to_tools(agent)
            .into_iter()
            .next()
            .unwrap_or_else(|| panic!("{agent} has no tool under way"));
        self.give(Input::Tool(ToolInput::Finished {
            session,
            call,
            ticket,
            ok,
            text: text.to_owned(),
            read: Vec::new(),
            wrote: Vec::new(),
            finding: None,
        }))
    }

    /// A person answers an approval.
    pub fn answer(&mut self, approval: &str, answer: Answer) -> Vec<Event> {
        self.give(answered(approval, answer))
    }

    /// A person changes a task's mark.
    pub fn mark(&mut self, task: &TaskId, mark: Mark) -> Vec<Event> {
        self.give(marked(task, mark))
    }

    /// A person writes to an agent, wherever it fits.
    pub fn write(&mut self, agent: &str, text: &str) -> Vec<Event> {
        self.give(written(None, agent, text))
    }

    /// A task by id.
    pub fn get(&self, task: &TaskId) -> &Task {
        &self.state.work.tasks[task]
    }

    /// How a task ended.
    pub fn end(&self, task: &TaskId) -> Option<End> {
        self.get(task).end()
    }

    /// The only session of an agent that is not over.
    pub fn session_of(&self, agent: &str) -> (SessionId, &Session) {
        let open = &self.state.team.agents[&AgentId::new(agent)].sessions;
        assert_eq!(open.len(), 1, "{agent} has one open session");
        let id = open.first().expect("there is one").clone();
        let session = &self.state.sessions[&id];
        (id, session)
    }

    /// Everything that was ever said to an agent, as `from: text`.
    pub fn heard(&self, agent: &str) -> Vec<String> {
        let said = |event: &Event| match event {
            Event::Session(SessionEvent::MessageAdded { session, message, .. })
                if self.state.sessions[session].agent.as_str() == agent =>
            {
                let from = message.from.as_ref().map(ToString::to_string).unwrap_or_default();
                Some(format!("{from}: {}", message.content))
            }
            _ => None,
        };
        self.events.iter().filter_map(said).collect()
    }

    /// The results of an agent's tool calls so far, but for the chain that ends the result of delegated work.
    pub fn results(&self, agent: &str) -> Vec<String> {
        let without_chain = |text: String| match text.rsplit_once("\nchain: ") {
            Some((text, _)) => text.to_owned(),
            None => text,
        };
        self.told(agent).into_iter().map(without_chain).collect()
    }

    /// The results of an agent's tool calls so far.
    pub fn told(&self, agent: &str) -> Vec<String> {
        let result = |event: &Event| match event {
            Event::Call(CallEvent::Finished { session, message, .. })
                if self.state.sessions[session].agent.as_str() == agent && !is_ending(message) =>
            {
                Some(message.content.clone())
            }
            _ => None,
        };
        self.events.iter().filter_map(result).collect()
    }

    /// The tasks that began, in order.
    pub fn begun(&self) -> Vec<String> {
        let task = |event: &Event| match event {
            Event::Task(TaskEvent::Started { task, .. }) => Some(task.clone()),
            _ => None,
        };
        self.events.iter().filter_map(task).map(|task| task.to_string()).collect()
    }
}

/// What follows directly from an input, decided on a copy.
pub fn decide(state: &State, at: Time, input: &Input) -> Result<Vec<Event>, Refused> {
    let mut events = Vec::new();
    let own = play(&mut state.clone(), at, input, false, &mut |_, event| events.push(event))?;
    events.truncate(own);
    Ok(events)
}

/// What an event says, and in which session.
fn said(event: &Event) -> Option<(&SessionId, &Message)> {
    match event {
        Event::Session(SessionEvent::MessageAdded { session, message, .. })
        | Event::Turn(TurnEvent::Replied { session, message, .. })
        | Event::Turn(TurnEvent::Summarised { session, message, .. })
        | Event::Call(CallEvent::Finished { session, message, .. }) => Some((session, message)),
        _ => None,
    }
}

/// What holds of every event: work begins only when it is ready, and a refusal names its rule.
fn check(state: &State, event: &Event) {
    match event {
        Event::Task(TaskEvent::Started { task, .. }) => {
            assert_eq!(
                state.open_dependencies(&state.work.tasks[task]).next(),
                None,
                "{task} began too early"
            );
        }
        Event::Call(CallEvent::Finished { finish: Finish::Refused { rule }, message, .. }) => {
            assert!(!rule.is_empty() && !message.content.is_empty(), "a refusal says by what and why");
        }
        _ => {}
    }
}

/// The call by which [`Home::says`] ends a task.
const ENDING: &str = "ending";

/// The call with which a model's last words end its task, if it has one to end. Nothing at all ends nothing.
pub fn ending(state: &State, session: &SessionId, text: &str) -> Vec<Call> {
    if text.trim().is_empty() || !is_due(state, session) {
        return Vec::new();
    }
    let act = Act::FinishTask(FinishTask { status: FinishStatus::Done, result: text.to_owned() });
    let arguments = serde_json::to_string(&act).unwrap();
    vec![Call { id: CallId::new(ENDING), arguments, want: Want::Act(act), seen: None }]
}

/// Whether an event is only about the call that ends a task.
fn is_of_ending(event: &Event) -> bool {
    matches!(event, Event::Call(CallEvent::Finished { message, .. }) if is_ending(message))
}

fn is_ending(message: &Message) -> bool {
    message.call.as_ref().is_some_and(|call| call.as_str() == ENDING)
}

/// A model's answer.
pub fn reply(session: SessionId, ticket: Ticket, text: &str, acts: &[Act]) -> Input {
    let call = |(n, act): (usize, &Act)| Call {
        id: CallId::new(format!("c-{}", n + 1)),
        arguments: serde_json::to_string(act).unwrap(),
        want: Want::Act(act.clone()),
        seen: None,
    };
    let calls = acts.iter().enumerate().map(call).collect();
    Input::Model(ModelInput::Replied {
        session,
        ticket,
        text: text.to_owned(),
        calls,
        model: "sonnet".to_owned(),
        usage: Usage::of(10, 5),
        read: Vec::new(),
    })
}

/// A person's answer.
pub fn answered(approval: &str, answer: Answer) -> Input {
    Input::Person(PersonInput::Answer {
        approval: ApprovalId::new(approval),
        answer,
        by: "dana".to_owned(),
        via: "cli".to_owned(),
    })
}

/// A person's no, with a reason.
pub fn no() -> Answer {
    Answer::Rejected { reason: "too risky".to_owned() }
}

/// A person's mark.
pub fn marked(task: &TaskId, mark: Mark) -> Input {
    Input::File(FileInput::TaskMarked { task: task.clone(), mark, why: String::new(), by: "dana".to_owned() })
}

/// A person's words.
pub fn written(session: Option<&SessionId>, agent: &str, text: &str) -> Input {
    Input::Person(PersonInput::Say {
        session: session.cloned(),
        agent: AgentId::new(agent),
        text: text.to_owned(),
        urgency: Default::default(),
        by: "dana".to_owned(),
        in_file: false,
    })
}

/// Read a file.
pub fn read(path: &str) -> Act {
    Act::read_file(path)
}

/// Run a command: `df -h` is allowed and only reads, `touch counter` is allowed once, others are asked.
pub fn run(command: &str) -> Act {
    Act::ExecuteCommand(ExecuteCommand { command: command.to_owned() })
}

/// Say something to an agent.
pub fn tell(to: &str, content: &str) -> Act {
    Act::send_message(AgentId::new(to), content)
}

/// Make a task.
pub fn create(title: &str, assignee: &str, depends_on: &[&str]) -> Act {
    Act::CreateTask(CreateTask {
        title: title.to_owned(),
        description: String::new(),
        assignee: Some(AgentId::new(assignee)),
        depends_on: depends_on.iter().map(|id| TaskId::new(*id)).collect(),
        parent: None,
        tags: Vec::new(),
        tag: None,
        priority: None,
        approval_required: false,
        done_when: None,
        with_results: Vec::new(),
    })
}

/// End a task.
pub fn update(task: &TaskId, status: Mark, result: &str) -> Act {
    Act::UpdateTask(UpdateTask {
        id: task.clone(),
        status: Some(status),
        result: Some(result.to_owned()),
        title: None,
        assignee: None,
        priority: None,
        depends_on: None,
    })
}

/// What happened, in one line: kinds of events, with what matters most about each.
pub fn line(events: &[Event]) -> String {
    events.iter().map(short).collect::<Vec<_>>().join(" ")
}

fn short(event: &Event) -> String {
    let kind = event.kind();
    match event {
        Event::Session(SessionEvent::Moved { to: Lifecycle::Complete, failed: true, .. }) => {
            "failed".to_owned()
        }
        Event::Session(SessionEvent::Moved { to, .. }) => to.as_str().to_owned(),
        Event::Task(TaskEvent::Ended { task, end, .. }) => format!("{task}:{}", end.mark().as_str()),
        Event::Call(CallEvent::Finished { finish, .. }) => format!("{kind}:{}", finish_word(finish)),
        Event::Approval(ApprovalEvent::Ended { outcome, .. }) => {
            use domain::approval::Outcome;
            let word = match outcome {
                Outcome::Answered { answer: Answer::Approved, .. } => "approved",
                Outcome::Answered { answer: Answer::Rejected { .. }, .. } => "rejected",
                Outcome::Expired => "expired",
                Outcome::Withdrawn { .. } => "withdrawn",
            };
            format!("{kind}:{word}")
        }
        _ => kind.to_owned(),
    }
}

fn finish_word(finish: &Finish) -> &'static str {
    match finish {
        Finish::Done => "done",
        Finish::Failed => "failed",
        Finish::Refused { .. } => "refused",
        Finish::Unknown => "unknown",
        Finish::Dropped => "dropped",
    }
}
