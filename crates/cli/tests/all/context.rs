//! Conversations that outgrow a tiny window: role and goal in every request, every turn summarised once, killed in
//! the middle and without its journal.

use std::sync::Arc;
use std::time::Duration;

use domain::session::Speaker;
use formats::session::MessageItem;
use ports::model::{ErrorKind, ModelError, RawCall, Reply, Request};
use serde_json::Value;
use testkit::model::{Puppet, says};
use testkit::provider::{Fault, Provider};

use crate::team::{Team, until_so};

/// So many turns until the agent has had enough.
const TURNS: usize = 60;
const GOAL: &str = "count the moons of Jupiter";

/// Reads on and on, says where it is, and summarises when it is asked to.
fn reader(request: &Request) -> Reply {
    let last = request.messages.last().map_or("", |m| m.content.as_str());
    if last.contains("Write the summary.") {
        let seen: Vec<&str> = last.split(['[', ' ']).filter(|word| word.starts_with("m-0")).collect();
        return says(&format!("NOTES up to {}", seen.last().unwrap_or(&"nothing")));
    }
    let number =
        |text: &str| text.trim_start().strip_prefix("1\tpage ")?.split(' ').next()?.parse::<usize>().ok();
    let next = request.messages.iter().rev().find_map(|m| number(&m.content)).map_or(1, |page| page + 1);
    if next > TURNS {
        return says("There are enough moons.");
    }
    let call = RawCall {
        id: format!("call-{next}"),
        name: "read_file".to_owned(),
        arguments: format!("{{\"path\":\"memory/pages/{next}.txt\"}}"),
    };
    Reply { calls: vec![call], ..says("") }
}

fn team(provider: &Provider) -> Team {
    let team = Team::nothing();
    let url = provider.url();
    team.write(
        "synod.yaml",
        format!(
            "providers: {{p: {{kind: openai, base_url: \"{url}\", stream: false}}}}\n\
             models: {{m: {{provider: p, model: m, context_tokens: 4000}}}}\n\
             limits: {{turns_max: 100}}\nrouting: {{fallback: worker-1}}\n"
        ),
    );
    team.write(
        "agents/worker-1.agent.yaml",
        "id: worker-1\ntype: retriever\nmodel: m\nsystem_prompt: You only ever count.\n\
         permissions: {tools: {allow: [read_file]}, concurrency: {task_timeout_ms: 600000}}\n",
    );
    for page in 1..=TURNS {
        team.write(&format!("memory/pages/{page}.txt"), format!("page {page} {}", "io europa ".repeat(60)));
    }
    team
}

/// All text of a request.
fn words(body: &Value) -> String {
    body["messages"].as_array().unwrap().iter().map(|m| m["content"].to_string() + "\n").collect()
}

fn is_summary(body: &Value) -> bool {
    words(body).contains("Write the summary.")
}

fn summaries(talk: &[MessageItem]) -> Vec<&MessageItem> {
    talk.iter().filter(|m| m.summary_through.is_some()).collect()
}

/// Role and goal are in every request, tools in all but summaries, and what is sent fits.
fn requests_are_right(provider: &Provider) {
    for seen in provider.seen() {
        let text = words(&seen.body);
        assert!(text.contains(GOAL), "the goal: {text}");
        assert!(text.contains("worker-1, an agent with the role retriever"), "the role: {text}");
        assert!(is_summary(&seen.body) || text.contains("You only ever count."), "{text}");
        assert_eq!(is_summary(&seen.body), seen.body["tools"].as_array().is_none_or(Vec::is_empty));
        assert!(text.len() < 4_000 * 5, "{} bytes", text.len());
    }
}

/// No message was shown to be summarised in two requests that were answered.
fn each_turn_is_summarised_once(talk: &[MessageItem]) {
    let numbers: Vec<u32> = summaries(talk)
        .iter()
        .map(|m| m.summary_through.as_ref().unwrap().as_str()[2..].parse().unwrap())
        .collect();
    assert!(numbers.len() >= 2, "the window is small enough: {numbers:?}");
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
}

/// What the tools said, but for the end of the task.
fn pages(talk: &[MessageItem]) -> Vec<String> {
    let results = talk.iter().filter(|m| m.speaker == Speaker::ToolResult);
    let results = results.filter(|m| !m.content.ends_with(" is reported done"));
    results.map(|m| m.content.trim_start().split(' ').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn a_long_conversation_keeps_role_and_goal_and_is_summarised_once() {
    let provider = Provider::start(Arc::new(Puppet::answering(|request| Ok(reader(request)))));
    let team = team(&provider);
    team.write("tasks/a.task.md", format!("- [ ] @worker-1 \"{GOAL}\"\n"));
    let ran = team.synod(&["pump"]);
    assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
    let talk = team.talk("worker-1");
    assert_eq!(
        pages(&talk),
        (1..=TURNS).map(|n| n.to_string()).collect::<Vec<_>>(),
        "every page once, all kept"
    );
    requests_are_right(&provider);
    each_turn_is_summarised_once(&talk);
    let asked = provider.seen().iter().filter(|seen| is_summary(&seen.body)).count();
    assert_eq!(asked, summaries(&talk).len(), "one call for each summary");
    // The next summary starts from the one before it.
    let second = provider.seen().into_iter().filter(|seen| is_summary(&seen.body)).nth(1).unwrap();
    assert!(words(&second.body).contains("NOTES up to"), "{}", words(&second.body));
    let text = team.read(&team.sessions("worker-1")[0]);
    assert!(text.contains("    summary_through: m-00"), "{text}");
    team.is_in_order();
}

#[test]
fn killed_in_the_middle_of_a_summary_it_goes_on() {
    let provider = Provider::start(Arc::new(Puppet::answering(|request| Ok(reader(request)))));
    let team = team(&provider);
    team.write("tasks/a.task.md", format!("- [ ] @worker-1 \"{GOAL}\"\n"));
    // No request after this one is answered: the first summary is asked for and never comes.
    let before = requests_before_the_first_summary();
    provider.misbehave(move |number| (number >= before).then_some(Fault::Silent));
    let process = team.start(&["pump"]);
    until_so("a summary is asked for", || provider.seen().iter().any(|seen| is_summary(&seen.body)));
    process.kill();
    let session = team.sessions("worker-1").remove(0);
    let kept = team.read(&session);
    assert!(summaries(&team.messages(&session)).is_empty());
    provider.misbehave(|_| None);
    assert_eq!(team.pump(), 0);
    let text = team.read(&session);
    assert!(text.contains(kept.split_once("messages:").unwrap().1.trim_end()), "nothing of it is lost");
    let talk = team.messages(&session);
    requests_are_right(&provider);
    each_turn_is_summarised_once(&talk);
    assert_eq!(pages(&talk).len(), TURNS);
}

/// The same team asks the same, so it is known when the first summary comes.
fn requests_before_the_first_summary() -> usize {
    let provider = Provider::start(Arc::new(Puppet::answering(|request| Ok(reader(request)))));
    let team = team(&provider);
    team.write("tasks/a.task.md", format!("- [ ] @worker-1 \"{GOAL}\"\n"));
    let process = team.start(&["pump"]);
    until_so("a summary is asked for", || provider.seen().iter().any(|seen| is_summary(&seen.body)));
    process.kill();
    provider.seen().iter().position(|seen| is_summary(&seen.body)).unwrap()
}

#[test]
fn without_its_journal_it_goes_on_from_the_summary_and_is_still_from_outside() {
    let provider = Provider::start(Arc::new(Puppet::answering(|request| Ok(reader(request)))));
    let team = team(&provider);
    let line = serde_json::json!({"user": "mallory", "text": GOAL}).to_string();
    team.write("inbox/slack-messages.jsonl", line + "\n");
    provider.delay(Duration::from_millis(15));
    let process = team.start(&["pump"]);
    let has_summary =
        || !team.sessions("worker-1").is_empty() && !summaries(&team.talk("worker-1")).is_empty();
    until_so("a summary stands in the file", has_summary);
    process.kill();
    provider.delay(Duration::ZERO);
    let before = team.talk("worker-1");
    assert!(pages(&before).len() < TURNS, "it was not over yet");
    std::fs::remove_dir_all(team.at(".synod")).unwrap();
    assert_eq!(team.pump(), 0);
    let talk = team.talk("worker-1");
    let kept = |talk: &[MessageItem]| -> Vec<_> {
        summaries(talk).iter().map(|m| (m.id.clone(), m.summary_through.clone(), m.content.clone())).collect()
    };
    assert!(kept(&talk).starts_with(&kept(&before)), "what was summarised stays summarised");
    each_turn_is_summarised_once(&talk);
    requests_are_right(&provider);
    for summary in summaries(&talk) {
        assert_eq!(summary.label.integrity, domain::label::Integrity::Outside, "{summary:?}");
    }
    let answer = talk.iter().rfind(|m| m.speaker == Speaker::Assistant).unwrap();
    assert_eq!(answer.label.integrity, domain::label::Integrity::Outside, "a summary launders nothing");
}

#[test]
fn a_provider_with_a_smaller_window_than_the_settings_say_is_found_out() {
    let provider = Provider::start(Arc::new(Puppet::answering(|request| {
        let bytes: usize =
            request.system.len() + request.messages.iter().map(|m| m.content.len()).sum::<usize>();
        let message = "maximum context length is 2000 tokens".to_owned();
        if bytes > 8_000 {
            return Err(ModelError::new(ErrorKind::TooLong, message));
        }
        Ok(reader(request))
    })));
    let team = team(&provider);
    team.write("tasks/a.task.md", format!("- [ ] @worker-1 \"{GOAL}\"\n"));
    assert_eq!(team.pump(), 0);
    assert_eq!(pages(&team.talk("worker-1")).len(), TURNS);
    requests_are_right(&provider);
}

#[test]
fn grants_are_checked_with_the_rest_of_the_home() {
    let team = Team::scripted("rules:\n  - answer: Done.\n");
    team.write("contexts/a.json", "{\"x\": {\"y\": 1}}");
    team.write("contexts/a.acl.yaml", "grants:\n  - {agent: worker-1, access: read_write, redact: [x.y]}\n");
    team.is_in_order();
    team.write("contexts/b.md", "text");
    team.write("contexts/b.acl.yaml", "grants:\n  - {agent: worker-2}\n  - {role: executer, redact: [x]}\n");
    let ran = team.synod(&["check"]);
    assert_eq!(ran.code, 1);
    for words in [
        "there is no agent `worker-2`",
        "there is no role `executer`",
        "did you mean `executor`?",
        "fields of a text cannot be hidden",
        "contexts/b.acl.yaml:3:12",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    assert!(team.fine(&["schema", "acl"]).contains("redact"));
}
