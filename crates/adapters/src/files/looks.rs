//! Which files are to be looked at, and when. What seems to be gone from a file is looked at twice before it is believed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use domain::layout;

use super::places::is_ours;
use super::recent::STALE_SAVE;

/// How long a file must be quiet before it is looked at.
pub const DEBOUNCE: Duration = Duration::from_millis(15);
/// How long a file that is written all the time may put that off.
const DEBOUNCE_MAX: Duration = Duration::from_millis(60);
/// How long what a person seems to have taken away must stay away before it is believed.
const CONFIRM: Duration = Duration::from_millis(300);
/// How soon a file is looked at again that could not be taken whole.
pub(super) const RETRY: Duration = Duration::from_millis(10);

/// A file to look at.
struct Look {
    first: Instant,
    due: Instant,
    forced: bool,
}

#[derive(Default)]
pub(super) struct Looks {
    looks: BTreeMap<String, Look>,
    /// The file that is looked at now and its signature, for `confirm_later`.
    current: Option<(String, Option<u64>)>,
    doubts: BTreeMap<String, Option<u64>>,
    confirmed: Option<String>,
}

impl Looks {
    /// Looks at a file when it has been quiet for a moment.
    pub(super) fn soon(&mut self, path: &str) {
        if !is_ours(path) {
            return;
        }
        let now = Instant::now();
        let look = self.looks.entry(path.to_owned()).or_insert(Look { first: now, due: now, forced: false });
        look.due =
            (now + DEBOUNCE).min(look.first + DEBOUNCE_MAX).max(look.due.min(look.first + DEBOUNCE_MAX));
    }

    /// Looks at a file again because not all of it could be taken.
    pub(super) fn again(&mut self, path: &str) {
        let now = Instant::now();
        self.looks.insert(path.to_owned(), Look { first: now, due: now + RETRY, forced: true });
    }

    /// Something seems to be gone from the file that is looked at now: look once more before believing it.
    pub(super) fn confirm_later(&mut self, path: &str) {
        let Some((_, signature)) = self.current.clone().filter(|(current, _)| current == path) else {
            return;
        };
        self.doubts.insert(path.to_owned(), signature);
        let now = Instant::now();
        self.looks.insert(path.to_owned(), Look { first: now, due: now + CONFIRM, forced: true });
    }

    /// Whether the file is as it was when something seemed to be gone from it.
    pub(super) fn is_confirmed(&self, path: &str) -> bool {
        self.confirmed.as_deref() == Some(path)
    }

    /// A file with this signature is looked at now.
    pub(super) fn begin(&mut self, path: &str, signature: Option<u64>) {
        let doubted = self.doubts.remove(path);
        self.confirmed = (doubted == Some(signature)).then(|| path.to_owned());
        self.reread(path, signature);
    }

    /// The file that is looked at now was read again.
    pub(super) fn reread(&mut self, path: &str, signature: Option<u64>) {
        self.current = Some((path.to_owned(), signature));
    }

    pub(super) fn end(&mut self) {
        self.confirmed = None;
    }

    /// The files that are due, and whether each is looked at even if it did not change.
    pub(super) fn due(&self) -> Vec<(String, bool)> {
        let now = Instant::now();
        let due = self.looks.iter().filter(|(_, look)| look.due <= now);
        due.map(|(path, look)| (path.clone(), look.forced)).collect()
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.looks.remove(path);
    }

    pub(super) fn is_pending(&self, path: &str) -> bool {
        self.looks.contains_key(path)
    }

    /// How long until the next file is due.
    pub(super) fn pause(&self) -> Option<Duration> {
        let now = Instant::now();
        self.looks.values().map(|look| look.due.saturating_duration_since(now)).min()
    }

    /// Whether something seems to be gone, or the rest of a burst of messages is still to be taken.
    pub(super) fn is_doubtful(&self) -> bool {
        let rest =
            self.looks.iter().any(|(path, look)| look.forced && layout::is_inside(path, layout::INBOX));
        rest || !self.doubts.is_empty()
    }
}

/// The window within which an old save is told from a wish must outlast the confirmation of the wish.
const _: () = assert!(STALE_SAVE.as_millis() > CONFIRM.as_millis());
