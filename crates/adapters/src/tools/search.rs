//! Finding words in files: by the index where there is one, file by file elsewhere. What is shown is read from the
//! files when the answer is made. Everything is bounded, and what was left out is said.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{self, Dir, FileType, Mode, OFlags};

use super::meaning::Near;
use crate::beneath::{PathRefused, Root, is_granted, stat_in};
use crate::search::lines::{self, Shown};
use crate::search::meaning;
use crate::search::{FILE_BYTES_MAX, Index, Query, SKIPPED, Scope};
use crate::text;
use crate::until::Until;

const ENTRIES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 32;
const ALL_BYTES_MAX: u64 = 64 << 20;
const FILES_SHOWN_DEFAULT: usize = 20;
const FILES_SHOWN_MAX: usize = 100;
/// The index is brought up to date for at most so long before a search answers with what it has.
const FOLLOW_MS_MAX: u64 = 15_000;

/// One search.
pub(super) struct Wanted {
    pub(super) query: String,
    pub(super) place: Place,
    pub(super) limit: Option<u32>,
}

impl Wanted {
    fn shown_max(&self) -> usize {
        self.limit.map_or(FILES_SHOWN_DEFAULT, |n| (n as usize).clamp(1, FILES_SHOWN_MAX))
    }
}

/// Where it looks.
pub(super) enum Place {
    /// In memory and in the folder in which an agent works.
    Usual(String),
    /// In memory.
    Memory,
    /// In a folder or a file.
    At(String),
}

/// What was found, with every file whose content is in the text.
pub(super) type Found = (String, Vec<String>);

/// What a search by words gives, before it is made into an answer.
pub(super) struct Ranking {
    query: Query,
    /// What the index was asked for; empty if the files were searched one by one.
    pub(super) scopes: Vec<Scope>,
    here: String,
    files: Vec<String>,
    hits: Vec<Hit>,
    notes: Vec<String>,
}

/// Finds files by words, the best first.
pub(super) fn rank(root: &Root, index: &Index, wanted: &Wanted, until: &Until) -> Result<Ranking, String> {
    let query = Query::read(&wanted.query)?;
    let (scopes, here) = match &wanted.place {
        Place::Usual(folder) => {
            let here = "memory and your workspace".to_owned();
            (vec![Scope::whole("memory"), Scope::whole(folder.clone())], here)
        }
        Place::Memory => {
            (vec![Scope::whole("memory"), Scope::whole("contexts")], "memory and contexts".to_owned())
        }
        Place::At(path) => (scope_of(root, path)?.into_iter().collect(), root.shown(path)),
    };
    let mut ranking = Ranking { query, scopes, here, files: Vec::new(), hits: Vec::new(), notes: Vec::new() };
    if let (Place::At(path), []) = (&wanted.place, ranking.scopes.as_slice()) {
        one_by_one(root, path, until, &mut ranking)?;
        return Ok(ranking);
    }
    let work = until.at_most(FOLLOW_MS_MAX);
    // One more than is shown, so that a cut is known.
    let files_max = wanted.shown_max() + 1;
    match index.search(root, &ranking.scopes, &ranking.query, files_max, &work) {
        Ok(ranked) => {
            ranking.notes = ranked.notes;
            ranking.files = ranked.files;
            // What was named is searched, also what the index leaves out.
            let is_part = ranking.scopes.iter().any(|scope| !scope.beneath.is_empty());
            if let Place::At(path) = &wanted.place
                && is_part
                && ranking.files.is_empty()
            {
                one_by_one(root, path, until, &mut ranking)?;
            }
        }
        Err(reason) => {
            ranking.notes.push(format!("{reason}; the files were searched one by one"));
            for scope in std::mem::take(&mut ranking.scopes) {
                let path = if scope.beneath.is_empty() { &scope.folder } else { &scope.beneath };
                match one_by_one(root, path, until, &mut ranking) {
                    Ok(()) => {}
                    // Memory or a workspace that nobody has made yet.
                    Err(_) if scope.beneath.is_empty() => {}
                    Err(refused) => return Err(refused),
                }
            }
        }
    }
    Ok(ranking)
}

/// Makes the answer: joins what is near in meaning, leaves out what the agent may not see, and reads the lines.
pub(super) fn answer(
    root: &Root,
    wanted: &Wanted,
    mut ranking: Ranking,
    near: Near,
    may_see: &dyn Fn(&str) -> bool,
    bytes_max: u64,
) -> Found {
    let shown_max = wanted.shown_max();
    let names: Vec<String> = near.files.iter().map(|(file, _)| file.clone()).collect();
    let files = if names.is_empty() { ranking.files } else { meaning::join(&ranking.files, &names) };
    let lines: HashMap<String, usize> = near.files.into_iter().collect();
    let mut hits: Vec<Hit> = Vec::new();
    for file in files.into_iter().filter(|file| may_see(file)) {
        if hits.len() > shown_max {
            break;
        }
        let line = lines.get(&file).copied();
        hits.extend(look_into(root, &ranking.query, file, line));
    }
    hits.extend(ranking.hits.into_iter().filter(|hit| may_see(&hit.file)));
    ranking.notes.extend(near.note);
    let (query, here, notes) = (&wanted.query, &ranking.here, ranking.notes);
    Report { root, query, here, hits, notes, shown_max }.finish(bytes_max)
}

/// Where the index has a path, if it has it; an error if nothing is there.
fn scope_of(root: &Root, path: &str) -> Result<Option<Scope>, String> {
    let real = match root.folder(path) {
        Ok(found) => found.real,
        Err(PathRefused::Kind { .. }) => root.real_file(path).map_err(|e| root.in_words(e))?.2,
        Err(PathRefused::Absent { .. }) if path.trim_matches('/') == "memory" => "memory".into(),
        Err(refused) => return Err(root.in_words(refused)),
    };
    let Some(real) = real.to_str() else { return Ok(None) };
    // What the index leaves out was named on purpose.
    let is_skipped = real.split('/').any(|part| SKIPPED.contains(&part));
    Ok(if is_skipped { None } else { Scope::of(real) })
}

/// One file with something of the query.
struct Hit {
    file: String,
    shown: Shown,
}

/// The lines of a file that the index named. It may have changed since: then only what it says now counts.
fn look_into(root: &Root, query: &Query, file: String, near: Option<usize>) -> Option<Hit> {
    let (handle, size, real) = root.real_file(&file).ok()?;
    if size > FILE_BYTES_MAX || real.to_str() != Some(file.as_str()) {
        return None;
    }
    let text = read(handle)?;
    // A file whose name has what was looked for, or that has it in a form that only the index knows.
    let shown = lines::best(query, &text).unwrap_or_else(|| Shown {
        different: 1,
        weight: 1,
        lines: lines::from(&text, near.unwrap_or(1)).into_iter().collect(),
        left_out: 0,
    });
    Some(Hit { file, shown })
}

fn read(file: File) -> Option<String> {
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return None;
    }
    text::from_bytes(&bytes, false).map(str::to_owned)
}

struct Report<'a> {
    root: &'a Root,
    query: &'a str,
    here: &'a str,
    hits: Vec<Hit>,
    notes: Vec<String>,
    shown_max: usize,
}

impl Report<'_> {
    fn finish(self, bytes_max: u64) -> (String, Vec<String>) {
        let mut lines = Vec::new();
        let mut places = Vec::new();
        if self.hits.is_empty() {
            lines.push(format!("[no file in {} has any of: {}]", self.here, self.query));
        }
        for hit in self.hits.iter().take(self.shown_max) {
            let file = named(&self.root.shown(&hit.file));
            let before = lines.len();
            lines.extend(hit.shown.lines.iter().map(|(number, line)| format!("{file}:{number}: {line}")));
            if lines.len() == before {
                lines.push(format!("{file}: [empty]"));
            }
            lines.extend(more_lines(hit.shown.left_out));
            places.push(hit.file.clone());
        }
        if self.hits.len() > self.shown_max {
            lines.push(format!("[cut: the best {} files; more words find fewer]", self.shown_max));
        }
        lines.extend(self.notes.iter().map(|note| format!("[{note}]")));
        (text::head(lines.join("\n"), bytes_max), places)
    }
}

/// The words for lines that are not shown.
pub(super) fn more_lines(count: usize) -> Option<String> {
    let noun = if count == 1 { "line" } else { "lines" };
    (count > 0).then(|| format!("[{count} more {noun} in this file]"))
}

pub(super) fn named(file: &str) -> String {
    if file.chars().any(char::is_control) { format!("{file:?}") } else { file.to_owned() }
}

/// Searches what has no index.
fn one_by_one(root: &Root, path: &str, until: &Until, ranking: &mut Ranking) -> Result<(), String> {
    let (query, mut hits) = (&ranking.query, Vec::new());
    let notes = walk(root, path, until, &|_| true, &mut |file, text| {
        hits.extend(lines::best(query, &text).map(|shown| Hit { file, shown }));
    })?;
    // The most different words first, then the most hits; names settle what is equal.
    hits.sort_by(|a, b| {
        let key = |hit: &Hit| (hit.shown.different, hit.shown.weight);
        key(b).cmp(&key(a)).then_with(|| a.file.cmp(&b.file))
    });
    ranking.hits.append(&mut hits);
    ranking.notes.extend(notes);
    Ok(())
}

/// Reads the text files that are wanted, one by one in the order of their names, and says what it left out. Links are not
/// followed.
pub(super) fn walk(
    root: &Root,
    path: &str,
    until: &Until,
    wants: &dyn Fn(&str) -> bool,
    visit: &mut dyn FnMut(String, String),
) -> Result<Vec<String>, String> {
    let mut walk = Walk { wants, visit, entries: 0, bytes: 0, skipped: 0, until, cut: None };
    match root.folder(path) {
        Ok(found) => walk.folder(&found.fd, &found.real.to_string_lossy(), 0),
        Err(PathRefused::Kind { .. }) => {
            let (file, size, real) = root.real_file(path).map_err(|e| root.in_words(e))?;
            walk.file(file, size, real.to_string_lossy().into_owned());
        }
        Err(refused) => return Err(root.in_words(refused)),
    }
    let skipped =
        (walk.skipped > 0).then(|| format!("not searched: {} files larger than 1 MiB", walk.skipped));
    Ok(skipped.into_iter().chain(walk.cut.map(|what| format!("not searched: {what}"))).collect())
}

struct Walk<'a> {
    wants: &'a dyn Fn(&str) -> bool,
    visit: &'a mut dyn FnMut(String, String),
    entries: usize,
    bytes: u64,
    skipped: usize,
    until: &'a Until,
    cut: Option<&'static str>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &OwnedFd, path: &str, depth: usize) {
        let Ok(dir) = Dir::read_from(folder) else { return };
        let mut names: Vec<String> = dir
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != "." && name != ".." && !SKIPPED.contains(&name.as_str()))
            .take(ENTRIES_MAX)
            .collect();
        // In this order, so that the same search of the same files gives the same answer.
        names.sort_unstable();
        for name in names {
            self.entries += 1;
            if self.is_over() {
                return;
            }
            let below = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            self.entry(folder, &name, below, depth);
        }
    }

    fn entry(&mut self, folder: &OwnedFd, name: &str, path: String, depth: usize) {
        if is_granted(Path::new(&path)) {
            return;
        }
        let Ok(Some(stat)) = stat_in(folder, name) else { return };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if depth < DEPTH_MAX => {
                if let Ok(next) = fs::openat(folder, name, flags | OFlags::DIRECTORY, Mode::empty()) {
                    self.folder(&next, &path, depth + 1);
                }
            }
            FileType::Directory => self.cut = Some("folders deeper than 32"),
            FileType::RegularFile => {
                // Links are not followed: what they lead to is found where it is.
                if let Ok(file) = fs::openat(folder, name, flags, Mode::empty()) {
                    self.file(File::from(file), u64::try_from(stat.st_size).unwrap_or(0), path);
                }
            }
            _ => {}
        }
    }

    fn is_over(&mut self) -> bool {
        if self.until.is_over() {
            self.cut = Some("what the time did not suffice for");
        } else if self.entries > ENTRIES_MAX {
            self.cut = Some("files after the first 20000");
        } else if self.bytes > ALL_BYTES_MAX {
            self.cut = Some("files after the first 64 MiB");
        } else {
            return false;
        }
        true
    }

    fn file(&mut self, file: File, size: u64, path: String) {
        if !(self.wants)(&path) {
            return;
        }
        if size > FILE_BYTES_MAX {
            self.skipped += 1;
            return;
        }
        let Some(text) = read(file) else { return };
        self.bytes += text.len() as u64;
        (self.visit)(path, text);
    }
}
