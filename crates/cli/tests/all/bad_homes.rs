//! What the commands say of homes that are empty, broken, or not there. They always say something, and never
//! panic.

use std::io::Read;
use std::process::Stdio;

use serde_json::json;

use crate::home::{Home, run};

/// Every command that only looks.
const LOOKS: [&[&str]; 8] = [
    &["status"],
    &["inbox"],
    &["task", "list"],
    &["task", "list", "--open"],
    &["task", "query", "SELECT count(*) FROM tasks"],
    &["agent", "list"],
    &["session", "list"],
    &["check"],
];

#[test]
fn an_empty_home_is_a_home() {
    let home = Home::empty();
    for args in LOOKS {
        let ran = home.run(args);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
        assert!(!ran.stdout.is_empty(), "{args:?}");
        home.json(args);
    }
    let status = home.run(&["status"]).stdout;
    assert!(status.contains("No tasks;") && status.contains("No agents;"), "{status}");
    assert_eq!(home.run(&["inbox"]).stdout, "Nothing waits for you.\n");
    assert_eq!(home.run(&["check"]).stdout, "1 file, nothing wrong\n");
}

#[test]
fn folders_that_are_files_and_files_that_are_folders_break_nothing() {
    let home = Home::empty()
        .write("agents", "not a folder")
        .write("sessions", "not a folder")
        .write("approvals", "not a folder")
        .write("inbox", "not a folder")
        .write("tasks/x.task.md/y", "not a file");
    for args in LOOKS {
        let ran = home.run(args);
        let code = i32::from(args[0] == "check" || args.contains(&"query"));
        assert_eq!(ran.code, code, "{args:?} {} {}", ran.stdout, ran.stderr);
    }
    assert!(
        home.run(&["check"]).stdout.starts_with(
            "error: the file cannot be read: it is not a regular file\n --> tasks/x.task.md:1:1\n"
        )
    );
}

#[test]
fn a_home_that_is_not_there_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    for args in LOOKS {
        let ran = run(folder.path(), &[args, &["--home", "nowhere"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{args:?}");
        assert!(
            ran.stderr.starts_with("error: nowhere cannot be opened") && ran.stderr.contains("\nhelp: "),
            "{}",
            ran.stderr
        );
        let ran = run(folder.path(), &[args, &["--home", "."]].concat());
        assert_eq!(ran.code, 1, "{args:?}");
        assert!(ran.stderr.starts_with("error: . is not a home"), "{}", ran.stderr);
    }
}

#[test]
fn half_written_files_leave_the_rest_readable() {
    let home = Home::fine();
    let cut = |path: &str, keep: usize| {
        let text = std::fs::read(home.path().join(path)).unwrap();
        home.put(path, &text[..keep.min(text.len())]);
    };
    cut("agents/retriever-001.agent.yaml", 20);
    cut("approvals/pending/approval-0001.approval.md", 300);
    cut("tasks/disk.task.md", 130);
    let session = "sessions/executor-001-bbbbbb.session.yaml";
    let whole = std::fs::read_to_string(home.path().join(session)).unwrap();
    home.put(session, &whole[..whole.find("      7.md").unwrap()]);
    for args in LOOKS {
        let ran = home.run(args);
        assert_eq!(ran.code, i32::from(args[0] == "check"), "{args:?} {}", ran.stderr);
    }
    assert_eq!(home.json(&["agent", "list"])["agents"].as_array().unwrap().len(), 3);
    assert_eq!(home.json(&["inbox"])["unreadable"][0], "approvals/pending/approval-0001.approval.md");
    assert_eq!(home.json(&["session", "list"])["sessions"][0]["messages"], 2);
    let ran = home.run(&["session", "show", "executor-001-bbbbbb"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("cut off"), "{}", ran.stderr);
}

#[test]
fn files_that_are_no_text_leave_the_rest_readable() {
    let home = Home::fine();
    for path in [
        "synod.yaml",
        "agents/bad.agent.yaml",
        "tasks/bad.task.md",
        "sessions/bad-000000.session.yaml",
        "approvals/pending/approval-0009.approval.md",
        "policy/commands.yaml",
        "inbox/mail.jsonl",
    ] {
        home.put(path, b"id: a\nx: \xff\xfe\n");
    }
    for args in LOOKS {
        let ran = home.run(args);
        let code = i32::from(args[0] == "check" || args.contains(&"query"));
        assert_eq!(ran.code, code, "{args:?} {} {}", ran.stdout, ran.stderr);
    }
    assert_eq!(home.json(&["status"])["tasks"]["total"], 8);
    assert_eq!(home.json(&["session", "list"])["unreadable"][0], "sessions/bad-000000.session.yaml");
    let found = home.json(&["check"]);
    let bad: Vec<String> = found["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|d| d["message"].as_str().unwrap().contains("not UTF-8"))
        .map(|d| format!("{}:{}:{}", d["path"].as_str().unwrap(), d["line"], d["column"]))
        .collect();
    assert_eq!(bad.len(), 7, "{found}");
    assert!(bad.iter().all(|place| place.ends_with(":2:4")), "{bad:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = Home::fine();
    for args in [LOOKS[0], LOOKS[2], LOOKS[7], &["schema", "agent"]] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_synod"))
            .current_dir(home.path())
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let code = child.wait().unwrap().code();
        assert_eq!((code, stderr.as_str()), (Some(i32::from(args[0] == "check")), ""), "{args:?}");
    }
}

#[test]
fn a_socket_that_nobody_serves_is_no_daemon() {
    let home = Home::fine();
    std::fs::create_dir_all(home.path().join(".synod")).unwrap();
    drop(std::os::unix::net::UnixListener::bind(home.path().join(".synod/socket")).unwrap());
    assert_eq!(home.json(&["status"])["daemon"]["running"], false);
}

#[test]
fn status_tells_where_the_settings_are_broken_however_large_the_home_is() {
    let many: String = (0..9000).map(|n| format!("- [ ] @ghost \"Task {n}\"\n  id: t-{n}\n")).collect();
    for (tasks, is_whole) in [("", true), (many.as_str(), false)] {
        let home = Home::empty().write("synod.yaml", "routnig: {}\n").write("tasks/a.task.md", tasks);
        home.put("policy/commands.yaml", "commands: [\n");
        home.put("agents/w-1.agent.yaml", "id: w-1\ntype: executor\nmodel: none\n");
        let shown = home.run(&["status"]).stdout;
        assert!(shown.contains("\n  synod.yaml:1:1: unknown key `routnig`\n"), "{shown}");
        assert!(shown.contains("\n  policy/commands.yaml:"), "{shown}");
        assert_eq!(shown.contains("other files were not checked"), !is_whole, "{shown}");
        let problems = &home.json(&["status"])["problems"];
        assert_eq!((&problems["errors"], &problems["whole"]), (&json!(2), &json!(is_whole)), "{problems}");
        let places = problems["settings"].as_array().unwrap();
        assert!(
            places.iter().any(|place| place.as_str().unwrap().starts_with("synod.yaml:1:1: ")),
            "{problems}"
        );
    }
}

#[test]
fn an_agent_file_with_a_bad_name_is_told_of() {
    let home = Home::fine();
    for name in ["my agent", "wörker"] {
        let text = format!("id: {name}\ntype: executor\nmodel: small\n");
        home.put(&format!("agents/{name}.agent.yaml"), text);
    }
    for name in ["my agent", "wörker"] {
        let told = format!("the file of {name} does not read: agents/{name}.agent.yaml:1:5: ");
        for args in [&["agent", "list"][..], &["status"]] {
            let ran = home.run(args);
            assert_eq!(ran.code, 0);
            assert!(ran.stderr.contains(&told), "{}", ran.stderr);
        }
        for args in [
            &["run", "--to", name, "hi"][..],
            &["agent", "show", name],
            &["message", "send", name, "hi"],
            &["task", "add", "--to", name, "hi"],
            &["route", "--to", name, "hi"],
        ] {
            let ran = home.run(args);
            assert_eq!(ran.code, 1, "{args:?}");
            assert!(ran.stderr.contains(&format!("error: {told}")), "{args:?}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_context_that_is_half_written_is_told_of_with_its_place() {
    let home = Home::fine().write("contexts/half.json", "{\"half\": \n");
    home.put("contexts/long.json", "[1e999, {}]");
    let at = "contexts/half.json:2:1";
    let ran = home.run(&["check"]);
    assert!(ran.stdout.contains(&format!(" --> {at}\n")), "{}", ran.stdout);
    assert!(ran.stdout.contains("it is not JSON: EOF while parsing a value"), "{}", ran.stdout);
    let shown = home.run(&["context", "list"]).stdout;
    assert!(shown.contains("10, not JSON") && shown.matches("not JSON").count() == 1, "{shown}");
    let listed = home.json(&["context", "list"]);
    assert!(listed["contexts"][0]["error"].as_str().unwrap().starts_with(at), "{listed}");
    assert_eq!(home.run(&["context", "grant", "half", "executor-001", "--redact", "half"]).code, 0);
    let ran = home.run(&["context", "show", "half", "--as", "executor-001"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("error: {at} is not JSON")), "{}", ran.stderr);
    let ran = home.run(&["context", "show", "half"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{\"half\": \n"));
    assert!(ran.stderr.contains(&format!("{at} is not JSON")), "{}", ran.stderr);
}

#[test]
fn settings_that_do_not_read_are_told_with_the_place_by_what_is_about_them() {
    let home = Home::empty().write("synod.yaml", "budgets: [\n");
    for args in [&["budget", "show"][..], &["budget", "set", "day", "--tokens", "5"]] {
        let ran = home.run(args);
        assert!(
            ran.stderr.contains("synod.yaml does not read: synod.yaml:2:1: "),
            "{args:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn in_a_home_without_agents_there_is_nobody_to_speak_to() {
    let home = Home::empty();
    for args in [
        &["message", "send", "broadcast", "hi"][..],
        &["message", "send", "w-1", "hi"],
        &["message", "send", "#ops", "hi"],
    ] {
        let ran = home.run(args);
        assert_eq!(
            (ran.code, ran.stderr.as_str()),
            (
                1,
                "error: there are no agents yet\nhelp: write agents/<id>.agent.yaml (`synod schema agent` says how)\n"
            ),
            "{args:?}"
        );
    }
    let ran = home.run(&["agent", "spawn", "coder"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (
            1,
            "error: there are no models yet\nhelp: name one in synod.yaml, under `models:` (`synod schema synod` says how)\n"
        )
    );
}

#[test]
fn a_name_that_is_empty_is_no_name() {
    let home = Home::fine();
    for args in [
        &["message", "send", "", "hi"][..],
        &["run", "--to", " ", "hi"],
        &["agent", "show", ""],
        &["task", "add", "--to", "", "hi"],
        &["route", "--to", "", "hi"],
    ] {
        let ran = home.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("error: the name of the agent is empty\n"), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn there_is_help_about_help() {
    let home = Home::empty();
    let ran = home.run(&["help", "--help"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("Usage: synod help [COMMAND]"), "{}", ran.stdout);
    assert_eq!(home.run(&["help", "status"]).stdout, home.run(&["status", "--help"]).stdout);
    assert_eq!(home.run(&["help", "task", "add"]).stdout, home.run(&["task", "add", "--help"]).stdout);
}
