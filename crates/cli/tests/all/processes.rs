//! One daemon a home, commands beside it and without it, and what happens when a process, its disk or its
//! journal goes bad.

use std::path::Path;
use std::process::Command;

use domain::task::Mark;
use rustix::process::Signal;

use crate::team::{Process, Team, until_so};

const TASKS: &str = "tasks/requests.task.md";
const JOURNAL: &str = ".synod/journal.db";

/// Repeats what it hears; a task about counting asks for a command first.
const SCRIPT: &str = "\
rules:
  - matches: \"Task *Count*\"
    text: I count.
    calls: [{tool: execute_command, arguments: {command: env echo 1 2 3}}]
  - matches: \"Task *slow*\"
    text: That took a while.
    delay_ms: 600000
  - text: \"Heard: {last}\"
";

/// So slow that work is under way for as long as a test has something to do meanwhile.
const SLOW: &str = "    delay_ms: 600000\n";

#[test]
fn a_second_daemon_is_refused_and_names_the_first() {
    let team = Team::scripted(SCRIPT);
    let up = team.up();
    let second = team.start(&["up"]).wait();
    assert_eq!((second.code, second.stdout.as_str()), (1, ""));
    assert!(second.stderr.contains(&format!("is run by process {}", up.id())), "{}", second.stderr);
    assert!(second.stderr.contains("\nhelp: "), "{}", second.stderr);
    let json = team.start(&["up", "--json"]).wait();
    assert_eq!(json.code, 1);
    let error: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(error["error"]["message"].as_str().unwrap().contains("is run by process"), "{error}");
    up.stop();
    team.up().stop();
}

#[test]
fn every_command_works_with_and_without_a_daemon() {
    for daemon in [false, true] {
        let team = Team::scripted(SCRIPT);
        let up = daemon.then(|| team.up());
        assert_eq!(team.fine(&["task", "add", "Say hello"]), "task-001 is added\n");
        let sent = team.fine(&["session", "send", "worker-1", "good morning"]);
        assert!(sent.starts_with("sent to worker-1, in worker-1-"), "{sent}");
        let pump = team.synod(&["pump"]);
        assert_eq!(pump.code, 0, "{} {}", pump.stdout, pump.stderr);
        assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Done));
        let run = team.synod(&["run", "Say hello again"]);
        assert_eq!(run.code, 0, "{} {}", run.stdout, run.stderr);
        assert!(
            run.stdout.ends_with("task-002 done: Heard: Task task-002: Say hello again\n"),
            "{}",
            run.stdout
        );
        let run = team.synod(&["run", "Count to three"]);
        assert_eq!(run.code, 3, "{} {}", run.stdout, run.stderr);
        assert!(run.stderr.contains("synod inbox"), "{}", run.stderr);
        let status = team.fine(&["status"]);
        assert!(status.contains("approval-0001") && status.contains("task-003"), "{status}");
        assert_eq!(status.contains("The daemon runs"), daemon, "{status}");
        assert_eq!(team.synod(&["pump"]).code, 3);
        assert_eq!(team.fine(&["approve", "approval-0001"]), "approval-0001 is approved\n");
        let pump = team.synod(&["pump"]);
        assert_eq!(pump.code, 0, "{} {}", pump.stdout, pump.stderr);
        assert_eq!(team.mark(TASKS, "task-003"), Some(Mark::Done));
        let refused = team.synod(&["task", "add", "Sing", "--to", "nobody-1"]);
        assert_eq!(refused.code, 1);
        assert!(refused.stderr.contains("nobody-1"), "{}", refused.stderr);
        let refused = team.synod(&["run", "Sing", "--to", "nobody-1"]);
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        up.map(super::team::Process::stop);
        team.is_in_order();
    }
}

#[test]
fn everybody_who_asks_the_same_at_once_is_told_of_their_own() {
    let team = Team::scripted(SCRIPT);
    for agent in ["worker-2", "worker-3"] {
        let text = team.read("agents/worker-1.agent.yaml").replace("worker-1", agent);
        team.write(&format!("agents/{agent}.agent.yaml"), text);
    }
    let up = team.up();
    let at_once = |args: &dyn Fn(usize) -> Vec<String>| -> Vec<String> {
        let all: Vec<Process> =
            (0..10).map(|n| team.start(&args(n).iter().map(String::as_str).collect::<Vec<_>>())).collect();
        let mut said: Vec<String> = all.into_iter().map(|one| one.wait().stdout).collect();
        said.sort();
        said
    };
    let words = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let worker = |n: usize| format!("worker-{}", n % 3 + 1);

    let added = at_once(&|_| words(&["task", "add", "The same"]));
    let ids: Vec<String> = (1..=10).map(|n| format!("task-{n:03} is added\n")).collect();
    assert_eq!(added, ids);

    let mut made = at_once(&|n| words(&["agent", "spawn", "executor", "--name", &format!("n{n}")]));
    made.dedup();
    assert_eq!(made.len(), 10, "{made:?}");
    for said in &made {
        let id = said.split(' ').next().unwrap();
        assert!(team.at(&format!("agents/{id}.agent.yaml")).exists(), "{said}");
    }

    for said in at_once(&|n| words(&["message", "send", &worker(n), "The same words", "--json"])) {
        let sent: serde_json::Value = serde_json::from_str(&said).unwrap();
        let sessions = sent["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), 1, "{said}");
        assert!(sessions[0].as_str().unwrap().starts_with(sent["sent"].as_str().unwrap()), "{said}");
    }

    let mut answered: Vec<String> = at_once(&|n| words(&["run", "The same again", "--to", &worker(n)]))
        .iter()
        .map(|said| said.lines().last().unwrap().split(' ').next().unwrap().to_owned())
        .collect();
    answered.sort();
    assert_eq!(answered, (11..=20).map(|n| format!("task-{n:03}")).collect::<Vec<_>>());
    up.stop();
}

#[test]
fn a_signal_ends_it_well_with_everything_printed() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let team = Team::scripted(SCRIPT);
        let up = team.up();
        for _ in 0..5 {
            team.fine(&["task", "add", "Something slow"]);
        }
        until_so("work is under way", || team.mark(TASKS, "task-001") == Some(Mark::Running));
        let (code, stdout, stderr) = up.signal(signal);
        assert_eq!(code, Some(0), "{signal:?}: {stdout} {stderr}");
        assert!(stderr.contains("stopping: waiting for running tools"), "{stderr}");
        // What the files say is what the journal says: a restart finds nothing to print, and goes on.
        assert_eq!(team.tasks(TASKS).len(), 5);
        team.is_in_order();
        team.write("models/s.yaml", SCRIPT.replace(SLOW, ""));
        assert_eq!(team.pump(), 0);
        assert!(team.tasks(TASKS).iter().all(|t| t.mark == Mark::Done), "{}", team.read(TASKS));
        assert_eq!(team.sessions("worker-1").len(), 5, "nothing was begun twice");
    }
}

#[test]
fn a_signal_ends_it_well_from_the_moment_it_can_be_spoken_to() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let team = Team::scripted(SCRIPT);
        let up = team.start(&["up"]);
        until_so("it serves", || team.at(".synod/socket").exists());
        let (code, stdout, stderr) = up.signal(signal);
        assert_eq!(code, Some(0), "{signal:?}: {stdout} {stderr}");
        assert!(stderr.contains("stopping: waiting for running tools"), "{stderr}");
        assert!(!team.at(".synod/socket").exists(), "nothing is left behind");
    }
}

#[test]
fn a_killed_daemon_goes_on_and_its_socket_is_no_obstacle() {
    let team = Team::scripted(SCRIPT);
    let up = team.up();
    team.fine(&["task", "add", "Something slow"]);
    until_so("it is begun", || team.mark(TASKS, "task-001") == Some(Mark::Running));
    up.kill();
    assert!(team.at(".synod/socket").exists(), "it had no time to clean up");
    // Commands see that nobody is there.
    assert!(team.fine(&["status"]).contains("No daemon runs"));
    team.fine(&["task", "add", "Another"]);
    team.write("models/s.yaml", SCRIPT.replace(SLOW, ""));
    let up = team.up();
    until_so("both are done", || {
        team.tasks(TASKS).len() == 2 && team.tasks(TASKS).iter().all(|t| t.mark == Mark::Done)
    });
    up.stop();
    assert!(!team.at(".synod/socket").exists());
    assert_eq!(team.sessions("worker-1").len(), 2);
    // A plain file in its place is none, either.
    team.write(".synod/socket", "");
    assert_eq!(team.pump(), 0);
    team.up().stop();
}

#[test]
fn a_home_that_lies_deep_is_worked_in_and_spoken_to() {
    let team = Team::scripted_deep(SCRIPT);
    let up = team.up();
    let added = team.fine(&["task", "add", "Something slow"]);
    assert!(added.contains("task-001"), "{added}");
    until_so("it is begun", || team.mark(TASKS, "task-001") == Some(Mark::Running));
    team.fine(&["cancel", "task-001"]);
    up.stop();
    assert!(!team.at(".synod/socket").exists());
    // Where none can be, it says so.
    std::fs::create_dir(team.at(".synod/socket")).unwrap();
    let refused = team.synod(&["pump"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("cannot serve") && refused.stderr.contains(".synod/socket"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_daemon_whose_journal_is_deleted_stops_and_leaves_the_home_to_the_next() {
    let team = Team::scripted(SCRIPT);
    let up = team.up();
    team.fine(&["task", "add", "Something slow"]);
    until_so("it is begun", || team.mark(TASKS, "task-001") == Some(Mark::Running));
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    let ended = up.wait();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains(".synod/lock was deleted or replaced"), "{}", ended.stderr);
    assert!(ended.stderr.contains("help: start again"), "{}", ended.stderr);
    assert!(!team.at(".synod").exists(), "it writes nothing more");
    team.write("models/s.yaml", SCRIPT.replace(SLOW, ""));
    assert_eq!(team.pump(), 0);
    assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Done));
    assert_eq!(team.sessions("worker-1").len(), 1);
    team.is_in_order();
    team.fine(&["audit", "verify"]);
}

#[test]
fn a_pump_whose_journal_is_deleted_stops_too() {
    let team = Team::scripted(SCRIPT);
    team.fine(&["task", "add", "Something slow"]);
    for args in [&["pump"][..], &["run", "Something slow"]] {
        let pump = team.start(args);
        until_so("it works", || team.at(".synod/socket").exists());
        std::fs::remove_dir_all(team.at(".synod")).unwrap();
        let ended = pump.wait();
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        assert!(ended.stderr.contains("was deleted or replaced"), "{}", ended.stderr);
        assert!(!team.at(".synod").exists(), "it writes nothing more");
    }
}

#[test]
fn two_daemons_never_run_a_home_even_if_its_journal_is_deleted() {
    let team = Team::scripted(SCRIPT);
    let first = team.up();
    team.fine(&["task", "add", "Something slow"]);
    until_so("it is begun", || team.mark(TASKS, "task-001") == Some(Mark::Running));
    // It cannot notice anything now.
    first.send(Signal::STOP);
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    team.write("models/s.yaml", SCRIPT.replace(SLOW, ""));
    let second = team.start(&["up"]).wait();
    assert_eq!(second.code, 1, "{}", second.stderr);
    assert!(second.stderr.contains(&format!("is run by process {}", first.id())), "{}", second.stderr);
    assert!(!team.at(".synod").exists());
    first.send(Signal::CONT);
    let ended = first.wait();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("was deleted or replaced"), "{}", ended.stderr);
    assert_eq!(team.pump(), 0);
    assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Done));
    assert_eq!(team.sessions("worker-1").len(), 1, "nothing was begun twice");
    team.is_in_order();
}

#[test]
fn commands_at_once_wait_for_each_other_when_no_daemon_runs() {
    let team = Team::scripted(SCRIPT);
    let adds: Vec<_> = (0..12).map(|n| team.start(&["task", "add", &format!("Say {n}")])).collect();
    let mut said: Vec<String> = Vec::new();
    for add in adds {
        let ended = add.wait();
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
        said.push(ended.stdout);
    }
    said.sort();
    let each: Vec<String> = (1..=12).map(|n| format!("task-{n:03} is added\n")).collect();
    assert_eq!(said, each);
    let mut titles: Vec<String> = team.tasks(TASKS).into_iter().map(|task| task.title).collect();
    titles.sort();
    let mut given: Vec<String> = (0..12).map(|n| format!("Say {n}")).collect();
    given.sort();
    assert_eq!(titles, given, "each once");
}

#[test]
fn requests_at_once_are_all_answered_once_whoever_works() {
    let team = Team::scripted(SCRIPT);
    for round in 0..4 {
        let runs: Vec<_> = (0..3).map(|n| team.start(&["run", &format!("Say {round}-{n}")])).collect();
        let pumps: Vec<_> = (0..3).map(|_| team.start(&["pump"])).collect();
        let add = team.start(&["task", "add", &format!("Say {round}-3")]);
        for ended in runs.into_iter().chain(pumps).chain([add]).map(crate::team::Process::wait) {
            // Who is the first in the home and has little to do says that of most of the rules.
            let told =
                ended.stderr.lines().find(|line| !line.starts_with("scripted rules that never matched"));
            assert_eq!((ended.code, told), (0, None), "{}", ended.stdout);
        }
    }
    assert_eq!(team.pump(), 0);
    let mut titles: Vec<String> = team.tasks(TASKS).into_iter().map(|task| task.title).collect();
    titles.sort();
    let given: Vec<String> =
        (0..4).flat_map(|round| (0..4).map(move |n| format!("Say {round}-{n}"))).collect();
    assert_eq!(titles, given, "each once");
    assert!(team.tasks(TASKS).iter().all(|t| t.mark == Mark::Done), "{}", team.read(TASKS));
    assert_eq!(team.sessions("worker-1").len(), 16);
    team.is_in_order();
}

#[test]
fn whoever_waits_for_a_daemon_that_stops_goes_on_alone() {
    let team = Team::scripted(SCRIPT);
    let up = team.up();
    let run = team.start(&["run", "Something slow"]);
    let pump = team.start(&["pump"]);
    until_so("it is begun", || team.mark(TASKS, "task-001") == Some(Mark::Running));
    team.write("models/s.yaml", SCRIPT.replace(SLOW, ""));
    up.stop();
    let ended = run.wait();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{}", ended.stdout);
    assert!(ended.stdout.contains("task-001 done: That took a while."), "{}", ended.stdout);
    let ended = pump.wait();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{}", ended.stdout);
    assert_eq!((team.tasks(TASKS).len(), team.sessions("worker-1").len()), (1, 1), "nothing is done twice");
}

#[test]
fn whoever_has_the_home_and_never_answers_is_named_after_a_moment() {
    let team = Team::scripted(SCRIPT);
    let home = std::fs::File::open(team.path()).unwrap();
    home.lock().unwrap();
    let commands = [&["task", "add", "More"][..], &["pump"], &["up"]].map(|args| team.start(args));
    for ran in commands.map(crate::team::Process::wait) {
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
        let named = format!("is run by process {}", std::process::id());
        assert!(ran.stderr.contains(&named) && ran.stderr.contains("help: "), "{}", ran.stderr);
    }
    home.unlock().unwrap();
    team.fine(&["task", "add", "More"]);
}

#[test]
fn a_damaged_journal_is_told_with_what_to_do_and_the_files_are_enough() {
    let team = Team::scripted(SCRIPT);
    for _ in 0..3 {
        team.fine(&["task", "add", "Say hello"]);
    }
    assert_eq!(team.pump(), 0);
    let mut bytes = std::fs::read(team.at(JOURNAL)).unwrap();
    let words = b"Say hello";
    let places: Vec<usize> =
        (0..bytes.len() - words.len()).filter(|i| bytes[*i..].starts_with(words)).collect();
    // The snapshot alone could be made again from the events, and events before it are not read.
    places.iter().for_each(|at| bytes[*at] ^= 1);
    team.write(JOURNAL, &bytes);
    for args in [&["up"][..], &["pump"], &["task", "add", "More"], &["run", "More"]] {
        let ran = team.start(args).wait();
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{args:?}");
        assert!(ran.stderr.contains("journal"), "{}", ran.stderr);
        assert!(ran.stderr.contains("keep a copy of .synod, then delete it"), "{}", ran.stderr);
    }
    // Looking needs no journal.
    assert!(team.fine(&["status"]).contains("3 done"));
    std::fs::rename(team.at(".synod"), team.at("synod-copy")).unwrap();
    team.fine(&["task", "add", "More"]);
    assert_eq!(team.pump(), 0);
    assert_eq!(team.mark(TASKS, "task-004"), Some(Mark::Done), "{}", team.read(TASKS));
    assert_eq!(team.sessions("worker-1").len(), 4);
}

#[test]
fn a_file_that_is_no_journal_is_told_with_what_to_do() {
    let team = Team::scripted(SCRIPT);
    team.write(JOURNAL, "this is not a database, and long enough to be one. ".repeat(100));
    let ran = team.synod(&["pump"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("journal") && ran.stderr.contains("help: "), "{}", ran.stderr);
}

#[test]
fn a_journal_of_a_newer_version_is_left_alone() {
    let team = Team::scripted(SCRIPT);
    team.fine(&["task", "add", "Say hello"]);
    // The version that SQLite keeps for us, in the head of the file.
    let mut bytes = std::fs::read(team.at(JOURNAL)).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    team.write(JOURNAL, &bytes);
    let ran = team.start(&["up"]).wait();
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("99") && ran.stderr.contains("newer"), "{}", ran.stderr);
    assert!(ran.stderr.contains("help: "), "{}", ran.stderr);
    assert_eq!(std::fs::read(team.at(JOURNAL)).unwrap(), bytes);
}

/// A small disk of its own below a home, for as long as this lives.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    #[expect(clippy::print_stderr, reason = "whoever runs the tests must know what was skipped")]
    fn mount(place: &'a Path, kib: u32) -> Option<Self> {
        let size = format!("size={kib}k");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(place).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(place)),
            Ok(output) => {
                eprintln!(
                    "skipped: no disk can be mounted here: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
                None
            }
            Err(error) => {
                eprintln!("skipped: there is no program `mount` here: {error}");
                None
            }
        }
    }

    fn again(&self, options: &str) {
        let done = Command::new("mount").args(["-o", options]).arg(self.0).status().unwrap();
        assert!(done.success(), "mount -o {options}");
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_corrupts_nothing_and_work_goes_on_when_there_is_room() {
    let team = Team::nothing();
    let place = team.path();
    let Some(disk) = Disk::mount(&place, 4096) else { return };
    team.write("models/s.yaml", SCRIPT);
    team.write("agents/worker-1.agent.yaml", "id: worker-1\ntype: executor\nmodel: m\n");
    team.write("synod.yaml", "providers: {script: {kind: scripted, script: models/s.yaml}}\nmodels: {m: {provider: script, model: m}}\nrouting: {fallback: worker-1}\n");
    let up = team.up();
    team.fine(&["task", "add", "Say hello"]);
    until_so("it is done", || team.mark(TASKS, "task-001") == Some(Mark::Done));
    fill(&team);
    // Whatever is answered with yes is kept; sooner or later there is a no, and it says why.
    let mut added = 1;
    let refused = loop {
        let ran = team.synod(&["task", "add", "More", "--text", &"much ".repeat(200)]);
        if ran.code != 0 {
            break ran;
        }
        added += 1;
        assert!(added < 1000, "the disk never gets full");
    };
    assert_eq!(refused.code, 7, "{}", refused.stderr);
    assert!(refused.stderr.contains("synod has stopped working in this home"), "{}", refused.stderr);
    let ended = up.wait();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("the journal cannot be written: database or disk is full"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("help: make room"), "{}", ended.stderr);
    let again = team.synod(&["pump"]);
    assert_eq!(again.code, 1, "{}", again.stderr);
    std::fs::remove_file(team.at("ballast")).unwrap();
    assert_eq!(team.pump(), 0);
    let tasks = team.tasks(TASKS);
    assert!(tasks.len() >= added, "{} of {added}", tasks.len());
    assert!(tasks.iter().all(|t| t.mark == Mark::Done), "{}", team.read(TASKS));
    team.is_in_order();
    drop(disk);
}

fn fill(team: &Team) {
    use std::io::Write;
    let mut ballast = std::fs::File::create(team.at("ballast")).unwrap();
    for piece in [1 << 16, 1 << 10, 1] {
        while ballast.write_all(&vec![0; piece]).is_ok() {}
    }
}

#[test]
fn a_read_only_home_is_told_and_can_be_looked_at() {
    let team = Team::nothing();
    let place = team.path();
    let Some(disk) = Disk::mount(&place, 4096) else { return };
    team.write("synod.yaml", "");
    team.write("tasks/work.task.md", "- [ ] @human \"One\"\n  id: task-001\n");
    disk.again("remount,ro");
    for args in [&["up"][..], &["pump"], &["task", "add", "More"]] {
        let ran = team.start(args).wait();
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{args:?}");
        assert!(ran.stderr.contains("Read-only file system"), "{}", ran.stderr);
    }
    assert!(team.fine(&["status"]).contains("task-001"));
    assert!(team.fine(&["task", "list"]).contains("task-001"));
    disk.again("remount,rw");
    assert_eq!(team.pump(), 3, "it works, and the task is for a person");
}
