//! Lists of what waits, and whether the lists by which things are found are true.

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::state::{Halt, State};
use crate::topics::review::Reviews;
use crate::topics::task::open::Open;
use crate::topics::wait::{Node, Why};
use crate::words::id::TaskId;

impl State {
    /// What a budget keeps from going on or from beginning, and why.
    pub fn parked(&self) -> impl Iterator<Item = Halt<'_>> {
        let (mut sessions, mut tasks) = (BTreeSet::new(), BTreeSet::new());
        for node in self.waits.parked() {
            match node {
                Node::Session(id) => _ = sessions.insert(id),
                Node::Task(id) => _ = tasks.insert(id),
                Node::Approval(_) | Node::Slot(_) | Node::Moment(_) | Node::Lock(_) | Node::Window(_) => {}
            }
        }
        let sessions = sessions.into_iter().filter_map(|id| {
            let (id, session) = self.sessions.get_key_value(id)?;
            let (agent, task) = (&session.agent, session.task.as_ref());
            Some(Halt { session: Some(id), agent, task, parked: session.purse.parked.as_ref()? })
        });
        let tasks = tasks.into_iter().filter_map(|id| {
            let place = self.work.tasks.get(id)?.queued.as_ref()?;
            Some(Halt { session: None, agent: &place.agent, task: Some(id), parked: place.parked.as_ref()? })
        });
        sessions.chain(tasks)
    }

    /// How many those are.
    pub fn parked_count(&self) -> usize {
        self.waits.count(Why::Window)
    }

    /// Tasks that could begin and for which their agent's queue has no place, and why in words.
    pub fn held_back(&self) -> impl Iterator<Item = (&TaskId, String)> {
        self.team.agents.values().flat_map(|agent| {
            let why = format!(
                "the queue of {} is full ({} wait, max_pending_queue); it is taken when there is a place",
                agent.spec.id, agent.waiting
            );
            agent.backlog.best_first().map(move |(_, task)| (task, why.clone()))
        })
    }

    /// A list by which something is found, and which does not follow from what is so. To ask looks at everything: it is for
    /// tests, which ask after each step.
    pub fn wrong_list(&self) -> Option<&'static str> {
        let mut open = Open::default();
        let mut dangling: BTreeMap<TaskId, BTreeSet<TaskId>> = BTreeMap::new();
        for (id, task) in &self.work.tasks {
            if !task.is_ended() {
                open.enter(task);
            }
            for named in task.spec.parent.iter().chain(&task.spec.depends_on) {
                if !self.work.tasks.contains_key(named) {
                    dangling.entry(named.clone()).or_default().insert(id.clone());
                }
            }
        }
        let mut reviews = Reviews::default();
        self.reviews.by_id.values().cloned().for_each(|review| reviews.enter(review));
        let is_there = |id: &&crate::words::id::AgentId| {
            let agent = &self.team.agents[*id];
            agent.spec.spawned_by.is_some() && !(agent.retired && agent.terminated.is_some())
        };
        let lists = [
            (self.work.open == open, "open"),
            (self.work.dangling == dangling, "dangling"),
            (self.reviews.by_author == reviews.by_author, "reviews.by_author"),
            (self.team.spawned.iter().eq(self.team.agents.keys().filter(is_there)), "spawned"),
            (self.parked_count() == self.parked().count(), "parked"),
            (self.waits == self.derived_waits(), "waits"),
        ];
        lists.into_iter().find(|(is_true, _)| !is_true).map(|(_, name)| name)
    }
}
