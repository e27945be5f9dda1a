//! `synod task`: work.

use std::path::Path;

use adapters::tools::tasks_sql::{self, QueryError};
use domain::id::TaskId;
use domain::layout;
use serde_json::{Value, json};

use super::status::row;
use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text;
use crate::view;
use crate::view::activity::Overview;
use crate::view::tasks::Task;

pub fn list(home: &Path, open: bool, out: &Out) -> anyhow::Result<Exit> {
    let overview = Overview::read(home);
    let tasks = &overview.tasks;
    let tree = tasks.tree(|task| !open || !task.mark.is_ended());
    let around = overview.around();
    if out.json {
        let list: Vec<Value> = tree.iter().map(|(index, _)| tasks.json(*index, &around)).collect();
        out.value(json!({ "tasks": list }));
        return Ok(Exit::Ok);
    }
    if tree.is_empty() {
        out.line(if open { "No open tasks." } else { "No tasks; `synod task add \"…\"` adds one." });
        return Ok(Exit::Ok);
    }
    let rows =
        tree.iter().map(|(index, depth)| (row(&tasks.list[*index], *depth), tasks.why(*index, &around)));
    let lines = text::table_with_reasons(&["", "TASK", "AGENT", "TITLE"], rows.collect());
    let mut file = "";
    for (number, line) in lines.iter().enumerate() {
        let Some(at) = number.checked_sub(1) else {
            out.line(out.dim(line));
            continue;
        };
        // A part that stands in another file is shown below its whole; only the file of the whole is named.
        let (index, depth) = tree[at];
        if depth == 0 && tasks.list[index].spec.file != file {
            file = &tasks.list[index].spec.file;
            out.line(out.dim(file));
        }
        out.line(line);
    }
    Ok(Exit::Ok)
}

pub fn show(home: &Path, id: &str, out: &Out) -> anyhow::Result<Exit> {
    let overview = Overview::read(home);
    let tasks = &overview.tasks;
    let index = tasks.find(id).ok_or_else(|| view::unknown("task", id, tasks.ids()))?;
    let task = &tasks.list[index];
    let session = session_path(home, &overview, task);
    let dependents: Vec<&Task> = tasks.dependents(&task.spec.id).collect();
    let children: Vec<&Task> = tasks.children(index).collect();
    let around = overview.around();
    if out.json {
        let ids = |list: &[&Task]| list.iter().map(|t| t.spec.id.clone()).collect::<Vec<TaskId>>();
        let mut value = tasks.json(index, &around);
        let properties: serde_json::Map<String, Value> =
            task.properties.iter().map(|(k, v)| (k.clone(), v.as_str().into())).collect();
        value["text"] = task.spec.text.as_str().into();
        value["result"] = task.property("result").into();
        value["label"] = task.property("label").into();
        value["approval_required"] = task.spec.approval_required.into();
        value["properties"] = properties.into();
        value["children"] = json!(ids(&children));
        value["dependents"] = json!(ids(&dependents));
        value["session"] = json!(session);
        out.value(json!({ "task": value }));
        return Ok(Exit::Ok);
    }
    out.line(out.bold(&format!(
        "{} {}  {}",
        task.shown_mark(),
        task.spec.id,
        text::visible(&task.spec.title)
    )));
    let field = |key: &str, value: &str| {
        let value = text::visible(value.trim_end());
        match value.contains('\n') {
            true => out.line(format!("  {key}:\n    {}", value.replace('\n', "\n    "))),
            false => out.line(format!("  {:<18} {value}", format!("{key}:"))),
        }
    };
    field("mark", task.mark.as_str());
    if let Some(why) = tasks.why(index, &around) {
        field("stands", &why);
    }
    field("file", &format!("{}:{}", task.spec.file, task.line));
    if let Some(agent) = &task.spec.assignee {
        field("assignee", agent.as_str());
    }
    if let Some(priority) = task.spec.priority {
        field("priority", &priority.letter().to_string());
    }
    if !task.spec.tags.is_empty() {
        field("tags", &task.spec.tags.join(", "));
    }
    if let Some(parent) = task.parent.map(|p| &tasks.list[p]).filter(|_| task.property("parent").is_none()) {
        field("parent", parent.id().unwrap_or(&parent.spec.title));
    }
    for (key, value) in task.properties.iter().filter(|(key, _)| !["id", "session"].contains(&key.as_str())) {
        field(&text::line(key), value);
    }
    if let Some(session) = session {
        field("session", &session);
    }
    for (key, list) in [("parts", children), ("waited for by", dependents)] {
        if !list.is_empty() {
            out.line(format!("  {key}:"));
        }
        for task in list {
            let title = text::line(&task.spec.title);
            out.line(format!("    {} {}  {title}", task.shown_mark(), task.id().unwrap_or("-")));
        }
    }
    Ok(Exit::Ok)
}

/// The conversation about a task: the one its file names, else the newest.
fn session_path(home: &Path, overview: &Overview, task: &Task) -> Option<String> {
    let named = task.property("session").map(layout::session_file);
    if let Some(named) =
        named.filter(|path| view::files::list(home, layout::SESSIONS, layout::SESSION_END).contains(path))
    {
        return Some(named);
    }
    let theirs = overview.sessions().iter().filter(|s| s.head.task.as_ref() == Some(&task.spec.id));
    theirs.max_by_key(|s| s.updated).map(|s| s.path.clone())
}

pub fn query(home: &Path, sql: &str, out: &Out) -> anyhow::Result<Exit> {
    let table = tasks_sql::query(home, sql).map_err(|error| {
        let help = match &error {
            QueryError::NotASelect { .. } => "tasks are changed in their files; SQL only looks",
            QueryError::Sql { .. } => {
                "tables: tasks (id, file, line, title, mark, priority, assignee, tag, tags, parent, depends_on, \
                 text, result, approval_required), properties (task, key, value), depends (task, on_task)"
            }
            QueryError::TooLong => "ask for less, or add a LIMIT",
            QueryError::Files { .. } => "`synod check` says what is wrong with the files",
        };
        fail(Exit::Failed, error.to_string(), help)
    })?;
    if out.json {
        let object = |row: &Vec<tasks_sql::Cell>| -> Value {
            let cells = table.columns.iter().zip(row).map(|(column, cell)| (column.clone(), json!(cell)));
            Value::Object(cells.collect())
        };
        let rows: Vec<Value> = table.rows.iter().map(object).collect();
        out.value(json!({ "columns": table.columns, "rows": rows, "cut": table.is_cut }));
        return Ok(Exit::Ok);
    }
    let head: Vec<String> = table.columns.iter().map(|c| text::line(c)).collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let cell =
        |cell: &tasks_sql::Cell| text::visible(&cell.to_string()).replace('\n', "\\n").replace('\t', " ");
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    for (number, line) in text::table_whole(&head, rows).iter().enumerate() {
        out.line(if number == 0 { out.dim(line) } else { line.clone() });
    }
    if table.is_cut {
        out.say(format!("only the first {} rows are shown; add a WHERE or a LIMIT", table.rows.len()));
    }
    Ok(Exit::Ok)
}
