//! Brings what others merged into the branch.

use std::sync::Arc;

use async_trait::async_trait;
use domain::layout;
use domain::tool::GitUpdate;
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, told};
use crate::git;
use crate::until::Until;

#[async_trait]
impl Performer for GitUpdate {
    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (workspaces, pass) = (Arc::clone(&toolbox.workspaces), toolbox.pass(&order));
        let (agent, effect, ms_max) = (order.agent.clone(), order.ticket.effect, order.ms_max);
        let work = move |_: &_| {
            let (place, until) = (workspaces.ensure(&agent)?, Until::ms(ms_max));
            pass.check()?;
            match self.take_back {
                true => git::update::take_back(&place),
                false => git::update::update(&place, &agent, effect, &until),
            }
        };
        told(toolbox.change(work).await).reading(layout::workspace(&order.agent))
    }
}
