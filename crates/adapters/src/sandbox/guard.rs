//! Guards of a workspace. Credentials in it are covered. Where it may be written, git runs what a repository's
//! settings and hooks say, so a command gets none of them to write, nor a place to make them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::inside::Inside;
use super::mount::Mount;

/// Parts of a repository that can make git run something.
const TRAPS: [&str; 7] = ["config", "config.worktree", "hooks", "info", "commondir", "modules", "worktrees"];
/// Those of them that are folders, and are made if they are not there: what exists can be guarded.
const TRAP_FOLDERS: [&str; 2] = ["hooks", "info"];
/// Those that no one needs in a repository of its own: what a command made of them is taken away when it ended.
const TRAPS_MADE: [&str; 2] = ["commondir", "config.worktree"];

/// Room in the empty folder that covers one; nothing is ever written there.
const COVER_BYTES: u64 = 64 << 10;

/// What guards one workspace while a command runs in it.
#[derive(Debug, Default)]
pub struct Guards {
    mounts: Vec<Mount>,
    /// Files that were not there before.
    absent: Vec<PathBuf>,
}

impl Guards {
    /// Finds what to guard in a workspace.
    pub(super) fn make(workspace: &Path, writable: bool) -> Result<Self, String> {
        let git = workspace.join(".git");
        let kind = match fs::symlink_metadata(&git) {
            Ok(stat) => Some(stat.file_type()),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(format!("{} cannot be looked at: {e}", git.display())),
        };
        match kind {
            Some(kind) if kind.is_file() => Self::of_worktree(&git),
            _ if !writable => Ok(Self::default()),
            None => {
                // An empty folder is no repository to git, and a folder can be covered.
                fs::create_dir(&git).map_err(|e| format!("{} cannot be made: {e}", git.display()))?;
                Ok(Self { mounts: vec![read_only(git)], absent: vec![] })
            }
            Some(kind) if kind.is_dir() => Self::of_repository(git),
            Some(_) => Err(format!("{} is neither a file nor a folder; remove it first", git.display())),
        }
    }

    /// A worktree: its file stays, and the repository it belongs to can be read.
    fn of_worktree(git: &Path) -> Result<Self, String> {
        let mut mounts = vec![read_only(git.to_owned())];
        mounts.extend(repository_of(git).map(|(_, common)| read_only(common)));
        Ok(Self { mounts, absent: vec![] })
    }

    fn of_repository(git: PathBuf) -> Result<Self, String> {
        if !git.join("config").is_file() {
            return Ok(Self { mounts: vec![read_only(git)], absent: vec![] });
        }
        for name in TRAP_FOLDERS {
            match fs::create_dir(git.join(name)) {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(format!("{}/{name} cannot be made: {e}", git.display())),
            }
        }
        // A mount point of its own, so that it cannot be moved away and made anew.
        let mut mounts = vec![Mount::Writable { at: git.clone(), from: git.clone() }];
        for trap in TRAPS.map(|name| git.join(name)) {
            match fs::symlink_metadata(&trap) {
                Ok(stat) if stat.is_symlink() => {
                    return Err(format!("{} is a link; put the real thing in its place", trap.display()));
                }
                Ok(_) => mounts.push(read_only(trap)),
                Err(_) => {}
            }
        }
        let absent = TRAPS_MADE.map(|name| git.join(name)).into_iter().filter(|made| !made.exists());
        Ok(Self { absent: absent.collect(), mounts })
    }

    /// Guards the repositories that lie deeper in the workspace, too.
    pub(super) fn add_repositories(&mut self, repositories: &[PathBuf]) -> Result<(), String> {
        for git in repositories {
            let kind = fs::symlink_metadata(git).map(|stat| stat.file_type());
            let mut more = match kind {
                Ok(kind) if kind.is_dir() => Self::of_repository(git.clone())?,
                // Where it leads to is not this command's.
                Ok(kind) if kind.is_file() => Self { mounts: vec![read_only(git.clone())], absent: vec![] },
                Ok(_) => {
                    return Err(format!("{} is neither a file nor a folder; remove it first", git.display()));
                }
                Err(e) => return Err(format!("{} cannot be looked at: {e}", git.display())),
            };
            self.mounts.append(&mut more.mounts);
            self.absent.append(&mut more.absent);
        }
        Ok(())
    }

    /// Covers what is closed.
    pub(super) fn cover(&mut self, inside: Inside) {
        let Inside { files, folders, repositories: _ } = inside;
        self.mounts.extend(files.into_iter().map(|at| Mount::Covered { at }));
        for at in folders {
            self.mounts.push(Mount::Memory { at: at.clone(), bytes: COVER_BYTES });
            self.mounts.push(Mount::Sealed { at });
        }
    }

    pub(super) fn mounts(&self) -> Vec<Mount> {
        self.mounts.clone()
    }

    /// Takes away what should not be there, when everything has ended.
    pub(super) fn restore(&mut self) {
        for made in self.absent.drain(..) {
            // Mostly there is nothing.
            let _ = fs::remove_file(&made);
        }
    }
}

impl Drop for Guards {
    fn drop(&mut self) {
        self.restore();
    }
}

fn read_only(at: PathBuf) -> Mount {
    Mount::ReadOnly { from: at.clone(), at }
}

/// The folder of a worktree in its repository and that of the repository itself, as the worktree's `.git` file
/// names them, if the repository knows this worktree: a file that only claims so opens nothing.
pub(crate) fn repository_of(git: &Path) -> Option<(PathBuf, PathBuf)> {
    let text = fs::read_to_string(git).ok()?;
    let own = git.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    let own = own.canonicalize().ok()?;
    let back = fs::read_to_string(own.join("gitdir")).ok()?;
    let is_known = own.join(back.trim()).canonicalize().ok()? == git.canonicalize().ok()?;
    let common = own.join(fs::read_to_string(own.join("commondir")).ok()?.trim()).canonicalize().ok()?;
    (is_known && own.starts_with(&common)).then_some((own, common))
}
