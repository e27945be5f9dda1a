//! Session files: any message comes back as it was printed, edits are small, a torn tail is found.

use domain::id::{AgentId, CallId, MessageId, SessionId, TaskId, Time};
use domain::message::{Envelope, Kind, Urgency};
use domain::session::{Head, Message, Speaker, Status};
use domain::tool::{Act, Call, Want};
use formats::session::{MessageItem, RawCall, SessionFile, print_head, print_message, torn_tail};
use proptest::prelude::*;

use crate::golden::text;

const PATH: &str = "sessions/a-000000.session.yaml";

fn head() -> Head {
    Head {
        session: SessionId::new("a-000000"),
        agent: AgentId::new("a"),
        role: "planner".to_owned(),
        model: "sonnet".to_owned(),
        system_prompt: "You plan.\n".to_owned(),
        task: Some(TaskId::new("task-001")),
        created: Time(1_000),
    }
}

fn new_file() -> String {
    print_head(&head(), Time(2_000), Status::Active)
}

fn say(id: usize, content: &str) -> Message {
    Message {
        id: MessageId::new(format!("m-{id:04}")),
        at: Time(3_000),
        speaker: Speaker::User,
        from: Some(domain::Actor::person("dana")),
        content: content.to_owned(),
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: None,
        is_error: false,
        envelope: None,
        label: Default::default(),
    }
}

fn parse(text: &str) -> SessionFile {
    let (file, diagnostics) = SessionFile::parse(PATH, text);
    assert_eq!(diagnostics, [], "{text}");
    file.unwrap()
}

/// A message as it is compared: without its place.
fn plain(item: &MessageItem) -> MessageItem {
    MessageItem { line: 0, span: 0..0, ..item.clone() }
}

fn expected(m: &Message) -> MessageItem {
    let call = |c: &Call| RawCall {
        id: c.id.clone(),
        name: c.want.tool().to_owned(),
        arguments: c.arguments.clone(),
    };
    MessageItem {
        id: Some(m.id.clone()),
        at: Some(m.at),
        speaker: m.speaker,
        from: m.from.clone(),
        label: m.label.clone(),
        content: m.content.clone(),
        calls: m.calls.iter().map(call).collect(),
        call: m.call.clone(),
        summary_through: m.summary_through.clone(),
        read_through: m.read_through.clone(),
        is_error: m.is_error,
        envelope: m.envelope.clone(),
        line: 0,
        span: 0..0,
    }
}

#[test]
fn what_stands_behind_brackets_and_a_byte_order_mark_stay_in_place() {
    let mut file = parse("session_id: a-1\nagent_id: a\nmessages: [{role: user, content: a}]  # why\n");
    file.append(&say(1, "b"));
    let said: Vec<&str> = file.messages().iter().map(|m| m.content.as_str()).collect();
    assert_eq!(said, ["a", "b"]);
    assert!(file.text().ends_with("}]  # why\n"), "{}", file.text());
    parse(file.text());
    let mut file = parse("\u{feff}messages: []\nsession_id: a-1\nagent_id: a\n");
    file.set_status(Status::Error);
    assert_eq!(file.text(), "\u{feff}status: error\nmessages: []\nsession_id: a-1\nagent_id: a\n");
    parse(file.text());
}

#[test]
fn the_example_is_read_whole() {
    let source = text("home/sessions/planner-001-abc123.session.yaml");
    let (file, diagnostics) = SessionFile::parse(PATH, &source);
    assert_eq!(diagnostics, []);
    let file = file.unwrap();
    let made = formats::time::parse("2025-10-04T10:00:00Z").unwrap();
    let expected = Head {
        session: SessionId::new("planner-001-abc123"),
        agent: AgentId::new("planner-001"),
        role: "planner".to_owned(),
        model: "sonnet".to_owned(),
        system_prompt: "You plan...\n".to_owned(),
        task: None,
        created: made,
    };
    assert_eq!(file.head(), &expected);
    assert_eq!((file.status(), file.updated()), (Status::Active, Some(Time(made.0 + 300_000))));
    let speakers: Vec<_> = file.messages().iter().map(|m| (m.line, m.speaker)).collect();
    assert_eq!(speakers, [(11, Speaker::User), (14, Speaker::Assistant), (23, Speaker::ToolResult)]);
    assert_eq!(file.messages()[1].calls[0].name, "create_task");
    assert_eq!(file.messages()[2].call, Some(CallId::new("call_123")));
    assert_eq!(torn_tail(&source), None);
}

#[test]
fn a_message_is_appended_above_keys_that_follow() {
    let mut file = parse(&text("home/sessions/planner-001-abc123.session.yaml"));
    let before = file.text().to_owned();
    file.append(&say(4, "hello"));
    let at = before.find("metadata").unwrap();
    assert!(file.text().starts_with(&before[..at]) && file.text().ends_with(&before[at..]));
    assert_eq!(parse(file.text()), file);
    assert_eq!(file.messages()[3].content, "hello");
}

#[test]
fn a_new_file_reads_like_this() {
    let mut m = say(1, "one\ntwo");
    m.calls = vec![Call {
        seen: None,
        id: CallId::new("call_1"),
        arguments: "{\"path\":\"a\"}".to_owned(),
        want: Want::Act(Act::read_file("a")),
    }];
    let text = new_file() + &print_message(&m);
    let expected = "# yaml-language-server: $schema=../schemas/session.json
session_id: a-000000
agent_id: a
agent_type: planner
model: sonnet
system_prompt: |
  You plan.
task: task-001
created: '1970-01-01T00:00:01.000Z'
updated: '1970-01-01T00:00:02.000Z'
status: active
metadata: {}
messages:
  - id: m-0001
    role: user
    from: person:dana
    content: |-
      one
      two
    tool_calls:
      - id: call_1
        type: function
        function:
          name: read_file
          arguments: '{\"path\":\"a\"}'
    timestamp: '1970-01-01T00:00:03.000Z'
";
    assert_eq!(text, expected);
    let file = parse(&text);
    assert_eq!(file.head(), &head());
}

#[test]
fn messages_are_appended_to_every_form_of_list() {
    let base = "session_id: a-000000\nagent_id: a\n";
    for list in [
        "",
        "messages:\n",
        "messages:",
        "messages: []\n",
        "messages: [] # none yet\nmetadata: {}\n",
        "messages: ~\n",
        "messages:\n- role: user\n  content: |\n    x\n",
        "messages:\n    - role: user\n      content: x",
        "messages: [{role: user, content: x}]\n",
        "messages:\n  - {role: user, content: x}\n# end\n",
        "messages:\n  - role: user\n    content: x\n\n# about metadata\nmetadata: {a: b}\nstatus: sleeping\n",
        "messages:\n  - role: user\n    content: x\n...\n",
    ] {
        for newline in ["\n", "\r\n"] {
            let source = format!("{base}{list}").replace('\n', newline);
            let mut file = parse(&source);
            let old: Vec<_> = file.messages().iter().map(plain).collect();
            file.append(&say(7, "a\nb"));
            file.append(&say(8, "c"));
            file.set_status(Status::Completed);
            file.set_updated(Time(9));
            file.set_reason("it is: 'over'");
            file.set_reason("it is: 'over',\n # truly");
            let again = parse(file.text());
            let new: Vec<_> = again.messages().iter().map(plain).collect();
            assert_eq!(new[..old.len()], old[..], "{source}\n{}", file.text());
            assert_eq!(new[old.len()..], [expected(&say(7, "a\nb")), expected(&say(8, "c"))], "{source}");
            assert_eq!((again.status(), again.updated()), (Status::Completed, Some(Time(9))));
            assert_eq!(again.reason(), "it is: 'over', # truly", "one line, whatever it was");
            assert_eq!(again, file, "{source:?}\n{:?}", file.text());
        }
    }
}

#[test]
fn a_status_changes_its_word_only() {
    let mut file = parse(
        "session_id: a-000000 # x\nstatus:   'active'   # y\nagent_id: a\nmessages:\n  - {role: user, content: z}\n",
    );
    file.set_status(Status::Sleeping);
    assert_eq!(
        file.text(),
        "session_id: a-000000 # x\nstatus:   sleeping   # y\nagent_id: a\nmessages:\n  - {role: user, content: z}\n"
    );
    for odd in ["status:\n", "status: |-\n  active\n", "status: >-\n  active\n", ""] {
        let mut file = parse(&format!("session_id: a-000000\n{odd}agent_id: a\nmessages:\n"));
        file.set_status(Status::Error);
        assert_eq!(parse(file.text()).status(), Status::Error, "{odd:?} {}", file.text());
    }
}

#[test]
fn a_message_of_a_person_gets_an_id_and_nothing_else_changes() {
    let base = "session_id: a-000000\nagent_id: a\nmessages:\n";
    for list in [
        "  - role: user\n    content: x\n  - role: user\n    content: y\n",
        "- content: |\n    x\n  role: user\n- {role: user, content: y}\n",
        "  - {role: user, content: x}\n  - content: y\n    role: user",
    ] {
        let mut file = parse(&format!("{base}{list}"));
        for index in 0..2 {
            let lines: Vec<String> = file.text().lines().map(str::to_owned).collect();
            file.set_message_id(index, &MessageId::new(format!("m-{index}")));
            assert_eq!(
                file.messages()[index].id,
                Some(MessageId::new(format!("m-{index}"))),
                "{}",
                file.text()
            );
            let kept = file.text().lines().filter(|l| !l.contains(&format!("id: m-{index}"))).count();
            assert!(kept >= lines.len() - 1);
            assert_eq!(torn_tail(file.text()), None, "{}", file.text());
        }
        assert_eq!(file.messages()[1].content, "y");
    }
}

#[test]
fn two_messages_with_one_id_are_refused() {
    let text = new_file() + &print_message(&say(1, "a")) + &print_message(&say(1, "b"));
    let (file, diagnostics) = SessionFile::parse(PATH, &text);
    assert_eq!((file, diagnostics.len()), (None, 1));
    assert_eq!((diagnostics[0].line, diagnostics[0].column), (19, 9));
}

#[test]
fn what_a_person_wrote_is_never_cut() {
    for tail in [
        "  - role: user\n    content: hello",
        "  - role: user\n    content: |\n      hello\n      wor",
        "  - timestamp: '2025-10-04T10:05:23.000Z'\n    role: user\n    content: x",
        "  - id: m-0009\n    content: x\n    role: user\n",
        "# a comment",
        "",
    ] {
        let text = new_file() + &print_message(&say(1, "a")) + tail;
        assert_eq!(torn_tail(&text), None, "{tail}");
    }
    // A prompt that looks like a list of messages is none.
    let mut odd = head();
    odd.system_prompt = "messages:\n  - id: m-1\n    role: x".to_owned();
    assert_eq!(torn_tail(&print_head(&odd, Time(0), Status::Active)), None);
}

#[test]
fn zero_bytes_at_the_end_are_cut() {
    let text = new_file() + &print_message(&say(1, "a"));
    assert_eq!(torn_tail(&format!("{text}\0\0\0")), Some(text.len()));
}

/// Texts that are hard to print in YAML.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just(" ".to_owned()),
        Just("\t".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n".to_owned()),
        Just("- id: m-0001".to_owned()),
        Just("  - id: m-1\n    role: user".to_owned()),
        Just("    timestamp: '1970-01-01T00:00:03.000Z'\n".to_owned()),
        Just("---".to_owned()),
        Just("...".to_owned()),
        Just("messages:".to_owned()),
        Just(": ".to_owned()),
        Just(" #".to_owned()),
        Just("'\"\\".to_owned()),
        Just("\u{85}\u{2028}\u{feff}\u{0}\u{7f}\u{9f}\u{fffe}".to_owned()),
        Just("|".to_owned()),
        Just("true".to_owned()),
        Just("~".to_owned()),
        Just("12e3".to_owned()),
        "\\PC{0,6}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|p| p.concat())
}

fn any_message() -> impl Strategy<Value = Message> {
    let speaker = prop_oneof![
        Just(Speaker::User),
        Just(Speaker::Assistant),
        Just(Speaker::ToolResult),
        Just(Speaker::System)
    ];
    let call = (any_text(), any_text(), any_text()).prop_map(|(id, tool, arguments)| Call {
        seen: None,
        id: CallId::new(format!("c{id}")),
        arguments,
        want: Want::Invalid { tool: format!("t{tool}"), error: String::new() },
    });
    (
        any_text(),
        any_text(),
        speaker,
        prop::collection::vec(call, 0..3),
        prop::option::of("\\PC{1,5}"),
        0..4_000_000_000_000_i64,
        any_text(),
    )
        .prop_map(|(content, from, speaker, calls, call, at, text)| Message {
            id: MessageId::new("m"),
            at: Time(at),
            speaker,
            from: (!from.is_empty()).then(|| domain::Actor::from(from.as_str())),
            content,
            calls,
            call: call.map(CallId::new),
            summary_through: (at % 7 == 0).then(|| MessageId::new("m-0001")),
            read_through: (at % 5 == 0).then(|| MessageId::new("m-0002")),
            is_error: at % 2 == 0,
            envelope: (at % 3 == 0).then(|| Box::new(envelope(at, &text))),
            label: Default::default(),
        })
}

/// With all keys, some keys, or only the one that every envelope has.
fn envelope(at: i64, text: &str) -> Envelope {
    let name = |of: i64| (at % of == 0).then(|| format!("coder-001-abcdef/m-0001.{of}"));
    Envelope {
        kind: Kind::ALL[usize::try_from(at % 3).unwrap()],
        broadcast: at % 2 == 0,
        channel: (at % 19 == 0).then(|| "ops".to_owned()),
        priority: Urgency::ALL[usize::try_from(at % 4).unwrap()],
        correlation_id: name(5),
        in_reply_to: name(7),
        approved: (at % 11 == 0).then_some(at % 2 == 0),
        issues: if at % 13 == 0 { vec![text.to_owned(), "b: c".to_owned()] } else { Vec::new() },
        awaited: at % 17 == 0,
        cause: None,
        hands: Default::default(),
    }
}

fn numbered(mut messages: Vec<Message>) -> Vec<Message> {
    for (i, m) in messages.iter_mut().enumerate() {
        m.id = MessageId::new(format!("m-{i:04}"));
    }
    messages
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_message_comes_back(messages in prop::collection::vec(any_message(), 0..4).prop_map(numbered), prompt in any_text()) {
        let head = Head { system_prompt: prompt, ..head() };
        let text = print_head(&head, Time(5), Status::Sleeping) + &messages.iter().map(print_message).collect::<String>();
        let (file, diagnostics) = SessionFile::parse(PATH, &text);
        prop_assert_eq!(diagnostics, [], "{}", text);
        let file = file.unwrap();
        prop_assert_eq!(file.text(), &text);
        prop_assert_eq!(file.head(), &head);
        prop_assert_eq!(file.messages().iter().map(plain).collect::<Vec<_>>(), messages.iter().map(expected).collect::<Vec<_>>());
        prop_assert_eq!(torn_tail(&text), None, "{}", text);
        // Appended one by one, the file is the same, and so is the document.
        let mut grown = parse(&print_head(&head, Time(5), Status::Sleeping));
        messages.iter().for_each(|m| grown.append(m));
        prop_assert_eq!(grown.text(), &text);
        prop_assert_eq!(grown.messages().iter().map(|m| m.line).collect::<Vec<_>>(), file.messages().iter().map(|m| m.line).collect::<Vec<_>>());
    }

    #[test]
    fn a_cut_message_is_found_wherever_it_was_cut(messages in prop::collection::vec(any_message(), 1..3).prop_map(numbered), newline in prop_oneof![Just("\n"), Just("\r\n")]) {
        let printed: Vec<String> = messages.iter().map(|m| print_message(m).replace('\n', newline)).collect();
        let last = printed.last().unwrap();
        let kept = new_file().replace('\n', newline) + &printed[..printed.len() - 1].concat();
        // Without its last line end a message is whole.
        for cut in 1..last.len() - newline.len() {
            let Some(part) = last.get(..cut) else { continue };
            let text = kept.clone() + part;
            prop_assert_eq!(torn_tail(&text), Some(kept.len()), "cut at {}:\n{}", cut, text);
        }
        let (file, _) = SessionFile::parse(PATH, &kept);
        prop_assert_eq!(file.unwrap().messages().len(), messages.len() - 1);
    }

    #[test]
    fn an_edit_keeps_all_other_bytes(messages in prop::collection::vec(any_message(), 0..3).prop_map(numbered), status in 0..4_usize, at in 0..9_000_i64, crlf in any::<bool>()) {
        let status = [Status::Active, Status::Sleeping, Status::Completed, Status::Error][status];
        let text = new_file() + &messages.iter().map(print_message).collect::<String>();
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        let mut file = parse(&text);
        let others: Vec<_> = file.messages().iter().map(plain).collect();
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        file.set_status(status);
        file.set_updated(Time(at));
        let changed = |l: &&String| !l.starts_with("status:") && !l.starts_with("updated:");
        let after: Vec<String> = file.text().split('\n').map(str::to_owned).collect();
        prop_assert_eq!(after.iter().filter(changed).collect::<Vec<_>>(), lines.iter().filter(changed).collect::<Vec<_>>());
        let again = parse(file.text());
        prop_assert_eq!(again.messages().iter().map(plain).collect::<Vec<_>>(), others);
        prop_assert_eq!(again, file);
    }
}
