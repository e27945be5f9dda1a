//! Commands of a team run in sandboxes of the real binary, and the doctor says whether they can.

use crate::home::Home;
use crate::team::{Team, until_so};

#[test]
fn the_doctor_says_what_there_is() {
    let home = Home::fine();
    let said = home.json(&["doctor"]);
    let backend = said["sandbox"].as_str().expect("tests run where there is a sandbox");
    assert!(["bubblewrap", "namespaces"].contains(&backend), "{said}");
    let state = |name: &str| {
        let findings = said["findings"].as_array().unwrap();
        findings.iter().find(|f| f["name"] == name).unwrap_or_else(|| panic!("{name} in {said}"))["state"]
            .clone()
    };
    for name in ["sandbox", "namespaces", "sqlite", "clock", "home", "journal"] {
        assert_eq!(state(name), "good", "{said}");
    }
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("commands run in one, made by"), "{}", ran.stdout);
}

#[test]
fn the_doctor_misses_a_key_and_names_only_where_it_should_be() {
    let settings = "providers:\n  p: {kind: openai, base_url: 'http://127.0.0.1:9/v1', key: {env: SYNOD_TEST_NO_KEY}}\n\
                    models: {m: {provider: p, model: x}}\n";
    let home = Home::empty().write("synod.yaml", settings);
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("the environment has no SYNOD_TEST_NO_KEY"), "{}", ran.stdout);
}

#[test]
fn the_doctor_says_what_commands_may_read() {
    let places = tempfile::tempdir_in("/var/tmp").unwrap();
    let place = places.path().join("rust");
    std::fs::create_dir(&place).unwrap();
    let settings = format!("sandbox: {{read: [{}, /opt/that-is-not-here]}}\n", place.display());
    let ran = Home::empty().write("synod.yaml", &settings).run(&["doctor"]);
    assert!(ran.stdout.contains(&format!("commands may read {}", place.display())), "{}", ran.stdout);
    assert!(ran.stdout.contains("/opt/that-is-not-here is not on this system"), "{}", ran.stdout);
}

#[test]
fn an_approved_escape_fails_and_the_run_goes_on() {
    let rules = "\
rules:
  - matches: \"Task *\"
    text: I look around.
    calls: [{tool: execute_command, arguments: {command: 'for f in ../../s*.yaml ../../*; do cat $f; done; (sleep 1000 &); echo still here; touch mine'}}]
  - tool_result: execute_command
    text: \"It gave: {last}\"
";
    let team = Team::scripted(rules);
    team.write("tasks/t.task.md", "- [ ] @worker-1 \"Look\"\n  id: task-001\n");
    assert_eq!(team.pump(), 3);
    assert_eq!(team.synod(&["approve", "--all"]).code, 0);
    assert_eq!(team.pump(), 0);
    let sessions = std::fs::read_dir(team.at("sessions")).unwrap().flatten();
    let said: String = sessions.map(|s| std::fs::read_to_string(s.path()).unwrap()).collect();
    assert!(said.contains("still here"), "{said}");
    assert!(!said.contains("providers:"), "the settings were not read: {said}");
    assert!(team.at("workspaces/worker-1/mine").exists(), "its own workspace was written");
}

/// Calls `execute_command`, `run_tests` and `lint`, one after the other.
const THREE_COMMANDS: &str = "\
rules:
  - tool_result: lint
    text: That was all.
  - tool_result: run_tests
    calls: [{tool: lint, arguments: {}}]
  - tool_result: execute_command
    calls: [{tool: run_tests, arguments: {}}]
  - calls: [{tool: execute_command, arguments: {command: 'echo ran > command'}}]
";

fn three_commands() -> Team {
    let team = Team::scripted(THREE_COMMANDS).without_sandbox();
    team.write(
        "agents/worker-1.agent.yaml",
        "id: worker-1\ntype: executor\nmodel: m\npermissions: {tools: {allow: [execute_command, run_tests, lint]}}\nworkspace: {test: 'echo ran > test', lint: 'echo ran > lint'}\n",
    );
    team.write(
        "tasks/t.task.md",
        "- [ ] @worker-1 \"Look\"\n  id: task-001\n  done_when: |\n    command: echo ran > evidence\n",
    );
    team
}

#[test]
fn without_a_sandbox_no_command_runs_and_the_refusal_names_the_setting() {
    let team = three_commands();
    assert_eq!(team.pump(), 0, "nobody is asked for what cannot run");
    let refusals: Vec<String> = team
        .talk("worker-1")
        .into_iter()
        .map(|message| message.content)
        .filter(|text| text.contains("this system offers no sandbox"))
        .collect();
    assert!(refusals.len() >= 4, "{refusals:?}");
    assert!(
        refusals.iter().all(|text| text.contains("`sandbox: {unsafe: true}` in synod.yaml")),
        "{refusals:?}"
    );
    assert_eq!(team.task("tasks/t.task.md", "task-001").unwrap().mark, domain::task::Mark::Failed);
    assert_eq!(team.names("workspaces/worker-1"), Vec::<String>::new());
}

#[test]
fn with_unsafe_commands_run_when_approved_and_each_start_warns() {
    let team = three_commands();
    team.append("synod.yaml", "sandbox: {unsafe: true}\n");
    let asked = team.synod(&["pump"]);
    assert_eq!(asked.code, 3, "{}", asked.stderr);
    assert!(asked.stderr.contains("warning: synod.yaml says `sandbox: {unsafe: true}`"), "{}", asked.stderr);
    team.to_the_end();
    assert_eq!(team.names("workspaces/worker-1"), ["command", "evidence", "lint", "test"]);
    let ran = team.synod(&["run", "again"]);
    assert!(ran.stderr.contains("warning: synod.yaml says"), "{}", ran.stderr);
    let up = team.up();
    assert!(up.stderr().contains("warning: synod.yaml says"), "{}", up.stderr());
    up.stop();
}

/// Sends one request to the socket of the home and prints the answer; the second form outlives its parent first.
const KNOCK: &str = r#"use IO::Socket::UNIX;
if ($ARGV[0]) { exit 0 if fork; select(undef, undef, undef, 0.3); }
my $s = IO::Socket::UNIX->new(Peer => "../../.synod/socket") or die "no socket: $!";
print $s qq({"do":"answer","approval":"approval-0002","approve":true,"by":"tess"}\n);
open(my $out, ">", $ARGV[0] || "answer"); print $out scalar <$s>;
"#;

#[test]
fn a_command_below_synod_approves_nothing_over_the_socket() {
    let rules = "\
rules:
  - matches: \"Task *knock*\"
    calls: [{tool: execute_command, arguments: {command: 'perl knock.pl; perl knock.pl orphan; until test -s orphan; do :; done'}}]
  - matches: \"Task *harm*\"
    calls: [{tool: execute_command, arguments: {command: 'echo harm > harm'}}]
  - tool_result: execute_command
    text: I did it.
";
    let team = Team::scripted(rules).without_sandbox();
    team.append("synod.yaml", "sandbox: {unsafe: true}\n");
    team.write("agents/worker-2.agent.yaml", "id: worker-2\ntype: executor\nmodel: m\n");
    team.write("workspaces/worker-1/knock.pl", KNOCK);
    let up = team.up();
    team.fine(&["task", "add", "knock", "--to", "worker-1"]);
    until_so("the first is asked", || team.names("approvals/pending").len() == 1);
    team.fine(&["task", "add", "harm", "--to", "worker-2"]);
    until_so("both are asked", || team.names("approvals/pending").len() == 2);
    team.fine(&["approve", "approval-0001"]);
    until_so("the command ended", || !team.read("workspaces/worker-1/orphan").is_empty());
    for answer in ["answer", "orphan"] {
        let answer = team.read(&format!("workspaces/worker-1/{answer}"));
        assert!(answer.contains("refused") && answer.contains("only people decide"), "{answer}");
    }
    assert_eq!(team.names("approvals/pending"), ["approval-0002.approval.md"]);
    team.fine(&["reject", "approval-0002", "--reason", "no"]);
    up.stop();
    assert!(!team.at("workspaces/worker-2/harm").exists());
}
