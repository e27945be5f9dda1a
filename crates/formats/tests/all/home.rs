//! The check of a whole home.

use formats::check::{SourceFile, check};

use crate::golden::text;

const HOME: [&str; 10] = [
    "synod.yaml",
    "run_mode.yaml",
    "agents/planner-001.agent.yaml",
    "agents/executor-001.agent.yaml",
    "agents/job-hunter/agent.json",
    "sessions/planner-001-abc123.session.yaml",
    "tasks/redis.task.md",
    "tasks/approvals.task.md",
    "policy/commands.yaml",
    "inbox/slack-messages.jsonl",
];

/// The golden home with some files changed or added; findings as `path:line:column message (help)`.
fn findings(changes: &[(&str, &str)]) -> Vec<String> {
    let mut files: Vec<(String, String)> =
        HOME.iter().map(|p| ((*p).to_owned(), text(&format!("home/{p}")))).collect();
    files.push(("scripts/demo.yaml".to_owned(), text("home/scripts/demo.yaml")));
    for (path, new) in changes {
        match files.iter_mut().find(|(p, _)| p == path) {
            Some(file) => file.1 = (*new).to_owned(),
            None => files.push(((*path).to_owned(), (*new).to_owned())),
        }
    }
    let sources: Vec<SourceFile<'_>> = files.iter().map(|(path, text)| SourceFile { path, text }).collect();
    let shown = check(&sources).into_iter().map(|d| {
        let help = d.help.map(|h| format!(" ({h})")).unwrap_or_default();
        format!("{}:{}:{} {}{help}", d.path, d.line, d.column, d.message)
    });
    shown.collect()
}

#[test]
fn a_good_home_has_no_findings() {
    assert_eq!(findings(&[]), Vec::<String>::new());
}

#[test]
fn agents_are_checked_against_the_rest() {
    let bad = "id: other\ntype: planer\nmodel: {primary: sonet, fallback: scripted-small}\npermissions:\n  tools: {allow: [read_fil, 'x_*', mcp:a/b]}\n  delegation: {allowed_targets: [executor-01]}\n";
    assert_eq!(
        findings(&[("agents/other.agent.yaml", bad)]),
        [
            "agents/other.agent.yaml:2:7 there is no role `planer` (did you mean `planner`?)",
            "agents/other.agent.yaml:3:18 synod.yaml has no model `sonet` (did you mean `sonnet`?)",
            "agents/other.agent.yaml:5:19 there is no tool `read_fil` (did you mean `read_file`?)",
            "agents/other.agent.yaml:6:34 there is no agent `executor-01` (did you mean `executor-001`?)",
        ]
    );
    let copy = "id: planner-001\ntype: coder\nmodel: haiku\n";
    assert_eq!(
        findings(&[
            ("agents/other.agent.yaml", copy),
            (
                "agents/planner-001/agent.json",
                "{\"id\": \"planner-001\", \"type\": \"coder\", \"model\": \"haiku\"}"
            )
        ]),
        [
            "agents/other.agent.yaml:1:5 the file is named `other`, its agent `planner-001` (rename the file, or write `id: other`)",
            "agents/planner-001/agent.json:1:8 the agent id `planner-001` is already used in agents/planner-001.agent.yaml",
        ]
    );
    let own = "id: lib-1\ntype: librarian\nmodel: haiku\n";
    assert_eq!(findings(&[("agents/lib-1.agent.yaml", own)]), Vec::<String>::new());
}

#[test]
fn settings_name_agents_and_providers_that_exist() {
    let bad = "models:\n  sonnet: {provider: scrpt, model: m}\n  haiku: {provider: script, model: m}\nproviders:\n  script: {kind: scripted, script: scripts/demo.yaml}\nrouting:\n  fallback: planer-001\n  tags: {'a:*': nobody}\n";
    assert_eq!(
        findings(&[("synod.yaml", bad)]),
        [
            "synod.yaml:2:22 there is no provider `scrpt` (did you mean `script`?)",
            "synod.yaml:7:13 there is no agent `planer-001` (did you mean `planner-001`?)",
            "synod.yaml:8:17 there is no agent `nobody`",
        ]
    );
}

#[test]
fn tasks_name_agents_and_tasks_that_exist_and_do_not_wait_in_a_circle() {
    let more = "- [ ] @executor-01 a\n  id: a\n  depends_on: c, task-04\n- [ ] b\n  id: b\n  depends_on: [a]\n- [ ] c\n  id: c\n  parent: nothing\n  depends_on: b\n- [ ] self\n  id: self\n  depends_on: self\n- [ ] again\n  id: task-004\n";
    assert_eq!(
        findings(&[("tasks/more.task.md", more)]),
        [
            "tasks/more.task.md:1:7 there is no agent `executor-01` (did you mean `executor-001`?)",
            "tasks/more.task.md:3:15 the tasks wait for each other: a → c → b → a (take one `depends_on` out)",
            "tasks/more.task.md:3:15 there is no task `task-04` (did you mean `task-004`?)",
            "tasks/more.task.md:9:11 there is no task `nothing`",
            "tasks/more.task.md:13:15 the tasks wait for each other: self → self (take one `depends_on` out)",
            "tasks/more.task.md:15:7 the task id `task-004` is already used in tasks/redis.task.md",
        ]
    );
}

#[test]
fn sessions_approvals_inboxes_and_scripts_are_checked() {
    let session = "session_id: ghost-000001\nagent_id: ghost\nmessages: []\n";
    let queue = "- [_] `a`\n  id: approval-0001\n  approved_by: dana\n";
    let script = "rules:\n  - agent: executor-01\n    calls: [{tool: excute_command}]\n";
    assert_eq!(
        findings(&[
            ("sessions/x.session.yaml", session),
            ("tasks/approvals.task.md", queue),
            ("inbox/mail.jsonl", "{\"text\": \"a\"}\r\n\r\nnothing\r\n"),
            ("approvals/pending/approval-0001.approval.md", "# Approval\n"),
            ("scripts/demo.yaml", script),
            ("run_mode.yaml", "mode: voting\n"),
            ("notes/free.md", "- [y] not ours\n"),
        ]),
        [
            "approvals/pending/approval-0001.approval.md:1:1 the record of the approval is missing (put the text back that Synod wrote below `## Record`, or reject with `synod reject`)",
            "inbox/mail.jsonl:3:2 expected ident",
            "run_mode.yaml:1:7 the mode `voting` is read, but this version runs `solo` only",
            "scripts/demo.yaml:2:1 there is no agent `executor-01` (did you mean `executor-001`?)",
            "scripts/demo.yaml:2:1 there is no tool `excute_command` (did you mean `execute_command`?)",
            "sessions/x.session.yaml:1:13 the file is named `x`, its session `ghost-000001` (rename the file)",
            "sessions/x.session.yaml:2:11 there is no agent `ghost`: nobody will answer here",
            "tasks/approvals.task.md:1:4 nothing is decided: `approved_by` is given, but the box is open: write `[x]`",
        ]
    );
}

#[test]
fn a_file_that_cannot_be_read_does_not_make_others_wrong() {
    let found = findings(&[("agents/executor-001.agent.yaml", "id: [\n")]);
    assert!(found.iter().all(|f| f.starts_with("agents/executor-001.agent.yaml")), "{found:?}");
    assert_eq!(found.len(), 1);
}

#[test]
fn settings_that_cannot_be_read_do_not_make_their_roles_unknown() {
    let own = ("agents/lib-1.agent.yaml", "id: lib-1\ntype: librarian\nmodel: haiku\n");
    let shown = findings(&[own, ("synod.yaml", "limits: {turns_max: many}\n")]);
    assert!(shown.iter().all(|line| line.starts_with("synod.yaml:")), "{shown:?}");
}

#[test]
fn an_id_that_is_used_twice_is_shown_where_it_stands() {
    let twice = "- [ ] one\n  id: task-1\n- [ ] two\n  id: task-1\n";
    assert_eq!(
        findings(&[("tasks/twice.task.md", twice)]),
        ["tasks/twice.task.md:4:7 the id `task-1` is already used in line 1"]
    );
}

#[test]
fn two_agents_never_share_a_branch_or_a_workspace() {
    let agent =
        |id: &str, workspace: &str| format!("id: {id}\ntype: coder\nmodel: m\nworkspace: {workspace}\n");
    let files = [
        ("a", "{repo: ../service, branch: work}"),
        ("b", "{repo: ../x/../service/, branch: work}"),
        ("c", "{repo: ../service}"),
        ("d", "{repo: ../service, branch: agent/c}"),
        ("e", "{repo: workspaces/a}"),
        ("f", "{repo: ./}"),
        ("g", "{branch: work}"),
    ]
    .map(|(id, workspace)| (format!("agents/{id}.agent.yaml"), agent(id, workspace)));
    let sources: Vec<SourceFile<'_>> = files.iter().map(|(path, text)| SourceFile { path, text }).collect();
    let found: Vec<String> =
        check(&sources).iter().map(|d| format!("{}:{}:{} {}", d.path, d.line, d.column, d.message)).collect();
    assert_eq!(
        found,
        [
            "agents/b.agent.yaml:4:45 the branch `work` of ../x/../service/ is already the one of a",
            "agents/d.agent.yaml:4:39 the branch `agent/c` of ../service is already the one of c",
            "agents/e.agent.yaml:4:19 `workspaces/a` is the workspace of an agent; two never share one",
            "agents/f.agent.yaml:4:19 `./` is the home itself, which no agent works in",
        ]
    );
}

#[test]
fn a_budget_in_money_wants_a_price() {
    let text = |more: &str| {
        format!(
            "providers: {{p: {{kind: openai, base_url: 'http://127.0.0.1:1/v1'}}, s: {{kind: scripted, script: s.yaml}}}}\nmodels:\n  big: {{provider: p, model: x-1}}\n  told: {{provider: s, model: y}}\n{more}"
        )
    };
    let found = |more: &str| {
        let script = SourceFile { path: "s.yaml", text: "rules: []\n" };
        let found = check(&[SourceFile { path: "synod.yaml", text: &text(more) }, script]);
        found.iter().map(|d| format!("{}:{} {}", d.line, d.column, d.message)).collect::<Vec<_>>()
    };
    let told = ["3:3 `big` has no price, so no budget in money bounds it"];
    assert_eq!(found("budgets: {run: {money: 1}}\n"), told);
    assert_eq!(found("budgets: {day: {tokens: 1}}\n"), Vec::<String>::new());
    assert_eq!(
        found("budgets: {day: {money: 1}}\nprices: {x-1: {input: 1, output: 2}}\n"),
        Vec::<String>::new()
    );
}

#[test]
fn who_reviews_wants_a_command_for_each_check_that_must_pass() {
    let agent = |id: &str, role: &str, more: &str| {
        format!("id: {id}\ntype: {role}\nmodel: {{primary: large}}\nworkspace: {{repo: ../service{more}}}\n")
    };
    let reviewer = |more: &str| agent("reviewer-001", "reviewer", more);
    let coder = agent("coder-001", "coder", "");
    let place = "agents/reviewer-001.agent.yaml";
    let found = |text: &str| {
        let all = findings(&[(place, text), ("agents/coder-001.agent.yaml", &coder)]);
        all.into_iter().filter(|found| found.contains("no command")).collect::<Vec<_>>()
    };
    assert_eq!(
        found(&reviewer(", test: sh test.sh")),
        [format!(
            "{place}:4:1 reviewer-001 has no command for `lint`, so it can approve nothing: `review.checks` wants it (give it one: `workspace: {{lint: …}}`, or leave `lint` out of `review.checks` in synod.yaml)"
        )]
    );
    assert_eq!(found(&reviewer("")).len(), 2);
    assert_eq!(found(&reviewer(", test: sh test.sh, lint: sh -n a.sh")), Vec::<String>::new());
}
