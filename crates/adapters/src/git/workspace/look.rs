//! Whether the repository that an agent's file names can be worked with, before anybody does.

use std::path::Path;

use git2::{ErrorCode, Repository, RepositoryOpenFlags};

use super::super::plain;

/// What is wrong with a repository that a file of an agent names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing can be done in it.
    Unusable(String),
    /// Work can begin, but nothing can be merged.
    Detached,
}

/// Looks at the repository at a path relative to the home.
pub fn look(home: &Path, repo: &str) -> Result<(), Trouble> {
    let unusable = |why: &str| Trouble::Unusable(why.to_owned());
    let place = home.join(repo).canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => unusable("does not exist"),
        _ => Trouble::Unusable(format!("cannot be opened: {error}")),
    })?;
    let nothing: [&std::ffi::OsStr; 0] = [];
    let opened = Repository::open_ext(&place, RepositoryOpenFlags::NO_SEARCH, nothing).and_then(plain);
    let opened = opened.map_err(|_| unusable("is no git repository"))?;
    match opened.head() {
        Ok(_) if opened.head_detached().unwrap_or(false) => Err(Trouble::Detached),
        Ok(_) => Ok(()),
        Err(error) if error.code() == ErrorCode::UnbornBranch => Err(unusable("has no commit to begin from")),
        Err(error) => Err(Trouble::Unusable(format!("has no branch to begin from: {}", error.message()))),
    }
}
