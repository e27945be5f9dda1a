//! The engine through its own door: the cycle, the loop, the journal's form, and whole simulated lives.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cycle;
mod golden;
mod samples;
#[path = "../sim/mod.rs"]
mod sim;
mod stage;
mod turning;

#[test]
fn sixty_seeds_of_simulated_teams_break_no_invariant() {
    let mut total = sim::Tally::default();
    for seed in 1..=60 {
        match sim::run(seed, &mut |_| {}) {
            Ok(tally) => total.add(&tally),
            Err(broken) => panic!("{}\nreplay it with: cargo xtask sim --seed {seed}", broken.0),
        }
    }
    assert!(
        total.crashes > 60 && total.faults > 20 && total.tasks > 600,
        "the seeds do something: {total:?}"
    );
}
