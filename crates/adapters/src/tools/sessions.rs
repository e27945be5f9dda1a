//! Looking into conversations: which there are, and what was said in one.

use std::io::Read;

use domain::id::{AgentId, SessionId};
use domain::layout;
use domain::session::Status;
use formats::session::{MessageItem, SessionFile};
use rustix::fs::Dir;

use super::files::{Answer, Found};
use crate::beneath::{PathRefused, Root, stat_in};
use crate::text;
use crate::until::Until;

/// What of a listing is shown: names that Synod gave, and nothing that was said.
pub(super) const NAMES: &str = "names:sessions";

const LISTED_DEFAULT: u32 = 20;
const LISTED_MAX: u32 = 200;
const FILES_MAX: usize = 20_000;
const MESSAGES_DEFAULT: u32 = 20;
const MESSAGES_MAX: u32 = 500;
/// Longer files are not read.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// The head of a session is shorter than this.
const HEAD_BYTES_MAX: u64 = 256 << 10;

/// Which sessions are listed.
pub(super) struct Which {
    pub(super) agent: Option<AgentId>,
    pub(super) status: Option<Status>,
    pub(super) limit: Option<u32>,
}

/// The sessions of the home, those that changed last first.
pub(super) fn list_sessions(root: &Root, which: &Which, bytes_max: u64, until: &Until) -> Answer {
    let limit = which.limit.unwrap_or(LISTED_DEFAULT).clamp(1, LISTED_MAX) as usize;
    let mut lines = Vec::new();
    let (mut found, mut is_cut) = (0, false);
    for name in newest_first(root, which.agent.as_ref())? {
        if until.is_over() {
            is_cut = true;
            break;
        }
        let Some(head) = head(root, &name) else { continue };
        let of_agent = which.agent.as_ref().is_none_or(|agent| head.head().agent == *agent);
        if !of_agent || which.status.is_some_and(|status| head.status() != status) {
            continue;
        }
        found += 1;
        if found > limit {
            is_cut = true;
            break;
        }
        lines.push(line(&head));
    }
    if lines.is_empty() {
        return Ok("[no such sessions]".to_owned());
    }
    if is_cut {
        lines.push(format!(
            "[cut: the newest {}; a higher limit, an agent or a status shows others]",
            lines.len()
        ));
    }
    Ok(text::head(lines.join("\n"), bytes_max))
}

fn newest_first(root: &Root, agent: Option<&AgentId>) -> Result<Vec<String>, String> {
    let folder = match root.folder(layout::SESSIONS) {
        Ok(found) => found.fd,
        Err(PathRefused::Absent { .. }) => return Ok(Vec::new()),
        Err(refused) => return Err(refused.to_string()),
    };
    let dir = Dir::read_from(&folder).map_err(|e| format!("sessions cannot be listed: {e}"))?;
    let prefix = agent.map_or_else(String::new, |agent| format!("{agent}-"));
    let mut names: Vec<(i64, String)> = dir
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned))
        .filter(|name| name.ends_with(layout::SESSION_END) && name.starts_with(&prefix))
        .take(FILES_MAX)
        .filter_map(|name| Some((stat_in(&folder, &name).ok()??.st_mtime, name)))
        .collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    Ok(names.into_iter().map(|(_, name)| format!("sessions/{name}")).collect())
}

/// A session without its messages, which are the last key of the file.
fn head(root: &Root, path: &str) -> Option<SessionFile> {
    let (file, _) = root.file(path).ok()?;
    let mut bytes = Vec::new();
    file.take(HEAD_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let text = text::from_bytes(&bytes, true)?;
    let end = text.find("\nmessages:").map_or(text.len(), |at| at + 1);
    SessionFile::parse(path, &text[..end]).0
}

fn line(session: &SessionFile) -> String {
    let head = session.head();
    let task = head.task.as_ref().map_or_else(String::new, |task| format!(", task {task}"));
    let since = session.updated().unwrap_or(head.created);
    format!(
        "{}  {}  agent {}{task}, changed {}",
        head.session,
        session.status().as_str(),
        head.agent,
        formats::time::print(since)
    )
}

/// The last messages of a session, oldest first, and the place they stand in.
pub(super) fn read_session(root: &Root, session: &SessionId, last: Option<u32>, bytes_max: u64) -> Found {
    SessionId::parse(session.as_str()).map_err(|e| e.to_string())?;
    let path = layout::session_file(session);
    let (file, size) = root.file(&path).map_err(|refused| match refused {
        PathRefused::Absent { .. } => format!("there is no session {session}; list_sessions shows them"),
        other => other.to_string(),
    })?;
    if size > FILE_BYTES_MAX {
        return Err(format!("{path} has {size} bytes, at most {FILE_BYTES_MAX} are read; use read_file"));
    }
    let mut source = String::new();
    file.take(FILE_BYTES_MAX)
        .read_to_string(&mut source)
        .map_err(|e| format!("{path} cannot be read: {e}"))?;
    let (parsed, problems) = SessionFile::parse(&path, &source);
    let Some(parsed) = parsed else {
        let place = problems.first().map_or_else(String::new, |p| format!(":{}:{}", p.line, p.column));
        return Err(format!("{path}{place} does not read; a person has to mend it"));
    };
    let messages = parsed.messages();
    let last = last.unwrap_or(MESSAGES_DEFAULT).clamp(1, MESSAGES_MAX) as usize;
    let shown: Vec<String> = messages.iter().skip(messages.len().saturating_sub(last)).map(message).collect();
    let first = format!("{}, {} messages", line(&parsed), messages.len());
    Ok((format!("{first}\n{}", newest(&shown, messages.len(), bytes_max)), path))
}

/// As many of the last ones as fit; the newest are the ones that matter.
fn newest(shown: &[String], all: usize, bytes_max: u64) -> String {
    let mut left = bytes_max;
    let mut from = shown.len();
    while from > 0 && (shown[from - 1].len() as u64) < left {
        left -= shown[from - 1].len() as u64 + 1;
        from -= 1;
    }
    if from == shown.len() {
        return text::head(shown.last().cloned().unwrap_or_default(), bytes_max);
    }
    let older = all - (shown.len() - from);
    let text = shown[from..].join("\n");
    if older == 0 {
        text
    } else {
        format!("[cut: {older} older messages; read_file shows all of the file]\n{text}")
    }
}

fn message(item: &MessageItem) -> String {
    let id = item.id.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string);
    let from = item.from.as_ref().map_or_else(String::new, |from| format!(" from {from}"));
    let mut text = format!("[{id}] {}{from}: {}", item.speaker.as_str(), item.content.trim_end());
    for call in &item.calls {
        text.push_str(&format!("\n  asks for {} {}", call.name, call.arguments));
    }
    text
}
