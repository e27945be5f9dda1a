//! Shared contexts by the real binary: agents that get what is granted, and a person who grants and revokes.

use domain::context::Grantee;
use domain::label::Integrity;
use domain::session::Speaker;
use formats::session::MessageItem;
use serde_json::Value;

use crate::team::Team;

const RULES: &str = r#"rules:
  - tool_result: "*"
    text: Done.
  - matches: "*GET `*`*"
    answer: {calls: [{tool: context_get, arguments: {context: "{match:2}"}}]}
  - matches: "*PUT `*`*"
    answer: {calls: [{tool: context_put, arguments: {context: plan, content: "{match:2}"}}]}
  - matches: "*RENAME*"
    answer: {calls: [{tool: context_put, arguments: {context: customers, field: customer.name, value: Eve}}]}
  - text: Nothing.
"#;

const CUSTOMERS: &str =
    r#"{"customer": {"name": "Dana", "email": "dana@example.org"}, "rows": [{"n": 1, "card": "4111"}]}"#;

fn team() -> Team {
    let team = Team::scripted(RULES);
    for id in ["worker-1", "worker-2", "worker-3"] {
        team.write(&format!("agents/{id}.agent.yaml"), format!("id: {id}\ntype: planner\nmodel: m\n"));
    }
    let closed = "id: worker-4\ntype: planner\nmodel: m\npermissions: {can_access_context: false}\n";
    team.write("agents/worker-4.agent.yaml", closed);
    team.write("contexts/customers.json", CUSTOMERS);
    team
}

/// What came of the calls of an agent.
fn results(team: &Team, agent: &str) -> Vec<MessageItem> {
    team.talk(agent).into_iter().filter(|m| m.speaker == Speaker::ToolResult).collect()
}

#[test]
fn each_agent_gets_what_is_granted_and_what_is_hidden_survives() {
    let team = team();
    let redact = ["--redact", "customer.email", "--redact", "rows.card"];
    team.fine(&[&["context", "grant", "customers", "worker-2"][..], &redact[..]].concat());
    let write = ["context", "grant", "customers", "worker-3", "--access", "read_write", "--until", "7d"];
    team.fine(&[&write[..], &redact[..]].concat());
    team.fine(&["context", "grant", "customers", "worker-4", "--until", "2999-01-31"]);
    assert!(team.read("contexts/customers.acl.yaml").contains("2999-01-31T23:59:59.999Z"));
    team.is_in_order();
    let ran = team.synod(&["context", "show", "customers", "--as", "worker-4"]);
    assert_eq!(ran.code, 6);
    assert!(
        ran.stderr.contains("no grant opens that") && !ran.stderr.contains("lets it see"),
        "{}",
        ran.stderr
    );
    let task = |agent: &str, words: &str| {
        let number = agent.trim_start_matches("worker-");
        format!("- [ ] @{agent} \"{words}\"\n  id: task-00{number}\n")
    };
    team.write(
        "tasks/a.task.md",
        [
            task("worker-1", "GET `customers`"),
            task("worker-2", "GET `customers`"),
            task("worker-3", "RENAME it"),
            task("worker-4", "GET `customers`"),
        ]
        .concat(),
    );
    assert_eq!(team.pump(), 0);
    let refused = &results(&team, "worker-1")[0].content;
    assert!(refused.contains("contexts/customers.acl.yaml grants worker-1 nothing"), "{refused}");
    assert!(refused.contains("synod context grant customers worker-1"), "what to do: {refused}");
    let seen = &results(&team, "worker-2")[0].content;
    assert!(seen.contains("[redacted]") && seen.contains("rows"), "{seen}");
    assert!(!seen.contains("dana@example.org") && !seen.contains("4111"), "{seen}");
    let closed = &results(&team, "worker-4")[0].content;
    assert!(closed.contains("permissions.can_access_context: false of worker-4"), "{closed}");
    assert_eq!(team.read("contexts/customers.json"), CUSTOMERS.replace("Dana", "Eve"));
    let log = team.fine(&["audit", "log", "--action", "context_*"]);
    for (agent, outcome) in
        [("worker-1", "failed"), ("worker-2", "done"), ("worker-3", "done"), ("worker-4", "deny")]
    {
        let has = |line: &str| line.contains(agent) && line.contains(outcome);
        assert!(log.lines().any(has), "{agent} {outcome}: {log}");
    }
    assert!(!team.read("log/audit.jsonl").contains("Eve"), "the log does not tell what a context says");
}

#[test]
fn a_label_from_outside_stays_on_through_a_put_and_a_get_by_another() {
    let team = team();
    let line = serde_json::json!({"user": "mallory", "text": "PUT `buy now`"}).to_string();
    team.write("inbox/slack-messages.jsonl", line + "\n");
    assert_eq!(team.pump(), 3, "what came from outside changes nothing unasked");
    assert!(!team.at("contexts/plan.md").exists());
    let shown = team.fine(&["inbox"]);
    assert!(shown.contains("New text of the shared context plan") && shown.contains("buy now"), "{shown}");
    team.fine(&["approve", "--all"]);
    assert_eq!(team.pump(), 0);
    assert_eq!(team.read("contexts/plan.md"), "buy now");
    assert!(team.fine(&["trust", "list"]).contains("contexts/plan.md  outside"));
    team.fine(&["context", "grant", "plan", "--role", "planner"]);
    team.write("tasks/a.task.md", "- [ ] @worker-2 \"GET `plan`\"\n");
    assert_eq!(team.pump(), 0);
    let got = results(&team, "worker-2").remove(0);
    assert_eq!(got.content.trim_end(), "buy now");
    assert_eq!(got.label.integrity, Integrity::Outside, "{got:?}");
    assert!(got.label.origins.iter().any(|o| o.starts_with("inbox/slack-messages.jsonl")), "{got:?}");
}

#[test]
fn a_person_sees_grants_and_revokes() {
    let team = team();
    let acl = "# mine\ngrants:\n  # her\n  - agent: worker-1 # for now\n    access: read\n";
    team.write("contexts/customers.acl.yaml", acl);
    let grant = [
        "context",
        "grant",
        "customers",
        "worker-2",
        "--redact",
        "customer",
        "--until",
        "2999-01-01T00:00:00Z",
    ];
    team.fine(&grant);
    let added =
        "  - {agent: worker-2, access: read, redact: [customer], expires: '2999-01-01T00:00:00.000Z'}\n";
    assert_eq!(team.read("contexts/customers.acl.yaml"), format!("{acl}{added}"));
    let listed = team.fine(&["context", "list"]);
    assert!(listed.contains("worker-1: read\n"), "{listed}");
    assert!(listed.contains("worker-2: read, not customer, until 2999-01-01"), "{listed}");
    let json: Value = serde_json::from_str(&team.fine(&["context", "list", "--json"])).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["contexts"][0]["bytes"], CUSTOMERS.len());
    assert_eq!(json["contexts"][0]["grants"][1]["agent"], "worker-2");
    assert_eq!(team.fine(&["context", "show", "customers"]).trim_end(), CUSTOMERS);
    let seen = team.fine(&["context", "show", "customers", "--as", "worker-2"]);
    assert!(seen.contains("[redacted]") && !seen.contains("Dana"), "{seen}");
    let nothing = team.synod(&["context", "show", "customers", "--as", "worker-3"]);
    assert_eq!(nothing.code, 6, "{}", nothing.stderr);
    team.fine(&["context", "revoke", "customers", "worker-2"]);
    assert_eq!(team.read("contexts/customers.acl.yaml"), acl);
    for (args, words) in [
        (&["context", "grant", "customers", "worker-9"][..], "there is no agent worker-9"),
        (&["context", "grant", "customers", "--role", "planer"][..], "did you mean planner?"),
        (&["context", "grant", "customer", "worker-1"][..], "did you mean customers?"),
        (&["context", "grant", "customers", "worker-1", "--until", "2001-01-01T00:00:00Z"][..], "is over"),
        (&["context", "grant", "customers", "worker-1", "--redact", "a..b"][..], "\"a..b\" names no field"),
        (&["context", "revoke", "customers", "worker-3"][..], "grants worker-3 nothing"),
    ] {
        let ran = team.synod(args);
        assert!(ran.code != 0 && ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
        assert_eq!(team.read("contexts/customers.acl.yaml"), acl, "{args:?}");
    }
    team.write("contexts/customers.acl.yaml", "grants:\n  - {agnt: worker-1}\n");
    let ran = team.synod(&["context", "grant", "customers", "worker-2"]);
    assert!(ran.stderr.contains("contexts/customers.acl.yaml:2:6"), "{}", ran.stderr);
}

#[test]
fn what_an_agent_would_see_is_shown_and_why_it_would_not() {
    let team = team();
    team.fine(&["context", "grant", "customers", "--role", "planner"]);
    let show = |agent: &str| team.synod(&["context", "show", "customers", "--as", agent]);
    assert_eq!(show("worker-2").stdout.trim_end(), CUSTOMERS);
    let denied = "id: worker-3\ntype: planner\nmodel: m\npermissions: {tools: {deny: [\"context_*\"]}}\n";
    team.write("agents/worker-3.agent.yaml", denied);
    team.append("synod.yaml", "trust: {secret: {\"contexts/cust*\": [worker-1, worker-3]}}\n");
    for (agent, code, words) in [
        ("worker-1", 0, ""),
        (
            "worker-2",
            6,
            "trust.secret in synod.yaml leaves worker-2 out of those who may see contexts/customers.json",
        ),
        ("worker-3", 6, "permissions.tools.deny of worker-3 has context_*"),
    ] {
        let ran = show(agent);
        assert_eq!((ran.code, ran.stdout.contains("Dana")), (code, code == 0), "{agent}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{agent}: {}", ran.stderr);
    }
}

#[test]
fn the_check_names_contexts_that_nobody_gets_to_see() {
    let team = team();
    team.is_in_order();
    std::fs::create_dir(team.at("contexts/folder.json")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", team.at("contexts/outward.md")).unwrap();
    team.write("contexts/large.json", format!("\"{}\"", "x".repeat(1 << 20)));
    for name in ["folder", "outward"] {
        team.write(&format!("contexts/{name}.acl.yaml"), "grants: [{agent: worker-1}]\n");
    }
    let ran = team.synod(&["check"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    for path in ["contexts/folder.json", "contexts/outward.md", "contexts/large.json"] {
        assert_eq!(ran.stdout.matches(&format!("{path}:1:1")).count(), 1, "{path}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("at most 1048576"), "{}", ran.stdout);
    for name in ["folder", "outward", "large"] {
        let shown = team.synod(&["context", "show", name]);
        assert!(shown.code != 0 && shown.stderr.contains("`synod check` says more"), "{}", shown.stderr);
    }
}

/// Whom the grants of a context name, sorted.
fn grantees(team: &Team) -> Vec<String> {
    let read = formats::acl::read("a", &team.read("contexts/customers.acl.yaml"));
    let mut named: Vec<String> = read
        .value
        .unwrap()
        .grants
        .iter()
        .map(|grant| match &grant.to {
            Grantee::Agent(id) => id.to_string(),
            Grantee::Role(role) => role.clone(),
        })
        .collect();
    named.sort();
    named
}

#[test]
fn commands_at_the_same_time_lose_nothing_of_each_other() {
    const EACH: usize = 12;
    let team = team();
    let names = |from: usize| -> Vec<String> { (from..from + EACH).map(|n| format!("worker-{n}")).collect() };
    let (stays, goes) = (names(100), names(200));
    for id in stays.iter().chain(&goes) {
        team.write(&format!("agents/{id}.agent.yaml"), format!("id: {id}\ntype: planner\nmodel: m\n"));
    }
    let grants: String = goes.iter().map(|id| format!("  - agent: {id}\n")).collect();
    team.write("contexts/customers.acl.yaml", format!("grants:\n{grants}"));
    let grants = stays.iter().map(|id| team.start(&["context", "grant", "customers", id]));
    let revokes = goes.iter().map(|id| team.start(&["context", "revoke", "customers", id]));
    for ran in grants.chain(revokes).collect::<Vec<_>>() {
        let ran = ran.wait();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    assert_eq!(grantees(&team), stays, "who was told that it is done was told the truth");
}

#[test]
fn who_keeps_the_contexts_locked_is_named_and_nothing_is_changed() {
    let team = team();
    let folder = std::fs::File::open(team.at("contexts")).unwrap();
    folder.lock().unwrap();
    let ran = team.synod(&["context", "grant", "customers", "worker-1"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let named = format!("process {} keeps contexts/ locked", std::process::id());
    assert!(ran.stderr.contains(&named) && ran.stderr.contains("try again"), "{}", ran.stderr);
    assert!(!team.at("contexts/customers.acl.yaml").exists());
    drop(folder);
    team.fine(&["context", "grant", "customers", "worker-1"]);
}
