//! Paths that a command names: whether they leave the workspace, hold credentials or are control files of the home.
//! The spelling alone decides; the runner resolves them again, by file handles.

use super::finding::{Finding, ask, deny, rule};
use super::table::WORDS;
use crate::path;
use crate::{Risk, glob};

/// How a command spells the home's `memory/`: from its workspace, `workspaces/<agent>/`.
const MEMORY: &str = "../../memory";

/// Findings about reading this path.
pub(super) fn findings(path: &str, is_glob: bool) -> Vec<Finding> {
    if path == "/dev/null" || path == "-" {
        return Vec::new();
    }
    let mut found = closed(secret(path), control(path));
    if !found.is_empty() {
        return found;
    }
    found.extend(outside(path));
    if is_glob && may_match_secret(path) {
        found.push(ask(Risk::High, rule::MAYBE_SECRET, format!("may name credentials: {path}")));
    }
    if ends_with(&path::folded(path), ".git/config") {
        found.push(ask(Risk::Medium, rule::MAYBE_SECRET, format!("may hold credentials: {path}")));
    }
    found
}

/// Denials of a path that names credentials, a control file, or both.
pub(super) fn closed(secret: Option<&str>, control: Option<&str>) -> Vec<Finding> {
    let secret = secret.map(|path| deny(rule::SECRET, format!("credentials: {path}")));
    let control = control.map(|path| deny(rule::CONTROL, format!("control file of the home: {path}")));
    secret.into_iter().chain(control).collect()
}

/// The finding about a path that is not beneath the workspace.
pub(super) fn outside(path: &str) -> Option<Finding> {
    let device =
        ["/proc", "/dev", "/sys"].iter().any(|root| path == *root || path.starts_with(&format!("{root}/")));
    if device {
        return Some(ask(Risk::High, rule::OUTSIDE, format!("reads the system itself: {path}")));
    }
    if is_memory(path) {
        return None;
    }
    let leaves = path.starts_with('/') || path.starts_with('~') || path.split('/').any(|part| part == "..");
    if leaves || path.contains('\\') {
        return Some(ask(Risk::Medium, rule::OUTSIDE, format!("leaves the workspace: {path}")));
    }
    None
}

/// Whether a path leads from a workspace into the home's `memory/`, which commands see read-only.
fn is_memory(path: &str) -> bool {
    let inside = path.strip_prefix(MEMORY).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    inside.is_some_and(|rest| !rest.contains('\\') && !rest.split('/').any(|part| part == ".."))
}

/// The path, if it names credentials.
pub(super) fn secret(path: &str) -> Option<&str> {
    let folded = path::folded(path);
    is_secret(&folded).then_some(path)
}

/// The same for a word of which it is not known whether it is a path: plain words such as `secrets` are not.
pub(super) fn secret_word(word: &str) -> Option<&str> {
    let path = word.split_once('=').map_or(word, |(_, value)| value);
    let path = path.rsplit_once(':').map_or(path, |(_, path)| path);
    let path = path.trim_start_matches('@');
    let looks_like_path = path.contains(['/', '.', '~']) || path.starts_with("id_");
    (looks_like_path && !path.contains(char::is_whitespace)).then(|| secret(path)).flatten()
}

fn is_secret(folded: &str) -> bool {
    let Some(last) = last_of(folded) else { return false };
    if path::parts(folded).any(|part| WORDS.secret_folders.contains(&part)) {
        return true;
    }
    if WORDS.example_ends.iter().any(|end| last.ends_with(end)) {
        return false;
    }
    if ends_as(folded, last, &WORDS.secret_names) {
        return true;
    }
    match last.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => {
            WORDS.secret_words.contains(&stem) && WORDS.data_extensions.contains(&extension)
        }
        // `/etc/passwd` holds none; it is only outside.
        _ => WORDS.secret_words.contains(&last) && !matches!(last, "passwd" | "password" | "token"),
    }
}

/// Whether a glob aims at credentials rather than at files in general.
fn may_match_secret(pattern: &str) -> bool {
    let folded = path::folded(pattern);
    let parts = folded.split('/').filter(|part| part.contains(['*', '?', '[']));
    parts.into_iter().any(|part| {
        let letters = part.chars().filter(|c| c.is_alphanumeric()).count();
        let telling = part.starts_with('.') || letters >= 2;
        // A bracket stands for one letter, so that no spelling of it is missed.
        telling && WORDS.secret_samples.iter().any(|name| glob_matches(part, name))
    })
}

/// Whether a glob with `*`, `?` and brackets could match a name; a bracket is taken to match any letter.
fn glob_matches(pattern: &str, name: &str) -> bool {
    let mut simple = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '[' => {
                chars.by_ref().skip(1).find(|c| *c == ']');
                simple.push('?');
            }
            c => simple.push(c),
        }
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (simple.chars().collect(), name.chars().collect());
    // Row by row: which beginnings of the name the pattern so far can stand for.
    let mut row = vec![false; name.len() + 1];
    row[0] = true;
    for p in pattern {
        let mut next = vec![false; name.len() + 1];
        next[0] = p == '*' && row[0];
        for i in 0..name.len() {
            next[i + 1] = match p {
                '*' => row[i + 1] || next[i],
                '?' => row[i],
                c => row[i] && c == name[i],
            };
        }
        row = next;
    }
    row[name.len()]
}

/// The path, if it names a control file of the home.
pub(super) fn control(path: &str) -> Option<&str> {
    let folded = path::folded(path);
    let named = ends_as(&folded, last_of(&folded)?, &WORDS.control_names);
    let climbs = path.split('/').any(|part| part == "..");
    let folder = climbs && path::parts(&folded).any(|part| path::CONTROL.contains(&part));
    (named || folder || path::parts(&folded).any(|part| part == ".synod")).then_some(path)
}

/// The last part of a folded path.
fn last_of(folded: &str) -> Option<&str> {
    path::parts(folded).filter(|part| !part.is_empty()).last()
}

/// Whether a folded path ends as one of these names says: by its last part, or by its last two.
fn ends_as(folded: &str, last: &str, names: &[&str]) -> bool {
    let parts: Vec<&str> = path::parts(folded).filter(|part| !part.is_empty()).collect();
    let two = parts[parts.len().saturating_sub(2)..].join("/");
    names.iter().any(|name| glob(name, if name.contains('/') { &two } else { last }))
}

/// Whether a path is in a folder whose files git runs.
pub(super) fn runs_git(path: &str) -> bool {
    let folded = path::folded(path);
    path::parts(&folded).any(|part| path::CONTROL_ANYWHERE.contains(&part))
}

fn ends_with(path: &str, end: &str) -> bool {
    path == end || path.ends_with(&format!("/{end}"))
}
