//! Paths by their spelling: what a path rule covers, when two spellings name the same file, and which files people
//! keep control by. Nothing here looks at a disk, so a link is resolved before a path comes here.
//!
//! Shell globs (`?`, `[a-z]`, hidden names) are another language: `command` judges them, and the runner expands them.

use crate::text::glob;

/// A rule for paths, such as a line of `trust.outside`.
///
/// - A pattern covers the path it names and everything beneath it: `memory/pay` covers `memory/pay/2026/june.md`.
/// - `*` stands for any run of characters, `/` included: `memory/*.md` covers `memory/a/b.md`. `**` means the same.
/// - A trailing `/`, `/*` or `/**` changes nothing: `memory/pay/*` is `memory/pay`.
/// - Case does not count, nor do `./` and `//`: some file systems take `Memory/Pay` for `memory/pay`.
///
/// In doubt a pattern covers more: a rule says what is not to be trusted or not to be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Folded, without what changes nothing at its ends.
    text: String,
}

impl Pattern {
    /// The pattern that `text` spells.
    pub fn new(text: &str) -> Self {
        let mut parts: Vec<&str> = text.split('/').filter(|part| *part != ".").collect();
        while parts.len() > 1 && parts.last().is_some_and(|part| ["", "*", "**"].contains(part)) {
            parts.pop();
        }
        // A leading slash stays: an absolute path names nothing in a home.
        let inner = |(at, part): &(usize, &str)| *at == 0 || !part.is_empty();
        let parts: Vec<&str> = parts.into_iter().enumerate().filter(inner).map(|(_, part)| part).collect();
        Self { text: folded(&parts.join("/")) }
    }

    /// Whether the rule holds for a path relative to the home.
    pub fn covers(&self, path: &str) -> bool {
        let path = folded(path);
        let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        folders.chain([path.as_str()]).any(|part| glob(&self.text, part))
    }

    /// Whether the part of the pattern before its first star lies in a folder.
    pub fn begins_beneath(&self, folder: &str) -> bool {
        let fixed = self.text.split('*').next().unwrap_or_default();
        let rest = fixed.strip_prefix(&folded(folder));
        rest.is_some_and(|rest| folder.is_empty() || rest.starts_with('/'))
    }

    /// Whether the rule may hold for something in a folder, whatever is in it.
    pub fn may_cover_beneath(&self, folder: &str) -> bool {
        let Some((fixed, _)) = self.text.split_once('*') else {
            return self.covers(folder) || self.begins_beneath(folder);
        };
        // From the first star on, a longer path can always be made to fit.
        self.covers(folder) || self.begins_beneath(folder) || folded(&format!("{folder}/")).starts_with(fixed)
    }
}

/// A path in its plain form: without `.`, `..` and doubled slashes; the home itself is empty. `None` if it is not
/// relative or leads out of the home.
pub fn normal(path: &str) -> Option<String> {
    if path.starts_with(['/', '~']) {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Folders and files that no tool ever writes: they are how people keep control.
pub const CONTROL: [&str; 7] = ["approvals", "policy", "agents", "log", ".synod", ".project", "schemas"];
/// Names that no tool ever writes at any depth: git runs what its folder says. The second is its short name on
/// file systems that make such.
pub const CONTROL_ANYWHERE: [&str; 2] = [".git", "git~1"];
/// Single files likewise.
pub const CONTROL_FILES: [&str; 4] = ["tasks/approvals.task.md", "synod.yaml", "eve.json", "run_mode.yaml"];

/// Whether a path is a folder or lies in it, as the least careful file system compares them.
pub fn beneath(path: &str, folder: &str) -> bool {
    if path.is_ascii() && folder.is_ascii() {
        return begins_with(path, folder, str::eq_ignore_ascii_case);
    }
    begins_with(&folded(path), &folded(folder), |part, other| part == other)
}

/// Whether the first parts of a path are those of a folder.
fn begins_with(path: &str, folder: &str, same: fn(&str, &str) -> bool) -> bool {
    let mut path = parts(path);
    parts(folder).all(|part| path.next().is_some_and(|first| same(first, part)))
}

/// A path as the least careful file system compares it: without case, where `ſ` is `s` and `ß` is `ss`.
pub fn folded(path: &str) -> String {
    if path.is_ascii() { path.to_ascii_lowercase() } else { path.to_uppercase().to_lowercase() }
}

/// The parts of a path without dots and spaces at the end, which some file systems drop. Dots at the
/// beginning count: `.synod` is not `synod`.
pub fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').map(|part| part.trim_end_matches(['.', ' ']))
}
