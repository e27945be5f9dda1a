//! The first minutes: help, `init`, `run`, and what a wrong command line gets.

use std::path::Path;

use domain::task::Mark;

use crate::home::{Ran, run, synod};
use crate::team::Team;

#[test]
fn every_command_has_help_with_an_example() {
    let folder = tempfile::tempdir().unwrap();
    let help = |args: &[&str]| {
        let ran = run(folder.path(), &[args, &["--help"]].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
        ran.stdout
    };
    let commands = |text: &str| -> Vec<String> {
        let list = text.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap().to_owned();
        let names = list.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   "));
        names
            .filter_map(|l| l.split_whitespace().next())
            .filter(|n| *n != "help")
            .map(str::to_owned)
            .collect()
    };
    let top = help(&[]);
    assert!(top.contains("Exit codes: 0 ok"), "{top}");
    let all = commands(&top);
    assert!(all.len() >= 14, "{all:?}");
    for command in &all {
        let text = help(&[command]);
        assert!(text.contains("Example: synod "), "{command}: {text}");
        if text.contains("Commands:\n") {
            for below in commands(&text) {
                let text = help(&[command, &below]);
                assert!(text.contains("Example: synod "), "{command} {below}: {text}");
            }
        }
    }
}

#[test]
fn nonsense_on_the_command_line_is_a_usage_error() {
    let team = Team::fresh();
    for args in [
        &["nonsense"][..],
        &["--nonsense"],
        &["task"],
        &["task", "nonsense"],
        &["run"],
        &["run", ""],
        &["run", "  "],
        &["task", "add", ""],
        &["task", "add", "two\nlines"],
        &["task", "add", "x", "--priority", "Z"],
        &["task", "add", "x", "--file", "../x.task.md"],
        &["task", "add", "x", "--file", "approvals.task.md"],
        &["pump", "--timeout", "soon"],
        &["reject"],
        &["session", "send", "planner-001"],
    ] {
        let ran = team.synod(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
    assert_eq!(team.names("tasks"), [""; 0]);
}

#[test]
fn init_makes_a_home_that_is_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["init", "deep/down/team"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("cd deep/down/team && synod run"), "{}", ran.stdout);
    let check = run(&folder.path().join("deep/down/team"), &["check"]);
    assert!(check.stdout.ends_with("nothing wrong\n"), "{}", check.stdout);
    let json = run(folder.path(), &["init", "other", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(value["files"].as_array().unwrap().iter().any(|f| f == "synod.yaml"), "{value}");
    assert_eq!(run(folder.path(), &["init", "--home", "third"]).code, 0);
    assert!(folder.path().join("third/synod.yaml").exists() && !folder.path().join("synod.yaml").exists());
}

#[test]
fn init_leaves_a_folder_that_is_somebodys_alone() {
    let refused = |folder: &Path, args: &[&str]| -> Ran {
        let ran = run(folder, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{args:?}");
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("\nhelp: "), "{}", ran.stderr);
        ran
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // Other files are refused unless the caller means it, and stay.
    std::fs::write(path.join("notes.txt"), "mine").unwrap();
    let told = refused(path, &["init"]).stderr;
    assert!(told.contains("is not empty") && told.contains("synod init --here"), "{told}");
    assert_eq!(run(path, &["init", "--here"]).code, 0);
    assert_eq!(std::fs::read_to_string(path.join("notes.txt")).unwrap(), "mine");
    // Twice.
    let before = std::fs::read_to_string(path.join("synod.yaml")).unwrap();
    assert!(refused(path, &["init"]).stderr.contains("is a home already"));
    assert_eq!(std::fs::read_to_string(path.join("synod.yaml")).unwrap(), before);
    // A file with a name of ours: nothing is written at all.
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("README.md"), "# My project\n").unwrap();
    refused(other.path(), &["init", "--here"]);
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 1);
    // A place where no folder can be.
    std::fs::write(path.join("file"), "").unwrap();
    refused(path, &["init", "file"]);
    refused(path, &["init", "file/below"]);
    refused(path, &["init", "/proc/none"]);
}

#[test]
fn of_all_places_only_an_empty_folder_becomes_a_home() {
    let person = tempfile::tempdir().unwrap();
    let project = person.path().join("project");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    std::fs::write(project.join("README.md"), "# Mine\n").unwrap();
    let ran = |args: &[&str]| {
        let output = synod().env("HOME", person.path()).current_dir(&project).args(args).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let folder = person.path().to_str().unwrap();
    let places = [
        ("/", "belongs to the system"),
        ("/etc", "belongs to the system"),
        ("/etc/synod-team", "belongs to the system"),
        ("/usr", "belongs to the system"),
        ("/var", "belongs to the system"),
        (folder, "is a person's home folder"),
        (".", "is a git repository"),
    ];
    for (place, why) in places {
        let mut tries = vec![vec!["init", place], vec!["demo", "--yes", "--home", place]];
        if place != "." {
            tries.push(vec!["init", "--here", place]);
        }
        for args in tries {
            let (code, told) = ran(&args);
            assert_eq!(code, Some(1), "{args:?}: {told}");
            assert!(told.contains(why) && told.contains("\nhelp: "), "{args:?}: {told}");
        }
    }
    let left = std::fs::read_dir(&project).unwrap().count();
    assert_eq!(
        (left, Path::new("/etc/synod.yaml").exists(), Path::new("/etc/synod-team").exists()),
        (2, false, false)
    );
    std::fs::create_dir(person.path().join("empty")).unwrap();
    assert_eq!(ran(&["init", "../empty"]).0, Some(0));
    assert!(person.path().join("empty/synod.yaml").exists());
}

#[test]
fn a_home_that_was_not_made_whole_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let init = |dir: &Path| synod().args(["init", "--no-git"]).arg(dir).output().unwrap();
    assert!(init(&whole).status.success());
    // As a kill leaves it: settings come last.
    std::fs::remove_file(whole.join("synod.yaml")).unwrap();
    std::fs::remove_dir_all(whole.join("models")).unwrap();
    let output = init(&whole);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(whole.join("synod.yaml").exists() && whole.join("models/team.script.yaml").exists());
}

#[test]
fn a_request_in_a_new_home_waits_for_a_person_and_is_answered() {
    let team = Team::fresh();
    let first = team.synod(&["run", "Is there enough disk space for the nightly backup?"]);
    assert_eq!(first.code, 3, "{} {}", first.stdout, first.stderr);
    assert!(
        first.stdout.contains("executor-001   asks a person: run `df -h --output=avail .`"),
        "{}",
        first.stdout
    );
    assert!(
        first
            .stderr
            .contains("task-001 waits for a person: see `synod inbox`, decide, then go on with `synod pump`"),
        "{}",
        first.stderr
    );
    let inbox = team.fine(&["inbox"]);
    assert!(
        inbox.contains("df -h --output=avail .") && inbox.contains("synod approve approval-0001"),
        "{inbox}"
    );
    team.to_the_end();
    let tasks = team.tasks("tasks/requests.task.md");
    assert_eq!(tasks.iter().map(|t| t.mark).collect::<Vec<_>>(), [Mark::Done; 4]);
    assert_eq!(team.sent().len(), 1);
    team.is_in_order();
    // And one that nobody must be asked for.
    let said = team.synod(&["run", "Sing a song", "--to", "retriever-001"]);
    assert_eq!(said.code, 0);
    assert!(
        said.stdout.contains("task-005 done: I am a scripted model and have no rule for this."),
        "{}",
        said.stdout
    );
    let json = team.synod(&["run", "Sing a song", "--to", "retriever-001", "--json"]);
    let last: serde_json::Value = serde_json::from_str(json.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((json.code, &last["status"], &last["task"]), (0, &"done".into(), &"task-006".into()));
}

#[test]
fn a_request_that_fails_or_takes_too_long_says_so() {
    let team = Team::scripted(
        "rules:\n  - matches: \"*slow*\"\n    text: Done.\n    delay_ms: 60000\n  - matches: \"Task *bad*\"\n    error: {message: the model is gone}\n  - text: Done.\n",
    );
    let failed = team.synod(&["run", "Something bad"]);
    assert_eq!(failed.code, 1, "{} {}", failed.stdout, failed.stderr);
    assert!(failed.stdout.contains("task-001 failed: "), "{}", failed.stdout);
    let late = team.synod(&["run", "Something slow", "--timeout", "1"]);
    assert_eq!(late.code, 124, "{} {}", late.stdout, late.stderr);
    assert!(late.stderr.contains("1 s; go on with `synod pump`"), "{}", late.stderr);
    let late = team.synod(&["pump", "--timeout", "1"]);
    assert_eq!(late.code, 124);
    assert!(late.stderr.contains("1 s; what is under way goes on with the next start"), "{}", late.stderr);
}

#[test]
fn who_waits_beside_a_daemon_hears_that_it_goes_on_by_itself() {
    let team = Team::scripted(
        "rules:\n  - matches: \"*slow*\"\n    text: Done.\n    delay_ms: 600000\n  \
         - calls: [{tool: execute_command, arguments: {command: make}}]\n",
    );
    let up = team.up();
    let asked = team.synod(&["run", "Something to ask"]);
    let told = "task-001 waits for a person: see `synod inbox`, decide, then the daemon goes on by itself\n";
    assert_eq!((asked.code, asked.stderr.as_str()), (3, told));
    for (args, told) in [
        (
            &["run", "Something slow", "--timeout", "1"][..],
            "task-002 is not done within 1 s; the daemon goes on\n",
        ),
        (&["pump", "--timeout", "1"], "not done within 1 s; the daemon goes on\n"),
    ] {
        let late = team.synod(args);
        assert_eq!((late.code, late.stderr.as_str()), (124, told), "{args:?}");
    }
    team.write("tasks/mine.task.md", "- [ ] @human \"Buy a disk\"\n  id: t-1\n");
    team.fine(&["cancel", "task-001"]);
    team.fine(&["cancel", "task-002"]);
    let due = team.synod(&["pump"]);
    assert_eq!(due.code, 3, "{}", due.stderr);
    assert!(due.stderr.ends_with("; then the daemon goes on by itself\n"), "{}", due.stderr);
    up.stop();
}
