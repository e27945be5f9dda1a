//! Texts of the home that go along with a request: how one is read, for the agent that asks.

use std::io::Read as _;

use domain::agent;
use domain::context::Link;
use domain::id::Time;
use domain::label;
use domain::lock::workspace::Room;
use domain::state::State;
use rustix::fs::{Dir, FileType};

use crate::beneath::Root;
use crate::redact::redacted;

/// So many bytes of a file are read at all.
const READ_BYTES_MAX: u64 = 1 << 20;
/// So many files of one folder are looked at, by name.
const FILES_MAX: usize = 256;
/// So many folders are opened.
const FOLDERS_MAX: usize = 64;

/// A text that goes along with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where it stands; of a list, its folder. Once collected, as the agent spells it.
    pub(super) path: String,
    /// What the model is told about it.
    pub(super) words: String,
    /// What it says, cut to its bound.
    pub(super) content: String,
    /// All places whose content is in it.
    pub(super) read: Vec<String>,
}

/// For whom files are collected, and what is known of them.
pub(super) struct Asker<'a> {
    pub(super) root: &'a Root,
    pub(super) agent: &'a agent::Spec,
    /// Where it works.
    pub(super) room: Room,
    /// The role by which grants count for it; `None` if it gets no context here.
    pub(super) grants_role: Option<&'a str>,
    /// Those through whose hands its work went, if contexts went along with it.
    pub(super) line: &'a [Link],
    /// Enough of the state to tell the labels of `memory/`, `contexts/` and the workspace.
    pub(super) labels: &'a State,
    pub(super) now: Time,
}

/// A text beneath `folder`, if it is one that this agent may see. A link that leads out of the folder is none.
pub(super) fn text(asker: &Asker<'_>, folder: &str, path: &str) -> Option<String> {
    let (file, _, real) = asker.root.real_file(path).ok()?;
    let real = real.to_str()?;
    if real != path && !real.starts_with(&format!("{folder}/")) {
        return None;
    }
    let label = label::of_place(asker.labels, real).joined(&label::of_place(asker.labels, path));
    if !label.readers.include(&asker.agent.id) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(READ_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    if bytes.contains(&0) {
        return None;
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            Some(String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned())
        }
        Err(_) => None,
    };
    text.map(redacted)
}

/// The names beneath a folder with this ending, those in its folders too, sorted, the first of them. Links to folders are not
/// followed.
pub(super) fn names_beneath(root: &Root, folder: &str, ending: &str) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![String::new()]);
    let mut opened = 0;
    while let Some(within) = folders.pop().filter(|_| opened < FOLDERS_MAX && found.len() < FILES_MAX) {
        opened += 1;
        let at = format!("{folder}/{within}");
        let Ok(at) = root.folder(at.trim_end_matches('/')) else { continue };
        let Ok(entries) = Dir::read_from(&at.fd) else { continue };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.starts_with('.') {
                continue;
            }
            let path = if within.is_empty() { name.to_owned() } else { format!("{within}/{name}") };
            if entry.file_type() == FileType::Directory {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    found.truncate(FILES_MAX);
    found
}

/// The names in a folder with this ending, sorted, the first of them.
pub(super) fn names(root: &Root, folder: &str, ending: &str) -> Vec<String> {
    let Ok(found) = root.folder(folder) else { return Vec::new() };
    let Ok(entries) = Dir::read_from(&found.fd) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(ending) && !name.starts_with('.')).collect();
    names.sort_unstable();
    names.truncate(FILES_MAX);
    names
}
