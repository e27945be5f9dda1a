//! How Synod prints a text in YAML: as plainly as it can, and so that reading gives exactly the same text.

use std::fmt::Write as _;

/// What stands behind `key:` for a text; `indent` is the column of the key. No line end at the end, but for
/// a block that ends in blank lines.
pub(crate) fn print(text: &str, indent: usize) -> String {
    if text.contains('\n') && is_block(text) {
        block(text, indent + 2)
    } else if is_plain(text) {
        format!(" {text}")
    } else if text.chars().all(is_printable) {
        format!(" '{}'", text.replace('\'', "''"))
    } else {
        format!(" {}", quoted(text))
    }
}

/// Always a `|` block if the text can be one at all.
pub(crate) fn print_block(text: &str, indent: usize) -> String {
    if !text.is_empty() && is_block(text) { block(text, indent + 2) } else { print(text, indent) }
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

fn block(text: &str, indent: usize) -> String {
    let body = text.trim_end_matches('\n');
    let chomp = match text.len() - body.len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    let first = text.split('\n').next().unwrap_or_default();
    // Without the number, the first line's own white space would be taken for the indent.
    let explicit = if first.is_empty() || first.starts_with([' ', '\t']) { "2" } else { "" };
    let mut out = format!(" |{explicit}{chomp}");
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            let _ = write!(out, "{:indent$}{line}", "");
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
