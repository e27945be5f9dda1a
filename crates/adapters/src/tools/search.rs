//! Finding words in files. Everything is bounded, and what was left out is said.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::fs::{self, Dir, FileType, Mode, OFlags};

use super::beneath::{PathRefused, Root, stat_in};
use super::files::Answer;
use super::text;
use super::until::Until;

/// Where one looks unless told otherwise.
pub(super) const DEFAULT_FOLDER: &str = "memory";

const ENTRIES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 32;
const FILE_BYTES_MAX: u64 = 1 << 20;
const ALL_BYTES_MAX: u64 = 64 << 20;
const FILES_SHOWN_MAX: usize = 20;
const LINES_OF_A_FILE_MAX: usize = 5;
const LINE_CHARS_MAX: usize = 240;
const WORDS_MAX: usize = 32;

/// Folders that hold nothing a person wrote.
const SKIPPED: [&str; 4] = [".git", ".synod", "target", "node_modules"];

/// Finds files that have every word of `query`.
pub(super) fn search_files(root: &Root, query: &str, path: &str, bytes_max: u64, until: &Until) -> Answer {
    let mut words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    words.sort_unstable();
    words.dedup();
    if words.is_empty() {
        return Err("the query has no words".to_owned());
    }
    if words.len() > WORDS_MAX {
        return Err(format!("the query has {} words, at most {WORDS_MAX} are searched", words.len()));
    }
    let mut search = Search { words, hits: Vec::new(), entries: 0, bytes: 0, skipped: 0, until, cut: None };
    match root.folder(path) {
        Ok(found) => search.folder(&found.fd, &found.real.to_string_lossy(), 0),
        Err(PathRefused::Kind { .. }) => {
            let (file, size) = root.file(path).map_err(|e| e.to_string())?;
            search.file(file, size, path.to_owned());
        }
        Err(PathRefused::Absent { .. }) if path == DEFAULT_FOLDER => {}
        Err(refused) => return Err(refused.to_string()),
    }
    Ok(text::head(search.report(query, path), bytes_max))
}

struct Search<'a> {
    words: Vec<String>,
    hits: Vec<Hit>,
    entries: usize,
    bytes: u64,
    skipped: usize,
    until: &'a Until,
    cut: Option<&'static str>,
}

/// One file that has every word.
struct Hit {
    file: String,
    count: usize,
    lines: Vec<(usize, String)>,
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
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        if file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).is_err() {
            return;
        }
        self.bytes += bytes.len() as u64;
        let Some(text) = text::from_bytes(&bytes, false) else { return };
        if let Some(hit) = hit(&self.words, text, path) {
            self.hits.push(hit);
        }
    }

    fn report(mut self, query: &str, path: &str) -> String {
        let mut lines = Vec::new();
        // The most hits first; names settle what is equal.
        self.hits.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.file.cmp(&b.file)));
        if self.hits.is_empty() {
            lines.push(format!("[no file in {path} has all of: {query}]"));
        }
        for hit in self.hits.iter().take(FILES_SHOWN_MAX) {
            for (number, line) in &hit.lines {
                lines.push(format!("{}:{number}: {line}", hit.file));
            }
        }
        if self.hits.len() > FILES_SHOWN_MAX {
            lines.push(format!("[cut: the best {FILES_SHOWN_MAX} of {} files]", self.hits.len()));
        }
        if self.skipped > 0 {
            lines.push(format!("[not searched: {} files larger than 1 MiB]", self.skipped));
        }
        if let Some(what) = self.cut {
            lines.push(format!("[not searched: {what}]"));
        }
        lines.join("\n")
    }
}

fn hit(words: &[String], text: &str, file: String) -> Option<Hit> {
    let mut seen = vec![false; words.len()];
    let mut count = 0;
    // Lines with how many different words each has.
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let small = line.to_lowercase();
        let mut different = 0;
        for (word, seen) in words.iter().zip(&mut seen) {
            let times = small.matches(word.as_str()).count();
            if times > 0 {
                *seen = true;
                different += 1;
                count += times;
            }
        }
        if different > 0 {
            found.push((different, number + 1, line));
        }
    }
    if seen.contains(&false) {
        return None;
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.truncate(LINES_OF_A_FILE_MAX);
    found.sort_by_key(|(_, number, _)| *number);
    let lines = found.into_iter().map(|(_, n, line)| (n, line.trim().chars().take(LINE_CHARS_MAX).collect()));
    Some(Hit { file, count, lines: lines.collect() })
}
