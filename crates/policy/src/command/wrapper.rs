//! Programs that run other programs, and the commands they run. Blocked commands are found inside them; a wrapper is
//! never allowed because of what it wraps.

use super::table::WORDS;
use super::word::Loose;

/// How many places of a wrapper's arguments are tried as the beginning of what it runs.
const PLACES_MAX: usize = 16;

/// A program's name without its folder.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a program is a shell.
pub(super) fn is_shell(program: &str) -> bool {
    WORDS.shells.contains(&base(program))
}

/// Whether a program runs what its arguments say.
pub(super) fn is_wrapper(program: &str) -> bool {
    let name = base(program);
    name == "eval" || (name != "find" && name != "fd" && WORDS.wrappers.contains(&name))
}

/// Whether what the command reads is run as commands.
pub(super) fn reads_commands(words: &[Loose]) -> bool {
    words.first().is_some_and(|program| is_shell(&program.text))
}

/// Texts among the arguments that are commands themselves: `sh -c '…'`, `eval …`.
pub(super) fn texts(words: &[Loose]) -> Vec<String> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let name = base(&program.text);
    if name == "eval" || name == "trap" || name == "ssh" {
        let joined: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        return vec![joined.join(" ")];
    }
    let takes_text =
        WORDS.shells.contains(&name) || ["su", "script", "runuser", "watch", "flock"].contains(&name);
    if !takes_text {
        return Vec::new();
    }
    let is_command = |word: &Loose| {
        word.text == "--command"
            || (word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('c'))
    };
    match arguments.iter().position(is_command) {
        Some(at) => arguments[at + 1..].iter().take(1).map(|word| word.text.clone()).collect(),
        None => Vec::new(),
    }
}

/// The commands that a wrapper might run, each from a place where its program could stand.
pub(super) fn commands(words: &[Loose]) -> Vec<Vec<Loose>> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let name = base(&program.text);
    if !WORDS.wrappers.contains(&name) {
        return Vec::new();
    }
    let runs = |word: &&str| {
        ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"].contains(word)
    };
    let starts: Vec<usize> = match name {
        "find" | "fd" => {
            let places = arguments.iter().enumerate().filter(|(_, word)| runs(&word.text.as_str()));
            places.map(|(at, _)| at + 1).collect()
        }
        _ => {
            let places = arguments.iter().enumerate();
            let programs = places.filter(|(_, word)| !word.text.starts_with('-') && !word.text.contains('='));
            programs.map(|(at, _)| at).take(PLACES_MAX).collect()
        }
    };
    starts.into_iter().filter(|at| *at < arguments.len()).map(|at| arguments[at..].to_vec()).collect()
}
