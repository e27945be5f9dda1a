//! Text: patterns for names of tools and tags, and characters that a person does not see.

/// Whether `text` fits `pattern`, where `*` stands for any run of characters. Linear in `text`.
pub fn glob(pattern: &str, text: &str) -> bool {
    // Most patterns of a list differ in the first character already.
    if let (Some(expected), Some(found)) = (pattern.bytes().next(), text.bytes().next())
        && expected != found
        && expected != b'*'
    {
        return false;
    }
    let Some((head, behind)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(head) else { return false };
    let (middle, tail) = behind.rsplit_once('*').unwrap_or(("", behind));
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(tail)
}

/// A character that a person would not see in an approval, or that would show something else.
pub fn hidden_character(text: &str) -> Option<char> {
    text.chars().find(|c| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(u32::from(*c),
                0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f | 0x2028..=0x202e
                | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0xe0000..=0xe0fff)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run() {
        for (pattern, text, fits) in [
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("ops:*", "ops:", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("*", "", true),
            ("ab", "ab", true),
            ("ab", "abc", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} on {text}");
        }
    }
}
