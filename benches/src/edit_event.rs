//! How soon a person's edit of a file is an event: from the end of the save until a listener has it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use domain::event::Event;
use domain::event::{SessionEvent, TaskEvent};
use domain::id::SessionId;
use domain::input::Input;
use domain::session::Status;
use domain::task::Change;
use formats::session::{print_head, print_message};
use notify::{EventKind, RecursiveMode, Watcher};
use ports::printer::Recorded;
use tokio::sync::broadcast;

use crate::home::{self, AGENT, Running};
use crate::measure::{Aim, Measurement, Pair, RANKS, Unit};

const EDITS: usize = 200;
/// No edit takes so long, unless it was missed.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// A bare watcher has told everything when it says nothing for so long.
const QUIET: Duration = Duration::from_millis(20);

const TASKS: &str = "tasks/work.task.md";

pub fn run() -> anyhow::Result<Vec<Measurement>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (watched, bare) = (tempfile::tempdir()?, tempfile::tempdir()?);
    prepare(watched.path())?;
    prepare(bare.path())?;
    let mut running = runtime.block_on(home::open(watched.path()))?;
    let mut ours = runtime.block_on(async {
        running.handle.submit(Input::Started).await??;
        running.files.settled().await;
        running.check()?;
        anyhow::Ok(Ours { events: running.handle.listen(), home: watched.path().to_owned() })
    })?;
    let mut theirs = Theirs::watch(bare.path())?;
    // The first look at a session only learns its words.
    for edit in [0, 1, 2, 3] {
        ours.save(&Edit::numbered(edit))?;
        runtime.block_on(running.files.settled());
        std::thread::sleep(QUIET * 5);
    }
    let (mut next, mut next_bare) = (4, 4);
    let pair = Pair::take_turns(
        EDITS,
        || {
            next += 1;
            runtime.block_on(ours.edit(&running, &Edit::numbered(next)))
        },
        || {
            next_bare += 1;
            theirs.edit(&Edit::numbered(next_bare))
        },
    )?;
    runtime.block_on(running.close())?;
    Ok(RANKS
        .map(|(what, pick)| Measurement {
            name: format!("edit to event, {what}"),
            value: pick(&pair.thing) * 1e3,
            unit: Unit::Milliseconds,
            against: "bare watcher",
            baseline: pick(&pair.baseline) * 1e3,
            aim: if what == "p99" { Aim::AtMost(100.0) } else { Aim::Nothing },
            rounds: EDITS,
        })
        .into())
}

/// The files that are edited.
fn prepare(home: &Path) -> anyhow::Result<()> {
    for folder in ["agents", "tasks", "sessions"] {
        std::fs::create_dir_all(home.join(folder))?;
    }
    std::fs::write(home.join("synod.yaml"), "")?;
    std::fs::write(home.join(format!("agents/{AGENT}.agent.yaml")), home::agent_file(AGENT))?;
    for edit in [0, 1] {
        let edit = Edit::numbered(edit);
        std::fs::write(home.join(edit.path()), edit.text())?;
    }
    Ok(())
}

/// One save: a task gets another title, or a message other words; in place or by a rename, as editors do.
struct Edit {
    number: usize,
}

impl Edit {
    fn numbered(number: usize) -> Self {
        Self { number }
    }

    fn is_task(&self) -> bool {
        self.number.is_multiple_of(2)
    }

    fn by_rename(&self) -> bool {
        (self.number / 2).is_multiple_of(2)
    }

    fn path(&self) -> String {
        if self.is_task() { TASKS.to_owned() } else { format!("sessions/{}.session.yaml", session()) }
    }

    fn title(&self) -> String {
        format!("look at the disk, {}", self.number)
    }

    fn text(&self) -> String {
        if self.is_task() {
            return format!("## TODO\n\n- [ ] @human \"{}\"\n  id: task-001\n", self.title());
        }
        let head = home::head(&session());
        let mut text = print_head(&head, head.created, Status::Sleeping);
        for number in 1..=20 {
            let mut message = home::message(number);
            if number == 3 {
                message.content = self.title();
            }
            text.push_str(&print_message(&message));
        }
        text
    }

    fn is_told_by(&self, event: &Event) -> bool {
        match event {
            Event::Task(TaskEvent::Edited { change: Change::Title(title), .. }) => *title == self.title(),
            Event::Session(SessionEvent::MessageEdited { session: of, .. }) => {
                !self.is_task() && *of == session()
            }
            _ => false,
        }
    }

    /// Saves, and gives the moment at which the save was over.
    fn save(&self, home: &Path) -> anyhow::Result<Instant> {
        let path = home.join(self.path());
        if self.by_rename() {
            let aside = path.with_file_name(".saving");
            std::fs::write(&aside, self.text())?;
            std::fs::rename(&aside, &path)?;
        } else {
            std::fs::write(&path, self.text())?;
        }
        Ok(Instant::now())
    }
}

fn session() -> SessionId {
    SessionId::new(format!("{AGENT}-00000a"))
}

/// Synod, watching.
struct Ours {
    events: broadcast::Receiver<Recorded>,
    home: PathBuf,
}

impl Ours {
    fn save(&self, edit: &Edit) -> anyhow::Result<Instant> {
        edit.save(&self.home)
    }

    async fn edit(&mut self, running: &Running, edit: &Edit) -> anyhow::Result<f64> {
        running.files.settled().await;
        let saved = self.save(edit)?;
        loop {
            let event = tokio::time::timeout(WAIT_MAX, self.events.recv()).await;
            let recorded =
                event.with_context(|| format!("no event told of an edit of {}", edit.path()))??;
            if edit.is_told_by(&recorded.event) {
                return Ok(saved.elapsed().as_secs_f64());
            }
        }
    }
}

/// A watcher and nothing behind it.
struct Theirs {
    home: PathBuf,
    seen: Receiver<()>,
    _watcher: notify::RecommendedWatcher,
}

impl Theirs {
    fn watch(home: &Path) -> anyhow::Result<Self> {
        let (sender, seen) = channel();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !matches!(event.kind, EventKind::Access(_))) {
                _ = sender.send(());
            }
        })?;
        watcher.watch(home, RecursiveMode::Recursive)?;
        Ok(Self { home: home.to_owned(), seen, _watcher: watcher })
    }

    /// Until the last that is told of the edit; the first may come before the save is over.
    fn edit(&mut self, edit: &Edit) -> anyhow::Result<f64> {
        let saved = edit.save(&self.home)?;
        self.seen.recv_timeout(WAIT_MAX).context("the bare watcher missed an edit")?;
        let mut last = saved.elapsed();
        while self.seen.recv_timeout(QUIET).is_ok() {
            last = saved.elapsed();
        }
        Ok(last.as_secs_f64())
    }
}
