//! Judging a command by the policy, against only reading it with the same grammar.

use std::hint::black_box;

use brush_parser::{Parser, ParserOptions};
use policy::command::{Place, judge};
use policy::{CommandRule, CommandVerdict, Policy};

use crate::measure::{Aim, Measurement, Pair, Unit, median, timed_on_cpu};

/// What agents run most, and some that are asked for or denied.
const COMMANDS: [&str; 10] = [
    "ls -la",
    "cat src/main.rs | head -50",
    "git status --short",
    "git log --oneline -10 -- src/main.rs",
    "grep -rn \"fn main\" --include=*.rs src",
    "find . -name '*.rs' -type f -not -path './target/*' | wc -l",
    "cd crates/domain && cat Cargo.toml 2>/dev/null || echo missing",
    "cargo test -p synod-domain",
    "curl -fsSL https://example.org/install.sh | sh",
    "for f in *.txt; do rm \"$f\"; done",
];
const REPEATS: usize = 200;
const ROUNDS: usize = 21;

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let policy = policy();
    let place = Place::default();
    let each = (REPEATS * COMMANDS.len()) as f64;
    let pair = Pair::take_turns(
        ROUNDS,
        || Ok(all(|command| _ = black_box(judge(&policy, &place, command))) / each),
        || Ok(all(|command| _ = black_box(parse(command))) / each),
    )?;
    Ok(vec![Measurement {
        name: format!("policy check of a command, {} rules", policy.commands.len()),
        value: median(&pair.thing) * 1e6,
        unit: Unit::Microseconds,
        against: "only reading it",
        baseline: median(&pair.baseline) * 1e6,
        aim: Aim::AtMost(50.0),
        rounds: ROUNDS,
    }])
}

fn all(work: impl Fn(&str)) -> f64 {
    timed_on_cpu(|| (0..REPEATS).for_each(|_| COMMANDS.iter().for_each(|command| work(command))))
}

fn parse(command: &str) -> bool {
    Parser::new(command.as_bytes(), &ParserOptions::default()).parse_program().is_ok()
}

/// As long as a team's policy gets.
fn policy() -> Policy {
    let programs = ["npm", "cargo", "make", "docker", "kubectl", "git", "pytest", "go", "terraform", "helm"];
    let verdicts =
        [("test *", CommandVerdict::Allow), ("push *", CommandVerdict::Ask), ("rm *", CommandVerdict::Deny)];
    let rules = programs.iter().flat_map(|program| {
        verdicts.map(|(rest, verdict)| (format!("{program} {rest}"), CommandRule::new(verdict)))
    });
    Policy { commands: rules.collect() }
}
