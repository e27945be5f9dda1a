//! Messages between agents, with the real binary: seen, sent, followed, and kept through a kill.

use serde_json::Value;

use crate::code::pick;
use crate::team::{Team, until, until_so};

/// Worker 1 asks worker 2 and waits; worker 2 answers with its last words.
const ASKS: &str = r##"rules:
  - tool_result: "*"
    text: "It says: {last}"
  - matches: "*ASK*"
    answer: {calls: [{tool: send_message, arguments: {to: worker-2, content: "how full is the disk?", priority: high, wait_ms: 600000}}]}
  - matches: "*ALL*"
    answer: {calls: [{tool: send_message, arguments: {to: broadcast, content: "the disk is full", type: notification}}]}
  - matches: "*OPS*"
    answer: {calls: [{tool: send_message, arguments: {to: "#ops", content: "the disk is full", type: notification}}]}
  - matches: "*STUCK*"
    answer: {calls: [{tool: send_message, arguments: {to: "worker-2", content: "how full is the disk?", type: dependency_request, wait_ms: 600000}}]}
  - matches: "*HAND*"
    answer: {calls: [{tool: send_message, arguments: {to: "#help", content: "who lends a hand?"}}]}
  - matches: "*LOST*"
    answer: {calls: [{tool: send_message, arguments: {to: worker-3, content: "are you there?"}}]}
  - matches: "*how full*"
    answer: {text: "92 %", delay_ms: DELAY}
  - text: "Heard: {last}"
"##;

fn team(delay_ms: u32) -> Team {
    let team = Team::scripted(&ASKS.replace("DELAY", &delay_ms.to_string()));
    team.write("agents/worker-2.agent.yaml", "id: worker-2\ntype: executor\nmodel: m\n");
    team
}

/// What `message list` has for programs.
pub fn list(team: &Team, args: &[&str]) -> Vec<Value> {
    let all = [&["message", "list", "--json"], args].concat();
    let value: Value = serde_json::from_str(&team.fine(&all)).unwrap();
    assert_eq!(value["schema_version"], 1);
    value["messages"].as_array().unwrap().clone()
}

/// The words of messages.
pub fn contents(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["content"].as_str().unwrap()).collect()
}

#[test]
fn a_request_and_its_answer_are_seen_with_all_that_stands_on_them() {
    let team = team(0);
    assert_eq!(team.fine(&["message", "list"]), "No messages.\n");
    let sent = team.fine(&["message", "send", "worker-1", "ASK it"]);
    let session = sent.trim_end().strip_prefix("sent to worker-1, in ").unwrap_or_else(|| panic!("{sent}"));
    assert_eq!(team.sessions("worker-1"), [format!("sessions/{session}.session.yaml")]);
    team.to_the_end();
    assert_eq!(team.talk("worker-1").last().unwrap().content, "It says: 92 %");
    let about = list(&team, &["--agent", "worker-2"]);
    assert_eq!(contents(&about), ["how full is the disk?", "92 %"]);
    let (asked, answered) = (&about[0], &about[1]);
    let name = asked["correlation_id"].as_str().unwrap();
    let field = |message: &Value, key: &str| message[key].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        ["from", "to", "channel", "type", "priority"].map(|key| field(asked, key)),
        ["agent:worker-1", "worker-2", "direct", "request", "high"]
    );
    assert_eq!(
        ["from", "to", "type", "in_reply_to"].map(|key| field(answered, key)),
        ["agent:worker-2", "worker-1", "response", name]
    );
    assert_eq!(list(&team, &["--correlation", name]).len(), 2);
    assert_eq!(contents(&list(&team, &["--from", "person:tess"])), ["ASK it"]);
    let newest = list(&team, &["--limit", "1"]);
    assert_eq!(contents(&newest), ["It says: 92 %"], "a person's answer is a message too");
    assert_eq!(
        ["from", "to", "type", "in_reply_to"].map(|key| field(&newest[0], key)),
        ["agent:worker-1", "person:tess", "response", &format!("{session}/m-0001")]
    );
    let shown = team.fine(&["message", "list", "--correlation", name]);
    assert!(shown.contains(&format!("\n   correlation {name}\nhow full is the disk?\n")), "{shown}");
    assert!(shown.contains(&format!("\n   in reply to {name}\n92 %\n")), "{shown}");
    let ran = team.synod(&["message", "list", "--agent", "worker-9"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("there is no agent worker-9\nhelp: did you mean worker-"), "{}", ran.stderr);
    assert_eq!(list(&team, &["--channel", "task"]).len(), 0);
    let ran = team.synod(&["message", "list", "--channel", "smoke"]);
    assert_eq!(
        (ran.code, ran.stderr.contains("there are: task, direct, dependency, help, control, state")),
        (2, true),
        "{}",
        ran.stderr
    );
    let tail = team.fine(&["message", "tail", "--all", "--limit", "4", "--json"]);
    let told: Vec<Value> = tail.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(contents(&told), ["ASK it", "how full is the disk?", "92 %", "It says: 92 %"]);
    team.is_in_order();
}

#[test]
fn who_writes_to_an_agent_hears_that_it_cannot_answer_and_why() {
    let turns = "providers: {script: {kind: scripted, script: models/s.yaml}}\n\
                 models: {m: {provider: script, model: m}}\n\
                 limits: {turns_max: 1}\n";
    let again = "rules:\n  - calls: [{tool: list_directory, arguments: {path: .}}]\n";
    let cases = [
        (None, "rules:\n  - error: {message: the model is gone}\n", "the model is gone"),
        (Some(turns), again, "turns_max"),
        (None, "rules:\n  - matches: \"*never*\"\n    text: x\n", "no rule"),
        (None, "rules:\n  - text: \"\"\n", "empty"),
    ];
    for (settings, script, why) in cases {
        let team = Team::scripted(script);
        settings.iter().for_each(|settings| team.write("synod.yaml", settings));
        team.fine(&["message", "send", "worker-1", "Hello?"]);
        let ran = team.synod(&["pump"]);
        let line = ran.stdout.lines().find(|line| line.contains("cannot answer: "));
        let line = line.unwrap_or_else(|| panic!("{why}: {} {}", ran.stdout, ran.stderr));
        assert!(line.starts_with("worker-1 ") && line.contains(why), "{line}");
        assert_eq!(ran.code, 1, "{why}");
        let in_journal = team.fine(&["message", "tail", "--all", "--limit", "2", "--json"]);
        let in_journal: Vec<Value> =
            in_journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told = list(&team, &[]);
        assert_eq!(contents(&told), contents(&in_journal));
        assert_eq!(told.len(), 2);
        let answer = told[1]["content"].as_str().unwrap();
        assert!(answer.starts_with("cannot answer: ") && answer.contains(why), "{answer}");
        assert_eq!(
            ["from", "to", "type", "in_reply_to"].map(|key| told[1][key].as_str().unwrap()),
            ["agent:worker-1", "person:tess", "response", told[0]["id"].as_str().unwrap()]
        );
        std::fs::remove_dir_all(team.at(".synod")).unwrap();
        assert_eq!(contents(&list(&team, &[])), contents(&told), "the files alone say so");
        assert_eq!(team.pump(), 0, "and nothing more is to be done about it");
        team.is_in_order();
    }
}

#[test]
fn a_person_whose_words_were_not_read_hears_that_the_agent_is_terminated() {
    let team = Team::scripted("rules:\n  - text: Yes.\n    delay_ms: 600000\n");
    let up = team.up();
    let made = team.fine(&["agent", "spawn", "executor", "--name", "n"]);
    let agent = made.split(' ').next().unwrap();
    team.fine(&["message", "send", agent, "Are you there?"]);
    team.fine(&["agent", "terminate", agent]);
    up.says(&format!("{agent} cannot answer: "));
    up.stop();
    let told = list(&team, &[]);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(contents(&told)[1].starts_with("cannot answer: "), "{told:?}");
}

#[test]
fn what_an_agent_says_at_last_is_seen_like_what_it_said_at_first() {
    let team = team(0);
    let said = |number: u32, role: &str, more: &str, content: &str| {
        let at = format!("timestamp: '2025-10-04T10:00:0{number}.000Z'");
        format!("  - id: m-000{number}\n    role: {role}\n{more}    content: {content}\n    {at}\n")
    };
    let head = "session_id: worker-1-aaaaaa\nagent_id: worker-1\nmodel: m\nsystem_prompt: x\nstatus: sleeping\nmessages:\n";
    let answer = "    from: agent:worker-2\n    type: response\n    in_reply_to: r\n";
    let asks = "    from: agent:worker-2\n    type: request\n    correlation_id: q\n";
    let all = [
        said(1, "user", "    from: person:tess\n", "How full?"),
        said(2, "assistant", "", "I have asked."),
        said(3, "user", answer, "92 per cent"),
        said(4, "assistant", "", "The disk is full."),
        said(5, "user", asks, "And now?"),
        said(6, "assistant", "", "This is for worker-2."),
    ];
    team.write("sessions/worker-1-aaaaaa.session.yaml", format!("{head}{}", all.concat()));
    let told: Vec<Value> = list(&team, &[]).into_iter().filter(|told| told["to"] == "person:tess").collect();
    assert_eq!(contents(&told), ["I have asked.", "The disk is full."]);
    assert!(told.iter().all(|told| told["in_reply_to"] == "worker-1-aaaaaa/m-0001"), "{told:?}");
}

#[test]
fn a_verdict_is_shown_with_what_is_wrong() {
    let team = team(0);
    let text = "session_id: worker-1-aaaaaa\nagent_id: worker-1\nmodel: m\nstatus: sleeping\nmessages:\n  \
                - id: m-0001\n    role: user\n    from: agent:worker-2\n    type: response\n    approved: false\n    \
                issues: [no test]\n    content: Not yet.\n    timestamp: '2025-10-04T10:00:01.000Z'\n";
    team.write("sessions/worker-1-aaaaaa.session.yaml", text);
    let shown = team.fine(&["message", "list"]);
    assert!(shown.ends_with("\n   not approved\nNot yet.\n   - no test\n"), "{shown}");
}

#[test]
fn a_tail_that_nobody_reads_any_more_ends() {
    let team = team(0);
    let mut tail = crate::team::synod()
        .args(["message", "tail", "--all"])
        .current_dir(team.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(tail.stdout.take());
    team.fine(&["message", "send", "worker-1", "Hello"]);
    let ended = until("the tail ends", || tail.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn what_a_task_is_stands_on_the_channel_task() {
    let team = team(0);
    team.fine(&["task", "add", "Look around"]);
    team.to_the_end();
    let told = list(&team, &["--channel", "task"]);
    let words: Vec<&str> = told.iter().map(|told| told["type"].as_str().unwrap()).collect();
    assert_eq!(words, ["task"]);
    assert!(contents(&told)[0].contains("Look around"), "{told:?}");
    assert!(team.fine(&["message", "list"]).contains(" task worker-"));
}

/// Worker 1 hands work on, or makes a task of it; worker 2 does it, cannot, or takes its time.
const HANDS_ON: &str = r##"rules:
  - {agent: worker-1, tool_result: "*", text: "I heard"}
  - {agent: worker-1, matches: "*ended*", text: "I heard"}
  - {agent: worker-1, matches: "*PART*", calls: [{tool: create_task, arguments: {assignee: worker-2, title: Look well}}]}
  - {agent: worker-1, matches: "*HAND * on", calls: [{tool: delegate, arguments: {to: worker-2, tag: "ops:look", task: "Look {match:2}"}}]}
  - {agent: worker-2, matches: "*Look bad*", error: {message: the model is gone}}
  - {agent: worker-2, matches: "*Look slow*", text: never, delay_ms: 600000}
  - {agent: worker-2, text: "92 %"}
"##;

#[test]
fn what_agents_make_tasks_of_and_what_came_of_it_stand_on_the_channel_task() {
    let team = Team::scripted(HANDS_ON);
    for agent in ["worker-1", "worker-2"] {
        let may = "responsibilities: ['ops:*']\npermissions: {delegation: {can_delegate: true}}";
        team.write(
            &format!("agents/{agent}.agent.yaml"),
            format!("id: {agent}\ntype: executor\nmodel: m\n{may}\n"),
        );
    }
    for request in ["HAND well on", "HAND bad on", "PART"] {
        team.synod(&["run", request, "--to", "worker-1"]);
    }
    let up = team.up();
    team.fine(&["task", "add", "HAND slow on", "--to", "worker-1"]);
    until_so("it is handed on", || team.fine(&["graph"]).contains("waits for task-008, which it handed on"));
    team.fine(&["cancel", "task-008"]);
    let done = || team.mark("tasks/requests.task.md", "task-007") == Some(domain::task::Mark::Done);
    until_so("who asked knows", done);
    up.stop();
    let seen = |told: &[Value]| -> Vec<[String; 4]> {
        let field = |told: &Value, key: &str| told[key].as_str().unwrap_or_default().to_owned();
        let row = |told: &Value| {
            let content = field(told, "content").lines().next().unwrap().to_owned();
            let words = content.split(": ").next().unwrap().to_owned();
            [field(told, "from"), field(told, "to"), field(told, "in_reply_to"), words]
        };
        let mut rows: Vec<[String; 4]> = told.iter().map(row).collect();
        // Several of them may be of one moment.
        rows.sort();
        rows
    };
    let expected = |task: &str, by: &str, end: &str| {
        let began = ["agent:worker-1", "worker-2", "", &format!("Task {task}")].map(str::to_owned);
        let mut rows = [began, [by, "worker-1", task, end].map(str::to_owned)];
        rows.sort();
        rows
    };
    let all = [
        expected("task-002", "agent:worker-2", "worker-2 has done task-002"),
        expected("task-004", "agent:worker-2", "worker-2 could not do task-004"),
        expected("task-006", "synod", "task-006 has ended."),
        expected("task-008", "agent:worker-2", "worker-2 no longer does, because it was cancelled, task-008"),
    ];
    for (task, expected) in ["task-002", "task-004", "task-006", "task-008"].iter().zip(&all) {
        let told = list(&team, &["--channel", "task", "--correlation", task]);
        assert_eq!(seen(&told), expected, "{task}");
        assert!(told.iter().all(|told| told["type"] == "task"), "{told:?}");
    }
    let told = list(&team, &["--channel", "task"]);
    assert_eq!(told.len(), 12, "those of a person as well: {told:?}");
    let tail = team.fine(&["message", "tail", "--all", "--channel", "task", "--limit", "12", "--json"]);
    let tail: Vec<Value> = tail.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(seen(&tail), seen(&told));
    assert_eq!(list(&team, &["--channel", "direct"]).len(), 0);
}

#[test]
fn what_conversations_do_stands_on_the_channel_state_with_the_reason() {
    let team = team(0);
    assert_eq!(list(&team, &["--channel", "state"]).len(), 0, "nothing has run");
    team.fine(&["message", "send", "worker-1", "ASK it"]);
    team.to_the_end();
    let moves = list(&team, &["--channel", "state", "--agent", "worker-1"]);
    let words: Vec<&str> = contents(&moves).iter().map(|text| text.split_once(": ").unwrap().0).collect();
    assert_eq!(words, ["working", "blocked", "working", "waiting"]);
    assert!(moves[1]["content"].as_str().unwrap().starts_with("blocked: waits for the answer to worker-1-"));
    assert_eq!(
        ["from", "to", "channel", "type"].map(|key| moves[1][key].as_str().unwrap()),
        ["agent:worker-1", "state", "state", "state_change"]
    );
    assert!(moves.iter().all(|told| told["receiver"].is_null() && told["timestamp"].is_string()));
    assert_eq!(list(&team, &["--channel", "state", "--limit", "1"]).len(), 1);
    assert!(list(&team, &[]).iter().all(|told| told["channel"] != "state"), "only who asks for it sees it");
    let tail = team.fine(&["message", "tail", "--all", "--channel", "state", "--limit", "2", "--json"]);
    let told: Vec<Value> = tail.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told[0]["content"], moves[0]["content"]);
    let shown = team.fine(&["message", "list", "--channel", "state"]);
    assert!(shown.contains("agent:worker-1 → state"), "{shown}");
}

#[test]
fn a_channel_reaches_who_listens_and_nobody_else() {
    let team = team(0);
    for (agent, channels) in [("worker-2", "[ops]"), ("worker-3", "[ops, night]"), ("worker-4", "[night]")] {
        let text = format!("id: {agent}\ntype: executor\nmodel: m\nchannels: {channels}\n");
        team.write(&format!("agents/{agent}.agent.yaml"), &text);
    }
    team.fine(&["check"]);
    team.fine(&["message", "send", "worker-2", "tell OPS"]);
    team.to_the_end();
    assert_eq!(team.talk("worker-2").last().unwrap().content, "It says: sent to 1 agents");
    assert_eq!(team.talk("worker-3")[0].content, "the disk is full");
    assert!(team.sessions("worker-1").is_empty() && team.sessions("worker-4").is_empty());
    team.fine(&["message", "send", "#night", "Good night."]);
    team.to_the_end();
    let told = list(&team, &["--channel", "#night"]);
    assert_eq!(told, list(&team, &["--channel", "night"]));
    let whom: Vec<&str> = told.iter().map(|told| told["receiver"].as_str().unwrap()).collect();
    assert_eq!((whom, &told[0]["to"]), (vec!["worker-3", "worker-4"], &Value::from("#night")));
    assert!(team.talk("worker-4")[1].content.starts_with("Heard: [request of person:tess, to #night]\n"));
    let ran = team.synod(&["message", "send", "#day", "Good day."]);
    let says = "nobody else listens to #day; there are: #night, #ops";
    assert_eq!((ran.code, ran.stderr.contains(says)), (1, true), "{}", ran.stderr);
    team.write("agents/worker-5.agent.yaml", "id: worker-5\ntype: executor\nmodel: m\nchannels: [state]\n");
    let ran = team.synod(&["check"]);
    assert_eq!(
        (ran.code, ran.stdout.contains("agents do not listen to `state`")),
        (1, true),
        "{}",
        ran.stdout
    );
}

#[test]
fn what_an_agent_needs_and_who_helps_stand_on_channels_of_their_own() {
    let team = team(0);
    team.write("agents/worker-2.agent.yaml", "id: worker-2\ntype: executor\nmodel: m\nchannels: [help]\n");
    team.fine(&["check"]);
    team.fine(&["message", "send", "worker-1", "STUCK"]);
    team.to_the_end();
    team.fine(&["message", "send", "worker-1", "lend a HAND"]);
    team.to_the_end();
    let seen = |channel: &str| {
        let told = list(&team, &["--channel", channel]);
        let shown = |told: &Value| ["from", "to", "type"].map(|key| told[key].as_str().unwrap().to_owned());
        told.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(
        seen("dependency"),
        [
            ["agent:worker-1", "worker-2", "dependency_request"],
            ["agent:worker-2", "worker-1", "dependency_resolution"]
        ]
    );
    assert_eq!(
        seen("help"),
        [["agent:worker-1", "#help", "help_request"], ["agent:worker-2", "worker-1", "help_response"]]
    );
    // The files alone say so, too.
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    assert_eq!((seen("dependency").len(), seen("help").len()), (2, 2));
    team.fine(&["message", "send", "#help", "Who is there?"]);
    team.to_the_end();
    assert_eq!(seen("help")[2], ["person:tess", "#help", "help_request"]);
    team.fine(&["check"]);
}

#[test]
fn why_a_conversation_was_over_does_not_stand_in_one_that_goes_on() {
    let team = Team::scripted("rules:\n  - {matches: \"good*\", text: fine}\n");
    team.fine(&["message", "send", "worker-1", "bad"]);
    assert_eq!(team.pump(), 1);
    let session = team.sessions("worker-1").remove(0);
    assert!(team.read(&session).contains("reason: "), "{}", team.read(&session));
    let id = session.trim_start_matches("sessions/").trim_end_matches(".session.yaml");
    team.fine(&["message", "send", id, "good day"]);
    team.to_the_end();
    let text = team.read(&session);
    assert!(text.contains("reason: ''") && text.contains("status: sleeping"), "{text}");
    assert_eq!(contents(&list(&team, &["--from", "worker-1"])).last(), Some(&"fine"));
}

/// Worker 1 asks worker 2, who takes its time; what it says then ends its task.
const ASKS_AND_GOES_ON: &str = r##"rules:
  - {agent: worker-1, tool_result: "*", text: "I asked"}
  - {agent: worker-1, matches: "*ASK*", answer: {calls: [{tool: send_message, arguments: {to: worker-2, content: "how full?"WAIT}}]}}
  - {agent: worker-2, text: "92 %", delay_ms: DELAY}
  - text: "Heard: {last}"
"##;

#[test]
fn a_request_whose_journal_is_lost_is_answered_from_the_files() {
    for wait in ["", ", wait_ms: 600000"] {
        let rules = |delay: &str| ASKS_AND_GOES_ON.replace("WAIT", wait).replace("DELAY", delay);
        let team = Team::scripted(&rules("600000"));
        team.write("agents/worker-2.agent.yaml", "id: worker-2\ntype: executor\nmodel: m\n");
        let up = team.up();
        team.fine(&["task", "add", "ASK it", "--to", "worker-1", "--file", "work.task.md"]);
        // A session's head is there a moment before what is said in it.
        let asked = || !team.sessions("worker-2").is_empty() && !team.talk("worker-2").is_empty();
        until_so("the other is asked", asked);
        if wait.is_empty() {
            until_so("who asked has said so", || team.talk("worker-1").len() == 4);
        }
        up.kill();
        std::fs::remove_dir_all(team.at(".synod")).unwrap();
        team.write("models/s.yaml", rules("0"));
        team.to_the_end();
        let done = team.tasks("tasks/work.task.md").remove(0);
        assert_eq!(done.mark, domain::task::Mark::Done, "{}", team.read("tasks/work.task.md"));
        let told = list(&team, &["--from", "worker-2"]);
        assert_eq!(contents(&told), ["92 %"], "once");
        assert!(team.last_words("worker-1").contains("92 %"));
    }
}

#[test]
fn last_words_that_stand_nowhere_else_reach_who_asked_when_the_journal_is_lost() {
    let rules = |delay: &str| ASKS_AND_GOES_ON.replace("WAIT", "").replace("DELAY", delay);
    let team = Team::scripted(&rules("600000"));
    team.write("agents/worker-2.agent.yaml", "id: worker-2\ntype: executor\nmodel: m\n");
    let up = team.up();
    team.fine(&["task", "add", "ASK it", "--to", "worker-1", "--file", "work.task.md"]);
    let said = || !team.sessions("worker-1").is_empty() && team.talk("worker-1").len() == 4;
    until_so("who asked has said so, before the answer", said);
    up.kill();
    team.write("models/s.yaml", rules("0"));
    team.to_the_end();
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    // As a power cut leaves them: who was asked has answered, and who asked has not heard of it.
    let session = team.sessions("worker-1").remove(0);
    let text = team.read(&session);
    let heard = text.find("  - id: m-0005").unwrap();
    team.write(&session, text[..heard].replace("status: completed", "status: sleeping"));
    let tasks = team.read("tasks/work.task.md");
    let begun = tasks.find("  completed:").unwrap();
    team.write("tasks/work.task.md", tasks[..begun].replace("[x]", "[/]"));
    team.to_the_end();
    assert_eq!(team.tasks("tasks/work.task.md")[0].mark, domain::task::Mark::Done);
    assert!(team.last_words("worker-1").contains("92 %"), "{}", team.read(&session));
    // And with nobody left who could answer, it is asked what came of it.
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    std::fs::remove_file(team.at(&team.sessions("worker-2")[0])).unwrap();
    team.write(&session, text[..heard].replace("status: completed", "status: sleeping"));
    team.write("tasks/work.task.md", tasks[..begun].replace("[x]", "[/]"));
    team.to_the_end();
    assert_eq!(team.tasks("tasks/work.task.md")[0].mark, domain::task::Mark::Done);
    assert!(team.last_words("worker-1").contains("do not say what came of this task"));
}

#[test]
fn a_person_reaches_all_agents_and_an_unknown_one_is_an_error() {
    let team = team(0);
    let up = team.up();
    let tail = team.start(&["message", "tail", "--all", "--limit", "2", "--json"]);
    let sent = team.fine(&["message", "send", "broadcast", "We stop at five.", "--priority", "critical"]);
    assert!(sent.starts_with("sent to broadcast, in worker-1-") && sent.contains(", worker-2-"), "{sent}");
    let told = tail.wait();
    assert_eq!((told.code, told.stdout.lines().count()), (0, 2), "{}", told.stderr);
    for agent in ["worker-1", "worker-2"] {
        until_so("it answers", || team.sessions(agent).len() == 1 && team.talk(agent).len() == 2);
        let heard = &team.talk(agent)[1].content;
        assert!(heard.starts_with("Heard: [request of person:tess, to all, priority critical]\n"), "{heard}");
    }
    let ran = team.synod(&["message", "send", "worker-9", "hello"]);
    assert_eq!((ran.code, ran.stderr.contains("there is no agent worker-9")), (1, true), "{}", ran.stderr);
    let ran = team.synod(&["message", "send", "worker-1", "hello", "--priority", "huge"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    up.stop();
}

#[test]
fn an_agent_that_tells_all_reaches_the_others_and_a_wrong_name_is_corrected() {
    let team = team(0);
    team.fine(&["message", "send", "worker-1", "tell ALL"]);
    team.to_the_end();
    assert_eq!(team.talk("worker-2")[0].content, "the disk is full");
    assert_eq!(team.talk("worker-1").last().unwrap().content, "It says: sent to 1 agents");
    team.fine(&["message", "send", "worker-1", "LOST"]);
    team.to_the_end();
    assert_eq!(
        team.talk("worker-1").last().unwrap().content,
        "It says: there is no agent worker-3; did you mean worker-1? There are: worker-1, worker-2"
    );
}

#[test]
fn a_kill_between_request_and_answer_loses_and_doubles_nothing() {
    let team = team(400);
    let up = team.up();
    team.fine(&["message", "send", "worker-1", "ASK it"]);
    until("the request stands", || team.sessions("worker-2").first().map(|path| team.messages(path).len()));
    up.kill();
    let up = team.up();
    until_so("the answer is there", || {
        team.talk("worker-1").last().is_some_and(|last| last.content == "It says: 92 %")
    });
    up.stop();
    let said: Vec<String> = team.talk("worker-1").into_iter().map(|m| m.content).collect();
    assert_eq!(said, ["ASK it", "", "92 %", "It says: 92 %"]);
    let heard: Vec<String> = team.talk("worker-2").into_iter().map(|m| m.content).collect();
    assert_eq!(heard, ["how full is the disk?", "92 %"]);
    team.is_in_order();
}

#[test]
fn tail_follows_whoever_writes_also_a_home_that_never_ran_and_a_journal_that_begins_anew() {
    let team = team(0);
    let tail = team.start(&["message", "tail", "--all", "--from", "person:tess", "--limit", "3", "--json"]);
    // Nobody works there: commands write the journal themselves.
    team.fine(&["message", "send", "worker-1", "one"]);
    tail.says("\"content\":\"one\"");
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    team.fine(&["message", "send", "worker-1", "two"]);
    tail.says("\"content\":\"two\"");
    let up = team.up();
    team.fine(&["message", "send", "worker-2", "three"]);
    let told = tail.wait();
    assert_eq!((told.code, told.stdout.lines().count()), (0, 3), "{}{}", told.stdout, told.stderr);
    assert!(told.stdout.lines().last().unwrap().contains("\"content\":\"three\""), "{}", told.stdout);
    up.stop();
}

/// Worker 1 asks worker 2 something else each time, and waits for its last words.
fn asking(times: usize) -> Team {
    let mut rules = "rules:\n  - tool_result: \"*\"\n    text: \"It says: {last}\"\n".to_owned();
    for n in 1..=times {
        let arguments = format!("{{to: worker-2, content: \"how full {n}\", wait_ms: 600000}}");
        rules.push_str(&format!(
            "  - matches: \"*ASK {n}*\"\n    answer: {{calls: [{{tool: send_message, arguments: {arguments}}}]}}\n  \
             - matches: \"*how full {n}*\"\n    answer: {{text: \"{n} %\", delay_ms: 20}}\n"
        ));
    }
    let team = Team::scripted(&rules);
    team.write("agents/worker-2.agent.yaml", "id: worker-2\ntype: executor\nmodel: m\n");
    team
}

/// How far the team is, as a person sees it: what is logged and what is said.
fn so_far(team: &Team) -> u64 {
    let said = ["worker-1", "worker-2"].into_iter().flat_map(|agent| team.sessions(agent));
    let said: usize = said.map(|path| team.messages(&path).len()).sum();
    (team.read("log/audit.jsonl").lines().count() + said) as u64
}

/// A sleeping agent is woken in its own conversation, and what it says last reaches who asked, each once: `talk` finds
/// one conversation of each, and they are compared whole.
#[test]
fn killed_at_any_moment_every_message_is_heard_once_and_every_last_word_arrives() {
    const TIMES: usize = 3;
    let seeds = std::env::var("SYNOD_MESSAGE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    for seed in 1..=seeds {
        let team = asking(TIMES);
        let mut chance: u64 = seed;
        let mut kills = 0;
        for n in 1..=TIMES {
            team.fine(&["message", "send", "worker-1", &format!("ASK {n}")]);
            let is_said = || {
                let own = team.sessions("worker-1").into_iter().flat_map(|path| team.messages(&path));
                own.map(|message| message.content).any(|words| words == format!("It says: {n} %"))
            };
            let mut moment = so_far(&team);
            for _ in 0..4 {
                moment += pick(&mut chance, 4);
                let process = team.start(&["pump"]);
                until_so("the moment comes", || so_far(&team) >= moment || is_said());
                process.kill();
                kills += 1;
                if is_said() {
                    break;
                }
            }
            team.to_the_end();
        }
        println!("seed {seed}: killed {kills} times");
        let said = |agent: &str| team.talk(agent).into_iter().map(|m| m.content).collect::<Vec<String>>();
        let asked =
            |n| [format!("ASK {n}"), String::new(), format!("{n} %"), format!("It says: {n} %")].to_vec();
        assert_eq!(said("worker-1"), (1..=TIMES).flat_map(asked).collect::<Vec<_>>(), "seed {seed}");
        let told = |n| [format!("how full {n}"), format!("{n} %")];
        assert_eq!(said("worker-2"), (1..=TIMES).flat_map(told).collect::<Vec<_>>(), "seed {seed}");
        team.is_in_order();
    }
}

#[test]
fn who_speaks_to_an_agent_at_work_is_told_where_it_is_heard_there() {
    let team = Team::scripted(
        "rules:\n  - matches: \"Task *\"\n    delay_ms: 600000\n    text: never\n  - text: Hello.\n",
    );
    team.write("agents/worker-1.agent.yaml", "id: worker-1\ntype: executor\nmodel: m\n");
    let up = team.up();
    team.fine(&["task", "add", "Look", "--to", "worker-1"]);
    until_so("it works", || team.sessions("worker-1").len() == 1);
    let session = team.sessions("worker-1")[0].clone();
    let session = session.trim_start_matches("sessions/").trim_end_matches(".session.yaml");
    until_so("the task says so", || team.read("tasks/requests.task.md").contains(session));
    let said = team.fine(&["message", "send", "worker-1", "How far are you?"]);
    let hint =
        format!("worker-1 is at work on task-001, and hears you there by `synod message send {session} …`\n");
    assert!(said.starts_with("sent to worker-1, in worker-1-") && said.ends_with(&hint), "{said}");
    let said = team.fine(&["message", "send", session, "How far are you?"]);
    assert_eq!(said, format!("sent to {session}\n"));
    up.kill();
}
