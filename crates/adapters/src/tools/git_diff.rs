//! Shows what changed in the workspace, or what is reviewed.

use std::sync::Arc;

use async_trait::async_trait;
use domain::layout;
use domain::lock::workspace::Room;
use domain::review::Review;
use domain::tool::GitDiff;
use ports::tools::{Order, Outcome};

use super::reviews::Need;
use super::{Performer, Toolbox, blocking, reach};
use crate::beneath::Root;
use crate::git;
use crate::git::workspace::Workspace;
use crate::until::Until;

#[async_trait]
impl Performer for GitDiff {
    fn needs(&self) -> Option<Need> {
        Some(Need::There)
    }

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (agent, workspaces) = (order.agent.clone(), Arc::clone(&toolbox.workspaces));
        let bytes_max = order.output_bytes_max;
        let work = move |_: &Root, until: &Until| {
            let place = workspaces.ensure(&agent)?;
            git::tools::diff(&place, self.path.as_deref(), self.against.as_deref(), bytes_max, until)
        };
        let own = layout::workspace(&order.agent);
        let rules = reach::Rules::in_folder(&toolbox.settled.trust(), &own);
        match toolbox.look_at(order.ms_max, work).await {
            Ok((text, files)) => {
                let outcome = Outcome::done(text).reading(own.as_str());
                rules.of_files(&own, files).into_iter().fold(outcome, Outcome::reading)
            }
            Err(why) => Outcome::failed(why).reading(own),
        }
    }

    async fn perform_on(
        self,
        toolbox: &Toolbox,
        order: Order,
        review: Review,
        checkout: Workspace,
    ) -> Outcome {
        let author = Room::Own.folder(&review.author);
        let (max, ms) = (order.output_bytes_max, order.ms_max);
        let work =
            move || git::review::diff(&checkout, &review.place, self.path.as_deref(), max, &Until::ms(ms));
        let rules = reach::Rules::in_folder(&toolbox.settled.trust(), &author);
        match blocking(work).await {
            Ok((text, files)) => {
                rules.of_files(&author, files).into_iter().fold(Outcome::done(text), Outcome::reading)
            }
            Err(why) => Outcome::failed(why),
        }
    }
}
