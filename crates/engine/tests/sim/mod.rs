//! One simulated life of a home: the real engine and domain in a world of fakes, from one seed number.

use std::fmt::Display;

use domain::effect::Effect;
use domain::id::Seq;
use domain::input::Input;
use domain::review::Stage;
use domain::state::State;
use engine::{Engine, decode};
use ports::clock::Clock as _;
use testkit::World;
use testkit::world::{Broken, Next, Scene};

/// Steps after which a run that does not end counts as one that hangs.
const STEPS_MAX: u64 = 20_000;

/// What happened in a run.
#[derive(Debug, Default)]
pub struct Tally {
    pub steps: u64,
    pub events: u64,
    pub crashes: u64,
    pub faults: u64,
    pub tasks: u64,
    pub delegations: u64,
    pub spawned: u64,
    pub reviews: u64,
    pub merges: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.events += other.events;
        self.crashes += other.crashes;
        self.faults += other.faults;
        self.tasks += other.tasks;
        self.delegations += other.delegations;
        self.spawned += other.spawned;
        self.reviews += other.reviews;
        self.merges += other.merges;
    }
}

impl Tally {
    fn count_team(&mut self, state: &State) {
        self.spawned =
            state.team.agents.values().filter(|agent| agent.spec.spawned_by.is_some()).count() as u64;
        let reviews = state.reviews.by_id.values();
        self.merges = reviews.clone().filter(|r| matches!(r.stage, Stage::Merged { .. })).count() as u64;
        self.reviews = reviews.map(|review| u64::from(review.round)).sum();
    }
}

/// Runs a seed to its end and checks the invariants after each step.
pub fn run(scene: Scene, seed: u64, trace: &mut dyn FnMut(&dyn Display)) -> Result<Tally, Broken> {
    let mut world = World::new(scene, seed);
    let mut tally = Tally::default();
    let mut shadow = State::new();
    let mut engine = open(&world)?;
    let mut inputs = world.opening();
    inputs.push(Input::Started);
    for _ in 0..STEPS_MAX {
        tally.steps += 1;
        for input in &inputs {
            trace(&format_args!("          {input:?}"));
        }
        match engine.cycle(world.clock.now(), &inputs) {
            Ok(cycle) => {
                for recorded in cycle.recorded.iter() {
                    trace(&format_args!("{:>7}   {:?}", recorded.seq, recorded.event));
                    world.ledger.saw(&shadow, recorded.seq, &recorded.event)?;
                    shadow.apply(recorded.at, &recorded.event);
                    world.ledger.applied(&shadow, recorded.at, &recorded.event)?;
                }
                if world.dies_over(engine.state(), cycle.effects) {
                    trace(&"crash between commit and effects");
                    tally.crashes += 1;
                    engine = restart(&mut world, &mut shadow)?;
                    inputs = vec![Input::Started];
                    continue;
                }
                if !engine.state().is_settled() {
                    return Err(Broken("a step was left undone".to_owned()));
                }
                // What is due and stays due would keep everything after it from happening.
                let now = world.clock.now();
                if let Some(due) = engine.next_deadline().filter(|due| inputs.is_empty() && *due <= now) {
                    return Err(Broken(format!("nothing came of what was due at {due:?}")));
                }
                world.check_step(engine.state())?;
                if tally.steps % world.check_every() == 0 {
                    check(&world, &engine, &shadow)?;
                }
            }
            Err(_) => {
                // Nothing of the batch counts, and the process ends; the next one starts from the journal.
                tally.faults += 1;
                trace(&"broken disk");
                engine = restart(&mut world, &mut shadow)?;
                inputs = vec![Input::Started];
                continue;
            }
        }
        if engine.snapshot_is_due() || tally.steps % 97 == 0 {
            engine.save_snapshot().map_err(|error| Broken(error.to_string()))?;
        }
        inputs = match world.next(engine.state())? {
            Next::Inputs(inputs) => inputs,
            Next::Time => Vec::new(),
            Next::Crash => {
                trace(&"crash");
                tally.crashes += 1;
                engine = restart(&mut world, &mut shadow)?;
                vec![Input::Started]
            }
            Next::Over => {
                check(&world, &engine, &shadow)?;
                world.check_end(engine.state())?;
                tally.events = engine.state().seq.0;
                tally.tasks = engine.state().work.tasks.len() as u64;
                tally.delegations = engine.state().delegations.by_id.len() as u64;
                tally.count_team(engine.state());
                return Ok(tally);
            }
        };
    }
    let state = serde_json::to_value(engine.state()).unwrap_or_default();
    Err(Broken(format!("no end after {STEPS_MAX} steps; due first: {}", state["deadlines"][0])))
}

fn open(world: &World) -> Result<Engine, Broken> {
    Engine::open(Box::new(world.disk.clone())).map_err(|error| Broken(error.to_string()))
}

/// The process is gone. What the journal gives back must be what was live; a batch whose commit failed either
/// counts whole, because it had reached the disk after all, or not at all.
fn restart(world: &mut World, shadow: &mut State) -> Result<Engine, Broken> {
    world.crashed();
    for entry in world.disk.entries().split_off(usize::try_from(shadow.seq.0).unwrap_or(usize::MAX)) {
        let event = decode(&entry).map_err(|error| Broken(error.to_string()))?;
        world.ledger.saw(shadow, entry.seq, &event)?;
        shadow.apply(entry.at, &event);
        world.ledger.applied(shadow, entry.at, &event)?;
    }
    let engine = open(world)?;
    if engine.state() != shadow {
        return Err(Broken(format!(
            "replay to event {} differs from the live state at {}",
            engine.state().seq,
            shadow.seq
        )));
    }
    Ok(engine)
}

fn check(world: &World, engine: &Engine, shadow: &State) -> Result<(), Broken> {
    let state = engine.state();
    if state != shadow {
        return Err(Broken("the live state is not what its events add up to".to_owned()));
    }
    world.check(state)?;
    for effect in domain::pending(state) {
        let (Effect::CallModel { ticket, .. } | Effect::RunTool { ticket, .. }) = &effect else { continue };
        if ticket.effect > state.seq || ticket.effect == Seq(0) {
            return Err(Broken(format!("{effect:?} comes from an event that is not there")));
        }
    }
    Ok(())
}
