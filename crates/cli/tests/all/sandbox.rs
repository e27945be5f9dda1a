//! Commands of a team run in sandboxes of the real binary, and the doctor says whether they can.

use crate::home::Home;
use crate::team::Team;

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
