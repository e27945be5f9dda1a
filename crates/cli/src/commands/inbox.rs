//! `synod inbox`: what waits for a person: approvals, plans on hold, tasks for `human`.

use std::path::Path;

use domain::approval::Request;
use domain::layout::{self, Decided};
use domain::tool::{Act, RaiseBudget};
use serde_json::{Value, json};

use crate::failure::Exit;
use crate::out::Out;
use crate::text::{self, count};
use crate::view::tasks::{Task, Tasks};
use crate::view::{self, QUEUE_PATH, Waiting};

/// So many tasks for people are shown one by one.
const CHORES_MAX: usize = 20;

pub fn run(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let approvals = view::approvals(home);
    let now = standings(home, &approvals.waiting);
    let state = view::spent::known(home);
    let tasks = view::tasks::read(home);
    let due: Vec<usize> = tasks.for_people().collect();
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
            "providers": view::outages::json(&state),
            "tasks": due.iter().map(|index| chore_json(&tasks, &tasks.list[*index])).collect::<Vec<_>>(),
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
    for index in due.iter().take(CHORES_MAX) {
        show_chore(&tasks, &tasks.list[*index], out);
    }
    if due.len() > CHORES_MAX {
        out.line(format!("… and {} more tasks for people; `synod task list --open`", due.len() - CHORES_MAX));
        out.line("");
    }
    if view::outages::show(&state, out) {
        out.line("");
    }
    match (approvals.waiting.len(), due.len()) {
        (0, 0) => out.line("Nothing waits for you."),
        (0, n) => out.line(format!("{} for you.", waits(0, n))),
        (n, due) => {
            let to = match (n, due) {
                (_, 0) => "To answer",
                (1, _) => "To answer the approval",
                (_, _) => "To answer the approvals",
            };
            how_to_answer(&approvals.waiting, &format!("{} for you. {to}:", waits(n, due)), out);
        }
    }
    Ok(Exit::Ok)
}

/// The ids of all that a yes or a no is waited for: approvals, and plans on hold.
pub fn to_decide(home: &Path) -> anyhow::Result<Vec<String>> {
    let tasks = view::tasks::read(home);
    let people = tasks.for_people().map(|index| &tasks.list[index]);
    let plans = people.filter(|task| tasks.held_by(task).next().is_some());
    let plans = plans.filter_map(|task| task.id().map(str::to_owned));
    let approvals = view::approvals(home).waiting.into_iter().map(|waiting| waiting.request.id.to_string());
    Ok(approvals.chain(plans).collect())
}

/// For each question about a budget, how that stands by now: the question itself says only what does not change.
fn standings(home: &Path, waiting: &[Waiting]) -> Vec<Option<String>> {
    let is_asked = waiting.iter().any(|waiting| waiting.request.is_about_budget());
    let state = is_asked.then(|| view::spent::known(home));
    let told = |waiting: &Waiting| match &waiting.request.act {
        Act::RaiseBudget(RaiseBudget { budget, .. }) => state.as_ref()?.told_of_budget(view::now(), budget),
        _ => None,
    };
    waiting.iter().map(told).collect()
}

/// What exactly would be done and why, in lines.
pub(super) fn asked(request: &Request) -> Vec<String> {
    let (label, body) = act(&request.act);
    let mut lines = vec![format!("{label}:")];
    lines.extend(text::visible(&body).split('\n').map(|line| format!("  {line}")));
    if !request.why.trim().is_empty() {
        lines.push(format!("why: {}", text::line(&request.why)));
    }
    lines.extend(request.factors.iter().map(|factor| format!("risk: {}", text::line(factor))));
    lines
}

/// An approval in full.
pub(super) fn show(waiting: &Waiting, now: Option<&str>, out: &Out) {
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
        out.line(format!("  expires {}", text::ahead(expires, view::now())));
    }
    if let Some(why) = &waiting.unclear {
        out.line(format!("  not decided yet: {}", text::line(why)));
    }
    out.line("");
}

/// A plan that waits for a yes, or a task that a person does.
fn show_chore(tasks: &Tasks, task: &Task, out: &Out) {
    let held: Vec<&Task> = tasks.held_by(task).collect();
    let kind = kind(tasks, task);
    out.line(out.bold(&format!("{}  {kind}", task.id().unwrap_or("-"))));
    out.line(format!("  {}", text::line(&task.spec.title)));
    for part in &held {
        let who = part.spec.assignee.as_ref().map_or_else(String::new, |agent| format!(" @{agent}"));
        let (mark, title) = (part.shown_mark(), text::line(&part.spec.title));
        out.line(format!("    {mark} {}{who}  {title}", part.id().unwrap_or("-")));
    }
    out.line(format!("  {}", tasks.how_to_answer(task)));
    out.line("");
}

/// What a task is for a person: one whose agent cannot work, a plan on hold, or one to do.
pub fn kind(tasks: &Tasks, task: &Task) -> &'static str {
    match tasks.held_by(task).next() {
        _ if task.why_stranded().is_some() => "stranded",
        Some(_) => "plan",
        None => "task",
    }
}

/// The same for programs.
pub fn chore_json(tasks: &Tasks, task: &Task) -> Value {
    let held: Vec<&str> = tasks.held_by(task).filter_map(Task::id).collect();
    json!({
        "id": task.id(),
        "kind": kind(tasks, task),
        "title": task.spec.title,
        "parent": task.spec.parent,
        "holds": held,
        "file": task.spec.file,
        "line": task.line,
        "answer": tasks.how_to_answer(task),
    })
}

fn how_to_answer(waiting: &[Waiting], head: &str, out: &Out) {
    let first = waiting.first().map_or("", |w| w.request.id.as_str());
    out.line(head);
    out.line(format!("  synod approve {first}"));
    out.line(format!("  synod reject {first} --reason \"…\""));
    if waiting.len() > 1 {
        out.line("  synod approve --all");
    }
    out.line(format!("or in {QUEUE_PATH}: [x] approves, [-] rejects;"));
    out.line(format!("or in approvals/pending/{first}.approval.md, behind **Decision:**"));
}

/// What there is for people to do: approvals to decide, and tasks.
pub fn what(approvals: usize, tasks: usize) -> String {
    match (approvals, tasks) {
        (n, 0) => count(n, "approval"),
        (0, n) => count(n, "task"),
        (n, m) => format!("{} and {}", count(n, "approval"), count(m, "task")),
    }
}

/// The same as the beginning of a sentence.
pub fn waits(approvals: usize, tasks: usize) -> String {
    format!("{} {}", what(approvals, tasks), if approvals + tasks == 1 { "waits" } else { "wait" })
}

/// What would be done: what it is called, and the text that counts.
fn act(act: &Act) -> (String, String) {
    match act.shown() {
        Some(shown) => (text::line(&shown.label), shown.text),
        None => {
            let value = serde_json::to_value(act).unwrap_or_default();
            (act.tool().to_owned(), value["arguments"].to_string())
        }
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
        "file": layout::approval_file(Decided::Pending, &d.id),
        "queue": QUEUE_PATH,
    })
}
