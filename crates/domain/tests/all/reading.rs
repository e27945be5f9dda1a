//! What a model reads when: each message in one turn, the first that begins or is asked again after it came; what comes while
//! it answers is read behind that answer.

use std::cmp::Reverse;

use domain::event::Event;
use domain::event::{CallEvent, SessionEvent, TurnEvent};
use domain::id::{AgentId, MessageId, SessionId, Time};
use domain::input::{Failure, Input};
use domain::input::{ModelInput, PersonInput};
use domain::lifecycle::Lifecycle;
use domain::message::{self, Envelope, Urgency};
use domain::session::{Message, Speaker};
use domain::state::Stage;
use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use proptest::sample::select;

use crate::home::{Home, line, read};

const AGENT: &str = "executor-001";

fn write(home: &mut Home, text: &str, urgency: Urgency) -> Vec<Event> {
    home.give(Input::Person(PersonInput::Say {
        session: None,
        agent: AgentId::new(AGENT),
        text: text.to_owned(),
        urgency,
        by: "dana".to_owned(),
        in_file: false,
    }))
}

/// What the file of a session says.
fn told(home: &Home, id: &SessionId) -> Vec<Message> {
    let of = |event: &Event| match event {
        Event::Session(SessionEvent::MessageAdded { session, message, .. })
        | Event::Turn(TurnEvent::Replied { session, message, .. })
        | Event::Turn(TurnEvent::Summarised { session, message, .. })
        | Event::Call(CallEvent::Finished { session, message, .. })
            if session == id =>
        {
            Some(message.clone())
        }
        _ => None,
    };
    home.events.iter().filter_map(of).collect()
}

/// What a model is asked with, if the file is read now.
fn shown(home: &Home, id: &SessionId) -> Vec<Message> {
    let mut all = told(home, id);
    message::leave_unread(&mut all, home.state.sessions[id].first_unread());
    message::put_behind(&mut all);
    message::order(&mut all);
    all
}

/// What stands there without an answer.
fn open(messages: &[Message]) -> Vec<String> {
    let is_said = |m: &&Message| m.speaker == Speaker::User;
    let behind = messages.rsplit(|m| m.speaker == Speaker::Assistant).next().unwrap();
    behind.iter().filter(is_said).map(|m| m.content.clone()).collect()
}

fn contents(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|m| m.content.as_str()).collect()
}

#[test]
fn what_comes_during_an_answer_is_read_behind_it() {
    let mut home = Home::new(&[AGENT]);
    write(&mut home, "deploy to staging", Urgency::Normal);
    let (id, _) = home.session_of(AGENT);
    write(&mut home, "and then?", Urgency::Low);
    write(&mut home, "STOP, do not deploy", Urgency::Critical);
    assert_eq!(open(&shown(&home, &id)), ["deploy to staging"], "also if the file is read late");
    let events = home.says(AGENT, "I deploy");
    let Some(Event::Turn(TurnEvent::Replied { message, .. })) = events.first() else {
        panic!("{}", line(&events))
    };
    assert_eq!(message.read_through, Some(MessageId::new("m-0001")));
    assert!(
        events.iter().any(|event| matches!(event, Event::Turn(TurnEvent::Begun { turn: 2, .. }))),
        "{}",
        line(&events)
    );
    let all = ["deploy to staging", "I deploy", "STOP, do not deploy", "and then?"];
    assert_eq!(contents(&shown(&home, &id)), all);
    let events = home.says(AGENT, "I stop");
    let Some(Event::Turn(TurnEvent::Replied { message, .. })) = events.first() else {
        panic!("{}", line(&events))
    };
    assert_eq!(message.read_through, None, "nothing came meanwhile");
    assert_eq!(home.state.sessions[&id].lifecycle, Lifecycle::Waiting);
    assert_eq!(contents(&shown(&home, &id)), [&all[..], &["I stop"]].concat(), "and stays there");
}

#[test]
fn what_comes_before_a_model_is_asked_again_is_read_then() {
    let mut home = Home::new(&[AGENT]);
    write(&mut home, "one", Urgency::Normal);
    let (id, _) = home.session_of(AGENT);
    write(&mut home, "two", Urgency::Normal);
    home.model_fails(AGENT, Failure::Retry { after_ms: 1_000 });
    write(&mut home, "three", Urgency::Critical);
    home.pass(5_000);
    assert_eq!(open(&shown(&home, &id)), ["three", "one", "two"]);
    write(&mut home, "four", Urgency::Normal);
    home.says(AGENT, "to three");
    assert_eq!(open(&shown(&home, &id)), ["four"]);
    home.says(AGENT, "to four");
    let session = &home.state.sessions[&id];
    assert_eq!(
        (session.pace.turns_total, session.lifecycle),
        (2, Lifecycle::Waiting),
        "nothing is read twice"
    );
}

#[test]
fn what_comes_while_a_summary_is_made_is_read_with_it() {
    let mut home = Home::new(&[AGENT]);
    write(&mut home, "one", Urgency::Normal);
    home.says(AGENT, "to one");
    write(&mut home, "two", Urgency::Normal);
    let (session, ticket) = home.thinking(AGENT);
    write(&mut home, "three", Urgency::Normal);
    home.give(Input::Model(ModelInput::Summarised {
        session: session.clone(),
        ticket,
        through: MessageId::new("m-0002"),
        text: "It was about one.".to_owned(),
        model: "small".to_owned(),
        usage: domain::usage::Usage::of(9, 3),
    }));
    assert_eq!(open(&shown(&home, &session)), ["two", "three"]);
    home.says(AGENT, "to both");
    assert_eq!(home.state.sessions[&session].lifecycle, Lifecycle::Waiting);
}

#[test]
fn a_request_that_came_before_a_model_was_asked_again_is_answered_by_that_answer() {
    let mut home = Home::new(&["planner-001", AGENT]);
    write(&mut home, "one", Urgency::Normal);
    home.write("planner-001", "ask it");
    home.wants("planner-001", &[crate::home::tell(AGENT, "how is it?")]);
    home.says("planner-001", "I asked");
    home.model_fails(AGENT, Failure::Retry { after_ms: 1_000 });
    home.pass(5_000);
    write(&mut home, "two", Urgency::Normal);
    home.says(AGENT, "fine");
    let heard = home.heard("planner-001");
    assert_eq!(heard.last().map(String::as_str), Some("agent:executor-001: fine"), "{heard:?}");
}

fn said(number: u32, speaker: Speaker, read_through: Option<u32>) -> Message {
    let name = |number: u32| MessageId::new(format!("m-{number:04}"));
    Message {
        id: if number == 0 { MessageId::new("note") } else { name(number) },
        at: Time(1),
        speaker,
        from: None,
        content: String::new(),
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: read_through.map(name),
        is_error: false,
        envelope: Some(Box::new(Envelope::default())),
        label: Default::default(),
    }
}

#[test]
fn what_people_cut_and_number_stays_where_it_is() {
    use Speaker::{Assistant, System, ToolResult, User};
    let ids = |all: &[Message]| all.iter().map(|m| m.id.to_string()).collect::<Vec<_>>();
    // The message that the answer had read last is gone; others have numbers that are not Synod's, or none.
    let file = [
        said(1, User, None),
        said(0, User, None),
        said(3, User, None),
        said(99, User, None),
        said(4, Assistant, Some(2)),
        said(5, ToolResult, None),
        said(6, User, None),
        said(7, ToolResult, None),
        said(8, Assistant, Some(6)),
        said(9, System, None),
        said(10, User, None),
    ];
    let mut all = file.to_vec();
    message::put_behind(&mut all);
    let expected = ["m-0001", "note", "m-0099", "m-0004", "m-0005", "m-0003", "m-0006", "m-0007", "m-0008"];
    assert_eq!(ids(&all), [&expected[..], &["m-0009", "m-0010"]].concat());
    let mut all = file.to_vec();
    message::leave_unread(&mut all, 10);
    assert_eq!(ids(&all), ids(&file[..10]), "what is older is never left out");
    let mut all = vec![said(0, User, None), said(3, User, None)];
    message::leave_unread(&mut all, 1);
    assert_eq!(ids(&all), ["note"]);
}

/// Something that happens.
#[derive(Debug, Clone)]
enum Deed {
    Write(Urgency),
    Says,
    Wants(usize),
    ToolEnds,
    ModelFails,
    Time,
    Crash,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        8 => select(Urgency::ALL.to_vec()).prop_map(Deed::Write),
        5 => Just(Deed::Says),
        2 => (1..3_usize).prop_map(Deed::Wants),
        3 => Just(Deed::ToolEnds),
        1 => Just(Deed::ModelFails),
        2 => Just(Deed::Time),
        1 => Just(Deed::Crash),
    ]
}

/// What was said and which turn has it, by these tests' own book.
#[derive(Default)]
struct Book {
    next: usize,
    seen: usize,
    /// What came since the model was asked.
    came: Vec<(Urgency, usize)>,
    /// What it was asked with and has not answered.
    asked: Vec<(Urgency, usize)>,
    answered: Vec<usize>,
}

impl Book {
    fn follow(&mut self, home: &Home) {
        for event in &home.events[self.seen..] {
            match event {
                Event::Session(SessionEvent::MessageAdded { message, .. }) if message.is_of_person() => {
                    self.came.push((message::urgency(message), message.content.parse().unwrap()));
                }
                Event::Turn(TurnEvent::Begun { .. }) | Event::Turn(TurnEvent::Retried { .. }) => {
                    self.asked.append(&mut self.came)
                }
                Event::Turn(TurnEvent::Replied { .. }) => {
                    self.answered.extend(self.asked.drain(..).map(|(_, word)| word))
                }
                // What it has not read is not read any more.
                Event::Session(SessionEvent::Moved { to: Lifecycle::Complete, .. }) => {
                    let left = self.asked.drain(..).chain(self.came.drain(..));
                    self.answered.extend(left.map(|(_, word)| word));
                }
                _ => {}
            }
        }
        self.seen = home.events.len();
    }

    /// The model is about to answer: it was asked with what the book says, whenever the file was read.
    fn check(&self, home: &Home, id: &SessionId) {
        let mut asked = self.asked.clone();
        asked.sort_by_key(|(urgency, word)| (Reverse(*urgency), *word));
        let asked: Vec<String> = asked.iter().map(|(_, word)| word.to_string()).collect();
        assert_eq!(open(&shown(home, id)), asked);
    }
}

proptest! {
    /// Each message stands without an answer before one answer only, that of the first try that began after it came.
    #[test]
    fn each_message_is_read_in_one_turn_and_answered_once(deeds in proptest::collection::vec(deed(), 1..40)) {
        let mut home = Home::new(&[AGENT]);
        let mut book = Book::default();
        for deed in deeds {
            let thinks = home.calls_to_model(AGENT).into_iter().next();
            match (deed, thinks) {
                (Deed::Write(urgency), _) => {
                    book.next += 1;
                    write(&mut home, &book.next.to_string(), urgency);
                }
                (Deed::Says, Some((id, _))) => {
                    book.check(&home, &id);
                    home.says(AGENT, "said");
                }
                (Deed::Wants(calls), Some((id, _))) => {
                    book.check(&home, &id);
                    let path = format!("file-{}", home.events.len());
                    home.wants(AGENT, &[read(&path), read("other")][..calls]);
                }
                (Deed::ModelFails, Some(_)) => _ = home.model_fails(AGENT, Failure::Retry { after_ms: 1 }),
                (Deed::ToolEnds, _) if !home.calls_to_tools(AGENT).is_empty() => {
                    home.tool_ends(AGENT, true, "found");
                }
                (Deed::Time, _) => _ = home.pass(5_000),
                (Deed::Crash, _) => _ = home.give(Input::Started),
                (_, _) => {}
            }
            book.follow(&home);
        }
        // Whatever waits is read in the end.
        for _ in 0..100 {
            home.pass(5_000);
            if let Some((id, _)) = home.calls_to_model(AGENT).into_iter().next() {
                book.follow(&home);
                book.check(&home, &id);
                home.says(AGENT, "done");
            } else if !home.calls_to_tools(AGENT).is_empty() {
                home.tool_ends(AGENT, true, "found");
            }
        }
        book.follow(&home);
        book.answered.sort_unstable();
        assert_eq!(book.answered, (1..=book.next).collect::<Vec<_>>());
        for session in home.state.sessions.values() {
            assert!(matches!(session.stage, Stage::Resting | Stage::Over) && session.talk.unread_from == 0);
        }
    }
}
