//! Finding words in files: by the index where there is one, file by file elsewhere. What is shown is read from the
//! files when the answer is made. Everything is bounded, and what was left out is said.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use domain::id::AgentId;
use rustix::fs::{self, Dir, FileType, Mode, OFlags};

use super::beneath::{PathRefused, Root, is_granted, stat_in};
use super::text;
use super::until::Until;
use crate::search::lines::{self, Shown};
use crate::search::{FILE_BYTES_MAX, Index, Query, SKIPPED, Scope};

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

/// Where it looks.
pub(super) enum Place {
    /// In memory and in the workspace of an agent.
    Usual(AgentId),
    /// In memory.
    Memory,
    /// In a folder or a file.
    At(String),
}

/// What was found, with every file whose content is in the text.
pub(super) type Found = Result<(String, Vec<String>), String>;

/// Finds files, the best first.
pub(super) fn search(root: &Root, index: &Index, wanted: &Wanted, bytes_max: u64, until: &Until) -> Found {
    let query = Query::read(&wanted.query)?;
    let shown_max = wanted.limit.map_or(FILES_SHOWN_DEFAULT, |n| (n as usize).clamp(1, FILES_SHOWN_MAX));
    let (scopes, here) = match &wanted.place {
        Place::Usual(agent) => {
            let own = format!("workspaces/{agent}");
            let here = format!("memory and {own}");
            (vec![Scope::whole("memory"), Scope::whole(own)], here)
        }
        Place::Memory => (vec![Scope::whole("memory")], "memory".to_owned()),
        Place::At(path) => (scope_of(root, path)?.into_iter().collect(), path.clone()),
    };
    let mut report =
        Report { query: &wanted.query, here: &here, hits: Vec::new(), notes: Vec::new(), shown_max };
    if let Place::At(path) = &wanted.place
        && scopes.is_empty()
    {
        one_by_one(root, &query, path, until, &mut report)?;
        return Ok(report.finish(bytes_max));
    }
    // One more than is shown, so that a cut is known.
    match index.search(root, &scopes, &query, shown_max + 1, &until.at_most(FOLLOW_MS_MAX)) {
        Ok(ranked) => {
            report.notes = ranked.notes;
            report.hits = ranked.files.into_iter().filter_map(|file| look_into(root, &query, file)).collect();
            // What was named is searched, also what the index leaves out.
            let is_part = scopes.iter().any(|scope| !scope.beneath.is_empty());
            if let Place::At(path) = &wanted.place
                && is_part
                && report.hits.is_empty()
            {
                one_by_one(root, &query, path, until, &mut report)?;
            }
        }
        Err(reason) => {
            report.notes.push(format!("{reason}; the files were searched one by one"));
            for scope in &scopes {
                let path = if scope.beneath.is_empty() { &scope.folder } else { &scope.beneath };
                match one_by_one(root, &query, path, until, &mut report) {
                    Ok(()) => {}
                    // Memory or a workspace that nobody has made yet.
                    Err(_) if scope.beneath.is_empty() => {}
                    Err(refused) => return Err(refused),
                }
            }
        }
    }
    Ok(report.finish(bytes_max))
}

/// Where the index has a path, if it has it; an error if nothing is there.
fn scope_of(root: &Root, path: &str) -> Result<Option<Scope>, String> {
    let real = match root.folder(path) {
        Ok(found) => found.real,
        Err(PathRefused::Kind { .. }) => root.real_file(path).map_err(|e| e.to_string())?.2,
        Err(PathRefused::Absent { .. }) if path.trim_matches('/') == "memory" => "memory".into(),
        Err(refused) => return Err(refused.to_string()),
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
fn look_into(root: &Root, query: &Query, file: String) -> Option<Hit> {
    let (handle, size, real) = root.real_file(&file).ok()?;
    if size > FILE_BYTES_MAX || real.to_str() != Some(file.as_str()) {
        return None;
    }
    let text = read(handle)?;
    let shown = lines::best(query, &text).unwrap_or_else(|| first_line(&text));
    Some(Hit { file, shown })
}

/// A file whose name has what was looked for, or that has it in a form that only the index knows.
fn first_line(text: &str) -> Shown {
    Shown { different: 1, weight: 1, lines: lines::first(text).into_iter().collect() }
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
            let file = named(&hit.file);
            let before = lines.len();
            lines.extend(hit.shown.lines.iter().map(|(number, line)| format!("{file}:{number}: {line}")));
            if lines.len() == before {
                lines.push(format!("{file}: [empty]"));
            }
            places.push(hit.file.clone());
        }
        if self.hits.len() > self.shown_max {
            lines.push(format!("[cut: the best {} files; more words find fewer]", self.shown_max));
        }
        lines.extend(self.notes.iter().map(|note| format!("[{note}]")));
        (text::head(lines.join("\n"), bytes_max), places)
    }
}

fn named(file: &str) -> String {
    if file.chars().any(char::is_control) { format!("{file:?}") } else { file.to_owned() }
}

/// Searches what has no index.
fn one_by_one(
    root: &Root,
    query: &Query,
    path: &str,
    until: &Until,
    report: &mut Report<'_>,
) -> Result<(), String> {
    let mut search = Search { query, hits: Vec::new(), entries: 0, bytes: 0, skipped: 0, until, cut: None };
    match root.folder(path) {
        Ok(found) => search.folder(&found.fd, &found.real.to_string_lossy(), 0),
        Err(PathRefused::Kind { .. }) => {
            let (file, size, real) = root.real_file(path).map_err(|e| e.to_string())?;
            search.file(file, size, real.to_string_lossy().into_owned());
        }
        Err(refused) => return Err(refused.to_string()),
    }
    // The most different words first, then the most hits; names settle what is equal.
    search.hits.sort_by(|a, b| {
        let key = |hit: &Hit| (hit.shown.different, hit.shown.weight);
        key(b).cmp(&key(a)).then_with(|| a.file.cmp(&b.file))
    });
    report.hits.append(&mut search.hits);
    if search.skipped > 0 {
        report.notes.push(format!("not searched: {} files larger than 1 MiB", search.skipped));
    }
    report.notes.extend(search.cut.map(|what| format!("not searched: {what}")));
    Ok(())
}

struct Search<'a> {
    query: &'a Query,
    hits: Vec<Hit>,
    entries: usize,
    bytes: u64,
    skipped: usize,
    until: &'a Until,
    cut: Option<&'static str>,
}

impl Search<'_> {
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
        if size > FILE_BYTES_MAX {
            self.skipped += 1;
            return;
        }
        let Some(text) = read(file) else { return };
        self.bytes += text.len() as u64;
        if let Some(shown) = lines::best(self.query, &text) {
            self.hits.push(Hit { file: path, shown });
        }
    }
}
