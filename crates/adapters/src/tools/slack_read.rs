//! Reads messages that came in from Slack.

use async_trait::async_trait;
use domain::tool::SlackRead;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, slack, told};
use crate::beneath::Root;
use crate::until::Until;

#[async_trait]
impl Performer for SlackRead {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let bytes_max = order.output_bytes_max;
        let work = move |root: &Root, _: &Until| slack::slack_read(root, self.limit, bytes_max);
        told(toolbox.look_at(order.ms_max, work).await).reading(slack::MESSAGES)
    }
}
