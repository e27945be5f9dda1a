//! What git leaves out of the commits of one piece of work, while other work stands in the worktree which would commit it:
//! it lies in `workspaces/<agent>.ignored/<work>/`, out of reach of agents, until that work goes on. Nothing is copied, so it
//! does not matter how much it is. What the next work leaves out as well stays where it is.

use std::fs;
use std::path::PathBuf;

use domain::id::AgentId;
use domain::lock::workspace::Room;
use git2::{Repository, Tree};

use super::{Workspace, make_folders};
use crate::git::commit;
use crate::git::working::Working;

/// The list of what the work before left out, in what git keeps of the worktree: with the rules of the next one it cannot be
/// told any more.
pub(in crate::git) const LIST: &str = "synod-ignored";
/// So often may the same have been put aside for one piece of work.
const TIMES_MAX: usize = 100;
/// The deepest folder.
const DEPTH_MAX: usize = 128;

/// Where an agent's files lie that are put aside, relative to the home.
pub(in crate::git) fn folder(agent: &AgentId) -> String {
    format!("{}.ignored", Room::Own.folder(agent))
}

/// Notes what the work that stands there leaves out; folders end with a slash.
pub(in crate::git) fn note(workspace: &Workspace, ignored: &[String]) -> Result<(), String> {
    let (place, new) = (workspace.git_dir.join(LIST), workspace.git_dir.join(format!("{LIST}.synod")));
    let text: String = ignored.iter().flat_map(|path| [path.as_str(), "\0"]).collect();
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &place));
    written.map_err(|error| format!("{LIST} cannot be written: {error}"))
}

/// What was noted.
pub(in crate::git) fn noted(workspace: &Workspace) -> Result<Vec<String>, String> {
    match fs::read_to_string(workspace.git_dir.join(LIST)) {
        Ok(text) => Ok(text.split_terminator('\0').map(str::to_owned).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("{LIST} cannot be read: {error}")),
    }
}

/// Whether a commit has something at a path, beneath it, or in the place of a folder above it.
pub(in crate::git) fn is_in(tree: &Tree<'_>, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
    tree.get_path(path.as_ref()).is_ok() || above.any(|folder| commit::entry(tree, folder).is_some())
}

/// The files of one piece of work that are put aside.
pub(in crate::git) struct Aside<'a> {
    pub(in crate::git) workspace: &'a Workspace,
    pub(in crate::git) repo: &'a Repository,
    pub(in crate::git) agent: &'a AgentId,
}

impl<'a> Aside<'a> {
    /// The home, if `work` is a name and leads nowhere.
    fn home(&self, work: &str) -> Result<PathBuf, String> {
        if work.starts_with('.') || work.contains('/') {
            return Err(format!("{work:?} is no work's name"));
        }
        let home = self.workspace.path.parent().and_then(|all| all.parent());
        Ok(home.ok_or("the workspace is in no home")?.to_owned())
    }

    /// Puts aside what `work` leaves out at these paths.
    pub(in crate::git) fn put(&self, work: &str, paths: &[&String]) -> Result<(), String> {
        if paths.is_empty() {
            return Ok(());
        }
        let (home, name) = (self.home(work)?, folder(self.agent));
        make_folders(&home, &name)?;
        let from = Working::open(self.repo, &self.workspace.path)?;
        let to = Working::open(self.repo, &home.join(&name))?;
        for path in paths.iter().map(|path| path.trim_end_matches('/')) {
            let places = (0..TIMES_MAX).map(|time| match time {
                0 => format!("{work}/{path}"),
                // What was put aside before is not written over.
                _ => format!("{work}.{time}/{path}"),
            });
            let failed = |error| format!("{path}, which git leaves out, cannot be moved to {name}: {error}");
            let mut is_done = false;
            for place in places {
                is_done = from.hand_over(path, &to, &place).map_err(failed)?;
                if is_done {
                    break;
                }
            }
            if !is_done {
                return Err(format!("{path} is in {name} {TIMES_MAX} times; remove it there"));
            }
        }
        Ok(())
    }

    /// Gives `work` back what was put aside and git still leaves out. What is there meanwhile stays.
    pub(in crate::git) fn give_back(&self, work: &str) -> Result<(), String> {
        let aside = self.home(work)?.join(folder(self.agent));
        if !fs::symlink_metadata(aside.join(work)).is_ok_and(|found| found.is_dir()) {
            return Ok(());
        }
        let from = Working::open(self.repo, &aside.join(work))?;
        let to = Working::open(self.repo, &self.workspace.path)?;
        let given = self.give(&from, &to, "", 0);
        given.map_err(|error| format!("{}/{work} cannot be given back: {error}", folder(self.agent)))?;
        // What is left in them keeps them.
        _ = fs::remove_dir(aside.join(work)).and_then(|()| fs::remove_dir(&aside));
        Ok(())
    }

    fn give(&self, from: &Working<'a>, to: &Working<'a>, at: &str, depth: usize) -> std::io::Result<()> {
        for (name, is_folder) in from.list(at)? {
            let path = if at.is_empty() { name } else { format!("{at}/{name}") };
            // The slash says that it is a folder.
            let said = if is_folder { format!("{path}/") } else { path.clone() };
            if self.repo.is_path_ignored(&said).unwrap_or(false) {
                from.hand_over(&path, to, &path)?;
            } else if is_folder && depth < DEPTH_MAX {
                self.give(from, to, &path, depth + 1)?;
            }
        }
        Ok(())
    }
}
