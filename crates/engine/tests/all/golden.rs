//! What was stored once stays readable: one file for each kind of event, a stored form on each line; and a snapshot.
//! A golden file never changes. When a test finds another form, the new one lies in the target's tmp folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use domain::event::{AgentEvent, SessionEvent, SystemEvent};
use domain::event::{Event, VERSION};
use domain::id::{AgentId, Seq, TaskId, Time};
use domain::input::Input;
use domain::input::{FileInput, PersonInput};
use domain::task::Spec;
use engine::{Engine, STATE_VERSION, decode, encode};
use ports::journal::{Entry, Journal as _, JournalError, Snapshot};
use testkit::journal::Disk;

use crate::samples;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn entry(version: u32, kind: &str, body: &str) -> Entry {
    Entry { seq: Seq(7), at: Time(5), version, kind: kind.to_owned(), body: body.to_owned() }
}

#[test]
fn every_kind_of_event_reads_and_writes_as_it_was_stored() {
    let mut missing = Vec::new();
    for (kind, events) in samples::all() {
        let made: Vec<String> =
            events.iter().map(|event| encode(Seq(7), Time(5), event).unwrap().body).collect();
        let made = made.join("\n") + "\n";
        let Ok(stored) = std::fs::read_to_string(golden().join(format!("events/v{VERSION}/{kind}.json")))
        else {
            let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{kind}.json"));
            std::fs::write(&new, &made).unwrap();
            missing.push(new);
            continue;
        };
        let read: Vec<Event> =
            stored.lines().map(|body| decode(&entry(VERSION, kind, body)).unwrap()).collect();
        assert_eq!(read, events, "{kind} reads as something else");
        assert_eq!(stored, made, "{kind} is written in another way; old journals have the form of the file");
    }
    assert_eq!(missing, Vec::<PathBuf>::new(), "new kinds need golden files; these would do");
}

#[test]
fn no_golden_file_is_without_its_kind() {
    let kinds: BTreeSet<String> = samples::all().iter().map(|(kind, _)| format!("{kind}.json")).collect();
    let files = std::fs::read_dir(golden().join("events/v1")).unwrap();
    let files: BTreeSet<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files, kinds);
}

#[test]
fn an_event_of_a_newer_version_is_refused_and_says_what_can_be_read() {
    let error = decode(&entry(VERSION + 1, "started", r#"{"system":"started"}"#)).unwrap_err();
    assert_eq!(error.to_string(), "the journal has format 2, this version of synod reads up to 1");
}

#[test]
fn a_damaged_event_is_named_by_its_place_and_kind() {
    for body in ["", "{", r#"{"turn":"landed"}"#, r#"{"turn":{"begun":{}}}"#, "\u{0}"] {
        let error = decode(&entry(VERSION, "turn_begun", body)).unwrap_err();
        assert!(matches!(error, JournalError::Damaged { seq: Seq(7), .. }), "{error}");
        assert!(error.to_string().starts_with("event 7 of the journal is damaged: turn_begun: "), "{error}");
    }
}

#[test]
fn a_journal_with_a_damaged_event_does_not_open() {
    let mut disk = Disk::new();
    let good = encode(Seq(1), Time(5), &Event::System(SystemEvent::Started)).unwrap();
    let bad = Entry { seq: Seq(2), body: "{".to_owned(), ..good.clone() };
    disk.append(&[good, bad]).unwrap();
    let error = Engine::open(Box::new(disk)).err().unwrap();
    assert!(error.to_string().starts_with("event 2 of the journal is damaged"), "{error}");
}

/// A home with a bit of everything in it: a plan, a part that asks, one that waits.
fn story() -> (Disk, Engine) {
    let disk = Disk::new();
    let mut engine = Engine::open(Box::new(disk.clone())).unwrap();
    let mut give = |inputs: &[Input]| engine.cycle(Time(1_700_000_000_000), inputs).unwrap();
    for (kind, events) in samples::all() {
        for event in events {
            match event {
                Event::System(SystemEvent::SettingsChanged { settings }) => {
                    _ = give(&[Input::File(FileInput::SettingsRead(settings))])
                }
                Event::System(SystemEvent::PolicyChanged { policy }) => {
                    _ = give(&[Input::File(FileInput::PolicyRead(policy))])
                }
                // One definition of the agent is enough, and this is the fullest.
                Event::Agent(AgentEvent::Defined { spec }) if spec.name.is_none() => {}
                Event::Agent(AgentEvent::Defined { spec }) => {
                    _ = give(&[Input::File(FileInput::AgentRead(spec))])
                }
                Event::Session(SessionEvent::Adopted { head, next_message, tail, .. })
                    if kind == "session_adopted" =>
                {
                    let status = domain::session::Status::Active;
                    _ = give(&[Input::File(FileInput::SessionRead {
                        label: Default::default(),
                        head,
                        status,
                        next_message,
                        tail,
                        approvals: Vec::new(),
                    })]);
                }
                _ => {}
            }
        }
    }
    let mut spec = Spec::new(TaskId::new(""), "tasks/x.task.md", "look");
    spec.assignee = Some(AgentId::new("executor-001"));
    let wanted = |spec: &Spec| {
        Input::Person(PersonInput::AddTask { spec: Box::new(spec.clone()), by: "dana".to_owned() })
    };
    give(&[wanted(&spec), Input::Started]);
    spec.depends_on.push(TaskId::new("task-001"));
    give(&[wanted(&spec)]);
    (disk, engine)
}

#[test]
fn a_snapshot_reads_and_writes_as_it_was_stored() {
    let (mut disk, mut engine) = story();
    engine.save_snapshot().unwrap();
    let made = disk.snapshot().unwrap().unwrap();
    let path = golden().join(format!("state/v{STATE_VERSION}.json"));
    let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("state.json");
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    if stored.trim_end() != made.body {
        std::fs::write(&new, made.body.clone() + "\n").unwrap();
    }
    assert_eq!(
        stored.trim_end(),
        made.body,
        "another form needs another STATE_VERSION; it is in {}",
        new.display()
    );

    // What the events say no longer matters: the snapshot alone gives the state.
    let mut other = Disk::new();
    let unreadable = |n: u64| Entry { seq: Seq(n), ..entry(VERSION, "started", "unreadable") };
    other.append(&(1..=made.seq.0).map(unreadable).collect::<Vec<_>>()).unwrap();
    let body = stored.trim_end().to_owned();
    other.save_snapshot(&Snapshot { seq: made.seq, version: STATE_VERSION, body }).unwrap();
    let opened = Engine::open(Box::new(other)).unwrap();
    assert_eq!(opened.state(), engine.state());
}
