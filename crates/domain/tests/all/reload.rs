//! An agent's file changes: what is under way goes on as it began, with no more rights than either file gives.

use domain::agent;
use domain::id::AgentId;
use domain::input::Input;

use crate::home::{Home, line, read, run};

fn change(home: &mut Home, change: impl FnOnce(&mut agent::Spec)) {
    let mut spec = home.state.agents[&AgentId::new("executor-001")].spec.clone();
    change(&mut spec);
    home.give(Input::AgentRead(Box::new(spec)));
}

fn model_of(home: &Home) -> String {
    let (_, session) = home.session_of("executor-001");
    home.state.spec_of(session).unwrap().model.primary.clone()
}

#[test]
fn what_is_under_way_keeps_its_model_and_what_begins_has_the_new_one() {
    let mut home = Home::new(&["executor-001"]);
    home.task("look", "executor-001");
    change(&mut home, |spec| spec.model.primary = "n".to_owned());
    change(&mut home, |spec| spec.model.primary = "o".to_owned());
    assert_eq!(model_of(&home), "m");
    home.give(Input::Started);
    home.says("executor-001", "fine");
    home.task("look again", "executor-001");
    assert_eq!(model_of(&home), "o");
    let kept = serde_json::to_value(&home.state).unwrap();
    assert_eq!(kept["agents"]["executor-001"].get("past"), None, "nobody needs the old ones any more");
}

#[test]
fn a_conversation_that_rests_begins_anew_with_the_new_file() {
    let mut home = Home::new(&["executor-001"]);
    home.write("executor-001", "hello");
    home.says("executor-001", "hello");
    change(&mut home, |spec| spec.model.primary = "n".to_owned());
    assert_eq!(model_of(&home), "m");
    home.write("executor-001", "and now?");
    assert_eq!(model_of(&home), "n");
}

#[test]
fn what_is_taken_from_an_agent_is_taken_at_once_and_what_is_given_is_for_new_tasks() {
    let mut home = Home::new(&["executor-001"]);
    change(&mut home, |spec| spec.permissions.tools.deny = vec!["execute_command".to_owned()]);
    home.task("look", "executor-001");
    change(&mut home, |spec| spec.permissions.tools.deny = vec!["read_file".to_owned()]);
    let events = home.wants("executor-001", &[read("a"), run("df -h")]);
    assert_eq!(line(&events), "replied call_finished:refused call_finished:refused turn_begun");
    home.says("executor-001", "fine");
    home.task("look again", "executor-001");
    assert_eq!(line(&home.wants("executor-001", &[run("df -h")])), "replied call_cleared");
}
