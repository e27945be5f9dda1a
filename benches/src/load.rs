//! A big team at work: what its models say and its tools give back, without models and tools. The same size
//! gives the same inputs and events, so that a recorded run can be played again.

use std::collections::VecDeque;

use domain::agent;
use domain::effect::Effect;
use domain::event::Event;
use domain::id::{AgentId, CallId, TaskId, Time};
use domain::input::Input;
use domain::input::{FileInput, ModelInput, PersonInput, ToolInput};
use domain::settings::{Limits, Settings};
use domain::state::State;
use domain::task;
use domain::tool::{
    Act, Call, CreateTask, ExecuteCommand, FinishStatus, FinishTask, QueryTasks, Want, WriteFile,
};
use domain::usage::Usage;
use domain::{play, react};
use policy::{CommandRule, CommandVerdict, Nature, Policy};
use testkit::rng::Rng;

/// Sessions that work at the same time.
const PARALLEL: u32 = 2_000;
const ROLES: [&str; 5] = ["coder", "executor", "reviewer", "retriever", "builder"];
const WORDS: [&str; 8] = ["disk", "backup", "release", "report", "deploy", "notes", "index", "queue"];

/// A run as it was decided: the team, then what came in, then all that happened.
pub struct Run {
    /// The state with the team in it, before any work.
    pub team: State,
    /// What came in, and when.
    pub inputs: Vec<(Time, Input)>,
    /// What followed, and when. The team's own events come first.
    pub events: Vec<(Time, Event)>,
    /// How many of the events made the team.
    pub opening: usize,
}

/// Lets a team of `agents` work until at least `events_min` events have happened.
pub fn record(agents: u32, events_min: usize) -> anyhow::Result<Run> {
    let mut world = World { rng: Rng::new(1), agents, in_flight: VecDeque::new(), given: 0 };
    let mut state = State::new();
    let mut events = Vec::new();
    let start = Time(1_000_000);
    for input in opening(agents).iter().chain([&Input::Started]) {
        play(&mut state, start, input, true, &mut |_, event| events.push((start, event)))?;
    }
    let team = state.clone();
    let opening = events.len();
    let mut inputs = Vec::new();
    while events.len() < events_min {
        let at = start.plus_ms(inputs.len() as u64 / 8);
        let input = world.next();
        play(&mut state, at, &input, true, &mut |state, event| {
            world.in_flight.extend(react(state, &event));
            events.push((at, event));
        })?;
        inputs.push((at, input));
    }
    Ok(Run { team, inputs, events, opening })
}

/// The settings, the policy and the agents.
fn opening(agents: u32) -> Vec<Input> {
    let limits = Limits { parallel_max: PARALLEL, tasks_max: u32::MAX, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let rule = CommandRule { nature: Nature::Read, ..CommandRule::new(CommandVerdict::Allow) };
    let policy =
        Policy { commands: [("df -h".to_owned(), rule.clone()), ("make test".to_owned(), rule)].into() };
    let mut inputs = vec![
        Input::File(FileInput::SettingsRead(Box::new(settings))),
        Input::File(FileInput::PolicyRead(policy)),
    ];
    for n in 0..agents {
        let mut spec = agent::Spec::new(agent_id(n), ROLES[n as usize % ROLES.len()], "team");
        spec.system_prompt = words(400, n);
        spec.responsibilities = vec![format!("{}:*", word(n))];
        inputs.push(Input::File(FileInput::AgentRead(Box::new(spec))));
    }
    inputs
}

struct World {
    rng: Rng,
    agents: u32,
    in_flight: VecDeque<Effect>,
    given: u32,
}

impl World {
    /// The outcome of what has been under way longest; people come in between, and when there is too little to do.
    fn next(&mut self) -> Input {
        loop {
            if self.in_flight.len() < PARALLEL as usize / 2 || self.rng.chance(1, 40) {
                return self.person();
            }
            match self.in_flight.pop_front() {
                Some(Effect::CallModel { ticket, session, agent, turn, reserved: _ }) => {
                    let calls = self.calls(&agent, turn);
                    let text = words(300, turn);
                    return Input::Model(ModelInput::Replied {
                        session,
                        ticket,
                        text,
                        calls,
                        model: String::new(),
                        usage: Usage::of(900, 80),
                        read: Vec::new(),
                    });
                }
                Some(Effect::RunTool { ticket, session, call, .. }) => {
                    let ok = !self.rng.chance(1, 20);
                    return Input::Tool(ToolInput::Finished {
                        session,
                        call: call.id.clone(),
                        ticket,
                        ok,
                        text: words(700, self.given),
                        read: Vec::new(),
                        wrote: Vec::new(),
                        finding: None,
                    });
                }
                Some(
                    Effect::Look { .. } | Effect::Stop { .. } | Effect::Fence(_) | Effect::CleanUp { .. },
                )
                | None => {}
            }
        }
    }

    fn person(&mut self) -> Input {
        self.given += 1;
        let agent = self.some_agent();
        if self.given.is_multiple_of(5) {
            let text = words(80, self.given);
            return Input::Person(PersonInput::Say {
                session: None,
                agent,
                text,
                urgency: Default::default(),
                by: "dana".to_owned(),
                in_file: false,
            });
        }
        let title = format!("look at the {}", word(self.given));
        let mut spec = task::Spec::new(TaskId::new(""), "tasks/work.task.md", title);
        spec.text = words(200, self.given);
        spec.assignee = Some(agent);
        Input::Person(PersonInput::AddTask { spec: Box::new(spec), by: "dana".to_owned() })
    }

    /// Two turns with tools, one in which others are asked for something, then words.
    fn calls(&mut self, agent: &AgentId, turn: u32) -> Vec<Call> {
        let n = self.given.wrapping_mul(7).wrapping_add(turn);
        let acts = match turn {
            1 => vec![
                Act::read_file(format!("memory/{}.md", word(n))),
                Act::QueryTasks(QueryTasks {
                    sql: "SELECT id, title FROM tasks WHERE mark = 'open'".to_owned(),
                }),
            ],
            2 => vec![
                Act::WriteFile(WriteFile {
                    path: format!("workspaces/{agent}/{}.md", word(n)),
                    content: words(300, n),
                }),
                Act::ExecuteCommand(ExecuteCommand { command: "df -h".to_owned() }),
            ],
            3 if self.rng.chance(1, 3) => {
                vec![Act::send_message(self.some_agent(), words(120, n)), self.create_task(n)]
            }
            // What is refused, because parts are open or there is no task, ends in words.
            _ if turn % 2 == 1 => {
                vec![Act::FinishTask(FinishTask { status: FinishStatus::Done, result: words(80, n) })]
            }
            _ => Vec::new(),
        };
        acts.into_iter().enumerate().map(|(index, act)| call(turn, index, act)).collect()
    }

    fn create_task(&mut self, n: u32) -> Act {
        Act::CreateTask(CreateTask {
            done_when: None,
            with_results: Vec::new(),
            title: format!("find out about the {}", word(n)),
            description: words(100, n),
            assignee: Some(self.some_agent()),
            depends_on: Vec::new(),
            parent: None,
            tags: Vec::new(),
            tag: None,
            priority: None,
            approval_required: false,
        })
    }

    fn some_agent(&mut self) -> AgentId {
        agent_id(u32::try_from(self.rng.below(u64::from(self.agents))).unwrap_or(0))
    }
}

fn call(turn: u32, index: usize, act: Act) -> Call {
    let arguments = serde_json::to_value(&act).map_or_else(|_| String::new(), |v| v["arguments"].to_string());
    Call { id: CallId::new(format!("call-{turn}-{index}")), arguments, want: Want::Act(act), seen: None }
}

fn agent_id(n: u32) -> AgentId {
    AgentId::new(format!("agent-{n:05}"))
}

fn word(n: u32) -> &'static str {
    WORDS[n as usize % WORDS.len()]
}

/// About so many bytes of words.
pub fn words(bytes: usize, seed: u32) -> String {
    let mut text = String::with_capacity(bytes + 16);
    for n in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(word(seed.wrapping_add(n).wrapping_mul(2_654_435_761) >> 5));
        text.push(if n % 12 == 11 { '\n' } else { ' ' });
    }
    text
}
