//! The rules of the scripted model: which agent, what was said last, what to answer.
//!
//! ```yaml
//! rules:
//!   - agent: executor-*                 # a pattern: `*` stands for any run of characters
//!     matches: "*disk*"                 # on the last message or tool result
//!     answers:
//!       - text: I look.
//!         calls: [{tool: execute_command, arguments: {command: df -h}}]
//!   - tool_result: execute_command      # only after a result of this tool
//!     answer: "The disk: {last}"
//!   - agent: writer-*
//!     finish: failed                    # ends the task with finish_task; the text is the result
//!     text: There are no notes.
//! ```
//!
//! The first rule that fits answers. An answer of words alone ends a task as done, as if it said `finish: done`, if the
//! conversation has one and waits for nothing; `finish: no` keeps it to the words. Its answers are used one after the other; the last repeats unless the
//! rule says `once: true`. `{last}` and `{match:1}` are replaced by whoever plays the script.

use crate::diagnostic::{Notes, Read};
use crate::shape::{INT_MAX, Shape, may, must};
use crate::time;
use crate::yaml::{self, Node};

/// All rules of one file, tried in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// The rules.
    pub rules: Vec<Rule>,
}

/// When to answer, and what.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Where it stands, from 1.
    pub line: usize,
    /// Pattern of agent ids.
    pub agent: Option<String>,
    /// Pattern of the last message or tool result; see [`captures`].
    pub matches: Option<String>,
    /// Pattern of where the last message came from, such as `person:*`.
    pub from: Option<String>,
    /// Pattern of tool names: fits only when a result of such a tool came last.
    pub tool_result: Option<String>,
    /// Only this turn of the session, from 1.
    pub turn: Option<u32>,
    /// At least one.
    pub answers: Vec<Answer>,
    /// Every answer is used once; then the rule does not fit any more.
    pub once: bool,
}

/// What the model says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Its words; may be empty.
    pub text: String,
    /// Tools it asks for.
    pub calls: Vec<ScriptCall>,
    /// Whether it ends the task with `finish_task`, its words being the result. Words alone end it as done if nothing is
    /// said here and the conversation waits for nothing.
    pub finish: Option<Finish>,
    /// It fails instead.
    pub error: Option<ScriptError>,
    /// How long it takes.
    pub delay_ms: u64,
}

/// How an answer ends the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// As done.
    Done,
    /// As failed.
    Failed,
    /// As blocked.
    Blocked,
    /// Not at all: words alone.
    No,
}

impl Finish {
    const WORDS: &'static [&'static str] = &["done", "failed", "blocked", "no"];

    /// The word in scripts and, but for `no`, in the arguments of `finish_task`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::No => "no",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Done, Self::Failed, Self::Blocked, Self::No].into_iter().find(|finish| finish.as_str() == word)
    }
}

/// A tool call of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptCall {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    pub arguments: serde_json::Value,
}

/// A failure of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// What it says.
    pub message: String,
    /// When to try again; never if absent.
    pub retry_after_ms: Option<u64>,
}

const CALL: Shape = Shape::Record(&[
    must("tool", Shape::Text, "the tool's name"),
    may("arguments", Shape::Any, "its arguments; a text is passed on as it is"),
]);
const CALLS: Shape = Shape::List(&CALL);
const ERROR: Shape = Shape::Either(&[
    Shape::Record(&[
        must("message", Shape::Text, "what the provider says"),
        may("retry_after_ms", Shape::Int(0, INT_MAX), "when to try again; never if left out"),
    ]),
    Shape::Text,
]);
const ANSWER: Shape = Shape::Either(&[
    Shape::Record(&[
        may("text", Shape::Text, "the model's words"),
        may("calls", CALLS, "tools it asks for"),
        may(
            "finish",
            Shape::Word(Finish::WORDS),
            "how it ends the task; words alone end it as done, unless this says no",
        ),
        may("error", ERROR, "it fails instead"),
        may("delay_ms", Shape::Duration, "how long it takes (0)"),
    ]),
    Shape::Text,
]);

/// All that a script may say.
pub(crate) const SHAPE: Shape = Shape::Record(&[must(
    "rules",
    Shape::List(&Shape::Record(&[
        may("agent", Shape::Text, "pattern of agent ids"),
        may(
            "matches",
            Shape::Text,
            "pattern of the last message or tool result; without a `*`, a part of it",
        ),
        may("from", Shape::Text, "pattern of where the last message came from"),
        may("tool_result", Shape::Text, "pattern of tool names: only after a result of such a tool"),
        may("turn", Shape::Int(1, u32::MAX as u64), "only this turn of the session"),
        may("once", Shape::Bool, "every answer is used once; then the rule does not fit any more (false)"),
        may("answer", ANSWER, "what to say: a text, or a map"),
        may("answers", Shape::List(&ANSWER), "what to say, one after the other; the last repeats"),
        may("text", Shape::Text, "short for an answer with this text"),
        may("calls", CALLS, "short for an answer with these calls"),
        may("finish", Shape::Word(Finish::WORDS), "for the short form: how it ends the task"),
        may("error", ERROR, "short for an answer with this error"),
        may("delay_ms", Shape::Duration, "for the short form: how long it takes (0)"),
    ])),
    "tried in order; the first that fits answers",
)]);

/// Reads a script.
pub fn read(path: &str, source: &str) -> Read<Script> {
    let mut notes = Notes::new(path, source);
    let value = yaml::parse(source, &mut notes).map(|root| {
        SHAPE.check(&root, &mut notes);
        let rules = root.get("rules").map(Node::items).unwrap_or_default();
        Script { rules: rules.iter().map(|node| rule(node, &mut notes)).collect() }
    });
    notes.finish(value)
}

fn rule(node: &Node, notes: &mut Notes<'_>) -> Rule {
    let short = ["text", "calls", "error", "finish"].into_iter().find(|key| node.entry(key).is_some());
    let forms = [short, node.entry("answer").map(|_| "answer"), node.entry("answers").map(|_| "answers")];
    let forms: Vec<&str> = forms.into_iter().flatten().collect();
    if let [first, second, ..] = forms.as_slice() {
        notes.error(
            node.span.clone(),
            format!("`{first}` and `{second}` both say what to answer: keep one of them"),
        );
    }
    let answers: Vec<Answer> = match (node.get("answers"), node.get("answer")) {
        (Some(list), _) => list.items().iter().map(answer).collect(),
        (None, Some(one)) => vec![answer(one)],
        (None, None) if short.is_some() => vec![answer(node)],
        (None, None) => Vec::new(),
    };
    if answers.is_empty() && node.text().is_none() && !notes.failed() {
        let at = node.span.start..node.span.start;
        notes.error_with(at, "the rule has no answer", Some("add `answer: some text`".to_owned()));
    }
    Rule {
        line: node.line,
        agent: node.get_text("agent"),
        matches: node.get_text("matches"),
        from: node.get_text("from"),
        tool_result: node.get_text("tool_result"),
        turn: node.get_int("turn"),
        answers,
        once: node.get("once").and_then(Node::bool).unwrap_or_default(),
    }
}

fn answer(node: &Node) -> Answer {
    if let Some(text) = node.text() {
        return Answer { text: text.to_owned(), ..Answer::default() };
    }
    let call = |n: &Node| {
        let arguments = n.get("arguments").map_or_else(|| serde_json::json!({}), Node::to_json);
        Some(ScriptCall { tool: n.get_text("tool")?, arguments })
    };
    let error = |n: &Node| ScriptError {
        message: n.text().map(str::to_owned).or_else(|| n.get_text("message")).unwrap_or_default(),
        retry_after_ms: n.get("retry_after_ms").and_then(Node::int),
    };
    Answer {
        text: node.get_text("text").unwrap_or_default(),
        calls: node.get("calls").map(Node::items).unwrap_or_default().iter().filter_map(call).collect(),
        finish: node.get("finish").and_then(Node::text).and_then(Finish::parse),
        error: node.get("error").map(error),
        delay_ms: node
            .get("delay_ms")
            .and_then(Node::text)
            .and_then(time::parse_duration)
            .unwrap_or_default(),
    }
}

/// Whether `text` fits `pattern`, and what each `*` of it stands for (as short as it can, the last as long as
/// it must). A pattern without `*` fits every text that it is a part of, and captures nothing.
pub fn captures<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut parts = pattern.split('*');
    let head = parts.next().unwrap_or_default();
    let mut parts: Vec<&str> = parts.collect();
    let Some(tail) = parts.pop() else { return text.contains(pattern).then(Vec::new) };
    let mut rest = text.strip_prefix(head)?;
    let mut found = Vec::new();
    for part in parts {
        let at = rest.find(part)?;
        found.push(&rest[..at]);
        rest = &rest[at + part.len()..];
    }
    found.push(rest.strip_suffix(tail)?);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_says_what_its_stars_stand_for() {
        assert_eq!(captures("disk", "the disk is full"), Some(vec![]));
        assert_eq!(captures("disk", "the dish"), None);
        assert_eq!(captures("the *", "the disk"), Some(vec!["disk"]));
        assert_eq!(captures("*a*b", "xaybb"), Some(vec!["x", "yb"]));
        assert_eq!(captures("a*a", "a"), None);
    }
}
