//! `synod.yaml`: what the owner of the home settled. Every part may be left out, so an empty file is a good one.

use std::collections::BTreeMap;

use domain::id::AgentId;
use domain::role::{Permission, Role};
use domain::settings::{Approvals, Limits, ModelRef, Provider, Routing, Settings};

use crate::diagnostic::{Notes, Read};
use crate::shape::{INT_MAX, Shape, TEXTS, may, must};
use crate::time;
use crate::yaml::{self, Node};

const COUNT: Shape = Shape::Int(1, u32::MAX as u64);
const AMOUNT: Shape = Shape::Int(1, INT_MAX);
const PERMISSIONS: Shape = Shape::List(&Shape::Word(&[
    "read_files",
    "write_files",
    "execute_tools",
    "spawn_agents",
    "approve_work",
]));

/// All that `synod.yaml` may say.
pub(crate) const SHAPE: Shape = Shape::Record(&[
    may(
        "providers",
        Shape::Map(&Shape::Record(&[
            must("kind", Shape::Word(&["scripted"]), "how models are reached"),
            must("script", Shape::Text, "for `scripted`: the file with the rules, relative to the home"),
        ])),
        "ways to reach models, by name",
    ),
    may(
        "models",
        Shape::Map(&Shape::Record(&[
            must("provider", Shape::Text, "a name of `providers`"),
            must("model", Shape::Text, "the model's name there"),
        ])),
        "model aliases",
    ),
    may(
        "limits",
        Shape::Record(&[
            may("turns_max", COUNT, "turns of one session until somebody new speaks (25)"),
            may("calls_max", COUNT, "tool calls of one turn (16)"),
            may("same_call_max", COUNT, "the same call in a row; the next is refused (3)"),
            may("parallel_max", COUNT, "sessions working at once, all agents together (16)"),
            may("tasks_max", COUNT, "tasks that may be open at once (10000)"),
            may("model_attempts_max", COUNT, "how often a failed model call is tried (3)"),
            may("model_ms_max", AMOUNT, "how long one model call may take (120000)"),
            may("tool_ms_max", AMOUNT, "how long one tool call may take (60000)"),
            may("output_bytes_max", AMOUNT, "bytes of a tool's output that go into the session (32768)"),
        ]),
        "bounds on what is done",
    ),
    may(
        "routing",
        Shape::Record(&[
            may("inbox", Shape::Map(&Shape::Id), "inbox file without its ending, to agent"),
            may("tags", Shape::Map(&Shape::Id), "tag pattern to agent, tried in this order"),
            may("fallback", Shape::Id, "who gets what nobody else gets"),
        ]),
        "who gets what comes in",
    ),
    may(
        "approvals",
        Shape::Record(&[may(
            "expire_after",
            Shape::Duration,
            "when an unanswered approval lapses; never if left out",
        )]),
        "what happens to approvals that nobody answers",
    ),
    may(
        "roles",
        Shape::Map(&Shape::Record(&[
            may("permissions", PERMISSIONS, "what it may do at all"),
            may("tools", TEXTS, "patterns of the tools it has unless the agent says otherwise"),
        ])),
        "roles beside the built-in ones",
    ),
]);

/// Reads `synod.yaml`.
pub fn read(path: &str, source: &str) -> Read<Settings> {
    let mut notes = Notes::new(path, source);
    let value = yaml::parse(source, &mut notes).and_then(|root| {
        if root.is_null() {
            return Some(Settings::default());
        }
        SHAPE.check(&root, &mut notes);
        if notes.failed() { None } else { settings(&root) }
    });
    notes.finish(value)
}

fn settings(root: &Node) -> Option<Settings> {
    let entries = |key: &str| root.get(key).map(Node::entries).unwrap_or_default();
    let mut providers = BTreeMap::new();
    for entry in entries("providers") {
        providers.insert(entry.key.clone(), Provider::Scripted { script: entry.value.get_text("script")? });
    }
    let mut models = BTreeMap::new();
    for entry in entries("models") {
        let model =
            ModelRef { provider: entry.value.get_text("provider")?, model: entry.value.get_text("model")? };
        models.insert(entry.key.clone(), model);
    }
    let roles = entries("roles").iter().map(|e| (e.key.clone(), role(&e.value))).collect();
    let expire_ms = root.get("approvals").and_then(|a| a.get("expire_after")).and_then(Node::text);
    Some(Settings {
        providers,
        models,
        limits: root.get("limits").map(limits).unwrap_or_default(),
        routing: root.get("routing").map(routing).unwrap_or_default(),
        approvals: Approvals { expire_ms: expire_ms.and_then(time::parse_duration) },
        roles,
    })
}

fn limits(node: &Node) -> Limits {
    let default = Limits::default();
    let long = |key: &str| node.get(key).and_then(Node::int);
    Limits {
        turns_max: node.get_int("turns_max").unwrap_or(default.turns_max),
        calls_max: node.get_int("calls_max").unwrap_or(default.calls_max),
        same_call_max: node.get_int("same_call_max").unwrap_or(default.same_call_max),
        parallel_max: node.get_int("parallel_max").unwrap_or(default.parallel_max),
        tasks_max: node.get_int("tasks_max").unwrap_or(default.tasks_max),
        model_attempts_max: node.get_int("model_attempts_max").unwrap_or(default.model_attempts_max),
        model_ms_max: long("model_ms_max").unwrap_or(default.model_ms_max),
        tool_ms_max: long("tool_ms_max").unwrap_or(default.tool_ms_max),
        output_bytes_max: long("output_bytes_max").unwrap_or(default.output_bytes_max),
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
