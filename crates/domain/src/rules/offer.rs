//! The tools that a model is told of: of what an agent may use, what its role and the moment need. Rights are the gate's
//! business: a tool that is not offered is not forbidden.

use crate::kernel::reviews;
use crate::kernel::state::State;
use crate::rules::gate::{Asker, may_use};
use crate::topics::agent;
use crate::topics::lock::workspace;
use crate::topics::review::{Check, Stage};
use crate::topics::role::{BUILTIN, COORDINATION_TOOLS, Permission};
use crate::topics::session::Session;
use crate::topics::tool;
use crate::topics::tool::{
    ApproveWork, AskAgent, ContextGet, ContextPut, CreateDirectory, CreatePlan, CreateTask, Delegate,
    EmailSend, Extract, FinishTask, GetTask, GitUpdate, Grep, Lint, ListAgents, ListSessions, Lock,
    MemorySearch, MergeBranch, QueryTasks, ReadSession, RequestReview, RunTests, SearchFiles, SendMessage,
    SlackRead, SlackSend, SpawnAgent, Summarize, TerminateAgent, Tool as _, Unlock, UpdateTask, WriteFile,
};
use crate::words::id::SessionId;
use crate::words::label::{Integrity, Label};

/// What is known of the home beside its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Home {
    /// Whether there are grants of shared contexts.
    pub has_contexts: bool,
    /// Whether there is something in the team's memory.
    pub has_memory: bool,
}

/// The tools that are offered in a conversation, in the order of the documentation.
///
/// Providers read tools before all else, so an offer that shrinks or changes costs all that they keep of the conversation:
/// `before` is what was offered already, and stays as long as the agent has it.
pub fn tools(state: &State, id: &SessionId, home: Home, before: &[&'static str]) -> Vec<&'static str> {
    let Some(session) = state.sessions.get(id) else { return Vec::new() };
    let Some(spec) = state.spec_of(session) else { return Vec::new() };
    let role = state.terms(session).role(&spec.role);
    let label = Label::owner();
    let asker = Asker { now: state.rights_now(session), ..Asker::at_rest(spec, role, &label) };
    let may = |name: &str, needs: Option<Permission>| may_use(&asker, name, needs).is_ok();
    let role_is_own = role != BUILTIN.get(&spec.role);
    let case = Case { state, session, spec, home, role_is_own, may: &may };
    let is_offered = |name: &&'static str| before.contains(name) || case.needs(name);
    tool::ALL
        .iter()
        .filter(|facts| may(facts.name, facts.needs))
        .map(|facts| facts.name)
        .filter(is_offered)
        .collect()
}

struct Case<'a> {
    state: &'a State,
    session: &'a Session,
    spec: &'a agent::Spec,
    home: Home,
    /// Whether the owner wrote the role.
    role_is_own: bool,
    may: &'a dyn Fn(&str, Option<Permission>) -> bool,
}

impl Case<'_> {
    fn needs(&self, name: &str) -> bool {
        // Who works on no task has none to end, and who has no command for its tests cannot run them.
        match name {
            FinishTask::NAME => return self.session.task.is_some(),
            RunTests::NAME => return self.runs(Check::Test),
            Lint::NAME => return self.runs(Check::Lint),
            _ => {}
        }
        self.is_listed(name) || self.suits(name)
    }

    /// Whether the owner lists it: in the agent's file, or in a role of their own.
    fn is_listed(&self, name: &str) -> bool {
        if self.spec.permissions.tools.allow.is_some()
            || self.spec.capabilities.iter().any(|word| word == name)
        {
            return true;
        }
        self.role_is_own && !COORDINATION_TOOLS.contains(&name)
    }

    /// Whether an agent with what its role gives needs it now.
    fn suits(&self, name: &str) -> bool {
        let Self { state, session, .. } = self;
        match name {
            SearchFiles::NAME => !self.has(Grep::NAME),
            CreateDirectory::NAME => !self.has(WriteFile::NAME),
            MemorySearch::NAME => self.home.has_memory,
            ContextGet::NAME | ContextPut::NAME => self.home.has_contexts,
            Extract::NAME => self.is_near_outside(),
            ApproveWork::NAME => reviews::of_session(state, session).is_some(),
            RequestReview::NAME => {
                self.spec.workspace.is_some() && reviews::of_session(state, session).is_none()
            }
            MergeBranch::NAME => state.reviews.by_id.values().any(|review| review.stage == Stage::Approved),
            GitUpdate::NAME => state.reviews.by_id.values().any(|review| {
                review.author == session.agent && matches!(review.stage, Stage::Conflicted { .. })
            }),
            Lock::NAME | Unlock::NAME => state.locks.all().any(|(name, _)| !workspace::is_workspace(name)),
            AskAgent::NAME => self.has_colleagues(),
            ListAgents::NAME => self.leads() && self.has_colleagues(),
            SendMessage::NAME => self.has_colleagues() && (self.leads() || !self.spec.channels.is_empty()),
            CreateTask::NAME | GetTask::NAME => self.leads(),
            Summarize::NAME => !self.leads() && !self.has(WriteFile::NAME),
            UpdateTask::NAME => self.has_parts(),
            SpawnAgent::NAME => self.spec.permissions.spawn.roles.is_some() || !self.has_colleagues(),
            // Whoever leads looks at single files; the others search.
            Grep::NAME => !self.has(SpawnAgent::NAME) || self.has(WriteFile::NAME),
            CreatePlan::NAME => !self.has_planner(),
            TerminateAgent::NAME => state.team.agents.values().any(|agent| {
                let maker = agent.spec.spawned_by.as_ref().and_then(|origin| origin.parent());
                maker == Some(&session.agent)
            }),
            SlackRead::NAME | SlackSend::NAME => self.hears_of("slack"),
            EmailSend::NAME => self.hears_of("mail"),
            QueryTasks::NAME | ListSessions::NAME | ReadSession::NAME => false,
            _ => true,
        }
    }

    fn has(&self, name: &str) -> bool {
        tool::facts(name).is_some_and(|facts| (self.may)(name, facts.needs))
    }

    /// Whether it hands out work.
    fn leads(&self) -> bool {
        [CreatePlan::NAME, SpawnAgent::NAME, Delegate::NAME].iter().any(|name| self.has(name))
    }

    fn runs(&self, check: Check) -> bool {
        let own = self.spec.workspace.as_ref();
        own.is_some_and(|own| match check {
            Check::Test => own.test.is_some(),
            Check::Lint => own.lint.is_some(),
        })
    }

    fn has_colleagues(&self) -> bool {
        self.state.team.agents.values().any(|agent| !agent.retired && agent.spec.id != self.session.agent)
    }

    /// Whether somebody else in the team is there to plan.
    fn has_planner(&self) -> bool {
        let mut others = self.state.team.agents.values().map(|agent| (&agent.spec, agent.retired));
        others.any(|(spec, retired)| !retired && spec.id != self.session.agent && spec.role == "planner")
    }

    fn has_parts(&self) -> bool {
        let task = self.session.task.as_ref().and_then(|task| self.state.work.tasks.get(task));
        task.is_some_and(|task| !task.children.is_empty())
    }

    fn is_near_outside(&self) -> bool {
        let is_outside = |label: &Label| label.integrity == Integrity::Outside;
        is_outside(&self.session.label) || self.state.trust.files.values().any(is_outside)
    }

    /// Whether an inbox whose name has this word is routed to an agent, or its task came from one.
    fn hears_of(&self, word: &str) -> bool {
        let routed = &self.state.config.settings.routing.inbox;
        let task =
            self.session.task.as_ref().and_then(|task| self.state.work.tasks.get(self.state.root_of(task)));
        let came = task.and_then(|task| task.spec.properties.get("source"));
        routed.keys().chain(came).any(|name| name.contains(word))
    }
}
