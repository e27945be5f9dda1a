//! The tool `git_update`: what others merged meanwhile comes into an agent's branch, in its own workspace. Files in
//! which both sides changed the same lines get git's marks, and `git_commit` makes the merge when they are gone.
//!
//! A merge that is begun is told by a note before the first file is written. While the note is there nothing is
//! committed: half of a merge would take back what others did.

use std::fs;
use std::path::Path;

use domain::id::{AgentId, Seq};
use domain::review::short;
use git2::{Commit, Oid, Repository, RepositoryState, Tree};

use super::changes::all_between;
use super::changes::{self, Changed, MODE_SUBMODULE};
use super::commit::find;
use super::commit::{self, Change, Held, Words};
use super::conflict::{self, Merged};
use super::mark::{find_mark, mark, signed};
use super::patch::{self, line};
use super::target::{aim, contains};
use super::working::Working;
use super::workspace::{self, HALFWAY, MERGE_HEAD, Workspace};
use crate::until::Until;

/// The message that git suggests for a merge.
const MERGE_MSG: &str = "MERGE_MSG";
/// So many names of files are told.
const NAMES_MAX: usize = 50;

/// Brings the branch that the agent's work shall go into into the agent's own.
pub(crate) fn update(
    workspace: &Workspace,
    agent: &AgentId,
    effect: Seq,
    until: &Until,
) -> Result<String, String> {
    let repo = workspace::repository(workspace)?;
    let head = commit::head(&repo).map_err(|why| why.to_string())?;
    let branch = head.branch.trim_start_matches("refs/heads/").to_owned();
    let ours = head.commit.ok_or("there is no commit yet; commit your work first")?;
    let (target, onto) = aim(workspace, &repo, &branch)?;
    let mark = mark(effect, agent, "git_update", std::slice::from_ref(&target));
    let was = UnderWay::of(workspace, &repo, Some(&ours))?;
    if let Some(id) = find_mark(&repo, ours.id(), &mark) {
        return Ok(format!("{branch} has all of {target} since {id}, made before a restart"));
    }
    let theirs = match was {
        UnderWay::Merge(theirs) => {
            let merging = Merging { workspace, repo: &repo, ours, theirs: find(&repo, &theirs.to_string())? };
            return merging.conflicts().map(|merged| merging.told(&merged));
        }
        UnderWay::Half(theirs) => find(&repo, &theirs.to_string())?,
        UnderWay::Nothing if contains(&repo, ours.id(), onto.id()) => {
            return Ok(format!("{branch} has all of {target} already"));
        }
        UnderWay::Nothing => {
            let changed = changes::find(&repo, &workspace.path, &ours.tree().map_err(words)?, &[], until)?;
            if !changed.files.is_empty() {
                let names: Vec<&str> = changed.files.iter().map(|file| file.path.as_str()).collect();
                return Err(format!("not committed yet: {}; git_commit first", listed(&names)));
            }
            onto
        }
    };
    let text = format!("Merge {target} into {branch}");
    let words = signed(agent, &text, &mark)?;
    Merging { workspace, repo: &repo, ours, theirs }.put(&target, &words)
}

/// Makes the files what they were before a merge that is not finished.
pub(crate) fn take_back(workspace: &Workspace) -> Result<String, String> {
    let repo = workspace::repository(workspace)?;
    let head = commit::head(&repo).map_err(|why| why.to_string())?;
    let branch = head.branch.trim_start_matches("refs/heads/").to_owned();
    let (Some(ours), UnderWay::Merge(theirs) | UnderWay::Half(theirs)) =
        (&head.commit, UnderWay::of(workspace, &repo, head.commit.as_ref())?)
    else {
        return Ok(format!("no merge is under way: {branch} is as it was"));
    };
    let theirs = find(&repo, &theirs.to_string())?;
    let merging = Merging { workspace, repo: &repo, ours: ours.clone(), theirs };
    let merged = merging.conflicts()?;
    let index = Held::take(&repo, &head.branch).map_err(|why| why.to_string())?;
    let mut files = merging.files(&merged)?;
    for file in &mut files {
        file.new = conflict::file_at(&repo, &ours.tree().map_err(words)?, &file.path)?;
    }
    merging.note()?;
    Working::open(&repo, &workspace.path)?.put_all(&files)?;
    let tree = ours.tree().map_err(words)?;
    index.read_tree(&tree).and_then(|()| index.install()).map_err(|why| why.to_string())?;
    merging.over()?;
    Ok(format!("taken back: {branch} and its files are as before the merge"))
}

/// The merge that waits for its commit in a workspace, if there is one. An error if nothing may be committed now.
pub(super) fn merging<'a>(
    workspace: &'a Workspace,
    repo: &'a Repository,
    tip: Option<&Commit<'a>>,
) -> Result<Option<Merging<'a>>, String> {
    match (UnderWay::of(workspace, repo, tip)?, tip) {
        (UnderWay::Nothing, _) | (_, None) => Ok(None),
        (UnderWay::Half(_), _) => Err(
            "a merge was cut off before all its files were in their place: git_update goes on with it, git_update with take_back: true undoes it"
                .to_owned(),
        ),
        (UnderWay::Merge(theirs), Some(tip)) => {
            let theirs = find(repo, &theirs.to_string())?;
            Ok(Some(Merging { workspace, repo, ours: tip.clone(), theirs }))
        }
    }
}

/// What a workspace is in the middle of.
enum UnderWay {
    Nothing,
    /// A merge of this commit; some files may be as before it, others as after it.
    Half(Oid),
    /// A merge of this commit, which only has to be committed.
    Merge(Oid),
}

impl UnderWay {
    fn of(workspace: &Workspace, repo: &Repository, tip: Option<&Commit<'_>>) -> Result<Self, String> {
        let half = noted(&workspace.git_dir.join(HALFWAY))?;
        let merge = noted(&workspace.git_dir.join(MERGE_HEAD))?;
        let is_in = |theirs: Oid| tip.is_some_and(|tip| contains(repo, tip.id(), theirs));
        if half.or(merge).is_some_and(is_in) {
            // Killed when the commit was made, and before this was tidied up.
            over(&workspace.git_dir)?;
            return Ok(Self::Nothing);
        }
        match (half, merge, repo.state()) {
            (Some(theirs), _, _) => Ok(Self::Half(theirs)),
            (None, None, RepositoryState::Clean) => Ok(Self::Nothing),
            (None, Some(theirs), RepositoryState::Merge) => Ok(Self::Merge(theirs)),
            _ => Err("a merge or rebase is under way in the workspace; finish or abort it first".to_owned()),
        }
    }
}

/// The one commit that a file names, if it is there.
fn noted(place: &Path) -> Result<Option<Oid>, String> {
    let text = match fs::read_to_string(place) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{} cannot be read: {error}", place.display())),
    };
    let id = Oid::from_str(text.trim_end());
    id.map(Some).map_err(|_| format!("{} names no single commit; a person must look at it", place.display()))
}

pub(super) fn over(git_dir: &Path) -> Result<(), String> {
    // The note last: as long as it is there, all this is not over.
    for name in [MERGE_HEAD, MERGE_MSG, HALFWAY] {
        match fs::remove_file(git_dir.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("{name} cannot be removed: {error}"));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// A merge of `theirs` into `ours`, the last commit of an agent's branch, in its workspace.
pub(super) struct Merging<'a> {
    workspace: &'a Workspace,
    repo: &'a Repository,
    ours: Commit<'a>,
    theirs: Commit<'a>,
}

impl<'a> Merging<'a> {
    fn conflicts(&self) -> Result<Merged<'a>, String> {
        Merged::of(self.repo, &self.ours, &self.theirs)
    }

    /// Every file that the merge changes in the workspace.
    fn files(&self, merged: &Merged<'_>) -> Result<Vec<Changed>, String> {
        let all = all_between(self.repo, &self.ours.tree().map_err(words)?, &merged.tree)?;
        let mut files: Vec<Changed> = all.into_iter().filter_map(in_files).collect();
        for conflict in &merged.conflicts {
            if let Some(marked) = conflict.marked() {
                files.push(marked);
            }
        }
        Ok(files)
    }

    /// What a commit of this tree changes for the author, in words.
    fn names(&self, tree: &Tree<'_>) -> Result<Vec<String>, String> {
        let all = all_between(self.repo, &self.ours.tree().map_err(words)?, tree)?;
        Ok(all.iter().map(line).collect())
    }

    fn note(&self) -> Result<(), String> {
        self.say(HALFWAY, &format!("{}\n", self.theirs.id()))
    }

    fn say(&self, name: &str, text: &str) -> Result<(), String> {
        let place = self.workspace.git_dir.join(name);
        let aside = self.workspace.git_dir.join(format!("{name}.synod"));
        let written = fs::write(&aside, text).and_then(|()| fs::rename(&aside, &place));
        written.map_err(|error| format!("{name} cannot be written: {error}"))
    }

    fn over(&self) -> Result<(), String> {
        over(&self.workspace.git_dir)
    }

    /// Puts the files in their place, and commits if nothing is left to decide.
    fn put(&self, target: &str, words: &Words<'_>) -> Result<String, String> {
        let merged = self.conflicts()?;
        let files = self.files(&merged)?;
        let branch = commit::head(self.repo).map_err(|why| why.to_string())?.branch;
        let index = Held::take(self.repo, &branch).map_err(|why| why.to_string())?;
        let working = Working::open(self.repo, &self.workspace.path)?;
        let in_the_way = working.in_the_way(&files);
        if !in_the_way.is_empty() {
            let in_the_way: Vec<&str> = in_the_way.iter().map(|file| file.path.as_str()).collect();
            let begun = self.workspace.git_dir.join(HALFWAY).exists();
            let how = if begun { "; take_back: true makes it what it was before" } else { "; move it away" };
            return Err(format!("not merged: {} would be written over{how}", listed(&in_the_way)));
        }
        self.note()?;
        working.put_all(&files)?;
        index.read_tree(&merged.tree).and_then(|()| index.install()).map_err(|why| why.to_string())?;
        if merged.conflicts.is_empty() {
            let made = self.seal(&branch, &merged.tree, words)?;
            let names = self.names(&merged.tree)?;
            let branch = branch.trim_start_matches("refs/heads/");
            return Ok(format!("{branch} has all of {target} now: {made}\n{}", patch::listed(&names)));
        }
        self.say(MERGE_MSG, words.message.lines().next().unwrap_or_default())?;
        self.say(MERGE_HEAD, &format!("{}\n", self.theirs.id()))?;
        fs::remove_file(self.workspace.git_dir.join(HALFWAY)).map_err(|error| error.to_string())?;
        Ok(self.told(&merged))
    }

    /// What the agent has to decide.
    fn told(&self, merged: &Merged<'_>) -> String {
        let mut said = format!(
            "{} is being merged into your branch, and both sides changed the same:",
            short(&self.theirs.id().to_string())
        );
        for conflict in merged.conflicts.iter().take(NAMES_MAX) {
            said.push_str(&format!("\n- {conflict}"));
        }
        said.push_str(
            "\nMake each file what it shall be, run the tests, then git_commit: it makes the merge. Or take_back: true undoes it.",
        );
        said
    }

    /// Commits what the files are now, if every conflict is decided.
    pub(super) fn finish(
        &self,
        words: &Words<'_>,
        paths: &[String],
        until: &Until,
    ) -> Result<String, String> {
        if !paths.is_empty() {
            return Err("a merge is under way, and is committed as a whole: leave paths out".to_owned());
        }
        let head = commit::head(self.repo).map_err(|why| why.to_string())?;
        let branch = head.branch.trim_start_matches("refs/heads/");
        let (target, onto) = aim(self.workspace, self.repo, branch)?;
        if !contains(self.repo, onto.id(), self.theirs.id()) {
            return Err(format!(
                "what is being merged is not from {target}; a person must finish or abort it"
            ));
        }
        let merged = self.conflicts()?;
        let working = Working::open(self.repo, &self.workspace.path)?;
        let left: Vec<String> = merged.conflicts.iter().filter_map(|one| one.left(&working)).collect();
        if !left.is_empty() {
            return Err(format!(
                "not committed: {}; make each file what it shall be, without these lines",
                left.join(", ")
            ));
        }
        // From what is merged by itself: what is left alone below keeps what others did to it.
        let found = changes::find(self.repo, &self.workspace.path, &merged.tree, &[], until)?;
        let changed: Vec<Change> =
            found.files.into_iter().map(|file| Change { path: file.path, new: file.new }).collect();
        let mut pairs = Vec::new();
        for change in &changed {
            let new = match &change.new {
                Some(new) => Some((self.repo.blob(&new.bytes).map_err(self::words)?, new.mode)),
                None => None,
            };
            pairs.push((change, new));
        }
        let tree = commit::change_tree(self.repo, &merged.tree, &pairs);
        let tree = tree.and_then(|id| self.repo.find_tree(id)).map_err(self::words)?;
        let index = Held::take(self.repo, &head.branch).map_err(|why| why.to_string())?;
        index.read_tree(&tree).and_then(|()| index.install()).map_err(|why| why.to_string())?;
        let made = self.seal(&head.branch, &tree, words)?;
        let mut names = self.names(&tree)?;
        names.extend(found.notes);
        Ok(format!("committed {made} on {branch}, which has all of {target} now:\n{}", patch::listed(&names)))
    }

    /// The commit with its two parents; the branch moves only if it is where it was. Work that was only behind just
    /// catches up.
    fn seal(&self, branch: &str, tree: &Tree<'_>, words: &Words<'_>) -> Result<Oid, String> {
        let made = match contains(self.repo, self.theirs.id(), self.ours.id()) {
            true => self.theirs.id(),
            false => {
                let parents = [&self.ours, &self.theirs];
                let Words { author, committer, message } = words;
                self.repo.commit(None, author, committer, message, tree, &parents).map_err(self::words)?
            }
        };
        let log = format!("merge: {}", words.message.lines().next().unwrap_or_default());
        let moved = self.repo.reference_matching(branch, made, true, self.ours.id(), &log);
        moved.map_err(|error| format!("not merged: {}", error.message()))?;
        self.over()?;
        Ok(made)
    }
}

/// What a change means for the files of a workspace. Those of a submodule are its own matter; only its place must be free.
fn in_files(file: Changed) -> Option<Changed> {
    let is_submodule = |mode: u32| mode == MODE_SUBMODULE;
    let old = file.old.filter(|(_, mode)| !is_submodule(*mode));
    let new = file.new.filter(|new| !is_submodule(new.mode));
    (old.is_some() || new.is_some()).then_some(Changed { path: file.path, old, new })
}

fn listed(names: &[&str]) -> String {
    names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ")
}

fn words(error: git2::Error) -> String {
    error.message().to_owned()
}
