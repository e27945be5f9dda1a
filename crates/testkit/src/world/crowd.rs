//! The scene of the team: fifty agents, two hundred requests at once, and all that agents do with each other: hand
//! work on, ask and wait, answer, speak to all, make and end agents, plan, look at each other's work. People cancel, change
//! the settings while everything runs, take agents out and bring them back; budgets and the windows of providers are narrow.

use domain::agent;
use domain::budget::{Budgets, Cap, Rate, Share};
use domain::closed::Closed;
use domain::context::{Access, Pass};
use domain::event::Tail;
use domain::id::{AgentId, CallId, SessionId, TaskId};
use domain::input::Input;
use domain::input::{FileInput, PersonInput};
use domain::message::{BROADCAST, Kind, Urgency};
use domain::role::{Permission, Role};
use domain::settings::{Endpoint, Limits, ModelRef, OnExpiry, Provider, Settings, WhenFull};
use domain::spawn::Order;
use domain::state::{Session, State};
use domain::task::{Mark, Spec};
use domain::tool::{
    Act, Call, CreateTask, Delegate, ExecuteCommand, Extract, FinishStatus, FinishTask, Lock, QueryTasks,
    SendMessage, Unlock, UpdateTask, Want, WriteFile,
};
use domain::usage::Price;
use policy::{CommandRule, CommandVerdict, Nature, Policy};

use super::choice::{AGENTS, TAG, agent_id, anybody, pick, somebody};
use super::craft;
use super::outside::CONTEXTS;
use super::post::WORDS;
use super::team::{number, word};
use crate::rng::Rng;

/// Requests that people and the world outside make.
pub(super) const REQUESTS: u32 = 200;
/// A provider's account is asked so often a minute, at least.
const REQUESTS_PER_MINUTE: u64 = 60;
/// Kinds of acts before those of `craft`.
const FIRST_CRAFT: u64 = 29;

/// Settings, policy and agents.
pub(super) fn opening(rng: &mut Rng) -> Vec<Input> {
    let rule = |verdict, nature| CommandRule { nature, ..CommandRule::new(verdict) };
    let policy = Policy {
        commands: [
            ("df -h".to_owned(), rule(CommandVerdict::Allow, Nature::Read)),
            ("touch counter".to_owned(), rule(CommandVerdict::Allow, Nature::Once)),
            ("rm -rf /".to_owned(), rule(CommandVerdict::Deny, Nature::Once)),
        ]
        .into(),
    };
    let mut inputs = vec![
        Input::File(FileInput::SettingsRead(Box::new(settings(rng)))),
        Input::File(FileInput::PolicyRead(policy)),
    ];
    inputs.extend((0..AGENTS).map(|n| Input::File(FileInput::AgentRead(Box::new(member(rng, n))))));
    inputs
}

/// `synod.yaml` as it may be, now and after every reload.
pub(super) fn settings(rng: &mut Rng) -> Settings {
    let limits = Limits {
        turns_max: 5 + number(rng, 8),
        request_turns_max: 10 + number(rng, 60),
        calls_max: 2 + number(rng, 5),
        same_call_max: 2,
        parallel_max: 8 + number(rng, 60),
        model_attempts_max: 1 + number(rng, 4),
        delegation_when_full: if rng.chance(1, 4) { WhenFull::Reject } else { WhenFull::Queue },
        delegation_retry: rng.chance(1, 2),
        spawn_depth_max: 1 + number(rng, 3),
        spawned_max: 4 + number(rng, 12),
        ..Limits::default()
    };
    let mut settings = Settings { limits, ..Settings::default() };
    settings.approvals.expire_ms = rng.chance(1, 2).then(|| 1_000 + rng.below(100_000));
    settings.approvals.on_expiry = if rng.chance(1, 3) { OnExpiry::Escalate } else { OnExpiry::Reject };
    settings.routing.fallback = Some(agent_id(0));
    let usual = rng.chance(3, 4);
    for (alias, provider) in [("m", "p"), ("spare", "q")] {
        let mut endpoint = Endpoint::new("http://localhost");
        if rng.chance(1, 2) {
            endpoint.limits = Rate {
                requests_per_minute: rng
                    .chance(2, 3)
                    .then(|| REQUESTS_PER_MINUTE + rng.below(4 * REQUESTS_PER_MINUTE)),
                tokens_per_minute: rng.chance(1, 2).then(|| 200_000 + rng.below(1_000_000)),
            };
        }
        settings.providers.insert(provider.to_owned(), Provider::OpenAi(endpoint));
        let provider = if usual { provider } else { "q" };
        let target = ModelRef {
            provider: provider.to_owned(),
            model: alias.to_owned(),
            context_tokens: None,
            max_tokens: None,
        };
        settings.models.insert(alias.to_owned(), target);
        let price = Price { input: 3_000_000, output: 15_000_000, cache_read: None, cache_write: None };
        settings.prices.insert(alias.to_owned(), price);
    }
    settings.budgets = budgets(rng);
    settings.planning.hold = rng.chance(1, 3);
    settings.review.max_review_rounds = 1 + number(rng, 3);
    settings.review.checks.retain(|_| rng.chance(1, 2));
    // One file that half of the team may not see.
    if rng.chance(1, 2) {
        let few = (0..AGENTS / 2).map(agent_id).collect();
        settings.trust.secret.insert("memory/disk.md".to_owned(), few);
    }
    let all = Role { permissions: Permission::ALL.into(), tools: vec!["*".to_owned()] };
    settings.roles.insert("hand".to_owned(), all);
    settings
}

fn budgets(rng: &mut Rng) -> Budgets {
    let mut cap = |often: u64, least: u64, more: u64| Cap {
        tokens: rng.chance(1, often).then(|| least + rng.below(more)),
        money: rng.chance(1, 2 * often).then(|| 10 * least + rng.below(10 * more)),
    };
    let mut budgets = Budgets {
        day: cap(3, 300_000, 2_000_000),
        month: cap(6, 1_000_000, 3_000_000),
        run: cap(3, 4_000, 60_000),
        agents: Default::default(),
    };
    for n in 0..AGENTS / 5 {
        let share = Share { day: cap(2, 10_000, 200_000), month: cap(4, 50_000, 500_000) };
        budgets.agents.insert(agent_id(5 * n), share);
    }
    budgets
}

/// Contexts that go along with delegated work.
fn passed(rng: &mut Rng) -> Vec<Pass> {
    let mut passed = Vec::new();
    while rng.chance(1, 4) {
        let access = if rng.chance(1, 2) { Access::Read } else { Access::ReadWrite };
        let context = rng.pick(&CONTEXTS).map(|name| (*name).to_owned()).unwrap_or_default();
        passed.push(Pass { access, ..Pass::to_read(context) });
    }
    passed
}

/// An agent's file as it may be, now and after every reload.
pub(super) fn member(rng: &mut Rng, n: u64) -> agent::Spec {
    let role = rng
        .pick(&["hand", "hand", "hand", "hand", "executor", "orchestrator", "reviewer"])
        .copied()
        .unwrap_or("hand");
    let mut spec = agent::Spec::new(agent_id(n), role, "m");
    spec.priority = 1 + number(rng, 10);
    spec.responsibilities = vec![if rng.chance(5, 6) { "*".to_owned() } else { format!("{}:*", word(rng)) }];
    // Half of them work in a worktree, which is that of one task at a time.
    spec.workspace =
        n.is_multiple_of(2).then(|| agent::Workspace { repo: Some("repo".to_owned()), ..Default::default() });
    spec.model.max_tokens = Some(500);
    spec.model.fallback = rng.chance(1, 3).then(|| "spare".to_owned());
    spec.permissions.concurrency.max_parallel_tasks = 1 + number(rng, 5);
    spec.permissions.concurrency.max_pending_queue = 1 + number(rng, 10);
    spec.permissions.concurrency.task_timeout_ms = 5_000 + rng.below(120_000);
    spec.permissions.concurrency.queue_timeout_ms = rng.chance(1, 3).then(|| 1_000 + rng.below(100_000));
    spec.permissions.delegation.can_delegate = rng.chance(4, 5);
    spec.permissions.spawn.roles =
        rng.chance(4, 5).then(|| craft::ROLES.map(str::to_owned).into_iter().collect());
    spec.permissions.delegation.max_delegation_depth = rng.chance(5, 6).then(|| 1 + number(rng, 6));
    if rng.chance(1, 10) {
        spec.permissions.tools.deny = vec!["send_message".to_owned()];
    }
    if rng.chance(1, 10) {
        let denied = ["merge_branch", "spawn_agent", "context_*", "execute_command", "approve_work"];
        spec.permissions.tools.deny.extend(rng.pick(&denied).map(|tool| (*tool).to_owned()));
    }
    spec.permissions.can_access_context = rng.chance(1, 8).then_some(false);
    spec
}

/// What somebody wants done; `n` tells the requests apart.
pub(super) fn request(rng: &mut Rng, state: &State, n: u32) -> Input {
    let title = format!("request {n} about the {}", word(rng));
    match rng.below(10) {
        0 | 1 => {
            let source = "inbox/slack-messages.jsonl".to_owned();
            let line = state.trust.inbox.get(&source).copied().unwrap_or(0) + 1;
            Input::File(FileInput::LineRead {
                source,
                line,
                from: "@dana".to_owned(),
                channel: None,
                text: title,
            })
        }
        2 => written(rng, None, title),
        _ => {
            let mut spec = Spec::new(TaskId::new(""), "tasks/x.task.md", title);
            spec.assignee = rng.chance(4, 5).then(|| somebody(rng));
            spec.approval_required = rng.chance(1, 15);
            if rng.chance(1, 8) {
                spec.depends_on = some_task(rng, state).into_iter().collect();
            }
            if rng.chance(1, 12) {
                spec.properties.insert("done_when".to_owned(), "command: check".to_owned());
            }
            Input::Person(PersonInput::AddTask { spec: Box::new(spec), by: "dana".to_owned() })
        }
    }
}

/// What a model asks for in a session; `sent` tells what is said apart.
pub(super) fn calls(rng: &mut Rng, state: &State, id: &SessionId, sent: &mut u32) -> Vec<Call> {
    let Some(session) = state.sessions.get(id).filter(|_| rng.chance(3, 5)) else { return Vec::new() };
    // What goes wrong keeps the calls behind it from changing anything, so many answers have one call.
    let count = if rng.chance(1, 2) { 1 } else { 2 + rng.below(3) };
    let delegates = rng.chance(1, 5);
    (0..count)
        .map(|n| Call {
            id: CallId::new(format!("call-{n}")),
            arguments: format!("{{{}}}", rng.below(1_000)),
            want: if delegates {
                Want::Act(handed(rng, state, sent))
            } else {
                want(rng, state, session, sent)
            },
            seen: None,
        })
        .collect()
}

fn want(rng: &mut Rng, state: &State, session: &Session, sent: &mut u32) -> Want {
    *sent += 1;
    let words = format!("{WORDS}{sent}");
    let path = format!("workspaces/{}/{}", session.agent, word(rng));
    let review = session.task.as_ref().and_then(|task| state.reviews.of_task(task));
    if let Some(review) = review.filter(|_| rng.chance(4, 5)) {
        return Want::Act(craft::looking(rng, state, review));
    }
    Want::Act(match rng.below(FIRST_CRAFT + craft::KINDS) {
        craft @ FIRST_CRAFT.. => craft::act(rng, state, session, craft - FIRST_CRAFT, words),
        0 => return Want::Invalid { tool: "fly".to_owned(), error: "there is no tool fly".to_owned() },
        1 => Act::read_file(format!("memory/{}.md", word(rng))),
        2 => Act::WriteFile(WriteFile { path, content: "x".to_owned() }),
        3 | 4 => Act::ExecuteCommand(ExecuteCommand {
            command: rng
                .pick(&["df -h", "make deploy", "rm -rf /", "touch counter"])
                .map(|c| (*c).to_owned())
                .unwrap_or_default(),
        }),
        5 => Act::Extract(Extract {
            path: "inbox/slack-messages.jsonl".to_owned(),
            question: "is it urgent?".to_owned(),
            answer: Closed::Bool,
        }),
        6 | 7 => part(rng, state, words),
        8..=14 => handed(rng, state, sent),
        15..=18 => of_kind(message(anybody(rng, state), words, Some(500 + rng.below(60_000))), rng),
        19 => of_kind(message(anybody(rng, state), words, None), rng),
        20 => {
            let mut act = message(anybody(rng, state), words, None);
            if let Act::SendMessage(SendMessage { kind, .. }) = &mut act {
                *kind = Some(Kind::Notification);
            }
            act
        }
        21..=23 => answer(rng, state, session, words),
        26 | 27 => Act::Lock(Lock {
            name: word(rng).to_owned(),
            wait_ms: rng.chance(2, 3).then(|| rng.below(20_000)),
        }),
        28 => Act::Unlock(Unlock { name: word(rng).to_owned() }),
        24 if rng.chance(1, 12) => message(AgentId::new(BROADCAST), words, None),
        24 => Act::QueryTasks(QueryTasks { sql: "SELECT 1".to_owned() }),
        _ if rng.chance(1, 3) => Act::FinishTask(FinishTask {
            status: rng
                .pick(&[FinishStatus::Done, FinishStatus::Failed, FinishStatus::Blocked])
                .copied()
                .unwrap_or(FinishStatus::Done),
            result: "as it is".to_owned(),
        }),
        _ => Act::UpdateTask(UpdateTask {
            id: some_task(rng, state).unwrap_or_else(|| TaskId::new("task-001")),
            status: rng
                .pick(&[Mark::Done, Mark::Failed, Mark::Cancelled])
                .copied()
                .filter(|_| rng.chance(3, 4)),
            result: Some("as it is".to_owned()),
            title: None,
            assignee: None,
            priority: None,
            depends_on: rng.chance(1, 4).then(Vec::new),
        }),
    })
}

/// Work for somebody else, beside other such work in the same answer or alone.
fn handed(rng: &mut Rng, state: &State, sent: &mut u32) -> Act {
    *sent += 1;
    Act::Delegate(Delegate {
        to: anybody(rng, state),
        tag: TAG.to_owned(),
        task: format!("{WORDS}{sent}"),
        payload: rng.chance(1, 4).then(|| serde_json::json!({"n": rng.below(10)})),
        callback: rng.chance(1, 5).then_some(false),
        with_results: Vec::new(),
        deadline_ms: rng.chance(1, 3).then(|| 500 + rng.below(60_000)),
        contexts: passed(rng),
    })
}

fn part(rng: &mut Rng, state: &State, title: String) -> Act {
    Act::CreateTask(CreateTask {
        title,
        description: String::new(),
        assignee: rng.chance(4, 5).then(|| anybody(rng, state)),
        depends_on: if rng.chance(1, 4) { some_task(rng, state).into_iter().collect() } else { Vec::new() },
        done_when: None,
        with_results: Vec::new(),
        parent: None,
        tags: Vec::new(),
        tag: Some(TAG.to_owned()),
        priority: None,
        approval_required: rng.chance(1, 20),
    })
}

fn message(to: AgentId, content: String, wait_ms: Option<u64>) -> Act {
    let mut act = Act::send_message(to, content);
    if let Act::SendMessage(SendMessage { wait_ms: wait, .. }) = &mut act {
        *wait = wait_ms;
    }
    act
}

/// Some requests are for help, or for what somebody cannot go on without.
fn of_kind(mut act: Act, rng: &mut Rng) -> Act {
    const KINDS: [Option<Kind>; 4] = [None, None, Some(Kind::DependencyRequest), Some(Kind::HelpRequest)];
    if let Act::SendMessage(SendMessage { kind, .. }) = &mut act {
        *kind = rng.pick(&KINDS).copied().flatten();
    }
    act
}

/// The answer to something that was asked in this session, if anything was.
fn answer(rng: &mut Rng, state: &State, session: &Session, words: String) -> Act {
    let open = session.ties.askers.iter().find_map(|id| {
        let asker = state.sessions.get(id)?;
        let (name, _) = asker.ties.asked.iter().find(|(_, asked)| asked.contains_key(&session.agent))?;
        Some((asker.agent.clone(), name.clone()))
    });
    let (to, name) = open.unwrap_or_else(|| (somebody(rng), "agent-1-000000/m-0001.1".to_owned()));
    let mut act = message(to, words, None);
    if let Act::SendMessage(SendMessage { reply_to, .. }) = &mut act {
        *reply_to = Some(name);
    }
    act
}

/// Something that a person does while everything runs.
pub(super) fn meddle(rng: &mut Rng, state: &State) -> Input {
    let by = "dana".to_owned();
    match rng.below(25) {
        0..=3 => {
            let what = some_task(rng, state).map(|id| id.to_string());
            Input::Person(PersonInput::Cancel { what: what.unwrap_or_default(), by })
        }
        4..=6 => {
            let open = state.delegations.by_id.values().filter(|d| !d.status.is_over());
            let what = pick(rng, open).map(|d| d.id.to_string());
            Input::Person(PersonInput::Cancel { what: what.unwrap_or_default(), by })
        }
        7 => {
            let what = some_session(rng, state).map(|id| id.to_string());
            Input::Person(PersonInput::Cancel { what: what.unwrap_or_default(), by })
        }
        8 => {
            let run = some_task(rng, state).map(|task| state.root_of(&task).to_string());
            Input::Person(PersonInput::CancelRun { run: run.unwrap_or_default(), by })
        }
        9 | 10 => Input::File(FileInput::SettingsRead(Box::new(settings(rng)))),
        11 | 12 => {
            let n = rng.below(AGENTS);
            Input::File(FileInput::AgentRead(Box::new(member(rng, n))))
        }
        13 => Input::File(FileInput::AgentGone(somebody(rng))),
        14 => {
            let session = some_session(rng, state);
            written(rng, session, "hello".to_owned())
        }
        15 => Input::Person(PersonInput::Say {
            session: None,
            agent: AgentId::new(BROADCAST),
            text: "all hands".to_owned(),
            urgency: Urgency::High,
            by,
            in_file: false,
        }),
        16 => {
            let session = some_session(rng, state).unwrap_or_else(|| SessionId::new("agent-0-000000"));
            let next_message = state.sessions.get(&session).map_or(1, |s| s.talk.next_message);
            let tail = if rng.chance(1, 2) { Tail::Unanswered } else { Tail::Answered };
            Input::File(FileInput::SessionCut { session, next_message, tail })
        }
        17 => Input::File(FileInput::TaskGone {
            task: some_task(rng, state).unwrap_or_else(|| TaskId::new("task-001")),
        }),
        18 => Input::File(FileInput::TaskMarked {
            task: some_task(rng, state).unwrap_or_else(|| TaskId::new("task-001")),
            mark: rng.pick(&super::COMMANDS).copied().unwrap_or(Mark::Done),
            why: String::new(),
            by,
        }),
        19 | 20 => {
            let responsibilities = vec!["*".to_owned()];
            let order = Order { role: craft::role(rng), responsibilities, ..Order::default() };
            Input::Person(PersonInput::Spawn { order: Box::new(order), by })
        }
        21 | 22 => Input::Person(PersonInput::Terminate {
            agent: anybody(rng, state),
            reason: "it is enough".to_owned(),
            by,
        }),
        23 => freed(rng, state),
        _ => {
            let Some(task) = some_task(rng, state).and_then(|id| state.work.tasks.get(&id)) else {
                return Input::Ticked;
            };
            let mut spec = task.spec.clone();
            match rng.chance(1, 3) {
                true => spec.parent = elsewhere(rng, state, &spec.id),
                false => spec.assignee = Some(anybody(rng, state)),
            }
            Input::File(FileInput::TaskRead {
                spec: Box::new(spec),
                mark: state.mark_of(task),
                result: String::new(),
            })
        }
    }
}

/// A person edits the file of a spawned agent, as if it could do what they please.
fn freed(rng: &mut Rng, state: &State) -> Input {
    let made = state.team.agents.values().filter(|agent| agent.spec.spawned_by.is_some());
    let Some(agent) = pick(rng, made) else { return Input::Ticked };
    let mut spec = agent.spec.clone();
    spec.role = "hand".to_owned();
    spec.permissions.can_access_context = None;
    spec.spawned_by = spec.spawned_by.filter(|_| rng.chance(1, 2));
    Input::File(FileInput::AgentRead(Box::new(spec)))
}

fn written(rng: &mut Rng, session: Option<SessionId>, text: String) -> Input {
    let agent = somebody(rng);
    let urgency = rng.pick(&Urgency::ALL).copied().unwrap_or_default();
    Input::Person(PersonInput::Say { session, agent, text, urgency, by: "dana".to_owned(), in_file: false })
}

/// A task, mostly one that is open.
fn some_task(rng: &mut Rng, state: &State) -> Option<TaskId> {
    if rng.chance(1, 8) {
        return pick(rng, state.work.tasks.keys()).cloned();
    }
    pick(rng, state.work.tasks.iter().filter(|(_, task)| !task.is_ended())).map(|(id, _)| id.clone())
}

/// Something that a task could be a part of, and is not by now.
fn elsewhere(rng: &mut Rng, state: &State, task: &TaskId) -> Option<TaskId> {
    let root = state.root_of(task);
    some_task(rng, state).filter(|other| state.root_of(other) != root)
}

/// A conversation that is not over.
fn some_session(rng: &mut Rng, state: &State) -> Option<SessionId> {
    pick(rng, state.team.agents.values().flat_map(|agent| &agent.sessions)).cloned()
}
