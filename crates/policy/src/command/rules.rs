//! The owner's rules in `policy/commands.yaml`: patterns of words, matched on words that were read.

use super::parse::Found;
use super::paths;
use super::script::{Script, Simple};
use super::wrapper::{base, is_shell, is_wrapper};
use crate::{CommandRule, CommandVerdict, Policy, glob};

/// Characters that make a key more than words.
const OPERATORS: [char; 14] = ['|', '&', ';', '<', '>', '(', ')', '$', '`', '"', '\'', '\\', '\n', '#'];

/// A rule that applies, with its pattern.
#[derive(Debug, Clone, Copy)]
pub(super) struct Applied<'a> {
    /// As the owner wrote it.
    pub pattern: &'a str,
    pub rule: &'a CommandRule,
}

impl Applied<'_> {
    /// The rule in words that can be searched for.
    pub(super) fn name(&self) -> String {
        format!("policy/commands.yaml has {:?}: {}", self.pattern, self.rule.verdict.as_str())
    }
}

/// A mistake in a pattern, for its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// The mistake.
    pub what: &'static str,
    /// How to correct it.
    pub help: &'static str,
}

/// What is wrong with a pattern, if it does not do what it says or does more.
pub fn problem(pattern: &str, verdict: CommandVerdict) -> Option<Problem> {
    let words: Vec<&str> = pattern.split_whitespace().collect();
    let Some(program) = words.first() else {
        return Some(Problem {
            what: "an empty pattern fits no command",
            help: "write the command, or take it out",
        });
    };
    if verdict != CommandVerdict::Allow {
        return None;
    }
    if pattern.contains(OPERATORS) && super::script(pattern).is_none() {
        return Some(Problem {
            what: "only a shell can run this, so it is asked for all the same",
            help: "allow the commands it is made of, without expansions, files to write to or variables",
        });
    }
    let runs_others = is_wrapper(program) || is_shell(program);
    if program.contains('*') || (runs_others && words.last().is_some_and(|last| last.contains('*'))) {
        return Some(Problem {
            what: "this would allow every command, so it allows none",
            help: "name the program that may run, such as `npm run *`",
        });
    }
    None
}

/// The strictest of the owner's rules for one command of a script.
pub(super) fn for_command<'a>(policy: &'a Policy, command: &Simple) -> Option<Applied<'a>> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let fits = |applied: &Applied<'_>| match applied.rule.verdict {
        CommandVerdict::Allow => {
            matches(applied.pattern, &words, stays_inside)
                && problem(applied.pattern, CommandVerdict::Allow).is_none()
        }
        CommandVerdict::Ask | CommandVerdict::Deny => matches_anywhere(applied.pattern, &words),
    };
    strictest(policy, fits)
}

/// The strictest of the owner's rules, but for what is allowed, for a command found anywhere.
pub(super) fn for_found<'a>(policy: &'a Policy, found: &Found) -> Option<Applied<'a>> {
    let words: Vec<&str> = found.words.iter().map(|word| word.text.as_str()).collect();
    let fits = |applied: &Applied<'_>| {
        applied.rule.verdict != CommandVerdict::Allow && matches_anywhere(applied.pattern, &words)
    };
    strictest(policy, fits)
}

/// The rule for a whole text: a key with operators stands for exactly itself.
pub(super) fn for_text<'a>(policy: &'a Policy, text: &str, script: Option<&Script>) -> Option<Applied<'a>> {
    let fits = |applied: &Applied<'_>| {
        let key = applied.pattern.trim();
        if !key.contains(OPERATORS) {
            return false;
        }
        match (script, super::script(key)) {
            (Some(script), Some(key)) => *script == key,
            (None, None) => applied.rule.verdict != CommandVerdict::Allow && key == text.trim(),
            (Some(_), None) | (None, Some(_)) => false,
        }
    };
    strictest(policy, fits)
}

fn strictest<'a>(policy: &'a Policy, fits: impl Fn(&Applied<'_>) -> bool) -> Option<Applied<'a>> {
    let rules = policy.commands.iter().map(|(pattern, rule)| Applied { pattern, rule });
    rules.filter(|applied| fits(applied)).max_by_key(|applied| applied.rule.verdict)
}

/// What a pattern's stars stand for stays beneath the workspace, and is no secret.
fn stays_inside(free: &[&str]) -> bool {
    free.iter().all(|word| {
        let value = word.split_once('=').map_or(*word, |(_, value)| value);
        let attached = word.find('/').map_or("", |at| &word[at..]);
        let leaves = [*word, value].into_iter().any(|path| paths::outside(path).is_some());
        // `-C/etc` hides a path behind a letter.
        let hidden = word.starts_with('-') && paths::outside(attached).is_some() && !value.contains("://");
        !leaves && !hidden
    })
}

/// With the program's folder, or without.
fn matches_anywhere(pattern: &str, words: &[&str]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let plain: Vec<&str> = std::iter::once(base(program)).chain(arguments.iter().copied()).collect();
    matches(pattern, words, |_| true) || matches(pattern, &plain, |_| true)
}

/// Whether the words fit the pattern, and what its stars stand for fits `free`.
fn matches(pattern: &str, words: &[&str], free: impl Fn(&[&str]) -> bool) -> bool {
    let keys: Vec<String> = match pattern.contains(['"', '\'', '\\']) {
        false => pattern.split_whitespace().map(str::to_owned).collect(),
        true => match super::script(pattern) {
            Some(script) => match script.pipelines.as_slice() {
                [only] if only.commands.len() == 1 => {
                    only.commands[0].words.iter().map(|word| word.text.clone()).collect()
                }
                _ => return false,
            },
            None => return false,
        },
    };
    let (fixed, takes_rest) = match keys.split_last() {
        Some((last, fixed)) if last == "*" || last == "**" => (fixed, true),
        _ => (keys.as_slice(), false),
    };
    if keys.is_empty() || words.len() < fixed.len() || (!takes_rest && words.len() != fixed.len()) {
        return false;
    }
    let (first, rest) = words.split_at(fixed.len());
    let fit =
        fixed.iter().zip(first).all(|(key, word)| key == word || (key.contains('*') && glob(key, word)));
    let starred = fixed.iter().zip(first).filter(|(key, word)| key != *word).map(|(_, word)| *word);
    fit && free(&starred.chain(rest.iter().copied()).collect::<Vec<_>>())
}
