//! Words between people and agents, and between agents.

use domain::event::Tail;
use domain::id::{AgentId, SessionId, TaskId};
use domain::input::{Failure, Input};
use domain::input::{FileInput, PersonInput};
use domain::lifecycle::Lifecycle;
use domain::message::Kind;
use domain::state::Requester;
use domain::task::Mark;
use domain::tool::{Act, SendMessage};

use crate::home::{Home, create, line, read, tell, written};

const PAIR: [&str; 2] = ["planner-001", "executor-001"];

/// Says something that wants no answer.
fn notify(to: &str, words: &str) -> Act {
    let mut act = tell(to, words);
    if let Act::SendMessage(SendMessage { kind, .. }) = &mut act {
        *kind = Some(Kind::Notification);
    }
    act
}

/// The planner, at a task, has asked the executor something.
fn asked() -> Home {
    let mut home = Home::new(&PAIR);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[tell("executor-001", "how full is the disk?")]);
    home
}

#[test]
fn the_last_words_of_an_agent_reach_who_asked() {
    let mut home = asked();
    assert_eq!(home.results("planner-001"), ["sent to executor-001; an answer comes as a message"]);
    assert_eq!(home.heard("executor-001"), ["agent:planner-001: how full is the disk?"]);
    home.wants("executor-001", &[read("memory/disk.md")]);
    home.tool_ends("executor-001", true, "92 %");
    assert_eq!(line(&home.says("executor-001", "92 %")), "replied message_added waiting");
    assert_eq!(home.heard("planner-001")[1..], ["agent:executor-001: 92 %"]);
}

#[test]
fn a_reply_to_a_reply_is_not_sent_by_itself() {
    let mut home = Home::new(&PAIR);
    home.write("planner-001", "ask the executor");
    home.wants("planner-001", &[tell("executor-001", "how full is the disk?")]);
    home.says("planner-001", "I asked");
    home.says("executor-001", "92 %");
    assert_eq!(line(&home.says("planner-001", "thank you")), "replied waiting");
    assert_eq!(home.heard("executor-001").len(), 1);
    assert!(home.state.is_idle());
}

#[test]
fn a_sleeping_agent_is_woken_and_never_doubled() {
    let mut home = asked();
    home.says("executor-001", "92 %");
    home.says("planner-001", "so it is 92 %");
    home.task("plan more", "planner-001");
    assert_eq!(home.session_of("executor-001").1.lifecycle, Lifecycle::Waiting);
    home.wants("planner-001", &[tell("executor-001", "and now?")]);
    home.write("executor-001", "hello");
    home.write("executor-001", "are you there?");
    assert_eq!(home.calls_to_model("executor-001").len(), 1);
    assert_eq!(home.session_of("executor-001").1.lifecycle, Lifecycle::Working);
}

#[test]
fn a_message_about_a_task_goes_to_the_conversation_about_that_task() {
    let mut home = Home::new(&PAIR);
    home.write("executor-001", "hello");
    home.task("plan", "planner-001");
    home.wants("planner-001", &[create("look", "executor-001", &[])]);
    home.wants("planner-001", &[tell("executor-001", "look twice")]);
    let spoken = home.events.iter().rev().find_map(|event| match event {
        domain::event::Event::Session(domain::event::SessionEvent::MessageAdded { session, .. }) => {
            Some(home.state.sessions[session].task.clone())
        }
        _ => None,
    });
    assert_eq!(spoken.flatten().map(|task| task.to_string()), Some("task-002".to_owned()));
}

#[test]
fn words_that_come_while_an_agent_thinks_are_answered_before_it_ends() {
    let mut home = Home::new(&PAIR);
    let task = home.task("look", "executor-001");
    home.write("executor-001", "in a conversation of its own");
    let (session, _) = home
        .calls_to_model("executor-001")
        .into_iter()
        .find(|(id, _)| home.state.sessions[id].task.is_some())
        .unwrap();
    home.give(written(Some(&session), "executor-001", "and look at /tmp too"));
    let ticket = home.calls_to_model("executor-001").into_iter().find(|(id, _)| *id == session).unwrap().1;
    let events = home.give(crate::home::reply(session.clone(), ticket, "fine", &[]));
    assert_eq!(line(&events), "replied turn_begun");
    assert_eq!(home.end(&task), None);
}

#[test]
fn words_between_tool_calls_reach_the_agent_with_its_next_turn() {
    let mut home = Home::new(&PAIR);
    home.task("look", "executor-001");
    home.wants("executor-001", &[read("a"), read("b")]);
    let (session, _) = home.session_of("executor-001");
    home.give(written(Some(&session), "executor-001", "stop after b"));
    home.tool_ends("executor-001", true, "a");
    assert_eq!(line(&home.tool_ends("executor-001", true, "b")), "call_finished:done turn_begun");
    assert!(!home.session_of("executor-001").1.talk.unread);
}

#[test]
fn a_message_to_nobody_is_an_error_to_the_sender_and_to_nobody_else() {
    let mut home = asked();
    home.wants_each(
        "planner-001",
        &[tell("ghost-001", "hello"), tell("planner-001", "hello me"), tell("executor-001", " ")],
    );
    assert_eq!(
        home.results("planner-001")[1..],
        [
            "there is no agent ghost-001; there are: executor-001, planner-001",
            "an agent does not send messages to itself",
            "the message is empty",
        ]
    );
    assert_eq!(
        home.refusal(written(None, "ghost-001", "hello")),
        "there is no agent ghost-001; there are: executor-001, planner-001"
    );
    assert_eq!(home.refusal(written(None, "executor-001", " \n")), "the message is empty");
    let nowhere = SessionId::new("executor-001-ffffff");
    assert_eq!(
        home.refusal(written(Some(&nowhere), "executor-001", "hello")),
        "there is no session executor-001-ffffff"
    );
}

#[test]
fn who_asked_for_a_task_also_gets_an_answer_while_the_task_goes_on() {
    let mut home = Home::new(&["planner-001", "coordinator-001", "executor-001"]);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[create("coordinate", "coordinator-001", &[])]);
    home.wants("coordinator-001", &[create("look", "executor-001", &[])]);
    home.says("coordinator-001", "I wait for my part");
    home.wants("planner-001", &[tell("coordinator-001", "how is it going?")]);
    assert_eq!(line(&home.says("coordinator-001", "well")), "replied message_added waiting");
    assert_eq!(home.heard("planner-001")[1..], ["agent:coordinator-001: well"]);
}

#[test]
fn who_asked_for_a_task_is_not_told_its_end_twice() {
    for (fails, words) in
        [(false, "is done:\n  fine"), (true, "is failed:\n  the model cannot answer: overloaded")]
    {
        let mut home = Home::new(&PAIR);
        home.task("plan", "planner-001");
        home.wants("planner-001", &[create("look", "executor-001", &[])]);
        home.wants("planner-001", &[tell("executor-001", "be quick")]);
        home.says("planner-001", "I wait");
        if fails {
            home.model_fails("executor-001", Failure::GiveUp);
        } else {
            home.says("executor-001", "fine");
            home.says("executor-001", "fine");
        }
        let expected = format!("synod: task-002 has ended.\n- task-002 (@executor-001) \"look\" {words}");
        assert_eq!(home.heard("planner-001")[1..], [expected]);
    }
}

/// Two agents work on parts of one task, and one has asked the other something.
fn parts_that_talk() -> Home {
    let mut home = Home::new(&["planner-001", "executor-001", "retriever-001"]);
    home.task("plan", "planner-001");
    home.wants(
        "planner-001",
        &[create("look", "executor-001", &[]), create("explain", "retriever-001", &[])],
    );
    home.wants("retriever-001", &[tell("executor-001", "how full is the disk?")]);
    home
}

#[test]
fn who_asked_is_told_when_the_other_is_stopped() {
    let mut home = parts_that_talk();
    home.mark(&TaskId::new("task-002"), Mark::Cancelled);
    assert_eq!(
        home.heard("retriever-001")[1..],
        ["agent:executor-001: executor-001 cannot answer: task-002 is cancelled"]
    );
    let mut home = parts_that_talk();
    let mut spec = home.get(&TaskId::new("task-002")).spec.clone();
    spec.assignee = None;
    home.give(Input::File(FileInput::TaskRead {
        spec: Box::new(spec),
        mark: Mark::Running,
        result: String::new(),
    }));
    assert_eq!(
        home.heard("retriever-001")[1..],
        ["agent:executor-001: executor-001 cannot answer: the task was given to somebody else"]
    );
}

#[test]
fn what_a_stopped_conversation_has_not_read_is_given_back() {
    let mut home = Home::new(&["planner-001", "executor-001", "retriever-001"]);
    home.task("plan", "planner-001");
    home.wants(
        "planner-001",
        &[create("look", "executor-001", &[]), create("explain", "retriever-001", &[])],
    );
    home.wants("retriever-001", &[notify("executor-001", "it is 93 % now")]);
    let heard = home.heard("retriever-001").len();
    home.mark(&TaskId::new("task-002"), Mark::Cancelled);
    assert_eq!(
        home.heard("retriever-001")[heard..],
        ["synod: executor-001 has not read what you wrote: task-002 is cancelled"]
    );
}

/// The executor reads what the retriever told it, and its model has not answered.
fn being_read() -> Home {
    let mut home = Home::new(&["planner-001", "executor-001", "retriever-001"]);
    home.task("plan", "planner-001");
    home.wants(
        "planner-001",
        &[create("look", "executor-001", &[]), create("explain", "retriever-001", &[])],
    );
    home.wants("retriever-001", &[notify("executor-001", "it is 93 % now")]);
    home.wants("executor-001", &[create("more", "planner-001", &[])]);
    home
}

#[test]
fn what_a_model_was_asked_with_and_never_answered_is_given_back() {
    let back = |reason: &str| format!("synod: executor-001 has not read what you wrote: {reason}");
    let mut home = being_read();
    let heard = home.heard("retriever-001").len();
    home.model_fails("executor-001", Failure::GiveUp);
    let told = home.heard("retriever-001")[heard..].to_vec();
    assert_eq!(told, [back("the model cannot answer: overloaded")]);
    let mut home = being_read();
    let heard = home.heard("retriever-001").len();
    home.says("executor-001", "I see");
    home.mark(&TaskId::new("task-002"), Mark::Cancelled);
    assert_eq!(home.heard("retriever-001")[heard..], [""; 0], "it was answered");
}

#[test]
fn who_asked_gets_the_answer_also_after_a_person_cut_the_conversation() {
    let mut home = asked();
    let (session, _) = home.session_of("executor-001");
    home.give(Input::File(FileInput::SessionCut { session, next_message: 2, tail: Tail::Unanswered }));
    home.says("executor-001", "92 %");
    assert_eq!(home.heard("planner-001")[1..], ["agent:executor-001: 92 %"]);
    home.write("executor-001", "and now?");
    assert_eq!(line(&home.says("executor-001", "93 %")), "replied waiting", "an answer is given once");
}

#[test]
fn nobody_speaks_to_who_is_stopped_in_the_same_moment() {
    let mut home = parts_that_talk();
    home.model_fails("planner-001", Failure::GiveUp);
    assert_eq!((home.heard("retriever-001").len(), home.heard("executor-001").len()), (1, 2));
    assert!(home.state.is_idle());
}

#[test]
fn who_asked_is_told_when_no_answer_will_come() {
    let mut home = asked();
    home.model_fails("executor-001", Failure::GiveUp);
    assert_eq!(
        home.heard("planner-001")[1..],
        ["agent:executor-001: executor-001 cannot answer: the model cannot answer: overloaded"]
    );
}

#[test]
fn a_conversation_that_is_over_goes_on_when_a_person_writes_into_it() {
    let mut home = Home::new(&PAIR);
    let task = home.task("look", "executor-001");
    let (session, _) = home.session_of("executor-001");
    home.says("executor-001", "fine");
    let events = home.give(written(Some(&session), "executor-001", "are you sure?"));
    assert_eq!(line(&events), "session_reopened message_added working turn_begun");
    assert_eq!(line(&home.says("executor-001", "yes")), "replied waiting complete");
    assert_eq!(home.get(&task).result, "fine", "the task had ended before");
}

#[test]
fn whoever_asked_for_a_task_is_its_requester() {
    let mut home = Home::new(&PAIR);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[create("look", "executor-001", &[])]);
    let (session, _) = home.session_of("planner-001");
    let by: Vec<&Requester> = home.state.work.tasks.values().map(|task| &task.by).collect();
    assert_eq!(by, [&Requester::Person { name: "dana".to_owned() }, &Requester::Session { session }]);
}

#[test]
fn a_changed_message_is_an_event_and_only_in_a_session_that_exists() {
    let mut home = asked();
    let (session, _) = home.session_of("planner-001");
    let message = domain::id::MessageId::new("m-0001");
    assert_eq!(
        line(&home.give(Input::File(FileInput::MessageEdited { session, message: message.clone() }))),
        "message_edited"
    );
    let session = SessionId::new("x-000000");
    assert_eq!(
        home.refusal(Input::File(FileInput::MessageEdited { session, message })),
        "there is no session x-000000"
    );
}

#[test]
fn an_agent_without_a_file_gets_nothing_new_and_finishes_what_it_has() {
    let mut home = asked();
    home.give(Input::File(FileInput::AgentGone(AgentId::new("executor-001"))));
    assert_eq!(home.give(Input::File(FileInput::AgentGone(AgentId::new("executor-001")))), []);
    assert_eq!(
        home.refusal(written(None, "executor-001", "hello")),
        "executor-001 is no longer in the team; there are: planner-001"
    );
    let mut spec = home.state.work.tasks.values().next().unwrap().spec.clone();
    spec.assignee = Some(AgentId::new("executor-001"));
    let wanted = Input::Person(PersonInput::AddTask { spec: Box::new(spec), by: "dana".to_owned() });
    assert_eq!(home.refusal(wanted), "there is no agent executor-001");
    home.wants_each("planner-001", &[tell("executor-001", "hello"), create("look", "executor-001", &[])]);
    assert_eq!(
        home.results("planner-001")[1..],
        ["executor-001 is no longer in the team; there are: planner-001"; 2]
    );
    assert_eq!(line(&home.says("executor-001", "92 %")), "replied message_added waiting");
    assert_eq!(
        home.refusal(Input::File(FileInput::AgentGone(AgentId::new("ghost-001")))),
        "there is no agent ghost-001"
    );
}

#[test]
fn who_hears_of_a_task_that_ended_also_hears_that_another_question_stays_unanswered() {
    let made = |spec: &mut domain::agent::Spec| {
        if spec.id.as_str() == "executor-001" {
            spec.spawned_by = Some(domain::spawn::Origin::Agents(vec![AgentId::new("planner-001")]));
        }
    };
    let mut home = Home::with(&["planner-001", "executor-001"], |_| {}, made);
    home.task("plan", "planner-001");
    let acts = [tell("executor-001", "how full is the disk?"), create("look", "executor-001", &[])];
    home.wants("planner-001", &acts);
    home.give(Input::Person(PersonInput::Terminate {
        agent: AgentId::new("executor-001"),
        reason: "it is late".to_owned(),
        by: "dana".to_owned(),
    }));
    let heard = home.heard("planner-001");
    let count = |words: &str| heard.iter().filter(|text| text.contains(words)).count();
    assert_eq!((count("has ended"), count("executor-001 cannot answer")), (1, 1), "{heard:?}");
}

#[test]
fn what_was_said_before_a_cut_is_still_to_be_read() {
    let mut home = Home::new(&["planner-001", "executor-001", "retriever-001"]);
    home.task("plan", "planner-001");
    home.wants(
        "planner-001",
        &[create("look", "executor-001", &[]), create("explain", "retriever-001", &[])],
    );
    home.wants("retriever-001", &[notify("executor-001", "it is 93 % now")]);
    home.wants("executor-001", &[read("disk")]);
    home.tool_ends("executor-001", true, "93 %");
    let teller = std::collections::BTreeSet::from([AgentId::new("retriever-001")]);
    let (id, session) = home.session_of("executor-001");
    assert_eq!(
        (&session.talk.hearing, session.talk.unheard.len()),
        (&teller, 0),
        "the model is asked with it"
    );
    let next_message = session.talk.next_message;
    home.live = false;
    home.give(Input::File(FileInput::SessionCut {
        session: id.clone(),
        next_message,
        tail: Tail::Unanswered,
    }));
    let session = &home.state.sessions[&id];
    assert_eq!((session.talk.hearing.len(), &session.talk.unheard, session.talk.unread), (0, &teller, true));
}
