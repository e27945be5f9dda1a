//! Shared contexts as files: reached by handle, without any link, written whole or not at all, by one of Synod's own
//! processes at a time. Who may see what is decided by whoever calls.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::context::{Acl, acl_path, is_name, places};
use domain::layout;
use rustix::fs::{self, AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::beneath::aside;
use crate::beneath::{PathRefused, Root, stat_in};
use crate::lock;
use crate::text;

/// The largest context, and the largest file with grants.
pub const BYTES_MAX: u64 = 1 << 20;
/// So many contexts agents make; a person may make more.
pub const CONTEXTS_MAX: usize = 256;
/// So many names of the folder are looked at.
const NAMES_MAX: usize = 20_000;
const FOLDER: &str = layout::CONTEXTS;
/// So often a file is opened again because it was replaced in between.
const OPENS_MAX: usize = 100;
/// So long a writer waits for its turn.
const TURN_WAIT_MAX: Duration = Duration::from_secs(5);
/// And looks again after this long.
const TURN_PAUSE: Duration = Duration::from_millis(2);

/// The shared contexts of a home.
#[derive(Debug)]
pub struct Store {
    root: Root,
    /// Writers of this process stand in line here.
    writing: Mutex<()>,
}

/// The right to write, until it is dropped.
#[derive(Debug)]
pub struct Turn<'a> {
    // Closing it frees the lock.
    _folder: OwnedFd,
    _one: MutexGuard<'a, ()>,
}

/// A file and all it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Relative to the home.
    pub path: String,
    /// Everything.
    pub text: String,
}

impl Text {
    /// Whether it is JSON and not text for people.
    pub fn is_json(&self) -> bool {
        self.path.ends_with(".json")
    }
}

/// The grants of a context and the file they stand in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// The file.
    pub file: Text,
    /// What it says.
    pub acl: Acl,
}

/// Why a file of a context is not read or written, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

impl Store {
    /// The contexts of this home.
    pub fn open(home: &Path) -> std::io::Result<Self> {
        Ok(Self { root: Root::with_contexts(home)?, writing: Mutex::default() })
    }

    /// Keeps all of Synod's own writers out, of this process and of others: reading a file, changing it and writing it
    /// again is one step, and who was told that something is done was told the truth. People with editors are found out
    /// by what they saved. Waits for others, so it is not for async threads.
    pub fn turn(&self) -> Result<Turn<'_>, Unreadable> {
        let since = Instant::now();
        // It guards no data that a panic could leave half changed.
        let one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = self.own_folder()?;
        loop {
            match fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) if since.elapsed() < TURN_WAIT_MAX => std::thread::sleep(TURN_PAUSE),
                Err(Errno::WOULDBLOCK) => return Err(self.taken()),
                Err(Errno::INTR) => {}
                // A network file system may know no locks on folders; there, the comparison on writing must do.
                Err(_) => return Ok(Turn { _folder: folder, _one: one }),
                Ok(()) => {
                    sweep(&folder);
                    return Ok(Turn { _folder: folder, _one: one });
                }
            }
        }
    }

    fn taken(&self) -> Unreadable {
        let owner = lock::owner(&self.root.path().join(FOLDER));
        let who = owner.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
        let seconds = TURN_WAIT_MAX.as_secs();
        Unreadable(format!(
            "{who} keeps {FOLDER}/ locked, and did not let go within {seconds} s; nothing was changed: try again when it \
             is done, or end it"
        ))
    }

    /// The folder, for writing: made if it is not there, and no link.
    fn own_folder(&self) -> Result<OwnedFd, Unreadable> {
        let folder = self.root.make_own_folder(FOLDER).map_err(|refused| Unreadable(refused.to_string()))?;
        if folder.real != Path::new(FOLDER) {
            return Err(Unreadable(format!(
                "{FOLDER} is a link, and contexts are not written through links"
            )));
        }
        Ok(folder.fd)
    }

    /// The names of all contexts that have content or grants, sorted.
    pub fn names(&self) -> Vec<String> {
        let Ok(folder) = self.root.folder(FOLDER) else { return Vec::new() };
        let Ok(entries) = Dir::read_from(&folder.fd) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .flatten()
            .take(NAMES_MAX)
            .filter_map(|entry| {
                let name = entry.file_name().to_str().ok()?;
                let stem = [layout::GRANTS_END, ".json", ".md"]
                    .iter()
                    .find_map(|ending| name.strip_suffix(ending))?;
                is_name(stem).then(|| stem.to_owned())
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The grants of a context; `None` if it has no file for them. One that does not read is an error with its place.
    pub fn grants(&self, name: &str) -> Result<Option<Grants>, Unreadable> {
        let Some(file) = self.file(acl_path(name))? else { return Ok(None) };
        let read = formats::acl::read(&file.path, &file.text);
        let Some(acl) = read.value else {
            let first = read.diagnostics.first();
            let place =
                first.map_or_else(String::new, |d| format!(":{}:{}: {}", d.line, d.column, d.message));
            return Err(Unreadable(format!("{}{place}", file.path)));
        };
        Ok(Some(Grants { file, acl }))
    }

    /// What a context says; `None` if there is nothing.
    pub fn content(&self, name: &str) -> Result<Option<Text>, Unreadable> {
        for path in places(name) {
            if let Some(found) = self.file(path)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The text of a file of a context, whatever it says; `None` if there is none.
    pub fn text(&self, path: &str) -> Result<Option<String>, Unreadable> {
        Ok(self.file(path.to_owned())?.map(|file| file.text))
    }

    fn file(&self, path: String) -> Result<Option<Text>, Unreadable> {
        let mut tries = 0;
        let (file, size) = loop {
            tries += 1;
            let (file, size, real) = match self.root.real_file(&path) {
                Ok(found) => found,
                Err(PathRefused::Absent { .. }) => return Ok(None),
                Err(refused) => return Err(Unreadable(refused.to_string())),
            };
            if real == Path::new(&path) {
                break (file, size);
            }
            // What was opened has another name by now: it is a link, or it was replaced in this moment.
            if self.is_link(&path) {
                return Err(Unreadable(format!("{path} is a link, and contexts are not read through links")));
            }
            if tries == OPENS_MAX {
                return Err(Unreadable(format!("{path} is replaced all the time; try again")));
            }
        };
        if size > BYTES_MAX {
            return Err(Unreadable(format!("{path} has {size} bytes, at most {BYTES_MAX} are read")));
        }
        let mut bytes = Vec::new();
        let read = file.take(BYTES_MAX).read_to_end(&mut bytes);
        read.map_err(|error| Unreadable(format!("{path} cannot be read: {error}")))?;
        match text::from_bytes(&bytes, false) {
            Some(text) => Ok(Some(Text { text: text.to_owned(), path })),
            None => Err(Unreadable(format!("{path} is not a text file in UTF-8"))),
        }
    }

    /// Whether the file, or the folder, is a link.
    fn is_link(&self, path: &str) -> bool {
        let Ok(folder) = self.root.folder(FOLDER) else { return false };
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_link = |stat: fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        folder.real != Path::new(FOLDER) || stat_in(&folder.fd, name).ok().flatten().is_some_and(is_link)
    }

    /// Writes a file of a context if it still says `old`; `false` if a person saved it in between, and then it is as they
    /// left it. `mark` names the try, and `_turn` keeps others out from before `old` was read.
    pub fn write(
        &self,
        _turn: &Turn<'_>,
        path: &str,
        old: Option<&str>,
        new: &str,
        mark: &str,
    ) -> Result<bool, Unreadable> {
        let failed = |error: std::io::Error| Unreadable(format!("{path} cannot be written: {error}"));
        let folder = self.own_folder()?;
        let Some(name) = layout::inside(path, layout::CONTEXTS).filter(|name| !name.contains('/')) else {
            return Err(Unreadable(format!("{path} is no file of a context")));
        };
        let aside = aside::name_of(mark);
        let mode = stat_in(&folder, name).map_err(|e| failed(e.into()))?;
        let mode = mode.map(|stat| Mode::from_raw_mode(stat.st_mode & 0o777));
        let done = aside::write(&folder, &aside, mode, new.as_bytes())
            .and_then(|()| put(&folder, &aside, name, old.map(str::as_bytes)));
        // After a swap it is what was there before; else it may be gone already.
        let _ = fs::unlinkat(&folder, aside.as_str(), AtFlags::empty());
        fs::fsync(&folder).map_err(|e| failed(e.into()))?;
        done.map_err(failed)
    }
}

/// Takes away what killed writers left aside: whoever writes has the turn. What cannot be removed is in nobody's way.
fn sweep(folder: &OwnedFd) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.flatten().take(NAMES_MAX) {
        if entry.file_name().to_str().is_ok_and(aside::is_aside) {
            let _ = fs::unlinkat(folder, entry.file_name(), AtFlags::empty());
        }
    }
}

/// Puts `aside` in the place of `name`, if that is still what it was.
fn put(folder: &OwnedFd, aside: &str, name: &str, old: Option<&[u8]>) -> std::io::Result<bool> {
    let Some(old) = old else {
        return match fs::renameat_with(folder, aside, folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        };
    };
    match fs::renameat_with(folder, aside, folder, name, RenameFlags::EXCHANGE) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    if is_file_with(folder, aside, old)? {
        return Ok(true);
    }
    // Somebody saved in between: theirs gets its place back.
    fs::renameat_with(folder, aside, folder, name, RenameFlags::EXCHANGE)?;
    Ok(false)
}

fn is_file_with(folder: &OwnedFd, name: &str, bytes: &[u8]) -> std::io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match fs::openat(folder, name, flags, Mode::empty()) {
        Ok(fd) => std::fs::File::from(fd),
        // A link was put there.
        Err(Errno::LOOP) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut found)?;
    Ok(found == bytes)
}
