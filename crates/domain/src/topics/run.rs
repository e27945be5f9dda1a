//! Runs: one request and all that was made for it, whoever made it. A run has the id of what it began with: a task, or a
//! conversation about none. Every task and every conversation belongs to exactly one run.
//!
//! Members form a forest: each names what it was made for, and the run of a member is that of the top of its tree. A new
//! member joins in one look-up; only when a member is made a part of something else does what is below it move along.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::topics::mode::Mode;
use crate::topics::task::End;
use crate::words::actor::Actor;
use crate::words::id::{RunId, SessionId, TaskId, Time};
use crate::words::table::Table;
use crate::words::usage::Spent;

/// A task or a conversation of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Member {
    /// A task.
    Task(TaskId),
    /// A conversation.
    Session(SessionId),
}

impl Member {
    /// The id of a run that begins with it.
    pub fn run(&self) -> RunId {
        RunId::new(self.as_str())
    }

    /// Its own id.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Task(id) => id.as_str(),
            Self::Session(id) => id.as_str(),
        }
    }
}

/// What a member was made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Above {
    /// Another member: it belongs to the same run, now and later.
    Of(Member),
    /// What a person or an agent asked for in a conversation about no task. It stays in the run of that conversation,
    /// whatever the conversation works for later.
    Asked(SessionId),
}

/// How far a member is, as far as its run counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// A task that others name and that does not exist yet.
    #[default]
    Named,
    /// A task that has not ended.
    Open,
    /// A task that has ended.
    Ended(End),
    /// A conversation in which there is nothing to do until somebody speaks.
    Resting,
    /// A conversation with something to do, whether it works or waits.
    Working,
    /// A conversation that is over.
    Over {
        /// Whether with a failure.
        failed: bool,
    },
}

/// The place of a member in the forest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    run: RunId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    above: Option<Above>,
    /// Whether `above` is not followed because it would close a cycle. Then the member is the top of its tree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    below: BTreeSet<Member>,
    progress: Progress,
}

/// What of a run is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Tasks that have not ended.
    pub open: u32,
    /// Tasks that are done.
    pub done: u32,
    /// Tasks that failed.
    pub failed: u32,
    /// Tasks that were cancelled.
    pub cancelled: u32,
    /// Conversations with something to do.
    pub at_work: u32,
    /// Turns since the request began.
    pub turns: u64,
    /// Delegations since the request began.
    pub delegations: u64,
    /// Messages between agents since the request began.
    pub messages: u64,
}

impl Counts {
    /// The number in which a member with this progress is counted.
    fn of(&mut self, progress: Progress) -> Option<&mut u32> {
        match progress {
            Progress::Open => Some(&mut self.open),
            Progress::Ended(End::Done) => Some(&mut self.done),
            Progress::Ended(End::Failed) => Some(&mut self.failed),
            Progress::Ended(End::Cancelled) => Some(&mut self.cancelled),
            Progress::Working => Some(&mut self.at_work),
            Progress::Named | Progress::Resting | Progress::Over { .. } => None,
        }
    }
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Something of it is under way, or waits for other work.
    Running,
    /// Nothing of it proceeds before a person decides or does something.
    Waiting,
    /// All of it has ended, and what it began with is done.
    Done,
    /// All of it has ended, and what it began with failed.
    Failed,
    /// All of it has ended, and what it began with was cancelled.
    Cancelled,
}

impl RunState {
    /// The word for people and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing of the run is left to do.
    pub fn is_over(self) -> bool {
        match self {
            Self::Running | Self::Waiting => false,
            Self::Done | Self::Failed | Self::Cancelled => true,
        }
    }
}

/// One request and all that was made for it. When it is over, this is its summary: no member is listed in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// What it began with.
    pub origin: Member,
    /// Who asked, if anybody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// How it is coordinated.
    #[serde(default)]
    pub mode: Mode,
    /// When it is too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// When the request came in, or when Synod found it in the files.
    pub began: Time,
    /// When the last of it ended; absent while something is open or at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Time>,
    /// What is counted.
    #[serde(default)]
    pub counts: Counts,
    /// What it used and cost since the request began.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
    /// Tasks that have not ended.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub open: BTreeSet<TaskId>,
    /// Conversations that are not over.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub sessions: BTreeSet<SessionId>,
    /// How many places of the forest belong to it.
    members: u32,
}

impl Run {
    fn new(origin: Member, at: Time) -> Self {
        Self {
            origin,
            by: None,
            mode: Mode::default(),
            deadline: None,
            began: at,
            ended: Some(at),
            counts: Counts::default(),
            spent: Spent::default(),
            open: BTreeSet::new(),
            sessions: BTreeSet::new(),
            members: 0,
        }
    }

    /// Whether something of it is open or at work.
    pub fn goes_on(&self) -> bool {
        self.counts.open > 0 || self.counts.at_work > 0
    }

    fn add(&mut self, member: &Member, progress: Progress) {
        if let Some(number) = self.counts.of(progress) {
            *number += 1;
        }
        match (member, progress) {
            (Member::Task(id), Progress::Open) => _ = self.open.insert(id.clone()),
            (Member::Session(id), Progress::Resting | Progress::Working) => {
                _ = self.sessions.insert(id.clone());
            }
            _ => {}
        }
    }

    fn remove(&mut self, member: &Member, progress: Progress) {
        if let Some(number) = self.counts.of(progress) {
            *number = number.saturating_sub(1);
        }
        match member {
            Member::Task(id) => _ = self.open.remove(id),
            Member::Session(id) => _ = self.sessions.remove(id),
        }
    }

    /// Keeps `ended` true.
    fn settle(&mut self, at: Time) {
        match (self.ended, self.goes_on()) {
            (None, false) => self.ended = Some(at),
            (Some(_), true) => self.ended = None,
            (None, true) | (Some(_), false) => {}
        }
    }
}

/// All runs of a home, and the run of each task and conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Runs {
    /// By id, those that are over too.
    pub by_id: Table<RunId, Run>,
    tasks: Table<TaskId, Place>,
    sessions: Table<SessionId, Place>,
    /// Conversations that members name as what they were made for and that are not known, each with those members.
    unknown: BTreeMap<SessionId, BTreeSet<Member>>,
    /// What was spent for runs of which no member is known.
    unclaimed: BTreeMap<RunId, Spent>,
}

impl Runs {
    /// Whether there never was one.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The run of a task.
    pub fn of_task(&self, task: &TaskId) -> Option<&RunId> {
        self.tasks.get(task).map(|place| &place.run)
    }

    /// The run of a conversation.
    pub fn of_session(&self, session: &SessionId) -> Option<&RunId> {
        self.sessions.get(session).map(|place| &place.run)
    }

    /// How far a member is.
    pub fn progress(&self, member: &Member) -> Option<Progress> {
        self.place(member).map(|place| place.progress)
    }

    /// Whether a run goes on; one that nobody knows does not.
    pub fn goes_on(&self, id: &RunId) -> bool {
        self.by_id.get(id).is_some_and(Run::goes_on)
    }

    /// Where a run stands, but for what waits for people. Its end is that of what it began with.
    pub fn state(&self, run: &Run) -> RunState {
        if run.goes_on() {
            return RunState::Running;
        }
        match self.progress(&run.origin) {
            Some(Progress::Ended(End::Failed) | Progress::Over { failed: true }) => RunState::Failed,
            Some(Progress::Ended(End::Cancelled) | Progress::Over { failed: false }) => RunState::Cancelled,
            Some(Progress::Ended(End::Done) | Progress::Resting | Progress::Working)
            | Some(Progress::Named | Progress::Open)
            | None => RunState::Done,
        }
    }

    /// All members of a run, each with its depth below what the run began with and directly behind what it was made for.
    pub fn tree(&self, id: &RunId) -> Vec<(usize, Member)> {
        let Some(run) = self.by_id.get(id) else { return Vec::new() };
        let mut found = Vec::new();
        let mut next = vec![(0, run.origin.clone())];
        // A conversation may work for what was asked for in it before.
        let mut seen = BTreeSet::new();
        while let Some((depth, member)) = next.pop() {
            let Some(place) = self.place(&member).filter(|_| seen.insert(member.clone())) else { continue };
            // A conversation that works for another request now still has what was asked for in it.
            let is_in = place.run == *id;
            if is_in {
                found.push((depth, member.clone()));
            }
            let below = place.below.iter().rev().filter(|one| self.place(one).is_some_and(|p| p.run == *id));
            next.extend(below.map(|one| (if is_in { depth + 1 } else { depth }, one.clone())));
        }
        found
    }

    /// A member is there, or what it was made for or how far it is has changed.
    pub(crate) fn put(&mut self, at: Time, member: &Member, above: Option<Above>, progress: Progress) {
        match self.place(member) {
            None => self.enter(at, member, above, progress),
            Some(place) => {
                if place.above != above {
                    self.relink(at, member, above);
                }
                self.note(at, member, progress);
            }
        }
    }

    /// How far a member is now.
    pub(crate) fn note(&mut self, at: Time, member: &Member, progress: Progress) {
        let Some(place) = self.place_mut(member).filter(|place| place.progress != progress) else { return };
        let was = std::mem::replace(&mut place.progress, progress);
        let id = place.run.clone();
        if let Some(run) = self.by_id.get_mut(&id) {
            run.remove(member, was);
            run.add(member, progress);
            run.settle(at);
        }
    }

    /// A member names a conversation that is not known.
    pub(crate) fn await_session(&mut self, session: &SessionId, member: &Member) {
        self.unknown.entry(session.clone()).or_default().insert(member.clone());
    }

    /// Those that named a conversation before it was known.
    pub(crate) fn take_awaiting(&mut self, session: &SessionId) -> BTreeSet<Member> {
        self.unknown.remove(session).unwrap_or_default()
    }

    /// The request of a run begins: by whom, and what it counts from now on.
    pub(crate) fn begin(&mut self, at: Time, id: &RunId, by: Option<Actor>) {
        let Some(run) = self.by_id.get_mut(id) else { return };
        (run.began, run.by, run.spent) = (at, by, Spent::default());
        (run.counts.turns, run.counts.delegations, run.counts.messages) = (0, 0, 0);
    }

    /// Who asked for a run, if nobody is known yet.
    pub(crate) fn name_requester(&mut self, id: &RunId, by: &Actor) {
        if let Some(run) = self.by_id.get_mut(id).filter(|run| run.by.is_none()) {
            run.by = Some(by.clone());
        }
    }

    /// Counts something that a conversation did for the run that it belongs to.
    pub(crate) fn count(&mut self, session: &SessionId, add: impl FnOnce(&mut Counts)) {
        let Some(place) = self.sessions.get(session) else { return };
        if let Some(run) = self.by_id.get_mut(&place.run) {
            add(&mut run.counts);
        }
    }

    /// Something was spent for a run.
    pub(crate) fn spend(&mut self, id: &str, spent: Spent) {
        let id = RunId::new(id);
        let sum = match self.by_id.get_mut(&id) {
            Some(run) => &mut run.spent,
            None => self.unclaimed.entry(id).or_default(),
        };
        *sum = sum.plus(spent);
    }
}

impl Runs {
    fn place(&self, member: &Member) -> Option<&Place> {
        match member {
            Member::Task(id) => self.tasks.get(id),
            Member::Session(id) => self.sessions.get(id),
        }
    }

    fn place_mut(&mut self, member: &Member) -> Option<&mut Place> {
        match member {
            Member::Task(id) => self.tasks.get_mut(id),
            Member::Session(id) => self.sessions.get_mut(id),
        }
    }

    /// A new member: nothing is below it, so it closes no cycle.
    fn enter(&mut self, at: Time, member: &Member, above: Option<Above>, progress: Progress) {
        let (run, origin) = self.run_under(at, member, above.as_ref());
        if let Some(up) = self.above_mut(above.as_ref()) {
            up.below.insert(member.clone());
        }
        let place = Place { run: run.clone(), above, cut: false, below: BTreeSet::new(), progress };
        match member {
            Member::Task(id) => _ = self.tasks.insert(id.clone(), place),
            Member::Session(id) => _ = self.sessions.insert(id.clone(), place),
        }
        self.join(at, &run, origin, member, progress);
    }

    /// The run of a member with this above it, and what that run began with if it is new.
    fn run_under(&mut self, at: Time, member: &Member, above: Option<&Above>) -> (RunId, Member) {
        match above {
            None => (member.run(), member.clone()),
            Some(Above::Asked(session)) => {
                let origin = Member::Session(session.clone());
                self.ensure(at, &origin);
                (origin.run(), origin)
            }
            Some(Above::Of(up)) => {
                self.ensure(at, up);
                let run = self.place(up).map_or_else(|| up.run(), |place| place.run.clone());
                (run, up.clone())
            }
        }
    }

    /// What others name has a place, also if it does not exist yet.
    fn ensure(&mut self, at: Time, member: &Member) {
        if self.place(member).is_none() {
            self.enter(at, member, None, Progress::Named);
        }
    }

    fn above_mut(&mut self, above: Option<&Above>) -> Option<&mut Place> {
        match above? {
            Above::Of(up) => self.place_mut(up),
            Above::Asked(session) => self.sessions.get_mut(session),
        }
    }

    fn join(&mut self, at: Time, id: &RunId, origin: Member, member: &Member, progress: Progress) {
        let unclaimed = &mut self.unclaimed;
        let run = self.by_id.or_insert_with(id, || {
            let spent = unclaimed.remove(id).unwrap_or_default();
            Run { spent, ..Run::new(origin, at) }
        });
        run.members += 1;
        run.add(member, progress);
        run.settle(at);
    }

    /// A run that nothing belongs to any longer is forgotten.
    fn leave(&mut self, at: Time, id: &RunId, member: &Member, progress: Progress) {
        let Some(run) = self.by_id.get_mut(id) else { return };
        run.members = run.members.saturating_sub(1);
        run.remove(member, progress);
        run.settle(at);
        if run.members == 0
            && let Some(run) = self.by_id.remove(id)
            && !run.spent.is_nothing()
        {
            self.unclaimed.insert(id.clone(), run.spent);
        }
    }

    /// A known member was made for something else than it was thought.
    fn relink(&mut self, at: Time, member: &Member, above: Option<Above>) {
        let top = self.top(member);
        self.detach(member);
        if let Some(place) = self.place_mut(member) {
            (place.above, place.cut) = (above, false);
        }
        self.attach(at, member);
        // It was cut off from what it was made for because that was below it; perhaps it no longer is.
        if top != *member && self.place(&top).is_some_and(|place| place.cut) {
            self.attach(at, &top);
        }
    }

    /// The member above a member that is followed.
    fn followed(&self, member: &Member) -> Option<&Member> {
        match self.place(member)? {
            Place { above: Some(Above::Of(up)), cut: false, .. } => Some(up),
            Place { .. } => None,
        }
    }

    /// The top of the tree of a member.
    fn top(&self, member: &Member) -> Member {
        let mut at = member;
        while let Some(up) = self.followed(at) {
            at = up;
        }
        at.clone()
    }

    fn detach(&mut self, member: &Member) {
        let above = self.place(member).and_then(|place| place.above.clone());
        if let Some(up) = self.above_mut(above.as_ref()) {
            up.below.remove(member);
        }
    }

    /// Puts a member below what it was made for. People may make a task a part of what was asked for in its own
    /// conversation: then who asked gives way, because what a task is a part of says more.
    fn attach(&mut self, at: Time, member: &Member) {
        let Some(place) = self.place_mut(member) else { return };
        place.cut = false;
        let above = place.above.clone();
        if let Some(Above::Of(up)) = &above
            && let Some(cut) = self.closes(member, up)
        {
            self.cut(at, &cut);
            if cut == *member {
                return;
            }
        }
        let (run, origin) = self.run_under(at, member, above.as_ref());
        if let Some(up) = self.above_mut(above.as_ref()) {
            up.below.insert(member.clone());
        }
        self.move_to(at, member, &run, &origin);
    }

    /// The member whose link is not followed if `member` comes below `up`, should that close a cycle.
    fn closes(&self, member: &Member, up: &Member) -> Option<Member> {
        if self.place(member)?.below.is_empty() && member != up {
            return None;
        }
        let is_weak = |one: &Member, up: &Member| matches!(up, Member::Session(_)) && one != up;
        let mut weakest = is_weak(member, up).then(|| member.clone());
        let mut at = up;
        while at != member {
            let next = self.followed(at)?;
            if weakest.is_none() && is_weak(at, next) {
                weakest = Some(at.clone());
            }
            at = next;
        }
        Some(weakest.unwrap_or_else(|| member.clone()))
    }

    /// A member becomes the top of its tree although it names something above it.
    fn cut(&mut self, at: Time, member: &Member) {
        self.detach(member);
        if let Some(place) = self.place_mut(member) {
            place.cut = true;
        }
        self.move_to(at, member, &member.run(), member);
    }

    /// Moves a member and all that is below it to a run.
    fn move_to(&mut self, at: Time, member: &Member, run: &RunId, origin: &Member) {
        let mut next = vec![member.clone()];
        while let Some(member) = next.pop() {
            let Some(place) = self.place_mut(&member).filter(|place| place.run != *run) else { continue };
            let was = std::mem::replace(&mut place.run, run.clone());
            let progress = place.progress;
            let below: Vec<Member> = place.below.iter().cloned().collect();
            self.join(at, run, origin.clone(), &member, progress);
            self.leave(at, &was, &member, progress);
            let is_with = |one: &Member| self.followed(one) == Some(&member);
            next.extend(below.into_iter().filter(is_with));
        }
    }
}
