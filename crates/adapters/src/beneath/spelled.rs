//! A home as one agent names it: paths are read and shown in its spelling, and an error about a path that names nothing says
//! where it was looked for and what is near it.

use std::sync::Arc;

use domain::spelling::{HOME, Purpose, Speller};
use domain::tool::Act;
use rustix::fs::{Dir, FileType, OFlags};

use super::{PathRefused, Root, joined, parts, stat_in};

/// So many names are told that are near a path.
const NEAR_MAX: usize = 3;
/// So many entries are looked at to find them.
const ENTRIES_MAX: usize = 4_000;
/// So deep are files of the same name looked for.
const DEPTH_MAX: usize = 6;

impl Root {
    /// The same home for an agent that works in a folder of it.
    pub(crate) fn for_agent(&self, folder: &str) -> Self {
        Self {
            fd: Arc::clone(&self.fd),
            path: self.path.clone(),
            identity: self.identity.clone(),
            folder: Some(folder.to_owned()),
            ..*self
        }
    }

    /// An act with paths relative to the home in place of the spellings of the agent.
    pub(crate) fn spelled(&self, act: Act, is_settled: bool) -> Act {
        self.with_speller(|speller| act.clone().spelled_by(speller, is_settled)).unwrap_or(act)
    }

    /// The path relative to the home that the agent's spelling names; `None` if it is not beneath the home.
    pub(crate) fn read(&self, spelled: &str) -> Option<String> {
        self.with_speller(|speller| speller.read(spelled, Purpose::Find))?
    }

    /// A path in the agent's spelling; as it is if no agent asks.
    pub(crate) fn shown(&self, path: &str) -> String {
        self.with_speller(|speller| speller.show(path)).unwrap_or_else(|| path.to_owned())
    }

    /// Why a path is not opened, in the agent's spelling.
    pub(crate) fn in_words(&self, refused: PathRefused) -> String {
        let (Some(folder), PathRefused::Absent { path }) = (&self.folder, &refused) else {
            let shown = self.shown(refused.path());
            return refused.of(shown).to_string();
        };
        let rest = domain::layout::inside(path, folder).unwrap_or(path);
        let mut text = format!("{} does not exist", self.shown(path));
        if rest == path {
            text.push_str(&format!("; your workspace has no {rest} either"));
            // It was named where it is not.
            if self.is_there(&format!("{folder}/{rest}")) {
                text = format!("{} does not exist, but {rest} of your workspace does", self.shown(path));
            }
        } else if self.is_there(rest) {
            text.push_str(&format!(" in your workspace, but {HOME}{rest} does"));
        } else {
            text.push_str(&format!(": neither in your workspace, {folder}/, nor as {HOME}{rest}"));
        }
        let mut near = self.near(folder, rest);
        near.extend(self.near("", rest));
        near.dedup();
        near.truncate(NEAR_MAX);
        if !near.is_empty() {
            let near: Vec<String> = near.iter().map(|path| self.shown(path)).collect();
            text.push_str(&format!("; similar: {}", near.join(", ")));
        }
        text
    }

    fn with_speller<T>(&self, spell: impl FnOnce(Speller<'_>) -> T) -> Option<T> {
        let folder = self.folder.as_deref()?;
        let home = self.path.to_string_lossy();
        let exists = |path: &str| self.is_there(path);
        Some(spell(Speller { folder, home: &home, exists: &exists }))
    }

    /// Whether there is something at a path, also a link that leads nowhere.
    pub(crate) fn is_there(&self, path: &str) -> bool {
        let Ok(parts) = parts(path) else { return false };
        let Some((name, above)) = parts.split_last() else { return true };
        let folder = self.reach(&joined(above), OFlags::PATH | OFlags::DIRECTORY);
        folder.is_ok_and(|folder| stat_in(&folder.fd, name).is_ok_and(|found| found.is_some()))
    }

    /// Existing paths that a path beneath a folder may have meant: the same name in another folder, or a name like the one
    /// that is missing.
    fn near(&self, folder: &str, rest: &str) -> Vec<String> {
        let names: Vec<&str> = rest.split('/').filter(|name| !name.is_empty()).collect();
        let at = |count: usize| {
            let parts: Vec<&str> = [folder].into_iter().chain(names[..count].iter().copied()).collect();
            parts.join("/").trim_matches('/').to_owned()
        };
        // The first part that is missing.
        let Some(missing) = (0..names.len()).find(|count| !self.is_there(&at(count + 1))) else {
            return Vec::new();
        };
        let above = at(missing);
        let mut left = ENTRIES_MAX;
        let there: Vec<String> = self.entries(&above, &mut left).into_iter().map(|(name, _)| name).collect();
        let close = formats::did_you_mean(names[missing], there.iter().map(String::as_str));
        let close = close.map(|name| join(&above, name));
        // All of the home would be the workspaces of others, too.
        let same = if folder.is_empty() { None } else { names.last().copied() };
        let same = same.into_iter().flat_map(|name| self.named(folder, name, &mut left));
        close.into_iter().chain(same).collect()
    }

    /// The files with a name beneath a folder.
    fn named(&self, folder: &str, wanted: &str, left: &mut usize) -> Vec<String> {
        let (mut found, mut folders) = (Vec::new(), vec![(folder.to_owned(), 0)]);
        while let Some((folder, depth)) = folders.pop() {
            for (name, is_folder) in self.entries(&folder, left) {
                let path = join(&folder, &name);
                if name == wanted {
                    found.push(path.clone());
                }
                if is_folder && depth < DEPTH_MAX && name != domain::layout::GIT {
                    folders.push((path, depth + 1));
                }
            }
            if found.len() >= NEAR_MAX {
                break;
            }
        }
        found
    }

    /// Names in a folder in their order, each with whether it is a folder.
    fn entries(&self, folder: &str, left: &mut usize) -> Vec<(String, bool)> {
        let folder = if folder.is_empty() { "." } else { folder };
        let Ok(found) = self.folder(folder) else { return Vec::new() };
        let Ok(dir) = Dir::read_from(&found.fd) else { return Vec::new() };
        let mut names = Vec::new();
        for entry in dir.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_hidden = name == domain::layout::OWN || name.chars().any(char::is_control);
            if matches!(name.as_str(), "." | "..") || is_hidden {
                continue;
            }
            if *left == 0 {
                break;
            }
            *left -= 1;
            names.push((name, entry.file_type() == FileType::Directory));
        }
        names.sort_unstable();
        names
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() || folder == "." { name.to_owned() } else { format!("{folder}/{name}") }
}

impl PathRefused {
    fn path(&self) -> &str {
        match self {
            Self::Malformed { path, .. }
            | Self::Outside { path }
            | Self::Link { path }
            | Self::Hidden { path }
            | Self::Granted { path }
            | Self::Control { path }
            | Self::Absent { path }
            | Self::Kind { path, .. }
            | Self::System { path, .. } => path,
        }
    }

    /// The same of a path in another spelling.
    fn of(self, path: String) -> Self {
        match self {
            Self::Malformed { reason, .. } => Self::Malformed { path, reason },
            Self::Outside { .. } => Self::Outside { path },
            Self::Link { .. } => Self::Link { path },
            Self::Hidden { .. } => Self::Hidden { path },
            Self::Granted { .. } => Self::Granted { path },
            Self::Control { .. } => Self::Control { path },
            Self::Absent { .. } => Self::Absent { path },
            Self::Kind { found, wanted, .. } => Self::Kind { path, found, wanted },
            Self::System { reason, .. } => Self::System { path, reason },
        }
    }
}
