//! Finds text in files.

use async_trait::async_trait;
use domain::tool::SearchFiles;
use ports::tools::{Order, Outcome};

use super::reviews::Need;
use super::{Performer, Toolbox, search};

#[async_trait]
impl Performer for SearchFiles {
    fn needs(&self) -> Option<Need> {
        Some(Need::Useful)
    }

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let usual = || search::Place::Usual(order.room().folder(&order.agent));
        let place = self.path.map_or_else(usual, search::Place::At);
        toolbox.search(&order, search::Wanted { query: self.query, place, limit: None }).await
    }
}
