//! The command policy against a corpus of commands, and laws that hold for all commands.

use std::sync::LazyLock;

use policy::command::{COMMAND_BYTES_MAX, Judgement, Place, judge, script};
use policy::{CommandRule, CommandVerdict, Nature, Policy, Risk};
use proptest::prelude::{ProptestConfig, any, proptest};
use proptest::sample::Index;

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

static CORPUS: LazyLock<Vec<String>> = LazyLock::new(|| {
    harmless().into_iter().chain(dangerous().into_iter().map(|(command, _)| command)).collect()
});

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

#[test]
fn risk_follows_what_could_be_lost() {
    for (command, risk) in [
        ("ls", Risk::Low),
        ("touch x", Risk::Medium),
        ("frobnicate", Risk::Medium),
        ("chmod +x x", Risk::High),
        ("curl https://example.org", Risk::High),
        ("rm -r build", Risk::Medium),
        ("rm -rf build target/x", Risk::Medium),
        ("rm -r .git", Risk::Critical),
        ("rm -r .cache", Risk::High),
        ("rm -rf b*", Risk::Critical),
        ("rm -rf ../build", Risk::Critical),
        ("make test", Risk::Medium),
        ("npm ci", Risk::High),
        ("git commit -m x", Risk::Low),
        ("git switch main", Risk::Medium),
        ("sudo ls", Risk::Critical),
        ("cat .env", Risk::Critical),
    ] {
        assert_eq!(says(command).risk, risk, "{command}: {:?}", says(command).factors);
    }
}

#[test]
fn what_was_seen_in_the_workspace_makes_it_ask() {
    let notes = ["git runs ./evil for every status".to_owned()];
    let judged = judge(&Policy::default(), &Place { notes: &notes }, "git status");
    assert_eq!((judged.verdict, judged.nature), (CommandVerdict::Ask, Nature::Once));
    assert_eq!(judged.factors, notes);
}

#[test]
fn the_network_is_wanted_by_what_needs_it() {
    for (command, wants) in
        [("ls", false), ("git push", true), ("curl x", true), ("rm x", false), ("npm ci", true)]
    {
        assert_eq!(says(command).wants_network, wants, "{command}");
    }
}

fn policy(rules: &[(&str, CommandVerdict)]) -> Policy {
    let rule =
        |(pattern, verdict): &(&str, CommandVerdict)| ((*pattern).to_owned(), CommandRule::new(*verdict));
    Policy { commands: rules.iter().map(rule).collect() }
}

#[test]
fn the_owners_patterns_are_matched_on_words() {
    use CommandVerdict::{Allow, Ask, Deny};
    let policy = policy(&[
        ("npm run test", Allow),
        ("make *", Allow),
        ("cargo test -p *", Allow),
        ("echo \"a b\"", Ask),
        ("docker *", Deny),
        ("git log *", Ask),
        ("ls | wc -l", Ask),
        ("bash *", Allow),
        ("cat *", Allow),
        ("*", Allow),
    ]);
    for (command, verdict) in [
        ("npm run test", Allow),
        ("npm  run 'test'", Allow),
        ("npm run test --watch", Ask),
        ("npm run tests", Ask),
        ("make", Allow),
        ("make -j4 all && ls", Allow),
        ("make all; frobnicate", Ask),
        ("make all > log", Ask),
        ("make -C /etc", Ask),
        ("make -C/etc", Ask),
        ("make DIR=../x", Ask),
        ("X=1 make", Ask),
        ("./make", Ask),
        ("cargo test -p domain", Allow),
        ("cargo test", Ask),
        ("echo 'a b'", Ask),
        ("echo a b", Allow),
        ("docker", Deny),
        ("/usr/bin/docker ps", Deny),
        ("sudo docker ps", Deny),
        ("echo $(docker ps)", Deny),
        ("sh -c 'docker ps'", Deny),
        ("git log -1", Ask),
        ("git status", Allow),
        ("ls | wc -l", Ask),
        ("ls | wc -c", Allow),
        ("bash x.sh", Ask),
        ("frobnicate", Ask),
        ("cat .env", Deny),
        ("cat /etc/passwd", Ask),
        ("cat --frobnicate x", Allow),
    ] {
        let judged = judge(&policy, &Place::default(), command);
        assert_eq!(judged.verdict, verdict, "{command}: {:?} by {}", judged.factors, judged.rule);
    }
}

#[test]
fn an_effect_is_what_the_owner_says_it_is() {
    let read = CommandRule { nature: Nature::Read, ..CommandRule::new(CommandVerdict::Allow) };
    let policy = Policy { commands: [("mytool *".to_owned(), read)].into() };
    let nature = |command: &str| judge(&policy, &Place::default(), command).nature;
    assert_eq!(nature("mytool x"), Nature::Read);
    assert_eq!(nature("mytool x | head"), Nature::Read);
    assert_eq!(nature("mytool x; touch y"), Nature::Once);
}

#[test]
fn one_more_command_never_makes_the_verdict_milder() {
    for (number, base) in CORPUS.iter().enumerate() {
        let judged = says(base);
        if judged.factors.iter().any(|f| f.contains("cannot be read") || f.contains("is empty")) {
            continue;
        }
        let joints: &[&str] =
            if judged.script.is_some() { &["\n", "; ", " && ", " || ", " | "] } else { &["\n"] };
        let other = ["ls", "rm x", "cat .env"][number % 3];
        for joint in joints {
            let longer = format!("{other}{joint}{base}");
            assert!(says(&longer).verdict >= judged.verdict, "{longer}");
        }
        let longer = format!("{base}\n{other}");
        let both = says(&longer).verdict;
        assert!(both >= judged.verdict, "{longer}");
        assert!(both >= says(other).verdict || base.contains("<<"), "{longer}");
    }
}

#[test]
fn bounds_never_allow() {
    let long = format!("ls {}", "a".repeat(COMMAND_BYTES_MAX));
    for (text, verdict) in [
        (long, CommandVerdict::Deny),
        ("ls; ".repeat(40) + "ls", CommandVerdict::Ask),
        ("ls; ".repeat(4_000) + "ls", CommandVerdict::Deny),
        ("$(".repeat(2_000), CommandVerdict::Deny),
        ("(".repeat(5_000), CommandVerdict::Deny),
        ("if ".repeat(5_000), CommandVerdict::Deny),
        ("! ".repeat(5_000) + "ls", CommandVerdict::Deny),
        ("`".repeat(5_000), CommandVerdict::Deny),
        ("\"$(".repeat(50), CommandVerdict::Ask),
        ("sh -c ".repeat(2_000), CommandVerdict::Ask),
        ("sudo ".repeat(3_000), CommandVerdict::Ask),
        ("a=".repeat(5_000), CommandVerdict::Ask),
        ("[".repeat(900), CommandVerdict::Ask),
        ("{a,".repeat(300), CommandVerdict::Ask),
    ] {
        let judged = says(&text);
        assert_eq!(judged.verdict, verdict, "{}… {:?}", &text[..20], judged.factors.first());
    }
}

#[test]
fn quotes_do_not_hide_a_letter_that_looks_like_another() {
    for text in [
        "git log '--since=2 weeks ago\u{37a}'",
        "git log --since='2 weeks ago'\u{37a}",
        "cat \"re\"\u{430}dme",
    ] {
        assert_ne!(says(text).verdict, CommandVerdict::Allow, "{text}");
    }
    assert_eq!(says("grep 'привет' notes.md").verdict, CommandVerdict::Allow);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn no_text_breaks_the_judge_and_what_is_allowed_is_words(
        pick in any::<Index>(),
        at in any::<Index>(),
        length in 0..6_usize,
        with in "[\\PC\n\r\t \u{a0}|&;<>(){}\\[\\]$`\"'#*?~!\\\\=-]{0,5}",
    ) {
        let mut text = CORPUS[pick.index(CORPUS.len())].clone();
        let bounds: Vec<usize> = text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
        let start = at.index(bounds.len());
        let end = (start + length).min(bounds.len() - 1);
        text.replace_range(bounds[start]..bounds[end], &with);
        let judged = says(&text);
        if judged.verdict == CommandVerdict::Allow {
            let allowed = judged.script.expect("what is allowed is a script");
            let again = script(&allowed.to_string());
            assert_eq!(again.as_ref(), Some(&allowed), "{text:?}");
            assert_eq!(says(&allowed.to_string()).verdict, CommandVerdict::Allow, "{allowed}");
        }
    }
}
