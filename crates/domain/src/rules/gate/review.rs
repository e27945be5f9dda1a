//! Review: nobody approves their own work, only approved work is merged, a review leaves the reviewer's own workspace alone,
//! and after the last round a person is asked.

use super::{Asker, Case, Opinion, Place, may_use};
use crate::kernel::lineage;
use crate::kernel::reviews;
use crate::kernel::state::State;
use crate::kernel::workspaces;
use crate::topics::agent::Spec;
use crate::topics::lock::workspace::Room;
use crate::topics::review::{ANSWER, Check};
use crate::topics::review::{Review, Stage};
use crate::topics::role::Permission;
use crate::topics::role::Role;
use crate::topics::session::Session;
use crate::topics::tool::AboutReview;
use crate::words::id::ReviewId;
use crate::words::label::Label;
use policy::Risk;
use std::collections::BTreeSet;

pub(super) fn inspect(case: &Case<'_>) -> Opinion {
    let Some(Place { state, session, .. }) = case.place else { return Opinion::NONE };
    if let Some(review) = reviews::of_session(state, session)
        && workspaces::is_only_own(&session.agent, case.act)
    {
        let folder = Room::Review.folder(&session.agent);
        return deny(
            "a review leaves the reviewer's own work alone",
            format!("your own workspace is for your own tasks; {} is looked at in {folder}/", review.id),
        );
    }
    match case.act.reach().review {
        Some(AboutReview::Asks) => of_request(state, session),
        Some(AboutReview::Answers) => of_answer(state, session),
        Some(AboutReview::Merges(review)) => of_merge(state, review),
        None => Opinion::NONE,
    }
}

fn deny(rule: &str, advice: String) -> Opinion {
    Opinion::Deny { rule: rule.to_owned(), advice }
}

fn of_request(state: &State, session: &Session) -> Opinion {
    let most = state.config.settings.review.max_review_rounds;
    let before = state.reviews.open_of(&session.agent, session.task.as_ref());
    let Some(before) = before.filter(|before| before.round >= most && before.stage != Stage::Asked) else {
        return Opinion::NONE;
    };
    let said = format!(
        "{} was looked at {} times (review.max_review_rounds: {most}), the last answer: {}",
        before.id,
        before.round,
        outcome_of(before)
    );
    let rule = "review.max_review_rounds".to_owned();
    Opinion::Ask { rule, risk: Risk::Medium, factors: vec![said] }
}

fn of_answer(state: &State, session: &Session) -> Opinion {
    let review = session.task.as_ref().and_then(|task| state.reviews.of_task(task));
    // An agent that the author spawned says what the author wants to hear.
    let is_own = |review: &&Review| {
        review.author == session.agent || lineage::above(state, &session.agent).contains(&&review.author)
    };
    match review.filter(is_own) {
        None => Opinion::NONE,
        Some(review) => deny(
            "nobody approves their own work",
            format!("{} is your own work; somebody else must look at it", review.id),
        ),
    }
}

fn of_merge(state: &State, id: &ReviewId) -> Opinion {
    const RULE: &str = "only approved work is merged";
    let Some(review) = state.reviews.by_id.get(id) else { return deny(RULE, no_review(state, id)) };
    match &review.stage {
        // Said once more by a model that forgot: the tool finds the merge and makes no second one.
        Stage::Approved | Stage::Merged { .. } => Opinion::NONE,
        Stage::Asked | Stage::Rejected { .. } | Stage::Conflicted { .. } | Stage::Lapsed => deny(
            RULE,
            format!("{id} is {}; {} must ask for a review that ends well", told_of(review), review.author),
        ),
    }
}

fn outcome_of(review: &Review) -> String {
    match &review.stage {
        Stage::Rejected { issues } => format!("rejected: {}", issues.join("; ")),
        Stage::Conflicted { files } => format!("in conflict: {}", files.join(", ")),
        stage => stage.as_str().to_owned(),
    }
}

/// The same for any agent: what a reviewer found may not be for all of them, and stands where that is looked at.
fn told_of(review: &Review) -> String {
    match &review.stage {
        Stage::Rejected { .. } => format!("rejected ({} says why)", review.task),
        _ => outcome_of(review),
    }
}

fn no_review(state: &State, id: &ReviewId) -> String {
    let approved = state.reviews.by_id.values().filter(|r| r.stage == Stage::Approved);
    let names: Vec<String> = approved.map(|r| format!("{} ({})", r.id, r.title)).take(20).collect();
    match names.is_empty() {
        true => {
            format!("there is no review {id}, and no work is approved; its author asks by request_review")
        }
        false => format!("there is no review {id}; approved and not merged: {}", names.join(", ")),
    }
}

/// Why an agent may not look at the work of others: the gate's words about a tool that it would need.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MayNotLook(String);

/// Whether an agent may look at the work of others: it may answer, and make all the checks that must pass.
pub fn may_look(spec: &Spec, role: Option<&Role>, checks: &BTreeSet<Check>) -> Result<(), MayNotLook> {
    let label = Label::owner();
    let asker = Asker::at_rest(spec, role, &label);
    let may = |tool: &str, needs: Permission| {
        may_use(&asker, tool, Some(needs)).map_err(|(_, why)| MayNotLook(why))
    };
    may(ANSWER, Permission::ApproveWork)?;
    checks.iter().try_for_each(|check| may(check.tool(), Permission::ExecuteTools))
}
