//! The files of a checkout, by handle: on the way to a file no link is followed, so that whatever is swapped in
//! meanwhile, nothing outside of the folder is read or written.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{Error, Read, Result, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use git2::Repository;
use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::changes::{Changed, Indexed};
use super::commit::{Change, MODE_LINK, MODE_RUNNABLE, New, is_file};
use crate::beneath::is_git_name;

/// Where a file is prepared, beside its place. One name is enough: the index is held meanwhile.
const ASIDE: &str = ".synod-merge";
/// The deepest folder.
const DEPTH_MAX: usize = 128;
const STEP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What stands at a path.
enum Stands<'p> {
    Nothing,
    /// A file or a link.
    File(New),
    Folder(OwnedFd),
    /// Nothing can: on the way to it this is no folder.
    Beneath(&'p str),
}

/// How far a way of folders goes.
enum Reached<'p> {
    Folder(OwnedFd),
    Nothing,
    /// This part of it is something else.
    NoFolder(&'p str),
}

/// A folder with the files of a repository.
pub(super) struct Working<'a> {
    repo: &'a Repository,
    top: OwnedFd,
    tells_runnable: bool,
}

impl<'a> Working<'a> {
    pub(super) fn open(repo: &'a Repository, folder: &Path) -> std::result::Result<Self, String> {
        let top = fs::openat(CWD, folder, STEP, Mode::empty());
        let top = top.map_err(|errno| format!("{} cannot be opened: {errno}", folder.display()))?;
        Ok(Self { repo, top, tells_runnable: super::tells_runnable(repo) })
    }

    /// The files that are neither as they were committed nor already as they shall be. What goes with the others, or came with
    /// them before a crash, is in nobody's way.
    pub(super) fn in_the_way<'f>(&self, files: &'f [Changed]) -> Vec<&'f Changed> {
        let known: BTreeMap<&str, &Changed> = files.iter().map(|file| (file.path.as_str(), file)).collect();
        files.iter().filter(|file| !self.is_free(file, &known)).collect()
    }

    fn is_free(&self, file: &Changed, known: &BTreeMap<&str, &Changed>) -> bool {
        let now = match self.look(&file.path) {
            Ok(Stands::Nothing) => None,
            Ok(Stands::File(now)) => Some(now),
            Ok(Stands::Folder(folder)) if self.is_known(&folder, &file.path, known, 0) => None,
            // Nothing is there, nor can be before what is in the place of a folder goes.
            Ok(Stands::Beneath(at))
                if file.new.is_none() || known.get(at).is_some_and(|at| at.new.is_none()) =>
            {
                None
            }
            Ok(Stands::Folder(_) | Stands::Beneath(_)) | Err(_) => return false,
        };
        let old = self.committed(file);
        let old = old.as_ref().map(|(bytes, mode)| (bytes.as_slice(), *mode));
        let is = |other| self.is_same(of(now.as_ref()), other);
        is(old) || is(of(file.new.as_ref()))
    }

    fn committed(&self, file: &Changed) -> Option<(Vec<u8>, u32)> {
        let (id, mode) = file.old?;
        Some((self.repo.find_blob(id).ok()?.content().to_vec(), mode))
    }

    /// Whether all that is in a folder is among the files that are changed, or was being prepared when a crash came.
    fn is_known(&self, folder: &OwnedFd, path: &str, known: &BTreeMap<&str, &Changed>, depth: usize) -> bool {
        let Ok(entries) = Dir::read_from(folder) else { return false };
        depth < DEPTH_MAX
            && entries.into_iter().all(|entry| {
                let Ok(entry) = entry else { return false };
                let Ok(name) = entry.file_name().to_str() else { return false };
                if matches!(name, "." | ".." | ASIDE) {
                    return true;
                }
                let path = format!("{path}/{name}");
                match fs::openat(folder, name, STEP, Mode::empty()) {
                    Ok(inner) => self.is_known(&inner, &path, known, depth + 1),
                    Err(_) => known.contains_key(path.as_str()),
                }
            })
    }

    /// Whether a file may be in the way only because git turns it into something else when it puts it there: line ends, or
    /// what a filter makes of it.
    pub(super) fn may_be_converted(&self, file: &Changed) -> bool {
        let Some(old) = file.old.filter(|(_, mode)| is_file(*mode)) else { return false };
        let (Ok(Stands::File(now)), Some((bytes, _))) = (self.look(&file.path), self.committed(file)) else {
            return false;
        };
        let is_for_git = || {
            let index = Indexed::of(self.repo).zip(now.stat.as_ref());
            index.is_some_and(|(index, stat)| index.has(&file.path, old, stat))
        };
        let lines = |bytes: &[u8]| bytes.iter().copied().filter(|byte| *byte != b'\r').collect::<Vec<_>>();
        is_file(now.mode) && now.bytes != bytes && (lines(&now.bytes) == lines(&bytes) || is_for_git())
    }

    /// Whether it is the same: nothing, or a thing of one kind with the same bytes.
    fn is_same(&self, one: Option<(&[u8], u32)>, other: Option<(&[u8], u32)>) -> bool {
        let is_kind = |a: u32, b: u32| a == b || (!self.tells_runnable && is_file(a) && is_file(b));
        match (one, other) {
            (None, None) => true,
            (Some((one, a)), Some((other, b))) => one == other && is_kind(a, b),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// What can be read at a path: a file, a link, or nothing.
    pub(super) fn read(&self, path: &str) -> Result<Option<New>> {
        match self.look(path)? {
            Stands::Nothing => Ok(None),
            Stands::File(new) => Ok(Some(new)),
            Stands::Folder(_) | Stands::Beneath(_) => Err(Error::other("no file")),
        }
    }

    fn look<'p>(&self, path: &'p str) -> Result<Stands<'p>> {
        let (folders, name) = split(path);
        let folder = match self.reach(folders)? {
            Reached::Folder(folder) => folder,
            Reached::Nothing => return Ok(Stands::Nothing),
            Reached::NoFolder(at) => return Ok(Stands::Beneath(at)),
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match fs::openat(&folder, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(Stands::Nothing),
            Err(Errno::LOOP) => {
                let target = fs::readlinkat(&folder, name, Vec::new())?.into_bytes();
                return Ok(Stands::File(New::link(target)));
            }
            Err(errno) => return Err(errno.into()),
        };
        let mut file = File::from(fd);
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Ok(Stands::Folder(file.into()));
        }
        if !metadata.is_file() {
            return Err(Error::other("no file"));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Stands::File(New::file(bytes, metadata)))
    }

    /// Makes files what they shall be, those that go first: one may stand where a folder shall be.
    pub(super) fn put_all(&self, files: &[Changed]) -> std::result::Result<(), String> {
        let (gone, new): (Vec<&Changed>, Vec<&Changed>) = files.iter().partition(|file| file.new.is_none());
        for file in gone.into_iter().chain(new) {
            self.put(file).map_err(|error| format!("{} cannot be written: {error}", file.path))?;
        }
        Ok(())
    }

    fn put(&self, file: &Changed) -> Result<()> {
        // A tree can be made by hand, with names that no git would add.
        if file.path.split('/').any(|name| is_git_name(name) || matches!(name, "" | "." | "..")) {
            return Err(Error::other("no name for a file"));
        }
        let (folders, name) = split(&file.path);
        let Some(new) = &file.new else {
            let Reached::Folder(folder) = self.reach(folders)? else { return Ok(()) };
            return match fs::unlinkat(&folder, name, AtFlags::empty()) {
                // A folder is there already, in which others of these files are.
                Ok(()) | Err(Errno::NOENT | Errno::ISDIR) => {
                    self.remove_empty(folders);
                    Ok(())
                }
                Err(errno) => Err(errno.into()),
            };
        };
        let folder = self.make(folders)?;
        // One that was killed leaves it behind; the next try puts the same files, and so takes it away.
        _ = fs::unlinkat(&folder, ASIDE, AtFlags::empty());
        if new.mode == MODE_LINK {
            fs::symlinkat(new.bytes.as_slice(), &folder, ASIDE)?;
        } else {
            let mode = Mode::from_raw_mode(if new.mode == MODE_RUNNABLE { 0o755 } else { 0o644 });
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut aside = File::from(fs::openat(&folder, ASIDE, flags, mode)?);
            aside.write_all(&new.bytes)?;
            fs::fchmod(&aside, mode)?;
        }
        match fs::renameat(&folder, ASIDE, &folder, name) {
            Err(Errno::ISDIR) => {
                remove_folders(&folder, name, 0)?;
                Ok(fs::renameat(&folder, ASIDE, &folder, name)?)
            }
            done => Ok(done?),
        }
    }

    /// Moves what stands at a path to a place in another folder, if it is there at all. `false`: something else is there.
    pub(super) fn hand_over(&self, path: &str, to: &Self, place: &str) -> Result<bool> {
        let ((folders, name), (above, new)) = (split(path), split(place));
        let Reached::Folder(from) = self.reach(folders)? else { return Ok(true) };
        match fs::statat(&from, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => {}
            Err(Errno::NOENT) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        }
        let into = match to.make(above) {
            Ok(into) => into,
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(false),
            Err(error) => return Err(error),
        };
        match fs::renameat_with(&from, name, &into, new, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.remove_empty(folders);
                Ok(true)
            }
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// What is in a folder, and what of it is a folder itself. Names that are no UTF-8 are passed over.
    pub(super) fn list(&self, folders: &str) -> Result<Vec<(String, bool)>> {
        let Reached::Folder(folder) = self.reach(folders)? else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if !matches!(name, "." | "..") {
                let stat = fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                all.push((name.to_owned(), FileType::from_raw_mode(stat.st_mode) == FileType::Directory));
            }
        }
        Ok(all)
    }

    /// Git keeps no empty folders.
    fn remove_empty(&self, folders: &str) {
        let mut folders = folders;
        while !folders.is_empty() {
            let (above, name) = split(folders);
            let Ok(Reached::Folder(folder)) = self.reach(above) else { return };
            if fs::unlinkat(&folder, name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
            folders = above;
        }
    }

    /// The same for the index, with what the file is on the disk now.
    pub(super) fn change(&self, file: Changed) -> Change {
        let stat = self.stat(&file.path).map(Box::new);
        Change { new: file.new.map(|new| New { stat, ..new }), path: file.path }
    }

    fn stat(&self, path: &str) -> Option<Metadata> {
        let (folders, name) = split(path);
        let Reached::Folder(folder) = self.reach(folders).ok()? else { return None };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        File::from(fs::openat(&folder, name, flags, Mode::empty()).ok()?).metadata().ok()
    }

    /// The way to a folder, as far as it goes.
    fn reach<'p>(&self, folders: &'p str) -> Result<Reached<'p>> {
        let mut here = self.top.try_clone()?;
        let mut end = 0;
        for name in folders.split('/') {
            end += name.len();
            if !name.is_empty() {
                here = match fs::openat(&here, name, STEP, Mode::empty()) {
                    Ok(next) => next,
                    Err(Errno::NOENT) => return Ok(Reached::Nothing),
                    Err(Errno::NOTDIR | Errno::LOOP) => return Ok(Reached::NoFolder(&folders[..end])),
                    Err(errno) => return Err(errno.into()),
                };
            }
            end += 1;
        }
        Ok(Reached::Folder(here))
    }

    /// A folder, made if it is not there.
    fn make(&self, folders: &str) -> Result<OwnedFd> {
        let mut here = self.top.try_clone()?;
        for name in folders.split('/').filter(|name| !name.is_empty()) {
            match fs::mkdirat(here.as_fd(), name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            here = fs::openat(&here, name, STEP, Mode::empty())?;
        }
        Ok(here)
    }
}

/// Takes away a folder in which there are only folders, and what a crash left.
fn remove_folders(above: &OwnedFd, name: &str, depth: usize) -> Result<()> {
    let folder = fs::openat(above, name, STEP, Mode::empty())?;
    if depth < DEPTH_MAX {
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_str().map_err(Error::other)?;
            match name {
                "." | ".." => {}
                ASIDE => fs::unlinkat(&folder, ASIDE, AtFlags::empty())?,
                _ => remove_folders(&folder, name, depth + 1)?,
            }
        }
    }
    Ok(fs::unlinkat(above, name, AtFlags::REMOVEDIR)?)
}

/// What tells one thing from another.
fn of(new: Option<&New>) -> Option<(&[u8], u32)> {
    new.map(|new| (new.bytes.as_slice(), new.mode))
}

/// The folders of a path, and its last name.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
