//! The tool `read_session`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Examples, Tool, Words};
use crate::topics::role::Permission;
use crate::words::id::SessionId;
use policy::Nature;

/// Read a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadSession {
    /// Such as planner-001-0a1b2c
    #[schemars(with = "String", length(min = 1, max = 100))]
    pub session: SessionId,
    /// 20 if left out
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub last: Option<u32>,
}

impl Tool for ReadSession {
    const NAME: &'static str = "read_session";
    const DESCRIPTION: &'static str = "Read the newest messages of a conversation.";
    const NEEDS: Option<Permission> = Some(Permission::ReadFiles);
    const NATURE: Nature = Nature::Read;

    fn words(&self) -> Words {
        Words::same(format!("read the session {}", self.session))
    }

    fn examples(at: &Examples<'_>) -> Vec<(String, Self)> {
        at.anything(Self { session: SessionId::new(format!("{}-000000", at.agent)), last: None })
    }
}
