//! An answer as it comes together, whoever gives it, and what it amounts to when it is whole.

use domain::usage::Usage;
use ports::model::{ModelError, RawCall, Reply};
use serde_json::Value;

use super::fault::{again, give_up, line};
use super::lenient;
use super::thoughts::Thought;
use crate::tokens;

/// More calls in one answer are not taken.
const CALLS_MAX: usize = 128;
/// No request and no answer has more tokens: who counts more miscounts.
const COUNT_MAX: u64 = 1_000_000_000;
/// Said to whoever reads an answer that was cut off.
const CUT_OFF: &str = "[The answer was cut off here: it reached max_tokens.]";

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It had said what it had to say, or asks for tools.
    End,
    /// It reached the longest answer.
    Length,
    /// It, or its provider, declines.
    Refusal,
}

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) refusal: String,
    /// Each call with the number that the provider gave it.
    pub(super) calls: Vec<(u64, RawCall)>,
    /// What it thought, to be handed back unchanged.
    pub(super) thinking: Vec<Thought>,
    /// What the provider counted; 0 is what it did not count.
    pub(super) usage: Usage,
    pub(super) stop: Option<Stop>,
    /// Whether anything of it came.
    pub(super) has_begun: bool,
    /// Bytes that came and are not kept: thinking, or what could not be read yet.
    pub(super) unseen: usize,
}

/// A number of tokens as a provider says it; `None` for what cannot be one.
pub(super) fn counted(value: &Value) -> Option<u64> {
    // Some servers count in fractions that are none.
    let float = || value.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=COUNT_MAX as f64).contains(n));
    value.as_u64().or_else(|| float().map(|n| n as u64)).filter(|count| *count <= COUNT_MAX)
}

impl Draft {
    /// What it took so far: what the provider counted, and where it did not, the most that went in, and the bytes that came.
    /// Budgets must hold whatever a provider says or leaves out.
    pub(super) fn took(&self, most: Usage) -> Usage {
        if !self.has_begun && self.usage == Usage::default() {
            return Usage::default();
        }
        let calls: usize = self.calls.iter().map(|(_, call)| call.name.len() + call.arguments.len()).sum();
        let unseen = tokens::of_bytes(self.unseen).min(most.tokens_out);
        let said = tokens::of_bytes(self.text.len() + self.refusal.len() + calls).saturating_add(unseen);
        let tokens_in = if self.usage.tokens_in > 0 { self.usage.tokens_in } else { most.tokens_in };
        let tokens_out = match (self.stop, self.usage.tokens_out) {
            (Some(_), counted) if counted > 0 => counted,
            // Of an answer that has not come to its end only a part is counted.
            (_, counted) => counted.max(said),
        };
        Usage { tokens_in, tokens_out, ..self.usage }
    }

    /// The provider says that something is wrong. If it says nothing else, there was no answer, and nothing is counted.
    pub(super) fn complaint(&mut self, error: ModelError) -> ModelError {
        self.has_begun &= !(self.text.is_empty() && self.calls.is_empty() && self.unseen == 0);
        error
    }

    /// The call with this number, made if it is new. A number that comes again with another id is another call:
    /// some servers give all calls of an answer the same one.
    pub(super) fn call(&mut self, number: Option<u64>, id: &str) -> Result<&mut RawCall, ModelError> {
        let same = |(n, call): &&(u64, RawCall)| {
            number.is_none_or(|number| *n == number) && (id.is_empty() || call.id.is_empty() || call.id == id)
        };
        let known = self.calls.iter().rev().position(|call| same(&call)).map(|at| self.calls.len() - 1 - at);
        let at = match known {
            Some(at) => at,
            None if self.calls.len() >= CALLS_MAX => {
                return Err(again(format!("the answer asks for more than {CALLS_MAX} tools")));
            }
            None => {
                let number = number.unwrap_or(self.calls.len() as u64);
                let call = RawCall { id: String::new(), name: String::new(), arguments: String::new() };
                self.calls.push((number, call));
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at].1;
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        Ok(call)
    }

    /// The answer, or why there is none and what it cost.
    pub(super) fn finish(self, who: &str, most: Usage) -> Result<Reply, ModelError> {
        let usage = self.took(most);
        self.whole(who, usage).map_err(|error| error.after(usage))
    }

    fn whole(self, who: &str, usage: Usage) -> Result<Reply, ModelError> {
        let Some(stop) = self.stop else {
            return Err(again(format!("{who} breaks off in the middle of its answer")));
        };
        if stop == Stop::Refusal || !self.refusal.is_empty() {
            let words = [&self.refusal, &self.text].into_iter().find(|words| !words.trim().is_empty());
            let words = words.map_or("it gives no reason".to_owned(), |words| line(words));
            return Err(give_up(format!("{who} declines to answer: {words}")));
        }
        let mut text = self.text;
        let mut calls: Vec<RawCall> = self.calls.into_iter().map(|(_, call)| call).collect();
        if calls.iter().any(|call| call.name.is_empty()) {
            return Err(again(format!("{who} asks for a tool without a name")));
        }
        match stop {
            Stop::Length if calls.is_empty() && text.trim().is_empty() => {
                return Err(give_up(format!(
                    "{who} used up max_tokens before it said anything; raise max_tokens of the agent's model"
                )));
            }
            // Half a call stays as it is: the reader of its arguments tells the model what is wrong.
            Stop::Length => {
                if !text.is_empty() {
                    text.push_str("\n\n");
                }
                text.push_str(CUT_OFF);
            }
            Stop::End => calls.iter_mut().for_each(|call| lenient::repair(&mut call.arguments)),
            Stop::Refusal => {}
        }
        Ok(Reply { text, calls, usage })
    }
}

#[cfg(test)]
mod tests {
    use ports::model::ErrorKind;

    use super::*;

    fn said(text: &str, stop: Option<Stop>) -> Draft {
        Draft { text: text.to_owned(), stop, ..Draft::default() }
    }

    #[test]
    fn an_answer_without_an_end_is_no_answer() {
        let error = said("half", None).finish("host", Usage::default()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Retry { after_ms: 0 });
        assert_eq!(said("whole", Some(Stop::End)).finish("host", Usage::default()).unwrap().text, "whole");
    }

    #[test]
    fn a_refusal_is_final_and_says_why() {
        let usage = Usage::of(20, 2);
        let refused = Draft { refusal: "no\nway".to_owned(), usage, ..said("", Some(Stop::End)) };
        let error = refused.finish("host", Usage::default()).unwrap_err();
        assert_eq!(error.usage, usage, "it is paid for");
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ErrorKind::GiveUp, "host declines to answer: no way")
        );
        let error = said("", Some(Stop::Refusal)).finish("host", Usage::default()).unwrap_err();
        assert_eq!(error.message, "host declines to answer: it gives no reason");
    }

    #[test]
    fn what_a_provider_does_not_count_is_estimated() {
        let most = Usage::of(700, 50);
        let counts = |usage| Draft { usage, has_begun: true, ..said(&"a".repeat(90), Some(Stop::End)) };
        let cut = |draft: Draft| Draft { stop: None, ..draft };
        let mut asks = counts(Usage::default());
        let call = asks.call(Some(0), "c").unwrap();
        (call.name, call.arguments) = ("abc".to_owned(), "b".repeat(57));
        for (what, draft, took) in [
            ("all is counted", counts(Usage::of(20, 2)), Usage::of(20, 2)),
            ("nothing is", counts(Usage::default()), Usage::of(700, 30)),
            ("calls count too", asks, Usage::of(700, 50)),
            ("only what went in", counts(Usage::of(20, 0)), Usage::of(20, 30)),
            ("cut off, and counted as far as it came", cut(counts(Usage::of(20, 1))), Usage::of(20, 30)),
            ("cut off, and counted further", cut(counts(Usage::of(20, 40))), Usage::of(20, 40)),
            ("thinking", Draft { unseen: 30, ..counts(Usage::default()) }, Usage::of(700, 40)),
            (
                "what cannot be read is no more than was asked for",
                Draft { unseen: 1 << 20, ..cut(counts(Usage::default())) },
                Usage::of(700, 80),
            ),
            ("only its beginning came", Draft { has_begun: true, ..Draft::default() }, Usage::of(700, 0)),
            ("nothing came", Draft::default(), Usage::default()),
        ] {
            assert_eq!(draft.took(most), took, "{what}");
        }
    }

    #[test]
    fn a_count_that_cannot_be_is_none() {
        for (said, count) in [
            ("7", Some(7)),
            ("7.0", Some(7)),
            ("0", Some(0)),
            ("-300", None),
            ("1e300", None),
            ("7.5", None),
            ("18446744073709551615", None),
            ("\"7\"", None),
            ("null", None),
        ] {
            assert_eq!(counted(&serde_json::from_str(said).unwrap()), count, "{said}");
        }
    }

    #[test]
    fn an_answer_that_was_cut_off_says_so() {
        assert_eq!(
            said("a", Some(Stop::Length)).finish("host", Usage::default()).unwrap().text,
            format!("a\n\n{CUT_OFF}")
        );
        let error = said("", Some(Stop::Length)).finish("host", Usage::default()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::GiveUp);
        assert!(error.message.contains("raise max_tokens"));
        let mut half = said("", Some(Stop::Length));
        let call = half.call(Some(0), "c").unwrap();
        call.name = "write_file".to_owned();
        call.arguments = r#"{"path":"a","content":"b""#.to_owned();
        let reply = half.finish("host", Usage::default()).unwrap();
        assert_eq!(reply.calls[0].arguments, r#"{"path":"a","content":"b""#, "never completed by guessing");
    }

    #[test]
    fn calls_are_told_apart_by_number_and_by_id() {
        let mut draft = Draft::default();
        for (number, id, piece) in [
            (Some(0), "a", "1"),
            (Some(0), "", "2"),
            (Some(1), "b", "3"),
            (Some(1), "c", "4"),
            (None, "", "5"),
        ] {
            draft.call(number, id).unwrap().arguments.push_str(piece);
        }
        let calls: Vec<_> = draft.calls.iter().map(|(_, c)| (c.id.as_str(), c.arguments.as_str())).collect();
        assert_eq!(calls, [("a", "12"), ("b", "3"), ("c", "45")]);
        let many = (0..200).find_map(|n| Draft::call(&mut draft, Some(n + 10), "x").err());
        assert!(many.is_some(), "calls are bounded");
    }
}
