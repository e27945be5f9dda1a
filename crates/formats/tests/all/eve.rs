//! Files that were written for Eve are read as they are.

use domain::agent::{Concurrency, Delegation, Tools};
use domain::id::AgentId;
use domain::settings::{Endpoint, KeySource, Provider};
use formats::check::{SourceFile, check};
use formats::{Severity, agent, settings};

use crate::golden::text;

const AGENT: &str = "agents/job-hunter/agent.json";

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn the_settings_of_eve_are_those_of_a_home() {
    let read = settings::read("eve.json", &text("eve/eve.json"));
    assert_eq!(read.diagnostics, []);
    let read = read.value.unwrap();
    let limits = &read.limits;
    assert_eq!(
        (limits.max_total_agents, limits.max_total_tasks, limits.default_delegation_depth),
        (20, 100, 3)
    );
    assert_eq!(read.models.keys().collect::<Vec<_>>(), ["haiku", "opus", "sonnet"]);
    assert_eq!(read.models["sonnet"].model, "claude-sonnet-4-20250514");
    let key = Some(KeySource::Env("ANTHROPIC_API_KEY".to_owned()));
    let endpoint = Endpoint { key, ..Endpoint::new("https://api.anthropic.com/v1") };
    assert_eq!(read.providers["anthropic"], Provider::Anthropic(endpoint));
    assert_eq!(read.routing.fallback, Some(AgentId::new("eve")));
}

#[test]
fn an_agent_of_eve_with_a_comment_and_without_a_role_is_one_that_reads() {
    let first = agent::read(AGENT, &text("eve/job-hunter.agent.json"));
    assert_eq!(first.diagnostics, []);
    let first = first.value.unwrap();
    assert_eq!(
        (first.role.as_str(), first.permissions.delegation.can_delegate),
        (agent::ROLE_DEFAULT, false)
    );
    assert_eq!(first.system_prompt, "You are a job hunting expert...");
    let second = agent::read(AGENT, &text("eve/job-hunter-delegates.agent.json"));
    assert_eq!(second.diagnostics, []);
    let second = second.value.unwrap();
    assert_eq!(second.role, agent::ROLE_DEFAULT);
    let allow = Some(strings(&["jobs_*", "resume_*"]));
    assert_eq!(second.permissions.tools, Tools { allow, deny: Vec::new() });
    assert_eq!(
        second.permissions.delegation,
        Delegation {
            can_delegate: true,
            allowed_targets: Some(strings(&["resume-tailor", "email-sender"])),
            allowed_tags: None,
            max_delegation_depth: Some(2),
        }
    );
    let (max_pending_queue, task_timeout_ms) = (10, 120_000);
    assert_eq!(
        second.permissions.concurrency,
        Concurrency { max_pending_queue, task_timeout_ms, ..Concurrency::default() }
    );
}

#[test]
fn an_unknown_key_of_an_agent_in_json_is_kept_with_a_warning_and_its_place() {
    let source = "{\n  \"id\": \"job-hunter\",\n  \"model\": \"m\",\n  \"icon\": \"hat\",\n  \"permissions\": {\"tool\": 1}\n}\n";
    let read = agent::read(AGENT, source);
    let found: Vec<_> =
        read.diagnostics.iter().map(|d| (d.severity, d.line, d.column, d.message.as_str())).collect();
    assert_eq!(
        found,
        [(Severity::Warning, 4, 3, "unknown key `icon`"), (Severity::Warning, 5, 19, "unknown key `tool`"),]
    );
    assert_eq!(read.value.unwrap().metadata["icon"], "hat");
    let yaml = agent::read("agents/a.agent.yaml", "id: a\ntype: coder\nmodel: m\nicon: hat\n");
    assert!(yaml.value.is_none(), "in YAML it is an error as ever");
}

#[test]
fn a_home_of_eve_has_no_errors_and_synod_yaml_counts_where_both_are() {
    let (eve, agent) = (text("eve/eve.json"), text("eve/job-hunter-delegates.agent.json"));
    let files = [SourceFile { path: "eve.json", text: &eve }, SourceFile { path: AGENT, text: &agent }];
    let found = check(&files);
    let errors: Vec<_> = found.iter().filter(|d| d.severity == Severity::Error).collect();
    assert_eq!(errors, Vec::<&formats::Diagnostic>::new());
    let both = [files[0], SourceFile { path: "synod.yaml", text: "" }];
    let found: Vec<String> = check(&both).into_iter().map(|d| format!("{} {}", d.path, d.message)).collect();
    assert_eq!(found, ["eve.json synod.yaml counts, and this file does not"]);
}
