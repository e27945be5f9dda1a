//! A journal in memory that fails when told to, and that shows what a crash leaves.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::id::Seq;
use ports::journal::{Entry, Journal, JournalError, Snapshot};

/// How an append fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing of it reached the disk.
    Lost,
    /// All of it reached the disk, but the writer was told that it failed; the next to open it finds it.
    KeptUnknown,
}

/// A disk with a journal. Clones are handles on the same disk, as seen by the same process.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: Vec<Entry>,
    /// How many entries the running process knows to be kept; more may be there after [`Fault::KeptUnknown`].
    acknowledged: usize,
    snapshot: Option<Snapshot>,
    printed: Seq,
    printed_kept: Seq,
    appends: u64,
    /// The append with this number (from 1) fails, and all after it.
    fault: Option<(u64, Fault)>,
    broken: Option<&'static str>,
}

impl Disk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the append after `more` further good ones fail, and every write after it.
    pub fn fail_append(&self, more: u64, fault: Fault) {
        let mut inner = self.lock();
        inner.fault = Some((inner.appends + more + 1, fault));
    }

    /// Ends the process and gives its disk to the next one: everything acknowledged is there, the printed
    /// cursor is where it was last kept. Handles of the dead process can write nothing more.
    pub fn crash(&self) -> Self {
        let mut inner = self.lock();
        inner.broken = Some("the process is dead");
        let survivor = Inner {
            entries: inner.entries.clone(),
            acknowledged: inner.entries.len(),
            snapshot: inner.snapshot.clone(),
            printed: inner.printed_kept,
            printed_kept: inner.printed_kept,
            ..Inner::default()
        };
        Self { inner: Arc::new(Mutex::new(survivor)) }
    }

    /// All acknowledged entries.
    pub fn entries(&self) -> Vec<Entry> {
        let inner = self.lock();
        inner.entries[..inner.acknowledged].to_vec()
    }

    /// How many appends were asked for, failed ones too.
    pub fn appends(&self) -> u64 {
        self.lock().appends
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A test that panicked elsewhere still wants to look at the disk.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn last(&self) -> Seq {
        Seq(self.acknowledged as u64)
    }

    fn writable(&self) -> Result<(), JournalError> {
        match self.broken {
            None => Ok(()),
            Some(reason) => Err(JournalError::Storage { doing: "written", reason: reason.to_owned() }),
        }
    }
}

impl Journal for Disk {
    fn append(&mut self, batch: &[Entry]) -> Result<(), JournalError> {
        let mut inner = self.lock();
        inner.writable()?;
        for (n, entry) in batch.iter().enumerate() {
            let last = inner.last().plus(n);
            if entry.seq != last.plus(1) {
                return Err(JournalError::Gap { last, given: entry.seq });
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        inner.appends += 1;
        match inner.fault {
            Some((at, fault)) if inner.appends >= at => {
                if fault == Fault::KeptUnknown {
                    inner.entries.extend_from_slice(batch);
                }
                inner.broken = Some("no space left on the pretended disk");
                inner.writable()
            }
            Some(_) | None => {
                inner.entries.extend_from_slice(batch);
                inner.acknowledged = inner.entries.len();
                inner.printed_kept = inner.printed;
                Ok(())
            }
        }
    }

    fn last(&self) -> Seq {
        self.lock().last()
    }

    fn read(&mut self, after: Seq, limit: usize) -> Result<Vec<Entry>, JournalError> {
        let inner = self.lock();
        let from = usize::try_from(after.0).unwrap_or(usize::MAX).min(inner.acknowledged);
        let to = from.saturating_add(limit).min(inner.acknowledged);
        Ok(inner.entries[from..to].to_vec())
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, JournalError> {
        Ok(self.lock().snapshot.clone())
    }

    fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), JournalError> {
        let mut inner = self.lock();
        inner.writable()?;
        if snapshot.seq > inner.last() {
            return Err(JournalError::Gap { last: inner.last(), given: snapshot.seq });
        }
        inner.snapshot = Some(snapshot.clone());
        inner.printed_kept = inner.printed;
        Ok(())
    }

    fn printed(&mut self) -> Result<Seq, JournalError> {
        Ok(self.lock().printed)
    }

    fn set_printed(&mut self, seq: Seq) -> Result<(), JournalError> {
        let mut inner = self.lock();
        inner.writable()?;
        if seq > inner.last() {
            return Err(JournalError::Gap { last: inner.last(), given: seq });
        }
        inner.printed = seq;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract;

    #[test]
    fn the_disk_keeps_the_contract() {
        contract::journal::holds(|| Box::new(Disk::new()));
        contract::journal::survives(|| {
            let disk = std::cell::RefCell::new(Disk::new());
            move || {
                let next = disk.borrow().crash();
                disk.replace(next.clone());
                Box::new(next)
            }
        });
    }

    #[test]
    fn a_failed_append_may_have_reached_the_disk_and_shows_after_the_crash() {
        let entry = contract::journal::entry(1);
        for (fault, found) in [(Fault::Lost, 1), (Fault::KeptUnknown, 2)] {
            let mut disk = Disk::new();
            disk.fail_append(1, fault);
            disk.append(std::slice::from_ref(&entry)).unwrap();
            disk.append(&[contract::journal::entry(2)]).unwrap_err();
            assert_eq!(disk.last(), Seq(1));
            assert!(disk.append(&[contract::journal::entry(2)]).is_err(), "a broken disk stays broken");
            assert_eq!(disk.crash().last(), Seq(found));
        }
    }

    #[test]
    fn a_dead_process_writes_nothing_more() {
        let mut disk = Disk::new();
        let mut next = disk.crash();
        disk.append(&[contract::journal::entry(1)]).unwrap_err();
        next.append(&[contract::journal::entry(1)]).unwrap();
        assert_eq!(next.entries().len(), 1);
    }
}
