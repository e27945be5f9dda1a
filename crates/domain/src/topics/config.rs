//! The settings and the command policy, and what work goes by that began before they changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::topics::settings::Settings;
use policy::Policy;

/// What the owner decided: the settings and the command policy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// `synod.yaml`.
    pub settings: Settings,
    /// How often it changed in what work keeps.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) edition: u32,
    /// What work goes by that began before such a change, as long as it goes on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) terms: BTreeMap<u32, Settings>,
    /// `policy/commands.yaml`.
    pub policy: Policy,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
