//! Merges approved work.

use async_trait::async_trait;
use domain::tool::MergeBranch;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, reviews};

#[async_trait]
impl Performer for MergeBranch {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        match order.review.clone() {
            Some(review) => reviews::merge(toolbox, &order, *review).await,
            None => Outcome::failed(format!("not merged: {} is not approved any more", self.review)),
        }
    }
}
