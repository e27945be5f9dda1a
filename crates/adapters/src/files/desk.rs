//! The desk: the one thread that reads and writes the files of a home.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use domain::id::{ApprovalId, MessageId, Seq, SessionId, TaskId};
use domain::input::Input;
use domain::state::State;
use domain::task::Spec;
use formats::diagnostic::Diagnostic;
use ports::inputs::{Inputs, NotTaken};
use ports::printer::Recorded;
use ports::tools::Tools;
use tokio::sync::{mpsc, oneshot};

use super::agents::AgentOp;
use super::approvals::ApprovalOp;
use super::flush::Flusher;
use super::fresh::Fresh;
use super::hold::Hold;
use super::places::{is_ours, session_of};
use super::recent::{Recent, STALE_SAVE};
use super::sessions::{SessionOp, asked_by};
use super::statuses::{LULL, Statuses};
use super::tasks::TaskOp;
use super::ties::Ties;
use super::usage::Usage;
use super::watch::Watch;
use super::{Job, Setup, relative, stamps};
use crate::disk::{self, Displaced, Flush, Found, Known, Replaced, Stamp};
use crate::git::history::Notes;
use crate::git::reason::{Reason, Reasons, Weight, Who};
use crate::git::undo;
use crate::layout::QUEUE;
use crate::lock::Claim;
use crate::problem::Problem;
use crate::session::{Conversation, path_of};

/// How long a file must be quiet before it is looked at.
pub const DEBOUNCE: Duration = Duration::from_millis(15);
/// How long a file that is written all the time may put that off.
const DEBOUNCE_MAX: Duration = Duration::from_millis(60);
/// How long what a person seems to have taken away must stay away before it is believed.
const CONFIRM: Duration = Duration::from_millis(300);
/// How long a start waits for that.
const SCAN_MAX: Duration = Duration::from_secs(3);
/// How long a file that was swapped out is kept for an editor that still writes into it.
const DISPLACED: Duration = Duration::from_secs(2);
/// So many of them are kept: each is an open file.
const DISPLACED_MAX: usize = 256;
/// Inputs that may wait for the engine.
pub(super) const OUTBOX_MAX: usize = 1024;
/// How often an edit is tried again on a file that keeps changing.
const ATTEMPTS: usize = 32;
/// How often, and after which time, an empty file is looked at again before it is believed to be empty.
const EMPTY_LOOKS: u32 = 100;
const EMPTY_WAIT: Duration = Duration::from_millis(1);
/// How long the desk sleeps when there is nothing to do.
const SLEEP: Duration = Duration::from_secs(1);
/// How soon it looks again at what could not be done at once.
const RETRY: Duration = Duration::from_millis(10);

pub(super) struct Desk {
    pub(super) home: PathBuf,
    /// The state as printed.
    pub(super) state: State,
    pub(super) tools: Arc<dyn Tools>,
    pub(super) recent: Recent,
    /// What each file was when it was last read or written.
    pub(super) known: BTreeMap<String, Known>,
    /// What the files were that this process never had to read.
    pub(super) stamps: BTreeMap<String, Stamp>,
    /// Files with additions that are not durable yet.
    pub(super) touched: BTreeSet<String>,
    /// None if nobody watches.
    pub(super) watch: Option<Watch>,
    pub(super) lines_given: BTreeMap<String, u64>,
    /// By file and title: how many tasks without an id the engine is asked to name. Messages below.
    pub(super) adopting_tasks: BTreeMap<(String, String), usize>,
    /// Tasks with names that the engine was told of and has not taken yet.
    pub(super) reading_tasks: BTreeMap<TaskId, Spec>,
    /// While all files are looked at: those with tasks to be named, once every name that is taken is known.
    pub(super) to_name: Option<BTreeSet<String>>,
    pub(super) adopting_messages: BTreeSet<(SessionId, String)>,
    /// Sessions whose cut the engine was told.
    pub(super) cutting: BTreeSet<SessionId>,
    pub(super) closed: BTreeSet<ApprovalId>,
    /// A hash of the words of each message, of sessions that were read.
    pub(super) words: BTreeMap<SessionId, BTreeMap<MessageId, u64>>,
    inputs: Arc<dyn Inputs>,
    outbox: VecDeque<Input>,
    scans: Vec<(Instant, oneshot::Sender<()>)>,
    pub(super) problems: BTreeMap<String, Vec<Diagnostic>>,
    /// What was told of files that the disk refuses.
    pub(super) refused: BTreeMap<String, String>,
    pub(super) tell: mpsc::Sender<Problem>,
    looks: BTreeMap<String, Look>,
    displaced: Vec<(Instant, String, Box<Displaced>)>,
    /// The file that is looked at now and what it is, for `confirm_later`.
    current: Option<(String, Option<u64>)>,
    doubts: BTreeMap<String, Option<u64>>,
    confirmed: Option<String>,
    parked: Vec<(SessionId, oneshot::Sender<Conversation>)>,
    todo: Todo,
    /// Whether events are printed again that the copy of the state has already.
    pub(super) replaying: bool,
    printed: Arc<AtomicU64>,
    /// How far the files were last said to reach.
    told: Seq,
    /// The last event that was taken over.
    pub(super) taken: Seq,
    /// Lines for the list of labels that are not in it yet.
    pub(super) label_lines: String,
    /// Places that have a line in it.
    pub(super) labelled: BTreeSet<String>,
    pub(super) usage: Usage,
    pub(super) ties: Ties,
    /// Whether there was no journal when the home was opened.
    is_new: bool,
    pub(super) flusher: Flusher,
    pub(super) statuses: Statuses,
    pub(super) fresh: Fresh,
    reasons: Reasons,
    /// What the history is told when all of it stands in the files.
    notes: Notes,
    uncommitted: Vec<Recorded>,
    /// The last of those, which are not told again when they are printed again.
    uncommitted_last: Seq,
    claim: Claim,
    pub(super) hold: Hold,
}

/// A file to look at.
struct Look {
    first: Instant,
    due: Instant,
    forced: bool,
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
        tell: mpsc::Sender<Problem>,
        flusher: Flusher,
        fresh: Fresh,
        hold: Hold,
    ) -> Self {
        Self {
            hold,
            label_lines: String::new(),
            usage: Usage::default(),
            ties: Ties::default(),
            labelled: setup.state.files.keys().cloned().collect(),
            is_new: setup.state.seq == Seq(0),
            flusher,
            statuses: Statuses::default(),
            fresh,
            reasons: Reasons::of(&setup.state),
            notes: Notes::default(),
            uncommitted_last: setup.uncommitted.last().map_or(Seq(0), |recorded| recorded.seq),
            uncommitted: setup.uncommitted,
            claim: setup.claim,
            home: setup.home,
            state: setup.state,
            tools: setup.tools,
            recent: Recent::default(),
            known: BTreeMap::new(),
            stamps: BTreeMap::new(),
            touched: BTreeSet::new(),
            watch: None,
            lines_given: BTreeMap::new(),
            adopting_tasks: BTreeMap::new(),
            reading_tasks: BTreeMap::new(),
            to_name: None,
            adopting_messages: BTreeSet::new(),
            cutting: BTreeSet::new(),
            closed: BTreeSet::new(),
            words: BTreeMap::new(),
            inputs: setup.inputs,
            outbox: VecDeque::new(),
            scans: Vec::new(),
            problems: BTreeMap::new(),
            refused: BTreeMap::new(),
            tell,
            looks: BTreeMap::new(),
            displaced: Vec::new(),
            current: None,
            doubts: BTreeMap::new(),
            confirmed: None,
            parked: Vec::new(),
            todo: Todo::default(),
            replaying: false,
            taken: setup.printed,
            told: setup.printed,
            printed,
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
            self.put_turned();
            self.settle();
            // Before files are looked at: a model is asked no later than its question stands there.
            self.serve_parked();
            self.look_at_late_saves();
            self.look_at_due();
            self.look_at_put_off();
            self.settle();
            self.serve_parked();
            self.fresh.rest(lull);
            self.turn_statuses(lull);
            self.recent.forget();
            self.empty_outbox();
            self.end_scans();
        }
    }

    /// Does one job; says whether it was the last.
    fn handle(&mut self, job: Job) -> bool {
        match job {
            Job::Print(batch) => batch.iter().for_each(|recorded| self.take_over(recorded)),
            Job::Changed(paths) => {
                for path in paths {
                    if let Some(path) = relative(&self.home, &path) {
                        self.look_around(&path);
                    }
                }
            }
            Job::Rescan => self.look_everywhere(),
            Job::Conversation(session, reply) => self.parked.push((session, reply)),
            Job::Scan(reply) => {
                self.settle();
                if self.is_new {
                    self.find_ids();
                    self.find_labels();
                    self.find_questions();
                }
                self.count_approvals();
                self.look_at_all();
                for recorded in std::mem::take(&mut self.uncommitted) {
                    self.notes.reasons.extend(self.reasons.take(&self.state, &recorded));
                }
                let notes = self.news();
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
            Job::Keep(path, why) => self.keep(path, why),
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
        let mut all = std::mem::take(&mut self.stamps);
        all.extend(self.known.iter().map(|(path, known)| (path.clone(), Stamp::from(known))));
        // What was complained about, or not looked at to the end, is looked at again.
        all.retain(|path, _| !self.problems.contains_key(path) && !self.looks.contains_key(path));
        stamps::keep(&self.home, &all);
    }

    /// Notes what an event changes in files, and keeps the copy of the state in step.
    fn take_over(&mut self, recorded: &Recorded) {
        let (at, event) = (recorded.at, &recorded.event);
        self.replaying |= recorded.seq <= self.state.seq;
        // A call stands in its session before what it made stands anywhere else: who finds only the files must see
        // that it was asked for, or it is asked for again. With a journal to print from, the order does not matter.
        if !self.replaying && asked_by(event).is_some_and(|session| self.has_unprinted_calls(session)) {
            self.settle();
        }
        self.todo.agents.extend(AgentOp::of(event));
        if let Some((path, op)) = self.task_op(at, event) {
            self.todo.tasks.entry(path).or_default().push(op);
        }
        if let Some((session, op)) = self.session_op(at, event) {
            self.todo.sessions.entry(session).or_default().push(op);
        }
        self.todo.approvals.extend(Self::approval_op(at, event));
        let reason = self.reasons.take(&self.state, recorded);
        if recorded.seq > self.uncommitted_last {
            self.notes.reasons.extend(reason);
        }
        self.note_usage(recorded);
        // Events that were printed again after a crash are in the state already.
        if recorded.seq == self.state.next_seq() {
            self.state.apply(at, event);
            self.note_cycle(event);
            self.note_stranger(event);
        }
        self.note_labels(event);
        self.taken = recorded.seq;
    }

    fn has_unprinted_calls(&self, session: &SessionId) -> bool {
        self.todo.sessions.get(session).is_some_and(|ops| ops.iter().any(SessionOp::has_calls))
    }

    /// Makes all edits, and has said how far they reach as soon as they are durable.
    pub(super) fn settle(&mut self) {
        let todo = std::mem::take(&mut self.todo);
        let reached = self.taken;
        let mut held = None;
        let done = self.settle_usage();
        if !self.note(formats::usage::PATH, done) {
            held = todo.held.or(Some(reached));
        }
        self.todo.agents = self.settle_agents(todo.agents);
        if !self.todo.agents.is_empty() {
            held = todo.held.or(Some(reached));
        }
        for (path, ops) in todo.tasks {
            let done = self.settle_tasks(&path, &ops, false);
            if !self.note(&path, done) {
                self.todo.tasks.entry(path).or_default().extend(ops);
                held = todo.held.or(Some(reached));
            }
        }
        for (session, ops) in todo.sessions {
            let done = self.settle_session(&session, &ops, false);
            let path = path_of(&session);
            let whole = done.as_ref().is_ok_and(|whole| *whole);
            self.note(&path, done.map(|_| ()));
            if !whole {
                self.todo.sessions.entry(session).or_default().extend(ops);
                held = todo.held.or(Some(reached));
            }
        }
        if !todo.approvals.is_empty() {
            let done = self.settle_approvals(&todo.approvals, false);
            if !self.note(QUEUE, done) {
                self.todo.approvals.extend(todo.approvals);
                held = todo.held.or(Some(reached));
            }
        }
        let done = self.settle_labels();
        if !self.note(formats::labels::PATH, done) {
            held = held.or(todo.held).or(Some(reached));
        }
        let touched = std::mem::take(&mut self.touched);
        match held {
            // Everything before the first event that waits is printed; how much of it does not matter.
            Some(seq) => {
                self.todo.held =
                    Some(todo.held.unwrap_or_else(|| Seq(self.printed.load(Ordering::Relaxed))).min(seq));
                self.flusher.take(touched, None, None);
            }
            None => {
                let advanced = std::mem::replace(&mut self.told, reached) != reached;
                let notes = self.news();
                self.flusher.take(touched, advanced.then_some(reached), notes);
            }
        }
        self.replaying = false;
    }

    /// What the history is told of what stands in the files now, and why.
    fn news(&mut self) -> Option<Notes> {
        if self.notes.through == self.taken && self.notes.reasons.is_empty() && self.notes.read.is_empty() {
            return None;
        }
        let mut notes = std::mem::take(&mut self.notes);
        self.notes.through = self.taken;
        let named =
            notes.reasons.iter().flat_map(|reason| &reason.files).chain(notes.read.iter().map(|(p, _)| p));
        let known = named.filter_map(|path| Some((path.clone(), self.known.get(path)?.signature())));
        notes.known = known.collect();
        notes.through = self.taken;
        notes.settings = self.state.settings.git.clone();
        Some(notes)
    }

    /// A person may have changed the file: its new content goes into the history too, also if nothing followed from
    /// it. Not a file that does not read, and of an inbox only what was taken.
    fn noticed(&mut self, path: &str) {
        if path.starts_with("inbox/") || self.is_broken(path) {
            return;
        }
        let who = if self.known.contains_key(path) { Who::Person(None) } else { Who::Synod };
        self.notes.read.push((path.to_owned(), who));
    }

    fn keep(&mut self, path: String, why: String) {
        self.notes.reasons.push(Reason {
            seq: self.taken,
            at: crate::git::history::now(),
            who: Who::Synod,
            weight: Weight::Step,
            text: why,
            agent: None,
            task: None,
            files: vec![path],
            lines: None,
        });
    }

    /// Reads a file, lets `make` say what it should be, and replaces it, again and again until nobody changed
    /// it in between. `make` gets the text, and whether a person may have changed it since the last time.
    pub(super) fn rewrite(
        &mut self,
        path: &str,
        forced: bool,
        mut make: impl FnMut(&mut Self, Option<&str>, bool) -> Option<String>,
    ) -> std::io::Result<()> {
        let place = self.home.join(path);
        for attempt in 0..ATTEMPTS {
            let found = self.read_whole(path)?;
            self.current = Some((path.to_owned(), found.as_ref().map(|f| f.known.signature())));
            let fresh = forced
                || match (&found, self.known.get(path)) {
                    (Some(found), Some(known)) => !known.same_content(&found.known),
                    // It was there when the home was opened, and nobody had to read it since.
                    (None, None) => self.stamps.contains_key(path),
                    (Some(_), None) | (None, Some(_)) => true,
                };
            let text = found.as_ref().map(|f| f.text.as_str());
            let new = make(self, text, fresh);
            let same = match (&new, text) {
                (None, _) => true,
                (Some(new), Some(text)) => new == text,
                (Some(new), None) => new.is_empty(),
            };
            if same {
                if fresh {
                    self.noticed(path);
                }
                match found {
                    Some(found) => _ = self.known.insert(path.to_owned(), found.known),
                    None => _ = self.known.remove(path),
                }
                return Ok(());
            }
            let Some(new) = new else { return Ok(()) };
            let flush = match (&found, attempt) {
                (None, _) => Flush::Later,
                (Some(_), 0) => Flush::Before,
                (Some(_), _) => Flush::After,
            };
            match disk::replace(&place, found.as_ref().map(|f| &f.known), &new, flush)? {
                Replaced::Done { known, displaced } => {
                    if fresh && found.is_some() {
                        self.noticed(path);
                    }
                    self.known.insert(path.to_owned(), known);
                    if flush == Flush::Later {
                        self.touched.insert(path.to_owned());
                    }
                    self.keep_displaced(path, displaced);
                    return Ok(());
                }
                Replaced::Changed { displaced } => {
                    self.keep_displaced(path, displaced);
                }
            }
        }
        Err(std::io::Error::other("it keeps changing"))
    }

    /// Keeps a file that was swapped out for a last look.
    pub(super) fn keep_displaced(&mut self, path: &str, displaced: Option<Box<Displaced>>) {
        if self.displaced.len() >= DISPLACED_MAX {
            self.displaced.remove(0);
        }
        self.displaced.extend(displaced.map(|d| (Instant::now(), path.to_owned(), d)));
    }

    /// A file tells how its conversation stands: that goes into the history too.
    pub(super) fn told_status(&mut self, path: String) {
        self.notes.read.push((path, Who::Synod));
    }

    /// Reads a file. One that had content and is empty now is most likely being saved in place: it is given a
    /// moment, because what the editor writes next would go where nobody looks.
    fn read_whole(&self, path: &str) -> std::io::Result<Option<Found>> {
        let place = self.home.join(path);
        let had_content = self.known.get(path).is_some_and(|known| !known.is_empty());
        for _ in 0..EMPTY_LOOKS {
            match disk::read(&place)? {
                Some(found) if found.text.is_empty() && had_content => std::thread::sleep(EMPTY_WAIT),
                found => return Ok(found),
            }
        }
        disk::read(&place)
    }

    /// An editor that had the old file open may have written into it after it was swapped out: its text takes
    /// the place, and what Synod printed since is printed again. So is what a person saved since, which is looked
    /// at first: they began with a file that lacked the late save.
    fn look_at_late_saves(&mut self) {
        let displaced = std::mem::take(&mut self.displaced);
        for (since, path, mut old) in displaced {
            match old.late_save() {
                Some(text) if since.elapsed() >= DEBOUNCE => {
                    self.look(&path, false);
                    let mut is_put = false;
                    let put = self.rewrite(&path, false, |_, _, fresh| {
                        is_put = !fresh;
                        is_put.then(|| text.clone())
                    });
                    self.note(&path, put);
                    self.look(&path, true);
                    if !is_put {
                        self.displaced.push((since, path, old));
                    }
                }
                Some(_) => self.displaced.push((since, path, old)),
                None if since.elapsed() < DISPLACED => self.displaced.push((since, path, old)),
                None => {}
            }
        }
    }

    fn look_at_due(&mut self) {
        let now = Instant::now();
        let due: Vec<(String, bool)> = self
            .looks
            .iter()
            .filter(|(_, look)| look.due <= now)
            .map(|(path, look)| (path.clone(), look.forced))
            .collect();
        for (path, forced) in due {
            self.looks.remove(&path);
            self.look(&path, forced);
        }
    }

    /// Looks at one file and gives what people did to it as inputs.
    pub(super) fn look(&mut self, path: &str, forced: bool) {
        let looked = self.try_look(path, forced);
        if !self.note(path, looked) {
            self.look_again(path);
        }
        self.confirmed = None;
    }

    fn try_look(&mut self, path: &str, forced: bool) -> std::io::Result<()> {
        if self.hold.puts_off(path) {
            return Ok(());
        }
        let found = self.read_whole(path)?;
        let signature = found.as_ref().map(|f| f.known.signature());
        let doubted = self.doubts.remove(path);
        self.confirmed = (doubted == Some(signature)).then(|| path.to_owned());
        self.current = Some((path.to_owned(), signature));
        if undo::is_meant(&self.home, path, signature) {
            self.forget_printed(path);
        }
        if path == QUEUE {
            return self.settle_approvals(&[], forced);
        }
        if path.starts_with("tasks/") {
            return self.settle_tasks(path, &[], forced);
        }
        if let Some(session) = session_of(path) {
            let ops = self.todo.sessions.remove(&session).unwrap_or_default();
            if !self.settle_session(&session, &ops, forced)? {
                self.todo.sessions.insert(session, ops);
            }
            return Ok(());
        }
        let unchanged = match (&found, self.known.get(path)) {
            (Some(found), Some(known)) => known.same_content(&found.known),
            (None, _) | (Some(_), None) => false,
        };
        if unchanged && !forced && !path.starts_with("inbox/") {
            return Ok(());
        }
        match path {
            "synod.yaml" => self.look_at_settings(path, found.as_ref()),
            "policy/commands.yaml" => self.look_at_policy(path, found.as_ref()),
            _ if path.starts_with("agents/") => {
                let confirmed = self.is_confirmed(path);
                self.look_at_agent(path, found.as_ref(), confirmed);
            }
            _ if path.starts_with("approvals/pending/") => self.look_at_detail(path, found.as_ref()),
            _ if path.starts_with("inbox/") => self.look_at_inbox(path, found.as_ref()),
            _ => {}
        }
        if !unchanged {
            self.noticed(path);
        }
        match found {
            Some(found) => _ = self.known.insert(path.to_owned(), found.known),
            None => _ = self.known.remove(path),
        }
        Ok(())
    }

    /// What the file says is meant so, however short ago something else was printed.
    fn forget_printed(&mut self, path: &str) {
        if let Some(session) = session_of(path) {
            self.recent.forget_session(&session);
        }
        let here =
            self.state.tasks.iter().filter(|(_, task)| task.spec.file == path).map(|(id, _)| id.clone());
        for task in here.collect::<Vec<_>>() {
            self.recent.forget_task(&task);
        }
    }

    fn look_everywhere(&mut self) {
        for path in self.all_files() {
            self.look_soon(&path);
        }
    }

    /// Looks at what changed. Of a folder that was brought or taken away as a whole, its files are not named.
    fn look_around(&mut self, path: &str) {
        if self.watch.as_mut().is_some_and(|watch| watch.renew(path)) {
            self.look_everywhere();
        }
        if path.starts_with("agents/") && !is_ours(path) {
            self.look_soon(&format!("{path}/agent.json"));
        }
        self.look_soon(path);
    }

    /// Looks at a file when it has been quiet for a moment.
    pub(super) fn look_soon(&mut self, path: &str) {
        if !is_ours(path) {
            return;
        }
        let now = Instant::now();
        let look = self.looks.entry(path.to_owned()).or_insert(Look { first: now, due: now, forced: false });
        look.due =
            (now + DEBOUNCE).min(look.first + DEBOUNCE_MAX).max(look.due.min(look.first + DEBOUNCE_MAX));
    }

    /// Looks at a file again because not all of it could be taken.
    pub(super) fn look_again(&mut self, path: &str) {
        let now = Instant::now();
        self.looks.insert(path.to_owned(), Look { first: now, due: now + RETRY, forced: true });
    }

    /// Something seems to be gone from the file that is looked at now: look once more before believing it.
    pub(super) fn confirm_later(&mut self, path: &str) {
        let Some((_, signature)) = self.current.clone().filter(|(current, _)| current == path) else {
            return;
        };
        self.doubts.insert(path.to_owned(), signature);
        let now = Instant::now();
        self.looks.insert(path.to_owned(), Look { first: now, due: now + CONFIRM, forced: true });
    }

    pub(super) fn is_confirmed(&self, path: &str) -> bool {
        self.confirmed.as_deref() == Some(path)
    }

    /// Gives an input to the engine, now or as soon as there is room.
    pub(super) fn say(&mut self, input: Input) {
        self.outbox.push_back(input);
        self.empty_outbox();
    }

    pub(super) fn outbox_len(&self) -> usize {
        self.outbox.len()
    }

    fn empty_outbox(&mut self) {
        while let Some(input) = self.outbox.pop_front() {
            match self.inputs.try_give(input) {
                Ok(()) => {}
                Err(NotTaken::Full(input)) => {
                    self.outbox.push_front(*input);
                    return;
                }
                Err(NotTaken::Closed) => {
                    self.outbox.clear();
                    break;
                }
            }
        }
    }

    /// Answers those who wait for a look at all files, once the engine has all that was found and nothing of it
    /// is doubtful.
    fn end_scans(&mut self) {
        if !self.outbox.is_empty() {
            return;
        }
        self.hold.tell();
        // A burst of messages is taken in parts; it is looked at again for the rest.
        let rest = self.looks.iter().any(|(path, look)| look.forced && path.starts_with("inbox/"));
        let doubtful = rest || !self.doubts.is_empty();
        let over = |since: &Instant| !doubtful || since.elapsed() >= SCAN_MAX;
        for (_, reply) in self.scans.extract_if(.., |(since, _)| over(since)) {
            _ = reply.send(());
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
            match self.conversation(&session) {
                Ok(Some(conversation)) => _ = reply.send(conversation),
                // The file does not read: the call waits until a person has mended it.
                Ok(None) => self.parked.push((session, reply)),
                Err(_) => drop(reply),
            }
        }
    }

    fn pause(&self) -> Duration {
        if !self.outbox.is_empty() || !self.parked.is_empty() || self.todo.held.is_some() {
            return RETRY;
        }
        let now = Instant::now();
        let due = self.looks.values().map(|look| look.due.saturating_duration_since(now)).min();
        let late = if self.displaced.is_empty() { SLEEP } else { DEBOUNCE };
        let status = if self.statuses.is_quiet() { SLEEP } else { LULL };
        due.unwrap_or(SLEEP).min(late).min(status)
    }
}

/// The window within which an old save is told from a wish must outlast the confirmation of the wish.
const _: () = assert!(STALE_SAVE.as_millis() > CONFIRM.as_millis());
