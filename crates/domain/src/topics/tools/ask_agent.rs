//! The tool `ask_agent`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Listener, Reach, Tool, Words};
use crate::words::id::AgentId;

/// Ask a colleague and wait for the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskAgent {
    /// Id of the agent
    #[schemars(with = "String", regex(pattern = r"^[a-z][a-z0-9-]{0,62}$"))]
    pub to: AgentId,
    /// With all that is needed to answer it
    #[schemars(length(min = 1))]
    pub question: String,
}

impl Tool for AskAgent {
    const NAME: &'static str = "ask_agent";
    const DESCRIPTION: &'static str = "Ask a colleague and wait; the result is the answer.";
    const INSIDE: bool = true;

    fn reach(&self) -> Reach<'_> {
        Reach { listener: Some(Listener::Agent(&self.to)), ..Reach::default() }
    }

    fn words(&self) -> Words {
        Words::new(format!("ask {}", self.to), format!("asked {}", self.to)).about(self.question.clone())
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { to: at.agent.clone(), question: "a word".to_owned() })
    }
}
