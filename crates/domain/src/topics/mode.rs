//! `run_mode.yaml` as data: how a request is coordinated. Read and checked here, run by a later version;
//! `synod check` says so for modes other than `solo`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The five modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One agent.
    #[default]
    Solo,
    /// One agent plans and hands out.
    Orchestrator,
    /// Several answer, the most frequent answer wins.
    Voting,
    /// Fixed roles, one after the other.
    RoleLocked,
    /// A mode for each phase.
    Hybrid,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 5] = [Self::Solo, Self::Orchestrator, Self::Voting, Self::RoleLocked, Self::Hybrid];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Solo => "solo",
            Self::Orchestrator => "orchestrator",
            Self::Voting => "voting",
            Self::RoleLocked => "role_locked",
            Self::Hybrid => "hybrid",
        }
    }

    /// The mode that `word` names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.as_str() == word)
    }
}

/// `run_mode.yaml`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunMode {
    /// Which mode.
    pub mode: Mode,
    /// For `orchestrator`: who plans.
    pub orchestrator_model: Option<String>,
    /// For `orchestrator`: how deep.
    pub max_delegation_depth: u32,
    /// For `orchestrator`: who works.
    pub sub_agents: Vec<Member>,
    /// For `voting`: how many.
    pub voting_agents: u32,
    /// For `voting`: the share that is needed, 0 to 1.
    pub voting_threshold: f64,
    /// For `voting`: the model of all voters.
    pub voting_model: Option<String>,
    /// For `role_locked`: who has which role.
    pub roles: BTreeMap<String, Member>,
    /// For `role_locked`: a critic reviews each step.
    pub critic_required: bool,
    /// For `hybrid`: the mode of each phase.
    pub phases: BTreeMap<String, Mode>,
}

/// An agent as a run mode names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// Its model.
    pub model: String,
    /// What it can do.
    pub capabilities: Vec<String>,
}
