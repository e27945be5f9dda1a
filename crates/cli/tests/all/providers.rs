//! The same team with other providers: whoever answers, the files are the same.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use adapters::model::Scripted;
use testkit::provider::{Fault, Provider};

use crate::team::Team;

const AGENTS: [&str; 4] = ["planner-001", "retriever-001", "executor-001", "evaluator-001"];
const SCRIPT: &str = "models/team.script.yaml";
const TAPE: &str = "tapes/team.jsonl";
const SECRET: &str = "sk-test-3d9e";
const QUESTION: &str = r##"{"user":"@dana","channel":"#ops","text":"Is there enough disk space for the nightly backup?","timestamp":"2026-01-31T12:00:00Z"}
"##;

/// The team of the demo. Each agent has a model of its own name, so that a provider knows who asks.
fn team(provider: &str) -> Team {
    let team = Team::fresh();
    for path in [SCRIPT, "policy/commands.yaml"] {
        // How full the disk is changes from run to run; what stands in a file does not.
        let steady = team.read(path).replace("df -h --output=avail .", "cat avail.txt");
        team.write(path, steady.replace("    delay_ms: 120\n", ""));
    }
    team.write("workspaces/executor-001/avail.txt", "Avail\n  77G\n");
    let models: String =
        AGENTS.iter().map(|agent| format!("  {agent}: {{provider: p, model: {agent}}}\n")).collect();
    let settings = team.read("synod.yaml");
    let settings = settings.replace("  script: {kind: scripted, script: models/team.script.yaml}", provider);
    team.write("synod.yaml", settings.replace("  team: {provider: script, model: team}\n", &models));
    for agent in AGENTS {
        let path = format!("agents/{agent}.agent.yaml");
        let text = team.read(&path).replacen("model: team", &format!("model: {agent}"), 1);
        team.write(&path, text);
    }
    team.append("inbox/slack-messages.jsonl", QUESTION);
    team
}

fn scripted() -> Team {
    team("  p: {kind: scripted, script: models/team.script.yaml}")
}

/// A server that says what the team's script says.
fn server() -> Provider {
    let script = formats::script::read(SCRIPT, &scripted().read(SCRIPT)).value.unwrap();
    Provider::start(Arc::new(Scripted::new(SCRIPT, script)))
}

/// All that the team left behind, without what differs from run to run: times and digests, and the log,
/// which is a chain of both.
fn left(team: &Team) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    gather(&team.path(), &team.path(), &mut files);
    files.remove("synod.yaml");
    files.retain(|path, _| !path.starts_with("tapes/") && !path.starts_with("log/"));
    files
}

fn gather(home: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            gather(home, &path, files);
        } else {
            let relative = path.strip_prefix(home).unwrap().to_str().unwrap().to_owned();
            files.insert(relative, steady(&String::from_utf8_lossy(&std::fs::read(&path).unwrap())));
        }
    }
}

/// Takes out times such as `2026-01-31T12:00:00.000Z` and `1794796530580`, and
/// digests: those of an approval cover where the home stands.
fn steady(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || ":.-".contains(c);
    let mut steady = String::new();
    for word in text.split_inclusive(|c: char| !is_word(c)) {
        let bare = word.trim_end_matches(|c: char| !is_word(c)).trim_matches(':');
        let is_time = bare.len() >= 20 && bare.contains('T') && bare.ends_with('Z');
        // The workspace of an approval is named by its device and inode.
        let is_place = bare.split_once(':').is_some_and(|(device, inode)| {
            inode.len() >= 4
                && [device, inode].iter().all(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
        });
        let is_ms = bare.len() == 13 && bare.chars().all(|c| c.is_ascii_digit());
        if is_place || (bare.len() == 64 && bare.chars().all(|c| c.is_ascii_hexdigit())) {
            steady.push_str(&word.replace(bare, "digest"));
            continue;
        }
        match is_time || is_ms {
            true => steady.push_str(&word.replace(bare, "time")),
            false => steady.push_str(word),
        }
    }
    steady
}

fn assert_same(one: &Team, other: &Team, what: &str) {
    let (one, other) = (left(one), left(other));
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other), "{what}");
    for (path, text) in &one {
        assert_eq!(text, &other[path], "{path}, {what}");
    }
}

#[test]
fn the_same_team_leaves_the_same_files_whichever_provider_answers() {
    let expected = scripted();
    expected.to_the_end();
    assert_eq!(expected.sent().len(), 1);
    let server = server();
    let url = server.url();
    for (kind, stream) in [("openai", true), ("openai", false), ("anthropic", true), ("anthropic", false)] {
        let team = team(&format!("  p: {{kind: {kind}, base_url: '{url}', stream: {stream}}}"));
        team.to_the_end();
        team.is_in_order();
        assert_same(&expected, &team, &format!("{kind}, stream: {stream}"));
    }
    assert!(server.seen().len() > 40, "the server was really asked");
}

#[test]
fn a_recorded_run_replays_without_the_provider_and_no_key_is_left_anywhere() {
    let server = server();
    let url = server.url();
    let endpoint = format!("  real: {{kind: openai, base_url: '{url}', key: {{file: ../key}}}}");
    let recorded = team(&format!("{endpoint}\n  p: {{kind: record, tape: {TAPE}, of: real}}"));
    let key = recorded.at("../key");
    std::fs::write(&key, SECRET).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    recorded.to_the_end();
    let sent = server.seen();
    assert!(sent.iter().all(|seen| seen.header("authorization") == Some(&format!("Bearer {SECRET}"))));
    drop(server);
    let replayed = team(&format!("  p: {{kind: replay, tape: {TAPE}}}"));
    replayed.write(TAPE, recorded.read(TAPE));
    replayed.to_the_end();
    assert_same(&recorded, &replayed, "from the tape");
    no_secret(&recorded.path());
}

fn no_secret(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            no_secret(&path);
        } else if let Ok(bytes) = std::fs::read(&path) {
            let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
            assert!(!found, "the key stands in {}", path.display());
        }
    }
}

#[test]
fn a_tape_without_the_answer_is_an_error_and_no_call() {
    let team = team(&format!("  p: {{kind: replay, tape: {TAPE}}}"));
    team.write(TAPE, "");
    team.synod(&["pump"]);
    let tasks = team.read("tasks/inbox.task.md");
    assert!(tasks.contains("tapes/team.jsonl has no answer for planner-001"), "{tasks}");
}

#[test]
fn the_fallback_answers_when_the_primary_is_down_and_the_files_say_so() {
    let server = server();
    let fallback = server.url();
    let broken = Provider::start(Arc::new(testkit::model::Puppet::replies([])));
    broken.misbehave(|_| Some(Fault::status(401)));
    let (down, up) = (broken.url(), fallback);
    let team = team(&format!(
        "  p: {{kind: openai, base_url: '{down}'}}\n  q: {{kind: anthropic, base_url: '{up}'}}"
    ));
    let mut settings = team.read("synod.yaml");
    for agent in AGENTS {
        settings = settings.replace(
            &format!("  {agent}: {{provider: p"),
            &format!("  {agent}-b: {{provider: q, model: {agent}}}\n  {agent}: {{provider: p"),
        );
        let path = format!("agents/{agent}.agent.yaml");
        let text = team.read(&path);
        team.write(
            &path,
            text.replacen(
                &format!("model: {agent}"),
                &format!("model: {{primary: {agent}, fallback: {agent}-b}}"),
                1,
            ),
        );
    }
    team.write("synod.yaml", settings);
    team.to_the_end();
    assert_eq!(team.sent().len(), 1, "the work is done all the same");
    assert!(!broken.seen().is_empty() && !server.seen().is_empty());
}

#[test]
fn what_was_spent_is_shown_and_an_unknown_price_is_a_question_mark() {
    let server = server();
    let url = server.url();
    let team = team(&format!("  p: {{kind: anthropic, base_url: '{url}'}}"));
    let settings = team.read("synod.yaml");
    team.write("synod.yaml", format!("{settings}\nprices: {{planner-001: {{input: 1000, output: 2000}}}}\n"));
    assert!(!team.fine(&["status"]).contains("Models:"), "nothing was spent yet");
    team.to_the_end();
    let status = team.fine(&["status"]);
    let line = status.lines().find(|line| line.starts_with("Models: ")).unwrap();
    assert!(
        line.contains(" replies, ") && line.contains(" tokens in, ") && line.ends_with(" + ?."),
        "{line}"
    );
    let shown = team.fine(&["agent", "show", "planner-001"]);
    assert!(shown.contains("spent:") && !shown.contains("cost ?"), "{shown}");
    assert!(team.fine(&["agent", "show", "executor-001"]).contains("cost ?"));
    let session = team.names("sessions").into_iter().find(|name| name.starts_with("executor")).unwrap();
    let session = session.trim_end_matches(".session.yaml");
    assert!(team.fine(&["session", "show", session]).contains("── models: 2 replies"));
    let json: serde_json::Value =
        serde_json::from_str(&team.fine(&["agent", "show", "executor-001", "--json"])).unwrap();
    assert_eq!(json["spent"]["executor-001"]["cost"], serde_json::Value::Null);
    assert_eq!(json["spent"]["executor-001"]["unpriced"], 2);
}

#[test]
fn an_answer_that_is_refused_is_paid_for() {
    let server = server();
    server.misbehave(|_| Some(Fault::Refusal));
    let url = server.url();
    let team = team(&format!("  p: {{kind: openai, base_url: '{url}'}}"));
    team.append(
        "inbox/slack-messages.jsonl",
        "{\"channel\":\"#ops\",\"user\":\"@dana\",\"text\":\"Is there enough disk space?\"}\n",
    );
    team.pump();
    let status: serde_json::Value = serde_json::from_str(&team.fine(&["status", "--json"])).unwrap();
    assert!(server.count() > 0);
    let shown = team.fine(&["agent", "show", "planner-001"]);
    assert!(shown.contains("spent:"), "{shown}\n{status}");
}
