//! The schemas and the parsers agree: they come from one table.

use formats::schema::{KINDS, schema};
use formats::{agent, policy, run_mode, script, settings};
use serde_json::Value;

use crate::golden::text;

fn validator(kind: &str) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&schema(kind).unwrap()).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// The file as an editor's YAML support sees it.
fn value(text: &str) -> Value {
    formats::yaml::to_json(text).unwrap()
}

fn accepts(kind: &str, text: &str) -> bool {
    match kind {
        "agent" => agent::read("a", text).value.is_some(),
        "synod" => settings::read("a", text).value.is_some(),
        "policy" => policy::read("a", text).value.is_some(),
        "run-mode" => run_mode::read("a", text).value.is_some(),
        "session" => formats::session::SessionFile::parse("a", text).0.is_some(),
        "script" => script::read("a", text).value.is_some(),
        _ => panic!("{kind}"),
    }
}

#[test]
fn every_kind_has_a_schema() {
    KINDS.iter().for_each(|k| drop(validator(k)));
    assert_eq!(schema("nothing"), None);
}

#[test]
fn good_files_fit_and_files_with_an_unknown_key_do_not() {
    for (kind, file) in [
        ("agent", "home/agents/planner-001.agent.yaml"),
        ("agent", "home/agents/executor-001.agent.yaml"),
        ("synod", "home/synod.yaml"),
        ("policy", "home/policy/commands.yaml"),
        ("run-mode", "run_mode/orchestrator.yaml"),
        ("run-mode", "run_mode/voting.yaml"),
        ("run-mode", "run_mode/role_locked.yaml"),
        ("run-mode", "run_mode/hybrid.yaml"),
        ("session", "home/sessions/planner-001-abc123.session.yaml"),
        ("script", "home/scripts/demo.yaml"),
    ] {
        let (validator, source) = (validator(kind), text(file));
        let errors: Vec<String> = validator.iter_errors(&value(&source)).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{file}");
        assert!(accepts(kind, &source), "{file}");
        // Every word of the file is in turn made unknown, empty or another kind of value: both must say the same.
        let lines: Vec<&str> = source.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let Some((key, _)) = line.split_once(':').filter(|(k, _)| !k.contains(['#', '{', '"'])) else {
                continue;
            };
            let block = line.trim_end().ends_with('|');
            for new in [
                format!("{key}x: 1"),
                format!("{key}: [1, {{}}]"),
                format!("{key}: {{zzz: 1}}"),
                format!("{key}: true"),
                format!("{key}: -1.5"),
                format!("{key}:"),
            ] {
                let mut edited: Vec<&str> = lines.clone();
                edited[index] = &new;
                let edited = edited.join("\n") + "\n";
                let Some(json) = formats::yaml::to_json(&edited).filter(|_| !block) else { continue };
                let by_schema = validator.is_valid(&json);
                let by_parser = accepts(kind, &edited);
                // The parser also knows what a schema cannot say.
                assert!(by_schema || !by_parser, "{file}: the schema refuses what the parser takes:\n{new}");
                if by_schema && !by_parser {
                    let beyond = [
                        "type",
                        "role",
                        "id",
                        "content",
                        "answer",
                        "answers",
                        "text",
                        "calls",
                        "error",
                        "created",
                        "updated",
                        "timestamp",
                        "tool_calls",
                        "rules",
                        "- id",
                        "- role",
                    ];
                    let name = key.trim().trim_start_matches("- ");
                    assert!(
                        beyond.contains(&name),
                        "{file}: the parser refuses what the schema takes:\n{new}"
                    );
                }
            }
        }
    }
}

#[test]
fn records_and_lines_fit_their_schemas() {
    use domain::{approval, id, tool};
    let act = tool::Act::ExecuteCommand(tool::ExecuteCommand { command: "df".to_owned() });
    let request = approval::Request {
        id: id::ApprovalId::new("approval-0001"),
        agent: id::AgentId::new("a"),
        session: id::SessionId::new("a-000000"),
        call: id::CallId::new("c"),
        task: None,
        seen: None,
        permit: domain::tool::Permit::NONE,
        label: Default::default(),
        chain: Vec::new(),
        escalates: None,
        digest: act.digest(None, domain::tool::Permit::NONE),
        act,
        why: String::new(),
        risk: ::policy::Risk::High,
        factors: vec!["x".to_owned()],
        created: id::Time(0),
        expires: None,
    };
    assert!(validator("approval").is_valid(&serde_json::to_value(request).unwrap()));
    for line in text("home/inbox/slack-messages.jsonl").lines() {
        assert!(validator("inbox").is_valid(&serde_json::from_str(line).unwrap()));
    }
    assert!(validator("task").is_valid(&serde_json::json!({"id": "a", "depends_on": ["b"], "free": 1})));
    assert!(!validator("task").is_valid(&serde_json::json!({"id": "A"})));
}
