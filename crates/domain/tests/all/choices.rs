//! The ids that schemas of tools list.

use domain::choices::{self, Choice, IDS_MAX};
use domain::id::AgentId;
use domain::tool;

use crate::home::Home;

const TEAM: [&str; 3] = ["planner-001", "executor-001", "retriever-001"];

fn of(home: &Home, tool: &str, argument: &str) -> Option<Choice> {
    let spec = &home.state.team.agents[&AgentId::new("planner-001")].spec;
    choices::of(&home.state, spec)
        .into_iter()
        .find(|choice| (choice.tool, choice.argument) == (tool, argument))
}

fn ids(home: &Home, tool: &str, argument: &str) -> Vec<String> {
    of(home, tool, argument).map(|choice| choice.ids).unwrap_or_default()
}

#[test]
fn an_agent_is_offered_the_ids_of_those_whom_it_may_address() {
    let home = Home::new(&TEAM);
    assert_eq!(ids(&home, "ask_agent", "to"), ["executor-001", "retriever-001"]);
    assert_eq!(ids(&home, "delegate", "to"), ["executor-001", "retriever-001"]);
    assert_eq!(ids(&home, "create_task", "assignee"), ["executor-001", "planner-001", "retriever-001"]);
    assert_eq!(ids(&home, "send_message", "to"), ["broadcast", "executor-001", "retriever-001"]);
    assert_eq!(ids(&home, "spawn_agent", "role"), ["coder", "planner", "reviewer"]);
    assert_eq!(of(&home, "terminate_agent", "agent"), None, "nobody was spawned");
    assert_eq!(of(&home, "delegate", "tag"), None, "no tags are named");
}

#[test]
fn a_schema_lists_the_ids_in_place_of_a_pattern() {
    let home = Home::new(&TEAM);
    let mut schema = tool::schema("ask_agent").unwrap();
    of(&home, "ask_agent", "to").unwrap().put_into(&mut schema);
    let to = &schema["properties"]["to"];
    assert_eq!(to["enum"], serde_json::json!(["executor-001", "retriever-001"]));
    assert!(to.get("pattern").is_none() && to["type"] == "string", "{to}");
}

#[test]
fn a_large_team_is_not_listed() {
    let names: Vec<String> = (0..=IDS_MAX + 1).map(|n| format!("planner-{n:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(of(&Home::new(&names), "ask_agent", "to"), None);
}
