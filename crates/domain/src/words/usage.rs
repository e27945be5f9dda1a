//! What models used and what it cost. Prices are the owner's word; what has no price costs an unknown amount,
//! never nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Tokens that one answer took, whoever gave it: the same words mean the same for every provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// All that went in, what came from or went into the provider's cache included.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens_in: u64,
    /// All that came out, thinking included.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens_out: u64,
    /// The part of `tokens_in` that was read from the cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// The part of `tokens_in` that was written into the cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// The part of `tokens_out` that nobody sees: thinking.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

impl Usage {
    /// So many tokens in and out, and nothing cached.
    pub fn of(tokens_in: u64, tokens_out: u64) -> Self {
        Self { tokens_in, tokens_out, ..Self::default() }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens_in: self.tokens_in.saturating_add(other.tokens_in),
            tokens_out: self.tokens_out.saturating_add(other.tokens_out),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a million tokens cost, in millionths of the currency: 3.00 is 3 000 000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Price {
    /// Tokens in.
    pub input: u64,
    /// Tokens out.
    pub output: u64,
    /// Tokens read from the cache; as `input` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Tokens written into the cache; as `input` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
}

impl Price {
    /// What this usage costs, in millionths, rounded up.
    pub fn of(&self, usage: &Usage) -> u64 {
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        let parts = [
            (usage.tokens_in.saturating_sub(cached), self.input),
            (usage.cache_read, self.cache_read.unwrap_or(self.input)),
            (usage.cache_write, self.cache_write.unwrap_or(self.input)),
            (usage.tokens_out, self.output),
        ];
        let sum: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// What was used and spent in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Answers.
    pub replies: u64,
    /// Tokens of all of them.
    pub usage: Usage,
    /// What those with a known price cost, in millionths.
    pub cost: u64,
    /// Answers whose price is unknown.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced: u64,
}

impl Spent {
    /// Whether there was no answer at all.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// One more answer.
    pub fn add(&mut self, usage: Usage, cost: Option<u64>) {
        self.replies = self.replies.saturating_add(1);
        self.usage = self.usage.plus(usage);
        match cost {
            Some(cost) => self.cost = self.cost.saturating_add(cost),
            None => self.unpriced = self.unpriced.saturating_add(1),
        }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            replies: self.replies.saturating_add(other.replies),
            usage: self.usage.plus(other.usage),
            cost: self.cost.saturating_add(other.cost),
            unpriced: self.unpriced.saturating_add(other.unpriced),
        }
    }

    /// All of them together.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        all.into_iter().fold(Self::default(), |sum, one| sum.plus(*one))
    }

    /// The money for people: `0.0123`, `?` if nothing has a price, `0.0123 + ?` if some has none.
    pub fn money(&self) -> String {
        match (self.cost, self.unpriced) {
            (cost, 0) => money(cost),
            (_, unpriced) if unpriced == self.replies => "?".to_owned(),
            (cost, _) => format!("{} + ?", money(cost)),
        }
    }
}

/// Millionths for people, with at least two and at most six decimals.
pub fn money(millionths: u64) -> String {
    let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    let least = text.len() - 4;
    let kept = text.trim_end_matches('0').len().max(least);
    text[..kept].to_owned()
}

/// Tokens, money or both, in words.
pub fn amount(tokens: Option<u64>, millionths: Option<u64>) -> String {
    let tokens = tokens.map(|tokens| format!("{tokens} tokens"));
    let money = millionths.map(|millionths| format!("{} of money", money(millionths)));
    tokens.into_iter().chain(money).collect::<Vec<_>>().join(" and ")
}

/// What an agent spent, by the model's alias.
pub type ByModel = BTreeMap<String, Spent>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_counted_once_at_their_own_price() {
        let usage = Usage { cache_read: 600, cache_write: 100, reasoning: 20, ..Usage::of(1_000, 50) };
        let price = Price {
            input: 3_000_000,
            output: 15_000_000,
            cache_read: Some(300_000),
            cache_write: Some(3_750_000),
        };
        // 300 × 3 + 600 × 0.3 + 100 × 3.75 + 50 × 15
        assert_eq!(price.of(&usage), 900 + 180 + 375 + 750);
        let plain = Price { cache_read: None, cache_write: None, ..price };
        assert_eq!(plain.of(&usage), 3_000 + 750);
        assert_eq!(price.of(&Usage::of(0, 1)), 15);
        assert_eq!(Price { input: 1, ..Price::default() }.of(&Usage::of(1, 0)), 1, "rounded up, never free");
        assert_eq!(price.of(&Usage::of(u64::MAX, u64::MAX)), u64::MAX);
    }
    #[test]
    fn an_unknown_price_shows_as_a_question_mark() {
        let mut spent = Spent::default();
        assert_eq!(spent.money(), "0.00");
        spent.add(Usage::of(1, 1), None);
        assert_eq!(spent.money(), "?");
        spent.add(Usage::of(1, 1), Some(1_234_500));
        assert_eq!(spent.money(), "1.2345 + ?");
        assert_eq!(money(7), "0.000007");
        assert_eq!(money(12_000_000), "12.00");
    }
}
