//! The home's history in git: whose change it is, that nothing of a person's is taken along or lost, and that what is
//! taken back is followed.

use std::process::Command;

use domain::task::Mark;
use serde_json::Value;

use crate::team::{Team, until, until_so};

const TASKS: &str = "tasks/work.task.md";
const HEARS: &str = "rules:\n  - text: \"Heard: {last}\"\n";

/// Git as a person uses it, with nothing of the tester's own settings.
fn person(team: &Team) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(team.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git
}

fn git(team: &Team, args: &[&str]) -> String {
    let output = person(team).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A team whose home is a repository of olga's, with everything committed.
fn kept() -> Team {
    let team = Team::scripted(HEARS);
    git(&team, &["init", "-q", "-b", "main"]);
    git(&team, &["config", "user.name", "olga"]);
    git(&team, &["config", "user.email", "olga@example.org"]);
    team.write(".gitignore", ".synod/\nworkspaces/\nlog/audit.jsonl\nlog/usage.jsonl\n*.secret\n");
    team.write("notes.txt", "mine\n");
    git(&team, &["add", "."]);
    git(&team, &["commit", "-q", "-m", "begin"]);
    team
}

/// `author|committer|subject` of each commit, newest first, but for those that only sign the audit log.
fn log(team: &Team) -> Vec<String> {
    let all = git(team, &["log", "--format=%an|%cn|%s"]);
    all.lines()
        .filter(|line| !line.starts_with("Synod|Synod|signed the audit log"))
        .map(str::to_owned)
        .collect()
}

fn history(team: &Team, args: &[&str]) -> Vec<Value> {
    let out = team.fine(&[&["history", "--json"], args].concat());
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["schema_version"], 1);
    value["commits"].as_array().unwrap().clone()
}

fn is_clean(team: &Team) {
    assert_eq!(git(team, &["status", "--porcelain"]), "");
    git(team, &["fsck", "--strict"]);
}

#[test]
fn what_changes_is_committed_as_who_did_it_and_why() {
    let team = kept();
    team.fine(&["task", "add", "Say hello", "--to", "worker-1", "--file", "work.task.md"]);
    assert_eq!(log(&team)[0], "tess|Synod|task-001: tess added \"Say hello\"");
    assert_eq!(team.pump(), 0);
    assert_eq!(log(&team)[0], "worker-1|Synod|task-001: done, says worker-1");
    is_clean(&team);
    let by_agent = history(&team, &["--agent", "worker-1"]);
    assert_eq!(by_agent.len(), 1);
    assert_eq!(by_agent[0]["author"], "worker-1");
    assert_eq!(by_agent[0]["tasks"], serde_json::json!(["task-001"]));
    assert_eq!(history(&team, &["--task", "task-001"]).len(), 2);
    assert_eq!(history(&team, &["--task", "task-009"]).len(), 0);
    assert_eq!(history(&team, &["notes.txt"]).len(), 1);
    assert_eq!(history(&team, &["--limit", "1"]).len(), 1);
    assert!(team.fine(&["history"]).contains("task-001: done, says worker-1"));
}

#[test]
fn a_persons_edit_is_theirs_and_what_is_not_synods_is_left_alone() {
    let team = kept();
    team.write("notes.txt", "mine, changed\n");
    team.write("memory/own.md", "never seen by anybody\n");
    git(&team, &["add", "notes.txt"]);
    team.write("notes.txt", "mine, changed again\n");
    let up = team.up();
    team.edit("agents/worker-1.agent.yaml", "id: worker-1\n", "# a remark\nid: worker-1\n");
    until_so("the remark is committed", || log(&team)[0].starts_with("olga|Synod|"));
    // A file that does not read is the person's until it does.
    team.write("agents/broken.agent.yaml", "id: [\n");
    team.write(TASKS, "- [ ] @human \"Buy a disk\"\n");
    until_so("the task is committed", || {
        git(&team, &["ls-tree", "-r", "--name-only", "HEAD"]).contains(TASKS)
    });
    up.stop();
    let status = git(&team, &["status", "--porcelain"]);
    assert_eq!(status, "MM notes.txt\n?? agents/broken.agent.yaml\n?? memory/\n", "staged stays staged");
    assert_eq!(git(&team, &["show", "HEAD:notes.txt"]), "mine\n");
}

#[test]
fn what_a_crash_kept_from_the_history_is_committed_at_the_next_start() {
    let team = kept();
    team.append("synod.yaml", "git: {batch_ms: 3600000}\n");
    let up = team.up();
    team.write(TASKS, "- [ ] @worker-1 \"Say hello\"\n");
    until_so("it is done", || team.mark(TASKS, "task-001") == Some(Mark::Done));
    up.kill();
    assert_eq!(log(&team), ["olga|olga|begin"], "it was killed before its first commit");
    assert_eq!(team.pump(), 0);
    let authors: Vec<String> =
        log(&team).iter().map(|line| line.split('|').next().unwrap().to_owned()).collect();
    assert!(
        authors.contains(&"worker-1".to_owned()) && authors.contains(&"olga".to_owned()),
        "{:?}",
        log(&team)
    );
    is_clean(&team);
    let commits = log(&team).len();
    assert_eq!(team.pump(), 0);
    assert_eq!(log(&team).len(), commits, "and only once");
}

#[test]
fn people_and_synod_commit_at_the_same_time_and_neither_loses() {
    let team = kept();
    team.append("synod.yaml", "git: {batch_ms: 1}\n");
    let up = team.up();
    for n in 0..12 {
        team.append(TASKS, &format!("- [ ] @worker-1 \"Say {n}\"\n"));
        team.write("notes.txt", format!("note {n}\n"));
        // A person tries again when git says that the index or the branch is busy.
        until("a commit of olga's", || {
            let text = format!("note {n}");
            let done = person(&team).args(["commit", "-q", "-m", &text, "notes.txt"]).output().unwrap();
            done.status.success().then_some(())
        });
    }
    until_so("all is done", || team.tasks(TASKS).iter().filter(|t| t.mark == Mark::Done).count() == 12);
    up.stop();
    let all = log(&team);
    for n in 0..12 {
        assert!(all.contains(&format!("olga|olga|note {n}")), "{n}: {all:?}");
    }
    assert_eq!(git(&team, &["show", "HEAD:notes.txt"]), "note 11\n");
    is_clean(&team);
}

#[test]
fn a_lock_that_a_killed_synod_left_behind_is_taken_away_and_no_other() {
    let team = kept();
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    team.write(".git/index.lock", format!("synod {}\n", dead.id()));
    team.fine(&["task", "add", "Say hello", "--to", "worker-1"]);
    assert!(!team.at(".git/index.lock").exists());
    assert!(log(&team).len() > 1);
    is_clean(&team);
    for held in [String::new(), "DIRC".to_owned(), format!("synod {}\n", std::process::id())] {
        team.write(".git/index.lock", &held);
        let before = log(&team).len();
        team.fine(&["task", "add", "Say hello again", "--to", "worker-1"]);
        assert_eq!(log(&team).len(), before, "{held:?} is somebody's");
        assert_eq!(std::fs::read_to_string(team.at(".git/index.lock")).unwrap(), held);
        std::fs::remove_file(team.at(".git/index.lock")).unwrap();
    }
}

#[test]
fn without_autocommit_nothing_is_committed() {
    let team = kept();
    team.append("synod.yaml", "git: {autocommit: false}\n");
    team.fine(&["task", "add", "Say hello", "--to", "worker-1"]);
    assert_eq!(team.pump(), 0);
    assert_eq!(log(&team), ["olga|olga|begin"]);
}

#[test]
fn a_repository_that_cannot_be_committed_to_stops_no_work() {
    let team = kept();
    git(&team, &["checkout", "-q", "--detach"]);
    let up = team.up();
    team.write(TASKS, "- [ ] @worker-1 \"Say hello\"\n");
    until_so("it is done", || team.mark(TASKS, "task-001") == Some(Mark::Done));
    up.tells("HEAD is detached; check out a branch");
    up.stop();
    assert_eq!(log(&team), ["olga|olga|begin"]);
    git(&team, &["checkout", "-q", "main"]);
    // Somebody's lock that is left behind, and a merge that waits.
    team.write(".git/index.lock", "");
    assert_eq!(team.pump(), 0);
    assert_eq!(log(&team).len(), 1);
    std::fs::remove_file(team.at(".git/index.lock")).unwrap();
    team.write(".git/MERGE_HEAD", git(&team, &["rev-parse", "HEAD"]));
    assert_eq!(team.pump(), 0);
    assert_eq!(log(&team).len(), 1);
    std::fs::remove_file(team.at(".git/MERGE_HEAD")).unwrap();
    assert_eq!(team.pump(), 0);
    assert!(log(&team).len() > 1, "then it is taken up");
    is_clean(&team);
}

#[test]
fn a_home_in_a_bigger_repository_is_kept_there() {
    let team = Team::nothing();
    git(&team, &["init", "-q", "-b", "main"]);
    team.write("other.txt", "x\n");
    let made = team.synod(&["init", "deep/home"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(!team.at("deep/home/.git").exists());
    let home = team.at("deep/home").display().to_string();
    team.fine(&["--home", &home, "task", "add", "Look"]);
    assert_eq!(git(&team, &["ls-files", "other.txt"]), "");
    assert!(
        git(&team, &["ls-tree", "-r", "--name-only", "HEAD"]).contains("deep/home/tasks/requests.task.md")
    );
    let commits: Value =
        serde_json::from_str(&team.fine(&["--home", &home, "history", "tasks", "--json"])).unwrap();
    assert_eq!(commits["commits"][0]["files"][0]["path"], "tasks/requests.task.md");
}

#[test]
fn a_new_home_is_a_repository_unless_nobody_wants_one() {
    let team = Team::fresh();
    assert_eq!(git(&team, &["status", "--porcelain"]), "");
    assert_eq!(git(&team, &["log", "--format=%cn|%s"]), "Synod|home: begin\n");
    let code = Team::nothing();
    code.fine(&["init", "--template", "code", "."]);
    let kept = git(&code, &["ls-files"]);
    assert!(
        kept.contains("synod.yaml") && !kept.contains("repo/"),
        "the example keeps its own history: {kept}"
    );
    let plain = Team::nothing();
    plain.fine(&["init", ".", "--no-git"]);
    assert!(!plain.at(".git").exists());
    plain.fine(&["task", "add", "Look"]);
    let ran = plain.synod(&["history"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("in no git repository"), "{}", ran.stderr);
}

#[test]
fn a_thousand_events_at_once_are_few_commits() {
    let team = kept();
    let text: String = (1..=1000).map(|n| format!("- [ ] @human \"Job {n}\"\n  id: task-{n:04}\n")).collect();
    team.write(TASKS, text);
    assert_eq!(team.pump(), 3, "they are for a person");
    let commits = log(&team).len() - 1;
    assert!((1..=3).contains(&commits), "{commits} commits: {:?}", log(&team));
    is_clean(&team);
}

#[test]
fn undoing_the_commit_that_added_a_task_cancels_it_in_a_team_that_runs() {
    let team = kept();
    team.append("synod.yaml", "git: {batch_ms: 1}\n");
    let up = team.start(&["up", "--json"]);
    up.says("\"started\"");
    team.write(TASKS, "# Work\n\n- [ ] @human \"Buy a disk\"\n  id: task-001\n");
    until_so("the first is committed", || git(&team, &["ls-files", TASKS]).contains(TASKS));
    team.append(TASKS, "- [ ] @human \"Sell the house\"\n  id: task-002\n");
    let commit = until("the second is committed", || {
        history(&team, &["--task", "task-002"]).first().and_then(|c| c["id"].as_str().map(str::to_owned))
    });
    let before = log(&team).len();
    let dry = team.fine(&["undo", &commit, "--dry-run"]);
    assert!(dry.starts_with("Would take back ") && dry.contains("changed tasks/work.task.md"), "{dry}");
    assert_eq!(log(&team).len(), before);
    let ran = team.synod(&["undo", &commit[..10]]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("What was done outside them stays done"), "{}", ran.stderr);
    up.says("\"task_ended\"");
    assert!(team.task(TASKS, "task-002").is_none(), "{}", team.read(TASKS));
    assert_eq!(team.mark(TASKS, "task-001"), Some(Mark::Open));
    assert!(log(&team).iter().any(|line| line.starts_with("tess|Synod|undo: ")), "{:?}", log(&team));
    // A policy that is taken back is taken back for the team.
    team.write("policy/commands.yaml", "commands:\n  df -h: allow\n");
    let commit = until("the policy is committed", || {
        history(&team, &["policy"]).first().and_then(|c| c["id"].as_str().map(str::to_owned))
    });
    let changes = || up.stdout().matches("\"policy_changed\"").count();
    let known = changes();
    team.fine(&["undo", &commit]);
    until_so("the team knows", || changes() > known);
    assert!(!team.at("policy/commands.yaml").exists());
    up.stop();
    is_clean(&team);
}

#[test]
fn what_cannot_be_taken_back_is_refused_with_nothing_changed() {
    let team = kept();
    team.write(TASKS, "- [ ] @human \"Buy a disk\"\n  id: task-001\n");
    team.pump();
    team.edit(TASKS, "Buy a disk", "Buy two disks");
    team.pump();
    let first = history(&team, &["--task", "task-001"]).pop().unwrap()["id"].as_str().unwrap().to_owned();
    let (text, commits) = (team.read(TASKS), log(&team));
    let ran = team.synod(&["undo", &first]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("same lines, in tasks/work.task.md"), "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing was changed"), "{}", ran.stderr);
    let root = git(&team, &["rev-list", "--max-parents=0", "HEAD"]);
    for (name, why) in
        [(root.trim(), "first commit"), ("nonsense", "is no commit"), ("0000000000", "no one commit")]
    {
        let ran = team.synod(&["undo", name]);
        assert!(ran.code == 1 && ran.stderr.contains(why), "{name}: {}", ran.stderr);
    }
    // What a person has in the file and did not save into the history stays theirs.
    team.append("agents/worker-1.agent.yaml", "# first\n");
    team.pump();
    team.write(
        "agents/worker-1.agent.yaml",
        format!("# unsaved\n{}", team.read("agents/worker-1.agent.yaml")),
    );
    team.fine(&["undo", "last"]);
    let text_now = team.read("agents/worker-1.agent.yaml");
    assert!(text_now.starts_with("# unsaved\n") && !text_now.contains("# first"), "{text_now}");
    assert!(!git(&team, &["show", "HEAD:agents/worker-1.agent.yaml"]).contains("unsaved"));
    assert_eq!((team.read(TASKS), log(&team)[1..].to_vec().len()), (text, commits.len() + 1));
}

#[test]
fn nothing_that_the_homes_repository_brings_along_runs() {
    use std::os::unix::fs::PermissionsExt;
    let team = kept();
    let marker = team.at("../marker");
    let run = team.at("../run.sh");
    std::fs::write(&run, format!("#!/bin/sh\ntouch {}\ncat\n", marker.display())).unwrap();
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run_text = run.display();
    team.append(
        ".git/config",
        &format!(
            "[core]\n\tfsmonitor = {run_text}\n\tpager = {run_text}\n\teditor = {run_text}\n[diff]\n\texternal = {run_text}\n\
             [diff \"evil\"]\n\ttextconv = {run_text}\n[filter \"evil\"]\n\tclean = {run_text}\n\tsmudge = {run_text}\n\
             [merge \"evil\"]\n\tdriver = {run_text}\n[gpg]\n\tprogram = {run_text}\n[commit]\n\tgpgSign = true\n"
        ),
    );
    for hook in [
        "pre-commit",
        "post-commit",
        "commit-msg",
        "prepare-commit-msg",
        "reference-transaction",
        "post-index-change",
    ] {
        std::fs::copy(&run, team.at(&format!(".git/hooks/{hook}"))).unwrap();
    }
    team.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    team.fine(&["task", "add", "Say hello", "--to", "worker-1"]);
    assert_eq!(team.pump(), 0);
    team.fine(&["history"]);
    team.fine(&["undo", "last"]);
    assert!(!marker.exists(), "something ran");
    // And it would have, had git been asked.
    git(&team, &["status"]);
    assert!(marker.exists());
}
