//! Reads a conversation.

use async_trait::async_trait;
use domain::tool::ReadSession;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, sessions, shown};
use crate::beneath::Root;
use crate::until::Until;

#[async_trait]
impl Performer for ReadSession {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (Self { session, last }, bytes_max) = (self, order.output_bytes_max);
        let work = move |root: &Root, _: &Until| sessions::read_session(root, &session, last, bytes_max);
        shown(toolbox.look_at(order.ms_max, work).await)
    }
}
