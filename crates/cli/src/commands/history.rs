//! `synod history`: what changed in the home, who did it and why.

use std::path::Path;

use adapters::git::log::{self, Entry, Filter};
use domain::id::Time;
use serde_json::{Value, json};

use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text;

/// So much of a commit's name is shown to people.
const ID_CHARS: usize = 10;
/// So many files of a commit are shown to people.
const FILES_SHOWN_MAX: usize = 6;

pub fn run(home: &Path, filter: &Filter, out: &Out) -> anyhow::Result<Exit> {
    let entries = log::read(home, filter).map_err(|why| {
        fail(Exit::Failed, why.to_string(), "the files themselves are all there; only their history is not")
    })?;
    if out.json {
        out.value(json!({ "commits": entries.iter().map(json).collect::<Vec<_>>() }));
        return Ok(Exit::Ok);
    }
    if entries.is_empty() {
        out.line("No commit fits.");
    }
    for entry in &entries {
        show(entry, out);
    }
    Ok(Exit::Ok)
}

fn show(entry: &Entry, out: &Out) {
    let at = at(entry);
    let head = format!("{}  {at}  {}", &entry.id[..ID_CHARS.min(entry.id.len())], text::line(&entry.author));
    out.line(format!("{head}  {}", out.bold(&text::line(&entry.subject))));
    let mut files: Vec<String> =
        entry.files.iter().take(FILES_SHOWN_MAX).map(|(path, how)| format!("{how} {path}")).collect();
    if entry.files.len() > FILES_SHOWN_MAX {
        files.push(format!("and {} more", entry.files.len() - FILES_SHOWN_MAX));
    }
    out.line(out.dim(&format!("            {}", text::line(&files.join(", ")))));
}

fn at(entry: &Entry) -> String {
    formats::time::print(Time(entry.at.saturating_mul(1000)))
}

fn json(entry: &Entry) -> Value {
    let files: Vec<Value> =
        entry.files.iter().map(|(path, how)| json!({ "path": path, "change": how })).collect();
    json!({
        "id": entry.id,
        "at": at(entry),
        "author": entry.author,
        "by_synod": entry.by_synod,
        "subject": entry.subject,
        "body": entry.more,
        "agents": entry.agents,
        "tasks": entry.tasks,
        "files": files,
    })
}
