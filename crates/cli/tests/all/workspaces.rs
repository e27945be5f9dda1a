//! One coder, several tasks: each commits its own files and nothing of another's, whoever waits, is sent back, cancelled or
//! killed meanwhile.

use domain::task::Mark;
use serde_json::Value;

use crate::code::{begun, git};
use crate::team::{Team, until_so};

const TASKS: &str = "tasks/requests.task.md";

/// A coder writes `<word>.txt`, commits it and asks for a review; the first look at ALPHA sends it back.
const RULES: &str = "\
rules:
- {agent: coder-001, matches: 'Task *: ALPHA', calls: [{tool: write_file, arguments: {path: workspaces/coder-001/a.txt, content: first}}]}
- {agent: coder-001, matches: 'Task *: BETA', calls: [{tool: write_file, arguments: {path: workspaces/coder-001/b.txt, content: b}}]}
- {agent: coder-001, tool_result: write_file, matches: '*a.txt*', calls: [{tool: git_commit, arguments: {message: alpha work}}]}
- {agent: coder-001, tool_result: write_file, delay_ms: 600, calls: [{tool: git_commit, arguments: {message: beta work}}]}
- {agent: coder-001, tool_result: git_commit, calls: [{tool: request_review, arguments: {summary: look}}]}
- {agent: coder-001, tool_result: request_review, matches: '*rejected*', calls: [{tool: write_file, arguments: {path: workspaces/coder-001/a.txt, content: mended}}]}
- {agent: coder-001, tool_result: request_review, text: '{last}'}
- {agent: reviewer-001, matches: 'Task *: Review of ALPHA, round 1*', delay_ms: 300, calls: [{tool: approve_work, arguments: {approved: false, issues: [mend it]}}]}
- {agent: reviewer-001, matches: 'Task *: *', calls: [{tool: lint}]}
- {agent: reviewer-001, tool_result: lint, calls: [{tool: run_tests}]}
- {agent: reviewer-001, tool_result: run_tests, calls: [{tool: approve_work, arguments: {approved: true}}]}
- {agent: reviewer-001, tool_result: approve_work, text: The author has my answer.}
- {agent: coordinator-001, tool_result: merge_branch, text: '{last}'}
- {agent: coordinator-001, matches: '*Merge review-*', calls: [{tool: merge_branch, arguments: {review: 'review-{match:2}'}}]}
";

fn team(rules: &str) -> Team {
    let team = begun();
    team.write("models/code.script.yaml", rules);
    team.is_in_order();
    team
}

/// The commits of `range`, the oldest first: what each says and the files that it changes.
fn commits(team: &Team, range: &str) -> Vec<String> {
    let log = git(team, &["log", "--reverse", "--no-merges", "--format=%x00%s:", "--name-only", range]);
    let line = |commit: &str| commit.split_whitespace().collect::<Vec<_>>().join(" ");
    log.split('\0').map(line).filter(|line| !line.is_empty()).collect()
}

/// The branches on which work is kept.
fn kept(team: &Team) -> String {
    git(team, &["for-each-ref", "--format=%(refname:short)", "refs/heads/kept"])
}

fn are_done(team: &Team, tasks: &[&str]) -> bool {
    tasks.iter().all(|task| team.mark(TASKS, task) == Some(Mark::Done))
}

#[test]
fn two_tasks_of_one_coder_commit_their_own_files_and_are_merged_one_by_one() {
    let team = team(RULES);
    let up = team.up();
    team.fine(&["task", "add", "ALPHA", "--to", "coder-001"]);
    team.fine(&["task", "add", "BETA", "--to", "coder-001"]);
    until_so("both are approved", || are_done(&team, &["task-001", "task-002"]));
    let told = team.fine(&["run", "--to", "coordinator-001", "Merge review-0001"]);
    assert!(told.contains("merged agent/coder-001"), "{told}");
    assert_eq!(commits(&team, "main^1..main"), ["alpha work: a.txt", "alpha work: a.txt"]);
    assert_eq!(team.read("repo/a.txt"), "mended");
    assert!(!team.at("repo/b.txt").exists());
    let told = team.fine(&["run", "--to", "coordinator-001", "Merge review-0002"]);
    assert!(told.contains("merged agent/coder-001"), "{told}");
    assert_eq!(commits(&team, "main^1..main"), ["beta work: b.txt"]);
    assert_eq!(kept(&team), "", "what is merged is kept nowhere else");
    up.stop();
    team.is_in_order();
}

fn locks(team: &Team) -> Vec<Value> {
    let value: Value = serde_json::from_str(&team.fine(&["lock", "list", "--json"])).unwrap();
    value["locks"].as_array().unwrap().clone()
}

fn approve_next(team: &Team, number: u32) {
    let id = format!("approval-{number:04}");
    until_so("a person is asked", || team.fine(&["inbox"]).contains(&id));
    team.fine(&["approve", &id]);
}

#[test]
fn what_a_cancelled_task_left_is_kept_on_a_branch_and_not_committed_by_the_next() {
    let team = team(RULES);
    let up = team.up();
    team.fine(&["task", "add", "ALPHA", "--to", "coder-001", "--approval-required"]);
    approve_next(&team, 1);
    until_so("it asks before it commits", || team.fine(&["inbox"]).contains("approval-0002"));
    team.fine(&["task", "add", "BETA", "--to", "coder-001"]);
    let waits = |team: &Team| locks(team).first().is_some_and(|lock| !lock["queue"][0].is_null());
    until_so("BETA waits for the workspace", || waits(&team));
    let [alpha, beta] = ["task-001", "task-002"];
    let held = &locks(&team)[0];
    assert_eq!((&held["name"], &held["task"]), (&"workspace:coder-001".into(), &alpha.into()));
    assert!(held["lease_until"].is_null() && held["queue"][0]["until"].is_null(), "{held}");
    let table = team.fine(&["lock", "list"]);
    assert!(table.contains("when its work ends"), "{table}");
    let graph = team.fine(&["graph"]);
    assert!(graph.contains("workspace:coder-001"), "{graph}");
    up.kill();
    let up = team.up();
    until_so("it is so after a kill too", || waits(&team));
    team.fine(&["cancel", alpha]);
    until_so("BETA is done", || team.mark(TASKS, beta) == Some(Mark::Done));
    assert_eq!(commits(&team, "main..agent/coder-001"), ["beta work: b.txt"]);
    assert_eq!(kept(&team), format!("kept/coder-001/{alpha}"));
    assert_eq!(
        commits(&team, &format!("main..kept/coder-001/{alpha}")),
        [format!("What {alpha} left uncommitted: a.txt")]
    );
    up.stop();
}

/// The shipped team, on requests such as `Add one now`: each is planned, written, reviewed and merged.
const ADD: &str = "\
rules:
- {agent: coordinator-001, matches: 'Task *: Add * now*', calls: [{tool: create_task, arguments: {title: 'Plan: {match:2} now', assignee: planner-001, tag: 'plan:change'}}]}
- {agent: coordinator-001, tool_result: create_task, text: I wait.}
- {agent: coordinator-001, matches: '*approved: review-*', calls: [{tool: merge_branch, arguments: {review: 'review-{match:2}'}}]}
- {agent: coordinator-001, tool_result: merge_branch, text: '{last}'}
- {agent: planner-001, matches: 'Task *: Plan: * now*', calls: [{tool: create_plan, arguments: {tasks: [{id: one, title: 'Write {match:2} now', tag: 'code:feature'}]}}]}
- {agent: planner-001, tool_result: create_plan, text: Handed out.}
- {agent: planner-001, matches: '*approved: review-*', text: 'approved: review-{match:2}'}
- {agent: coder-001, matches: 'Task *: Write * now*', calls: [{tool: write_file, arguments: {path: 'workspaces/coder-001/{match:2}.txt', content: '{match:2}'}}]}
- {agent: coder-001, tool_result: write_file, calls: [{tool: git_commit, arguments: {message: work}}]}
- {agent: coder-001, tool_result: git_commit, calls: [{tool: request_review, arguments: {summary: look}}]}
- {agent: coder-001, tool_result: request_review, matches: '*merge_branch review-*', text: 'approved: review-{match:2}'}
- {agent: reviewer-001, matches: 'Task *: *', delay_ms: 100, calls: [{tool: lint}]}
- {agent: reviewer-001, tool_result: lint, calls: [{tool: run_tests}]}
- {agent: reviewer-001, tool_result: run_tests, calls: [{tool: approve_work, arguments: {approved: true}}]}
- {agent: reviewer-001, tool_result: approve_work, text: The author has my answer.}
";

#[test]
fn requests_at_once_to_the_shipped_team_end_with_a_merge_each_of_their_own_files() {
    let team = team(ADD);
    let up = team.up();
    for word in ["one", "two", "three"] {
        team.fine(&["task", "add", &format!("Add {word} now"), "--to", "coordinator-001"]);
    }
    until_so("all are done", || {
        let tasks = team.tasks(TASKS).into_iter().filter(|task| task.title.starts_with("Add "));
        tasks.filter(|task| task.mark == Mark::Done).count() == 3
    });
    up.stop();
    let merges = git(&team, &["log", "--first-parent", "--merges", "--format=%H", "main"]);
    let mut made: Vec<String> =
        merges.lines().flat_map(|merge| commits(&team, &format!("{merge}^1..{merge}"))).collect();
    made.sort();
    assert_eq!(
        (merges.lines().count(), made),
        (3, ["one", "three", "two"].map(|word| format!("work: {word}.txt")).to_vec())
    );
    assert_eq!(kept(&team), "");
    team.is_in_order();
}

/// Two who write and review. The second has committed, written more and asks a person when it looks at the work of the first.
const PEERS: &str = "\
rules:
- {agent: peer-001, matches: 'Task *: ALPHA', calls: [{tool: write_file, arguments: {path: workspaces/peer-001/a.txt, content: from one}}]}
- {agent: peer-001, tool_result: write_file, calls: [{tool: git_commit, arguments: {message: alpha work}}]}
- {agent: peer-001, tool_result: git_commit, calls: [{tool: request_review, arguments: {summary: look, to: peer-002}}]}
- {agent: peer-001, tool_result: request_review, text: '{last}'}
- {agent: peer-002, matches: 'Task *: BETA', calls: [{tool: write_file, arguments: {path: workspaces/peer-002/b.txt, content: from two}}]}
- {agent: peer-002, tool_result: write_file, matches: '*b.txt*', calls: [{tool: git_commit, arguments: {message: beta work}}]}
- {agent: peer-002, tool_result: git_commit, matches: '*b.txt*', calls: [{tool: write_file, arguments: {path: workspaces/peer-002/draft.txt, content: not committed}}]}
- {agent: peer-002, tool_result: write_file, matches: '*draft.txt*', calls: [{tool: execute_command, arguments: {command: touch more.txt}}]}
- {agent: peer-002, matches: 'Task *: Review of *', calls: [{tool: read_file, arguments: {path: workspaces/peer-002/draft.txt}}]}
- {agent: peer-002, tool_result: read_file, matches: '*is looked at in*', calls: [{tool: read_file, arguments: {path: workspaces/peer-002.review/a.txt}}]}
- {agent: peer-002, tool_result: read_file, matches: '*from one*', calls: [{tool: execute_command, arguments: {command: cat a.txt}}]}
- {agent: peer-002, tool_result: execute_command, matches: '*from one*', calls: [{tool: git_diff}]}
- {agent: peer-002, tool_result: git_diff, matches: '*+from one*', calls: [{tool: lint}]}
- {agent: peer-002, tool_result: lint, calls: [{tool: run_tests}]}
- {agent: peer-002, tool_result: run_tests, calls: [{tool: approve_work, arguments: {approved: true}}]}
- {agent: peer-002, tool_result: approve_work, text: The author has my answer.}
- {agent: peer-002, tool_result: execute_command, calls: [{tool: git_commit, arguments: {message: the rest}}]}
- {agent: peer-002, tool_result: git_commit, text: '{last}'}
";

#[test]
fn who_reviews_in_the_middle_of_its_own_work_loses_nothing_of_it() {
    let team = begun();
    team.append(
        "synod.yaml",
        "roles: {peer: {permissions: [read_files, write_files, execute_tools, approve_work], tools: ['*']}}\n",
    );
    let reviewer = team.read("agents/reviewer-001.agent.yaml").replace("type: reviewer ", "type: peer ");
    for peer in ["peer-001", "peer-002"] {
        let text =
            reviewer.replace("reviewer-001", peer).replace("max_parallel_tasks: 1", "max_parallel_tasks: 2");
        team.write(&format!("agents/{peer}.agent.yaml"), text);
    }
    team.write("models/code.script.yaml", PEERS);
    team.is_in_order();
    let up = team.up();
    team.fine(&["task", "add", "BETA", "--to", "peer-002"]);
    until_so("a person is asked", || team.fine(&["inbox"]).contains("approval-0001"));
    let before = git(&team, &["rev-parse", "agent/peer-002"]);
    team.fine(&["task", "add", "ALPHA", "--to", "peer-001"]);
    until_so("ALPHA is approved", || are_done(&team, &["task-002"]));
    assert_eq!(git(&team, &["rev-parse", "agent/peer-002"]), before);
    assert_eq!(team.read("workspaces/peer-002/draft.txt"), "not committed");
    let names = team.names("workspaces/peer-002");
    assert!(!names.contains(&"a.txt".to_owned()), "{names:?}");
    approve_next(&team, 1);
    until_so("BETA is done", || are_done(&team, &["task-001"]));
    up.stop();
    let expected = ["beta work: b.txt", "the rest: draft.txt more.txt"];
    assert_eq!(commits(&team, "main..agent/peer-002"), expected);
    assert_eq!(commits(&team, "main..agent/peer-001"), ["alpha work: a.txt"]);
    assert_eq!(kept(&team), "");
    team.is_in_order();
}
