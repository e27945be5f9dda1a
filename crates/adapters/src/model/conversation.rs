//! Which rule of a script answers, read from the conversation alone: so a restart gives the same answer.

use domain::session::{Message, Speaker};
use formats::script::{Rule, captures};
use policy::glob;

/// A conversation up to some message, as a model was or is asked with it.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) agent: &'a str,
    pub(super) messages: &'a [Message],
    pub(super) turn: u32,
}

/// A rule that fits, and what its pattern captured.
pub(super) struct Fit<'a> {
    pub(super) rule: usize,
    pub(super) captured: Vec<&'a str>,
}

impl<'a> Asked<'a> {
    /// What was said last; nothing at all is an empty text.
    pub(super) fn last(&self) -> &'a str {
        self.messages.last().map_or("", |message| message.content.as_str())
    }

    /// Every place of the conversation where the model has answered, oldest first.
    pub(super) fn earlier(self) -> impl Iterator<Item = Asked<'a>> {
        let answers: Vec<usize> = (0..self.messages.len())
            .filter(|at| self.messages.get(*at).is_some_and(|m| m.speaker == Speaker::Assistant))
            .collect();
        let count = answers.len();
        answers.into_iter().enumerate().map(move |(n, at)| Asked {
            agent: self.agent,
            messages: &self.messages[..at],
            turn: self.turn.saturating_sub(u32::try_from(count - n).unwrap_or(u32::MAX)),
        })
    }

    /// The first rule that fits and is not used up.
    pub(super) fn fit(&self, rules: &[Rule], is_used_up: impl Fn(usize) -> bool) -> Option<Fit<'a>> {
        rules.iter().enumerate().find_map(|(rule, given)| {
            let captured = self.captured(given)?;
            (!is_used_up(rule)).then_some(Fit { rule, captured })
        })
    }

    fn captured(&self, rule: &Rule) -> Option<Vec<&'a str>> {
        let last = self.messages.last();
        let from = last.map(|message| message.from.as_ref().map(ToString::to_string).unwrap_or_default());
        let fits = |pattern: &Option<String>, text: Option<&str>| match pattern {
            None => true,
            Some(pattern) => text.is_some_and(|text| glob(pattern, text)),
        };
        let is_fit = fits(&rule.agent, Some(self.agent))
            && rule.turn.is_none_or(|turn| turn == self.turn)
            && fits(&rule.from, from.as_deref())
            && fits(&rule.tool_result, self.last_tool());
        if !is_fit {
            return None;
        }
        rule.matches.as_ref().map_or(Some(Vec::new()), |pattern| captures(pattern, self.last()))
    }

    /// The tool whose result came last, by the call that asked for it.
    fn last_tool(&self) -> Option<&'a str> {
        let last = self.messages.last().filter(|message| message.speaker == Speaker::ToolResult)?;
        let id = last.call.as_ref()?;
        // From the end: an id that a model used twice means its last use.
        let mut calls = self.messages.iter().rev().flat_map(|message| &message.calls);
        calls.find(|call| call.id == *id).map(|call| call.want.tool())
    }
}
