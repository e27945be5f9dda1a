//! Finds text in memory.

use async_trait::async_trait;
use domain::tool::MemorySearch;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, search};

#[async_trait]
impl Performer for MemorySearch {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let Self { query, limit } = self;
        toolbox.search(&order, search::Wanted { query, place: search::Place::Memory, limit }).await
    }
}
