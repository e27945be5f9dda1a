//! Questions that agents ask: of each other, of the team and of tasks.

use domain::id::{AgentId, TaskId};
use domain::lifecycle::Lifecycle;
use domain::message;
use domain::task::End;
use domain::tool::{Act, AskAgent, CreateTask, Delegate, GetTask, ListAgents};

use crate::delegation::{able, delegate};
use crate::home::{Home, create, tell};

const TEAM: [&str; 3] = ["planner-001", "executor-001", "retriever-001"];

fn ask(to: &str, question: &str) -> Act {
    Act::AskAgent(AskAgent { to: AgentId::new(to), question: question.to_owned() })
}

fn get(id: &str) -> Act {
    Act::GetTask(GetTask { id: TaskId::new(id) })
}

/// `create`, with results of other tasks.
fn create_with(assignee: &str, results: &[&str]) -> Act {
    match create("sum up", assignee, &[]) {
        Act::CreateTask(wish) => {
            let with_results = results.iter().map(|id| TaskId::new(*id)).collect();
            Act::CreateTask(CreateTask { with_results, ..wish })
        }
        other => other,
    }
}

/// A team with `task-001`, done by the retriever.
fn with_result() -> Home {
    let mut home = Home::with(&TEAM, |_| {}, able);
    home.task("find the disk's size", "retriever-001");
    home.says("retriever-001", "it has 80 GB");
    home.task("plan", "planner-001");
    home
}

#[test]
fn the_answer_is_the_result_of_ask_agent() {
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[ask("executor-001", "how full is the disk?")]);
    assert_eq!(home.session_of("planner-001").1.lifecycle, Lifecycle::Blocked, "it waits, without a slot");
    assert_eq!(home.heard("executor-001"), ["agent:planner-001: how full is the disk?"]);
    home.says("executor-001", "92 %");
    assert_eq!(home.results("planner-001"), ["92 %"]);
}

#[test]
fn ask_agent_is_refused_if_it_would_close_a_cycle_and_names_it() {
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[ask("executor-001", "how full is the disk?")]);
    home.wants("executor-001", &[ask("retriever-001", "which disk?")]);
    home.wants("retriever-001", &[ask("planner-001", "which one do you mean?")]);
    assert_eq!(
        home.results("retriever-001"),
        [
            "waiting would never end: retriever-001 waits for planner-001 waits for retriever-001; answer first, or \
          ask with send_message, which does not wait"
        ]
    );
}

#[test]
fn ask_agent_ends_with_a_time_out_and_with_what_becomes_of_the_asked() {
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[ask("executor-001", "how full is the disk?")]);
    home.pass(message::ANSWER_MS_MAX - 1);
    assert!(home.results("planner-001").is_empty());
    home.pass(1);
    let told = home.results("planner-001");
    assert!(told.len() == 1 && told[0].starts_with("time-out: executor-001 did not answer"), "{told:?}");
}

#[test]
fn ask_agent_names_one_other_agent_of_the_team() {
    for (to, why) in [
        ("planner-001", "an agent does not send messages to itself"),
        ("broadcast", "only one agent can be waited for; send_message reaches several"),
        ("executor-01", "there is no agent executor-01; did you mean executor-001?"),
    ] {
        let mut home = Home::new(&TEAM);
        home.task("plan", "planner-001");
        home.wants("planner-001", &[ask(to, "how full is the disk?")]);
        let told = home.results("planner-001");
        assert!(told.len() == 1 && told[0].starts_with(why), "{to}: {told:?}");
    }
}

#[test]
fn list_agents_says_who_is_free_and_what_the_others_work_on() {
    let mut home = Home::with(&TEAM, |_| {}, |spec| spec.permissions.concurrency.max_parallel_tasks = 1);
    home.task("look", "executor-001");
    home.task("look again", "executor-001");
    home.task("plan", "planner-001");
    home.wants("planner-001", &[Act::ListAgents(ListAgents {})]);
    assert_eq!(
        home.results("planner-001"),
        ["- executor-001 (executor): busy, all 1 slots taken; has task-001 (working); queue: 1\n\
          - retriever-001 (retriever): free"]
    );
}

#[test]
fn get_task_shows_text_state_result_parts_and_dependencies() {
    let mut home = with_result();
    home.wants_each("planner-001", &[create("measure", "executor-001", &["task-001"]), get("task-001")]);
    home.wants_each("planner-001", &[get("task-003"), get("task-002"), get("task-009")]);
    let told = home.results("planner-001");
    assert_eq!(
        told[1..],
        [
            "task-001 \"find the disk's size\"\nstate: done\nassignee: retriever-001\nresult:\nit has 80 GB",
            "task-003 \"measure\"\nstate: running\nassignee: executor-001\npart of: task-002\ndepends on: task-001 (done)",
            "task-002 \"plan\"\nstate: running\nassignee: planner-001\nparts: task-003 (running)",
            "there is no task task-009; query_tasks shows which there are",
        ]
    );
}

#[test]
fn a_task_that_is_for_others_is_neither_shown_nor_sent_along() {
    let mut home = Home::with(&TEAM, |_| {}, able);
    let secret = home.task_with("find the pay", "retriever-001", |spec| {
        spec.properties.insert("label".to_owned(), "team for retriever-001".to_owned());
    });
    home.says("retriever-001", "it is 100");
    assert_eq!(home.end(&secret), Some(End::Done));
    home.task("plan", "planner-001");
    home.wants_each("planner-001", &[get("task-001"), create_with("executor-001", &["task-001"])]);
    assert_eq!(
        home.results("planner-001"),
        [
            "task-001 is for others to see (team for retriever-001)",
            "with_results: planner-001 may not see the result of task-001 (team for retriever-001)",
        ]
    );
}

#[test]
fn results_go_along_with_a_new_task_word_for_word() {
    let along = "\n\nResults that go along with it:\n- task-001 (@retriever-001) \"find the disk's size\" is done:\n  it has 80 GB";
    let mut home = with_result();
    home.wants("planner-001", &[create_with("executor-001", &["task-001"])]);
    let heard = home.heard("executor-001");
    assert!(heard[0].ends_with(along), "{heard:?}");
    let mut home = with_result();
    let Act::Delegate(wish) = delegate("executor-001", "sum up") else { panic!("it is a delegation") };
    let act = Act::Delegate(Delegate { with_results: vec![TaskId::new("task-001")], ..wish });
    home.wants("planner-001", &[act]);
    let heard = home.heard("executor-001");
    assert!(heard[0].ends_with(along), "{heard:?}");
}

#[test]
fn a_task_has_the_label_of_the_results_that_go_along() {
    let mut home = Home::with(&TEAM, |_| {}, able);
    home.task_with("read the mail", "retriever-001", |spec| {
        spec.properties.insert("label".to_owned(), "outside from inbox/mail.jsonl:1".to_owned());
    });
    home.says("retriever-001", "it says: run it");
    home.task("plan", "planner-001");
    home.wants("planner-001", &[create_with("executor-001", &["task-001"])]);
    let (_, session) = home.session_of("executor-001");
    assert_eq!(session.label.to_string(), "outside from inbox/mail.jsonl:1");
}

#[test]
fn results_that_are_not_there_are_named() {
    for (results, why) in [
        (
            vec!["task-001", "task-008", "task-009"],
            "with_results: there is no task task-008, task-009; query_tasks shows",
        ),
        (vec!["task-001", "task-002"], "with_results: no result yet of task-002; name it in depends_on"),
    ] {
        let mut home = with_result();
        home.wants("planner-001", &[create_with("executor-001", &results)]);
        let told = home.results("planner-001");
        assert!(told.len() == 1 && told[0].starts_with(why), "{told:?}");
        assert_eq!(home.state.work.tasks.len(), 2, "nothing is made");
    }
}

#[test]
fn an_agent_that_was_asked_with_send_message_does_not_hold_up_its_asker() {
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[tell("executor-001", "how full is the disk?")]);
    assert_eq!(home.results("planner-001"), ["sent to executor-001; an answer comes as a message"]);
}
