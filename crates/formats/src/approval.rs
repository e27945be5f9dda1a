//! Approvals in both places: an item of the queue `tasks/approvals.task.md`, and a file of their own with all
//! details. What an agent said stands in quotes, fences and list items, so that it can never pass for a decision.

mod detail;
mod queue;
mod review;

use domain::approval::Request;
use domain::evidence::Evidence;
use domain::tool::{
    Act, Check, ContextPut, CreateDirectory, EmailSend, ExecuteCommand, Lint, RaiseBudget, RequestReview,
    RunTests, SlackSend, WriteFile,
};

use crate::shape::{INT_MAX, Shape, TEXTS, may, must};

pub use detail::{close_detail, print_detail, read_detail};
pub use queue::{queue_item, read_queue};

/// What a person decided in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing yet.
    None,
    /// Yes.
    Approved {
        /// Who; empty if the file does not say.
        by: String,
    },
    /// No.
    Rejected {
        /// Who; empty if the file does not say.
        by: String,
        /// Why, for the agent; may be empty.
        reason: String,
    },
    /// Something that could be a decision, but not which. It decides nothing.
    Unclear {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is unclear and what to write instead.
        why: String,
    },
}

/// What an approval's own file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// What was asked.
    pub request: Request,
    /// What was decided.
    pub decision: Decision,
}

/// What an act is called, and the text that people must see of it.
pub(crate) struct Shown {
    /// `terminal_command`, `file_write` …
    pub(crate) kind: &'static str,
    /// `Approve command: df -h`, without the text's end if it is long.
    pub(crate) title: String,
    /// A label for the text.
    pub(crate) label: String,
    /// The language of the fence.
    pub(crate) language: &'static str,
    /// Everything.
    pub(crate) text: String,
}

pub(crate) fn show(act: &Act) -> Shown {
    match act {
        Act::ExecuteCommand(ExecuteCommand { command }) => shown(
            "terminal_command",
            format!("Approve command: {command}"),
            "Command".to_owned(),
            "sh",
            command,
        ),
        Act::WriteFile(WriteFile { path, content }) => shown(
            "file_write",
            format!("Approve writing: {path}"),
            format!("New text of {path}"),
            "text",
            content,
        ),
        Act::CreateDirectory(CreateDirectory { path }) => {
            shown("directory", format!("Approve folder: {path}"), "Folder".to_owned(), "text", path)
        }
        Act::ContextPut(ContextPut { context, content: Some(content), .. }) => shown(
            "context_put",
            format!("Approve shared context: {context}"),
            format!("New text of the shared context {context}"),
            "text",
            content,
        ),
        Act::SlackSend(SlackSend { channel, text }) => shown(
            "slack_message",
            format!("Approve message to {channel}: {text}"),
            format!("Message to {channel}"),
            "text",
            text,
        ),
        Act::Check(Check { task, evidence: Evidence::Approval, result }) => shown(
            "work_done",
            format!("Approve that {task} is done: {result}"),
            format!("What the agent says came of {task}"),
            "text",
            result,
        ),
        Act::Check(Check { task, evidence, .. }) => shown(
            "evidence",
            format!("Approve evidence for {task}: {evidence}"),
            format!("Evidence that {task} demands"),
            "text",
            &evidence.to_string(),
        ),
        Act::RaiseBudget(RaiseBudget { budget, tokens, money }) => {
            show_budget(budget, &raise(*tokens, *money))
        }
        Act::EmailSend(EmailSend { to, subject, text }) => shown(
            "email",
            format!("Approve mail to {to}: {subject}"),
            format!("Mail to {to}"),
            "text",
            &format!("Subject: {subject}\n\n{text}"),
        ),
        Act::RequestReview(RequestReview { summary, .. }) => shown(
            "review_round",
            format!("Approve another round of review: {summary}"),
            "What the author says".to_owned(),
            "text",
            summary,
        ),
        Act::ReadFile(_)
        | Act::ListDirectory(_)
        | Act::SearchFiles(_)
        | Act::GitCommit(_)
        | Act::GitDiff(_)
        | Act::GitUpdate(_)
        | Act::ApproveWork(_)
        | Act::MergeBranch(_)
        | Act::CreatePlan(_)
        | Act::CreateTask(_)
        | Act::UpdateTask(_)
        | Act::QueryTasks(_)
        | Act::SendMessage(_)
        | Act::Lock(_)
        | Act::Unlock(_)
        | Act::Delegate(_)
        | Act::SpawnAgent(_)
        | Act::TerminateAgent(_)
        | Act::MemorySearch(_)
        | Act::ContextGet(_)
        | Act::ContextPut(_)
        | Act::Extract(_)
        | Act::ListSessions(_)
        | Act::ReadSession(_)
        | Act::SlackRead(_)
        | Act::RunTests(RunTests {})
        | Act::Lint(Lint {}) => {
            let text = arguments(act);
            shown(act.tool(), format!("Approve {}", act.tool()), "Arguments".to_owned(), "json", &text)
        }
    }
}

fn shown(kind: &'static str, title: String, label: String, language: &'static str, text: &str) -> Shown {
    let (title, label, text) = (short(&visible(&title)), visible(&label), visible(text));
    Shown { kind, title, label, language, text }
}

fn show_budget(budget: &str, amount: &str) -> Shown {
    Shown {
        kind: "budget",
        title: short(&visible(&format!("Approve passing {budget} once by {amount}"))),
        label: "Budget that has no room".to_owned(),
        language: "text",
        text: visible(&format!("{budget} may be passed once, by {amount}, until its window ends")),
    }
}

/// By how much a budget may be passed, in words.
pub fn raise(tokens: Option<u64>, money: Option<u64>) -> String {
    let tokens = tokens.map(|tokens| format!("{tokens} tokens"));
    let money = money.map(|amount| format!("{} of money", domain::usage::money(amount)));
    tokens.into_iter().chain(money).collect::<Vec<_>>().join(" and ")
}

/// The arguments of an act, one a line.
fn arguments(act: &Act) -> String {
    let arguments = &serde_json::to_value(act).unwrap_or_default()["arguments"];
    serde_json::to_string_pretty(arguments).unwrap_or_default()
}

/// Characters that hide or reorder text are shown by their number: people must see what they approve.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden = matches!(c as u32, 0xad | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xe0000..=0xe0fff);
        if hidden || (c.is_control() && !matches!(c, '\n' | '\t')) {
            out.push_str(&format!("\\u{{{:x}}}", c as u32));
        } else {
            out.push(c);
        }
    }
    out
}

fn short(title: &str) -> String {
    const TITLE_CHARS_MAX: usize = 120;
    let line = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TITLE_CHARS_MAX {
        return line;
    }
    line.chars().take(TITLE_CHARS_MAX - 2).chain(" …".chars()).collect()
}

/// The record of an approval's own file.
pub(crate) const SHAPE: Shape = Shape::Record(&[
    must("id", Shape::Text, "unique in the home"),
    must("agent", Shape::Text, "who wants it"),
    must("session", Shape::Text, "in which conversation"),
    must("call", Shape::Text, "which of its calls"),
    may("task", Shape::Text, "for which task"),
    must(
        "act",
        Shape::Record(&[
            must("tool", Shape::Text, "the tool's name"),
            must("arguments", Shape::Map(&Shape::Any), "its arguments"),
        ]),
        "exactly what would be done",
    ),
    must("digest", Shape::Text, "SHA-256 of the act"),
    must("why", Shape::Text, "what the agent said when it asked"),
    must("risk", Shape::Word(&["LOW", "MEDIUM", "HIGH", "CRITICAL"]), "how much harm it could do"),
    must("factors", TEXTS, "why the risk is what it is"),
    must("created", Shape::Int(0, INT_MAX), "when it was asked, in milliseconds since 1970"),
    may("expires", Shape::Int(0, INT_MAX), "when it lapses"),
]);
