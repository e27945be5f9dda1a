//! Writing the log: lines that only ever follow, each batch on the disk before it counts, and signed checkpoints.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use domain::layout;
use domain::settings;

use super::line::{Kind, LINE_BYTES_MAX, Line, Link, NO_PREV};
use super::memory::{Keeper, Memory, Next};
use super::note::{Checkpoint, Signer};
use super::tree::{Tree, hash, leaf};
use super::{CHECKPOINTS, KEY, KEYS, LOG, checkpoints};

/// Names a key file outside the home, before `audit.key_file` of the settings.
pub const KEY_VARIABLE: &str = "SYNOD_AUDIT_KEY";

/// So many times something is put aside before a person must look.
const ASIDE_MAX: u32 = 1000;

/// The log of a home, open for one writer.
#[derive(Debug)]
pub struct Log {
    home: PathBuf,
    file: File,
    /// What stands on the disk.
    at: Memory,
    keeper: Keeper,
    /// The last line's event, and how many lines that event has so far.
    last: (u64, usize),
    /// The name of this log: it begins with its first line.
    origin: String,
    settings: settings::Audit,
    signer: Option<Signer>,
    /// The file ends in the middle of a line that is not ours to cut.
    torn: bool,
    /// What a start found that belongs into the log as a line of its own: which action, and what there is to say.
    found: Option<(&'static str, String)>,
    /// A checkpoint that others were not told of.
    signed: Option<Checkpoint>,
    /// What people should be told.
    complaint: Option<String>,
}

/// What the journal that belongs to the home is, for a log that goes on.
#[derive(Debug, Clone, Copy)]
pub struct Journal {
    /// Its last event.
    pub last: u64,
    /// Events up to this one were told, or happened before there was a log.
    pub told: u64,
    /// When the home was opened.
    pub at: domain::id::Time,
}

impl Log {
    /// Opens the log, repairs a torn end, and notes a new journal or key.
    pub fn open(home: &Path, settings: &settings::Audit, journal: Journal) -> io::Result<Self> {
        std::fs::create_dir_all(home.join(layout::LOG))?;
        let file = OpenOptions::new().read(true).append(true).create(true).open(home.join(LOG))?;
        let mut log = Self {
            home: home.to_owned(),
            file,
            at: Memory {
                journal: String::new(),
                event: 0,
                tree: Tree::default(),
                bytes: 0,
                head: NO_PREV,
                checkpointed: 0,
                closed: false,
                next: None,
            },
            keeper: Keeper::open(home)?,
            found: None,
            last: (0, 0),
            origin: String::new(),
            settings: settings.clone(),
            signer: None,
            torn: false,
            signed: None,
            complaint: None,
        };
        if log.file.metadata()?.len() == 0 {
            // The name of a new file is durable only when its folder is.
            File::open(home.join(layout::LOG))?.sync_all()?;
        }
        match Memory::load(home) {
            Some(memory) => log.go_on(memory)?,
            None => log.read_all()?,
        }
        log.at.closed = false;
        log.begin(journal)?;
        Ok(log)
    }

    /// How many lines there are.
    pub fn size(&self) -> u64 {
        self.at.tree.size()
    }

    /// All events up to this one are told.
    pub fn event(&self) -> u64 {
        self.at.event
    }

    /// The last line's event, and how many lines it has.
    pub fn last(&self) -> (u64, usize) {
        self.last
    }

    /// What people should be told, once.
    pub fn take_complaint(&mut self) -> Option<String> {
        self.complaint.take()
    }

    /// A checkpoint that was signed since the last time.
    pub fn take_signed(&mut self) -> Option<Checkpoint> {
        self.signed.take()
    }

    /// Goes on from what is remembered; only what was written after it is read.
    fn go_on(&mut self, memory: Memory) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        self.origin = match self.first_line()? {
            Some(line) if memory.tree.size() > 0 => origin_of(&line),
            Some(_) | None => String::new(),
        };
        self.last = (memory.event, usize::MAX);
        self.at = memory;
        if length < self.at.bytes {
            self.complaint =
                Some(format!("{LOG} is shorter than what was written; `synod audit verify` names the line"));
            self.torn = length > 0 && !self.ends_with_line(length)?;
            return Ok(());
        }
        if let Some(next) = self.at.next.take().filter(|next| next.bytes <= length) {
            self.take_next(next)?;
        }
        if length > self.at.bytes {
            self.put_aside(length)?;
        }
        Ok(())
    }

    /// Takes over the lines that were being written at the last stop, if they are those and no others.
    fn take_next(&mut self, next: Next) -> io::Result<()> {
        let mut bytes = vec![0; usize::try_from(next.bytes - self.at.bytes).unwrap_or_default()];
        self.file.seek(SeekFrom::Start(self.at.bytes))?;
        self.file.read_exact(&mut bytes)?;
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let mut head = self.at.head;
        for line in &lines {
            let Some(line) = line.strip_suffix(b"\n") else { return Ok(()) };
            if Link::of(line).is_none_or(|(link, _)| link.prev != head) {
                return Ok(());
            }
            head = hash(line);
        }
        if head != next.head {
            return Ok(());
        }
        for line in lines.into_iter().filter_map(|line| line.strip_suffix(b"\n")) {
            self.adopt(line, Line::parse(line));
        }
        self.at.bytes = next.bytes;
        self.at.event = self.at.event.max(next.event);
        Ok(())
    }

    /// Takes off what follows the lines that Synod knows to be its own. Half a line is what a crash leaves; all else is
    /// kept, so that it can be seen. What it should have told of is told again.
    fn put_aside(&mut self, length: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.at.bytes))?;
        let mut rest = BufReader::new(self.file.try_clone()?).take(length - self.at.bytes);
        let mut first = Vec::new();
        rest.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut first)?;
        if first.ends_with(b"\n") || first.len() >= LINE_BYTES_MAX {
            let (name, mut aside) = self.new_file_aside()?;
            aside.write_all(&first)?;
            io::copy(&mut rest, &mut aside)?;
            aside.sync_all()?;
            File::open(self.home.join(layout::LOG))?.sync_all()?;
            let note = format!(
                "{} bytes that Synod does not know to be its own stand in {name}",
                length - self.at.bytes
            );
            self.complaint = Some(format!("{LOG} had more than was written: {note}"));
            self.found = Some(("aside", note));
        }
        self.file.set_len(self.at.bytes)?;
        self.file.sync_data()
    }

    fn new_file_aside(&self) -> io::Result<(String, File)> {
        for number in 1..ASIDE_MAX {
            let name = format!("log/audit-aside-{number}.jsonl");
            match OpenOptions::new().write(true).create_new(true).open(self.home.join(&name)) {
                Ok(file) => return Ok((name, file)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!(
            "there are {ASIDE_MAX} files log/audit-aside-*.jsonl; look at them and take them away"
        )))
    }

    /// Without memory, what stands in the file is believed: the chain goes on from its last line.
    fn read_all(&mut self) -> io::Result<()> {
        let mut reader = BufReader::with_capacity(1 << 16, self.file.try_clone()?);
        reader.seek(SeekFrom::Start(0))?;
        let (mut bytes, mut good, mut strange) = (Vec::new(), 0, false);
        loop {
            bytes.clear();
            let count = reader.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut bytes)?;
            if count == 0 {
                break;
            }
            let Some(line) = bytes.strip_suffix(b"\n") else {
                strange = count >= LINE_BYTES_MAX;
                break;
            };
            let link = Link::of(line);
            let follows =
                |(link, _): &(Link, Line)| link.seq == self.at.tree.size() && link.prev == self.at.head;
            if !link.as_ref().is_some_and(follows) {
                self.complaint = Some(format!("{LOG} was changed; `synod audit verify` names the line"));
            }
            self.adopt(line, link.map(|(_, line)| line));
            good += count as u64;
        }
        let length = self.file.metadata()?.len();
        if strange {
            // Somebody else wrote this. It stays, so that it can be seen; the chain goes on behind it.
            self.torn = !self.ends_with_line(length)?;
        } else if length > good {
            // A line that was being written when the process ended. What it told of is told again.
            self.file.set_len(good)?;
            self.file.sync_data()?;
        }
        self.at.bytes = if strange { length } else { good };
        self.at.event = self.last.0;
        self.at.checkpointed = checkpoints::newest(&self.home.join(CHECKPOINTS)).min(self.size());
        if self.size() > 0 {
            let note =
                "what Synod remembered of this log was gone: the lines before are believed as they stand";
            self.found = Some(("memory", note.to_owned()));
        }
        Ok(())
    }

    fn adopt(&mut self, bytes: &[u8], line: Option<Line>) {
        if self.size() == 0 {
            self.origin = origin_of(bytes);
        }
        self.at.tree.push(leaf(bytes));
        self.at.head = hash(bytes);
        let Some(line) = line else { return };
        if line.kind == Kind::Log {
            if line.action == "journal" {
                self.at.journal = line.act;
                self.last = (0, 0);
            }
            return;
        }
        self.last = match self.last {
            (event, lines) if event == line.event && lines != usize::MAX => (event, lines + 1),
            _ => (line.event, 1),
        };
    }

    /// Notes a journal that begins anew, and a key that was not used before.
    fn begin(&mut self, journal: Journal) -> io::Result<()> {
        let at = formats::time::print(journal.at);
        let told = self.at.event.max(self.last.0);
        if self.at.journal.is_empty() || journal.last < told {
            let mut random = [0; 8];
            getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
            let id = HEXLOWER.encode(&random);
            let note = match self.size() {
                0 => "this log begins",
                _ => "the journal was lost; events are counted from 1 again",
            };
            let line = Line {
                action: "journal".to_owned(),
                act: id.clone(),
                by: "synod".to_owned(),
                note: note.to_owned(),
                ..Line::new(Kind::Log, at.clone(), 0, "began")
            };
            // With the journal the memory was lost too; one line says so.
            self.found = self.found.take().filter(|(action, _)| *action != "memory");
            self.at.journal = id;
            self.at.event = 0;
            self.write(&mut [line], 0)?;
            self.last = (0, 0);
        }
        self.at.event = self.at.event.max(journal.told);
        if let Some((action, note)) = self.found.take() {
            let line = Line {
                action: action.to_owned(),
                by: "synod".to_owned(),
                note,
                ..Line::new(Kind::Log, at.clone(), self.at.event, "found")
            };
            self.write(&mut [line], self.at.event)?;
        }
        self.use_key(&at)?;
        self.remember();
        Ok(())
    }

    /// Takes over settings that changed.
    pub fn set(&mut self, settings: &settings::Audit, at: domain::id::Time) -> io::Result<()> {
        let key_changed = self.settings.key_file != settings.key_file;
        self.settings = settings.clone();
        if key_changed { self.use_key(&formats::time::print(at)) } else { Ok(()) }
    }

    /// Finds or makes the key, and notes it if it is another one than before.
    fn use_key(&mut self, at: &str) -> io::Result<()> {
        self.signer = match self.find_key() {
            Ok(signer) => Some(signer),
            Err(error) => {
                self.complaint = Some(format!("the audit log is written but not signed: {error}"));
                return Ok(());
            }
        };
        let Some(signer) = &self.signer else { return Ok(()) };
        let verifier = signer.verifier().to_string();
        let known = std::fs::read_to_string(self.home.join(KEYS)).unwrap_or_default();
        if known.lines().last() == Some(&verifier) {
            return Ok(());
        }
        let line = Line {
            action: "key".to_owned(),
            by: "synod".to_owned(),
            note: verifier.clone(),
            ..Line::new(Kind::Log, at.to_owned(), self.at.event, "used")
        };
        self.write(&mut [line], self.at.event)?;
        let mut keys = OpenOptions::new().append(true).create(true).open(self.home.join(KEYS))?;
        if !known.is_empty() && !known.ends_with('\n') {
            keys.write_all(b"\n")?;
        }
        keys.write_all(format!("{verifier}\n").as_bytes())?;
        keys.sync_data()
    }

    fn find_key(&self) -> io::Result<Signer> {
        let given = std::env::var(KEY_VARIABLE).ok().filter(|path| !path.is_empty());
        let given = given.or_else(|| self.settings.key_file.clone());
        if let Some(given) = given {
            let path = self.home.join(given);
            let text = std::fs::read_to_string(&path);
            let named = |error: String| io::Error::other(format!("{}: {error}", path.display()));
            let text = text.map_err(|error| named(error.to_string()))?;
            if std::fs::metadata(&path)?.permissions().mode() & 0o077 != 0 {
                return Err(named("others may read this key; `chmod 600` it".to_owned()));
            }
            return Signer::parse(&text).map_err(|error| named(error.to_string()));
        }
        let path = self.home.join(KEY);
        match std::fs::read_to_string(&path) {
            Ok(text) => Signer::parse(&text).map_err(|error| io::Error::other(format!("{KEY}: {error}"))),
            Err(error) if error.kind() == ErrorKind::NotFound => self.make_key(&path),
            Err(error) => Err(error),
        }
    }

    fn make_key(&self, path: &Path) -> io::Result<Signer> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| io::Error::other(error.to_string()))?;
        let signer =
            Signer::new(&self.origin, &seed).ok_or_else(|| io::Error::other("the log has no name yet"))?;
        std::fs::create_dir_all(self.home.join(layout::OWN))?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(format!("{}\n", signer.secret()).as_bytes())?;
        file.sync_all()?;
        Ok(signer)
    }

    /// Adds the lines of events up to `event`: all of them durably, or none.
    pub fn append(&mut self, lines: &mut [Line], event: u64) -> io::Result<()> {
        self.write(lines, event)?;
        self.at.event = self.at.event.max(event);
        if self.size() - self.at.checkpointed >= self.settings.checkpoint_every {
            self.checkpoint();
        }
        self.remember();
        Ok(())
    }

    fn write(&mut self, lines: &mut [Line], event: u64) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let (mut tree, mut head, mut last) = (self.at.tree.clone(), self.at.head, self.last);
        let mut bytes = Vec::with_capacity(lines.len() * 512);
        let mut origin = self.origin.clone();
        if self.torn {
            bytes.push(b'\n');
        }
        for line in lines {
            let encoded = line.encode(tree.size(), &head);
            if tree.size() == 0 {
                origin = origin_of(&encoded);
            }
            tree.push(leaf(&encoded));
            head = hash(&encoded);
            bytes.extend_from_slice(&encoded);
            bytes.push(b'\n');
            if line.kind != Kind::Log {
                let again = last.0 == line.event && last.1 != usize::MAX;
                last = (line.event, if again { last.1 + 1 } else { 1 });
            }
        }
        let before = self.file.metadata()?.len();
        // Said before it is done: whatever else follows after a crash is not Synod's.
        self.at.next = Some(Next { event, bytes: before + bytes.len() as u64, head });
        self.remember();
        self.at.next = None;
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Half a line must not stay: the next one would stand on it.
            self.file.set_len(before)?;
            return Err(error);
        }
        self.at.bytes = before + bytes.len() as u64;
        (self.at.tree, self.at.head, self.last, self.origin) = (tree, head, last, origin);
        self.torn = false;
        Ok(())
    }

    /// Signs what stands there now. A failure is told; the next checkpoint covers what this one did not.
    fn checkpoint(&mut self) {
        let Some(signer) = &self.signer else { return };
        let note = signer.sign(&Checkpoint::of(&self.origin, &self.at.tree).to_string());
        match checkpoints::add(&self.home.join(CHECKPOINTS), &note) {
            Ok(()) => {
                self.at.checkpointed = self.size();
                self.signed = Some(Checkpoint::of(&self.origin, &self.at.tree));
            }
            Err(error) => self.complaint = Some(format!("{CHECKPOINTS} cannot be written: {error}")),
        }
    }

    fn remember(&mut self) {
        if let Err(error) = self.keeper.save(&self.at) {
            self.complaint = Some(format!(".synod/audit.json cannot be written: {error}"));
        }
    }

    /// Ends in good order: everything is signed.
    pub fn close(&mut self) {
        if self.at.checkpointed != self.size() {
            self.checkpoint();
        }
        self.at.closed = true;
        self.remember();
    }

    fn first_line(&self) -> io::Result<Option<Vec<u8>>> {
        let mut reader = BufReader::new(File::open(self.home.join(LOG))?);
        let mut line = Vec::new();
        reader.by_ref().take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)?;
        Ok(line.strip_suffix(b"\n").map(<[u8]>::to_vec))
    }

    fn ends_with_line(&mut self, length: u64) -> io::Result<bool> {
        let mut last = [b'\n'];
        if length > 0 {
            self.file.seek(SeekFrom::Start(length - 1))?;
            self.file.read_exact(&mut last)?;
        }
        Ok(last == *b"\n")
    }
}

/// The name of the log that begins with this line.
pub fn origin_of(first: &[u8]) -> String {
    format!("synod/{}", &HEXLOWER.encode(&hash(first))[..16])
}
