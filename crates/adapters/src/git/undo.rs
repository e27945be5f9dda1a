//! Taking a commit back: a new commit with its changes reversed, merged with what came after. Working files get the
//! same change on top of whatever a person has in them, whole or not at all; with a conflict, nothing is touched.

use std::collections::BTreeMap;
use std::path::Path;

use domain::layout;
use git2::{Commit, MergeFileInput, MergeOptions, Oid, Tree};

use super::commit::{self, Change, New, Words};
use super::read::{self, Found};
use super::reason::Who;
use super::{HomeRepo, Unkept, history, log, message};
use crate::disk::{self, Flush, Replaced};

/// How often a file that a person saves meanwhile is merged anew.
const TRIES_MAX: usize = 8;
/// Tells the desk that these files say what a person means, however fresh what they take back is.
const MEANT: &str = layout::MEANT;
/// How long that counts.
const MEANT_FOR: std::time::Duration = std::time::Duration::from_secs(60);
/// The trailer that names what was undone.
const UNDOES: &str = "Synod-Undoes";

/// Why nothing was undone.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// There is no history to work on now.
    #[error(transparent)]
    Unkept(#[from] Unkept),
    /// It names no commit that can be taken back.
    #[error("{0}")]
    Commit(String),
    /// What came after it is about the same lines.
    #[error("later changes are about the same lines, in {}", .0.join(", "))]
    Conflict(Vec<String>),
    /// A file could not be written.
    #[error("{path} cannot be written: {reason}; files that were written before it stay")]
    Unwritten {
        /// Which.
        path: String,
        /// In the words of the system.
        reason: String,
    },
}

/// What is or would be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The commit that is taken back.
    pub of: String,
    /// Its first line.
    pub subject: String,
    /// The files, relative to the home, with `restored`, `changed` or `removed`.
    pub files: Vec<(String, &'static str)>,
    /// The new commit; none on a rehearsal.
    pub commit: Option<String>,
}

/// Takes a commit back: `name` is `last` or an id. `by` is who wants it; a rehearsal only tells what would be.
pub fn undo(home: &Path, name: &str, by: &str, rehearse: bool) -> Result<Undone, Refused> {
    let kept = HomeRepo::open(home)?;
    kept.ready()?;
    let commit = log::find(&kept, name).map_err(Refused::Commit)?;
    let plan = plan(home, &kept, &commit)?;
    let subject = message::line(&String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()));
    let of = commit.id().to_string();
    let files = plan.iter().map(|step| (step.path.clone(), step.how())).collect();
    if rehearse {
        return Ok(Undone { of, subject, files, commit: None });
    }
    mean(home, &plan);
    for step in &plan {
        write(home, step)?;
    }
    let changes: Vec<Change> = plan
        .iter()
        .map(|step| Change {
            path: format!("{}{}", kept.prefix, step.path),
            new: step.new.clone().map(|bytes| match read::file(home, &step.path) {
                Found::File(new) if new.bytes == bytes => new,
                Found::File(_) | Found::Nothing | Found::Other => New::text(bytes),
            }),
        })
        .collect();
    let at = history::now();
    let who = Who::Person(Some(by.to_owned()));
    let words = Words {
        author: history::signature(&kept, &who, at)?,
        committer: history::signature(&kept, &Who::Synod, at)?,
        message: format!(
            "{}\n\nTakes back {of}.\n\n{UNDOES}: {of}\n",
            message::subject(&format!("undo: {subject}"))
        ),
    };
    let made = commit::add(&kept.repo, &changes, &words)?;
    Ok(Undone { of, subject, files, commit: made.map(|id| id.to_string()) })
}

/// What becomes of one file.
struct Step {
    path: String,
    /// In the last commit; `None`: it is not there.
    old: Option<Vec<u8>>,
    /// In the new commit.
    new: Option<Vec<u8>>,
    /// In the working file, with what a person has in it.
    working: Option<Vec<u8>>,
}

impl Step {
    fn how(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, Some(_)) => "restored",
            (_, None) => "removed",
            (Some(_), Some(_)) => "changed",
        }
    }
}

fn plan(home: &Path, kept: &HomeRepo, undone: &Commit<'_>) -> Result<Vec<Step>, Refused> {
    let failed = |error: git2::Error| Refused::Commit(error.message().to_owned());
    let refuse = |why: &str| Err(Refused::Commit(format!("{} {why}", &undone.id().to_string()[..10])));
    if undone.parent_count() == 0 {
        return refuse("is the first commit; there is nothing before it");
    }
    if undone.parent_count() > 1 {
        return refuse("is a merge; take back what it brought one by one, or use git revert -m");
    }
    let Some(head) = commit::head(&kept.repo)?.commit else { return refuse("is not on this branch") };
    if head.id() != undone.id() && !kept.repo.graph_descendant_of(head.id(), undone.id()).map_err(failed)? {
        return refuse("is not on this branch");
    }
    let mut options = MergeOptions::new();
    options.find_renames(false);
    let merged = kept.repo.revert_commit(undone, &head, 0, Some(&options)).map_err(failed)?;
    let ours = head.tree().map_err(failed)?;
    let mut conflicts = Vec::new();
    for conflict in merged.conflicts().map_err(failed)? {
        let conflict = conflict.map_err(failed)?;
        let sides = [conflict.our, conflict.their, conflict.ancestor];
        let path = sides.into_iter().flatten().map(|entry| message::shown(&entry.path)).next();
        conflicts
            .extend(path.filter(|path| !layout::is_inside(path, &format!("{}{}", kept.prefix, layout::LOG))));
    }
    if !conflicts.is_empty() {
        return Err(Refused::Conflict(conflicts));
    }
    let after: BTreeMap<Vec<u8>, Oid> = merged.iter().map(|entry| (entry.path, entry.id)).collect();
    let mut steps = Vec::new();
    for path in paths_of(kept, undone).map_err(failed)? {
        let Some(inside) = path.strip_prefix(&kept.prefix).filter(|path| read::is_kept(path)) else {
            return refuse(&format!(
                "also changed {}, which is not Synod's; use git revert",
                message::shown(path.as_bytes())
            ));
        };
        // What was signed stays signed: a log that takes lines back is none.
        if layout::is_inside(inside, layout::LOG) {
            continue;
        }
        let new = after.get(path.as_bytes()).copied();
        if commit::entry(&ours, &path).map(|(id, _)| id) == new {
            continue;
        }
        let old = content(kept, &ours, &path)?;
        let new = new
            .map(|id| kept.repo.find_blob(id).map(|blob| blob.content().to_vec()))
            .transpose()
            .map_err(failed)?;
        let now = match read::file(home, inside) {
            Found::File(found) => Some(found.bytes),
            Found::Nothing => None,
            Found::Other => return refuse(&format!("is about {inside}, which is no plain file now")),
        };
        let working = match merge(now.as_deref(), old.as_deref(), new.as_deref()) {
            Merged::File(bytes) => Some(bytes),
            Merged::Gone => None,
            Merged::Conflict => {
                conflicts.push(inside.to_owned());
                continue;
            }
        };
        steps.push(Step { path: inside.to_owned(), old, new, working });
    }
    match (conflicts.is_empty(), steps.is_empty()) {
        (false, _) => Err(Refused::Conflict(conflicts)),
        (true, true) => {
            refuse("has nothing to take back: what it changed was changed back, or is only in log/")
        }
        (true, false) => Ok(steps),
    }
}

/// All that a commit changed, also outside the home.
fn paths_of(kept: &HomeRepo, commit: &Commit<'_>) -> Result<Vec<String>, git2::Error> {
    let before = commit.parent(0)?.tree()?;
    let diff = kept.repo.diff_tree_to_tree(Some(&before), Some(&commit.tree()?), None)?;
    let path = |delta: git2::DiffDelta<'_>| {
        let path =
            delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes()).unwrap_or_default();
        // A name that is no UTF-8 is none of Synod's, and is refused for that.
        String::from_utf8(path.to_vec()).unwrap_or_else(|_| format!("/{}", message::shown(path)))
    };
    Ok(diff.deltas().map(path).collect())
}

fn content(kept: &HomeRepo, tree: &Tree<'_>, path: &str) -> Result<Option<Vec<u8>>, Refused> {
    let Some((id, _)) = commit::entry(tree, path) else { return Ok(None) };
    let blob = kept.repo.find_blob(id).map_err(|error| Refused::Commit(error.message().to_owned()))?;
    Ok(Some(blob.content().to_vec()))
}

/// What a working file becomes.
enum Merged {
    File(Vec<u8>),
    Gone,
    /// A person has something else on those lines.
    Conflict,
}

/// Makes the change from `old` to `new` to a working file, whatever a person has in it.
fn merge(now: Option<&[u8]>, old: Option<&[u8]>, new: Option<&[u8]>) -> Merged {
    let (now, old, new) = match (now, new) {
        _ if now == old || now == new => return new.map_or(Merged::Gone, |new| Merged::File(new.to_vec())),
        (Some(now), Some(new)) => (now, old.unwrap_or_default(), new),
        (_, None) | (None, _) => return Merged::Conflict,
    };
    let input = |bytes| {
        let mut input = MergeFileInput::new();
        input.content(bytes);
        input
    };
    match git2::merge_file(&input(old), &input(now), &input(new), None) {
        Ok(merged) if merged.is_automergeable() => Merged::File(merged.content().to_vec()),
        Ok(_) | Err(_) => Merged::Conflict,
    }
}

/// Puts the new working file in place; merged again if a person saves meanwhile.
fn write(home: &Path, step: &Step) -> Result<(), Refused> {
    let place = home.join(&step.path);
    let unwritten = |reason: String| Refused::Unwritten { path: step.path.clone(), reason };
    for _ in 0..TRIES_MAX {
        let found = disk::read(&place).map_err(|error| unwritten(error.to_string()))?;
        let now = found.as_ref().map(|found| found.text.as_bytes());
        let bytes = match merge(now, step.old.as_deref(), step.new.as_deref()) {
            Merged::File(bytes) => bytes,
            Merged::Gone => {
                let Some(found) = found else { return Ok(()) };
                return remove(&place, &found.known).map_err(|error| unwritten(error.to_string()));
            }
            Merged::Conflict => return Err(unwritten("it changes right now, on the same lines".to_owned())),
        };
        let text = String::from_utf8(bytes).map_err(|_| unwritten("it is no UTF-8".to_owned()))?;
        if found.as_ref().is_some_and(|found| found.text == text) {
            return Ok(());
        }
        let done = disk::replace(&place, found.as_ref().map(|f| &f.known), &text, Flush::Before);
        match done.map_err(|error| unwritten(error.to_string()))? {
            Replaced::Done { .. } => return Ok(()),
            Replaced::Changed { .. } => {}
        }
    }
    Err(unwritten("it keeps changing".to_owned()))
}

/// Removes a file that still is what was read.
fn remove(place: &Path, known: &disk::Known) -> std::io::Result<()> {
    if !disk::is_unchanged(place, known) {
        return Err(std::io::Error::other("it changes right now"));
    }
    std::fs::remove_file(place)
}

/// Leaves word for the desk before the files change. Without it, what was printed in the last seconds would be
/// taken for an old save and printed again.
fn mean(home: &Path, plan: &[Step]) {
    let files: BTreeMap<&str, Option<u64>> =
        plan.iter().map(|step| (step.path.as_str(), step.working.as_deref().map(disk::signature))).collect();
    if let Ok(text) = serde_json::to_string(&files) {
        // If this fails, the desk at worst prints something once more, and tells so.
        _ = std::fs::write(home.join(MEANT), text);
    }
}

/// Whether somebody said that the file at `path` is meant to be what it is now.
pub(crate) fn is_meant(home: &Path, path: &str, signature: Option<u64>) -> bool {
    let place = home.join(MEANT);
    let Ok(metadata) = std::fs::metadata(&place) else { return false };
    let is_old = |at: std::time::SystemTime| at.elapsed().is_ok_and(|age| age > MEANT_FOR);
    if metadata.modified().is_ok_and(is_old) {
        return false;
    }
    let Ok(text) = std::fs::read_to_string(place) else { return false };
    let Ok(files) = serde_json::from_str::<BTreeMap<String, Option<u64>>>(&text) else { return false };
    files.get(path).is_some_and(|meant| *meant == signature)
}
