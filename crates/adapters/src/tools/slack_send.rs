//! Posts to Slack, through a file.

use async_trait::async_trait;
use domain::tool::SlackSend;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, slack, told};

#[async_trait]
impl Performer for SlackSend {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (at, effect) = (toolbox.clock.now(), order.ticket.effect);
        let work = move |root: &_| slack::slack_send(root, effect, at, &self.channel, &self.text);
        told(toolbox.post(work).await)
    }
}
