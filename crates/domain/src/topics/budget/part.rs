//! What a meter counts for. Meters are looked up with every answer of a model, so a part is found by what it is; the name that
//! people read is made of it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

use super::{Payer, Window};
use crate::words::id::AgentId;

const OF_RUN: &str = "budgets.run of ";

/// A node of the tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// `budgets.day`
    Day,
    /// `budgets.month`
    Month,
    /// `budgets.agents.<agent>.day`
    AgentDay(AgentId),
    /// `budgets.agents.<agent>.month`
    AgentMonth(AgentId),
    /// `budgets.run of <run>`
    Run(SmolStr),
    /// `providers.<provider>.limits`
    Provider(SmolStr),
}

impl Part {
    /// All that a call of this payer counts in.
    pub(super) fn all_of(payer: &Payer) -> impl Iterator<Item = Self> {
        let agents = [&payer.agent].into_iter().chain(&payer.makers);
        let shares =
            agents.flat_map(|agent| [Self::AgentDay(agent.clone()), Self::AgentMonth(agent.clone())]);
        let provider = payer.provider.as_ref().map(|provider| Self::Provider(provider.into()));
        [Self::Day, Self::Month].into_iter().chain(shares).chain([Self::of_run(&payer.run)]).chain(provider)
    }

    pub(crate) fn of_run(run: &str) -> Self {
        Self::Run(run.into())
    }

    /// How long it counts, whether or not the settings have a cap for it.
    pub(super) fn window(&self) -> Window {
        match self {
            Self::Day | Self::AgentDay(_) => Window::Day,
            Self::Month | Self::AgentMonth(_) => Window::Month,
            Self::Run(_) => Window::Ever,
            Self::Provider(_) => Window::Minute,
        }
    }

    /// The part with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        if let Some(run) = name.strip_prefix(OF_RUN) {
            return Some(Self::of_run(run));
        }
        if let Some(provider) = name.strip_prefix("providers.") {
            return Some(Self::Provider(provider.strip_suffix(".limits")?.into()));
        }
        match name.strip_prefix("budgets.")? {
            "day" => Some(Self::Day),
            "month" => Some(Self::Month),
            share => match share.strip_prefix("agents.")?.rsplit_once('.')? {
                (agent, "day") => Some(Self::AgentDay(AgentId::new(agent))),
                (agent, "month") => Some(Self::AgentMonth(AgentId::new(agent))),
                _ => None,
            },
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day => f.write_str("budgets.day"),
            Self::Month => f.write_str("budgets.month"),
            Self::AgentDay(agent) => write!(f, "budgets.agents.{agent}.day"),
            Self::AgentMonth(agent) => write!(f, "budgets.agents.{agent}.month"),
            Self::Run(run) => write!(f, "{OF_RUN}{run}"),
            Self::Provider(provider) => write!(f, "providers.{provider}.limits"),
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| serde::de::Error::custom(format!("{name:?} is not a budget")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_by_its_name() {
        let (agent, run) = (AgentId::new("a.b"), SmolStr::new("task-001"));
        let all = [
            Part::Day,
            Part::Month,
            Part::AgentDay(agent.clone()),
            Part::AgentMonth(agent),
            Part::Run(run.clone()),
            Part::Provider(run),
        ];
        for part in all {
            assert_eq!(Part::named(&part.to_string()), Some(part));
        }
        for name in
            ["", "budgets", "budgets.year", "budgets.agents.a", "budgets.agents.a.year", "providers.x"]
        {
            assert_eq!(Part::named(name), None, "{name}");
        }
    }
}
