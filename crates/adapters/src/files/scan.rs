//! Looking at all files of a home: when it is opened, and when what kept it from beginning is over.

use std::collections::BTreeSet;

use super::desk::Desk;
use super::stamps;
use crate::disk::{self, Stamp};

impl Desk {
    /// Looks at every file, in the order in which they build on each other.
    pub(super) fn look_at_all(&mut self) {
        let stamps = stamps::take(&self.home);
        self.to_name = Some(BTreeSet::new());
        for path in self.all_files() {
            let place = self.home.join(&path);
            if stamps.get(&path).is_some_and(|stamp| Stamp::of(&place).as_ref() == Some(stamp)) {
                // Nobody touched it since it was last printed or read; what it says is in the journal.
                self.stamps.insert(path.clone(), stamps[&path].clone());
                continue;
            }
            if let Err(error) = disk::recover(&self.home.join(&path)) {
                self.note(&path, Err(error));
            }
            self.look(&path, true);
            self.settle();
        }
        self.tell_ties();
        self.find_usage();
        for path in self.to_name.take().unwrap_or_default() {
            self.look(&path, true);
        }
        self.settle();
        self.miss_agents();
    }

    /// Takes up what was put off, once nothing keeps the home from beginning.
    pub(super) fn look_at_put_off(&mut self) {
        if self.hold.is_over() {
            self.look_at_all();
        }
    }
}
