//! The home as a whole: its settings, its command policy, its inbox files, and what is due.

use crate::topics::deadline::Deadline;
use crate::topics::settings::Settings;
use crate::topics::tool::foreign::Offer;
use crate::words::id::Time;
use policy::Policy;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// What happens to the home as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// A process opened the home to work in it.
    Started,
    /// `synod.yaml` says something new.
    SettingsChanged {
        /// All of it.
        settings: Box<Settings>,
    },
    /// `policy/commands.yaml` says something new.
    PolicyChanged {
        /// All of it.
        policy: Policy,
    },
    /// A foreign server offers other tools than before.
    ToolsFound {
        /// The server's name.
        server: String,
        /// All of its tools that can be called.
        tools: Vec<Offer>,
    },
    /// What was due led to nothing: what it was about is over.
    DeadlineDropped {
        /// When it was due.
        due: Time,
        /// What.
        what: Deadline,
    },
    /// A line of an inbox file was taken.
    LineTaken {
        /// `inbox/slack-messages.jsonl`
        source: String,
        /// From 1.
        line: u64,
    },
    /// Ids were given before this journal began; new ones get higher numbers.
    IdsFound {
        /// The highest number of a delegation.
        delegations: u32,
        /// The highest number of a review.
        reviews: u32,
    },
}
