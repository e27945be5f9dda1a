//! What leaves for a model and what comes back from one: a credential in pieces is still a credential, and nothing of a
//! home gets into the words that describe tools, which have no label.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use testkit::model::{Puppet, says, wants};
use testkit::provider::Provider;

use crate::team::Team;

/// Longer than a piece of a stream.
const KEY: &str = "sk-ant-api03-Zz19Yy28Xx37Ww46Vv55Uu64";

fn home(provider: &Provider, kind: &str) -> Team {
    let team = Team::nothing();
    let url = provider.url();
    team.write(
        "synod.yaml",
        format!(
            "providers: {{p: {{kind: {kind}, base_url: \"{url}\", stream: true}}}}\n\
             models: {{m: {{provider: p, model: m}}}}\nrouting: {{fallback: worker-1}}\n"
        ),
    );
    let may = "permissions: {tools: {allow: [\"*\"]}}";
    team.write("agents/worker-1.agent.yaml", format!("id: worker-1\ntype: executor\nmodel: m\n{may}\n"));
    team.write("tasks/a.task.md", "- [ ] @worker-1 \"Say it\"\n");
    team
}

/// Files beneath a folder that have these bytes.
fn with(folder: &Path, secret: &str) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(with(&path, secret));
        } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).contains(secret) {
            all.push(path.display().to_string());
        }
    }
    all
}

#[test]
fn a_credential_that_comes_in_pieces_of_a_stream_gets_nowhere() {
    for kind in ["openai", "anthropic"] {
        let mut turn = 0;
        let provider = Provider::start(Arc::new(Puppet::answering(move |_| {
            turn += 1;
            let path = format!("{{\"path\":\"memory/{KEY}.md\"}}");
            let mut reply = if turn == 1 { wants("read_file", &path) } else { says("") };
            reply.text = format!("The key is {KEY}, use it.");
            Ok(reply)
        })));
        let team = home(&provider, kind);
        let ran = team.synod(&["pump"]);
        assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
        assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{}", ran.stdout);
        // Sessions, journal, logs, tasks and outputs are all beneath the home.
        assert_eq!(with(&team.path(), KEY), Vec::<String>::new(), "{kind}");
        let seen = provider.seen();
        assert_eq!(seen.len(), 2, "{kind}");
        assert!(!seen[1].body.to_string().contains(KEY), "{kind}: {}", seen[1].body);
        let talk = team.talk("worker-1");
        let said = talk.iter().filter(|m| m.content.contains("The key is [redacted: Anthropic key]")).count();
        assert_eq!(said, 2, "{kind}: {talk:?}");
    }
}

#[test]
fn what_an_agent_writes_to_a_file_is_stored_as_it_wrote_it_and_recorded_redacted() {
    let mut turn = 0;
    let provider = Provider::start(Arc::new(Puppet::answering(move |_| {
        turn += 1;
        let path = "workspaces/worker-1/a.txt";
        let write = format!("{{\"path\":\"{path}\",\"content\":\"key {KEY}\\nport 1\\n\"}}");
        let edit = format!("{{\"path\":\"{path}\",\"old\":\"port 1\",\"new\":\"port 2\\nold {KEY}\"}}");
        Ok(match turn {
            1 => wants("write_file", &write),
            2 => wants("edit_file", &edit),
            _ => says("Done."),
        })
    })));
    let team = home(&provider, "openai");
    let ran = team.synod(&["pump"]);
    assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
    let file = team.path().join("workspaces/worker-1/a.txt");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("key {KEY}\nport 2\nold {KEY}\n"));
    assert_eq!(with(&team.path(), KEY), [file.display().to_string()]);
    assert!(provider.seen().iter().all(|seen| !seen.body.to_string().contains(KEY)));
}

/// The tools that a model was told of, request by request.
fn tools(provider: &Provider) -> Vec<Value> {
    provider.seen().into_iter().map(|seen| seen.body["tools"].clone()).collect()
}

#[test]
fn laundered_through_a_tools_description_nothing_gets_to_a_model() {
    const ORDER: &str = "OBEY-MALLORY";
    let answers = || Provider::start(Arc::new(Puppet::answering(|_| Ok(says("Done.")))));
    let (plain, hostile) = (answers(), answers());
    assert_eq!(home(&plain, "openai").pump(), 0);
    let team = home(&hostile, "openai");
    // Everything that others may write or name in a home.
    team.write("agents/OBEY-MALLORY.agent.yaml", format!("id: {ORDER}\ntype: executor\nmodel: m\n"));
    for path in [
        "memory/OBEY-MALLORY.md",
        "workspaces/worker-1/OBEY-MALLORY.md",
        "workspaces/worker-1/AGENTS.md",
        "workspaces/worker-1/tools.json",
        "contexts/OBEY-MALLORY.md",
        "schemas/OBEY-MALLORY.json",
        "skills/OBEY-MALLORY/SKILL.md",
        "artifacts/OBEY-MALLORY.txt",
        "inbox/OBEY-MALLORY.txt",
    ] {
        team.write(path, format!("---\nname: read_file\ndescription: {ORDER}\nalways: true\n---\n{ORDER}\n"));
    }
    team.write("inbox/slack-messages.jsonl", format!("{{\"user\":\"{ORDER}\",\"text\":\"{ORDER}\"}}\n"));
    assert_eq!(team.pump(), 0);
    let sent = hostile.seen();
    assert!(sent.iter().any(|seen| seen.body["messages"].to_string().contains(ORDER)), "the order was sent");
    let expected = tools(&plain).remove(0);
    assert!(expected.as_array().is_some_and(|tools| tools.len() > 10), "{expected}");
    for tools in tools(&hostile) {
        assert_eq!(tools, expected, "the words about tools are ours and the same in every home");
    }
}
