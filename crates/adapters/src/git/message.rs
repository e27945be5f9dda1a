//! Words of commits: names, addresses, lines and trailers. Whatever comes from a model or a file is made harmless:
//! it cannot begin a new line, look like a trailer, or steer a terminal.

use super::NOWHERE;

/// The longest first line.
const SUBJECT_CHARS_MAX: usize = 100;
/// The longest line of a list.
const LINE_CHARS_MAX: usize = 160;
/// The longest message of an agent's own commit.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// The longest name of an author.
const NAME_CHARS_MAX: usize = 80;

/// One line without anything that a terminal would obey.
pub(crate) fn line(text: &str) -> String {
    cut(&flat(text), LINE_CHARS_MAX)
}

/// A first line.
pub(super) fn subject(text: &str) -> String {
    cut(&flat(text), SUBJECT_CHARS_MAX)
}

fn flat(text: &str) -> String {
    let words: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let visible: String =
        words.chars().filter(|c| policy::hidden_character(&c.to_string()).is_none()).collect();
    visible.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// A name as git takes it; `None` if nothing is left of it.
pub(super) fn name(text: &str) -> Option<String> {
    let clean: String = flat(text).chars().filter(|c| !matches!(c, '<' | '>' | '\\' | '"')).collect();
    let clean =
        cut(clean.trim_matches(|c: char| matches!(c, ' ' | '.' | ',' | ':' | ';' | '\'')), NAME_CHARS_MAX);
    (!clean.is_empty()).then_some(clean)
}

/// A mail address as git takes it.
pub(super) fn address(text: &str) -> Option<String> {
    name(text).map(|text| text.replace(' ', "-"))
}

/// An address for somebody who has none.
pub(super) fn address_of(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let local: String = name.trim_start_matches('@').chars().map(plain).collect();
    let local = local.trim_matches(['-', '.']).to_lowercase();
    format!("{}@{NOWHERE}", if local.is_empty() { "somebody" } else { &local })
}

/// A whole message of a model: no control characters, and no line that looks like one of Synod's trailers.
pub(super) fn text(given: &str) -> String {
    let given = domain::cut(given, TEXT_BYTES_MAX);
    let mut lines: Vec<String> = Vec::new();
    for line in given.lines() {
        let visible = line.trim_end().chars().map(|c| if c == '\t' { ' ' } else { c });
        let clean: String = visible.filter(|c| policy::hidden_character(&c.to_string()).is_none()).collect();
        let is_ours = clean.trim_start().to_lowercase().starts_with("synod-");
        lines.push(if is_ours { format!("> {clean}") } else { clean });
    }
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    lines[first.min(lines.len())..].join("\n").trim_end().to_owned()
}

/// The values of a trailer. Only the last paragraph has trailers.
pub(super) fn trailers<'a>(message: &'a str, key: &str) -> Vec<&'a str> {
    let last = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    last.lines()
        .filter_map(|line| line.split_once(": ").filter(|(k, _)| *k == key).map(|(_, value)| value))
        .collect()
}

/// A file name for people: what a terminal would obey is escaped.
pub(super) fn shown(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    if policy::hidden_character(&text).is_none() && !text.contains(['\n', '\t', '"', '\u{fffd}']) {
        return text.into_owned();
    }
    let escaped: String = path.escape_ascii().to_string();
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_cannot_begin_a_line_or_steer_a_terminal() {
        assert_eq!(line("a\nSynod-Task: x\r\u{1b}[31mb\u{202e}"), "a Synod-Task: x [31mb");
        assert_eq!(subject(&"x".repeat(300)).chars().count(), SUBJECT_CHARS_MAX);
    }

    #[test]
    fn a_model_cannot_write_a_trailer_of_synod() {
        let made = text("\n\nfix\n\nSynod-Effect: 7\n  synod-task: x\n");
        assert_eq!(made, "fix\n\n> Synod-Effect: 7\n>   synod-task: x");
        assert!(trailers(&made, "Synod-Effect").is_empty());
    }

    #[test]
    fn names_and_addresses_are_ones_that_git_takes() {
        for (given, expected) in
            [("Dana <x@y>\n", Some("Dana x@y")), ("@dana", Some("@dana")), (" <> ", None)]
        {
            assert_eq!(name(given).as_deref(), expected);
        }
        assert_eq!(address_of("@Dana Ünal"), "dana--nal@synod.invalid");
        assert_eq!(address_of("…"), "somebody@synod.invalid");
    }

    #[test]
    fn only_the_last_paragraph_has_trailers() {
        let message = "x\n\nSynod-Task: no\n\nSynod-Task: a\nSynod-Task: b\n";
        assert_eq!(trailers(message, "Synod-Task"), ["a", "b"]);
    }
}
