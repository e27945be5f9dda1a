//! Waiting: who waits for what, in one index. Whatever ends is looked up here by what it is, and whoever may wait is looked up
//! here by who it is, so that nobody looks at all tasks and conversations.

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::words::id::{AgentId, ApprovalId, LockName, SessionId, TaskId, Time};
use crate::words::table::Table;

/// One who waits, or what is waited for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Node {
    /// A task that has not ended.
    Task(TaskId),
    /// A conversation that is not over.
    Session(SessionId),
    /// A person's decision.
    Approval(ApprovalId),
    /// A free slot of an agent, or of the whole home.
    Slot(AgentId),
    /// A moment.
    Moment(Time),
    /// A lock that somebody has.
    Lock(LockName),
    /// A budget, or a provider's limits, with room again. The last in order: `parked` begins here.
    Window(String),
}

impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Task(id) => write!(f, "{id}"),
            Self::Session(id) => write!(f, "{id}"),
            Self::Approval(id) => write!(f, "{id}"),
            Self::Slot(agent) => write!(f, "slot of {agent}"),
            Self::Moment(at) => write!(f, "{}", at.0),
            Self::Lock(name) => write!(f, "lock {name}"),
            Self::Window(limit) => f.write_str(limit),
        }
    }
}

impl Node {
    /// The conversation that it is, if it is one.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Session(id) => Some(id),
            Self::Task(_)
            | Self::Approval(_)
            | Self::Slot(_)
            | Self::Moment(_)
            | Self::Lock(_)
            | Self::Window(_) => None,
        }
    }

    /// The task that it is, if it is one.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Task(id) => Some(id),
            Self::Session(_)
            | Self::Approval(_)
            | Self::Slot(_)
            | Self::Moment(_)
            | Self::Lock(_)
            | Self::Window(_) => None,
        }
    }
}

impl From<&TaskId> for Node {
    fn from(id: &TaskId) -> Self {
        Self::Task(id.clone())
    }
}

impl From<&SessionId> for Node {
    fn from(id: &SessionId) -> Self {
        Self::Session(id.clone())
    }
}

impl From<&LockName> for Node {
    fn from(name: &LockName) -> Self {
        Self::Lock(name.clone())
    }
}

/// Why one waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A task begins when another has ended.
    Dependency,
    /// A task ends when its parts have.
    Part,
    /// A call goes on when a person has decided, or a budget may be passed then.
    Approval,
    /// A conversation rests, or stands still, until another has answered.
    Answer,
    /// A call goes on when delegated work has ended.
    Delegation,
    /// A call goes on when it has a lock.
    Lock,
    /// A lock is free when who has it gives it back.
    Held,
    /// A model is asked when a budget or a provider's minute has room.
    Window,
    /// Something is to be done, and nobody is free.
    Slot,
    /// A model failed and is asked again later.
    Retry,
}

/// An edge of the graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Wait {
    /// Who waits.
    pub from: Node,
    /// For what.
    pub to: Node,
    /// Why.
    pub why: Why,
}

/// The other ends of the waits of a node. A node without any has no entry.
type Ends = Table<Node, BTreeSet<(Node, Why)>>;

/// Every wait there is, in both directions. Follows from the tasks, conversations, locks and questions alone; whatever changes
/// one of them says anew what that one waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "Written")]
pub struct Waits {
    /// By who waits: for what.
    by: Ends,
    /// By what is waited for: who waits.
    on: Ends,
    /// How many waits there are of each kind.
    counts: BTreeMap<Why, usize>,
    /// By who asked: conversations that owe it an answer. It waits for them while it rests, and for none while it works.
    asked: Table<SessionId, BTreeSet<SessionId>>,
}

impl Waits {
    /// Whether nobody waits, and nobody owes an answer.
    pub fn is_empty(&self) -> bool {
        self.by.is_empty() && self.asked.is_empty()
    }

    /// All of them, in order.
    pub fn all(&self) -> impl Iterator<Item = Wait> {
        let waits = self.by.iter().flat_map(|(from, to)| to.iter().map(move |(to, why)| (from, to, *why)));
        waits.map(|(from, to, why)| Wait { from: from.clone(), to: to.clone(), why })
    }

    /// Who waits for something, and why.
    pub fn waiters(&self, to: &Node) -> impl Iterator<Item = (&Node, Why)> + use<'_> {
        self.on.get(to).into_iter().flatten().map(|(from, why)| (from, *why))
    }

    /// What somebody waits for, and why.
    pub fn waits_of(&self, from: &Node) -> impl Iterator<Item = (&Node, Why)> + use<'_> {
        self.by.get(from).into_iter().flatten().map(|(to, why)| (to, *why))
    }

    /// Who waits for something for one reason.
    pub fn waiters_for(&self, to: &Node, why: Why) -> impl Iterator<Item = &Node> + use<'_> {
        self.waiters(to).filter(move |(_, other)| *other == why).map(|(from, _)| from)
    }

    /// What somebody waits for, for one reason.
    pub fn waited_for(&self, from: &Node, why: Why) -> impl Iterator<Item = &Node> + use<'_> {
        self.waits_of(from).filter(move |(_, other)| *other == why).map(|(to, _)| to)
    }

    /// Whether one waits for another, for that reason.
    pub fn has(&self, from: &Node, to: &Node, why: Why) -> bool {
        self.by.get(from).is_some_and(|waits| waits.contains(&(to.clone(), why)))
    }

    /// Who waits for room in a budget.
    pub(crate) fn parked(&self) -> impl Iterator<Item = &Node> {
        let windows = self.on.starting_at(&Node::Window(String::new())).flat_map(|(_, waiters)| waiters);
        windows.filter(|(_, why)| *why == Why::Window).map(|(from, _)| from)
    }

    /// Whether anybody waits for something.
    pub fn is_waited_for(&self, to: &Node) -> bool {
        self.on.contains_key(to)
    }

    /// How many waits there are of a kind.
    pub fn count(&self, why: Why) -> usize {
        self.counts.get(&why).copied().unwrap_or_default()
    }

    /// Says anew all that `from` waits for. Costs nothing but a look if it waits for nothing and did not before.
    pub(crate) fn set(&mut self, from: &Node, new: Vec<(Node, Why)>) {
        if new.is_empty() && !self.by.contains_key(from) {
            return;
        }
        let new: BTreeSet<(Node, Why)> = new.into_iter().collect();
        let old = self.by.remove(from).unwrap_or_default();
        for (to, why) in old.difference(&new) {
            self.leave(from, to, *why);
        }
        for (to, why) in new.difference(&old) {
            self.enter(from, to, *why);
        }
        if !new.is_empty() {
            self.by.insert(from.clone(), new);
        }
    }

    /// `from` waits for `to` too.
    pub(crate) fn add(&mut self, from: Node, to: Node, why: Why) {
        self.enter(&from, &to, why);
        self.by.or_default(&from).insert((to, why));
    }

    /// `from` no longer waits for `to`, for that reason.
    pub(crate) fn drop(&mut self, from: &Node, to: &Node, why: Why) {
        let wait = (to.clone(), why);
        if take(&mut self.by, from, &wait) {
            self.leave(from, to, why);
        }
    }

    /// Nobody waits for `to` any longer, for that reason.
    pub(crate) fn ended(&mut self, to: &Node, why: Why) {
        let waited: Vec<Node> = self.waiters_for(to, why).cloned().collect();
        waited.iter().for_each(|from| self.drop(from, to, why));
    }

    /// Conversations that owe `asker` an answer.
    pub(crate) fn asked_by(&self, asker: &SessionId) -> impl Iterator<Item = &SessionId> + use<'_> {
        self.asked.get(asker).into_iter().flatten()
    }

    /// `other` owes `asker` an answer. Whether `asker` waits for it is said by `set`.
    pub(crate) fn ask(&mut self, asker: &SessionId, other: &SessionId) {
        self.asked.or_default(asker).insert(other.clone());
    }

    /// `other` owes `asker` nothing any longer.
    pub(crate) fn ask_no_more(&mut self, asker: &SessionId, other: &SessionId) {
        if let Some(others) = self.asked.get_mut(asker) {
            others.remove(other);
            if others.is_empty() {
                self.asked.remove(asker);
            }
        }
    }

    /// Enters a wait by what is waited for.
    fn enter(&mut self, from: &Node, to: &Node, why: Why) {
        if self.on.or_default(to).insert((from.clone(), why)) {
            *self.counts.entry(why).or_default() += 1;
        }
    }

    fn leave(&mut self, from: &Node, to: &Node, why: Why) {
        if take(&mut self.on, to, &(from.clone(), why))
            && let Some(count) = self.counts.get_mut(&why)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&why);
            }
        }
    }
}

/// Takes one end out; whether it was there.
fn take(ends: &mut Ends, node: &Node, end: &(Node, Why)) -> bool {
    let Some(of_node) = ends.get_mut(node) else { return false };
    let was_there = of_node.remove(end);
    if of_node.is_empty() {
        ends.remove(node);
    }
    was_there
}

impl FromIterator<Wait> for Waits {
    fn from_iter<Iter: IntoIterator<Item = Wait>>(all: Iter) -> Self {
        let mut waits = Self::default();
        all.into_iter().for_each(|Wait { from, to, why }| waits.add(from, to, why));
        waits
    }
}

/// The index as a snapshot has it: each wait once.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    all: Vec<Wait>,
    asked: Table<SessionId, BTreeSet<SessionId>>,
}

impl From<Written> for Waits {
    fn from(written: Written) -> Self {
        Self { asked: written.asked, ..written.all.into_iter().collect() }
    }
}

impl Serialize for Waits {
    fn serialize<To: Serializer>(&self, to: To) -> Result<To::Ok, To::Error> {
        let mut written = to.serialize_struct("Waits", 2)?;
        written.serialize_field("all", &self.all().collect::<Vec<_>>())?;
        written.serialize_field("asked", &self.asked)?;
        written.end()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task(number: u8) -> Node {
        Node::Task(TaskId::new(format!("t{number}")))
    }

    const WHYS: [Why; 3] = [Why::Dependency, Why::Part, Why::Window];

    /// What may be done to the index.
    #[derive(Debug, Clone)]
    enum Deed {
        Set(u8, Vec<(u8, usize)>),
        Add(u8, u8, usize),
        Drop(u8, u8, usize),
        Ended(u8, usize),
    }

    fn deed() -> impl Strategy<Value = Deed> {
        let why = 0..WHYS.len();
        let waits = proptest::collection::vec((0..5_u8, why.clone()), 0..4);
        prop_oneof![
            (0..5_u8, waits).prop_map(|(from, to)| Deed::Set(from, to)),
            (0..5_u8, 0..5_u8, why.clone()).prop_map(|(from, to, why)| Deed::Add(from, to, why)),
            (0..5_u8, 0..5_u8, why.clone()).prop_map(|(from, to, why)| Deed::Drop(from, to, why)),
            (0..5_u8, why).prop_map(|(to, why)| Deed::Ended(to, why)),
        ]
    }

    proptest! {
        #[test]
        fn both_directions_and_the_counts_say_the_same_as_a_plain_list(
            deeds in proptest::collection::vec(deed(), 0..30)
        ) {
            let (mut waits, mut list) = (Waits::default(), BTreeSet::<Wait>::new());
            let wait = |from: u8, to: u8, why: usize| Wait { from: task(from), to: task(to), why: WHYS[why] };
            for deed in deeds {
                match deed {
                    Deed::Set(from, to) => {
                        list.retain(|wait| wait.from != task(from));
                        list.extend(to.iter().map(|(to, why)| wait(from, *to, *why)));
                        waits.set(&task(from), to.iter().map(|(to, why)| (task(*to), WHYS[*why])).collect());
                    }
                    Deed::Add(from, to, why) => {
                        list.insert(wait(from, to, why));
                        waits.add(task(from), task(to), WHYS[why]);
                    }
                    Deed::Drop(from, to, why) => {
                        list.remove(&wait(from, to, why));
                        waits.drop(&task(from), &task(to), WHYS[why]);
                    }
                    Deed::Ended(to, why) => {
                        list.retain(|wait| wait.to != task(to) || wait.why != WHYS[why]);
                        waits.ended(&task(to), WHYS[why]);
                    }
                }
                prop_assert_eq!(waits.all().collect::<Vec<_>>(), list.iter().cloned().collect::<Vec<_>>());
                prop_assert_eq!(&waits, &list.iter().cloned().collect::<Waits>());
                for why in WHYS {
                    prop_assert_eq!(waits.count(why), list.iter().filter(|wait| wait.why == why).count());
                }
                for node in (0..5).map(task) {
                    let ahead: Vec<_> = waits.waits_of(&node).collect();
                    let told = list.iter().filter(|wait| wait.from == node);
                    prop_assert_eq!(ahead, told.map(|wait| (&wait.to, wait.why)).collect::<Vec<_>>());
                    let behind: BTreeSet<_> = waits.waiters(&node).collect();
                    let told = list.iter().filter(|wait| wait.to == node);
                    prop_assert_eq!(behind, told.map(|wait| (&wait.from, wait.why)).collect::<BTreeSet<_>>());
                }
                let written = serde_json::to_string(&waits).unwrap();
                prop_assert_eq!(&serde_json::from_str::<Waits>(&written).unwrap(), &waits);
            }
            prop_assert_eq!(waits.is_empty(), list.is_empty());
        }
    }
}
