//! Who has a branch: the checkouts of a repository that stand on it. Nobody else moves it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use git2::{Repository, RepositoryOpenFlags};

/// A checkout that has a branch.
pub(in crate::git) struct Taken {
    /// What git keeps of the checkout alone.
    pub(in crate::git) git_dir: PathBuf,
    /// Its folder.
    pub(in crate::git) at: PathBuf,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is checked out in {}", self.at.display())
    }
}

/// Who has the branch `head`, by what git keeps of each checkout in `common`.
pub(in crate::git) fn by(source: &Repository, common: &Path, head: &str) -> Vec<Taken> {
    let first = first(source, common).map(|at| Taken { git_dir: common.to_owned(), at });
    let others = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let others = others.filter_map(|entry| linked(entry.path()));
    first.into_iter().chain(others).filter(|one| has(&one.git_dir, head)).collect()
}

fn has(git_dir: &Path, head: &str) -> bool {
    fs::read_to_string(git_dir.join("HEAD")).is_ok_and(|text| text.trim_end() == format!("ref: {head}"))
}

/// The folder of the repository itself, unless it has none.
fn first(source: &Repository, common: &Path) -> Option<PathBuf> {
    if !source.is_worktree() {
        return source.workdir().map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
    }
    let nothing: [&std::ffi::OsStr; 0] = [];
    let is_bare = Repository::open_ext(common, RepositoryOpenFlags::NO_SEARCH, nothing)
        .is_ok_and(|repo| repo.is_bare());
    // Git does not say where the files are of one that is kept apart from them.
    let named = common.parent().filter(|_| common.file_name().is_some_and(|name| name == ".git"));
    (!is_bare).then(|| named.unwrap_or(common).to_owned())
}

/// Another folder of it. Of one that is gone, the branch is free.
fn linked(git_dir: PathBuf) -> Option<Taken> {
    let link = fs::read_to_string(git_dir.join("gitdir")).ok()?;
    // It may be said from where it is written.
    let link = git_dir.join(link.trim_end());
    let at = link.parent().filter(|_| link.exists())?;
    let at = at.canonicalize().unwrap_or_else(|_| at.to_owned());
    Some(Taken { git_dir, at })
}
