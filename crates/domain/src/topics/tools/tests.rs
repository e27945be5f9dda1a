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
