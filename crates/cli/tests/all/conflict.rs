//! Two coders change the same line: the second brings its branch up to date, decides, is looked at again, and is merged;
//! the same through `kill -9`.

use crate::code::{begun, git, tests_pass, work_until};
use crate::team::Team;

/// What a coder does: its own line first; then, when that does not merge, both.
fn coder(id: &str, line: &str) -> String {
    let write = |content: &str| {
        format!(
            "calls: [{{tool: write_file, arguments: {{path: workspaces/{id}/greet.sh, content: \"{content}\"}}}}]"
        )
    };
    let (own, both) =
        (write(&format!("echo 'Hello!' # {line}\\n")), write("echo 'Hello!' # for one and for two\\n"));
    format!(
        "\
- {{agent: {id}, matches: 'Task *: Bring *', calls: [{{tool: git_update}}]}}
- {{agent: {id}, matches: 'Task *: *', {own}}}
- {{agent: {id}, tool_result: git_update, {both}}}
- {{agent: {id}, tool_result: write_file, calls: [{{tool: git_commit, arguments: {{message: greet}}}}]}}
- {{agent: {id}, tool_result: git_commit, calls: [{{tool: request_review, arguments: {{summary: look}}}}]}}
- {{agent: {id}, tool_result: request_review, matches: '*merge_branch review-*', text: 'approved: review-{{match:2}}'}}
"
    )
}

const OTHERS: &str = "\
- {agent: reviewer-001, matches: 'Task *: *', calls: [{tool: lint}]}
- {agent: reviewer-001, tool_result: lint, calls: [{tool: run_tests}]}
- {agent: reviewer-001, tool_result: run_tests, calls: [{tool: approve_work, arguments: {approved: true}}]}
- {agent: reviewer-001, tool_result: approve_work, text: The author has my answer.}
- {agent: coordinator-001, tool_result: merge_branch, text: '{last}'}
- {agent: coordinator-001, matches: '*review-*', calls: [{tool: merge_branch, arguments: {review: 'review-{match:2}'}}]}
";

/// Both have approved work on the same line, and that of coder-001 is merged.
fn at_odds() -> Team {
    let team = begun();
    team.write(
        "models/code.script.yaml",
        format!("rules:\n{}{}{OTHERS}", coder("coder-001", "for one"), coder("coder-002", "for two")),
    );
    let file = team.read("agents/coder-001.agent.yaml");
    team.write("agents/coder-002.agent.yaml", file.replace("coder-001", "coder-002"));
    team.is_in_order();
    team.fine(&["run", "--to", "coder-001", "Greet one"]);
    team.fine(&["run", "--to", "coder-002", "Greet two"]);
    team.fine(&["run", "--to", "coordinator-001", "Merge review-0001"]);
    team
}

const SECOND: [&str; 4] = ["run", "--to", "coordinator-001", "Merge review-0002"];

fn ended_well(team: &Team) {
    let merges = git(team, &["rev-list", "--merges", "--topo-order", "--format=%an: %s", "main"]);
    let made: Vec<&str> = merges.lines().filter(|line| !line.starts_with("commit ")).collect();
    assert_eq!(
        made,
        [
            "coordinator-001: Merge agent/coder-002: Bring agent/coder-002 in line with main: greet.sh",
            "coder-002: greet",
            "coordinator-001: Merge agent/coder-001: Greet one",
        ]
    );
    assert_eq!(git(team, &["rev-parse", "main^2^2"]), git(team, &["rev-parse", "main^1"]));
    assert_eq!(team.read("repo/greet.sh"), "echo 'Hello!' # for one and for two\n");
    assert!(tests_pass(team, "main"));
    assert_eq!(git(team, &["status", "--porcelain"]), "");
    team.is_in_order();
    assert!(team.fine(&["audit", "verify"]).contains("each as it was written"));
}

#[test]
fn whose_work_does_not_merge_brings_it_in_line_and_it_is_merged() {
    let team = at_odds();
    let told = team.fine(&SECOND);
    assert!(told.contains("coder-002      brought its branch up to date"), "{told}");
    ended_well(&team);
}

#[test]
fn killed_while_it_brings_its_branch_in_line_it_merges_once() {
    let asked = |log: &str| log.contains("\"git_update\"");
    let told = |log: &str| {
        log.lines().filter(|line| line.contains("\"git_update\"")).any(|line| line.contains("\"done\""))
    };
    let moments: [&dyn Fn(&str) -> bool; 2] = [&asked, &told];
    for moment in moments {
        let team = at_odds();
        work_until(&team, &SECOND, moment);
        team.fine(&["pump"]);
        ended_well(&team);
    }
}
