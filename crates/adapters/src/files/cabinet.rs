//! The files of a home as the desk knows them: what each was when it was last read or written, the state as printed, and
//! the ways to people and to the engine. All kinds of files are read and written with it; it knows none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use domain::id::Seq;
use domain::layout;
use domain::state::State;

use super::looks::Looks;
use super::outbox::Outbox;
use super::recent::Recent;
use super::reports::Reports;
use crate::disk::{self, Displaced, Flush, Found, Known, Replaced, Stamp};
use crate::git::reason::Who;

/// So many files that were swapped out are kept: each is an open file.
const DISPLACED_MAX: usize = 256;
/// How often an edit is tried again on a file that keeps changing.
const ATTEMPTS: usize = 32;
/// How often, and after which time, an empty file is looked at again before it is believed to be empty.
const EMPTY_LOOKS: u32 = 100;
const EMPTY_WAIT: std::time::Duration = std::time::Duration::from_millis(1);

pub(super) struct Cabinet {
    pub(super) home: PathBuf,
    /// The state as printed.
    pub(super) state: State,
    /// The last event that was taken over.
    pub(super) taken: Seq,
    /// Whether events are printed again that the copy of the state has already.
    pub(super) replaying: bool,
    pub(super) recent: Recent,
    /// What each file was when it was last read or written.
    pub(super) known: BTreeMap<String, Known>,
    /// What the files were that this process never had to read.
    pub(super) stamps: BTreeMap<String, Stamp>,
    /// Files with additions that are not durable yet.
    pub(super) touched: BTreeSet<String>,
    /// Files that were swapped out a moment ago: an editor may still write into them.
    pub(super) displaced: Vec<(Instant, String, Box<Displaced>)>,
    /// Files that go into the history as they are now, and who changed them.
    pub(super) noticed: Vec<(String, Who)>,
    pub(super) reports: Reports,
    pub(super) looks: Looks,
    pub(super) outbox: Outbox,
}

impl Cabinet {
    pub(super) fn new(home: PathBuf, state: State, taken: Seq, reports: Reports, outbox: Outbox) -> Self {
        Self {
            home,
            state,
            taken,
            replaying: false,
            recent: Recent::default(),
            known: BTreeMap::new(),
            stamps: BTreeMap::new(),
            touched: BTreeSet::new(),
            displaced: Vec::new(),
            noticed: Vec::new(),
            reports,
            looks: Looks::default(),
            outbox,
        }
    }

    /// A person may have changed the file: its new content goes into the history too, also if nothing followed from
    /// it. Not a file that does not read, and of an inbox only what was taken.
    pub(super) fn notice(&mut self, path: &str) {
        if layout::is_inside(path, layout::INBOX) || self.reports.is_broken(path) {
            return;
        }
        let who = if self.known.contains_key(path) { Who::Person(None) } else { Who::Synod };
        self.noticed.push((path.to_owned(), who));
    }

    /// Notes what a file is now, or that it is gone.
    pub(super) fn know(&mut self, path: &str, found: Option<Found>) {
        match found {
            Some(found) => _ = self.known.insert(path.to_owned(), found.known),
            None => _ = self.known.remove(path),
        }
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
            self.looks.reread(path, found.as_ref().map(|f| f.known.signature()));
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
                    self.notice(path);
                }
                self.know(path, found);
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
                        self.notice(path);
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

    /// Reads a file. One that had content and is empty now is most likely being saved in place: it is given a
    /// moment, because what the editor writes next would go where nobody looks.
    pub(super) fn read_whole(&self, path: &str) -> std::io::Result<Option<Found>> {
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
}
