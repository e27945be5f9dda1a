//! `synod delegation`: what agents handed on to each other.

use std::path::Path;

use adapters::delegations::{self, Row};
use serde_json::{Map, Value, json};

use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::view::{self, text};

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
    let contexts = row.contexts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let given_to = given_to(home, row).unwrap_or_default();
    let fields = [
        ("from", row.source.as_str()),
        ("to", &row.target),
        ("given to", &given_to),
        ("tag", &row.tag),
        ("task", &row.task),
        ("request", &row.request),
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
    out.line(row.chain.first().map(String::as_str).unwrap_or_default());
    let roots: Vec<&Row> = related.iter().copied().filter(|r| parent(r, &related).is_none()).collect();
    for root in roots {
        tree(root, &related, 1, id, out);
    }
    Ok(Exit::Ok)
}

/// Who has the task in place of the target, if a person gave it to somebody else.
fn given_to(home: &Path, row: &Row) -> Option<String> {
    let tasks = view::tasks::read(home);
    let task = tasks.list.iter().find(|task| task.id() == Some(&row.task))?;
    let who = task.spec.assignee.as_ref()?.to_string();
    (who != row.target).then_some(who)
}

/// The one from whose task this one was handed on.
fn parent<'a>(row: &Row, all: &[&'a Row]) -> Option<&'a Row> {
    all.iter().copied().find(|other| row.parent.as_ref() == Some(&other.task))
}

/// Prints a delegation and those below it. Each is deeper than the one before, so this comes to an end.
fn tree(row: &Row, all: &[&Row], depth: usize, shown: &str, out: &Out) {
    let here = if row.id == shown { "  ←" } else { "" };
    let line = format!(
        "{:width$}└ {}  {}  {}  {}{here}",
        "",
        row.target,
        row.task,
        row.status,
        row.id,
        width = 2 * depth
    );
    out.line(line);
    let is_below =
        |other: &&&Row| other.parent.as_ref() == Some(&row.task) && other.chain.len() > row.chain.len();
    for next in all.iter().filter(is_below) {
        tree(next, all, depth + 1, shown, out);
    }
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
