//! Git, by libgit2 alone. No program is run and no setting of a repository has a say, so nothing that a repository
//! brings along (hooks, filters, drivers, helpers, aliases) ever runs. Working files are read and written by
//! Synod itself, as plain bytes.

mod changes;
mod clear;
mod commit;
mod conflict;
pub mod history;
pub mod init;
pub mod log;
mod mark;
pub(crate) mod merge;
mod message;
mod patch;
mod read;
pub(crate) mod reason;
pub(crate) mod review;
mod target;
pub(crate) mod tools;
pub mod undo;
pub(crate) mod update;
pub(crate) mod work;
mod working;
pub mod workspace;

use std::ffi::OsStr;
use std::path::Path;

use git2::{Config, ErrorCode, Repository, RepositoryOpenFlags, RepositoryState};

/// The domain of mail addresses that nobody has.
const NOWHERE: &str = "synod.invalid";

/// Why the history of a home cannot be read or kept right now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unkept {
    /// The home is in no repository.
    #[error("the home is in no git repository; `git init` in it begins one")]
    NoRepository,
    /// A bigger repository does not want it.
    #[error("the repository {at} ignores this home; `git init` in the home gives it its own history")]
    Ignored {
        /// The bigger repository.
        at: String,
    },
    /// Somebody else changes the repository this moment.
    #[error("git's index is locked; if no git runs, remove .git/index.lock")]
    Locked,
    /// A person must do something first.
    #[error("{0}")]
    Waits(String),
}

/// The repository that keeps a home.
pub(crate) struct HomeRepo {
    pub(crate) repo: Repository,
    /// Where the home is in it: empty, or with a `/` at the end.
    pub(crate) prefix: String,
    /// The owner's name and address, from git's settings.
    pub(crate) owner: Option<(String, String)>,
}

impl HomeRepo {
    /// Finds the repository of a home: its own, or the nearest one above.
    pub(crate) fn open(home: &Path) -> Result<Self, Unkept> {
        let nothing: [&OsStr; 0] = [];
        let repo = match Repository::open_ext(home, RepositoryOpenFlags::empty(), nothing) {
            Ok(repo) => repo,
            Err(error) if error.code() == ErrorCode::NotFound => return Err(Unkept::NoRepository),
            Err(error) => return Err(unusable(&error)),
        };
        let owner = owner_of(&repo);
        let repo = plain(repo).map_err(|error| unusable(&error))?;
        let Some(top) = repo.workdir().map(Path::to_path_buf) else {
            return Err(Unkept::Waits(
                "the repository of the home is bare: it has no working files".to_owned(),
            ));
        };
        let real = |path: &Path| path.canonicalize().map_err(|error| Unkept::Waits(error.to_string()));
        let (home, top) = (real(home)?, real(&top)?);
        let Ok(inside) = home.strip_prefix(&top) else {
            let at = top.display();
            return Err(Unkept::Waits(format!(
                "the repository of the home has its working files in {at} (core.worktree)"
            )));
        };
        let Some(inside) = inside.to_str() else {
            return Err(Unkept::Waits("the home's path is no UTF-8".to_owned()));
        };
        let prefix = if inside.is_empty() { String::new() } else { format!("{inside}/") };
        if !inside.is_empty() && repo.is_path_ignored(inside).unwrap_or(false) {
            return Err(Unkept::Ignored { at: top.display().to_string() });
        }
        Ok(Self { repo, prefix, owner })
    }

    /// Whether a commit may be added now.
    pub(crate) fn ready(&self) -> Result<(), Unkept> {
        let busy = match self.repo.state() {
            RepositoryState::Clean => return Ok(()),
            RepositoryState::Merge => "merge",
            RepositoryState::Revert | RepositoryState::RevertSequence => "revert",
            RepositoryState::CherryPick | RepositoryState::CherryPickSequence => "cherry-pick",
            RepositoryState::Bisect => "bisect",
            RepositoryState::Rebase
            | RepositoryState::RebaseInteractive
            | RepositoryState::RebaseMerge
            | RepositoryState::ApplyMailbox
            | RepositoryState::ApplyMailboxOrRebase => "rebase",
        };
        Err(Unkept::Waits(format!("a {busy} is under way in the home's repository; finish or abort it")))
    }
}

/// The repository with no settings at all: neither its own nor the machine's have a say in what follows, but for what one
/// says of the disk that it is on.
pub(crate) fn plain(repo: Repository) -> Result<Repository, git2::Error> {
    repo.set_config(&Config::new()?)?;
    Ok(repo)
}

/// Whether the files of a repository tell what may be run: on some disks they cannot, and git notes that when it makes one.
fn tells_runnable(repo: &Repository) -> bool {
    let config = Config::open(&repo.commondir().join("config"));
    config.and_then(|config| config.get_bool("core.filemode")).unwrap_or(true)
}

fn unusable(error: &git2::Error) -> Unkept {
    let what = error.message();
    Unkept::Waits(match error.code() {
        ErrorCode::Owner => format!(
            "the home's repository belongs to somebody else: {what}; chown it, or add it to git's safe.directory"
        ),
        _ => format!("the home's repository cannot be used: {what}"),
    })
}

fn owner_of(repo: &Repository) -> Option<(String, String)> {
    let config = repo.config().ok()?.snapshot().ok()?;
    let name = config.get_string("user.name").ok()?;
    let email = config.get_string("user.email").ok()?;
    Some((message::name(&name)?, message::address(&email)?))
}
