//! What models thought before they asked for tools. Anthropic wants it back, unchanged, with the results of the calls.
//!
//! It is kept in memory only: it is of use until the turn ends, is signed, and may not be edited, while session files are for
//! people to read and edit. After a restart it is gone, and requests are made without it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use ports::model::RawCall;
use serde_json::Value;

/// So many bytes are kept; the oldest go first.
const BYTES_MAX: usize = 16 << 20;

/// A block of thinking, as the provider sent it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Thought {
    /// Its number in the answer, as the provider counts.
    pub(super) number: u64,
    /// So many calls of the answer stand before it.
    pub(super) behind: usize,
    pub(super) block: Value,
}

/// The thinking of answers that asked for tools, by the first call of each.
#[derive(Default)]
pub(super) struct Thoughts(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    by_call: BTreeMap<(String, String), Arc<[Thought]>>,
    /// The keys, the newest last, and how many bytes each holds.
    order: VecDeque<((String, String), usize)>,
    bytes: usize,
}

impl Thoughts {
    /// Keeps what a model thought before these calls. Other models could not read it.
    pub(super) fn keep(&self, model: &str, calls: &[RawCall], thinking: Vec<Thought>) {
        let Some(first) = calls.first().filter(|call| !call.id.is_empty() && !thinking.is_empty()) else {
            return;
        };
        let key = (model.to_owned(), first.id.clone());
        let bytes = thinking.iter().map(|thought| thought.block.to_string().len()).sum();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.by_call.insert(key.clone(), thinking.into()).is_some() {
            return;
        }
        kept.order.push_back((key, bytes));
        kept.bytes += bytes;
        while kept.bytes > BYTES_MAX
            && let Some((oldest, bytes)) = kept.order.pop_front()
        {
            kept.by_call.remove(&oldest);
            kept.bytes -= bytes;
        }
    }

    /// What this model thought in the answer with this first call.
    pub(super) fn of(&self, model: &str, call: &str) -> Option<Arc<[Thought]>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.by_call.get(&(model.to_owned(), call.to_owned())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_thoughts_go_first_and_each_belongs_to_its_model() {
        let thoughts = Thoughts::default();
        let call = |id: &str| [RawCall { id: id.to_owned(), name: String::new(), arguments: String::new() }];
        let thought = |text: String| vec![Thought { number: 0, behind: 0, block: Value::String(text) }];
        for id in ["a", "b", "c"] {
            thoughts.keep("m", &call(id), thought("x".repeat(BYTES_MAX / 2 - 8)));
        }
        let known = ["a", "b", "c"].map(|id| thoughts.of("m", id).is_some());
        assert_eq!(known, [false, true, true]);
        assert_eq!(thoughts.of("other", "c"), None);
        thoughts.keep("m", &call(""), thought("of no call".to_owned()));
        assert_eq!(thoughts.of("m", ""), None);
    }
}
