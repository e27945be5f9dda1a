//! The desk: the one thread that reads and writes the files of a home. It hands each file and each event to the part that
//! knows its kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use domain::id::{Seq, SessionId};
use domain::input::FileInput;
use domain::input::Input;
use domain::layout::{self, Decided};
use ports::printer::Recorded;
use tokio::sync::{mpsc, oneshot};

use super::agents::{AgentOp, settle_agents};
use super::approvals::{ApprovalOp, Approvals, count_approvals, find_questions, look_at_detail};
use super::cabinet::Cabinet;
use super::chronicle::Chronicle;
use super::flush::Flusher;
use super::fresh::Fresh;
use super::hold::Hold;
use super::inbox::Inboxes;
use super::labels::{Labels, find_labels};
use super::looks::{DEBOUNCE, RETRY};
use super::outbox::Outbox;
use super::places::{all_files, is_ours, session_of};
use super::reports::Reports;
use super::session_op::SessionOp;
use super::sessions::{Sessions, asked_by};
use super::statuses::LULL;
use super::tasks::{TaskOp, Tasks};
use super::ties::Ties;
use super::usage::{Usage, find_usage};
use super::watch::Watch;
use super::{Job, Setup, cycles, ids, owned, relative, stamps, strangers};
use crate::disk::{self, Stamp};
use crate::git::undo;
use crate::lock::Claim;
use crate::problem::Problem;
use crate::session::Conversation;

/// How long a start waits for what seems to be gone to be confirmed.
const SCAN_MAX: Duration = Duration::from_secs(3);
/// How long a file that was swapped out is kept for an editor that still writes into it.
const DISPLACED: Duration = Duration::from_secs(2);
/// How long the desk sleeps when there is nothing to do.
const SLEEP: Duration = Duration::from_secs(1);

pub(super) struct Desk {
    cabinet: Cabinet,
    tasks: Tasks,
    sessions: Sessions,
    approvals: Approvals,
    inboxes: Inboxes,
    labels: Labels,
    usage: Usage,
    chronicle: Chronicle,
    flusher: Flusher,
    /// None if nobody watches.
    pub(super) watch: Option<Watch>,
    todo: Todo,
    /// Those who wait until all files were looked at.
    scans: Vec<(Instant, oneshot::Sender<()>)>,
    /// Those who wait for a conversation.
    parked: Vec<(SessionId, oneshot::Sender<Conversation>)>,
    printed: Arc<AtomicU64>,
    /// How far the files were last said to reach.
    told: Seq,
    /// Whether there was no journal when the home was opened.
    is_new: bool,
    claim: Claim,
}

/// Edits that are not made yet.
#[derive(Default)]
struct Todo {
    agents: Vec<AgentOp>,
    tasks: BTreeMap<String, Vec<TaskOp>>,
    sessions: BTreeMap<SessionId, Vec<SessionOp>>,
    approvals: Vec<ApprovalOp>,
    /// The first event whose edits could not be made yet.
    held: Option<Seq>,
}

impl Desk {
    pub(super) fn new(
        setup: Setup,
        printed: Arc<AtomicU64>,
        to_people: mpsc::Sender<Problem>,
        flusher: Flusher,
        fresh: Fresh,
        hold: Hold,
    ) -> Self {
        let reports = Reports::new(to_people, hold);
        let outbox = Outbox::new(setup.inputs);
        Self {
            is_new: setup.state.seq == Seq(0),
            labels: Labels::new(&setup.state),
            chronicle: Chronicle::new(&setup.state, setup.uncommitted),
            cabinet: Cabinet::new(setup.home, setup.state, setup.printed, reports, outbox),
            tasks: Tasks::default(),
            sessions: Sessions::new(setup.tools, fresh),
            approvals: Approvals::default(),
            inboxes: Inboxes::default(),
            usage: Usage::default(),
            flusher,
            watch: None,
            todo: Todo::default(),
            scans: Vec::new(),
            parked: Vec::new(),
            told: setup.printed,
            printed,
            claim: setup.claim,
        }
    }

    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            let mut lull = true;
            let job = jobs.recv_timeout(self.pause());
            if self.claim.lost().is_some() {
                // The home is no longer ours. Not dropped: that would make durable and commit what is left.
                return std::mem::forget(self);
            }
            match job {
                Ok(job) => {
                    lull = false;
                    if self.handle(job) {
                        return;
                    }
                    // Take what else is there before files are touched: one write serves many events.
                    while let Ok(job) = jobs.try_recv() {
                        if self.handle(job) {
                            return;
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.settle();
                    self.turn_all_statuses();
                    self.settle();
                    return;
                }
            }
            self.sessions.statuses.put_turned(&mut self.cabinet, &self.flusher);
            self.settle();
            // Before files are looked at: a model is asked no later than its question stands there.
            self.serve_parked();
            self.look_at_late_saves();
            self.look_at_due();
            self.look_at_put_off();
            self.settle();
            self.serve_parked();
            self.sessions.fresh.rest(lull);
            self.sessions.statuses.turn(&mut self.cabinet, &self.flusher, lull);
            self.cabinet.recent.forget();
            self.cabinet.outbox.empty();
            self.end_scans();
        }
    }

    /// Does one job; says whether it was the last.
    fn handle(&mut self, job: Job) -> bool {
        match job {
            Job::Print(batch) => batch.iter().for_each(|recorded| self.take_over(recorded)),
            Job::Changed(paths) => {
                for path in paths {
                    if let Some(path) = relative(&self.cabinet.home, &path) {
                        self.look_around(&path);
                    }
                }
            }
            Job::Rescan => self.look_everywhere(),
            Job::Conversation(session, reply) => self.parked.push((session, reply)),
            Job::Scan(reply) => {
                self.settle();
                if self.is_new {
                    ids::find_ids(&mut self.cabinet);
                    find_labels(&mut self.cabinet);
                    find_questions(&mut self.cabinet);
                }
                count_approvals(&mut self.cabinet);
                self.look_at_all();
                self.chronicle.catch_up(&self.cabinet.state);
                let notes = self.chronicle.news(&mut self.cabinet);
                self.flusher.take(BTreeSet::new(), None, notes);
                self.scans.push((Instant::now(), reply));
            }
            Job::Written(reply) => {
                self.settle();
                _ = reply.send(());
            }
            Job::Settled(reply) => {
                self.settle();
                self.turn_all_statuses();
                _ = reply.send(());
            }
            Job::Flush(reply) => {
                self.settle();
                self.turn_all_statuses();
                self.settle();
                self.flusher.wait();
                _ = reply.send(());
            }
            Job::Keep(path, why) => self.chronicle.keep(self.cabinet.taken, path, why),
            Job::Stop => {
                self.settle();
                self.turn_all_statuses();
                self.settle();
                self.flusher.wait();
                self.keep_stamps();
                return true;
            }
        }
        false
    }

    /// Notes what each file is, so that the next start looks only at those that changed. Only after a good
    /// stop: with edits that still wait, everything is looked at.
    fn keep_stamps(&mut self) {
        if self.todo.held.is_some() {
            return;
        }
        let cabinet = &mut self.cabinet;
        let mut all = std::mem::take(&mut cabinet.stamps);
        all.extend(cabinet.known.iter().map(|(path, known)| (path.clone(), Stamp::from(known))));
        // What was complained about, or not looked at to the end, is looked at again.
        all.retain(|path, _| !cabinet.reports.has_problem(path) && !cabinet.looks.is_pending(path));
        stamps::keep(&cabinet.home, &all);
    }

    /// Notes what an event changes in files, and keeps the copy of the state in step.
    fn take_over(&mut self, recorded: &Recorded) {
        let (at, event) = (recorded.at, &recorded.event);
        self.cabinet.replaying |= recorded.seq <= self.cabinet.state.seq;
        // A call stands in its session before what it made stands anywhere else: who finds only the files must see
        // that it was asked for, or it is asked for again. With a journal to print from, the order does not matter.
        if !self.cabinet.replaying && asked_by(event).is_some_and(|session| self.has_unprinted_calls(session))
        {
            self.settle();
        }
        self.todo.agents.extend(AgentOp::of(event));
        if let Some((path, op)) = self.tasks.op(&mut self.cabinet, at, event) {
            self.todo.tasks.entry(path).or_default().push(op);
        }
        if let Some((session, op)) = self.sessions.op(&mut self.cabinet, at, event) {
            self.todo.sessions.entry(session).or_default().push(op);
        }
        self.todo.approvals.extend(ApprovalOp::of(at, event));
        self.chronicle.take(&self.cabinet.state, recorded);
        self.usage.note(&self.cabinet, recorded);
        // Events that were printed again after a crash are in the state already.
        if recorded.seq == self.cabinet.state.next_seq() {
            self.cabinet.state.apply(at, event);
            cycles::note_cycle(&self.cabinet, event);
            strangers::note_stranger(&self.cabinet, event);
        }
        self.labels.note(&self.cabinet, event);
        self.cabinet.taken = recorded.seq;
    }

    fn has_unprinted_calls(&self, session: &SessionId) -> bool {
        self.todo.sessions.get(session).is_some_and(|ops| ops.iter().any(SessionOp::has_calls))
    }

    /// Makes all edits, and has said how far they reach as soon as they are durable.
    fn settle(&mut self) {
        let todo = std::mem::take(&mut self.todo);
        let reached = self.cabinet.taken;
        let mut held = None;
        let done = self.usage.settle(&mut self.cabinet);
        if !self.cabinet.reports.note(formats::usage::PATH, done) {
            held = todo.held.or(Some(reached));
        }
        self.todo.agents = settle_agents(&mut self.cabinet, todo.agents);
        if !self.todo.agents.is_empty() {
            held = todo.held.or(Some(reached));
        }
        for (path, ops) in todo.tasks {
            let done = self.tasks.settle(&mut self.cabinet, &path, &ops, false);
            if !self.cabinet.reports.note(&path, done) {
                self.todo.tasks.entry(path).or_default().extend(ops);
                held = todo.held.or(Some(reached));
            }
        }
        for (session, ops) in todo.sessions {
            let done = self.sessions.settle(&mut self.cabinet, &session, &ops, false);
            let path = layout::session_file(&session);
            let whole = done.as_ref().is_ok_and(|whole| *whole);
            self.cabinet.reports.note(&path, done.map(|_| ()));
            if !whole {
                self.todo.sessions.entry(session).or_default().extend(ops);
                held = todo.held.or(Some(reached));
            }
        }
        if !todo.approvals.is_empty() {
            let done = self.approvals.settle(&mut self.cabinet, &todo.approvals, false);
            if !self.cabinet.reports.note(layout::QUEUE, done) {
                self.todo.approvals.extend(todo.approvals);
                held = todo.held.or(Some(reached));
            }
        }
        let done = self.labels.settle(&self.cabinet);
        if !self.cabinet.reports.note(formats::labels::PATH, done) {
            held = held.or(todo.held).or(Some(reached));
        }
        let touched = std::mem::take(&mut self.cabinet.touched);
        match held {
            // Everything before the first event that waits is printed; how much of it does not matter.
            Some(seq) => {
                self.todo.held =
                    Some(todo.held.unwrap_or_else(|| Seq(self.printed.load(Ordering::Relaxed))).min(seq));
                self.flusher.take(touched, None, None);
            }
            None => {
                let advanced = std::mem::replace(&mut self.told, reached) != reached;
                let notes = self.chronicle.news(&mut self.cabinet);
                self.flusher.take(touched, advanced.then_some(reached), notes);
            }
        }
        self.cabinet.replaying = false;
    }

    /// An editor that had the old file open may have written into it after it was swapped out: its text takes
    /// the place, and what Synod printed since is printed again. So is what a person saved since, which is looked
    /// at first: they began with a file that lacked the late save.
    fn look_at_late_saves(&mut self) {
        let displaced = std::mem::take(&mut self.cabinet.displaced);
        for (since, path, mut old) in displaced {
            match old.late_save() {
                Some(text) if since.elapsed() >= DEBOUNCE => {
                    self.look(&path, false);
                    let mut is_put = false;
                    let put = self.cabinet.rewrite(&path, false, |_, _, fresh| {
                        is_put = !fresh;
                        is_put.then(|| text.clone())
                    });
                    self.cabinet.reports.note(&path, put);
                    self.look(&path, true);
                    if !is_put {
                        self.cabinet.displaced.push((since, path, old));
                    }
                }
                Some(_) => self.cabinet.displaced.push((since, path, old)),
                None if since.elapsed() < DISPLACED => self.cabinet.displaced.push((since, path, old)),
                None => {}
            }
        }
    }

    fn look_at_due(&mut self) {
        for (path, forced) in self.cabinet.looks.due() {
            self.cabinet.looks.remove(&path);
            self.look(&path, forced);
        }
    }

    /// Looks at one file and gives what people did to it as inputs.
    fn look(&mut self, path: &str, forced: bool) {
        let looked = self.try_look(path, forced);
        if !self.cabinet.reports.note(path, looked) {
            self.cabinet.looks.again(path);
        }
        self.cabinet.looks.end();
    }

    fn try_look(&mut self, path: &str, forced: bool) -> std::io::Result<()> {
        if self.cabinet.reports.hold.puts_off(path) {
            return Ok(());
        }
        let found = self.cabinet.read_whole(path)?;
        let signature = found.as_ref().map(|f| f.known.signature());
        self.cabinet.looks.begin(path, signature);
        if undo::is_meant(&self.cabinet.home, path, signature) {
            self.forget_printed(path);
        }
        if path == layout::QUEUE {
            return self.approvals.settle(&mut self.cabinet, &[], forced);
        }
        if layout::is_inside(path, layout::TASKS) {
            return self.tasks.settle(&mut self.cabinet, path, &[], forced);
        }
        if let Some(session) = session_of(path) {
            let ops = self.todo.sessions.remove(&session).unwrap_or_default();
            if !self.sessions.settle(&mut self.cabinet, &session, &ops, forced)? {
                self.todo.sessions.insert(session, ops);
            }
            return Ok(());
        }
        let cabinet = &mut self.cabinet;
        let unchanged = match (&found, cabinet.known.get(path)) {
            (Some(found), Some(known)) => known.same_content(&found.known),
            (None, _) | (Some(_), None) => false,
        };
        if unchanged && !forced && !layout::is_inside(path, layout::INBOX) {
            return Ok(());
        }
        match path {
            layout::SETTINGS | layout::EVE => owned::look_at_settings(cabinet, path, found.as_ref()),
            layout::COMMANDS => owned::look_at_policy(cabinet, path, found.as_ref()),
            _ if layout::is_inside(path, layout::AGENTS) => {
                let confirmed = cabinet.looks.is_confirmed(path);
                owned::look_at_agent(cabinet, path, found.as_ref(), confirmed);
            }
            _ if layout::is_inside(path, Decided::Pending.folder()) => {
                look_at_detail(cabinet, path, found.as_ref())
            }
            _ if layout::is_inside(path, layout::INBOX) => self.inboxes.look(cabinet, path, found.as_ref()),
            _ => {}
        }
        if !unchanged {
            cabinet.notice(path);
        }
        cabinet.know(path, found);
        Ok(())
    }

    /// What the file says is meant so, however short ago something else was printed.
    fn forget_printed(&mut self, path: &str) {
        if let Some(session) = session_of(path) {
            self.cabinet.recent.forget_session(&session);
        }
        let here = self
            .cabinet
            .state
            .work
            .tasks
            .iter()
            .filter(|(_, task)| task.spec.file == path)
            .map(|(id, _)| id.clone());
        for task in here.collect::<Vec<_>>() {
            self.cabinet.recent.forget_task(&task);
        }
    }

    fn look_everywhere(&mut self) {
        for path in all_files(&self.cabinet.home, &self.cabinet.state) {
            self.cabinet.looks.soon(&path);
        }
    }

    /// Looks at what changed. Of a folder that was brought or taken away as a whole, its files are not named.
    fn look_around(&mut self, path: &str) {
        if self.watch.as_mut().is_some_and(|watch| watch.renew(path)) {
            self.look_everywhere();
        }
        if layout::is_inside(path, layout::AGENTS) && !is_ours(path) {
            self.cabinet.looks.soon(&format!("{path}/agent.json"));
        }
        self.cabinet.looks.soon(path);
    }

    /// Answers those who wait for a look at all files, once the engine has all that was found and nothing of it
    /// is doubtful.
    fn end_scans(&mut self) {
        if !self.cabinet.outbox.is_empty() {
            return;
        }
        self.cabinet.reports.hold.tell();
        let doubtful = self.cabinet.looks.is_doubtful();
        let over = |since: &Instant| !doubtful || since.elapsed() >= SCAN_MAX;
        for (_, reply) in self.scans.extract_if(.., |(since, _)| over(since)) {
            _ = reply.send(());
        }
    }

    fn turn_all_statuses(&mut self) {
        self.sessions.statuses.turn_all(&mut self.cabinet, &self.flusher);
    }

    /// Looks at every file, in the order in which they build on each other.
    fn look_at_all(&mut self) {
        let stamps = stamps::take(&self.cabinet.home);
        self.tasks.to_name = Some(BTreeSet::new());
        self.sessions.ties = Some(Ties::default());
        for path in all_files(&self.cabinet.home, &self.cabinet.state) {
            let place = self.cabinet.home.join(&path);
            if stamps.get(&path).is_some_and(|stamp| Stamp::of(&place).as_ref() == Some(stamp)) {
                // Nobody touched it since it was last printed or read; what it says is in the journal.
                self.cabinet.stamps.insert(path.clone(), stamps[&path].clone());
                continue;
            }
            if let Err(error) = disk::recover(&place) {
                self.cabinet.reports.note(&path, Err(error));
            }
            self.look(&path, true);
            self.settle();
        }
        let ties = self.sessions.ties.take().map(Ties::found).unwrap_or_default();
        if !ties.is_empty() {
            self.cabinet.outbox.say(Input::File(FileInput::TiesFound { ties }));
        }
        find_usage(&mut self.cabinet);
        for path in self.tasks.to_name.take().unwrap_or_default() {
            self.look(&path, true);
        }
        self.settle();
        owned::miss_agents(&mut self.cabinet);
    }

    /// Takes up what was put off, once nothing keeps the home from beginning.
    fn look_at_put_off(&mut self) {
        if self.cabinet.reports.hold.is_over() {
            self.look_at_all();
        }
    }

    fn serve_parked(&mut self) {
        for (session, reply) in std::mem::take(&mut self.parked) {
            if reply.is_closed() {
                continue;
            }
            // What the journal has and the file does not yet: a person may have mended it a moment ago.
            if self.todo.sessions.contains_key(&session) {
                self.parked.push((session, reply));
                continue;
            }
            match self.sessions.conversation(&mut self.cabinet, &session) {
                Ok(Some(conversation)) => _ = reply.send(conversation),
                // The file does not read: the call waits until a person has mended it.
                Ok(None) => self.parked.push((session, reply)),
                Err(_) => drop(reply),
            }
        }
    }

    fn pause(&self) -> Duration {
        if !self.cabinet.outbox.is_empty() || !self.parked.is_empty() || self.todo.held.is_some() {
            return RETRY;
        }
        let due = self.cabinet.looks.pause();
        let late = if self.cabinet.displaced.is_empty() { SLEEP } else { DEBOUNCE };
        let status = if self.sessions.statuses.is_quiet() { SLEEP } else { LULL };
        due.unwrap_or(SLEEP).min(late).min(status)
    }
}
