//! The history of a home: what changed goes into git in batches, with the reason, authored as whoever did it.
//!
//! One thread, beside everything else: nobody ever waits for a commit. It commits only files of which the desk says
//! that Synod printed them or read a person's change in them, and only while they still are what the desk knows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use domain::id::{Seq, Time};
use domain::layout;
use domain::settings::Git;
use formats::diagnostic::{Diagnostic, Severity};
use git2::{Signature, Tree};
use tokio::sync::mpsc;

use super::commit::{self, Change, Words};
use super::read::{self, Found};
use super::reason::{Reason, Weight, Who};
use super::{HomeRepo, NOWHERE, Unkept, message};
use crate::disk::{self, yield_to_others};
use crate::problem::Problem;

/// Up to where events are in the history.
const CURSOR: &str = layout::HISTORY;
/// Reasons that are kept in words; of more, only the number and the files.
const REASONS_MAX: usize = 2_000;
/// Lines of reasons in one commit.
const LINES_MAX: usize = 40;
/// Tasks named in one commit.
const TASKS_MAX: usize = 20;
/// How soon a commit that could not be made is tried again.
const RETRY: Duration = Duration::from_secs(5);
/// How often, and how fast one after the other, the last commit before the end is tried.
const LAST_TRIES: u32 = 20;
const LAST_PAUSE: Duration = Duration::from_millis(25);
/// Committing takes at most one part in so many of the time.
const SHARE: u32 = 20;
/// The trailer that names a task.
pub(super) const TASK: &str = "Synod-Task";
/// The trailer that names an agent.
pub(super) const AGENT: &str = "Synod-Agent";
const EVENTS: &str = "Synod-Events";

/// What the desk has to say about files since the last time.
#[derive(Default)]
pub(crate) struct Notes {
    /// What happened.
    pub(crate) reasons: Vec<Reason>,
    /// Files that were read, and who changed them unless a reason says it better.
    pub(crate) read: Vec<(String, Who)>,
    /// What the named files are, where the desk knows.
    pub(crate) known: BTreeMap<String, u64>,
    /// The last event that stands in the files.
    pub(crate) through: Seq,
    /// Whether and how often.
    pub(crate) settings: Git,
}

/// What waits to be committed.
#[derive(Default)]
struct Pending {
    reasons: Vec<Reason>,
    more: usize,
    files: BTreeMap<String, Touch>,
    through: Seq,
    settings: Git,
}

/// A file that changed.
#[derive(Debug, Clone)]
struct Touch {
    who: Who,
    /// Only a guess, because nothing but the file itself tells of the change.
    guessed: bool,
    signature: Option<u64>,
    lines: Option<u64>,
    at: Option<Time>,
}

impl Pending {
    fn add(&mut self, notes: Notes) {
        for (path, who) in notes.read {
            let signature = notes.known.get(&path).copied();
            let touch = Touch { who, guessed: true, signature, lines: None, at: None };
            self.files.entry(path).or_insert(touch).signature = signature;
        }
        for reason in notes.reasons {
            for path in &reason.files {
                let signature = notes.known.get(path).copied();
                let before = self.files.get(path).and_then(|touch| touch.lines);
                let lines = reason.lines.max(before);
                let touch =
                    Touch { who: reason.who.clone(), guessed: false, signature, lines, at: Some(reason.at) };
                self.files.insert(path.clone(), touch);
            }
            match self.reasons.len() < REASONS_MAX {
                true => self.reasons.push(reason),
                false => self.more += 1,
            }
        }
        self.through = self.through.max(notes.through);
        self.settings = notes.settings;
    }

    /// Puts what is newer on top.
    fn put(&mut self, newer: Self) {
        self.files.extend(newer.files);
        for reason in newer.reasons {
            match self.reasons.len() < REASONS_MAX {
                true => self.reasons.push(reason),
                false => self.more += 1,
            }
        }
        self.more += newer.more;
        self.through = self.through.max(newer.through);
        self.settings = newer.settings;
    }
}

#[derive(Default)]
struct Shared {
    inbox: Mutex<Inbox>,
    wake: Condvar,
}

#[derive(Default)]
struct Inbox {
    pending: Option<Pending>,
    since: Option<Instant>,
    stop: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inbox> {
        // What a panic may leave behind is at worst a batch that is committed later.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that keeps the history.
pub(crate) struct History {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl History {
    /// Starts it. What cannot be kept is told, and never stops any work.
    pub(crate) fn spawn(home: &Path, tell: mpsc::Sender<Problem>) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let keeper = Keeper { home: home.to_owned(), tell, told: None, shared: Arc::clone(&shared) };
        let thread = std::thread::Builder::new().name("synod-history".to_owned()).spawn(move || {
            yield_to_others();
            keeper.run();
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Takes over what changed. Never waits.
    pub(crate) fn note(&self, notes: Notes) {
        let mut inbox = self.shared.lock();
        inbox.pending.get_or_insert_default().add(notes);
        inbox.since.get_or_insert_with(Instant::now);
        self.shared.wake.notify_all();
    }

    /// Commits what is left, and ends.
    pub(crate) fn finish(&mut self) {
        self.shared.lock().stop = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The last event that was looked at for the history; `None` if it never had any.
pub fn committed(home: &Path) -> Option<Seq> {
    std::fs::read_to_string(home.join(CURSOR)).ok()?.trim().parse().ok().map(Seq)
}

struct Keeper {
    home: PathBuf,
    tell: mpsc::Sender<Problem>,
    told: Option<Unkept>,
    shared: Arc<Shared>,
}

impl Keeper {
    fn run(mut self) {
        self.mend();
        let mut mine = Pending::default();
        let mut cost = Duration::ZERO;
        loop {
            let (new, stop) = self.next(&mine, cost);
            if let Some(new) = new {
                mine.put(new);
            }
            let began = Instant::now();
            let mut tries = if stop { LAST_TRIES } else { 1 };
            while tries > 0 && !self.try_keep(&mut mine) {
                tries -= 1;
                if tries > 0 {
                    std::thread::sleep(LAST_PAUSE);
                }
            }
            cost = began.elapsed();
            if stop {
                return;
            }
        }
    }

    /// Whoever was killed here may have left git's index locked or behind, and perhaps nothing is committed for long.
    fn mend(&self) {
        let Ok(kept) = HomeRepo::open(&self.home) else { return };
        if let Ok(head) = commit::head(&kept.repo) {
            commit::mend(&kept.repo, &head.branch);
        }
    }

    /// Waits for a batch to be complete; says whether it is the last.
    fn next(&self, mine: &Pending, cost: Duration) -> (Option<Pending>, bool) {
        let mut inbox = self.shared.lock();
        let retry = (!mine.files.is_empty()).then(|| Instant::now() + RETRY);
        loop {
            if inbox.stop {
                return (inbox.pending.take(), true);
            }
            let batch =
                inbox.pending.as_ref().map(|pending| Duration::from_millis(pending.settings.batch_ms));
            let full = inbox.since.zip(batch).map(|(since, batch)| since + batch.max(cost * SHARE));
            let due = [full, retry].into_iter().flatten().min();
            let now = Instant::now();
            match due {
                Some(due) if due <= now => {
                    inbox.since = None;
                    return (inbox.pending.take(), false);
                }
                Some(due) => {
                    let waited = self.shared.wake.wait_timeout(inbox, due - now);
                    inbox = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => inbox = self.shared.wake.wait(inbox).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Commits what waits; what cannot be committed now stays. Says whether trying again soon is of no use.
    fn try_keep(&mut self, mine: &mut Pending) -> bool {
        if mine.files.is_empty() && mine.reasons.is_empty() {
            self.reach(mine.through);
            return true;
        }
        if !mine.settings.autocommit {
            self.reach(mine.through);
            *mine = Pending::default();
            return true;
        }
        match keep(&self.home, mine) {
            Ok(deferred) => {
                self.told = None;
                if deferred.is_empty() {
                    self.reach(mine.through);
                }
                *mine = Pending {
                    files: deferred,
                    through: mine.through,
                    settings: mine.settings.clone(),
                    ..Pending::default()
                };
                true
            }
            Err(why @ (Unkept::NoRepository | Unkept::Ignored { .. })) => {
                // Nobody wants a history here: that is no fault.
                if why != Unkept::NoRepository {
                    self.complain(why);
                }
                self.reach(mine.through);
                *mine = Pending::default();
                true
            }
            Err(why @ (Unkept::Waits(_) | Unkept::Locked)) => {
                let soon = why == Unkept::Locked;
                self.complain(why);
                !soon
            }
        }
    }

    fn complain(&mut self, why: Unkept) {
        if self.told.as_ref() == Some(&why) {
            return;
        }
        let diagnostic = Diagnostic {
            severity: Severity::Warning,
            path: ".git".to_owned(),
            line: 1,
            column: 1,
            span: 0..0,
            message: format!("the history of the home is not kept right now: {why}"),
            help: Some("work goes on; what changed meanwhile is committed as soon as it can be".to_owned()),
        };
        _ = self.tell.try_send(Problem { diagnostic, text: None });
        self.told = Some(why);
    }

    /// Notes how far the history reaches. Failing to only makes the next start look at more.
    fn reach(&self, seq: Seq) {
        if seq == Seq(0) || committed(&self.home) == Some(seq) {
            return;
        }
        let (place, aside) = (self.home.join(CURSOR), self.home.join(format!("{CURSOR}.new")));
        if std::fs::write(&aside, format!("{seq}\n")).is_ok() {
            _ = std::fs::rename(aside, place);
        }
    }
}

/// Commits what waits, one commit for each who did something. Gives back the files that are not what the desk
/// knows: a person is at them, and the desk will say more.
fn keep(home: &Path, pending: &Pending) -> Result<BTreeMap<String, Touch>, Unkept> {
    let kept = HomeRepo::open(home)?;
    kept.ready()?;
    let mut deferred = BTreeMap::new();
    let mut ready = Vec::new();
    let base = commit::head(&kept.repo)?;
    // What is committed already may be so since a kill.
    commit::mend(&kept.repo, &base.branch);
    let unread = |error: git2::Error| Unkept::Waits(format!("HEAD cannot be read: {}", error.message()));
    let base = commit::tree_of(&kept.repo, base.commit.as_ref()).map_err(unread)?;
    for group in groups(pending) {
        let mut changes = Vec::new();
        for (path, touch) in &group.files {
            match change_of(home, &kept, &base, path, touch) {
                Ready::Change(change) if change.differs(&base) => changes.push(change),
                Ready::Later => _ = deferred.insert((*path).clone(), (*touch).clone()),
                Ready::Change(_) | Ready::Never => {}
            }
        }
        ready.push((group, changes));
    }
    let all = ready.iter().flat_map(|(_, changes)| changes);
    let changed: BTreeSet<String> =
        all.filter_map(|change| change.path.strip_prefix(&kept.prefix).map(str::to_owned)).collect();
    for (mut group, changes) in ready.into_iter().filter(|(_, changes)| !changes.is_empty()) {
        // What left no trace in a file is no reason for a commit.
        group.files.retain(|(path, _)| changed.contains(*path));
        group.reasons.retain(|reason| reason.files.iter().any(|path| changed.contains(path)));
        let author = signature(&kept, &group.who, group.at(pending))?;
        let committer = signature(&kept, &Who::Synod, now())?;
        let words = Words { author, committer, message: group.message(&kept, pending) };
        commit::add(&kept.repo, &changes, &words)?;
    }
    Ok(deferred)
}

enum Ready {
    Change(Change),
    Later,
    Never,
}

fn change_of(home: &Path, kept: &HomeRepo, base: &Tree<'_>, path: &str, touch: &Touch) -> Ready {
    if !read::is_kept(path) {
        return Ready::Never;
    }
    let full = format!("{}{path}", kept.prefix);
    let new = match read::file(home, path) {
        Found::File(new) => new,
        Found::Nothing => return Ready::Change(Change { path: full, new: None }),
        Found::Other => return Ready::Never,
    };
    if touch.signature.is_some_and(|known| known != disk::signature(&new.bytes)) && touch.lines.is_none() {
        return Ready::Later;
    }
    if kept.repo.is_path_ignored(&full).unwrap_or(false) && commit::entry(base, &full).is_none() {
        return Ready::Never;
    }
    let new = match touch.lines {
        Some(lines) => read::head(new, lines),
        None => new,
    };
    Ready::Change(Change { path: full, new: Some(new) })
}

/// What one commit is made of.
struct Group<'a> {
    who: Who,
    /// Whether it is the one for the log: what is signed is not mixed with what was done.
    is_log: bool,
    files: Vec<(&'a String, &'a Touch)>,
    reasons: Vec<&'a Reason>,
}

/// A file goes with the last who changed it, a reason with its own author if that one has a commit.
fn groups(pending: &Pending) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let is_log = |path: &String| layout::is_inside(path, layout::LOG);
    let of_reasons = pending.reasons.iter().map(|reason| (&reason.who, reason.files.iter().any(is_log)));
    let of_files = pending.files.iter().map(|(path, touch)| (&touch.who, is_log(path)));
    for (who, is_log) in of_reasons.chain(of_files) {
        if !groups.iter().any(|group| group.who == *who && group.is_log == is_log) {
            groups.push(Group { who: who.clone(), is_log, files: Vec::new(), reasons: Vec::new() });
        }
    }
    for file in &pending.files {
        let fits = |group: &&mut Group<'_>| group.who == file.1.who && group.is_log == is_log(file.0);
        if let Some(group) = groups.iter_mut().find(fits) {
            group.files.push(file);
        }
    }
    groups.retain(|group| !group.files.is_empty());
    for reason in &pending.reasons {
        let in_log = reason.files.iter().any(is_log);
        let own = groups.iter().position(|group| group.who == reason.who && group.is_log == in_log);
        let has = |group: &Group<'_>| group.files.iter().any(|(path, _)| reason.files.contains(path));
        if let Some(at) = own.or_else(|| groups.iter().position(has)) {
            groups[at].reasons.push(reason);
        }
    }
    groups
}

impl Group<'_> {
    fn at(&self, pending: &Pending) -> Time {
        let own = self.files.iter().filter_map(|(_, touch)| touch.at);
        own.max().or_else(|| pending.reasons.last().map(|reason| reason.at)).unwrap_or_else(now)
    }

    fn message(&self, kept: &HomeRepo, pending: &Pending) -> String {
        let mut told: Vec<(Weight, String)> = Vec::new();
        for reason in self.reasons.iter().filter(|reason| !reason.text.is_empty()) {
            let line = message::line(&reason.text);
            if !told.iter().any(|(_, there)| *there == line) {
                told.push((reason.weight, line));
            }
        }
        for (path, touch) in self.files.iter().filter(|(_, touch)| touch.guessed) {
            let did = if touch.who == Who::Synod { "found changed at the start" } else { "edited" };
            told.push((Weight::Step, message::line(&format!("{did}: {path}"))));
        }
        if told.is_empty() {
            let names: Vec<&str> = self.files.iter().map(|(path, _)| path.as_str()).collect();
            told.push((Weight::Step, message::line(&format!("printed {}", names.join(", ")))));
        }
        // The first of the weightiest: what was begun says more than what followed from it.
        let best = told.iter().map(|(weight, _)| *weight).max();
        let first = told.iter().position(|(weight, _)| Some(*weight) == best).unwrap_or(0);
        let (_, subject) = told.remove(first);
        let mut text = format!("{}\n", message::subject(&subject));
        if !told.is_empty() {
            text.push('\n');
        }
        for (_, line) in told.iter().take(LINES_MAX) {
            text.push_str(&format!("- {line}\n"));
        }
        let left = told.len().saturating_sub(LINES_MAX) + pending.more;
        if left > 0 {
            text.push_str(&format!("- and {left} more\n"));
        }
        text.push('\n');
        text.push_str(&self.trailers(kept));
        text
    }

    fn trailers(&self, kept: &HomeRepo) -> String {
        let mut text = String::new();
        let agents: BTreeSet<&str> =
            self.reasons.iter().filter_map(|reason| reason.agent.as_deref()).collect();
        let tasks: BTreeSet<&str> = self
            .reasons
            .iter()
            .filter_map(|reason| reason.task.as_ref().map(domain::id::TaskId::as_str))
            .collect();
        let name = |text: &str| message::name(text).unwrap_or_default();
        for agent in agents {
            text.push_str(&format!("{AGENT}: {}\n", name(agent)));
        }
        for task in tasks.into_iter().take(TASKS_MAX) {
            text.push_str(&format!("{TASK}: {}\n", name(task)));
        }
        let seqs = self.reasons.iter().map(|reason| reason.seq);
        if let (Some(first), Some(last)) = (seqs.clone().min(), seqs.max()) {
            text.push_str(&format!("{EVENTS}: {first}-{last}\n"));
        }
        let others: BTreeSet<&Who> =
            self.reasons.iter().map(|r| &r.who).filter(|who| **who != self.who).collect();
        for who in others {
            let (name, address) = identity(kept, who);
            text.push_str(&format!("Co-authored-by: {name} <{address}>\n"));
        }
        text
    }
}

/// A name and an address for whoever did something.
fn identity(kept: &HomeRepo, who: &Who) -> (String, String) {
    let made = |text: &str| {
        let name = message::name(text).unwrap_or_else(|| "somebody".to_owned());
        let address = message::address_of(&name);
        (name, address)
    };
    match (who, &kept.owner) {
        (Who::Agent(id), _) => made(id),
        (Who::Synod, _) => ("Synod".to_owned(), format!("synod@{NOWHERE}")),
        (Who::Person(None), Some(owner)) => owner.clone(),
        (Who::Person(None), None) => made("owner"),
        (Who::Person(Some(name)), Some((owner, address))) => {
            let is_owner = owner == name || address.split('@').next() == Some(name);
            if is_owner { (owner.clone(), address.clone()) } else { made(name) }
        }
        (Who::Person(Some(name)), None) => made(name),
    }
}

pub(super) fn signature(kept: &HomeRepo, who: &Who, at: Time) -> Result<Signature<'static>, Unkept> {
    let (name, address) = identity(kept, who);
    let time = git2::Time::new(at.0.div_euclid(1000), 0);
    let failed = |error: git2::Error| Unkept::Waits(format!("no author can be named: {}", error.message()));
    Signature::new(&name, &address, &time).map_err(failed)
}

pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
