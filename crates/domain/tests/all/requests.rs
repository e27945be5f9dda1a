//! Requests and responses between agents, what is urgent, and that two agents come to an end.

use domain::Actor;
use domain::event::{CallEvent, SessionEvent};
use domain::event::{Event, Tail};
use domain::id::{AgentId, MessageId, Time};
use domain::input::FileInput;
use domain::input::{Failure, Input};
use domain::lifecycle::Lifecycle;
use domain::message::{self, Envelope, Kind, Urgency};
use domain::session::{Message, Speaker};
use domain::task::Mark;
use domain::tool::{Act, SendMessage};
use proptest::prelude::*;

use crate::home::{Home, create, line, read, tell};

const TEAM: [&str; 3] = ["planner-001", "executor-001", "retriever-001"];

/// A `send_message` with more to it.
fn send(to: &str, content: &str, say: impl FnOnce(&mut Sending)) -> Act {
    let mut sending = Sending::default();
    say(&mut sending);
    let Sending { kind, priority, reply_to, wait_ms } = sending;
    Act::SendMessage(SendMessage {
        to: AgentId::new(to),
        content: content.to_owned(),
        kind,
        priority,
        reply_to,
        wait_ms,
        approved: None,
        issues: Vec::new(),
    })
}

#[derive(Default)]
struct Sending {
    kind: Option<Kind>,
    priority: Urgency,
    reply_to: Option<String>,
    wait_ms: Option<u64>,
}

fn waiting(to: &str, content: &str) -> Act {
    send(to, content, |s| s.wait_ms = Some(1_000))
}

fn response(to: &str, reply_to: &str, content: &str) -> Act {
    send(to, content, |s| s.reply_to = Some(reply_to.to_owned()))
}

/// The planner, at a task, waits for an answer of the executor.
fn waits() -> Home {
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[waiting("executor-001", "how full is the disk?")]);
    home
}

/// The name of the first request of an agent that has no answer.
fn open(home: &Home, agent: &str) -> String {
    let (_, session) = home.session_of(agent);
    session.ties.asked.keys().next().expect("there is one").clone()
}

#[test]
fn who_waits_for_an_answer_leaves_its_slot_and_gets_it_as_the_result() {
    let mut home = waits();
    assert_eq!(home.session_of("planner-001").1.lifecycle, Lifecycle::Blocked);
    assert_eq!(home.state.team.agents[&AgentId::new("planner-001")].busy, 0);
    let task = home.state.work.tasks.values().next().unwrap();
    assert_eq!(home.state.mark_of(task), Mark::Running, "no person is asked");
    let name = open(&home, "planner-001");
    home.wants("executor-001", &[response("planner-001", &name, "92 %")]);
    assert_eq!(home.results("planner-001"), ["92 %"]);
    assert_eq!(home.calls_to_model("planner-001").len(), 1, "it goes on");
    assert_eq!(line(&home.says("executor-001", "done")), "replied waiting", "the answer is given once");
    assert!(home.pass(10_000).is_empty(), "the time-out is forgotten");
}

#[test]
fn a_cut_conversation_waits_for_no_answer_and_what_is_due_later_still_happens() {
    let mut home = waits();
    let (session, _) = home.session_of("planner-001");
    home.give(Input::File(FileInput::SessionCut { session, next_message: 2, tail: Tail::Unanswered }));
    home.says("executor-001", "I do not know");
    home.model_fails("planner-001", Failure::Retry { after_ms: 5_000 });
    home.pass(20_000);
    assert_eq!(home.calls_to_model("planner-001").len(), 1, "the time to wait for the model is over");
}

#[test]
fn the_last_words_answer_who_waits() {
    let mut home = waits();
    home.says("executor-001", "92 %");
    assert_eq!(home.results("planner-001"), ["92 %"]);
    assert_eq!(home.heard("planner-001").len(), 1, "and come once");
}

#[test]
fn a_time_out_is_told_as_such_and_a_late_answer_says_what_it_answers() {
    let mut home = waits();
    let name = open(&home, "planner-001");
    home.pass(999);
    assert!(home.results("planner-001").is_empty());
    home.pass(1);
    let told = format!(
        "time-out: executor-001 did not answer {name} in time; an answer that still comes arrives as a message"
    );
    assert_eq!(home.results("planner-001"), [told]);
    let events = home.wants("executor-001", &[response("planner-001", &name, "92 %")]);
    let late = events.iter().find_map(|event| match event {
        Event::Session(SessionEvent::MessageAdded { message, .. }) => message.envelope.clone(),
        _ => None,
    });
    let late = late.expect("it is a message");
    assert_eq!((late.kind, late.in_reply_to.as_ref()), (Kind::Response, Some(&name)));
    assert_eq!(
        late.heading(Some(&Actor::from("agent:executor-001"))).unwrap(),
        format!("[response of executor-001 to {name}]"),
        "the model is told"
    );
}

#[test]
fn a_response_comes_from_who_was_asked_and_once() {
    let mut home = waits();
    let name = open(&home, "planner-001");
    home.task("look", "retriever-001");
    let wrong = [
        response("planner-001", &name, "7 %"),
        response("executor-001", &name, "7 %"),
        response("planner-001", "nothing/m-0001.1", "7 %"),
    ];
    home.wants_each("retriever-001", &wrong);
    assert_eq!(
        home.results("retriever-001"),
        [
            format!("a response comes from who was asked: {name} was asked of executor-001"),
            format!("{name} is a request of planner-001, not of executor-001"),
            "there is no request nothing/m-0001.1; its id stands above its words".to_owned(),
        ]
    );
    let twice = [response("planner-001", &name, "92 %"), response("planner-001", &name, "93 %")];
    home.wants("executor-001", &twice);
    assert_eq!(home.results("planner-001"), ["92 %"]);
    assert_eq!(
        home.results("executor-001"),
        ["sent to planner-001".to_owned(), format!("{name} has its answer already, or was never asked")]
    );
}

#[test]
fn who_waits_is_told_when_the_other_fails_is_cancelled_or_reaches_a_limit() {
    let mut home = waits();
    home.model_fails("executor-001", Failure::GiveUp);
    assert_eq!(
        home.results("planner-001"),
        ["executor-001 cannot answer: the model cannot answer: overloaded"]
    );
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    let looks = home.task_with("look", "executor-001", |spec| {
        spec.parent = Some(domain::id::TaskId::new("task-001"));
    });
    home.wants("planner-001", &[waiting("executor-001", "how full is the disk?")]);
    home.mark(&looks, Mark::Cancelled);
    assert_eq!(home.results("planner-001"), ["executor-001 cannot answer: task-002 is cancelled"]);
    let mut home = Home::with(&TEAM, |settings| settings.limits.turns_max = 2, |_| {});
    home.task("plan", "planner-001");
    home.wants("planner-001", &[waiting("executor-001", "how full is the disk?")]);
    for file in ["a", "b"] {
        home.wants("executor-001", &[read(file)]);
        home.tool_ends("executor-001", true, "nothing");
    }
    assert_eq!(
        home.results("planner-001"),
        ["executor-001 cannot answer: limits.turns_max: the agent took 2 turns without coming to an end"]
    );
}

#[test]
fn agents_that_would_wait_for_each_other_are_told_at_once() {
    let mut home = waits();
    home.wants("executor-001", &[waiting("retriever-001", "how full?")]);
    home.wants("retriever-001", &[waiting("planner-001", "how full?")]);
    assert_eq!(
        home.results("retriever-001"),
        [
            "waiting would never end: retriever-001 waits for planner-001 waits for retriever-001; answer first, or ask with send_message, which does not wait"
        ]
    );
}

#[test]
fn what_is_stopped_leaves_no_wait_behind() {
    let mut home = waits();
    home.mark(&domain::id::TaskId::new("task-001"), Mark::Cancelled);
    assert_eq!(home.state.next_deadline(), None);
    assert!(home.state.is_idle());
}

#[test]
fn a_broadcast_reaches_all_others_once_and_each_answers() {
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[tell("broadcast", "who knows the disk?")]);
    assert_eq!(home.results("planner-001"), ["sent to 2 agents; answers come as messages"]);
    assert_eq!(home.heard("executor-001"), ["agent:planner-001: who knows the disk?"]);
    assert_eq!(home.heard("retriever-001"), ["agent:planner-001: who knows the disk?"]);
    home.says("executor-001", "I do");
    home.says("retriever-001", "not me");
    assert_eq!(home.heard("planner-001")[1..], ["agent:executor-001: I do", "agent:retriever-001: not me"]);
    assert!(home.session_of("planner-001").1.ties.asked.is_empty());
}

#[test]
fn a_channel_reaches_who_listens_and_not_who_sends() {
    let mut home = Home::with(
        &TEAM,
        |_| {},
        |spec| {
            if spec.role != "executor" {
                spec.channels = vec!["ops".to_owned()];
            }
        },
    );
    home.task("plan", "planner-001");
    let waits = send("#ops", "who?", |s| s.wait_ms = Some(1_000));
    home.wants_each("planner-001", &[tell("#ops", "who knows the disk?"), tell("#obs", "hello"), waits]);
    assert_eq!(
        home.results("planner-001"),
        [
            "sent to 1 agents; answers come as messages",
            "nobody else listens to #obs; there are: #ops",
            "only one agent can be waited for; send_message reaches several",
        ]
    );
    assert_eq!(home.heard("retriever-001"), ["agent:planner-001: who knows the disk?"]);
    assert!(home.heard("executor-001").is_empty());
    home.says("retriever-001", "I do");
    assert_eq!(home.heard("planner-001")[1..], ["agent:retriever-001: I do"]);
    assert!(home.session_of("planner-001").1.ties.asked.is_empty());
}

/// The envelope of the newest message or result that a conversation of an agent was given by these events.
fn envelope(home: &Home, events: &[Event], agent: &str) -> Envelope {
    let (id, _) = home.session_of(agent);
    let given = events.iter().rev().find_map(|event| match event {
        Event::Session(SessionEvent::MessageAdded { session, message, .. })
        | Event::Call(CallEvent::Finished { session, message, .. })
            if *session == id =>
        {
            message.envelope.as_deref().cloned()
        }
        _ => None,
    });
    given.expect("something is said to it")
}

#[test]
fn an_answer_is_of_the_kind_that_was_asked_for() {
    use Kind::{DependencyRequest, DependencyResolution, HelpRequest, HelpResponse, Request, Response};
    for (asked, answered, channel) in [
        (Request, Response, "direct"),
        (DependencyRequest, DependencyResolution, "dependency"),
        (HelpRequest, HelpResponse, "help"),
    ] {
        // By a response of whatever kind, and by the last words; for who waits and for who does not.
        for (wait_ms, said) in [(None, Some(None)), (Some(1_000), Some(Some(Response))), (None, None)] {
            let mut home = Home::new(&TEAM);
            home.task("plan", "planner-001");
            let act = send("executor-001", "the schema, please", |s| {
                (s.kind, s.wait_ms) = (Some(asked), wait_ms);
            });
            let events = home.wants("planner-001", &[act]);
            let request = envelope(&home, &events, "executor-001");
            assert_eq!((request.kind, request.kind.channel().as_str()), (asked, channel));
            let name = open(&home, "planner-001");
            let events = match said {
                Some(kind) => {
                    let act = send("planner-001", "here", |s| {
                        (s.kind, s.reply_to) = (kind, Some(name.clone()));
                    });
                    home.wants("executor-001", &[act])
                }
                None => home.says("executor-001", "here"),
            };
            let answer = envelope(&home, &events, "planner-001");
            assert_eq!((answer.kind, answer.in_reply_to), (answered, Some(name)), "{asked:?}");
            assert!(home.session_of("planner-001").1.ties.asked.is_empty());
        }
    }
}

#[test]
fn what_is_asked_on_a_channel_of_synods_own_is_of_its_kind() {
    let mut home = Home::with(&TEAM, |_| {}, |spec| spec.channels = vec!["help".to_owned()]);
    home.task("plan", "planner-001");
    let events = home.wants("planner-001", &[tell("#help", "who knows the disk?")]);
    let asked = envelope(&home, &events, "executor-001");
    assert_eq!((asked.kind, asked.channel.as_deref()), (Kind::HelpRequest, Some("help")));
    let name = open(&home, "planner-001");
    let told = format!("[help request {name} of planner-001, to #help]");
    assert_eq!(asked.heading(Some(&Actor::from("agent:planner-001"))).unwrap(), told);
    let note = send("#help", "never mind", |s| s.kind = Some(Kind::Notification));
    let events = home.wants("planner-001", &[note]);
    assert_eq!(envelope(&home, &events, "executor-001").kind, Kind::Notification, "it wants no answer");
    for (name, may) in
        [("help", true), ("dependency", true), ("ops", true), ("state", false), ("task", false)]
    {
        assert_eq!(message::check_channel(name).is_ok(), may, "{name}");
    }
}

#[test]
fn a_notification_wants_no_answer() {
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    let note = send("executor-001", "the disk is full", |s| s.kind = Some(Kind::Notification));
    home.wants("planner-001", &[note]);
    assert_eq!(home.results("planner-001"), ["sent to executor-001"]);
    assert_eq!(line(&home.says("executor-001", "I see")), "replied waiting");
}

#[test]
fn a_name_that_is_nearly_right_is_suggested() {
    let mut home = Home::new(&TEAM);
    home.task("plan", "planner-001");
    home.wants("planner-001", &[tell("executer-001", "hello")]);
    assert_eq!(
        home.results("planner-001"),
        [
            "there is no agent executer-001; did you mean executor-001? There are: executor-001, planner-001, retriever-001"
        ]
    );
}

#[test]
fn a_conversation_with_something_urgent_gets_the_next_slot() {
    let mut home = Home::with(&TEAM, |settings| settings.limits.parallel_max = 1, |_| {});
    home.task("plan", "planner-001");
    home.wants(
        "planner-001",
        &[
            send("executor-001", "some time", |s| s.priority = Urgency::Low),
            send("retriever-001", "now", |s| s.priority = Urgency::Critical),
        ],
    );
    home.says("planner-001", "I asked both");
    assert_eq!(home.calls_to_model("retriever-001").len(), 1);
    assert_eq!(home.calls_to_model("executor-001").len(), 0);
}

#[test]
fn two_agents_that_only_talk_to_each_other_come_to_an_end() {
    let mut home = Home::with(&TEAM, |settings| settings.limits.request_turns_max = 20, |_| {});
    home.write("planner-001", "talk to the executor");
    let mut turns = 0;
    while !home.state.is_idle() {
        let speaker = if home.calls_to_model("planner-001").is_empty() { TEAM[1] } else { TEAM[0] };
        let other = if speaker == TEAM[0] { TEAM[1] } else { TEAM[0] };
        turns += 1;
        assert!(turns < 100, "they never stop");
        // Each asks the other something new, and then says its last words, which are an answer.
        match turns % 2 {
            1 => home.wants(speaker, &[tell(other, &format!("and then? {turns}"))]),
            _ => home.says(speaker, "well"),
        };
    }
    assert!(turns > 10, "they talk for a while: {turns}");
    let refused = "limits.request_turns_max: agents took 20 turns for this request already; say what came of it, or what is in the way";
    let results = [home.results(TEAM[0]), home.results(TEAM[1])].concat();
    assert!(results.iter().any(|result| result == refused), "{results:?}");
    home.write("planner-001", "go on");
    home.wants("planner-001", &[tell("executor-001", "and then?")]);
    assert_eq!(
        home.results("planner-001").last().unwrap(),
        "sent to executor-001; an answer comes as a message"
    );
}

#[test]
fn an_agent_that_makes_tasks_whenever_the_last_one_is_done_comes_to_an_end() {
    let mut home = Home::with(&TEAM, |settings| settings.limits.request_turns_max = 20, |_| {});
    home.task("plan", "planner-001");
    let mut turns = 0;
    while home.state.work.tasks.values().any(|task| !task.is_ended()) {
        turns += 1;
        assert!(turns < 200, "it never stops");
        match turns % 3 {
            1 => home.wants("planner-001", &[create(&format!("step {turns}"), "executor-001", &[])]),
            2 => home.says("planner-001", "I wait for it"),
            _ => home.says("executor-001", "done"),
        };
    }
    let results = home.results("planner-001");
    let refused = "limits.request_turns_max: agents took 20 turns for this request already; say what came of it, or what is in the way";
    assert_eq!(results.last().unwrap(), refused);
    assert!(results.len() > 5, "it makes some: {results:?}");
}

fn letter(number: usize, priority: Urgency) -> Message {
    Message {
        id: MessageId::new(format!("m-{number:04}")),
        at: Time(1),
        speaker: Speaker::User,
        from: Some(Actor::from("agent:planner-001")),
        content: String::new(),
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: None,
        is_error: false,
        envelope: Some(Box::new(Envelope { priority, ..Envelope::default() })),
        label: Default::default(),
    }
}

#[test]
fn the_most_urgent_is_read_first_also_if_results_came_in_between() {
    let result = Message { speaker: Speaker::ToolResult, ..letter(2, Urgency::Normal) };
    let mut all = [letter(1, Urgency::Low), result, letter(3, Urgency::Critical), letter(4, Urgency::Low)];
    message::order(&mut all);
    assert_eq!(all.map(|m| m.id.to_string()), ["m-0003", "m-0002", "m-0001", "m-0004"]);
}

proptest! {
    /// What waits is read by urgency, then as it came; what was answered stays before it; nothing is lost or doubled.
    #[test]
    fn the_most_urgent_is_read_first_and_equals_as_they_came(
        priorities in prop::collection::vec((0..4_usize, prop::bool::weighted(0.2)), 0..40)
    ) {
        let messages = priorities.iter().enumerate().map(|(number, (priority, answers))| {
            let letter = letter(number, Urgency::ALL[*priority]);
            if *answers { Message { speaker: Speaker::Assistant, ..letter } } else { letter }
        });
        let all: Vec<Message> = messages.collect();
        let mut ordered = all.clone();
        message::order(&mut ordered);
        let runs = |messages: &[Message]| -> Vec<Vec<Message>> {
            messages.split(|m| m.speaker == Speaker::Assistant).map(<[Message]>::to_vec).collect()
        };
        for (mut came, read) in runs(&all).into_iter().zip(runs(&ordered)) {
            for pair in read.windows(2) {
                let (a, b) = (message::urgency(&pair[0]), message::urgency(&pair[1]));
                prop_assert!(a > b || (a == b && pair[0].id < pair[1].id));
            }
            came.sort_by(|a, b| a.id.cmp(&b.id));
            let mut back = read.clone();
            back.sort_by(|a, b| a.id.cmp(&b.id));
            prop_assert_eq!(came, back);
        }
    }
}
