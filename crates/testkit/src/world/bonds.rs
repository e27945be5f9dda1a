//! What binds agents to each other, written down from the events alone: who made whom, who may do what, who looked at whose
//! work. Nobody does what its own file and role do not allow, nothing of an agent that is over goes on, and only what
//! somebody else approved is merged.

use std::collections::{BTreeMap, BTreeSet};

use domain::event::{
    AgentEvent, BudgetEvent, CallEvent, DelegationEvent, ReviewEvent, SessionEvent, TaskEvent, TurnEvent,
};
use domain::event::{Event, Finish};
use domain::id::{AgentId, CallId, ReviewId, SessionId, TaskId};
use domain::lifecycle::Lifecycle;
use domain::plan;
use domain::review::{Check, Move, Review, Stage};
use domain::role::COORDINATION_TOOLS;
use domain::spawn::Origin;
use domain::state::{On, State, Step, TaskStage};
use domain::task::End;
use domain::tool::{self, Act, Want};
use policy::glob;

use super::broken::Broken;

/// Everything that was seen of these things.
#[derive(Debug, Default)]
pub(super) struct Bonds {
    /// All who made an agent, or one of those, by the event that made it.
    makers: BTreeMap<AgentId, BTreeSet<AgentId>>,
    /// Agents that were terminated.
    over: BTreeSet<AgentId>,
    /// The last round that a call that asks for a review may begin; all of them if a person said so.
    rounds: BTreeMap<(SessionId, CallId), u32>,
    /// What passed and what did not in the round that is under way.
    checks: BTreeMap<ReviewId, BTreeMap<Check, bool>>,
    /// Commits that somebody approved, and who.
    approved: BTreeMap<(ReviewId, String), AgentId>,
    /// Steps of plans that a person opened again, which is a yes to them.
    let_go: BTreeSet<TaskId>,
}

impl Bonds {
    pub(super) fn saw(&mut self, before: &State, event: &Event) -> Result<(), Broken> {
        if let Event::Task(TaskEvent::Reopened { task, by }) = event
            && by.is_person()
        {
            self.let_go.insert(task.clone());
        }
        self.saw_team(before, event)?;
        self.saw_review(before, event)?;
        self.saw_act(before, event)
    }

    /// Agents are made and end, and what is over stays over.
    fn saw_team(&mut self, before: &State, event: &Event) -> Result<(), Broken> {
        let of = |session: &SessionId| before.sessions.get(session).map(|session| session.agent.clone());
        let gets_something = match event {
            Event::Agent(AgentEvent::Spawned { spec, session }) => {
                let chain = spec.spawned_by.as_ref().map_or(&[][..], Origin::agents);
                let asker = session.as_ref().and_then(of);
                if asker.is_some() && chain.last() != asker.as_ref() {
                    return Err(Broken(format!("{} is not bound to {asker:?}, who made it", spec.id)));
                }
                let above = chain.iter().filter_map(|id| self.makers.get(id)).flatten();
                let all: BTreeSet<AgentId> = chain.iter().chain(above).cloned().collect();
                if before.team.agents.contains_key(&spec.id)
                    || self.makers.insert(spec.id.clone(), all).is_some()
                {
                    return Err(Broken(format!("there are two {}", spec.id)));
                }
                None
            }
            Event::Agent(AgentEvent::Terminated { agent, .. }) => {
                if !self.over.insert(agent.clone()) {
                    return Err(Broken(format!("{agent} ends twice")));
                }
                None
            }
            Event::Agent(AgentEvent::Defined { spec }) => Some(spec.id.clone()),
            Event::Session(SessionEvent::Opened { head }) => Some(head.agent.clone()),
            Event::Session(SessionEvent::Reopened { session })
            | Event::Session(SessionEvent::MessageAdded { session, .. })
            | Event::Turn(TurnEvent::Begun { session, .. })
            | Event::Call(CallEvent::Cleared { session, .. }) => of(session),
            Event::Task(TaskEvent::Ended { task, end: End::Done, by, .. }) if by.agent().is_some() => {
                let task = before.work.tasks.get(task).filter(|task| plan::is_hold(before, task));
                if let Some(task) = task.filter(|task| task.spec.assignee == Some(AgentId::new("human"))) {
                    return Err(Broken(format!("{by} said yes to a plan: {}", task.spec.id)));
                }
                None
            }
            Event::Task(TaskEvent::Started { task, .. }) => {
                if !self.let_go.contains(task) {
                    begins(before, task)?;
                }
                before.work.tasks.get(task).and_then(|task| task.spec.assignee.clone())
            }
            _ => None,
        };
        match gets_something.filter(|id| self.over.contains(id)) {
            Some(id) => Err(Broken(format!("{id} was terminated and gets {}", event.kind()))),
            None => Ok(()),
        }
    }

    /// What is merged was approved, as it is, by somebody who may; and rounds have an end.
    fn saw_review(&mut self, before: &State, event: &Event) -> Result<(), Broken> {
        match event {
            Event::Call(CallEvent::Cleared { session, call, approval, .. }) => {
                let most = before.config.settings.review.max_review_rounds;
                let most = if approval.is_some() { u32::MAX } else { most };
                self.rounds.insert((session.clone(), call.clone()), most);
            }
            Event::Review(ReviewEvent::Asked { review }) => {
                let known = before.reviews.by_id.get(&review.id);
                if review.round != known.map_or(1, |known| known.round + 1) {
                    return Err(Broken(format!("{} skips a round", review.id)));
                }
                let most = self.rounds.get(&(review.session.clone(), review.call.clone()));
                // There may be more of them since it was let through.
                let now = before.config.settings.review.max_review_rounds;
                if most.is_none_or(|most| review.round > now.max(*most)) {
                    let round = review.round;
                    return Err(Broken(format!(
                        "{} goes into round {round}, and nobody was asked",
                        review.id
                    )));
                }
                self.stands_apart(&review.author, &review.reviewer)?;
                self.checks.remove(&review.id);
            }
            Event::Review(ReviewEvent::Moved { review, commit, to, by, .. }) => {
                let known = before.reviews.by_id.get(review);
                let known = known.ok_or_else(|| Broken(format!("{review} moves and does not exist")))?;
                self.moved(before, known, commit, to, by)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn moved(
        &mut self,
        before: &State,
        review: &Review,
        commit: &str,
        to: &Move,
        by: &AgentId,
    ) -> Result<(), Broken> {
        let id = &review.id;
        match to {
            Move::Checked { check, passed } => {
                self.checks.entry(id.clone()).or_default().insert(*check, *passed);
            }
            Move::Approved => {
                self.stands_apart(&review.author, by)?;
                let checks = self.checks.get(id);
                let passed = |check: &&Check| checks.and_then(|all| all.get(check)) != Some(&true);
                if let Some(check) = before.config.settings.review.checks.iter().find(passed) {
                    return Err(Broken(format!("{id} is approved, and {} did not pass", check.as_str())));
                }
                self.approved.insert((id.clone(), commit.to_owned()), by.clone());
            }
            Move::Merged { .. } => self.check_merge(id, commit)?,
            Move::Rejected { .. } | Move::Conflicted { .. } | Move::Lapsed => {}
        }
        Ok(())
    }

    /// Nobody looks at their own work, nor at that of who made them.
    fn stands_apart(&self, author: &AgentId, reviewer: &AgentId) -> Result<(), Broken> {
        let made = self.makers.get(reviewer).is_some_and(|makers| makers.contains(author));
        match made || author == reviewer {
            true => Err(Broken(format!("{reviewer} looks at the work of {author}, on whom it depends"))),
            false => Ok(()),
        }
    }

    /// A commit goes into the repository.
    pub(super) fn check_merge(&self, review: &ReviewId, commit: &str) -> Result<(), Broken> {
        match self.approved.contains_key(&(review.clone(), commit.to_owned())) {
            true => Ok(()),
            false => Err(Broken(format!("{commit} of {review} is merged, and nobody approved it"))),
        }
    }

    /// An agent does what its own file and role allow; and those who made it pay for it.
    fn saw_act(&self, before: &State, event: &Event) -> Result<(), Broken> {
        match event {
            Event::Call(CallEvent::Cleared { session, call, .. }) => self.check_rights(before, session, call),
            Event::Delegation(DelegationEvent::Made { delegation }) => {
                self.check_rights(before, &delegation.session, &delegation.call)
            }
            Event::Call(CallEvent::Finished { session, message, finish: Finish::Done, .. }) => {
                let Some(call) = &message.call else { return Ok(()) };
                let pending = before.sessions.get(session).and_then(|s| s.pending(call));
                let inside = |step: &Step| {
                    matches!(step, Step::New | Step::Looked | Step::Approved { .. } | Step::Locked { .. })
                };
                match pending {
                    Some(pending) if inside(&pending.step) => self.check_rights(before, session, call),
                    Some(_) | None => Ok(()),
                }
            }
            Event::Budget(BudgetEvent::Reserved { hold, .. }) => {
                let payer = &hold.payer;
                let none = BTreeSet::new();
                let makers = self.makers.get(&payer.agent).unwrap_or(&none);
                match makers.iter().find(|maker| !payer.makers.contains(maker)) {
                    Some(maker) => Err(Broken(format!("{} spends, and not of {maker}'s", payer.agent))),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn check_rights(&self, before: &State, session: &SessionId, call: &CallId) -> Result<(), Broken> {
        let Some(asker) = before.sessions.get(session) else { return Ok(()) };
        let Some(Want::Act(act)) = asker.pending(call).map(|pending| &pending.call.want) else {
            return Ok(());
        };
        // Synod looks at evidence by itself.
        if matches!(act, Act::Check(_)) {
            return Ok(());
        }
        match may(before, &asker.agent, act.tool()) {
            true => Ok(()),
            false => Err(Broken(format!("{} uses {}, which it may not", asker.agent, act.tool()))),
        }
    }

    /// Between any two steps: nothing is held by, nor waits for, an agent that is over; and every review has somebody
    /// who looks at it and somebody who hears of it.
    pub(super) fn check(&self, state: &State) -> Result<(), Broken> {
        for id in &self.over {
            let Some(agent) = state.team.agents.get(id) else { continue };
            if agent.terminated.is_none() || (agent.busy, agent.sessions.len(), agent.pending()) != (0, 0, 0)
            {
                return Err(Broken(format!("{id} was terminated and still has something")));
            }
        }
        let over =
            |session: &SessionId| state.sessions.get(session).is_none_or(|s| self.over.contains(&s.agent));
        for (id, session) in &state.sessions {
            let is_over = self.over.contains(&session.agent);
            if is_over && (session.lifecycle != Lifecycle::Complete || state.locks.of(id).next().is_some()) {
                return Err(Broken(format!("{id} goes on, and {} was terminated", session.agent)));
            }
            let asked =
                session.ties.asked.values().flat_map(|asked| asked.keys()).find(|id| self.over.contains(*id));
            if let Some(asked) = asked {
                return Err(Broken(format!("{id} waits for {asked}, which was terminated")));
            }
        }
        for (id, request) in state.people.approvals.iter().filter(|(_, request)| !request.is_about_budget()) {
            if over(&request.session) {
                return Err(Broken(format!("{id} is asked for an agent that was terminated")));
            }
        }
        for (id, review) in state.reviews.by_id.iter().filter(|(_, review)| review.stage == Stage::Asked) {
            if state.work.tasks.get(&review.task).is_none_or(|task| task.is_ended()) {
                return Err(Broken(format!("{id} is asked, and nobody looks at it any more")));
            }
            let waits = state.sessions.get(&review.session).and_then(|s| s.pending(&review.call));
            if waits
                .is_none_or(|pending| pending.step != Step::Waiting { on: On::Review { review: id.clone() } })
            {
                return Err(Broken(format!("{id} is looked at, and nobody waits for it")));
            }
        }
        Ok(())
    }

    /// When all has ended: every review has an end.
    pub(super) fn check_end(&self, state: &State) -> Result<(), Broken> {
        match state.reviews.by_id.values().find(|review| review.stage == Stage::Asked) {
            Some(review) => Err(Broken(format!("all has ended, and {} has no answer", review.id))),
            None => Ok(()),
        }
    }
}

/// A step of a plan that waits for a person's yes begins after that yes.
fn begins(before: &State, task: &TaskId) -> Result<(), Broken> {
    let held_by = before.work.tasks.get(task).and_then(|task| task.spec.properties.get(plan::HELD_BY));
    let hold = held_by.and_then(|id| before.work.tasks.get(&TaskId::new(id.as_str())));
    match hold.map(|hold| &hold.stage) {
        None | Some(TaskStage::Ended { end: End::Done }) => Ok(()),
        Some(_) => Err(Broken(format!("{task} began, and nobody said yes to its plan"))),
    }
}

/// Whether an agent's file and role give it a tool, found out as simply as can be.
fn may(state: &State, id: &AgentId, name: &str) -> bool {
    let Some(agent) = state.team.agents.get(id) else { return false };
    let Some(role) = state.role(&agent.spec.role) else { return false };
    let permissions = &agent.spec.permissions;
    let needs = tool::facts(name).and_then(|facts| facts.needs);
    let fits = |patterns: &[String]| patterns.iter().any(|pattern| glob(pattern, name));
    !fits(&permissions.tools.deny)
        && needs.is_none_or(|needed| role.permissions.contains(&needed))
        && (!name.starts_with("context_") || permissions.can_access_context != Some(false))
        && match &permissions.tools.allow {
            _ if name == "finish_task" => true,
            _ if name == "delegate" => permissions.delegation.can_delegate,
            Some(allow) => fits(allow),
            None => COORDINATION_TOOLS.contains(&name) || fits(&role.tools),
        }
}
