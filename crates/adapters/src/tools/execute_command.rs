//! Runs a command.

use std::sync::Arc;

use async_trait::async_trait;
use domain::id::AgentId;
use domain::lock::workspace::Room;
use domain::tool::{ExecuteCommand, Seen};
use ports::tools::{Order, Outcome};

use super::reviews::Need;
use super::{Performer, Toolbox, blocking, command, looked};

#[async_trait]
impl Performer for ExecuteCommand {
    fn needs(&self) -> Option<Need> {
        Some(Need::There)
    }

    async fn look(&self, toolbox: &Toolbox, agent: &AgentId, room: Room) -> Option<Seen> {
        let (root, agent, command) = (Arc::clone(&toolbox.root), agent.clone(), self.command.clone());
        let sandbox = toolbox.sandbox.clone()?;
        looked(blocking(move || command::look::look(&root, &sandbox, (&agent, room), &command)).await)
    }

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        toolbox.command(&order, &self.command, order.permit).await
    }
}
