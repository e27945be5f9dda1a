//! How many tokens a text takes, without the model's own way of counting: an estimate from bytes with a margin, put
//! right by what the provider last counted, and by what it refused.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::id::SessionId;
use domain::session::Message;
use domain::settings::{CONTEXT_TOKENS, Settings};
use ports::model::{Request, Tool};

/// Fewer bytes than a token usually has, so that an estimate is rather too high.
pub(crate) const BYTES_PER_TOKEN: u64 = 3;
/// What a message takes beside its words.
pub(crate) const MESSAGE_TOKENS: u64 = 8;
/// A provider that counts less than this part of the estimate is not believed.
const RATIO_MIN: f64 = 0.6;
/// Nor one that counts more than this.
const RATIO_MAX: f64 = 4.0;
/// After a refusal, so much of what was sent is sent.
const SHRINK: f64 = 0.6;
/// So many sessions are remembered, then forgotten all at once.
const REMEMBERED_MAX: usize = 4096;

/// Tokens of so many bytes.
pub(crate) fn of_bytes(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

/// Tokens of a message.
pub(crate) fn of_message(message: &Message) -> u64 {
    let calls: usize = message.calls.iter().map(|c| c.want.tool().len() + c.arguments.len() + 16).sum();
    of_bytes(message.content.len() + calls) + MESSAGE_TOKENS
}

/// Tokens of tools as the model is told of them.
pub(crate) fn of_tools(tools: &[Tool]) -> u64 {
    tools.iter().map(|t| of_bytes(t.name.len() + t.description.len() + t.schema.len()) + MESSAGE_TOKENS).sum()
}

/// Tokens of all that is sent.
pub(crate) fn of_request(request: &Request) -> u64 {
    let messages: u64 = request.messages.iter().map(of_message).sum();
    of_bytes(request.system.len()) + of_tools(&request.tools) + messages
}

/// What providers taught about their windows, as long as this process lives.
#[derive(Clone, Default)]
pub struct Windows(Arc<Mutex<Learned>>);

#[derive(Default)]
struct Learned {
    /// Of each session: tokens that the provider counted, for one of the estimate.
    ratios: BTreeMap<SessionId, f64>,
    /// Of each model: more than this (by estimate) it refused.
    most: BTreeMap<String, u64>,
}

impl Windows {
    /// The tokens, by estimate, that a request of this session to a model may have, its answer included.
    pub(crate) fn of(&self, settings: &Settings, model: &str, session: &SessionId) -> u64 {
        let stated = settings.target(model).and_then(|t| t.context_tokens).unwrap_or(CONTEXT_TOKENS);
        let learned = self.learned();
        let ratio = learned.ratios.get(session).copied().unwrap_or(1.0);
        let by_estimate = (stated as f64 / ratio) as u64;
        learned.most.get(model).map_or(by_estimate, |most| by_estimate.min(*most)).max(1)
    }

    /// The tokens that the provider will count for an estimate, going by what it counted before.
    pub(crate) fn expected(&self, session: &SessionId, estimated: u64) -> u64 {
        let ratio = self.learned().ratios.get(session).copied().unwrap_or(1.0);
        (estimated as f64 * ratio).ceil() as u64
    }

    /// The provider counted so many tokens where the estimate was another.
    pub(crate) fn counted(&self, session: &SessionId, estimated: u64, tokens: u64) {
        if estimated == 0 || tokens == 0 {
            return;
        }
        let mut learned = self.learned();
        if learned.ratios.len() >= REMEMBERED_MAX {
            learned.ratios.clear();
        }
        let ratio = (tokens as f64 / estimated as f64).clamp(RATIO_MIN, RATIO_MAX);
        learned.ratios.insert(session.clone(), ratio);
    }

    /// The model refused a request of so many tokens, by estimate, as too long.
    pub(crate) fn refused(&self, model: &str, estimated: u64) {
        let mut learned = self.learned();
        let most = (estimated as f64 * SHRINK) as u64;
        let known = learned.most.entry(model.to_owned()).or_insert(most);
        *known = most.min(*known);
    }

    fn learned(&self) -> MutexGuard<'_, Learned> {
        // A panic while the lock was held leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_what_the_settings_say_put_right_by_what_was_counted_and_refused() {
        let mut settings = Settings::default();
        let target = |context_tokens| domain::settings::ModelRef {
            provider: "p".to_owned(),
            model: "large-1".to_owned(),
            context_tokens,
            max_tokens: None,
        };
        settings.models.insert("big".to_owned(), target(Some(8_000)));
        let (windows, mine, other) = (Windows::default(), SessionId::new("a-1"), SessionId::new("a-2"));
        assert_eq!(windows.of(&settings, "big", &mine), 8_000);
        assert_eq!(windows.of(&settings, "large-1", &mine), 8_000, "by the model's own name");
        assert_eq!(windows.of(&settings, "unknown", &mine), CONTEXT_TOKENS);
        windows.counted(&mine, 1_000, 2_000);
        assert_eq!(windows.of(&settings, "big", &mine), 4_000);
        assert_eq!(windows.of(&settings, "big", &other), 8_000);
        windows.counted(&mine, 1_000, 1);
        assert_eq!(windows.of(&settings, "big", &mine), 13_333, "a count that cannot be is not believed");
        windows.counted(&mine, 0, 7);
        windows.refused("big", 5_000);
        windows.refused("big", 9_000);
        assert_eq!(windows.of(&settings, "big", &mine), 3_000, "the smallest refusal counts");
    }
}
