//! `synod init --template code`: a change from the request to the merge, told from the repository, the files and the audit
//! log; the same through `kill -9`.

use std::process::Command;

use serde_json::Value;

use crate::team::{Team, until};

const REQUEST: [&str; 2] = ["run", "Greet people by name"];

pub fn begun() -> Team {
    let team = Team::nothing();
    team.fine(&["init", "--template", "code", "."]);
    team.is_in_order();
    team
}

/// What git itself says of the repository.
pub fn git(team: &Team, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(team.at("repo")).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = git.args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Whether the tests pass on the files of a commit, in a folder that has nothing else.
pub fn tests_pass(team: &Team, commit: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    git(team, &["--work-tree", place, "restore", "--source", commit, "--worktree", "."]);
    Command::new("sh").arg("test.sh").current_dir(folder.path()).output().unwrap().status.success()
}

/// The lines of the audit log about reviews, as `action outcome`.
fn steps(team: &Team) -> Vec<String> {
    let text = team.read("log/audit.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_review = lines.filter(|line| line["kind"] == "review");
    of_review.map(|line| format!("{} {}", line["action"], line["outcome"]).replace('"', "")).collect()
}

/// What the coder was told of its reviews: whether each was an approval, and its issues.
fn answers(team: &Team) -> Vec<(bool, usize)> {
    let said = team.talk("coder-001");
    let envelopes = said.iter().filter_map(|message| message.envelope.as_ref());
    envelopes.filter_map(|envelope| Some((envelope.approved?, envelope.issues.len()))).collect()
}

/// What must be so at the end, however it came about.
fn ended_well(team: &Team) {
    let merges = git(team, &["rev-list", "--merges", "main"]);
    assert_eq!(merges.lines().count(), 1, "it is merged once: {merges}");
    assert_eq!(git(team, &["rev-parse", "HEAD", "main"]), format!("{merges}\n{merges}"));
    assert_eq!(git(team, &["rev-parse", "main^2"]), git(team, &["rev-parse", "agent/coder-001"]));
    assert_eq!(git(team, &["rev-list", "--count", "main"]), "4", "begin, two tries, the merge");
    assert!(tests_pass(team, "main"));
    assert!(!tests_pass(team, "main^2~1"), "the first try works on one machine only");
    assert_eq!(git(team, &["status", "--porcelain"]), "", "the owner's files are those of the merge");
    assert_eq!(answers(team), [(false, 1), (true, 0)]);
    for (file, id) in [("tasks/requests.task.md", "task-001"), ("tasks/plan-task-002.task.md", "task-003")] {
        assert_eq!(team.mark(file, id), Some(domain::task::Mark::Done), "{id}");
    }
    team.is_in_order();
    assert!(team.fine(&["audit", "verify"]).contains("each as it was written"));
}

#[test]
fn the_code_example_ends_with_a_merge_whose_tests_pass() {
    let team = begun();
    let told = team.fine(&REQUEST);
    ended_well(&team);
    for words in [
        "coordinator-001 makes task-002 for planner-001: Plan: Greet people by name",
        "planner-001    made a plan (1 task)",
        "FAILED: greets by name",
        "reviewer-001   rejected the work: greet.sh line 3 reads words.local",
        "reviewer-001   approved the work",
        "coordinator-001 merged review-0001",
        "task-001 done: People are greeted by name now.",
    ] {
        assert!(told.contains(words), "{words:?} in {told}");
    }
    assert_eq!(
        steps(&team),
        [
            "request_review asked",
            "lint passed",
            "run_tests failed",
            "approve_work rejected",
            "request_review asked",
            "lint passed",
            "run_tests passed",
            "approve_work approved",
            "merge_branch merged",
        ]
    );
    let log = team.fine(&["audit", "log"]);
    for step in ["create_plan", "write_file", "run_tests", "git_commit", "git_diff", "lint", "merge_branch"] {
        assert!(log.contains(step), "{step} in {log}");
    }
    let plan = team.task("tasks/plan-task-002.task.md", "task-003").unwrap();
    assert_eq!(plan.property("tag"), Some("code:feature"));
}

/// A number from 0 to `most`, the same for the same seed.
pub fn pick(seed: &mut u64, most: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % (most + 1)
}

/// Works until the log has so many lines, or what `is_there` looks for, and is killed there. Says whether it ended first.
pub fn work_until(team: &Team, args: &[&str], is_there: impl Fn(&str) -> bool) -> bool {
    let process = team.start(args);
    let ended = until("the moment comes", || {
        let log = team.read("log/audit.jsonl");
        if is_there(&log) {
            return Some(false);
        }
        process.stdout().contains("task-001 is done").then_some(true)
    });
    process.kill();
    ended
}

#[test]
fn killed_at_any_moment_it_comes_to_the_same_end_and_merges_once() {
    let seeds = std::env::var("SYNOD_CODE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    for seed in 1..=seeds {
        let team = begun();
        let mut chance: u64 = seed;
        let mut lines = 12 + pick(&mut chance, 12);
        let reached = |lines: u64| move |log: &str| log.lines().count() as u64 >= lines;
        work_until(&team, &REQUEST, reached(lines));
        for _ in 0..4 {
            lines += 1 + pick(&mut chance, 18);
            if team.read("tasks/requests.task.md").contains("completed:") {
                break;
            }
            let idle =
                |log: &str| reached(lines)(log) || team.read("tasks/requests.task.md").contains("completed:");
            work_until(&team, &["pump"], idle);
        }
        println!("seed {seed}: {}", team.fine(&["pump"]));
        ended_well(&team);
    }
}

#[test]
fn killed_between_the_approval_and_the_merge_it_merges_once() {
    let approved = |log: &str| log.contains("\"outcome\":\"approved\"");
    let merging =
        |log: &str| log.lines().any(|line| line.contains("\"merge_branch\"") && line.contains("allow"));
    let merged = |log: &str| log.contains("\"outcome\":\"merged\"");
    let moments: [&dyn Fn(&str) -> bool; 3] = [&approved, &merging, &merged];
    for moment in moments {
        let team = begun();
        work_until(&team, &REQUEST, moment);
        team.fine(&["pump"]);
        ended_well(&team);
    }
}

#[test]
fn an_approval_is_merged_once_also_if_only_the_files_are_left() {
    let approved = |log: &str| log.contains("\"outcome\":\"approved\"");
    let merging =
        |log: &str| log.lines().any(|line| line.contains("\"merge_branch\"") && line.contains("allow"));
    let moments: [&dyn Fn(&str) -> bool; 2] = [&approved, &merging];
    for moment in moments {
        let team = begun();
        work_until(&team, &REQUEST, moment);
        std::fs::remove_dir_all(team.at(".synod")).unwrap();
        let told = team.fine(&["pump"]);
        let merges = git(&team, &["rev-list", "--merges", "main"]);
        assert_eq!(merges.lines().count(), 1, "{told}");
        assert_eq!(git(&team, &["rev-parse", "main^2"]), git(&team, &["rev-parse", "agent/coder-001"]));
        assert!(tests_pass(&team, "main"));
        assert_eq!(team.mark("tasks/requests.task.md", "task-001"), Some(domain::task::Mark::Done), "{told}");
        let plan = team.read("tasks/plan-task-002.task.md");
        assert!(plan.contains(&format!("verdict: merged {merges}")), "{plan}");
        assert!(plan.contains("checks: lint passed, test passed"), "{plan}");
        team.is_in_order();
    }
}

#[test]
fn a_planner_reads_what_is_merged_in_a_repository_elsewhere() {
    let team = begun();
    std::fs::rename(team.at("repo"), team.at("../service")).unwrap();
    team.edit("agents/planner-001.agent.yaml", "priority: 4", "workspace: {repo: ../service}\npriority: 4");
    let script = "rules:\n  - {tool_result: \"*\", text: \"read: {last}\"}\n  \
                  - calls: [{tool: read_file, arguments: {path: workspaces/planner-001/news.txt}}]\n";
    team.write("models/code.script.yaml", script);
    for news in ["first", "second"] {
        team.write("../service/news.txt", news);
        for args in [&["add", "."][..], &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", news]]
        {
            let git = Command::new("git").arg("-C").arg(team.at("../service")).args(args).status().unwrap();
            assert!(git.success());
        }
        let said = team.fine(&["run", "--to", "planner-001", "look"]);
        assert!(said.contains(&format!("says: read: 1 {news}")), "{said}");
    }
}

#[test]
fn a_person_sees_each_round_of_a_review() {
    let team = begun();
    assert_eq!(team.fine(&["review", "list"]), "No agent has asked for a review.\n");
    team.fine(&REQUEST);
    let [tries, merge] = [["rev-list", "--reverse", "main^2", "^main^1"], ["rev-parse", "main", "--", "."]]
        .map(|args| git(&team, &args));
    let (first, second) = tries.split_once('\n').unwrap();
    let merge = merge.lines().next().unwrap();
    let list = team.fine(&["review", "list"]);
    let row: Vec<&str> = list.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..6], ["review-0001", "merged", "2", "coder-001", "→", "reviewer-001"], "{list}");
    let issue = "greet.sh line 3 reads words.local, which .gitignore leaves out of the repository: in a clean checkout there is no such file, and every test fails. Nothing may depend on a file that is not committed.";
    assert_eq!(
        team.fine(&["review", "show", "review-0001"]),
        format!(
            "review-0001  merged
  work:    Greet people by name
  task:    task-003
  author:  coder-001
  branch:  agent/coder-001
  into:    main
  merge:   {merge}

Round 1: rejected  reviewer-001  task-004
  commit:  {first}
  checks:  lint passed, test failed
  - {issue}

Round 2: merged  reviewer-001  task-005
  commit:  {second}
  checks:  lint passed, test passed
"
        )
    );
    let shown: Value =
        serde_json::from_str(&team.fine(&["review", "show", "review-0001", "--json"])).unwrap();
    let review = &shown["review"];
    assert_eq!((&review["state"], &review["merge"]), (&"merged".into(), &merge.into()));
    assert_eq!(review["rounds"][0]["issues"], serde_json::json!([issue]));
    assert_eq!(review["rounds"][1]["checks"], serde_json::json!({"lint": true, "test": true}));
    let ran = team.synod(&["review", "show", "review-0002"]);
    assert!(ran.code != 0 && ran.stderr.contains("review-0001"), "{}", ran.stderr);
}

#[test]
fn nobodys_work_is_approved_by_whom_they_spawned() {
    let team = begun();
    team.append(
        "synod.yaml",
        "roles: {lead: {permissions: [read_files, write_files, execute_tools, spawn_agents, approve_work], tools: ['*']}}\n",
    );
    let coder = team.read("agents/coder-001.agent.yaml").replace("coder-001", "lead-001");
    team.write("agents/lead-001.agent.yaml", coder.replace("type: coder ", "type: lead "));
    std::fs::remove_file(team.at("agents/reviewer-001.agent.yaml")).unwrap();
    team.write(
        "models/code.script.yaml",
        "\
rules:
- {agent: lead-001, matches: 'Task *: *', calls: [{tool: spawn_agent, arguments: {role: reviewer}}]}
- {agent: lead-001, tool_result: spawn_agent, calls: [{tool: write_file, arguments: {path: workspaces/lead-001/new, content: x}}]}
- {agent: lead-001, tool_result: write_file, calls: [{tool: git_commit, arguments: {message: new}}]}
- {agent: lead-001, tool_result: git_commit, calls: [{tool: request_review, arguments: {summary: look}}]}
- {agent: lead-001, tool_result: request_review, text: '{last}'}
",
    );
    let told = team.fine(&["run", "--to", "lead-001", "Make something new"]);
    assert!(told.contains("lead-001       spawned a reviewer"), "{told}");
    assert!(told.contains("nobody here may review"), "{told}");
    assert_eq!(team.fine(&["review", "list"]), "No agent has asked for a review.\n");
}
