//! Reads a shared context, as far as a grant goes.

use async_trait::async_trait;
use domain::tool::ContextGet;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox};

#[async_trait]
impl Performer for ContextGet {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        toolbox.context_get(order, self.context, self.field).await
    }
}
