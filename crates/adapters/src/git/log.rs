//! Reading the history of a home.

use std::path::Path;

use domain::layout;
use git2::{Commit, Delta, DiffOptions, Oid, Repository, Sort};

use super::history::{AGENT, TASK};
use super::{HomeRepo, NOWHERE, Unkept, message};

/// So many commits are looked at for those that were asked for.
const COMMITS_MAX: usize = 100_000;
/// So many files of a commit are named.
const FILES_MAX: usize = 200;

/// Which commits.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Of this agent.
    pub agent: Option<String>,
    /// About this task.
    pub task: Option<String>,
    /// That touch this file or folder, relative to the home.
    pub path: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its full name.
    pub id: String,
    /// When, in seconds since 1970.
    pub at: i64,
    /// Who did it.
    pub author: String,
    /// Whether Synod committed it.
    pub by_synod: bool,
    /// The first line.
    pub subject: String,
    /// The other lines.
    pub more: Vec<String>,
    /// Agents that it names.
    pub agents: Vec<String>,
    /// Tasks that it names.
    pub tasks: Vec<String>,
    /// Files, relative to the home, with `added`, `changed` or `removed`.
    pub files: Vec<(String, &'static str)>,
}

/// The commits of a home, newest first. All words are harmless on a terminal.
pub fn read(home: &Path, filter: &Filter) -> Result<Vec<Entry>, Unkept> {
    let kept = HomeRepo::open(home)?;
    let failed =
        |error: git2::Error| Unkept::Waits(format!("the history cannot be read: {}", error.message()));
    let Ok(head) = kept.repo.head() else { return Ok(Vec::new()) };
    let mut walk = kept.repo.revwalk().map_err(failed)?;
    walk.set_sorting(Sort::TOPOLOGICAL).map_err(failed)?;
    if let Some(id) = head.target() {
        walk.push(id).map_err(failed)?;
    }
    let mut found = Vec::new();
    for id in walk.take(COMMITS_MAX) {
        let commit = kept.repo.find_commit(id.map_err(failed)?).map_err(failed)?;
        if let Some(entry) = entry_of(&kept, &commit, filter).map_err(failed)? {
            found.push(entry);
        }
        if found.len() >= filter.limit {
            break;
        }
    }
    Ok(found)
}

fn entry_of(kept: &HomeRepo, commit: &Commit<'_>, filter: &Filter) -> Result<Option<Entry>, git2::Error> {
    let text = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let address = String::from_utf8_lossy(commit.author().email_bytes()).into_owned();
    let named = |key: &str| message::trailers(&text, key).into_iter().map(message::line).collect::<Vec<_>>();
    let (agents, tasks) = (named(AGENT), named(TASK));
    let is_by = |agent: &String| agents.contains(agent) || address == message::address_of(agent);
    if !filter.agent.as_ref().is_none_or(is_by)
        || !filter.task.as_ref().is_none_or(|task| tasks.contains(task))
    {
        return Ok(None);
    }
    let files =
        files_of(&kept.repo, commit, &format!("{}{}", kept.prefix, filter.path.as_deref().unwrap_or("")))?;
    // A commit of a bigger repository that has nothing to do with the home, or with the path that was asked for.
    if files.is_empty() && (filter.path.is_some() || !kept.prefix.is_empty()) {
        return Ok(None);
    }
    let inside = |(path, how): (String, &'static str)| {
        (path.strip_prefix(&kept.prefix).map(str::to_owned).unwrap_or(path), how)
    };
    let mut lines = text.lines();
    let subject = message::line(lines.next().unwrap_or_default());
    let more = lines.map(message::line).filter(|line| !line.is_empty()).collect();
    let author = String::from_utf8_lossy(commit.author().name_bytes()).into_owned();
    Ok(Some(Entry {
        id: commit.id().to_string(),
        at: commit.author().when().seconds(),
        author: message::line(&author),
        by_synod: commit.committer().email_bytes() == format!("synod@{NOWHERE}").as_bytes(),
        subject,
        more,
        agents,
        tasks,
        files: files.into_iter().map(inside).collect(),
    }))
}

/// Files beneath `prefix` that a commit changed, against its first parent.
pub(super) fn files_of(
    repo: &Repository,
    commit: &Commit<'_>,
    prefix: &str,
) -> Result<Vec<(String, &'static str)>, git2::Error> {
    let before = commit.parent(0).ok().map(|parent| parent.tree()).transpose()?;
    let mut options = DiffOptions::new();
    options.disable_pathspec_match(true).ignore_submodules(true);
    let prefix = prefix.trim_end_matches('/');
    if !prefix.is_empty() {
        options.pathspec(prefix);
    }
    let diff = repo.diff_tree_to_tree(before.as_ref(), Some(&commit.tree()?), Some(&mut options))?;
    let name = |delta: git2::DiffDelta<'_>| {
        let how = match delta.status() {
            Delta::Added => "added",
            Delta::Deleted => "removed",
            _ => "changed",
        };
        let path =
            delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes()).unwrap_or_default();
        (message::shown(path), how)
    };
    Ok(diff.deltas().take(FILES_MAX).map(name).collect())
}

/// The commit that a person names: `last`, a full or shortened id.
pub(super) fn find<'r>(kept: &'r HomeRepo, name: &str) -> Result<Commit<'r>, String> {
    if name == "last" {
        let head = kept.repo.head().and_then(|head| head.peel_to_commit());
        let mut at = head.map_err(|_| "there is no commit yet".to_owned())?;
        for _ in 0..COMMITS_MAX {
            let touches = files_of(&kept.repo, &at, &kept.prefix).map_err(|e| e.message().to_owned())?;
            if touches.iter().any(|(path, _)| !layout::is_inside(path, layout::LOG)) {
                return Ok(at);
            }
            at = at.parent(0).map_err(|_| "no commit has changed the home".to_owned())?;
        }
        return Err("no commit has changed the home".to_owned());
    }
    let is_id = name.len() >= 4 && name.len() <= 40 && name.chars().all(|c| c.is_ascii_hexdigit());
    if !is_id {
        return Err(format!("`{name}` is no commit: give `last` or an id of `synod history`"));
    }
    let found = match name.len() {
        40 => Oid::from_str(name).and_then(|id| kept.repo.find_commit(id)),
        _ => kept.repo.find_commit_by_prefix(name),
    };
    found.map_err(|error| format!("there is no one commit `{name}`: {}", error.message()))
}
