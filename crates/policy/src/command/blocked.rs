//! Patterns that never run, also with an approval: they destroy, or run text that nobody has seen.

use super::finding::{Finding, deny, rule};
use super::parse::{Found, Parsed};
use super::table::WORDS;
use super::wrapper::{base, is_shell};

/// The blocked patterns in this text.
pub(super) fn findings(text: &str, parsed: &Parsed) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut block = |what: &str| findings.push(deny(rule::BLOCKED, format!("blocked pattern: {what}")));
    if is_fork_bomb(text, parsed) {
        block("a fork bomb");
    }
    for (index, found) in parsed.found.iter().enumerate() {
        if let Some(what) = destroys(found) {
            block(what);
        }
        if found.files.iter().any(|file| is_network_device(&file.path)) {
            block("a connection through /dev/tcp or /dev/udp");
        }
        if found.files.iter().any(|file| file.is_written && is_disk(&file.path)) {
            block("writing over a disk");
        }
        if runs_unseen(index, parsed) {
            block("running what was fetched or decoded a moment ago");
        }
    }
    findings
}

fn program(found: &Found) -> &str {
    found.words.first().map_or("", |word| base(&word.text))
}

/// Whether a function starts itself again in the background or twice at once.
fn is_fork_bomb(text: &str, parsed: &Parsed) -> bool {
    let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    if squeezed.contains(":(){") || squeezed.contains(":|:&") {
        return true;
    }
    parsed.functions.iter().any(|name| {
        let calls: Vec<&Found> = parsed.found.iter().filter(|found| program(found) == name).collect();
        calls
            .iter()
            .enumerate()
            .any(|(at, one)| calls[at + 1..].iter().any(|two| one.pipeline == two.pipeline))
            && text.contains('&')
    })
}

fn destroys(found: &Found) -> Option<&'static str> {
    let arguments: Vec<&str> = found.words.iter().skip(1).map(|word| word.text.as_str()).collect();
    let flagged = |letters: &[char], long: &str| {
        let short = |word: &&&str| word.starts_with('-') && !word.starts_with("--") && word.contains(letters);
        arguments.contains(&long) || arguments.iter().any(|word| short(&word))
    };
    match program(found) {
        "rm" if arguments.contains(&"--no-preserve-root") => Some("rm --no-preserve-root"),
        "rm" if flagged(&['r', 'R'], "--recursive") && arguments.iter().any(|path| is_everything(path)) => {
            Some("rm -r of everything")
        }
        "chmod" | "chown" | "chgrp"
            if flagged(&['R'], "--recursive") && arguments.iter().any(|path| is_everything(path)) =>
        {
            Some("changing the rights of everything")
        }
        "find"
            if arguments.first().is_some_and(|path| is_everything(path))
                && arguments.contains(&"-delete") =>
        {
            Some("find -delete of everything")
        }
        "dd" if arguments.iter().any(|word| word.strip_prefix("of=").is_some_and(is_disk)) => {
            Some("writing over a disk")
        }
        "shred" | "wipefs" | "blkdiscard" | "tee" | "cp" | "mkswap"
            if arguments.iter().any(|path| is_disk(path)) =>
        {
            Some("writing over a disk")
        }
        name if name.starts_with("mkfs") && arguments.iter().any(|path| path.starts_with("/dev/")) => {
            Some("making a file system on a device")
        }
        "kill" if arguments.contains(&"-1") && arguments.len() > 1 && arguments.last() == Some(&"-1") => {
            Some("ending every process")
        }
        "nc" | "ncat" | "netcat" if flagged(&['e', 'c'], "--exec") => Some("a shell over the network"),
        _ => None,
    }
}

/// The root, the home folder, or all that is in them.
fn is_everything(path: &str) -> bool {
    let plain = path.trim_end_matches(['*', '/', '.']);
    let trimmed = if path.starts_with('/') && plain.is_empty() { "/" } else { plain };
    WORDS.everything.contains(&trimmed)
}

fn is_disk(path: &str) -> bool {
    path.strip_prefix("/dev/").is_some_and(|name| WORDS.disks.iter().any(|disk| name.starts_with(disk)))
}

fn is_network_device(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}

/// Whether a shell or an interpreter runs what another command of the same text fetched or decoded.
fn runs_unseen(index: usize, parsed: &Parsed) -> bool {
    let found = &parsed.found[index];
    let name = program(found);
    let is_source = |other: &Found| {
        let name = program(other);
        let decodes = || {
            other
                .words
                .iter()
                .any(|w| ["-d", "-D", "--decode", "-r", "-dec", "enc"].contains(&w.text.as_str()))
        };
        WORDS.fetchers.contains(&name) || (WORDS.decoders.contains(&name) && (name == "rev" || decodes()))
    };
    if !(is_shell(name) || WORDS.runners.contains(&name)) {
        return false;
    }
    // A script that is named is run, and what comes through the pipe is only its input.
    let reads_input = found.words.iter().skip(1).all(|word| {
        word.text.starts_with('-') || WORDS.runners.contains(&word.text.as_str()) || is_shell(&word.text)
    });
    let before = &parsed.found[..index];
    let piped = before.iter().any(|other| other.pipeline == found.pipeline && is_source(other));
    let inside = parsed.found.iter().any(|other| {
        let mut at = other.parent;
        let mut steps = 0;
        while let Some(parent) = at.filter(|_| steps < parsed.found.len()) {
            if parent == index {
                return other.is_substituted && is_source(other);
            }
            at = parsed.found[parent].parent;
            steps += 1;
        }
        false
    });
    (piped && reads_input) || inside
}
