//! Allows a command for good: one more rule in the policy, and nothing else of the file changes.

use std::path::Path;

use adapters::disk::{self, Flush, Replaced};
use domain::layout;
use formats::document::{Document, Scalar};
use policy::command::problem;
use policy::{CommandVerdict, Policy};

use crate::view;

/// Writes the rule, and gives it as it stands there.
pub(super) fn allow(home: &Path, command: &str) -> Result<String, String> {
    let path = home.join(layout::COMMANDS);
    let before =
        disk::read(&path).map_err(|error| format!("{} cannot be read: {error}", layout::COMMANDS))?;
    let after = with(before.as_ref().map_or("", |found| &found.text), command)?;
    let replaced = disk::replace(&path, before.as_ref().map(|found| &found.known), &after, Flush::Before);
    match replaced.map_err(|error| format!("{} cannot be written: {error}", layout::COMMANDS))? {
        Replaced::Done { .. } => Ok(format!("{command:?}: allow")),
        Replaced::Changed { .. } => {
            Err(format!("somebody else changed {} in this moment; try again", layout::COMMANDS))
        }
    }
}

/// The text of the policy with one more rule.
fn with(text: &str, command: &str) -> Result<String, String> {
    let command = command.trim();
    if command.contains('*') {
        return Err("a `*` in a rule stands for anything; write the rule yourself".to_owned());
    }
    if command.contains('\n') {
        return Err("this has more than one line; write a rule for what it is made of".to_owned());
    }
    if let Some(problem) = problem(command, CommandVerdict::Allow) {
        return Err(format!("{}; {}", problem.what, problem.help));
    }
    let (document, found) = Document::parse(layout::COMMANDS, text);
    let place = || found.first().map_or_else(String::new, |d| format!(": {}", view::team::place(d)));
    let mut document = document.ok_or_else(|| format!("{} does not read{}", layout::COMMANDS, place()))?;
    if document.get(&["commands", command]).is_some() {
        return Err(format!("{} has a rule for {command:?} already", layout::COMMANDS));
    }
    let allow = Scalar::Text("allow".to_owned());
    document.set(&["commands", command], allow).map_err(|refused| refused.to_string())?;
    let policy: Option<Policy> = formats::policy::read(layout::COMMANDS, document.text()).value;
    let is_there = policy.is_some_and(|policy| policy.commands.contains_key(command));
    if !is_there {
        return Err(format!("{} would not read with it", layout::COMMANDS));
    }
    Ok(document.text().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_added_and_nothing_else_changes() {
        let text = "# mine\ncommands:\n  df -h: {verdict: allow, effect: read} # free space\n  rm *: deny\n";
        assert_eq!(with(text, "git status --short").unwrap(), format!("{text}  git status --short: allow\n"));
        assert_eq!(with("", "df -h").unwrap(), "commands:\n  df -h: allow\n");
    }

    #[test]
    fn what_would_allow_more_or_nothing_is_not_written() {
        for command in ["rm *", "echo $(id)", "", "a\nb"] {
            assert!(with("", command).is_err(), "{command}");
        }
        let there = "commands:\n  df -h: deny\n";
        assert!(with(there, "df -h").unwrap_err().contains("already"));
    }
}
