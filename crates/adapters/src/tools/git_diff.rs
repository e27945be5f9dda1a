//! Shows what changed in the workspace, or what is reviewed.

use std::sync::Arc;

use async_trait::async_trait;
use domain::id::AgentId;
use domain::layout;
use domain::lock::workspace::Room;
use domain::review::Review;
use domain::tool::{GitDiff, Seen};
use ports::tools::{Order, Outcome};

use super::reviews::Need;
use super::{Performer, Toolbox, blocking, own, reach};
use crate::beneath::Root;
use crate::git;
use crate::git::workspace::Workspace;
use crate::until::Until;

#[async_trait]
impl Performer for GitDiff {
    fn needs(&self) -> Option<Need> {
        Some(Need::There)
    }

    async fn look(&self, _: &Toolbox, _: &AgentId, _: Room) -> Option<Seen> {
        None
    }

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (agent, workspaces) = (order.agent.clone(), Arc::clone(&toolbox.workspaces));
        let (bytes_max, folder) = (order.output_bytes_max, order.folder());
        let work = move |root: &Root, until: &Until| {
            let place = workspaces.ensure(&agent)?;
            let path = own::in_folder(root, &folder, self.path.as_deref())?;
            let found = git::tools::diff(&place, path.as_deref(), self.against.as_deref(), bytes_max, until)?;
            own::check_named(root, &folder, path.as_deref().filter(|_| found.1.is_empty()))?;
            Ok(found)
        };
        let own = layout::workspace(&order.agent);
        let rules = reach::Rules::in_folder(&toolbox.settled.trust(), &own);
        match toolbox.look_exactly(&order, work).await {
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
        let (root, folder) = (toolbox.exact.for_agent(&order.folder()), order.folder());
        let work = move || {
            let path = own::in_folder(&root, &folder, self.path.as_deref())?;
            let found = git::review::diff(&checkout, &review.place, path.as_deref(), max, &Until::ms(ms))?;
            own::check_named(&root, &folder, path.as_deref().filter(|_| found.1.is_empty()))?;
            Ok(found)
        };
        let rules = reach::Rules::in_folder(&toolbox.settled.trust(), &author);
        match blocking(work).await {
            Ok((text, files)) => {
                rules.of_files(&author, files).into_iter().fold(Outcome::done(text), Outcome::reading)
            }
            Err(why) => Outcome::failed(why),
        }
    }
}
