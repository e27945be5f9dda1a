//! Commands that the owner of the home wrote into an agent's file, and files that a person is asked about: what an
//! approval of them is for.

use domain::agent::Workspace;
use domain::id::AgentId;
use domain::layout;
use domain::lock::workspace::Room;
use domain::tool::{Act, Lint, Part, Permit, Resolved, Seen, WriteFile};
use policy::path::normal;

use super::content;
use crate::beneath::{PathRefused, Root};
use crate::digest::digest;
use crate::sandbox::Sandbox;

/// The largest file of an agent, and the largest text file that is compared by its content.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// What such a command may do: its workspace is written by compilers and tests.
pub(super) const PERMIT: Permit = Permit { writes: true, network: false };

/// The command for an act, as the agent's file says it. Blocks.
pub(super) fn command(root: &Root, agent: &AgentId, act: &Act) -> Result<String, String> {
    let (file, workspace) = workspace(root, agent)?;
    let (key, command) = match act {
        Act::Lint(Lint {}) => ("lint", workspace.lint),
        _ => ("test", workspace.test),
    };
    command.ok_or_else(|| {
        format!(
            "{agent} has no command for {}: the owner of the home can set one in {file}, as `workspace: {{{key}: \"…\"}}`",
            act.tool()
        )
    })
}

fn workspace(root: &Root, agent: &AgentId) -> Result<(String, Workspace), String> {
    let places = layout::agent_files(agent);
    for path in &places {
        let text = match text(root, path) {
            Ok(text) => text,
            Err(PathRefused::Absent { .. }) => continue,
            Err(refused) => return Err(refused.to_string()),
        };
        let spec = formats::agent::read(path, &text).value;
        let spec = spec.ok_or_else(|| format!("{path} has an error; `synod check` says which"))?;
        return Ok((path.clone(), spec.workspace.unwrap_or_default()));
    }
    Ok((places[0].clone(), Workspace::default()))
}

fn text(root: &Root, path: &str) -> Result<String, PathRefused> {
    use std::io::Read;
    let (file, _) = root.file(path)?;
    let mut text = String::new();
    let read = file.take(FILE_BYTES_MAX).read_to_string(&mut text);
    read.map_err(|e| PathRefused::System { path: path.to_owned(), reason: e.to_string() })?;
    Ok(text)
}

/// What is seen of such a command: its words, whether there is a sandbox for it, and what it works on. A checkout for a
/// review is made anew when it runs, so nothing of it is seen before. Blocks.
pub(super) fn look(
    root: &Root,
    sandbox: &Sandbox,
    (agent, room): (&AgentId, Room),
    act: &Act,
) -> Result<Seen, String> {
    let command = command(root, agent, act).unwrap_or_default();
    let lack = sandbox.lack();
    let part = Part { what: format!("command {command}"), digest: digest(command.as_bytes()) };
    let mut seen = Seen {
        parts: vec![part],
        sandbox: lack.is_none(),
        refused: sandbox.refusal(),
        notes: Vec::from_iter(lack),
        ..Seen::default()
    };
    if room == Room::Own {
        content::add(&mut seen, &root.path().join(room.folder(agent)));
    }
    Ok(seen)
}

/// What is seen of such a command without what it works on.
pub(super) fn of_words(seen: &Seen) -> Seen {
    let parts = seen.parts.iter().take(1).cloned().collect();
    Seen { parts, ..seen.clone() }
}

/// What is seen of the path that a file tool names: where it leads, and what stands there if a person is asked to let
/// the agent write it. `None` if there is nothing to say. Blocks.
pub(super) fn look_at_path(root: &Root, agent: &AgentId, act: &Act) -> Option<Seen> {
    let named = act.path()?;
    let real = match root.resolve(named) {
        Ok(real) => real,
        Err(refused @ PathRefused::Outside { .. }) => {
            return Some(Seen { refused: Some(refused.to_string()), sandbox: true, ..Seen::default() });
        }
        // The gate says what is wrong with it, or whoever opens it.
        Err(_) => return None,
    };
    let written = match act {
        Act::WriteFile(WriteFile { .. }) => look_at_file(root, agent, &real),
        _ => None,
    };
    if normal(named).as_deref() == Some(real.as_str()) {
        return written;
    }
    let path = Some(Resolved { named: named.to_owned(), real });
    // No command runs, so no sandbox is missing.
    Some(Seen { path, sandbox: true, ..written.unwrap_or_default() })
}

/// What is seen of a file that a person is asked to let an agent write; `None` in the agent's own workspace, where
/// nobody is asked. Blocks.
fn look_at_file(root: &Root, agent: &AgentId, path: &str) -> Option<Seen> {
    if layout::is_inside(path, &layout::workspace(agent)) {
        return None;
    }
    let digest = match text(root, path) {
        Ok(text) => digest(text.as_bytes()),
        Err(PathRefused::Absent { .. }) => "absent".to_owned(),
        Err(_) => "no text".to_owned(),
    };
    let parts = vec![Part { what: format!("file {path}"), digest }];
    Some(Seen { parts, sandbox: true, ..Seen::default() })
}

/// Whether a file may still be written as it was asked for: it is as it was, or already as it is wanted, after a
/// try that a crash cut off.
pub(super) fn check_file(
    root: &Root,
    agent: &AgentId,
    before: Option<&Seen>,
    path: &str,
    content: &str,
) -> Result<(), String> {
    let path = normal(path).unwrap_or_else(|| path.to_owned());
    let (Some(before), Some(now)) = (before, look_at_file(root, agent, &path)) else { return Ok(()) };
    match before.difference(&now) {
        Some(_) if now.parts[0].digest == digest(content.as_bytes()) => Ok(()),
        Some(what) => Err(void(&what)),
        None => Ok(()),
    }
}

/// Whether what would be committed is what was approved.
pub(super) fn check_parts(before: &Seen, parts: Vec<Part>) -> Result<(), String> {
    let now = Seen { parts, ..before.clone() };
    before.difference(&now).map_or(Ok(()), |what| Err(void(&what)))
}

/// The words for an approval that is for something that is no more.
pub(super) fn void(what: &str) -> String {
    format!("void: {what} changed since it was approved; ask again if it is still wanted")
}
