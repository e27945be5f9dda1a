//! `log/checkpoints`: signed notes, one after the other, five lines each. The last five lines are the newest one.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::note::{Checkpoint, DASH, Note};

/// A note is shorter than this: what a crash left of one is, too.
const NOTE_BYTES_MAX: u64 = 1024;

/// A checkpoint and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The line of the file where it begins, from 1.
    pub line: usize,
    /// What it says.
    pub checkpoint: Checkpoint,
    /// Who signed it.
    pub note: Note,
}

/// Reads all notes; of what is none, the lines where it begins.
pub fn parse(text: &str) -> (Vec<Found>, Vec<usize>) {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut found, mut bad) = (Vec::new(), Vec::new());
    let (mut at, mut lost) = (0, false);
    while at < lines.len() {
        match note_at(&lines[at..]) {
            Some((count, checkpoint, note)) => {
                found.push(Found { line: at + 1, checkpoint, note });
                at += count;
                lost = false;
            }
            None => {
                if !lost {
                    bad.push(at + 1);
                }
                lost = true;
                at += 1;
            }
        }
    }
    (found, bad)
}

/// The note that these lines begin with, and how many they are.
fn note_at(lines: &[&str]) -> Option<(usize, Checkpoint, Note)> {
    let text = lines.get(..3)?;
    if *lines.get(3)? != "\n" {
        return None;
    }
    let signatures = lines[4..].iter().take_while(|line| line.starts_with(DASH)).count();
    let count = 4 + signatures;
    let note = Note::parse(&lines[..count].concat()).ok()?;
    Some((count, Checkpoint::parse(&text.concat()).ok()?, note))
}

/// How many lines the newest checkpoint of the file has; 0 if there is none.
pub fn newest(path: &Path) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    parse(&text).0.last().map_or(0, |found| found.checkpoint.size)
}

/// Adds a note durably, or nothing. What a crash left of one is cut off first.
pub fn add(path: &Path, note: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    let length = file.metadata()?.len();
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(2 * NOTE_BYTES_MAX)))?;
    file.read_to_end(&mut end)?;
    let torn = torn_bytes(&end).filter(|torn| *torn <= NOTE_BYTES_MAX).unwrap_or(0);
    let before = length - torn;
    if torn > 0 {
        file.set_len(before)?;
    }
    let written = file.write_all(note.as_bytes()).and_then(|()| file.sync_data());
    if written.is_err() {
        file.set_len(before)?;
    }
    written
}

/// How much follows the last signature.
fn torn_bytes(end: &[u8]) -> Option<u64> {
    let mut behind = end.len();
    for line in end.split_inclusive(|byte| *byte == b'\n').rev() {
        if line.starts_with(DASH.as_bytes()) && line.ends_with(b"\n") {
            return Some((end.len() - behind) as u64);
        }
        behind -= line.len();
    }
    Some(end.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::note::Signer;
    use super::super::tree::Tree;
    use super::*;

    fn note(size: u64) -> String {
        let mut tree = Tree::default();
        (0..size).for_each(|n| tree.push([u8::try_from(n).unwrap(); 32]));
        Signer::new("synod/1", &[1; 32]).unwrap().sign(&Checkpoint::of("synod/1", &tree).to_string())
    }

    #[test]
    fn notes_are_found_and_what_is_none_is_named() {
        let text = format!("{}{}junk\nmore\n{}", note(1), note(2), note(3));
        let (found, bad) = parse(&text);
        assert_eq!(
            found.iter().map(|f| (f.line, f.checkpoint.size)).collect::<Vec<_>>(),
            [(1, 1), (6, 2), (13, 3)]
        );
        assert_eq!(bad, [11]);
    }

    #[test]
    fn a_torn_note_is_replaced_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoints");
        for cut in 0..note(2).len() {
            std::fs::write(&path, format!("{}{}", note(1), note(2).get(..cut).unwrap_or_default())).unwrap();
            add(&path, &note(3)).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}{}", note(1), note(3)), "{cut}");
        }
    }
}
