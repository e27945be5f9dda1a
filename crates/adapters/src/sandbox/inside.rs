//! What lies in a folder that a command must not get at: credentials and control files, which are covered, and
//! repositories, whose settings and hooks are guarded. Found by names alone and without following links, each time
//! anew, because a file may have come since.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use policy::command::is_closed;

/// How far it is looked. Beyond it no command runs: what was not looked at cannot be covered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// So many names.
    pub(super) names_max: usize,
    /// So many folders inside one another.
    pub(super) depth_max: usize,
    /// What is said of deeper ones.
    pub(super) deeper: Deeper,
    /// So many places that are covered or guarded; each is a mount of its own.
    pub(super) places_max: usize,
}

impl Bounds {
    /// For a workspace, in which anything may lie anywhere.
    pub(super) const WORKSPACE: Self =
        Self { names_max: 500_000, depth_max: 128, deeper: Deeper::Refused, places_max: 512 };

    /// For a toolchain, whose credentials lie near its top, and which has hundreds of thousands of files beneath.
    pub(super) const PLACE: Self =
        Self { names_max: 100_000, depth_max: 2, deeper: Deeper::LeftOut, places_max: 128 };
}

/// What becomes of folders that are too deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deeper {
    Refused,
    LeftOut,
}

/// What was found, in the order of names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Inside {
    /// Files that are closed.
    pub(super) files: Vec<PathBuf>,
    /// Folders in which everything is closed.
    pub(super) folders: Vec<PathBuf>,
    /// Each `.git` that is not the top's own, be it a folder or a file.
    pub(super) repositories: Vec<PathBuf>,
}

impl Inside {
    /// Looks. An error says why not all of it can be covered.
    pub(super) fn find(top: &Path, bounds: Bounds) -> Result<Self, String> {
        let mut search = Search { top, bounds, found: Self::default(), names: 0 };
        search.folder(top, 0)?;
        let mut found = search.found;
        for places in [&mut found.files, &mut found.folders, &mut found.repositories] {
            places.sort_unstable();
            places.dedup();
        }
        Ok(found)
    }

    fn count(&self) -> usize {
        self.files.len() + self.folders.len() + self.repositories.len()
    }
}

struct Search<'a> {
    top: &'a Path,
    bounds: Bounds,
    found: Inside,
    names: usize,
}

impl Search<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), String> {
        let failed = |e: io::Error| format!("{} cannot be looked at: {e}", folder.display());
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            // What we cannot read, nothing that we start can; what is gone, likewise.
            Err(e) if matches!(e.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound) => {
                return Ok(());
            }
            Err(e) => return Err(failed(e)),
        };
        for entry in entries {
            self.names += 1;
            self.entry(&entry.map_err(failed)?, folder, depth)?;
            let Bounds { names_max, places_max, .. } = self.bounds;
            let beyond = if self.names > names_max {
                format!("more than {names_max} files")
            } else if self.found.count() > places_max {
                format!("more than {places_max} credentials and repositories")
            } else {
                continue;
            };
            return Err(self.refusal(&beyond));
        }
        Ok(())
    }

    fn entry(&mut self, entry: &DirEntry, folder: &Path, depth: usize) -> Result<(), String> {
        let Ok(kind) = entry.file_type() else { return Ok(()) };
        let (path, name) = (entry.path(), entry.file_name());
        if name == ".git" {
            // Its files are named by git. That of the top is guarded by itself.
            if folder != self.top {
                self.found.repositories.push(path);
            }
            return Ok(());
        }
        // Names that tell credentials have two parts at most.
        let parent = if folder == self.top { None } else { folder.file_name() };
        let shown = match parent {
            Some(parent) => format!("{}/{}", parent.to_string_lossy(), name.to_string_lossy()),
            None => name.to_string_lossy().into_owned(),
        };
        if kind.is_dir() {
            // A folder is closed if whatever lies in it is.
            if is_closed(&format!("{shown}/x")) {
                self.found.folders.push(path);
            } else if depth < self.bounds.depth_max {
                self.folder(&path, depth + 1)?;
            } else if self.bounds.deeper == Deeper::Refused {
                return Err(self.refusal(&format!("folders deeper than {}", self.bounds.depth_max)));
            }
        } else if is_closed(&shown) {
            self.closed(path, kind.is_symlink());
        }
        Ok(())
    }

    /// A link cannot be covered, but what it stands for can, if it lies here.
    fn closed(&mut self, path: PathBuf, is_link: bool) {
        if !is_link {
            self.found.files.push(path);
            return;
        }
        let Some(real) = path.canonicalize().ok().filter(|real| real.starts_with(self.top)) else { return };
        if real.is_file() {
            self.found.files.push(real);
        }
    }

    fn refusal(&self, beyond: &str) -> String {
        format!("{} has {beyond}, so not all credentials in it can be covered", self.top.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        folder
    }

    #[test]
    fn credentials_and_repositories_are_found_at_any_depth() {
        let folder = folder_with(&[
            "a.txt",
            ".env",
            ".env.example",
            "deep/er/server.key",
            "deep/.ssh/config",
            "src/secrets/mod.rs",
            ".git/config",
            "deep/sub/.git/config",
            "deep/linked/.git",
        ]);
        let top = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("a.txt", top.join("id_rsa")).unwrap();
        let at = |names: &[&str]| names.iter().map(|name| top.join(name)).collect::<Vec<_>>();
        assert_eq!(
            Inside::find(&top, Bounds::WORKSPACE).unwrap(),
            Inside {
                files: at(&[".env", "a.txt", "deep/er/server.key"]),
                folders: at(&["deep/.ssh"]),
                repositories: at(&["deep/linked/.git", "deep/sub/.git"]),
            }
        );
    }

    #[test]
    fn what_is_not_looked_at_is_said() {
        let folder = folder_with(&["one/two/three/a.txt", "one/b.key", "c.key"]);
        for (bounds, reason) in [
            (Bounds { names_max: 5, ..Bounds::WORKSPACE }, "more than 5 files"),
            (Bounds { depth_max: 2, ..Bounds::WORKSPACE }, "folders deeper than 2"),
            (Bounds { places_max: 1, ..Bounds::WORKSPACE }, "more than 1 credentials and repositories"),
        ] {
            let said = Inside::find(folder.path(), bounds).unwrap_err();
            assert!(said.contains(reason), "{said}");
        }
    }
}
