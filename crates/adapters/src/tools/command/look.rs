//! What a command depends on beside its words: the programs, the files it names, where it runs and with what. An
//! approval is for all of it; what is different when it runs makes the approval void.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use domain::layout;
use domain::lock::workspace::Room;
use domain::tool::Part;

use super::super::content::held;
use super::super::{content, reach};
use super::{AgentId, Root, Sandbox, Seen, git, workspace};
use crate::digest::digest;
use crate::sandbox::glob::expand;
use crate::sandbox::job::environment;

/// So many words of a command are looked at; the rest makes a note.
const WORDS_MAX: usize = 256;

/// Where a word ends when the command is more than a list of words.
const SHELL_ENDS: [char; 18] =
    [';', '|', '&', '(', ')', '<', '>', '`', '$', '"', '\'', '{', '}', '=', ',', '\\', '!', '#'];

/// Looks. Blocks.
pub(in super::super) fn look(
    root: &Root,
    sandbox: &Sandbox,
    (agent, room): (&AgentId, Room),
    command: &str,
) -> Result<Seen, String> {
    let folder = workspace(root, (agent, room))?;
    let lack = sandbox.lack();
    let mut seen = Seen {
        sandbox: lack.is_none(),
        refused: sandbox.refusal(),
        notes: Vec::from_iter(lack),
        ..Seen::default()
    };
    let stat = fs::metadata(&folder).map_err(|e| e.to_string())?;
    let places = sandbox.places(root.path())?;
    let variables = format!("{:?}", [environment(&folder), places.variables()].concat());
    let path = places.path();
    seen.parts.push(part(format!("folder {}", room.folder(agent)), format!("{}:{}", stat.dev(), stat.ino())));
    seen.parts.push(part("environment".to_owned(), digest(variables.as_bytes())));
    let words = words(&folder, command, &mut seen.notes);
    if words.len() > WORDS_MAX {
        seen.notes
            .push(format!("the command has more than {WORDS_MAX} words, of which not all were looked at"));
    }
    let memory = root.path().join(layout::MEMORY);
    let mut repositories = BTreeSet::from([(".".to_owned(), folder.clone())]);
    let mut runs_git = false;
    for (word, may_run) in words.iter().take(WORDS_MAX) {
        if *may_run && let Some(program) = program(&folder, &path, word) {
            runs_git |= program.ends_with("git");
            seen.parts.push(part(format!("program {}", program.display()), held(&program)));
        }
        if let Some(found) = named((&folder, &memory), word, &mut seen.notes, &mut repositories) {
            seen.parts.push(found);
        }
    }
    if runs_git {
        seen.notes.extend(repositories.iter().flat_map(|(shown, folder)| git::notes(folder, shown)));
    }
    seen.parts.dedup();
    // A command that only prints what it names depends on nothing else.
    if !reach::reads_named(command) {
        content::add(&mut seen, &folder);
    }
    Ok(seen)
}

fn part(what: String, digest: String) -> Part {
    Part { what, digest }
}

/// The words of a command, each with whether it can be a program.
fn words(folder: &Path, command: &str, notes: &mut Vec<String>) -> Vec<(String, bool)> {
    let Some(script) = policy::command::script(command) else {
        // What a shell makes of it is not known here, so every word can be anything. The shell itself is one more.
        let rest = command.split(|c: char| c.is_whitespace() || SHELL_ENDS.contains(&c));
        let rest = rest.filter(|word| !word.is_empty()).map(str::to_owned).collect::<BTreeSet<_>>();
        return ["/bin/sh".to_owned()].into_iter().chain(rest).map(|word| (word, true)).collect();
    };
    let mut words = Vec::new();
    for simple in script.pipelines.iter().flat_map(|pipeline| &pipeline.commands) {
        for (index, word) in simple.words.iter().enumerate() {
            let texts = if word.is_glob { expand(folder, &word.text) } else { vec![word.text.clone()] };
            // The words named no secret, but what they stand for is one.
            let closed = texts.iter().filter(|text| word.is_glob && policy::command::is_closed(text));
            notes.extend(closed.take(1).map(|text| format!("{} stands for {text}, among others", word.text)));
            words.extend(texts.into_iter().map(|text| (text, index == 0)));
        }
    }
    words
}

/// The file that a program's name stands for.
fn program(folder: &Path, path: &str, name: &str) -> Option<PathBuf> {
    let is_program =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return folder.join(name).canonicalize().ok().filter(is_program);
    }
    path.split(':').map(|place| Path::new(place).join(name)).find(is_program)
}

/// What a word names beneath the workspace or in `memory/`, if it names anything there.
fn named(
    (folder, memory): (&Path, &Path),
    word: &str,
    notes: &mut Vec<String>,
    repositories: &mut BTreeSet<(String, PathBuf)>,
) -> Option<Part> {
    // The value of an option counts, its name does not.
    let word = match word.strip_prefix('-') {
        Some(option) => option.split_once('=')?.1,
        None => word,
    };
    let path = folder.join(word);
    let Ok(real) = path.canonicalize() else {
        // Only what looks like a path: what it names may come into being before the command runs.
        let is_path = word.contains(['/', '.']) && path.starts_with(folder) && word.len() < 4_096;
        return is_path.then(|| part(format!("file {word}"), "absent".to_owned()));
    };
    if !real.starts_with(folder) {
        let is_inside =
            !word.starts_with('/') && !Path::new(word).components().any(|c| c.as_os_str() == "..");
        if is_inside {
            notes.push(format!("{word} leads out of the workspace by a link, to {}", real.display()));
        }
        let is_memory = real.starts_with(memory) && real.is_file();
        return is_memory.then(|| part(format!("file {word}"), held(&real)));
    }
    if real.is_dir() {
        repositories.insert((word.to_owned(), real));
        return Some(part(format!("folder {word}"), "folder".to_owned()));
    }
    Some(part(format!("file {word}"), held(&real)))
}
