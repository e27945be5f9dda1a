//! Words that come while a model answers: it reads them in its next turn, behind that answer, and once.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use testkit::model::{Puppet, says, wants};
use testkit::provider::Provider;

use crate::message::{contents, list};
use crate::team::{Team, until_so};

const ORDER: &str = "deploy to staging";
const STOP: &str = "STOP, do not deploy";

/// What stands in the only conversation of the agent, so far.
fn said(team: &Team) -> Vec<String> {
    let all = team.sessions("worker-1").into_iter().flat_map(|path| team.messages(&path));
    all.map(|message| message.content).collect()
}

fn session(team: &Team) -> String {
    let path = team.sessions("worker-1").remove(0);
    path.trim_start_matches("sessions/").trim_end_matches(".session.yaml").to_owned()
}

#[test]
fn a_scripted_model_answers_what_came_while_it_answered() {
    let team = Team::scripted(
        "rules:\n  - matches: \"*STOP*\"\n    text: Stopped.\n  - matches: \"deploy*\"\n    delay_ms: 3000\n    \
         text: I deploy.\n  - text: \"Heard: {last}\"\n",
    );
    let up = team.up();
    team.fine(&["message", "send", "worker-1", ORDER]);
    until_so("it is asked", || said(&team) == [ORDER]);
    team.fine(&["message", "send", &session(&team), STOP, "--priority", "critical"]);
    until_so("it has answered both", || said(&team).last().is_some_and(|last| last == "Stopped."));
    up.stop();
    assert_eq!(said(&team), [ORDER, STOP, "I deploy.", "Stopped."]);
    let talk = team.talk("worker-1");
    let read: Vec<Option<&str>> =
        talk.iter().map(|m| m.read_through.as_ref().map(|id| id.as_str())).collect();
    assert_eq!(read, [None, None, Some("m-0001"), None]);
    team.is_in_order();
    // The same from the files alone, and a rule that answered before counts as it did.
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    team.fine(&["message", "send", &session(&team), "and now?"]);
    team.to_the_end();
    assert_eq!(said(&team)[4..], ["and now?", "Heard: and now?"]);
}

#[test]
fn what_an_answer_did_not_see_is_answered_from_the_files_alone() {
    let team = Team::scripted("rules:\n  - matches: \"*STOP*\"\n    text: Stopped.\n");
    team.write(
        "sessions/worker-1-abcdef.session.yaml",
        format!(
            "session_id: worker-1-abcdef\nagent_id: worker-1\nagent_type: executor\nmodel: m\nstatus: active\n\
             messages:\n  - {{id: m-0001, role: user, content: {ORDER:?}}}\n  \
             - {{id: m-0002, role: user, content: {STOP:?}}}\n  \
             - {{id: m-0003, role: assistant, content: I deploy., read_through: m-0001}}\n"
        ),
    );
    team.to_the_end();
    assert_eq!(said(&team), [ORDER, STOP, "I deploy.", "Stopped."]);
}

/// Words, receiver and request of each answer to a person.
fn answers(told: &[Value]) -> Vec<[&str; 3]> {
    let answers = told.iter().filter(|told| told["type"] == "response");
    answers.map(|told| ["content", "to", "in_reply_to"].map(|key| told[key].as_str().unwrap())).collect()
}

#[test]
fn an_answer_goes_to_those_whose_words_it_had_read() {
    let team = Team::scripted("rules: []\n");
    let head =
        "session_id: worker-1-aaaaaa\nagent_id: worker-1\nmodel: m\nstatus: sleeping\nmessages:\n".to_owned();
    let said = |number: u32, more: &str, content: &str| {
        format!(
            "  - {{id: m-000{number}, {more}, content: {content}, timestamp: '2025-10-04T10:00:0{number}.000Z'}}\n"
        )
    };
    let asks = "role: user, from: 'agent:worker-2', type: request, correlation_id: q";
    let all = [
        said(1, "role: user, from: 'person:ann'", "a"),
        said(2, "role: user, from: 'person:bob'", "b"),
        said(3, "role: user, from: 'person:cat'", "c"),
        said(4, asks, "d"),
        said(5, "role: assistant, read_through: m-0001", "I read a"),
        said(6, "role: assistant, read_through: m-0003", "I read b and c"),
        said(7, "role: assistant", "I read d"),
    ];
    team.write("sessions/worker-1-aaaaaa.session.yaml", head + &all.concat());
    let told = list(&team, &[]);
    assert_eq!(
        answers(&told),
        [
            ["I read a", "person:ann", "worker-1-aaaaaa/m-0001"],
            ["I read b and c", "person:bob", "worker-1-aaaaaa/m-0002"],
            ["I read b and c", "person:cat", "worker-1-aaaaaa/m-0003"],
        ]
    );
}

/// A model behind a provider that, while it gives its first answer, lets the team be spoken to.
fn talked_to(first: ports::model::Reply, kind: &str) -> (Arc<Team>, Vec<Value>) {
    let team = Arc::new(Team::nothing());
    let (speaker, turn) = (team.clone(), Mutex::new(0));
    let provider = Provider::start(Arc::new(Puppet::answering(move |_| {
        let mut turn = turn.lock().unwrap();
        *turn += 1;
        if *turn > 1 {
            return Ok(says("Stopped."));
        }
        speaker.fine(&["message", "send", &session(&speaker), "also to production"]);
        speaker.fine(&["message", "send", &session(&speaker), STOP, "--priority", "critical"]);
        Ok(first.clone())
    })));
    let url = provider.url();
    team.write(
        "synod.yaml",
        format!(
            "providers: {{p: {{kind: {kind}, base_url: \"{url}\"}}}}\nmodels: {{m: {{provider: p, model: m}}}}\n"
        ),
    );
    let may = "permissions: {tools: {allow: [\"*\"]}}";
    team.write("agents/worker-1.agent.yaml", format!("id: worker-1\ntype: executor\nmodel: m\n{may}\n"));
    team.fine(&["message", "send", "worker-1", ORDER]);
    let up = team.up();
    until_so("it has answered both", || said(&team).last().is_some_and(|last| last == "Stopped."));
    up.stop();
    let asked = provider.seen().into_iter().map(|seen| seen.body["messages"].clone()).collect();
    (team, asked)
}

/// The words in the marks of who says them.
fn said_in(text: &str) -> String {
    let is_mark =
        |line: &&str| line.starts_with("<message from=\"person:tess\"") || line.starts_with("</message>");
    let plain = text.replace("</message> | <message", "</message>\n| \n<message");
    let mut lines = Vec::new();
    for line in plain.lines() {
        match line {
            "| " => lines.push(" | ".to_owned()),
            line if is_mark(&line) => {}
            line => lines.push(line.to_owned()),
        }
    }
    lines.join("\n").replace("\n | \n", " | ")
}

/// Role and words of each message, without what Synod tells a model first.
fn shown(messages: &Value) -> Vec<String> {
    let words = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let text =
                |part: &Value| part["text"].as_str().or(part["type"].as_str()).unwrap_or("").to_owned();
            parts.iter().map(text).collect::<Vec<_>>().join(" | ")
        }
        other => other.to_string(),
    };
    let all = messages.as_array().unwrap().iter().filter(|message| message["role"] != "system");
    all.map(|message| format!("{}: {}", message["role"].as_str().unwrap(), said_in(&words(message))))
        .collect()
}

#[test]
fn a_provider_is_told_what_came_behind_the_answer_that_did_not_see_it() {
    let late = format!("[request of person:tess, priority critical]\n{STOP}");
    let (_, asked) = talked_to(says("I deploy."), "openai");
    let expected = [
        format!("user: {ORDER}"),
        "assistant: I deploy.".to_owned(),
        format!("user: {late}"),
        "user: also to production".to_owned(),
    ];
    assert_eq!(asked.iter().map(shown).collect::<Vec<_>>(), [expected[..1].to_vec(), expected.to_vec()]);
    let (_, asked) = talked_to(says("I deploy."), "anthropic");
    assert_eq!(asked.len(), 2);
    let last = shown(&asked[1]);
    assert_eq!(last[..2], [expected[0].clone(), "assistant: I deploy.".to_owned()], "{last:?}");
    let behind = last[2..].concat();
    assert!(behind.find(STOP) < behind.find("also to production") && !behind.contains(ORDER), "{last:?}");
}

#[test]
fn each_request_is_followed_by_its_own_answer() {
    let (team, _) = talked_to(says("I deploy."), "openai");
    let session = session(&team);
    let id = |number: u32| format!("{session}/m-000{number}");
    let (first, second, third) = (id(1), id(2), id(3));
    let told = list(&team, &[]);
    let expected = [
        ["I deploy.", "person:tess", &first],
        ["Stopped.", "person:tess", &second],
        ["Stopped.", "person:tess", &third],
    ];
    assert_eq!(answers(&told), expected);
    let tail = team.fine(&["message", "tail", "--all", "--limit", "6", "--json"]);
    let tail: Vec<Value> = tail.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((answers(&tail), contents(&tail)), (answers(&told), contents(&told)));
}

#[test]
fn what_came_during_an_answer_that_asks_for_tools_stands_behind_their_results() {
    let (_, asked) = talked_to(wants("list_directory", "{\"path\":\".\"}"), "openai");
    assert_eq!(asked.len(), 2);
    let roles: Vec<String> =
        shown(&asked[1]).iter().map(|line| line.split(':').next().unwrap().to_owned()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user", "user"]);
    assert!(shown(&asked[1])[3].ends_with(STOP), "{:?}", shown(&asked[1]));
}
