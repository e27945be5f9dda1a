//! Who has a branch: the checkouts of a repository that stand on it, or will again when what is under way there ends. Nobody
//! else moves it.

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
    pub(in crate::git) how: How,
}

/// How a checkout has a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) enum How {
    /// Its files are those of the branch.
    CheckedOut,
    /// It stands on no branch while this one is made anew.
    Rebased,
    /// It stands on no branch until a commit is found.
    Bisected,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.display();
        match self.how {
            How::CheckedOut => write!(f, "is checked out in {at}"),
            How::Rebased => write!(f, "is being rebased in {at}; finish or abort that first"),
            How::Bisected => write!(f, "is being bisected in {at}; `git bisect reset` there first"),
        }
    }
}

/// Who has the branch `head`, by what git keeps of each checkout in `common`.
pub(in crate::git) fn by(source: &Repository, common: &Path, head: &str) -> Vec<Taken> {
    let first = first(source, common).map(|at| (common.to_owned(), at));
    let others = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let others = others.filter_map(|entry| Some((entry.path(), linked(&entry.path())?)));
    let taken = |(git_dir, at): (PathBuf, PathBuf)| Some(Taken { how: how(&git_dir, head)?, git_dir, at });
    first.into_iter().chain(others).filter_map(taken).collect()
}

/// How a checkout has the branch, if it has. A rebase ends with moving it, and with it others that it was told of.
fn how(git_dir: &Path, head: &str) -> Option<How> {
    let says = |file: &str, word: &str| {
        let text = fs::read_to_string(git_dir.join(file)).unwrap_or_default();
        text.lines().any(|line| line.trim_end() == word)
    };
    let rebases = ["rebase-merge/head-name", "rebase-apply/head-name", "rebase-merge/update-refs"];
    let branch = head.strip_prefix("refs/heads/").unwrap_or(head);
    if rebases.iter().any(|file| says(file, head)) {
        return Some(How::Rebased);
    }
    if says("BISECT_START", branch) {
        return Some(How::Bisected);
    }
    says("HEAD", &format!("ref: {head}")).then_some(How::CheckedOut)
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
fn linked(git_dir: &Path) -> Option<PathBuf> {
    let link = fs::read_to_string(git_dir.join("gitdir")).ok()?;
    // It may be said from where it is written.
    let link = git_dir.join(link.trim_end());
    let at = link.parent().filter(|_| link.exists())?;
    Some(at.canonicalize().unwrap_or_else(|_| at.to_owned()))
}
