//! Checking the log against itself, its checkpoints, what Synod remembers and what git remembers. Names the first line
//! that is not as it was written, and what became of it. Reads the log once, in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use data_encoding::HEXLOWER;
use domain::layout;

use super::checkpoints;
use super::history;
use super::line::{Kind, LINE_BYTES_MAX, Line, Link, NO_PREV};
use super::log::origin_of;
use super::memory::Memory;
use super::note::{Check, Checkpoint, Note, Verifier};
use super::tree::{Hash, Tree, leaf};
use super::{CHECKPOINTS, KEYS, LOG};

/// So many faults of checkpoints are told.
const FAULTS_MAX: usize = 20;

/// What to check against, beside the files of the home.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Keys that are trusted; if there are none, those that the log names.
    pub keys: Vec<Verifier>,
    /// Checkpoints that somebody kept elsewhere: where, and their text.
    pub kept: Vec<(String, String)>,
    /// Whether git must be asked; it is asked anyway if the home is a repository.
    pub git: bool,
    /// Whether Synod works in the home now, so that the log may grow meanwhile.
    pub live: bool,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It is not as it was written.
    Changed,
    /// It and perhaps more are gone.
    Removed,
    /// It stands elsewhere.
    Reordered,
    /// It was not written by Synod.
    Added,
    /// The log ends before it.
    Cut,
    /// It or lines before it were written anew, and the chain with them.
    Rewritten,
    /// A checkpoint is not good.
    Unsigned,
}

impl What {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Reordered => "reordered",
            Self::Added => "added",
            Self::Cut => "cut",
            Self::Rewritten => "rewritten",
            Self::Unsigned => "unsigned",
        }
    }
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// `log/audit.jsonl`, or where the checkpoint stands.
    pub file: String,
    /// Which line of it, from 1.
    pub line: u64,
    /// What became of it.
    pub what: What,
    /// How that is known.
    pub why: String,
}

/// What came of the check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Good lines from the first on.
    pub lines: u64,
    /// The name of the log.
    pub origin: String,
    /// Checkpoints that fit, wherever they were found.
    pub checkpoints: usize,
    /// How many lines the newest of them has.
    pub signed: u64,
    /// The keys that signed them.
    pub keys: Vec<String>,
    /// Commits that were looked at; `None` if the home is no repository.
    pub commits: Option<usize>,
    /// The first bad line, then bad checkpoints.
    pub faults: Vec<Fault>,
    /// What a person should know, and which proves nothing.
    pub warnings: Vec<String>,
}

impl Report {
    /// Whether everything is as it was written.
    pub fn is_good(&self) -> bool {
        self.faults.is_empty()
    }
}

/// What the log was at one size, by somebody's word.
struct Expected {
    size: u64,
    root: Hash,
    /// `log/checkpoints`, `.synod/audit.json`, a file, a commit.
    from: String,
    /// The line there, from 1.
    line: usize,
    /// Signed, or Synod's own memory.
    note: Option<(Checkpoint, Note)>,
    fits: bool,
}

/// Checks the log of a home.
pub fn verify(home: &Path, wanted: &Wanted) -> io::Result<Report> {
    let mut report = Report::default();
    // Before the log, which grows meanwhile.
    let memory = Memory::load(home);
    let mut expected = Vec::new();
    for (from, text) in sources(home, wanted, &mut report)? {
        let (found, bad) = checkpoints::parse(&text);
        for line in bad {
            let why = "this is not a checkpoint".to_owned();
            report.faults.push(Fault { file: from.clone(), line: line as u64, what: What::Unsigned, why });
        }
        expected.extend(found.into_iter().map(|found| Expected {
            size: found.checkpoint.size,
            root: found.checkpoint.root,
            from: from.clone(),
            line: found.line,
            note: Some((found.checkpoint, found.note)),
            fits: false,
        }));
    }
    expected.extend(memory.as_ref().map(|memory| Expected {
        size: memory.tree.size(),
        root: memory.tree.root(),
        from: layout::AUDIT_MEMORY.to_owned(),
        line: 1,
        note: None,
        fits: false,
    }));
    expected.sort_by_key(|e| e.size);
    let file = match File::open(home.join(LOG)) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut walk = Walk::new(memory.as_ref(), wanted.live);
    if let Some(file) = file {
        walk.run(&mut Lines::new(file), &mut expected)?;
    }
    walk.look_at_end(&expected, memory.as_ref());
    report.lines = walk.tree.size();
    report.origin = walk.origin.clone();
    report.warnings.append(&mut walk.warnings);
    // A line says more than a checkpoint: it comes first.
    report.faults.splice(0..0, walk.fault.take());
    check_signatures(home, wanted, &walk.keys, &expected, &mut report);
    report.faults.truncate(FAULTS_MAX);
    Ok(report)
}

/// All texts with checkpoints.
fn sources(home: &Path, wanted: &Wanted, report: &mut Report) -> io::Result<Vec<(String, String)>> {
    let mut sources = Vec::new();
    match std::fs::read(home.join(CHECKPOINTS)) {
        Ok(bytes) => sources.push((CHECKPOINTS.to_owned(), String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    sources.extend(wanted.kept.iter().cloned());
    match history::checkpoints(home) {
        Ok(Some(history)) => {
            report.commits = Some(history.commits);
            sources.extend(history.texts);
            report.warnings.extend(history.warning);
        }
        Ok(None) if wanted.git => {
            return Err(io::Error::other(
                "the home is no git repository, so there is no history to check against",
            ));
        }
        Ok(None) => {}
        Err(error) if wanted.git => return Err(io::Error::other(error)),
        Err(error) => report.warnings.push(format!("git was not asked: {error}")),
    }
    Ok(sources)
}

/// The walk along the chain.
struct Walk<'a> {
    memory: Option<&'a Memory>,
    live: bool,
    tree: Tree,
    head: Hash,
    origin: String,
    /// Keys that the log names, and the line that does.
    keys: Vec<(u64, String)>,
    /// The last event of the journal that is told of.
    event: u64,
    fault: Option<Fault>,
    warnings: Vec<String>,
}

impl<'a> Walk<'a> {
    fn new(memory: Option<&'a Memory>, live: bool) -> Self {
        Self {
            memory,
            live,
            tree: Tree::default(),
            head: NO_PREV,
            origin: String::new(),
            keys: Vec::new(),
            event: 0,
            fault: None,
            warnings: Vec::new(),
        }
    }

    fn run(&mut self, lines: &mut Lines, expected: &mut [Expected]) -> io::Result<()> {
        let mut next = 0;
        // The newest size at which everything was as somebody said, and who said otherwise after that.
        let (mut sure, mut doubt) = (0, None);
        loop {
            while let Some(e) = expected.get_mut(next).filter(|e| e.size <= self.tree.size()) {
                next += 1;
                e.fits = e.size == self.tree.size() && e.root == self.tree.root();
                if e.fits {
                    sure = e.size;
                } else if doubt.is_none() {
                    doubt = Some(format!("{}:{}", e.from, e.line));
                }
            }
            let is_last = !lines.next()?;
            let number = self.tree.size();
            let link = if is_last { None } else { Link::of(&lines.bytes).filter(|_| lines.whole) };
            let follows = link.as_ref().is_some_and(|(link, _)| link.seq == number && link.prev == self.head);
            match (doubt.take(), link) {
                // The next line tells better what became of this one, unless it was made to fit.
                (Some(from), _) if is_last || follows => {
                    self.fault = Some(rewritten(sure, number, is_last, &from));
                    return Ok(());
                }
                (_, _) if is_last => return Ok(()),
                (_, Some((link, line))) if follows => self.take(lines, link, line),
                (_, link) => {
                    if !self.is_being_written(lines) {
                        self.fault = Some(self.explain(link, lines, &expected[next..])?);
                    }
                    return Ok(());
                }
            }
        }
    }

    fn take(&mut self, lines: &Lines, link: Link, line: Line) {
        let number = self.tree.size();
        if number == 0 {
            self.origin = origin_of(&lines.bytes);
        }
        self.tree.push(leaf(&lines.bytes));
        self.head = link.hash;
        if line.kind == Kind::Log {
            match line.action.as_str() {
                "key" => self.keys.push((number, line.note)),
                "journal" if number > 0 => {
                    self.event = 0;
                    self.warnings.push(format!("line {}: {}", number + 1, line.note));
                }
                "aside" | "memory" => self.warnings.push(format!("line {}: {}", number + 1, line.note)),
                _ => {}
            }
            return;
        }
        if link.event < self.event {
            let text =
                format!("line {}: event {} is told after event {}", number + 1, link.event, self.event);
            self.warnings.push(text);
        }
        self.event = link.event;
    }

    /// The end of a line that Synod writes at this moment.
    fn is_being_written(&self, lines: &Lines) -> bool {
        self.live && !lines.whole && self.memory.is_none_or(|memory| memory.tree.size() <= self.tree.size())
    }

    /// What became of the line that should stand here.
    fn explain(
        &self,
        this: Option<(Link, Line)>,
        lines: &mut Lines,
        expected: &[Expected],
    ) -> io::Result<Fault> {
        let number = self.tree.size();
        let whole = lines.whole;
        let fault =
            |line: u64, what: What, why: String| Fault { file: LOG.to_owned(), line: line + 1, what, why };
        let ahead = Ahead::look(lines, number, &self.head)?;
        if let Some(k) = ahead.true_line {
            let is_later = this.as_ref().is_some_and(|(link, _)| link.seq > number);
            let moved = if ahead.has_behind { !ahead.behind_follows } else { is_later };
            return Ok(if moved {
                fault(number, What::Reordered, format!("the line that belongs here stands at line {}", k + 1))
            } else {
                fault(number, What::Added, format!("the line before is followed by line {}", k + 1))
            });
        }
        let known = expected.iter().map(|e| e.size).max();
        let Some((link, line)) = this else {
            if known.or(self.memory.map(|m| m.tree.size())).is_none_or(|size| size <= number) && number > 0 {
                return Ok(fault(number, What::Added, "it is no line of the log".to_owned()));
            }
            let why = if whole { "it is no line of the log" } else { "its end is missing" };
            return Ok(fault(number, What::Changed, why.to_owned()));
        };
        if link.prev == self.head {
            return Ok(fault(number, What::Changed, format!("it says that its number is {}", link.seq)));
        }
        if link.seq > number {
            let why = match link.seq - number {
                1 => "it is missing".to_owned(),
                _ => format!("lines {} to {} are missing", number + 1, link.seq),
            };
            return Ok(fault(number, What::Removed, why));
        }
        if link.seq < number {
            let is_more = known.is_none_or(|size| size <= number);
            let what = if is_more { What::Added } else { What::Changed };
            return Ok(fault(number, what, format!("line {} stands here", link.seq + 1)));
        }
        // This line names another hash than the one before has. One of the two was changed.
        let this_is_good = match ahead.next_prev {
            Some(prev) => prev == link.hash,
            None => self.last_is_good(link, line, expected),
        };
        Ok(if this_is_good && number > 0 {
            fault(number - 1, What::Changed, "its hash is not the one that the next line has".to_owned())
        } else {
            fault(number, What::Changed, "it does not have the hash of the line before".to_owned())
        })
    }

    /// Whether the last line is as it was written, though it does not fit the one before.
    fn last_is_good(&self, link: Link, mut line: Line, expected: &[Expected]) -> bool {
        let size = self.tree.size() + 1;
        if let Some(memory) = self.memory.filter(|memory| memory.tree.size() == size) {
            return memory.head == link.hash;
        }
        // If only its `prev` was changed, putting the right one back gives what was signed.
        let mended = line.encode(self.tree.size(), &self.head);
        let mut tree = self.tree.clone();
        tree.push(leaf(&mended));
        !expected.iter().any(|e| e.size == size && e.root == tree.root())
    }

    /// Whether the log ends where it should.
    fn look_at_end(&mut self, expected: &[Expected], memory: Option<&Memory>) {
        if self.fault.is_some() {
            return;
        }
        let lines = self.tree.size();
        if let Some(e) = expected.iter().rev().find(|e| e.size > lines) {
            let why = format!("the log ends here; {}:{} says that it had {} lines", e.from, e.line, e.size);
            self.fault = Some(Fault { file: LOG.to_owned(), line: lines + 1, what: What::Cut, why });
            return;
        }
        match memory {
            Some(memory) if lines > memory.tree.size() && !self.live => {
                let first = memory.tree.size() + 1;
                let why = match memory.next {
                    Some(next) if next.head == self.head => return,
                    Some(_) => "Synod was writing something else when it ended",
                    None if memory.closed => "Synod stopped in good order before it",
                    None => "Synod does not remember it; only after a power cut it may be Synod's own",
                };
                let why = why.to_owned();
                self.fault = Some(Fault { file: LOG.to_owned(), line: first, what: What::Added, why });
            }
            Some(_) | None => {}
        }
    }
}

/// The chain fits, but not what was said of it: lines since `sure` were written anew.
fn rewritten(sure: u64, size: u64, is_last: bool, from: &str) -> Fault {
    let (line, what, why) = if is_last {
        // Nothing stands on the last line, so it needs no new chain.
        let or =
            if sure + 1 < size { format!(", or lines from {} on were", sure + 1) } else { String::new() };
        (size, What::Changed, format!("{from} says otherwise; this line was changed{or}"))
    } else {
        let why = format!("{from} says otherwise; lines {} to {size} were written anew", sure + 1);
        (sure + 1, What::Rewritten, why)
    };
    Fault { file: LOG.to_owned(), line, what, why }
}

/// What stands behind a line that does not fit.
#[derive(Default)]
struct Ahead {
    /// The hash that the next line gives the one before.
    next_prev: Option<Hash>,
    /// Where the line stands that belongs here.
    true_line: Option<u64>,
    /// Whether there is a line behind that one, and whether it follows it.
    has_behind: bool,
    behind_follows: bool,
}

impl Ahead {
    fn look(lines: &mut Lines, number: u64, head: &Hash) -> io::Result<Self> {
        let mut ahead = Self::default();
        let (mut at, mut found) = (number, None);
        while lines.next()? {
            at += 1;
            let link = Link::of(&lines.bytes).map(|(link, _)| link);
            if at == number + 1 {
                ahead.next_prev = link.map(|link| link.prev);
            }
            if let Some(hash) = found {
                ahead.has_behind = true;
                ahead.behind_follows = link.is_some_and(|link| link.prev == hash);
                break;
            }
            if let Some(link) = link.filter(|link| link.seq == number && link.prev == *head) {
                ahead.true_line = Some(at);
                found = Some(link.hash);
            }
        }
        Ok(ahead)
    }
}

/// Checks who signed, once it is known which keys the log names.
fn check_signatures(
    home: &Path,
    wanted: &Wanted,
    named: &[(u64, String)],
    expected: &[Expected],
    report: &mut Report,
) {
    let trusted: Vec<Verifier> = match wanted.keys.as_slice() {
        [] => named.iter().filter_map(|(_, key)| Verifier::parse(key).ok()).collect(),
        given => given.to_vec(),
    };
    let unsigned = |e: &Expected, why: String| Fault {
        file: e.from.clone(),
        line: e.line as u64,
        what: What::Unsigned,
        why,
    };
    let mut signed_by: Option<String> = None;
    for e in expected {
        let Some((checkpoint, note)) = &e.note else { continue };
        let checks: Vec<(Check, &Verifier)> = trusted.iter().map(|key| (note.check(key), key)).collect();
        if let Some((_, key)) = checks.iter().find(|(check, _)| *check == Check::Bad) {
            report.faults.push(unsigned(e, format!("the signature of {key} is not good")));
            continue;
        }
        let Some((_, key)) = checks.iter().find(|(check, _)| *check == Check::Good) else {
            let whose = if wanted.keys.is_empty() { "that the log names" } else { "that is trusted" };
            let claimed = note.claimed().join(", ");
            report.faults.push(unsigned(e, format!("no key {whose} signed it; it claims {claimed}")));
            continue;
        };
        if !report.origin.is_empty() && checkpoint.origin != report.origin {
            let why = format!("it is of the log {}, this is {}", checkpoint.origin, report.origin);
            report.faults.push(unsigned(e, why));
            continue;
        }
        let key = key.to_string();
        if signed_by.as_ref().is_some_and(|before| *before != key) && wanted.keys.is_empty() {
            report.warnings.push(format!(
                "{}:{}: from here on another key signs ({key}), and the one before does not vouch for it",
                e.from, e.line
            ));
        }
        if e.fits {
            report.checkpoints += 1;
            report.signed = report.signed.max(e.size);
        }
        if !report.keys.contains(&key) {
            report.keys.push(key.clone());
        }
        signed_by = Some(key);
    }
    if !wanted.keys.is_empty() && report.checkpoints == 0 {
        let why = "no checkpoint is signed by a trusted key".to_owned();
        report.faults.push(Fault { file: CHECKPOINTS.to_owned(), line: 1, what: What::Unsigned, why });
    }
    let kept = std::fs::read_to_string(home.join(KEYS)).unwrap_or_default();
    if !kept.lines().eq(named.iter().map(|(_, key)| key.as_str())) && report.faults.is_empty() {
        report.warnings.push(format!("{KEYS} does not list the keys that the log names"));
    }
}

/// Lines of a file, none held longer than it is looked at.
struct Lines {
    reader: BufReader<File>,
    /// The line, without its end.
    bytes: Vec<u8>,
    /// Whether it had an end, and was not too long.
    whole: bool,
}

impl Lines {
    fn new(file: File) -> Self {
        Self { reader: BufReader::with_capacity(1 << 18, file), bytes: Vec::new(), whole: true }
    }

    /// Goes to the next line; says whether there is one.
    fn next(&mut self) -> io::Result<bool> {
        self.bytes.clear();
        let most = LINE_BYTES_MAX as u64;
        let mut count = self.reader.by_ref().take(most).read_until(b'\n', &mut self.bytes)?;
        if count == 0 {
            return Ok(false);
        }
        self.whole = self.bytes.pop_if(|byte| *byte == b'\n').is_some();
        let mut rest = Vec::new();
        while !self.whole && count > 0 && rest.last() != Some(&b'\n') {
            rest.clear();
            count = self.reader.by_ref().take(most).read_until(b'\n', &mut rest)?;
        }
        Ok(true)
    }
}

/// A hash for people.
pub fn hex(hash: &Hash) -> String {
    HEXLOWER.encode(hash)
}
