//! Cutting a long text for a request. The file keeps the whole of it, and the cut says where that is.

/// Of a text that is cut, so much of what is kept is its beginning; the rest is its end.
const HEAD_PART: usize = 3;

/// The beginning and the end of a text, with what is missing and where it stands in between. About `bytes_max` long,
/// beside the note.
pub(super) fn shorten(text: &str, bytes_max: usize, place: &str) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let tail = bytes_max / (HEAD_PART + 1);
    let head = &text[..text.floor_char_boundary(bytes_max - tail)];
    let tail = &text[text.ceil_char_boundary(text.len() - tail)..];
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[{left_out} bytes are left out here; all of it stands in {place}]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_keeps_both_ends_and_says_where_the_whole_is() {
        assert_eq!(shorten("short", 5, "x"), "short");
        let text = format!("{}{}", "a".repeat(100), "z".repeat(100));
        let cut = shorten(&text, 40, "m-0001 of sessions/a.session.yaml");
        let note = "[160 bytes are left out here; all of it stands in m-0001 of sessions/a.session.yaml]";
        assert_eq!(cut, format!("{}\n{note}\n{}", "a".repeat(30), "z".repeat(10)));
        assert_eq!(shorten("äöü", 3, "x"), "ä\n[4 bytes are left out here; all of it stands in x]\n");
        assert_eq!(shorten("äöü", 0, "x"), "\n[6 bytes are left out here; all of it stands in x]\n");
    }
}
