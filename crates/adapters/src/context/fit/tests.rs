//! Random conversations and tiny windows.

use domain::id::{CallId, MessageId, Time};
use domain::message::{Envelope, Urgency};
use domain::session::{Message, Speaker};
use domain::tool::{Act, Call, ListDirectory, Want};
use proptest::prelude::*;

use super::*;

const PLACE: &str = "sessions/a-1.session.yaml";

fn message(number: usize, speaker: Speaker, content: String) -> Message {
    Message {
        id: MessageId::new(format!("m-{number:04}")),
        at: Time(0),
        speaker,
        from: None,
        content,
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: None,
        is_error: false,
        envelope: None,
        label: Default::default(),
    }
}

fn asks(number: usize, calls: &[String]) -> Message {
    let call = |id: &String| Call {
        id: CallId::new(id.as_str()),
        arguments: "{}".to_owned(),
        want: Want::Act(Act::ListDirectory(ListDirectory { path: "a".to_owned() })),
        seen: None,
    };
    let calls = calls.iter().map(call).collect();
    Message { calls, ..message(number, Speaker::Assistant, "I look".to_owned()) }
}

fn result(number: usize, call: &str, content: String) -> Message {
    Message { call: Some(CallId::new(call)), ..message(number, Speaker::ToolResult, content) }
}

/// What can stand in a session, of about these sizes.
#[derive(Debug, Clone)]
enum Step {
    Said(usize),
    Spoke(usize),
    Asked { results: Vec<usize>, missing: bool, said_between: bool },
    Orphan(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = || 0usize..3_000;
    let asked = (prop::collection::vec(size(), 1..4), any::<bool>(), any::<bool>())
        .prop_map(|(results, missing, said_between)| Step::Asked { results, missing, said_between });
    let step = prop_oneof![
        size().prop_map(Step::Said),
        size().prop_map(Step::Spoke),
        asked,
        size().prop_map(Step::Orphan)
    ];
    prop::collection::vec(step, 0..80)
}

/// A conversation: a task, then whatever comes.
fn talk(steps: &[Step]) -> Vec<Message> {
    let mut all = vec![message(1, Speaker::User, "Task task-001: count the moons".to_owned())];
    for step in steps {
        let number = all.len() + 1;
        match step {
            Step::Said(size) => all.push(message(number, Speaker::User, "u".repeat(*size))),
            Step::Spoke(size) => {
                // Of some answers, what was said right before them came while they were made.
                let is_late = size.is_multiple_of(3) && number > 2;
                let read_through = is_late.then(|| MessageId::new(format!("m-{:04}", number - 2)));
                let spoke = message(number, Speaker::Assistant, "a".repeat(*size));
                all.push(Message { read_through, ..spoke });
            }
            Step::Orphan(size) => all.push(result(number, "nobody", "o".repeat(*size))),
            Step::Asked { results, missing, said_between } => {
                let ids: Vec<String> = (0..results.len()).map(|n| format!("c-{number}-{n}")).collect();
                all.push(asks(number, &ids));
                for (at, (id, size)) in ids.iter().zip(results).enumerate().skip(usize::from(*missing)) {
                    if *said_between && at == 1 {
                        all.push(message(all.len() + 1, Speaker::User, "and hurry".to_owned()));
                    }
                    all.push(result(all.len() + 1, id, "r".repeat(*size)));
                }
            }
        }
    }
    all
}

fn size(messages: &[Message]) -> u64 {
    messages.iter().map(tokens::of_message).sum()
}

/// Every result stands behind the call it answers, and no call lost a result that it had.
fn is_paired(all: &[Message], sent: &[Message]) -> Result<(), TestCaseError> {
    let mut open: Vec<&CallId> = Vec::new();
    for message in sent {
        match message.speaker {
            Speaker::Assistant => open = message.calls.iter().map(|c| &c.id).collect(),
            Speaker::ToolResult => {
                let call = message.call.as_ref().unwrap();
                prop_assert!(open.contains(&call), "{call} has no call in front of it");
            }
            Speaker::User | Speaker::System => {}
        }
    }
    for call in sent.iter().flat_map(|m| &m.calls) {
        let has = |list: &[Message]| list.iter().any(|m| m.call.as_ref() == Some(&call.id));
        prop_assert_eq!(has(all), has(sent), "{} lost its result", call.id);
    }
    Ok(())
}

/// Plays a summary of what `plan` asks for, as the file would have it.
fn summarised(history: &History, until: usize, number: usize) -> Message {
    let through = history.last_id(until);
    let said = message(number, Speaker::System, format!("in short, up to {through:?}"));
    Message { summary_through: through, ..said }
}

/// Notes, headers and the least that is kept of each message are beyond the room.
const SLACK: u64 = 600;

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_window_the_task_is_sent_and_turns_are_whole(steps in steps(), room in 50u64..6_000) {
        let mut all = talk(&steps);
        let mut through = 0;
        for _ in 0..200 {
            let history = History::of(all.clone(), PLACE.to_owned());
            match plan(&history, room, true) {
                Plan::Summarise { until } => {
                    prop_assert!(until > history.first && until < history.parts.len(), "it gets on and keeps some");
                    let next = summarised(&history, until, all.len() + 1);
                    let reached = all.iter().position(|m| Some(&m.id) == next.summary_through.as_ref()).unwrap();
                    prop_assert!(through == 0 || reached > through, "nothing is summarised twice");
                    through = reached;
                    all.push(next);
                }
                Plan::Send(sent) => {
                    prop_assert!(sent.iter().any(|m| m.content.contains("count the moons")), "the task");
                    let last = history.messages.last().unwrap();
                    prop_assert!(sent.iter().any(|m| m.id == last.id), "the newest");
                    is_paired(&history.messages, &sent)?;
                    let calls: u64 = sent.len() as u64 * 40;
                    prop_assert!(size(&sent) <= room + SLACK + calls, "{} of {room}", size(&sent));
                    if let Some(summary) = &history.summary {
                        prop_assert!(sent.iter().any(|m| m.content.contains(summary.content.as_str())));
                    }
                    return Ok(());
                }
            }
        }
        prop_assert!(false, "it never comes to an end");
    }

    /// However urgent what waits is, and what comes while a summary is made: each message is in the summary or sent, and
    /// none of them both.
    #[test]
    fn what_comes_while_a_summary_is_made_is_not_taken_for_summarised(
        waits in prop::collection::vec((0usize..4, 10usize..2_000), 2..12),
        comes in prop::collection::vec((0usize..4, 10usize..2_000), 0..5),
    ) {
        let mut all = talk(&[Step::Spoke(10)]);
        let said = |all: &mut Vec<Message>, steps: &[(usize, usize)]| {
            for (urgency, size) in steps {
                let envelope = Envelope { priority: Urgency::ALL[*urgency], ..Envelope::default() };
                let plain = message(all.len() + 1, Speaker::User, "x".repeat(*size));
                all.push(Message { envelope: Some(Box::new(envelope)), ..plain });
            }
        };
        said(&mut all, &waits);
        let names = |history: &History, parts: std::ops::Range<usize>| {
            let parts = history.parts[parts].iter().flat_map(|part| &history.messages[part.clone()]);
            parts.map(|m| m.id.clone()).collect::<std::collections::BTreeSet<_>>()
        };
        let history = History::of(all.clone(), PLACE.to_owned());
        let Plan::Summarise { until } = plan(&history, 1_500, true) else { return Ok(()) };
        let summarised_ids = names(&history, history.first..until);
        said(&mut all, &comes);
        let summary = summarised(&history, until, all.len() + 1);
        all.push(summary);
        let history = History::of(all.clone(), PLACE.to_owned());
        let sent = names(&history, history.first..history.parts.len());
        for message in all.iter().filter(|m| m.summary_through.is_none()) {
            let (short, whole) = (summarised_ids.contains(&message.id), sent.contains(&message.id));
            prop_assert!(short != whole, "{} is in the summary: {short}, sent: {whole}", message.id);
        }
    }

    /// What came during an answer stands behind it, once, and before the next answer.
    #[test]
    fn what_came_during_an_answer_is_sent_behind_it(steps in steps(), room in 50u64..60_000) {
        let all = talk(&steps);
        let Plan::Send(sent) = plan(&History::of(all.clone(), PLACE.to_owned()), room, false) else { panic!() };
        let places = |id: &MessageId| -> Vec<usize> {
            sent.iter().enumerate().filter(|(_, m)| m.id == *id && m.speaker != Speaker::System).map(|(at, _)| at).collect()
        };
        for (at, answer) in all.iter().enumerate().filter(|(_, m)| m.read_through.is_some()) {
            let late = &all[at - 1];
            let (answers, lates) = (places(&answer.id), places(&late.id));
            if late.speaker == Speaker::User && let ([own], [behind]) = (&answers[..], &lates[..]) {
                prop_assert!(behind > own, "{} stands before {}", late.id, answer.id);
                let between = &sent[own + 1..*behind];
                prop_assert!(between.iter().all(|m| m.speaker != Speaker::Assistant), "{} is too far", late.id);
            }
            prop_assert!(lates.len() <= 1, "{} is sent twice", late.id);
        }
    }

    #[test]
    fn without_a_summary_the_oldest_turns_go_and_a_note_says_so(steps in steps(), room in 50u64..6_000) {
        let history = History::of(talk(&steps), PLACE.to_owned());
        let Plan::Send(sent) = plan(&history, room, false) else { panic!("it may not be summarised") };
        prop_assert!(sent.iter().any(|m| m.content.contains("count the moons")));
        is_paired(&history.messages, &sent)?;
        let names = |list: &[Message]| list.iter().map(|m| m.id.clone()).collect::<std::collections::BTreeSet<_>>();
        let missing = names(&history.messages).difference(&names(&sent)).count();
        let note = sent.iter().any(|m| m.content.contains("earlier messages are left out here"));
        prop_assert!(missing == 0 || note, "{missing} are missing without a word");
    }
}

#[test]
fn a_summary_frees_half_of_the_room_so_the_next_is_far_away() {
    let mut all = talk(&[]);
    let mut summaries = Vec::new();
    for turn in 0..400 {
        let number = all.len() + 1;
        all.push(asks(number, &[format!("c-{turn}")]));
        all.push(result(number + 1, &format!("c-{turn}"), "r".repeat(300)));
        let history = History::of(all.clone(), PLACE.to_owned());
        if let Plan::Summarise { until } = plan(&history, 4_000, true) {
            summaries.push(turn);
            all.push(summarised(&history, until, all.len() + 1));
        }
    }
    assert!(!summaries.is_empty());
    let least = summaries.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
    assert!(least >= 10, "a summary every {least} turns: {summaries:?}");
}

#[test]
fn results_that_are_far_back_are_shortened_and_say_where_the_whole_is() {
    let mut all = talk(&[]);
    for turn in 0..40 {
        let number = all.len() + 1;
        all.push(asks(number, &[format!("c-{turn}")]));
        all.push(result(number + 1, &format!("c-{turn}"), "r".repeat(20_000)));
    }
    let Plan::Send(sent) = plan(&History::of(all.clone(), PLACE.to_owned()), 1_000_000, true) else {
        panic!()
    };
    assert_eq!(sent.len(), all.len(), "all of it fits");
    assert!(sent[2].content.len() < 2_200 && sent[2].content.contains(&format!("m-0003 of {PLACE}")));
    assert_eq!(sent.last().unwrap().content.len(), 20_000, "the newest are whole");
    // The beginning of a request stays what it was for some turns, or no provider could keep it.
    let next = |count: usize| {
        let history = History::of(all[..count].to_vec(), PLACE.to_owned());
        let Plan::Send(sent) = plan(&history, 1_000_000, true) else { panic!() };
        sent
    };
    let changes = (60..80).filter(|n| next(*n)[..58] != next(*n + 1)[..58]).count();
    assert!(changes <= 2, "{changes}");
}

#[test]
fn a_summary_whose_last_message_is_gone_stands_for_what_was_numbered_before_it() {
    let mut all = talk(&[Step::Spoke(10), Step::Said(10), Step::Spoke(10), Step::Said(20)]);
    let through = Some(MessageId::new("m-0003"));
    all.push(Message { summary_through: through, ..message(6, Speaker::System, "short".to_owned()) });
    all.remove(2);
    let Plan::Send(sent) = plan(&History::of(all, PLACE.to_owned()), 10_000, true) else { panic!() };
    let ids: Vec<&str> = sent.iter().map(|m| m.id.as_str()).collect();
    assert_eq!(ids, ["m-0001", "m-0006", "m-0004", "m-0005"]);
    assert!(sent[1].content.ends_with("\nshort"));
}

#[test]
fn what_was_asked_last_is_sent_even_if_long_turns_followed() {
    let mut all = talk(&[Step::Spoke(10)]);
    all.push(message(3, Speaker::User, "now count the rings".to_owned()));
    for turn in 0..3 {
        let number = all.len() + 1;
        all.push(asks(number, &[format!("c-{turn}")]));
        all.push(result(number + 1, &format!("c-{turn}"), "r".repeat(9_000)));
    }
    let Plan::Send(sent) = plan(&History::of(all, PLACE.to_owned()), 2_000, false) else { panic!() };
    let has = |words: &str| sent.iter().any(|m| m.content.contains(words));
    assert!(has("count the moons") && has("count the rings"), "{sent:?}");
}

#[test]
fn nothing_at_all_is_sent_as_nothing_at_all() {
    assert_eq!(plan(&History::of(Vec::new(), PLACE.to_owned()), 10, true), Plan::Send(Vec::new()));
}

#[test]
fn the_cost_of_a_conversation_grows_with_its_length_and_not_with_its_square() {
    let of = |turns: usize| {
        let mut all = talk(&[]);
        for turn in 0..turns {
            let number = all.len() + 1;
            all.push(asks(number, &[format!("c-{turn}")]));
            all.push(result(number + 1, &format!("c-{turn}"), "r".repeat(300)));
        }
        let once = || {
            let all = all.clone();
            let began = std::time::Instant::now();
            let history = History::of(all, PLACE.to_owned());
            std::hint::black_box(plan(&history, 20_000, false));
            began.elapsed()
        };
        (0..7).map(|_| once()).min().unwrap_or_default()
    };
    let (few, many) = (of(500), of(20_000));
    // Forty times the length. Were it quadratic, it would take 1,600 times as long: a busy machine makes no such
    // difference between the best of seven and the best of seven.
    assert!(many < few * 400, "1,001 messages: {few:?}, 40,001 messages: {many:?}");
}
