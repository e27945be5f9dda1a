//! `policy/commands.yaml`: literal commands and what they get.

use domain::settings::{CommandRule, CommandVerdict, Policy};
use domain::tool::Nature;

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
        ]),
        VERDICT,
    ])),
    "a command exactly as it is given to execute_command, and what it gets",
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
        let commands = commands.iter().filter_map(|e| Some((e.key.clone(), rule(&e.value)?))).collect();
        Policy { commands }
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
    Some(CommandRule { verdict, nature })
}
