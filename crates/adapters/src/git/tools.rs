//! The tools `git_commit` and `git_diff`: they work in the agent's workspace and nowhere else.

use domain::id::{AgentId, Seq};
use git2::{DiffOptions, Oid, Patch, Repository, Signature, Tree};
use sha2::{Digest, Sha256};

use super::changes::{self, Changed};
use super::commit::{self, Change, Words};
use super::workspace::{self, Workspace};
use super::{NOWHERE, history, log, message, update};
use crate::until::Until;

/// How far back a commit is looked for that a crash kept from being told of.
const LOOK_BACK_MAX: usize = 256;
/// The trailer by which it is found.
const EFFECT: &str = "Synod-Effect";
/// So many files are named in an answer.
const NAMES_MAX: usize = 50;
/// Bytes in which a NUL makes a file a binary one.
const BINARY_BYTES: usize = 8_000;

/// Commits what changed in a workspace, once for each effect.
pub(crate) fn commit(
    workspace: &Workspace,
    agent: &AgentId,
    effect: Seq,
    text: &str,
    paths: &[String],
    until: &Until,
) -> Result<String, String> {
    let repo = workspace::repository(workspace)?;
    let text = message::text(text);
    if text.is_empty() {
        return Err("the message is empty".to_owned());
    }
    let paths = clean(paths)?;
    let mark = mark(effect, agent, &text, &paths);
    let head = commit::head(&repo).map_err(|why| why.to_string())?;
    let branch = head.branch.trim_start_matches("refs/heads/").to_owned();
    let before = head.commit.as_ref().and_then(|tip| find_mark(&repo, tip.id(), &mark));
    let words = signed(agent, &text, &mark)?;
    let merging = update::merging(workspace, &repo, head.commit.as_ref())?;
    if let Some(id) = before {
        commit::mend(&repo, &head.branch);
        return Ok(format!("committed {id} on {branch}, before a restart"));
    }
    if let Some(merging) = merging {
        return merging.finish(&words, &paths, until);
    }
    let base = commit::tree_of(&repo, head.commit.as_ref()).map_err(|error| error.message().to_owned())?;
    let found = changes::find(&repo, &workspace.path, &base, &paths, until)?;
    let names: Vec<String> = found.files.iter().map(line).collect();
    let changes: Vec<Change> =
        found.files.into_iter().map(|file| Change { path: file.path, new: file.new }).collect();
    let made = commit::add(&repo, &changes, &words).map_err(|why| why.to_string())?;
    let mut said = match made {
        Some(id) => format!("committed {id} on {branch}:\n{}", listed(&names)),
        None if found.notes.is_empty() => return Err("nothing has changed since the last commit".to_owned()),
        None => "nothing was committed:".to_owned(),
    };
    for note in found.notes.iter().take(NAMES_MAX) {
        said.push_str(&format!("\n{note}"));
    }
    if made.is_some() { Ok(said) } else { Err(said) }
}

/// A commit of an agent, by which its effect is found again.
pub(super) fn signed(agent: &AgentId, text: &str, mark: &str) -> Result<Words<'static>, String> {
    let at = git2::Time::new(history::now().0.div_euclid(1000), 0);
    let sign = |name: &str| {
        let address = format!("{}@{NOWHERE}", name.to_lowercase());
        Signature::new(name, &address, &at).map_err(|error| error.message().to_owned())
    };
    let message = format!("{text}\n\n{EFFECT}: {mark}\n");
    Ok(Words { author: sign(agent.as_str())?, committer: sign("Synod")?, message })
}

/// Names an effect for good: its place in the journal begins anew when the journal does, the words do not.
pub(super) fn mark(effect: Seq, agent: &AgentId, text: &str, paths: &[String]) -> String {
    let all = format!("{agent}\0{text}\0{}", paths.join("\0"));
    let digest = Sha256::digest(all.as_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{effect}-{hex}")
}

pub(super) fn find_mark(repo: &Repository, tip: Oid, mark: &str) -> Option<Oid> {
    let mut walk = repo.revwalk().ok()?;
    walk.push(tip).ok()?;
    walk.take(LOOK_BACK_MAX).flatten().find(|id| {
        let Ok(commit) = repo.find_commit(*id) else { return false };
        let text = String::from_utf8_lossy(commit.message_bytes()).into_owned();
        message::trailers(&text, EFFECT).contains(&mark)
    })
}

/// Paths in their plain form, from the top of the workspace.
fn clean(paths: &[String]) -> Result<Vec<String>, String> {
    let mut clean = Vec::new();
    for path in paths {
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if path.starts_with('/') || parts.contains(&"..") || path.contains('\0') {
            return Err(format!("{path:?} is not a path in your workspace, such as src/main.rs"));
        }
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        clean.push(parts.join("/"));
    }
    Ok(clean)
}

pub(super) fn line(file: &Changed) -> String {
    let how = match (&file.old, &file.new) {
        (None, _) => "added",
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "removed",
    };
    format!("{how} {}", log::shown(file.path.as_bytes()))
}

pub(super) fn listed(names: &[String]) -> String {
    let mut text = names.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>().join("\n");
    if names.len() > NAMES_MAX {
        text.push_str(&format!("\nand {} more", names.len() - NAMES_MAX));
    }
    text
}

/// What differs between the files of a workspace and a commit, as a patch of at most `bytes_max` bytes.
pub(crate) fn diff(
    workspace: &Workspace,
    path: Option<&str>,
    against: Option<&str>,
    bytes_max: u64,
    until: &Until,
) -> Result<String, String> {
    let repo = workspace::repository(workspace)?;
    let paths = clean(&path.map(str::to_owned).into_iter().collect::<Vec<_>>())?;
    let base = base(&repo, against)?;
    let found = changes::find(&repo, &workspace.path, &base, &paths, until)?;
    let mut text = String::new();
    let max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let mut left = found.files.len();
    for file in &found.files {
        if text.len() >= max || until.is_over() {
            break;
        }
        left -= 1;
        show(&repo, file, max, &mut text)?;
    }
    for note in found.notes.iter().take(NAMES_MAX) {
        text.push_str(&format!("{note}\n"));
    }
    Ok(cut_patch(text, max, left))
}

/// A patch as an agent sees it, when so many files are `left` out of it.
pub(super) fn cut_patch(text: String, max: usize, left: usize) -> String {
    if text.is_empty() {
        return "nothing differs".to_owned();
    }
    if text.len() > max || left > 0 {
        let kept = domain::cut(&text, max);
        return format!("{kept}\n[cut: {left} more files differ; give a path]");
    }
    text
}

/// The tree to compare with: of the last commit, or of one that is named.
fn base<'r>(repo: &'r Repository, against: Option<&str>) -> Result<Tree<'r>, String> {
    let failed = |error: git2::Error| error.message().to_owned();
    let Some(name) = against else {
        let head = repo.head().and_then(|head| head.peel_to_commit()).ok();
        return commit::tree_of(repo, head.as_ref()).map_err(failed);
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-' | '~' | '^');
    if name.starts_with('-') || !name.chars().all(plain) {
        return Err(format!("{name:?} names no commit; give a branch, a tag or an id"));
    }
    let found = repo.revparse_single(name).and_then(|object| object.peel_to_tree());
    found.map_err(|error| format!("{name:?} names no commit here: {}", error.message()))
}

pub(super) fn show(repo: &Repository, file: &Changed, max: usize, text: &mut String) -> Result<(), String> {
    let failed = |error: git2::Error| format!("{}: {}", log::shown(file.path.as_bytes()), error.message());
    let old = match file.old {
        Some((id, _)) => repo.find_blob(id).map(|blob| blob.content().to_vec()).map_err(failed)?,
        None => Vec::new(),
    };
    let new = file.new.as_ref().map(|new| new.bytes.as_slice()).unwrap_or_default();
    text.push_str(&format!("{}\n", line(file)));
    if let (Some((_, before)), Some(now)) = (file.old, file.new.as_ref().map(|new| new.mode))
        && before != now
    {
        text.push_str(&format!("  mode {before:o} before, {now:o} now\n"));
    }
    if is_binary(&old) || is_binary(new) {
        text.push_str(&format!("  binary, {} bytes before, {} now\n", old.len(), new.len()));
        return Ok(());
    }
    let mut options = DiffOptions::new();
    options.force_text(true);
    let patch = Patch::from_buffers(&old, None, new, None, Some(&mut options)).map_err(failed)?;
    for hunk in 0..patch.num_hunks() {
        let (head, lines) = patch.hunk(hunk).map_err(failed)?;
        text.push_str(&format!(
            "@@ -{},{} +{},{} @@\n",
            head.old_start(),
            head.old_lines(),
            head.new_start(),
            head.new_lines()
        ));
        for number in 0..lines {
            let line = patch.line_in_hunk(hunk, number).map_err(failed)?;
            match line.origin() {
                origin @ (' ' | '+' | '-') => {
                    text.push(origin);
                    push_visible(text, line.content());
                }
                _ => text.push_str("\\ no newline at the end"),
            }
            text.push('\n');
            if text.len() > max {
                return Ok(());
            }
        }
    }
    Ok(())
}

pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_BYTES).any(|byte| *byte == 0)
}

/// A line with everything that a terminal would obey spelled out.
fn push_visible(text: &mut String, content: &[u8]) {
    for c in String::from_utf8_lossy(content).trim_end_matches('\n').chars() {
        match c {
            '\t' => text.push(c),
            _ if policy::hidden_character(&c.to_string()).is_some() || c == '\n' => {
                text.extend(c.escape_default());
            }
            _ => text.push(c),
        }
    }
}
