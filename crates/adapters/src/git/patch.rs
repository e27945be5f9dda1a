//! Changed files as text: a list of names, or a patch. Everything that a terminal would obey is spelled out.

use git2::{DiffOptions, Patch, Repository};

use super::changes::Changed;
use super::message::shown;

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
                return Ok(());
            }
        }
    }
    Ok(())
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
