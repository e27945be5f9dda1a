//! `synod delegation`: what agents handed on to each other.

use std::path::Path;

use adapters::delegations::{self, Row};
use serde_json::{Map, Value, json};

use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text;
use crate::view;
use crate::view::tasks::Tasks;

pub fn list(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let rows = read(home)?;
    if out.json {
        out.value(json!({ "delegations": rows.iter().rev().map(value).collect::<Vec<_>>() }));
        return Ok(Exit::Ok);
    }
    if rows.is_empty() {
        out.line("No agent has delegated anything.");
        return Ok(Exit::Ok);
    }
    let cells = |row: &Row| {
        let from_to = format!("{} → {}", row.source, row.target);
        vec![row.id.clone(), row.status.clone(), row.task.clone(), from_to, text::line(&row.tag)]
    };
    let table = text::table(
        &["DELEGATION", "STATUS", "TASK", "AGENTS", "TAG"],
        rows.iter().rev().map(cells).collect(),
    );
    for (number, line) in table.iter().enumerate() {
        out.line(if number == 0 { out.dim(line) } else { line.clone() });
    }
    Ok(Exit::Ok)
}

pub fn show(home: &Path, id: &str, out: &Out) -> anyhow::Result<Exit> {
    let rows = read(home)?;
    let ids = rows.iter().map(|row| row.id.as_str());
    let row = rows.iter().find(|row| row.id == id).ok_or_else(|| view::unknown("delegation", id, ids))?;
    let related: Vec<&Row> = rows.iter().filter(|other| other.request == row.request).collect();
    if out.json {
        let mut shown = value(row);
        shown["given_to"] = json!(given_to(home, row));
        shown["related"] = json!(related.iter().map(|row| &row.id).collect::<Vec<_>>());
        out.value(json!({ "delegation": shown }));
        return Ok(Exit::Ok);
    }
    out.line(out.bold(&format!("{}  {}", row.id, row.status)));
    let chain = row.chain.join(" → ");
    let contexts = row.contexts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let given_to = given_to(home, row).unwrap_or_default();
    let fields = [
        ("from", row.source.as_str()),
        ("to", &row.target),
        ("given to", &given_to),
        ("tag", &row.tag),
        ("task", &row.task),
        ("request", &row.request),
        ("chain", &chain),
        ("contexts", &contexts),
        ("created", &row.created),
        ("started", if row.status == "pending" { "" } else { &row.started }),
        ("deadline", row.deadline.as_deref().unwrap_or_default()),
        ("completed", row.completed.as_deref().unwrap_or_default()),
        ("error", row.error.as_deref().unwrap_or_default()),
    ];
    for (key, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
        out.line(format!("  {:<11} {}", format!("{key}:"), text::line(value)));
    }
    out.line("");
    let tasks = view::tasks::read(home);
    let mut heads: Vec<Branch> = Vec::new();
    for one in &related {
        let mut at = &mut heads;
        for step in path(one, &related, &tasks, id) {
            at = enter(at, step);
        }
    }
    heads.iter().for_each(|head| head.show(0, out));
    Ok(Exit::Ok)
}

/// Who has the task in place of the target, if a person gave it to somebody else.
fn given_to(home: &Path, row: &Row) -> Option<String> {
    let tasks = view::tasks::read(home);
    let task = tasks.list.iter().find(|task| task.id() == Some(&row.task))?;
    let who = task.spec.assignee.as_ref()?.to_string();
    (who != row.target).then_some(who)
}

/// An agent through whose hands work went, or a delegation, and all that is below.
struct Branch {
    key: String,
    line: String,
    below: Vec<Branch>,
}

impl Branch {
    fn show(&self, depth: usize, out: &Out) {
        let sign = if depth == 0 { "" } else { "└ " };
        out.line(format!("{:width$}{sign}{}", "", self.line, width = 2 * depth));
        self.below.iter().for_each(|branch| branch.show(depth + 1, out));
    }
}

/// What is below a step, which is shown once however many go through it.
fn enter(branches: &mut Vec<Branch>, (key, line): (String, String)) -> &mut Vec<Branch> {
    let at = branches.iter().position(|branch| branch.key == key).unwrap_or_else(|| {
        branches.push(Branch { key, line, below: Vec::new() });
        branches.len() - 1
    });
    &mut branches[at].below
}

/// The steps that lead to a delegation, each with a name of its own and in words: from who began, by the delegations above
/// it and those who made tasks in between, to itself. Each delegation above is shorter, so this comes to an end.
fn path(row: &Row, all: &[&Row], tasks: &Tasks, shown: &str) -> Vec<(String, String)> {
    let above = above(row, tasks);
    let is_on_the_way = |other: &&&Row| {
        other.chain.len() < row.chain.len()
            && row.chain.starts_with(&other.chain)
            && above.contains(&other.task)
    };
    let distance = |other: &&&Row| above.iter().position(|task| *task == other.task);
    let source = row.chain.len().saturating_sub(1);
    let nearest = all.iter().filter(is_on_the_way).min_by_key(distance);
    let (mut steps, from, between) = match nearest.and_then(|other| Some((other, distance(&other)?))) {
        Some((other, distance)) => (path(other, all, tasks, shown), other.chain.len(), distance),
        None => (Vec::new(), 0, above.len()),
    };
    for (number, agent) in row.chain.iter().enumerate().take(source).skip(from) {
        // Who was only asked by a message has no task of its own.
        let task = above[..between].get(source - 1 - number).map_or("", String::as_str);
        let key = format!("{agent} ({task})");
        let line = if number == 0 || task.is_empty() { agent.clone() } else { key.clone() };
        steps.push((key, line));
    }
    let here = if row.id == shown { "  ←" } else { "" };
    let line = format!("{}  {}  {}  {}{here}", row.target, row.task, row.status, row.id);
    steps.push((row.id.clone(), line));
    steps
}

/// The task of who handed it on, and those of which that is a part, the nearest first.
fn above(row: &Row, tasks: &Tasks) -> Vec<String> {
    let mut found: Vec<String> = row.parent.iter().cloned().collect();
    let mut at = found.first().and_then(|id| tasks.find(id));
    while let Some(index) = at.and_then(|at| tasks.list[at].parent) {
        let id = tasks.list[index].spec.id.to_string();
        // Files may say that tasks are parts of each other in a circle.
        if found.contains(&id) {
            break;
        }
        found.push(id);
        at = Some(index);
    }
    found
}

/// How much is under way, and for whom: the seed's `getMetrics`.
pub fn metrics(home: &Path) -> Value {
    let rows = delegations::read(home).unwrap_or_default();
    let mut by_agent: Map<String, Value> = Map::new();
    let count = |status: &str| rows.iter().filter(|row| row.status == status).count();
    for row in &rows {
        let of = |status: &str| rows.iter().filter(|r| r.status == status && r.target == row.target).count();
        if !by_agent.contains_key(&row.target) {
            by_agent.insert(row.target.clone(), json!({ "active": of("running"), "pending": of("pending") }));
        }
    }
    json!({ "totalActive": count("running"), "totalPending": count("pending"), "byAgent": by_agent })
}

fn read(home: &Path) -> anyhow::Result<Vec<Row>> {
    let help = "the next start of synod writes .synod/delegations.db anew";
    delegations::read(home).map_err(|error| fail(Exit::Failed, error.to_string(), help))
}

fn value(row: &Row) -> Value {
    json!({
        "id": row.id, "request_id": row.request, "source_agent": row.source, "target_agent": row.target,
        "task_tag": row.tag, "status": row.status, "chain": row.chain, "depth": row.chain.len().saturating_sub(1),
        "started_at": row.started, "completed_at": row.completed, "error": row.error, "created_at": row.created,
        "task": row.task, "parent": row.parent, "deadline": row.deadline, "contexts": row.contexts,
    })
}
