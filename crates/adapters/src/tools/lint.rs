//! Runs the checks that the owner set.

use async_trait::async_trait;
use domain::id::AgentId;
use domain::lock::workspace::Room;
use domain::tool::{Lint, Seen, Tool as _};
use ports::tools::{Order, Outcome};

use super::reviews::Need;
use super::{Performer, Toolbox, own};

#[async_trait]
impl Performer for Lint {
    fn needs(&self) -> Option<Need> {
        Some(Need::Anew)
    }

    async fn look(&self, toolbox: &Toolbox, agent: &AgentId, room: Room) -> Option<Seen> {
        own::look_at_command(toolbox, (agent, room), self.runs()).await
    }

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        own::run(toolbox, order).await
    }
}
