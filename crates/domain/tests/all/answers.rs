//! Work that went on by message belongs to the request that it is for: its answer is heard, its end comes with the
//! asker's, and its cost is counted there.

use domain::id::{AgentId, SessionId};
use domain::input::Input;
use domain::input::PersonInput;
use domain::lifecycle::Lifecycle;
use domain::settings::Settings;
use domain::task::{End, Mark};
use domain::tool::{Act, SendMessage};

use crate::delegation::{able, delegate};
use crate::home::{Home, create, line, run, tell, update};

const TEAM: [&str; 3] = ["planner-001", "executor-001", "retriever-001"];

/// The planner, at a task, has asked the executor, and the executor thinks about it.
fn asked() -> Home {
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[tell("executor-001", "how full is the disk?")]);
    home
}

fn awaited(to: &str) -> Act {
    match tell(to, "how full is the disk?") {
        Act::SendMessage(SendMessage { to, content, kind, priority, reply_to, approved, issues, .. }) => {
            Act::SendMessage(SendMessage {
                to,
                content,
                kind,
                priority,
                reply_to,
                wait_ms: Some(60_000),
                approved,
                issues,
            })
        }
        other => other,
    }
}

fn cancel_run(home: &mut Home, run: &str) -> String {
    line(&home.give(Input::Person(PersonInput::CancelRun { run: run.to_owned(), by: "dana".to_owned() })))
}

#[test]
fn a_task_is_not_done_before_an_answer_that_it_asked_for_is_there() {
    let mut home = asked();
    let (id, _) = home.session_of("planner-001");
    let said = line(&home.says("planner-001", "I wait for the answer"));
    assert_eq!(said, "replied waiting", "the task goes on");
    home.says("executor-001", "92 %");
    assert_eq!(home.heard("planner-001").last().unwrap(), "agent:executor-001: 92 %");
    let said = line(&home.says("planner-001", "the disk is full"));
    assert_eq!(said, "replied task-001:done waiting complete");
    assert!(home.state.sessions[&id].ties.asked.is_empty());
}

#[test]
fn who_ended_its_own_task_still_hears_the_answer() {
    let mut home = asked();
    let task = home.state.work.tasks.keys().next().unwrap().clone();
    home.wants("planner-001", &[update(&task, Mark::Done, "asked")]);
    assert_eq!(line(&home.says("planner-001", "I wait for the answer")), "replied waiting");
    home.says("executor-001", "92 %");
    assert_eq!(line(&home.says("planner-001", "thanks")), "replied waiting complete");
}

#[test]
fn who_asked_many_is_not_held_up_by_them() {
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[tell("broadcast", "who knows?")]);
    assert_eq!(line(&home.says("planner-001", "nobody, it seems")), "replied task-001:done waiting complete");
    home.says("executor-001", "not me");
    home.says("retriever-001", "not me");
}

#[test]
fn what_was_asked_is_given_up_with_who_asked() {
    for wait in [false, true] {
        let team = [&TEAM[..], &["executor-002"]].concat();
        let mut home = Home::new(&team);
        let task = home.task("plan", "planner-001");
        let ask = if wait { awaited("executor-001") } else { tell("executor-001", "how full?") };
        home.wants("planner-001", &[ask]);
        // Further down: a request to a third one, which asks its model, and a fourth with a tool under way.
        home.wants("executor-001", &[tell("executor-002", "and how fast?"), awaited("retriever-001")]);
        home.wants("executor-002", &[run("df -h")]);
        assert_eq!(home.calls_to_tools("executor-002").len(), 1);
        assert_eq!(home.calls_to_model("retriever-001").len(), 1);
        let what = task.to_string();
        home.give(Input::Person(PersonInput::Cancel { what, by: "dana".to_owned() }));
        assert_eq!(home.end(&task), Some(End::Cancelled));
        for agent in team {
            assert!(home.calls_to_model(agent).is_empty(), "{agent} asks no model (wait: {wait})");
            assert!(home.calls_to_tools(agent).is_empty(), "{agent} has no tool under way (wait: {wait})");
            assert_eq!(home.state.team.agents[&AgentId::new(agent)].busy, 0);
        }
        assert!(!home.state.ledger.is_holding());
    }
}

#[test]
fn who_is_asked_by_others_too_or_has_work_of_its_own_goes_on() {
    // Somebody else wants to know.
    let mut home = asked();
    home.task("look", "retriever-001");
    home.wants("retriever-001", &[tell("executor-001", "and the other one?")]);
    cancel_run(&mut home, "task-001");
    assert_eq!(home.calls_to_model("executor-001").len(), 1);
    home.says("executor-001", "92 %");
    home.says("executor-001", "92 % too");
    assert_eq!(home.heard("retriever-001").last().unwrap(), "agent:executor-001: 92 % too");
    // A person spoke to it.
    let mut home = asked();
    home.write("executor-001", "and the other one?");
    let task = home.state.work.tasks.keys().next().unwrap().to_string();
    home.give(Input::Person(PersonInput::Cancel { what: task, by: "dana".to_owned() }));
    assert_eq!(home.calls_to_model("executor-001").len(), 1);
    // It rests: the conversation stays for the next one.
    let mut home = asked();
    home.says("executor-001", "92 %");
    cancel_run(&mut home, "task-001");
    assert_eq!(home.session_of("executor-001").1.lifecycle, Lifecycle::Waiting);
}

#[test]
fn tasks_that_were_made_for_an_answer_end_with_who_asked_and_older_ones_do_not() {
    let mut home = Home::new(&TEAM);
    home.write("executor-001", "look after the disk");
    home.wants("executor-001", &[create("older", "retriever-001", &[])]);
    home.says("executor-001", "I do");
    let asker = home.task("plan", "planner-001");
    home.wants("planner-001", &[tell("executor-001", "how full is the disk?")]);
    home.wants("executor-001", &[create("newer", "retriever-001", &[])]);
    let named = |home: &Home, title: &str| {
        home.state.work.tasks.values().find(|task| task.spec.title == title).unwrap().spec.id.clone()
    };
    let (older, newer) = (named(&home, "older"), named(&home, "newer"));
    home.give(Input::Person(PersonInput::Cancel { what: asker.to_string(), by: "dana".to_owned() }));
    assert_eq!((home.end(&newer), home.end(&older)), (Some(End::Cancelled), None));
}

#[test]
fn a_run_reaches_all_that_went_on_by_message() {
    let mut home = asked();
    home.wants("executor-001", &[create("part", "retriever-001", &[]), run("df -h")]);
    assert_eq!(home.calls_to_tools("executor-001").len(), 1);
    let what = home.session_of("executor-001").0.to_string();
    let refused = home.refusal(Input::Person(PersonInput::CancelRun { run: what, by: "dana".to_owned() }));
    assert!(refused.contains("task-001"), "{refused}");
    cancel_run(&mut home, "task-001");
    assert!(home.state.work.tasks.values().all(|task| task.is_ended()));
    assert!(TEAM.iter().all(|agent| home.calls_to_model(agent).is_empty()));
    assert!(home.calls_to_tools("executor-001").is_empty());
}

#[test]
fn what_is_spent_to_answer_counts_for_the_request() {
    let capped = |settings: &mut Settings| settings.budgets.run.tokens = Some(1_000_000);
    let mut home = Home::with(&TEAM, capped, |_| {});
    home.task("plan", "planner-001");
    home.wants("planner-001", &[awaited("executor-001")]);
    home.wants("executor-001", &[create("part", "retriever-001", &[])]);
    home.says("retriever-001", "done");
    let runs: Vec<&str> = home.charges.iter().map(|charge| charge.payer.run.as_str()).collect();
    assert_eq!(runs, ["task-001"; 3]);
    // The same conversation, asked by a person, is a request of its own.
    home.says("executor-001", "92 %");
    home.says("executor-001", "I heard that the part is done");
    assert_eq!(home.charges.last().unwrap().payer.run, "task-001", "that is for the same request");
    home.write("executor-001", "hello");
    home.says("executor-001", "hello");
    let (id, _): (SessionId, _) = home.session_of("executor-001");
    assert_eq!(home.charges.last().unwrap().payer.run, id.to_string());
}

#[test]
fn each_request_of_a_person_in_a_conversation_is_counted_anew() {
    let capped = |settings: &mut Settings| settings.budgets.run.tokens = Some(20_000);
    let mut home = Home::with(&TEAM, capped, |_| {});
    let spent = |home: &Home| {
        let name = format!("budgets.run of {}", home.session_of("executor-001").0);
        home.state
            .ledger
            .meters()
            .find(|(node, _)| node.to_string() == name)
            .map(|(_, meter)| meter.spent.tokens)
    };
    home.write("executor-001", "hello");
    home.wants("executor-001", &[create("part", "retriever-001", &[])]);
    home.says("executor-001", "hello");
    assert_eq!(spent(&home), Some(30));
    home.write("executor-001", "and now?");
    assert_eq!(spent(&home), Some(30), "what followed from the first request is under way");
    home.says("executor-001", "it goes on");
    home.says("retriever-001", "done");
    home.says("executor-001", "it is done");
    assert_eq!(spent(&home), Some(75));
    home.write("executor-001", "thanks");
    assert_eq!(spent(&home), Some(0));
    home.says("executor-001", "you are welcome");
    assert_eq!(spent(&home), Some(15));
}

/// The executor thinks about a request of the planner and of nobody else.
fn asked_and_waited_for() -> Home {
    let mut home = Home::new(&TEAM);
    home.write("planner-001", "plan");
    home.wants("planner-001", &[awaited("executor-001")]);
    home
}

#[test]
fn what_came_while_an_agent_answered_does_not_take_its_answer() {
    let mut home = asked_and_waited_for();
    home.write("executor-001", "between us: what is the salary?");
    home.says("executor-001", "92 %");
    assert_eq!(home.results("planner-001").last().unwrap(), "92 %");
    home.says("executor-001", "5000");
    let heard = [home.heard("planner-001"), home.results("planner-001")].concat();
    assert!(!heard.iter().any(|said| said.contains("5000")), "{heard:?}");
}

#[test]
fn two_who_ask_get_each_their_own_answer() {
    let mut home = asked_and_waited_for();
    home.write("retriever-001", "find");
    home.wants("retriever-001", &[tell("executor-001", "how big is it?")]);
    home.says("retriever-001", "I wait");
    home.says("executor-001", "92 %");
    home.says("executor-001", "2 TB");
    assert_eq!(home.results("planner-001").last().unwrap(), "92 %");
    assert_eq!(home.heard("retriever-001").last().unwrap(), "agent:executor-001: 2 TB");
    let heard = home.heard("retriever-001");
    assert!(!heard.iter().any(|said| said.contains("92 %")), "{heard:?}");
}

#[test]
fn an_agent_that_asks_others_first_answers_when_it_knows() {
    let mut home = asked_and_waited_for();
    home.wants("executor-001", &[tell("retriever-001", "the exact number?")]);
    home.says("executor-001", "I have asked and will tell you.");
    assert_eq!(home.session_of("planner-001").1.lifecycle, Lifecycle::Blocked, "it is not answered yet");
    // Somebody else asks meanwhile, and need not wait for that.
    home.write("executor-001", "are you there?");
    home.says("executor-001", "Yes.");
    assert_eq!(home.session_of("planner-001").1.lifecycle, Lifecycle::Blocked);
    home.says("retriever-001", "42");
    home.says("executor-001", "The number is 42.");
    assert_eq!(home.results("planner-001").last().unwrap(), "The number is 42.");
}

#[test]
fn agents_that_ask_each_other_all_get_what_there_is() {
    let mut home = asked_and_waited_for();
    home.wants("executor-001", &[tell("retriever-001", "the exact number?")]);
    home.wants("retriever-001", &[tell("planner-001", "which disk?")]);
    // The planner stands still for the executor, and is asked by whom the executor asked: nobody would go on.
    home.says("executor-001", "I have asked.");
    assert_eq!(home.results("planner-001").last().unwrap(), "I have asked.");
    home.says("retriever-001", "I have asked, too.");
    home.says("planner-001", "The first one.");
    assert_eq!(home.heard("retriever-001").last().unwrap(), "agent:planner-001: The first one.");
    home.says("retriever-001", "Then 42.");
    assert_eq!(home.heard("executor-001").last().unwrap(), "agent:retriever-001: Then 42.");
}

#[test]
fn two_requests_get_two_responses() {
    let mut home = Home::new(&TEAM);
    home.write("planner-001", "plan");
    let asks = [tell("executor-001", "how full?"), tell("executor-001", "how big?")];
    home.wants("planner-001", &asks);
    let names: Vec<String> = home.session_of("planner-001").1.ties.asked.keys().cloned().collect();
    assert_eq!(names.len(), 2);
    home.says("planner-001", "I wait");
    home.says("executor-001", "92 % of 2 TB");
    let heard = home.heard("planner-001");
    let said = [
        format!("agent:executor-001: answered with {}", names[1]),
        "agent:executor-001: 92 % of 2 TB".to_owned(),
    ];
    assert_eq!(heard[heard.len() - 2..], said);
    assert!(home.session_of("planner-001").1.ties.asked.is_empty());
}

#[test]
fn who_has_its_answer_is_not_told_that_there_is_no_turn_for_others() {
    let mut home = Home::with(&TEAM, |known| known.limits.turns_max = 1, |_| {});
    home.write("planner-001", "plan");
    home.wants("planner-001", &[awaited("executor-001")]);
    home.write("retriever-001", "find");
    home.wants("retriever-001", &[awaited("executor-001")]);
    home.says("executor-001", "92 %");
    assert_eq!(home.results("planner-001"), ["92 %"]);
    assert_eq!(home.heard("planner-001").len(), 1, "{:?}", home.heard("planner-001"));
    let told = home.results("retriever-001").pop().unwrap();
    assert!(told.starts_with("executor-001 cannot answer: limits.turns_max"), "{told}");
}

#[test]
fn who_asks_back_whoever_waits_for_it_does_not_wait_for_the_answer() {
    let mut home = Home::with(&["executor-001", "executor-002"], |_| {}, able);
    home.task("is all fine?", "executor-001");
    home.wants("executor-001", &[delegate("executor-002", "look")]);
    home.wants("executor-002", &[tell("executor-001", "which disk?")]);
    home.says("executor-002", "The first one is full.");
    assert_eq!(home.results("executor-001"), ["executor-002 has done task-002: The first one is full."]);
}
