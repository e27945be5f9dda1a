//! What a home says, read from its files as simply as can be: this must not share Synod's own reading, which it
//! checks.

use std::fs;
use std::io;
use std::path::Path;

/// All that is compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    pub tasks: Vec<Task>,
    pub sessions: Vec<Session>,
    /// Lines of `inbox/slack-outbox.jsonl`.
    pub outbox: Vec<String>,
    /// Files in `approvals/pending/`.
    pub pending: Vec<String>,
}

/// An item of a task file.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    pub file: String,
    pub id: String,
    pub mark: String,
    pub assignee: String,
    pub title: String,
    pub parent: String,
    pub depends_on: String,
}

/// A session file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Session {
    pub file: String,
    pub agent: String,
    pub status: String,
    pub task: String,
    pub messages: Vec<Message>,
}

/// One message. Texts are as printed, with quotes or block signs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    pub id: String,
    pub role: String,
    pub content: String,
    /// All of `tool_calls`.
    pub calls: String,
    /// `tool_call_id`.
    pub call: String,
}

/// Reads a home. The folder's own path is `HOME` in what is read.
pub fn read(folder: &Path) -> io::Result<Home> {
    let own = folder.display().to_string();
    let mut home = Home::default();
    for (name, text) in texts(&folder.join("tasks"), ".task.md")? {
        home.tasks.extend(tasks(&name, &text.replace(&own, "HOME")));
    }
    for (name, text) in texts(&folder.join("sessions"), ".session.yaml")? {
        home.sessions.push(session(&name, &text.replace(&own, "HOME")));
    }
    let outbox = texts(&folder.join("inbox"), "slack-outbox.jsonl")?;
    let lines = outbox.iter().flat_map(|(_, text)| text.lines()).filter(|line| !line.trim().is_empty());
    home.outbox = lines.map(|line| line.replace(&own, "HOME")).collect();
    home.pending = texts(&folder.join("approvals/pending"), "")?.into_iter().map(|(name, _)| name).collect();
    Ok(home)
}

/// Files of a folder by name; a folder that is not there has none.
fn texts(folder: &Path, ending: &str) -> io::Result<Vec<(String, String)>> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(ending) && !name.starts_with('.') && entry.file_type()?.is_file() {
            found.push((name, fs::read_to_string(entry.path())?));
        }
    }
    found.sort();
    Ok(found)
}

/// The items of a task file.
pub fn tasks(file: &str, text: &str) -> Vec<Task> {
    let mut found: Vec<(usize, Task)> = Vec::new();
    // The column of a key whose value is a block; what is deeper belongs to it.
    let mut block: Option<usize> = None;
    for line in text.lines() {
        let body = line.trim_start();
        let indent = line.len() - body.len();
        if body.is_empty() || block.is_some_and(|column| indent > column) {
            continue;
        }
        block = None;
        if let Some((mark, rest)) = body.strip_prefix("- [").and_then(|b| b.split_once(']')) {
            let above = found.iter().rev().find(|(column, _)| *column < indent);
            let parent = above.map(|(_, task)| task.id.clone()).unwrap_or_default();
            let (assignee, title) = head(rest);
            let mark = mark.trim().replace('_', "").to_lowercase();
            let task = Task { file: file.to_owned(), mark, assignee, title, parent, ..Task::default() };
            found.push((indent, task));
        } else if let Some((column, task)) = found.last_mut()
            && let Some((key, value)) = body.split_once(": ")
            && indent == *column + 2
        {
            let value = value.trim().to_owned();
            block = value.starts_with('|').then_some(indent);
            match key {
                "id" => task.id = value,
                "parent" => task.parent = value,
                "depends_on" => task.depends_on = value,
                _ => {}
            }
        }
    }
    found.into_iter().map(|(_, task)| task).collect()
}

/// The assignee and the title of `A @executor-001 #docker "Check the Redis container"`.
fn head(rest: &str) -> (String, String) {
    let mut rest = rest.trim();
    let mut assignee = String::new();
    while let Some((word, behind)) = rest.split_once(' ') {
        let priority = matches!(word, "A" | "B" | "C" | "D" | "E" | "F");
        if let Some(name) = word.strip_prefix('@') {
            assignee = name.to_owned();
        } else if !priority && !word.starts_with('#') {
            break;
        }
        rest = behind.trim_start();
    }
    (assignee, rest.to_owned())
}

/// The columns in which Synod prints a message.
const DASH: &str = "  - ";
const KEY: &str = "    ";

/// A session file as Synod prints it.
pub fn session(file: &str, text: &str) -> Session {
    let mut session = Session { file: file.to_owned(), ..Session::default() };
    let mut lines = text.lines();
    for line in lines.by_ref().take_while(|line| !line.starts_with("messages:")) {
        match line.split_once(": ") {
            Some(("agent_id", value)) => session.agent = unquote(value),
            Some(("status", value)) => session.status = unquote(value),
            Some(("task", value)) => session.task = unquote(value),
            Some(_) | None => {}
        }
    }
    let mut key = "";
    for line in lines {
        let own = match line.strip_prefix(DASH) {
            Some(own) => {
                session.messages.push(Message::default());
                Some(own)
            }
            None => line.strip_prefix(KEY).filter(|own| !own.is_empty() && !own.starts_with(' ')),
        };
        let Some(message) = session.messages.last_mut() else { continue };
        let (name, value) = match own {
            Some(own) => own.split_once(':').unwrap_or((own, "")),
            // It goes on with the value of the key above.
            None => (key, line),
        };
        key = name;
        match key {
            "id" => message.id = unquote(value),
            "role" => message.role = unquote(value),
            "content" => add(&mut message.content, value),
            "tool_calls" => add(&mut message.calls, value),
            "tool_call_id" => message.call = unquote(value),
            _ => {}
        }
    }
    session
}

fn add(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

impl Message {
    /// The calls that are asked for: id and tool of each.
    pub fn calls(&self) -> Vec<(String, String)> {
        let mut calls: Vec<(String, String)> = Vec::new();
        for line in self.calls.lines() {
            if let Some(id) = line.strip_prefix("      - id:") {
                calls.push((unquote(id), String::new()));
            } else if let (Some(tool), Some(last)) = (line.strip_prefix("          name:"), calls.last_mut())
            {
                last.1 = unquote(tool);
            }
        }
        calls
    }
}

fn unquote(value: &str) -> String {
    value.trim().trim_matches(['\'', '"']).to_owned()
}
