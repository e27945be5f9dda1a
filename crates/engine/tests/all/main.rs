//! The engine through its own door: the cycle, the loop, the journal's form, and whole simulated lives.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cycle;
mod golden;
mod samples;
#[path = "../sim/mod.rs"]
mod sim;
mod stage;
mod turning;

use testkit::world::Scene;

fn play(scene: Scene, name: &str, seeds: std::ops::RangeInclusive<u64>) -> sim::Tally {
    let mut total = sim::Tally::default();
    for seed in seeds {
        match sim::run(scene, seed, &mut |_| {}) {
            Ok(tally) => total.add(&tally),
            Err(broken) => {
                panic!("{}\nreplay it with: cargo xtask sim --scene {name} --seed {seed}", broken.0)
            }
        }
    }
    total
}

#[test]
fn sixty_seeds_of_simulated_homes_break_no_invariant() {
    let total = play(Scene::Home, "home", 1..=60);
    assert!(
        total.crashes > 60 && total.faults > 20 && total.tasks > 600,
        "the seeds do something: {total:?}"
    );
}

#[test]
fn three_seeds_of_a_simulated_team_break_no_invariant() {
    let total = play(Scene::Team, "team", 1..=3);
    assert!(
        total.crashes > 6 && total.tasks > 600 && total.delegations > 100,
        "the seeds do something: {total:?}"
    );
}
