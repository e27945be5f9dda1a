//! How the parts of a task are printed, so that reading them gives the same back.

use super::head::Head;
use super::line;
use super::parse::unquote;
use crate::diagnostic::Notes;

/// A title as one line: what reads as the same title again.
pub(super) fn one_line(title: &str) -> String {
    let words = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    words.trim().to_owned()
}

/// A title in quotes, or in backticks where that needs no escapes.
pub(super) fn title(title: &str, old: &str) -> String {
    let plain_quotes = !title.contains(['"', '\\']);
    let plain_ticks = !title.contains('`') && !title.is_empty();
    let bare = !old.is_empty() && !old.starts_with(['"', '`']);
    if bare && is_bare(title) {
        title.to_owned()
    } else if plain_ticks && (old.starts_with('`') || !plain_quotes) {
        format!("`{title}`")
    } else {
        format!("\"{}\"", title.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// Whether a title reads as itself without quotes, whatever tokens stand before it.
pub(super) fn is_bare(title: &str) -> bool {
    let mut chars = title.chars();
    let letter = chars.next().is_some_and(|c| c.is_ascii_uppercase())
        && !chars.next().is_some_and(char::is_alphanumeric);
    if title.is_empty() || letter {
        return false;
    }
    let mut head = Head::default();
    let mut notes = Notes::new("", title);
    head.read(title, 0, &mut notes, 0);
    head.title == title && head.title_span == (0..title.len())
}

/// A tag without what a tag cannot have.
pub(super) fn tag(tag: &str) -> String {
    tag.trim_start_matches('#').chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect()
}

/// A property's value: all line ends are one kind, and blank lines at the end are not kept.
pub(super) fn normal(value: &str) -> String {
    let value = value.replace("\r\n", "\n").replace('\r', "\n");
    let Some(last) = value.rfind('\n') else { return value };
    if value.trim().is_empty() {
        return String::new();
    }
    if value[last..].trim().is_empty() {
        let kept = value.trim_end().len();
        // The white space behind the last word is kept, the lines behind it are not.
        let line_end = value[kept..].find('\n').map_or(value.len(), |i| kept + i);
        return value[..line_end].to_owned();
    }
    value
}

/// What stands behind the colon of a property; `prefix` is what stands before its key.
pub(super) fn value(value: &str, prefix: &str, newline: &str) -> String {
    let value = normal(value);
    if !value.contains('\n') {
        let trimmed = value.trim_matches([' ', '\t']) == value;
        let plain = trimmed && !value.is_empty() && unquote(&value) == value && line::block(&value).is_none();
        return if plain { format!(" {value}") } else { format!(" \"{value}\"") };
    }
    let blank: String = prefix.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let first = value.split('\n').find(|l| !l.trim().is_empty()).unwrap_or_default();
    let mut out = String::from(if first.starts_with([' ', '\t', '\u{a0}']) { " |2" } else { " |" });
    for line in value.split('\n') {
        out.push_str(newline);
        if !line.is_empty() {
            out.push_str(&blank);
            out.push_str("  ");
            out.push_str(line);
        }
    }
    out
}
