//! Two lines of work brought together as far as that goes by itself, and what is left for somebody to decide. Nothing
//! here writes a file.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use git2::{
    Commit, Index, IndexConflict, IndexEntry, MergeFileInput, MergeFileOptions, MergeOptions, Repository,
    Tree, merge_file,
};

use super::changes::{Changed, MODE_SUBMODULE};
use super::commit::{self, MODE_LINK, New};
use super::message::shown;
use super::patch::is_binary;
use super::working::Working;

/// The bits of an index entry that say of which side it is.
const STAGE: u16 = 0x3000;
/// Of the ancestor of both.
const ANCESTOR: u16 = 0x1000;
/// So many files of the other side are named in one conflict.
const NAMES_MAX: usize = 20;

/// A merge that stands nowhere yet.
pub(super) struct Merged<'r> {
    /// Where something is left to decide it has what `ours` has, or else `theirs`.
    pub(super) tree: Tree<'r>,
    pub(super) conflicts: Vec<Conflict>,
}

/// A file that does not merge by itself.
pub(super) struct Conflict {
    path: String,
    how: How,
}

enum How {
    /// Both changed the same lines.
    Marked { ours: IndexEntry, sides: [Vec<u8>; 2], bytes: Vec<u8> },
    /// Both changed it, and it has no lines.
    NoText,
    /// They took it away, or gave it another name, and we changed it.
    GoneThere,
    /// The other way round.
    GoneHere,
    /// Both took it away, and at least one put it elsewhere.
    GoneBoth,
    /// One side has a file there and the other a folder; nothing is there of the files that only they have.
    FileAndFolder { ours: Kind, without: Vec<String> },
}

enum Kind {
    File,
    Folder,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match &self.how {
            How::Marked { .. } => {
                "between <<<<<<< and ======= is your side, from there to >>>>>>> the other; leave what shall stay and none of these lines"
            }
            How::NoText => "it is no text, and stands as you have it",
            How::GoneThere => "the other side has it no more; it stands as you have it",
            How::GoneHere => "you have it no more; it stands as the other side has it",
            How::GoneBoth => "each side gave it another name; both are there",
            How::FileAndFolder { ours: Kind::File, .. } => {
                "a file on your side and a folder on the other; it stands as you have it, without what the other side has: "
            }
            How::FileAndFolder { ours: Kind::Folder, .. } => {
                "a folder on your side and a file on the other; it stands as you have it, without what the other side has: "
            }
        };
        write!(f, "{}: {how}", shown(self.path.as_bytes()))?;
        let How::FileAndFolder { without, .. } = &self.how else { return Ok(()) };
        let names: Vec<String> = without.iter().take(NAMES_MAX).map(|name| shown(name.as_bytes())).collect();
        write!(f, "{}", names.join(", "))?;
        match without.len().saturating_sub(NAMES_MAX) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl<'r> Merged<'r> {
    pub(super) fn of(repo: &'r Repository, ours: &Commit<'r>, theirs: &Commit<'r>) -> Result<Self, String> {
        let mut index = repo.merge_commits(ours, theirs, None).map_err(words)?;
        if !files_and_folders(&index).is_empty() {
            // Our change must not follow a file that they moved into a folder which does not stay.
            let mut options = MergeOptions::new();
            options.find_renames(false);
            index = repo.merge_commits(ours, theirs, Some(&options)).map_err(words)?;
        }
        let mut conflicts = keep_ours(&mut index, ours, theirs)?;
        let found: Vec<IndexConflict> = index.conflicts().map_err(words)?.flatten().collect();
        for IndexConflict { ancestor, our, their } in found {
            let Some(any) = our.as_ref().or(their.as_ref()).or(ancestor.as_ref()) else { continue };
            let path = String::from_utf8(any.path.clone()).map_err(|_| "a file name is no UTF-8")?;
            for side in [&ancestor, &our, &their].into_iter().flatten() {
                let name = std::str::from_utf8(&side.path).map_err(|_| "a file name is no UTF-8")?;
                // One that several conflicts name is gone already.
                _ = index.conflict_remove(name.as_ref());
            }
            if let Some(stays) = our.as_ref().or(their.as_ref()) {
                let entry = IndexEntry { flags: stays.flags & !STAGE, ..copy(stays) };
                index.add(&entry).map_err(words)?;
            }
            let how = match (our, their) {
                (Some(our), Some(their)) => both(repo, ancestor.as_ref(), our, &their)?,
                (Some(_), None) => How::GoneThere,
                (None, Some(_)) => How::GoneHere,
                (None, None) => How::GoneBoth,
            };
            conflicts.push(Conflict { path, how });
        }
        let tree = index.write_tree_to(repo).and_then(|id| repo.find_tree(id)).map_err(words)?;
        Ok(Self { tree, conflicts })
    }
}

/// Paths that are a file on one side and a folder on the other, but for those in such a folder. Git's library tells only some
/// of them, and a tree with both would be none.
pub(super) fn files_and_folders(index: &Index) -> Vec<Vec<u8>> {
    let all = index.iter().filter(|entry| entry.flags & STAGE != ANCESTOR).map(|entry| entry.path);
    let all: BTreeSet<Vec<u8>> = all.collect();
    let mut found: BTreeSet<&[u8]> = BTreeSet::new();
    for path in &all {
        let mut above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]);
        found.extend(above.find(|folder| all.contains(*folder)));
    }
    found.into_iter().map(<[u8]>::to_vec).collect()
}

/// Where one side has a file and the other a folder, makes all of it as we have it.
fn keep_ours(index: &mut Index, ours: &Commit<'_>, theirs: &Commit<'_>) -> Result<Vec<Conflict>, String> {
    let paths = files_and_folders(index);
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let (mine, other) = (listed(ours)?, listed(theirs)?);
    let text = |path: &[u8]| String::from_utf8(path.to_vec()).map_err(|_| "a file name is no UTF-8");
    let mut conflicts = Vec::new();
    for path in paths {
        let is_there = |entry: &IndexEntry| {
            entry.path.strip_prefix(path.as_slice()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        for entry in index.iter().filter(is_there).collect::<Vec<_>>() {
            let stage = i32::from((entry.flags & STAGE) >> 12);
            index.remove(Path::new(&text(&entry.path)?), stage).map_err(words)?;
        }
        let mut kind = Kind::Folder;
        for entry in mine.iter().filter(is_there) {
            if entry.path == path {
                kind = Kind::File;
            }
            index.add(&entry).map_err(words)?;
        }
        let without: Result<_, _> = other.iter().filter(is_there).map(|entry| text(&entry.path)).collect();
        let how = How::FileAndFolder { ours: kind, without: without? };
        conflicts.push(Conflict { path: text(&path)?, how });
    }
    Ok(conflicts)
}

/// All files of a commit.
fn listed(commit: &Commit<'_>) -> Result<Index, String> {
    let mut index = Index::new().map_err(words)?;
    commit.tree().and_then(|tree| index.read_tree(&tree)).map_err(words)?;
    Ok(index)
}

/// A file that both sides have.
fn both(
    repo: &Repository,
    ancestor: Option<&IndexEntry>,
    ours: IndexEntry,
    theirs: &IndexEntry,
) -> Result<How, String> {
    let bytes = |entry: &IndexEntry| repo.find_blob(entry.id).map(|blob| blob.content().to_vec());
    if ours.mode == MODE_LINK || theirs.mode == MODE_LINK || ours.path != theirs.path {
        return Ok(How::NoText);
    }
    let (Ok(mine), Ok(other)) = (bytes(&ours), bytes(theirs)) else { return Ok(How::NoText) };
    if is_binary(&mine) || is_binary(&other) {
        return Ok(How::NoText);
    }
    let before = ancestor.and_then(|entry| bytes(entry).ok()).unwrap_or_default();
    let mut inputs = [MergeFileInput::new(), MergeFileInput::new(), MergeFileInput::new()];
    for (input, content) in inputs.iter_mut().zip([&before, &mine, &other]) {
        input.content(content);
    }
    let mut options = MergeFileOptions::new();
    options.our_label("yours").their_label("theirs");
    let merged = merge_file(&inputs[0], &inputs[1], &inputs[2], Some(&mut options)).map_err(words)?;
    let bytes = merged.content().to_vec();
    drop(merged);
    drop(inputs);
    Ok(How::Marked { ours, sides: [mine, other], bytes })
}

impl Conflict {
    /// The file with its marks.
    pub(super) fn marked(&self) -> Option<Changed> {
        match &self.how {
            How::Marked { ours, bytes, .. } => {
                let new = New { bytes: bytes.clone(), mode: ours.mode, stat: None };
                Some(Changed { path: self.path.clone(), old: Some((ours.id, ours.mode)), new: Some(new) })
            }
            How::NoText | How::GoneThere | How::GoneHere | How::GoneBoth | How::FileAndFolder { .. } => None,
        }
    }

    /// The file and the first line of it that is still a mark. A line that one side had before is none.
    pub(super) fn left(&self, working: &Working<'_>) -> Option<String> {
        let How::Marked { sides, .. } = &self.how else { return None };
        let now = working.read(&self.path).ok().flatten()?.bytes;
        let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
        let known = sides.each_ref().map(|side| lines(side));
        let is_mark = |line: &[u8]| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> ") || line == b"======="
        };
        let at = lines(&now)
            .iter()
            .position(|line| is_mark(line) && !known.iter().any(|side| side.contains(line)))?;
        Some(format!("{} has a mark of the merge in line {}", shown(self.path.as_bytes()), at + 1))
    }
}

/// The file that a tree has at a path. A submodule is none.
pub(super) fn file_at(repo: &Repository, tree: &Tree<'_>, path: &str) -> Result<Option<New>, String> {
    let found = commit::entry(tree, path).filter(|(_, mode)| *mode != MODE_SUBMODULE);
    let Some((id, mode)) = found else { return Ok(None) };
    let blob = repo.find_blob(id).map_err(|error| format!("{path}: {}", error.message()))?;
    Ok(Some(New { bytes: blob.content().to_vec(), mode, stat: None }))
}

fn copy(entry: &IndexEntry) -> IndexEntry {
    IndexEntry { path: entry.path.clone(), ..*entry }
}

fn words(error: git2::Error) -> String {
    error.message().to_owned()
}
