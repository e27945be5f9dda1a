//! Commits what changed in the workspace.

use std::sync::Arc;

use async_trait::async_trait;
use domain::id::AgentId;
use domain::layout;
use domain::lock::workspace::Room;
use domain::tool::{GitCommit, Seen};
use ports::tools::{Order, Outcome};

use super::{Performer, Toolbox, blocking, own, told};
use crate::beneath::Root;
use crate::git;
use crate::redact::redacted;
use crate::until::Until;

/// So much of what a commit would change is shown to a person.
const PATCH_BYTES_MAX: usize = 16 << 10;
/// How long it may take to see what a commit would change.
const LOOK_MS_MAX: u64 = 60_000;

#[async_trait]
impl Performer for GitCommit {
    async fn look(&self, toolbox: &Toolbox, agent: &AgentId, room: Room) -> Option<Seen> {
        if room != Room::Own {
            return None;
        }
        let (workspaces, folder) =
            (Arc::clone(&toolbox.workspaces), toolbox.root.path().join(room.folder(agent)));
        let root = toolbox.exact.for_agent(&room.folder(agent));
        let (agent, paths) = (agent.clone(), self.paths.clone());
        let look = move || match folder.is_dir() {
            true => {
                let place = workspaces.ensure(&agent)?;
                let paths = own::all_in_folder(&root, &room.folder(&agent), &paths)?;
                git::tools::look(&place, &paths, PATCH_BYTES_MAX, &Until::ms(LOOK_MS_MAX))
            }
            false => Err("there is no workspace yet".to_owned()),
        };
        // A yes to what cannot be shown is a yes to nothing.
        let (parts, patch) = blocking(look).await.unwrap_or_else(|why| (Vec::new(), why));
        Some(Seen { parts, patch: Some(redacted(patch)), sandbox: true, ..Seen::default() })
    }

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (workspaces, pass) = (Arc::clone(&toolbox.workspaces), toolbox.pass(&order));
        let own = layout::workspace(&order.agent);
        let folder = own.clone();
        let work = move |root: &Root| {
            let (place, until) = (workspaces.ensure(&order.agent)?, Until::ms(order.ms_max));
            pass.check()?;
            // An approval is for the changes that it showed.
            let approved = order.approved.then(|| order.seen.unwrap_or_default());
            let check = |parts| match &approved {
                Some(before) => own::check_parts(before, parts),
                None => Ok(()),
            };
            let paths = own::all_in_folder(root, &folder, &self.paths)?;
            let what = (self.message.as_str(), paths.as_slice());
            git::tools::commit(&place, &order.agent, order.ticket.effect, what, check, &until)
        };
        // Even a commit answers with the names of files.
        told(toolbox.change_exactly(&own, work).await).reading(own)
    }
}
