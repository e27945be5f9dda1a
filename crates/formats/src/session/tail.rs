//! Finding a message that was cut off while it was written.

/// How a printed message starts, and the key that only a whole one has.
const START: &str = "  - id: ";
const SECOND: &str = "    role: ";
const LAST: &str = "    timestamp: '";

/// How many bytes to keep if the last message is an incomplete write; `None` if the file is whole.
///
/// Only a message that starts the way Synod prints it (`id`, then `role`) and has no `timestamp` is cut. What a
/// person typed starts otherwise or has the time; it is kept, with or without a last line end. A file system
/// that lost power may leave zero bytes at the end; these are cut too.
pub fn torn_tail(text: &str) -> Option<usize> {
    let kept = text.trim_end_matches('\0');
    match torn_at(kept) {
        Some(at) => Some(at),
        None => (kept.len() < text.len()).then_some(kept.len()),
    }
}

fn torn_at(text: &str) -> Option<usize> {
    // Keys of the head stand in the first column; no line of a block does.
    let list =
        text.rfind("\nmessages:").map(|i| i + 1).or_else(|| text.starts_with("messages:").then_some(0))?;
    let items = list + text[list..].find('\n')? + 1;
    let torn = last_item(text, items).filter(|start| is_torn(&text[*start..]));
    torn.or_else(|| {
        let line = text.rfind('\n').map_or(0, |i| i + 1);
        let cut_start = &text[line..];
        (line >= items && !cut_start.is_empty() && START.starts_with(cut_start)).then_some(line)
    })
}

/// Whether an item starts as a printed one does and is not whole.
fn is_torn(item: &str) -> bool {
    let Some((first, rest)) = item.split_once('\n') else { return item.starts_with(START) };
    if !(first.starts_with(START) && (rest.starts_with(SECOND) || SECOND.starts_with(rest))) {
        return false;
    }
    let whole = |l: &str| {
        let time = l.strip_prefix(LAST).map(|t| t.trim_end_matches('\r'));
        time.is_some_and(|t| t.len() > 1 && t.ends_with('\''))
    };
    // Keys below the messages show that somebody wrote on.
    let key = |l: &str| !l.starts_with(' ') && !l.trim().is_empty() && !l.starts_with('#');
    !rest.lines().any(|l| whole(l) || key(l))
}

/// Where the last line at the column of the dash starts.
fn last_item(text: &str, from: usize) -> Option<usize> {
    let body = text.get(from..)?;
    match body.rfind("\n  - ") {
        Some(at) => Some(from + at + 1),
        None => body.starts_with("  - ").then_some(from),
    }
}
