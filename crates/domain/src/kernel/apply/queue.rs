//! Who stands in which line: sessions and tasks that wait for a slot of their agent, and tasks for which its queue has no
//! place yet. A decision looks at the first of a line and never at all of it.

use crate::kernel::state::State;
use crate::topics::agent::Agent;
use crate::topics::caps::Parked;
use crate::topics::deadline::Deadline;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::run::Member;
use crate::topics::session::{Session, Stage};
use crate::topics::task::Priority;
use crate::topics::task::queue::{Place, Rank, Work};
use crate::topics::task::{Requester, Task, TaskStage};
use crate::topics::wait::{Node, Why};
use crate::words::id::{AgentId, SessionId, TaskId, Time};

use super::messages;
use super::runs::progress_of_session;

impl Agent {
    /// Whether it may do one thing more at a time.
    pub(crate) fn has_slot(&self) -> bool {
        self.busy < self.spec.permissions.concurrency.max_parallel_tasks
    }
}

impl Agent {
    pub(crate) fn is_beyond_bound(&self) -> bool {
        self.waiting > self.spec.permissions.concurrency.max_pending_queue
    }

    /// A task that the queue no longer has a place for, because its bound was lowered.
    pub(crate) fn beyond_bound(&self) -> Option<TaskId> {
        if !self.is_beyond_bound() {
            return None;
        }
        self.queue.worst_first().find_map(|(_, work)| match work {
            Work::Task(task) => Some(task.clone()),
            Work::Session(_) => None,
        })
    }
}

impl State {
    /// Changes a session and puts it where it belongs: on the agenda, in its agent's queue, or neither. Says whether it may
    /// have waited for something before, or may do so now.
    pub(super) fn place_session(&mut self, id: &SessionId, change: impl FnOnce(&mut Session)) -> bool {
        let since = self.seq;
        let Some(session) = self.sessions.get_mut(id) else { return false };
        let (has_rest, waited) = (session.rests(), session.may_wait());
        change(session);
        if session.rests() != has_rest {
            let progress = progress_of_session(&self.team.agents, id, session);
            self.runs.note(self.at, &Member::Session(id.clone()), progress);
        }
        let (wants, working) = (session.wants_attention(), session.lifecycle == Lifecycle::Working);
        if wants && working {
            self.schedule.agenda.insert(id.clone());
        } else {
            self.schedule.agenda.remove(id);
        }
        // Whoever left its slot gets one again before it goes on, also after a person's answer.
        let to_answer = session.stage == Stage::Resting
            && session.talk.unread
            && session.lifecycle != Lifecycle::Complete;
        let waits = (to_answer || (wants && !working)) && session.purse.parked.is_none();
        if !waits && session.queued.is_none() {
            return waited || session.may_wait();
        }
        let task = session.task.as_ref().and_then(|t| self.work.tasks.get(t));
        let priority = messages::priority(task.and_then(|t| t.spec.priority), session.talk.urgency);
        // Whoever waits already moves up for something more urgent, and keeps its place among equals.
        if waits && session.queued.is_some_and(|rank| rank.priority <= priority) {
            return true;
        }
        let Some(agent) = self.team.agents.get_mut(&session.agent) else { return waited };
        let was = session.queued.take();
        if let Some(rank) = was {
            agent.queue.leave(rank, rank.since, &Work::Session(id.clone()));
        }
        if waits {
            let since = was.map_or(session.purse.parked_since.unwrap_or(since), |rank| rank.since);
            let rank = Rank { priority, agent_priority: agent.spec.priority, since };
            session.queued = Some(rank);
            agent.queue.enter(rank, since, Work::Session(id.clone()));
        }
        let agent = session.agent.clone();
        self.refresh_agent(&agent);
        true
    }

    /// Puts the task into its agent's line if it can begin, and takes it out if not.
    pub(crate) fn refresh_task(&mut self, id: &TaskId) {
        let Some(task) = self.work.tasks.get(id) else { return };
        let wanted = self.place_of(task);
        let was = task.queued.as_ref().map(|place| (place.agent.clone(), place.rank));
        let same = |(agent, rank): &(AgentId, Rank)| (agent.clone(), rank.priority, rank.agent_priority);
        if was.as_ref().map(same) == wanted.as_ref().map(same) {
            return;
        }
        let left = self.leave_line(id);
        if let Some((agent, mut rank)) = wanted {
            // An edit does not make what waits younger.
            let left = left.filter(|place| place.agent == agent);
            if let Some(place) = &left {
                rank.since = place.rank.since;
            }
            let due = left.map_or_else(|| self.queue_due(id, &agent), |place| place.due);
            self.enter_line(id, agent, rank, due);
        }
        if let Some((agent, _)) = &was {
            self.fill_queue(agent);
        }
    }

    /// When a task has waited too long.
    fn queue_due(&self, id: &TaskId, agent: &AgentId) -> Option<Time> {
        let concurrency = &self.team.agents.get(agent)?.spec.permissions.concurrency;
        // Somebody stands still for what was delegated; everything else may wait unless the owner says how long.
        let task = self.work.tasks.get(id)?;
        let delegated = matches!(task.by, Requester::Session { .. })
            && task.spec.properties.contains_key(crate::topics::chain::CHAIN);
        let own = delegated.then_some(concurrency.task_timeout_ms);
        concurrency.queue_timeout_ms.or(own).map(|ms| self.at.plus_ms(ms))
    }

    fn enter_line(&mut self, id: &TaskId, agent: AgentId, rank: Rank, due: Option<Time>) {
        let Some(whose) = self.team.agents.get_mut(&agent) else { return };
        let admitted = whose.has_place();
        if admitted {
            whose.waiting += 1;
            whose.queue.enter(rank, rank.since, Work::Task(id.clone()));
        } else {
            whose.backlog.enter(rank, rank.since, id.clone());
        }
        if let Some(due) = due {
            self.schedule.deadlines.insert((due, Deadline::Queue(id.clone())));
        }
        self.refresh_agent(&agent);
        if let Some(task) = self.work.tasks.get_mut(id) {
            self.waits.add(Node::from(id), Node::Slot(agent.clone()), Why::Slot);
            task.queued = Some(Place { agent, rank, due, admitted, parked: None });
        }
    }

    /// Takes a task out of its line, and leaves its place empty.
    fn leave_line(&mut self, id: &TaskId) -> Option<Place> {
        let was_parked = self.drop_task_parking(id);
        let mut place = self.work.tasks.get_mut(id)?.queued.take()?;
        self.waits.drop(&Node::from(id), &Node::Slot(place.agent.clone()), Why::Slot);
        if let Some(due) = place.due {
            self.schedule.deadlines.remove(&(due, Deadline::Queue(id.clone())));
        }
        if let Some(agent) = self.team.agents.get_mut(&place.agent) {
            if place.admitted {
                agent.waiting = agent.waiting.saturating_sub(1);
                agent.queue.leave(place.rank, place.rank.since, &Work::Task(id.clone()));
            } else {
                agent.backlog.leave(place.rank, place.rank.since, id);
            }
        }
        self.refresh_agent(&place.agent);
        if was_parked {
            // While it was parked it waited for no slot, and no limit was running.
            place.due = self.queue_due(id, &place.agent);
        }
        Some(place)
    }

    /// Lets those in who wait for a place in an agent's queue, as long as there is one.
    fn fill_queue(&mut self, id: &AgentId) {
        loop {
            let Some(agent) = self.team.agents.get_mut(id).filter(|agent| agent.has_place()) else { return };
            let Some(next) = agent.backlog.next().cloned() else { return };
            let is_oldest = agent.backlog.oldest().is_some_and(|(_, oldest)| *oldest == next);
            agent.backlog.takes_turn(is_oldest);
            self.move_within(&next, true);
        }
    }

    /// Moves a task between the queue and what waits before it; its age and its time stay.
    fn move_within(&mut self, id: &TaskId, admitted: bool) {
        let Some(place) = self.work.tasks.get_mut(id).and_then(|task| task.queued.as_mut()) else { return };
        place.admitted = admitted;
        let (rank, agent_id) = (place.rank, place.agent.clone());
        let Some(agent) = self.team.agents.get_mut(&agent_id) else { return };
        let work = Work::Task(id.clone());
        if admitted {
            agent.backlog.leave(rank, rank.since, id);
            agent.queue.enter(rank, rank.since, work);
            agent.waiting += 1;
        } else {
            agent.queue.leave(rank, rank.since, &work);
            agent.backlog.enter(rank, rank.since, id.clone());
            agent.waiting = agent.waiting.saturating_sub(1);
        }
        self.refresh_agent(&agent_id);
    }

    /// A budget keeps a task from beginning: it keeps its place, and others have their turn. It does not wait for a slot then.
    pub(super) fn park_task(&mut self, id: &TaskId, parked: &Parked) {
        self.drop_task_parking(id);
        let Some(place) = self.work.tasks.get_mut(id).and_then(|task| task.queued.as_mut()) else { return };
        if !place.admitted {
            return;
        }
        place.parked = Some(parked.clone());
        let (agent_id, rank, due) = (place.agent.clone(), place.rank, place.due.take());
        self.waits.drop(&Node::from(id), &Node::Slot(agent_id.clone()), Why::Slot);
        self.waits.add(Node::from(id), Node::Window(parked.limit.clone()), Why::Window);
        if let Some(due) = due {
            self.schedule.deadlines.remove(&(due, Deadline::Queue(id.clone())));
        }
        if let Some(agent) = self.team.agents.get_mut(&agent_id) {
            agent.queue.leave(rank, rank.since, &Work::Task(id.clone()));
        }
        self.ledger.stop(&self.config.settings, self.at, parked, Work::Task(id.clone()));
        if let Some(until) = parked.until {
            self.schedule.deadlines.insert((until, Deadline::Begin(id.clone())));
        }
        if parked.held {
            self.ledger.waiters.stop(&parked.limit, &agent_id, rank.since, Work::Task(id.clone()));
        }
        self.refresh_agent(&agent_id);
    }

    /// A parked task is in the queue again, where it was.
    pub(super) fn unpark_task(&mut self, id: &TaskId) {
        if !self.drop_task_parking(id) {
            return;
        }
        let Some(place) = self.work.tasks.get(id).and_then(|task| task.queued.clone()) else { return };
        let due = self.queue_due(id, &place.agent);
        if let Some(place) = self.work.tasks.get_mut(id).and_then(|task| task.queued.as_mut()) {
            place.due = due;
        }
        self.schedule.deadlines.extend(due.map(|due| (due, Deadline::Queue(id.clone()))));
        if let Some(agent) = self.team.agents.get_mut(&place.agent) {
            agent.queue.enter(place.rank, place.rank.since, Work::Task(id.clone()));
        }
        self.refresh_agent(&place.agent);
    }

    /// A task that was parked waits for a slot again, in no queue yet. Says whether it was parked.
    fn drop_task_parking(&mut self, id: &TaskId) -> bool {
        let Some(place) = self.work.tasks.get_mut(id).and_then(|task| task.queued.as_mut()) else {
            return false;
        };
        let Some(parked) = place.parked.take() else { return false };
        self.waits.drop(&Node::from(id), &Node::Window(parked.limit.clone()), Why::Window);
        self.waits.add(Node::from(id), Node::Slot(place.agent.clone()), Why::Slot);
        self.ledger.stop_no_more(&parked.limit, &Work::Task(id.clone()));
        self.ledger.waiters.leave(&parked.limit, &place.agent, place.rank.since, Work::Task(id.clone()));
        if let Some(until) = parked.until {
            self.schedule.deadlines.remove(&(until, Deadline::Begin(id.clone())));
        }
        true
    }

    /// Where a task would wait for a slot, if it is ready.
    fn place_of(&self, task: &Task) -> Option<(AgentId, Rank)> {
        if task.stage != TaskStage::Open || self.open_dependencies(task).next().is_some() {
            return None;
        }
        let agent = self.team.agents.get(task.spec.assignee.as_ref()?).filter(|a| !a.retired)?;
        let priority = task.spec.priority.unwrap_or(Priority::C);
        let rank = Rank { priority, agent_priority: agent.spec.priority, since: self.seq };
        Some((agent.spec.id.clone(), rank))
    }

    /// An agent's file has changed: its tasks stand where it says now, and its queue is as long as it says now.
    pub(super) fn refresh_lines_of(&mut self, id: &AgentId) {
        self.rank_sessions_anew(id);
        for task in self.work.open.of_agent(id).cloned().collect::<Vec<_>>() {
            self.refresh_task(&task);
        }
        if self.team.agents.get(id).is_some_and(Agent::is_beyond_bound) {
            // Whoever is parked may have to give way too.
            let parked = self.parked().filter(|halt| halt.session.is_none());
            let parked: Vec<TaskId> = parked.filter_map(|halt| halt.task.cloned()).collect();
            parked.iter().for_each(|task| self.unpark_task(task));
        }
        while let Some(last) = self.team.agents.get(id).and_then(Agent::beyond_bound) {
            self.move_within(&last, false);
        }
        self.fill_queue(id);
        self.refresh_agent(id);
    }

    /// Sessions that wait have the agent's priority of now.
    fn rank_sessions_anew(&mut self, id: &AgentId) {
        let Some(agent) = self.team.agents.get_mut(id) else { return };
        for session_id in &agent.sessions {
            let Some(session) = self.sessions.get_mut(session_id) else { continue };
            let Some(rank) = session.queued.filter(|rank| rank.agent_priority != agent.spec.priority) else {
                continue;
            };
            let new = Rank { agent_priority: agent.spec.priority, ..rank };
            let work = Work::Session(session_id.clone());
            agent.queue.leave(rank, rank.since, &work);
            agent.queue.enter(new, new.since, work);
            session.queued = Some(new);
        }
    }

    /// Keeps `startable` true for one agent.
    pub(crate) fn refresh_agent(&mut self, id: &AgentId) {
        let Some(agent) = self.team.agents.get_mut(id) else { return };
        let free = agent.has_slot();
        let ends = agent.queue.best().zip(agent.queue.oldest());
        // It stands there for its best, so that nobody urgent waits behind the turn of who waits longest.
        let head = ends.filter(|_| free).map(|((rank, _), (since, _))| (*rank, *since));
        if head == agent.head {
            return;
        }
        if let Some((rank, since)) = agent.head {
            self.schedule.startable.leave(rank, since, id);
        }
        if let Some((rank, since)) = head {
            self.schedule.startable.enter(rank, since, id.clone());
        }
        agent.head = head;
    }

    /// A task gets a slot.
    pub(super) fn start_task(&mut self, id: &TaskId, session: &SessionId) {
        let place = self.work.tasks.get(id).and_then(|task| task.queued.clone());
        if let Some(place) = place.filter(|place| place.admitted) {
            self.takes_turn(&place.agent, place.rank.since, &Work::Task(id.clone()));
        }
        self.schedule.starting = Some(session.clone());
        self.set_stage(id, TaskStage::Running { session: session.clone() });
    }

    /// A session works from now on. That of a task which has just got its slot had its turn already.
    pub(super) fn goes_on(&mut self, id: &SessionId) {
        if self.schedule.starting.as_ref() == Some(id) {
            self.schedule.starting = None;
            return;
        }
        let Some(session) = self.sessions.get(id).filter(|s| s.lifecycle != Lifecycle::Working) else {
            return;
        };
        if let Some(rank) = session.queued {
            let agent = session.agent.clone();
            self.takes_turn(&agent, rank.since, &Work::Session(id.clone()));
        }
    }

    /// Time during which nothing ran does not count as waiting for a slot.
    pub(super) fn restart_waits(&mut self) {
        let waiting = self.schedule.deadlines.iter().filter_map(|(due, what)| match what {
            Deadline::Queue(task) => Some((*due, task.clone())),
            Deadline::Work(_)
            | Deadline::Retry(_)
            | Deadline::Approval(_)
            | Deadline::Delegation(_)
            | Deadline::Answer(..)
            | Deadline::Begin(_)
            | Deadline::Window(_)
            | Deadline::Lock(..)
            | Deadline::Provider(_)
            | Deadline::Lease(_) => None,
        });
        for (due, task) in waiting.collect::<Vec<_>>() {
            self.schedule.deadlines.remove(&(due, Deadline::Queue(task.clone())));
            let agent =
                self.work.tasks.get(&task).and_then(|t| t.queued.as_ref()).map(|place| place.agent.clone());
            let due = agent.and_then(|agent| self.queue_due(&task, &agent));
            if let Some(place) = self.work.tasks.get_mut(&task).and_then(|t| t.queued.as_mut()) {
                place.due = due;
                self.schedule.deadlines.extend(due.map(|due| (due, Deadline::Queue(task.clone()))));
            }
        }
    }

    /// Somebody gets a slot: whoever waits longer was passed over. Told before it leaves its line.
    pub(super) fn takes_turn(&mut self, id: &AgentId, since: crate::words::id::Seq, work: &Work) {
        let oldest_of_all = self.schedule.startable.oldest().map(|(since, _)| *since);
        let Some(agent) = self.team.agents.get_mut(id) else { return };
        let is_oldest = agent.queue.oldest().is_some_and(|(_, oldest)| oldest == work);
        agent.queue.takes_turn(is_oldest);
        self.schedule.startable.takes_turn(oldest_of_all.is_none_or(|oldest| since <= oldest));
    }

    /// The next one that gets a slot, if there is one.
    pub(crate) fn next_work(&self) -> Option<&Work> {
        let agent = self.team.agents.get(self.schedule.startable.next()?)?;
        if self.schedule.startable.is_aged() {
            return agent.queue.oldest().map(|(_, work)| work);
        }
        agent.queue.next()
    }
}
