//! Making a repository: for a new home, or for an agent's workspace. No template of the machine is used.

use std::path::Path;

use git2::{ErrorCode, Repository, RepositoryInitOptions};

use super::commit::{self, Change, Words};
use super::read::{self, Found};
use super::reason::Who;
use super::{HomeRepo, Unkept, history, plain};

/// The branch that a new repository begins with.
const BRANCH: &str = "main";

/// What became of a new home's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It has its own repository now, with a first commit.
    Made,
    /// It is inside a repository already, which keeps it; nothing was committed.
    Inside,
}

/// Makes a home a git repository and commits `files`, unless it is inside one.
pub fn begin(home: &Path, files: &[String]) -> Result<Begun, Unkept> {
    match HomeRepo::open(home) {
        Ok(_) => return Ok(Begun::Inside),
        Err(Unkept::NoRepository | Unkept::Ignored { .. }) => {}
        Err(other) => return Err(other),
    }
    make(home).map_err(|error| Unkept::Waits(format!("git init failed: {}", error.message())))?;
    let kept = HomeRepo::open(home)?;
    // An example repository beside the home keeps its own history.
    let is_own = |path: &str| read::is_kept(path) && !kept.repo.is_path_ignored(path).unwrap_or(false);
    let change = |path: &String| match read::file(home, path) {
        Found::File(new) if is_own(path) => Some(Change { path: path.clone(), new: Some(new) }),
        Found::File(_) | Found::Nothing | Found::Other => None,
    };
    let changes: Vec<Change> = files.iter().filter_map(change).collect();
    let at = history::now();
    let words = Words {
        author: history::signature(&kept, &Who::Person(None), at)?,
        committer: history::signature(&kept, &Who::Synod, at)?,
        message: "home: begin\n".to_owned(),
    };
    commit::add(&kept.repo, &changes, &words)?;
    Ok(Begun::Made)
}

/// Makes a folder a repository of its own and commits `files`, whatever it is inside of.
pub fn example(folder: &Path, files: &[String]) -> Result<(), Unkept> {
    let failed = |error: git2::Error| Unkept::Waits(format!("git init failed: {}", error.message()));
    make(folder).map_err(failed)?;
    let kept = HomeRepo::open(folder)?;
    let change = |path: &String| match read::file(folder, path) {
        Found::File(new) => Some(Change { path: path.clone(), new: Some(new) }),
        Found::Nothing | Found::Other => None,
    };
    let changes: Vec<Change> = files.iter().filter_map(change).collect();
    let at = history::now();
    let words = Words {
        author: history::signature(&kept, &Who::Person(None), at)?,
        committer: history::signature(&kept, &Who::Synod, at)?,
        message: "begin\n".to_owned(),
    };
    commit::add(&kept.repo, &changes, &words).map(|_| ())
}

/// Makes an empty repository in a folder that is none.
pub(super) fn make(folder: &Path) -> Result<Repository, git2::Error> {
    let mut options = RepositoryInitOptions::new();
    options.external_template(false).no_reinit(true).initial_head(BRANCH);
    match Repository::init_opts(folder, &options) {
        Ok(repo) => plain(repo),
        Err(error) if error.code() == ErrorCode::Exists => plain(Repository::open(folder)?),
        Err(error) => Err(error),
    }
}
