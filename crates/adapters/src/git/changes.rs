//! What differs between a commit and the files of a workspace. The folder is walked by handle: no link is followed,
//! nothing that could hold up a reader is opened, and git's own folder is never entered.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use git2::{
    Delta, DiffOptions, Index, IndexTime, ObjectType, Oid, Repository, Tree, TreeWalkMode, TreeWalkResult,
};
use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags};

use super::commit::{self, New, is_file};
use super::message::shown;
use crate::beneath::aside::is_aside;
use crate::beneath::is_git_name;
use crate::until::Until;

/// So many entries of a workspace are looked at.
const ENTRIES_MAX: usize = 200_000;
/// The largest file that is looked into.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// All changed files together.
const BYTES_MAX: u64 = 128 << 20;
/// The deepest folder.
const DEPTH_MAX: usize = 128;
pub(super) const MODE_SUBMODULE: u32 = 0o160_000;

/// One file that differs.
pub(super) struct Changed {
    pub(super) path: String,
    /// What it was, and of which mode.
    pub(super) old: Option<(Oid, u32)>,
    pub(super) new: Option<New>,
}

/// All that differs, and what was passed over.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) files: Vec<Changed>,
    /// Why something was left alone, in words.
    pub(super) notes: Vec<String>,
    /// What git leaves out, with nothing of the commit in it; folders end with a slash.
    pub(super) ignored: Vec<String>,
}

struct Walk<'a> {
    repo: &'a Repository,
    base: BTreeMap<String, (Oid, u32)>,
    /// What the index knows of files that are as in `base`.
    index: Option<Indexed>,
    tells_runnable: bool,
    paths: &'a [String],
    /// Passed over, as if git left it out.
    but: &'a [String],
    until: &'a Until,
    found: Changes,
    entries: usize,
    bytes: u64,
}

/// What differs from `tree`, in or beneath `paths`; all if there are none.
pub(super) fn find(
    repo: &Repository,
    folder: &Path,
    tree: &Tree<'_>,
    paths: &[String],
    until: &Until,
) -> Result<Changes, String> {
    look(repo, folder, tree, paths, &[], until)
}

/// What differs from `tree`, but for paths that are known to be left out by other rules than those that are there now.
pub(super) fn find_but(
    repo: &Repository,
    folder: &Path,
    tree: &Tree<'_>,
    but: &[String],
    until: &Until,
) -> Result<Changes, String> {
    look(repo, folder, tree, &[], but, until)
}

fn look(
    repo: &Repository,
    folder: &Path,
    tree: &Tree<'_>,
    paths: &[String],
    but: &[String],
    until: &Until,
) -> Result<Changes, String> {
    let base = flatten(tree)?;
    let index = Indexed::of(repo);
    let (tells_runnable, found) = (super::tells_runnable(repo), Changes::default());
    let mut walk = Walk { repo, base, index, tells_runnable, paths, but, until, found, entries: 0, bytes: 0 };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let top =
        fs::openat(CWD, folder, flags, Mode::empty()).map_err(|error| format!("the workspace: {error}"))?;
    walk.folder(&top, "", 0)?;
    // What was not met on the way is gone.
    let gone: Vec<(String, (Oid, u32))> = std::mem::take(&mut walk.base).into_iter().collect();
    for (path, old) in gone {
        if walk.is_wanted(&path) && old.1 != MODE_SUBMODULE {
            walk.found.files.push(Changed { path, old: Some(old), new: None });
        }
    }
    walk.found.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.found)
}

/// What git's index knows of the files on the disk.
pub(super) struct Indexed {
    index: Index,
    /// When it was written: a file of that moment may have changed since without its time telling.
    written: (i64, i64),
    tells_runnable: bool,
}

impl Indexed {
    pub(super) fn of(repo: &Repository) -> Option<Self> {
        let metadata = std::fs::metadata(repo.path().join("index")).ok()?;
        let written = (metadata.mtime(), metadata.mtime_nsec());
        Some(Self { index: repo.index().ok()?, written, tells_runnable: super::tells_runnable(repo) })
    }

    /// Whether it saw this very file with the content of `old`, by its metadata alone.
    pub(super) fn has(&self, path: &str, old: (Oid, u32), metadata: &std::fs::Metadata) -> bool {
        let Some(entry) = self.index.get_path(Path::new(path), 0) else { return false };
        let of = |time: IndexTime| (i64::from(time.seconds()), i64::from(time.nanoseconds()));
        let (time, changed) = (of(entry.mtime), of(entry.ctime));
        // Whoever makes a file runnable, or puts its time back, leaves a trace here alone; some write no such time.
        let is_untouched = changed == (0, 0) || changed == (metadata.ctime(), metadata.ctime_nsec());
        (entry.id, entry.mode) == old
            && (!self.tells_runnable || entry.mode == commit::mode_of(metadata))
            && time == (metadata.mtime(), metadata.mtime_nsec())
            && time < self.written
            && is_untouched
            && u64::from(entry.file_size) == metadata.len()
            && u64::from(entry.ino) == metadata.ino() & u64::from(u32::MAX)
    }
}

fn flatten(tree: &Tree<'_>) -> Result<BTreeMap<String, (Oid, u32)>, String> {
    let mut all = BTreeMap::new();
    let walked = tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        let is_file = entry.kind() != Some(ObjectType::Tree);
        // A name that is no UTF-8 stays as it is in every commit.
        if let (true, Ok(name), Ok(mode)) = (is_file, entry.name(), u32::try_from(entry.filemode())) {
            all.insert(format!("{folder}{name}"), (entry.id(), mode));
        }
        if all.len() > ENTRIES_MAX { TreeWalkResult::Abort } else { TreeWalkResult::Ok }
    });
    match walked {
        Ok(()) if all.len() <= ENTRIES_MAX => Ok(all),
        Ok(()) => Err(format!("the repository has more than {ENTRIES_MAX} files")),
        Err(error) => Err(format!("the repository cannot be read: {}", error.message())),
    }
}

impl Walk<'_> {
    fn is_wanted(&self, path: &str) -> bool {
        let within = |wanted: &String| {
            path == wanted || path.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        self.paths.is_empty() || self.paths.iter().any(within)
    }

    /// Whether something that is wanted may be beneath a folder.
    fn may_hold(&self, folder: &str) -> bool {
        let above = |wanted: &String| wanted.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        self.is_wanted(folder) || self.paths.iter().any(above)
    }

    fn note(&mut self, path: &str, why: &str) {
        self.found.notes.push(format!("{} {why}", shown(path.as_bytes())));
    }

    fn folder(&mut self, fd: &OwnedFd, prefix: &str, depth: usize) -> Result<(), String> {
        let failed =
            |error: rustix::io::Errno| format!("{} cannot be listed: {error}", shown(prefix.as_bytes()));
        let mut names = Vec::new();
        for entry in Dir::read_from(fd).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(name);
            }
            self.entries += 1;
            if self.entries > ENTRIES_MAX {
                return Err(format!("the workspace has more than {ENTRIES_MAX} entries"));
            }
        }
        if self.until.is_over() {
            return Err("it took too long to look at the workspace".to_owned());
        }
        names.sort_unstable();
        for name in names {
            let Ok(name) = String::from_utf8(name.clone()) else {
                self.note(prefix, &format!("has {}, whose name is no UTF-8: left alone", shown(&name)));
                continue;
            };
            let path = format!("{prefix}{name}");
            let stat = match fs::statat(fd, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(rustix::io::Errno::NOENT) => continue,
                Err(error) => return Err(format!("{} cannot be looked at: {error}", shown(path.as_bytes()))),
            };
            self.entry(fd, &name, path, FileType::from_raw_mode(stat.st_mode), depth)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        fd: &OwnedFd,
        name: &str,
        path: String,
        kind: FileType,
        depth: usize,
    ) -> Result<(), String> {
        if name == ".git" {
            return Ok(());
        }
        if is_git_name(name) {
            self.note(&path, "is named like git's own folder: left alone");
            return Ok(());
        }
        if name == ".gitignore" && kind != FileType::RegularFile {
            return Err(format!("{} is no plain file; remove it", shown(path.as_bytes())));
        }
        match kind {
            FileType::Directory => self.enter(fd, name, &path, depth),
            FileType::RegularFile | FileType::Symlink => self.file(fd, name, path, kind),
            _ => {
                self.note(&path, "is no file: left alone");
                Ok(())
            }
        }
    }

    fn enter(&mut self, fd: &OwnedFd, name: &str, path: &str, depth: usize) -> Result<(), String> {
        if self.base.get(path).is_some_and(|(_, mode)| *mode == MODE_SUBMODULE) {
            self.base.remove(path);
            return Ok(());
        }
        let beneath = format!("{path}/");
        let tracked = self.base.range(beneath.clone()..).next().is_some_and(|(p, _)| p.starts_with(&beneath));
        if !self.may_hold(path) {
            return Ok(());
        }
        if !tracked && self.is_ignored(&beneath) {
            self.found.ignored.push(beneath);
            return Ok(());
        }
        if depth >= DEPTH_MAX {
            self.note(path, "is too deep: left alone");
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inner = match fs::openat(fd, name, flags, Mode::empty()) {
            Ok(inner) => inner,
            Err(error) => {
                self.note(path, &format!("cannot be opened ({error}): left alone"));
                return Ok(());
            }
        };
        if fs::statat(&inner, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            self.note(path, "is a repository of its own: left alone");
            return Ok(());
        }
        self.folder(&inner, &beneath, depth + 1)
    }

    fn is_ignored(&self, path: &str) -> bool {
        self.but.iter().any(|but| but == path) || self.repo.is_path_ignored(path).unwrap_or(false)
    }

    fn file(&mut self, fd: &OwnedFd, name: &str, path: String, kind: FileType) -> Result<(), String> {
        let old = self.base.remove(&path);
        // What a killed write left is nobody's work.
        let is_left = old.is_none() && is_aside(name);
        if is_left || !self.is_wanted(&path) {
            return Ok(());
        }
        if old.is_none() && self.is_ignored(&path) {
            self.found.ignored.push(path);
            return Ok(());
        }
        let lost =
            |error: &dyn std::fmt::Display| format!("{} cannot be read: {error}", shown(path.as_bytes()));
        let mut new = if kind == FileType::Symlink {
            let target = fs::readlinkat(fd, name, Vec::new()).map_err(|error| lost(&error))?;
            New::link(target.into_bytes())
        } else {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let opened = fs::openat(fd, name, flags, Mode::empty()).map_err(|error| lost(&error))?;
            let mut file = File::from(opened);
            let metadata = file.metadata().map_err(|error| lost(&error))?;
            let is_as = |old| self.index.as_ref().is_some_and(|index| index.has(&path, old, &metadata));
            if !metadata.is_file() || old.is_some_and(is_as) {
                return Ok(());
            }
            if metadata.len() > FILE_BYTES_MAX {
                self.note(&path, &format!("has more than {FILE_BYTES_MAX} bytes: left alone"));
                return Ok(());
            }
            let mut bytes = Vec::new();
            (&mut file).take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| lost(&error))?;
            New::file(bytes, metadata)
        };
        if let Some((_, mode)) =
            old.filter(|(_, mode)| !self.tells_runnable && is_file(*mode) && is_file(new.mode))
        {
            new.mode = mode;
        }
        let id =
            Oid::hash_object(ObjectType::Blob, &new.bytes).map_err(|error| error.message().to_owned())?;
        if old == Some((id, new.mode)) {
            return Ok(());
        }
        self.bytes += new.bytes.len() as u64;
        if self.bytes > BYTES_MAX {
            return Err(format!(
                "more than {BYTES_MAX} bytes changed; commit it in parts, remove it or let git ignore it"
            ));
        }
        self.found.files.push(Changed { path, old, new: Some(new) });
        Ok(())
    }
}

/// Files that differ between two trees, with their new content. An error if a submodule is among them: nobody has looked at
/// what it stands for.
pub(super) fn between(repo: &Repository, old: &Tree<'_>, new: &Tree<'_>) -> Result<Vec<Changed>, String> {
    let files = all_between(repo, old, new)?;
    let is_submodule = |file: &&Changed| file.new.as_ref().is_some_and(|new| new.mode == MODE_SUBMODULE);
    match files.iter().find(is_submodule) {
        Some(file) => Err(format!("{} is a submodule, which is not reviewed here", file.path)),
        None => Ok(files),
    }
}

/// What differs between two trees. Of a submodule there is no content.
pub(super) fn all_between(repo: &Repository, old: &Tree<'_>, new: &Tree<'_>) -> Result<Vec<Changed>, String> {
    let mut options = DiffOptions::new();
    // A file that becomes a link is one change, and not one that goes and one that comes.
    options.include_typechange(true);
    let diff = repo
        .diff_tree_to_tree(Some(old), Some(new), Some(&mut options))
        .map_err(|error| error.message().to_owned())?;
    let mut files = Vec::new();
    for delta in diff.deltas() {
        let (before, after) = (delta.old_file(), delta.new_file());
        let is_gone = delta.status() == Delta::Deleted;
        let file = if is_gone { &before } else { &after };
        let path = file.path().and_then(|path| path.to_str());
        let path = path.ok_or("a file name is no UTF-8")?.to_owned();
        let mode = u32::from(after.mode());
        let new = match is_gone {
            true => None,
            false => Some(New { bytes: content_of(repo, after.id(), mode, &path)?, mode, stat: None }),
        };
        let old = (delta.status() != Delta::Added).then(|| (before.id(), u32::from(before.mode())));
        files.push(Changed { path, old, new });
    }
    Ok(files)
}

fn content_of(repo: &Repository, id: Oid, mode: u32, path: &str) -> Result<Vec<u8>, String> {
    if mode == MODE_SUBMODULE {
        return Ok(Vec::new());
    }
    repo.find_blob(id)
        .map(|blob| blob.content().to_vec())
        .map_err(|error| format!("{path}: {}", error.message()))
}
