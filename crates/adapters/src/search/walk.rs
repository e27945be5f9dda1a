//! What lies in a folder: names, and by what a change is seen. Links are not followed, so nothing leads out.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::layout;
use rustix::fs::{self, Dir, FileType, Mode, OFlags};

use crate::beneath::{Root, stat_in};
use crate::text;
use crate::until::Until;

/// Larger files are not searched.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 20;
/// Folders that hold nothing a person wrote.
pub(crate) const SKIPPED: [&str; 4] = [".git", layout::OWN, "target", "node_modules"];

const FILES_MAX: usize = 50_000;
const DEPTH_MAX: usize = 32;
/// So many share a walk.
const WALKERS: usize = 2;
/// With fewer folders, one alone is as fast as it would take to share them.
const PARTED_LEAST: usize = 16;
/// A file that changed so short ago may change once more without any sign of it: clocks of file systems are coarse.
const UNSETTLED: Duration = Duration::from_millis(100);

/// By what a change of a file is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: i64,
    /// Nanoseconds; the content.
    pub(super) modified: i64,
    /// Nanoseconds; the content, the mode or the name.
    pub(super) changed: i64,
    pub(super) inode: i64,
}

/// One text file, or what may be one.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Relative to the home.
    pub(super) path: String,
    pub(super) stamp: Stamp,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) entries: Vec<Entry>,
    /// How many files are too large.
    pub(super) large: usize,
    /// What it did not get to.
    pub(super) cut: Option<&'static str>,
}

/// A file that was read; `None` if it is gone or is no text.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) entry: Entry,
    pub(super) text: Option<String>,
    /// Whether a later change would be seen.
    pub(super) is_settled: bool,
}

/// Everything beneath a folder of the home; nothing if there is no such folder.
pub(super) fn walk(root: &Root, folder: &str, until: &Until) -> Walked {
    let seen = AtomicUsize::new(0);
    let walker =
        || Walker { root, top: folder, ignored: None, until, seen: &seen, walked: Walked::default() };
    let mut first = walker();
    let mut pending = VecDeque::from([Pending { path: folder.to_owned(), depth: 0 }]);
    while let Some(next) = pending.pop_front() {
        first.begin(&next, &mut Below::Later(&mut pending));
        if pending.len() >= PARTED_LEAST {
            break;
        }
    }
    if pending.is_empty() {
        return first.walked;
    }
    // Asking for ten thousand stamps is most of a search; two ask in half of the time.
    let (taken, pending) = (AtomicUsize::new(0), Vec::from(pending));
    let go_on = |mut walker: Walker<'_>| {
        while let Some(next) = pending.get(taken.fetch_add(1, Ordering::Relaxed)) {
            walker.begin(next, &mut Below::Now);
        }
        walker.walked
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..WALKERS).map(|_| scope.spawn(|| go_on(walker()))).collect();
        let mut walked = go_on(first);
        for other in others {
            match other.join() {
                Ok(more) => walked.add(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        walked
    })
}

/// A folder that is still to be walked. By its path and not by a handle, of which there may be too few.
struct Pending {
    path: String,
    depth: usize,
}

/// What is done with a folder that is met.
enum Below<'a> {
    /// It is left to whoever takes it.
    Later(&'a mut VecDeque<Pending>),
    /// It is walked at once.
    Now,
}

/// One of those who share a walk.
struct Walker<'a> {
    root: &'a Root,
    top: &'a str,
    /// Opened when it is needed: each has its own, because a repository is for one thread.
    ignored: Option<Ignored>,
    until: &'a Until,
    /// How many files all of them found.
    seen: &'a AtomicUsize,
    walked: Walked,
}

impl Walker<'_> {
    fn begin(&mut self, Pending { path, depth }: &Pending, below: &mut Below<'_>) {
        // A link in place of the folder itself, or of one above it, is not followed either.
        if let Ok(found) = self.root.folder(path)
            && found.real.to_str() == Some(path)
        {
            self.folder(&found.fd, path, *depth, below);
        }
    }

    fn folder(&mut self, folder: &OwnedFd, path: &str, depth: usize, below: &mut Below<'_>) {
        let Ok(dir) = Dir::read_from(folder) else { return };
        for entry in dir.flatten() {
            // Names that are no text cannot be named by a tool.
            let Ok(name) = entry.file_name().to_str() else { continue };
            if matches!(name, "." | "..") || SKIPPED.contains(&name) || is_ours(name) {
                continue;
            }
            if self.until.is_over() {
                self.walked.cut = Some("what the time did not suffice for");
                return;
            }
            if self.seen.load(Ordering::Relaxed) >= FILES_MAX {
                self.walked.cut = Some("files after the first 50000");
                return;
            }
            match entry.file_type() {
                FileType::RegularFile | FileType::Unknown | FileType::Directory => {}
                FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice => continue,
            }
            let Ok(Some(stat)) = stat_in(folder, name) else { continue };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if depth >= DEPTH_MAX => self.walked.cut = Some("folders deeper than 32"),
                FileType::Directory => self.below(folder, name, joined(path, name), depth + 1, below),
                FileType::RegularFile if u64::try_from(stat.st_size).unwrap_or(0) > FILE_BYTES_MAX => {
                    self.walked.large += 1;
                }
                FileType::RegularFile => {
                    self.seen.fetch_add(1, Ordering::Relaxed);
                    self.walked.entries.push(Entry { path: joined(path, name), stamp: stamp(&stat) });
                }
                _ => {}
            }
        }
    }

    fn below(&mut self, folder: &OwnedFd, name: &str, path: String, depth: usize, below: &mut Below<'_>) {
        let (root, top) = (self.root, self.top);
        if self.ignored.get_or_insert_with(|| Ignored::of(root, top)).has(&path) {
            return;
        }
        match below {
            Below::Later(pending) => pending.push_back(Pending { path, depth }),
            Below::Now => {
                let flags = OFlags::RDONLY
                    | OFlags::NOFOLLOW
                    | OFlags::DIRECTORY
                    | OFlags::NONBLOCK
                    | OFlags::CLOEXEC;
                if let Ok(next) = fs::openat(folder, name, flags, Mode::empty()) {
                    self.folder(&next, &path, depth, below);
                }
            }
        }
    }
}

impl Walked {
    fn add(&mut self, more: Self) {
        self.entries.extend(more.entries);
        self.large += more.large;
        self.cut = self.cut.or(more.cut);
    }
}

fn joined(path: &str, name: &str) -> String {
    [path, "/", name].concat()
}

/// Files that a write in progress leaves for a moment, and grants, which are no content.
fn is_ours(name: &str) -> bool {
    name.starts_with(".synod-write-") || name.ends_with(layout::GRANTS_END)
}

#[expect(clippy::useless_conversion, reason = "the types differ between systems")]
fn stamp(stat: &fs::Stat) -> Stamp {
    let nanos = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos);
    Stamp {
        size: stat.st_size.into(),
        modified: nanos(stat.st_mtime.into(), i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
        changed: nanos(stat.st_ctime.into(), i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
        inode: i64::from_ne_bytes(stat.st_ino.to_ne_bytes()),
    }
}

/// What the repository of a workspace ignores. Asked of libgit2, which runs nothing.
struct Ignored {
    repository: Option<git2::Repository>,
    prefix: String,
}

impl Ignored {
    fn of(root: &Root, folder: &str) -> Self {
        let repository = folder
            .starts_with("workspaces/")
            .then(|| git2::Repository::open(root.path().join(folder)).ok())
            .flatten();
        Self { repository, prefix: format!("{folder}/") }
    }

    /// Whether a folder is ignored. Single files that are ignored are searched: what is written there was written
    /// by somebody.
    fn has(&self, path: &str) -> bool {
        let inside = path.strip_prefix(&self.prefix).unwrap_or(path);
        // The slash says that it is a folder.
        self.repository.as_ref().is_some_and(|r| r.is_path_ignored(format!("{inside}/")).unwrap_or(false))
    }
}

/// Reads the next of `left`, by handle, until one of the bounds is reached.
pub(super) fn read(root: &Root, left: &mut &[Entry], files_max: usize, bytes_max: usize) -> Vec<Taken> {
    let mut batch = Vec::new();
    let mut bytes = 0;
    while let [entry, rest @ ..] = *left {
        if batch.len() >= files_max || bytes >= bytes_max {
            break;
        }
        *left = rest;
        let text = read_one(root, &entry.path);
        bytes += text.as_ref().map_or(0, String::len);
        batch.push(Taken { entry: entry.clone(), text, is_settled: is_settled(entry.stamp) });
    }
    batch
}

pub(super) fn read_one(root: &Root, path: &str) -> Option<String> {
    let (file, size) = real_file(root, path)?;
    if size > FILE_BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return None;
    }
    text::from_bytes(&bytes, false).map(str::to_owned)
}

/// A file at exactly this place: one that became a link, a pipe or a device meanwhile is none.
pub(crate) fn real_file(root: &Root, path: &str) -> Option<(File, u64)> {
    let (file, size, real) = root.real_file(path).ok()?;
    (real.to_str() == Some(path)).then_some((file, size))
}

fn is_settled(stamp: Stamp) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let last = Duration::from_nanos(u64::try_from(stamp.changed.max(stamp.modified)).unwrap_or(0));
    now.checked_sub(last).is_some_and(|age| age > UNSETTLED)
}
