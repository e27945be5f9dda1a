//! The audit log: whatever happens to a line is found and the line is named; nothing is told twice or not at all.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use adapters::audit::line::{Kind, Line, NO_PREV};
use adapters::audit::note::{Check, Checkpoint, Note, Signer, Verifier};
use adapters::audit::tree::{Hash, hash};
use adapters::audit::verify::{Fault, Report, Wanted, What, verify};
use adapters::audit::{CHECKPOINTS, Given, Journal, KEY, KEYS, LOG, Listener, Log, Trail, given, spawn};
use domain::agent;
use domain::approval::{Answer, Outcome};
use domain::event::Event;
use domain::event::{AgentEvent, ApprovalEvent, SystemEvent};
use domain::id::{AgentId, ApprovalId, Seq, Time};
use domain::settings::{Audit, Settings};
use domain::state::State;
use policy::Policy;
use ports::printer::{Printer, Recorded};
use sha2::{Digest, Sha256};

const AT: Time = Time(1_767_225_600_000);
const LINES: u64 = 9;

fn line(event: u64) -> Line {
    let mut line = Line::new(Kind::Gate, formats::time::print(AT), event, "allow");
    line.agent = "coder-001".to_owned();
    line.action = "read_file".to_owned();
    line.args = format!("{{\"path\":\"memory/{event}.md\"}}");
    line
}

/// A home with a log of `LINES` lines, two of them the log's own, a checkpoint after 4 and one at the end.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let settings = Audit { checkpoint_every: 4, ..Audit::default() };
    let mut log = Log::open(home.path(), &settings, Journal { last: 0, told: 0, at: AT }).unwrap();
    for event in 1..=LINES - 2 {
        log.append(&mut [line(event)], event).unwrap();
    }
    log.close();
    home
}

fn read(home: &Path) -> Vec<u8> {
    std::fs::read(home.join(LOG)).unwrap()
}

fn check(home: &Path) -> Report {
    verify(home, &Wanted::default()).unwrap()
}

fn first(report: &Report) -> Option<(u64, What)> {
    report.faults.first().filter(|fault| fault.file == LOG).map(|fault| (fault.line, fault.what))
}

/// Every step of a log of this many bytes that a test looks at: all of them if asked for.
fn stride() -> usize {
    if std::env::var_os("SYNOD_AUDIT_ALL").is_some() { 1 } else { 29 }
}

#[test]
fn a_log_is_good_as_it_was_written() {
    let home = home();
    let report = check(home.path());
    assert!(report.is_good(), "{:?}", report.faults);
    assert_eq!((report.lines, report.checkpoints, report.signed), (LINES, 3, LINES));
    assert_eq!(report.warnings, Vec::<String>::new());
    let key = std::fs::read_to_string(home.path().join(KEYS)).unwrap();
    let wanted = Wanted { keys: vec![Verifier::parse(&key).unwrap()], ..Wanted::default() };
    assert!(verify(home.path(), &wanted).unwrap().is_good());
}

#[test]
fn the_log_says_which_ids_were_given_and_believes_only_its_own_words() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(given(home.path()).unwrap(), Given::default(), "there is no log");
    let mut log = Log::open(home.path(), &Audit::default(), Journal { last: 0, told: 0, at: AT }).unwrap();
    let new = |kind| Line::new(kind, formats::time::print(AT), 1, "allow");
    let delegated = |id: &str| Line { note: format!("{id}: a-1 → b-1"), ..new(Kind::Gate) };
    let reviewed = |args: &str| Line { args: args.to_owned(), ..new(Kind::Review) };
    let mut lines = vec![
        delegated("delegation-0009"),
        delegated("delegation-12345"),
        delegated("delegation-0010"),
        reviewed("review-0004 round 2: c0ffee"),
        reviewed("review-0003: c0ffee"),
        // Words of agents.
        Line { args: "delegation-99998: a".to_owned(), note: "a".to_owned(), ..new(Kind::Gate) },
        Line { note: "review-0098: a".to_owned(), ..reviewed("") },
        Line { note: "delegation-99997: a".to_owned(), ..new(Kind::Call) },
    ];
    log.append(&mut lines, 1).unwrap();
    log.close();
    // What a crash or somebody else left.
    let mut bytes = read(home.path());
    bytes.extend_from_slice(b"\xff\n{\"note\":\"delegation-99996: a\"}\n{\"note\":\"delegation-9");
    std::fs::write(home.path().join(LOG), bytes).unwrap();
    assert_eq!(given(home.path()).unwrap(), Given { delegations: 12345, reviews: 4 });
}

/// The line on which a byte stands, from 1; its line end belongs to it.
fn line_of(bytes: &[u8], at: usize) -> u64 {
    1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64
}

#[test]
fn any_byte_that_is_changed_removed_or_put_in_names_its_line() {
    let home = home();
    let good = read(home.path());
    for with_memory in [true, false] {
        if !with_memory {
            std::fs::remove_file(home.path().join(".synod/audit.json")).unwrap();
        }
        for at in (0..good.len()).step_by(stride()).chain([good.len() - 1]) {
            let mut tries: Vec<Vec<u8>> = Vec::new();
            for byte in [good[at] ^ 1, good[at] ^ 0x20, b'\n'] {
                let mut bytes = good.clone();
                bytes[at] = byte;
                tries.push(bytes);
            }
            let mut bytes = good.clone();
            bytes.remove(at);
            tries.push(bytes);
            for byte in [b'7', b'\n'] {
                let mut bytes = good.clone();
                bytes.insert(at, byte);
                tries.push(bytes);
            }
            for bytes in tries.into_iter().filter(|bytes| *bytes != good) {
                std::fs::write(home.path().join(LOG), &bytes).unwrap();
                let found = first(&check(home.path())).map(|(line, _)| line);
                // An empty line behind a whole one is a line of its own.
                let is_behind = good[at] == b'\n' && bytes.len() > good.len() && bytes[at] == b'\n';
                let line = line_of(&good, at) + u64::from(is_behind);
                let text = String::from_utf8_lossy(&bytes);
                assert_eq!(found, Some(line), "byte {at}, memory {with_memory}:\n{text}");
            }
        }
    }
}

#[test]
fn lines_that_are_dropped_swapped_doubled_or_cut_are_named() {
    let home = home();
    let good = read(home.path());
    let lines: Vec<&[u8]> = good.split_inclusive(|byte| *byte == b'\n').collect();
    let count = lines.len();
    let found = |lines: &[&[u8]]| {
        std::fs::write(home.path().join(LOG), lines.concat()).unwrap();
        first(&check(home.path()))
    };
    for with_memory in [true, false] {
        if !with_memory {
            std::fs::remove_file(home.path().join(".synod/audit.json")).unwrap();
        }
        for i in 0..count {
            let number = i as u64 + 1;
            let mut dropped = lines.clone();
            dropped.remove(i);
            let what = if i + 1 == count { What::Cut } else { What::Removed };
            assert_eq!(found(&dropped), Some((number, what)), "{i} dropped");
            assert_eq!(found(&lines[..i]), Some((number, What::Cut)), "cut before {i}");
            let mut doubled = lines.clone();
            doubled.insert(i, lines[i]);
            assert_eq!(found(&doubled), Some((number + 1, What::Added)), "{i} doubled");
            for j in i + 1..count {
                let mut swapped = lines.clone();
                swapped.swap(i, j);
                assert_eq!(found(&swapped), Some((number, What::Reordered)), "{i} and {j} swapped");
            }
        }
        let mut foreign = lines.clone();
        foreign.insert(3, b"{\"hello\":1}\n");
        assert_eq!(found(&foreign), Some((4, What::Added)));
    }
}

/// The lines from `from` on with a chain of their own, as one who knows the format would write them.
fn rechained(good: &[u8], from: usize, change: impl Fn(&mut Line)) -> Vec<u8> {
    let (mut head, mut bytes) = (NO_PREV, Vec::new());
    for (n, old) in good.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
        let mut line = Line::parse(old).unwrap();
        if n == from {
            change(&mut line);
        }
        let new = line.encode(n as u64, &head);
        head = hash(&new);
        bytes.extend_from_slice(&new);
        bytes.push(b'\n');
    }
    bytes
}

#[test]
fn a_chain_that_was_written_anew_is_found_by_its_checkpoints() {
    let home = home();
    let good = read(home.path());
    for from in 1..usize::try_from(LINES).unwrap() {
        let forged = rechained(&good, from, |line| line.outcome = "deny".to_owned());
        std::fs::write(home.path().join(LOG), forged).unwrap();
        let (line, what) = first(&check(home.path())).unwrap();
        assert!(matches!(what, What::Rewritten | What::Changed), "{from}: {what:?}");
        assert!(line <= from as u64 + 1 || what == What::Changed, "{from}: {line}");
    }
}

#[test]
fn a_log_that_was_signed_anew_is_found_by_whoever_kept_the_key_or_a_checkpoint() {
    let home = home();
    let kept = std::fs::read_to_string(home.path().join(CHECKPOINTS)).unwrap();
    let key = Verifier::parse(&std::fs::read_to_string(home.path().join(KEYS)).unwrap()).unwrap();
    // Somebody with the whole disk: other lines, another key, everything signed again.
    for path in [LOG, CHECKPOINTS, KEYS, KEY, ".synod/audit.json"] {
        std::fs::remove_file(home.path().join(path)).unwrap();
    }
    let settings = Audit { checkpoint_every: 4, ..Audit::default() };
    let mut log = Log::open(home.path(), &settings, Journal { last: 0, told: 0, at: AT }).unwrap();
    log.append(&mut [line(1), line(2), line(3)], 3).unwrap();
    log.close();
    assert!(check(home.path()).is_good(), "by itself it is a good log");
    let with_key = Wanted { keys: vec![key], ..Wanted::default() };
    assert!(!verify(home.path(), &with_key).unwrap().is_good());
    let with_checkpoint = Wanted { kept: vec![("kept".to_owned(), kept)], ..Wanted::default() };
    assert!(!verify(home.path(), &with_checkpoint).unwrap().is_good());
}

#[test]
fn a_checkpoint_that_was_changed_is_named() {
    let home = home();
    let path = home.path().join(CHECKPOINTS);
    let good = std::fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(stride()) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(!check(home.path()).is_good(), "byte {at}");
    }
}

/// Checks a checkpoint with nothing of ours but the file formats: the tree as RFC 6962 defines it, SHA-256 and Ed25519.
#[test]
fn an_outsider_comes_to_the_same_result() {
    fn root(leaves: &[&[u8]]) -> Hash {
        let sha = |parts: &[&[u8]]| -> Hash { Sha256::digest(parts.concat()).into() };
        match leaves {
            [] => sha(&[]),
            [one] => sha(&[&[0], one]),
            many => {
                let k = many.len().next_power_of_two() / 2;
                sha(&[&[1], &root(&many[..k]), &root(&many[k..])])
            }
        }
    }
    let home = home();
    let log = read(home.path());
    let lines: Vec<&[u8]> = log.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\n').collect();
    let notes = std::fs::read_to_string(home.path().join(CHECKPOINTS)).unwrap();
    let last: Vec<&str> = notes.lines().rev().take(5).collect::<Vec<_>>().into_iter().rev().collect();
    assert_eq!(last[1].parse::<usize>().unwrap(), lines.len());
    assert_eq!(last[2], data_encoding::BASE64.encode(&root(&lines)));
    assert_eq!(
        last[0],
        format!("synod/{}", &data_encoding::HEXLOWER.encode(&Sha256::digest(lines[0]))[..16])
    );
    // The signature: four bytes that name the key, then 64.
    let vkey = std::fs::read_to_string(home.path().join(KEYS)).unwrap();
    let public = data_encoding::BASE64.decode(vkey.trim().splitn(3, '+').nth(2).unwrap().as_bytes()).unwrap();
    let signed = data_encoding::BASE64.decode(last[4].rsplit(' ').next().unwrap().as_bytes()).unwrap();
    let mut named = last[0].as_bytes().to_vec();
    named.push(b'\n');
    named.extend_from_slice(&public);
    assert_eq!(signed[..4], Sha256::digest(&named)[..4]);
    let key = ed25519_dalek::VerifyingKey::from_bytes(public[1..].try_into().unwrap()).unwrap();
    let signature = ed25519_dalek::Signature::from_slice(&signed[4..]).unwrap();
    let text = format!("{}\n{}\n{}\n", last[0], last[1], last[2]);
    key.verify_strict(text.as_bytes(), &signature).unwrap();
    for pair in lines.windows(2) {
        let prev = data_encoding::HEXLOWER.encode(&Sha256::digest(pair[0]));
        assert!(pair[1].ends_with(format!("\"prev\":\"{prev}\"}}").as_bytes()));
    }
}

#[derive(Clone, Default)]
struct Heard {
    complaints: Arc<Mutex<Vec<String>>>,
    signed: Arc<Mutex<Vec<u64>>>,
}

impl Listener for Heard {
    fn complain(&self, _: &str, message: String) {
        self.complaints.lock().unwrap().push(message);
    }

    fn signed(&self, _: &[&str], checkpoint: &Checkpoint) {
        self.signed.lock().unwrap().push(checkpoint.size);
    }
}

fn retired(seq: u64) -> Recorded {
    let agent = AgentId::new(format!("agent-{seq}"));
    Recorded { seq: Seq(seq), at: AT, event: Event::Agent(AgentEvent::Retired { agent }) }
}

/// Gives the events to a writer that begins where the log and the journal's cursor say.
fn write(home: &Path, last: u64, printed: u64, events: impl Iterator<Item = u64>) -> Heard {
    let heard = Heard::default();
    let mut state = State::new();
    state.seq = Seq(last);
    let (mut audit, thread) = spawn(home, &state, Seq(printed), AT, Box::new(heard.clone())).unwrap();
    for event in events {
        audit.print([retired(event)].into());
    }
    audit.flush();
    audit.stop();
    thread.join().unwrap();
    heard
}

/// The agents of the lines that tell of events, in order.
fn told(home: &Path) -> Vec<String> {
    let text = String::from_utf8(read(home)).unwrap();
    let lines = text.lines().map(|line| Line::parse(line.as_bytes()).unwrap());
    lines.filter(|line| line.kind == Kind::Config).map(|line| line.agent).collect()
}

#[test]
fn events_that_come_again_after_a_crash_are_told_once() {
    let whole: Vec<String> = (1..=9).map(|n| format!("agent-{n}")).collect();
    let home = tempfile::tempdir().unwrap();
    write(home.path(), 0, 0, 1..=6);
    let good = read(home.path());
    let memory = std::fs::read(home.path().join(".synod/audit.json")).unwrap();
    // A crash may leave any part of what was written, and an older memory or none.
    for cut in (good.len() - 700..=good.len()).step_by(23) {
        for remembers in [true, false] {
            std::fs::write(home.path().join(LOG), &good[..cut]).unwrap();
            std::fs::remove_file(home.path().join(".synod/audit.json")).ok();
            std::fs::remove_file(home.path().join(CHECKPOINTS)).ok();
            if remembers && cut == good.len() {
                std::fs::write(home.path().join(".synod/audit.json"), &memory).unwrap();
            }
            write(home.path(), 9, 2, 3..=9);
            assert_eq!(told(home.path()), whole, "cut at {cut}");
            let report = check(home.path());
            assert!(report.is_good(), "{:?}", report.faults);
        }
    }
}

const MEMORY: &str = ".synod/audit.json";

/// Works on events and ends without any warning.
fn crash(home: &Path, batches: &[std::ops::RangeInclusive<u64>]) {
    let last = batches.last().map_or(0, |batch| *batch.end());
    let mut log = Log::open(home, &Audit::default(), Journal { last, told: 0, at: AT }).unwrap();
    let mut trail = Trail::default();
    for batch in batches {
        let mut lines: Vec<Line> = batch.clone().flat_map(|seq| trail.lines(&retired(seq))).collect();
        log.append(&mut lines, *batch.end()).unwrap();
    }
}

/// Adds a line that fits the chain.
fn forge(home: &Path) -> Vec<u8> {
    let mut bytes = read(home);
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let (count, last) = (lines.clone().count(), lines.next_back().map(<[u8]>::to_vec).unwrap());
    let mut forged = line(99).encode(count as u64, &hash(&last));
    forged.push(b'\n');
    bytes.extend_from_slice(&forged);
    std::fs::write(home.join(LOG), bytes).unwrap();
    forged
}

fn aside(home: &Path) -> Option<Vec<u8>> {
    std::fs::read(home.join("log/audit-aside-1.jsonl")).ok()
}

#[test]
fn a_line_that_somebody_adds_after_a_stop_is_named_and_never_taken_over() {
    for crashed in [true, false] {
        let home = tempfile::tempdir().unwrap();
        match crashed {
            true => crash(home.path(), &[1..=3, 4..=5]),
            false => _ = write(home.path(), 0, 0, 1..=5),
        }
        assert!(check(home.path()).is_good(), "{:?}", check(home.path()).faults);
        let forged = forge(home.path());
        assert_eq!(first(&check(home.path())), Some((8, What::Added)), "crashed: {crashed}");
        let heard = write(home.path(), 5, 5, 6..=6);
        assert!(
            heard.complaints.lock().unwrap()[0].contains("audit-aside-1.jsonl"),
            "{:?}",
            heard.complaints
        );
        assert_eq!(aside(home.path()), Some(forged), "it can be looked at");
        assert_eq!(told(home.path()), (1..=6).map(|n| format!("agent-{n}")).collect::<Vec<_>>());
        let report = check(home.path());
        assert!(report.is_good(), "{:?}", report.faults);
        assert!(report.warnings.iter().any(|w| w.contains("audit-aside-1.jsonl")), "{:?}", report.warnings);
    }
}

/// As a process leaves it that was killed right after it wrote lines: the newer of the two places is not written.
fn forget_last(home: &Path) {
    let mut memory = std::fs::read(home.join(MEMORY)).unwrap();
    let half = memory.len() / 2;
    let turn = |slot: &[u8]| -> u64 {
        let text = std::str::from_utf8(slot).unwrap();
        let json = text.split_once(' ').unwrap().1;
        serde_json::from_str::<serde_json::Value>(json.trim_end()).unwrap()["turn"].as_u64().unwrap()
    };
    let newer = if turn(&memory[..half]) > turn(&memory[half..]) { 0 } else { half };
    memory[newer..newer + half].fill(b' ');
    std::fs::write(home.join(MEMORY), memory).unwrap();
}

#[test]
fn what_was_being_written_when_it_was_killed_is_taken_over_and_nothing_else() {
    let whole: Vec<String> = (1..=7).map(|n| format!("agent-{n}")).collect();
    let home = tempfile::tempdir().unwrap();
    crash(home.path(), &[1..=3, 4..=6]);
    forget_last(home.path());
    assert!(check(home.path()).is_good(), "{:?}", check(home.path()).faults);
    let (good, memory) = (read(home.path()), std::fs::read(home.path().join(MEMORY)).unwrap());
    let ends: Vec<usize> = (0..good.len()).filter(|at| good[*at] == b'\n').map(|at| at + 1).collect();
    let before = ends[ends.len() - 4];
    // All of it, none of it, half a line: all that a kill leaves. Whole lines that are not all may be anybody's.
    for cut in [good.len(), before, before + 10, ends[ends.len() - 3], good.len() - 10] {
        std::fs::write(home.path().join(LOG), &good[..cut]).unwrap();
        std::fs::write(home.path().join(MEMORY), &memory).unwrap();
        _ = std::fs::remove_file(home.path().join("log/audit-aside-1.jsonl"));
        _ = std::fs::remove_file(home.path().join(CHECKPOINTS));
        let heard = write(home.path(), 7, 3, 4..=7);
        assert_eq!(told(home.path()), whole, "cut at {cut} of {before}..{}", good.len());
        assert!(check(home.path()).is_good(), "{:?}", check(home.path()).faults);
        let doubtful = cut > before + 10 && cut < good.len();
        assert_eq!(aside(home.path()), doubtful.then(|| good[before..cut].to_vec()), "cut at {cut}");
        assert_eq!(heard.complaints.lock().unwrap().is_empty(), !doubtful, "{:?}", heard.complaints);
    }
    // What somebody else put there in its place is not it, though it fits the chain.
    std::fs::write(home.path().join(LOG), &good[..before]).unwrap();
    std::fs::write(home.path().join(MEMORY), &memory).unwrap();
    _ = std::fs::remove_file(home.path().join("log/audit-aside-1.jsonl"));
    _ = std::fs::remove_file(home.path().join(CHECKPOINTS));
    let forged = forge(home.path());
    assert_eq!(first(&check(home.path())).map(|(_, what)| what), Some(What::Added));
    write(home.path(), 7, 3, 4..=7);
    assert_eq!((told(home.path()), aside(home.path())), (whole, Some(forged)));
}

#[test]
fn a_lost_memory_is_told_in_the_log() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), 0, 0, 1..=3);
    std::fs::remove_file(home.path().join(MEMORY)).unwrap();
    write(home.path(), 3, 3, 4..=4);
    let report = check(home.path());
    assert!(report.is_good(), "{:?}", report.faults);
    assert!(report.warnings.iter().any(|w| w.contains("believed as they stand")), "{:?}", report.warnings);
}

#[test]
fn a_lost_journal_is_told_and_the_chain_goes_on() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), 0, 0, 1..=5);
    std::fs::remove_dir_all(home.path().join(".synod")).unwrap();
    write(home.path(), 0, 0, 1..=3);
    let agents = [1, 2, 3, 4, 5, 1, 2, 3].map(|n| format!("agent-{n}"));
    assert_eq!(told(home.path()), agents);
    let report = check(home.path());
    assert!(report.is_good(), "{:?}", report.faults);
    assert_eq!(report.keys.len(), 2, "the key was lost with the journal");
    assert!(report.warnings.iter().any(|w| w.contains("the journal was lost")), "{:?}", report.warnings);
    assert!(report.warnings.iter().any(|w| w.contains("another key signs")), "{:?}", report.warnings);
}

#[test]
fn a_full_disk_loses_nothing_and_the_log_goes_on_when_there_is_room() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("log")).unwrap();
    std::os::unix::fs::symlink("/dev/full", home.path().join(LOG)).unwrap();
    let heard = Heard::default();
    let (mut audit, thread) = spawn(home.path(), &State::new(), Seq(0), AT, Box::new(heard.clone())).unwrap();
    audit.print([retired(1), retired(2)].into());
    audit.flush();
    assert_eq!(audit.printed(), Seq(0), "what is not on the disk is not told");
    assert!(
        heard.complaints.lock().unwrap()[0].contains("is tried again"),
        "{heard:?}",
        heard = heard.complaints
    );
    std::fs::remove_file(home.path().join(LOG)).unwrap();
    audit.print([retired(3)].into());
    audit.flush();
    assert_eq!(audit.printed(), Seq(3));
    audit.stop();
    thread.join().unwrap();
    assert_eq!(told(home.path()), ["agent-1", "agent-2", "agent-3"]);
    assert!(check(home.path()).is_good());
}

#[test]
fn a_change_made_while_synod_works_is_not_signed() {
    let home = tempfile::tempdir().unwrap();
    let (mut audit, thread) =
        spawn(home.path(), &State::new(), Seq(0), AT, Box::new(Heard::default())).unwrap();
    audit.print((1..=5).map(retired).collect());
    audit.flush();
    let text = String::from_utf8(read(home.path())).unwrap();
    std::fs::write(home.path().join(LOG), text.replace("agent-2", "agent-9")).unwrap();
    audit.print((6..=9).map(retired).collect());
    audit.flush();
    audit.stop();
    thread.join().unwrap();
    assert_eq!(first(&check(home.path())), Some((4, What::Changed)));
}

#[test]
fn checkpoints_are_signed_as_often_as_the_settings_say_and_with_their_key() {
    let home = tempfile::tempdir().unwrap();
    let signer = Signer::new("ops", &[5; 32]).unwrap();
    let path = home.path().join("ops.key");
    std::fs::write(&path, signer.secret()).unwrap();
    let heard = Heard::default();
    let mut state = State::new();
    state.config.settings.audit = Audit { checkpoint_every: 3, key_file: Some("ops.key".to_owned()) };
    let run = |heard: &Heard| {
        let (mut audit, thread) = spawn(home.path(), &state, Seq(0), AT, Box::new(heard.clone())).unwrap();
        for event in 1..=4 {
            audit.print([retired(event)].into());
            audit.flush();
        }
        audit.stop();
        thread.join().unwrap();
    };
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    run(&heard);
    assert!(heard.complaints.lock().unwrap()[0].contains("chmod 600"), "{:?}", heard.complaints);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    run(&heard);
    let notes = std::fs::read_to_string(home.path().join(CHECKPOINTS)).unwrap();
    let first_note: String = notes.split_inclusive('\n').take(5).collect();
    assert_eq!(Note::parse(&first_note).unwrap().check(&signer.verifier()), Check::Good);
    assert!(!home.path().join(KEY).exists());
    assert!(check(home.path()).is_good());
}

#[test]
fn a_line_that_is_added_after_a_good_stop_is_found() {
    let home = home();
    let good = read(home.path());
    let last = good.strip_suffix(b"\n").unwrap().rsplit(|byte| *byte == b'\n').next().unwrap();
    let mut bytes = good.clone();
    bytes.extend_from_slice(&line(99).encode(LINES, &hash(last)));
    bytes.push(b'\n');
    std::fs::write(home.path().join(LOG), bytes).unwrap();
    let Fault { line, what, .. } = check(home.path()).faults.remove(0);
    assert_eq!((line, what), (LINES + 1, What::Added));
}

/// The form of a line never changes for what was written: `tests/golden/audit.jsonl` has one of each kind of event.
#[test]
fn the_form_of_a_line_stays() {
    let mut trail = Trail::default();
    let mut head = NO_PREV;
    let mut text = String::new();
    for (n, event) in samples().into_iter().enumerate() {
        for mut line in trail.lines(&Recorded { seq: Seq(n as u64 + 1), at: AT, event }) {
            let number = text.lines().count() as u64;
            let bytes = line.encode(number, &head);
            head = hash(&bytes);
            text.push_str(&String::from_utf8(bytes).unwrap());
            text.push('\n');
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/audit.jsonl");
    if std::env::var_os("SYNOD_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap());
}

fn samples() -> Vec<Event> {
    let mut events = vec![
        Event::System(SystemEvent::Started),
        Event::System(SystemEvent::SettingsChanged { settings: Box::new(Settings::default()) }),
        Event::System(SystemEvent::PolicyChanged { policy: Policy { commands: BTreeMap::default() } }),
        Event::Agent(AgentEvent::Defined {
            spec: Box::new(agent::Spec::new(AgentId::new("coder-001"), "coder", "writes code")),
        }),
        Event::Agent(AgentEvent::Retired { agent: AgentId::new("coder-002") }),
    ];
    let json = |text: &str| -> Event { serde_json::from_str(text).unwrap() };
    let replied = r#"{"turn":{"replied":{"session":"coder-001-3f9a2c","message":{"id":"m-0002","at":0,"speaker":"assistant","content":"I look.","calls":[
        {"id":"c-1","arguments":"{}","want":{"act":{"tool":"execute_command","arguments":{"command":"df -h; echo password=hunter2"}}}},
        {"id":"c-2","arguments":"{}","want":{"act":{"tool":"create_task","arguments":{"title":"Look"}}}},
        {"id":"c-3","arguments":"{}","want":{"invalid":{"tool":"fly","error":"there is no tool fly"}}}]},"tokens_in":12,"tokens_out":3}}}"#;
    events.push(json(replied));
    let request = r#"{"approval":{"asked":{"request":{"id":"approval-0001","agent":"coder-001","session":"coder-001-3f9a2c","call":"c-1","task":"task-001",
        "act":{"tool":"execute_command","arguments":{"command":"df -h; echo password=hunter2"}},"digest":"00ff","why":"I look.","risk":"MEDIUM",
        "factors":["rule: commands that policy/commands.yaml does not list are asked"],"created":0}}}}"#;
    events.push(json(request));
    let approved =
        Outcome::Answered { answer: Answer::Approved, by: "dana".to_owned(), via: "cli".to_owned() };
    events.push(Event::Approval(ApprovalEvent::Ended {
        approval: ApprovalId::new("approval-0001"),
        outcome: approved,
    }));
    for text in [
        r#"{"call":{"cleared":{"session":"coder-001-3f9a2c","call":"c-1","rule":"approved in approval-0001","nature":"once"}}}"#,
        r#"{"call":{"finished":{"session":"coder-001-3f9a2c","finish":"done","message":{"id":"m-0003","at":0,"speaker":"tool_result","content":"ok","call":"c-1"}}}}"#,
        r#"{"call":{"finished":{"session":"coder-001-3f9a2c","finish":"done","message":{"id":"m-0004","at":0,"speaker":"tool_result","content":"ok","call":"c-2"}}}}"#,
        r#"{"call":{"finished":{"session":"coder-001-3f9a2c","finish":{"refused":{"rule":"schema of fly"}},"message":{"id":"m-0005","at":0,"speaker":"tool_result","content":"no","call":"c-3"}}}}"#,
    ] {
        events.push(json(text));
    }
    events
}
