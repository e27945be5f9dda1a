//! One event of each kind, and more where a kind has several forms.

use std::collections::BTreeMap;

use domain::agent;
use domain::approval::{Answer, Outcome, Request};
use domain::budget::charge::{Raise, Sum};
use domain::budget::{Cap, Hold, Payer};
use domain::context::{Access, Pass};
use domain::delegation::{Delegation, Hands, Status};
use domain::event::{
    AgentEvent, ApprovalEvent, BudgetEvent, CallEvent, DelegationEvent, LockEvent, NoticeEvent, OutageEvent,
    ReviewEvent, SessionEvent, SystemEvent, TaskEvent, TrustEvent, TurnEvent,
};
use domain::event::{Bill, Event, Finish, Found, FoundCall, Tail};
use domain::evidence::Evidence;
use domain::id::{
    AgentId, ApprovalId, CallId, DelegationId, LockName, MessageId, ReviewId, SessionId, TaskId, Time,
};
use domain::label::Label;
use domain::lifecycle::Lifecycle;
use domain::lock::{Freed, Grant};
use domain::message::{Envelope, Kind, Question, Urgency};
use domain::notice::Receiver;
use domain::review::{Check, Move, Place, Review, Stage};
use domain::role::{Permission, Role};
use domain::session::{Head, Message, Speaker};
use domain::settings::{ModelRef, Provider, Settings};
use domain::spawn::Origin;
use domain::state::{Deadline, Parked, Requester};
use domain::task::{Change, End, Mark, Priority, Spec};
use domain::tool::foreign::Offer;
use domain::tool::{
    Act, Call, CreateDirectory, CreateTask, Delegate, EmailSend, ExecuteCommand, ListDirectory, ListSessions,
    MemorySearch, Permit, QueryTasks, RaiseBudget, ReadFile, ReadSession, SearchFiles, Seen, SlackRead,
    SlackSend, UpdateTask, Want, WriteFile,
};
use domain::usage::{Spent, Usage};
use policy::{CommandRule, CommandVerdict, Nature, Policy, Risk};

/// All samples, by kind. The compiler asks for a new arm in `after` when a kind is added.
pub fn all() -> Vec<(&'static str, Vec<Event>)> {
    let mut kinds = Vec::new();
    let mut at = after(None);
    while let Some(events) = at {
        let first = events.first().expect("a kind has a sample").clone();
        kinds.push((first.kind(), events));
        at = after(Some(&first));
    }
    kinds
}

fn after(event: Option<&Event>) -> Option<Vec<Event>> {
    Some(match event {
        None => vec![Event::System(SystemEvent::Started)],
        Some(Event::System(SystemEvent::Started)) => settings(),
        Some(Event::System(SystemEvent::SettingsChanged { .. })) => policies(),
        Some(Event::System(SystemEvent::PolicyChanged { .. })) => vec![tools_found()],
        Some(Event::System(SystemEvent::ToolsFound { .. })) => agents(),
        Some(Event::Agent(AgentEvent::Defined { .. })) => {
            vec![Event::Agent(AgentEvent::Retired { agent: me() })]
        }
        Some(Event::Agent(AgentEvent::Retired { .. })) => spawned(),
        Some(Event::Agent(AgentEvent::Spawned { .. })) => terminated(),
        Some(Event::Agent(AgentEvent::Terminated { .. })) => vec![cleaned()],
        Some(Event::Agent(AgentEvent::Cleaned { .. })) => {
            vec![Event::Agent(AgentEvent::CleaningResumed { agent: me() })]
        }
        Some(Event::Agent(AgentEvent::CleaningResumed { .. })) => vec![dropped()],
        Some(Event::System(SystemEvent::DeadlineDropped { .. })) => vec![line_taken()],
        Some(Event::System(SystemEvent::LineTaken { .. })) => tasks(),
        Some(Event::Task(TaskEvent::Added { .. })) => edits(),
        Some(Event::Task(TaskEvent::Edited { .. })) => {
            vec![Event::Task(TaskEvent::Started { task: task_id(), session: session() })]
        }
        Some(Event::Task(TaskEvent::Started { .. })) => endings(),
        Some(Event::Task(TaskEvent::Ended { .. })) => receivers(),
        Some(Event::Notice(NoticeEvent::Told { .. })) => {
            vec![Event::Task(TaskEvent::Reopened { task: task_id(), by: domain::Actor::person("dana") })]
        }
        Some(Event::Task(TaskEvent::Reopened { .. })) => {
            heads().into_iter().map(|head| Event::Session(SessionEvent::Opened { head })).collect()
        }
        Some(Event::Session(SessionEvent::Opened { .. })) => adoptions(),
        Some(Event::Session(SessionEvent::Adopted { .. })) => {
            vec![Event::Approval(ApprovalEvent::Found { next: 42 })]
        }
        Some(Event::Approval(ApprovalEvent::Found { .. })) => {
            vec![Event::System(SystemEvent::IdsFound { delegations: 7, reviews: 3 })]
        }
        Some(Event::System(SystemEvent::IdsFound { .. })) => ties(),
        Some(Event::Session(SessionEvent::TiesFound { .. })) => {
            vec![Event::Session(SessionEvent::Cut {
                session: session(),
                next_message: 3,
                tail: Tail::Unanswered,
            })]
        }
        Some(Event::Session(SessionEvent::Cut { .. })) => {
            vec![Event::Session(SessionEvent::Reopened { session: session() })]
        }
        Some(Event::Session(SessionEvent::Reopened { .. })) => messages(),
        Some(Event::Session(SessionEvent::MessageAdded { .. })) => {
            vec![Event::Session(SessionEvent::MessageEdited {
                session: session(),
                message: MessageId::new("m-0001"),
            })]
        }
        Some(Event::Session(SessionEvent::MessageEdited { .. })) => moves(),
        Some(Event::Session(SessionEvent::Moved { .. })) => {
            vec![Event::Turn(TurnEvent::Begun { session: session(), turn: 2 })]
        }
        Some(Event::Turn(TurnEvent::Begun { .. })) => failures(),
        Some(Event::Turn(TurnEvent::Failed { .. })) => {
            vec![Event::Turn(TurnEvent::Retried {
                session: session(),
                reason: "the time to wait is over".to_owned(),
            })]
        }
        Some(Event::Turn(TurnEvent::Retried { .. })) => {
            vec![Event::Turn(TurnEvent::Outgrown { session: session(), tokens_in: 5_000 })]
        }
        Some(Event::Turn(TurnEvent::Outgrown { .. })) => {
            vec![Event::Turn(TurnEvent::Unsummarised { session: session() })]
        }
        Some(Event::Turn(TurnEvent::Unsummarised { .. })) => replies(),
        Some(Event::Turn(TurnEvent::Replied { .. })) => summaries(),
        Some(Event::Turn(TurnEvent::Summarised { .. })) => clearances(),
        Some(Event::Call(CallEvent::Cleared { .. })) => {
            vec![Event::Call(CallEvent::LookWanted { session: session(), call: call_id() })]
        }
        Some(Event::Call(CallEvent::LookWanted { .. })) => {
            let seen = Seen { sandbox: true, notes: vec!["package.json".to_owned()], ..Seen::default() };
            [None, Some(seen)]
                .map(|seen| Event::Call(CallEvent::Looked { session: session(), call: call_id(), seen }))
                .to_vec()
        }
        Some(Event::Call(CallEvent::Looked { .. })) => {
            vec![Event::Call(CallEvent::Retried { session: session(), call: call_id() })]
        }
        Some(Event::Call(CallEvent::Retried { .. })) => {
            let asked = |request| Event::Approval(ApprovalEvent::Asked { request: Box::new(request) });
            vec![asked(request()), asked(question())]
        }
        Some(Event::Approval(ApprovalEvent::Asked { .. })) => {
            let (correlation, due) = ("coder-001-abc123/m-0004.1".to_owned(), Time(1_700_000_001_000));
            vec![Event::Call(CallEvent::Awaited { session: session(), call: call_id(), correlation, due })]
        }
        Some(Event::Call(CallEvent::Awaited { .. })) => finishes(),
        Some(Event::Call(CallEvent::Finished { .. })) => outcomes(),
        Some(Event::Approval(ApprovalEvent::Ended { .. })) => {
            let (path, by) = ("memory/a.md".to_owned(), "dana".to_owned());
            vec![Event::Trust(TrustEvent::FileTrusted { path, digest: "00ff".to_owned(), by })]
        }
        Some(Event::Trust(TrustEvent::FileTrusted { .. })) => {
            let label = Label::outside("inbox/slack.jsonl:7");
            let labels = std::collections::BTreeMap::from([("workspaces/a/b.md".to_owned(), label)]);
            vec![Event::Trust(TrustEvent::Found { labels })]
        }
        Some(Event::Trust(TrustEvent::Found { .. })) => usage_found(),
        Some(Event::Budget(BudgetEvent::Found { .. })) => {
            let evidence = vec![Evidence::Command("cargo test".to_owned()), Evidence::Approval];
            vec![Event::Task(TaskEvent::Verified { task: task_id(), evidence })]
        }
        Some(Event::Task(TaskEvent::Verified { .. })) => vec![demanded()],
        Some(Event::Turn(TurnEvent::EvidenceDemanded { .. })) => {
            vec![Event::Turn(TurnEvent::Reminded { session: session() })]
        }
        Some(Event::Turn(TurnEvent::Reminded { .. })) => costs(),
        Some(Event::Budget(BudgetEvent::Spent { .. })) => delegations(),
        Some(Event::Delegation(DelegationEvent::Made { .. })) => reservations(),
        Some(Event::Budget(BudgetEvent::Reserved { .. })) => parkings(),
        Some(Event::Budget(BudgetEvent::Parked { .. })) => {
            vec![Event::Budget(BudgetEvent::Resumed { session: session() })]
        }
        Some(Event::Budget(BudgetEvent::Resumed { .. })) => {
            let (limit, reason) = ("budgets.month".to_owned(), "all of it is spent".to_owned());
            let parked = Parked { limit, reason, until: None, held: false, need: Cap::default() };
            vec![Event::Budget(BudgetEvent::TaskParked { task: task_id(), parked })]
        }
        Some(Event::Budget(BudgetEvent::TaskParked { .. })) => {
            vec![Event::Budget(BudgetEvent::TaskResumed { task: task_id() })]
        }
        Some(Event::Budget(BudgetEvent::TaskResumed { .. })) => {
            let cap = Cap { tokens: Some(200_000), money: Some(2_500_000) };
            let (budget, approval) = ("budgets.day".to_owned(), ApprovalId::new("approval-0007"));
            vec![Event::Budget(BudgetEvent::Raised { budget, cap, approval })]
        }
        Some(Event::Budget(BudgetEvent::Raised { .. })) => provider_failures(),
        Some(Event::Outage(OutageEvent::Failed { place, .. })) => {
            let (place, due) = (place.clone(), Time(1_700_000_060_000));
            vec![Event::Outage(OutageEvent::Due { place, due, open: true })]
        }
        Some(Event::Outage(OutageEvent::Due { place, .. })) => {
            vec![Event::Outage(OutageEvent::Tried { place: place.clone(), session: session() })]
        }
        Some(Event::Outage(OutageEvent::Tried { place, .. })) => {
            vec![Event::Outage(OutageEvent::Ended { place: place.clone() })]
        }
        Some(Event::Outage(OutageEvent::Ended { .. })) => [None, Some("small".to_owned())]
            .map(|fallback| Event::Outage(OutageEvent::Switched { session: session(), fallback }))
            .to_vec(),
        Some(Event::Outage(OutageEvent::Switched { .. })) => {
            let (provider, error) = ("openai".to_owned(), "the key is missing or wrong".to_owned());
            vec![Event::Outage(OutageEvent::Denied { session: session(), provider, error })]
        }
        Some(Event::Outage(OutageEvent::Denied { .. })) => crashes(),
        Some(Event::Delegation(DelegationEvent::Crashed { .. })) => reviews(),
        Some(Event::Review(ReviewEvent::Asked { .. })) => review_moves(),
        Some(Event::Review(ReviewEvent::Moved { .. })) => lock_waits(),
        Some(Event::Lock(LockEvent::Awaited { .. })) => lock_grants(),
        Some(Event::Lock(LockEvent::Granted { .. })) => lock_ends(),
        Some(Event::Lock(LockEvent::Freed { .. })) => return None,
    })
}

fn demanded() -> Event {
    let evidence = Evidence::File("artifacts/a.md".to_owned());
    let act = Act::Check(domain::tool::Check { task: task_id(), evidence, result: "it is done".to_owned() });
    let call = Call { id: call_id(), arguments: "{}".to_owned(), want: Want::Act(act), seen: None };
    let message = Message { calls: vec![call], ..message(Speaker::Assistant, "synod", "") };
    Event::Turn(TurnEvent::EvidenceDemanded { session: session(), message })
}

fn dropped() -> Event {
    let what = Deadline::Delegation(DelegationId::new("delegation-0002"));
    Event::System(SystemEvent::DeadlineDropped { due: Time(1_700_000_001_000), what })
}

fn failures() -> Vec<Event> {
    vec![
        Event::Turn(TurnEvent::Failed {
            session: session(),
            reason: "429".to_owned(),
            due: Time(1_700_000_001_000),
            fallback: None,
        }),
        Event::Turn(TurnEvent::Failed {
            session: session(),
            reason: "429; haiku is asked".to_owned(),
            due: Time(1_700_000_000_000),
            fallback: Some("haiku".to_owned()),
        }),
    ]
}

fn reviews() -> Vec<Event> {
    let place = Place {
        branch: "agent/coder-001".to_owned(),
        target: "main".to_owned(),
        commit: "5f3c".repeat(10),
        base: "a01b".repeat(10),
    };
    let first = Review {
        id: ReviewId::new("review-0001"),
        author: AgentId::new("coder-001"),
        reviewer: AgentId::new("reviewer-001"),
        about: None,
        title: "Add a greeting".to_owned(),
        session: session(),
        call: call_id(),
        task: task_id(),
        place,
        round: 1,
        stage: Stage::Asked,
        checks: BTreeMap::new(),
    };
    let checks = BTreeMap::from([(Check::Lint, true), (Check::Test, false)]);
    let rejected = Stage::Rejected { issues: vec!["it greets nobody".to_owned()] };
    let stages = [
        rejected,
        Stage::Approved,
        Stage::Conflicted { files: vec!["greet.sh".to_owned()] },
        Stage::Merged { merge: "77aa".repeat(10) },
        Stage::Lapsed,
    ];
    let later = stages.map(|stage| Review {
        about: Some(task_id()),
        round: 2,
        stage,
        checks: checks.clone(),
        ..first.clone()
    });
    [first]
        .into_iter()
        .chain(later)
        .map(|review| Event::Review(ReviewEvent::Asked { review: Box::new(review) }))
        .collect()
}

fn review_moves() -> Vec<Event> {
    let moves = [
        Move::Checked { check: Check::Test, passed: true },
        Move::Approved,
        Move::Rejected { issues: vec!["it greets nobody".to_owned()] },
        Move::Merged { merge: "77aa".repeat(10) },
        Move::Conflicted { files: vec!["greet.sh".to_owned()] },
        Move::Lapsed,
    ];
    let event = |to: Move| {
        Event::Review(ReviewEvent::Moved {
            review: ReviewId::new("review-0001"),
            commit: "5f3c".repeat(10),
            to,
            by: AgentId::new("reviewer-001"),
            session: session(),
        })
    };
    moves.map(event).into()
}

fn costs() -> Vec<Event> {
    let spent =
        Bill { model: "small".to_owned(), cache_read: 1, cache_write: 0, reasoning: 0, cost: Some(7) };
    vec![Event::Budget(BudgetEvent::Spent {
        session: session(),
        tokens_in: 90,
        tokens_out: 2,
        spent,
        call: None,
    })]
}

fn lock_name() -> LockName {
    LockName::new("file:memory/notes.md")
}

fn lock_waits() -> Vec<Event> {
    let due = Time(1_700_000_060_000);
    let wait = |kept| {
        Event::Lock(LockEvent::Awaited { name: lock_name(), session: session(), call: call_id(), kept, due })
    };
    vec![wait(false), wait(true)]
}

fn lock_grants() -> Vec<Event> {
    let grant = Grant { name: lock_name(), fence: 1_700_000_000_000 };
    let granted = |kept| {
        Event::Lock(LockEvent::Granted { grant: grant.clone(), session: session(), call: call_id(), kept })
    };
    vec![granted(false), granted(true)]
}

fn lock_ends() -> Vec<Event> {
    let ways = [Freed::Unlocked, Freed::Lapsed, Freed::Person { by: "dana".to_owned() }];
    ways.into_iter()
        .map(|why| Event::Lock(LockEvent::Freed { name: lock_name(), session: session(), why }))
        .collect()
}

fn provider_failures() -> Vec<Event> {
    [None, Some("large-1".to_owned())]
        .map(|model| {
            let place = domain::outage::Place { provider: "openai".to_owned(), model };
            let (error, due) = ("it cannot be reached".to_owned(), Time(1_700_000_001_000));
            Event::Outage(OutageEvent::Failed { place, session: session(), error, due })
        })
        .to_vec()
}

fn crashes() -> Vec<Event> {
    let (delegation, reason) = (DelegationId::new("delegation-0001"), "crashed".to_owned());
    vec![Event::Delegation(DelegationEvent::Crashed { delegation, reason, retried: true })]
}

fn parkings() -> Vec<Event> {
    let (limit, reason) = ("budgets.day".to_owned(), "all of it is spent".to_owned());
    let until = Some(Time(1_700_006_400_000));
    let parked = Parked { limit, reason, until, held: true, need: Cap::default() };
    let told = Parked { need: Cap { tokens: Some(5_896), money: None }, ..parked.clone() };
    [parked, told]
        .map(|parked| Event::Budget(BudgetEvent::Parked { session: session(), parked, expects: 1_800 }))
        .into()
}

fn reservations() -> Vec<Event> {
    let provider = Some("anthropic".to_owned());
    let payer = Payer { agent: me(), makers: Vec::new(), run: "task-001".to_owned(), provider };
    let hold = Hold { payer, tokens_in: 1_800, tokens_out: 4_096, money: Some(67_000), requests: 1 };
    vec![Event::Budget(BudgetEvent::Reserved { session: session(), call: Some(call_id()), hold })]
}

fn usage_found() -> Vec<Event> {
    let makers = vec![AgentId::new("planner-001")];
    let payer = Payer { agent: me(), makers, run: "task-001".to_owned(), provider: Some("cloud".to_owned()) };
    let (at, reserved) = (Time(1_700_000_000_000), Time(1_699_999_999_000));
    let usage = Usage { cache_read: 600, ..Usage::of(1_200, 50) };
    let spent = Spent { replies: 3, usage, cost: 12_300, unpriced: 1 };
    let (session, model) = (session(), "sonnet".to_owned());
    let sum = Sum { payer, session, task: Some(task_id()), model, at, reserved, spent };
    let cap = Cap { tokens: Some(200_000), money: None };
    let raised = vec![Raise { at, budget: "budgets.day".to_owned(), cap }];
    let plain = Sum { task: None, ..sum.clone() };
    vec![
        Event::Budget(BudgetEvent::Found { sums: vec![sum], raised }),
        Event::Budget(BudgetEvent::Found { sums: vec![plain], raised: Vec::new() }),
    ]
}

fn delegations() -> Vec<Event> {
    let first = Delegation {
        id: DelegationId::new("delegation-0001"),
        source: me(),
        target: AgentId::new("retriever-001"),
        tag: "ops:check".to_owned(),
        chain: vec![me(), AgentId::new("retriever-001")],
        request: task_id(),
        parent: None,
        task: task_id(),
        session: session(),
        call: call_id(),
        created: Time(1_700_000_000_000),
        callback: true,
        deadline: None,
        contexts: Vec::new(),
        work_ms_max: 60_000,
        worked_before_ms: 12,
        status: Status::Pending,
        started: None,
        completed: None,
        error: None,
    };
    let second = Delegation {
        id: DelegationId::new("delegation-0002"),
        parent: Some(task_id()),
        deadline: Some(Time(1_700_000_005_000)),
        status: Status::Running,
        ..first.clone()
    };
    let pass = |name: &str, access, redact| Pass { access, redact, ..Pass::to_read(name) };
    let third = Delegation {
        id: DelegationId::new("delegation-0003"),
        contexts: vec![
            pass("plan", Access::ReadWrite, Vec::new()),
            pass("customers", Access::Read, vec!["customer.email".to_owned()]),
        ],
        ..first.clone()
    };
    [first, second, third]
        .map(|delegation| Event::Delegation(DelegationEvent::Made { delegation: Box::new(delegation) }))
        .into()
}

fn summaries() -> Vec<Event> {
    let through = Some(MessageId::new("m-0040"));
    let said = message(Speaker::System, "synod", "The disk was full; logs were rotated.");
    let label = Label::outside("inbox/slack.jsonl:7");
    let message = Message { summary_through: through, label, ..said };
    let spent =
        Bill { model: "haiku".to_owned(), cache_read: 5, cache_write: 0, reasoning: 0, cost: Some(12) };
    vec![Event::Turn(TurnEvent::Summarised {
        session: session(),
        message,
        tokens_in: 900,
        tokens_out: 60,
        spent,
    })]
}

fn me() -> AgentId {
    AgentId::new("executor-001")
}

fn session() -> SessionId {
    SessionId::new("executor-001-0a1b2c")
}

fn task_id() -> TaskId {
    TaskId::new("task-003")
}

fn call_id() -> CallId {
    CallId::new("call_9")
}

fn tools_found() -> Event {
    let found = Offer {
        name: "tracker__list".to_owned(),
        description: "List issues.".to_owned(),
        schema: serde_json::json!({"type": "object"}),
        needs: Some(Permission::ExecuteTools),
        nature: Nature::Read,
        outward: false,
    };
    Event::System(SystemEvent::ToolsFound { server: "tracker".to_owned(), tools: vec![found] })
}

fn settings() -> Vec<Event> {
    let mut full = Settings::default();
    full.providers.insert("local".to_owned(), Provider::Scripted { script: "script.yaml".to_owned() });
    full.models.insert(
        "sonnet".to_owned(),
        ModelRef {
            provider: "local".to_owned(),
            model: "m-1".to_owned(),
            context_tokens: None,
            max_tokens: None,
        },
    );
    full.routing.inbox.insert("slack".to_owned(), me());
    full.routing.tags.push(("ops:*".to_owned(), me()));
    full.routing.fallback = Some(me());
    full.approvals.expire_ms = Some(86_400_000);
    let role = Role { permissions: Permission::ALL.into_iter().collect(), tools: vec!["*_file".to_owned()] };
    full.roles.insert("keeper".to_owned(), role);
    [Settings::default(), full]
        .map(|settings| Event::System(SystemEvent::SettingsChanged { settings: Box::new(settings) }))
        .into()
}

fn policies() -> Vec<Event> {
    let rule = |verdict, nature| CommandRule { nature, ..CommandRule::new(verdict) };
    let commands = [
        ("df -h".to_owned(), rule(CommandVerdict::Allow, Nature::Read)),
        ("make".to_owned(), rule(CommandVerdict::Ask, Nature::Idempotent)),
        ("rm -rf /".to_owned(), rule(CommandVerdict::Deny, Nature::Once)),
    ];
    vec![Event::System(SystemEvent::PolicyChanged { policy: Policy { commands: commands.into() } })]
}

fn agents() -> Vec<Event> {
    let unbounded = agent::Spec::new(me(), "executor", "sonnet");
    let mut plain = unbounded.clone();
    plain.permissions.delegation.max_delegation_depth = Some(3);
    let mut full = plain.clone();
    full.name = Some("Executor".to_owned());
    full.description = "Runs commands".to_owned();
    full.model.fallback = Some("haiku".to_owned());
    full.model.temperature = Some(0.5);
    full.model.max_tokens = Some(4096);
    full.model.thinking = Some("high".to_owned());
    full.system_prompt = "You run commands.\n".to_owned();
    full.capabilities = vec!["read_file".to_owned()];
    full.expertise = vec!["linux".to_owned()];
    full.responsibilities = vec!["ops:*".to_owned()];
    full.permissions.tools.allow = Some(vec!["*_file".to_owned()]);
    full.permissions.tools.deny = vec!["slack_send".to_owned()];
    full.permissions.delegation.can_delegate = true;
    full.permissions.delegation.allowed_targets = Some(vec!["retriever-001".to_owned()]);
    full.permissions.delegation.allowed_tags = Some(vec!["ops:*".to_owned()]);
    full.permissions.can_access_context = Some(false);
    full.permissions.max_tokens_per_call = Some(1024);
    full.workspace = Some(agent::Workspace {
        repo: Some("../service".to_owned()),
        branch: Some("agent/x".to_owned()),
        ..agent::Workspace::default()
    });
    full.metadata.insert("version".to_owned(), "1.0".to_owned());
    let mut listening = plain.clone();
    listening.channels = vec!["ops".to_owned(), "alerts".to_owned()];
    [plain, full, listening, unbounded]
        .map(|spec| Event::Agent(AgentEvent::Defined { spec: Box::new(spec) }))
        .into()
}

fn cleaned() -> Event {
    let kept = vec!["workspaces/coder-1a2b3c4d is kept: 2 of its files are not committed".to_owned()];
    Event::Agent(AgentEvent::Cleaned { agent: AgentId::new("coder-1a2b3c4d"), kept })
}

fn line_taken() -> Event {
    Event::System(SystemEvent::LineTaken { source: "inbox/slack.jsonl".to_owned(), line: 7 })
}

fn spawned() -> Vec<Event> {
    let mut spec = agent::Spec::new(AgentId::new("coder-1a2b3c4d"), "coder", "sonnet");
    spec.permissions.delegation.max_delegation_depth = Some(3);
    spec.spawned_by = Some(Origin::Agents(vec![me(), AgentId::new("planner-001")]));
    let by_agent =
        Event::Agent(AgentEvent::Spawned { spec: Box::new(spec.clone()), session: Some(session()) });
    spec.spawned_by = Some(Origin::Person("dana".to_owned()));
    vec![by_agent, Event::Agent(AgentEvent::Spawned { spec: Box::new(spec), session: None })]
}

fn terminated() -> Vec<Event> {
    let (agent, by, reason) = (AgentId::new("coder-1a2b3c4d"), "agent:planner-001", "no longer needed");
    let (by, reason) = (domain::Actor::from(by), reason.to_owned());
    vec![Event::Agent(AgentEvent::Terminated { agent, by, reason, session: Some(session()) })]
}

fn full_spec() -> Spec {
    let mut spec = Spec::new(task_id(), "tasks/disk.task.md", "Check the \"disk\"");
    spec.text = "Look at /var.\nTwice.".to_owned();
    spec.assignee = Some(me());
    spec.priority = Some(Priority::A);
    spec.tags = vec!["docker".to_owned()];
    spec.tag = Some("ops:check".to_owned());
    spec.parent = Some(TaskId::new("task-001"));
    spec.depends_on = vec![TaskId::new("task-002")];
    spec.approval_required = true;
    spec.properties.insert("source".to_owned(), "inbox/slack.jsonl:7".to_owned());
    spec
}

fn tasks() -> Vec<Event> {
    let plain = Spec::new(TaskId::new("task-001"), "tasks/x.task.md", "Look");
    [
        (plain.clone(), Requester::Person { name: "dana".to_owned() }, true),
        (full_spec(), Requester::Inbox { source: "inbox/slack.jsonl:7".to_owned() }, false),
        (plain, Requester::Session { session: session() }, false),
    ]
    .map(|(spec, by, in_file)| Event::Task(TaskEvent::Added { spec: Box::new(spec), by, in_file }))
    .into()
}

fn edits() -> Vec<Event> {
    let spec = full_spec();
    [
        Change::Title(spec.title),
        Change::Text(spec.text),
        Change::Assignee(spec.assignee),
        Change::Assignee(None),
        Change::Priority(Some(Priority::F)),
        Change::Tags(spec.tags),
        Change::Tag(spec.tag),
        Change::Parent(spec.parent),
        Change::DependsOn(spec.depends_on),
        Change::ApprovalRequired(true),
        Change::Properties(BTreeMap::from([("key".to_owned(), "value".to_owned())])),
        Change::Label(Label::outside("inbox/mail.jsonl:1")),
    ]
    .map(|change| Event::Task(TaskEvent::Edited { task: task_id(), change, in_file: true }))
    .into()
}

fn endings() -> Vec<Event> {
    [(End::Done, "92 % full"), (End::Failed, "no disk"), (End::Cancelled, "")]
        .map(|(end, result)| {
            Event::Task(TaskEvent::Ended {
                task: task_id(),
                end,
                result: result.to_owned(),
                by: domain::Actor::from("agent:executor-001"),
                session: (end == End::Failed).then(session),
                found: end == End::Cancelled,
            })
        })
        .into()
}

fn receivers() -> Vec<Event> {
    [Receiver::Session(session()), Receiver::Agent(me())]
        .map(|receiver| Event::Notice(NoticeEvent::Told { receiver }))
        .into()
}

fn head(task: Option<TaskId>) -> Head {
    Head {
        session: session(),
        agent: me(),
        role: "executor".to_owned(),
        model: "sonnet".to_owned(),
        system_prompt: "You run commands.\n".to_owned(),
        task,
        created: Time(1_700_000_000_000),
    }
}

fn heads() -> [Box<Head>; 2] {
    [Box::new(head(Some(task_id()))), Box::new(head(None))]
}

fn adoptions() -> Vec<Event> {
    let found = [Found::Finished, Found::Nothing, Found::Pending, Found::Approved, Found::Rejected]
        .map(|found| FoundCall { call: call(Act::read_file("a")), found });
    let adopted = |lifecycle, failed, tail| {
        Event::Session(SessionEvent::Adopted {
            label: Label::default(),
            head: Box::new(head(None)),
            lifecycle,
            failed,
            next_message: 5,
            tail,
        })
    };
    vec![
        adopted(Lifecycle::Blocked, false, Tail::Calls { said: "I look".to_owned(), calls: found.into() }),
        adopted(Lifecycle::Waiting, false, Tail::Answered),
        adopted(Lifecycle::Complete, true, Tail::Unanswered),
    ]
}

fn message(speaker: Speaker, from: &str, content: &str) -> Message {
    Message {
        id: MessageId::new("m-0002"),
        at: Time(1_700_000_000_000),
        speaker,
        from: (!from.is_empty()).then(|| domain::Actor::from(from)),
        content: content.to_owned(),
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: None,
        is_error: false,
        envelope: None,
        label: Default::default(),
    }
}

fn ties() -> Vec<Event> {
    let hands = Hands { chain: vec![me()], approval_required: true };
    let name = "coder-001-abc123/m-0004.1".to_owned();
    let requests = vec![Question { name, kind: Kind::Request }];
    let cause = Some(SessionId::new("coder-001-abc123"));
    vec![
        Event::Session(SessionEvent::TiesFound {
            session: session(),
            hands,
            requests: Vec::new(),
            cause: None,
        }),
        Event::Session(SessionEvent::TiesFound {
            session: session(),
            hands: Hands::default(),
            requests,
            cause,
        }),
    ]
}

fn messages() -> Vec<Event> {
    let said = message(Speaker::User, "person:dana", "is it fine?\n");
    let name = Some("coder-001-abc123/m-0004.1".to_owned());
    let envelope = Envelope {
        kind: Kind::Response,
        broadcast: true,
        channel: None,
        priority: Urgency::Critical,
        correlation_id: name.clone(),
        in_reply_to: name,
        approved: Some(false),
        issues: vec!["no test".to_owned()],
        awaited: true,
        cause: Some(session()),
        hands: Default::default(),
    };
    let sent =
        Message { envelope: Some(Box::new(envelope)), ..message(Speaker::User, "agent:coder-001", "no") };
    let envelope = Envelope { channel: Some("ops".to_owned()), ..Envelope::default() };
    let on_channel = Message { envelope: Some(Box::new(envelope)), ..said.clone() };
    let coder = AgentId::new("coder-001");
    let hands = Hands { chain: vec![me(), coder], approval_required: false };
    let envelope = Envelope { hands, ..Envelope::default() };
    let for_a_chain =
        Message { envelope: Some(Box::new(envelope)), ..message(Speaker::User, "agent:coder-001", "look") };
    let envelope = Envelope { kind: Kind::HelpRequest, ..Envelope::default() };
    let for_help =
        Message { envelope: Some(Box::new(envelope)), ..message(Speaker::User, "agent:coder-001", "help") };
    vec![
        Event::Session(SessionEvent::MessageAdded {
            session: session(),
            message: said.clone(),
            asker: None,
            in_file: true,
        }),
        Event::Session(SessionEvent::MessageAdded {
            session: session(),
            message: said,
            asker: Some(session()),
            in_file: false,
        }),
        Event::Session(SessionEvent::MessageAdded {
            session: session(),
            message: sent,
            asker: None,
            in_file: false,
        }),
        Event::Session(SessionEvent::MessageAdded {
            session: session(),
            message: on_channel,
            asker: None,
            in_file: false,
        }),
        Event::Session(SessionEvent::MessageAdded {
            session: session(),
            message: for_a_chain,
            asker: None,
            in_file: false,
        }),
        Event::Session(SessionEvent::MessageAdded {
            session: session(),
            message: for_help,
            asker: None,
            in_file: false,
        }),
    ]
}

fn moves() -> Vec<Event> {
    let mut events: Vec<Event> = Lifecycle::ALL
        .map(|to| {
            Event::Session(SessionEvent::Moved {
                session: session(),
                task: None,
                to,
                failed: false,
                reason: "because".to_owned(),
            })
        })
        .into();
    events.push(Event::Session(SessionEvent::Moved {
        session: session(),
        task: Some(task_id()),
        to: Lifecycle::Complete,
        failed: true,
        reason: "limits.turns_max".to_owned(),
    }));
    events
}

fn call(act: Act) -> Call {
    let json = serde_json::to_value(&act).expect("an act is JSON");
    Call { id: call_id(), arguments: json["arguments"].to_string(), want: Want::Act(act), seen: None }
}

fn acts() -> Vec<Act> {
    let text = |text: &str| text.to_owned();
    vec![
        Act::read_file("a"),
        Act::ListDirectory(ListDirectory { path: text("memory") }),
        Act::SearchFiles(SearchFiles { query: text("disk"), path: Some(text("memory")) }),
        Act::WriteFile(WriteFile { path: text("a"), content: text("b\n") }),
        Act::CreateDirectory(CreateDirectory { path: text("c") }),
        Act::ExecuteCommand(ExecuteCommand { command: text("df -h") }),
        Act::CreateTask(CreateTask {
            title: text("Look"),
            description: text("closely"),
            assignee: Some(me()),
            depends_on: vec![task_id()],
            parent: Some(task_id()),
            tags: vec![text("docker")],
            tag: Some(text("ops:check")),
            priority: Some(Priority::B),
            approval_required: true,
            done_when: None,
            with_results: Vec::new(),
        }),
        Act::UpdateTask(UpdateTask {
            id: task_id(),
            status: Some(Mark::Done),
            result: Some(text("fine")),
            title: Some(text("Look")),
            assignee: Some(me()),
            priority: Some(Priority::D),
            depends_on: None,
        }),
        Act::QueryTasks(QueryTasks { sql: text("SELECT 1") }),
        Act::send_message(me(), "hello"),
        Act::SlackRead(SlackRead { limit: Some(5) }),
        Act::SlackSend(SlackSend { channel: text("#ops"), text: text("fine") }),
    ]
}

fn later_acts() -> Vec<Act> {
    let text = |text: &str| text.to_owned();
    vec![
        Act::ReadFile(ReadFile { path: text("a"), from_line: Some(200), lines: Some(50) }),
        Act::MemorySearch(MemorySearch { query: text("disk"), limit: Some(3) }),
        Act::ListSessions(ListSessions {
            agent: Some(me()),
            status: Some(domain::session::Status::Sleeping),
            limit: Some(5),
        }),
        Act::ReadSession(ReadSession { session: session(), last: Some(9) }),
        Act::EmailSend(EmailSend { to: text("dana@example.org"), subject: text("Disk"), text: text("fine") }),
    ]
}

fn handing_on() -> Act {
    let to = AgentId::new("retriever-001");
    Act::Delegate(Delegate {
        to,
        tag: "ops:check".to_owned(),
        task: "look".to_owned(),
        payload: None,
        callback: None,
        with_results: Vec::new(),
        deadline_ms: Some(5_000),
        contexts: Vec::new(),
    })
}

fn replies() -> Vec<Event> {
    let invalid = Want::Invalid { tool: "fly".to_owned(), error: "there is no tool fly".to_owned() };
    let invalid = Call { id: CallId::new("call_10"), arguments: "{".to_owned(), want: invalid, seen: None };
    let calls: Vec<Call> = acts().into_iter().map(call).chain([invalid]).collect();
    let bill =
        |cost| Bill { model: "sonnet".to_owned(), cache_read: 80, cache_write: 20, reasoning: 7, cost };
    let plain = Bill { cache_read: 0, cache_write: 0, reasoning: 0, ..bill(Some(0)) };
    let mut all = [
        (Vec::new(), None),
        (calls, None),
        (Vec::new(), Some(bill(Some(1_234)))),
        (Vec::new(), Some(bill(None))),
        (Vec::new(), Some(plain)),
        (later_acts().into_iter().map(call).collect(), None),
        (vec![call(handing_on())], None),
    ]
    .map(|(calls, spent)| {
        Event::Turn(TurnEvent::Replied {
            session: session(),
            message: Message { calls, ..message(Speaker::Assistant, "", "I look") },
            tokens_in: 120,
            tokens_out: 34,
            spent,
        })
    })
    .to_vec();
    let read_through = Some(MessageId::new("m-0001"));
    all.push(Event::Turn(TurnEvent::Replied {
        session: session(),
        message: Message { read_through, ..message(Speaker::Assistant, "", "I look") },
        tokens_in: 120,
        tokens_out: 34,
        spent: None,
    }));
    all
}

fn clearances() -> Vec<Event> {
    [Nature::Read, Nature::Idempotent, Nature::Once]
        .map(|nature| {
            Event::Call(CallEvent::Cleared {
                approval: None,
                permit: Permit::NONE,
                session: session(),
                call: call_id(),
                rule: "its own workspace".to_owned(),
                nature,
            })
        })
        .into()
}

fn request() -> Request {
    let act = Act::ExecuteCommand(ExecuteCommand { command: "make deploy".to_owned() });
    Request {
        id: ApprovalId::new("approval-0001"),
        agent: me(),
        session: session(),
        call: call_id(),
        task: Some(task_id()),
        seen: None,
        permit: Permit::NONE,
        label: Default::default(),
        chain: Vec::new(),
        escalates: None,
        digest: act.digest(None, Permit::NONE),
        act,
        why: "I need this".to_owned(),
        risk: Risk::Critical,
        factors: vec!["rule: commands are asked".to_owned()],
        created: Time(1_700_000_000_000),
        expires: Some(Time(1_700_000_060_000)),
    }
}

/// What a budget asks, which is about no call.
fn question() -> Request {
    let (budget, tokens, money) = ("budgets.day".to_owned(), Some(200_000), None);
    let act = Act::RaiseBudget(RaiseBudget { budget, tokens, money });
    let (session, call) = (SessionId::new(""), CallId::new(""));
    let digest = act.digest(None, Permit::NONE);
    let agent = AgentId::new("synod");
    Request { agent, session, call, task: None, digest, act, expires: None, ..request() }
}

fn finishes() -> Vec<Event> {
    [
        Finish::Done,
        Finish::Failed,
        Finish::Refused { rule: "limits.calls_max".to_owned() },
        Finish::Unknown,
        Finish::Dropped,
    ]
    .map(|finish| {
        Event::Call(CallEvent::Finished {
            wrote: Vec::new(),
            session: session(),
            finish,
            message: Message { call: Some(call_id()), ..message(Speaker::ToolResult, "", "92 %") },
        })
    })
    .into()
}

fn outcomes() -> Vec<Event> {
    let answered = |answer| Outcome::Answered { answer, by: "dana".to_owned(), via: "cli".to_owned() };
    [
        answered(Answer::Approved),
        answered(Answer::Rejected { reason: "too risky".to_owned() }),
        Outcome::Expired,
        Outcome::Withdrawn { reason: "task-003 is cancelled".to_owned() },
    ]
    .map(|outcome| {
        Event::Approval(ApprovalEvent::Ended { approval: ApprovalId::new("approval-0001"), outcome })
    })
    .into()
}
