//! The gate, as tables.

use super::*;
use crate::topics::evidence::Evidence;
use crate::topics::role::builtin;
use crate::topics::tool::{
    ALL, Check, ContextGet, CreateDirectory, ExecuteCommand, ListDirectory, MoveFile, RaiseBudget,
    SearchFiles, SlackSend, WriteFile,
};
use crate::words::id::AgentId;
use crate::words::id::TaskId;
use crate::words::label::Integrity;
use policy::{CommandRule, CommandVerdict};

fn spec(role: &str) -> agent::Spec {
    agent::Spec::new(AgentId::new(format!("{}-001", role.replace('_', "-"))), role, "m")
}

fn judge_as(spec: &agent::Spec, policy: &Policy, act: &Act) -> Ruling {
    let roles = builtin();
    judge(
        &Asker {
            spec,
            role: roles.get(&spec.role),
            approval_required: false,
            label: &Label::owner(),
            now: None,
        },
        policy,
        act,
        None,
    )
}

fn word(ruling: &Ruling) -> &'static str {
    match ruling.verdict {
        Verdict::Allow => "allow",
        Verdict::Ask { .. } => "ask",
        Verdict::Deny { .. } => "deny",
    }
}

fn sample(tool: &str) -> Act {
    let json = match tool {
        "read_file" | "list_directory" | "delete_file" => r#"{"path":"memory/a.md"}"#,
        "move_file" => r#"{"from":"workspaces/coder-001/a.md","to":"memory/a.md"}"#,
        "search_files" => r#"{"query":"x"}"#,
        "grep" => r#"{"pattern":"x"}"#,
        "edit_file" => r#"{"path":"memory/a.md","old":"x","new":"y"}"#,
        "write_file" => r#"{"path":"memory/a.md","content":"x"}"#,
        "create_directory" => r#"{"path":"memory/x"}"#,
        "execute_command" => r#"{"command":"make"}"#,
        "git_commit" => r#"{"message":"x"}"#,
        "git_diff" | "git_update" | "run_tests" | "lint" => "{}",
        "request_review" => r#"{"summary":"x"}"#,
        "approve_work" => r#"{"approved":true}"#,
        "merge_branch" => r#"{"review":"review-0001"}"#,
        "create_plan" => r#"{"tasks":[]}"#,
        "finish_task" => r#"{"status":"done","result":"x"}"#,
        "create_task" => r#"{"title":"x"}"#,
        "update_task" | "get_task" => r#"{"id":"task-001"}"#,
        "ask_agent" => r#"{"to":"a","question":"x"}"#,
        "query_tasks" => r#"{"sql":"select 1"}"#,
        "send_message" => r#"{"to":"a","content":"x"}"#,
        "lock" | "unlock" => r#"{"name":"deploy"}"#,
        "delegate" => r#"{"to":"a","tag":"ops:x","task":"x"}"#,
        "spawn_agent" => r#"{"role":"coder"}"#,
        "terminate_agent" => r#"{"agent":"coder-1a2b3c4d"}"#,
        "memory_search" => r#"{"query":"x"}"#,
        "context_get" => r#"{"context":"plan"}"#,
        "context_put" => r#"{"context":"plan","content":"x"}"#,
        "extract" => r#"{"path":"inbox/a.jsonl","question":"x","answer":{"kind":"bool"}}"#,
        "summarize" => r#"{"paths":["memory/a.md"]}"#,
        "list_agents" | "list_sessions" | "slack_read" => "{}",
        "read_session" => r#"{"session":"a-000001"}"#,
        "email_send" => r#"{"to":"dana@example.org","subject":"x","text":"x"}"#,
        "slack_send" => r##"{"channel":"#ops","text":"x"}"##,
        other => panic!("no sample for {other}"),
    };
    serde_json::from_str(&format!(r#"{{"tool":"{tool}","arguments":{json}}}"#)).unwrap()
}

#[test]
fn every_role_gets_what_its_row_says_of_every_tool() {
    // One letter a tool, in the order of `tool::ALL`: allow, ask (?), deny.
    let table = [
        ("coordinator", "aaaa", "ddddddddddd", "daa", "aaaaaa", "aaaaadaaaaaaaaaa??"),
        ("planner", "aaaa", "ddddddddddd", "ddd", "aaaaaa", "aaaaadddaaaaaaaadd"),
        ("coder", "aaaa", "?????daaaaa", "add", "daaaaa", "aaaaadddaaaaaddddd"),
        ("reviewer", "aaaa", "dddddddadaa", "dad", "daaaaa", "aaaaadddaaaaaddddd"),
        ("retriever", "aaaa", "ddddddddddd", "ddd", "daaaaa", "aaaaadddaaaaaddddd"),
        ("executor", "aadd", "????d?ddddd", "ddd", "daaaaa", "aaaaadddaaaaaddddd"),
        ("evaluator", "addd", "ddddddddddd", "ddd", "daaaaa", "aaaaadddaaaaaddddd"),
        ("builder", "aaaa", "?????ddddad", "ddd", "daaaaa", "aaaaadddaaaaaddddd"),
        ("critic", "aaaa", "ddddddddddd", "ddd", "daaaaa", "aaaaadddaaaaaddddd"),
        ("domain_specialist", "aaaa", "ddddddddddd", "ddd", "daaaaa", "aaaaadddaaaaaddddd"),
        ("orchestrator", "aaaa", "ddddddddddd", "ddd", "aaaaaa", "aaaaadaaaaaaaddddd"),
        ("voter", "aaaa", "ddddddddddd", "ddd", "daaaaa", "aaaaadddaaaaaddddd"),
    ];
    for (role, read, change, review, tasks, talk) in table {
        let expected: String = [read, change, review, tasks, talk].concat();
        let shown: String = ALL
            .iter()
            .map(|facts| match word(&judge_as(&spec(role), &Policy::default(), &sample(facts.name))) {
                "allow" => 'a',
                "ask" => '?',
                _ => 'd',
            })
            .collect();
        assert_eq!(shown, expected, "{role}");
    }
}

#[test]
fn both_paths_of_a_move_are_judged_like_writes() {
    let judge = |from: &str, to: &str| {
        let act = Act::MoveFile(MoveFile { from: from.to_owned(), to: to.to_owned(), replace: false });
        judge_as(&spec("coder"), &Policy::default(), &act)
    };
    let own = |name: &str| format!("workspaces/coder-001/{name}");
    assert_eq!(word(&judge(&own("a"), &own("b"))), "allow");
    for (from, to) in [(own("a"), "memory/a".to_owned()), ("memory/a".to_owned(), own("a"))] {
        assert_eq!(word(&judge(&from, &to)), "ask", "{from} {to}");
    }
    for (from, to) in [(own("a"), "agents/a".to_owned()), ("agents/a".to_owned(), own("a"))] {
        assert_eq!(word(&judge(&from, &to)), "deny", "{from} {to}");
    }
    let Verdict::Ask { factors, .. } = judge("memory/a", "memory/b").verdict else { panic!("it asks") };
    assert_eq!(factors.len(), 2, "{factors:?}");
}

#[test]
fn every_refusal_names_its_rule_and_tells_the_agent_something() {
    for role in builtin().into_keys().chain(["nobody".to_owned()]) {
        for facts in &ALL {
            let ruling = judge_as(&spec(&role), &Policy::default(), &sample(facts.name));
            assert!(!ruling.rule.is_empty());
            if let Verdict::Deny { advice } = ruling.verdict {
                assert!(advice.len() > 10, "{role} {}: {advice}", facts.name);
            }
        }
    }
}

#[test]
fn deny_beats_allow_and_a_list_only_narrows_the_role() {
    let mut agent = spec("executor");
    agent.permissions.tools.allow = Some(vec!["*".to_owned()]);
    agent.permissions.tools.deny = vec!["write_*".to_owned()];
    let policy = Policy::default();
    assert_eq!(
        judge_as(&agent, &policy, &sample("write_file")).rule,
        "permissions.tools.deny of executor-001 has write_*"
    );
    assert_eq!(word(&judge_as(&agent, &policy, &sample("search_files"))), "allow");

    let mut agent = spec("planner");
    agent.permissions.tools.allow = Some(vec!["*".to_owned()]);
    assert_eq!(
        judge_as(&agent, &policy, &sample("execute_command")).rule,
        "role planner lacks execute_tools"
    );

    let mut agent = spec("retriever");
    agent.permissions.tools.allow = Some(vec!["read_file".to_owned()]);
    assert_eq!(word(&judge_as(&agent, &policy, &sample("create_task"))), "deny");

    let mut agent = spec("executor");
    agent.capabilities = vec!["read_file".to_owned()];
    assert_eq!(
        judge_as(&agent, &policy, &sample("execute_command")).rule,
        "capabilities of executor-001 lacks execute_command"
    );
}

#[test]
fn the_command_policy_decides_on_commands() {
    let rule = |verdict, nature| CommandRule { nature, ..CommandRule::new(verdict) };
    let policy = Policy {
        commands: [
            ("df -h".to_owned(), rule(CommandVerdict::Allow, Nature::Read)),
            ("make *".to_owned(), rule(CommandVerdict::Ask, Nature::Once)),
            ("docker *".to_owned(), rule(CommandVerdict::Deny, Nature::Once)),
        ]
        .into(),
    };
    let says = |command: &str| {
        let ruling = judge_as(
            &spec("executor"),
            &policy,
            &Act::ExecuteCommand(ExecuteCommand { command: command.to_owned() }),
        );
        (word(&ruling), ruling.nature, ruling.permit)
    };
    let asked = |network| ("ask", Nature::Once, Permit { writes: true, network });
    assert_eq!(says(" df -h\n"), ("allow", Nature::Read, Permit::NONE));
    assert_eq!(says("cat README.md | head"), ("allow", Nature::Read, Permit::NONE));
    assert_eq!(says("make test"), asked(false));
    assert_eq!(says("rm x"), asked(false));
    assert_eq!(says("curl https://example.org"), asked(true));
    assert_eq!(says("df -h; docker ps").0, "deny");
    assert_eq!(says("$(df -h)"), asked(false));
    for denied in ["", "  ", "df\u{200b} -h", "ls \u{202e}fr", "ls\r", "a\u{1b}[2J", "x\u{e0041}", "rm -rf /"]
    {
        assert_eq!(says(denied).0, "deny", "{denied:?}");
    }
}

#[test]
fn control_files_are_never_written_whatever_the_spelling() {
    let write = |path: &str| {
        let act = Act::WriteFile(WriteFile { path: path.to_owned(), content: String::new() });
        word(&judge_as(&spec("executor"), &Policy::default(), &act))
    };
    for path in [
        "tasks/approvals.task.md",
        "approvals/pending/x.approval.md",
        "policy/commands.yaml",
        "policy",
        "agents/a.agent.yaml",
        "synod.yaml",
        "./synod.yaml",
        "SYNOD.YAML",
        "log/audit.jsonl",
        ".synod/journal.db",
        ".Synod/x",
        "a/../synod.yaml",
        "policy//x",
        "policy./x",
        "policy /x",
        "/etc/passwd",
        "~/x",
        "tasks/x.task.md",
        "sessions/x.session.yaml",
        "inbox/slack-outbox.jsonl",
        "run_mode.yaml",
        "..",
        "a\\..\\synod.yaml",
        "policy\u{200b}/x",
        "schemas/x.json",
        ".project/run_mode.yaml",
        ".project",
        "\u{17f}ynod.yaml",
        "se\u{df}ions/x",
        ".synod\u{2f}x",
        "tas\u{212a}s/x.task.md",
    ] {
        assert_eq!(write(path), "deny", "{path}");
    }
    assert_eq!(write("workspaces/executor-001/out.txt"), "allow");
    assert_eq!(write("workspaces/executor-0012/out.txt"), "ask");
    assert_eq!(write("memory/notes.md"), "ask");
    let read = Act::read_file(".synod/journal.db");
    assert_eq!(word(&judge_as(&spec("executor"), &Policy::default(), &read)), "deny");
}

#[test]
fn a_task_that_requires_approval_asks_for_every_effect_but_not_for_reading() {
    let roles = builtin();
    let spec = spec("executor");
    let asker = Asker {
        spec: &spec,
        role: roles.get("executor"),
        approval_required: true,
        label: &Label::owner(),
        now: None,
    };
    let policy = Policy::default();
    let write =
        Act::WriteFile(WriteFile { path: "workspaces/executor-001/a".to_owned(), content: String::new() });
    assert_eq!(judge(&asker, &policy, &write, None).rule, "approval_required");
    assert_eq!(word(&judge(&asker, &policy, &sample("read_file"), None)), "allow");
    assert_eq!(word(&judge(&asker, &policy, &sample("create_task"), None)), "allow");
}

#[test]
fn what_a_repository_runs_is_never_written_however_deep_it_lies() {
    for path in [
        ".git/config",
        ".git",
        ".GIT/hooks/pre-commit",
        "workspaces/executor-001/.git/config",
        "workspaces/executor-001/.git",
        "workspaces/executor-001/a/b/.Git./config",
        "workspaces/executor-001/.git /config",
        "memory/.git",
        "git~1/config",
    ] {
        for act in [
            Act::WriteFile(WriteFile { path: path.to_owned(), content: String::new() }),
            Act::CreateDirectory(CreateDirectory { path: path.to_owned() }),
        ] {
            let mut agent = spec("executor");
            agent.permissions.tools.allow = Some(vec!["*".to_owned()]);
            assert_eq!(judge_as(&agent, &Policy::default(), &act).rule, "control folder .git", "{path}");
        }
    }
    for path in [
        "workspaces/executor-001/.gitignore",
        "workspaces/executor-001/git/x",
        "workspaces/executor-001/x.git",
    ] {
        let act = Act::WriteFile(WriteFile { path: path.to_owned(), content: String::new() });
        assert_eq!(word(&judge_as(&spec("executor"), &Policy::default(), &act)), "allow", "{path}");
    }
}

#[test]
fn each_cell_of_the_permission_matrix_is_as_the_table_says() {
    use Permission::{ApproveWork, ExecuteTools, ReadFiles, SpawnAgents, WriteFiles};
    // Of each cell: what the role has of such tools, and what it has not.
    let has: [(&str, Permission, &[&str], &[&str]); 20] = [
        ("coordinator", ReadFiles, &["read_file", "list_directory", "search_files", "memory_search"], &[]),
        ("coordinator", WriteFiles, &[], &["write_file", "create_directory"]),
        (
            "coordinator",
            ExecuteTools,
            &["slack_send"],
            &["execute_command", "run_tests", "lint", "git_commit"],
        ),
        ("coordinator", SpawnAgents, &["spawn_agent", "terminate_agent"], &[]),
        ("coordinator", ApproveWork, &["approve_work"], &[]),
        ("planner", ReadFiles, &["read_file", "list_directory", "search_files"], &[]),
        ("planner", WriteFiles, &[], &["write_file", "create_directory"]),
        ("planner", ExecuteTools, &[], &["execute_command", "run_tests", "lint", "git_commit", "slack_send"]),
        ("planner", SpawnAgents, &[], &["spawn_agent", "terminate_agent"]),
        ("planner", ApproveWork, &[], &["approve_work"]),
        ("coder", ReadFiles, &["read_file", "list_directory", "search_files"], &[]),
        ("coder", WriteFiles, &["write_file", "create_directory"], &[]),
        ("coder", ExecuteTools, &["run_tests", "git_commit", "git_diff"], &["execute_command", "slack_send"]),
        ("coder", SpawnAgents, &[], &["spawn_agent", "terminate_agent"]),
        ("coder", ApproveWork, &[], &["approve_work"]),
        ("reviewer", ReadFiles, &["read_file"], &[]),
        ("reviewer", WriteFiles, &[], &["write_file", "create_directory"]),
        ("reviewer", ExecuteTools, &["run_tests", "lint"], &["execute_command", "git_commit", "slack_send"]),
        ("reviewer", SpawnAgents, &[], &["spawn_agent", "terminate_agent"]),
        ("reviewer", ApproveWork, &["approve_work"], &[]),
    ];
    for (role, permission, can, cannot) in has {
        let is_given = builtin()[role].permissions.contains(&permission);
        assert_eq!(is_given, !can.is_empty(), "{role}: {}", permission.as_str());
        for (tools, wanted) in [(can, true), (cannot, false)] {
            for tool in tools {
                assert_eq!(tool::facts(tool).unwrap().needs, Some(permission), "{tool}");
                let says = word(&judge_as(&spec(role), &Policy::default(), &sample(tool)));
                assert_eq!(says != "deny", wanted, "{role}: {tool} is {says}");
            }
        }
    }
}

#[test]
fn an_agent_that_may_see_no_context_has_no_tool_for_them() {
    let policy = Policy::default();
    let mut agent = spec("planner");
    for tool in ["context_get", "context_put"] {
        assert_eq!(word(&judge_as(&agent, &policy, &sample(tool))), "allow");
    }
    agent.permissions.can_access_context = Some(false);
    agent.permissions.tools.allow = Some(vec!["*".to_owned()]);
    for tool in ["context_get", "context_put"] {
        let ruling = judge_as(&agent, &policy, &sample(tool));
        assert_eq!(ruling.rule, "permissions.can_access_context: false of planner-001");
    }
}

#[test]
fn a_context_is_put_unasked_unless_what_was_read_came_from_outside() {
    let (agent, roles, policy) = (spec("planner"), builtin(), Policy::default());
    let says = |tool: &str, label: &Label| {
        let asker =
            Asker { spec: &agent, role: roles.get("planner"), approval_required: false, label, now: None };
        word(&judge(&asker, &policy, &sample(tool), None))
    };
    assert_eq!(says("context_put", &Label::team()), "allow");
    assert_eq!(says("context_put", &Label::outside("inbox/a.jsonl:1")), "ask");
    assert_eq!(says("context_get", &Label::outside("inbox/a.jsonl:1")), "allow");
    for name in ["../a", "a/b", "a.acl", ""] {
        let act = Act::ContextGet(ContextGet { context: name.to_owned(), field: None });
        assert_eq!(judge_as(&agent, &policy, &act).rule, "contexts are named, not found by path", "{name}");
    }
}

#[test]
fn nobody_is_asked_whether_an_agent_may_write_who_sees_a_context() {
    let (agent, policy) = (spec("executor"), Policy::default());
    for path in ["contexts/plan.acl.yaml", "Contexts/Plan.ACL.yaml", "./contexts/plan.acl.yaml."] {
        let act = Act::WriteFile(WriteFile { path: path.to_owned(), content: String::new() });
        let ruling = judge_as(&agent, &policy, &act);
        assert_eq!(ruling.rule, "control file contexts/*.acl.yaml", "{path}");
        assert!(matches!(ruling.verdict, Verdict::Deny { .. }), "{path}");
    }
}

#[test]
fn what_is_synods_own_is_denied_whatever_the_file_of_an_agent_says() {
    let raise =
        Act::RaiseBudget(RaiseBudget { budget: "budgets.day".to_owned(), tokens: Some(1), money: None });
    let evidence = crate::topics::evidence::Evidence::Approval;
    let check = Act::Check(Check {
        task: crate::words::id::TaskId::new("task-001"),
        evidence,
        result: String::new(),
    });
    for act in [raise, check] {
        let mut asker = spec("coordinator");
        asker.permissions.tools.allow = Some(vec!["*".to_owned()]);
        let ruling = judge_as(&asker, &Policy::default(), &act);
        let advice = format!("there is no tool {}", act.tool());
        assert_eq!(
            (ruling.verdict, ruling.rule),
            (Verdict::Deny { advice }, format!("{} is Synod's own", act.tool()))
        );
    }
}

/// One act for each inspector that looks at files alone, the verdict and the rule.
#[test]
fn a_ruling_names_the_inspector_and_its_rule() {
    let policy = Policy::default();
    let mut stripped = spec("executor");
    stripped.permissions.tools.deny = vec!["read_file".to_owned()];
    let write = |path: &str| Act::WriteFile(WriteFile { path: path.to_owned(), content: String::new() });
    let command = |command: &str| Act::ExecuteCommand(ExecuteCommand { command: command.to_owned() });
    let executor = spec("executor");
    let table = [
        (&spec("planner"), write("a"), "permission: role planner lacks write_files"),
        (&stripped, Act::read_file("a"), "tools: permissions.tools.deny of executor-001 has read_file"),
        (&spec("builder"), sample("lint"), "tools: the role's tools of builder-001 lacks lint"),
        (&executor, write("policy/commands.yaml"), "reach: control file policy"),
        (&executor, write("memory/a.md"), "reach: write_file outside the workspace asks"),
        (&executor, Act::read_file("memory/a.md"), "tools: tool read_file asks nobody"),
    ];
    for (spec, act, named) in table {
        assert_eq!(judge_as(spec, &policy, &act).named_rule(), named);
    }
    assert_eq!(judge_as(&executor, &policy, &command("make")).inspector, Inspector::Command);
}

#[test]
fn a_denial_wins_and_of_several_that_ask_all_factors_and_the_highest_risk_count() {
    let (roles, policy, spec) = (builtin(), Policy::default(), spec("executor"));
    let label = Label::outside("inbox/a.jsonl:1");
    let asker = Asker { approval_required: true, ..Asker::at_rest(&spec, roles.get("executor"), &label) };
    let write = |path: &str| Act::WriteFile(WriteFile { path: path.to_owned(), content: String::new() });
    let ruling = judge(&asker, &policy, &write("memory/a.md"), None);
    let Verdict::Ask { risk, factors } = &ruling.verdict else { panic!("{ruling:?}") };
    assert_eq!((*risk, factors.len()), (Risk::High, 3), "{factors:?}");
    assert_eq!(ruling.named_rule(), "reach: write_file outside the workspace asks", "the first that asks");
    let own = judge(&asker, &policy, &write("workspaces/executor-001/a"), None);
    assert_eq!(own.inspector, Inspector::Labels);
    assert_eq!(word(&judge(&asker, &policy, &write("agents/a.agent.yaml"), None)), "deny");
}

#[test]
fn credentials_and_conversations_of_others_are_closed_to_file_tools() {
    let coder = spec("coder");
    let verdict = |act: &Act| word(&judge_as(&coder, &Policy::default(), act));
    let search =
        |path: &str| Act::SearchFiles(SearchFiles { query: "x".to_owned(), path: Some(path.to_owned()) });
    let write = |path: &str| Act::WriteFile(WriteFile { path: path.to_owned(), content: String::new() });
    for path in ["workspaces/coder-001/.env", "memory/id_rsa", "workspaces/coder-001/.ssh/config"] {
        for act in [Act::read_file(path), write(path), search(path)] {
            assert_eq!(verdict(&act), "deny", "{act:?}");
        }
    }
    assert_eq!(verdict(&Act::read_file("workspaces/coder-001/.env.example")), "allow");
    let other = "sessions/planner-001-00000a.session.yaml";
    for act in [Act::read_file(other), search(other), search("sessions"), Act::read_file("Sessions/x")] {
        assert_eq!(verdict(&act), "deny", "{act:?}");
    }
    assert_eq!(verdict(&Act::read_file("sessions/coder-001-00000a.session.yaml")), "allow");
    assert_eq!(verdict(&Act::ListDirectory(ListDirectory { path: "sessions".to_owned() })), "allow");
    let roles = builtin();
    let (role, label) = (roles.get("coder"), Label::owner());
    let asker = Asker::at_rest(&coder, role, &label);
    for (path, expected) in [("workspaces/coder-001/.env", "deny"), ("memory/a.md", "allow")] {
        let evidence = Evidence::File(path.to_owned());
        let act = Act::Check(Check { task: TaskId::new("task-001"), evidence, result: String::new() });
        let (policy, case) = (Policy::default(), |policy| Case::new(&asker, policy, &act, None, None));
        assert_eq!(word(&evidence::judge(&case(&policy))), expected, "{path}");
    }
}

#[test]
fn what_the_system_does_not_offer_is_denied_with_its_reason() {
    let executor = spec("executor");
    let roles = builtin();
    let (role, label) = (roles.get("executor"), Label::owner());
    let asker = Asker::at_rest(&executor, role, &label);
    let seen = Seen { refused: Some("there is no sandbox".to_owned()), ..Seen::default() };
    let ruling = judge(&asker, &Policy::default(), &sample("execute_command"), Some(&seen));
    assert_eq!(ruling.verdict, Verdict::Deny { advice: "there is no sandbox".to_owned() });
}

#[test]
fn the_level_of_a_risk_is_that_of_the_act_and_outside_text_raises_it_by_one_step() {
    let (roles, policy) = (builtin(), Policy::default());
    let command = |command: &str| Act::ExecuteCommand(ExecuteCommand { command: command.to_owned() });
    let write = Act::WriteFile(WriteFile {
        path: "workspaces/executor-001/note.md".to_owned(),
        content: "x".to_owned(),
    });
    let slack = Act::SlackSend(SlackSend { channel: "#ops".to_owned(), text: "x".to_owned() });
    let (low, medium, high) = (Some(Risk::Low), Some(Risk::Medium), Some(Risk::High));
    for (act, own, driven) in [
        (command("df -h"), None, None),
        (command("du -sh ."), None, None),
        (command("cat ../../memory/logs/app.log"), None, None),
        (write, None, low),
        (command("git commit -m x"), low, medium),
        (command("make test"), medium, high),
        (command("rm -rf build"), medium, high),
        (slack, medium, high),
        (command("npm ci"), high, high),
        (command("curl https://example.org"), high, high),
        (command("sudo ls"), Some(Risk::Critical), Some(Risk::Critical)),
    ] {
        let role = if act.tool() == "slack_send" { "coordinator" } else { "executor" };
        let spec = spec(role);
        let risk = |label: &Label| {
            let ruling = judge(&Asker::at_rest(&spec, roles.get(role), label), &policy, &act, None);
            match &ruling.verdict {
                Verdict::Allow => None,
                Verdict::Ask { risk, factors } => {
                    let is_named = factors.iter().any(|factor| factor.contains("came from outside"));
                    assert_eq!(is_named, label.integrity == Integrity::Outside, "{factors:?}");
                    Some(*risk)
                }
                Verdict::Deny { advice } => panic!("{act:?}: {advice}"),
            }
        };
        assert_eq!(risk(&Label::owner()), own, "{act:?}");
        assert_eq!(risk(&Label::outside("inbox/a.jsonl:1")), driven, "{act:?}");
    }
}
