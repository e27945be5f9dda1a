//! A world in a seed: a random team, models and tools that fail, people who meddle, a disk that breaks, crashes
//! at any step. The same seed gives the same run. The world does not know the engine: whoever runs a simulation
//! gives it effects and events and gets inputs back.

mod ledger;
mod team;

use domain::approval::Answer;
use domain::effect::Effect;
use domain::id::{MessageId, Ticket, Time};
use domain::input::{Failure, Input};
use domain::state::State;
use domain::task::Mark;
use domain::usage::Usage;

pub use ledger::{Broken, Ledger};
use ledger::{OF_TRY, name_try};

use crate::clock::Virtual;
use crate::journal::{Disk, Fault};
use crate::rng::Rng;

/// After so many model calls all models come to an end, so that every run does.
const MODEL_CALLS_MAX: u32 = 120;
/// Things that people do in one run.
const MEDDLING_MAX: u32 = 25;
/// Crashes and broken disks in one run.
const FAULTS_MAX: u32 = 12;

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
}

impl World {
    /// The world of a seed.
    pub fn new(seed: u64) -> Self {
        Self {
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
        }
    }

    /// What the files of the home say at the start.
    pub fn opening(&mut self) -> Vec<Input> {
        team::opening(&mut self.rng)
    }

    /// Takes over effects that the engine let go.
    pub fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            self.ledger.started(&effect);
            match &effect {
                Effect::Stop { session } => {
                    self.in_flight.retain(|other| session_of(other) != Some(session));
                }
                // It has no outcome.
                Effect::Fence(_) => {}
                Effect::CallModel { .. } | Effect::RunTool { .. } | Effect::CleanUp { .. } => {
                    self.in_flight.push(effect)
                }
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

    /// Whatever is under way is wanted: what no longer counts was stopped.
    pub fn check(&self, state: &State) -> Result<(), Broken> {
        let wanted = domain::pending(state);
        match self.in_flight.iter().find(|effect| !wanted.contains(effect)) {
            Some(effect) => Err(Broken(format!("nobody stopped {effect:?}"))),
            None => self.ledger.check(state),
        }
    }

    /// What happens next, given what the engine knows.
    pub fn next(&mut self, state: &State) -> Next {
        if self.faults < FAULTS_MAX && self.rng.chance(1, 25) {
            self.faults += 1;
            if self.rng.chance(1, 3) {
                let fault = if self.rng.chance(1, 2) { Fault::Lost } else { Fault::KeptUnknown };
                self.disk.fail_append(self.rng.below(3), fault);
                return Next::Inputs(self.some_outcomes());
            }
            return Next::Crash;
        }
        if self.meddled < MEDDLING_MAX && self.rng.chance(1, 6) {
            self.meddled += 1;
            return Next::Inputs(vec![team::meddle(&mut self.rng, state)]);
        }
        if self.rng.chance(1, 10) {
            self.clock.advance(self.rng.below(5_000));
            return Next::Time;
        }
        if !self.in_flight.is_empty() {
            return Next::Inputs(self.some_outcomes());
        }
        if let Some(approval) = state.approvals.keys().next().cloned() {
            let answer = if self.rng.chance(2, 3) {
                Answer::Approved
            } else {
                Answer::Rejected { reason: "no".to_owned() }
            };
            return Next::Inputs(vec![Input::Answered {
                approval,
                answer,
                by: "dana".to_owned(),
                via: "sim".to_owned(),
            }]);
        }
        match state.next_deadline() {
            Some(due) if !state.is_idle() || state.open_tasks > 0 => {
                self.clock.set(due.plus_ms(1));
                Next::Time
            }
            _ if self.meddled < MEDDLING_MAX => {
                self.meddled += 1;
                Next::Inputs(vec![team::meddle(&mut self.rng, state)])
            }
            _ => Next::Over,
        }
    }

    /// Some of what is under way comes to its end, in any order; now and then twice.
    fn some_outcomes(&mut self) -> Vec<Input> {
        let mut outcomes = Vec::new();
        let count = 1 + self.rng.below(3);
        for _ in 0..count {
            if self.in_flight.is_empty() {
                break;
            }
            let index = usize::try_from(self.rng.below(self.in_flight.len() as u64)).unwrap_or(0);
            let effect = self.in_flight.swap_remove(index);
            self.ledger.happened(&effect);
            let outcome = self.outcome(effect);
            if let Some(outcome) = outcome {
                self.delivered.push(outcome.clone());
                outcomes.push(outcome);
            }
        }
        if self.rng.chance(1, 6)
            && let Some(ghost) = self.ghosts.pop()
        {
            outcomes.extend(self.outcome(ghost));
        }
        if self.rng.chance(1, 8)
            && let Some(again) = self.rng.pick(&self.delivered).cloned()
        {
            outcomes.push(again);
        }
        outcomes
    }

    fn outcome(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::CallModel { ticket, session, .. } => {
                self.model_calls += 1;
                Some(match self.rng.below(20) {
                    0 => model_failed(session, ticket, Some(self.rng.below(2_000))),
                    1 if self.rng.chance(1, 3) => model_failed(session, ticket, None),
                    3 => Input::Summarised {
                        session,
                        ticket,
                        through: MessageId::new("m-0001"),
                        text: "in short".to_owned(),
                        model: String::new(),
                        usage: Usage::of(9, 3),
                    },
                    2 => Input::Replied {
                        session,
                        ticket,
                        text: String::new(),
                        calls: Vec::new(),
                        model: String::new(),
                        usage: Usage::of(1, 0),
                        read: Vec::new(),
                    },
                    _ => {
                        let ending = self.model_calls > MODEL_CALLS_MAX;
                        let calls = if ending { Vec::new() } else { team::calls(&mut self.rng) };
                        let text = format!("I say {}{OF_TRY}{}", self.rng.below(100), name_try(ticket));
                        Input::Replied {
                            session,
                            ticket,
                            text,
                            calls,
                            model: String::new(),
                            usage: Usage::of(10, 5),
                            read: Vec::new(),
                        }
                    }
                })
            }
            Effect::RunTool { ticket, session, call, .. } => {
                let ok = !self.rng.chance(1, 5);
                let word = if ok { "done" } else { "it did not work" };
                let text = format!("{word}{OF_TRY}{}", name_try(ticket));
                Some(Input::ToolFinished {
                    session,
                    call: call.id,
                    ticket,
                    ok,
                    text,
                    read: Vec::new(),
                    wrote: Vec::new(),
                    finding: None,
                })
            }
            Effect::CleanUp { agent, .. } => Some(Input::CleanedUp { agent, kept: Vec::new() }),
            Effect::Stop { .. } | Effect::Fence(_) => None,
        }
    }
}

fn model_failed(session: domain::id::SessionId, ticket: Ticket, retry_after_ms: Option<u64>) -> Input {
    Input::ModelFailed {
        session,
        ticket,
        reason: "overloaded".to_owned(),
        failure: retry_after_ms.map_or(Failure::GiveUp, |after_ms| Failure::Retry { after_ms }),
    }
}

fn session_of(effect: &Effect) -> Option<&domain::id::SessionId> {
    match effect {
        Effect::CallModel { session, .. } | Effect::RunTool { session, .. } | Effect::Stop { session } => {
            Some(session)
        }
        Effect::Fence(_) | Effect::CleanUp { .. } => None,
    }
}

/// The words that a random model and its team draw from.
pub(crate) const WORDS: [&str; 6] = ["disk", "backup", "redis", "report", "deploy", "notes"];

/// The marks that a person may set.
pub(crate) const COMMANDS: [Mark; 4] = [Mark::Done, Mark::Failed, Mark::Cancelled, Mark::Open];
