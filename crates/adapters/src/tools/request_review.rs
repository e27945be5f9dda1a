//! Says where the branch is that is to be reviewed.

use async_trait::async_trait;
use domain::tool::RequestReview;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, reviews};

#[async_trait]
impl Performer for RequestReview {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        reviews::submit(toolbox, &order).await
    }
}
