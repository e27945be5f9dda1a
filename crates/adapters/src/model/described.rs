//! The tools of a request as JSON, written once for all calls that share them: a thousand agents of one role have the
//! same dozen of kilobytes.

use std::sync::{Arc, Mutex, PoisonError};

use ports::model::Tool;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Lists that are kept; more than a team has kinds of agents.
const KEPT_MAX: usize = 32;

/// Writes tools as JSON in the way of an API.
pub(super) type WriteTools = fn(&[Tool]) -> serde_json::Result<Box<RawValue>>;

/// The schema of a tool as it stands: the order of its fields counts.
pub(super) fn schema_of(tool: &Tool) -> &RawValue {
    let schema = serde_json::from_str(&tool.schema);
    schema.unwrap_or_else(|_| serde_json::from_str(r#"{"type":"object"}"#).expect("it is JSON"))
}

type List = (Arc<[Tool]>, Arc<RawValue>);

/// Lists of tools and their JSON, the newest last.
#[derive(Default)]
pub(super) struct Described(Mutex<Vec<List>>);

/// A request, with its tools as text.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    body: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
}

impl Described {
    /// The body with these tools, as text. `write` writes them.
    pub(super) fn with(
        &self,
        body: &Value,
        tools: &Arc<[Tool]>,
        write: WriteTools,
    ) -> serde_json::Result<String> {
        let tools = if tools.is_empty() { None } else { Some(self.json(tools, write)?) };
        serde_json::to_string(&Whole { body, tools: tools.as_deref() })
    }

    fn json(&self, tools: &Arc<[Tool]>, write: WriteTools) -> serde_json::Result<Arc<RawValue>> {
        let kept = |all: &[List]| {
            // The list itself is kept, so that no other can have its place in memory.
            all.iter().find(|(known, _)| Arc::ptr_eq(known, tools)).map(|(_, json)| Arc::clone(json))
        };
        // Each change of the list is whole; a panic of another thread leaves nothing half done.
        if let Some(json) = kept(&self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(json);
        }
        let json: Arc<RawValue> = Arc::from(write(tools)?);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT_MAX {
            known.remove(0);
        }
        known.push((Arc::clone(tools), Arc::clone(&json)));
        Ok(json)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(name: &str) -> Arc<[Tool]> {
        let (name, description, schema) = (name.to_owned(), "a tool".to_owned(), "{}".to_owned());
        [Tool { name, description, schema }].into()
    }

    #[test]
    fn a_request_has_its_own_tools_whoever_was_asked_before() {
        let described = Described::default();
        let body = json!({"model": "m"});
        let write = |tools: &[Tool]| {
            let names: Vec<Value> = tools.iter().map(|tool| json!({"name": tool.name})).collect();
            serde_json::value::to_raw_value(&names)
        };
        for round in 0..2 * KEPT_MAX {
            let (one, two) = (named(&format!("a-{round}")), named(&format!("b-{round}")));
            for tools in [&one, &two, &one] {
                let text = described.with(&body, tools, write).unwrap();
                let value: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(value, json!({"model": "m", "tools": [{"name": tools[0].name}]}));
            }
        }
        assert!(described.0.lock().unwrap().len() <= KEPT_MAX);
        let none: Arc<[Tool]> = [].into();
        assert_eq!(described.with(&body, &none, write).unwrap(), r#"{"model":"m"}"#);
    }
}
