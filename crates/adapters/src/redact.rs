//! Redaction with what this process knows: beside what looks like a credential, the very keys that it was given.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use domain::redact::redact_known;

/// Keys that are remembered; more than a home has providers.
const KNOWN_MAX: usize = 64;

/// So much more than what is shown is read before a text is redacted and cut: no credential is longer.
pub const SLACK_BYTES: usize = 16 << 10;

/// The keys that this process loaded. One list for the process: a key must not get through because somebody was not
/// handed the list.
static KNOWN: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Remembers a key, so that it is never passed on, whatever it looks like.
pub fn know(secret: &str) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if !secret.trim().is_empty() && !known.iter().any(|k| k == secret) {
        if known.len() >= KNOWN_MAX {
            known.remove(0);
        }
        known.push(secret.to_owned());
    }
}

/// The text without credentials.
pub fn redact(text: &str) -> Cow<'_, str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    redact_known(text, &known)
}

/// The same for a text that is owned; costs nothing if there is nothing to redact.
pub fn redacted(text: String) -> String {
    match redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => clean,
    }
}

/// The beginning of a text without credentials. Redacted first, so that no half of one is left by the cut.
pub fn brief(text: &str, bytes_max: usize) -> String {
    let clean = redact(text);
    if clean.len() <= bytes_max {
        return clean.into_owned();
    }
    format!("{}…", &clean[..clean.floor_char_boundary(bytes_max)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_given_is_never_passed_on() {
        know("an-ordinary-looking-word");
        assert_eq!(redact("x an-ordinary-looking-word y"), "x [redacted: known key] y");
    }

    #[test]
    fn a_cut_leaves_no_half_of_a_key() {
        let text = "aaaa password=hunter2222222222";
        for most in 0..text.len() {
            assert!(!brief(text, most).contains("hunter"), "{most}");
        }
    }
}
