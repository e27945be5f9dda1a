//! JSON Schemas of the files, made from the same tables that check them.

use serde_json::{Value, json};

use crate::shape::Shape;
use crate::{acl, agent, approval, inbox, policy, run_mode, script, session, settings, task};

/// The kinds that have a schema.
pub const KINDS: [&str; 10] =
    ["acl", "agent", "synod", "policy", "run-mode", "session", "script", "task", "approval", "inbox"];

/// The JSON Schema (draft 2020-12) of a kind of file; of `task`, of a task's properties; of `approval`, of the
/// record in the file; of `inbox`, of one line.
pub fn schema(kind: &str) -> Option<String> {
    let mut schema = shape(kind)?.schema();
    if let Some(object) = schema.as_object_mut() {
        object.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        object.insert("title".to_owned(), Value::from(format!("Synod: {kind}")));
    }
    serde_json::to_string_pretty(&schema).ok().map(|text| text + "\n")
}

pub(crate) fn shape(kind: &str) -> Option<Shape> {
    match kind {
        "acl" => Some(acl::SHAPE),
        "agent" => Some(agent::SHAPE),
        "synod" => Some(settings::SHAPE),
        "policy" => Some(policy::SHAPE),
        "run-mode" => Some(run_mode::SHAPE),
        "session" => Some(session::SHAPE),
        "script" => Some(script::SHAPE),
        "task" => Some(task::SHAPE),
        "approval" => Some(approval::SHAPE),
        "inbox" => Some(inbox::SHAPE),
        _ => None,
    }
}
