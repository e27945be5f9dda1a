//! Where lines begin and end. A lone `\r` ends a line too: YAML reads it so.

const BOM: &str = "\u{feff}";
const BREAKS: [char; 2] = ['\n', '\r'];

/// The line end of a file: that of its first line.
pub(crate) fn newline(text: &str) -> &'static str {
    if text.find('\n').is_some_and(|i| text[..i].ends_with('\r')) { "\r\n" } else { "\n" }
}

/// The first byte of the line of `at`. A byte order mark is not part of the first line.
pub(crate) fn start(text: &str, at: usize) -> usize {
    let first = if text.starts_with(BOM) { BOM.len() } else { 0 };
    text[..at].rfind(BREAKS).map_or(first, |i| i + 1).min(at)
}

/// The end of the line of `at`, in front of its line end.
pub(crate) fn end(text: &str, at: usize) -> usize {
    text[at..].find(BREAKS).map_or(text.len(), |i| at + i)
}

/// The first byte behind the line of `at`.
pub(crate) fn next(text: &str, at: usize) -> usize {
    let end = end(text, at);
    let rest = &text[end..];
    end + if rest.starts_with("\r\n") { 2 } else { usize::from(!rest.is_empty()) }
}

/// The column of `at`, from 0, in characters.
pub(crate) fn column(text: &str, at: usize) -> usize {
    text[start(text, at)..at].chars().count()
}

/// The end of the text, or the line of a YAML document end (`...`) behind `from`.
pub(crate) fn content_end(text: &str, from: usize) -> usize {
    let mut at = start(text, from);
    for line in text[at..].split_inclusive('\n') {
        if line.trim_end() == "..." && at >= from {
            return at;
        }
        at += line.len();
    }
    text.len()
}
