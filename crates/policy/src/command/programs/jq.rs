//! `jq`: filters that look at their input and nowhere else.

use super::Tool;
use crate::Risk;
use crate::command::finding::{Finding, ask, rule};
use crate::command::paths;
use crate::command::script::Word;
use crate::command::table::WORDS;
use crate::command::tool::unknown;

pub(super) fn findings(_: &Tool, arguments: &[Word]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut rest = arguments.iter();
    let mut filter: Option<&str> = None;
    let mut only_operands = false;
    let mut positional = false;
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if !only_operands && text.starts_with('-') && text.len() > 1 {
            match text {
                "--" => only_operands = true,
                "--arg" | "--argjson" => drop((rest.next(), rest.next())),
                "--slurpfile" | "--rawfile" => {
                    rest.next();
                    findings.extend(
                        rest.next().iter().flat_map(|path| paths::findings(&path.text, path.is_glob)),
                    );
                }
                "--indent" => drop(rest.next()),
                "--args" | "--jsonargs" => positional = true,
                flag if WORDS.jq_flags.contains(&flag) => {}
                short if short[1..].chars().all(|c| "rcSsnejaMCR".contains(c)) => {}
                other => findings.push(unknown(other)),
            }
        } else if filter.is_none() {
            filter = Some(text);
            if word.is_glob {
                findings.push(unknown("a filter that is a glob"));
            }
        } else if !positional {
            findings.extend(paths::findings(text, word.is_glob));
        }
    }
    let reached = filter.and_then(|filter| WORDS.jq_reaching.iter().find(|name| has_word(filter, name)));
    if let Some(name) = reached {
        findings.push(ask(
            Risk::Medium,
            rule::OPTION,
            format!("reaches beyond its input: {name} in a jq filter"),
        ));
    }
    findings
}

/// Whether `name` occurs and is not a part of a longer name or a key.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(|c| is_part(c) || c == '.') && !after.is_some_and(is_part)
    })
}
