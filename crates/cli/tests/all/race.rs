//! A person edits files while the team works. Both must survive, whatever the timing: the person loads a file,
//! takes a while, and saves, by renaming or in place; the team has often written in between.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use adapters::journal::Sqlite;
use domain::event::Event;
use domain::event::{CallEvent, SessionEvent, TaskEvent, TurnEvent};
use formats::session::SessionFile;
use formats::task::TaskFile;
use ports::journal::Journal;
use testkit::rng::Rng;

/// Edits in an ordinary test run. `SYNOD_RACE_TIMES=1000` is the long one: about one save in place in 3,000 that meets a write
/// of Synod is still lost or comes twice.
const TIMES: u64 = 40;
const TASKS: &str = "tasks/work.task.md";

const SETTINGS: &str = "\
providers: {script: {kind: scripted, script: models/s.yaml}}
models: {m: {provider: script, model: m}}
limits: {turns_max: 1000000, same_call_max: 1000000, tasks_max: 1000000}
";
/// An agent that never comes to an end: each turn adds a task to the file and messages to the session.
const SCRIPT: &str = "\
rules:
  - agent: worker-1
    text: I go on.
    delay_ms: 7
    calls: [{tool: create_task, arguments: {title: made by the worker, assignee: human}}]
";
const AGENT: &str = "\
id: worker-1
type: planner
model: m
permissions: {concurrency: {task_timeout_ms: 100000000}}
";

struct Team {
    home: tempfile::TempDir,
    process: Child,
}

impl Team {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("synod.yaml", SETTINGS),
            ("models/s.yaml", SCRIPT),
            ("agents/worker-1.agent.yaml", AGENT),
            (TASKS, "# Work\n\n- [ ] @worker-1 \"Keep going\"\n  id: task-001\n"),
        ] {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let process = Command::new(env!("CARGO_BIN_EXE_synod"))
            .args(["up", "--home"])
            .arg(home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { home, process }
    }

    /// The worker's session, once it is there.
    fn session(&self) -> PathBuf {
        let folder = self.home.path().join("sessions");
        until("a session appears", || {
            fs::read_dir(&folder)
                .ok()?
                .flatten()
                .map(|e| e.path())
                .find(|p| p.to_string_lossy().ends_with(".session.yaml"))
        })
    }

    /// Keeps the folder of a run that failed, to look at.
    fn keep(&self) -> String {
        let kept = std::env::temp_dir().join(format!("synod-race-{}", std::process::id()));
        _ = Command::new("cp").arg("-r").arg(self.home.path()).arg(&kept).status();
        kept.display().to_string()
    }

    fn stop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.process.wait().unwrap().success(), "synod up ends well");
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Waits for something, with a limit.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "not within 30 s: {what}");
        std::thread::yield_now();
    }
}

/// Loads a file, thinks, and saves it.
fn edit(path: &Path, rng: &mut Rng, change: impl FnOnce(String) -> String) {
    let text = until("the file is there and whole", || {
        fs::read_to_string(path).ok().filter(|text| !text.is_empty())
    });
    let think = Duration::from_micros(rng.below(25_000));
    let began = Instant::now();
    while began.elapsed() < think {
        std::thread::yield_now();
    }
    let text = change(text);
    if rng.chance(1, 2) {
        let aside = path.with_extension("person~");
        fs::write(&aside, text).unwrap();
        fs::rename(&aside, path).unwrap();
    } else {
        fs::write(path, text).unwrap();
    }
}

#[test]
fn a_persons_edits_and_the_teams_writes_all_survive() {
    let times = std::env::var("SYNOD_RACE_TIMES").ok().and_then(|n| n.parse().ok()).unwrap_or(TIMES);
    let mut rng = Rng::new(17);
    let mut team = Team::start();
    let session = team.session();
    let tasks = team.home.path().join(TASKS);
    for n in 0..times {
        match rng.below(3) {
            0 => edit(&tasks, &mut rng, |text| {
                text.replacen("  id: task-001\n", &format!("  id: task-001\n  note{n}: kept\n"), 1)
            }),
            1 => edit(&tasks, &mut rng, |text| {
                format!("{}\n- [ ] @human \"written by hand {n}\"\n", text.trim_end())
            }),
            _ => edit(&session, &mut rng, |text| {
                let whole = formats::session::torn_tail(&text).map_or(text.as_str(), |keep| &text[..keep]);
                format!("{whole}  - role: user\n    content: said by hand {n}\n")
            }),
        }
    }
    // Whatever was saved last has been noticed when it has an id.
    let settled = || {
        let (file, _) = TaskFile::parse(TASKS, &fs::read_to_string(&tasks).ok()?);
        let (talk, _) = SessionFile::parse("s", &fs::read_to_string(&session).ok()?);
        let named =
            file.tasks().iter().all(|t| t.id.is_some()) && talk?.messages().iter().all(|m| m.id.is_some());
        named.then_some(())
    };
    until("everything by hand has an id", settled);
    team.stop();

    let text = fs::read_to_string(&tasks).unwrap();
    let (file, problems) = TaskFile::parse(TASKS, &text);
    assert_eq!(problems, [], "the task file reads");
    let talk = fs::read_to_string(&session).unwrap();
    let (talk, problems) = SessionFile::parse("s", &talk);
    assert_eq!(problems, [], "the session file reads");
    let talk = talk.unwrap();

    let mut rng = Rng::new(17);
    for n in 0..times {
        let kind = rng.below(3);
        rng.below(25_000);
        rng.chance(1, 2);
        let (what, count) = match kind {
            0 => (format!("note{n}: kept"), text.matches(&format!("note{n}: kept\n")).count()),
            1 => (
                format!("task by hand {n}"),
                file.tasks().iter().filter(|t| t.title == format!("written by hand {n}")).count(),
            ),
            _ => (
                format!("message {n}"),
                talk.messages().iter().filter(|m| m.content == format!("said by hand {n}")).count(),
            ),
        };
        assert_eq!(count, 1, "{what} in {}", team.keep());
    }
    team_writes_stand_once(team.home.path(), &file, &talk, times);
}

/// What the journal says the team wrote stands in the files, once.
fn team_writes_stand_once(home: &Path, file: &TaskFile, talk: &SessionFile, times: u64) {
    let mut tasks: BTreeMap<String, usize> = BTreeMap::new();
    let mut messages: BTreeMap<String, usize> = BTreeMap::new();
    let mut journal = Sqlite::open_read_only(&home.join(".synod/journal.db")).unwrap();
    for entry in journal.read(domain::id::Seq(0), usize::MAX >> 1).unwrap() {
        match engine::decode(&entry).unwrap() {
            Event::Task(TaskEvent::Added { spec, .. }) => _ = tasks.insert(spec.id.to_string(), 0),
            Event::Session(SessionEvent::MessageAdded { session, message, .. })
            | Event::Turn(TurnEvent::Replied { session, message, .. })
            | Event::Call(CallEvent::Finished { session, message, .. })
                if session == talk.head().session =>
            {
                messages.insert(message.id.to_string(), 0);
            }
            Event::Task(TaskEvent::Ended { task, .. }) => panic!("{task} ended, and nobody wanted that"),
            Event::Session(SessionEvent::Cut { .. }) => panic!("a cut was seen, and nobody cut"),
            _ => {}
        }
    }
    // Slower than the person, on a machine that does much else, but at work all the time.
    let least = usize::try_from(times / 8).unwrap();
    assert!(
        tasks.len() > least && messages.len() > 2 * least,
        "the team was at work: {} tasks, {} messages",
        tasks.len(),
        messages.len()
    );
    for task in file.tasks() {
        *tasks.entry(task.id.as_ref().unwrap().to_string()).or_insert(100) += 1;
    }
    for message in talk.messages() {
        *messages.entry(message.id.as_ref().unwrap().to_string()).or_insert(100) += 1;
    }
    let wrong = |map: BTreeMap<String, usize>| map.into_iter().filter(|(_, n)| *n != 1).collect::<Vec<_>>();
    assert_eq!(wrong(tasks), [], "tasks that do not stand once");
    assert_eq!(wrong(messages), [], "messages that do not stand once");
}
