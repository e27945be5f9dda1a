//! The checkpoints that the home's git history has: whoever rewrites the log must rewrite that too, and every clone.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{ObjectType, Repository, Sort};

use super::CHECKPOINTS;

/// So many commits are looked at, the newest first.
const COMMITS_MAX: usize = 100_000;
/// So many bytes of different checkpoints.
const BYTES_MAX: usize = 256 << 20;

/// What git remembers.
#[derive(Debug, Default)]
pub struct History {
    /// Commits that were looked at.
    pub commits: usize,
    /// Each version of the checkpoints that is not the beginning of another: which commit has it, and its text.
    pub texts: Vec<(String, String)>,
    /// What was left out.
    pub warning: Option<String>,
}

/// Reads the history of the home; `None` if it has none. Objects are only read: nothing of the repository runs.
pub fn checkpoints(home: &Path) -> Result<Option<History>, String> {
    // Only a repository that the home is the root of: one further up is somebody else's.
    if !home.join(".git").exists() {
        return Ok(None);
    }
    let failed = |error: git2::Error| error.message().to_owned();
    let repository = Repository::open(home).map_err(failed)?;
    let mut history = History::default();
    let mut walk = repository.revwalk().map_err(failed)?;
    walk.set_sorting(Sort::TOPOLOGICAL).map_err(failed)?;
    // Every branch and tag counts: a branch that was put back still remembers.
    walk.push_glob("refs/*").map_err(failed)?;
    if repository.head().is_ok() {
        walk.push_head().map_err(failed)?;
    }
    let (mut seen, mut bytes) = (BTreeSet::new(), 0);
    for id in walk {
        if history.commits >= COMMITS_MAX || bytes >= BYTES_MAX {
            history.warning = Some(format!("only the newest {} commits were looked at", history.commits));
            break;
        }
        let id = id.map_err(failed)?;
        history.commits += 1;
        let tree = repository.find_commit(id).and_then(|commit| commit.tree()).map_err(failed)?;
        let Ok(entry) = tree.get_path(Path::new(CHECKPOINTS)) else { continue };
        if entry.kind() != Some(ObjectType::Blob) || !seen.insert(entry.id()) {
            continue;
        }
        let blob = repository.find_blob(entry.id()).map_err(failed)?;
        let text = String::from_utf8_lossy(blob.content()).into_owned();
        // The file only grows: an older version is mostly the beginning of a newer one.
        if history.texts.iter().any(|(_, newer)| newer.starts_with(&text)) {
            continue;
        }
        bytes += text.len();
        let name = id.to_string();
        history.texts.push((format!("{CHECKPOINTS} in commit {}", &name[..12]), text));
    }
    Ok(Some(history))
}
