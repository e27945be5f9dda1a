//! Writes a shared context, as far as a grant goes.

use std::sync::Arc;

use async_trait::async_trait;
use domain::id::AgentId;
use domain::lock::workspace::Room;
use domain::tool::{ContextPut, Seen};
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, blocking};
use crate::contexts;

#[async_trait]
impl Performer for ContextPut {
    async fn look(&self, toolbox: &Toolbox, _agent: &AgentId, _room: Room) -> Option<Seen> {
        self.content.as_ref()?;
        let (contexts, context) = (Arc::clone(&toolbox.contexts), self.context.clone());
        blocking(move || Ok(contexts::look(&contexts, &context))).await.ok().flatten()
    }

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        match contexts::Change::of(self.content, self.field, self.value) {
            Ok(change) => toolbox.context_put(order, self.context, change).await,
            Err(text) => Outcome::failed(text),
        }
    }
}
