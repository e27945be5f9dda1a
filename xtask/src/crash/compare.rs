//! Whether a home that was killed ended like one that was not. What may differ: times, numbers that commands
//! printed, the hex part of session names, the order of what came in between two turns. What may not: tasks,
//! who said what in which order, how often something took effect.

use std::collections::{BTreeMap, BTreeSet};

use super::home::{Home, Message, Session, Task};

/// How Synod begins the result of a call that it must not repeat and whose end it did not see.
const UNKNOWN: &str = "outcome unknown";

/// The only tool whose outcome may be unknown; every other one may be repeated or is Synod's own.
const ONCE: &str = "execute_command";

/// What is wrong in a home by itself, whatever the others did.
pub fn faults(home: &Home) -> Vec<String> {
    let mut faults = Vec::new();
    if home.outbox.len() != 1 {
        faults.push(format!("inbox/slack-outbox.jsonl has {} lines, 1 was expected", home.outbox.len()));
    }
    faults.extend(home.pending.iter().map(|name| format!("approvals/pending/{name} still waits")));
    let mut ids = BTreeSet::new();
    let twice = home.tasks.iter().filter(|task| !ids.insert(&task.id));
    faults.extend(twice.map(|t| format!("tasks/{}: the task id {:?} is there twice", t.file, t.id)));
    let open = |task: &&Task| task.file == "approvals.task.md" && !matches!(task.mark.as_str(), "x" | "-");
    faults.extend(
        home.tasks.iter().filter(open).map(|t| format!("tasks/approvals.task.md: {} still waits", t.id)),
    );
    for session in &home.sessions {
        faults.extend(session_faults(session));
    }
    faults
}

/// Ids are unique, every call has exactly one result, and only what must not run twice has an unknown outcome.
fn session_faults(session: &Session) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |what: String| faults.push(format!("sessions/{}: {what}", session.file));
    let mut ids = BTreeSet::new();
    for message in &session.messages {
        if message.id.is_empty() {
            fault("a message has no id".to_owned());
        } else if !ids.insert(&message.id) {
            fault(format!("the message id {} is there twice", message.id));
        }
    }
    let calls: Vec<(String, String)> = session.messages.iter().flat_map(Message::calls).collect();
    let tools: BTreeMap<&str, &str> = calls.iter().map(|(id, tool)| (id.as_str(), tool.as_str())).collect();
    if tools.len() < calls.len() {
        fault("two calls have the same id".to_owned());
    }
    let mut results: BTreeMap<&str, usize> = tools.keys().map(|id| (*id, 0)).collect();
    for message in session.messages.iter().filter(|m| m.role == "tool_result") {
        let Some(tool) = tools.get(message.call.as_str()) else {
            fault(format!("{} is the result of {:?}, which nobody asked for", message.id, message.call));
            continue;
        };
        *results.entry(message.call.as_str()).or_default() += 1;
        if is_unknown(message) && *tool != ONCE {
            fault(format!("{} says \"{UNKNOWN}\" of {tool}, which may be repeated", message.id));
        }
    }
    for (call, count) in results.into_iter().filter(|(_, count)| *count != 1) {
        fault(format!("the call {call} has {count} results, 1 was expected"));
    }
    faults
}

/// Where `found` differs from `expected`.
pub fn differences(expected: &Home, found: &Home) -> Vec<String> {
    let mut differences = Vec::new();
    let show = |t: &Task| {
        format!(
            "tasks/{}: [{}] {} @{} {} (parent {:?}, depends on {:?})",
            t.file, t.mark, t.id, t.assignee, t.title, t.parent, t.depends_on
        )
    };
    let (tasks_expected, tasks_found) = (plain_tasks(expected), plain_tasks(found));
    differences.extend(tasks_expected.difference(&tasks_found).map(|t| format!("missing: {}", show(t))));
    differences.extend(tasks_found.difference(&tasks_expected).map(|t| format!("not expected: {}", show(t))));

    let (by_expected, by_found) = (by_owner(expected), by_owner(found));
    let owners: BTreeSet<_> = by_expected.keys().chain(by_found.keys()).collect();
    for owner in owners {
        let expected = by_expected.get(owner).map_or(&[][..], Vec::as_slice);
        let found = by_found.get(owner).map_or(&[][..], Vec::as_slice);
        if expected.len() == found.len() {
            differences.extend(expected.iter().zip(found).flat_map(|(e, f)| session_differences(e, f)));
        } else {
            let (agent, task) = owner;
            let counts = format!("{} expected, {} found", expected.len(), found.len());
            differences.push(format!("sessions of {agent} for {task:?}: {counts}"));
        }
    }
    // An agent that was told of an unknown outcome may well report something else.
    if !found.sessions.iter().any(|s| s.messages.iter().any(is_unknown)) {
        let plain = |home: &Home| home.outbox.iter().map(|line| normal(line)).collect::<Vec<_>>();
        if plain(expected) != plain(found) {
            differences.push(format!(
                "inbox/slack-outbox.jsonl:\n  expected {:?}\n  found    {:?}",
                expected.outbox, found.outbox
            ));
        }
    }
    differences
}

/// An approval's title has the exact act in it, and so what a command printed.
fn plain_tasks(home: &Home) -> BTreeSet<Task> {
    home.tasks.iter().map(|task| Task { title: normal(&task.title), ..task.clone() }).collect()
}

/// Sessions by agent and task. Their names differ between runs; of several, the order is that of what they say.
fn by_owner(home: &Home) -> BTreeMap<(&str, &str), Vec<&Session>> {
    let mut owners: BTreeMap<(&str, &str), Vec<&Session>> = BTreeMap::new();
    for session in &home.sessions {
        owners.entry((&session.agent, &session.task)).or_default().push(session);
    }
    for sessions in owners.values_mut() {
        sessions.sort_by_cached_key(|s| s.messages.iter().map(|m| normal(&m.content)).collect::<Vec<_>>());
    }
    owners
}

fn session_differences(expected: &Session, found: &Session) -> Vec<String> {
    let mut differences = Vec::new();
    let file = &found.file;
    if expected.status != found.status {
        differences.push(format!("sessions/{file}: status {}, expected {}", found.status, expected.status));
    }
    let (expected, found) = (stretches(&expected.messages), stretches(&found.messages));
    for index in 0..expected.len().max(found.len()) {
        let nothing = Stretch::default();
        let (e, f) = (expected.get(index).unwrap_or(&nothing), found.get(index).unwrap_or(&nothing));
        let same = e.role == f.role && if f.unknown > 0 { fits(e, f) } else { e.said == f.said };
        if !same {
            differences.push(format!("sessions/{file}, part {}:\n  expected {e}\n  found    {f}", index + 1));
            break;
        }
        // From here on the agent knew something else, and may have done something else.
        if f.unknown > 0 {
            break;
        }
    }
    differences
}

/// Whether all that is known was expected, and the unknown is as much as the rest.
fn fits(expected: &Stretch, found: &Stretch) -> bool {
    let mut rest = expected.said.clone();
    for said in &found.said {
        let Some(at) = rest.iter().position(|e| e == said) else { return false };
        rest.remove(at);
    }
    rest.len() == found.unknown
}

/// Messages of one role that follow each other. What comes from others between two turns (messages, results of
/// calls that ran side by side) has no promised order, so it is sorted; what the agent says has.
#[derive(Debug, Default)]
struct Stretch {
    role: String,
    said: Vec<String>,
    /// Results that say that the outcome is unknown; they are not in `said`.
    unknown: usize,
}

impl std::fmt::Display for Stretch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.role.as_str() {
            "" => f.write_str("nothing"),
            role if self.unknown > 0 => write!(f, "{role} {:?} and {} unknown", self.said, self.unknown),
            role => write!(f, "{role} {:?}", self.said),
        }
    }
}

fn stretches(messages: &[Message]) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for message in messages {
        let goes_on = stretches.last().is_some_and(|s| s.role == message.role && message.role != "assistant");
        if !goes_on {
            stretches.push(Stretch { role: message.role.clone(), ..Stretch::default() });
        }
        if let Some(last) = stretches.last_mut() {
            if is_unknown(message) {
                last.unknown += 1;
            } else {
                last.said.push(normal(&format!("{} {}", message.content, message.calls)).trim().to_owned());
            }
        }
    }
    for stretch in &mut stretches {
        stretch.said.sort();
    }
    stretches
}

fn is_unknown(message: &Message) -> bool {
    let content = message.content.trim_start_matches(|c: char| !c.is_alphabetic());
    message.role == "tool_result" && content.starts_with(UNKNOWN)
}

/// A text without what differs from run to run: numbers (with the unit that `df -h` picks by size) and long hex
/// words become `#`, white space becomes one space.
pub fn normal(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if c.is_whitespace() {
            if !out.ends_with(' ') {
                out.push(' ');
            }
            rest.len() - rest.trim_start().len()
        } else if let Some(length) = hex_word(rest, &out).or_else(|| number(rest)) {
            out.push('#');
            length
        } else {
            out.push(c);
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    out
}

/// A word of at least six hex digits, as ids and digests have it.
fn hex_word(rest: &str, before: &str) -> Option<usize> {
    const DIGITS_MIN: usize = 6;
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let hex = rest[..length].bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let starts = !before.ends_with(|c: char| c.is_alphanumeric());
    (hex && starts && length >= DIGITS_MIN).then_some(length)
}

/// `17`, `3.5`, `3.5G`.
fn number(rest: &str) -> Option<usize> {
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    // A full stop behind a number ends a sentence.
    let digits = rest[..digits].trim_end_matches('.').len();
    let mut behind = rest[digits..].chars();
    let unit = behind.next().is_some_and(|c| "KMGTP".contains(c));
    let ends = !behind.next().is_some_and(char::is_alphanumeric);
    Some(if unit && ends { digits + 1 } else { digits })
}
