//! Full-text search: an index in `.synod/search.db` over memory and workspaces. It is derived: deleting it
//! costs a rebuild and nothing else.
//!
//! It follows edits. Before a search answers, the folders it concerns are walked, and what changed since (by size,
//! times and inode) is read again; so what was written a moment ago is found. What is shown comes from the files
//! themselves, opened by handle when the answer is made, never from the index.

pub(crate) mod lines;
pub(crate) mod meaning;
mod query;
mod store;
mod walk;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::beneath::Root;
use crate::redact::redact;
use crate::until::Until;
use domain::layout;
use meaning::Piece;
use store::{Broken, Store};

pub(crate) use query::Query;
pub(crate) use walk::{FILE_BYTES_MAX, SKIPPED};

/// So much text is read before it is written to the index.
const BATCH_BYTES_MAX: usize = 4 << 20;
/// So many files likewise.
const BATCH_FILES_MAX: usize = 256;

/// So many files are looked at for pieces without a vector at a time.
const FILES_WITHOUT_MAX: usize = 64;

/// A folder that is indexed as a whole, and the part of it that is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    /// `memory` or `workspaces/<agent>`.
    pub(crate) folder: String,
    /// A folder or file in it; empty for all.
    pub(crate) beneath: String,
}

impl Scope {
    pub(crate) fn whole(folder: impl Into<String>) -> Self {
        Self { folder: folder.into(), beneath: String::new() }
    }

    /// Whether a path of its folder is meant.
    fn has(&self, path: &str) -> bool {
        let is_beneath = |rest: &str| rest.is_empty() || rest.starts_with('/');
        self.beneath.is_empty() || path.strip_prefix(&self.beneath).is_some_and(is_beneath)
    }

    /// The scope of a path without links, if it lies where there is an index.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let mut parts = path.split('/');
        let folder = match parts.next()? {
            layout::MEMORY => layout::MEMORY.to_owned(),
            layout::WORKSPACES => layout::workspace(parts.next()?),
            _ => return None,
        };
        let beneath = if path == folder { String::new() } else { path.to_owned() };
        Some(Self { folder, beneath })
    }
}

/// What a search of the index gives.
#[derive(Debug, Default)]
pub(crate) struct Ranked {
    /// Files, the best first.
    pub(crate) files: Vec<String>,
    /// What was left out, for the agent.
    pub(crate) notes: Vec<String>,
}

/// The index of one home. Nothing is opened before the first search.
#[derive(Default)]
pub(crate) struct Index {
    store: Mutex<Option<Store>>,
}

impl Index {
    /// The best files of some folders. Brings the index up to date first, for at most `work`; blocks. An error means
    /// that there is no index now, for example because the disk is full; the files can still be searched one by one.
    pub(crate) fn search(
        &self,
        root: &Root,
        scopes: &[Scope],
        query: &Query,
        files_max: usize,
        work: &Until,
    ) -> Result<Ranked, String> {
        let mut notes = Vec::new();
        for is_second in [false, true] {
            match self.try_search(root, scopes, query, files_max, work) {
                Ok(mut ranked) => {
                    ranked.notes.extend(notes);
                    return Ok(ranked);
                }
                Err(Broken::Damaged(_)) if !is_second => {
                    self.forget(root);
                    notes.push("the search index was damaged and was made anew".to_owned());
                }
                Err(Broken::Damaged(reason) | Broken::Unusable(reason)) => return Err(reason),
            }
        }
        Err("the search index cannot be made".to_owned())
    }

    fn try_search(
        &self,
        root: &Root,
        scopes: &[Scope],
        query: &Query,
        files_max: usize,
        work: &Until,
    ) -> Result<Ranked, Broken> {
        let mut ranked = Ranked::default();
        for scope in scopes {
            self.follow(root, &scope.folder, work, &mut ranked.notes)?;
        }
        let mut guard = self.lock();
        ranked.files = open(&mut guard, root)?.search(scopes, query, files_max)?;
        Ok(ranked)
    }

    /// Pieces that have no vector yet, of files that `may_leave` lets out; at most about `pieces_max`. Blocks.
    pub(crate) fn without_vector(
        &self,
        root: &Root,
        scopes: &[Scope],
        model: &str,
        may_leave: &dyn Fn(&str) -> bool,
        pieces_max: usize,
        until: &Until,
    ) -> Result<Vec<Piece>, String> {
        let mut missing: Vec<Piece> = Vec::new();
        for scope in scopes {
            while missing.len() < pieces_max && !until.is_over() {
                let files = open(&mut self.lock(), root)
                    .and_then(|store| store.unpieced(&scope.folder, model, FILES_WITHOUT_MAX))
                    .map_err(said)?;
                if files.is_empty() {
                    break;
                }
                for file in files {
                    let text = walk::read_one(root, &file.1).filter(|_| may_leave(&file.1));
                    // What holds a credential is not sent anywhere, not even in parts.
                    let text = text.filter(|text| matches!(redact(text), Cow::Borrowed(_)));
                    let pieces = meaning::pieces(model, text.as_deref().unwrap_or_default());
                    let without = open(&mut self.lock(), root)
                        .and_then(|store| store.note_pieces(&file, model, pieces))
                        .map_err(said)?;
                    missing.extend(without);
                    if missing.len() >= pieces_max {
                        break;
                    }
                }
                // Files with missing pieces are met again until they have vectors.
                if !missing.is_empty() {
                    break;
                }
            }
        }
        Ok(missing)
    }

    /// Keeps vectors by the hash of their piece. Blocks.
    pub(crate) fn keep(&self, root: &Root, vectors: &[(Vec<u8>, Vec<f32>)]) -> Result<(), String> {
        open(&mut self.lock(), root).and_then(|store| store.keep(vectors)).map_err(said)
    }

    /// The files nearest to a vector, with the line that is. Blocks.
    pub(crate) fn nearest(
        &self,
        root: &Root,
        scopes: &[Scope],
        model: &str,
        wanted: &[f32],
        files_max: usize,
    ) -> Result<Vec<(String, usize)>, String> {
        open(&mut self.lock(), root)
            .and_then(|store| store.nearest(scopes, model, wanted, files_max))
            .map_err(said)
    }

    /// Brings the index of one folder up to date.
    fn follow(&self, root: &Root, folder: &str, work: &Until, notes: &mut Vec<String>) -> Result<(), Broken> {
        let walked = walk::walk(root, folder, work);
        if walked.large > 0 {
            notes.push(format!("not searched: {} files larger than 1 MiB in {folder}", walked.large));
        }
        if let Some(cut) = walked.cut {
            notes.push(format!("not searched: {cut} in {folder}"));
        }
        let changed = open(&mut self.lock(), root)?.compare(folder, &walked)?;
        let mut left = changed.as_slice();
        while !left.is_empty() && !work.is_over() {
            let batch = walk::read(root, &mut left, BATCH_FILES_MAX, BATCH_BYTES_MAX);
            // Others search between two batches.
            open(&mut self.lock(), root)?.take(folder, &batch)?;
        }
        if !left.is_empty() {
            notes.push(format!(
                "not searched: {} files of {folder} that the time did not suffice to read; search again for them",
                left.len()
            ));
        }
        Ok(())
    }

    fn forget(&self, root: &Root) {
        let mut guard = self.lock();
        *guard = None;
        store::delete(&path(root));
    }

    fn lock(&self) -> MutexGuard<'_, Option<Store>> {
        // A panic while the lock was held leaves at worst a transaction, which SQLite takes back.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn said(broken: Broken) -> String {
    match broken {
        Broken::Damaged(reason) | Broken::Unusable(reason) => reason,
    }
}

fn path(root: &Root) -> PathBuf {
    root.path().join(layout::SEARCH)
}

/// The open store. One whose file was deleted or replaced is opened anew.
fn open<'a>(guard: &'a mut MutexGuard<'_, Option<Store>>, root: &Root) -> Result<&'a mut Store, Broken> {
    let path = path(root);
    if guard.as_ref().is_some_and(|store| !store.is_at(&path)) {
        **guard = None;
    }
    match &mut **guard {
        Some(store) => Ok(store),
        none => Ok(none.insert(Store::open(&path)?)),
    }
}
