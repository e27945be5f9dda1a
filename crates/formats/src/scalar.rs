//! How Synod prints a text in YAML: as plainly as it can, and so that reading gives exactly the same text.

use std::fmt::Write as _;

use crate::yaml::Style;

/// How far the lines of a block stand behind their key.
const INDENT: usize = 2;

/// What stands behind `key:` for a text; `indent` is the column of the key. No line end at the end, but for
/// a block that ends in blank lines.
pub(crate) fn print(text: &str, indent: usize) -> String {
    if text.contains('\n') && is_block(text) {
        block(text, indent, INDENT)
    } else {
        format!(" {}", print_inline(text, Style::Plain, Around::Lines))
    }
}

/// What a text on one line stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    /// Lines of a block: a comma is a character like others.
    Lines,
    /// Brackets or braces: a comma ends the value.
    Brackets,
}

/// A text on one line, in the quotes of `style` if it can stand in them.
pub(crate) fn print_inline(text: &str, style: Style, around: Around) -> String {
    let bare = is_plain(text) && (around == Around::Lines || !text.contains(','));
    match style {
        Style::Plain | Style::Literal | Style::Folded if bare => text.to_owned(),
        Style::Double => quoted(text),
        Style::Plain | Style::Single | Style::Literal | Style::Folded => {
            if text.chars().all(is_printable) {
                format!("'{}'", text.replace('\'', "''"))
            } else {
                quoted(text)
            }
        }
    }
}

/// Always a `|` block if the text can be one at all.
pub(crate) fn print_block(text: &str, indent: usize) -> String {
    print_block_at(text, indent, INDENT)
}

/// The same with its lines `step` columns behind the key.
pub(crate) fn print_block_at(text: &str, indent: usize, step: usize) -> String {
    if is_block(text) { block(text, indent, step) } else { print(text, indent) }
}

/// Characters that YAML shows as they are and keeps, whatever stands around them.
fn is_printable(c: char) -> bool {
    match c {
        '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
        ' '..='~' | '\t' => true,
        _ => c >= '\u{a0}',
    }
}

fn is_block(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || is_printable(c)) && !text.trim_matches(['\n', ' ', '\t']).is_empty()
}

fn block(text: &str, indent: usize, step: usize) -> String {
    let column = indent + step;
    let body = text.trim_end_matches('\n');
    let chomp = match text.len() - body.len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    let first = text.split('\n').next().unwrap_or_default();
    // Without the number, the first line's own white space would be taken for the indent.
    let explicit = first.is_empty() || first.starts_with([' ', '\t']);
    let explicit = if explicit { step.to_string() } else { String::new() };
    let mut out = format!(" |{explicit}{chomp}");
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            let _ = write!(out, "{:column$}{line}", "");
        }
    }
    for _ in 1..text.len() - body.len() {
        out.push('\n');
    }
    out
}

/// Whether a text reads as itself without quotes. Says no to more than it must.
pub(crate) fn is_plain(text: &str) -> bool {
    let first = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '/');
    let word = |c: char| c.is_alphanumeric() || " _-./,()+=@%!?;'".contains(c) || c == ':';
    let reserved = matches!(
        text.to_ascii_lowercase().as_str(),
        "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" | "nan" | "inf"
    );
    first
        && !reserved
        && text.chars().all(|c| word(c) && is_printable(c))
        && !text.contains(": ")
        && !text.ends_with([' ', ':'])
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_printable(c) => out.push(c),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if (c as u32) < 0x1_0000 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    out.push('"');
    out
}
