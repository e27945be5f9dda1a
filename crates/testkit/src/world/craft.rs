//! What agents of the team do beyond handing work on and talking: they make and end agents, plan, look at each other's work
//! and merge it, and share contexts.

use domain::id::{AgentId, ReviewId};
use domain::plan;
use domain::review::{Check, Review, Stage};
use domain::state::{Session, State};
use domain::tool::{
    Act, ApproveWork, ContextGet, ContextPut, CreatePlan, Lint, MergeBranch, RequestReview, RunTests,
    SpawnAgent, TerminateAgent,
};

use super::choice::{TAG, anybody, pick, somebody};
use super::outside::CONTEXTS;
use super::team::{number, word};
use crate::rng::Rng;

/// Roles of agents that are spawned; there is no wizard.
pub(super) const ROLES: [&str; 5] = ["hand", "hand", "executor", "orchestrator", "wizard"];
/// Kinds of acts that are drawn here.
pub(super) const KINDS: u64 = 12;

/// One of these acts, `kind` being below `KINDS`.
pub(super) fn act(rng: &mut Rng, state: &State, session: &Session, kind: u64, words: String) -> Act {
    match kind {
        0 | 1 => Act::SpawnAgent(SpawnAgent {
            role: role(rng),
            name: None,
            goal: words,
            responsibilities: vec!["*".to_owned()],
        }),
        2 => Act::TerminateAgent(TerminateAgent { agent: doomed(rng, state, session), reason: words }),
        3..=5 => {
            let to = rng.chance(1, 2).then(|| anybody(rng, state));
            Act::RequestReview(RequestReview { summary: words, to })
        }
        6 | 7 => Act::MergeBranch(MergeBranch { review: some_review(rng, state) }),
        8 => Act::CreatePlan(CreatePlan { tasks: steps(rng, state) }),
        9 => verdict(rng),
        10 => Act::ContextPut(ContextPut {
            context: context(rng),
            content: Some(words),
            field: None,
            value: None,
        }),
        _ => Act::ContextGet(ContextGet { context: context(rng), field: None }),
    }
}

/// What somebody does who was asked to look at work.
pub(super) fn looking(rng: &mut Rng, state: &State, review: &Review) -> Act {
    let wanted = state.config.settings.review.checks.iter();
    let missing = wanted.filter(|check| !review.checks.contains_key(check)).copied().next();
    match missing.filter(|_| rng.chance(4, 5)) {
        Some(Check::Test) => Act::RunTests(RunTests {}),
        Some(Check::Lint) => Act::Lint(Lint {}),
        None => verdict(rng),
    }
}

fn verdict(rng: &mut Rng) -> Act {
    let approved = rng.chance(3, 5);
    // Now and then it is a yes with issues, or a no without.
    let issues = if approved == rng.chance(1, 12) { vec!["it is slow".to_owned()] } else { Vec::new() };
    Act::ApproveWork(ApproveWork { approved, issues })
}

pub(super) fn role(rng: &mut Rng) -> String {
    rng.pick(&ROLES).copied().unwrap_or("hand").to_owned()
}

fn context(rng: &mut Rng) -> String {
    rng.pick(&CONTEXTS).copied().unwrap_or("shared").to_owned()
}

/// An agent to be ended: mostly one that the session's own agent made.
fn doomed(rng: &mut Rng, state: &State, session: &Session) -> AgentId {
    let own = |id: &&AgentId| {
        let origin = state.team.agents.get(*id).and_then(|agent| agent.spec.spawned_by.as_ref());
        origin.and_then(|origin| origin.parent()) == Some(&session.agent)
    };
    let mine = pick(rng, state.team.agents.keys().filter(own)).cloned();
    mine.filter(|_| rng.chance(4, 5)).unwrap_or_else(|| anybody(rng, state))
}

/// A review, mostly one that can be merged.
fn some_review(rng: &mut Rng, state: &State) -> ReviewId {
    let approved = state.reviews.by_id.values().filter(|review| review.stage == Stage::Approved);
    let good = pick(rng, approved).map(|review| review.id.clone()).filter(|_| rng.chance(4, 5));
    let any = good.or_else(|| pick(rng, state.reviews.by_id.keys()).cloned());
    any.unwrap_or_else(|| ReviewId::new("review-0001"))
}

/// A plan of a few steps; now and then a wrong one.
fn steps(rng: &mut Rng, state: &State) -> Vec<plan::Step> {
    let count = 1 + number(rng, 4);
    let name = |n: u32| format!("step-{n}");
    (0..count)
        .map(|n| {
            let before = if rng.chance(1, 20) { n } else { n.saturating_sub(1) };
            let comes_after = rng.chance(2, 3) && (n > 0 || before > 0);
            plan::Step {
                id: name(n),
                title: format!("see to the {}", word(rng)),
                description: String::new(),
                tag: TAG.to_owned(),
                assignee: match rng.below(8) {
                    0 => Some(AgentId::new("human")),
                    1..=4 => Some(anybody(rng, state)),
                    _ => Some(somebody(rng)).filter(|_| rng.chance(1, 2)),
                },
                after: comes_after.then(|| name(before)).into_iter().collect(),
                priority: None,
                done_when: None,
            }
        })
        .collect()
}
