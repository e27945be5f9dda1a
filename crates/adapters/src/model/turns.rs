//! A conversation in the order that providers insist on: after an answer that asks for tools come all its results,
//! and nothing else before them. Sessions are freer: people speak in between, cut and edit.

use std::borrow::Cow;
use std::collections::BTreeSet;

use domain::session::{Message, Speaker};

use super::speakers::{marked, unmarked};

/// Said in place of a result that is missing.
const NO_RESULT: &str = "(there is no result)";
/// Said where nothing was.
const NOTHING: &str = "(nothing was said)";

/// One step of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn<'a> {
    /// Somebody speaks to the model.
    User(String),
    /// The model speaks, and asks for tools.
    Model {
        /// What it said; may be empty if it asks for something.
        text: &'a str,
        /// What it asked for.
        calls: Vec<Asked<'a>>,
    },
    /// What the tools gave back, in the order of the calls.
    Results(Vec<Given<'a>>),
}

/// The result of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Given<'a> {
    /// That of the call.
    pub(super) id: String,
    pub(super) text: Cow<'a, str>,
    /// Whether the call failed or was refused.
    pub(super) is_error: bool,
}

/// A call as it was made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    /// Unique in the conversation, of letters, digits, `_` and `-`.
    pub(super) id: String,
    pub(super) tool: &'a str,
    pub(super) arguments: &'a str,
}

/// The conversation, in order. It never begins with the model, never ends with it, and is never empty.
pub(super) fn of(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns = Vec::new();
    let mut ids = BTreeSet::new();
    let mut rest = messages;
    while let Some((message, behind)) = rest.split_first() {
        rest = behind;
        match message.speaker {
            Speaker::User | Speaker::System => turns.push(Turn::User(marked(message, NOTHING))),
            // A result whose call is gone: a person cut the conversation, or wrote it.
            Speaker::ToolResult => {
                turns.push(Turn::User(format!("(result of an earlier call)\n{}", unmarked(&message.content))))
            }
            Speaker::Assistant => {
                let until =
                    behind.iter().position(|m| m.speaker == Speaker::Assistant).unwrap_or(behind.len());
                let (mine, later) = behind.split_at(until);
                rest = later;
                answer(message, mine, &mut ids, &mut turns);
            }
        }
    }
    if !matches!(turns.first(), Some(Turn::User(_))) {
        turns.insert(0, Turn::User(NOTHING.to_owned()));
    }
    if matches!(turns.last(), Some(Turn::Model { .. })) {
        turns.push(Turn::User(NOTHING.to_owned()));
    }
    turns
}

/// One answer and all that came before the next one.
fn answer<'a>(
    message: &'a Message,
    behind: &'a [Message],
    ids: &mut BTreeSet<String>,
    turns: &mut Vec<Turn<'a>>,
) {
    let mut taken = BTreeSet::new();
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for call in &message.calls {
        let id = unique(call.id.as_str(), ids);
        let result = behind.iter().enumerate().find(|(at, m)| {
            !taken.contains(at) && m.speaker == Speaker::ToolResult && m.call.as_ref() == Some(&call.id)
        });
        if let Some((at, _)) = result {
            taken.insert(at);
        }
        let none = (Cow::Borrowed(NO_RESULT), true);
        let (text, is_error) = result.map_or(none, |(_, m)| (unmarked(&m.content), m.is_error));
        results.push(Given { id: id.clone(), text, is_error });
        calls.push(Asked { id, tool: call.want.tool(), arguments: &call.arguments });
    }
    // An answer that says and asks nothing is not one that a provider takes.
    if !calls.is_empty() || !message.content.trim().is_empty() {
        turns.push(Turn::Model { text: &message.content, calls });
    }
    if !results.is_empty() {
        turns.push(Turn::Results(results));
    }
    for (_, other) in behind.iter().enumerate().filter(|(at, _)| !taken.contains(at)) {
        turns.push(Turn::User(match other.speaker {
            Speaker::ToolResult => format!("(result of an earlier call)\n{}", unmarked(&other.content)),
            Speaker::User | Speaker::System | Speaker::Assistant => marked(other, NOTHING),
        }));
    }
}

/// The id if it may be used as it is, else one like it.
fn unique(id: &str, ids: &mut BTreeSet<String>) -> String {
    let is_good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let clean: String = id.chars().map(|c| if is_good(c) { c } else { '_' }).take(40).collect();
    let clean = if clean.is_empty() { "call".to_owned() } else { clean };
    let mut candidate = clean.clone();
    let mut number = 1;
    while !ids.insert(candidate.clone()) {
        number += 1;
        candidate = format!("{clean}_{number}");
    }
    candidate
}

#[cfg(test)]
mod tests {
    use domain::id::CallId;
    use domain::tool::{Call, Want};
    use testkit::model::{message, result};

    use super::*;

    fn asks(text: &str, ids: &[&str]) -> Message {
        let want = |tool: &str| Want::Invalid { tool: tool.to_owned(), error: String::new() };
        let call = |id: &&str| Call {
            id: CallId::new(*id),
            arguments: "{}".to_owned(),
            want: want("look"),
            seen: None,
        };
        Message { calls: ids.iter().map(call).collect(), ..message(Speaker::Assistant, text) }
    }

    fn shown(messages: &[Message]) -> Vec<String> {
        let line = |turn: Turn<'_>| match turn {
            Turn::User(text) => format!("user {text}"),
            Turn::Model { text, calls } => {
                format!("model {text} {}", calls.iter().map(|c| c.id.as_str()).collect::<Vec<_>>().join(","))
            }
            Turn::Results(results) => {
                format!(
                    "results {}",
                    results
                        .iter()
                        .map(|one| format!("{}={}", one.id, one.text))
                        .collect::<Vec<_>>()
                        .join(",")
                )
            }
        };
        of(messages).into_iter().map(line).collect()
    }

    #[test]
    fn results_come_right_behind_their_calls_whoever_spoke_in_between() {
        let user = |text: &str| message(Speaker::User, text);
        let talk = [
            user("go"),
            asks("on it", &["a", "b"]),
            result("b", "two"),
            user("hurry"),
            result("a", "one"),
            asks("done", &[]),
        ];
        let expected = [
            "user go",
            "model on it a,b",
            "results a=one,b=two",
            "user hurry",
            "model done ",
            "user (nothing was said)",
        ];
        assert_eq!(shown(&talk), expected);
    }

    #[test]
    fn what_people_cut_or_wrote_still_makes_a_conversation() {
        assert_eq!(shown(&[]), ["user (nothing was said)"]);
        assert_eq!(shown(&[result("gone", "42")]), ["user (result of an earlier call)\n42"]);
        assert_eq!(
            shown(&[asks("", &["a"]), asks("", &["a", "x y"]), asks("", &[])]),
            [
                "user (nothing was said)",
                "model  a",
                "results a=(there is no result)",
                "model  a_2,x_y",
                "results a_2=(there is no result),x_y=(there is no result)",
            ]
        );
    }
}
