//! The command policy against a corpus of commands, and laws that hold for all commands.

use domain::command::{Judgement, Place, judge};
use domain::settings::{CommandVerdict, Policy};

const HARMLESS: &str = include_str!("../commands/harmless.txt");
const DANGEROUS: &str = include_str!("../commands/dangerous.txt");

/// The share of harmless commands that are allowed, at least.
const HARMLESS_ALLOWED_PERCENT: usize = 95;

fn command(line: &str) -> String {
    match line.strip_prefix("json ") {
        Some(json) => serde_json::from_str(json).unwrap(),
        None => line.to_owned(),
    }
}

fn harmless() -> Vec<String> {
    HARMLESS.lines().skip(1).map(command).collect()
}

fn dangerous() -> Vec<(String, CommandVerdict)> {
    let lines = DANGEROUS.lines().filter_map(|line| line.split_once(' '));
    let judged = lines.filter_map(|(verdict, rest)| match verdict {
        "ask" => Some((command(rest), CommandVerdict::Ask)),
        "deny" => Some((command(rest), CommandVerdict::Deny)),
        _ => None,
    });
    judged.collect()
}

fn says(text: &str) -> Judgement {
    judge(&Policy::default(), &Place::default(), text)
}

#[test]
fn harmless_commands_are_not_asked_for() {
    let commands = harmless();
    assert!(commands.len() >= 150, "the corpus has {} harmless commands", commands.len());
    let asked: Vec<String> = commands
        .iter()
        .map(|command| (command, says(command)))
        .filter(|(_, judged)| judged.verdict != CommandVerdict::Allow)
        .map(|(command, judged)| format!("{command}: {:?}", judged.factors))
        .collect();
    let allowed = commands.len() - asked.len();
    assert!(
        allowed * 100 >= commands.len() * HARMLESS_ALLOWED_PERCENT,
        "{} of {} harmless commands are not allowed:\n{}",
        asked.len(),
        commands.len(),
        asked.join("\n")
    );
    // The corpus is ours: we know of none that is asked for.
    assert_eq!(asked, Vec::<String>::new());
}

#[test]
fn dangerous_commands_get_the_verdict_that_stands_beside_them() {
    let commands = dangerous();
    assert!(commands.len() >= 150, "the corpus has {} dangerous commands", commands.len());
    let wrong: Vec<String> = commands
        .iter()
        .map(|(command, expected)| (command, expected, says(command)))
        .filter(|(_, expected, judged)| judged.verdict != **expected)
        .map(|(command, _, judged)| format!("{:?} {command:?}: {:?}", judged.verdict, judged.factors))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), commands.len(), wrong.join("\n"));
}

#[test]
fn every_judgement_says_why() {
    for (command, _) in dangerous() {
        let judged = says(&command);
        assert!(!judged.rule.is_empty() && !judged.factors.is_empty(), "{command}");
        assert!(judged.factors.iter().all(|factor| factor.len() > 5), "{command}: {:?}", judged.factors);
    }
}
