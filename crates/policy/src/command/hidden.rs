//! What a person would miss in a command: characters that look like blanks, letters that look like other letters, and
//! parts that are pushed out of sight.

use crate::hidden_character;

/// So many blanks in a row push what follows out of sight.
const BLANKS_MAX: usize = 24;
/// So many line ends in a row likewise.
const LINES_MAX: usize = 4;

/// A character that cannot be seen or looks like a blank.
pub(super) fn character(text: &str) -> Option<char> {
    let blank = |c: &char| c.is_whitespace() && !matches!(c, ' ' | '\t' | '\n');
    hidden_character(text).or_else(|| text.chars().find(blank))
}

/// Whether a part of it is pushed out of sight.
pub(super) fn is_padded(text: &str) -> bool {
    let mut blanks = 0;
    let mut lines = 0;
    for c in text.trim().chars() {
        match c {
            '\n' => lines += 1,
            ' ' | '\t' => {}
            _ => {
                (blanks, lines) = (0, 0);
                continue;
            }
        }
        blanks += 1;
        if blanks > BLANKS_MAX || lines > LINES_MAX {
            return true;
        }
    }
    false
}

/// A letter that is made to be taken for another one.
pub(super) fn look_alike(text: &str) -> Option<char> {
    if text.is_ascii() {
        return None;
    }
    let disguised = |c: char| matches!(u32::from(c), 0xff01..=0xff5e | 0x1d400..=0x1d7ff | 0x2044 | 0x2215 | 0x29f8 | 0x37e | 0x2024 | 0xa789);
    let foreign =
        |c: char| matches!(u32::from(c), 0x370..=0x3ff | 0x400..=0x52f | 0x530..=0x58f | 0x13a0..=0x13ff);
    let dash = |c: char| matches!(u32::from(c), 0x2010..=0x2015 | 0x2212 | 0xfe58 | 0xfe63);
    for word in text.split([' ', '\t', '\n']) {
        // Quotes do not part words: `ag"о"` is one.
        let letters = || word.chars().filter(|c| !matches!(c, '"' | '\'' | '\\'));
        let mixed = letters().any(|c| c.is_ascii_alphabetic());
        let first = letters().next();
        let found = letters().find(|c| disguised(*c) || (mixed && foreign(*c)));
        if let Some(c) = found.or(first.filter(|c| dash(*c))) {
            return Some(c);
        }
    }
    None
}
