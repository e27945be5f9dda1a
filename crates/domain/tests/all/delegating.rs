//! From a request to a result: parts, dependencies, endings, and who is told.

use domain::event::Event;
use domain::event::TaskEvent;
use domain::id::{AgentId, TaskId};
use domain::input::{Failure, Input};
use domain::input::{FileInput, PersonInput};
use domain::state::TaskStage;
use domain::task::{End, Mark, Spec};

use crate::home::{Home, create, line, run, update, written};

const TEAM: [&str; 3] = ["planner-001", "executor-001", "retriever-001"];

fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

/// The planner has made a chain of two tasks and one beside it, and waits.
fn planned() -> Home {
    let mut home = Home::new(&TEAM);
    home.task("is the disk fine?", "planner-001");
    home.wants(
        "planner-001",
        &[
            create("look", "executor-001", &[]),
            create("explain", "retriever-001", &["task-002"]),
            create("remember", "executor-001", &[]),
        ],
    );
    home.says("planner-001", "I wait for my parts");
    home
}

#[test]
fn tasks_begin_when_what_they_depend_on_has_ended() {
    let mut home = planned();
    assert_eq!(home.begun(), ["task-001", "task-002", "task-004"]);
    home.says("executor-001", "92 % full");
    assert_eq!(home.begun(), ["task-001", "task-002", "task-004", "task-003"]);
    assert_eq!(
        home.heard("retriever-001"),
        ["agent:planner-001: Task task-003: explain\nIt is a part of task-001.\n\n\
         What it waited for:\n- task-002 (@executor-001) \"look\" is done:\n  92 % full"]
    );
}

#[test]
fn a_parent_is_told_once_and_of_all_when_its_parts_have_ended() {
    let mut home = planned();
    home.says("executor-001", "92 % full");
    home.says("executor-001", "noted");
    assert_eq!(home.heard("planner-001").len(), 1, "nothing but its own task so far");
    home.says("retriever-001", "old logs");
    assert_eq!(
        home.heard("planner-001")[1..],
        ["synod: All parts of your task have ended.\n\
         - task-002 (@executor-001) \"look\" is done:\n  92 % full\n\
         - task-003 (@retriever-001) \"explain\" is done:\n  old logs\n\
         - task-004 (@executor-001) \"remember\" is done:\n  noted"]
    );
    home.says("planner-001", "delete old logs");
    assert_eq!(home.end(&id("task-001")), Some(End::Done));
    assert_eq!(home.get(&id("task-001")).result, "delete old logs");
    assert!(home.state.is_idle());
}

#[test]
fn a_parent_is_told_at_once_when_a_part_does_not_work_out() {
    let mut home = planned();
    home.model_fails("executor-001", Failure::GiveUp);
    assert_eq!(
        home.heard("planner-001")[1..],
        ["synod: - task-002 (@executor-001) \"look\" is failed:\n  the model cannot answer: overloaded\n\
         Its other parts go on. Decide what to do."]
    );
    assert_eq!(home.end(&id("task-004")), None);
}

#[test]
fn dependents_begin_however_their_dependency_ended_and_are_told_which() {
    for (mark, word) in [(Mark::Done, "done"), (Mark::Failed, "failed"), (Mark::Cancelled, "cancelled")] {
        let mut home = planned();
        home.mark(&id("task-002"), mark);
        let heard = home.heard("retriever-001");
        assert!(heard[0].contains(&format!("- task-002 (@executor-001) \"look\" is {word}:")), "{heard:?}");
    }
}

#[test]
fn a_task_whose_dependency_does_not_exist_waits_for_it_to_be_written() {
    let mut home = Home::new(&TEAM);
    let spec = |number: &str, on: &[&str]| {
        let mut spec = Spec::new(id(number), "tasks/x.task.md", "do it");
        spec.assignee = Some(AgentId::new("executor-001"));
        spec.depends_on = on.iter().map(|on| id(on)).collect();
        Input::File(FileInput::TaskRead { spec: Box::new(spec), mark: Mark::Open, result: String::new() })
    };
    home.give(spec("task-007", &["task-008"]));
    assert_eq!(home.begun(), [""; 0]);
    home.give(spec("task-008", &[]));
    assert_eq!(home.begun(), ["task-008"]);
    home.says("executor-001", "done");
    assert_eq!(home.begun(), ["task-008", "task-007"]);
}

#[test]
fn cancelling_a_task_ends_its_parts_stops_its_sessions_and_withdraws_its_approvals() {
    let mut home = planned();
    home.wants("executor-001", &[run("make")]);
    home.wants("executor-001", &[run("touch counter"), run("df -h")]);
    assert_eq!(home.state.people.approvals.len(), 1);
    let effects = home.effects.len();
    let events = home.mark(&id("task-001"), Mark::Cancelled);
    assert_eq!(
        line(&events),
        "call_finished:unknown call_finished:dropped waiting complete task-004:cancelled \
         task-003:cancelled \
         approval_ended:withdrawn call_finished:dropped working waiting complete task-002:cancelled \
         complete task-001:cancelled"
    );
    assert!(home.state.people.approvals.is_empty() && home.state.is_idle());
    assert_eq!(home.effects.len() - effects, 3, "each of the three sessions is stopped");
    assert_eq!(home.get(&id("task-003")).result, "task-001, of which it is a part, is cancelled");
}

#[test]
fn a_task_that_is_taken_out_of_its_file_is_cancelled_with_all_below_it() {
    let mut home = planned();
    home.give(Input::File(FileInput::TaskGone { task: id("task-001") }));
    for task in home.state.work.tasks.values() {
        assert_eq!(task.end(), Some(End::Cancelled));
    }
    assert_eq!(
        home.refusal(Input::File(FileInput::TaskGone { task: id("task-099") })),
        "there is no task task-099"
    );
}

#[test]
fn a_task_given_to_somebody_else_begins_again_with_them() {
    let mut home = Home::new(&["executor-001", "executor-002"]);
    let task = home.task("look", "executor-001");
    home.wants("executor-001", &[run("make")]);
    let mut spec = home.get(&task).spec.clone();
    spec.assignee = Some(AgentId::new("executor-002"));
    let events = home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: Mark::Asking,
        result: String::new(),
    }));
    assert_eq!(
        line(&events),
        "task_edited approval_ended:withdrawn call_finished:dropped working waiting complete task_reopened \
         task_started session_opened message_added working turn_begun"
    );
    home.says("executor-002", "fine");
    assert_eq!(home.end(&task), Some(End::Done));
}

#[test]
fn an_old_conversation_does_not_end_a_task_that_is_worked_on_elsewhere() {
    let mut home = Home::new(&["executor-001", "executor-002"]);
    let task = home.task("look", "executor-001");
    let (old, _) = home.session_of("executor-001");
    let mut spec = home.get(&task).spec.clone();
    spec.assignee = Some(AgentId::new("executor-002"));
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: Mark::Running,
        result: String::new(),
    }));
    home.give(written(Some(&old), "executor-001", "what did you find?"));
    home.wants("executor-001", &[update(&task, Mark::Done, "mine")]);
    assert!(home.results("executor-001")[0].starts_with("refused by the rule that only who works on a task"));
    assert_eq!(line(&home.says("executor-001", "nothing")), "replied waiting complete");
    assert_eq!((home.end(&task), home.calls_to_model("executor-002").len()), (None, 1));

    home.give(written(Some(&old), "executor-001", "really?"));
    assert_eq!(line(&home.model_fails("executor-001", Failure::GiveUp)), "waiting failed");
    assert_eq!((home.end(&task), home.calls_to_model("executor-002").len()), (None, 1));
}

#[test]
fn a_reopened_task_begins_anew_and_holds_its_dependents_back_again() {
    let mut home = Home::new(&TEAM);
    let first = home.task("look", "executor-001");
    home.says("executor-001", "fine");
    let second = home.task_with("explain", "retriever-001", |spec| {
        spec.depends_on = vec![id("task-001")];
    });
    home.mark(&second, Mark::Cancelled);
    home.mark(&first, Mark::Open);
    assert_eq!(home.get(&first).result, "");
    home.mark(&second, Mark::Open);
    assert_eq!(home.get(&second).stage, TaskStage::Open, "its dependency is open again");
    home.says("executor-001", "still fine");
    assert_eq!(home.begun(), ["task-001", "task-002", "task-001", "task-002"]);
}

#[test]
fn a_person_may_change_their_mind_about_how_a_task_ended() {
    let mut home = Home::new(&TEAM);
    let task = home.task("look", "executor-001");
    home.model_fails("executor-001", Failure::GiveUp);
    assert_eq!(line(&home.mark(&task, Mark::Done)), "task-001:done");
    assert_eq!((home.end(&task), home.get(&task).result.as_str()), (Some(End::Done), "marked done by dana"));
    assert_eq!(home.mark(&task, Mark::Done), []);
    assert_eq!(line(&home.mark(&task, Mark::Cancelled)), "task-001:cancelled");
    assert_eq!(home.state.work.open_tasks, 0);
}

#[test]
fn a_part_cannot_wait_for_the_whole() {
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[create("look", "executor-001", &["task-001"])]);
    assert_eq!(
        home.results("planner-001"),
        [
            "the tasks would wait for each other: task-002 → task-001 → task-002; take one of them out of depends_on"
        ]
    );
}

#[test]
fn only_who_has_to_do_with_a_task_may_change_it() {
    let mut home = planned();
    let other = home.task("beside", "planner-001");
    home.wants("executor-001", &[update(&other, Mark::Done, "done")]);
    let told = home.results("executor-001");
    assert!(told[0].starts_with("refused by the rule that only who works on a task"), "{told:?}");
    assert_eq!(home.end(&other), None);
}

#[test]
fn an_agent_that_ends_its_own_task_is_not_stopped_in_the_middle_of_its_turn() {
    let mut home = Home::new(&TEAM);
    let task = home.task("look", "executor-001");
    let events = home.wants("executor-001", &[update(&task, Mark::Done, "fine"), run("df -h")]);
    assert_eq!(line(&events), "replied task-001:done call_finished:done call_cleared");
    home.tool_ends("executor-001", true, "9 %");
    assert_eq!(line(&home.says("executor-001", "bye")), "replied waiting complete");
    assert_eq!(home.get(&task).result, "fine");
}

#[test]
fn nobody_but_a_person_ends_a_task_that_has_open_parts_as_done() {
    let mut home = Home::new(&TEAM);
    let task = home.task("plan", "planner-001");
    home.wants("planner-001", &[create("look", "executor-001", &[]), update(&task, Mark::Done, "done")]);
    assert_eq!(home.results("planner-001")[1], "task-001 has open parts; it is done when they are");
    home.mark(&task, Mark::Done);
    assert_eq!(home.end(&id("task-002")), Some(End::Cancelled));
}

#[test]
fn a_line_of_an_inbox_becomes_one_task_however_often_it_is_read() {
    let mut home = Home::with(
        &TEAM,
        |settings| {
            settings.routing.inbox.insert("slack".to_owned(), AgentId::new("executor-001"));
        },
        |_| {},
    );
    let read = |number| {
        Input::File(FileInput::LineRead {
            source: "inbox/slack.jsonl".to_owned(),
            line: number,
            from: "@dana".to_owned(),
            channel: Some("#ops".to_owned()),
            text: "is the disk fine?".to_owned(),
        })
    };
    home.give(read(1));
    assert_eq!(home.give(read(1)), []);
    home.give(read(2));
    assert_eq!(home.begun(), ["task-001", "task-002"]);
    assert_eq!(
        home.heard("executor-001")[0],
        "inbox/slack.jsonl:1: Task task-001: is the disk fine?\n\
        It came from @dana.\nIt stands in inbox/slack.jsonl:1.\nAnswer in the channel #ops."
    );
}

#[test]
fn a_line_that_does_not_say_from_whom_came_from_nobody() {
    let mut home = Home::with(
        &["executor-001"],
        |settings| settings.routing.fallback = Some(AgentId::new("executor-001")),
        |_| {},
    );
    home.give(Input::File(FileInput::LineRead {
        source: "inbox/mail.jsonl".to_owned(),
        line: 1,
        from: String::new(),
        channel: None,
        text: "sing".to_owned(),
    }));
    assert_eq!(
        home.heard("executor-001"),
        ["inbox/mail.jsonl:1: Task task-001: sing\nIt stands in inbox/mail.jsonl:1."]
    );
}

#[test]
fn a_request_that_nobody_takes_fails_and_says_why() {
    let mut home = Home::new(&["executor-001"]);
    let spec = Box::new(Spec::new(id(""), "tasks/x.task.md", "sing"));
    assert!(
        home.refusal(Input::Person(PersonInput::AddTask { spec, by: "dana".to_owned() }))
            .starts_with("nobody takes this")
    );
    let events = home.give(Input::File(FileInput::LineRead {
        source: "inbox/mail.jsonl".to_owned(),
        line: 1,
        from: "eve".to_owned(),
        channel: None,
        text: "sing".to_owned(),
    }));
    assert_eq!(line(&events), "line_taken task_added task-001:failed");
    assert!(
        matches!(&events[2], Event::Task(TaskEvent::Ended { result, .. }) if result.starts_with("nobody takes this"))
    );
}
