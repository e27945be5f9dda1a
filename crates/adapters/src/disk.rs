//! Reading and replacing files that people edit at the same time.
//!
//! A replacement swaps the new file with the old one in one step and then looks at what it got back: if that is
//! not what was read, somebody saved in between, and their bytes are in our hands instead of lost.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};

/// The largest file that is read whole.
pub const FILE_BYTES_MAX: u64 = 64 << 20;

/// What a file was when Synod last read or wrote it.
#[derive(Debug, Clone)]
pub struct Known {
    inode: u64,
    modified: (i64, i64),
    len: u64,
    hasher: DefaultHasher,
}

impl Known {
    fn of(metadata: &fs::Metadata, bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        Self::with(metadata, hasher)
    }

    fn with(metadata: &fs::Metadata, hasher: DefaultHasher) -> Self {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Self { inode: metadata.ino(), modified, len: metadata.len(), hasher }
    }

    /// Whether the two have the same content.
    pub fn same_content(&self, other: &Self) -> bool {
        self.len == other.len && self.hasher.finish() == other.hasher.finish()
    }

    /// Whether there was nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A number that tells contents apart, the same as `signature` of them.
    pub fn signature(&self) -> u64 {
        self.hasher.finish() ^ self.len
    }

    fn is_same_file(&self, metadata: &fs::Metadata) -> bool {
        self.inode == metadata.ino()
            && self.len == metadata.len()
            && self.modified == (metadata.mtime(), metadata.mtime_nsec())
    }
}

/// A number that tells contents apart.
pub fn signature(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish() ^ bytes.len() as u64
}

/// What a file was when Synod last stopped, by its metadata alone.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stamp {
    inode: u64,
    modified: (i64, i64),
    len: u64,
}

impl Stamp {
    /// What the file is now; `None` if there is none.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Some(Self { inode: metadata.ino(), modified, len: metadata.len() })
    }
}

impl From<&Known> for Stamp {
    fn from(known: &Known) -> Self {
        Self { inode: known.inode, modified: known.modified, len: known.len }
    }
}

/// A file's text and what it was.
pub struct Found {
    /// The whole text; bytes that are no UTF-8 are an error of the reader.
    pub text: String,
    /// For telling later whether it changed.
    pub known: Known,
}

/// Reads a whole text file; `None` if there is none.
pub fn read(path: &Path) -> io::Result<Option<Found>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    read_open(&mut file).map(Some)
}

fn read_open(file: &mut File) -> io::Result<Found> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {FILE_BYTES_MAX} bytes"),
        ));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    let mut known = Known::of(&metadata, &bytes);
    known.len = bytes.len() as u64;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let utf8 = error.utf8_error();
            if utf8.error_len().is_some() {
                let reason = format!("byte {} is no UTF-8", utf8.valid_up_to());
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            // A crash cut the last character in two: what is before it is whole.
            let mut bytes = error.into_bytes();
            bytes.truncate(utf8.valid_up_to());
            String::from_utf8(bytes).unwrap_or_default()
        }
    };
    Ok(Found { text, known })
}

/// Whether the file still is what it was, by its metadata alone.
pub fn is_unchanged(path: &Path, known: &Known) -> bool {
    fs::metadata(path).is_ok_and(|metadata| known.is_same_file(&metadata))
}

/// What became of a replacement.
pub enum Replaced {
    /// The new text stands there.
    Done {
        /// What the file is now.
        known: Known,
        /// The old file, for a last look: an editor may still be writing into it.
        displaced: Option<Box<Displaced>>,
    },
    /// Somebody saved in between; nothing was changed.
    Changed {
        /// A file that had the place for a moment and may hold one more save.
        displaced: Option<Box<Displaced>>,
    },
}

impl Replaced {
    const CHANGED: Self = Self::Changed { displaced: None };
}

/// A file that was swapped out.
pub struct Displaced {
    file: File,
    known: Known,
}

impl Displaced {
    /// What somebody wrote into the file after it was swapped out, if anything.
    pub fn late_save(&mut self) -> Option<String> {
        let metadata = self.file.metadata().ok()?;
        if self.known.is_same_file(&metadata) || self.file.rewind().is_err() {
            return None;
        }
        let found = read_open(&mut self.file).ok()?;
        (!found.known.same_content(&self.known)).then_some(found.text)
    }
}

/// When a new version is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// Before it takes its place: the safe order, but others have time to save in between.
    Before,
    /// Right after: for a file that is saved faster than the disk can follow. The version before it is kept
    /// until then, under a name that `recover` knows.
    After,
    /// By the caller, with others: for a file that is new, of which the journal has all that stands in it.
    Later,
}

/// Puts `text` in place of what was read as `old` (`None`: there was no file). All or nothing, and durable unless that is
/// put off.
pub fn replace(path: &Path, old: Option<&Known>, text: &str, flush: Flush) -> io::Result<Replaced> {
    let new = prepare(path, text)?;
    if flush == Flush::Before
        && let Err(error) = new.sync()
    {
        _ = fs::remove_file(&new.aside);
        return Err(error);
    }
    let done = new.take_place(old, flush);
    if flush != Flush::Later {
        sync_folder(path.parent().unwrap_or_else(|| Path::new(".")));
    }
    done
}

/// A new version of a file that does not have its place yet. Only one of a file at a time.
pub struct Prepared {
    path: PathBuf,
    aside: PathBuf,
    file: File,
    text: String,
}

/// Writes a new version beside the file.
pub fn prepare(path: &Path, text: &str) -> io::Result<Prepared> {
    fs::create_dir_all(path.parent().unwrap_or_else(|| Path::new(".")))?;
    let aside = aside(path);
    // It is read too if it has the place for a moment and an editor writes into it.
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&aside)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| match fs::metadata(path) {
        Ok(metadata) => file.set_permissions(metadata.permissions()),
        Err(_) => Ok(()),
    });
    match written {
        Ok(()) => Ok(Prepared { path: path.to_owned(), aside, file, text: text.to_owned() }),
        Err(error) => {
            _ = fs::remove_file(&aside);
            Err(error)
        }
    }
}

impl Prepared {
    /// Makes its bytes durable.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Gives it the place of what was read as `old`, if that still stands there. Its bytes must be durable by now.
    pub fn put(self, old: &Known) -> io::Result<Replaced> {
        // The file was replaced since, and what was prepared for that had this one's name.
        if !self.aside.exists() {
            return Ok(Replaced::CHANGED);
        }
        self.take_place(Some(old), Flush::Before)
    }

    fn take_place(self, old: Option<&Known>, flush: Flush) -> io::Result<Replaced> {
        let Self { path, aside, file, text } = &self;
        let done = match old {
            None => put_new(path, aside, file, text),
            Some(old) => swap(path, aside, file, old, text, flush),
        };
        if !matches!(done, Ok(Replaced::Done { .. })) {
            _ = fs::remove_file(aside);
        }
        done
    }
}

fn put_new(path: &Path, aside: &Path, file: &File, text: &str) -> io::Result<Replaced> {
    match rustix::fs::renameat_with(CWD, aside, CWD, path, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(rustix::io::Errno::EXIST) => return Ok(Replaced::CHANGED),
        // The file system knows no such rename: a link is refused likewise if the name is taken.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => match fs::hard_link(aside, path) {
            Ok(()) => fs::remove_file(aside)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Replaced::CHANGED),
            Err(error) => return Err(error),
        },
        Err(error) => return Err(error.into()),
    }
    Ok(Replaced::Done { known: Known::of(&file.metadata()?, text.as_bytes()), displaced: None })
}

fn swap(
    path: &Path,
    aside: &Path,
    file: &File,
    old: &Known,
    text: &str,
    flush: Flush,
) -> io::Result<Replaced> {
    match read(path)? {
        Some(now) if now.known.same_content(old) => {}
        _ => return Ok(Replaced::CHANGED),
    }
    let ours = Known::of(&file.metadata()?, text.as_bytes());
    match rustix::fs::renameat_with(CWD, aside, CWD, path, RenameFlags::EXCHANGE) {
        Ok(()) => {}
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            fs::rename(aside, path)?;
            return Ok(Replaced::Done {
                known: Known::of(&file.metadata()?, text.as_bytes()),
                displaced: None,
            });
        }
        Err(rustix::io::Errno::NOENT) => return Ok(Replaced::CHANGED),
        Err(error) => return Err(error.into()),
    }
    // `aside` is now the file that stood there. If it is not what was read, a person saved in the last
    // microseconds: give it its place back and let the caller merge.
    let mut taken = File::open(aside)?;
    let found = read_open(&mut taken);
    let same = found.as_ref().is_ok_and(|found| found.known.same_content(old));
    if !same {
        let displaced =
            give_back(path, aside, Displaced { file: file.try_clone()?, known: ours }, taken, old)?;
        return Ok(Replaced::Changed { displaced: Some(Box::new(displaced)) });
    }
    let known = found?.known;
    if flush == Flush::After {
        file.sync_all()?;
    }
    fs::remove_file(aside)?;
    Ok(Replaced::Done {
        known: Known::of(&file.metadata()?, text.as_bytes()),
        displaced: Some(Box::new(Displaced { file: taken, known })),
    })
}

/// Gives `theirs`, which is at `aside`, its place back. What comes out of the place may hold a save as well: into
/// `ours`, if an editor opened it in between, or beside it, if it was saved by renaming.
fn give_back(path: &Path, aside: &Path, ours: Displaced, theirs: File, old: &Known) -> io::Result<Displaced> {
    rustix::fs::renameat_with(CWD, aside, CWD, path, RenameFlags::EXCHANGE)?;
    if fs::metadata(aside)?.ino() == ours.known.inode {
        return Ok(ours);
    }
    // Another save came right behind it: the newest keeps the place, and the one before it is seen as a late one.
    rustix::fs::renameat_with(CWD, aside, CWD, path, RenameFlags::EXCHANGE)?;
    Ok(Displaced { file: theirs, known: old.clone() })
}

/// After a power failure: a version that was swapped out and not yet let go takes its place again if what
/// replaced it did not reach the disk.
pub fn recover(path: &Path) -> io::Result<()> {
    let aside = aside(path);
    if !aside.exists() {
        // A new file may have got its name and its length and none of its bytes.
        let blank = fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() > 0 && m.len() < FILE_BYTES_MAX)
            && fs::read(path).is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0));
        return if blank { fs::remove_file(path) } else { Ok(()) };
    }
    let torn = match fs::read(path) {
        Ok(bytes) => bytes.is_empty() || bytes.contains(&0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(error),
    };
    let whole = fs::read(&aside).is_ok_and(|bytes| !bytes.is_empty() && !bytes.contains(&0));
    match torn && whole {
        true => fs::rename(&aside, path),
        false => fs::remove_file(&aside),
    }
}

/// What became of an addition.
pub enum Added {
    /// The text stands at the end. Not durable before `sync`.
    Done(Known),
    /// The file is not what it was; nothing was written.
    Changed,
}

/// Adds `text` at the end of the file if it still is what it was. Costs the same whatever the file's length.
pub fn append(path: &Path, known: &Known, text: &str) -> io::Result<Added> {
    let mut file = match OpenOptions::new().append(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Added::Changed),
        Err(error) => return Err(error),
    };
    if !known.is_same_file(&file.metadata()?) {
        return Ok(Added::Changed);
    }
    if let Err(error) = file.write_all(text.as_bytes()) {
        // A full disk may have taken a part: take it back, so that what stands there is whole.
        _ = file.set_len(known.len);
        return Err(error);
    }
    let metadata = file.metadata()?;
    let ours = metadata.len() == known.len + text.len() as u64;
    let in_place = fs::metadata(path).is_ok_and(|now| now.ino() == metadata.ino());
    if !(ours && in_place) {
        return Ok(Added::Changed);
    }
    let mut hasher = known.hasher.clone();
    hasher.write(text.as_bytes());
    Ok(Added::Done(Known::with(&metadata, hasher)))
}

/// Makes what was added durable.
pub fn sync(path: &Path) -> io::Result<()> {
    match File::open(path) {
        Ok(file) => file.sync_data(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes everything on the file system of this folder durable: one wait instead of one for each file.
pub fn sync_together(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

/// Makes names in a folder durable; a file system that cannot is no reason to stop.
pub fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        _ = folder.sync_all();
    }
}

/// The name under which a new version is prepared; watchers pass over it.
fn aside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.synod"))
}

/// Whether a path is one of Synod's own preparations, or an editor's.
pub fn is_passing(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|n| n.to_str()) else { return true };
    name.starts_with('.') || name.ends_with('~') || name.starts_with('#') || name == "4913"
}

/// How far threads stand back that write what the journal has: they get about a third of what others do.
const NICENESS: i32 = 5;

/// Lets this thread stand back while others want the processor: what it writes is in the journal already, and nobody
/// should be asked later because of it.
pub(crate) fn yield_to_others() {
    // On Linux this is a matter of each thread. Where it cannot be had, files are written as soon as anything else.
    _ = rustix::process::nice(NICENESS);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.md");
        (folder, path)
    }

    #[test]
    fn a_replacement_happens_only_on_what_was_read() {
        let (_folder, path) = fresh();
        assert!(matches!(replace(&path, None, "one", Flush::Before).unwrap(), Replaced::Done { .. }));
        assert!(matches!(replace(&path, None, "two", Flush::Before).unwrap(), Replaced::Changed { .. }));
        let one = read(&path).unwrap().unwrap();
        fs::write(&path, "a person's").unwrap();
        assert!(matches!(
            replace(&path, Some(&one.known), "two", Flush::Before).unwrap(),
            Replaced::Changed { .. }
        ));
        assert_eq!(fs::read_to_string(&path).unwrap(), "a person's");
        let theirs = read(&path).unwrap().unwrap();
        assert!(matches!(
            replace(&path, Some(&theirs.known), "two", Flush::After).unwrap(),
            Replaced::Done { .. }
        ));
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left aside");
    }

    #[test]
    fn what_was_prepared_takes_its_place_only_if_nothing_happened_since() {
        let (_folder, path) = fresh();
        fs::write(&path, "one").unwrap();
        let one = read(&path).unwrap().unwrap().known;
        let put = prepare(&path, "two").unwrap().put(&one).unwrap();
        assert!(matches!(put, Replaced::Done { .. }));
        let two = read(&path).unwrap().unwrap().known;
        let late = prepare(&path, "three").unwrap();
        fs::write(&path, "a person's").unwrap();
        assert!(matches!(late.put(&two).unwrap(), Replaced::Changed { .. }));
        let theirs = read(&path).unwrap().unwrap().known;
        let late = prepare(&path, "four").unwrap();
        replace(&path, Some(&theirs), "a person's, and more", Flush::Before).unwrap();
        assert!(matches!(late.put(&theirs).unwrap(), Replaced::Changed { .. }));
        assert_eq!(fs::read_to_string(&path).unwrap(), "a person's, and more");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left aside");
    }

    #[test]
    fn what_an_editor_writes_into_the_old_file_is_seen() {
        let (_folder, path) = fresh();
        fs::write(&path, "one").unwrap();
        let mut editor = OpenOptions::new().write(true).open(&path).unwrap();
        let old = read(&path).unwrap().unwrap();
        let Replaced::Done { displaced: Some(mut displaced), .. } =
            replace(&path, Some(&old.known), "two", Flush::Before).unwrap()
        else {
            panic!("not replaced")
        };
        assert_eq!(displaced.late_save(), None);
        editor.write_all(b"ONE and more").unwrap();
        assert_eq!(displaced.late_save().as_deref(), Some("ONE and more"));
    }

    /// The moment in which the place is swapped and the file that comes out is not what was read: `old` was read,
    /// "saved" was saved over it, and ours has the place.
    fn in_between() -> (tempfile::TempDir, PathBuf, Displaced, File, Known) {
        let (folder, path) = fresh();
        fs::write(&path, "old").unwrap();
        let old = read(&path).unwrap().unwrap().known;
        fs::write(aside(&path), "saved").unwrap();
        fs::write(&path, "ours").unwrap();
        let ours = read(&path).unwrap().unwrap().known;
        let ours = Displaced { file: File::open(&path).unwrap(), known: ours };
        let theirs = File::open(aside(&path)).unwrap();
        (folder, path, ours, theirs, old)
    }

    #[test]
    fn a_save_into_what_had_the_place_for_a_moment_is_seen() {
        let (_folder, path, ours, theirs, old) = in_between();
        fs::write(&path, "ours and another save").unwrap();
        let mut displaced = give_back(&path, &aside(&path), ours, theirs, &old).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "saved");
        assert_eq!(displaced.late_save().as_deref(), Some("ours and another save"));
    }

    #[test]
    fn of_two_saves_by_renaming_in_one_moment_both_are_seen() {
        let (_folder, path, ours, theirs, old) = in_between();
        let newer = path.with_extension("newer");
        fs::write(&newer, "ours and another save").unwrap();
        fs::rename(&newer, &path).unwrap();
        let mut displaced = give_back(&path, &aside(&path), ours, theirs, &old).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours and another save");
        assert_eq!(displaced.late_save().as_deref(), Some("saved"));
    }

    #[test]
    fn what_nobody_wrote_into_is_no_save() {
        let (_folder, path, ours, theirs, old) = in_between();
        let mut displaced = give_back(&path, &aside(&path), ours, theirs, &old).unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), displaced.late_save()), ("saved", None));
    }

    #[test]
    fn an_addition_happens_only_on_what_was_known() {
        let (_folder, path) = fresh();
        fs::write(&path, "one\n").unwrap();
        let known = read(&path).unwrap().unwrap().known;
        let Added::Done(known) = append(&path, &known, "two\n").unwrap() else { panic!("not added") };
        assert!(known.same_content(&read(&path).unwrap().unwrap().known));
        assert_eq!(known.signature(), signature(b"one\ntwo\n"));
        fs::write(&path, "other\n").unwrap();
        assert!(matches!(append(&path, &known, "three\n").unwrap(), Added::Changed));
        assert_eq!(fs::read_to_string(&path).unwrap(), "other\n");
    }

    #[test]
    fn what_a_power_failure_leaves_is_put_right() {
        let (_folder, path) = fresh();
        for (now, left, then) in [("", "a person's", "a person's"), ("two", "one", "two"), ("", "", "")] {
            fs::write(&path, now).unwrap();
            fs::write(aside(&path), left).unwrap();
            recover(&path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), then);
            assert!(!aside(&path).exists());
        }
        fs::write(&path, [0; 100]).unwrap();
        recover(&path).unwrap();
        assert!(!path.exists(), "a new file that got none of its bytes is as good as none");
    }

    #[test]
    fn the_mode_of_a_file_survives() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, path) = fresh();
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let old = read(&path).unwrap().unwrap();
        replace(&path, Some(&old.known), "two", Flush::Before).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
