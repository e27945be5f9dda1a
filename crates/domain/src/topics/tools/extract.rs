//! The tool `extract`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Reach, Tool, Words};
use crate::topics::closed::Closed;
use crate::topics::role::Permission;
use policy::Nature;

/// Let a model without tools answer one question about a text that is not to be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extract {
    /// The file, such as home:inbox/mail.jsonl
    #[schemars(length(min = 1, max = 4096))]
    pub path: String,
    /// One question
    #[schemars(length(min = 1, max = 2000))]
    pub question: String,
    /// All that may be answered.
    #[schemars(with = "Answer")]
    pub answer: Closed,
}

impl Tool for Extract {
    const NAME: &'static str = "extract";
    const DESCRIPTION: &'static str = "Have a model without tools read a file from outside that is not to be trusted, and answer one \
        question. Only the closed answer comes back.";
    const NEEDS: Option<Permission> = Some(Permission::ReadFiles);
    const NATURE: Nature = Nature::Read;

    fn paths(&mut self) -> Vec<&mut String> {
        vec![&mut self.path]
    }

    fn reach(&self) -> Reach<'_> {
        Reach { reads: vec![&self.path], ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::new(format!("ask about {}", self.path), format!("asked about {}", self.path))
            .about(self.question.clone())
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        let path = "inbox/mail.jsonl".to_owned();
        at.anything(Self { path, question: "a word".to_owned(), answer: Closed::Bool })
    }
}

/// The form of `Closed` that models are shown: one object, whose `of` counts for `choice` only.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
#[expect(dead_code, reason = "only its schema is used")]
struct Answer {
    /// What may be answered: yes or no, a whole number, one of `of`, the id of an agent, or of a task that has
    /// not ended
    #[schemars(extend("enum" = ["bool", "number", "choice", "agent", "task"]))]
    kind: String,
    /// For `choice`: all answers that there are
    #[schemars(length(min = 1, max = 64), inner(length(min = 1, max = 100)))]
    of: Option<Vec<String>>,
}
