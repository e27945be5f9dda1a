//! `synod policy check`: the verdict is the exit code, inside a home and outside of any.

use serde_json::{Value, json};

use crate::home::Home;

const POLICY: &str = "commands:
  npm run test: allow
  \"git push *\": {verdict: ask, network: true, reason: it goes to everybody}
  docker *: deny
  cat NOTES.md: ask
";

fn check(home: &Home, command: &str) -> (i32, Value) {
    let ran = home.run(&["policy", "check", "--json", "--", command]);
    (ran.code, serde_json::from_str(&ran.stdout).unwrap())
}

#[test]
fn the_verdict_of_a_command_is_the_exit_code() {
    let home = Home::fine().write("policy/commands.yaml", POLICY);
    for (command, code, verdict) in [
        ("ls -la | head -5", 0, "allow"),
        ("npm run test", 0, "allow"),
        ("npm run test && ls", 0, "allow"),
        ("npm run build", 3, "ask"),
        ("cat NOTES.md", 3, "ask"),
        ("npm run test > out.txt", 3, "ask"),
        ("npm run test; rm x", 3, "ask"),
        ("git push origin main", 3, "ask"),
        ("docker ps", 6, "deny"),
        ("ls; sudo /usr/bin/docker ps", 6, "deny"),
        ("cat .env", 6, "deny"),
        ("", 6, "deny"),
    ] {
        let (exit, value) = check(&home, command);
        assert_eq!((exit, value["verdict"].as_str()), (code, Some(verdict)), "{command}: {value}");
    }
    let (_, value) = check(&home, "git push origin main");
    assert_eq!(value["rule"], "policy/commands.yaml has \"git push *\": ask");
    assert_eq!(value["network"], true);
    assert!(value["factors"].as_array().unwrap().contains(&json!("it goes to everybody")), "{value}");
}

#[test]
fn people_read_the_same() {
    let home = Home::fine();
    let ran = home.run(&["policy", "check", "--", "rm", "-r", "a b"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (
            3,
            "ask, risk MEDIUM\n  deletes: rm\n  deletes recursively: rm -r\nby: what writes, runs, fetches or leaks is asked\n"
        )
    );
}

#[test]
fn an_agent_that_may_run_nothing_is_denied_everything() {
    let home = Home::fine();
    let ran = home.run(&["policy", "check", "--agent", "retriever-001", "--json", "--", "ls"]);
    let value: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, value["rule"].as_str()), (6, Some("role retriever lacks execute_tools")));
    assert_eq!(home.run(&["policy", "check", "--agent", "executor-001", "--", "ls"]).code, 0);
    assert_eq!(home.run(&["policy", "check", "--agent", "nobody", "--", "ls"]).code, 1);
}

#[test]
fn a_policy_that_cannot_be_read_says_nothing() {
    let home = Home::fine().write("policy/commands.yaml", "commands:\n  docker *: deyn\n");
    let ran = home.run(&["policy", "check", "--", "docker ps"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("synod check"), "{}", ran.stderr);
}

#[test]
fn outside_of_any_home_the_built_in_rules_count() {
    let folder = tempfile::tempdir().unwrap();
    for (command, code) in [("git status", 0), ("git push", 3), ("rm -rf /", 6)] {
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_synod"))
            .args(["policy", "check", "--json", "--", command])
            .env_remove("SYNOD_HOME")
            .current_dir(&folder)
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(code), "{command}");
    }
}
