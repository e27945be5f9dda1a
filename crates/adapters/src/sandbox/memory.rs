//! What a command sees of the home's `memory/`: all that its agent may see, read-only. What the agent may not see, and
//! credentials, are absent. Nothing here decides who may see what; [`Hidden`] holds what was decided.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use domain::id::AgentId;
use domain::layout::{self, MEMORY};
use domain::settings::Trust;
use policy::path::{Pattern, beneath};

use super::mount::Mount;

/// So many names are looked at, and so many folders inside one another. A larger `memory/` is not shown.
const NAMES_MAX: usize = 100_000;
const DEPTH_MAX: usize = 64;
/// So many parts of `memory/` are shown one by one; each is a mount.
const PARTS_MAX: usize = 512;
/// Room for a folder that only holds mount points.
const FRAME_BYTES: u64 = 1 << 20;

/// What of `memory/` an agent does not see.
#[derive(Debug, Clone, Copy)]
pub struct Hidden<'a> {
    /// The agent.
    pub agent: &'a AgentId,
    /// What the owner says of paths.
    pub trust: &'a Trust,
    /// Files and folders whose recorded label leaves the agent out.
    pub files: &'a [String],
}

impl Hidden<'_> {
    fn hides(&self, path: &str) -> bool {
        policy::command::is_closed(path)
            || !self.trust.may_see(self.agent, path)
            || self.files.iter().any(|file| beneath(path, file))
    }

    /// Whether something beneath a folder is hidden, or would be if it came into being while a command runs.
    fn may_hide_beneath(&self, folder: &str) -> bool {
        let closed = self.trust.secret.iter().filter(|(_, readers)| !readers.contains(self.agent));
        closed.into_iter().any(|(pattern, _)| Pattern::new(pattern).may_cover_beneath(folder))
            || self.files.iter().any(|file| beneath(file, folder))
    }
}

/// What a command sees of `memory/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    mounts: Vec<Mount>,
    /// Files, and folders that are shown whole, relative to the home.
    shown: Vec<String>,
}

impl Memory {
    /// Looks at `memory/` of a home. An error says why none of it is shown. Blocks.
    pub fn of(home: &Path, hidden: &Hidden<'_>) -> Result<Self, String> {
        let top = home.join(MEMORY);
        let is_folder = fs::symlink_metadata(&top).is_ok_and(|stat| stat.is_dir());
        if !is_folder || hidden.hides(MEMORY) {
            return Ok(Self::default());
        }
        let part = Search { home, hidden, names: 0 }.folder(MEMORY.to_owned(), 0)?;
        let mut memory = Self::default();
        memory.add(home, part);
        if memory.mounts.len() > PARTS_MAX {
            return Err(format!("{MEMORY}/ has more than {PARTS_MAX} parts that would be shown one by one"));
        }
        Ok(memory)
    }

    /// The parts of `memory/` that are seen at a path: the path itself, or what is shown beneath it.
    pub fn seen_at(&self, path: &str) -> Vec<String> {
        if self.shown.iter().any(|shown| path == shown || layout::is_inside(path, shown)) {
            return vec![path.to_owned()];
        }
        self.shown.iter().filter(|shown| layout::is_inside(shown, path)).cloned().collect()
    }

    /// All of it, likewise.
    pub fn all(&self) -> Vec<String> {
        self.shown.clone()
    }

    pub(super) fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// What may be read where there is no view.
    pub(super) fn readable(&self, home: &Path) -> Vec<PathBuf> {
        self.shown.iter().map(|path| home.join(path)).collect()
    }

    fn add(&mut self, home: &Path, part: Part) {
        match part {
            Part::Whole(path) => {
                let at = home.join(&path);
                self.mounts.push(Mount::ReadOnly { from: at.clone(), at });
                self.shown.push(path);
            }
            Part::Link { path, to } => self.mounts.push(Mount::Link { at: home.join(path), to }),
            Part::Folder { path, parts } => {
                let at = home.join(path);
                self.mounts.push(Mount::Memory { at: at.clone(), bytes: FRAME_BYTES });
                parts.into_iter().for_each(|part| self.add(home, part));
                self.mounts.push(Mount::Sealed { at });
            }
        }
    }
}

/// A part of what is shown, by its path relative to the home.
enum Part {
    /// A file, or a folder in which nothing is hidden.
    Whole(String),
    Link {
        path: String,
        to: PathBuf,
    },
    /// A folder in which something is hidden, with the rest.
    Folder {
        path: String,
        parts: Vec<Part>,
    },
}

struct Search<'a> {
    home: &'a Path,
    hidden: &'a Hidden<'a>,
    names: usize,
}

impl Search<'_> {
    fn folder(&mut self, path: String, depth: usize) -> Result<Part, String> {
        let failed = |e: std::io::Error| format!("{path} cannot be looked at: {e}");
        let mut is_whole = !self.hidden.may_hide_beneath(&path);
        let mut parts = Vec::new();
        let entries = fs::read_dir(self.home.join(&path)).map_err(failed)?;
        let mut entries = entries.take(NAMES_MAX + 1).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        entries.sort_unstable_by_key(DirEntry::file_name);
        self.names += entries.len();
        if self.names > NAMES_MAX || depth > DEPTH_MAX {
            return Err(format!("{MEMORY}/ has more than {NAMES_MAX} files or {DEPTH_MAX} levels"));
        }
        for entry in entries {
            let kind = entry.file_type().map_err(failed)?;
            let inside = entry.file_name().to_str().map(|name| format!("{path}/{name}"));
            let Some(inside) = inside.filter(|inside| !self.hidden.hides(inside)) else {
                is_whole = false;
                continue;
            };
            let part = if kind.is_dir() {
                self.folder(inside, depth + 1)?
            } else if kind.is_symlink() {
                Part::Link { path: inside, to: fs::read_link(entry.path()).map_err(failed)? }
            } else if kind.is_file() {
                Part::Whole(inside)
            } else {
                // Whoever can name a socket or a pipe can speak to what listens there.
                is_whole = false;
                continue;
            };
            is_whole &= !matches!(part, Part::Folder { .. });
            parts.push(part);
        }
        Ok(if is_whole { Part::Whole(path) } else { Part::Folder { path, parts } })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn shown(files: &[&str], secret: &[(&str, &str)], labelled: &[&str]) -> Result<Vec<String>, String> {
        let home = tempfile::tempdir().unwrap();
        for file in files {
            let at = home.path().join(file);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, "x").unwrap();
        }
        let secret = secret.iter().map(|(path, reader)| ((*path).to_owned(), vec![AgentId::new(*reader)]));
        let trust = Trust { secret: BTreeMap::from_iter(secret), ..Trust::default() };
        let files: Vec<String> = labelled.iter().map(|file| (*file).to_owned()).collect();
        let hidden = Hidden { agent: &AgentId::new("coder"), trust: &trust, files: &files };
        let mut shown = Memory::of(home.path(), &hidden)?.shown;
        shown.sort_unstable();
        Ok(shown)
    }

    #[test]
    fn memory_is_shown_whole_unless_something_in_it_is_hidden() {
        let files = ["memory/a.md", "memory/logs/app.log", "memory/pay/june.md", "memory/pay/x/y.md"];
        let whole = ["memory"];
        let without_pay = ["memory/a.md", "memory/logs"];
        for (secret, labelled, expected) in [
            (&[][..], &[][..], &whole[..]),
            (&[("memory/pay", "finance")], &[], &without_pay),
            (&[("memory/pay", "coder")], &[], &whole),
            (&[("Memory/PAY/*", "finance")], &[], &without_pay),
            (
                &[("memory/*.key.md", "finance")],
                &[],
                &["memory/a.md", "memory/logs/app.log", "memory/pay/june.md", "memory/pay/x/y.md"],
            ),
            (&[("memory", "finance")], &[], &[]),
            (&[], &["memory/pay/x/y.md"], &["memory/a.md", "memory/logs", "memory/pay/june.md"]),
        ] {
            assert_eq!(shown(&files, secret, labelled).unwrap(), expected, "{secret:?} {labelled:?}");
        }
        assert_eq!(shown(&["memory/.env", "memory/a.md"], &[], &[]).unwrap(), ["memory/a.md"]);
        assert_eq!(shown(&[], &[], &[]).unwrap(), [""; 0]);
    }
}
