//! Every bound is kept, and whoever meets one is told its name.

use domain::event::Event;
use domain::event::{BudgetEvent, TurnEvent};
use domain::id::CallId;
use domain::input::{Failure, Input};
use domain::input::{FileInput, ModelInput, PersonInput};
use domain::settings::Limits;
use domain::task::End;
use domain::tool::{Act, Call, SendMessage, Want, WriteFile};
use domain::usage::Usage;

use crate::home::{Home, create, line, no, read, run, tell, written};

/// Time counts also while a model is asked, so that tests need no tools to use it up.
fn limited(limit: impl FnOnce(&mut Limits)) -> Home {
    let mut home = Home::with(
        &["executor-001", "planner-001"],
        |settings| {
            settings.limits.count_model_time = true;
            limit(&mut settings.limits);
        },
        |agent| agent.permissions.concurrency.task_timeout_ms = 10_000,
    );
    home.task("look", "executor-001");
    home
}

#[test]
fn the_same_call_in_a_row_is_refused_after_same_call_max() {
    let mut home = limited(|limits| limits.same_call_max = 2);
    for _ in 0..2 {
        home.wants("executor-001", &[read("memory/a.md")]);
        home.tool_ends("executor-001", true, "a");
    }
    assert_eq!(
        line(&home.wants("executor-001", &[read("memory/a.md")])),
        "replied call_finished:refused turn_begun"
    );
    assert_eq!(
        home.results("executor-001")[2],
        "refused by limits.same_call_max: this exact call was made 2 times in a row; do something else or say what is in the way"
    );
    home.wants("executor-001", &[read("memory/b.md")]);
    home.tool_ends("executor-001", true, "b");
    assert_eq!(
        line(&home.wants("executor-001", &[read("memory/a.md")])),
        "replied call_cleared",
        "another call came between"
    );
}

#[test]
fn new_words_make_the_same_call_new() {
    let mut home = limited(|limits| limits.same_call_max = 1);
    home.wants("executor-001", &[read("memory/a.md")]);
    let (session, _) = home.session_of("executor-001");
    home.give(written(Some(&session), "executor-001", "read it again"));
    home.tool_ends("executor-001", true, "a");
    assert_eq!(line(&home.wants("executor-001", &[read("memory/a.md")])), "replied call_cleared");
}

#[test]
fn calls_beyond_calls_max_are_refused_and_the_others_run() {
    let mut home = limited(|limits| limits.calls_max = 2);
    let events = home.wants("executor-001", &[read("a"), read("b"), read("c"), read("d"), run("make")]);
    assert_eq!(
        line(&events),
        "replied call_cleared call_cleared call_finished:refused call_finished:refused"
    );
    assert_eq!(home.results("executor-001"), ["refused by limits.calls_max: at most 2 calls in one turn"; 2]);
    home.tool_ends("executor-001", true, "a");
    let events = home.tool_ends("executor-001", true, "b");
    assert_eq!(
        line(&events),
        "call_finished:done call_finished:dropped turn_begun",
        "nor does the command run"
    );
}

#[test]
fn an_agent_that_does_not_come_to_an_end_is_stopped_after_turns_max() {
    let mut home = limited(|limits| limits.turns_max = 3);
    for path in ["a", "b"] {
        home.wants("executor-001", &[read(path)]);
        home.tool_ends("executor-001", true, "x");
    }
    home.wants("executor-001", &[read("c")]);
    assert_eq!(
        line(&home.tool_ends("executor-001", true, "x")),
        "call_finished:done task-001:failed waiting failed"
    );
    let task = home.state.work.tasks.values().next().unwrap();
    assert_eq!(task.result, "limits.turns_max: the agent took 3 turns without coming to an end");
}

#[test]
fn no_more_than_tasks_max_are_open_for_people_and_agents_alike() {
    let mut home = limited(|limits| limits.tasks_max = 2);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[create("more", "executor-001", &[])]);
    assert_eq!(home.results("planner-001"), ["limits.tasks_max: 2 is the most"]);
    let spec = Box::new(home.state.work.tasks.values().next().unwrap().spec.clone());
    assert_eq!(
        home.refusal(Input::Person(PersonInput::AddTask { spec, by: "dana".to_owned() })),
        "limits.tasks_max: 2 is the most"
    );
    home.says("executor-001", "fine");
    home.task("now there is room", "executor-001");
}

#[test]
fn a_model_that_fails_is_asked_again_later_and_later_up_to_model_attempts_max() {
    let mut home = limited(|limits| limits.model_attempts_max = 3);
    assert_eq!(line(&home.model_fails("executor-001", Failure::Retry { after_ms: 0 })), "turn_failed");
    assert_eq!(home.pass(499), [], "it waits before it asks again");
    assert_eq!(line(&home.pass(501)), "turn_retried");
    assert_eq!(line(&home.model_fails("executor-001", Failure::Retry { after_ms: 3_000 })), "turn_failed");
    assert_eq!(home.pass(2_999), [], "it waits as long as the provider wants");
    assert_eq!(line(&home.pass(1_001)), "turn_retried");
    assert_eq!(
        line(&home.model_fails("executor-001", Failure::Retry { after_ms: 0 })),
        "task-001:failed waiting failed"
    );
    let task = home.state.work.tasks.values().next().unwrap();
    assert_eq!(task.result, "limits.model_attempts_max: the model failed 3 times, the last time: overloaded");
}

#[test]
fn a_restart_is_not_a_failure_of_the_model() {
    let mut home = limited(|limits| limits.model_attempts_max = 2);
    for _ in 0..5 {
        home.give(Input::Started);
    }
    assert_eq!(line(&home.model_fails("executor-001", Failure::Retry { after_ms: 0 })), "turn_failed");
    home.pass(1_000);
    home.give(Input::Started);
    assert_eq!(
        line(&home.model_fails("executor-001", Failure::Retry { after_ms: 0 })),
        "task-001:failed waiting failed"
    );
    let task = home.state.work.tasks.values().next().unwrap();
    assert!(task.result.contains("failed 2 times"), "{}", task.result);
}

#[test]
fn two_calls_of_one_turn_never_share_an_id() {
    let mut home = limited(|limits| limits.same_call_max = 9);
    let (session, ticket) = home.thinking("executor-001");
    let call = |id: &str| Call {
        id: CallId::new(id),
        arguments: String::new(),
        want: Want::Act(read(id)),
        seen: None,
    };
    let calls = ["x", "x-3", "x", "x", "x-3"].map(call).to_vec();
    home.give(Input::Model(ModelInput::Replied {
        session,
        ticket,
        text: String::new(),
        calls,
        model: String::new(),
        usage: Usage::of(1, 1),
        read: Vec::new(),
    }));
    let mut ids: Vec<CallId> =
        home.calls_to_tools("executor-001").into_iter().map(|(_, call, _)| call).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5, "{ids:?}");
}

#[test]
fn a_number_at_the_end_of_its_range_breaks_nothing() {
    let mut home = limited(|_| {});
    let mut spec = home.state.work.tasks.values().next().unwrap().spec.clone();
    spec.id = domain::id::TaskId::new("task-4294967295");
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: domain::task::Mark::Open,
        result: String::new(),
    }));
    let more = [home.task("one", "executor-001"), home.task("two", "executor-001")];
    assert_eq!(home.state.work.tasks.len(), 4, "no task takes the place of another: {more:?}");
    let (session, _) = home.calls_to_model("executor-001")[0].clone();
    let tail = domain::event::Tail::Unanswered;
    home.give(Input::File(FileInput::SessionCut { session: session.clone(), next_message: u32::MAX, tail }));
    home.give(written(Some(&session), "executor-001", "hello"));
}

#[test]
fn an_empty_answer_counts_as_a_failure_of_the_model() {
    let mut home = limited(|_| {});
    let events = home.says("executor-001", " \n");
    assert!(
        matches!(&events[..], [Event::Budget(BudgetEvent::Spent { tokens_in: 10, tokens_out: 5, .. }), Event::Turn(TurnEvent::Failed { reason, .. })]
            if reason == "the model gave an empty answer"),
        "it is paid for like any other: {events:?}"
    );
    let (_, session) = home.session_of("executor-001");
    assert_eq!((session.purse.spent.usage.tokens_in, session.purse.spent.usage.tokens_out), (10, 5));
}

#[test]
fn an_answer_of_an_earlier_try_is_refused() {
    let mut home = limited(|_| {});
    let (session, ticket) = home.thinking("executor-001");
    home.model_fails("executor-001", Failure::Retry { after_ms: 0 });
    let late = crate::home::reply(session, ticket, "late", &[]);
    assert!(home.refusal(late.clone()).ends_with("came too late: its call is no longer under way"));
    home.pass(60_000);
    assert!(home.refusal(late).contains("came too late"));
}

#[test]
fn time_in_which_a_model_is_asked_is_working_time_only_if_the_settings_say_so() {
    let mut home = limited(|limits| limits.count_model_time = false);
    assert_eq!(home.pass(3_600_000), [], "the model thinks for an hour");
    home.model_fails("executor-001", Failure::Retry { after_ms: 0 });
    home.pass(20_000);
    home.wants("executor-001", &[run("touch counter")]);
    assert_eq!(home.pass(9_999), [], "the tool has all of the time");
    assert_eq!(line(&home.pass(1)), "task-001:failed call_finished:unknown waiting failed");
    let mut home = limited(|_| {});
    assert_eq!(home.pass(9_999), []);
    assert_eq!(line(&home.pass(1)), "task-001:failed waiting failed");
}

#[test]
fn a_task_that_works_longer_than_task_timeout_ms_fails() {
    let mut home = limited(|_| {});
    home.wants("executor-001", &[run("touch counter")]);
    assert_eq!(home.pass(9_999), []);
    assert_eq!(line(&home.pass(1)), "task-001:failed call_finished:unknown waiting failed");
    let task = home.state.work.tasks.values().next().unwrap();
    assert_eq!(
        (task.end(), task.result.as_str()),
        (Some(End::Failed), "task_timeout_ms: it worked longer than 10000 ms")
    );
    assert!(home.state.is_idle());
}

#[test]
fn time_in_which_an_agent_waits_for_people_or_parts_does_not_count() {
    let mut home = limited(|_| {});
    home.pass(4_000);
    home.wants("executor-001", &[run("make")]);
    assert_eq!(home.pass(1_000_000), []);
    home.answer("approval-0001", no());
    assert_eq!(home.pass(5_999), []);
    assert_eq!(line(&home.pass(1)), "task-001:failed waiting failed");

    home.task("plan", "planner-001");
    home.wants("planner-001", &[create("a person shall look", "human", &[])]);
    home.says("planner-001", "I wait");
    assert_eq!(home.pass(1_000_000), []);
}

#[test]
fn each_request_in_a_conversation_about_no_task_has_its_own_time() {
    let mut home = limited(|_| {});
    for _ in 0..3 {
        home.write("planner-001", "how far are you?");
        home.pass(6_000);
        home.says("planner-001", "half of it");
    }
    let (asked, _) = home.session_of("planner-001");
    home.write("planner-001", "look for it");
    home.pass(6_000);
    home.wants("planner-001", &[read("memory/a.md")]);
    home.give(written(Some(&asked), "planner-001", "and say what you find"));
    let events = home.pass(4_000);
    assert!(line(&events).contains("waiting failed"), "one request goes on: {}", line(&events));
    assert!(home.state.sessions[&asked].failed);
}

#[test]
fn a_common_mailbox_has_time_for_each_request() {
    let mut home = limited(|_| {});
    for disk in 1..=4 {
        let mut ask = tell("planner-001", &format!("how full is disk {disk}?"));
        if let Act::SendMessage(SendMessage { wait_ms, .. }) = &mut ask {
            *wait_ms = Some(60_000);
        }
        home.wants("executor-001", &[ask]);
        home.pass(4_000);
        home.says("planner-001", "92 %");
        assert!(home.results("executor-001")[disk - 1].contains("92 %"));
    }
}

#[test]
fn time_in_which_nothing_ran_does_not_count() {
    let mut home = limited(|_| {});
    home.at = home.at.plus_ms(1_000_000);
    assert_eq!(line(&home.give(Input::Started)), "started turn_retried");
    assert_eq!(home.pass(9_999), []);
    assert_eq!(line(&home.pass(1)), "task-001:failed waiting failed");
}

#[test]
fn a_clock_that_goes_back_hurts_nobody() {
    let mut home = limited(|_| {});
    home.at = domain::id::Time(5);
    home.wants("executor-001", &[run("make")]);
    assert_eq!(home.session_of("executor-001").1.clock.worked_ms, 0);
}

#[test]
fn a_call_that_does_not_fit_its_schema_is_refused_with_what_to_do_better() {
    let mut home = limited(|_| {});
    let (session, ticket) = home.thinking("executor-001");
    let want = Want::Invalid { tool: "fly".to_owned(), error: "there is no tool fly".to_owned() };
    let calls = vec![Call { id: CallId::new("x"), arguments: "{}".to_owned(), want, seen: None }];
    let input = Input::Model(ModelInput::Replied {
        session,
        ticket,
        text: String::new(),
        calls,
        model: String::new(),
        usage: Usage::of(1, 1),
        read: Vec::new(),
    });
    assert_eq!(line(&home.give(input)), "replied call_finished:refused turn_begun");
    assert_eq!(home.results("executor-001"), ["there is no tool fly"]);
}

#[test]
fn a_denied_call_names_its_rule_and_never_runs() {
    let mut home = limited(|_| {});
    let denied =
        Act::WriteFile(WriteFile { path: "policy/commands.yaml".to_owned(), content: String::new() });
    for act in [denied, run("rm -rf /")] {
        let events = home.wants("executor-001", &[act]);
        assert_eq!(line(&events), "replied call_finished:refused turn_begun");
    }
    for result in home.results("executor-001") {
        assert!(result.starts_with("denied by the rule: "), "{result}");
    }
}
