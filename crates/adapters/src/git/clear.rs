//! Takes everything out of a checkout that a commit does not have: ignored files, repositories inside of it, pipes. What git
//! itself removes is less. By handle: no link is followed, and nothing outside of the folder goes.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use git2::{ObjectType, Repository, Tree, TreeEntry};
use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};

use super::commit::MODE_LINK;
use super::message::shown;
use crate::until::Until;

/// The deepest folder.
const DEPTH_MAX: usize = 128;
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Leaves of a checkout only what may be as in `tree`. The error names what cannot be removed.
pub(super) fn clear(repo: &Repository, folder: &Path, tree: &Tree<'_>, until: &Until) -> Result<(), String> {
    let top = fs::openat(CWD, folder, FOLDER | OFlags::RDONLY, Mode::empty());
    let top = top.map_err(|error| format!("{} cannot be opened: {error}", folder.display()))?;
    Clearing { repo, until }.folder(&top, "", Some(tree), 0)
}

struct Clearing<'a> {
    repo: &'a Repository,
    until: &'a Until,
}

impl Clearing<'_> {
    /// Clears a folder, of which the commit has `tree` or nothing.
    fn folder(&self, fd: &OwnedFd, path: &str, tree: Option<&Tree<'_>>, depth: usize) -> Result<(), String> {
        let failed = |error: rustix::io::Errno| format!("{path} cannot be listed: {error}");
        if depth > DEPTH_MAX {
            return Err(format!("{path} is deeper than {DEPTH_MAX} folders; remove it"));
        }
        let mut names = Vec::new();
        for entry in Dir::read_from(fd).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name().to_bytes().to_vec());
        }
        if self.until.is_over() {
            return Err("it took too long to clear the checkout".to_owned());
        }
        let is_own = |name: &[u8]| matches!(name, b"." | b"..") || (depth == 0 && name == b".git");
        for name in names.iter().filter(|name| !is_own(name)) {
            let at = if path.is_empty() { shown(name) } else { format!("{path}/{}", shown(name)) };
            self.entry(fd, name, &at, tree.and_then(|tree| tree.get_name_bytes(name)), depth)?;
        }
        Ok(())
    }

    fn entry(
        &self,
        fd: &OwnedFd,
        name: &[u8],
        path: &str,
        wanted: Option<TreeEntry<'_>>,
        depth: usize,
    ) -> Result<(), String> {
        let lost = |error: rustix::io::Errno| format!("{path} cannot be removed: {error}");
        let stat = match fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(rustix::io::Errno::NOENT) => return Ok(()),
            Err(error) => return Err(lost(error)),
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::Directory {
            let stays = wanted.is_some_and(|wanted| may_be(&wanted, kind));
            return if stays { Ok(()) } else { fs::unlinkat(fd, name, AtFlags::empty()).map_err(lost) };
        }
        let inner = enter(fd, name, &stat).map_err(|error| format!("{path} cannot be opened: {error}"))?;
        let tree = wanted.filter(|wanted| wanted.kind() == Some(ObjectType::Tree));
        let tree = tree.map(|tree| self.repo.find_tree(tree.id())).transpose();
        let tree = tree.map_err(|error| format!("{path}: {}", error.message()))?;
        self.folder(&inner, path, tree.as_ref(), depth + 1)?;
        match tree {
            Some(_) => Ok(()),
            None => fs::unlinkat(fd, name, AtFlags::REMOVEDIR).map_err(lost),
        }
    }
}

/// Whether something of this kind may be what the commit has there.
fn may_be(wanted: &TreeEntry<'_>, kind: FileType) -> bool {
    let is_link = u32::try_from(wanted.filemode()).is_ok_and(|mode| mode == MODE_LINK);
    wanted.kind() == Some(ObjectType::Blob)
        && kind == if is_link { FileType::Symlink } else { FileType::RegularFile }
}

/// Opens a folder, also one that was closed to its owner: some tools close what they keep.
fn enter(above: &OwnedFd, name: &[u8], stat: &Stat) -> std::io::Result<OwnedFd> {
    if stat.st_mode & 0o700 != 0o700 {
        let found = fs::openat(above, name, FOLDER | OFlags::PATH, Mode::empty())?;
        let open = std::fs::Permissions::from_mode((stat.st_mode & 0o777) | 0o700);
        std::fs::set_permissions(format!("/proc/self/fd/{}", found.as_raw_fd()), open)?;
    }
    Ok(fs::openat(above, name, FOLDER | OFlags::RDONLY, Mode::empty())?)
}
