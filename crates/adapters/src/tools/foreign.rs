//! Tools of foreign servers. There is no connection to such servers yet, so a call says that instead of doing something.

use async_trait::async_trait;
use domain::tool::Foreign;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox};

#[async_trait]
impl Performer for Foreign {
    async fn perform(self, _toolbox: &Toolbox, _order: Order) -> Outcome {
        let Self { server, tool, .. } = self;
        Outcome::failed(format!("{tool} was not called: there is no connection to the server {server}"))
    }
}
