//! The words in which Synod tells an agent what is going on.

use std::fmt::Write as _;

use crate::kernel::state::State;
use crate::topics::task::End;
use crate::topics::task::Task;
use crate::words::redact::redact;

/// What a task's first message says.
pub(crate) fn task(state: &State, task: &Task) -> String {
    let spec = &task.spec;
    let mut text = format!("Task {}: {}", spec.id, spec.title);
    if !spec.text.is_empty() && spec.text.trim() != spec.title {
        _ = write!(text, "\n\n{}", spec.text.trim_end());
    }
    for (key, words) in
        [("from", "It came from"), ("source", "It stands in"), ("channel", "Answer in the channel")]
    {
        if let Some(value) = spec.properties.get(key) {
            _ = write!(text, "\n{words} {value}.");
        }
    }
    if let Some(parent) = &spec.parent {
        _ = write!(text, "\nIt is a part of {parent}.");
    }
    match spec.evidence() {
        Ok(evidence) if !evidence.is_empty() => {
            text.push_str("\nIt is done when Synod has seen:");
            evidence.iter().for_each(|one| _ = write!(text, "\n- {one}"));
        }
        Ok(_) | Err(_) => {}
    }
    let ended: Vec<&Task> = spec.depends_on.iter().filter_map(|id| state.work.tasks.get(id)).collect();
    if !ended.is_empty() {
        text.push_str("\n\nWhat it waited for:");
        for other in ended {
            _ = write!(text, "\n{}", outcome(other));
        }
    }
    let along = spec.with_results();
    let along = along.iter().filter(|id| !spec.depends_on.contains(id));
    let along: Vec<&Task> = along.filter_map(|id| state.work.tasks.get(id)).collect();
    if !along.is_empty() {
        text.push_str("\n\nResults that go along with it:");
        for other in along {
            _ = write!(text, "\n{}", outcome(other));
        }
    }
    // A task's file is a person's and stays as it is; what agents are told of it is redacted.
    redact(&text).into_owned()
}

/// What whoever asked for tasks is told when they have ended.
pub(crate) fn parts(parts: &[&Task]) -> String {
    let mut text = match parts {
        [one] => format!("{} has ended.", one.spec.id),
        _ => "All parts of your task have ended.".to_owned(),
    };
    for task in parts {
        _ = write!(text, "\n{}", outcome(task));
    }
    text
}

/// What whoever has `others` as the parts of its task, all ended, is told when a person takes this one away.
pub(crate) fn moved_away(part: &Task, others: &[&Task]) -> String {
    let mut text = format!("{} is no longer a part of your task.", part.spec.id);
    if !others.is_empty() {
        _ = write!(text, "\n{}", parts(others));
    }
    text
}

/// What whoever asked is told at once when a part does not work out.
pub(crate) fn trouble(task: &Task, end: End, result: &str) -> String {
    format!("{} {}\nIts other parts go on. Decide what to do.", head(task), said(end, result))
}

fn outcome(task: &Task) -> String {
    format!(
        "{} {}",
        head(task),
        task.end().map_or_else(|| "is open".to_owned(), |end| said(end, &task.result))
    )
}

fn head(task: &Task) -> String {
    let who = task.spec.assignee.as_ref().map_or_else(String::new, |a| format!(" (@{a})"));
    format!("- {}{who} \"{}\"", task.spec.id, task.spec.title)
}

fn said(end: End, result: &str) -> String {
    let word = end.mark().as_str();
    if result.is_empty() {
        return format!("is {word}.");
    }
    let indented = result.trim_end().replace('\n', "\n  ");
    format!("is {word}:\n  {indented}")
}
