//! What an event changes. `apply` cannot fail and asks nobody: the same events give the same state, always.
//! An event about something unknown changes nothing; decide never makes one.

mod approvals;
mod budget;
mod delegate;
mod labels;
mod locks;
mod messages;
mod notices;
mod outage;
mod queue;
mod review;
mod runs;
mod spawn;
mod waits;

use std::sync::Arc;

use crate::kernel::apply::budget::drop_parking;
pub(crate) use crate::kernel::apply::budget::{expected, expected_first};
use crate::kernel::apply::runs::progress_of_task;
use crate::kernel::apply::spawn::forget_past;
use crate::kernel::event::{
    ApprovalEvent, CallEvent, DelegationEvent, NoticeEvent, SessionEvent, SystemEvent, TaskEvent, TrustEvent,
    TurnEvent,
};
use crate::kernel::event::{Event, Finish, Found, Tail};
use crate::kernel::state::State;
use crate::topics::deadline::Deadline;
use crate::topics::lifecycle::Lifecycle;
use crate::topics::run::Member;
use crate::topics::session::{Began, Purse, Talk};
use crate::topics::session::{Head, Message};
use crate::topics::session::{Pending, Proving, Session, Stage, Step};
use crate::topics::task;
use crate::topics::task::{Requester, Task, TaskStage};
use crate::topics::tool::{Act, Permit, Seen, Want};
use crate::topics::wait::{Node, Why};
use crate::words::id::{CallId, SessionId, TaskId, Ticket, Time};
use crate::words::text::RESULT_BYTES_MAX;
use crate::words::text::cut;
use crate::words::text::number_in;
use crate::words::usage::Usage;
use policy::Nature;

/// What is due, and when.
type Deadlines = std::collections::BTreeSet<(Time, Deadline)>;

/// How long a fallback is asked before the primary model is tried once more.
const FALLBACK_MS: u64 = 60_000;

impl State {
    /// Makes the event's change. `at` is when it was decided.
    pub fn apply(&mut self, at: Time, event: &Event) {
        self.come_to(at);
        match event {
            Event::System(event) => self.apply_system(at, event),
            Event::Agent(event) => self.change_team(event),
            Event::Task(of_task) => {
                self.hand_on(at, event);
                self.apply_task(of_task);
            }
            Event::Notice(NoticeEvent::Told { receiver }) => self.delivered(receiver),
            Event::Session(event) => self.apply_session(at, event),
            Event::Turn(event) => self.apply_turn(at, event),
            Event::Call(event) => self.apply_call(at, event),
            Event::Approval(event) => self.apply_approval(at, event),
            Event::Delegation(of_delegation) => {
                if let DelegationEvent::Made { delegation } = of_delegation {
                    self.runs.count(&delegation.session, |counts| counts.delegations += 1);
                }
                self.hand_on(at, event);
            }
            Event::Review(event) => self.look_over(event),
            Event::Lock(event) => self.change_locks(at, event),
            Event::Budget(event) => self.meter(at, event),
            Event::Outage(event) => self.change_outages(at, event),
            Event::Trust(TrustEvent::FileTrusted { path, .. }) => _ = self.trust.files.remove(path),
            Event::Trust(TrustEvent::Found { labels }) => self.label_files(labels),
        }
    }

    fn apply_system(&mut self, at: Time, event: &SystemEvent) {
        match event {
            SystemEvent::Started => self.restart_clocks(at),
            SystemEvent::SettingsChanged { settings } => self.settle_anew(settings),
            SystemEvent::PolicyChanged { policy } => self.config.policy = policy.clone(),
            SystemEvent::ToolsFound { server, tools } => self.foreign.replace(server, tools),
            SystemEvent::DeadlineDropped { due, what } => {
                _ = self.schedule.deadlines.remove(&(*due, what.clone()))
            }
            SystemEvent::LineTaken { source, line } => self.take_line(source, *line),
            SystemEvent::IdsFound { delegations, reviews } => {
                self.delegations.found = self.delegations.found.max(*delegations);
                self.reviews.found = self.reviews.found.max(*reviews);
            }
        }
    }

    fn apply_task(&mut self, event: &TaskEvent) {
        match event {
            TaskEvent::Added { spec, by, in_file } => self.add_task(spec, by, *in_file),
            TaskEvent::Edited { task, change, in_file: _ } => self.edit_task(task, change),
            TaskEvent::Started { task, session } => self.start_task(task, session),
            TaskEvent::Ended { task, end, result, by: _, session, found } => {
                let is_news = !found && self.work.tasks.get(task).is_some_and(|task| !task.is_ended());
                if is_news {
                    self.leave_end(task, (*end, result), session.as_ref());
                }
                self.end_task(task, *end, result);
            }
            TaskEvent::Verified { .. } => {}
            TaskEvent::Reopened { task, by: _ } => self.reopen_task(task),
        }
    }

    fn apply_session(&mut self, at: Time, event: &SessionEvent) {
        match event {
            SessionEvent::Opened { head } => self.open_session(head),
            SessionEvent::Adopted { head, lifecycle, failed, next_message, tail, label } => {
                self.open_session(head);
                self.label_session(&head.session, label);
                self.adopt_session(&head.session, *lifecycle, *failed, *next_message, tail);
            }
            SessionEvent::Cut { session, next_message, tail } => {
                self.cut_session(session, *next_message, tail)
            }
            SessionEvent::Reopened { session } => self.reopen_session(session),
            SessionEvent::MessageAdded { session, message, asker, in_file: _ } => {
                self.hear(session, message, asker.as_ref());
            }
            SessionEvent::MessageEdited { .. } => {}
            SessionEvent::Moved { session, to, failed, reason, task: _ } => {
                self.move_session(at, session, *to, *failed, reason);
            }
            SessionEvent::TiesFound { session, hands, requests, cause } => {
                self.tie(session, hands, requests, cause.as_ref());
            }
        }
    }

    fn apply_turn(&mut self, at: Time, event: &TurnEvent) {
        match event {
            TurnEvent::Begun { session, turn } => self.begin_turn(at, session, *turn),
            TurnEvent::Failed { session, due, fallback, .. } => {
                self.fail_turn(at, session, *due, fallback.is_some())
            }
            TurnEvent::Retried { session, .. } => self.retry_turn(session),
            TurnEvent::Replied { session, message, tokens_in, tokens_out, spent } => {
                self.spend(at, (session, ""), Usage::of(*tokens_in, *tokens_out), spent.as_ref());
                self.expect_after(session, tokens_in.saturating_add(*tokens_out));
                self.take_reply(session, message);
                self.set_clock(at, session);
                self.renew_locks(at, session);
            }
            TurnEvent::EvidenceDemanded { session, message } => self.prove(session, message),
            TurnEvent::Reminded { session } => {
                self.change_session(session, |session| session.proof.reminders += 1);
            }
            TurnEvent::Summarised { session, message, tokens_in, tokens_out, spent } => {
                self.spend(at, (session, ""), Usage::of(*tokens_in, *tokens_out), Some(spent));
                self.take_summary(session, message);
            }
            TurnEvent::Outgrown { session, tokens_in } => self.outgrow(session, *tokens_in),
            TurnEvent::Unsummarised { session } => self.unsummarise(session),
        }
    }

    fn apply_call(&mut self, at: Time, event: &CallEvent) {
        match event {
            CallEvent::Cleared { session, call, nature, permit, approval, rule: _ } => {
                self.clear_call(session, call, *nature, *permit, approval.is_some());
            }
            CallEvent::LookWanted { session, call } => {
                let ticket = Ticket { effect: self.seq, attempt: 1 };
                self.step(session, call.as_str(), Step::Looking { ticket });
            }
            CallEvent::Looked { session, call, seen } => self.see_call(session, call, seen.as_ref()),
            CallEvent::Retried { session, call } => self.retry_call(session, call.as_str()),
            CallEvent::Awaited { session, call, correlation, due } => {
                self.await_answer(session, call, correlation, *due);
            }
            CallEvent::Finished { session, message, wrote, finish } => {
                let pending =
                    message.call.as_ref().and_then(|call| self.sessions.get(session)?.pending(call));
                let approved =
                    pending.is_some_and(|p| matches!(p.step, Step::Running { approved: true, .. }));
                self.leave_locks(at, session, message.call.as_ref());
                self.finish_call(session, message, finish);
                self.label_wrote(session, message.call.as_ref(), wrote, *finish == Finish::Done, approved);
            }
        }
    }

    fn apply_approval(&mut self, at: Time, event: &ApprovalEvent) {
        match event {
            ApprovalEvent::Asked { request } => self.ask_person(at, request),
            ApprovalEvent::Ended { approval, outcome } => self.end_approval(at, approval, outcome),
            ApprovalEvent::Found { next } => self.people.next_approval = self.people.next_approval.max(*next),
        }
    }

    /// The next event, and its time.
    fn come_to(&mut self, at: Time) {
        (self.seq, self.at) = (self.next_seq(), at);
        if self.ledger.is_ahead_of(at) {
            self.set_back(at);
        }
    }

    fn clear_call(&mut self, id: &SessionId, call: &CallId, nature: Nature, permit: Permit, approved: bool) {
        let ticket = Ticket { effect: self.seq, attempt: 1 };
        self.step(id, call.as_str(), Step::Running { ticket, nature, permit, approved });
        self.label_reach(id, call);
    }

    fn restart_clocks(&mut self, at: Time) {
        self.restart_waits();
        self.stop_parked();
        self.restart_leases(at);
        // Time during which nothing ran does not count as working time.
        let working: Vec<SessionId> = self
            .schedule
            .deadlines
            .iter()
            .filter_map(|(_, what)| match what {
                Deadline::Work(session) => Some(session.clone()),
                Deadline::Retry(_)
                | Deadline::Approval(_)
                | Deadline::Delegation(_)
                | Deadline::Answer(..)
                | Deadline::Queue(_)
                | Deadline::Begin(_)
                | Deadline::Window(_)
                | Deadline::Lock(..)
                | Deadline::Provider(_)
                | Deadline::Lease(_) => None,
            })
            .collect();
        for id in working {
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            stop_clock(session, &id, None, &mut self.schedule.deadlines);
            self.set_clock(at, &id);
        }
    }

    /// Working time counts while an agent works, and, unless the settings say so, not while its model is asked.
    fn set_clock(&mut self, at: Time, id: &SessionId) {
        let counts_models = self.terms_of(id).limits.count_model_time;
        let Some(session) = self.sessions.get_mut(id) else { return };
        let asks = matches!(session.stage, Stage::Thinking { .. } | Stage::Retrying { .. });
        let counts = session.lifecycle == Lifecycle::Working && (counts_models || !asks);
        match (counts, session.clock.working_since) {
            (true, None) => {
                let agent = self.team.agents.get(&session.agent);
                let most = agent.map(|agent| self.delegations.work_ms_max(session.task.as_ref(), agent));
                start_clock(session, id, at, most, &mut self.schedule.deadlines);
            }
            (false, Some(_)) => stop_clock(session, id, Some(at), &mut self.schedule.deadlines),
            (true, Some(_)) | (false, None) => {}
        }
    }

    fn take_line(&mut self, source: &str, line: u64) {
        let taken = self.trust.inbox.entry(source.to_owned()).or_default();
        *taken = line.max(*taken);
    }

    fn add_task(&mut self, spec: &task::Spec, by: &Requester, in_file: bool) {
        if in_file {
            self.find_review(spec);
        }
        self.work.next_task = self.work.next_task.max(number_in(spec.id.as_str()).saturating_add(1));
        if let Requester::Inbox { source } = by
            && let Some((file, line)) = source.rsplit_once(':')
            && let Ok(line) = line.parse()
        {
            self.take_line(file, line);
        }
        let id = spec.id.clone();
        // Others may have named this task before it was written.
        let naming = self.work.dangling.remove(&id).unwrap_or_default();
        let named = |pick: fn(&Task, &TaskId) -> bool| -> std::collections::BTreeSet<TaskId> {
            let is_so = |other: &&TaskId| self.work.tasks.get(*other).is_some_and(|other| pick(other, &id));
            naming.iter().filter(is_so).cloned().collect()
        };
        let children = named(|other, id| other.spec.parent.as_ref() == Some(id));
        let dependents = named(|other, id| other.spec.depends_on.contains(id));
        let label = self.label_of_request(spec, by);
        let task = Task {
            spec: spec.clone(),
            by: by.clone(),
            cause: self.cause_of(by),
            label,
            stage: TaskStage::Open,
            result: String::new(),
            children,
            dependents,
            queued: None,
        };
        if let Some(before) = self.work.tasks.insert(id.clone(), task) {
            self.work.open.leave(&before);
            self.wait_ended(&id);
            before.dependents.iter().for_each(|other| self.wait_links(other));
        }
        self.work.open_tasks += 1;
        self.link_task(&id);
        self.join_task(&id);
        self.wait_begun(&id);
        self.refresh_task(&id);
    }

    /// Enters the task into the lists of the tasks it names.
    fn link_task(&mut self, id: &TaskId) {
        let Some(task) = self.work.tasks.get(id) else { return };
        if !task.is_ended() {
            self.work.open.enter(task);
        }
        let (parent, on) = (task.spec.parent.clone(), task.spec.depends_on.clone());
        if let Some(parent) = parent {
            match self.work.tasks.get_mut(&parent) {
                Some(parent) => _ = parent.children.insert(id.clone()),
                None => _ = self.work.dangling.entry(parent).or_default().insert(id.clone()),
            }
        }
        for on in on {
            match self.work.tasks.get_mut(&on) {
                Some(on) => _ = on.dependents.insert(id.clone()),
                None => _ = self.work.dangling.entry(on).or_default().insert(id.clone()),
            }
        }
        self.wait_links(id);
    }

    fn unlink_task(&mut self, id: &TaskId) {
        self.drop_links(id);
        let Some(task) = self.work.tasks.get(id) else { return };
        self.work.open.leave(task);
        let (parent, on) = (task.spec.parent.clone(), task.spec.depends_on.clone());
        for named in parent.iter().chain(&on) {
            if let Some(naming) = self.work.dangling.get_mut(named) {
                naming.remove(id);
                if naming.is_empty() {
                    self.work.dangling.remove(named);
                }
            }
        }
        if let Some(parent) = parent.and_then(|p| self.work.tasks.get_mut(&p)) {
            parent.children.remove(id);
        }
        for on in on {
            if let Some(on) = self.work.tasks.get_mut(&on) {
                on.dependents.remove(id);
            }
        }
    }

    fn edit_task(&mut self, id: &TaskId, change: &task::Change) {
        self.unlink_task(id);
        if let Some(task) = self.work.tasks.get_mut(id) {
            change.apply(&mut task.spec);
            // Who writes a worse label into the file is heard; a better one needs more than that.
            if let Some(written) = task.spec.label() {
                task.label.join(&written);
            }
        }
        self.link_task(id);
        if matches!(change, task::Change::Parent(_)) {
            self.join_run(&Member::Task(id.clone()));
        }
        self.refresh_task(id);
    }

    fn set_stage(&mut self, id: &TaskId, stage: TaskStage) {
        let Some(task) = self.work.tasks.get_mut(id) else { return };
        let was = task.end();
        task.stage = stage;
        let (now, progress) = (task.end(), progress_of_task(task));
        match (was.is_some(), now.is_some()) {
            (false, true) => {
                self.work.open.leave(task);
                self.wait_ended(id);
            }
            (true, false) => {
                self.work.open.enter(task);
                self.wait_links(id);
                self.wait_begun(id);
            }
            (true, true) | (false, false) => {}
        }
        if was != now {
            self.runs.note(self.at, &Member::Task(id.clone()), progress);
        }
        self.refresh_task(id);
    }

    fn end_task(&mut self, id: &TaskId, end: task::End, result: &str) {
        let Some(task) = self.work.tasks.get_mut(id) else { return };
        if !task.is_ended() {
            self.work.open_tasks = self.work.open_tasks.saturating_sub(1);
        }
        task.result = cut(result, RESULT_BYTES_MAX).to_owned();
        if let Some(worker) = task.session().and_then(|id| self.sessions.get(id)) {
            task.label.join(&worker.label);
        }
        let worker = task.session().cloned();
        let waited: Vec<Node> = self.waits.waiters_for(&Node::from(id), Why::Dependency).cloned().collect();
        worker.iter().for_each(|worker| self.leave_workspace(worker));
        self.end_review(id);
        self.set_stage(id, TaskStage::Ended { end });
        for dependent in waited.iter().filter_map(Node::task) {
            self.refresh_task(dependent);
        }
    }

    fn reopen_task(&mut self, id: &TaskId) {
        let Some(task) = self.work.tasks.get_mut(id) else { return };
        if task.is_ended() {
            self.work.open_tasks += 1;
        }
        task.result.clear();
        self.outages.denied.remove(id);
        let dependents = task.dependents.clone();
        self.set_stage(id, TaskStage::Open);
        for dependent in dependents {
            self.refresh_task(&dependent);
        }
    }

    fn open_session(&mut self, head: &Head) {
        let session = Session {
            agent: head.agent.clone(),
            task: head.task.clone(),
            lifecycle: Lifecycle::Idle,
            failed: false,
            stage: Stage::Resting,
            label: Default::default(),
            began: Began {
                version: self.team.agents.get(&head.agent).map_or(0, |agent| agent.version),
                edition: self.config.edition,
            },
            talk: Talk { next_message: 1, ..Talk::default() },
            ties: Default::default(),
            pace: Default::default(),
            purse: Purse { expects: expected_first(&head.system_prompt), ..Purse::default() },
            proof: Default::default(),
            clock: Default::default(),
            queued: None,
        };
        if let Some(agent) = self.team.agents.get_mut(&head.agent) {
            agent.sessions_begun += 1;
            agent.sessions.insert(head.session.clone());
        }
        self.sessions.insert(head.session.clone(), session);
        self.join_session(&head.session);
    }

    fn adopt_session(
        &mut self,
        id: &SessionId,
        lifecycle: Lifecycle,
        failed: bool,
        next_message: u32,
        tail: &Tail,
    ) {
        self.claim_spent(id);
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.lifecycle = lifecycle;
        session.failed = failed;
        session.talk.next_message = next_message;
        if lifecycle == Lifecycle::Complete {
            session.stage = Stage::Over;
            let agent = session.agent.clone();
            if let Some(agent) = self.team.agents.get_mut(&agent) {
                agent.sessions.remove(id);
            }
            self.note_session(id);
            return;
        }
        self.set_tail(id, tail);
        let task = self.sessions.get(id).and_then(|s| s.task.clone());
        if let Some(task) = task
            && self.work.tasks.get(&task).is_some_and(|t| !t.is_ended())
        {
            self.set_stage(&task, TaskStage::Running { session: id.clone() });
        }
    }

    fn cut_session(&mut self, id: &SessionId, next_message: u32, tail: &Tail) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        (session.talk.numbered, session.talk.next_message) = (session.next_number(), next_message);
        if session.lifecycle != Lifecycle::Complete {
            self.set_tail(id, tail);
        }
        // Nothing is left that it would answer.
        if *tail == Tail::Answered {
            self.forget_askers(id);
        }
    }

    fn set_tail(&mut self, id: &SessionId, tail: &Tail) {
        self.forget_waits(id);
        self.end_locks(id);
        let Some(session) = self.sessions.get_mut(id) else { return };
        drop_retry(session, id, &mut self.schedule.deadlines);
        (session.talk.unread, session.talk.unread_from) = (false, 0);
        session.pace.turns = 0;
        session.stage = Stage::Resting;
        match tail {
            Tail::Answered => session.forget_unheard(),
            Tail::Unanswered => {
                // What the model was asked with is asked anew.
                session.talk.unread = true;
                session.talk.unheard.append(&mut session.talk.hearing);
            }
            Tail::Calls { said, calls } => {
                session.forget_unheard();
                let calls = calls
                    .iter()
                    .map(|found| Pending {
                        call: Arc::new(found.call.clone()),
                        step: if found.found == Found::Finished {
                            Step::Finished { ok: true }
                        } else {
                            Step::New
                        },
                    })
                    .collect();
                session.stage = Stage::Acting { said: said.clone(), calls };
            }
        }
        self.refresh_session(id);
        self.note_session(id);
    }

    fn reopen_session(&mut self, id: &SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.lifecycle = Lifecycle::Idle;
        session.failed = false;
        session.stage = Stage::Resting;
        session.pace.turns = 0;
        session.clock.worked_ms = 0;
        session.began.edition = self.config.edition;
        let agent = session.agent.clone();
        if let Some(agent) = self.team.agents.get_mut(&agent) {
            session.began.version = agent.version;
            agent.sessions.insert(id.clone());
        }
        self.note_session(id);
    }

    fn move_session(&mut self, at: Time, id: &SessionId, to: Lifecycle, failed: bool, reason: &str) {
        if to == Lifecycle::Working {
            self.goes_on(id);
        }
        // These two leave the calls of the turn behind.
        if matches!(to, Lifecycle::Waiting | Lifecycle::Complete) {
            self.forget_waits(id);
        }
        if to == Lifecycle::Complete {
            self.leave_over(id, reason);
        }
        let Some(session) = self.sessions.get_mut(id) else { return };
        if to != Lifecycle::Working {
            drop_retry(session, id, &mut self.schedule.deadlines);
        }
        let from = session.lifecycle;
        let answers = to == Lifecycle::Waiting && matches!(session.stage, Stage::Concluding { .. });
        session.lifecycle = to;
        session.failed = failed;
        if to != Lifecycle::Blocked {
            drop_parking(session, id, &mut self.schedule.deadlines, &mut self.ledger);
        }
        let agent_id = session.agent.clone();
        match to {
            // Should it be opened again, it waits for nothing that it waited for before.
            Lifecycle::Complete => {
                (session.stage, session.proof.proving, session.purse.parked_since) =
                    (Stage::Over, None, None);
            }
            // The only stage in which an agent waits.
            Lifecycle::Waiting => session.stage = Stage::Resting,
            Lifecycle::Idle | Lifecycle::Working | Lifecycle::Blocked => {}
        }
        let mut agent = self.team.agents.get_mut(&agent_id);
        match (from == Lifecycle::Working, to == Lifecycle::Working) {
            (false, true) => {
                self.schedule.busy += 1;
                if let Some(agent) = &mut agent {
                    agent.busy += 1;
                }
            }
            (true, false) => {
                self.schedule.busy = self.schedule.busy.saturating_sub(1);
                if let Some(agent) = &mut agent {
                    agent.busy = agent.busy.saturating_sub(1);
                }
            }
            (true, true) | (false, false) => {}
        }
        if to == Lifecycle::Complete
            && let Some(agent) = agent
        {
            agent.sessions.remove(id);
            forget_past(agent, &self.sessions);
        }
        self.set_clock(at, id);
        // The askers have their answer, unless it is still to come.
        if answers {
            self.forget_answered(id);
        }
        match to {
            Lifecycle::Complete => self.end_locks(id),
            Lifecycle::Waiting => self.leave_workspace(id),
            Lifecycle::Idle | Lifecycle::Working | Lifecycle::Blocked => {}
        }
        self.refresh_session(id);
        self.refresh_agent(&agent_id);
        self.note_session(id);
    }

    fn begin_turn(&mut self, at: Time, id: &SessionId, turn: u32) {
        let ticket = Ticket { effect: self.seq, attempt: 1 };
        self.charge_turn(id);
        self.runs.count(id, |counts| counts.turns += 1);
        self.change_session(id, |session| {
            if session.proof.proving.take().is_some_and(|proving| proving.missing) {
                session.proof.unproven += 1;
            }
            session.stage = Stage::Thinking { ticket };
            session.pace.turns += 1;
            session.pace.turns_total = turn;
            session.read_all();
            session.pace.failures = 0;
            session.pace.summaries = 0;
            session.purse.parked_since = None;
            session.pace.fallback_until = session.pace.fallback_until.filter(|until| at < *until);
        });
        self.set_clock(at, id);
    }

    fn fail_turn(&mut self, at: Time, id: &SessionId, due: Time, falls_back: bool) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let Stage::Thinking { ticket } = session.stage {
            session.stage = Stage::Retrying { ticket, due };
            session.pace.failures = session.pace.failures.saturating_add(1);
            if falls_back {
                session.pace.failures = 0;
                session.pace.fallback_until = Some(at.plus_ms(FALLBACK_MS));
            }
            self.schedule.deadlines.insert((due, Deadline::Retry(id.clone())));
        }
        self.wait_session(id);
        self.release_idle(id);
    }

    fn retry_turn(&mut self, id: &SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let Stage::Thinking { ticket } | Stage::Retrying { ticket, .. } = session.stage {
            if let Stage::Retrying { due, .. } = session.stage {
                self.schedule.deadlines.remove(&(due, Deadline::Retry(id.clone())));
            }
            session.stage =
                Stage::Thinking { ticket: Ticket { effect: ticket.effect, attempt: ticket.attempt + 1 } };
            session.read_all();
        }
        self.wait_session(id);
    }

    fn take_reply(&mut self, id: &SessionId, message: &Message) {
        self.change_session(id, |session| {
            session.talk.hearing.clear();
            session.talk.unread_from = 0;
            session.talk.next_message =
                session.talk.next_message.max(number_in(message.id.as_str()).saturating_add(1));
            session.label.join(&message.label);
            if !message.calls.is_empty() {
                session.proof.reminders = 0;
            }
            session.stage = if message.calls.is_empty() {
                Stage::Concluding { said: message.content.clone() }
            } else {
                let calls = message
                    .calls
                    .iter()
                    .map(|call| Pending { call: Arc::new(call.clone()), step: Step::New })
                    .collect();
                Stage::Acting { said: message.content.clone(), calls }
            };
        });
    }

    fn prove(&mut self, id: &SessionId, message: &Message) {
        let reported = message.calls.iter().find_map(|call| match &call.want {
            Want::Act(Act::Check(check)) => Some(check.result.clone()),
            Want::Act(_) | Want::Invalid { .. } => None,
        });
        if let Some((session, said)) = self.sessions.get_mut(id).zip(reported) {
            session.proof.proving = Some(Proving { said, missing: false });
        }
        self.take_reply(id, message);
    }

    fn take_summary(&mut self, id: &SessionId, message: &Message) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.talk.next_message =
            session.talk.next_message.max(number_in(message.id.as_str()).saturating_add(1));
        session.label.join(&message.label);
        session.pace.summaries = session.pace.summaries.saturating_add(1);
        // The same turn, asked once more: what still comes of the try before it is late.
        if let Stage::Thinking { ticket } = &mut session.stage {
            ticket.attempt += 1;
            session.read_all();
        }
    }

    fn step(&mut self, id: &SessionId, call: &str, step: Step) {
        self.change_session(id, |session| take_step(session, call, step));
    }

    /// A call is judged, and a person is asked about it, by what was seen last.
    fn see_call(&mut self, id: &SessionId, call: &CallId, seen: Option<&Seen>) {
        self.change_session(id, |session| {
            if let Stage::Acting { calls, .. } = &mut session.stage
                && let Some(pending) = calls.iter_mut().find(|pending| pending.call.id == *call)
            {
                let looked_at = Arc::unwrap_or_clone(Arc::clone(&pending.call)).seeing(seen.cloned());
                *pending = Pending { call: Arc::new(looked_at), step: Step::Looked };
            }
        });
    }

    fn retry_call(&mut self, id: &SessionId, call: &str) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if let Stage::Acting { calls, .. } = &mut session.stage
            && let Some(pending) = calls.iter_mut().find(|p| p.call.id.as_str() == call)
            && let Step::Running { ticket, .. } = &mut pending.step
        {
            ticket.attempt += 1;
        }
    }

    fn finish_call(&mut self, id: &SessionId, message: &Message, finish: &Finish) {
        self.forget_wait(id, message.call.as_ref());
        self.settle_request(id, message);
        self.release_call(id, message.call.as_ref(), finish);
        self.change_session(id, |session| {
            if let Some(proving) = &mut session.proof.proving {
                proving.missing |= *finish != Finish::Done;
            }
            session.talk.next_message =
                session.talk.next_message.max(number_in(message.id.as_str()).saturating_add(1));
            session.label.join(&message.label);
            if let Some(call) = &message.call {
                take_step(session, call.as_str(), Step::Finished { ok: *finish == Finish::Done });
            }
            session.purse.expects = session.purse.expects.saturating_add(expected(message));
        });
    }

    /// The same after a session was changed.
    fn refresh_session(&mut self, id: &SessionId) {
        self.place_session(id, |_| {});
        self.wait_session(id);
        self.release_idle(id);
    }

    /// Changes a session and puts it where it belongs: on the agenda, in its agent's queue, or neither. Finds it
    /// once for both, because finding sessions is most of what applying an event costs.
    fn change_session(&mut self, id: &SessionId, change: impl FnOnce(&mut Session)) {
        if self.place_session(id, change) {
            self.wait_session(id);
        }
        self.release_idle(id);
    }
}

/// Forgets that a model call is due again, before the stage that says when is left.
fn drop_retry(session: &Session, id: &SessionId, deadlines: &mut Deadlines) {
    if let Stage::Retrying { due, .. } = session.stage {
        deadlines.remove(&(due, Deadline::Retry(id.clone())));
    }
}

/// Working time counts from here, and is over when `ms_max` is used up.
fn start_clock(
    session: &mut Session,
    id: &SessionId,
    at: Time,
    ms_max: Option<u64>,
    deadlines: &mut Deadlines,
) {
    session.clock.working_since = Some(at);
    let Some(ms_max) = ms_max else { return };
    let allowed = ms_max.saturating_sub(session.clock.worked_ms);
    let due = at.plus_ms(allowed);
    session.clock.work_due = Some(due);
    deadlines.insert((due, Deadline::Work(id.clone())));
}

/// Working time no longer counts. Without `at`, nobody knows when that began.
fn stop_clock(session: &mut Session, id: &SessionId, at: Option<Time>, deadlines: &mut Deadlines) {
    if let (Some(at), Some(since)) = (at, session.clock.working_since) {
        session.clock.worked_ms += at.ms_since(since);
    }
    session.clock.working_since = None;
    if let Some(due) = session.clock.work_due.take() {
        deadlines.remove(&(due, Deadline::Work(id.clone())));
    }
}

/// Takes one of the current turn's calls a step further, and counts how often the same act came in a row.
fn take_step(session: &mut Session, call: &str, step: Step) {
    let Stage::Acting { calls, .. } = &mut session.stage else { return };
    let Some(pending) = calls.iter_mut().find(|p| p.call.id.as_str() == call) else { return };
    if matches!(pending.step, Step::New) {
        session.pace.repeated = match session.pace.repeated.take() {
            Some((last, times)) if pending.call.is_act(&last) => Some((last, times + 1)),
            _ => Some((pending.call.act(), 1)),
        };
    }
    pending.step = step;
}
