//! `run_mode.yaml`: how a request is coordinated.

use domain::mode::{Member, Mode, RunMode};

use crate::diagnostic::{Notes, Read};
use crate::shape::{Shape, TEXTS, may, must};
use crate::yaml::{self, Node};

const MODE: Shape = Shape::Word(&["solo", "orchestrator", "voting", "role_locked", "hybrid"]);
const COUNT: Shape = Shape::Int(1, 100);
/// What an agent is when the file does not say it.
const ROLE_DEFAULT: &str = "builder";
const DELEGATION_DEPTH_DEFAULT: u32 = 2;
const VOTERS_DEFAULT: u32 = 3;
const THRESHOLD_DEFAULT: f64 = 0.5;

const MEMBER: Shape = Shape::Record(&[
    may("name", Shape::Text, "its name; of `roles`, the key if left out"),
    may("role", Shape::Text, "its role (builder)"),
    must("model", Shape::Text, "its model"),
    may("capabilities", TEXTS, "what it can do"),
]);

/// All that `run_mode.yaml` may say.
pub(crate) const SHAPE: Shape = Shape::Record(&[
    may("mode", MODE, "how requests are coordinated (solo)"),
    may(
        "orchestrator",
        Shape::Record(&[
            may("model", Shape::Text, "who plans"),
            may("max_delegation_depth", COUNT, "how often work is handed on (2)"),
        ]),
        "for `orchestrator`",
    ),
    may("sub_agents", Shape::List(&MEMBER), "for `orchestrator`: who works"),
    may(
        "voting",
        Shape::Record(&[
            may("agents", COUNT, "how many voters (3)"),
            may("threshold", Shape::Number(0.0, 1.0), "the share that is needed (0.5)"),
            may("model", Shape::Text, "the model of all voters"),
        ]),
        "for `voting`",
    ),
    may("roles", Shape::Map(&MEMBER), "for `role_locked`: who has which role"),
    may("critic_required", Shape::Bool, "for `role_locked`: a critic reviews each step (true)"),
    may("phases", Shape::Map(&MODE), "for `hybrid`: the mode of each phase"),
]);

/// Reads `run_mode.yaml`. An empty one means `solo`.
pub fn read(path: &str, text: &str) -> Read<RunMode> {
    let mut notes = Notes::new(path, text);
    let value = yaml::parse(text, &mut notes).and_then(|root| {
        if !root.is_null() {
            SHAPE.check(&root, &mut notes);
        }
        if notes.failed() { None } else { run_mode(&root) }
    });
    notes.finish(value)
}

fn run_mode(root: &Node) -> Option<RunMode> {
    let (orchestrator, voting) = (root.get("orchestrator"), root.get("voting"));
    let entries = |key: &str| root.get(key).map(Node::entries).unwrap_or_default();
    let sub_agents = root.get("sub_agents").map(Node::items).unwrap_or_default();
    Some(RunMode {
        mode: root.get("mode").and_then(mode).unwrap_or_default(),
        orchestrator_model: orchestrator.and_then(|n| n.get_text("model")),
        max_delegation_depth: orchestrator
            .and_then(|n| n.get_int("max_delegation_depth"))
            .unwrap_or(DELEGATION_DEPTH_DEFAULT),
        sub_agents: sub_agents.iter().filter_map(|n| member(n, "agent")).collect(),
        voting_agents: voting.and_then(|n| n.get_int("agents")).unwrap_or(VOTERS_DEFAULT),
        voting_threshold: voting
            .and_then(|n| n.get("threshold"))
            .and_then(Node::number)
            .unwrap_or(THRESHOLD_DEFAULT),
        voting_model: voting.and_then(|n| n.get_text("model")),
        roles: entries("roles")
            .iter()
            .filter_map(|e| Some((e.key.clone(), member(&e.value, &e.key)?)))
            .collect(),
        critic_required: root.get("critic_required").and_then(Node::bool).unwrap_or(true),
        phases: entries("phases").iter().filter_map(|e| Some((e.key.clone(), mode(&e.value)?))).collect(),
    })
}

fn mode(node: &Node) -> Option<Mode> {
    node.text().and_then(Mode::parse)
}

fn member(node: &Node, name: &str) -> Option<Member> {
    Some(Member {
        name: node.get_text("name").unwrap_or_else(|| name.to_owned()),
        role: node.get_text("role").unwrap_or_else(|| ROLE_DEFAULT.to_owned()),
        model: node.get_text("model")?,
        capabilities: node.get_texts("capabilities").unwrap_or_default(),
    })
}
