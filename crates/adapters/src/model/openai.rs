//! OpenAI's chat completions, as OpenAI and those who imitate it speak them.

use domain::usage::Usage;
use ports::model::{ModelError, Request, Schema};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::described::schema_of;
use super::draft::{Draft, Stop, counted};
use super::fault::{again, in_band};
use super::turns::{self, Turn};

/// OpenAI itself wants another name for the longest answer than those who imitate it.
const OWN_HOST: &str = "api.openai.com";

/// The request as JSON, without its tools.
pub(super) fn body(request: &Request, host: &str, stream: bool) -> Value {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for turn in turns::of(&request.messages) {
        match turn {
            Turn::User(text) => messages.push(json!({"role": "user", "content": text})),
            Turn::Model { text, calls } => {
                let calls: Vec<Value> = calls
                    .iter()
                    .map(|call| {
                        let function = json!({"name": call.tool, "arguments": call.arguments});
                        json!({"id": call.id, "type": "function", "function": function})
                    })
                    .collect();
                let mut message = json!({"role": "assistant", "content": text});
                if !calls.is_empty() {
                    message["tool_calls"] = Value::Array(calls);
                }
                messages.push(message);
            }
            Turn::Results(results) => messages.extend(
                results
                    .iter()
                    .map(|one| json!({"role": "tool", "tool_call_id": one.id, "content": one.text})),
            ),
        }
    }
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    put("model", json!(request.model));
    put("messages", Value::Array(messages));
    if let Some(most) = request.max_tokens {
        put(if host == OWN_HOST { "max_completion_tokens" } else { "max_tokens" }, json!(most));
    }
    if let Some(temperature) = request.temperature {
        put("temperature", json!(temperature));
    }
    if let Some(effort) = &request.thinking {
        put("reasoning_effort", json!(effort));
    }
    if let Some(format) = request.schema.as_ref().and_then(format) {
        put("response_format", format);
    }
    if stream {
        put("stream", json!(true));
        put("stream_options", json!({"include_usage": true}));
    }
    Value::Object(body)
}

/// Its tools.
pub(super) fn tools(tools: &[ports::model::Tool]) -> serde_json::Result<Box<RawValue>> {
    let all: Vec<Described<'_>> = tools.iter().map(described).collect();
    serde_json::value::to_raw_value(&all)
}

/// A tool as this API has it.
#[derive(Serialize)]
struct Described<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

fn described(tool: &ports::model::Tool) -> Described<'_> {
    let ports::model::Tool { name, description, .. } = tool;
    Described { r#type: "function", function: Function { name, description, parameters: schema_of(tool) } }
}

fn format(schema: &Schema) -> Option<Value> {
    let value: Value = serde_json::from_str(&schema.schema).ok()?;
    let strict = is_closed(&value);
    Some(json!({
        "type": "json_schema",
        "json_schema": {"name": schema.name, "schema": value, "strict": strict},
    }))
}

/// Whether every object of a schema names all its keys and requires them: providers enforce only such schemas.
pub(super) fn is_closed(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let is_object = map.get("type").and_then(Value::as_str) == Some("object");
            let keys = map.get("properties").and_then(Value::as_object);
            let required: Vec<&str> = map
                .get("required")
                .and_then(Value::as_array)
                .map(|names| names.iter().filter_map(Value::as_str).collect())
                .unwrap_or_default();
            let all = keys.is_none_or(|keys| keys.keys().all(|key| required.contains(&key.as_str())));
            let closed = map.get("additionalProperties") == Some(&Value::Bool(false));
            (!is_object || closed && all) && map.values().all(is_closed)
        }
        Value::Array(items) => items.iter().all(is_closed),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Takes a whole answer.
pub(super) fn whole(who: &str, body: &Value, draft: &mut Draft) -> Result<(), ModelError> {
    take(who, body, "message", draft)
}

/// Takes one event of a stream; `true` after the last one.
pub(super) fn event(who: &str, data: &str, draft: &mut Draft) -> Result<bool, ModelError> {
    if data.trim() == "[DONE]" {
        return Ok(true);
    }
    let value: Value =
        serde_json::from_str(data).map_err(|_| again(format!("{who} sends an event that is not JSON")))?;
    take(who, &value, "delta", draft)?;
    Ok(false)
}

fn take(who: &str, value: &Value, said: &str, draft: &mut Draft) -> Result<(), ModelError> {
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        return Err(draft.complaint(in_band(who, error)));
    }
    if let Some(used) = value.get("usage").filter(|used| used.is_object()) {
        draft.usage = usage(used);
    }
    let Some(choices) = value.get("choices").and_then(Value::as_array) else {
        return match value.get("usage") {
            Some(_) => Ok(()),
            None => Err(again(format!("{who} sends something that is no answer: it has no choices"))),
        };
    };
    let Some(choice) = choices.first() else { return Ok(()) };
    if let Some(message) = choice.get(said) {
        let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
        draft.text.push_str(text("content"));
        draft.refusal.push_str(text("refusal"));
        // Thinking is not kept; servers have two names for it.
        draft.unseen += text("reasoning_content").len().max(text("reasoning").len());
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            // In a whole answer each entry is a call; in a stream the index says which.
            let index = match said {
                "message" => Some(draft.calls.len() as u64),
                _ => call.get("index").and_then(Value::as_u64),
            };
            let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
            let known = draft.call(index, id)?;
            let function = call.get("function");
            if let Some(name) = function.and_then(|f| f.get("name")).and_then(Value::as_str)
                && known.name.is_empty()
            {
                name.clone_into(&mut known.name);
            }
            match function.and_then(|f| f.get("arguments")) {
                Some(Value::String(piece)) => known.arguments.push_str(piece),
                // Some servers send the object itself.
                Some(object @ Value::Object(_)) => known.arguments.push_str(&object.to_string()),
                Some(_) | None => {}
            }
        }
    }
    match choice.get("finish_reason").and_then(Value::as_str) {
        None => {}
        Some("length") => draft.stop = Some(Stop::Length),
        Some("content_filter") => draft.stop = Some(Stop::Refusal),
        Some(_) => draft.stop = Some(Stop::End),
    }
    Ok(())
}

fn usage(used: &Value) -> Usage {
    let number = |path: &str| used.pointer(path).and_then(counted).unwrap_or(0);
    Usage {
        tokens_in: number("/prompt_tokens"),
        tokens_out: number("/completion_tokens"),
        cache_read: number("/prompt_tokens_details/cached_tokens"),
        cache_write: 0,
        reasoning: number("/completion_tokens_details/reasoning_tokens"),
    }
}

#[cfg(test)]
mod tests {
    use domain::session::Speaker;
    use ports::model::{RawCall, Tool};
    use testkit::model::{message, request};

    use super::*;

    #[test]
    fn a_request_says_what_the_agent_wants_and_nothing_else() {
        let asked = Request {
            system: "be brief".to_owned(),
            model: "m".to_owned(),
            max_tokens: Some(7),
            temperature: Some(0.5),
            thinking: Some("high".to_owned()),
            tools: vec![Tool {
                name: "look".to_owned(),
                description: "looks".to_owned(),
                schema: "{}".to_owned(),
            }]
            .into(),
            schema: Some(Schema { name: "vote".to_owned(), schema: r#"{"type":"object"}"#.to_owned() }),
            ..request("a", vec![message(Speaker::User, "hi")])
        };
        let mut expected = json!({
            "model": "m",
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
            "max_tokens": 7,
            "temperature": 0.5,
            "reasoning_effort": "high",
            "response_format": {"type": "json_schema", "json_schema": {"name": "vote", "schema": {"type": "object"}, "strict": false}},
        });
        assert_eq!(body(&asked, "localhost", false), expected);
        let function = json!({"name": "look", "description": "looks", "parameters": {}});
        let written: Value = serde_json::from_str(tools(&asked.tools).unwrap().get()).unwrap();
        assert_eq!(written, json!([{"type": "function", "function": function}]));
        let own = body(&asked, OWN_HOST, true);
        expected.as_object_mut().unwrap().remove("max_tokens");
        expected["max_completion_tokens"] = json!(7);
        expected["stream"] = json!(true);
        expected["stream_options"] = json!({"include_usage": true});
        assert_eq!(own, expected);
    }

    #[test]
    fn an_answer_in_pieces_is_the_same_as_a_whole_one() {
        let used = json!({"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 2}});
        let mut pieces = Draft::default();
        for data in [
            json!({"choices": [{"delta": {"role": "assistant", "content": "I "}}]}),
            json!({"choices": [{"delta": {"content": "look"}}]}),
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "look", "arguments": ""}}]}}]}),
            json!({"choices": [{"delta": {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "look", "arguments": "{}"}}]}}]}),
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{\"x\""}}]}}]}),
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
            json!({"choices": [], "usage": used}),
        ] {
            assert!(!event("host", &data.to_string(), &mut pieces).unwrap());
        }
        assert!(event("host", "[DONE]", &mut pieces).unwrap());
        let mut at_once = Draft::default();
        let calls = json!([
            {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{\"x\":1}"}},
            {"id": "b", "type": "function", "function": {"name": "look", "arguments": {}}},
        ]);
        let answer = json!({"choices": [{"message": {"content": "I look", "tool_calls": calls}, "finish_reason": "tool_calls"}], "usage": used});
        whole("host", &answer, &mut at_once).unwrap();
        let (pieces, at_once) = (
            pieces.finish("host", Usage::default()).unwrap(),
            at_once.finish("host", Usage::default()).unwrap(),
        );
        assert_eq!(pieces, at_once);
        assert_eq!(
            pieces.calls[0],
            RawCall { id: "a".to_owned(), name: "look".to_owned(), arguments: "{\"x\":1}".to_owned() }
        );
        assert_eq!(pieces.usage, Usage { cache_read: 3, reasoning: 2, ..Usage::of(9, 4) });
    }

    #[test]
    fn only_a_schema_that_leaves_nothing_open_is_enforced() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
        assert!(is_closed(&closed));
        assert!(!is_closed(
            &json!({"type": "object", "properties": {"a": closed}, "required": [], "additionalProperties": false})
        ));
        assert!(!is_closed(&json!({"type": "array", "items": {"type": "object"}})));
    }
}
