//! The loop around the cycle, on its own thread.

use std::sync::mpsc;
use std::thread::JoinHandle;

use domain::effect::Effect;
use domain::event::Event;
use domain::event::TaskEvent;
use domain::id::{Seq, TaskId};
use domain::input::FileInput;
use domain::input::Input;
use engine::{Closed, Engine, Handle, INPUTS_MAX, Stopped, Taken, spawn};
use ports::inputs::{Inputs as _, NotTaken};
use ports::journal::Journal as _;
use testkit::journal::{Disk, Fault};

use crate::stage::{Log, Logged, answer, blank, done, opening, wanted};

/// A loop on a disk, and all that its parts do.
struct Stage {
    disk: Disk,
    log: Log,
    handle: Handle,
    thread: JoinHandle<Result<(), Stopped>>,
}

impl Stage {
    fn on(disk: &Disk) -> Self {
        let log = Log::default();
        let engine = Engine::open(Box::new(Logged { disk: disk.clone(), log: log.clone() })).unwrap();
        let (handle, thread) = spawn(engine, |_| Ok(log.parts())).unwrap();
        Self { disk: disk.clone(), log, handle, thread }
    }

    async fn opened() -> Self {
        let stage = Self::on(&Disk::new());
        for input in opening() {
            stage.give(input).await;
        }
        stage
    }

    async fn give(&self, input: Input) -> Seq {
        self.handle.submit(input).await.unwrap().unwrap().seq
    }

    /// The last effect that was let go.
    fn effect(&self) -> Effect {
        self.log.last_effect()
    }

    async fn stop(self) -> Result<(), Stopped> {
        self.handle.stop().await;
        self.thread.join().unwrap()
    }

    /// Holds the loop in the middle of a look until the sender is dropped.
    fn hold(&self) -> mpsc::Sender<()> {
        let (release, held) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let handle = self.handle.clone();
        std::thread::spawn(move || {
            let look = handle.look(move |_| {
                begun.send(()).unwrap();
                _ = held.recv();
            });
            tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(look)
        });
        begins.recv().unwrap();
        release
    }
}

#[tokio::test]
async fn nothing_is_printed_or_done_before_it_is_kept() {
    let stage = Stage::opened().await;
    let before = stage.log.lines().len();
    stage.give(wanted()).await;
    let lines = stage.log.lines();
    assert_eq!(lines[before..], ["kept 4-9", "print 4-9", "perform model"]);
    stage.stop().await.unwrap();
}

#[tokio::test]
async fn a_journal_that_fails_ends_the_loop_with_nothing_printed_or_done() {
    let stage = Stage::opened().await;
    let before = stage.log.lines().len();
    stage.disk.fail_append(0, Fault::Lost);
    assert_eq!(stage.handle.submit(wanted()).await, Err(Closed));
    let stopped = stage.thread.join().unwrap().unwrap_err();
    assert_eq!(stopped.to_string(), "the journal cannot be written: no space left on the pretended disk");
    assert_eq!(stage.log.lines()[before..], ["lost 4-9", "abort", "flush"]);
    assert_eq!(stage.handle.submit(wanted()).await, Err(Closed));
}

#[tokio::test]
async fn inputs_that_wait_together_are_kept_together() {
    let stage = Stage::opened().await;
    let hold = stage.hold();
    let appends = stage.disk.appends();
    for line in 1..=100 {
        stage.handle.try_give(blank(line)).unwrap();
    }
    drop(hold);
    stage.give(Input::Ticked).await;
    assert_eq!(stage.disk.appends() - appends, 1);
    let taken = stage.handle.look(|state| state.trust.inbox["inbox/x.jsonl"]).await.unwrap();
    assert_eq!(taken, 100);
    stage.stop().await.unwrap();
}

#[tokio::test]
async fn who_gives_more_than_fits_waits_and_nothing_is_lost() {
    let stage = Stage::opened().await;
    let hold = stage.hold();
    let mut given = 0;
    loop {
        match stage.handle.try_give(blank(given + 1)) {
            Ok(()) => given += 1,
            Err(NotTaken::Full(back)) => {
                assert_eq!(*back, blank(given + 1), "it comes back whole");
                break;
            }
            Err(NotTaken::Closed) => panic!("the loop is there"),
        }
    }
    assert_eq!(given, INPUTS_MAX as u64);
    let mut waits = Box::pin(stage.handle.give(blank(given + 1)));
    tokio::select! {
        biased;
        () = &mut waits => panic!("there is no room"),
        () = std::future::ready(()) => {}
    }
    drop(hold);
    waits.await;
    stage.give(Input::Ticked).await;
    let taken = stage.handle.look(|state| state.trust.inbox["inbox/x.jsonl"]).await.unwrap();
    assert_eq!(taken, given + 1);
    assert_eq!(
        stage.disk.entries().iter().filter(|entry| entry.kind == "line_taken").count() as u64,
        given + 1
    );
    stage.stop().await.unwrap();
}

#[tokio::test]
async fn after_a_stop_a_running_tool_is_waited_for_and_nothing_new_begins() {
    let stage = Stage::opened().await;
    stage.give(wanted()).await;
    stage.give(answer(&stage.effect(), true)).await;
    let tool = stage.effect();
    stage.handle.stop().await;
    stage.give(wanted()).await;
    assert_eq!(stage.effect(), tool, "the second task does not begin");
    stage.give(done(&tool)).await;
    stage.thread.join().unwrap().unwrap();
    assert_eq!(stage.log.last_effect(), tool, "and no further turn");
    assert_eq!(stage.disk.entries().last().unwrap().kind, "call_finished");
    let lines = stage.log.lines();
    assert!(lines.contains(&"wind down".to_owned()));
    assert_eq!(lines[lines.len() - 3..], ["abort", "flush", "snapshot 13"]);

    let next = Stage::on(&stage.disk.crash());
    next.give(Input::Started).await;
    let kinds: Vec<String> = next.disk.entries()[13..].iter().map(|entry| entry.kind.clone()).collect();
    assert_eq!(kinds[..2], ["started", "turn_begun"], "the next life goes on with the result");
    next.stop().await.unwrap();
}

#[tokio::test]
async fn a_loop_without_tools_under_way_ends_at_once() {
    let stage = Stage::opened().await;
    stage.give(wanted()).await;
    stage.stop().await.unwrap();
}

#[tokio::test]
async fn when_the_loop_has_ended_everybody_is_told() {
    let stage = Stage::opened().await;
    let handle = stage.handle.clone();
    stage.stop().await.unwrap();
    assert_eq!(handle.submit(wanted()).await, Err(Closed));
    assert_eq!(handle.look(|state| state.seq).await, Err(Closed));
    assert!(matches!(handle.try_give(wanted()), Err(NotTaken::Closed)));
    handle.give(wanted()).await;
    handle.stop().await;
}

#[tokio::test]
async fn what_was_not_printed_is_printed_first_in_the_next_life() {
    let stage = Stage::opened().await;
    stage.give(wanted()).await;
    let mut next = stage.disk.crash();
    next.set_printed(Seq(5)).unwrap();
    let stage = Stage::on(&next);
    stage.give(Input::Started).await;
    let lines = stage.log.lines();
    let first = lines.iter().find(|line| !line.starts_with("read")).unwrap();
    assert_eq!(first, "print 6-9");
    stage.stop().await.unwrap();
    assert_eq!(next.printed().unwrap(), next.last(), "and how far it came is kept");
}

#[tokio::test]
async fn the_next_life_reads_the_snapshot_that_the_last_one_kept() {
    let stage = Stage::opened().await;
    stage.give(wanted()).await;
    let disk = stage.disk.clone();
    stage.stop().await.unwrap();
    let stage = Stage::on(&disk.crash());
    assert_eq!(stage.log.lines()[0], "read after 9");
    let tasks = stage.handle.look(|state| state.work.tasks.len()).await.unwrap();
    assert_eq!(tasks, 1);
    stage.stop().await.unwrap();
}

#[tokio::test]
async fn listeners_hear_what_is_kept_and_the_pulse_says_where_the_loop_stands() {
    let stage = Stage::opened().await;
    let mut events = stage.handle.listen();
    let seq = stage.give(wanted()).await;
    assert_eq!(stage.handle.pulse().borrow().seq, seq);
    assert!(!stage.handle.pulse().borrow().idle);
    assert_eq!(events.recv().await.unwrap().event.kind(), "task_added");
    let seq = stage.give(answer(&stage.effect(), false)).await;
    let pulse = *stage.handle.pulse().borrow();
    assert_eq!((pulse.seq, pulse.idle, pulse.approvals), (seq, true, 0));
    stage.stop().await.unwrap();
}

#[tokio::test]
async fn who_gives_an_input_is_told_what_that_one_made() {
    let stage = Stage::opened().await;
    let hold = stage.hold();
    let refused = Input::File(FileInput::TaskGone { task: TaskId::new("task-009") });
    let appends = stage.disk.appends();
    let submit = |input| stage.handle.submit(input);
    let release = async { drop(hold) };
    let (first, second, third, ()) =
        tokio::join!(submit(wanted()), submit(refused), submit(wanted()), release);
    assert_eq!(stage.disk.appends() - appends, 1, "they were decided in one batch");
    let (first, third) = (first.unwrap().unwrap(), third.unwrap().unwrap());
    assert_eq!(added(&first), ["task-001"]);
    assert_eq!(second.unwrap().unwrap_err().to_string(), "there is no task task-009");
    assert_eq!(added(&third), ["task-002"], "and not of what follows from it, such as that work begins");
    stage.stop().await.unwrap();
}

/// The tasks that an input added, and all else that it made as the name of its event.
fn added(taken: &Taken) -> Vec<String> {
    let told = |event: &Event| match event {
        Event::Task(TaskEvent::Added { spec, .. }) => spec.id.to_string(),
        other => other.kind().to_owned(),
    };
    taken.events().map(told).collect()
}

#[tokio::test]
async fn a_refusal_comes_back_to_who_asked() {
    let stage = Stage::opened().await;
    let refused = stage
        .handle
        .submit(Input::File(FileInput::TaskGone { task: TaskId::new("task-009") }))
        .await
        .unwrap();
    assert_eq!(refused.unwrap_err().to_string(), "there is no task task-009");
    stage.stop().await.unwrap();
}
