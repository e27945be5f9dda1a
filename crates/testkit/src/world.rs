//! A world in a seed: a random team, models and tools that fail, people who meddle, a disk that breaks, crashes
//! at any step. The same seed gives the same run. The world does not know the engine: whoever runs a simulation
//! gives it effects and events and gets inputs back.

mod bonds;
mod broken;
mod choice;
mod craft;
mod crowd;
mod held;
mod ledger;
mod outside;
mod post;
mod runs;
mod team;

use std::collections::BTreeSet;

use domain::approval::Answer;
use domain::effect::Effect;
use domain::id::{AgentId, MessageId, SessionId, TaskId, Ticket, Time};
use domain::input::{Failure, Input};
use domain::input::{FileInput, ModelInput, PersonInput, ToolInput};
use domain::plan;
use domain::state::State;
use domain::task::Mark;
use domain::tool::{Act, Call, ContextGet, ContextPut, Want};
use domain::usage::Usage;
use ports::clock::Clock as _;

pub use broken::Broken;
pub use ledger::Ledger;
use ledger::{OF_TRY, name_try};
use outside::{Outside, Played};

use crate::clock::Virtual;
use crate::journal::{Disk, Fault};
use crate::rng::Rng;

/// What is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scene {
    /// A few agents, whose tasks, files and conversations people change at will.
    Home,
    /// Two hundred requests over fifty agents that work with each other, within budgets and windows.
    Team,
}

/// How much happens in one run of a scene.
struct Bounds {
    /// After so many model calls all models come to an end, so that every run does.
    model_calls_max: u32,
    /// Things that people do.
    meddling_max: u32,
    /// Crashes and broken disks.
    faults_max: u32,
    /// Outcomes that come in together.
    outcomes_max: u64,
    /// Requests that are made at the beginning.
    requests: u32,
    /// One step in so many is a crash, or a broken disk.
    fault_in: u64,
}

impl Scene {
    fn bounds(self) -> Bounds {
        match self {
            Self::Home => Bounds {
                model_calls_max: 120,
                meddling_max: 25,
                faults_max: 12,
                outcomes_max: 3,
                requests: 0,
                fault_in: 25,
            },
            Self::Team => Bounds {
                model_calls_max: 800,
                meddling_max: 40,
                faults_max: 8,
                outcomes_max: 12,
                requests: crowd::REQUESTS,
                fault_in: 40,
            },
        }
    }
}

/// What happens next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// These inputs come in together.
    Inputs(Vec<Input>),
    /// Time passes; the clock was set.
    Time,
    /// The process is killed, and started again.
    Crash,
    /// Nothing is left to happen.
    Over,
}

/// The world outside the engine.
pub struct World {
    /// What the clock says.
    pub clock: Virtual,
    /// Where the journal is kept.
    pub disk: Disk,
    /// What happened, for the invariants.
    pub ledger: Ledger,
    scene: Scene,
    bounds: Bounds,
    rng: Rng,
    /// Effects that were started in this life of the process.
    in_flight: Vec<Effect>,
    /// Effects of an earlier life whose outcome may still come, too late.
    ghosts: Vec<Effect>,
    /// Outcomes that were delivered, to be delivered again now and then.
    delivered: Vec<Input>,
    model_calls: u32,
    meddled: u32,
    faults: u32,
    requested: u32,
    /// Words that agents said to each other.
    sent: u32,
    /// The repository and the shared contexts.
    outside: Outside,
    /// Whether people took away what kept work from going on.
    eased: bool,
}

impl World {
    /// The world of a seed.
    pub fn new(scene: Scene, seed: u64) -> Self {
        Self {
            scene,
            bounds: scene.bounds(),
            clock: Virtual::at(Time(1_000_000)),
            disk: Disk::new(),
            ledger: Ledger::default(),
            rng: Rng::new(seed),
            in_flight: Vec::new(),
            ghosts: Vec::new(),
            delivered: Vec::new(),
            model_calls: 0,
            meddled: 0,
            faults: 0,
            requested: 0,
            sent: 0,
            outside: Outside::default(),
            eased: false,
        }
    }

    /// What the files of the home say at the start.
    pub fn opening(&mut self) -> Vec<Input> {
        match self.scene {
            Scene::Home => team::opening(&mut self.rng),
            Scene::Team => crowd::opening(&mut self.rng),
        }
    }

    /// Takes over some of the effects that the engine let go, and says whether the process dies before it could let go
    /// the others: what is committed is not always begun.
    pub fn dies_over(&mut self, state: &State, mut effects: Vec<Effect>) -> bool {
        let dies = self.faults < self.bounds.faults_max
            && !effects.is_empty()
            && self.rng.chance(1, 3 * self.bounds.fault_in);
        if dies {
            self.faults += 1;
            let begun = self.rng.below(effects.len() as u64);
            effects.truncate(usize::try_from(begun).unwrap_or(0));
        }
        self.perform(state, effects);
        dies
    }

    /// Takes over effects that the engine let go.
    fn perform(&mut self, state: &State, effects: Vec<Effect>) {
        for effect in effects {
            self.ledger.started(&effect);
            if let Some(review) = self.outside.begin(state, &effect) {
                self.ledger.merges(&effect, review);
            }
            match &effect {
                Effect::Stop { session } => {
                    self.in_flight.retain(|other| session_of(other) != Some(session));
                }
                // It has no outcome.
                Effect::Fence(_) => {}
                Effect::CallModel { .. }
                | Effect::RunTool { .. }
                | Effect::Look { .. }
                | Effect::CleanUp { .. } => self.in_flight.push(effect),
            }
        }
    }

    /// The process is gone: what it had under way is under way no more, but may have happened outside.
    pub fn crashed(&mut self) {
        let in_flight = std::mem::take(&mut self.in_flight);
        for effect in in_flight {
            if self.rng.chance(1, 2) {
                self.ledger.happened(&effect);
                self.ghosts.push(effect);
            }
        }
        self.disk = self.disk.crash();
    }

    /// What is cheap to look at, after each step.
    pub fn check_step(&self, state: &State) -> Result<(), Broken> {
        self.ledger.check_step(state)
    }

    /// All that must hold between any two steps.
    pub fn check(&self, state: &State) -> Result<(), Broken> {
        // Whatever is under way is wanted: what no longer counts was stopped.
        let wanted: BTreeSet<Ticket> = domain::pending(state).iter().filter_map(ticket_of).collect();
        if let Some(effect) =
            self.in_flight.iter().find(|e| ticket_of(e).is_some_and(|t| !wanted.contains(&t)))
        {
            return Err(Broken(format!("nobody stopped {effect:?}")));
        }
        held::check(state)?;
        self.ledger.check(state)
    }

    /// What must hold when nothing is left to happen.
    pub fn check_end(&self, state: &State) -> Result<(), Broken> {
        self.ledger.check_end(state)?;
        match self.scene {
            Scene::Home => Ok(()),
            Scene::Team => held::check_empty(state),
        }
    }

    /// How often each outcome is seen in a full check: a large state is looked at less often.
    pub fn check_every(&self) -> u64 {
        match self.scene {
            Scene::Home => 1,
            Scene::Team => 24,
        }
    }

    /// What happens next, given what the engine knows.
    pub fn next(&mut self, state: &State) -> Result<Next, Broken> {
        if self.requested < self.bounds.requests && self.rng.chance(2, 3) {
            return Ok(Next::Inputs(self.requests(state)));
        }
        if self.faults < self.bounds.faults_max && self.rng.chance(1, self.bounds.fault_in) {
            self.faults += 1;
            if self.rng.chance(1, 3) {
                let fault = if self.rng.chance(1, 2) { Fault::Lost } else { Fault::KeptUnknown };
                self.disk.fail_append(self.rng.below(3), fault);
                return Ok(Next::Inputs(self.some_outcomes(state)));
            }
            return Ok(Next::Crash);
        }
        if self.meddled < self.bounds.meddling_max && self.rng.chance(1, 6) {
            return Ok(self.meddle(state));
        }
        if self.rng.chance(1, 10) {
            self.clock.advance(self.rng.below(5_000));
            return Ok(Next::Time);
        }
        if !self.in_flight.is_empty() {
            return Ok(Next::Inputs(self.some_outcomes(state)));
        }
        if let Some((approval, request)) = state.people.approvals.iter().next() {
            let approval = approval.clone();
            let answer = if self.rng.chance(2, 3) {
                self.ledger.raises.say_yes(&approval, &request.act);
                Answer::Approved
            } else {
                Answer::Rejected { reason: "no".to_owned() }
            };
            return Ok(Next::Inputs(vec![Input::Person(PersonInput::Answer {
                approval,
                answer,
                by: "dana".to_owned(),
                via: "sim".to_owned(),
            })]));
        }
        match state.next_deadline() {
            Some(due) if !state.is_idle() || state.work.open_tasks > 0 || self.scene == Scene::Team => {
                self.clock.set(due.plus_ms(1));
                Ok(Next::Time)
            }
            _ if self.meddled < self.bounds.meddling_max => Ok(self.meddle(state)),
            _ => self.wind_up(state),
        }
    }

    fn meddle(&mut self, state: &State) -> Next {
        self.meddled += 1;
        if self.scene == Scene::Team && self.rng.chance(1, 8) {
            self.outside.grant(&mut self.rng, self.clock.now());
        }
        Next::Inputs(vec![match self.scene {
            Scene::Home => team::meddle(&mut self.rng, state),
            Scene::Team => crowd::meddle(&mut self.rng, state),
        }])
    }

    /// Some requests of those that are left.
    fn requests(&mut self, state: &State) -> Vec<Input> {
        let count = (1 + team::number(&mut self.rng, 40)).min(self.bounds.requests - self.requested);
        let mut inputs = Vec::new();
        for _ in 0..count {
            self.requested += 1;
            let mut input = crowd::request(&mut self.rng, state, self.requested);
            // Each line is read once.
            let lines =
                inputs.iter().filter(|i| matches!(i, Input::File(FileInput::LineRead { .. }))).count() as u64;
            if let Input::File(FileInput::LineRead { line, .. }) = &mut input {
                *line += lines;
            }
            inputs.push(input);
        }
        inputs
    }

    /// Nothing goes on by itself: whatever is open must have a reason, and people take it away, first by raising the
    /// budgets and going on with what they cut off, then by giving up what is left.
    fn wind_up(&mut self, state: &State) -> Result<Next, Broken> {
        if self.scene == Scene::Home {
            return Ok(Next::Over);
        }
        // A disk that broke may have taken the change along; a file is read again.
        if !self.eased || !state.config.settings.budgets.is_none() {
            self.eased = true;
            let mut settings = state.config.settings.clone();
            settings.budgets = Default::default();
            let mut inputs = vec![Input::File(FileInput::SettingsRead(Box::new(settings)))];
            inputs.extend(self.ledger.cut_off(state).map(|(id, session)| {
                Input::Person(PersonInput::Say {
                    session: Some(id.clone()),
                    agent: session.agent.clone(),
                    text: "go on".to_owned(),
                    urgency: Default::default(),
                    by: "dana".to_owned(),
                    in_file: false,
                })
            }));
            // Plans that wait for a person get their yes, or a no.
            let held = state.work.tasks.values().filter_map(|task| task.spec.properties.get(plan::HELD_BY));
            let held: BTreeSet<TaskId> = held.map(|id| TaskId::new(id.as_str())).collect();
            for task in held.into_iter().filter(|id| state.work.tasks.get(id).is_some_and(|t| !t.is_ended()))
            {
                let mark = if self.rng.chance(2, 3) { Mark::Done } else { Mark::Cancelled };
                inputs.push(Input::File(FileInput::TaskMarked {
                    task,
                    mark,
                    why: String::new(),
                    by: "dana".to_owned(),
                }));
            }
            return Ok(Next::Inputs(inputs));
        }
        self.ledger.check_stuck(state)?;
        let open: Vec<Input> = state
            .work
            .tasks
            .iter()
            .filter(|(_, task)| !task.is_ended())
            .map(|(id, _)| Input::Person(PersonInput::Cancel { what: id.to_string(), by: "dana".to_owned() }))
            .collect();
        Ok(if open.is_empty() { Next::Over } else { Next::Inputs(open) })
    }

    /// Some of what is under way comes to its end, in any order; now and then twice.
    fn some_outcomes(&mut self, state: &State) -> Vec<Input> {
        let mut outcomes = Vec::new();
        let count = 1 + self.rng.below(self.bounds.outcomes_max);
        for _ in 0..count {
            if self.in_flight.is_empty() {
                break;
            }
            let index = usize::try_from(self.rng.below(self.in_flight.len() as u64)).unwrap_or(0);
            let effect = self.in_flight.swap_remove(index);
            self.ledger.happened(&effect);
            let outcome = self.outcome(state, effect);
            self.delivered.extend(outcome.last().cloned());
            outcomes.extend(outcome);
        }
        if self.rng.chance(1, 6)
            && let Some(ghost) = self.ghosts.pop()
        {
            outcomes.extend(self.outcome(state, ghost));
        }
        if self.rng.chance(1, 8)
            && let Some(again) = self.rng.pick(&self.delivered).cloned()
        {
            outcomes.push(again);
        }
        outcomes
    }

    fn outcome(&mut self, state: &State, effect: Effect) -> Vec<Input> {
        match effect {
            Effect::CallModel { ticket, session, reserved, .. } => {
                self.model_calls += 1;
                vec![self.answer(state, session, ticket, reserved)]
            }
            Effect::RunTool { ticket, session, agent, call, .. } => {
                let ok = !self.rng.chance(1, 5);
                let Played { ok, read, wrote, finding } = self.play(state, &agent, (ticket, &call), ok);
                let finding = finding.map(Box::new);
                let word = if ok { "done" } else { "it did not work" };
                let text = format!("{word}{OF_TRY}{}", name_try(ticket));
                let asks = matches!(&call.want, Want::Act(Act::Extract(_)));
                let spent = asks.then(|| {
                    Input::Model(ModelInput::Spent {
                        session: session.clone(),
                        call: Some(call.id.clone()),
                        model: MODEL.to_owned(),
                        usage: Usage::of(10, 5),
                    })
                });
                let call = call.id.clone();
                let finished = Input::Tool(ToolInput::Finished {
                    session,
                    call,
                    ticket,
                    ok,
                    text,
                    read,
                    wrote,
                    finding,
                });
                spent.into_iter().chain([finished]).collect()
            }
            Effect::Look { ticket, session, call, .. } => {
                let (call, seen) = (call.id.clone(), call.seen.clone());
                vec![Input::Tool(ToolInput::Looked { session, call, ticket, seen })]
            }
            Effect::CleanUp { agent, .. } => {
                vec![Input::Tool(ToolInput::CleanedUp { agent, kept: Vec::new() })]
            }
            Effect::Stop { .. } | Effect::Fence(_) => Vec::new(),
        }
    }

    /// What a tool finds outside, and whether that is for this agent.
    fn play(&mut self, state: &State, agent: &AgentId, (ticket, call): (Ticket, &Call), ok: bool) -> Played {
        let Some(agent) = state.team.agents.get(agent).map(|agent| &agent.spec) else {
            return Played { ok: false, read: Vec::new(), wrote: Vec::new(), finding: None };
        };
        let now = self.clock.now();
        let played = self.outside.play(&mut self.rng, now, agent, (ticket, call), ok);
        if let Want::Act(
            Act::ContextGet(ContextGet { context, .. }) | Act::ContextPut(ContextPut { context, .. }),
        ) = &call.want
            && played.ok
            && !self.outside.may_see(context, agent, ticket, now)
        {
            self.ledger.breaks(format!("{} sees {context}, and nothing lets it", agent.id));
        }
        played
    }

    /// What a model answers, or why it does not. It keeps within what was reserved for it.
    fn answer(
        &mut self,
        state: &State,
        session: SessionId,
        ticket: Ticket,
        reserved: Option<(u64, u64)>,
    ) -> Input {
        let (most_in, most_out) = reserved.unwrap_or((40, 20));
        let usage = Usage::of(self.rng.below(most_in.min(1_500) + 1), self.rng.below(most_out.min(500) + 1));
        match self.rng.below(20) {
            0 => model_failed(session, ticket, Some(self.rng.below(2_000))),
            1 if self.rng.chance(1, 3) => model_failed(session, ticket, None),
            1 if self.scene == Scene::Team => Input::Model(ModelInput::Failed {
                session,
                ticket,
                reason: "down".to_owned(),
                failure: Failure::Down,
            }),
            3 if self.rng.chance(1, 4) => Input::Model(ModelInput::Unsummarised { session, ticket }),
            3 => Input::Model(ModelInput::Summarised {
                session,
                ticket,
                through: MessageId::new("m-0001"),
                text: "in short".to_owned(),
                model: MODEL.to_owned(),
                usage: Usage::of(usage.tokens_in / 4, usage.tokens_out / 4),
            }),
            4 if reserved.is_some() && self.rng.chance(1, 2) => Input::Model(ModelInput::Outgrown {
                session,
                ticket,
                tokens_in: most_in + 1 + self.rng.below(2_000),
            }),
            2 => Input::Model(ModelInput::Replied {
                session,
                ticket,
                text: String::new(),
                calls: Vec::new(),
                model: MODEL.to_owned(),
                usage,
                read: Vec::new(),
            }),
            _ => {
                let ending = self.model_calls > self.bounds.model_calls_max;
                let calls = match self.scene {
                    _ if ending => Vec::new(),
                    Scene::Home => team::calls(&mut self.rng),
                    Scene::Team => crowd::calls(&mut self.rng, state, &session, &mut self.sent),
                };
                let text = format!("I say {}{OF_TRY}{}", self.rng.below(100), name_try(ticket));
                // Words alone are tried too; then the task fails.
                let is_end = calls.is_empty() && (ending || self.rng.chance(7, 8));
                let calls = if is_end { crate::model::ending(state, &session, &text) } else { calls };
                let model = MODEL.to_owned();
                Input::Model(ModelInput::Replied {
                    session,
                    ticket,
                    text,
                    calls,
                    model,
                    usage,
                    read: Vec::new(),
                })
            }
        }
    }
}

fn model_failed(session: SessionId, ticket: Ticket, retry_after_ms: Option<u64>) -> Input {
    Input::Model(ModelInput::Failed {
        session,
        ticket,
        reason: "overloaded".to_owned(),
        failure: retry_after_ms.map_or(Failure::GiveUp, |after_ms| Failure::Retry { after_ms }),
    })
}

/// The alias of the model that every agent asks first.
const MODEL: &str = "m";

fn ticket_of(effect: &Effect) -> Option<Ticket> {
    match effect {
        Effect::CallModel { ticket, .. } | Effect::RunTool { ticket, .. } | Effect::Look { ticket, .. } => {
            Some(*ticket)
        }
        Effect::Stop { .. } | Effect::Fence(_) | Effect::CleanUp { .. } => None,
    }
}

fn session_of(effect: &Effect) -> Option<&SessionId> {
    match effect {
        Effect::CallModel { session, .. }
        | Effect::RunTool { session, .. }
        | Effect::Look { session, .. }
        | Effect::Stop { session } => Some(session),
        Effect::Fence(_) | Effect::CleanUp { .. } => None,
    }
}

/// The words that a random model and its team draw from.
pub(crate) const WORDS: [&str; 6] = ["disk", "backup", "redis", "report", "deploy", "notes"];

/// The marks that a person may set.
pub(crate) const COMMANDS: [Mark; 4] = [Mark::Done, Mark::Failed, Mark::Cancelled, Mark::Open];
