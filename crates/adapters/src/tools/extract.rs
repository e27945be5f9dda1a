//! A model answers this; see `crate::extract`.

use async_trait::async_trait;
use domain::tool::Extract;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox};

#[async_trait]
impl Performer for Extract {
    async fn perform(self, _toolbox: &Toolbox, _order: Order) -> Outcome {
        Outcome::failed("extract is answered by a model")
    }
}
