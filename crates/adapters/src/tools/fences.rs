//! Fences: the last number that was given for each lock. Who comes with a smaller one has lost its lock since, and changes
//! nothing: work that blocks goes on when its call is given up, and may come late.
//!
//! Kept in memory only, because nothing that this process began goes on when it has ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::id::LockName;
use domain::lock::Grant;

/// So many locks are remembered; the oldest are forgotten, long after whatever was under way for them.
const FENCES_MAX: usize = 10_000;

type Last = Arc<Mutex<u64>>;

/// The numbers of one home.
#[derive(Debug, Default)]
pub(super) struct Fences(Mutex<BTreeMap<LockName, Last>>);

/// What one order must show before it changes anything.
#[derive(Debug, Clone, Default)]
pub(super) struct Pass(Vec<(Grant, Last)>);

impl Fences {
    /// From now on, nothing passes with a smaller number. Waits for what is passing, which takes a moment.
    pub(super) fn raise(&self, grant: &Grant) {
        let last = self.last(&grant.name);
        let mut last = lock(&last);
        *last = grant.fence.max(*last);
    }

    /// The pass of an order.
    pub(super) fn pass<'a>(&self, grants: impl IntoIterator<Item = &'a Grant>) -> Pass {
        Pass(grants.into_iter().map(|grant| (grant.clone(), self.last(&grant.name))).collect())
    }

    fn last(&self, name: &LockName) -> Last {
        let mut all = lock(&self.0);
        if all.len() >= FENCES_MAX && !all.contains_key(name) {
            let oldest = all.iter().min_by_key(|(_, last)| *lock(last)).map(|(name, _)| name.clone());
            oldest.and_then(|name| all.remove(&name));
        }
        all.entry(name.clone()).or_default().clone()
    }
}

impl Pass {
    /// Does `deed` if the locks are still those of the order; nobody else gets through meanwhile, so it must be short.
    pub(super) fn through<T>(&self, deed: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
        let mut passing = Vec::with_capacity(self.0.len());
        for (grant, last) in &self.0 {
            let last = lock(last);
            if *last > grant.fence {
                let why = format!(
                    "the lock {} was lost: it was given to another with the number {}, after {}",
                    grant.name, *last, grant.fence
                );
                return Err(std::io::Error::other(why));
            }
            passing.push(last);
        }
        deed()
    }

    /// Whether the locks are still those of the order.
    pub(super) fn check(&self) -> Result<(), String> {
        self.through(|| Ok(())).map_err(|error| error.to_string())
    }
}

// A panic leaves nothing half changed: a number is set whole.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
