//! `eve.json`: the settings of a home that has no `synod.yaml`, as the design of Eve writes them.

use std::collections::BTreeMap;

use domain::agent::bounds;
use domain::id::AgentId;
use domain::settings::{Endpoint, KeySource, Limits, ModelRef, Provider, Routing, Settings};

use crate::diagnostic::{Notes, Read};
use crate::json;
use crate::shape::{COUNT, MODEL, Shape, TEXTS, may};
use crate::yaml::Node;

/// The agent that gets what nobody else gets, where `eve.fallback` says so.
const EVE: &str = "eve";
/// Providers that need no entry: the name, the address, and the variable with the key.
const PROVIDERS: [(&str, &str, &str); 2] = [
    ("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
];

/// All that `eve.json` may say. Other keys are kept with a warning.
const SHAPE: Shape = Shape::Record(&[
    may(
        "eve",
        Shape::Record(&[
            may("model", Shape::Text, "the model of the agent eve"),
            may("role", Shape::Text, "the role of the agent eve"),
            may("fallback", Shape::Bool, "whether the agent eve gets what nobody else gets"),
        ]),
        "the agent eve; its own file in agents/ says the rest",
    ),
    may(
        "agents",
        Shape::Record(&[
            may("enabled", TEXTS, "agents that work"),
            may("auto_discover", Shape::Bool, "whether all agents of agents/ work (true)"),
            may(
                "global_limits",
                Shape::Record(&[
                    may("max_total_agents", COUNT, "as in `limits` of synod.yaml (20)"),
                    may("max_total_tasks", COUNT, "as in `limits` of synod.yaml (100)"),
                    may(
                        "default_delegation_depth",
                        Shape::Int(bounds::DELEGATION_DEPTH.0 as u64, bounds::DELEGATION_DEPTH.1 as u64),
                        "as in `limits` of synod.yaml (3)",
                    ),
                ]),
                "bounds of the whole home",
            ),
        ]),
        "which agents work, and how many",
    ),
    may("models", Shape::Map(&MODEL), "model aliases"),
]);

/// Reads `eve.json`.
pub(crate) fn read(path: &str, text: &str) -> Read<Settings> {
    let mut notes = Notes::new(path, text);
    notes.keep_unknown();
    let value = json::parse(text, &mut notes).and_then(|root| {
        SHAPE.check(&root, &mut notes);
        let discover = root.get("agents").and_then(|agents| agents.get("auto_discover"));
        if let Some(node) = discover.filter(|node| node.bool() == Some(false)) {
            let help = Some("take the files of agents that must not work out of agents/".to_owned());
            notes.warning(node.span.clone(), "every agent that has a file in agents/ works", help);
        }
        if notes.failed() { None } else { settings(&root) }
    });
    notes.finish(value)
}

fn settings(root: &Node) -> Option<Settings> {
    let mut models = BTreeMap::new();
    for entry in root.get("models").map(Node::entries).unwrap_or_default() {
        models.insert(entry.key.clone(), super::model(&entry.value)?);
    }
    let is_fallback = root.get("eve").and_then(|eve| eve.get("fallback")).and_then(Node::bool);
    let default = Limits::default();
    let global = root.get("agents").and_then(|agents| agents.get("global_limits"));
    let limit = |key: &str, usual: u32| global.and_then(|node| node.get_int(key)).unwrap_or(usual);
    Some(Settings {
        providers: providers(&models),
        models,
        limits: Limits {
            max_total_agents: limit("max_total_agents", default.max_total_agents),
            max_total_tasks: limit("max_total_tasks", default.max_total_tasks),
            default_delegation_depth: limit("default_delegation_depth", default.default_delegation_depth),
            ..default
        },
        routing: Routing {
            fallback: is_fallback.unwrap_or_default().then(|| AgentId::new(EVE)),
            ..Routing::default()
        },
        ..Settings::default()
    })
}

/// The providers that the models name, each as its maker offers it.
fn providers(models: &BTreeMap<String, ModelRef>) -> BTreeMap<String, Provider> {
    let is_named = |name: &str| models.values().any(|model| model.provider == name);
    let named = PROVIDERS.into_iter().filter(|(name, ..)| is_named(name));
    let provider = |(name, url, key): (&str, &str, &str)| {
        let endpoint = Endpoint { key: Some(KeySource::Env(key.to_owned())), ..Endpoint::new(url) };
        let provider = match name {
            "openai" => Provider::OpenAi(endpoint),
            _ => Provider::Anthropic(endpoint),
        };
        (name.to_owned(), provider)
    };
    named.map(provider).collect()
}
