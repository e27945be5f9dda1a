//! Looks at the evidence that a task demands.

use async_trait::async_trait;
use domain::tool::Check;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, evidence};

#[async_trait]
impl Performer for Check {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        evidence::check(toolbox, order, self.evidence).await
    }
}
