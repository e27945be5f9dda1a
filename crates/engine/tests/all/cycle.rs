//! One cycle: decide, commit, and only then act; and how a state comes back from its journal.

use domain::Refused;
use domain::effect::Effect;
use domain::id::{Seq, TaskId, Time};
use domain::input::FileInput;
use domain::input::Input;
use domain::task::Mark;
use engine::{Engine, STATE_VERSION, Stopped};
use ports::journal::{Journal as _, Snapshot};
use testkit::journal::{Disk, Fault};

use crate::stage::{Log, Logged, blank, opening, wanted};

const NOW: Time = Time(1_000_000);

fn open(disk: &Disk) -> Engine {
    Engine::open(Box::new(disk.clone())).unwrap()
}

/// A home at work: one task, its model asked.
fn at_work() -> (Disk, Engine) {
    let disk = Disk::new();
    let mut engine = open(&disk);
    engine.cycle(NOW, &opening()).unwrap();
    engine.cycle(NOW, &[wanted()]).unwrap();
    (disk, engine)
}

#[test]
fn a_cycle_whose_commit_fails_gives_out_nothing_and_is_the_last() {
    for fault in [Fault::Lost, Fault::KeptUnknown] {
        let (disk, mut engine) = at_work();
        let before = disk.entries().len();
        disk.fail_append(0, fault);
        let stopped = engine.cycle(NOW, &[wanted()]).err().unwrap();
        assert_eq!(stopped.to_string(), "the journal cannot be written: no space left on the pretended disk");
        assert_eq!(disk.entries().len(), before);
        assert!(matches!(engine.cycle(NOW, &[]), Err(Stopped::Broken)));
        assert!(
            matches!(engine.save_snapshot(), Err(Stopped::Broken)),
            "a state ahead of its journal is not kept"
        );
    }
}

#[test]
fn many_inputs_are_kept_with_one_append() {
    let (disk, mut engine) = at_work();
    let (appends, events) = (disk.appends(), disk.entries().len());
    let cycle = engine.cycle(NOW, &vec![wanted(); 50]).unwrap();
    assert_eq!(disk.appends() - appends, 1);
    assert_eq!(disk.entries().len() - events, cycle.recorded.len());
    assert!(cycle.recorded.len() > 50);
}

#[test]
fn a_cycle_without_events_writes_nothing() {
    let (disk, mut engine) = at_work();
    let appends = disk.appends();
    let cycle = engine.cycle(NOW, &[Input::Ticked]).unwrap();
    assert_eq!((cycle.recorded.len(), disk.appends()), (0, appends));
}

#[test]
fn a_refused_input_leaves_nothing_and_keeps_nobody_else_back() {
    let (_, mut engine) = at_work();
    let nothing = TaskId::new("task-099");
    let refused = Input::File(FileInput::TaskMarked {
        task: nothing.clone(),
        mark: Mark::Done,
        why: String::new(),
        by: "dana".to_owned(),
    });
    let cycle = engine.cycle(NOW, &[wanted(), refused, wanted()]).unwrap();
    let second = cycle.recorded.len() / 2;
    assert_eq!(cycle.answers, [Ok(0..1), Err(Refused::NoTask(nothing)), Ok(second..second + 1)]);
    assert_eq!(engine.state().work.tasks.len(), 3);
}

#[test]
fn before_the_start_an_input_only_leaves_its_mark() {
    let disk = Disk::new();
    let mut engine = open(&disk);
    let mut inputs = opening();
    inputs.retain(|input| *input != Input::Started);
    inputs.push(wanted());
    assert_eq!(engine.cycle(NOW, &inputs).unwrap().effects, []);
    assert_eq!(engine.cycle(NOW, &[Input::Started]).unwrap().effects.len(), 1);
}

#[test]
fn while_it_winds_down_nothing_new_begins_and_time_stands_still() {
    let (_, mut engine) = at_work();
    engine.wind_down();
    let later = NOW.plus_ms(10_000_000);
    assert_eq!(engine.cycle(later, &[wanted()]).unwrap().effects, []);
    assert_eq!(engine.state().work.tasks.values().filter(|task| task.is_ended()).count(), 0);
    let effects = engine.cycle(later, &[Input::Started]).unwrap().effects;
    assert_eq!(effects.len(), 2, "the next life asks again, and begins with the second task");
}

#[test]
fn what_is_due_happens_before_what_comes_in() {
    let (_, mut engine) = at_work();
    let task = TaskId::new("task-001");
    let done = Input::File(FileInput::TaskMarked {
        task: task.clone(),
        mark: Mark::Done,
        why: String::new(),
        by: "dana".to_owned(),
    });
    engine.cycle(NOW.plus_ms(60_000), &[done]).unwrap();
    let kept: Vec<&str> = engine.state().work.tasks[&task].result.split(':').collect();
    assert_eq!(kept[0], "marked done by dana", "first it failed by its time, then a person corrected it");
}

#[test]
fn the_journal_alone_gives_back_the_state() {
    let (disk, engine) = at_work();
    assert_eq!(open(&disk).state(), engine.state());
    assert_eq!(domain::pending(open(&disk).state()), domain::pending(engine.state()));
}

#[test]
fn only_events_after_the_snapshot_are_read() {
    let (disk, mut engine) = at_work();
    engine.save_snapshot().unwrap();
    let at = engine.state().seq;
    engine.cycle(NOW, &[wanted()]).unwrap();
    let log = Log::default();
    let again = Engine::open(Box::new(Logged { disk, log: log.clone() })).unwrap();
    assert_eq!(log.lines(), [format!("read after {at}")]);
    assert_eq!(again.state(), engine.state());
}

#[test]
fn a_snapshot_that_cannot_be_read_is_as_good_as_none() {
    let whole = |engine: &Engine| serde_json::to_string(engine.state()).unwrap();
    type Spoil = fn(String) -> String;
    let cases: [(u32, Spoil); 3] = [
        (STATE_VERSION + 1, |body| body),
        (STATE_VERSION, |body| body[..body.len() / 2].to_owned()),
        (STATE_VERSION, |body| body.replacen("\"seq\":", "\"seq\":1", 1)),
    ];
    for (version, spoil) in cases {
        let (mut disk, engine) = at_work();
        let body = spoil(whole(&engine));
        disk.save_snapshot(&Snapshot { seq: engine.state().seq, version, body }).unwrap();
        let log = Log::default();
        let again = Engine::open(Box::new(Logged { disk, log: log.clone() })).unwrap();
        assert_eq!(log.lines(), ["read after 0"]);
        assert_eq!(again.state(), engine.state());
    }
}

#[test]
fn a_snapshot_is_due_after_ten_thousand_events() {
    let (_, mut engine) = at_work();
    let lines: Vec<Input> = (1..10_000).map(blank).collect();
    engine.cycle(NOW, &lines[..9_000]).unwrap();
    assert!(!engine.snapshot_is_due());
    engine.cycle(NOW, &lines[9_000..]).unwrap();
    assert!(engine.snapshot_is_due());
    engine.save_snapshot().unwrap();
    assert!(!engine.snapshot_is_due());
}

#[test]
fn the_larger_a_snapshot_is_the_longer_the_next_one_can_wait() {
    let (mut disk, engine) = at_work();
    // Twenty thousand times as much as stands for one event; the blanks say nothing.
    let body = serde_json::to_string(engine.state()).unwrap() + &" ".repeat(20_000 * 1024);
    disk.save_snapshot(&Snapshot { seq: engine.state().seq, version: STATE_VERSION, body }).unwrap();
    let mut engine = open(&disk);
    let lines: Vec<Input> = (1..20_100).map(blank).collect();
    engine.cycle(NOW, &lines[..19_000]).unwrap();
    assert!(!engine.snapshot_is_due());
    engine.cycle(NOW, &lines[19_000..]).unwrap();
    assert!(engine.snapshot_is_due());
    engine.save_snapshot().unwrap();
    let lines: Vec<Input> = (20_100..30_100).map(blank).collect();
    engine.cycle(NOW, &lines).unwrap();
    assert!(engine.snapshot_is_due(), "the one after it is small");
}

#[test]
fn every_effect_carries_the_place_of_an_event_that_is_kept() {
    let (disk, mut engine) = at_work();
    let cycle = engine.cycle(NOW, &[wanted(), wanted()]).unwrap();
    assert_eq!(cycle.effects.len(), 2);
    for effect in cycle.effects {
        let Effect::CallModel { ticket, .. } = effect else { panic!("a model call") };
        let cause = &disk.entries()[usize::try_from(ticket.effect.0).unwrap() - 1];
        assert_eq!((cause.seq, cause.kind.as_str()), (ticket.effect, "turn_begun"));
    }
}

#[test]
fn a_gap_between_state_and_journal_is_found() {
    let (disk, mut engine) = at_work();
    let mut other = open(&disk);
    other.cycle(NOW, &[wanted()]).unwrap();
    let stopped = engine.cycle(NOW, &[wanted()]).err().unwrap();
    assert!(stopped.to_string().contains("does not follow event"), "{stopped}");
    assert_eq!(disk.entries().last().map(|entry| entry.seq), Some(Seq(disk.entries().len() as u64)));
}
