//! One commit on top of whatever the branch points at: the tree before it with some files changed. What a person
//! has staged stays staged; a branch that moved meanwhile is never overwritten.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::review::short;
use git2::build::TreeUpdateBuilder;
use git2::{
    Commit, Delta, DiffOptions, ErrorCode, FileMode, Index, IndexEntry, IndexTime, ObjectType, Oid,
    ReferenceType, Repository, Signature, Tree,
};

use super::Unkept;

/// How often a commit is made again because somebody else's came first.
const RACES_MAX: usize = 32;
const MODE_FILE: u32 = 0o100_644;
pub(super) const MODE_RUNNABLE: u32 = 0o100_755;
pub(super) const MODE_LINK: u32 = 0o120_000;

/// What becomes of one path.
pub(super) struct Change {
    /// From the top of the repository.
    pub(super) path: String,
    /// `None`: the file is gone.
    pub(super) new: Option<New>,
}

impl Change {
    /// Whether the path is something else in `tree`.
    pub(super) fn differs(&self, tree: &Tree<'_>) -> bool {
        let id = |new: &New| Oid::hash_object(ObjectType::Blob, &new.bytes).ok().map(|id| (id, new.mode));
        entry(tree, &self.path) != self.new.as_ref().and_then(id)
    }
}

/// A file's new content.
pub(super) struct New {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: u32,
    /// What the file is on the disk, if it is exactly this.
    pub(super) stat: Option<Box<Metadata>>,
}

impl New {
    /// A regular file that was read.
    pub(super) fn file(bytes: Vec<u8>, metadata: Metadata) -> Self {
        Self { bytes, mode: mode_of(&metadata), stat: Some(Box::new(metadata)) }
    }

    /// A symbolic link.
    pub(super) fn link(target: Vec<u8>) -> Self {
        Self { bytes: target, mode: MODE_LINK, stat: None }
    }

    /// Content that stands in no file.
    pub(super) fn text(bytes: Vec<u8>) -> Self {
        Self { bytes, mode: MODE_FILE, stat: None }
    }
}

/// What git calls a regular file.
pub(super) fn mode_of(metadata: &Metadata) -> u32 {
    let is_runnable = metadata.permissions().mode() & 0o100 != 0;
    if is_runnable { MODE_RUNNABLE } else { MODE_FILE }
}

/// Whether it is a regular file, runnable or not.
pub(super) fn is_file(mode: u32) -> bool {
    matches!(mode, MODE_FILE | MODE_RUNNABLE)
}

/// Who, when and why.
pub(super) struct Words<'a> {
    pub(super) author: Signature<'a>,
    pub(super) committer: Signature<'a>,
    pub(super) message: String,
}

/// The branch that `HEAD` stands for, and its last commit.
pub(super) struct Head<'r> {
    pub(super) branch: String,
    pub(super) commit: Option<Commit<'r>>,
}

/// Where the next commit goes.
pub(super) fn head(repo: &Repository) -> Result<Head<'_>, Unkept> {
    let failed = |error: git2::Error| Unkept::Waits(format!("HEAD cannot be read: {}", error.message()));
    let head = repo.find_reference("HEAD").map_err(failed)?;
    if head.kind() != Some(ReferenceType::Symbolic) {
        return Err(Unkept::Waits("HEAD is detached; check out a branch".to_owned()));
    }
    let Ok(Some(branch)) = head.symbolic_target() else {
        return Err(Unkept::Waits("HEAD names a branch that is no UTF-8".to_owned()));
    };
    let commit = match repo.refname_to_id(branch) {
        Ok(id) => Some(repo.find_commit(id).map_err(failed)?),
        Err(error) if error.code() == ErrorCode::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    Ok(Head { branch: branch.to_owned(), commit })
}

/// The tree of a commit; of none, the empty one.
pub(super) fn tree_of<'r>(
    repo: &'r Repository,
    commit: Option<&Commit<'r>>,
) -> Result<Tree<'r>, git2::Error> {
    match commit {
        Some(commit) => commit.tree(),
        None => repo.find_tree(repo.treebuilder(None)?.write()?),
    }
}

/// The blob or link at a path.
pub(super) fn entry(tree: &Tree<'_>, path: &str) -> Option<(Oid, u32)> {
    let entry = tree.get_path(Path::new(path)).ok()?;
    let mode = u32::try_from(entry.filemode()).ok()?;
    matches!(entry.kind(), Some(ObjectType::Blob | ObjectType::Commit)).then(|| (entry.id(), mode))
}

/// Adds a commit with these changes; `None` if they change nothing.
pub(super) fn add(repo: &Repository, changes: &[Change], words: &Words<'_>) -> Result<Option<Oid>, Unkept> {
    let mut blobs = Vec::with_capacity(changes.len());
    for change in changes {
        blobs.push(match &change.new {
            Some(new) => Some((repo.blob(&new.bytes).map_err(|e| unwritten(&e))?, new.mode)),
            None => None,
        });
    }
    for _ in 0..RACES_MAX {
        // Held over all of it: a commit that a person makes in between would take ours back, or leave an index that is
        // neither's.
        let branch = head(repo)?.branch;
        let index = Held::take(repo, &branch)?;
        let head = head(repo)?;
        if head.branch != branch {
            continue;
        }
        let base = tree_of(repo, head.commit.as_ref()).map_err(|e| unwritten(&e))?;
        let pairs = changes.iter().zip(&blobs);
        let real: Vec<(&Change, Option<(Oid, u32)>)> =
            pairs.filter(|(c, new)| entry(&base, &c.path) != **new).map(|(c, new)| (c, *new)).collect();
        if real.is_empty() {
            return Ok(None);
        }
        let tree = change_tree(repo, &base, &real).map_err(|e| unwritten(&e))?;
        index.change(&base, &real)?;
        let tree = repo.find_tree(tree).map_err(|e| unwritten(&e))?;
        let parents: Vec<&Commit<'_>> = head.commit.iter().collect();
        let id = repo
            .commit(None, &words.author, &words.committer, &words.message, &tree, &parents)
            .map_err(|e| unwritten(&e))?;
        let log = format!("commit: {}", words.message.lines().next().unwrap_or_default());
        index.note(&head.branch, id)?;
        let moved = match &head.commit {
            Some(parent) => repo.reference_matching(&head.branch, id, true, parent.id(), &log),
            None => repo.reference(&head.branch, id, false, &log),
        };
        match moved {
            Ok(_) => {
                index.put()?;
                return Ok(Some(id));
            }
            Err(error) if is_race(&error) => {}
            Err(error) => return Err(unwritten(&error)),
        }
    }
    Err(Unkept::Waits("the branch keeps moving".to_owned()))
}

pub(super) fn is_race(error: &git2::Error) -> bool {
    matches!(error.code(), ErrorCode::Modified | ErrorCode::Exists | ErrorCode::Locked | ErrorCode::NotFound)
}

pub(super) fn change_tree(
    repo: &Repository,
    base: &Tree<'_>,
    changes: &[(&Change, Option<(Oid, u32)>)],
) -> Result<Oid, git2::Error> {
    let mut update = TreeUpdateBuilder::new();
    for (change, new) in changes {
        match new {
            Some((id, mode)) => update.upsert(change.path.as_str(), *id, file_mode(*mode)),
            None => update.remove(change.path.as_str()),
        };
    }
    update.create_updated(repo, base).or_else(|_| {
        // A file that became a folder, or the other way round: an index can do that, at a higher price.
        let mut index = Index::new()?;
        index.read_tree(base)?;
        for (change, new) in changes {
            match new {
                Some((id, mode)) => index.add(&index_entry(&change.path, *id, *mode, None))?,
                None => index.remove(Path::new(&change.path), 0)?,
            }
        }
        index.write_tree_to(repo)
    })
}

fn file_mode(mode: u32) -> FileMode {
    match mode {
        MODE_RUNNABLE => FileMode::BlobExecutable,
        MODE_LINK => FileMode::Link,
        _ => FileMode::Blob,
    }
}

/// How a lock of ours begins; the process, the branch that it moves and since when the process runs follow, so that one that a
/// crash left behind is known.
const LOCKED: &str = "synod ";
/// The note beside the index of which branch moves to which commit, until the index has followed.
pub(super) const MOVED: &str = "index.synod-moved";

/// Takes away what a killed Synod left in the way of git, and brings the index in line if it had moved the branch
/// already. What a git holds this moment is mended by the next commit.
pub(super) fn mend(repo: &Repository, branch: &str) {
    let index = repo.path().join("index");
    let is_left = left_behind(&index.with_extension("lock"), &ours()).is_some();
    if is_left || index.with_file_name(MOVED).exists() {
        _ = Held::take(repo, branch);
    }
}

/// A file, whatever it is called.
type Inode = (u64, u64);

/// The locks that this process holds. Changed together with the files, so that no thread takes another's for left behind.
fn ours() -> MutexGuard<'static, BTreeSet<Inode>> {
    static OURS: Mutex<BTreeSet<Inode>> = Mutex::new(BTreeSet::new());
    // What is guarded here is changed whole, so a panic leaves nothing half done.
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn inode(metadata: &Metadata) -> Inode {
    (metadata.dev(), metadata.ino())
}

/// Git's index while nobody else may change it.
pub(super) struct Held {
    index: PathBuf,
    lock: PathBuf,
    inode: Inode,
    next: PathBuf,
}

impl Held {
    /// Locks the index as git itself does, by a name, to move `branch`.
    pub(super) fn take(repo: &Repository, branch: &str) -> Result<Self, Unkept> {
        let index = repo.path().join("index");
        let (lock, next) = (index.with_extension("lock"), index.with_extension("synod"));
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Unkept::Locked,
            _ => Unkept::Waits(format!("git's index cannot be locked: {error}")),
        };
        let mut ours = ours();
        if let Some(moved) = left_behind(&lock, &ours) {
            // Whoever held it may have ended while it moved the branch.
            if git2::Reference::is_valid_name(&moved) {
                _ = std::fs::remove_file(repo.commondir().join(format!("{moved}.lock")));
            }
            std::fs::remove_file(&lock).map_err(failed)?;
        }
        // Written before it has its name: a lock that a crash left without a word would be nobody's for ever.
        let process = std::process::id();
        let aside = index.with_extension(format!("synod-{process}"));
        let said = [process.to_string(), branch.to_owned()].into_iter().chain(since(process));
        let said = format!("{LOCKED}{}\n", said.collect::<Vec<_>>().join(" "));
        std::fs::write(&aside, said).map_err(failed)?;
        let taken = std::fs::hard_link(&aside, &lock).and_then(|()| std::fs::metadata(&aside));
        _ = std::fs::remove_file(&aside);
        let inode = inode(&taken.map_err(failed)?);
        ours.insert(inode);
        drop(ours);
        let held = Self { index, lock, inode, next };
        held.sweep().and_then(|()| held.copy()).map_err(failed)?;
        if held.catch_up(repo)? {
            held.copy().map_err(failed)?;
        }
        Ok(held)
    }

    /// Takes away what a killed Synod was preparing: whoever prepares something holds the index.
    fn sweep(&self) -> std::io::Result<()> {
        remove(&self.index.with_extension("synod.lock"))?;
        let Some(folder) = self.index.parent() else { return Ok(()) };
        for entry in std::fs::read_dir(folder)?.flatten() {
            let name = entry.file_name();
            let process =
                name.to_str().and_then(|name| name.strip_prefix("index.synod-")?.parse::<u32>().ok());
            if process.is_some_and(is_gone) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// The next index begins as what the index is.
    fn copy(&self) -> std::io::Result<()> {
        match std::fs::copy(&self.index, &self.next) {
            Ok(_) => Ok(()),
            // The first commit makes it.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => remove(&self.next),
            Err(error) => Err(error),
        }
    }

    /// Notes that the branch moves to this commit, and the index after it.
    fn note(&self, branch: &str, to: Oid) -> Result<(), Unkept> {
        let noted = std::fs::write(self.index.with_file_name(MOVED), format!("{branch} {to}\n"));
        noted.map_err(|error| Unkept::Waits(format!("the repository cannot be written: {error}")))
    }

    /// Goes on where a killed Synod had moved the branch and not yet the index, which then stages the reverse of the
    /// commit. Says whether it was so.
    fn catch_up(&self, repo: &Repository) -> Result<bool, Unkept> {
        let note = self.index.with_file_name(MOVED);
        let Ok(said) = std::fs::read_to_string(&note) else { return Ok(false) };
        let moved = said.trim_end().split_once(' ');
        let moved = moved.and_then(|(branch, to)| Some((branch, Oid::from_str(to).ok()?)));
        let at = head(repo).ok();
        let at = at.as_ref().and_then(|head| Some((head.branch.as_str(), head.commit.as_ref()?)));
        // Where a person went on meanwhile, the index is theirs.
        let made = moved.zip(at).filter(|((branch, to), (on, tip))| branch == on && *to == tip.id());
        if let Some((_, (_, commit))) = made {
            self.follow(repo, commit)?;
            self.install()?;
        }
        let failed = |error| Unkept::Waits(format!("git's index cannot be written: {error}"));
        remove(&note).map_err(failed)?;
        Ok(made.is_some())
    }

    /// Brings the next index in line with a commit, but for files of which a person has staged something else.
    fn follow(&self, repo: &Repository, commit: &Commit<'_>) -> Result<(), Unkept> {
        let base = tree_of(repo, commit.parent(0).ok().as_ref()).map_err(|error| unindexed(&error))?;
        let mut options = DiffOptions::new();
        options.include_typechange(true);
        let tree = commit.tree().map_err(|error| unindexed(&error))?;
        let diff = repo.diff_tree_to_tree(Some(&base), Some(&tree), Some(&mut options));
        let diff = diff.map_err(|error| unindexed(&error))?;
        let mut index = Index::open(&self.next).map_err(|error| unindexed(&error))?;
        for delta in diff.deltas() {
            let is_gone = delta.status() == Delta::Deleted;
            let (old, new) = (delta.old_file(), delta.new_file());
            let path = if is_gone { old.path() } else { new.path() };
            if let Some(path) = path.and_then(Path::to_str) {
                let new = (!is_gone).then(|| (new.id(), u32::from(new.mode())));
                set(&mut index, &base, path, new, None).map_err(|error| unindexed(&error))?;
            }
        }
        index.write().map_err(|error| unindexed(&error))
    }

    /// Brings the next index in line, but for files of which a person has staged something else.
    pub(super) fn change(
        &self,
        base: &Tree<'_>,
        changes: &[(&Change, Option<(Oid, u32)>)],
    ) -> Result<(), Unkept> {
        let mut index = Index::open(&self.next).map_err(|error| unindexed(&error))?;
        for (change, new) in changes {
            let stat = change.new.as_ref().and_then(|new| new.stat.as_deref());
            set(&mut index, base, &change.path, *new, stat).map_err(|error| unindexed(&error))?;
        }
        index.write().map_err(|error| unindexed(&error))
    }

    /// Makes the next index that of a tree. What was staged goes.
    pub(super) fn read_tree(&self, tree: &Tree<'_>) -> Result<(), Unkept> {
        let mut index = Index::open(&self.next).map_err(|error| unindexed(&error))?;
        index.read_tree(tree).and_then(|()| index.write()).map_err(|error| unindexed(&error))
    }

    /// The next index takes its place, and nobody else may change it yet.
    pub(super) fn install(&self) -> Result<(), Unkept> {
        let failed = |error| Unkept::Waits(format!("git's index cannot be written: {error}"));
        std::fs::rename(&self.next, &self.index).map_err(failed)
    }

    /// The next index takes its place.
    fn put(self) -> Result<(), Unkept> {
        // Not by way of the lock: left behind by a crash, it must still say whose it is.
        self.install()?;
        let failed = |error| Unkept::Waits(format!("git's index cannot be written: {error}"));
        remove(&self.index.with_file_name(MOVED)).map_err(failed)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut ours = ours();
        _ = std::fs::remove_file(&self.next);
        _ = std::fs::remove_file(&self.lock);
        ours.remove(&self.inode);
    }
}

/// Makes an entry of the index what it shall be, unless a person has staged something else than what `base` has.
fn set(
    index: &mut Index,
    base: &Tree<'_>,
    path: &str,
    new: Option<(Oid, u32)>,
    stat: Option<&Metadata>,
) -> Result<(), git2::Error> {
    let place = Path::new(path);
    let conflicted = (1..=3).any(|stage| index.get_path(place, stage).is_some());
    let staged = index.get_path(place, 0).map(|entry| (entry.id, entry.mode));
    let theirs = staged != entry(base, path) && staged != new;
    if conflicted || theirs {
        return Ok(());
    }
    match new {
        Some((id, mode)) => index.add(&index_entry(path, id, mode, stat)),
        None if staged.is_some() => index.remove(place, 0),
        None => Ok(()),
    }
}

/// Removes a file, if it is there.
fn remove(file: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether no process has this number.
fn is_gone(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|it| rustix::process::test_kill_process(it) == Err(rustix::io::Errno::SRCH))
}

/// The branch that a Synod was about to move which held this lock and runs no more. Its number alone says little: after a restart
/// of the machine or the container it may be another's, or our own.
fn left_behind(lock: &Path, ours: &BTreeSet<Inode>) -> Option<String> {
    let said = std::fs::read_to_string(lock).ok()?;
    let mut said = said.strip_prefix(LOCKED)?.trim_end().splitn(3, ' ');
    let (process, branch, began) = (said.next()?, said.next().unwrap_or_default(), said.next());
    let process = process.parse().ok()?;
    let is_another = || began.zip(since(process)).is_some_and(|(began, now)| began != now);
    let is_over = match process == std::process::id() {
        true => std::fs::metadata(lock).is_ok_and(|found| !ours.contains(&inode(&found))),
        false => is_gone(process) || is_another(),
    };
    is_over.then(|| branch.to_owned())
}

/// When a process began, and in which life of the machine: no two have the same number and this.
fn since(process: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may have anything in it.
    let start = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{start} {}", boot.trim()))
}

fn index_entry(path: &str, id: Oid, mode: u32, stat: Option<&Metadata>) -> IndexEntry {
    // Git keeps only the low bits of these; they tell files apart, nothing else.
    let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default();
    let time = |seconds: i64, nanos: i64| {
        IndexTime::new(i32::try_from(seconds).unwrap_or_default(), u32::try_from(nanos).unwrap_or_default())
    };
    IndexEntry {
        ctime: stat.map_or(IndexTime::new(0, 0), |s| time(s.ctime(), s.ctime_nsec())),
        mtime: stat.map_or(IndexTime::new(0, 0), |s| time(s.mtime(), s.mtime_nsec())),
        dev: stat.map_or(0, |s| low(s.dev())),
        ino: stat.map_or(0, |s| low(s.ino())),
        mode,
        uid: stat.map_or(0, MetadataExt::uid),
        gid: stat.map_or(0, MetadataExt::gid),
        file_size: stat.map_or(0, |s| low(s.len())),
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

fn unwritten(error: &git2::Error) -> Unkept {
    Unkept::Waits(format!("the repository cannot be written: {}", error.message()))
}

fn unindexed(error: &git2::Error) -> Unkept {
    Unkept::Waits(format!("git's index cannot be used: {}", error.message()))
}

/// The commit with exactly this id.
pub(super) fn find<'r>(repo: &'r Repository, id: &str) -> Result<Commit<'r>, String> {
    let missing = || format!("the commit {} is not in this repository", short(id));
    let id = Oid::from_str(id).map_err(|_| missing())?;
    repo.find_commit(id).map_err(|_| missing())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_thread_holds_no_other_takes_for_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repository::init(folder.path()).unwrap();
        let lock = repo.path().join("index.lock");
        for _ in 0..2 {
            let held = Held::take(&repo, "refs/heads/main").unwrap();
            let said = std::fs::read_to_string(&lock).unwrap();
            let process = std::process::id();
            assert_eq!(said, format!("synod {process} refs/heads/main {}\n", since(process).unwrap()));
            assert_eq!(Held::take(&repo, "refs/heads/main").err(), Some(Unkept::Locked));
            drop(held);
            assert!(!lock.exists());
        }
    }
}
