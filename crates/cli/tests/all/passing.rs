//! Contexts that go along with delegated work, by the real binary: seen while the work lasts, as far as who asked sees them.

use std::sync::Arc;

use domain::session::Speaker;
use ports::model::{Reply, Request};
use testkit::model::{Puppet, says, wants};
use testkit::provider::Provider;

use crate::team::Team;

const SETTINGS: &str = "\
providers: {script: {kind: scripted, script: models/s.yaml}}
models: {m: {provider: script, model: m}}
routing: {fallback: worker-1}
";

/// The first hands on with a context, the second looks and hands on, the third looks and writes.
const RULES: &str = r#"rules:
  - agent: worker-1
    matches: "*CLOSED*"
    once: true
    calls: [{tool: delegate, arguments: {to: worker-4, tag: "ops:look", task: Look, contexts: [{context: customers}]}}]
  - agent: worker-1
    tool_result: delegate
    text: "told: {last}"
  - agent: worker-1
    calls: [{tool: delegate, arguments: {to: worker-2, tag: "ops:look", task: Look closely, contexts: [{context: customers, redact: [rows.card]}]}}]
  - agent: worker-2
    tool_result: delegate
    text: looked
  - agent: worker-2
    turn: 1
    calls: [{tool: context_get, arguments: {context: customers}}]
  - agent: worker-2
    tool_result: context_get
    calls: [{tool: delegate, arguments: {to: worker-3, tag: "ops:look", task: Look too, contexts: [{context: customers, access: read_write}, {context: plan}]}}]
  - agent: worker-3
    turn: 1
    calls:
      - {tool: context_get, arguments: {context: customers}}
      - {tool: context_put, arguments: {context: customers, field: customer.name, value: Eve}}
      - {tool: context_get, arguments: {context: plan}}
  - agent: worker-3
    text: looked too
"#;

const CUSTOMERS: &str =
    r#"{"customer": {"name": "Dana", "email": "dana@example.org"}, "rows": [{"n": 1, "card": "4111"}]}"#;

fn team() -> Team {
    let team = Team::nothing();
    team.write("synod.yaml", SETTINGS);
    team.write("models/s.yaml", RULES);
    for number in 1..=4 {
        let closed = if number == 4 { "  can_access_context: false\n" } else { "" };
        team.write(
            &format!("agents/worker-{number}.agent.yaml"),
            format!(
                "id: worker-{number}\ntype: executor\nmodel: m\nresponsibilities: [\"ops:*\"]\npermissions:\n  delegation: {{can_delegate: true}}\n{closed}"
            ),
        );
    }
    team.write("contexts/customers.json", CUSTOMERS);
    team.write("contexts/plan.md", "Attack at dawn.\n");
    let write = ["--access", "read_write", "--redact", "customer.email"];
    team.fine(&[&["context", "grant", "customers", "worker-1"][..], &write[..]].concat());
    // Who has something by itself cannot show it to others on behalf of one who may not see it.
    team.fine(&["context", "grant", "plan", "worker-2"]);
    team
}

/// What came of the calls of an agent.
fn results(team: &Team, agent: &str) -> Vec<String> {
    let said = team.sessions(agent).into_iter().flat_map(|session| team.messages(&session));
    said.filter(|m| m.speaker == Speaker::ToolResult).map(|message| message.content).collect()
}

#[test]
fn a_context_goes_along_as_far_as_who_asks_sees_it_and_only_while_the_work_lasts() {
    let team = team();
    team.fine(&["task", "add", "Look at the customers"]);
    assert_eq!(team.pump(), 0);
    let second = results(&team, "worker-2");
    assert!(second[0].contains("Dana"), "it sees what went along: {second:?}");
    // What only reads is run also behind a refusal.
    let third = results(&team, "worker-3");
    let third_saw = |words: &str| third.iter().any(|seen| seen.contains(words));
    for seen in second.iter().chain(&third) {
        assert!(
            !seen.contains("dana@example.org") && !seen.contains("4111"),
            "what is hidden stays so: {seen}"
        );
    }
    assert!(third_saw("Dana"), "along the chain too: {third:?}");
    let above = "plan went along with the work of worker-3, but worker-1, who had it before, may not see it";
    assert!(third_saw(above), "{third:?}");
    assert!(third_saw("grants worker-3 read, not read_write"), "read stays read: {third:?}");
    assert_eq!(team.read("contexts/customers.json"), CUSTOMERS);
    let shown = team.fine(&["delegation", "show", "delegation-0001"]);
    assert!(shown.contains("contexts:   customers (read without rows.card)"), "{shown}");
    let shown: serde_json::Value =
        serde_json::from_str(&team.fine(&["delegation", "show", "delegation-0002", "--json"])).unwrap();
    let both = serde_json::json!([{"context": "customers", "access": "read_write"}, {"context": "plan", "access": "read"}]);
    assert_eq!(shown["delegation"]["contexts"], both);
    let log = team.read("log/audit.jsonl");
    assert!(
        log.contains("delegation-0001: worker-1 → worker-2, with customers (read without rows.card)"),
        "{log}"
    );
    // The work is over, and with it what went along.
    let alone = "rules:\n  - tool_result: context_get\n    text: that was it\n  - calls: [{tool: context_get, arguments: {context: customers}}]\n";
    team.write("models/s.yaml", alone);
    for agent in ["worker-2", "worker-3"] {
        team.fine(&["task", "add", "Look alone", "--to", agent, "--file", "alone.task.md"]);
    }
    assert_eq!(team.pump(), 0);
    for agent in ["worker-2", "worker-3"] {
        let refused = format!("contexts/customers.acl.yaml grants {agent} nothing");
        assert!(results(&team, agent).iter().any(|result| result.contains(&refused)), "{agent}");
    }
    team.is_in_order();
}

#[test]
fn nothing_goes_along_to_who_may_see_no_context() {
    let team = team();
    team.fine(&["task", "add", "CLOSED"]);
    assert_eq!(team.pump(), 0);
    let talk = team.talk("worker-1");
    let said = &talk.iter().rfind(|message| message.speaker == Speaker::Assistant).unwrap().content;
    let closed = "no context can go along: permissions.can_access_context: false of worker-4";
    assert!(said.contains(closed), "{said}");
    assert!(team.sessions("worker-4").is_empty());
}

/// The first hands on to whom `ways` says and that one to the next, by `delegate` or else by a message; the last one
/// looks at a context.
fn answer(ways: &[(&str, &str, &str)], request: &Request) -> Reply {
    let is = |agent: &str| request.system.contains(&format!("You are {agent},"));
    if request.messages.iter().any(|message| message.speaker == Speaker::ToolResult) {
        return says("that was it");
    }
    match ways.iter().find(|(from, _, _)| is(from)) {
        Some((_, "delegate", to)) => {
            wants("delegate", &format!(r#"{{"to": "{to}", "tag": "ops:look", "task": "Look"}}"#))
        }
        Some((_, _, to)) => wants("send_message", &format!(r#"{{"to": "{to}", "content": "Look"}}"#)),
        None => wants("context_get", r#"{"context": "pay"}"#),
    }
}

/// Whether worker-2, to whom the context is granted, is told of it at once, and whether its tool gives it the same.
fn told_and_given(ways: &'static [(&str, &str, &str)], whose: usize, permissions: &str) -> (bool, bool) {
    let puppet = Arc::new(Puppet::answering(|request| Ok(answer(ways, request))));
    let provider = Provider::start(puppet.clone());
    let team = Team::nothing();
    team.write(
        "synod.yaml",
        format!(
            "providers: {{p: {{kind: openai, base_url: \"{}\"}}}}\nmodels: {{m: {{provider: p, model: m}}}}\n\
             routing: {{fallback: worker-1}}\n",
            provider.url()
        ),
    );
    for number in 1..=3 {
        let more = if number == whose { permissions } else { "" };
        team.write(
            &format!("agents/worker-{number}.agent.yaml"),
            format!(
                "id: worker-{number}\ntype: executor\nmodel: m\nresponsibilities: [\"ops:*\"]\npermissions:\n  delegation: {{can_delegate: true}}\n{more}"
            ),
        );
    }
    team.write("contexts/pay.json", r#"{"pay": 471147}"#);
    team.fine(&["context", "grant", "pay", "worker-2"]);
    team.fine(&["task", "add", "Look at the pay", "--to", ways[0].0]);
    assert_eq!(team.pump(), 0);
    let asked: Vec<Request> =
        puppet.asked().into_iter().filter(|asked| asked.system.contains("You are worker-2,")).collect();
    assert!(asked.len() >= 2, "it was asked, and told what its tool says");
    let tells =
        |asked: &&Request| asked.messages.first().is_some_and(|first| first.content.contains("471147"));
    let told = asked.iter().filter(tells).count();
    assert!(told == 0 || told == asked.len(), "it is told of it always or never");
    (told > 0, results(&team, "worker-2")[0].contains("471147"))
}

#[test]
fn a_granted_context_is_told_exactly_where_its_tool_would_give_it() {
    let delegated: &[(&str, &str, &str)] = &[("worker-1", "delegate", "worker-2")];
    let said: &[(&str, &str, &str)] =
        &[("worker-1", "delegate", "worker-3"), ("worker-3", "send_message", "worker-2")];
    for ways in [delegated, said] {
        for closes in ["  can_access_context: false\n", "  tools: {deny: [\"context_*\"]}\n"] {
            assert_eq!(told_and_given(ways, 2, closes), (false, false), "{ways:?} {closes}");
            assert_eq!(
                told_and_given(ways, 1, closes),
                (true, true),
                "its own file counts: {ways:?} {closes}"
            );
        }
        assert_eq!(told_and_given(ways, 2, ""), (true, true), "{ways:?}");
    }
}
