//! The tools that models are told of: of what an agent may use, what its role and the moment need.

use domain::agent::{Spec, Workspace};
use domain::id::AgentId;
use domain::offer;
use domain::tool::{self, Act, Lock};

use crate::home::{Home, create};

const NOTHING: offer::Home = offer::Home { has_contexts: false, has_memory: false };
const CODER: [&str; 13] = [
    "read_file",
    "list_directory",
    "grep",
    "write_file",
    "edit_file",
    "delete_file",
    "move_file",
    "git_commit",
    "git_diff",
    "run_tests",
    "lint",
    "request_review",
    "finish_task",
];
const COORDINATOR: [&str; 7] =
    ["read_file", "list_directory", "finish_task", "create_task", "get_task", "list_agents", "ask_agent"];

fn in_repository(spec: &mut Spec) {
    if spec.role == "coder" {
        let command = |text: &str| Some(text.to_owned());
        spec.workspace = Some(Workspace {
            test: command("sh test.sh"),
            lint: command("sh -n a.sh"),
            ..Workspace::default()
        });
    }
}

fn team() -> Home {
    Home::with(&["coder-001", "coordinator-001", "planner-001"], |_| {}, in_repository)
}

fn offered(home: &Home, agent: &str, at: offer::Home) -> Vec<&'static str> {
    let (session, _) = home.session_of(agent);
    offer::tools(&home.state, &session, at, &[])
}

fn with<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let wanted: Vec<&str> = base.iter().chain(more).copied().collect();
    tool::ALL.iter().filter_map(|facts| wanted.iter().find(|name| **name == facts.name).copied()).collect()
}

#[test]
fn a_role_is_offered_what_its_work_needs() {
    let mut home = team();
    home.task("add an option", "coder-001");
    home.task("ship it", "coordinator-001");
    assert_eq!(offered(&home, "coder-001", NOTHING), with(&CODER, &["ask_agent"]));
    assert_eq!(offered(&home, "coordinator-001", NOTHING), with(&COORDINATOR, &["send_message"]));
}

#[test]
fn what_only_some_moments_need_is_offered_in_them() {
    let mut home = team();
    home.task_with("add an option", "coder-001", |spec| {
        spec.properties.insert("label".to_owned(), "outside from inbox/mail.jsonl:1".to_owned());
    });
    let at = offer::Home { has_contexts: true, has_memory: true };
    let more = ["ask_agent", "extract", "memory_search", "context_get", "context_put"];
    assert_eq!(offered(&home, "coder-001", at), with(&CODER, &more));
    home.task("ship it", "coordinator-001");
    home.wants("coordinator-001", &[create("a part", "coder-001", &[])]);
    // Whoever has parts can change them.
    let more = ["send_message", "update_task"];
    assert_eq!(offered(&home, "coordinator-001", NOTHING), with(&COORDINATOR, &more));
}

#[test]
fn locks_are_offered_when_somebody_uses_them() {
    let mut home = team();
    home.task("add an option", "coder-001");
    home.task("ship it", "coordinator-001");
    home.wants("coordinator-001", &[Act::Lock(Lock { name: "deploy".to_owned(), wait_ms: None })]);
    assert_eq!(offered(&home, "coder-001", NOTHING), with(&CODER, &["ask_agent", "lock", "unlock"]));
}

#[test]
fn what_the_owner_lists_is_offered() {
    let list = ["lock", "read_file", "query_tasks"];
    let mut home = Home::with(
        &["coder-001"],
        |_| {},
        |spec| {
            spec.permissions.tools.allow = Some(list.map(str::to_owned).to_vec());
        },
    );
    home.task("look", "coder-001");
    assert_eq!(offered(&home, "coder-001", NOTHING), with(&list, &["finish_task"]));
}

#[test]
fn an_offer_only_grows_in_a_conversation_and_never_beyond_the_rights() {
    let mut home = team();
    home.task("add an option", "coder-001");
    let (session, _) = home.session_of("coder-001");
    let before = ["lock", "extract", "spawn_agent"];
    let now = offer::tools(&home.state, &session, NOTHING, &before);
    assert_eq!(now, with(&CODER, &["ask_agent", "lock", "extract"]));
}

#[test]
fn who_is_alone_is_offered_nobody_to_ask() {
    let mut home = Home::with(&["coder-001"], |_| {}, in_repository);
    home.task("add an option", "coder-001");
    assert_eq!(offered(&home, "coder-001", NOTHING), CODER.to_vec());
    assert!(home.state.employed(&AgentId::new("coder-001")).is_some());
}
