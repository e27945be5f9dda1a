//! The scripted model, rule by rule.

use domain::id::CallId;
use domain::session::{Message, Speaker};
use domain::tool::{Act, Call, ExecuteCommand, Want};
use testkit::contract;
use testkit::model::{message, request, result};

use super::*;

fn scripted(yaml: &str) -> Scripted {
    let read = formats::script::read("script.yaml", yaml);
    assert_eq!(read.diagnostics, [], "{yaml}");
    Scripted::new("script.yaml", read.value.unwrap())
}

fn user(text: &str) -> Message {
    message(Speaker::User, text)
}

fn assistant(text: &str) -> Message {
    message(Speaker::Assistant, text)
}

fn calling(id: &str, act: Act) -> Message {
    let call = Call { id: CallId::new(id), arguments: String::new(), want: Want::Act(act), seen: None };
    Message { calls: vec![call], ..assistant("") }
}

async fn text(model: &Scripted, agent: &str, messages: &[Message]) -> String {
    model
        .ask(request(agent, messages.to_vec()))
        .await
        .map_or_else(|e| format!("error: {e}"), |reply| reply.text)
}

#[tokio::test]
async fn the_scripted_model_keeps_the_contract() {
    contract::model::holds(&scripted("rules:\n- answer: yes\n")).await;
    contract::model::holds(&scripted("rules:\n- {agent: nobody, answer: yes}\n")).await;
}

#[tokio::test]
async fn the_first_rule_that_fits_answers() {
    let model = scripted(
        "rules:\n\
         - {agent: 'coder-*', matches: 'build *', answer: 'building {match:1}'}\n\
         - {agent: 'coder-*', turn: 2, answer: second turn}\n\
         - {from: 'person:*', answer: 'hello person'}\n\
         - {matches: disk, answer: 'you said: {last}'}\n\
         - {agent: last-resort, answer: anything}\n",
    );
    let from_dana = Message { from: Some(domain::Actor::person("dana")), ..user("hi") };
    for (agent, messages, expected) in [
        ("coder-001", vec![user("build the tower")], "building the tower"),
        ("coder-001", vec![user("x"), assistant("y"), user("z")], "second turn"),
        ("planner", vec![from_dana], "hello person"),
        ("planner", vec![user("the disk is full")], "you said: the disk is full"),
        ("last-resort", vec![], "anything"),
    ] {
        assert_eq!(text(&model, agent, &messages).await, expected);
    }
}

#[tokio::test]
async fn a_rule_for_a_tools_result_finds_the_tool_by_the_call() {
    let model = scripted(
        "rules:\n\
         - {tool_result: execute_command, answer: 'it printed {last}'}\n\
         - {tool_result: '*', answer: another tool}\n\
         - {answer: no tool}\n",
    );
    let run = Act::ExecuteCommand(ExecuteCommand { command: "df".to_owned() });
    let read = Act::read_file("a");
    let said = vec![user("go"), calling("c1", run), result("c1", "full")];
    assert_eq!(text(&model, "a", &said).await, "it printed full");
    assert_eq!(
        text(&model, "a", &[user("go"), calling("c1", read.clone()), result("c1", "x")]).await,
        "another tool"
    );
    assert_eq!(text(&model, "a", &[user("go"), result("unknown", "x")]).await, "no tool");
    // An id used again means its last use.
    let again = [said.as_slice(), &[calling("c1", read), result("c1", "x")]].concat();
    assert_eq!(text(&model, "a", &again).await, "another tool");
    // Once a person has spoken, a result is not the last word any more.
    assert_eq!(text(&model, "a", &[said, vec![user("stop")]].concat()).await, "no tool");
}

#[tokio::test]
async fn answers_follow_each_other_and_a_restart_changes_nothing() {
    let yaml = "rules:\n\
                - {matches: count, answers: [one, two, three]}\n\
                - {matches: other, answers: [uno, dos], once: true}\n\
                - {answer: else}\n";
    let old = scripted(yaml);
    let mut messages = Vec::new();
    let mut heard = Vec::new();
    for say in ["count", "other", "count", "else", "count", "other", "other", "count"] {
        messages.push(user(say));
        let answer = text(&old, "a", &messages).await;
        assert_eq!(text(&scripted(yaml), "a", &messages).await, answer, "a new process says the same");
        assert_eq!(text(&old, "a", &messages).await, answer, "so does the same one asked again");
        messages.push(assistant(&answer));
        heard.push(answer);
    }
    assert_eq!(heard, ["one", "uno", "two", "else", "three", "dos", "else", "three"]);
    // Another conversation starts from the first answer.
    assert_eq!(text(&old, "a", &[user("count")]).await, "one");
}

#[tokio::test]
async fn errors_before_an_answer_are_given_once_each() {
    let yaml = "rules:\n- answers:\n  - {error: {message: busy, retry_after_ms: 50}}\n  - {error: {message: again, retry_after_ms: 0}}\n  - fine\n  - {error: broken}\n  - good\n";
    let model = scripted(yaml);
    let first = request("a", vec![user("go")]);
    let ask = |request: &Request| model.ask(request.clone());
    assert_eq!(ask(&first).await.unwrap_err().kind, ErrorKind::Retry { after_ms: 50 });
    assert_eq!(ask(&first).await.unwrap_err().kind, ErrorKind::Retry { after_ms: 0 });
    assert_eq!(ask(&first).await.unwrap().text, "fine");
    assert_eq!(ask(&first).await.unwrap().text, "fine");
    let second = request("a", vec![user("go"), assistant("fine"), user("on")]);
    assert_eq!(ask(&second).await.unwrap_err(), ModelError::new(ErrorKind::GiveUp, "broken".to_owned()));
    assert_eq!(ask(&second).await.unwrap().text, "good");
    let third = request("a", [second.messages, vec![assistant("good"), user("on")]].concat());
    assert_eq!(ask(&third).await.unwrap().text, "good");
    let only = scripted("rules:\n- {error: down}\n");
    for _ in 0..3 {
        assert_eq!(only.ask(first.clone()).await.unwrap_err().message, "down");
    }
}

#[tokio::test]
async fn calls_are_filled_and_have_ids_of_their_turn() {
    let model = scripted(
        "rules:\n- matches: 'write *'\n  calls:\n  - {tool: write_file, arguments: {path: a, content: '{match:1}'}}\n  - {tool: read_file, arguments: '{broken'}\n",
    );
    let reply = model.ask(request("a", vec![user("x"), assistant("y"), user("write \"it\"")])).await.unwrap();
    let call = |id: &str, name: &str, arguments: &str| RawCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    assert_eq!(
        reply.calls,
        [
            call("call-2-1", "write_file", r#"{"content":"\"it\"","path":"a"}"#),
            call("call-2-2", "read_file", "{broken"),
        ]
    );
    assert!(reply.usage.tokens_in > 0 && reply.usage.tokens_out > 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_takes_its_time() {
    let model = scripted("rules:\n- {text: late, delay_ms: 90s}\n");
    let before = tokio::time::Instant::now();
    assert_eq!(text(&model, "a", &[user("x")]).await, "late");
    assert_eq!(before.elapsed().as_secs(), 90);
}

#[tokio::test]
async fn what_no_rule_fits_is_said_with_agent_text_and_file() {
    let model = scripted("rules:\n- {agent: other, answer: x}\n");
    let error = model.ask(request("coder-001", vec![user("what now?")])).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::GiveUp);
    let told =
        "no rule of script.yaml fits coder-001 in turn 1, told last: \"what now?\". A script plays a model; ";
    assert!(error.message.starts_with(told), "{}", error.message);
    let error = model.ask(request("coder-001", vec![user(&"x".repeat(5_000))])).await.unwrap_err();
    assert!(error.message.len() < 400);
}

#[tokio::test]
async fn rules_that_never_answered_are_named() {
    let yaml = "rules:\n- {matches: one, answer: x}\n- {matches: two, answer: x}\n- {agent: b, answer: x}\n";
    let model = scripted(yaml);
    let unused = |line, agent: Option<&str>, matches: Option<&str>| Unused {
        file: "script.yaml".to_owned(),
        line,
        agent: agent.map(str::to_owned),
        matches: matches.map(str::to_owned),
    };
    assert_eq!(
        model.unmatched(),
        [unused(2, None, Some("one")), unused(3, None, Some("two")), unused(4, Some("b"), None)]
    );
    // The first rule answered before this process began.
    text(&model, "a", &[user("one"), assistant("x"), user("two")]).await;
    assert_eq!(model.unmatched(), [unused(4, Some("b"), None)]);
}
