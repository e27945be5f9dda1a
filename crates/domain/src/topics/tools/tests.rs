//! The registry.

use super::*;
use crate::words::id::AgentId;

#[test]
fn every_tool_of_agents_is_described_and_has_examples() {
    let agent = AgentId::new("coder-001");
    let at = Examples { agent: &agent, commands: &["df"] };
    for facts in ALL {
        assert!(!facts.description.is_empty(), "{}", facts.name);
        let schema = schema(facts.name).unwrap();
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&"object".into(), &false.into()));
        let examples = examples(facts.name, &at);
        assert!(!examples.is_empty(), "{}", facts.name);
        for (_, act) in examples {
            assert_eq!(act.tool(), facts.name);
            let json = serde_json::to_value(&act).unwrap();
            assert_eq!(json["tool"], facts.name, "the name in files is the name of the tool");
            assert_eq!(parse(facts.name, json["arguments"].clone()).unwrap().unwrap(), act);
        }
    }
}

#[test]
fn models_are_shown_fields_in_the_order_of_their_declaration_and_no_bounds() {
    for (name, fields) in [
        ("write_file", vec!["path", "content"]),
        ("edit_file", vec!["path", "old", "new", "all"]),
        ("list_agents", vec![]),
        ("finish_task", vec!["status", "result"]),
    ] {
        let shown = shown_schema(name, |_| ()).unwrap();
        let at: Vec<usize> =
            fields.iter().map(|field| shown.find(&format!("\"{field}\":{{")).unwrap()).collect();
        assert!(at.is_sorted(), "{name}: {shown}");
    }
    for facts in ALL {
        let shown = shown_schema(facts.name, |_| ()).unwrap();
        let (shown, whole): (Value, Value) =
            (serde_json::from_str(&shown).unwrap(), schema(facts.name).unwrap());
        let names =
            |schema: &Value| schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let (shown_names, names) = (names(&shown), names(&whole));
        assert!(shown_names.iter().all(|name| names.contains(name)), "{}: {shown_names:?}", facts.name);
        let required = whole["required"].as_array().cloned().unwrap_or_default();
        assert!(required.iter().all(|name| shown_names.iter().any(|shown| name == shown)), "{}", facts.name);
        assert!(!shown.to_string().contains("\"maxLength\""), "{shown}");
    }
}

#[test]
fn no_agent_has_the_tools_of_synod() {
    for name in [Check::NAME, RaiseBudget::NAME, "no_such_tool"] {
        assert_eq!(facts(name), None);
        assert_eq!(schema(name), None);
        assert!(parse(name, Value::Null).is_none());
    }
}

#[test]
fn an_edit_is_shown_as_a_diff() {
    let edit = |all| {
        let (path, old, new) = ("a.rs".to_owned(), "one\ntwo".to_owned(), "one\n\n2\n".to_owned());
        Act::EditFile(EditFile { path, old, new, all }).shown().unwrap()
    };
    let shown = edit(false);
    assert_eq!((shown.language, shown.title.as_str()), ("diff", "editing: a.rs"));
    assert_eq!(shown.text, "@@ the only occurrence @@\n-one\n-two\n+one\n+\n+2");
    assert!(edit(true).text.starts_with("@@ every occurrence @@\n"));
}
