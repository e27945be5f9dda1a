//! Whose work stands in a worktree. Before other work begins there, what stands there is kept on a branch of its own, with
//! what was not committed, and the agent's branch begins anew; when the first goes on, it finds its own again. What git leaves
//! out is put into no commit (`aside`).
//!
//! A note in what git keeps of the worktree says whose work it is. It also says where a change that a crash cut off leads:
//! that is finished before anything else, because files that are half changed are nobody's work.

use std::fs;

use domain::id::AgentId;
use domain::lock::workspace::{Hold, Room};
use git2::{Commit, Oid, Repository, RepositoryState, Signature, Tree};

use super::changes::{self, Changed, Changes};
use super::commit::{self, Change, Held, find};
use super::target::{aim, contains};
use super::working::Working;
use super::workspace::aside::{self, Aside};
use super::workspace::{WORK as NOTE, Workspace, Workspaces, repository, shared};
use super::{NOWHERE, conflict, history, update};
use crate::until::Until;

/// How the branches begin on which work is kept.
const KEPT: &str = "refs/heads/kept";

/// What the note says.
#[derive(Debug, PartialEq, Eq)]
struct Note {
    /// Whose work stands there.
    work: String,
    /// What it is being changed to: whose work, and from where that begins.
    next: Option<(String, String)>,
}

impl Note {
    fn read(workspace: &Workspace) -> Result<Option<Self>, String> {
        let text = match fs::read_to_string(workspace.git_dir.join(NOTE)) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{NOTE} cannot be read: {error}")),
        };
        let mut lines = text.lines();
        let work = lines.next().unwrap_or_default().to_owned();
        let next = lines.next().and_then(|line| line.split_once(' '));
        Ok(Some(Self { work, next: next.map(|(work, start)| (work.to_owned(), start.to_owned())) }))
    }

    fn write(&self, workspace: &Workspace) -> Result<(), String> {
        let next = self.next.iter().map(|(work, start)| format!("{work} {start}\n"));
        let text: String = std::iter::once(format!("{}\n", self.work)).chain(next).collect();
        let (place, aside) = (workspace.git_dir.join(NOTE), workspace.git_dir.join(format!("{NOTE}.synod")));
        let written = fs::write(&aside, text).and_then(|()| fs::rename(&aside, &place));
        written.map_err(|error| format!("{NOTE} cannot be written: {error}"))
    }
}

/// Whose work stands in a workspace, if that is known.
pub(super) fn standing(workspace: &Workspace) -> Option<String> {
    Note::read(workspace).ok().flatten().map(|note| note.work)
}

/// Whether `commit` is on a branch on which work of an agent is kept.
pub(super) fn keeps(repo: &Repository, agent: &AgentId, commit: Oid) -> bool {
    all_kept(repo, agent).into_iter().any(|(_, tip)| contains(repo, tip, commit))
}

/// Takes the kept branches of an agent away that have nothing which `target` does not have.
pub(super) fn forget_merged(repo: &Repository, agent: &AgentId, target: Oid) {
    for (name, _) in all_kept(repo, agent).into_iter().filter(|(_, tip)| contains(repo, target, *tip)) {
        let _one = shared();
        // One that stays is only one branch more.
        _ = repo.find_reference(&name).and_then(|mut found| found.delete());
    }
}

fn all_kept(repo: &Repository, agent: &AgentId) -> Vec<(String, Oid)> {
    let Ok(found) = repo.references_glob(&format!("{KEPT}/{agent}/*")) else { return Vec::new() };
    let named = |one: git2::Reference<'_>| Some((one.name().ok()?.to_owned(), one.target()?));
    found.flatten().filter_map(named).collect()
}

/// Makes the agent's workspace that of the work which has it, if it `may` still. Blocks.
pub(crate) fn begin(
    workspaces: &Workspaces,
    agent: &AgentId,
    hold: &Hold,
    until: &Until,
    may: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let place = workspaces.ensure(agent)?;
    workspaces.in_turn(agent, || {
        may()?;
        turn_to(&place, agent, hold, until)
    })
}

/// Makes a worktree that of the work which has it now.
fn turn_to(workspace: &Workspace, agent: &AgentId, hold: &Hold, until: &Until) -> Result<(), String> {
    let Some(branch) = &workspace.branch else { return Ok(()) };
    let is_own = |note: &Note| note.next.is_none() && note.work == hold.work;
    let before = Note::read(workspace)?;
    if before.as_ref().is_some_and(is_own) {
        return Ok(());
    }
    let repo = repository(workspace)?;
    let turn = Turn { workspace, repo: &repo, agent, branch, until };
    let before = match before {
        Some(Note { work, next: Some((next, start)) }) => {
            turn.put(&work, &next, &find(&repo, &start)?)?;
            next
        }
        Some(Note { work, next: None }) => work,
        // Nobody has worked there, or in a time when nobody took notes: whoever comes goes on with it.
        None => hold.work.clone(),
    };
    if before == hold.work || hold.shares.contains(&before) {
        return Note { work: hold.work.clone(), next: None }.write(workspace);
    }
    turn.to(&before, hold)
}

/// A worktree on its way from one piece of work to another.
struct Turn<'a> {
    workspace: &'a Workspace,
    repo: &'a Repository,
    agent: &'a AgentId,
    branch: &'a str,
    until: &'a Until,
}

impl<'a> Turn<'a> {
    fn to(&self, before: &str, hold: &Hold) -> Result<(), String> {
        let tip = commit::head(self.repo).map_err(|why| why.to_string())?.commit;
        let tip = tip.ok_or_else(|| format!("{} has no commit", self.branch))?;
        let target = aim(self.workspace, self.repo, self.branch).ok().map(|(_, target)| target);
        let left = self.left(before, &tip)?;
        let start = self.start(before, hold, &tip, target.as_ref())?;
        let is_in = |commit: &Commit<'_>| contains(self.repo, commit.id(), tip.id());
        // Others may come after the same work, when this one has moved the branch on.
        let is_needed = hold.onto.iter().any(|work| work == before) && !target.as_ref().is_some_and(is_in);
        if left.is_some() || is_needed || !is_in(&start) {
            self.keep(before, left.unwrap_or(tip.id()))?;
        }
        let next = Some((hold.work.clone(), start.id().to_string()));
        Note { work: before.to_owned(), next }.write(self.workspace)?;
        self.put(before, &hold.work, &start)?;
        for work in &hold.shares {
            self.aside().give_back(work)?;
        }
        for work in hold.shares.iter().chain([&hold.work]) {
            if self.kept(work).is_some_and(|tip| contains(self.repo, start.id(), tip)) {
                let _one = shared();
                let found = self.repo.find_reference(&self.name(work));
                found.and_then(|mut found| found.delete()).map_err(words)?;
            }
        }
        Ok(())
    }

    /// Where the work begins: at its own or that on which it builds, else at the branch that it shall go into.
    fn start(
        &self,
        before: &str,
        hold: &Hold,
        tip: &Commit<'a>,
        target: Option<&Commit<'a>>,
    ) -> Result<Commit<'a>, String> {
        let at = |work: &String| if work == before { Some(tip.id()) } else { self.kept(work) };
        let others = hold.shares.iter().chain(&hold.onto).chain(&hold.after);
        let wanted = self.kept(&hold.work).or_else(|| others.into_iter().find_map(at));
        let wanted = match (wanted, target) {
            (Some(wanted), Some(target)) if contains(self.repo, target.id(), wanted) => target.id(),
            (Some(wanted), _) => wanted,
            (None, target) => target.unwrap_or(tip).id(),
        };
        self.repo.find_commit(wanted).map_err(words)
    }

    /// A commit of what is not committed, on no branch yet.
    fn left(&self, work: &str, tip: &Commit<'_>) -> Result<Option<Oid>, String> {
        // A merge that is not finished is kept as its files are, and can be made again.
        if !matches!(self.repo.state(), RepositoryState::Clean | RepositoryState::Merge) {
            return Err(
                "a rebase or the like is under way in the workspace; finish or abort it first".to_owned()
            );
        }
        let found = self.differs(work, &tip.tree().map_err(words)?, &[])?;
        aside::note(self.workspace, &found.ignored)?;
        self.save(work, tip, found.files)
    }

    /// What differs in the files of `work`, beside what it leaves out.
    fn differs(&self, work: &str, tree: &Tree<'_>, ignored: &[String]) -> Result<Changes, String> {
        let found = changes::find_but(self.repo, &self.workspace.path, tree, ignored, self.until);
        let place = Room::Own.folder(self.agent);
        found.map_err(|why| format!("what {work} left in {place} cannot be kept: {why}"))
    }

    fn save(&self, work: &str, onto: &Commit<'_>, files: Vec<Changed>) -> Result<Option<Oid>, String> {
        if files.is_empty() {
            return Ok(None);
        }
        let changes: Vec<Change> =
            files.into_iter().map(|file| Change { path: file.path, new: file.new }).collect();
        let mut pairs = Vec::with_capacity(changes.len());
        for change in &changes {
            let new = change.new.as_ref().map(|new| Ok((self.repo.blob(&new.bytes)?, new.mode)));
            pairs.push((change, new.transpose().map_err(words)?));
        }
        let tree = commit::change_tree(self.repo, &onto.tree().map_err(words)?, &pairs);
        let tree = tree.and_then(|id| self.repo.find_tree(id)).map_err(words)?;
        let at = git2::Time::new(history::now().0.div_euclid(1000), 0);
        let sign = |name: &str| Signature::new(name, &format!("{}@{NOWHERE}", name.to_lowercase()), &at);
        let text = format!(
            "What {work} left uncommitted\n\nKept when other work of {} began in its workspace.\n",
            self.agent
        );
        let (author, committer) = (sign(self.agent.as_str()).map_err(words)?, sign("Synod").map_err(words)?);
        self.repo.commit(None, &author, &committer, &text, &tree, &[onto]).map(Some).map_err(words)
    }

    fn name(&self, work: &str) -> String {
        format!("{KEPT}/{}/{work}", self.agent)
    }

    fn kept(&self, work: &str) -> Option<Oid> {
        self.repo.refname_to_id(&self.name(work)).ok()
    }

    fn keep(&self, work: &str, tip: Oid) -> Result<(), String> {
        let log = format!("synod: what stands in the workspace of {work}");
        let _one = shared();
        let kept = self.repo.reference(&self.name(work), tip, true, &log);
        kept.map(|_| ()).map_err(|error| format!("{work} cannot be kept: {}", error.message()))
    }

    /// Makes the files those of `start`, and then the branch. Done again after a crash, it comes to the same end.
    fn put(&self, before: &str, next: &str, start: &Commit<'_>) -> Result<(), String> {
        let branch = format!("refs/heads/{}", self.branch);
        let tree = start.tree().map_err(words)?;
        let index = Held::take(self.repo, &branch).map_err(|why| why.to_string())?;
        let ignored = aside::noted(self.workspace)?;
        let aside = self.aside();
        let in_the_way: Vec<&String> = ignored.iter().filter(|path| aside::is_in(&tree, path)).collect();
        aside.put(before, &in_the_way)?;
        self.put_files(&tree, self.differs(before, &tree, &ignored)?.files)?;
        // What only the work before told git to leave out would be taken for a part of the next.
        let is_shown = |path: &&String| !self.repo.is_path_ignored(path.as_str()).unwrap_or(false);
        let shown: Vec<&String> =
            ignored.iter().filter(|path| !in_the_way.contains(path)).filter(is_shown).collect();
        aside.put(before, &shown)?;
        aside.give_back(next)?;
        index.read_tree(&tree).and_then(|()| index.install()).map_err(|why| why.to_string())?;
        let log = format!("synod: {next} begins");
        self.repo.reference(&branch, start.id(), true, &log).map_err(words)?;
        update::over(&self.workspace.git_dir)?;
        Note { work: next.to_owned(), next: None }.write(self.workspace)
    }

    fn aside(&self) -> Aside<'_> {
        Aside { workspace: self.workspace, repo: self.repo, agent: self.agent }
    }

    fn put_files(&self, tree: &Tree<'_>, mut files: Vec<Changed>) -> Result<(), String> {
        for file in &mut files {
            file.new = conflict::file_at(self.repo, tree, &file.path)?;
        }
        Working::open(self.repo, &self.workspace.path)?.put_all(&files)
    }
}

fn words(error: git2::Error) -> String {
    error.message().to_owned()
}

#[cfg(test)]
mod tests;
