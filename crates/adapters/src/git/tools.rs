//! The tools `git_commit` and `git_diff`: they work in the agent's workspace and nowhere else.

use domain::id::{AgentId, Seq};
use domain::tool::Part;
use git2::{Repository, Tree};

use super::changes::Changed;
use super::commit::{self, Change};
use super::mark::{find_mark, mark, signed};
use super::patch::{NAMES_MAX, cut_patch, line, listed, show};
use super::workspace::{self, Workspace};
use super::{changes, message, update};
use crate::digest::digest;
use crate::until::Until;

/// So many changed files are told one by one; the others are one.
const PARTS_MAX: usize = 100;

/// What a commit would change, for whoever is asked about it: a part for each file, and a patch of at most `bytes_max`
/// bytes.
pub(crate) fn look(
    workspace: &Workspace,
    paths: &[String],
    bytes_max: usize,
    until: &Until,
) -> Result<(Vec<Part>, String), String> {
    let repo = workspace::repository(workspace)?;
    let found = changes::find(&repo, &workspace.path, &base(&repo, None)?, &clean(paths)?, until)?;
    let mut text = String::new();
    let mut left = found.files.len();
    for file in &found.files {
        if text.len() >= bytes_max || until.is_over() {
            break;
        }
        left -= 1;
        show(&repo, file, bytes_max, &mut text)?;
    }
    Ok((parts(&found.files), cut_patch(text, bytes_max, left)))
}

/// What a commit changes: the same change of the same file has the same digest.
fn parts(files: &[Changed]) -> Vec<Part> {
    let change = |file: &Changed| {
        let new = file.new.as_ref().map(|new| format!("{:o} {}", new.mode, digest(&new.bytes)));
        digest(format!("{:?} {new:?}", file.old).as_bytes())
    };
    let mut parts: Vec<Part> = files
        .iter()
        .take(PARTS_MAX)
        .map(|file| Part { what: format!("file {}", file.path), digest: change(file) })
        .collect();
    if files.len() > PARTS_MAX {
        let rest: String =
            files[PARTS_MAX..].iter().map(|file| format!("{}\0{}\0", file.path, change(file))).collect();
        let what = format!("{} more files", files.len() - PARTS_MAX);
        parts.push(Part { what, digest: digest(rest.as_bytes()) });
    }
    parts
}

/// Commits what changed in a workspace, once for each effect, unless `check` has something against what it found.
pub(crate) fn commit(
    workspace: &Workspace,
    agent: &AgentId,
    effect: Seq,
    (text, paths): (&str, &[String]),
    check: impl Fn(Vec<Part>) -> Result<(), String>,
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
    let base = commit::tree_of(&repo, head.commit.as_ref()).map_err(|error| error.message().to_owned())?;
    if let Some(merging) = merging {
        check(parts(&changes::find(&repo, &workspace.path, &base, &paths, until)?.files))?;
        return merging.finish(&words, &paths, until);
    }
    let found = changes::find(&repo, &workspace.path, &base, &paths, until)?;
    check_named(workspace, &paths, &found.files)?;
    // On what is committed below, so that nothing can change in between.
    check(parts(&found.files))?;
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

/// Refuses a path that names nothing: no file is there, and the last commit has none there.
fn check_named(workspace: &Workspace, paths: &[String], found: &[Changed]) -> Result<(), String> {
    let is_in = |file: &Changed, path: &str| file.path == path || file.path.starts_with(&format!("{path}/"));
    let is_named = |path: &String| {
        workspace.path.join(path).symlink_metadata().is_ok() || found.iter().any(|file| is_in(file, path))
    };
    match paths.iter().find(|path| !is_named(path)) {
        Some(path) => {
            Err(format!("{path} does not exist in your workspace, and the last commit does not have it"))
        }
        None => Ok(()),
    }
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

/// What differs between the files of a workspace and a commit, as a patch of at most `bytes_max` bytes, with the files that
/// it shows.
pub(crate) fn diff(
    workspace: &Workspace,
    path: Option<&str>,
    against: Option<&str>,
    bytes_max: u64,
    until: &Until,
) -> Result<(String, Vec<String>), String> {
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
    let shown = found.files.len() - left;
    let files = found.files.into_iter().take(shown).map(|file| file.path).collect();
    Ok((cut_patch(text, max, left), files))
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
