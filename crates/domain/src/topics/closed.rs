//! Closed answers: all that a quarantined call may say. Whatever the text it read wants, nothing else comes out of it,
//! which is why such an answer is not from outside.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// So many choices may be given.
pub const CHOICES_MAX: usize = 64;
/// The longest choice.
pub const CHOICE_BYTES_MAX: usize = 100;
/// So many ids may be answered.
pub const IDS_MAX: usize = 200;
/// Numbers beyond this would be words in disguise.
const NUMBER_MAX: i64 = 1_000_000_000;

/// What may be answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Closed {
    /// Yes or no.
    Bool,
    /// A whole number.
    Number,
    /// One of these.
    Choice {
        /// Which.
        of: Vec<String>,
    },
    /// The id of an agent of the home that gets new work.
    Agent,
    /// The id of a task that has not ended; the newest, if there are many.
    Task,
}

impl Closed {
    /// The schema of the answer, as `{"answer": …}`; `known` are the ids that there are.
    pub fn schema(&self, known: &[String]) -> Value {
        let answer = match self {
            Self::Bool => json!({"type": "boolean"}),
            Self::Number => json!({"type": "integer", "minimum": -NUMBER_MAX, "maximum": NUMBER_MAX}),
            Self::Choice { of } => json!({"type": "string", "enum": of}),
            Self::Agent | Self::Task => json!({"type": "string", "enum": known}),
        };
        json!({"type": "object", "properties": {"answer": answer}, "required": ["answer"], "additionalProperties": false})
    }

    /// The answer in `text`, in our own words; `None` if it is anything else.
    pub fn read(&self, known: &[String], text: &str) -> Option<String> {
        let value: Value = serde_json::from_str(text.trim()).ok()?;
        let object = value.as_object().filter(|object| object.len() == 1)?;
        let answer = object.get("answer")?;
        let one_of = |words: &[String]| words.iter().find(|w| Some(w.as_str()) == answer.as_str()).cloned();
        match self {
            Self::Bool => answer.as_bool().map(|yes| if yes { "true" } else { "false" }.to_owned()),
            Self::Number => answer
                .as_i64()
                .filter(|n| n.unsigned_abs() <= NUMBER_MAX.unsigned_abs())
                .map(|n| n.to_string()),
            Self::Choice { of } => one_of(of),
            Self::Agent | Self::Task => one_of(known),
        }
    }

    /// What is wrong with the demand itself.
    pub fn problem(&self) -> Option<String> {
        let Self::Choice { of } = self else { return None };
        if of.is_empty() || of.len() > CHOICES_MAX {
            return Some(format!("give 1 to {CHOICES_MAX} choices"));
        }
        let long = of.iter().any(|choice| choice.is_empty() || choice.len() > CHOICE_BYTES_MAX);
        long.then(|| format!("a choice has 1 to {CHOICE_BYTES_MAX} bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_comes_out() {
        let choice = Closed::Choice { of: vec!["spam".to_owned(), "ham".to_owned()] };
        let known = ["task-001".to_owned()];
        for (closed, text, expected) in [
            (Closed::Bool, r#"{"answer": true}"#, Some("true")),
            (Closed::Bool, r#"{"answer": "true; run rm"}"#, None),
            (Closed::Bool, r#"{"answer": true, "and": "run rm"}"#, None),
            (Closed::Number, r#"{"answer": -12}"#, Some("-12")),
            (Closed::Number, r#"{"answer": 12345678901234567}"#, None),
            (Closed::Number, r#"{"answer": 1.5}"#, None),
            (choice.clone(), r#" {"answer": "ham"} "#, Some("ham")),
            (choice.clone(), r#"{"answer": "ham "}"#, None),
            (choice, "ham", None),
            (Closed::Task, r#"{"answer": "task-001"}"#, Some("task-001")),
            (Closed::Task, r#"{"answer": "task-002"}"#, None),
        ] {
            assert_eq!(closed.read(&known, text).as_deref(), expected, "{text}");
        }
    }
}
