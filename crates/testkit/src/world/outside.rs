//! What is outside of Synod in the scene of the team: a repository with the branches of agents, and shared contexts with
//! their grants. Played as hands would find it: what an effect is about is looked up when it begins.

use std::collections::BTreeMap;

use domain::agent;
use domain::context::{Access, Acl, Asker, Grant, Grantee, Link};
use domain::delegation;
use domain::effect::Effect;
use domain::id::{AgentId, Ticket, Time};
use domain::review::{Check, Finding, Place, Review, of_call};
use domain::state::State;
use domain::tool::{Act, Call, ContextGet, ContextPut, Lint, ReadFile, RunTests, Want};

use super::choice::somebody;
use crate::rng::Rng;

/// The names of shared contexts; people grant nothing in the last one.
pub(super) const CONTEXTS: [&str; 4] = ["shared", "customers", "plans", "closed"];

/// The repository and the contexts.
#[derive(Debug, Default)]
pub(super) struct Outside {
    /// How often each agent committed.
    commits: BTreeMap<AgentId, u32>,
    /// What was merged, by commit, and the merge.
    merged: BTreeMap<String, String>,
    /// Grants, by context.
    grants: BTreeMap<&'static str, Acl>,
    /// What each try was begun with.
    begun: BTreeMap<Ticket, Review>,
    /// Through whose hands the work went that each look at a context is a part of. After a crash numbers are given again.
    lines: BTreeMap<(Ticket, AgentId), Vec<Link>>,
}

/// What came of a tool.
pub(super) struct Played {
    pub(super) ok: bool,
    pub(super) read: Vec<String>,
    pub(super) wrote: Vec<String>,
    pub(super) finding: Option<Finding>,
}

impl Outside {
    /// A person changes who may see what.
    pub(super) fn grant(&mut self, rng: &mut Rng, now: Time) {
        let grant = |rng: &mut Rng| Grant {
            to: match rng.below(4) {
                0 => Grantee::Role("executor".to_owned()),
                1 => Grantee::Role("hand".to_owned()),
                _ => Grantee::Agent(somebody(rng)),
            },
            access: if rng.chance(1, 2) { Access::Read } else { Access::ReadWrite },
            redact: Vec::new(),
            expires: rng.chance(1, 3).then(|| now.plus_ms(rng.below(100_000))),
        };
        for name in &CONTEXTS[..CONTEXTS.len() - 1] {
            let count = rng.below(6);
            let grants = (0..count).map(|_| grant(rng)).collect();
            self.grants.insert(name, Acl { owner: None, grants });
        }
    }

    /// A try begins: hands look up the review that it is about, and what went along with the work.
    pub(super) fn begin(&mut self, state: &State, effect: &Effect) -> Option<&Review> {
        let Effect::RunTool { ticket, session, agent, call, .. } = effect else { return None };
        if let Want::Act(Act::ContextGet(_) | Act::ContextPut(_)) = &call.want {
            self.lines.insert((*ticket, agent.clone()), delegation::line(state, session));
        }
        let review = of_call(state, session, call)?.clone();
        let review = self.begun.entry(*ticket).or_insert(review);
        matches!(&call.want, Want::Act(Act::MergeBranch(_))).then_some(&*review)
    }

    /// A tool comes to its end, well or not.
    pub(super) fn play(
        &mut self,
        rng: &mut Rng,
        now: Time,
        agent: &agent::Spec,
        (ticket, call): (Ticket, &Call),
        ok: bool,
    ) -> Played {
        let nothing = Played { ok, read: Vec::new(), wrote: Vec::new(), finding: None };
        let Want::Act(act) = &call.want else { return nothing };
        let review = self.begun.get(&ticket).cloned();
        match (act, review) {
            (
                Act::ContextGet(ContextGet { context, .. }) | Act::ContextPut(ContextPut { context, .. }),
                _,
            ) => {
                let place = vec![format!("contexts/{context}.json")];
                let writes = matches!(act, Act::ContextPut(_));
                let wanted = if writes { Access::ReadWrite } else { Access::Read };
                let acl = self.grants.get(context.as_str()).cloned().unwrap_or_default();
                let line = self.lines.get(&(ticket, agent.id.clone())).map_or(&[][..], Vec::as_slice);
                let asker = Asker { line, ..Asker::of(agent) };
                let ok = ok && acl.judge(asker, context, wanted, now).is_ok();
                let none = Vec::new();
                match (ok, writes) {
                    (false, _) => Played { ok, ..nothing },
                    (true, true) => Played { ok, read: none, wrote: place, finding: None },
                    (true, false) => Played { ok, read: place, wrote: none, finding: None },
                }
            }
            (Act::ReadFile(ReadFile { path, .. }), _) => Played { read: vec![path.clone()], ..nothing },
            (Act::RequestReview(_), _) if ok => {
                let finding = Some(Finding::Submitted(self.submit(rng, &agent.id)));
                Played { finding, ..nothing }
            }
            (Act::RunTests(RunTests {}), Some(review)) => {
                Played { finding: Some(checked(review, Check::Test, ok)), ..nothing }
            }
            (Act::Lint(Lint {}), Some(review)) => {
                Played { finding: Some(checked(review, Check::Lint, ok)), ..nothing }
            }
            (Act::MergeBranch(_), Some(review)) => match self.merge(rng, &review, ok) {
                Some(finding) => Played {
                    ok: matches!(finding, Finding::Merged { .. }),
                    finding: Some(finding),
                    ..nothing
                },
                None => Played { ok: false, ..nothing },
            },
            _ => nothing,
        }
    }

    /// Whether an agent may see a context, found out as simply as can be: a grant lets it, or the context went along with
    /// the work and everybody above may see it.
    pub(super) fn may_see(&self, name: &str, agent: &agent::Spec, ticket: Ticket, now: Time) -> bool {
        let made = agent.spawned_by.as_ref().is_some_and(|origin| !origin.agents().is_empty());
        let closed = agent.permissions.can_access_context == Some(false);
        let role = (!made).then_some(agent.role.as_str());
        let line = self.lines.get(&(ticket, agent.id.clone())).map_or(&[][..], Vec::as_slice);
        let mut above = None;
        for link in line {
            let passes = link.passed.iter().any(|pass| pass.context == name);
            let own =
                link.role.as_deref().is_some_and(|role| self.granted(name, &link.agent, Some(role), now));
            above = Some(above.is_none_or(|above| above) && (own || (passes && above == Some(true))));
        }
        // What came along was looked up when the call began.
        let is_open = |own: &Link| own.agent == agent.id && own.role.is_some();
        let came_along = line.last().is_some_and(is_open) && above == Some(true);
        (!closed && self.granted(name, &agent.id, role, now)) || came_along
    }

    fn granted(&self, name: &str, agent: &AgentId, role: Option<&str>, now: Time) -> bool {
        self.grants.get(name).map_or(&[][..], |acl| &acl.grants).iter().any(|grant| {
            let fits = match &grant.to {
                Grantee::Agent(id) => id == agent,
                Grantee::Role(named) => role == Some(named),
            };
            fits && grant.expires.is_none_or(|end| now < end)
        })
    }

    /// Where an agent's branch stands; mostly it has new commits.
    fn submit(&mut self, rng: &mut Rng, author: &AgentId) -> Place {
        let commits = self.commits.entry(author.clone()).or_insert(1);
        *commits += u32::from(rng.chance(3, 4));
        Place {
            branch: format!("synod/{author}"),
            target: "main".to_owned(),
            commit: format!("{author}.{commits}"),
            base: "main.1".to_owned(),
        }
    }

    /// The merge that stands already, a new one, a conflict, or nothing if git was in the way.
    fn merge(&mut self, rng: &mut Rng, review: &Review, ok: bool) -> Option<Finding> {
        let commit = review.place.commit.clone();
        if let Some(merge) = self.merged.get(&commit) {
            return Some(Finding::Merged { commit, merge: merge.clone() });
        }
        if !ok && rng.chance(1, 2) {
            return None;
        }
        if !ok {
            return Some(Finding::Conflicted { commit, files: vec!["src/main.rs".to_owned()] });
        }
        let merge = format!("merge of {commit}");
        self.merged.insert(commit.clone(), merge.clone());
        Some(Finding::Merged { commit, merge })
    }
}

fn checked(review: Review, check: Check, passed: bool) -> Finding {
    Finding::Checked { commit: review.place.commit, check, passed }
}
