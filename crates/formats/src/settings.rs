//! `synod.yaml`: what the owner of the home settled. Every part may be left out, so an empty file is a good one.

mod eve;

use std::collections::BTreeMap;

use domain::agent::bounds;
use domain::budget::{Budgets, Cap, Rate, Share};
use domain::id::AgentId;
use domain::plan;
use domain::review;
use domain::role::{Permission, Role};
use domain::settings::{
    Approvals, Audit, Context, Embeddings, Endpoint, Git, KeySource, Limits, LockLimits, ModelRef, OnExpiry,
    Provider, Routing, Sandbox, Search, Settings, TapeOrder, Timeouts, Trust, WhenFull,
};
use domain::usage::Price;

use crate::diagnostic::{Notes, Read};

use crate::shape::{COUNT, INT_MAX, Key, MODEL, Shape, TEXTS, may, must};
use crate::time;
use crate::yaml::{self, Node};

const AMOUNT: Shape = Shape::Int(1, INT_MAX);
const PERMISSIONS: Shape = Shape::List(&Shape::Word(&[
    "read_files",
    "write_files",
    "execute_tools",
    "spawn_agents",
    "approve_work",
]));

const PRICE: Shape = Shape::Number(0.0, 1_000_000.0);

const KEY: Shape = Shape::Place(&[
    may("env", Shape::Text, "a variable of the environment"),
    may("file", Shape::Text, "a file that only its owner may read (mode 0600), relative to the home"),
    may("keyring", Shape::Text, "a name in the system's keyring"),
]);
const HEADERS: Shape = Shape::Map(&Shape::Text);
const TIMEOUTS: Shape = Shape::Record(&[
    may("connect", Shape::Duration, "to be reached (10s)"),
    may("first_byte", Shape::Duration, "to begin the answer, from the question on (5m)"),
    may("idle", Shape::Duration, "between two pieces of the answer (30s)"),
]);

const RATE: Shape = Shape::Record(&[
    may("requests_per_minute", AMOUNT, "requests in a minute of the clock, failed ones included"),
    may("tokens_per_minute", AMOUNT, "tokens in and out in a minute of the clock"),
]);
const CAP: Shape = Shape::Record(&[
    may("tokens", Shape::Int(0, INT_MAX), "tokens in and out, cached ones included; 0: none at all"),
    may("money", Shape::Number(0.0, 1_000_000_000.0), "in the currency of `prices`; 0: none at all"),
]);
const BUDGETS: Shape = Shape::Record(&[
    may("day", CAP, "all agents together, a day of UTC"),
    may("month", CAP, "all agents together, a month of UTC"),
    may("run", CAP, "one request and all that follows from it"),
    may(
        "agents",
        Shape::Map(&Shape::Record(&[
            may("day", CAP, "this agent, a day of UTC"),
            may("month", CAP, "this agent, a month of UTC"),
        ])),
        "single agents, by id",
    ),
]);

const SCRIPTED: &[Key] = &[
    must("kind", Shape::Word(&["scripted"]), "answers from rules in a file: no key, no network"),
    must("script", Shape::Text, "the file with the rules, relative to the home"),
];
const OPENAI: &[Key] = &[
    must("kind", Shape::Word(&["openai"]), "OpenAI's chat completions, by whoever speaks them"),
    may("base_url", Shape::Text, "what stands before /chat/completions (https://api.openai.com/v1)"),
    may("key", KEY, "where the key is; none is sent if left out"),
    may("organization", Shape::Text, "sent as OpenAI-Organization"),
    may("headers", HEADERS, "sent along with every request"),
    may("stream", Shape::Bool, "whether answers come in pieces (true)"),
    may("proxy", Shape::Text, "the address of a proxy; those of the environment are not used"),
    may("timeouts", TIMEOUTS, "how long to wait for what"),
    may("limits", RATE, "what the account allows, for all agents together"),
];
const ANTHROPIC: &[Key] = &[
    must("kind", Shape::Word(&["anthropic"]), "Anthropic's messages"),
    may("base_url", Shape::Text, "what stands before /messages (https://api.anthropic.com/v1)"),
    may("key", KEY, "where the key is; none is sent if left out"),
    may("version", Shape::Text, "sent as anthropic-version (2023-06-01)"),
    may("headers", HEADERS, "sent along with every request"),
    may("stream", Shape::Bool, "whether answers come in pieces (true)"),
    may("proxy", Shape::Text, "the address of a proxy; those of the environment are not used"),
    may("timeouts", TIMEOUTS, "how long to wait for what"),
    may("limits", RATE, "what the account allows, for all agents together"),
];
const RECORD: &[Key] = &[
    must("kind", Shape::Word(&["record"]), "asks another provider and keeps its answers on a tape"),
    must("tape", Shape::Text, "the file, relative to the home, such as tapes/team.jsonl"),
    must("of", Shape::Text, "the name of the provider that is asked"),
];
const REPLAY: &[Key] = &[
    must("kind", Shape::Word(&["replay"]), "answers from a tape: no key, no network"),
    must("tape", Shape::Text, "the file, relative to the home, such as tapes/team.jsonl"),
    may(
        "by",
        Shape::Word(&["request", "agent"]),
        "request (the default): the answer to exactly this request; agent: the agent's next answer, whatever it is asked",
    ),
];
/// Changes that wait longer for their commit are no history any more.
const BATCH_MS_MAX: u64 = 3_600_000;

/// All that `synod.yaml` may say.
pub(crate) const SHAPE: Shape = Shape::Record(&[
    may(
        "providers",
        Shape::Map(&Shape::Kinds(
            "kind",
            &[
                ("scripted", SCRIPTED),
                ("openai", OPENAI),
                ("anthropic", ANTHROPIC),
                ("record", RECORD),
                ("replay", REPLAY),
            ],
        )),
        "ways to reach models, by name",
    ),
    may("models", Shape::Map(&MODEL), "model aliases"),
    may(
        "prices",
        Shape::Map(&Shape::Record(&[
            must("input", PRICE, "a million tokens in"),
            must("output", PRICE, "a million tokens out"),
            may("cache_read", PRICE, "a million tokens read from the cache; as `input` if left out"),
            may("cache_write", PRICE, "a million tokens written into the cache; as `input` if left out"),
        ])),
        "what models cost, by alias or by the model's own name; unknown if left out",
    ),
    may(
        "limits",
        Shape::Record(&[
            may("turns_max", COUNT, "turns of one session until somebody new speaks (25)"),
            may(
                "request_turns_max",
                COUNT,
                "turns of all agents together that one request may cause through their messages (250)",
            ),
            may("calls_max", COUNT, "tool calls of one turn (16)"),
            may("same_call_max", COUNT, "the same call in a row; the next is refused (3)"),
            may("parallel_max", COUNT, "sessions working at once, all agents together (16)"),
            may("tasks_max", COUNT, "tasks that may be open at once (10000)"),
            may(
                "model_attempts_max",
                COUNT,
                "how often a failed model call is tried before its provider counts as out (3)",
            ),
            may(
                "outage_wait_ms_max",
                AMOUNT,
                "how long run and pump wait for a provider that does not answer (120000)",
            ),
            may("model_ms_max", AMOUNT, "how long a model may give no sign of an answer (600000)"),
            may(
                "count_model_time",
                Shape::Bool,
                "whether the time in which a model is asked counts as working time of a task (false)",
            ),
            may("tool_ms_max", AMOUNT, "how long one tool call may take (60000)"),
            may("output_bytes_max", AMOUNT, "bytes of a tool's output that go into the session (32768)"),
            may("lock_lease_ms", AMOUNT, "how long an agent that does nothing keeps a lock (300000)"),
            may("lock_wait_ms", AMOUNT, "how long a call waits for a lock unless it says so itself (60000)"),
            may("lock_queue_max", COUNT, "how many may wait for one lock (16)"),
            may(
                "spawn_depth_max",
                COUNT,
                "agents that may stand above a spawned one, each spawned by the next (3)",
            ),
            may("spawned_max", COUNT, "spawned agents that may be there at once (50)"),
            may("max_total_agents", COUNT, "agents with work under way; no other is delegated to (20)"),
            may("max_total_tasks", COUNT, "tasks under way; none is delegated beyond that (100)"),
            may(
                "default_delegation_depth",
                Shape::Int(bounds::DELEGATION_DEPTH.0 as u64, bounds::DELEGATION_DEPTH.1 as u64),
                "`max_delegation_depth` of agents that do not say it (3)",
            ),
            may(
                "delegation_retry",
                Shape::Bool,
                "whether delegated work goes on after a crash in a call that must not be repeated (false)",
            ),
            may(
                "delegation_when_full",
                Shape::Word(&["queue", "reject"]),
                "what becomes of work that is delegated to an agent without a free slot (queue)",
            ),
        ]),
        "bounds on what is done",
    ),
    may("budgets", BUDGETS, "what may be spent; a call that would pass one is not made, and its work waits"),
    may(
        "routing",
        Shape::Record(&[
            may("inbox", Shape::Map(&Shape::Id), "inbox file without its ending, to agent"),
            may("tags", Shape::Map(&Shape::Id), "tag pattern to agent, tried in this order"),
            may(
                "keywords",
                Shape::Bool,
                "whether words of a request (plan, fix, review) lead to a planner, coder or reviewer (true)",
            ),
            may(
                "planner",
                Shape::Id,
                "who splits a request that nobody answers for (the first agent that is a planner)",
            ),
            may("fallback", Shape::Id, "who gets what nobody else gets"),
        ]),
        "who gets what comes in",
    ),
    may(
        "planning",
        Shape::Record(&[may(
            "hold",
            Shape::Bool,
            "whether a plan waits, in its task file, for a person to say yes (false)",
        )]),
        "how plans begin",
    ),
    may(
        "review",
        Shape::Record(&[
            may(
                "max_review_rounds",
                COUNT,
                "how often one piece of work is looked at until a person is asked (3)",
            ),
            may(
                "checks",
                Shape::List(&Shape::Word(&["lint", "test"])),
                "what the reviewer must have run, and must have passed, before an approval counts (both)",
            ),
        ]),
        "how work is reviewed before it is merged",
    ),
    may(
        "approvals",
        Shape::Record(&[
            may("expire_after", Shape::Duration, "when an unanswered approval lapses; never if left out"),
            may(
                "on_expiry",
                Shape::Word(&["reject", "escalate"]),
                "what happens then: a no, or it is asked once more (reject)",
            ),
        ]),
        "what happens to approvals that nobody answers",
    ),
    may(
        "audit",
        Shape::Record(&[
            may("checkpoint_every", AMOUNT, "lines of the audit log after which a checkpoint is signed (64)"),
            may(
                "key_file",
                Shape::Text,
                "the key that signs, mode 0600, best outside the home; else .synod/audit.key",
            ),
        ]),
        "how the audit log is signed",
    ),
    may(
        "roles",
        Shape::Map(&Shape::Record(&[
            may("permissions", PERMISSIONS, "what it may do at all"),
            may("tools", TEXTS, "patterns of the tools it has unless the agent says otherwise"),
        ])),
        "roles beside the built-in ones",
    ),
    may(
        "context",
        Shape::Record(&[may(
            "summary_model",
            Shape::Text,
            "the alias of the model that summarises what no longer fits; the agent's own if left out",
        )]),
        "how a conversation that outgrows its model's window is shortened",
    ),
    may(
        "git",
        Shape::Record(&[
            may("autocommit", Shape::Bool, "whether Synod commits what changes in the home (true)"),
            may(
                "batch_ms",
                Shape::Int(1, BATCH_MS_MAX),
                "how long changes are collected into one commit, in milliseconds (1000)",
            ),
        ]),
        "the home's history",
    ),
    may(
        "trust",
        Shape::Record(&[
            may("outside", TEXTS, "patterns of paths whose content anybody may have written"),
            may(
                "secret",
                Shape::Map(&Shape::List(&Shape::Id)),
                "pattern of paths, to the agents that may see them",
            ),
        ]),
        "what is known of files by where they lie",
    ),
    may(
        "sandbox",
        Shape::Record(&[
            may(
                "read",
                TEXTS,
                "folders and files that commands may read beside the system and their workspace, such as ~/.cargo",
            ),
            may(
                "unsafe",
                Shape::Bool,
                "run commands also where the system offers no sandbox; each then asks, and runs with your own rights (default false)",
            ),
        ]),
        "what commands may read beside the system and their workspace, and whether they run without a sandbox",
    ),
    may(
        "search",
        Shape::Record(&[may(
            "embeddings",
            Shape::Record(&[
                must("provider", Shape::Text, "a name of `providers`, of the kind openai"),
                must("model", Shape::Text, "the model's name there, such as text-embedding-3-small"),
            ]),
            "who turns text into vectors; without it, words alone are searched",
        )]),
        "how files are searched",
    ),
]);

/// Reads `synod.yaml`, or `eve.json`.
pub fn read(path: &str, source: &str) -> Read<Settings> {
    if path == domain::layout::EVE {
        return eve::read(path, source);
    }
    let mut notes = Notes::new(path, source);
    let value = yaml::parse(source, &mut notes).and_then(|root| {
        if root.is_null() {
            return Some(Settings::default());
        }
        SHAPE.check(&root, &mut notes);
        check_endpoints(&root, &mut notes);
        check_places(&root, &mut notes);
        if notes.failed() { None } else { settings(&root) }
    });
    notes.finish(value)
}

fn settings(root: &Node) -> Option<Settings> {
    let entries = |key: &str| root.get(key).map(Node::entries).unwrap_or_default();
    let mut providers = BTreeMap::new();
    for entry in entries("providers") {
        providers.insert(entry.key.clone(), provider(&entry.value)?);
    }
    let mut models = BTreeMap::new();
    for entry in entries("models") {
        models.insert(entry.key.clone(), model(&entry.value)?);
    }
    let roles = entries("roles").iter().map(|e| (e.key.clone(), role(&e.value))).collect();
    let on_expiry = root.get("approvals").and_then(|a| a.get("on_expiry")).and_then(Node::text);
    let on_expiry = if on_expiry == Some("escalate") { OnExpiry::Escalate } else { OnExpiry::Reject };
    let expire_ms = root.get("approvals").and_then(|a| a.get("expire_after")).and_then(Node::text);
    Some(Settings {
        providers,
        models,
        prices: entries("prices").iter().map(|e| (e.key.clone(), price(&e.value))).collect(),
        limits: root.get("limits").map(limits).unwrap_or_default(),
        budgets: root.get("budgets").map(budgets).unwrap_or_default(),
        routing: root.get("routing").map(routing).unwrap_or_default(),
        approvals: Approvals { expire_ms: expire_ms.and_then(time::parse_duration), on_expiry },
        planning: plan::Settings {
            hold: root.get("planning").and_then(|p| p.get("hold")).and_then(Node::bool).unwrap_or_default(),
        },
        review: root.get("review").map(review).unwrap_or_default(),
        roles,
        context: Context { summary_model: root.get("context").and_then(|c| c.get_text("summary_model")) },
        git: root.get("git").map(git).unwrap_or_default(),
        trust: root.get("trust").map(trust).unwrap_or_default(),
        search: Search {
            embeddings: root.get("search").and_then(|s| s.get("embeddings")).and_then(embeddings),
        },
        sandbox: root.get("sandbox").map(sandbox).unwrap_or_default(),
        audit: root.get("audit").map(audit).unwrap_or_default(),
    })
}

pub(crate) fn model(node: &Node) -> Option<ModelRef> {
    Some(ModelRef {
        provider: node.get_text("provider")?,
        model: node.get_text("model")?,
        context_tokens: node.get("context_tokens").and_then(Node::int).filter(|n| *n > 0),
        max_tokens: node.get_int("max_tokens"),
    })
}

fn budgets(node: &Node) -> Budgets {
    let cap = |node: &Node, key: &str| node.get(key).map(cap).unwrap_or_default();
    let share = |node: &Node| Share { day: cap(node, "day"), month: cap(node, "month") };
    let agents = node.get("agents").map(Node::entries).unwrap_or_default();
    Budgets {
        day: cap(node, "day"),
        month: cap(node, "month"),
        run: cap(node, "run"),
        agents: agents.iter().filter_map(|e| Some((AgentId::parse(&e.key).ok()?, share(&e.value)))).collect(),
    }
}

fn cap(node: &Node) -> Cap {
    // The shape bounds it, so it fits.
    let millionths = |number: f64| (number * 1_000_000.0).round() as u64;
    Cap {
        tokens: node.get("tokens").and_then(Node::int),
        money: node.get("money").and_then(Node::number).map(millionths),
    }
}

fn rate(node: &Node) -> Rate {
    Rate {
        requests_per_minute: node.get("requests_per_minute").and_then(Node::int),
        tokens_per_minute: node.get("tokens_per_minute").and_then(Node::int),
    }
}

fn audit(node: &Node) -> Audit {
    let default = Audit::default();
    Audit {
        checkpoint_every: node
            .get("checkpoint_every")
            .and_then(Node::int)
            .unwrap_or(default.checkpoint_every),
        key_file: node.get_text("key_file"),
    }
}

fn provider(node: &Node) -> Option<Provider> {
    Some(match node.get("kind")?.text()? {
        "openai" => Provider::OpenAi(endpoint(node, "https://api.openai.com/v1")),
        "anthropic" => Provider::Anthropic(endpoint(node, "https://api.anthropic.com/v1")),
        "record" => Provider::Record { tape: node.get_text("tape")?, of: node.get_text("of")? },
        "replay" => {
            let by = match node.get("by").and_then(Node::text) {
                Some("agent") => TapeOrder::Agent,
                _ => TapeOrder::Request,
            };
            Provider::Replay { tape: node.get_text("tape")?, by }
        }
        _ => Provider::Scripted { script: node.get_text("script")? },
    })
}

fn endpoint(node: &Node, base_url: &str) -> Endpoint {
    let place = |key: &Node| {
        let env = key.get_text("env").map(KeySource::Env);
        let file = || key.get_text("file").map(KeySource::File);
        env.or_else(file).or_else(|| key.get_text("keyring").map(KeySource::Keyring))
    };
    let default = Timeouts::default();
    let timeouts = node.get("timeouts");
    let ms = |key: &str, default: u64| {
        timeouts
            .and_then(|t| t.get(key))
            .and_then(Node::text)
            .and_then(time::parse_duration)
            .unwrap_or(default)
    };
    let headers = node.get("headers").map(Node::entries).unwrap_or_default();
    Endpoint {
        key: node.get("key").and_then(place),
        headers: headers.iter().filter_map(|e| Some((e.key.clone(), e.value.text()?.to_owned()))).collect(),
        stream: node.get("stream").and_then(Node::bool).unwrap_or(true),
        version: node.get_text("version"),
        organization: node.get_text("organization"),
        proxy: node.get_text("proxy"),
        limits: node.get("limits").map(rate).unwrap_or_default(),
        timeouts: Timeouts {
            connect_ms: ms("connect", default.connect_ms),
            first_byte_ms: ms("first_byte", default.first_byte_ms),
            idle_ms: ms("idle", default.idle_ms),
        },
        ..Endpoint::new(node.get_text("base_url").unwrap_or_else(|| base_url.to_owned()))
    }
}

/// Headers that would carry a key.
const SECRET_HEADERS: [&str; 5] = ["authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"];

fn check_endpoints(root: &Node, notes: &mut Notes<'_>) {
    for provider in root.get("providers").map(Node::entries).unwrap_or_default() {
        for key in ["base_url", "proxy"] {
            let Some(url) = provider.value.get(key) else { continue };
            let text = url.text().unwrap_or_default();
            let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            let host = rest.map_or("", |rest| rest.split('/').next().unwrap_or_default());
            if host.is_empty() || text.contains(char::is_whitespace) {
                let message = format!("`{key}` begins with https:// or http:// and a host");
                notes.error(url.span.clone(), message);
            } else if host.contains('@') {
                let message =
                    format!("line {}: `{key}` has a password in it", notes.position(url.span.start).0);
                notes.error_with(0..0, message, Some("name the key under `key`".to_owned()));
            }
        }
        for header in provider.value.get("headers").map(Node::entries).unwrap_or_default() {
            if SECRET_HEADERS.contains(&header.key.to_lowercase().as_str()) {
                let line = notes.position(header.key_span.start).0;
                let message = format!("line {line}: the header `{}` would carry a secret", header.key);
                notes.error_with(0..0, message, Some("name where the key is under `key`".to_owned()));
            }
        }
    }
}

fn sandbox(node: &Node) -> Sandbox {
    Sandbox {
        read: node.get_texts("read").unwrap_or_default(),
        is_unsafe: node.get("unsafe").and_then(Node::bool).unwrap_or_default(),
    }
}

fn check_places(root: &Node, notes: &mut Notes<'_>) {
    let read = root.get("sandbox").and_then(|sandbox| sandbox.get("read"));
    for place in read.map(Node::items).unwrap_or_default() {
        let text = place.text().unwrap_or_default();
        if let Some(problem) = Sandbox::problem(text) {
            notes.error(place.span.clone(), format!("`{text}` {problem}"));
        }
    }
}

fn price(node: &Node) -> Price {
    let millionths = |key: &str| {
        let number = node.get(key).and_then(Node::number)?;
        // The shape bounds it, so it fits.
        Some((number * 1_000_000.0).round() as u64)
    };
    Price {
        input: millionths("input").unwrap_or_default(),
        output: millionths("output").unwrap_or_default(),
        cache_read: millionths("cache_read"),
        cache_write: millionths("cache_write"),
    }
}

fn git(node: &Node) -> Git {
    let default = Git::default();
    Git {
        autocommit: node.get("autocommit").and_then(Node::bool).unwrap_or(default.autocommit),
        batch_ms: node.get("batch_ms").and_then(Node::int).unwrap_or(default.batch_ms),
    }
}

fn embeddings(node: &Node) -> Option<Embeddings> {
    Some(Embeddings { provider: node.get_text("provider")?, model: node.get_text("model")? })
}

fn trust(node: &Node) -> Trust {
    let secret = node.get("secret").map(Node::entries).unwrap_or_default();
    let agents = |value: &Node| value.items().iter().filter_map(|n| AgentId::parse(n.text()?).ok()).collect();
    Trust {
        outside: node.get_texts("outside").unwrap_or_default(),
        secret: secret.iter().map(|e| (e.key.clone(), agents(&e.value))).collect(),
    }
}

fn limits(node: &Node) -> Limits {
    let default = Limits::default();
    let long = |key: &str| node.get(key).and_then(Node::int);
    Limits {
        turns_max: node.get_int("turns_max").unwrap_or(default.turns_max),
        request_turns_max: node.get_int("request_turns_max").unwrap_or(default.request_turns_max),
        calls_max: node.get_int("calls_max").unwrap_or(default.calls_max),
        same_call_max: node.get_int("same_call_max").unwrap_or(default.same_call_max),
        parallel_max: node.get_int("parallel_max").unwrap_or(default.parallel_max),
        tasks_max: node.get_int("tasks_max").unwrap_or(default.tasks_max),
        model_attempts_max: node.get_int("model_attempts_max").unwrap_or(default.model_attempts_max),
        outage_wait_ms_max: long("outage_wait_ms_max").unwrap_or(default.outage_wait_ms_max),
        model_ms_max: long("model_ms_max").unwrap_or(default.model_ms_max),
        count_model_time: node.get("count_model_time").and_then(Node::bool).unwrap_or_default(),
        tool_ms_max: long("tool_ms_max").unwrap_or(default.tool_ms_max),
        output_bytes_max: long("output_bytes_max").unwrap_or(default.output_bytes_max),
        spawn_depth_max: node.get_int("spawn_depth_max").unwrap_or(default.spawn_depth_max),
        spawned_max: node.get_int("spawned_max").unwrap_or(default.spawned_max),
        max_total_agents: node.get_int("max_total_agents").unwrap_or(default.max_total_agents),
        max_total_tasks: node.get_int("max_total_tasks").unwrap_or(default.max_total_tasks),
        default_delegation_depth: node
            .get_int("default_delegation_depth")
            .unwrap_or(default.default_delegation_depth),
        delegation_retry: node.get("delegation_retry").and_then(Node::bool).unwrap_or_default(),
        delegation_when_full: match node.get("delegation_when_full").and_then(Node::text) {
            Some("reject") => WhenFull::Reject,
            Some(_) | None => WhenFull::Queue,
        },
        locks: LockLimits {
            lease_ms: long("lock_lease_ms").unwrap_or(default.locks.lease_ms),
            wait_ms: long("lock_wait_ms").unwrap_or(default.locks.wait_ms),
            queue_max: node.get_int("lock_queue_max").unwrap_or(default.locks.queue_max),
        },
    }
}

fn review(node: &Node) -> review::Settings {
    let default = review::Settings::default();
    let checks = node.get_texts("checks");
    let checks = checks.map(|words| words.iter().filter_map(|word| review::Check::parse(word)).collect());
    review::Settings {
        max_review_rounds: node.get_int("max_review_rounds").unwrap_or(default.max_review_rounds),
        checks: checks.unwrap_or(default.checks),
    }
}

fn routing(node: &Node) -> Routing {
    let agents = |key: &str| {
        let entries = node.get(key).map(Node::entries).unwrap_or_default();
        entries.iter().filter_map(|e| Some((e.key.clone(), AgentId::parse(e.value.text()?).ok()?)))
    };
    Routing {
        inbox: agents("inbox").collect(),
        tags: agents("tags").collect(),
        keywords: node.get("keywords").and_then(Node::bool).unwrap_or(Routing::default().keywords),
        planner: node.get_text("planner").and_then(|t| AgentId::parse(&t).ok()),
        fallback: node.get_text("fallback").and_then(|t| AgentId::parse(&t).ok()),
    }
}

fn role(node: &Node) -> Role {
    let permissions = node.get_texts("permissions").unwrap_or_default();
    Role {
        permissions: permissions.iter().filter_map(|p| Permission::parse(p)).collect(),
        tools: node.get_texts("tools").unwrap_or_default(),
    }
}
