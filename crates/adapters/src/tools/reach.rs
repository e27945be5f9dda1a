//! Which places a command or a diff read, as far as the owner's rules for paths (`trust:`) are concerned.
//!
//! - A command of programs that read only what they name read the paths that its words name.
//! - Any other command can read its whole workspace: it read everything there that a rule covers. Where no rule covers
//!   anything that is there, it read nothing special, whatever rules there are.

use std::fs;
use std::path::Path;

use domain::settings::Trust;
use policy::command::Script;
use policy::path::{self, Pattern};

use crate::sandbox::glob::expand;
use crate::sandbox::memory::Memory;

/// Programs that open the files and folders that they name and no others, not even what is in a folder.
const READ_NAMED: [&str; 23] = [
    "[", "basename", "cat", "cut", "date", "df", "dirname", "echo", "false", "head", "hostname", "ls", "nl",
    "nproc", "printf", "pwd", "stat", "tail", "test", "tr", "true", "uname", "wc",
];
/// Parts of options by which such a program reads more than it names.
const READ_MORE: [&str; 3] = ["R", "recursive", "files0"];
/// So many names of a workspace are looked at, and so many folders inside one another.
const NAMES_MAX: usize = 100_000;
const DEPTH_MAX: usize = 64;
/// So many places are told; of more, everything counts as read.
const PLACES_MAX: usize = 32;

/// The owner's rules, as far as they may cover something in a folder.
pub(super) struct Rules(Vec<Pattern>);

impl Rules {
    pub(super) fn in_folder(trust: &Trust, folder: &str) -> Self {
        let all = trust.outside.iter().chain(trust.secret.keys()).map(|text| Pattern::new(text));
        Self(all.filter(|pattern| pattern.may_cover_beneath(folder)).collect())
    }

    fn cover(&self, path: &str) -> bool {
        self.0.iter().any(|pattern| pattern.covers(path))
    }

    fn may_cover_beneath(&self, folder: &str) -> bool {
        self.0.iter().any(|pattern| pattern.may_cover_beneath(folder))
    }

    /// Those of some files in a folder that a rule covers.
    pub(super) fn of_files(&self, folder: &str, files: impl IntoIterator<Item = String>) -> Vec<String> {
        let files = files.into_iter().map(|file| format!("{folder}/{file}"));
        bounded(folder, files.filter(|file| self.cover(file)).take(PLACES_MAX + 1).collect())
    }

    /// Those that a command read in its workspace, which is the folder `shown` of the home. Blocks.
    pub(super) fn of_command(&self, at: &Path, shown: &str, command: &str) -> Vec<String> {
        if self.0.is_empty() {
            return Vec::new();
        }
        match policy::command::script(command).and_then(|script| named(at, &script)) {
            Some(words) => self.of_files(shown, words.iter().filter_map(|word| beneath(at, at, word))),
            None => self.of_all(at, shown),
        }
    }

    /// Everything in a folder that a rule covers. Links are not followed: what they lead to is found where it is.
    fn of_all(&self, at: &Path, shown: &str) -> Vec<String> {
        let (mut places, mut names) = (Vec::new(), 0);
        let mut folders = vec![(at.to_owned(), shown.to_owned(), 0)];
        while let Some((at, shown, depth)) = folders.pop() {
            for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
                names += 1;
                let path = format!("{shown}/{}", entry.file_name().to_string_lossy());
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if self.cover(&path) {
                    places.push(path);
                } else if is_folder && entry.file_name() != ".git" && self.may_cover_beneath(&path) {
                    folders.push((entry.path(), path, depth + 1));
                }
            }
            if names > NAMES_MAX || depth > DEPTH_MAX || places.len() > PLACES_MAX {
                places = vec![String::new(); PLACES_MAX + 1];
                break;
            }
        }
        bounded(shown, places)
    }
}

fn bounded(folder: &str, mut places: Vec<String>) -> Vec<String> {
    if places.len() > PLACES_MAX {
        return vec![format!("all:{folder}")];
    }
    places.sort_unstable();
    places
}

/// Whether a command reads only what its words name, and writes nothing.
pub(super) fn reads_named(command: &str) -> bool {
    policy::command::script(command).is_some_and(|script| named(Path::new("/"), &script).is_some())
}

/// The places of `memory/` that a command could read: those that it names, if it reads no others, else all that it sees.
pub(super) fn of_memory(memory: &Memory, home: &Path, at: &Path, command: &str) -> Vec<String> {
    let Some(words) = policy::command::script(command).and_then(|script| named(at, &script)) else {
        return memory.all();
    };
    let paths = words.iter().filter_map(|word| beneath(home, at, word));
    paths.flat_map(|path| memory.seen_at(&path)).collect()
}

/// The words of a script, if its programs read only what these name.
fn named(at: &Path, script: &Script) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for simple in script.pipelines.iter().flat_map(|pipeline| &pipeline.commands) {
        if !READ_NAMED.contains(&simple.words[0].text.as_str()) {
            return None;
        }
        for word in &simple.words[1..] {
            let is_option = word.text.starts_with('-');
            if is_option && READ_MORE.iter().any(|part| word.text.contains(part)) {
                return None;
            }
            words.extend(if word.is_glob { expand(at, &word.text) } else { vec![word.text.clone()] });
        }
    }
    Some(words)
}

/// The real path of a word beneath `top`, if it names one from the folder `at`.
fn beneath(top: &Path, at: &Path, word: &str) -> Option<String> {
    let word = word.split_once('=').filter(|_| word.starts_with('-')).map_or(word, |(_, value)| value);
    match at.join(word).canonicalize() {
        Ok(real) => real.strip_prefix(top.canonicalize().ok()?).ok()?.to_str().map(str::to_owned),
        // It may have been there before the command took it away.
        Err(_) => path::normal(word),
    }
}
