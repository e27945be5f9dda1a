//! The end of a workspace whose agent was terminated: what is nowhere else stays and is named, the rest goes. Done
//! again after a crash, it finds what is left to do.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use domain::agent;
use domain::id::AgentId;
use domain::lock::workspace::Room;
use git2::{BranchType, ErrorCode, Repository};

use super::{UNFINISHED, Worktree, aside, head_of, open, shared, taken};
use crate::git::{changes, commit};
use crate::until::Until;

/// How long it may take to see what is not committed.
const LOOK_MS_MAX: u64 = 60_000;
/// A process that was killed a moment ago may still write: how often, and after which time, it is tried again.
const TRIES: u32 = 50;
const WAIT: Duration = Duration::from_millis(20);

/// Takes away the folders of an agent that is over, as `spec` says where it works. Gives what was kept, in words.
/// Blocks.
pub fn clean_up(home: &Path, agent: &AgentId, spec: Option<&agent::Workspace>) -> Vec<String> {
    let home = match home.canonicalize() {
        Ok(home) => home,
        Err(error) => return vec![format!("{} is kept: the home: {error}", Room::Own.folder(agent))],
    };
    let spec = spec.and_then(|spec| Some((spec, spec.repo.as_deref()?)));
    [Room::Own, Room::Review].into_iter().filter_map(|room| end(&home, agent, spec, room)).collect()
}

/// What is left of one of its folders.
fn end(home: &Path, agent: &AgentId, spec: Option<(&agent::Workspace, &str)>, room: Room) -> Option<String> {
    let name = room.folder(agent);
    let path = home.join(&name);
    let tree = |repo, path, branch| Worktree { home, agent, name: &name, path, repo, branch };
    let done = match (spec, room) {
        (None, Room::Own) => own(&path),
        // Only work in a repository that is shared is looked at by others.
        (None, Room::Review) => Ok(None),
        (Some((spec, repo)), Room::Own) => {
            let branch = spec.branch.clone().unwrap_or_else(|| format!("agent/{agent}"));
            worktree(&tree(repo, path, Some(branch.clone())), &branch, spec.branch.is_none())
        }
        (Some((_, repo)), Room::Review) => checkout(&tree(repo, path, None)),
    };
    match done {
        Ok(kept) => kept,
        Err(why) => Some(format!("{name} is kept: {why}")),
    }
}

/// A repository of the agent's own: what was done in it is nowhere else.
fn own(path: &Path) -> Result<Option<String>, String> {
    if !is_folder(path)? {
        return Ok(None);
    }
    let files = fs::read_dir(path).map_err(|error| error.to_string())?.flatten();
    let files = files.filter(|entry| entry.file_name() != ".git").count();
    if files > 0 {
        return Err("it has files that are nowhere else".to_owned());
    }
    // Without a repository there are no commits either.
    if path.join(".git").exists() && open("it", path)?.head().is_ok() {
        return Err("it has commits that are nowhere else".to_owned());
    }
    remove(path)?;
    Ok(None)
}

/// A checkout of what others did: all that counts in it is in the repository.
fn checkout(tree: &Worktree<'_>) -> Result<Option<String>, String> {
    if !is_folder(&tree.path)? {
        return Ok(None);
    }
    let (_, common) = tree.source()?;
    let admin = common.join("worktrees").join(tree.id());
    let link = fs::read_to_string(tree.path.join(".git")).unwrap_or_default();
    let is_ours = link.trim_end() == format!("gitdir: {}", admin.display());
    if !is_ours && fs::read_dir(&tree.path).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err("it was not made by Synod".to_owned());
    }
    remove(&tree.path)?;
    remove(&admin)?;
    Ok(None)
}

fn worktree(tree: &Worktree<'_>, name: &str, is_own_branch: bool) -> Result<Option<String>, String> {
    let (source, common) = tree.source()?;
    let admin = common.join("worktrees").join(tree.id());
    tree.sweep(&source, &admin, &common)?;
    if is_folder(&tree.path)? {
        if let Some(what) = uncommitted(&tree.path, &admin)? {
            return Err(format!("{what} (branch {name})"));
        }
        remove(&tree.path)?;
    }
    // It has the same end as what git leaves out in the workspace itself.
    remove(&tree.home.join(aside::folder(tree.agent)))?;
    if admin.is_dir() {
        remove(&admin)?;
    }
    let _one = shared();
    let head = head_of(name);
    let mut branch = match source.find_branch(name, BranchType::Local) {
        Ok(branch) if is_own_branch && taken::by(&source, &common, &head).is_empty() => branch,
        Ok(_) => return Ok(None),
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(error.message().to_owned()),
    };
    let ahead = ahead(&source, &branch).map_err(|error| error.message().to_owned())?;
    if ahead > 0 {
        return Ok(Some(format!(
            "the branch {name} of {} is kept: {ahead} of its commits are not merged",
            tree.repo
        )));
    }
    branch.delete().map_err(|error| error.message().to_owned())?;
    Ok(None)
}

/// Commits of a branch that the branch of the repository does not have.
fn ahead(source: &Repository, branch: &git2::Branch<'_>) -> Result<usize, git2::Error> {
    let tip = branch.get().peel_to_commit()?.id();
    let base = source.head()?.peel_to_commit()?.id();
    Ok(source.graph_ahead_behind(tip, base)?.0)
}

/// What is in a worktree and in no commit.
fn uncommitted(path: &Path, admin: &Path) -> Result<Option<String>, String> {
    if !path.join(".git").exists() {
        let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        return Ok((!is_empty).then(|| "it has files that no repository knows".to_owned()));
    }
    // Its files were never all there, so the agent has not worked in it.
    if admin.join(UNFINISHED).exists() {
        return Ok(None);
    }
    let repo = open("it", path)?;
    let head = commit::head(&repo).map_err(|why| why.to_string())?;
    let base = commit::tree_of(&repo, head.commit.as_ref()).map_err(|error| error.message().to_owned())?;
    let found = changes::find(&repo, path, &base, &[], &Until::ms(LOOK_MS_MAX))?;
    let is_clean = found.files.is_empty() && found.notes.is_empty();
    Ok((!is_clean).then(|| format!("{} of its files are not committed", found.files.len())))
}

fn is_folder(path: &Path) -> Result<bool, String> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(_) => Err("it is a link or a file".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}

fn remove(path: &Path) -> Result<(), String> {
    let mut tries = 0;
    loop {
        match fs::remove_dir_all(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if tries >= TRIES => return Err(error.to_string()),
            Err(_) => std::thread::sleep(WAIT),
        }
        tries += 1;
    }
}
