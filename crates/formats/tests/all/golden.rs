//! The examples of the formats, read to whole values.

use std::collections::BTreeMap;

use ::policy::{CommandRule, CommandVerdict, Nature};
use domain::agent::{Concurrency, Delegation, Model, Permissions, Spawn, Spec, Tools, Workspace};
use domain::budget::{Budgets, Cap, Rate, Share};
use domain::id::{AgentId, Time};
use domain::mode::{Member, Mode, RunMode};
use domain::role::{Permission, Role};
use domain::settings::{Endpoint, KeySource, Limits, ModelRef, Provider, Settings, TapeOrder, Timeouts};
use domain::usage::Price;
use formats::{acl, agent, inbox, policy, run_mode, script, settings};

pub(crate) fn text(path: &str) -> String {
    let path = format!("{}/tests/golden/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn good<T>(read: formats::Read<T>) -> T {
    assert_eq!(read.diagnostics, []);
    read.value.unwrap()
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

#[test]
fn an_agent_in_yaml_is_read_whole() {
    let spec =
        good(agent::read("agents/executor-001.agent.yaml", &text("home/agents/executor-001.agent.yaml")));
    let expected = Spec {
        id: AgentId::new("executor-001"),
        name: None,
        role: "executor".to_owned(),
        description: "Runs commands and reports what they printed".to_owned(),
        model: Model {
            primary: "sonnet".to_owned(),
            fallback: Some("haiku".to_owned()),
            temperature: Some(0.2),
            max_tokens: Some(2048),
            thinking: Some("low".to_owned()),
        },
        system_prompt: "You run commands.\n".to_owned(),
        capabilities: strings(&["execute_command", "read_file", "write_file"]),
        expertise: strings(&["docker", "linux"]),
        responsibilities: strings(&["ops:*", "docker:inspect"]),
        channels: strings(&["ops"]),
        priority: 5,
        permissions: Permissions {
            tools: Tools {
                allow: Some(strings(&["*_file", "execute_command"])),
                deny: strings(&["slack_send"]),
            },
            delegation: Delegation {
                can_delegate: true,
                allowed_targets: Some(strings(&["planner-001"])),
                allowed_tags: Some(strings(&["ops:*"])),
                max_delegation_depth: Some(3),
            },
            spawn: Spawn::default(),
            concurrency: Concurrency {
                max_parallel_tasks: 5,
                max_pending_queue: 20,
                queue_timeout_ms: None,
                task_timeout_ms: 60_000,
            },
            can_access_context: Some(true),
            max_tokens_per_call: Some(4096),
        },
        workspace: Some(Workspace {
            repo: Some("../service".to_owned()),
            branch: Some("agent/executor-001".to_owned()),
            ..Workspace::default()
        }),
        spawned_by: None,
        metadata: BTreeMap::from([("version".to_owned(), "1.0".to_owned())]),
    };
    assert_eq!(spec, expected);
}

#[test]
fn an_agent_in_json_is_read_whole() {
    let spec = good(agent::read("agents/job-hunter/agent.json", &text("home/agents/job-hunter/agent.json")));
    let mut expected = Spec::new(AgentId::new("job-hunter"), agent::ROLE_DEFAULT, "sonnet");
    expected.name = Some("Job Hunter".to_owned());
    expected.description = "Looks at offers of work and says which fit".to_owned();
    expected.system_prompt = "You know the market 😀...".to_owned();
    expected.model.fallback = Some("haiku".to_owned());
    expected.model.temperature = Some(0.7);
    expected.model.thinking = Some("medium".to_owned());
    expected.responsibilities = strings(&["jobs:*"]);
    expected.permissions.tools =
        Tools { allow: Some(strings(&["jobs_*", "resume_*"])), deny: strings(&["system_*"]) };
    expected.permissions.can_access_context = Some(true);
    expected.metadata = BTreeMap::from([("version".to_owned(), "1.0.0".to_owned())]);
    assert_eq!(spec, expected);
}

#[test]
fn both_spellings_of_an_agent_mean_the_same() {
    let with = |role: &str| good(agent::read("agents/a.agent.yaml", &format!("id: a\nmodel: m\n{role}\n")));
    assert_eq!(with("type: planner"), with("role: planner"));
    let inside = with("type: planner\nrole: {description: d, system_prompt: s}");
    assert_eq!(inside, with("type: planner\ndescription: d\nsystem_prompt: s"));
    assert!(with("type: planner\npermissions: {can_delegate: true}").permissions.delegation.can_delegate);
}

#[test]
fn providers_and_prices_are_read_whole() {
    let read = settings::read(
        "synod.yaml",
        "\
providers:
  open:
    kind: openai
    base_url: http://127.0.0.1:11434/v1
    key: {env: OPENAI_API_KEY}
    organization: org-1
    headers: {X-Title: synod}
    stream: false
    proxy: http://proxy:3128
    timeouts: {connect: 2s, first_byte: 500ms}
  claude: {kind: anthropic, key: {file: .synod/key}, version: 2024-01-01}
  plain: {kind: openai, key: {keyring: openai}}
  taped: {kind: record, tape: tapes/a.jsonl, of: open}
  again: {kind: replay, tape: tapes/a.jsonl, by: agent}
models:
  big: {provider: open, model: gpt}
prices:
  gpt: {input: 2.5, output: 10, cache_read: 1.25}
",
    );
    assert_eq!(read.diagnostics, []);
    let read = read.value.unwrap();
    let text = str::to_owned;
    let open = Endpoint {
        key: Some(KeySource::Env(text("OPENAI_API_KEY"))),
        organization: Some(text("org-1")),
        headers: [(text("X-Title"), text("synod"))].into(),
        stream: false,
        proxy: Some(text("http://proxy:3128")),
        timeouts: Timeouts { connect_ms: 2_000, first_byte_ms: 500, ..Timeouts::default() },
        ..Endpoint::new("http://127.0.0.1:11434/v1")
    };
    let claude = Endpoint {
        key: Some(KeySource::File(text(".synod/key"))),
        version: Some(text("2024-01-01")),
        ..Endpoint::new("https://api.anthropic.com/v1")
    };
    let plain = Endpoint {
        key: Some(KeySource::Keyring(text("openai"))),
        ..Endpoint::new("https://api.openai.com/v1")
    };
    let expected = BTreeMap::from([
        (text("open"), Provider::OpenAi(open)),
        (text("claude"), Provider::Anthropic(claude)),
        (text("plain"), Provider::OpenAi(plain)),
        (text("taped"), Provider::Record { tape: text("tapes/a.jsonl"), of: text("open") }),
        (text("again"), Provider::Replay { tape: text("tapes/a.jsonl"), by: TapeOrder::Agent }),
    ]);
    assert_eq!(read.providers, expected);
    let price =
        Price { input: 2_500_000, output: 10_000_000, cache_read: Some(1_250_000), cache_write: None };
    assert_eq!(read.prices, BTreeMap::from([(text("gpt"), price)]));
}

#[test]
fn the_settings_in_the_manual_can_be_used_as_they_stand() {
    let models = include_str!("../../../../docs/manual/src/models.md");
    let blocks: Vec<&str> =
        models.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let kinds: Vec<bool> = blocks
        .iter()
        .flat_map(|block| good(settings::read("synod.yaml", block)).providers.into_values())
        .map(|provider| matches!(provider, Provider::Anthropic(_)))
        .collect();
    assert_eq!(kinds, [false, true, false, false]);
}

#[test]
fn a_provider_says_what_is_wrong_and_never_shows_a_secret() {
    for (yaml, said) in [
        (
            "{kind: openia}",
            "expected one of `scripted`, `openai`, `anthropic`, `record`, `replay`, found `openia`",
        ),
        ("{}", "the key `kind` is missing"),
        ("{kind: openai, script: x}", "unknown key `script`"),
        ("{kind: scripted}", "the key `script` is missing"),
        ("{kind: openai, base_url: localhost}", "`base_url` begins with https:// or http:// and a host"),
        ("{kind: openai, key: sk-secret}", "line 2: a secret does not belong into a file of the home"),
        (
            "{kind: openai, key: {env: A, file: b}}",
            "line 2: expected exactly one of `env`, `file`, `keyring`",
        ),
        (
            "{kind: openai, headers: {Authorization: sk-secret}}",
            "line 2: the header `Authorization` would carry a secret",
        ),
        ("{kind: openai, base_url: 'https://me:sk-secret@host'}", "line 2: `base_url` has a password in it"),
        ("{kind: openai, timeouts: {idle: soon}}", "expected a duration such as 24h or 500ms, found `soon`"),
    ] {
        let text = format!("providers:\n  p: {yaml}\n");
        let read = settings::read("synod.yaml", &text);
        let found: Vec<&str> = read.diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(found, [said], "{yaml}");
        for shown in read.diagnostics.iter().map(|d| formats::render(d, Some(&text), false)) {
            assert!(!shown.contains("sk-secret"), "{shown}");
        }
    }
}

#[test]
fn who_makes_vectors_is_read_and_checked() {
    let text = "search: {embeddings: {provider: local, model: small}}\n";
    let read = settings::read("synod.yaml", text).value.unwrap();
    let expected = domain::settings::Embeddings { provider: "local".to_owned(), model: "small".to_owned() };
    assert_eq!(read.search.embeddings, Some(expected));
    let read = settings::read("synod.yaml", "search: {embeding: {provider: local, model: small}}\n");
    assert_eq!(read.diagnostics[0].help.as_deref(), Some("did you mean `embeddings`?"));
    let read = settings::read("synod.yaml", "search: {embeddings: {provider: local}}\n");
    assert!(read.diagnostics[0].message.contains("`model` is missing"));
}

#[test]
fn settings_are_read_whole() {
    let expected = Settings {
        budgets: Default::default(),
        planning: Default::default(),
        review: Default::default(),
        trust: Default::default(),
        search: Default::default(),
        sandbox: domain::settings::Sandbox {
            read: vec!["/opt/rust".to_owned(), "~/.cargo".to_owned()],
            is_unsafe: false,
        },
        audit: domain::settings::Audit { checkpoint_every: 16, key_file: Some("../audit.key".to_owned()) },
        providers: BTreeMap::from([(
            "script".to_owned(),
            Provider::Scripted { script: "scripts/demo.yaml".to_owned() },
        )]),
        models: BTreeMap::from([
            (
                "sonnet".to_owned(),
                ModelRef {
                    provider: "script".to_owned(),
                    model: "scripted-large".to_owned(),
                    context_tokens: None,
                    max_tokens: None,
                },
            ),
            (
                "haiku".to_owned(),
                ModelRef {
                    provider: "script".to_owned(),
                    model: "scripted-small".to_owned(),
                    context_tokens: None,
                    max_tokens: None,
                },
            ),
        ]),
        prices: BTreeMap::new(),
        limits: Limits { turns_max: 12, parallel_max: 4, ..Limits::default() },
        routing: domain::settings::Routing {
            inbox: BTreeMap::from([("slack-messages".to_owned(), AgentId::new("planner-001"))]),
            tags: vec![
                ("ops:*".to_owned(), AgentId::new("executor-001")),
                ("jobs:*".to_owned(), AgentId::new("job-hunter")),
            ],
            keywords: true,
            planner: None,
            fallback: Some(AgentId::new("planner-001")),
        },
        approvals: domain::settings::Approvals { expire_ms: Some(86_400_000), on_expiry: Default::default() },
        roles: BTreeMap::from([(
            "librarian".to_owned(),
            Role {
                permissions: [Permission::ReadFiles].into(),
                tools: strings(&["read_file", "search_files"]),
            },
        )]),
        context: Default::default(),
        git: domain::settings::Git { autocommit: false, ..domain::settings::Git::default() },
    };
    assert_eq!(good(settings::read("synod.yaml", &text("home/synod.yaml"))), expected);
}

#[test]
fn every_section_of_the_settings_is_read_whole() {
    let text = str::to_owned;
    let open = Endpoint {
        key: Some(KeySource::Env(text("OPENAI_API_KEY"))),
        organization: Some(text("org-1")),
        headers: [(text("X-Title"), text("synod"))].into(),
        stream: false,
        proxy: Some(text("http://proxy:3128")),
        timeouts: Timeouts { connect_ms: 2_000, first_byte_ms: 500, idle_ms: 60_000 },
        ..Endpoint::new("http://127.0.0.1:11434/v1")
    };
    let claude = Endpoint {
        key: Some(KeySource::File(text(".synod/key"))),
        version: Some(text("2024-01-01")),
        limits: Rate { requests_per_minute: Some(50), tokens_per_minute: Some(40_000) },
        ..Endpoint::new("https://api.anthropic.com/v1")
    };
    let model = |provider: &str, model: &str, context_tokens| ModelRef {
        provider: text(provider),
        model: text(model),
        context_tokens,
        max_tokens: None,
    };
    let price = Price {
        input: 2_500_000,
        output: 10_000_000,
        cache_read: Some(1_250_000),
        cache_write: Some(3_000_000),
    };
    let expected = Settings {
        providers: BTreeMap::from([
            (text("open"), Provider::OpenAi(open)),
            (text("claude"), Provider::Anthropic(claude)),
            (text("taped"), Provider::Record { tape: text("tapes/a.jsonl"), of: text("open") }),
            (text("again"), Provider::Replay { tape: text("tapes/a.jsonl"), by: TapeOrder::Agent }),
            (text("script"), Provider::Scripted { script: text("scripts/demo.yaml") }),
        ]),
        models: BTreeMap::from([
            (text("big"), model("open", "gpt", Some(200_000))),
            (text("small"), model("claude", "haiku", None)),
        ]),
        prices: BTreeMap::from([(text("gpt"), price)]),
        budgets: Budgets {
            day: Cap { tokens: Some(2_000_000), money: Some(5_000_000) },
            month: Cap { tokens: None, money: Some(100_500_000) },
            run: Cap { tokens: Some(300_000), money: None },
            agents: BTreeMap::from([(
                AgentId::new("planner-001"),
                Share { day: Cap { tokens: None, money: Some(500_000) }, month: Cap::default() },
            )]),
        },
        limits: Limits {
            turns_max: 12,
            request_turns_max: 250,
            calls_max: 8,
            same_call_max: 2,
            parallel_max: 4,
            tasks_max: 100,
            model_attempts_max: 2,
            outage_wait_ms_max: 5_000,
            model_ms_max: 30_000,
            count_model_time: false,
            tool_ms_max: 10_000,
            output_bytes_max: 4096,
            delegation_when_full: domain::settings::WhenFull::Reject,
            delegation_retry: true,
            spawn_depth_max: 2,
            spawned_max: 8,
            max_total_agents: 5,
            max_total_tasks: 50,
            default_delegation_depth: 2,
            locks: domain::settings::LockLimits { lease_ms: 90_000, wait_ms: 5_000, queue_max: 4 },
        },
        routing: domain::settings::Routing {
            keywords: false,
            planner: Some(AgentId::new("planner-001")),
            fallback: Some(AgentId::new("planner-001")),
            ..Default::default()
        },
        approvals: domain::settings::Approvals {
            expire_ms: Some(86_400_000),
            on_expiry: domain::settings::OnExpiry::Escalate,
        },
        planning: domain::plan::Settings { hold: true },
        review: domain::review::Settings {
            max_review_rounds: 5,
            checks: [domain::review::Check::Test].into(),
        },
        roles: BTreeMap::new(),
        context: domain::settings::Context { summary_model: Some(text("small")) },
        git: domain::settings::Git { autocommit: true, batch_ms: 50 },
        trust: domain::settings::Trust {
            outside: strings(&["workspaces/*/vendor/*"]),
            secret: BTreeMap::from([(text("memory/payroll/*"), vec![AgentId::new("finance-001")])]),
        },
        search: domain::settings::Search {
            embeddings: Some(domain::settings::Embeddings { provider: text("open"), model: text("vectors") }),
        },
        audit: domain::settings::Audit { checkpoint_every: 16, key_file: Some(text("../audit.key")) },
        sandbox: domain::settings::Sandbox { read: strings(&["/opt/rust"]), is_unsafe: true },
    };
    assert_eq!(good(settings::read("synod.yaml", &self::text("settings/full.yaml"))), expected);
}

#[test]
fn grants_are_read_whole() {
    use domain::context::{Access, Acl, Grant, Grantee};
    let grant = |to| Grant { to, access: Access::Read, redact: Vec::new(), expires: None };
    let agent = |id: &str| Grantee::Agent(AgentId::new(id));
    let expected = Acl {
        owner: None,
        grants: vec![
            grant(Grantee::Role("planner".to_owned())),
            Grant {
                access: Access::ReadWrite,
                redact: strings(&["customer.email", "iban"]),
                expires: Some(Time(1_798_675_200_000)),
                ..grant(agent("executor-001"))
            },
            grant(agent("job-hunter")),
        ],
    };
    let path = "home/contexts/customers.acl.yaml";
    assert_eq!(good(acl::read("contexts/customers.acl.yaml", &text(path))), expected);
    assert_eq!(good(acl::read("contexts/customers.acl.yaml", "")), Acl::default());
}

#[test]
fn an_empty_file_says_the_defaults() {
    for empty in ["", "# only a comment\n", "\u{feff}", "---\n"] {
        assert_eq!(good(settings::read("synod.yaml", empty)), Settings::default(), "{empty:?}");
        assert_eq!(good(policy::read("p", empty)).commands, BTreeMap::new());
        assert_eq!(good(run_mode::read("r", empty)), solo());
    }
}

#[test]
fn the_policy_is_read_whole() {
    let commands = good(policy::read("policy/commands.yaml", &text("home/policy/commands.yaml"))).commands;
    let rule = |verdict, nature| CommandRule { nature, ..CommandRule::new(verdict) };
    let expected = BTreeMap::from([
        ("df -h".to_owned(), rule(CommandVerdict::Allow, Nature::Read)),
        ("docker ps".to_owned(), rule(CommandVerdict::Ask, Nature::Once)),
        ("uptime".to_owned(), rule(CommandVerdict::Allow, Nature::Once)),
        ("rm -rf /".to_owned(), rule(CommandVerdict::Deny, Nature::Once)),
    ]);
    assert_eq!(commands, expected);
}

fn solo() -> RunMode {
    RunMode {
        mode: Mode::Solo,
        max_delegation_depth: 2,
        voting_agents: 3,
        voting_threshold: 0.5,
        critic_required: true,
        ..RunMode::default()
    }
}

#[test]
fn every_run_mode_is_read_whole() {
    let read = |name: &str| good(run_mode::read("run_mode.yaml", &text(name)));
    let member = |name: &str, role: &str, model: &str, capabilities: &[&str]| Member {
        name: name.to_owned(),
        role: role.to_owned(),
        model: model.to_owned(),
        capabilities: strings(capabilities),
    };
    assert_eq!(read("home/run_mode.yaml"), solo());
    let orchestrator = RunMode {
        mode: Mode::Orchestrator,
        orchestrator_model: Some("large".to_owned()),
        sub_agents: vec![
            member("builder", "builder", "middle", &["plan", "scaffold", "implement"]),
            member("critic", "critic", "large", &["review", "validate"]),
        ],
        ..solo()
    };
    assert_eq!(read("run_mode/orchestrator.yaml"), orchestrator);
    let voting = RunMode {
        mode: Mode::Voting,
        voting_threshold: 0.66,
        voting_model: Some("middle".to_owned()),
        ..solo()
    };
    assert_eq!(read("run_mode/voting.yaml"), voting);
    let roles = [
        member("architect", "builder", "large", &["plan"]),
        member("implementer", "builder", "middle", &["scaffold", "implement"]),
        member("reviewer", "critic", "large", &["review", "validate"]),
    ];
    let roles = roles.into_iter().map(|m| (m.name.clone(), m)).collect();
    assert_eq!(read("run_mode/role_locked.yaml"), RunMode { mode: Mode::RoleLocked, roles, ..solo() });
    let phases = [("planning", Mode::Orchestrator), ("implementation", Mode::Solo), ("review", Mode::Voting)];
    let phases = phases.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    assert_eq!(read("run_mode/hybrid.yaml"), RunMode { mode: Mode::Hybrid, phases, ..solo() });
}

#[test]
fn a_script_is_read_whole() {
    use script::{Answer, Rule, ScriptCall, ScriptError};
    let rules = good(script::read("scripts/demo.yaml", &text("home/scripts/demo.yaml"))).rules;
    let rule = |line, answers| Rule {
        line,
        agent: None,
        matches: None,
        from: None,
        tool_result: None,
        turn: None,
        answers,
        once: false,
    };
    let say = |text: &str| Answer { text: text.to_owned(), ..Answer::default() };
    let call =
        ScriptCall { tool: "execute_command".to_owned(), arguments: serde_json::json!({"command": "df -h"}) };
    let busy = ScriptError { message: "too busy".to_owned(), retry_after_ms: Some(500) };
    let expected = vec![
        Rule {
            agent: Some("executor-*".to_owned()),
            matches: Some("*disk*".to_owned()),
            ..rule(2, vec![Answer { calls: vec![call], ..say("I look.") }, say("The disk is fine.")])
        },
        Rule { tool_result: Some("execute_command".to_owned()), ..rule(8, vec![say("It says: {last}")]) },
        Rule {
            agent: Some("planner-001".to_owned()),
            from: Some("person:*".to_owned()),
            turn: Some(1),
            once: true,
            ..rule(10, vec![Answer { error: Some(busy), delay_ms: 10, ..Answer::default() }])
        },
    ];
    assert_eq!(rules, expected);
}

#[test]
fn inbox_lines_have_many_spellings() {
    let source = text("home/inbox/slack-messages.jsonl");
    let lines: Vec<_> =
        source.lines().enumerate().map(|(i, l)| good(inbox::read_line("i", i + 1, l))).collect();
    let expected = [
        inbox::Line {
            from: "dana".to_owned(),
            channel: Some("#ops".to_owned()),
            text: "Is the disk full?".to_owned(),
            at: Some(Time(1_759_622_866_331)),
            id: None,
        },
        inbox::Line {
            from: "lee".to_owned(),
            channel: None,
            text: "and Redis?".to_owned(),
            at: Some(Time(1_759_572_000_000)),
            id: None,
        },
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_line_of_an_inbox_is_printed_as_one_line() {
    let line = inbox::Line {
        from: "@dana".to_owned(),
        channel: Some("#ops".to_owned()),
        text: "two\nlines \"here\"".to_owned(),
        at: Some(Time(1_759_622_866_331)),
        id: None,
    };
    assert_eq!(
        inbox::print_line(&line),
        r##"{"ts":"2025-10-05T00:07:46.331Z","channel":"#ops","user":"@dana","text":"two\nlines \"here\""}"##
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_line_of_an_inbox_comes_back(
        from in "(\\PC|[\n\"\\\\]){0,6}",
        channel in proptest::option::of("\\PC{0,6}"),
        text in "(\\PC|[\n\r\t\"\\\\\u{feff}\u{2028}]){0,12}",
        at in proptest::option::of(proptest::prelude::any::<i64>()),
        near in proptest::option::of(-100_000_000_000_000_i64..300_000_000_000_000),
        id in proptest::option::of("\\PC{0,6}"),
    ) {
        let line = inbox::Line { from, channel, text, at: near.or(at).map(Time), id };
        let printed = inbox::print_line(&line);
        proptest::prop_assert!(!printed.contains(['\n', '\r']));
        proptest::prop_assert_eq!(good(inbox::read_line("i", 1, &printed)), line);
    }
}
