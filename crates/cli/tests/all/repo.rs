//! `synod init --repo`: a team for a repository that is there.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::home::{Ran, run};

/// What git itself does in a folder.
pub fn git(folder: &Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.args(["-c", "user.name=dana", "-c", "user.email=dana@example.org"]);
    let output = git.args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A small project with tests, and what other programs for agents keep in it.
pub fn project(folder: &Path) {
    let files = [
        ("Makefile", "test:\n\tsh test.sh\nlint:\n\tsh -n greet.sh\n"),
        ("greet.sh", "echo hello\n"),
        ("test.sh", "[ \"$(sh greet.sh)\" = hello ]\n"),
        ("README.md", "# Greet\n"),
        ("AGENTS.md", "Write plain sh.\n"),
        (".claude/agents/tester.md", "---\nname: tester\n---\nYou test.\n"),
        (".mcp.json", "{\"mcpServers\": {\"docs\": {\"command\": \"docs\"}}}\n"),
    ];
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    git(folder, &["init", "-q", "-b", "main"]);
    git(folder, &["add", "."]);
    git(folder, &["commit", "-q", "-m", "begin"]);
}

fn greet() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("greet")).unwrap();
    project(&folder.path().join("greet"));
    folder
}

fn workspace(coder: &str) -> domain::agent::Workspace {
    let read = formats::agent::read("agents/coder-001.agent.yaml", coder);
    read.value.unwrap().workspace.unwrap()
}

fn fine(ran: Ran) -> String {
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

#[test]
fn a_repository_gets_a_team_beside_it_with_its_own_commands() {
    let folder = greet();
    let told = fine(run(folder.path(), &["init", "--repo", "greet", "--yes"]));
    for words in [
        "built with  make",
        "tests       make test",
        "lint        make lint",
        "AGENTS.md: planner, coder and reviewer are told to read it first",
        ".claude/agents (tester.md): not used",
        ".mcp.json (docs): not used",
        "Name a model in its synod.yaml",
    ] {
        assert!(told.contains(words), "{words:?} in {told}");
    }
    let home = folder.path().join("greet-team");
    let coder = fs::read_to_string(home.join("agents/coder-001.agent.yaml")).unwrap();
    let workspace = workspace(&coder);
    assert_eq!(workspace.repo.as_deref(), Some("../greet"));
    assert_eq!(
        (workspace.test.as_deref(), workspace.lint.as_deref()),
        (Some("make test"), Some("make lint"))
    );
    assert!(coder.contains("rules for agents in AGENTS.md"), "{coder}");
    assert!(coder.contains("# writes in its own workspace"), "comments stay: {coder}");
    let check = run(&home, &["check"]);
    assert!(check.stdout.ends_with("nothing wrong\n"), "{}", check.stdout);
    assert_eq!(git(&folder.path().join("greet"), &["status", "--porcelain", "--ignored"]), "");
    assert!(!home.join("repo").exists() && !home.join("models").exists());
}

#[test]
fn what_is_said_counts_more_than_what_is_found_and_missing_checks_are_not_asked_for() {
    let folder = greet();
    fs::remove_file(folder.path().join("greet/Makefile")).unwrap();
    let args = ["init", "--repo", "greet", "--yes", "--test", "sh test.sh", "--home", "team", "--json"];
    let told: Value = serde_json::from_str(&fine(run(folder.path(), &args))).unwrap();
    assert_eq!(
        (&told["test"], &told["lint"], &told["kind"]),
        (&"sh test.sh".into(), &Value::Null, &Value::Null)
    );
    let settings = fs::read_to_string(folder.path().join("team/synod.yaml")).unwrap();
    assert!(settings.contains("checks: [test]"), "{settings}");
    assert!(fine(run(&folder.path().join("team"), &["check"])).ends_with("nothing wrong\n"));
}

#[test]
fn a_home_inside_of_the_repository_is_one_folder_that_git_does_not_see() {
    let folder = greet();
    let repo = folder.path().join("greet");
    fine(run(&repo, &["init", "--repo", ".", "--inside", "--yes"]));
    assert_eq!(git(&repo, &["status", "--porcelain"]), "");
    assert!(
        fs::read_to_string(repo.join(".git/info/exclude")).unwrap().lines().any(|line| line == "/.team/")
    );
    let coder = fs::read_to_string(repo.join(".team/agents/coder-001.agent.yaml")).unwrap();
    assert_eq!(workspace(&coder).repo.as_deref(), Some(".."));
    assert!(fine(run(&repo.join(".team"), &["check"])).ends_with("nothing wrong\n"));
    assert_eq!(git(&repo.join(".team"), &["log", "--format=%s"]), "home: begin");
}

#[test]
fn without_a_terminal_nothing_is_made_unless_a_flag_says_yes() {
    let folder = greet();
    let ran = run(folder.path(), &["init", "--repo", "greet"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    assert!(
        ran.stdout.contains("tests       make test") && ran.stderr.contains("add --yes"),
        "{}",
        ran.stderr
    );
    assert!(!folder.path().join("greet-team").exists());
}

#[test]
fn what_is_no_repository_is_refused_with_what_to_do() {
    let folder = greet();
    let inner = folder.path().join("greet/src");
    fs::create_dir(&inner).unwrap();
    fs::create_dir(folder.path().join("plain")).unwrap();
    for (place, why) in [
        ("greet/src", "name its top folder: synod init --repo "),
        ("plain", "`git init`"),
        ("gone", "name the folder of a git repository"),
    ] {
        let ran = run(folder.path(), &["init", "--repo", place, "--yes"]);
        assert_eq!(ran.code, 1, "{place}");
        assert!(ran.stderr.contains(why), "{place}: {}", ran.stderr);
    }
    fs::create_dir(folder.path().join("greet-team")).unwrap();
    fs::write(folder.path().join("greet-team/mine.txt"), "").unwrap();
    let ran = run(folder.path(), &["init", "--repo", "greet", "--yes"]);
    assert!(ran.code == 1 && ran.stderr.contains("is not empty"), "{}", ran.stderr);
}
