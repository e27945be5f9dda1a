//! Calls about a review. Whoever looks at work does so in a checkout of exactly the commit that it was asked about,
//! and what Synod found out there is told beside the words, so that no model can say it. That checkout is a folder beside
//! the reviewer's workspace: its own work stays as it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::id::AgentId;
use domain::layout;
use domain::lock::workspace::Room;
use domain::review::{Finding, Review};
use domain::tool::{Act, Runs, Seen};
use ports::tools::{Order, Outcome};

use super::evidence::ENDED_WELL;
use super::{Toolbox, blocking, needs, own, perform_on, see};
use crate::git;
use crate::git::workspace::Workspace;
use crate::until::Until;

/// How long it may take to see whether a checkout is what it should be, before a command is judged.
const LOOK_MS_MAX: u64 = 60_000;

/// Two reviews of one agent share a checkout, so one looks at a time.
#[derive(Default)]
pub(super) struct Turns {
    by_agent: Mutex<BTreeMap<AgentId, Arc<tokio::sync::Mutex<()>>>>,
    merging: Arc<Mutex<()>>,
}

impl Turns {
    fn of(&self, agent: &AgentId) -> Arc<tokio::sync::Mutex<()>> {
        // The lock guards a map that is changed whole.
        let mut turns = self.by_agent.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(agent.clone()).or_default())
    }
}

/// Says where the author's branch stands.
pub(super) async fn submit(toolbox: &Toolbox, order: &Order) -> Outcome {
    let (agent, workspaces, ms_max) = (order.agent.clone(), Arc::clone(&toolbox.workspaces), order.ms_max);
    let work = move || {
        let place = workspaces.ensure(&agent)?;
        git::review::submit(&place, &Until::ms(ms_max))
    };
    let outcome = match blocking(work).await {
        Ok(place) => {
            let text = format!("{} is at {}", place.branch, place.commit);
            Outcome { finding: Some(Finding::Submitted(place)), ..Outcome::done(text) }
        }
        Err(why) => Outcome::failed(why),
    };
    outcome.reading(layout::workspace(&order.agent))
}

/// Carries out a call that is about a review.
pub(super) async fn run(toolbox: &Toolbox, order: Order, review: Review) -> Outcome {
    let Some(need) = needs(&order.act) else { return toolbox.carry_out(order).await };
    let check = match order.act.runs() {
        Runs::OwnersCommand(check) => Some(check),
        Runs::Command(_) | Runs::Nothing => None,
    };
    // Where there is nothing to run, nothing was found out.
    if let Some(check) = check {
        let (root, agent) = (Arc::clone(&toolbox.root), order.agent.clone());
        if let Err(why) = blocking(move || own::command(&root, &agent, check)).await {
            return Outcome::failed(why);
        }
    }
    let turn = toolbox.reviews.of(&order.agent);
    let _one = turn.lock().await;
    let workspace = match checkout(toolbox, &order.agent, &review, need, order.ms_max).await {
        Ok(workspace) => workspace,
        Err(_) if need == Need::Useful => return toolbox.carry_out(order).await,
        Err(why) => return Outcome::failed(why),
    };
    let (author, room) = (Room::Own.folder(&review.author), Room::Review.folder(&order.agent));
    let commit = review.place.commit.clone();
    let outcome = match toolbox.get_ready(&order).await {
        Ok(()) => perform_on(toolbox, order, review, workspace).await,
        Err(why) => Outcome::failed(why),
    };
    let passed = outcome.ok && outcome.text.starts_with(ENDED_WELL);
    let finding = check.map(|check| Finding::Checked { commit, check, passed });
    let outcome = Outcome { finding: finding.or(outcome.finding), ..outcome };
    // What was read in the checkout is the author's, and rules may name the author's workspace.
    let theirs: Vec<String> = outcome
        .read
        .iter()
        .filter(|place| place.contains(&room))
        .map(|place| place.replacen(&room, &author, 1))
        .collect();
    theirs.into_iter().fold(outcome, Outcome::reading).reading(author)
}

/// What an act of a reviewer depends on. A command is looked at where it will run, with the files that will be there.
pub(super) async fn look(toolbox: &Toolbox, review: &Review, agent: &AgentId, act: &Act) -> Option<Seen> {
    let Runs::Command(_) = act.runs() else { return see(toolbox, agent, Room::Review, act).await };
    let turn = toolbox.reviews.of(agent);
    let _one = turn.lock().await;
    match checkout(toolbox, agent, review, Need::There, LOOK_MS_MAX).await {
        Ok(_) => see(toolbox, agent, Room::Review, act).await,
        Err(why) => Some(Seen { notes: vec![why], ..Seen::default() }),
    }
}

/// What a call about a review needs of the reviewer's checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// It looks there; other files of the home can be read all the same without it.
    Useful,
    /// The commit, and perhaps what commands have left since.
    There,
    /// The commit and nothing else.
    Anew,
}

/// The reviewer's checkout of the commit that is reviewed.
async fn checkout(
    toolbox: &Toolbox,
    agent: &AgentId,
    review: &Review,
    need: Need,
    ms_max: u64,
) -> Result<Workspace, String> {
    let (own, author) = (agent.clone(), review.author.clone());
    let (workspaces, commit) = (Arc::clone(&toolbox.workspaces), review.place.commit.clone());
    blocking(move || {
        let place = workspaces.for_review(&own, &author)?;
        if need == Need::Anew || !git::review::is_at(&place, &commit) {
            git::review::check_out(&place, &commit, &Until::ms(ms_max))?;
        }
        Ok(place)
    })
    .await
}

/// Merges what a review approved.
pub(super) async fn merge(toolbox: &Toolbox, order: &Order, review: Review) -> Outcome {
    let (workspaces, agent) = (Arc::clone(&toolbox.workspaces), order.agent.clone());
    let (merging, author) = (Arc::clone(&toolbox.reviews.merging), layout::workspace(&review.author));
    let (pass, root) = (toolbox.fences.pass(&order.locks), Arc::clone(&toolbox.root));
    let work = move || {
        // The lock guards no data that a panic could leave half changed.
        let _one = merging.lock().unwrap_or_else(PoisonError::into_inner);
        let place = workspaces.for_merge(&review)?;
        pass.check()?;
        git::merge::merge(&place, root.path(), &review, &agent)
    };
    let outcome = match blocking(work).await {
        Ok((text, finding @ Finding::Conflicted { .. })) => {
            Outcome { finding: Some(finding), ..Outcome::failed(text) }
        }
        Ok((text, finding)) => Outcome { finding: Some(finding), ..Outcome::done(text) },
        Err(why) => Outcome::failed(why),
    };
    outcome.reading(author)
}
