//! The content of a workspace, as an approval binds it: a part for each file and folder at its top. What git ignores is
//! left out, and so is git's own folder. What changed is named by its file, as long as this process remembers the files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use domain::tool::{Part, Seen};
use git2::Repository;
use sha2::{Digest, Sha256};

use crate::digest::digest;

/// So many files are looked at; in a larger workspace a person is told that the rest is not bound.
const FILES_MAX: usize = 20_000;
/// So many folders inside one another.
const DEPTH_MAX: usize = 64;
/// So many parts are told; more are one.
const PARTS_MAX: usize = 40;
/// A file up to this size is known by its content, a larger one by its place, size and time.
const HASHED_BYTES_MAX: u64 = 64 << 20;
/// So many files are remembered by what they hold.
const FILES_REMEMBERED_MAX: usize = 65_536;
/// So many folders are remembered by their files.
const REMEMBERED_MAX: usize = 256;

/// The files of a folder and what each holds.
type Files = BTreeMap<String, String>;

static KNOWN: LazyLock<Mutex<BTreeMap<String, Files>>> = LazyLock::new(Mutex::default);

/// How the name of a part begins that is a folder.
const FILES_IN: &str = "files in ";

/// Adds the content of a workspace to what is seen. Blocks.
pub(super) fn add(seen: &mut Seen, workspace: &Path) {
    let repo = Repository::open(workspace).ok();
    let mut walk = Walk { repo, files: Files::new(), is_cut: false };
    walk.folder(workspace, "", 0);
    if walk.is_cut {
        seen.notes.push(format!(
            "the workspace has more than {FILES_MAX} files: a change of the others does not make the approval void"
        ));
    }
    let mut groups: BTreeMap<String, Files> = BTreeMap::new();
    for (path, held) in walk.files {
        let what = match path.split_once('/') {
            Some((top, _)) => format!("{FILES_IN}{top}"),
            None => format!("file {path}"),
        };
        groups.entry(what).or_default().insert(path, held);
    }
    let rest: Vec<String> = groups.keys().skip(PARTS_MAX).cloned().collect();
    if !rest.is_empty() {
        let rest = rest.iter().filter_map(|what| groups.remove(what)).flatten().collect();
        groups.insert(format!("{FILES_IN}the workspace"), rest);
    }
    for (what, files) in groups {
        let held = match (what.starts_with(FILES_IN), files.values().next()) {
            (false, Some(held)) => held.clone(),
            (true, _) | (false, None) => remember(files),
        };
        let part = Part { what, digest: held };
        if !seen.parts.contains(&part) {
            seen.parts.push(part);
        }
    }
}

/// The digest of some files, by which they are found again.
fn remember(files: Files) -> String {
    let text: String = files.iter().map(|(path, held)| format!("{path}\0{held}\0")).collect();
    let name = digest(text.as_bytes());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= REMEMBERED_MAX {
        known.clear();
    }
    known.insert(name.clone(), files);
    name
}

/// What differs between two looks, in words; of a folder the file that changed, if both are remembered.
pub(super) fn difference(before: &Seen, now: &Seen) -> Option<String> {
    let what = before.difference(now)?;
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let files = |seen: &Seen| {
        let part = seen.parts.iter().find(|part| part.what == what);
        part.map_or_else(|| Some(Files::new()), |part| known.get(&part.digest).cloned())
    };
    let changed = match (what.starts_with(FILES_IN), files(before), files(now)) {
        (true, Some(before), Some(now)) => {
            let mut paths = before.keys().chain(now.keys());
            paths.find(|path| before.get(*path) != now.get(*path)).map(|path| format!("file {path}"))
        }
        _ => None,
    };
    Some(changed.unwrap_or(what))
}

struct Walk {
    repo: Option<Repository>,
    files: Files,
    is_cut: bool,
}

impl Walk {
    fn folder(&mut self, at: &Path, shown: &str, depth: usize) {
        for entry in fs::read_dir(at).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if shown.is_empty() { name.clone() } else { format!("{shown}/{name}") };
            let Ok(kind) = entry.file_type() else { continue };
            if name == ".git" || self.is_ignored(&path, kind.is_dir()) {
                continue;
            }
            if self.files.len() >= FILES_MAX || depth > DEPTH_MAX {
                self.is_cut = true;
                return;
            }
            if kind.is_dir() {
                self.folder(&entry.path(), &path, depth + 1);
            } else if kind.is_symlink() {
                let to = fs::read_link(entry.path()).unwrap_or_default();
                self.files.insert(path, format!("link {}", digest(to.as_os_str().as_bytes())));
            } else if kind.is_file() {
                self.files.insert(path, held(&entry.path()));
            }
        }
    }

    /// A file that git knows is never ignored, whatever the rules say.
    fn is_ignored(&self, path: &str, is_folder: bool) -> bool {
        let Some(repo) = &self.repo else { return false };
        let asked = if is_folder { format!("{path}/") } else { path.to_owned() };
        if !repo.is_path_ignored(&asked).unwrap_or(false) {
            return false;
        }
        let Ok(index) = repo.index() else { return true };
        match is_folder {
            true => index.find_prefix(&asked).is_err(),
            false => index.get_path(Path::new(path), 0).is_none(),
        }
    }
}

/// A place, a size and a time: the same file has the same.
type Stamp = (u64, u64, i64, i64, u64);

/// What a file holds, in one word. Files that did not change are not read again.
pub(super) fn held(path: &Path) -> String {
    static HELD: LazyLock<Mutex<BTreeMap<Stamp, String>>> = LazyLock::new(Mutex::default);
    let known = || HELD.lock().unwrap_or_else(PoisonError::into_inner);
    // Reading anything but a regular file might never end.
    let Some(stat) = fs::metadata(path).ok().filter(fs::Metadata::is_file) else {
        return "not a file".to_owned();
    };
    let stamp = stamp(&stat);
    if stat.size() > HASHED_BYTES_MAX {
        return format!("{stamp:?}");
    }
    if let Some(digest) = known().get(&stamp) {
        return digest.clone();
    }
    let Ok(digest) = File::open(path).and_then(hash) else { return "unreadable".to_owned() };
    let mut known = known();
    if known.len() >= FILES_REMEMBERED_MAX {
        known.clear();
    }
    known.insert(stamp, digest.clone());
    digest
}

/// The same for a file that is open.
pub(super) fn held_by(file: &File) -> String {
    let Ok(stat) = file.metadata() else { return "unreadable".to_owned() };
    if stat.size() > HASHED_BYTES_MAX {
        return format!("{:?}", stamp(&stat));
    }
    hash(file).unwrap_or_else(|_| "unreadable".to_owned())
}

fn stamp(stat: &fs::Metadata) -> Stamp {
    (stat.dev(), stat.ino(), stat.mtime(), stat.mtime_nsec(), stat.size())
}

fn hash(file: impl Read) -> io::Result<String> {
    let mut file = file.take(HASHED_BYTES_MAX);
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hasher.finalize())),
            n => hasher.update(&buffer[..n]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}
