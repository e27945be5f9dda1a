//! Merging approved work: a commit with two parents, made once. Nothing of the repository runs, and no file that its
//! owner has changed is written over.
//!
//! The files go first and the branch last: whatever a crash leaves is seen as half done, and done again.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use domain::id::AgentId;
use domain::review::{Finding, Review, short};
use git2::{Commit, Oid, Repository, Signature, Tree};

use super::changes::Changed;
use super::commit::{self, Change, Held, MODE_LINK, MODE_RUNNABLE, New};
use super::review::{between, find, shared};
use super::workspace::{Workspace, checked_out_at};
use super::{NOWHERE, history, message};

/// How far back a merge is looked for that a crash kept from being told of.
const LOOK_BACK_MAX: usize = 4096;
/// The trailer by which it is found.
const REVIEW: &str = "Synod-Review";
/// So many names of files are told.
const NAMES_MAX: usize = 50;
/// How often a merge is made again because the branch moved meanwhile.
const RACES_MAX: usize = 8;
/// Where a file is prepared, beside its place. One name is enough: the index is held meanwhile.
const ASIDE: &str = ".synod-merge";

/// What came of a merge, in words for whoever asked, and what was found out. An error means that nothing changed.
pub(crate) fn merge(
    workspace: &Workspace,
    review: &Review,
    by: &AgentId,
) -> Result<(String, Finding), String> {
    let repo = shared(workspace)?;
    let place = &review.place;
    let (branch, target) = (&place.branch, format!("refs/heads/{}", place.target));
    for _ in 0..RACES_MAX {
        let ours = repo.find_reference(&target).and_then(|found| found.peel_to_commit());
        let ours = ours.map_err(|_| format!("there is no branch {} to merge into", place.target))?;
        let commit = place.commit.clone();
        if let Some(made) = made_before(&repo, ours.id(), review) {
            let said = format!("{} is merged: {made} on {}", review.id, place.target);
            return Ok((said, Finding::Merged { commit, merge: made.to_string() }));
        }
        let theirs = approved(&repo, review)?;
        let mut merged = repo.merge_commits(&ours, &theirs, None).map_err(words)?;
        if merged.has_conflicts() {
            let files = conflicts(&merged)?;
            let said = format!(
                "not merged: {branch} and {} both changed {}; {} gets it back",
                place.target,
                files.join(", "),
                review.author
            );
            return Ok((said, Finding::Conflicted { commit, files }));
        }
        let tree = merged.write_tree_to(&repo).and_then(|id| repo.find_tree(id)).map_err(words)?;
        let found =
            Merge { repo: &repo, review, by, target: &target, ours: &ours, theirs: &theirs, tree: &tree };
        if let Some(made) = found.put(workspace)? {
            let said = format!("merged {branch} at {} into {}: {made}", short(&commit), place.target);
            return Ok((said, Finding::Merged { commit, merge: made.to_string() }));
        }
    }
    Err(format!("not merged: {} keeps moving; try again", place.target))
}

/// The approved commit, if the branch is still at it: what came after it was looked at by nobody.
fn approved<'r>(repo: &'r Repository, review: &Review) -> Result<Commit<'r>, String> {
    let place = &review.place;
    let tip = repo.refname_to_id(&format!("refs/heads/{}", place.branch));
    let tip = tip.map_err(|_| format!("not merged: the branch {} is gone", place.branch))?;
    if tip.to_string() != place.commit {
        return Err(format!(
            "not merged: {} moved to {} since {} was approved; {} must ask for a review of that",
            place.branch,
            short(&tip.to_string()),
            short(&place.commit),
            review.author
        ));
    }
    find(repo, &place.commit)
}

/// The merge of this very approval, if it was made before.
fn made_before(repo: &Repository, tip: Oid, review: &Review) -> Option<Oid> {
    let mark = mark(review);
    let mut walk = repo.revwalk().ok()?;
    walk.push(tip).ok()?;
    walk.take(LOOK_BACK_MAX).flatten().find(|id| {
        let Ok(commit) = repo.find_commit(*id) else { return false };
        let text = String::from_utf8_lossy(commit.message_bytes()).into_owned();
        commit.parent_count() == 2 && message::trailers(&text, REVIEW).contains(&mark.as_str())
    })
}

fn mark(review: &Review) -> String {
    format!("{} {}", review.id, review.place.commit)
}

fn conflicts(index: &git2::Index) -> Result<Vec<String>, String> {
    let mut files: Vec<String> = Vec::new();
    for conflict in index.conflicts().map_err(words)?.flatten() {
        let side = conflict.our.or(conflict.their).or(conflict.ancestor);
        files.extend(side.map(|entry| message::line(&String::from_utf8_lossy(&entry.path))));
    }
    files.sort();
    files.dedup();
    files.truncate(NAMES_MAX);
    Ok(files)
}

/// A merge that is worked out and stands nowhere yet.
struct Merge<'a> {
    repo: &'a Repository,
    review: &'a Review,
    by: &'a AgentId,
    target: &'a str,
    ours: &'a Commit<'a>,
    theirs: &'a Commit<'a>,
    tree: &'a Tree<'a>,
}

impl Merge<'_> {
    /// Puts it in its place; `None` if the branch has moved meanwhile.
    fn put(&self, workspace: &Workspace) -> Result<Option<Oid>, String> {
        let base = self.ours.tree().map_err(words)?;
        let files = between(self.repo, &base, self.tree)?;
        let folder = self.folder(workspace)?;
        // Held over all of it, so that no git of a person works on the same files, and that a kill is seen for what it was.
        let index = Held::take(self.repo, self.target).map_err(|why| format!("not merged: {why}"))?;
        let Some(folder) = folder else { return self.commit().map(Some).or_else(raced) };
        let working = Working { repo: self.repo, folder: &folder };
        if self.repo.refname_to_id(self.target).ok() != Some(self.ours.id()) {
            return Ok(None);
        }
        working.check(&files)?;
        for file in &files {
            working
                .put(file)
                .map_err(|error| format!("not merged: {} cannot be written: {error}", file.path))?;
        }
        let changes: Vec<Change> = files.into_iter().map(|file| working.change(file)).collect();
        let mut pairs = Vec::new();
        for change in &changes {
            let new = match &change.new {
                Some(new) => Some((self.repo.blob(&new.bytes).map_err(words)?, new.mode)),
                None => None,
            };
            pairs.push((change, new));
        }
        index.change(&base, &pairs).map_err(|why| format!("not merged: {why}"))?;
        // Before the branch: an index that is ahead looks like staged work, and the next try finds it so.
        index.install().map_err(|why| format!("not merged: {why}"))?;
        self.commit().map(Some).or_else(raced)
    }

    /// The folder in which the target's files stand, if it is checked out.
    fn folder(&self, workspace: &Workspace) -> Result<Option<PathBuf>, String> {
        let Some(at) = checked_out_at(self.repo, &workspace.common_dir, self.target) else { return Ok(None) };
        let own = workspace.common_dir.parent().map(Path::to_path_buf);
        let found = self.repo.workdir().and_then(|folder| folder.canonicalize().ok());
        match (own, found) {
            (Some(own), Some(found)) if own == found && own.display().to_string() == at => Ok(Some(own)),
            _ => Err(format!(
                "not merged: {} is checked out in {at}, which is no folder of the repository itself",
                self.review.place.target
            )),
        }
    }

    /// The commit with its two parents; the branch moves only if it is where it was.
    fn commit(&self) -> Result<Oid, git2::Error> {
        let at = git2::Time::new(history::now().0.div_euclid(1000), 0);
        let sign = |name: &str| Signature::new(name, &format!("{}@{NOWHERE}", name.to_lowercase()), &at);
        let Review { id, author, reviewer, place, title, round, .. } = self.review;
        let text = format!(
            "{}\n\n{author} wrote it, {reviewer} approved {} in round {round} of {id}.\n\n{REVIEW}: {}\n",
            message::subject(&format!("Merge {}: {title}", place.branch)),
            short(&place.commit),
            mark(self.review)
        );
        let (author, committer) = (sign(self.by.as_str())?, sign("Synod")?);
        let made =
            self.repo.commit(None, &author, &committer, &text, self.tree, &[self.ours, self.theirs])?;
        let log = format!("merge {}: {id}", place.branch);
        self.repo.reference_matching(self.target, made, true, self.ours.id(), &log)?;
        Ok(made)
    }
}

fn raced(error: git2::Error) -> Result<Option<Oid>, String> {
    if commit::is_race(&error) { Ok(None) } else { Err(format!("not merged: {}", error.message())) }
}

/// The owner's own working files.
struct Working<'a> {
    repo: &'a Repository,
    folder: &'a Path,
}

impl Working<'_> {
    /// Whether every file is as it was committed, or already as it shall be.
    fn check(&self, files: &[Changed]) -> Result<(), String> {
        let in_the_way: Vec<&str> = files
            .iter()
            .filter(|file| !self.is_free(file))
            .map(|file| file.path.as_str())
            .take(NAMES_MAX)
            .collect();
        match in_the_way.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "not merged: {} has changes that are not committed in {}; a person must commit or remove them first",
                self.folder.display(),
                in_the_way.join(", ")
            )),
        }
    }

    fn is_free(&self, file: &Changed) -> bool {
        let Ok(place) = self.place(&file.path) else { return false };
        let Ok(now) = content(&place) else { return false };
        let old = file.old.and_then(|id| self.repo.find_blob(id).ok().map(|blob| blob.content().to_vec()));
        now == old || now.as_deref() == file.new.as_ref().map(|new| new.bytes.as_slice())
    }

    /// The file's place, through no link.
    fn place(&self, path: &str) -> std::io::Result<PathBuf> {
        let mut at = self.folder.to_owned();
        let parts: Vec<&str> = path.split('/').collect();
        let (name, folders) = parts.split_last().unwrap_or((&"", &[]));
        for part in folders {
            at.push(part);
            if fs::symlink_metadata(&at).is_ok_and(|metadata| !metadata.is_dir()) {
                return Err(std::io::Error::other(format!("{} is no folder", at.display())));
            }
        }
        at.push(name);
        Ok(at)
    }

    fn put(&self, file: &Changed) -> std::io::Result<()> {
        let place = self.place(&file.path)?;
        let Some(new) = &file.new else {
            return match fs::remove_file(&place) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => {
                    self.remove_empty(&place);
                    Ok(())
                }
            };
        };
        let folder = place.parent().unwrap_or(self.folder);
        fs::create_dir_all(folder)?;
        let aside = folder.join(ASIDE);
        // One that was killed leaves it behind; the next try puts the same files, and so takes it away.
        _ = fs::remove_file(&aside);
        if new.mode == MODE_LINK {
            symlink(Path::new(&*String::from_utf8_lossy(&new.bytes)), &aside)?;
        } else {
            fs::write(&aside, &new.bytes)?;
            let mode = if new.mode == MODE_RUNNABLE { 0o755 } else { 0o644 };
            fs::set_permissions(&aside, fs::Permissions::from_mode(mode))?;
        }
        fs::rename(&aside, &place)
    }

    /// Git keeps no empty folders.
    fn remove_empty(&self, place: &Path) {
        let above = place.ancestors().skip(1).take_while(|folder| *folder != self.folder);
        for folder in above {
            if fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }

    /// The same for the index, with what the file is on the disk now.
    fn change(&self, file: Changed) -> Change {
        let stat = self.place(&file.path).and_then(fs::symlink_metadata).ok().map(Box::new);
        Change { new: file.new.map(|new| New { stat, ..new }), path: file.path }
    }
}

/// What stands at a place: a file's bytes, a link's target, or nothing.
fn content(place: &Path) -> std::io::Result<Option<Vec<u8>>> {
    use std::os::unix::ffi::OsStrExt;
    match fs::symlink_metadata(place) {
        Ok(metadata) if metadata.is_symlink() => {
            Ok(Some(fs::read_link(place)?.as_os_str().as_bytes().to_vec()))
        }
        Ok(metadata) if metadata.is_file() => fs::read(place).map(Some),
        Ok(_) => Err(std::io::Error::other("no file")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn words(error: git2::Error) -> String {
    error.message().to_owned()
}
