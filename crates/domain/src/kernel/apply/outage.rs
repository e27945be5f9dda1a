//! What events change in what is known of providers that do not answer.

use crate::kernel::apply::FALLBACK_MS;
use crate::kernel::state::State;
use crate::topics::deadline::Deadline;
use crate::topics::outage::{Event, Outage, Place, Probe, is_asking};
use crate::topics::task::queue::Work;
use crate::topics::wait::Node;
use crate::words::id::{SessionId, TaskId, Time};

impl State {
    pub(super) fn change_outages(&mut self, at: Time, event: &Event) {
        match event {
            Event::Failed { place, error, due, session: _ } => self.provider_failed(at, place, error, *due),
            Event::Due { place, due, open } => self.change_outage(place, |outage| {
                outage.due = *due;
                if *open {
                    outage.probe = Probe::Open;
                }
            }),
            Event::Tried { place, session } => {
                self.change_outage(place, |outage| outage.probe = Probe::Asks(session.clone()));
            }
            Event::Ended { place } => self.provider_answers(place),
            Event::Switched { session, fallback } => {
                if let Some(session) = self.sessions.get_mut(session) {
                    session.pace.fallback_until = fallback.as_ref().map(|_| at.plus_ms(FALLBACK_MS));
                }
            }
            Event::Denied { session, provider, error: _ } => self.deny(session, provider),
        }
    }

    fn provider_failed(&mut self, at: Time, place: &Place, error: &str, due: Time) {
        let new = || Outage {
            place: place.clone(),
            since: at,
            error: String::new(),
            failures: 0,
            due,
            probe: Probe::Waits,
        };
        self.outages.by_name.entry(place.to_string()).or_insert_with(new);
        self.change_outage(place, |outage| {
            error.clone_into(&mut outage.error);
            outage.failures = outage.failures.saturating_add(1);
            (outage.due, outage.probe) = (due, Probe::Waits);
        });
    }

    /// Changes an outage, and keeps its deadline true.
    fn change_outage(&mut self, place: &Place, change: impl FnOnce(&mut Outage)) {
        let name = place.to_string();
        let Some(outage) = self.outages.by_name.get_mut(&name) else { return };
        self.schedule.deadlines.remove(&(outage.due, Deadline::Provider(name.clone())));
        change(outage);
        self.schedule.deadlines.insert((outage.due, Deadline::Provider(name)));
    }

    /// All that waited for it look again, and so do those whose agents could ask another model in its place.
    fn provider_answers(&mut self, place: &Place) {
        let name = place.to_string();
        let waiting: Vec<Work> = self.waiting_for(place).filter_map(work).collect();
        let Some(outage) = self.outages.by_name.remove(&name) else { return };
        self.schedule.deadlines.remove(&(outage.due, Deadline::Provider(name)));
        let others = self.outages.by_name.values().flat_map(|outage| self.waiting_for(&outage.place));
        let others: Vec<Work> = others.filter_map(work).filter(|work| self.has_fallback(work)).collect();
        self.wake_all(waiting);
        self.wake_all(others);
    }

    fn has_fallback(&self, work: &Work) -> bool {
        let agent = match work {
            Work::Session(id) => self.sessions.get(id).map(|session| &session.agent),
            Work::Task(id) => self.work.tasks.get(id).and_then(|task| task.spec.assignee.as_ref()),
        };
        let agent = agent.and_then(|agent| self.team.agents.get(agent));
        agent.is_some_and(|agent| agent.spec.model.fallback.is_some())
    }

    /// The settings have changed: whatever was wrong with a provider may be right now, so the next that asks tries it.
    pub(super) fn open_outages(&mut self) {
        for outage in self.outages.by_name.values_mut() {
            match &outage.probe {
                Probe::Asks(session) if is_asking(self.sessions.get(session)) => {}
                Probe::Waits | Probe::Open | Probe::Asks(_) => outage.probe = Probe::Open,
            }
        }
    }

    fn deny(&mut self, session: &SessionId, provider: &str) {
        let own = |task: &&TaskId| self.work.tasks.get(*task).is_some_and(|t| t.session() == Some(session));
        let task = self.sessions.get(session).and_then(|session| session.task.as_ref()).filter(own).cloned();
        if let Some(task) = task {
            self.outages.denied.insert(task, provider.to_owned());
        }
    }
}

fn work(node: &Node) -> Option<Work> {
    match node {
        Node::Session(id) => Some(Work::Session(id.clone())),
        Node::Task(id) => Some(Work::Task(id.clone())),
        Node::Approval(_) | Node::Slot(_) | Node::Moment(_) | Node::Lock(_) | Node::Window(_) => None,
    }
}
