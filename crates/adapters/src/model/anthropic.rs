//! Anthropic's messages.

use std::borrow::Cow;

use domain::usage::Usage;
use ports::model::{ModelError, Request};
use serde_json::{Map, Value, json};

use super::draft::{Draft, Stop, counted};
use super::fault::{again, in_band};
use super::openai::is_closed;
use super::turns::{self, Turn};

/// Sent if the agent does not say how long an answer may be: this API does not go without.
const MAX_TOKENS_DEFAULT: u32 = 4_096;
/// The least and the most that may be thought, in tokens, if the agent says it in words.
const THINKING: [(&str, u32); 3] = [("low", 1_024), ("medium", 4_096), ("high", 16_384)];

/// The request as JSON, without its tools.
pub(super) fn body(request: &Request, stream: bool) -> Value {
    let turns = turns::of(&request.messages);
    let goes_on = matches!(turns.last(), Some(Turn::Results(_)));
    let mut messages: Vec<Value> = Vec::new();
    for turn in turns {
        let (role, content) = match turn {
            Turn::User(text) => ("user", vec![json!({"type": "text", "text": text})]),
            Turn::Model { text, calls } => {
                let text = Some(text).filter(|text| !text.trim().is_empty());
                // White space at the end of an answer is refused.
                let text = text.map(|text| json!({"type": "text", "text": text.trim_end()}));
                let calls = calls.iter().map(|call| {
                    let input = serde_json::from_str(call.arguments).ok().filter(Value::is_object);
                    let input = input.unwrap_or_else(|| json!({}));
                    json!({"type": "tool_use", "id": call.id, "name": call.tool, "input": input})
                });
                ("assistant", text.into_iter().chain(calls).collect())
            }
            Turn::Results(results) => {
                let result = |(id, text): &(String, Cow<'_, str>)| json!({"type": "tool_result", "tool_use_id": id, "content": text});
                ("user", results.iter().map(result).collect())
            }
        };
        match messages.last_mut() {
            // What follows results belongs to the same message.
            Some(last) if last["role"] == role => {
                if let Some(blocks) = last["content"].as_array_mut() {
                    blocks.extend(content);
                }
            }
            _ => messages.push(json!({"role": role, "content": content})),
        }
    }
    // The next turn repeats all of this, so it is worth keeping at the provider.
    let cached = json!({"type": "ephemeral"});
    if let Some(block) =
        messages.last_mut().and_then(|m| m["content"].as_array_mut()).and_then(|c| c.last_mut())
    {
        block["cache_control"] = cached.clone();
    }
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    let most = request.max_tokens.unwrap_or(MAX_TOKENS_DEFAULT);
    // While results of tools come in, thinking would have to be handed back with them; it is not kept.
    let thinking =
        request.thinking.as_deref().filter(|_| !goes_on).and_then(budget).filter(|budget| *budget < most);
    put("model", json!(request.model));
    put("max_tokens", json!(most));
    if !request.system.trim().is_empty() {
        put("system", json!([{"type": "text", "text": request.system, "cache_control": cached}]));
    }
    put("messages", Value::Array(messages));
    if let Some(budget) = thinking {
        put("thinking", json!({"type": "enabled", "budget_tokens": budget}));
    } else if let Some(temperature) = request.temperature {
        // One that thinks has no temperature; this API's scale ends at 1.
        put("temperature", json!(temperature.min(1.0)));
    }
    let schema =
        request.schema.as_ref().and_then(|schema| serde_json::from_str::<Value>(&schema.schema).ok());
    if let Some(schema) = schema.filter(is_closed) {
        put("output_config", json!({"format": {"type": "json_schema", "schema": schema}}));
    }
    if stream {
        put("stream", json!(true));
    }
    Value::Object(body)
}

/// How many tokens may be thought: a word, or a number of them.
fn budget(thinking: &str) -> Option<u32> {
    let word = THINKING.iter().find(|(word, _)| *word == thinking).map(|(_, budget)| *budget);
    word.or_else(|| thinking.parse().ok())
}

/// One of its tools.
pub(super) fn tool(tool: &ports::model::Tool) -> Value {
    let schema: Value = serde_json::from_str(&tool.schema).unwrap_or_else(|_| json!({"type": "object"}));
    json!({"name": tool.name, "description": tool.description, "input_schema": schema})
}

/// Takes a whole answer.
pub(super) fn whole(who: &str, body: &Value, draft: &mut Draft) -> Result<(), ModelError> {
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        return Err(draft.complaint(in_band(who, error)));
    }
    let Some(blocks) = body.get("content").and_then(Value::as_array) else {
        return Err(again(format!("{who} sends something that is no answer: it has no content")));
    };
    for (index, block) in blocks.iter().enumerate() {
        begin(block, index as u64, draft)?;
        if let Some(input) = block.get("input").filter(|_| block["type"] == "tool_use") {
            let id = block.get("id").and_then(Value::as_str).unwrap_or_default();
            draft.call(Some(index as u64), id)?.arguments = input.to_string();
        }
    }
    count(body.get("usage"), draft);
    stop(body.get("stop_reason"), draft);
    Ok(())
}

/// Takes one event of a stream; `true` after the last one.
pub(super) fn event(who: &str, data: &str, draft: &mut Draft) -> Result<bool, ModelError> {
    let value: Value =
        serde_json::from_str(data).map_err(|_| again(format!("{who} sends an event that is not JSON")))?;
    let index = value.get("index").and_then(Value::as_u64).unwrap_or(0);
    match value.get("type").and_then(Value::as_str) {
        Some("message_start") => count(value.pointer("/message/usage"), draft),
        Some("content_block_start") => {
            if let Some(block) = value.get("content_block") {
                begin(block, index, draft)?;
            }
        }
        Some("content_block_delta") => {
            let text = |path: &str| value.pointer(path).and_then(Value::as_str);
            if let Some(text) = text("/delta/text") {
                draft.text.push_str(text);
            }
            if let Some(piece) = text("/delta/partial_json") {
                draft.call(Some(index), "")?.arguments.push_str(piece);
            }
            draft.unseen += text("/delta/thinking").map_or(0, str::len);
        }
        Some("message_delta") => {
            // What the beginning said of the answer is no count of it.
            draft.usage.tokens_out = 0;
            count(value.get("usage"), draft);
            stop(value.pointer("/delta/stop_reason"), draft);
        }
        Some("message_stop") => return Ok(true),
        Some("error") => {
            return Err(draft.complaint(in_band(who, value.get("error").unwrap_or(&value))));
        }
        // Pings, the ends of blocks, and what is yet to be invented.
        Some(_) => {}
        None => return Err(again(format!("{who} sends an event without a type"))),
    }
    Ok(false)
}

fn begin(block: &Value, index: u64, draft: &mut Draft) -> Result<(), ModelError> {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "text" => draft.text.push_str(text("text")),
        "tool_use" => {
            let call = draft.call(Some(index), text("id"))?;
            text("name").clone_into(&mut call.name);
        }
        // Thinking is not shown and not kept.
        _ => {}
    }
    Ok(())
}

fn stop(reason: Option<&Value>, draft: &mut Draft) {
    match reason.and_then(Value::as_str) {
        None => {}
        Some("max_tokens" | "model_context_window_exceeded") => draft.stop = Some(Stop::Length),
        Some("refusal") => draft.stop = Some(Stop::Refusal),
        Some(_) => draft.stop = Some(Stop::End),
    }
}

/// Counts come in several events; the last word on each counts.
fn count(used: Option<&Value>, draft: &mut Draft) {
    let Some(used) = used else { return };
    let number = |key: &str| used.get(key).and_then(counted);
    let Usage { tokens_in, cache_read, cache_write, .. } = draft.usage;
    let plain = number("input_tokens").unwrap_or(tokens_in.saturating_sub(cache_read + cache_write));
    let cache_read = number("cache_read_input_tokens").unwrap_or(cache_read);
    let cache_write = number("cache_creation_input_tokens").unwrap_or(cache_write);
    draft.usage.cache_read = cache_read;
    draft.usage.cache_write = cache_write;
    draft.usage.tokens_in = plain.saturating_add(cache_read).saturating_add(cache_write);
    draft.usage.tokens_out = number("output_tokens").unwrap_or(draft.usage.tokens_out);
}

#[cfg(test)]
mod tests {
    use domain::session::Speaker;
    use ports::model::{RawCall, Schema, Tool};
    use testkit::model::{message, request};

    use super::*;

    #[test]
    fn a_request_says_what_the_agent_wants_and_always_how_long_the_answer_may_be() {
        let plain = request("a", vec![message(Speaker::User, "hi"), message(Speaker::User, "there")]);
        let cached = json!({"type": "ephemeral"});
        let blocks = json!([{"type": "text", "text": "hi"}, {"type": "text", "text": "there", "cache_control": cached}]);
        let expected =
            json!({"model": "puppet", "max_tokens": 4096, "messages": [{"role": "user", "content": blocks}]});
        assert_eq!(body(&plain, false), expected);
        let closed = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
        let full = Request {
            system: "be brief".to_owned(),
            max_tokens: Some(9_000),
            temperature: Some(1.5),
            thinking: Some("medium".to_owned()),
            tools: vec![Tool {
                name: "look".to_owned(),
                description: "looks".to_owned(),
                schema: "{}".to_owned(),
            }]
            .into(),
            schema: Some(Schema { name: "vote".to_owned(), schema: closed.to_owned() }),
            ..plain
        };
        let made = body(&full, true);
        assert_eq!(made["max_tokens"], 9_000);
        assert_eq!(made["system"], json!([{"type": "text", "text": "be brief", "cache_control": cached}]));
        let expected = json!({"name": "look", "description": "looks", "input_schema": {}});
        assert_eq!(tool(&full.tools[0]), expected);
        assert_eq!(made["thinking"], json!({"type": "enabled", "budget_tokens": 4_096}));
        assert_eq!(made.get("temperature"), None);
        assert_eq!(made["output_config"]["format"]["type"], "json_schema");
        assert_eq!(made["stream"], true);
        assert_eq!(body(&Request { thinking: None, ..full }, false)["temperature"], 1.0);
    }

    #[test]
    fn an_answer_in_pieces_is_the_same_as_a_whole_one() {
        let used = json!({"input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 1, "output_tokens": 1});
        let mut pieces = Draft::default();
        let events = [
            json!({"type": "message_start", "message": {"usage": used}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I look"}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "a", "name": "look", "input": {}}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"x\":"}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "1}"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}}),
        ];
        for data in events {
            assert!(!event("host", &data.to_string(), &mut pieces).unwrap());
        }
        assert!(event("host", r#"{"type":"message_stop"}"#, &mut pieces).unwrap());
        let mut at_once = Draft::default();
        let blocks = json!([
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I look"},
            {"type": "tool_use", "id": "a", "name": "look", "input": {"x": 1}},
        ]);
        let mut used = used;
        used["output_tokens"] = json!(7);
        let answer = json!({"content": blocks, "stop_reason": "tool_use", "usage": used});
        whole("host", &answer, &mut at_once).unwrap();
        let (pieces, at_once) = (
            pieces.finish("host", Usage::default()).unwrap(),
            at_once.finish("host", Usage::default()).unwrap(),
        );
        assert_eq!(pieces, at_once);
        assert_eq!(
            pieces.calls,
            [RawCall { id: "a".to_owned(), name: "look".to_owned(), arguments: "{\"x\":1}".to_owned() }]
        );
        assert_eq!(pieces.usage, Usage { cache_read: 3, cache_write: 1, ..Usage::of(9, 7) });
    }
}
