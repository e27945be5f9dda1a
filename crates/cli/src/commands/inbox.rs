//! `synod inbox`: what waits for a person.

use std::path::Path;

use domain::evidence::Evidence;
use domain::tool::Act;
use formats::approval::raise;
use serde_json::{Value, json};

use crate::failure::Exit;
use crate::out::Out;
use crate::view::text::{self, count};
use crate::view::{self, QUEUE_PATH, Waiting};

pub fn run(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let approvals = view::approvals(home);
    let now = standings(home, &approvals.waiting);
    if out.json {
        let json = |(waiting, now): (&Waiting, &Option<String>)| {
            let mut value = json(waiting);
            value["now"] = json!(now);
            value
        };
        out.value(json!({
            "approvals": approvals.waiting.iter().zip(&now).map(json).collect::<Vec<_>>(),
            "decided": approvals.decided.iter().map(|d| d.id.as_str()).collect::<Vec<_>>(),
            "unreadable": approvals.broken,
        }));
        return Ok(Exit::Ok);
    }
    for (waiting, now) in approvals.waiting.iter().zip(&now) {
        show(waiting, now.as_deref(), out);
    }
    for path in &approvals.broken {
        out.line(format!("{path} cannot be read; see `synod check`."));
    }
    if !approvals.decided.is_empty() {
        let ids: Vec<&str> = approvals.decided.iter().map(|d| d.id.as_str()).collect();
        out.line(format!("Decided in a file, and done when Synod works next: {}", ids.join(", ")));
    }
    if approvals.waiting.is_empty() {
        out.line("Nothing waits for you.");
    } else {
        how_to_answer(&approvals.waiting, out);
    }
    Ok(Exit::Ok)
}

/// The ids of all approvals that wait, sorted.
pub fn waiting(home: &Path) -> anyhow::Result<Vec<String>> {
    Ok(view::approvals(home).waiting.into_iter().map(|w| w.request.id.to_string()).collect())
}

/// For each question about a budget, how that stands by now: the question itself says only what does not change.
fn standings(home: &Path, waiting: &[Waiting]) -> Vec<Option<String>> {
    let is_asked = waiting.iter().any(|waiting| waiting.request.is_about_budget());
    let state = is_asked.then(|| view::spent::known(home));
    let told = |waiting: &Waiting| match &waiting.request.act {
        Act::RaiseBudget { budget, .. } => state.as_ref()?.told_of_budget(view::now(), budget),
        _ => None,
    };
    waiting.iter().map(told).collect()
}

fn show(waiting: &Waiting, now: Option<&str>, out: &Out) {
    let d = &waiting.request;
    let task = d.task.as_ref().map_or_else(String::new, |task| format!(" for {task}"));
    let waits = text::duration(view::now().ms_since(d.created));
    out.line(out.bold(&format!("{}  {}", d.id, d.risk.as_str())));
    out.line(format!("  {} asks{task}, waits {waits}", d.agent));
    let (label, body) = act(&d.act);
    out.line(format!("  {label}:"));
    // To the letter and in full: this is what a yes is for.
    for line in text::visible(&body).split('\n') {
        out.line(format!("    {line}"));
    }
    if !d.why.trim().is_empty() {
        out.line("  why:");
        for line in text::visible(d.why.trim()).split('\n') {
            out.line(format!("    {line}"));
        }
    }
    if let Some(now) = now {
        out.line("  now:");
        out.line(format!("    {}", text::line(now)));
    }
    if !d.factors.is_empty() {
        out.line("  risk:");
    }
    for factor in &d.factors {
        out.line(format!("    {}", text::line(factor)));
    }
    if d.label.counts() {
        out.line(format!("  came this way: {}", text::line(&d.chain.join(" → "))));
    }
    if let Some(expires) = d.expires {
        out.line(format!("  lapses: {} UTC", text::time(expires)));
    }
    if let Some(why) = &waiting.unclear {
        out.line(format!("  not decided yet: {}", text::line(why)));
    }
    out.line("");
}

fn how_to_answer(waiting: &[Waiting], out: &Out) {
    let first = waiting.first().map_or("", |w| w.request.id.as_str());
    out.line(format!("{} for you. To answer:", waits(waiting.len())));
    out.line(format!("  synod approve {first}"));
    out.line(format!("  synod reject {first} --reason \"…\""));
    if waiting.len() > 1 {
        out.line("  synod approve --all");
    }
    out.line(format!("or in {QUEUE_PATH}: [x] approves, [-] rejects;"));
    out.line(format!("or in approvals/pending/{first}.approval.md, behind **Decision:**"));
}

fn waits(n: usize) -> String {
    format!("{} {}", count(n, "approval"), if n == 1 { "waits" } else { "wait" })
}

/// What would be done: what it is called, and the text that counts.
fn act(act: &Act) -> (String, String) {
    match act {
        Act::ExecuteCommand { command } => ("command".to_owned(), command.clone()),
        Act::WriteFile { path, content } => (format!("write {}", text::line(path)), content.clone()),
        Act::ContextPut { context, content: Some(content), .. } => {
            (format!("put the shared context {}", text::line(context)), content.clone())
        }
        Act::CreateDirectory { path } => ("make the folder".to_owned(), path.clone()),
        Act::SlackSend { channel, text } => (format!("say in {}", text::line(channel)), text.clone()),
        Act::Check { task, evidence: Evidence::Approval, result } => {
            (format!("{task} is done"), result.clone())
        }
        Act::Check { task, evidence, .. } => (format!("evidence that {task} demands"), evidence.to_string()),
        Act::RaiseBudget { budget, tokens, money } => {
            let amount = raise(*tokens, *money);
            (
                format!("pass {} once", text::line(budget)),
                format!("by {amount}, until its window ends; what waits goes on"),
            )
        }
        Act::EmailSend { to, subject, text } => {
            (format!("mail {}", text::line(to)), format!("Subject: {}\n\n{text}", text::line(subject)))
        }
        Act::ReadFile { .. }
        | Act::ListDirectory { .. }
        | Act::SearchFiles { .. }
        | Act::GitCommit { .. }
        | Act::GitDiff { .. }
        | Act::GitUpdate { .. }
        | Act::RequestReview { .. }
        | Act::ApproveWork { .. }
        | Act::MergeBranch { .. }
        | Act::CreatePlan { .. }
        | Act::CreateTask { .. }
        | Act::UpdateTask { .. }
        | Act::QueryTasks { .. }
        | Act::SendMessage { .. }
        | Act::Lock { .. }
        | Act::Unlock { .. }
        | Act::Delegate { .. }
        | Act::SpawnAgent { .. }
        | Act::TerminateAgent { .. }
        | Act::MemorySearch { .. }
        | Act::ContextGet { .. }
        | Act::ContextPut { .. }
        | Act::Extract { .. }
        | Act::ListSessions { .. }
        | Act::ReadSession { .. }
        | Act::SlackRead { .. }
        | Act::RunTests {}
        | Act::Lint {} => {
            let value = serde_json::to_value(act).unwrap_or_default();
            (act.tool().to_owned(), value["arguments"].to_string())
        }
    }
}

/// The act as one line, for lists.
pub fn act_line(wanted: &Act) -> String {
    let (label, body) = act(wanted);
    match wanted {
        Act::ExecuteCommand { .. } => body,
        Act::WriteFile { .. } | Act::ContextPut { content: Some(_), .. } => label,
        Act::EmailSend { subject, .. } => format!("{label}: {}", text::line(subject)),
        Act::CreateDirectory { .. }
        | Act::Check { .. }
        | Act::RaiseBudget { .. }
        | Act::SlackSend { .. }
        | Act::ReadFile { .. }
        | Act::ListDirectory { .. }
        | Act::SearchFiles { .. }
        | Act::GitCommit { .. }
        | Act::GitDiff { .. }
        | Act::GitUpdate { .. }
        | Act::RequestReview { .. }
        | Act::ApproveWork { .. }
        | Act::MergeBranch { .. }
        | Act::CreatePlan { .. }
        | Act::CreateTask { .. }
        | Act::UpdateTask { .. }
        | Act::QueryTasks { .. }
        | Act::SendMessage { .. }
        | Act::Lock { .. }
        | Act::Unlock { .. }
        | Act::Delegate { .. }
        | Act::SpawnAgent { .. }
        | Act::TerminateAgent { .. }
        | Act::MemorySearch { .. }
        | Act::ContextGet { .. }
        | Act::ContextPut { .. }
        | Act::Extract { .. }
        | Act::ListSessions { .. }
        | Act::ReadSession { .. }
        | Act::SlackRead { .. }
        | Act::RunTests {}
        | Act::Lint {} => format!("{label}: {body}"),
    }
}

/// An approval for programs.
pub fn json(waiting: &Waiting) -> Value {
    let d = &waiting.request;
    json!({
        "id": d.id,
        "risk": d.risk.as_str(),
        "factors": d.factors,
        "agent": d.agent,
        "task": d.task,
        "session": d.session,
        "call": d.call,
        "act": d.act,
        "digest": d.digest,
        "permit": d.permit,
        "seen": d.seen,
        "label": d.label.to_string(),
        "chain": d.chain,
        "why": d.why,
        "created": formats::time::print(d.created),
        "expires": d.expires.map(formats::time::print),
        "waits_ms": view::now().ms_since(d.created),
        "unclear": waiting.unclear,
        "file": format!("approvals/pending/{}.approval.md", d.id),
        "queue": QUEUE_PATH,
    })
}
