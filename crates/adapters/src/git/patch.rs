//! Changed files as text: a list of names, or a patch. Everything that a terminal would obey is spelled out.

use std::borrow::Cow;
use std::collections::BTreeMap;

use git2::{DiffOptions, Patch, Repository};

use super::changes::Changed;
use super::message::shown;
use crate::redact::redact;

/// An answer names at most this many files.
pub(super) const NAMES_MAX: usize = 50;
/// A NUL in the first bytes makes a file a binary one.
const BINARY_BYTES: usize = 8_000;

pub(super) fn line(file: &Changed) -> String {
    let how = match (&file.old, &file.new) {
        (None, _) => "added",
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "removed",
    };
    format!("{how} {}", shown(file.path.as_bytes()))
}

pub(super) fn listed(names: &[String]) -> String {
    let mut text = names.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>().join("\n");
    if names.len() > NAMES_MAX {
        text.push_str(&format!("\nand {} more", names.len() - NAMES_MAX));
    }
    text
}

/// A patch as an agent sees it, when so many files are `left` out of it.
pub(super) fn cut_patch(text: String, max: usize, left: usize) -> String {
    if text.is_empty() {
        return "nothing differs".to_owned();
    }
    if text.len() > max || left > 0 {
        let kept = domain::cut(&text, max);
        let what =
            if left > 0 { format!("{left} more files differ") } else { "the patch goes on".to_owned() };
        return format!("{kept}\n[cut: {what}; give a path]");
    }
    text
}

pub(super) fn show(repo: &Repository, file: &Changed, max: usize, text: &mut String) -> Result<(), String> {
    let failed = |error: git2::Error| format!("{}: {}", shown(file.path.as_bytes()), error.message());
    let old = match file.old {
        Some((id, _)) => repo.find_blob(id).map(|blob| blob.content().to_vec()).map_err(failed)?,
        None => Vec::new(),
    };
    let new = file.new.as_ref().map(|new| new.bytes.as_slice()).unwrap_or_default();
    text.push_str(&format!("{}\n", line(file)));
    if let (Some((_, before)), Some(now)) = (file.old, file.new.as_ref().map(|new| new.mode))
        && before != now
    {
        text.push_str(&format!("  mode {before:o} before, {now:o} now\n"));
    }
    if is_binary(&old) || is_binary(new) {
        text.push_str(&format!("  binary, {} bytes before, {} now\n", old.len(), new.len()));
        return Ok(());
    }
    let mut options = DiffOptions::new();
    options.force_text(true);
    let patch = Patch::from_buffers(&old, None, new, None, Some(&mut options)).map_err(failed)?;
    for hunk in 0..patch.num_hunks() {
        let (head, lines) = patch.hunk(hunk).map_err(failed)?;
        text.push_str(&format!(
            "@@ -{},{} +{},{} @@\n",
            head.old_start(),
            head.old_lines(),
            head.new_start(),
            head.new_lines()
        ));
        let from = text.len();
        for number in 0..lines {
            let line = patch.line_in_hunk(hunk, number).map_err(failed)?;
            match line.origin() {
                origin @ (' ' | '+' | '-') => {
                    text.push(origin);
                    push_visible(text, line.content());
                }
                _ => text.push_str("\\ no newline at the end"),
            }
            text.push('\n');
            if text.len() > max {
                mark_changed(text, from);
                return Ok(());
            }
        }
        mark_changed(text, from);
    }
    Ok(())
}

/// Marks credentials that differ between the old and the new lines of a hunk, which begins at `from`: without them, both lines
/// look the same.
fn mark_changed(text: &mut String, from: usize) {
    let hunk = text.split_off(from);
    let lines: Vec<&str> = hunk.split_inclusive('\n').collect();
    let hidden = |sign: char| -> Vec<(usize, &str, String)> {
        let of_sign =
            lines.iter().enumerate().filter_map(|(number, line)| Some((number, line.strip_prefix(sign)?)));
        let redacted = of_sign.filter_map(|(number, line)| match redact(line) {
            Cow::Owned(clean) => Some((number, line, clean)),
            Cow::Borrowed(_) => None,
        });
        redacted.collect()
    };
    let (old, new) = (hidden('-'), hidden('+'));
    let mut changed: BTreeMap<usize, &str> = BTreeMap::new();
    for (number, line, clean) in &new {
        let alike: Vec<_> = old.iter().filter(|(.., before)| before == clean).collect();
        if !alike.is_empty() && alike.iter().all(|(_, before, _)| before != line) {
            changed.insert(*number, clean);
            changed.extend(alike.iter().map(|(number, ..)| (*number, clean.as_str())));
        }
    }
    for (number, line) in lines.iter().enumerate() {
        match changed.get(&number) {
            Some(clean) => {
                text.push_str(&line[..1]);
                text.push_str(&marked(clean));
            }
            None => text.push_str(line),
        }
    }
}

/// A redacted line whose placeholders say that the credential is another one.
fn marked(clean: &str) -> String {
    let mut parts = clean.split("[redacted: ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str("[redacted: ");
        text.push_str(&part.replacen(']', ", changed]", 1));
    }
    text
}

pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_BYTES).any(|byte| *byte == 0)
}

/// A line with everything that a terminal would obey spelled out.
fn push_visible(text: &mut String, content: &[u8]) {
    for c in String::from_utf8_lossy(content).trim_end_matches('\n').chars() {
        match c {
            '\t' => text.push(c),
            _ if policy::hidden_character(&c.to_string()).is_some() || c == '\n' => {
                text.extend(c.escape_default());
            }
            _ => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked_hunk(hunk: &str) -> String {
        let mut text = format!("head\n{hunk}");
        mark_changed(&mut text, "head\n".len());
        redact(&text).into_owned()
    }

    #[test]
    fn a_changed_credential_differs_from_the_old_one_and_shows_neither() {
        let hunk = " a\n-password = hunter2hunter2\n+password = swordfish99fish\n+port = 1\n";
        assert_eq!(
            marked_hunk(hunk),
            "head\n a\n-password = [redacted: password, changed]\n+password = [redacted: password, changed]\n+port = 1\n"
        );
    }

    #[test]
    fn a_credential_that_stays_or_moves_is_not_marked() {
        let hunk = "-password = hunter2hunter2\n-a\n+a\n+password = hunter2hunter2\n";
        assert!(!marked_hunk(hunk).contains("changed"), "it moved");
        let hunk = "-password = hunter2hunter2 # old\n+password = hunter2hunter2 # new\n";
        assert!(!marked_hunk(hunk).contains("changed"), "the lines differ beside it");
    }
}
