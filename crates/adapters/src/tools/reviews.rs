//! Calls about a review. Whoever looks at work does so in a checkout of exactly the commit that it was asked about,
//! and what Synod found out there is told beside the words, so that no model can say it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::id::AgentId;
use domain::review::{Check, Finding, Review};
use domain::tool::Act;
use ports::tools::{Order, Outcome, Tools as _};

use super::evidence::ENDED_WELL;
use super::until::Until;
use super::{Toolbox, blocking, told};
use crate::git;
use crate::git::workspace::Workspace;

/// Two reviews of one agent share its checkout, so one looks at a time.
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
    outcome.reading(format!("workspaces/{}", order.agent))
}

/// Carries out a call that is about a review.
pub(super) async fn run(toolbox: &Toolbox, order: Order, review: Review) -> Outcome {
    let check = match &order.act {
        Act::MergeBranch { .. } => return merge(toolbox, &order, review).await,
        Act::RunTests {} => Some(Check::Test),
        Act::Lint {} => Some(Check::Lint),
        _ => None,
    };
    let plain = Order { review: None, ..order };
    let looks = matches!(
        plain.act,
        Act::GitDiff { .. } | Act::ReadFile { .. } | Act::ListDirectory { .. } | Act::SearchFiles { .. }
    );
    if check.is_none() && !looks {
        return toolbox.run(plain).await;
    }
    let turn = toolbox.reviews.of(&plain.agent);
    let _one = turn.lock().await;
    let workspace = match checkout(toolbox, &plain, &review, check.is_some()).await {
        Ok(workspace) => workspace,
        // Other files of the home can be read all the same.
        Err(_) if !matches!(plain.act, Act::GitDiff { .. }) && check.is_none() => {
            return toolbox.run(plain).await;
        }
        Err(why) => return Outcome::failed(why),
    };
    let author = format!("workspaces/{}", review.author);
    let outcome = match (&plain.act, check) {
        (Act::GitDiff { path, .. }, _) => {
            let (place, path, max, ms) = (review.place, path.clone(), plain.output_bytes_max, plain.ms_max);
            let work = move || git::review::diff(&workspace, &place, path.as_deref(), max, &Until::ms(ms));
            told(blocking(work).await)
        }
        (_, Some(check)) => {
            let commit = review.place.commit;
            let outcome = toolbox.run(plain).await;
            let passed = outcome.ok && outcome.text.starts_with(ENDED_WELL);
            Outcome { finding: Some(Finding::Checked { commit, check, passed }), ..outcome }
        }
        (_, None) => toolbox.run(plain).await,
    };
    outcome.reading(author)
}

/// The reviewer's workspace at the commit that is reviewed; `anew` if nothing else may be in it.
async fn checkout(
    toolbox: &Toolbox,
    order: &Order,
    review: &Review,
    anew: bool,
) -> Result<Workspace, String> {
    let (own, author) = (order.agent.clone(), review.author.clone());
    let (workspaces, commit, ms_max) =
        (Arc::clone(&toolbox.workspaces), review.place.commit.clone(), order.ms_max);
    blocking(move || {
        let (mine, theirs) = (workspaces.ensure(&own)?, workspaces.ensure(&author)?);
        if own == author || !git::review::share(&mine, &theirs) {
            return Err(format!(
                "{own} and {author} do not work in the same repository: `workspace: {{repo: …}}` must be the same in both files"
            ));
        }
        if anew || !git::review::is_at(&mine, &commit) {
            git::review::check_out(&mine, &commit, &Until::ms(ms_max))?;
        }
        Ok(mine)
    })
    .await
}

async fn merge(toolbox: &Toolbox, order: &Order, review: Review) -> Outcome {
    let (workspaces, agent) = (Arc::clone(&toolbox.workspaces), order.agent.clone());
    let (merging, author) = (Arc::clone(&toolbox.reviews.merging), format!("workspaces/{}", review.author));
    let pass = toolbox.fences.pass(&order.lock);
    let work = move || {
        // The lock guards no data that a panic could leave half changed.
        let _one = merging.lock().unwrap_or_else(PoisonError::into_inner);
        let place = workspaces.ensure(&review.author)?;
        pass.check()?;
        git::merge::merge(&place, &review, &agent)
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
