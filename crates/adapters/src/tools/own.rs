//! Commands that the owner of the home wrote into an agent's file, and files that a person is asked about: what an
//! approval of them is for.

use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use domain::agent::Workspace;
use domain::id::AgentId;
use domain::layout;
use domain::lock::workspace::Room;
use domain::review::Check;
use domain::tool::{Part, Permit, Resolved, Runs, Seen, Tool};
use policy::path::normal;
use ports::tools::{Order, Outcome};

use super::{Toolbox, blocking, content, looked};
use crate::beneath::{PathRefused, Root};
use crate::digest::digest;
use crate::sandbox::Sandbox;

/// The largest file of an agent.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// What such a command may do: its workspace is written by compilers and tests.
const PERMIT: Permit = Permit { writes: true, network: false };

/// The command for a check, as the agent's file says it. Blocks.
pub(super) fn command(root: &Root, agent: &AgentId, check: Check) -> Result<String, String> {
    let (file, workspace) = workspace(root, agent)?;
    let (key, command) = match check {
        Check::Lint => ("lint", workspace.lint),
        Check::Test => ("test", workspace.test),
    };
    command.ok_or_else(|| {
        format!(
            "{agent} has no command for {}: the owner of the home can set one in {file}, as `workspace: {{{key}: \"…\"}}`",
            check.tool()
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
/// review is made anew when it runs, so nothing of it is seen before.
pub(super) async fn look_at_command(
    toolbox: &Toolbox,
    (agent, room): (&AgentId, Room),
    runs: Runs<'_>,
) -> Option<Seen> {
    let Runs::OwnersCommand(check) = runs else { return None };
    let (root, sandbox, agent) = (Arc::clone(&toolbox.root), toolbox.sandbox.clone()?, agent.clone());
    looked(blocking(move || Ok(look(&root, &sandbox, (&agent, room), check))).await)
}

fn look(root: &Root, sandbox: &Sandbox, (agent, room): (&AgentId, Room), check: Check) -> Seen {
    let command = command(root, agent, check).unwrap_or_default();
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
    seen
}

/// Runs such a command, unless it is another one since it was asked for.
pub(super) async fn run(toolbox: &Toolbox, order: Order) -> Outcome {
    let Runs::OwnersCommand(check) = order.act.runs() else {
        return Outcome::failed(format!("{} runs no command of the owner", order.act.tool()));
    };
    let (root, agent) = (Arc::clone(&toolbox.root), order.agent.clone());
    let now = look_at_command(toolbox, (&agent, order.room()), order.act.runs()).await;
    let changed = order.seen.as_ref().zip(now).and_then(|(before, now)| match order.approved {
        true => content::difference(before, &now),
        // Nobody said yes to what it works on.
        false => of_words(before).difference(&of_words(&now)),
    });
    match (blocking(move || command(&root, &agent, check)).await, changed) {
        (Ok(_), Some(what)) => Outcome::failed(void(&what)),
        (Ok(command), None) => toolbox.command(&order, &command, PERMIT).await,
        (Err(error), _) => Outcome::failed(error),
    }
}

/// What is seen of such a command without what it works on.
fn of_words(seen: &Seen) -> Seen {
    let parts = seen.parts.iter().take(1).cloned().collect();
    Seen { parts, ..seen.clone() }
}

/// What is seen of the paths that a tool names: where they lead, and what stands there if `binds` says that an approval
/// is for that. `None` if there is nothing to say. `exact` is the same home without links. Blocks.
pub(super) fn look_at_paths<T: Tool>(
    (root, exact): (&Root, &Root),
    agent: &AgentId,
    mut act: T,
    binds: bool,
) -> Option<Seen> {
    let mut paths = Vec::new();
    for path in act.paths() {
        let real = match T::FOLLOWS_LINKS {
            true => root.resolve(path),
            false => root.resolve_folder(path),
        };
        let real = match real {
            Ok(real) => real,
            Err(refused @ PathRefused::Outside { .. }) => {
                return Some(Seen { refused: Some(refused.to_string()), sandbox: true, ..Seen::default() });
            }
            // The gate says what is wrong with it, or whoever opens it.
            Err(_) => return None,
        };
        if normal(path).as_deref() != Some(real.as_str()) {
            paths.push(Resolved { named: path.clone(), real: real.clone() });
        }
        *path = real;
    }
    let parts = if binds { files(exact, agent, &act) } else { Vec::new() };
    // No command runs, so no sandbox is missing.
    (!parts.is_empty() || !paths.is_empty()).then(|| Seen { parts, paths, sandbox: true, ..Seen::default() })
}

/// The files that a person is asked to let an agent change, as they are; none of the agent's own workspace, where nobody is
/// asked. Blocks.
fn files<T: Tool>(root: &Root, agent: &AgentId, act: &T) -> Vec<Part> {
    act.reach().writes.into_iter().filter_map(|path| look_at_file(root, agent, path)).collect()
}

/// One such file.
pub(super) fn look_at_file(root: &Root, agent: &AgentId, path: &str) -> Option<Part> {
    let path = normal(path).unwrap_or_else(|| path.to_owned());
    if layout::is_inside(&path, &layout::workspace(agent)) {
        return None;
    }
    let digest = match root.file(&path) {
        Ok((file, _)) => content::held_by(&file),
        Err(PathRefused::Absent { .. }) => "absent".to_owned(),
        Err(PathRefused::Link { .. }) => {
            let to = std::fs::read_link(root.path().join(&path)).unwrap_or_default();
            format!("link {}", digest(to.as_os_str().as_bytes()))
        }
        Err(_) => "no file".to_owned(),
    };
    Some(Part { what: format!("file {path}"), digest })
}

/// Whether the files that an act changes are as they were when it was asked for.
pub(super) fn check_files<T: Tool>(root: &Root, order: &Order, act: &T) -> Result<(), String> {
    let parts = files(root, &order.agent, act);
    match &order.seen {
        Some(before) if !parts.is_empty() => check_parts(before, parts),
        Some(_) | None => Ok(()),
    }
}

/// Whether a file has this content already, after a try that a crash cut off.
pub(super) fn holds(root: &Root, path: &str, content: &str) -> bool {
    root.file(path).is_ok_and(|(file, _)| content::held_by(&file) == digest(content.as_bytes()))
}

/// Whether what would be changed is what was approved.
pub(super) fn check_parts(before: &Seen, parts: Vec<Part>) -> Result<(), String> {
    let now = Seen { parts, ..before.clone() };
    before.difference(&now).map_or(Ok(()), |what| Err(void(&what)))
}

/// A path from the top of the folder in which an agent works, for a tool that works there and nowhere else. All of the folder is
/// no path.
pub(super) fn in_folder(root: &Root, folder: &str, path: Option<&str>) -> Result<Option<String>, String> {
    let Some(path) = path.map(|path| path.trim_end_matches('/')).filter(|path| *path != folder) else {
        return Ok(None);
    };
    // Who looks at work of others names its own files as it names those.
    let review = format!("{folder}.review");
    let below = layout::inside(path, folder).or_else(|| layout::inside(path, &review)).map(str::to_owned);
    let outside = || format!("{} is not in your workspace, {folder}/", root.shown(path));
    below.map(Some).ok_or_else(outside)
}

/// The same for some paths; none if all of the folder is meant.
pub(super) fn all_in_folder(root: &Root, folder: &str, paths: &[String]) -> Result<Vec<String>, String> {
    let paths = paths.iter().map(|path| in_folder(root, folder, Some(path)));
    let paths: Option<Vec<String>> = paths.collect::<Result<_, String>>()?;
    Ok(paths.unwrap_or_default())
}

/// Refuses a path of the folder at which nothing is.
pub(super) fn check_named(root: &Root, folder: &str, path: Option<&str>) -> Result<(), String> {
    let Some(path) = path.map(|path| format!("{folder}/{path}")) else { return Ok(()) };
    match root.is_there(&path) {
        true => Ok(()),
        false => Err(root.in_words(PathRefused::Absent { path })),
    }
}

/// The words for an approval that is for something that is no more.
pub(super) fn void(what: &str) -> String {
    format!("void: {what} changed since it was approved; ask again if it is still wanted")
}
