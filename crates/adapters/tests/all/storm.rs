//! A provider that misbehaves at random, thousands of times over: every piece of work comes to an end that has a name,
//! nothing is done twice, nothing that was answered is lost, and no bound is passed.
//!
//! The domain, the models and the connections are real; files and time are not. `SYNOD_FAULT_RUNS=10000` runs all.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use adapters::model::Models;
use adapters::tools::Toolbox;
use domain::agent;
use domain::effect::Effect;
use domain::event::Event;
use domain::event::{CallEvent, OutageEvent, SessionEvent, TurnEvent};
use domain::id::{AgentId, SessionId, TaskId, Time};
use domain::input::{Failure, Input};
use domain::input::{FileInput, ModelInput, PersonInput, ToolInput};
use domain::role::{Permission, Role};
use domain::session::Message;
use domain::settings::{Endpoint, ModelRef, Provider, Settings, Timeouts};
use domain::state::State;
use domain::task::{End, Spec};
use ports::model::{ErrorKind, Model, Reply, Request};
use ports::tools::Tools;
use testkit::model::{Puppet, says, wants};
use testkit::provider::{Fault, Provider as Server};
use testkit::rng::Rng;

const RUNS: u64 = 200;
const ME: &str = "worker-1";
const PAID: &str = "paid 5";
const DONE: &str = "it is paid";
/// A run takes milliseconds; one that takes this long hangs.
const HANGS_AFTER: Duration = Duration::from_secs(60);

#[tokio::test]
async fn every_run_against_a_faulty_provider_ends_well_or_says_why_not() {
    let runs = std::env::var("SYNOD_FAULT_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let server = Server::start(Arc::new(Puppet::answering(|request| Ok(brain(request)))));
    let settings = settings(&server.url());
    let shared = Shared {
        models: Models::new(Path::new("."), &settings),
        tools: Toolbox::new(std::env::temp_dir(), Arc::new(adapters::clock::SystemClock)).unwrap(),
        settings,
    };
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..runs {
        let run = tokio::time::timeout(HANGS_AFTER, one(seed, &server, &shared)).await;
        let end = run.unwrap_or_else(|_| panic!("seed {seed} hangs"));
        *ends.entry(end).or_default() += 1;
    }
    assert!(ends.contains_key("done") && ends.len() > 4, "the storm blows from all sides: {ends:#?}");
}

/// Pays until it is told that it has paid.
fn brain(request: &Request) -> Reply {
    match request.messages.iter().any(|message| message.content == PAID) {
        true => says(DONE),
        false => wants("write_file", r#"{"path":"workspaces/worker-1/paid","content":"5"}"#),
    }
}

/// One piece of work from its beginning to its end; how it ended.
async fn one(seed: u64, server: &Server, shared: &Shared) -> String {
    let mut rng = Rng::new(seed);
    let ways = [rng.below(4), rng.below(4)].map(|way| format!("way-{way}"));
    let has_fallback = rng.chance(1, 2);
    let calm = rng.below(4);
    server.misbehave(move |_| fault(&mut rng, calm));
    let mut run = Run::new(shared, ways, has_fallback);
    run.work().await;
    let task = run.state.work.tasks.values().next().expect("there is a task");
    let requests = server.count();
    let bound = run.bound() as usize;
    assert!(run.rests(), "seed {seed}: nothing is under way");
    assert!(requests <= bound, "seed {seed}: {requests} requests of {bound}");
    assert!(run.paid <= 1, "seed {seed}: paid {} times", run.paid);
    assert_eq!(run.answers, run.replied + run.empty, "seed {seed}: every answer is kept");
    match task.end() {
        Some(End::Done) => {
            let is_cut = task.result.ends_with("it reached max_tokens.]");
            assert!(run.paid == 1 && (is_cut || task.result == DONE), "seed {seed}: {}", task.result);
            if is_cut { "done, cut off" } else { "done" }.to_owned()
        }
        Some(End::Failed) => {
            assert!(task.result.len() > 20, "seed {seed}: it says why: {:?}", task.result);
            let cause = task.result.rsplit("127.0.0.1 ").next().unwrap_or_default();
            cause.chars().take(24).collect()
        }
        other => panic!("seed {seed} ends as {other:?}"),
    }
}

/// What the next request meets.
fn fault(rng: &mut Rng, calm: u64) -> Option<Fault> {
    if rng.below(5) <= calm {
        return None;
    }
    let pick = rng.below(100);
    Some(match pick {
        0 => Fault::Silent,
        1 => Fault::Idle,
        2 if rng.chance(1, 8) => Fault::endless(),
        2..12 => Fault::Cut { percent: u8::try_from(rng.below(100)).unwrap_or(0) },
        12..20 => Fault::Short,
        20..28 => Fault::Malformed,
        28..32 => Fault::Page,
        32..38 => Fault::Reset,
        38..46 => Fault::Empty,
        46..50 => Fault::Refusal,
        50..56 => Fault::Length,
        56..62 => Fault::BadArguments,
        62..68 => Fault::Overloaded,
        68..74 => Fault::wait(429, "retry-after-ms", "3"),
        74..76 => Fault::wait(429, "retry-after", "Sat, 31 Jan 2026 12:00:00 GMT"),
        _ => {
            let codes = [400, 401, 403, 404, 408, 409, 413, 418, 422, 429, 500, 502, 503, 504, 529, 302, 999];
            let index = usize::try_from(rng.below(codes.len() as u64)).unwrap_or(0);
            Fault::status(codes[index])
        }
    })
}

/// Every way to ask, under the names of aliases.
fn settings(url: &str) -> Settings {
    let all = [Permission::ReadFiles, Permission::WriteFiles, Permission::ExecuteTools];
    let role = Role { permissions: all.into(), tools: vec!["*".to_owned()] };
    let mut settings = Settings { roles: [("worker".to_owned(), role)].into(), ..Settings::default() };
    for way in 0..4 {
        let endpoint = Endpoint {
            stream: way % 2 == 0,
            timeouts: Timeouts { connect_ms: 5_000, first_byte_ms: 100, idle_ms: 100 },
            ..Endpoint::new(url)
        };
        let provider = if way < 2 { Provider::OpenAi(endpoint) } else { Provider::Anthropic(endpoint) };
        let name = format!("way-{way}");
        settings.providers.insert(name.clone(), provider);
        settings.models.insert(
            name.clone(),
            ModelRef { provider: name, model: "m".to_owned(), context_tokens: None, max_tokens: None },
        );
    }
    settings
}

/// What all runs have in common.
struct Shared {
    settings: Settings,
    models: Models,
    tools: Toolbox,
}

struct Run<'a> {
    shared: &'a Shared,
    state: State,
    at: Time,
    ways: [String; 2],
    talks: BTreeMap<SessionId, Vec<Message>>,
    effects: Vec<Effect>,
    paid: u32,
    answers: u32,
    replied: u32,
    empty: u32,
    outages: u32,
}

impl<'a> Run<'a> {
    fn new(shared: &'a Shared, ways: [String; 2], has_fallback: bool) -> Self {
        let mut spec = agent::Spec::new(AgentId::new(ME), "worker", ways[0].as_str());
        spec.model.fallback = has_fallback.then(|| ways[1].clone());
        let mut run = Self {
            shared,
            state: State::new(),
            at: Time(1_700_000_000_000),
            ways,
            talks: BTreeMap::new(),
            effects: Vec::new(),
            paid: 0,
            answers: 0,
            replied: 0,
            empty: 0,
            outages: 0,
        };
        let mut task = Spec::new(TaskId::new(""), "tasks/t.task.md", "pay 5");
        task.assignee = Some(AgentId::new(ME));
        run.give(Input::Started);
        run.give(Input::File(FileInput::SettingsRead(Box::new(shared.settings.clone()))));
        run.give(Input::File(FileInput::AgentRead(Box::new(spec))));
        run.give(Input::Person(PersonInput::AddTask { spec: Box::new(task), by: "dana".to_owned() }));
        run
    }

    /// Whether nothing is under way, and nothing waits for a provider.
    fn rests(&self) -> bool {
        self.state.is_idle() && self.state.waiting_for_providers() == 0
    }

    /// The most requests that the limits allow: each turn on two models, and anew after each wait for a provider.
    fn bound(&self) -> u32 {
        let limits = &self.state.config.settings.limits;
        (limits.turns_max + self.outages) * limits.model_attempts_max * 2
    }

    fn give(&mut self, input: Input) {
        let (talks, effects) = (&mut self.talks, &mut self.effects);
        let (replied, outages) = (&mut self.replied, &mut self.outages);
        let played = domain::play(&mut self.state, self.at, &input, true, &mut |state, event| {
            effects.extend(domain::react(state, &event));
            match event {
                Event::Outage(OutageEvent::Failed { .. }) => *outages += 1,
                Event::Session(SessionEvent::MessageAdded { session, message, .. })
                | Event::Call(CallEvent::Finished { session, message, .. }) => {
                    talks.entry(session).or_default().push(message);
                }
                Event::Turn(TurnEvent::Replied { session, message, .. }) => {
                    *replied += 1;
                    talks.entry(session).or_default().push(message);
                }
                _ => {}
            }
        });
        played.unwrap_or_else(|refused| panic!("{input:?}: {refused}"));
    }

    async fn work(&mut self) {
        loop {
            if let Some(effect) = self.effects.pop() {
                self.perform(effect).await;
            } else if let Some(due) = self.state.next_deadline().filter(|_| !self.rests()) {
                self.at = Time(self.at.0.max(due.0));
                self.give(Input::Ticked);
            } else {
                return;
            }
        }
    }

    async fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::CallModel { ticket, session, .. } => {
                let falls_back = self.state.sessions[&session].pace.fallback_until.is_some();
                let model = self.ways[usize::from(falls_back)].clone();
                let messages = self.talks.get(&session).cloned().unwrap_or_default();
                let asked = Request { model: model.clone(), ..testkit::model::request(ME, messages) };
                match self.shared.models.ask(asked).await {
                    Ok(Reply { text, calls, usage }) => {
                        self.answers += 1;
                        self.empty += u32::from(text.trim().is_empty() && calls.is_empty());
                        let calls: Vec<_> = calls
                            .into_iter()
                            .enumerate()
                            .map(|(n, raw)| self.shared.tools.read(raw, n))
                            .collect();
                        let calls = match calls.is_empty() && !text.trim().is_empty() {
                            true => testkit::model::ending(&self.state, &session, &text),
                            false => calls,
                        };
                        let read = Vec::new();
                        self.give(Input::Model(ModelInput::Replied {
                            session,
                            ticket,
                            text,
                            calls,
                            model,
                            usage,
                            read,
                        }));
                    }
                    Err(error) => {
                        assert!(!error.message.is_empty());
                        let failure = match error.kind {
                            ErrorKind::Retry { after_ms } => Failure::Retry { after_ms },
                            ErrorKind::Limited { after_ms } => Failure::Limited { after_ms },
                            ErrorKind::Outage { after_ms } => Failure::Outage { after_ms },
                            ErrorKind::Down => Failure::Down,
                            ErrorKind::Denied => Failure::Denied,
                            ErrorKind::TooLong | ErrorKind::GiveUp => Failure::GiveUp,
                        };
                        self.give(Input::Model(ModelInput::Failed {
                            session,
                            ticket,
                            reason: error.message,
                            failure,
                        }));
                    }
                }
            }
            Effect::RunTool { ticket, session, call, .. } => {
                self.paid += 1;
                let (read, wrote) = (Vec::new(), Vec::new());
                let text = PAID.to_owned();
                self.give(Input::Tool(ToolInput::Finished {
                    session,
                    call: call.id.clone(),
                    ticket,
                    ok: true,
                    text,
                    read,
                    wrote,
                    finding: None,
                }));
            }
            Effect::Look { .. } | Effect::Stop { .. } | Effect::Fence(_) | Effect::CleanUp { .. } => {}
        }
    }
}
