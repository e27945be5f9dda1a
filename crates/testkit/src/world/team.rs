//! Random teams, random wishes of models, random deeds of people.

use domain::agent;
use domain::event::{Found, FoundCall, Tail};
use domain::id::{AgentId, CallId, SessionId, TaskId};
use domain::input::Input;
use domain::input::{FileInput, PersonInput};
use domain::settings::{Limits, Settings};
use domain::state::{Pending, Stage, State};
use domain::task::{Priority, Spec};
use domain::tool::{
    Act, Call, CreateTask, ExecuteCommand, FinishStatus, FinishTask, Lock, QueryTasks, SlackSend, Unlock,
    UpdateTask, Want, WriteFile,
};
use policy::{CommandRule, CommandVerdict, Nature, Policy};

use super::{COMMANDS, WORDS};
use crate::rng::Rng;

const ROLES: [&str; 6] = ["planner", "executor", "retriever", "evaluator", "coder", "coordinator"];
const COMMAND_LINES: [&str; 4] = ["df -h", "make deploy", "rm -rf /", "touch counter"];

/// Settings, policy and agents.
pub(super) fn opening(rng: &mut Rng) -> Vec<Input> {
    let limits = Limits {
        turns_max: 4 + number(rng, 6),
        calls_max: 1 + number(rng, 6),
        same_call_max: 1 + number(rng, 3),
        parallel_max: 1 + number(rng, 6),
        tasks_max: 5 + number(rng, 25),
        model_attempts_max: 1 + number(rng, 4),
        ..Limits::default()
    };
    let mut settings = Settings { limits, ..Settings::default() };
    settings.approvals.expire_ms = rng.chance(1, 3).then(|| 1_000 + rng.below(60_000));
    settings.routing.fallback = Some(agent_id(0));
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
        Input::File(FileInput::SettingsRead(Box::new(settings))),
        Input::File(FileInput::PolicyRead(policy)),
    ];
    for n in 0..2 + number(rng, 6) {
        let role = rng.pick(&ROLES).copied().unwrap_or("executor");
        let mut spec = agent::Spec::new(agent_id(n), role, "m");
        spec.priority = 1 + number(rng, 10);
        spec.responsibilities = vec![format!("{}:*", word(rng))];
        spec.workspace = n
            .is_multiple_of(2)
            .then(|| agent::Workspace { repo: Some("repo".to_owned()), ..Default::default() });
        spec.permissions.concurrency.max_parallel_tasks = 1 + number(rng, 3);
        spec.permissions.concurrency.task_timeout_ms = 5_000 + rng.below(60_000);
        if rng.chance(1, 4) {
            spec.permissions.tools.deny = vec!["send_message".to_owned()];
        }
        inputs.push(Input::File(FileInput::AgentRead(Box::new(spec))));
    }
    inputs
}

/// What a model asks for; often nothing.
pub(super) fn calls(rng: &mut Rng) -> Vec<Call> {
    let count = rng.below(4);
    (0..count)
        .map(|n| Call {
            id: CallId::new(format!("call-{n}")),
            arguments: format!("{{{}}}", rng.below(3)),
            want: want(rng),
            seen: None,
        })
        .collect()
}

/// What a task demands; mostly nothing.
fn demand(rng: &mut Rng) -> Option<String> {
    let demands =
        ["command: check", "file: memory/report.md", "approval", "command: check\nfile: memory/a.md"];
    (rng.below(4) == 0).then(|| rng.pick(&demands).map(|d| (*d).to_owned())).flatten()
}

fn want(rng: &mut Rng) -> Want {
    let path = format!("workspaces/{}/{}", agent_id(number(rng, 4)), word(rng));
    Want::Act(match rng.below(14) {
        0 => return Want::Invalid { tool: "fly".to_owned(), error: "there is no tool fly".to_owned() },
        1 => Act::read_file(format!("memory/{}.md", word(rng))),
        2 => Act::WriteFile(WriteFile { path, content: "x".to_owned() }),
        3 => Act::WriteFile(WriteFile { path: "policy/commands.yaml".to_owned(), content: "x".to_owned() }),
        4 | 5 => Act::ExecuteCommand(ExecuteCommand {
            command: rng.pick(&COMMAND_LINES).copied().unwrap_or("df -h").to_owned(),
        }),
        6 | 7 => Act::CreateTask(CreateTask {
            title: format!("look at the {}", word(rng)),
            description: String::new(),
            assignee: rng.chance(2, 3).then(|| agent_id(number(rng, 6))),
            depends_on: if rng.chance(1, 2) { vec![task_id(rng)] } else { Vec::new() },
            done_when: demand(rng),
            with_results: Vec::new(),
            parent: rng.chance(1, 5).then(|| task_id(rng)),
            tags: Vec::new(),
            tag: Some(format!("{}:x", word(rng))),
            priority: Priority::from_letter(char::from(b'A' + u8::try_from(rng.below(6)).unwrap_or(0))),
            approval_required: rng.chance(1, 6),
        }),
        8 if rng.chance(1, 3) => Act::FinishTask(FinishTask {
            status: rng
                .pick(&[FinishStatus::Done, FinishStatus::Failed, FinishStatus::Blocked])
                .copied()
                .unwrap_or(FinishStatus::Done),
            result: "as it is".to_owned(),
        }),
        8 => Act::UpdateTask(UpdateTask {
            id: task_id(rng),
            status: rng.pick(&COMMANDS).copied(),
            result: Some("as it is".to_owned()),
            title: None,
            assignee: None,
            priority: None,
            depends_on: None,
        }),
        9 => Act::send_message(agent_id(number(rng, 6)), format!("what of the {}?", word(rng))),
        10 => Act::SlackSend(SlackSend { channel: "#ops".to_owned(), text: word(rng).to_owned() }),
        11 => Act::Lock(Lock {
            name: word(rng).to_owned(),
            wait_ms: rng.chance(1, 3).then(|| rng.below(9_000)),
        }),
        12 => Act::Unlock(Unlock { name: word(rng).to_owned() }),
        _ => Act::QueryTasks(QueryTasks { sql: "SELECT 1".to_owned() }),
    })
}

/// Something that a person or the world does.
pub(super) fn meddle(rng: &mut Rng, state: &State) -> Input {
    let session = state.sessions.keys().nth(usize::try_from(rng.below(8)).unwrap_or(0)).cloned();
    match rng.below(10) {
        0..=2 => {
            let source = "inbox/slack-messages.jsonl".to_owned();
            // Now and then a line is read that was taken before.
            let line = state.trust.inbox.get(&source).copied().unwrap_or(0) + u64::from(!rng.chance(1, 8));
            let text = format!("is the {} fine?", word(rng));
            Input::File(FileInput::LineRead { source, line, from: "@dana".to_owned(), channel: None, text })
        }
        3 => {
            let mut spec = Spec::new(TaskId::new(""), "tasks/x.task.md", format!("do the {}", word(rng)));
            spec.assignee = rng.chance(1, 2).then(|| agent_id(number(rng, 6)));
            if rng.chance(1, 2) {
                spec.depends_on = vec![task_id(rng)];
            }
            Input::Person(PersonInput::AddTask { spec: Box::new(spec), by: "dana".to_owned() })
        }
        4 => Input::File(FileInput::TaskMarked {
            task: task_id(rng),
            mark: rng.pick(&COMMANDS).copied().unwrap_or(domain::task::Mark::Done),
            why: String::new(),
            by: "dana".to_owned(),
        }),
        5 => Input::File(FileInput::TaskGone { task: task_id(rng) }),
        6 => {
            let agent = agent_id(number(rng, 6));
            let session = session.filter(|_| rng.chance(1, 2));
            Input::Person(PersonInput::Say {
                session,
                agent,
                text: "hello".to_owned(),
                urgency: Default::default(),
                by: "dana".to_owned(),
                in_file: false,
            })
        }
        7 => {
            let session = session.unwrap_or_else(|| SessionId::new("agent-0-000000"));
            let next = state.sessions.get(&session).map_or(1, |s| s.talk.next_message);
            let tail = match (rng.below(3), state.sessions.get(&session).map(|s| &s.stage)) {
                (0, Some(Stage::Acting { said, calls })) => cut_results(rng, said, calls),
                (0 | 1, _) => Tail::Unanswered,
                _ => Tail::Answered,
            };
            Input::File(FileInput::SessionCut { session, next_message: next, tail })
        }
        8 => Input::File(FileInput::AgentGone(agent_id(5))),
        _ => {
            // A person edits a task: other words, another dependency, another agent.
            let Some(task) = state.work.tasks.values().nth(usize::try_from(rng.below(6)).unwrap_or(0)) else {
                return Input::Ticked;
            };
            let mut spec = task.spec.clone();
            match rng.below(3) {
                0 => spec.title = format!("look again at the {}", word(rng)),
                1 => spec.depends_on = vec![task_id(rng)],
                _ => spec.assignee = Some(agent_id(number(rng, 6))),
            }
            Input::File(FileInput::TaskRead {
                spec: Box::new(spec),
                mark: state.mark_of(task),
                result: String::new(),
            })
        }
    }
}

/// A person cuts the results of some calls of the turn.
fn cut_results(rng: &mut Rng, said: &str, calls: &[Pending]) -> Tail {
    let found = |pending: &Pending| FoundCall {
        call: (*pending.call).clone(),
        found: if pending.step.is_finished() && rng.chance(1, 2) { Found::Finished } else { Found::Nothing },
    };
    Tail::Calls { said: said.to_owned(), calls: calls.iter().map(found).collect() }
}

fn agent_id(n: u32) -> AgentId {
    AgentId::new(format!("agent-{n}"))
}

fn task_id(rng: &mut Rng) -> TaskId {
    TaskId::new(format!("task-{:03}", 1 + rng.below(12)))
}

pub(super) fn word(rng: &mut Rng) -> &'static str {
    rng.pick(&WORDS).copied().unwrap_or("disk")
}

pub(super) fn number(rng: &mut Rng, bound: u64) -> u32 {
    u32::try_from(rng.below(bound)).unwrap_or(0)
}
