//! Agents: `agents/<id>.agent.yaml` and `agents/<id>/agent.json`.

mod print;

use domain::agent::{Concurrency, Delegation, Model, Permissions, Spawn, Spec, Tools, Workspace, bounds};
use domain::id::AgentId;
use domain::layout;
use domain::spawn::Origin;

pub use print::print;

use crate::diagnostic::{Notes, Read};
use crate::document;
use crate::shape::{INT_MAX, Shape, TEXTS, may, must};
use crate::yaml::Node;

/// The role of an agent whose file describes one in its own words: it reads and does nothing else.
pub const ROLE_DEFAULT: &str = "domain_specialist";

const MODEL: Shape = Shape::Either(&[
    Shape::Record(&[
        must("primary", Shape::Text, "an alias of synod.yaml, or a model's own name"),
        may("fallback", Shape::Text, "used when the primary is down"),
        may("temperature", Shape::Number(0.0, 2.0), "as the provider takes it"),
        may("max_tokens", Shape::Int(1, u32::MAX as u64), "the longest answer"),
        may("thinking", Shape::Text, "how hard to think, in the provider's words"),
    ]),
    Shape::Text,
]);

const ROLE: Shape = Shape::Either(&[
    Shape::Record(&[
        may("description", Shape::Text, "one line for people"),
        may("system_prompt", Shape::Text, "what the model is told first"),
    ]),
    Shape::Text,
]);

const fn bound(b: (u32, u32, u32)) -> Shape {
    Shape::Int(b.0 as u64, b.1 as u64)
}

const PERMISSIONS: Shape = Shape::Record(&[
    may(
        "tools",
        Shape::Record(&[
            may("allow", TEXTS, "patterns of tool names; if present, only these"),
            may("deny", TEXTS, "patterns of tool names; deny wins"),
        ]),
        "which tools",
    ),
    may("capabilities", TEXTS, "the same as `capabilities` of the agent"),
    may(
        "delegation",
        Shape::Record(&[
            may("can_delegate", Shape::Bool, "whether it hands work on"),
            may("allowed_targets", TEXTS, "to whom; anybody if left out"),
            may("allowed_tags", TEXTS, "which tags; all if left out"),
            may(
                "max_delegation_depth",
                bound(bounds::DELEGATION_DEPTH),
                "how often work is handed on (limits.default_delegation_depth)",
            ),
        ]),
        "handing work on",
    ),
    may(
        "spawn",
        Shape::Record(&[may(
            "roles",
            TEXTS,
            "roles of agents that it may spawn, as patterns (planner, coder, reviewer, tester)",
        )]),
        "spawning agents; its role needs spawn_agents as well",
    ),
    may(
        "concurrency",
        Shape::Record(&[
            may("max_parallel_tasks", bound(bounds::PARALLEL_TASKS), "tasks at once (5)"),
            may("max_pending_queue", bound(bounds::PENDING_QUEUE), "tasks that may wait (20)"),
            may(
                "queue_timeout_ms",
                Shape::Int(bounds::QUEUE_TIMEOUT_MS.0, INT_MAX),
                "how long a task may wait for a slot; delegated work `task_timeout_ms` if left out",
            ),
            may(
                "task_timeout_ms",
                Shape::Int(bounds::TASK_TIMEOUT_MS.0, INT_MAX),
                "working time of a task (3600000)",
            ),
        ]),
        "how much at once",
    ),
    may("can_delegate", Shape::Bool, "the same as `delegation.can_delegate`"),
    may("can_access_context", Shape::Bool, "`false` beats every grant"),
    may("max_tokens_per_call", Shape::Int(0, u32::MAX as u64), "the longest answer of one call"),
]);

/// All that an agent's file may say.
pub(crate) const SHAPE: Shape = Shape::Record(&[
    must("id", Shape::Id, "the agent's name, unique in the home"),
    may("name", Shape::Text, "a name for people"),
    may("version", Shape::Text, "the file's version; kept as metadata"),
    may("type", Shape::Text, "the role, such as executor"),
    may("role", ROLE, "the role, or a map with `description` and `system_prompt`"),
    may("description", Shape::Text, "one line for people and for agents that choose whom to ask"),
    must("model", MODEL, "an alias of synod.yaml, or a map with `primary` and more"),
    may("system_prompt", Shape::Text, "what the model is told first"),
    may("capabilities", TEXTS, "tools it has, or words that describe what it can do"),
    may("expertise", TEXTS, "fields of knowledge, for finding help"),
    may("responsibilities", TEXTS, "task tags it answers for, as patterns"),
    may(
        "channels",
        Shape::List(&Shape::Id),
        "channels it listens to, such as ops: it gets what is sent to #ops; dependency and help are Synod's own",
    ),
    may("priority", bound(bounds::PRIORITY), "1 is first (5)"),
    may("permissions", PERMISSIONS, "what it may do"),
    may(
        "workspace",
        Shape::Record(&[
            may("repo", Shape::Text, "a repository to make a worktree of"),
            may("branch", Shape::Text, "the branch it works on"),
            may("test", Shape::Text, "the command of `run_tests`, such as `cargo test`"),
            may("lint", Shape::Text, "the command of `lint`, such as `cargo clippy`"),
        ]),
        "where it works",
    ),
    may("spawned_by", Shape::Text, "who made it while the team worked; they pay for it"),
    may("metadata", Shape::Map(&Shape::Any), "free words of the owner"),
]);

/// Reads an agent's file; a path that ends in `.json` is read as JSON, any other as YAML.
pub fn read(path: &str, text: &str) -> Read<Spec> {
    let mut notes = Notes::new(path, text);
    let is_json = path.ends_with(".json");
    if is_json {
        notes.keep_unknown();
    }
    let value = document::tree(path, text, &mut notes).and_then(|root| {
        SHAPE.check(&root, &mut notes);
        // Files that were written for another program name no role of Synod.
        if !is_json || root.get("type").is_some() || root.get("role").is_some() {
            check_role(&root, &mut notes);
        }
        check_origin(&root, &mut notes);
        check_channels(&root, &mut notes);
        check_id(&root, &mut notes);
        check_name(path, &root, &mut notes);
        if notes.failed() { None } else { spec(&root) }
    });
    notes.finish(value)
}

fn check_role(root: &Node, notes: &mut Notes<'_>) {
    let (kind, role) = (root.entry("type"), root.entry("role"));
    match (root.get("type"), root.get("role")) {
        (None, None) if notes.failed() => {}
        (None, None) => {
            let at = kind.or(role).map_or(root.span.start..root.span.start, |e| e.key_span.clone());
            notes.error_with(
                at,
                "the key `type` is missing",
                Some("name a role, such as `type: executor`".to_owned()),
            );
        }
        (Some(_), Some(role)) if role.text().is_some() => {
            notes.error(role.span.clone(), "`role` says again what `type` says: keep one of them");
        }
        _ => {}
    }
    for key in ["description", "system_prompt"] {
        let inner = root.get("role").and_then(|r| r.get(key));
        if let (Some(_), Some(inner)) = (root.get(key), inner) {
            notes.error(
                inner.span.clone(),
                format!("`role.{key}` says again what `{key}` says: keep one of them"),
            );
        }
    }
}

fn check_origin(root: &Node, notes: &mut Notes<'_>) {
    let Some((node, text)) = root.get("spawned_by").and_then(|node| Some((node, node.text()?))) else {
        return;
    };
    if let Err(why) = Origin::parse(text) {
        notes.error(node.span.clone(), why.to_string());
    }
}

/// The agent that a file at this path is about, whatever it says.
pub fn named(path: &str) -> Option<&str> {
    layout::agent_of(path)
}

/// An agent that is called like a person would say yes to what only people may.
fn check_id(root: &Node, notes: &mut Notes<'_>) {
    let Some(node) = root.get("id") else { return };
    if let Some(Err(why)) = node.text().map(domain::agent::check_name) {
        notes.error(node.span.clone(), why.to_string());
    }
}

/// A copy of a file under another name must not speak for the agent that it was copied from.
fn check_name(path: &str, root: &Node, notes: &mut Notes<'_>) {
    let Some((name, node)) = named(path).zip(root.get("id")) else { return };
    if let Some(id) = node.text().filter(|id| *id != name) {
        let help = match AgentId::parse(name) {
            Ok(_) => format!("rename the file, or write `id: {name}`"),
            // No agent can be called so.
            Err(_) => "rename the file".to_owned(),
        };
        let message = format!("the file is named `{name}`, its agent `{id}`");
        notes.error_with(node.span.clone(), message, Some(help));
    }
}

fn check_channels(root: &Node, notes: &mut Notes<'_>) {
    for node in root.get("channels").map(Node::items).unwrap_or_default() {
        if let Some(Err(why)) = node.text().map(domain::message::check_channel) {
            notes.error(node.span.clone(), why.to_string());
        }
    }
}

fn spec(root: &Node) -> Option<Spec> {
    let role_map = root.get("role").filter(|r| r.text().is_none());
    let role =
        root.get_text("type").or_else(|| root.get_text("role")).unwrap_or_else(|| ROLE_DEFAULT.to_owned());
    let words =
        |key| root.get_text(key).or_else(|| role_map.and_then(|r| r.get_text(key))).unwrap_or_default();
    let permissions = root.get("permissions");
    let mut capabilities = root.get_texts("capabilities").unwrap_or_default();
    capabilities.extend(permissions.and_then(|p| p.get_texts("capabilities")).unwrap_or_default());
    let mut metadata: std::collections::BTreeMap<String, String> = root
        .get("metadata")
        .map(|m| m.entries().iter().map(|e| (e.key.clone(), word(&e.value))).collect())
        .unwrap_or_default();
    let Shape::Record(known) = SHAPE else { return None };
    let unknown = root.entries().iter().filter(|entry| known.iter().all(|key| key.name != entry.key));
    for entry in unknown {
        metadata.entry(entry.key.clone()).or_insert_with(|| word(&entry.value));
    }
    if let Some(version) = root.get_text("version") {
        metadata.entry("version".to_owned()).or_insert(version);
    }
    Some(Spec {
        id: AgentId::parse(root.get("id")?.text()?).ok()?,
        name: root.get_text("name"),
        role,
        description: words("description"),
        model: model(root.get("model")?)?,
        system_prompt: words("system_prompt"),
        capabilities,
        expertise: root.get_texts("expertise").unwrap_or_default(),
        responsibilities: root.get_texts("responsibilities").unwrap_or_default(),
        channels: root.get_texts("channels").unwrap_or_default(),
        priority: root.get_int("priority").unwrap_or(bounds::PRIORITY.2),
        permissions: permissions.map(permissions_of).unwrap_or_default(),
        workspace: root.get("workspace").map(|w| Workspace {
            repo: w.get_text("repo"),
            branch: w.get_text("branch"),
            test: w.get_text("test"),
            lint: w.get_text("lint"),
        }),
        spawned_by: root.get_text("spawned_by").and_then(|text| Origin::parse(&text).ok()),
        metadata,
    })
}

fn model(node: &Node) -> Option<Model> {
    if let Some(name) = node.text() {
        return Some(Model::alias(name));
    }
    Some(Model {
        primary: node.get_text("primary")?,
        fallback: node.get_text("fallback"),
        temperature: node.get("temperature").and_then(Node::number),
        max_tokens: node.get_int("max_tokens"),
        thinking: node.get_text("thinking"),
    })
}

fn permissions_of(node: &Node) -> Permissions {
    let tools = node.get("tools");
    let delegation = node.get("delegation");
    let concurrency = node.get("concurrency");
    let c = Concurrency::default();
    let flag = |n: Option<&Node>, key: &str| n.and_then(|n| n.get(key)).and_then(Node::bool);
    Permissions {
        tools: Tools {
            allow: tools.and_then(|t| t.get_texts("allow")),
            deny: tools.and_then(|t| t.get_texts("deny")).unwrap_or_default(),
        },
        delegation: Delegation {
            can_delegate: flag(delegation, "can_delegate")
                .or_else(|| flag(Some(node), "can_delegate"))
                .unwrap_or_default(),
            allowed_targets: delegation.and_then(|n| n.get_texts("allowed_targets")),
            allowed_tags: delegation.and_then(|n| n.get_texts("allowed_tags")),
            max_delegation_depth: delegation.and_then(|n| n.get_int("max_delegation_depth")),
        },
        spawn: Spawn { roles: node.get("spawn").and_then(|n| n.get_texts("roles")) },
        concurrency: Concurrency {
            max_parallel_tasks: concurrency
                .and_then(|n| n.get_int("max_parallel_tasks"))
                .unwrap_or(c.max_parallel_tasks),
            max_pending_queue: concurrency
                .and_then(|n| n.get_int("max_pending_queue"))
                .unwrap_or(c.max_pending_queue),
            queue_timeout_ms: concurrency.and_then(|n| n.get("queue_timeout_ms")).and_then(Node::int),
            task_timeout_ms: concurrency
                .and_then(|n| n.get("task_timeout_ms"))
                .and_then(Node::int)
                .unwrap_or(c.task_timeout_ms),
        },
        can_access_context: flag(Some(node), "can_access_context"),
        max_tokens_per_call: node.get_int("max_tokens_per_call"),
    }
}

/// A free value as one text: scalars as they are, the rest as JSON.
fn word(node: &Node) -> String {
    match node.text() {
        Some(text) => text.to_owned(),
        None if node.is_null() => String::new(),
        None => node.to_json().to_string(),
    }
}
