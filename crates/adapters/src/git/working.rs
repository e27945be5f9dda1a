//! The files of a checkout, by handle: on the way to a file no link is followed, so that whatever is swapped in
//! meanwhile, nothing outside of the folder is read or written.

use std::fs::{File, Metadata};
use std::io::{Error, Read, Result, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use git2::Repository;
use rustix::fs::{self, AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::changes::Changed;
use super::commit::{Change, MODE_LINK, MODE_RUNNABLE, New, is_file};
use crate::tools::beneath::is_git_name;

/// Where a file is prepared, beside its place. One name is enough: the index is held meanwhile.
const ASIDE: &str = ".synod-merge";
const STEP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

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

    /// The files that are neither as they were committed nor already as they shall be.
    pub(super) fn in_the_way<'f>(&self, files: &'f [Changed]) -> Vec<&'f str> {
        files.iter().filter(|file| !self.is_free(file)).map(|file| file.path.as_str()).collect()
    }

    fn is_free(&self, file: &Changed) -> bool {
        let Ok(now) = self.read(&file.path) else { return false };
        let old =
            file.old.and_then(|(id, mode)| Some((self.repo.find_blob(id).ok()?.content().to_vec(), mode)));
        let old = old.as_ref().map(|(bytes, mode)| (bytes.as_slice(), *mode));
        let is = |other| self.is_same(of(now.as_ref()), other);
        is(old) || is(of(file.new.as_ref()))
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

    /// What stands at a path: a file, a link, or nothing.
    pub(super) fn read(&self, path: &str) -> Result<Option<New>> {
        let (folders, name) = split(path);
        let Some(folder) = self.reach(folders)? else { return Ok(None) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = match fs::openat(&folder, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => {
                return Ok(Some(New::link(fs::readlinkat(&folder, name, Vec::new())?.into_bytes())));
            }
            Err(errno) => return Err(errno.into()),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(Error::other("no file"));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some(New::file(bytes, metadata)))
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
            let Some(folder) = self.reach(folders)? else { return Ok(()) };
            return match fs::unlinkat(&folder, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {
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
        Ok(fs::renameat(&folder, ASIDE, &folder, name)?)
    }

    /// Git keeps no empty folders.
    fn remove_empty(&self, folders: &str) {
        let mut folders = folders;
        while !folders.is_empty() {
            let (above, name) = split(folders);
            let Ok(Some(folder)) = self.reach(above) else { return };
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
        let folder = self.reach(folders).ok()??;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        File::from(fs::openat(&folder, name, flags, Mode::empty()).ok()?).metadata().ok()
    }

    /// A folder, if it is there.
    fn reach(&self, folders: &str) -> Result<Option<OwnedFd>> {
        let mut here = self.top.try_clone()?;
        for name in folders.split('/').filter(|name| !name.is_empty()) {
            here = match fs::openat(&here, name, STEP, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::NOENT) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            };
        }
        Ok(Some(here))
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

/// What tells one thing from another.
fn of(new: Option<&New>) -> Option<(&[u8], u32)> {
    new.map(|new| (new.bytes.as_slice(), new.mode))
}

/// The folders of a path, and its last name.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
