//! `policy/commands.yaml`: patterns of commands and what they get.

use policy::command;
use policy::{CommandRule, CommandVerdict, Nature, Policy};

use crate::diagnostic::{Notes, Read};
use crate::shape::{Shape, may, must};
use crate::yaml::{self, Node};

const VERDICT: Shape = Shape::Word(&["allow", "ask", "deny", "true", "false"]);

/// All that the policy file may say.
pub(crate) const SHAPE: Shape = Shape::Record(&[may(
    "commands",
    Shape::Map(&Shape::Either(&[
        Shape::Record(&[
            must("verdict", VERDICT, "run it, ask first, or never"),
            may("effect", Shape::Word(&["read", "idempotent", "once"]), "what repeating it would do (once)"),
            may("network", Shape::Bool, "whether it needs the network; an approval then grants it (false)"),
            may("reason", Shape::Text, "why, for whoever is asked or refused"),
        ]),
        VERDICT,
    ])),
    "a command, word by word, and what it gets; `*` stands for a word or a part of one, at the end for any rest",
)]);

/// Reads the policy file. An empty one has no commands.
pub fn read(path: &str, text: &str) -> Read<Policy> {
    let mut notes = Notes::new(path, text);
    let value = yaml::parse(text, &mut notes).map(|root| {
        if root.is_null() {
            return Policy::default();
        }
        SHAPE.check(&root, &mut notes);
        let commands = root.get("commands").map(Node::entries).unwrap_or_default();
        let mut policy = Policy::default();
        for entry in commands {
            let Some(rule) = rule(&entry.value) else { continue };
            if let Some(problem) = command::problem(&entry.key, rule.verdict) {
                notes.warning(entry.key_span.clone(), problem.what, Some(problem.help.to_owned()));
            }
            policy.commands.insert(entry.key.clone(), rule);
        }
        policy
    });
    notes.finish(value)
}

fn rule(node: &Node) -> Option<CommandRule> {
    let verdict = node.text().or_else(|| node.get("verdict").and_then(Node::text))?;
    let verdict = match verdict {
        "allow" | "true" => CommandVerdict::Allow,
        "ask" => CommandVerdict::Ask,
        "deny" | "false" => CommandVerdict::Deny,
        _ => return None,
    };
    let nature = match node.get("effect").and_then(Node::text) {
        Some("read") => Nature::Read,
        Some("idempotent") => Nature::Idempotent,
        _ => Nature::Once,
    };
    let network = node.get("network").and_then(Node::bool).unwrap_or(false);
    let reason = node.get("reason").and_then(Node::text).map(str::to_owned);
    Some(CommandRule { verdict, nature, network, reason })
}
