//! Whether the repository that an agent's file names can be worked with, before anybody does.

use std::path::Path;

use git2::{ErrorClass, ErrorCode, Repository, RepositoryOpenFlags};

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
    let opened = open(&place).map_err(Trouble::Unusable)?;
    match opened.head() {
        Ok(_) if opened.head_detached().unwrap_or(false) => Err(Trouble::Detached),
        Ok(_) => Ok(()),
        Err(error) if error.code() == ErrorCode::UnbornBranch => Err(unusable("has no commit to begin from")),
        Err(error) => Err(Trouble::Unusable(format!("has no branch to begin from: {}", error.message()))),
    }
}

/// Opens the repository that is named by a path without links, if its working files are in that folder or it has none: else
/// what is merged would be written elsewhere. The error says what is wrong with it.
pub(in crate::git) fn open(place: &Path) -> Result<Repository, String> {
    let nothing: [&std::ffi::OsStr; 0] = [];
    let opened = Repository::open_ext(place, RepositoryOpenFlags::NO_SEARCH, nothing).and_then(plain);
    let repo = opened.map_err(|error| match (error.code(), error.class()) {
        (ErrorCode::NotFound, _) => "is no git repository".to_owned(),
        (ErrorCode::Owner, _) => {
            "belongs to somebody else; chown it, or add it to git's safe.directory".to_owned()
        }
        (_, ErrorClass::Repository) => {
            format!("is a git repository of a format that is not supported: {}", error.message())
        }
        _ => format!("cannot be opened: {}", error.message()),
    })?;
    let Some(files) = repo.workdir() else { return Ok(repo) };
    let files = files.canonicalize().unwrap_or_else(|_| files.to_owned());
    let is_beside = place.parent() == Some(&files);
    if files == place || (is_beside && place.file_name().is_some_and(|name| name == ".git")) {
        return Ok(repo);
    }
    // Where nothing is said, the folder beside is only a guess.
    Err(match is_beside {
        true => "is what git keeps of a repository, without its working files; name the folder of those"
            .to_owned(),
        false => format!(
            "has its working files in {} (core.worktree); name that folder, or remove the setting",
            files.display()
        ),
    })
}

/// Has a repository ignore a path, on this machine only: in `info/exclude`, which is in no commit.
pub fn exclude(repo: &Path, line: &str) -> Result<(), String> {
    let opened = open(repo)?;
    let file = opened.commondir().join("info/exclude");
    let words = |error: std::io::Error| format!("cannot change {}: {error}", file.display());
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(words(error)),
    };
    if text.lines().any(|there| there == line) {
        return Ok(());
    }
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    std::fs::create_dir_all(opened.commondir().join("info")).map_err(words)?;
    std::fs::write(&file, format!("{text}{end}{line}\n")).map_err(words)
}
