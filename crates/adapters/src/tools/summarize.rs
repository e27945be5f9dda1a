//! A model answers this; see `crate::summarize`.

use async_trait::async_trait;
use domain::tool::Summarize;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox};

#[async_trait]
impl Performer for Summarize {
    async fn perform(self, _toolbox: &Toolbox, _order: Order) -> Outcome {
        Outcome::failed("summarize is answered by a model")
    }
}
