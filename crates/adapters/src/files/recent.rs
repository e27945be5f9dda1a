//! What Synod printed in the last seconds. An editor that read a file before that and saves it now puts old
//! values back; they are told from a person's wishes by standing here.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use domain::id::{MessageId, SessionId, TaskId};
use domain::session::Message;
use domain::task::{Change, Mark, Spec};

/// How old a version may be that an editor saves over a newer one. What a person takes away or turns back
/// sooner after Synod printed it counts as such a save, and is printed again.
pub const STALE_SAVE: Duration = Duration::from_secs(10);

/// How often what is older is dropped; nothing depends on it but memory.
const FORGET_EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Recent {
    marks: BTreeMap<TaskId, VecDeque<(Instant, Mark)>>,
    specs: BTreeMap<TaskId, VecDeque<(Instant, Spec)>>,
    added: BTreeMap<TaskId, Added>,
    messages: BTreeMap<SessionId, VecDeque<(Instant, Message)>>,
    forgot: Option<Instant>,
}

/// A task that Synod prints.
struct Added {
    at: Instant,
    /// Whether it stood in its file.
    stood: bool,
    /// What a file said, in short, from which it was gone before it was put back.
    gone_from: Option<u64>,
}

impl Recent {
    /// A mark that is replaced now.
    pub(super) fn mark(&mut self, task: &TaskId, old: Mark) {
        self.marks.entry(task.clone()).or_default().push_back((Instant::now(), old));
    }

    /// Field values that are replaced now.
    pub(super) fn spec(&mut self, old: &Spec) {
        self.specs.entry(old.id.clone()).or_default().push_back((Instant::now(), old.clone()));
    }

    /// A task that is printed for the first time.
    pub(super) fn task(&mut self, task: &TaskId) {
        self.added.insert(task.clone(), Added { at: Instant::now(), stood: false, gone_from: None });
    }

    /// It stands in its file now.
    pub(super) fn stands(&mut self, task: &TaskId) {
        if let Some(added) = self.added.get_mut(task) {
            added.stood = true;
        }
    }

    /// It was gone from a file that said `wording`, and stands there again: the window begins anew. Says whether it stood
    /// there before.
    pub(super) fn put_back(&mut self, task: &TaskId, wording: u64) -> bool {
        let Some(added) = self.added.get_mut(task) else { return false };
        (added.at, added.gone_from) = (Instant::now(), Some(wording));
        std::mem::replace(&mut added.stood, true)
    }

    /// Whether it was put back into a file that said exactly this. An editor with an old copy in which somebody goes on
    /// to write says something else by now; who takes out the same once more means it.
    pub(super) fn was_put_back(&self, task: &TaskId, wording: u64) -> bool {
        self.added.get(task).is_some_and(|added| added.stood && added.gone_from == Some(wording))
    }

    /// A message that is printed now.
    pub(super) fn message(&mut self, session: &SessionId, message: &Message) {
        self.messages.entry(session.clone()).or_default().push_back((Instant::now(), message.clone()));
    }

    /// A message that is printed once more: the window begins anew, until it has stood there in peace.
    pub(super) fn again(&mut self, session: &SessionId, message: &MessageId) {
        let Some(messages) = self.messages.get_mut(session) else { return };
        if let Some(at) = messages.iter().position(|(_, m)| m.id == *message)
            && let Some((_, message)) = messages.remove(at)
        {
            messages.push_back((Instant::now(), message));
        }
    }

    pub(super) fn had_mark(&self, task: &TaskId, mark: Mark) -> bool {
        self.marks.get(task).is_some_and(|marks| marks.iter().any(|(at, old)| *old == mark && is_recent(*at)))
    }

    /// Whether `change` only puts back what Synod replaced.
    pub(super) fn had_value(&self, now: &Spec, change: &Change) -> bool {
        self.specs.get(&now.id).is_some_and(|specs| {
            specs.iter().any(|(at, old)| is_recent(*at) && Change::between(now, old).contains(change))
        })
    }

    pub(super) fn was_added(&self, task: &TaskId) -> bool {
        self.added.get(task).is_some_and(|added| is_recent(added.at))
    }

    /// Messages printed into a session within the window, oldest first.
    pub(super) fn messages(&self, session: &SessionId) -> Vec<Message> {
        let recent = self.messages.get(session).into_iter().flatten();
        recent.filter(|(at, _)| is_recent(*at)).map(|(_, message)| message.clone()).collect()
    }

    /// A person means what the file says of this task: what was printed of it no longer counts.
    pub(super) fn forget_task(&mut self, task: &TaskId) {
        self.added.remove(task);
        self.marks.remove(task);
        self.specs.remove(task);
    }

    /// A person cut the session: what was printed there no longer counts.
    pub(super) fn forget_session(&mut self, session: &SessionId) {
        self.messages.remove(session);
    }

    /// Drops what is too old to matter; not each time, because it looks at everything.
    pub(super) fn forget(&mut self) {
        if self.forgot.is_some_and(|at| at.elapsed() < FORGET_EVERY) {
            return;
        }
        self.forgot = Some(Instant::now());
        self.added.retain(|_, added| is_recent(added.at));
        forget(&mut self.marks);
        forget(&mut self.specs);
        forget(&mut self.messages);
    }
}

fn forget<K: Ord, V>(map: &mut BTreeMap<K, VecDeque<(Instant, V)>>) {
    map.retain(|_, queue| {
        while queue.front().is_some_and(|(at, _)| !is_recent(*at)) {
            queue.pop_front();
        }
        !queue.is_empty()
    });
}

fn is_recent(at: Instant) -> bool {
    at.elapsed() < STALE_SAVE
}
