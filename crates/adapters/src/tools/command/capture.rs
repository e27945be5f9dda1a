//! Keeping what a command prints: all of it up to a bound, and always its beginning and its end.

use std::collections::VecDeque;

use crate::redact::{SLACK_BYTES, redacted};

/// So much of one stream is kept whole.
pub(super) const WHOLE_BYTES_MAX: usize = 4 << 20;
/// So much of its end is kept beyond that.
const TAIL_BYTES_MAX: usize = 64 << 10;

/// One stream of a command.
#[derive(Debug, Default)]
pub(super) struct Capture {
    /// The first bytes.
    whole: Vec<u8>,
    /// The last bytes, if there were more.
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (fits, more) = bytes.split_at(bytes.len().min(WHOLE_BYTES_MAX - self.whole.len()));
        self.whole.extend_from_slice(fits);
        // Only the end of what does not fit can matter.
        let more = &more[more.len().saturating_sub(TAIL_BYTES_MAX)..];
        self.tail.extend(more);
        let over = self.tail.len().saturating_sub(TAIL_BYTES_MAX);
        self.tail.drain(..over);
    }

    /// How much was printed.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// All that was kept.
    pub(super) fn kept(&self) -> Vec<u8> {
        let mut kept = self.whole.clone();
        let missing = self.total - (self.whole.len() + self.tail.len()) as u64;
        if missing > 0 {
            kept.extend_from_slice(format!("\n[{missing} bytes were not kept]\n").as_bytes());
        }
        kept.extend(&self.tail);
        kept
    }

    /// At most about `bytes_max` of it as text: the first and the last half, and a note between them.
    pub(super) fn shown(&self, bytes_max: u64) -> String {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        if self.total <= bytes_max as u64 && self.tail.is_empty() {
            return String::from_utf8_lossy(&self.whole).into_owned();
        }
        let half = (bytes_max / 2).min(TAIL_BYTES_MAX);
        let head = half.min(self.whole.len());
        let end = half.min(self.whole.len() + self.tail.len() - head);
        let cut = self.total - (head + end) as u64;
        // Redacted before it is cut, so that the cut leaves no half of a credential.
        let first = &self.whole[..(head + SLACK_BYTES).min(self.whole.len())];
        let first = redacted(String::from_utf8_lossy(first).into_owned());
        let last = redacted(String::from_utf8_lossy(&self.last(end + SLACK_BYTES)).into_owned());
        let first = &first[..first.floor_char_boundary(head)];
        let last = &last[last.ceil_char_boundary(last.len().saturating_sub(end))..];
        format!("{first}\n[… {cut} bytes cut …]\n{last}")
    }

    /// The last bytes of what was kept, as far as they are all there.
    fn last(&self, most: usize) -> Vec<u8> {
        let gap = self.total > (self.whole.len() + self.tail.len()) as u64;
        let from_tail = self.tail.len().saturating_sub(most);
        let from_whole = if gap { 0 } else { (most - (self.tail.len() - from_tail)).min(self.whole.len()) };
        let whole = &self.whole[self.whole.len() - from_whole..];
        whole.iter().chain(self.tail.iter().skip(from_tail)).copied().collect()
    }

    /// Whether [`Capture::shown`] leaves something out.
    pub(super) fn is_cut(&self, bytes_max: u64) -> bool {
        self.total > bytes_max || !self.tail.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept() {
        let mut capture = Capture::default();
        for part in ["one ", "two ", "three ", "four"] {
            capture.push(part.as_bytes());
        }
        assert_eq!(capture.shown(18), "one two three four");
        assert_eq!(capture.shown(8), "one \n[… 10 bytes cut …]\nfour");
        assert!(capture.is_cut(8) && !capture.is_cut(18));
    }

    #[test]
    fn a_flood_takes_bounded_memory() {
        let mut capture = Capture::default();
        let chunk = vec![b'x'; 100_000];
        for _ in 0..100 {
            capture.push(&chunk);
        }
        capture.push(b"the end");
        assert_eq!(capture.total(), 10_000_007);
        assert!(capture.kept().len() < WHOLE_BYTES_MAX + TAIL_BYTES_MAX + 100);
        assert!(capture.kept().ends_with(b"the end"));
        assert!(capture.shown(20).ends_with("xxxthe end"));
        assert!(capture.shown(u64::MAX).len() < 3 * TAIL_BYTES_MAX);
    }
}
