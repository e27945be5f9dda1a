//! Lists conversations.

use async_trait::async_trait;
use domain::tool::ListSessions;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, sessions, told};
use crate::beneath::Root;
use crate::until::Until;

#[async_trait]
impl Performer for ListSessions {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let Self { agent, status, limit } = self;
        let (which, bytes_max) = (sessions::Which { agent, status, limit }, order.output_bytes_max);
        let work = move |root: &Root, until: &Until| sessions::list_sessions(root, &which, bytes_max, until);
        told(toolbox.look_at(order.ms_max, work).await).reading(sessions::NAMES)
    }
}
