//! `synod session`: conversations.

use std::collections::HashMap;
use std::path::Path;

use domain::layout;
use domain::session::Speaker;
use formats::session::{MessageItem, SessionFile};
use serde_json::{Value, json};

use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text::{self, count};
use crate::view::sessions::{self, Tail};
use crate::view::spent::{self, Spending};
use crate::view::{self, files};

/// So many lines of a tool's result are shown to people.
const RESULT_LINES_MAX: usize = 12;
/// And so many characters of a line of it.
const RESULT_CHARS_MAX: usize = 400;

pub fn list(home: &Path, out: &Out) -> anyhow::Result<Exit> {
    let (mut found, broken) = sessions::list(home);
    found.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.path.cmp(&b.path)));
    if out.json {
        let list = found.iter().map(|s| {
            json!({
                "id": s.head.session,
                "agent": s.head.agent,
                "task": s.head.task,
                "status": s.status.as_str(),
                "messages": s.messages(home),
                "created": formats::time::print(s.head.created),
                "updated": formats::time::print(s.updated),
                "file": s.path,
            })
        });
        out.value(json!({ "sessions": list.collect::<Vec<_>>(), "unreadable": broken }));
        return Ok(Exit::Ok);
    }
    if found.is_empty() && broken.is_empty() {
        out.line("No conversations yet.");
        return Ok(Exit::Ok);
    }
    let rows = found.iter().map(|s| {
        vec![
            s.head.session.to_string(),
            s.head.agent.to_string(),
            s.head.task.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
            s.status.as_str().to_owned(),
            s.messages(home).to_string(),
            text::time(s.updated),
        ]
    });
    let lines = text::table(&["SESSION", "AGENT", "TASK", "STATUS", "SAID", "UPDATED (UTC)"], rows.collect());
    for (number, line) in lines.iter().enumerate() {
        out.line(if number == 0 { out.dim(line) } else { line.clone() });
    }
    for path in broken {
        out.line(format!("{path} cannot be read; see `synod check`"));
    }
    Ok(Exit::Ok)
}

pub fn show(home: &Path, id: &str, out: &Out) -> anyhow::Result<Exit> {
    let path = find(home, sessions::session_of(id))?;
    let (session, tail) = sessions::read(home, &path)
        .map_err(|error| fail(Exit::Failed, error, "`synod check` shows all that is wrong with the file"))?;
    let spent = Spending::read(home).session(&session.head().session);
    if out.json {
        let messages: Vec<Value> = session.messages().iter().map(message_json).collect();
        let head = session.head();
        out.value(json!({
            "session": {
                "id": head.session,
                "agent": head.agent,
                "role": head.role,
                "model": head.model,
                "task": head.task,
                "status": session.status().as_str(),
                "system_prompt": head.system_prompt,
                "created": formats::time::print(head.created),
                "updated": session.updated().map(formats::time::print),
                "file": path,
                "spent": spent::json(&spent),
            },
            "messages": messages,
            "torn": tail == Tail::Torn,
        }));
        return Ok(Exit::Ok);
    }
    converse(&session, out);
    if !spent.is_nothing() {
        out.line("");
        out.line(out.dim(&format!("── models: {}", spent::line(&spent))));
    }
    if tail == Tail::Torn {
        out.say("the last message was cut off while it was written; it is repaired when Synod works next");
    }
    Ok(Exit::Ok)
}

/// The file of a session. Only files that are there are named, so that no id leads out of the folder.
fn find(home: &Path, id: &str) -> anyhow::Result<String> {
    let paths = files::list(home, layout::SESSIONS, layout::SESSION_END);
    let name = |path: &'_ str| path["sessions/".len()..path.len() - layout::SESSION_END.len()].to_owned();
    if let Some(path) = paths.iter().find(|path| name(path) == id) {
        return Ok(path.clone());
    }
    let names: Vec<String> = paths.iter().map(|path| name(path)).collect();
    let theirs = names.iter().filter(|n| n.rsplit_once('-').is_some_and(|(agent, _)| agent == id));
    let theirs: Vec<&str> = theirs.map(String::as_str).collect();
    if !theirs.is_empty() {
        let message = format!("{} is an agent, not a session", text::line(id));
        let help = format!("its sessions: {}", theirs.join(", "));
        return Err(fail(Exit::Failed, message, help));
    }
    Err(view::unknown("session", id, names.iter().map(String::as_str)))
}

fn converse(session: &SessionFile, out: &Out) {
    let head = session.head();
    let task = head.task.as_ref().map_or_else(String::new, |task| format!(", about {task}"));
    let said = count(session.messages().len(), "message");
    out.line(out.bold(&format!("{}{task}: {}, {said}", head.session, session.status().as_str())));
    let mut tools: HashMap<&str, &str> = HashMap::new();
    for message in session.messages() {
        tools.extend(message.calls.iter().map(|call| (call.id.as_str(), call.name.as_str())));
        out.line("");
        out.line(out.dim(&title(message, head.agent.as_str(), &tools)));
        if message.speaker == Speaker::ToolResult {
            result(&message.content, out);
        } else if !message.content.trim().is_empty() {
            out.line(text::visible(message.content.trim_end()));
        }
        for call in &message.calls {
            out.line(text::line(&format!("→ {} {}", call.name, call.arguments)));
        }
    }
}

/// Who speaks, and when.
fn title(message: &MessageItem, agent: &str, tools: &HashMap<&str, &str>) -> String {
    let who = match message.speaker {
        Speaker::Assistant => agent.to_owned(),
        Speaker::ToolResult => {
            let tool = message.call.as_ref().and_then(|call| tools.get(call.as_str()));
            format!("result of {}", tool.copied().unwrap_or("a tool"))
        }
        Speaker::User | Speaker::System => match &message.from {
            Some(from) => from.to_string(),
            None => message.speaker.as_str().to_owned(),
        },
    };
    let at = message.at.map_or_else(String::new, |at| format!("  {}", text::time(at)));
    format!("── {}{at}", text::line(&who))
}

fn result(content: &str, out: &Out) {
    let content = text::visible(content.trim_end());
    let lines: Vec<&str> = content.split('\n').collect();
    for line in lines.iter().take(RESULT_LINES_MAX) {
        out.line(format!("    {}", text::cut(line, RESULT_CHARS_MAX)));
    }
    let more = lines.len().saturating_sub(RESULT_LINES_MAX);
    if more > 0 {
        out.line(format!("    … {} more (--json shows all)", count(more, "line")));
    } else if lines.iter().any(|line| line.chars().count() > RESULT_CHARS_MAX) {
        out.line("    (long lines are cut; --json shows all)");
    }
}

fn message_json(message: &MessageItem) -> Value {
    let calls = message
        .calls
        .iter()
        .map(|call| json!({ "id": call.id, "name": call.name, "arguments": call.arguments }));
    json!({
        "id": message.id,
        "at": message.at.map(formats::time::print),
        "speaker": message.speaker.as_str(),
        "from": message.from.as_ref().map(ToString::to_string).unwrap_or_default(),
        "content": message.content,
        "calls": calls.collect::<Vec<_>>(),
        "call": message.call,
        "line": message.line,
    })
}
