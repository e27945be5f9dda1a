//! Cutting output to what a session takes, and telling text from other bytes.

use crate::redact::redacted;

/// Keeps the beginning of a text and says how much was left out.
pub(crate) fn head(mut text: String, bytes_max: u64) -> String {
    let whole = text.len();
    let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    if whole <= bytes_max {
        return text;
    }
    // Redacted before it is cut, so that the cut leaves no half of a credential.
    text = redacted(text);
    if text.len() <= bytes_max {
        return text;
    }
    text.truncate(text.floor_char_boundary(bytes_max));
    let shown = text.len();
    text.push_str(&format!("\n[cut: the first {shown} of {whole} bytes]"));
    text
}

/// Takes bytes as text, without a character that was cut in two at the end; `None` if they are no text.
pub(crate) fn from_bytes(bytes: &[u8], is_cut: bool) -> Option<&str> {
    if bytes.contains(&0) {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(e) if is_cut && e.error_len().is_none() => std::str::from_utf8(&bytes[..e.valid_up_to()]).ok(),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_falls_between_characters_and_is_noted() {
        assert_eq!(head("short".to_owned(), 5), "short");
        assert_eq!(head("äöü".to_owned(), 3), "ä\n[cut: the first 2 of 6 bytes]");
        assert_eq!(head("abc".to_owned(), 0), "\n[cut: the first 0 of 3 bytes]");
    }

    #[test]
    fn a_text_that_fits_once_it_is_redacted_is_not_noted_as_cut() {
        let text = "key sk-ant-api03-Zz19Yy28Xx37Ww46Vv55Uu64".to_owned();
        assert_eq!(head(text, 30), "key [redacted: Anthropic key]");
    }

    #[test]
    fn only_utf8_without_nul_is_text() {
        assert_eq!(from_bytes("ä".as_bytes(), false), Some("ä"));
        assert_eq!(from_bytes(&"aä".as_bytes()[..2], true), Some("a"));
        assert_eq!(from_bytes(&"aä".as_bytes()[..2], false), None);
        assert_eq!(from_bytes(b"a\0b", false), None);
        assert_eq!(from_bytes(b"\xff\xfe", true), None);
    }
}
