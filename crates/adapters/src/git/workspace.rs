//! Where an agent works: `workspaces/<agent>/`, a repository of its own or a worktree of a given one on the agent's
//! branch. Made on first use. Two agents never share a folder or a branch, and a workspace that points elsewhere is
//! refused, whoever made it so. Who looks at the work of others does so beside it, in a worktree that is on no branch
//! (`workspaces/<agent>.review/`) and holds nothing of its own.

pub(super) mod aside;
mod end;
mod left;
pub mod look;
pub(super) mod taken;

pub use end::clean_up;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::agent;
use domain::id::AgentId;
use domain::layout;
use domain::lock::workspace::Room;
use domain::review::Review;
use git2::build::CheckoutBuilder;
use git2::{Branch, Commit, ErrorCode, Repository, RepositoryOpenFlags};
use sha2::{Digest, Sha256};

use super::{commit, init, plain};
use crate::disk::{self, Stamp};

/// Stands in the folder that git keeps of a worktree until all its files are there.
pub(super) const UNFINISHED: &str = "synod-unfinished";
/// Git's own note of a merge that waits for its commit.
pub(super) const MERGE_HEAD: &str = "MERGE_HEAD";
/// The note of a merge whose files are not all in place.
pub(super) const HALFWAY: &str = "synod-merge";
/// The note of the work that a worktree holds.
pub(super) const WORK: &str = "synod-work";
/// Files of a repository that are read, and must be files.
const READ: [&str; 14] = [
    "HEAD",
    MERGE_HEAD,
    HALFWAY,
    WORK,
    aside::LIST,
    commit::MOVED,
    "config",
    "index",
    "packed-refs",
    "shallow",
    "info/exclude",
    "info/attributes",
    "config.worktree",
    "objects/info/alternates",
];

/// A workspace that is there and is what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// The folder, without links.
    pub path: PathBuf,
    /// What git keeps of it alone.
    pub git_dir: PathBuf,
    /// What it shares with the repository that it is a worktree of; else the same.
    pub common_dir: PathBuf,
    /// What `repo:` names: there its work is merged. Else the folder itself.
    pub source: PathBuf,
    /// The branch that the agent works on; none says that it is free.
    pub branch: Option<String>,
}

/// Who works in which of its folders, one at a time.
type Turns = BTreeMap<(AgentId, Room), Arc<Mutex<Turn>>>;

/// The workspaces of a home.
#[derive(Debug)]
pub struct Workspaces {
    home: PathBuf,
    specs: Mutex<BTreeMap<AgentId, Said>>,
    /// In each folder one step at a time; nobody waits for what is done in another, which may be large.
    turns: Mutex<Turns>,
}

/// What is remembered of a folder.
#[derive(Debug, Default)]
struct Turn {
    /// Whether it was looked at since the start: whatever was locked before that was left by a killed process.
    known: bool,
}

/// What worktrees share is changed by one at a time: two must not get the same branch, and git takes a folder of branches
/// away with the last one in it, while somebody else is about to make another there. Held for a moment, and never while
/// files are put in place.
pub(super) fn shared() -> MutexGuard<'static, ()> {
    static SHARED: Mutex<()> = Mutex::new(());
    lock(&SHARED)
}

// What is guarded here is changed whole, so a panic leaves nothing half done.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an agent's file said when it last could be read.
#[derive(Debug, Clone)]
struct Said {
    stamp: Option<Stamp>,
    spec: Option<agent::Workspace>,
}

impl Workspaces {
    /// Of the home at `home`.
    pub fn of(home: &Path) -> Self {
        Self { home: home.to_owned(), specs: Mutex::default(), turns: Mutex::default() }
    }

    /// The agent's workspace, made if it is not there. Blocks; cheap once it is there. The error is for the agent
    /// and for people.
    pub fn ensure(&self, agent: &AgentId) -> Result<Workspace, String> {
        domain::id::check(agent.as_str()).map_err(|error| error.to_string())?;
        let spec = self.spec(agent)?;
        let turn = self.turn(agent, Room::Own);
        let mut turn = lock(&turn);
        let place = ensure(&self.home, agent, spec.as_ref(), !turn.known)?;
        turn.known = true;
        Ok(place)
    }

    fn turn(&self, agent: &AgentId, room: Room) -> Arc<Mutex<Turn>> {
        Arc::clone(lock(&self.turns).entry((agent.clone(), room)).or_default())
    }

    /// Where the agent looks at what the author did, made if it is not there; at which commit it is, is not said. Blocks.
    pub(crate) fn for_review(&self, agent: &AgentId, author: &AgentId) -> Result<Workspace, String> {
        domain::id::check(agent.as_str()).map_err(|error| error.to_string())?;
        let (own, theirs) = (self.spec(agent)?, self.spec(author)?);
        let repo = |spec: &Option<agent::Workspace>| spec.as_ref().and_then(|spec| spec.repo.clone());
        let apart = || {
            format!(
                "{agent} and {author} do not work in the same repository: `workspace: {{repo: …}}` must be the same in both files"
            )
        };
        let (own, theirs) = repo(&own).zip(repo(&theirs)).ok_or_else(apart)?;
        let home = self.home.canonicalize().map_err(|error| format!("the home cannot be used: {error}"))?;
        let name = Room::Review.folder(agent);
        let tree = |agent, repo| Worktree {
            home: &home,
            agent,
            name: &name,
            path: home.join(&name),
            repo,
            branch: None,
        };
        let theirs = tree(author, &theirs).source()?.1;
        let tree = tree(agent, &own);
        if agent == author || tree.source()?.1 != theirs {
            return Err(apart());
        }
        make_folders(&home, &name)?;
        let turn = self.turn(agent, Room::Review);
        let mut turn = lock(&turn);
        let place = tree.ensure(!turn.known)?;
        turn.known = true;
        Ok(place)
    }

    /// Where the work of a review is merged from. Of an author without a file nothing is made: the repository is what the
    /// reviewer's file names, since nobody reviews what is in another one. Blocks.
    pub(crate) fn for_merge(&self, review: &Review) -> Result<Workspace, String> {
        let Review { author, reviewer, place, .. } = review;
        if self.files(author).iter().any(|(_, place)| place.exists()) {
            return self.ensure(author);
        }
        let repo = self.spec(reviewer)?.and_then(|spec| spec.repo).ok_or_else(|| {
            format!(
                "not merged: the file of {author} is gone, and that of {reviewer} names no repository, so it is not known where {} is; a person can put the file back, or merge the branch with git",
                place.branch
            )
        })?;
        let home = self.home.canonicalize().map_err(|error| format!("the home cannot be used: {error}"))?;
        let name = Room::Own.folder(author);
        let path = home.join(&name);
        let tree = Worktree { home: &home, agent: author, name: &name, path, repo: &repo, branch: None };
        let (source, (_, common_dir)) = (tree.named()?, tree.source()?);
        let git_dir = common_dir.join("worktrees").join(tree.id());
        are_files(&name, &git_dir)?;
        Ok(Workspace { path: tree.path, git_dir, common_dir, source, branch: None })
    }

    /// Does something in the agent's own workspace while nobody else works there.
    pub(super) fn in_turn<T>(&self, agent: &AgentId, work: impl FnOnce() -> T) -> T {
        let turn = self.turn(agent, Room::Own);
        let _one = lock(&turn);
        work()
    }

    /// Where the file of an agent may be, relative to the home and in full.
    fn files(&self, agent: &AgentId) -> [(String, PathBuf); 2] {
        let paths = layout::agent_files(agent);
        paths.map(|path| (path.clone(), self.home.join(path)))
    }

    /// What the agent's file says of its workspace; while it does not read, what it said before.
    fn spec(&self, agent: &AgentId) -> Result<Option<agent::Workspace>, String> {
        let mut specs = lock(&self.specs);
        for (path, place) in self.files(agent) {
            let stamp = Stamp::of(&place);
            if stamp.is_none() {
                continue;
            }
            if let Some(said) = specs.get(agent).filter(|said| said.stamp == stamp) {
                return Ok(said.spec.clone());
            }
            let read = disk::read(&place)
                .ok()
                .flatten()
                .and_then(|found| formats::agent::read(&path, &found.text).value);
            match (read, specs.get(agent)) {
                (Some(spec), _) => {
                    specs.insert(agent.clone(), Said { stamp, spec: spec.workspace.clone() });
                    return Ok(spec.workspace);
                }
                (None, Some(before)) => return Ok(before.spec.clone()),
                (None, None) => {
                    return Err(format!("{path} does not read, so the workspace of {agent} is not known"));
                }
            }
        }
        // An agent without a file works in a repository of its own.
        Ok(None)
    }
}

/// The workspace of an agent, made if it is not there. What a killed process locked goes `first`. Blocks.
fn ensure(
    home: &Path,
    agent: &AgentId,
    spec: Option<&agent::Workspace>,
    first: bool,
) -> Result<Workspace, String> {
    let home = home.canonicalize().map_err(|error| format!("the home cannot be used: {error}"))?;
    let name = Room::Own.folder(agent);
    let path = home.join(&name);
    make_folders(&home, &name)?;
    match spec.and_then(|spec| spec.repo.as_deref()) {
        None => own(&name, path, spec.and_then(|spec| spec.branch.as_deref())),
        Some(repo) => {
            let branch =
                spec.and_then(|spec| spec.branch.clone()).unwrap_or_else(|| format!("agent/{agent}"));
            Worktree { home: &home, agent, name: &name, path, repo, branch: Some(branch) }.ensure(first)
        }
    }
}

/// Makes the folder of a workspace, if it is not there.
fn make_folders(home: &Path, name: &str) -> Result<(), String> {
    for folder in [home.join(layout::WORKSPACES), home.join(name)] {
        fs::create_dir(&folder).or_else(exists).map_err(|error| format!("{name} cannot be used: {error}"))?;
        if !fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_dir()) {
            return Err(format!("{name} is a link or a file; a workspace is a folder of its own"));
        }
    }
    Ok(())
}

fn exists(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}

/// A repository of the agent's own.
fn own(name: &str, path: PathBuf, branch: Option<&str>) -> Result<Workspace, String> {
    let git_dir = path.join(".git");
    match fs::symlink_metadata(&git_dir) {
        Err(_) => begin(name, &path, branch)?,
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => {
            return Err(format!(
                "{name}/.git points to another repository; a workspace without `repo:` has its own. Move {name} away and it is made anew"
            ));
        }
    }
    are_files(name, &git_dir)?;
    if fs::symlink_metadata(git_dir.join("objects/info/alternates")).is_ok_and(|metadata| metadata.len() > 0)
    {
        return Err(format!(
            "{name}/.git borrows objects from elsewhere (objects/info/alternates); remove that file"
        ));
    }
    for folder in ["objects", "refs", "refs/heads"] {
        if !fs::symlink_metadata(git_dir.join(folder)).is_ok_and(|metadata| metadata.is_dir()) {
            return Err(format!("{name}/.git/{folder} is no folder; move {name} away and it is made anew"));
        }
    }
    let repo = open(name, &path)?;
    points_here(name, &repo, &path, &git_dir, &git_dir)?;
    Ok(Workspace { source: path.clone(), path, git_dir: git_dir.clone(), common_dir: git_dir, branch: None })
}

/// Makes the repository aside and puts it in its place whole: a crash half way leaves nothing that looks like one.
fn begin(name: &str, path: &Path, branch: Option<&str>) -> Result<(), String> {
    /// One process works in a home, and one of its threads makes a repository at a time.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = lock(&ONE);
    let failed = |error: std::io::Error| format!("{name}: the repository cannot be made: {error}");
    let aside = path.with_file_name(format!(
        ".making-{}",
        path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default()
    ));
    if fs::symlink_metadata(&aside).is_ok() {
        fs::remove_dir_all(&aside).map_err(failed)?;
    }
    fs::create_dir(&aside).map_err(failed)?;
    let repo = init::make(&aside).map_err(|error| format!("{name}: git init failed: {}", error.message()))?;
    if let Some(branch) = branch {
        let head = format!("refs/heads/{}", valid(branch)?);
        repo.set_head(&head).map_err(|error| format!("{name}: {}", error.message()))?;
    }
    drop(repo);
    match fs::rename(aside.join(".git"), path.join(".git")) {
        Ok(()) => {}
        // Another thread was faster.
        Err(_) if path.join(".git").is_dir() => {}
        Err(error) => return Err(failed(error)),
    }
    fs::remove_dir_all(&aside).map_err(failed)
}

/// A worktree of a given repository.
struct Worktree<'a> {
    home: &'a Path,
    agent: &'a AgentId,
    name: &'a str,
    path: PathBuf,
    repo: &'a str,
    /// None says that it is on none, and at whichever commit it was put.
    branch: Option<String>,
}

impl Worktree<'_> {
    fn ensure(self, first: bool) -> Result<Workspace, String> {
        self.branch.as_deref().map(valid).transpose()?;
        let (source, common) = self.source()?;
        let admin = common.join("worktrees").join(self.id());
        if first {
            self.sweep(&source, &admin, &common)?;
        }
        let link = self.path.join(".git");
        // A crash in the middle of making it: nothing was put into it yet.
        if fs::symlink_metadata(&link).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0) {
            fs::remove_file(&link).map_err(|error| format!("{}: {error}", self.name))?;
        }
        match fs::symlink_metadata(&link) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Err(self.not_ours("its .git is no file")),
            Err(_) => {
                let empty = fs::read_dir(&self.path).is_ok_and(|mut entries| entries.next().is_none());
                if !empty {
                    return Err(self.not_ours("it has files already"));
                }
                self.make(&source, &common, &admin)?;
            }
        }
        let target = fs::read_to_string(&link).unwrap_or_default();
        if target.strip_prefix("gitdir: ").map(|rest| Path::new(rest.trim_end())) != Some(admin.as_path()) {
            return Err(self.not_ours("its .git points elsewhere"));
        }
        if !admin.is_dir() {
            return Err(self.not_ours("the repository does not know it any more (pruned or moved)"));
        }
        are_files(self.name, &admin)?;
        let repo = open(self.name, &self.path)?;
        points_here(self.name, &repo, &self.path, &admin, &common)?;
        if let Some(branch) = &self.branch {
            self.on_branch(&repo, &admin, branch)?;
        }
        let named = self.named()?;
        Ok(Workspace {
            path: self.path,
            git_dir: admin,
            common_dir: common,
            source: named,
            branch: self.branch,
        })
    }

    /// Makes sure that it is on its branch, with all its files.
    fn on_branch(&self, repo: &Repository, admin: &Path, branch: &str) -> Result<(), String> {
        if admin.join(UNFINISHED).exists() {
            self.check_out(repo, admin)?;
        }
        let at = repo.find_reference("HEAD").ok();
        let at = at.as_ref().and_then(|head| head.symbolic_target().ok().flatten());
        if at != Some(head_of(branch).as_str()) {
            let at = at.unwrap_or("no branch");
            return Err(format!("{} is on {at}, not on {branch}; check that out in it", self.name));
        }
        Ok(())
    }

    fn wrong(&self, why: &str) -> String {
        format!("the repo {:?} of {} {why}", self.repo, self.agent)
    }

    /// What the file names, without links.
    fn named(&self) -> Result<PathBuf, String> {
        let place = self.home.join(self.repo);
        let real = place.canonicalize().map_err(|error| self.wrong(&format!("cannot be opened: {error}")))?;
        if self.home == real || real.starts_with(self.home.join(layout::WORKSPACES)) {
            return Err(self.wrong("is the home or a workspace; give it a repository outside"));
        }
        // No merge writes into it either way; here its files would be in every checkout.
        if let Ok(inside) = self.home.strip_prefix(&real)
            && !look::open(&real).is_ok_and(|repo| repo.is_path_ignored(inside).unwrap_or(false))
        {
            return Err(
                self.wrong("has the home in it and does not ignore it; add it to .git/info/exclude there")
            );
        }
        Ok(real)
    }

    /// The repository that the file names, and its common folder.
    fn source(&self) -> Result<(Repository, PathBuf), String> {
        let repo = look::open(&self.named()?).map_err(|why| self.wrong(&why))?;
        let common = repo.commondir().canonicalize().map_err(|error| self.wrong(&error.to_string()))?;
        Ok((repo, common))
    }

    fn sweep(&self, source: &Repository, admin: &Path, common: &Path) -> Result<(), String> {
        let _one = shared();
        // A branch that another works on is locked by that one, now.
        let is_free = |head: &String| taken::by(source, common, head).iter().all(|by| by.at == self.path);
        let head = self.branch.as_deref().map(head_of).filter(is_free);
        left::sweep(&self.path, admin, common, head)
            .map_err(|error| format!("{}: a lock that is left there cannot be removed: {error}", self.name))
    }

    /// The name under which the repository knows the worktree. Two homes may have agents of the same name.
    fn id(&self) -> String {
        let digest = Sha256::digest(self.path.as_os_str().as_bytes());
        let hex: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{hex}", self.agent)
    }

    fn not_ours(&self, why: &str) -> String {
        format!("{} is no worktree of {}: {why}. Move it away and it is made anew", self.name, self.repo)
    }

    fn make(&self, source: &Repository, common: &Path, admin: &Path) -> Result<(), String> {
        let _one = shared();
        if admin.exists() {
            // The folder of the worktree was deleted; what git kept of it is of no use any more.
            fs::remove_dir_all(admin)
                .map_err(|error| format!("{} cannot be removed: {error}", admin.display()))?;
        }
        let head = match &self.branch {
            Some(branch) => {
                self.make_branch(source, common, branch)?;
                format!("ref: {}", head_of(branch))
            }
            None => self.tip(source, self.name)?.id().to_string(),
        };
        let link = self.path.join(".git");
        let write = |place: &Path, text: String| fs::write(place, text);
        let made = fs::create_dir_all(admin)
            .and_then(|()| write(&admin.join(UNFINISHED), String::new()))
            .and_then(|()| write(&admin.join("HEAD"), format!("{head}\n")))
            .and_then(|()| write(&admin.join("commondir"), "../..\n".to_owned()))
            .and_then(|()| write(&admin.join("gitdir"), format!("{}\n", link.display())))
            .and_then(|()| write(&link, format!("gitdir: {}\n", admin.display())));
        made.map_err(|error| format!("{} cannot be made: {error}", self.name))
    }

    /// Makes the branch if it is not there, and refuses one that somebody else works on.
    fn make_branch(&self, source: &Repository, common: &Path, branch: &str) -> Result<(), String> {
        let failed = |error: git2::Error| format!("{}: {}", self.name, error.message());
        let head = head_of(branch);
        if let Some(by) = taken::by(source, common, &head).first() {
            return Err(format!(
                "the branch {branch} of {} {by}; two never share one: give {} its own `branch:`",
                self.repo, self.agent
            ));
        }
        match source.find_reference(&head) {
            Ok(_) => Ok(()),
            Err(error) if error.code() == ErrorCode::NotFound => {
                let tip = self.tip(source, branch)?;
                source.branch(branch, &tip, false).map(|_| ()).map_err(failed)
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn tip<'r>(&self, source: &'r Repository, what: &str) -> Result<Commit<'r>, String> {
        let tip = source.head().and_then(|head| head.peel_to_commit());
        tip.map_err(|_| format!("the repo {} has no commit to begin {what} from", self.repo))
    }

    /// Puts the branch's files in place, as plain bytes: no filter is asked.
    fn check_out(&self, repo: &Repository, admin: &Path) -> Result<(), String> {
        let mut options = CheckoutBuilder::new();
        options.force().disable_filters(true);
        let done = repo.checkout_head(Some(&mut options));
        done.map_err(|error| format!("{} cannot be checked out: {}", self.name, error.message()))?;
        fs::remove_file(admin.join(UNFINISHED)).map_err(|error| format!("{}: {error}", self.name))
    }
}

fn head_of(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

fn valid(branch: &str) -> Result<&str, String> {
    match Branch::name_is_valid(branch) {
        Ok(true) if branch != "HEAD" => Ok(branch),
        Ok(_) | Err(_) => Err(format!("{branch:?} is no name of a branch")),
    }
}

fn open(name: &str, path: &Path) -> Result<Repository, String> {
    let nothing: [&std::ffi::OsStr; 0] = [];
    let opened = Repository::open_ext(path, RepositoryOpenFlags::NO_SEARCH, nothing).and_then(plain);
    opened.map_err(|error| format!("{name} is no repository to work with: {}", error.message()))
}

/// Opens a workspace that was made sure of.
pub(super) fn repository(workspace: &Workspace) -> Result<Repository, String> {
    let name = workspace.path.display().to_string();
    let repo = open(&name, &workspace.path)?;
    points_here(&name, &repo, &workspace.path, &workspace.git_dir, &workspace.common_dir)?;
    Ok(repo)
}

/// What a repository says of itself may lead anywhere; only this folder is worked in.
fn points_here(
    name: &str,
    repo: &Repository,
    path: &Path,
    git_dir: &Path,
    common: &Path,
) -> Result<(), String> {
    let is = |found: Option<&Path>, wanted: &Path| {
        found.and_then(|p| p.canonicalize().ok()).as_deref() == Some(wanted)
    };
    if !is(repo.workdir(), path) {
        return Err(format!(
            "the git settings of {name} put its files elsewhere (core.worktree or core.bare); remove that"
        ));
    }
    if !is(Some(repo.path()), git_dir) || !is(Some(repo.commondir()), common) {
        return Err(format!("{name}/.git leads to another repository; move {name} away and it is made anew"));
    }
    Ok(())
}

/// A pipe or a device in place of a file would hold up whoever reads it.
fn are_files(name: &str, git_dir: &Path) -> Result<(), String> {
    let odd = READ
        .iter()
        .find(|file| fs::symlink_metadata(git_dir.join(file)).is_ok_and(|metadata| !metadata.is_file()));
    match odd {
        Some(file) => Err(format!(
            "{file} in what git keeps of {name} is no plain file; move {name} away and it is made anew"
        )),
        None => Ok(()),
    }
}
