//! Small things about texts: cutting them, and the numbers in ids.

/// Results are kept in the state up to this size; the session has all of it.
pub const RESULT_BYTES_MAX: usize = 4096;

/// Numbers that people write from here on are words: Synod's own numbers never come so far.
const NUMBER_MAX: u32 = 1_000_000_000;

/// The number at the end of an id (`task-003` has 3); 0 if there is none.
pub(crate) fn number_in(id: &str) -> u32 {
    id.rsplit('-')
        .next()
        .and_then(|digits| digits.parse().ok())
        .filter(|number| *number < NUMBER_MAX)
        .unwrap_or(0)
}

/// The longest beginning of `text` of at most `bytes_max` bytes.
pub fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
