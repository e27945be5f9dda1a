//! Merging approved work: a commit with two parents, made once. Nothing of the repository runs, and no file that its
//! owner has changed is written over.
//!
//! The files go first and the branch last: whatever a crash leaves is seen as half done, and done again.

use std::path::{Path, PathBuf};

use domain::id::AgentId;
use domain::review::{Finding, Review, short};
use git2::{Commit, Oid, Repository, Signature, Tree};

use super::changes::{Changed, between};
use super::commit::{self, Change, Held, find};
use super::conflict::files_and_folders;
use super::target::{contains, shared};
use super::work;
use super::working::Working;
use super::workspace::Workspace;
use super::workspace::taken::{self, How};
use super::{NOWHERE, history, message};

/// How far back a merge is looked for that a crash kept from being told of.
const LOOK_BACK_MAX: usize = 4096;
/// The trailer by which it is found.
const REVIEW: &str = "Synod-Review";
/// So many names of files are told.
const NAMES_MAX: usize = 50;
/// How far back it is looked for how a commit came into the target that nobody need merge any more.
const SINCE_MAX: usize = 64;
/// How often a merge is made again because the branch moved meanwhile.
const RACES_MAX: usize = 8;

/// What came of a merge, in words for whoever asked, and what was found out. An error means that nothing changed.
pub(crate) fn merge(
    workspace: &Workspace,
    home: &Path,
    review: &Review,
    by: &AgentId,
) -> Result<(String, Finding), String> {
    let repo = shared(workspace)?;
    let place = &review.place;
    let (branch, target) = (&place.branch, format!("refs/heads/{}", place.target));
    // Also where nothing is left to do: the owner's git would stand before the lock.
    commit::mend(&repo, &target);
    for _ in 0..RACES_MAX {
        let ours = repo.find_reference(&target).and_then(|found| found.peel_to_commit());
        let ours = ours.map_err(|_| format!("there is no branch {} to merge into", place.target))?;
        let commit = place.commit.clone();
        if let Some(made) = made_before(&repo, ours.id(), review) {
            let said = format!("{} is merged: {made} on {}", review.id, place.target);
            return Ok((said, Finding::Merged { commit, merge: made.to_string() }));
        }
        if let Some(since) = held_since(&repo, &ours, &commit) {
            let said = format!(
                "{} is merged: {} has {} since {since}, so there was nothing to do",
                review.id,
                place.target,
                short(&commit)
            );
            return Ok((said, Finding::Merged { commit, merge: since.to_string() }));
        }
        let theirs = approved(&repo, workspace, review)?;
        let mut merged = repo.merge_commits(&ours, &theirs, None).map_err(words)?;
        let files = conflicts(&merged)?;
        if merged.has_conflicts() || !files.is_empty() {
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
        if let Some(made) = found.put(workspace, home)? {
            work::forget_merged(&repo, &review.author, made);
            let said = format!("merged {branch} at {} into {}: {made}", short(&commit), place.target);
            return Ok((said, Finding::Merged { commit, merge: made.to_string() }));
        }
    }
    Err(format!("not merged: {} keeps moving; try again", place.target))
}

/// The approved commit, if the branch is still at it: else its author has gone on with what nobody has looked at. Where other
/// work of the author stands by now, it is enough that the commit is not given up.
fn approved<'r>(repo: &'r Repository, workspace: &Workspace, review: &Review) -> Result<Commit<'r>, String> {
    let place = &review.place;
    let tip = repo.refname_to_id(&format!("refs/heads/{}", place.branch));
    let tip = tip.map_err(|_| format!("not merged: the branch {} is gone", place.branch))?;
    let own = review.about.as_ref().map_or_else(|| review.session.to_string(), ToString::to_string);
    let is_over = work::standing(workspace).is_some_and(|work| work != own);
    let is_kept = |id: Oid| contains(repo, tip, id) || work::keeps(repo, &review.author, id);
    if is_over && Oid::from_str(&place.commit).is_ok_and(is_kept) {
        return find(repo, &place.commit);
    }
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

/// The commit by which the target got `commit`, if it has it: that of another review that came with it, or a person's. Where
/// that is too long ago, the target's last one.
fn held_since(repo: &Repository, tip: &Commit<'_>, commit: &str) -> Option<Oid> {
    let id = find(repo, commit).ok()?.id();
    let has = |tip: &Commit<'_>| contains(repo, tip.id(), id);
    let mut since = Some(tip.clone()).filter(has)?;
    for _ in 0..SINCE_MAX {
        match since.parent(0).ok().filter(has) {
            Some(before) => since = before,
            None => return Some(since.id()),
        }
    }
    Some(tip.id())
}

fn mark(review: &Review) -> String {
    format!("{} {}", review.id, review.place.commit)
}

/// What both sides made something else of.
fn conflicts(index: &git2::Index) -> Result<Vec<String>, String> {
    let mut files: Vec<Vec<u8>> = Vec::new();
    for conflict in index.conflicts().map_err(words)?.flatten() {
        let side = conflict.our.or(conflict.their).or(conflict.ancestor);
        files.extend(side.map(|entry| entry.path));
    }
    let within =
        |file: &[u8], path: &[u8]| file.strip_prefix(path).is_some_and(|rest| rest.starts_with(b"/"));
    for path in files_and_folders(index) {
        files.retain(|file| !within(file, &path));
        files.push(path);
    }
    let mut files: Vec<String> =
        files.into_iter().map(|path| message::line(&String::from_utf8_lossy(&path))).collect();
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
    fn put(&self, workspace: &Workspace, home: &Path) -> Result<Option<Oid>, String> {
        let base = self.ours.tree().map_err(words)?;
        let files = between(self.repo, &base, self.tree)?;
        // Held over all of it, so that no git of a person works on the same files, and that a kill is seen for what it was.
        let index = Held::take(self.repo, self.target).map_err(|why| format!("not merged: {why}"))?;
        let folder = self.folder(workspace)?;
        if let Some(file) = self.repo.workdir().and_then(|top| in_home(top, home, &files)) {
            return Err(format!(
                "not merged: {} is in the home of the team, which no merge changes",
                file.path
            ));
        }
        let Some(folder) = folder else { return self.commit().map(Some).or_else(raced) };
        let working = Working::open(self.repo, &folder).map_err(|why| format!("not merged: {why}"))?;
        if self.repo.refname_to_id(self.target).ok() != Some(self.ours.id()) {
            return Ok(None);
        }
        let in_the_way = working.in_the_way(&files);
        if !in_the_way.is_empty() {
            return Err(self.unfinished(&folder, &working, in_the_way));
        }
        working.put_all(&files).map_err(|why| format!("not merged: {why}"))?;
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
        let own = self.repo.path().canonicalize().ok();
        let all = taken::by(self.repo, &workspace.common_dir, self.target);
        let target = &self.review.place.target;
        for by in &all {
            match by.how {
                How::CheckedOut if Some(&by.git_dir) == own.as_ref() => {}
                How::CheckedOut => {
                    return Err(format!("not merged: {target} {by}, and `repo:` names another folder"));
                }
                // What is under way there ends with moving the branch, and would take the merge back.
                How::Rebased | How::Bisected => return Err(format!("not merged: {target} {by}")),
            }
        }
        let folder = self.repo.workdir().filter(|_| !all.is_empty()).map(Path::canonicalize);
        folder.transpose().map_err(|error| format!("not merged: {error}"))
    }

    /// Why nothing is merged: the owner has changed some of these files, or git has.
    fn unfinished(&self, folder: &Path, working: &Working<'_>, files: Vec<&Changed>) -> String {
        let (converted, changed): (Vec<&Changed>, Vec<&Changed>) =
            files.into_iter().partition(|file| working.may_be_converted(file));
        let names = |files: &[&Changed]| {
            files.iter().take(NAMES_MAX).map(|file| file.path.as_str()).collect::<Vec<_>>().join(", ")
        };
        let (at, branch) = (folder.display(), &self.review.place.branch);
        match changed.is_empty() {
            true => format!(
                "not merged: {} in {at} differs from what is committed, perhaps only in line ends or by a filter (.gitattributes), which Synod does not run; a person can merge {branch} with git there",
                names(&converted)
            ),
            false => format!(
                "not merged: {at} has changes that are not committed in {}; a person must commit or remove them first",
                names(&changed)
            ),
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

/// A file of a merge that would stand in the home, or in its place, where the home is inside of the repository. Files of the
/// home say what agents may do, so work of agents must not come to be there.
fn in_home<'f>(top: &Path, home: &Path, files: &'f [Changed]) -> Option<&'f Changed> {
    let (top, home) = (top.canonicalize().ok()?, home.canonicalize().ok()?);
    let inside = home.strip_prefix(&top).ok()?;
    files.iter().find(|file| {
        let path = Path::new(&file.path);
        path.starts_with(inside) || inside.starts_with(path)
    })
}

fn raced(error: git2::Error) -> Result<Option<Oid>, String> {
    if commit::is_race(&error) { Ok(None) } else { Err(format!("not merged: {}", error.message())) }
}

fn words(error: git2::Error) -> String {
    error.message().to_owned()
}
