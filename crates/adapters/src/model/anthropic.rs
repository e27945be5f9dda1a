//! Anthropic's messages.

use domain::claude;
use domain::usage::Usage;
use ports::model::{ModelError, Request};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::described::schema_of;
use super::draft::{Draft, Stop, counted};
use super::fault::{again, in_band};
use super::openai::is_closed;
use super::thoughts::{Thought, Thoughts};
use super::turns::{self, Asked, Given, Turn};

/// How many tokens may be thought, if the agent says it in words.
const THINKING: [(&str, u32); 3] = [("low", 1_024), ("medium", 4_096), ("high", 16_384)];
/// So many turns of the user end a part of the request that the provider is asked to keep. With the system text and the
/// tools these are four, and no request may have more.
const CACHED_TURNS: usize = 2;

/// The request as JSON, without its tools.
pub(super) fn body(request: &Request, thoughts: &Thoughts, stream: bool) -> Value {
    let turns = turns::of(&request.messages);
    let most = request.max_tokens.unwrap_or_else(|| claude::answer_max(&request.model));
    let of_turn = |calls: &[Asked<'_>]| thoughts.of(&request.model, &calls.first()?.id);
    let thinking = thinking(request, most, || is_whole(&turns, |calls| of_turn(calls).is_some()));
    let mut messages: Vec<Value> = Vec::new();
    for turn in &turns {
        let (role, content) = match turn {
            Turn::User(text) => ("user", vec![json!({"type": "text", "text": text})]),
            Turn::Model { text, calls } => {
                let thought = of_turn(calls).filter(|_| thinking.is_some());
                ("assistant", answer(text, calls, thought.as_deref().unwrap_or_default()))
            }
            Turn::Results(results) => ("user", results.iter().map(result).collect()),
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
    // The next request repeats all of this. The last request ended one turn earlier, so that is where its text is found.
    for message in messages.iter_mut().rev().filter(|m| m["role"] == "user").take(CACHED_TURNS) {
        if let Some(block) = message["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
            block["cache_control"] = cached();
        }
    }
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    put("model", json!(request.model));
    put("max_tokens", json!(most));
    if !request.system.trim().is_empty() {
        put("system", json!([{"type": "text", "text": request.system, "cache_control": cached()}]));
    }
    put("messages", Value::Array(messages));
    let mut output = Map::new();
    match thinking {
        Some(Thinking::Tokens(budget)) => {
            put("thinking", json!({"type": "enabled", "budget_tokens": budget}));
        }
        Some(Thinking::Effort(effort)) => {
            put("thinking", json!({"type": "adaptive"}));
            output.insert("effort".to_owned(), json!(effort));
        }
        // A model that thinks has no temperature; this API's scale ends at 1.
        None => {
            if let Some(temperature) = request.temperature {
                put("temperature", json!(temperature.min(1.0)));
            }
        }
    }
    let schema =
        request.schema.as_ref().and_then(|schema| serde_json::from_str::<Value>(&schema.schema).ok());
    if let Some(schema) = schema.filter(is_closed) {
        output.insert("format".to_owned(), json!({"type": "json_schema", "schema": schema}));
    }
    if !output.is_empty() {
        put("output_config", Value::Object(output));
    }
    if stream {
        put("stream", json!(true));
    }
    Value::Object(body)
}

/// Where a part of the request ends that is repeated and worth keeping at the provider.
fn cached() -> Value {
    json!({"type": "ephemeral"})
}

/// An answer of the model as it gave it: thinking stands where it stood.
fn answer(text: &str, calls: &[Asked<'_>], thoughts: &[Thought]) -> Vec<Value> {
    let before = |at: usize| thoughts.iter().filter(move |thought| thought.behind == at);
    let mut blocks: Vec<Value> = before(0).map(|thought| thought.block.clone()).collect();
    // White space at the end of an answer is refused.
    let text = Some(text.trim_end()).filter(|text| !text.is_empty());
    blocks.extend(text.map(|text| json!({"type": "text", "text": text})));
    for (at, call) in calls.iter().enumerate() {
        if at > 0 {
            blocks.extend(before(at).map(|thought| thought.block.clone()));
        }
        let input = serde_json::from_str(call.arguments).ok().filter(Value::is_object);
        let input = input.unwrap_or_else(|| json!({}));
        blocks.push(json!({"type": "tool_use", "id": call.id, "name": call.tool, "input": input}));
    }
    blocks
}

fn result(given: &Given<'_>) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": given.id, "content": given.text});
    if given.is_error {
        block["is_error"] = json!(true);
    }
    block
}

/// How a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thinking {
    /// With at most so many tokens.
    Tokens(u32),
    /// As much as it finds right, so hard.
    Effort(&'static str),
}

/// How to think, if at all. A model with a number of tokens demands what it thought before each call of the turn: without
/// it, after a restart or with another model, it does not think until the turn ends. One that decides itself does not.
fn thinking(request: &Request, most: u32, is_whole: impl FnOnce() -> bool) -> Option<Thinking> {
    let budget = budget(request.thinking.as_deref()?)?;
    if claude::is_adaptive(&request.model) {
        let level = THINKING.iter().find(|(_, tokens)| budget <= *tokens);
        return Some(Thinking::Effort(level.map_or("high", |(word, _)| word)));
    }
    (budget < most && is_whole()).then_some(Thinking::Tokens(budget))
}

/// Whether the thinking of every answer of the current turn is known.
fn is_whole(turns: &[Turn<'_>], is_known: impl Fn(&[Asked<'_>]) -> bool) -> bool {
    // People may have spoken behind the results; the calls before them still belong to the turn.
    let until = turns.iter().rposition(|turn| !matches!(turn, Turn::User(_))).map_or(0, |at| at + 1);
    let of_turn = turns[..until].iter().rev().take_while(|turn| !matches!(turn, Turn::User(_)));
    of_turn.into_iter().all(|turn| match turn {
        Turn::Model { calls, .. } => calls.is_empty() || is_known(calls),
        Turn::User(_) | Turn::Results(_) => true,
    })
}

/// How many tokens may be thought: a word, or a number of them.
fn budget(thinking: &str) -> Option<u32> {
    let word = THINKING.iter().find(|(word, _)| *word == thinking).map(|(_, budget)| *budget);
    word.or_else(|| thinking.parse().ok())
}

/// Its tools. They stand before all else, so the last one ends the first part that is kept.
pub(super) fn tools(tools: &[ports::model::Tool]) -> serde_json::Result<Box<RawValue>> {
    let mut all: Vec<Described<'_>> = tools.iter().map(described).collect();
    if let Some(last) = all.last_mut() {
        last.cache_control = Some(cached());
    }
    serde_json::value::to_raw_value(&all)
}

/// A tool as this API has it.
#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Value>,
}

fn described(tool: &ports::model::Tool) -> Described<'_> {
    let ports::model::Tool { name, description, .. } = tool;
    Described { name, description, input_schema: schema_of(tool), cache_control: None }
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
            for (path, key) in [("/delta/thinking", "thinking"), ("/delta/signature", "signature")] {
                let Some(piece) = text(path) else { continue };
                draft.unseen += piece.len();
                let thought = draft.thinking.iter_mut().find(|thought| thought.number == index);
                if let Some(Value::String(whole)) = thought.and_then(|thought| thought.block.get_mut(key)) {
                    whole.push_str(piece);
                }
            }
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
        // Thinking is not shown; the provider wants it back as it is.
        "thinking" => {
            draft.unseen += text("thinking").len() + text("signature").len();
            let [thinking, signature] = ["thinking", "signature"].map(text);
            let block = json!({"type": "thinking", "thinking": thinking, "signature": signature});
            draft.thinking.push(Thought { number: index, behind: draft.calls.len(), block });
        }
        "redacted_thinking" => {
            draft.unseen += text("data").len();
            let block = json!({"type": "redacted_thinking", "data": text("data")});
            draft.thinking.push(Thought { number: index, behind: draft.calls.len(), block });
        }
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
    use domain::id::CallId;
    use domain::session::{Message, Speaker};
    use domain::tool::{Call, Want};
    use ports::model::{RawCall, Schema, Tool};
    use testkit::model::{message, request, result};

    use super::*;

    #[test]
    fn a_request_says_what_the_agent_wants_and_always_how_long_the_answer_may_be() {
        let plain = request("a", vec![message(Speaker::User, "hi"), message(Speaker::User, "there")]);
        let cached = json!({"type": "ephemeral"});
        let blocks = json!([{"type": "text", "text": "hi"}, {"type": "text", "text": "there", "cache_control": cached}]);
        let expected =
            json!({"model": "puppet", "max_tokens": 4096, "messages": [{"role": "user", "content": blocks}]});
        let thoughts = Thoughts::default();
        assert_eq!(body(&plain, &thoughts, false), expected);
        let large = Request { model: "claude-sonnet-4-5".to_owned(), ..plain.clone() };
        assert_eq!(body(&large, &thoughts, false)["max_tokens"], 64_000, "the model's own limit");
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
        let made = body(&full, &thoughts, true);
        assert_eq!(made["max_tokens"], 9_000);
        assert_eq!(made["system"], json!([{"type": "text", "text": "be brief", "cache_control": cached}]));
        let expected =
            json!({"name": "look", "description": "looks", "input_schema": {}, "cache_control": cached});
        let written: Value = serde_json::from_str(tools(&full.tools).unwrap().get()).unwrap();
        assert_eq!(written, json!([expected]));
        assert_eq!(made["thinking"], json!({"type": "enabled", "budget_tokens": 4_096}));
        assert_eq!(made.get("temperature"), None);
        assert_eq!(made["output_config"]["format"]["type"], "json_schema");
        assert_eq!(made["stream"], true);
        let adaptive = Request { model: "claude-opus-4-7".to_owned(), ..full.clone() };
        let made = body(&adaptive, &thoughts, true);
        assert_eq!(made["thinking"], json!({"type": "adaptive"}));
        assert_eq!(made["output_config"]["effort"], "medium");
        assert_eq!(body(&Request { thinking: None, ..full }, &thoughts, false)["temperature"], 1.0);
    }

    fn asks(ids: &[&str]) -> Message {
        let want = Want::Invalid { tool: "look".to_owned(), error: String::new() };
        let call = |id: &&str| Call {
            id: CallId::new(*id),
            arguments: "{}".to_owned(),
            want: want.clone(),
            seen: None,
        };
        Message { calls: ids.iter().map(call).collect(), ..message(Speaker::Assistant, "") }
    }

    #[test]
    fn a_result_says_whether_its_call_failed_and_the_last_two_turns_of_the_user_are_cached() {
        let user = |text: &str| message(Speaker::User, text);
        let failed = Message { is_error: true, ..result("b", "no such file") };
        let talk = vec![user("go"), asks(&["a"]), result("a", "42"), asks(&["b"]), failed];
        let made = body(&request("x", talk), &Thoughts::default(), false);
        let cached = json!({"type": "ephemeral"});
        let expected = json!([
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "42", "cache_control": cached},
            ]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "b", "name": "look", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "no such file", "is_error": true, "cache_control": cached},
            ]},
        ]);
        assert_eq!(made["messages"], expected);
    }

    #[test]
    fn what_was_thought_comes_back_unchanged_and_before_the_calls() {
        let answer = json!({
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "ZGF0YQ"},
                {"type": "tool_use", "id": "a", "name": "look", "input": {}},
            ],
            "stop_reason": "tool_use",
        });
        let mut draft = Draft::default();
        whole("host", &answer, &mut draft).unwrap();
        let thinking = std::mem::take(&mut draft.thinking);
        let reply = draft.finish("host", Usage::default()).unwrap();
        let thoughts = Thoughts::default();
        let talk = |last: &str| {
            vec![message(Speaker::User, "go"), asks(&["a"]), result("a", "42"), message(Speaker::User, last)]
        };
        let asked = |model: &str| Request {
            model: model.to_owned(),
            thinking: Some("low".to_owned()),
            ..request("x", talk("hurry"))
        };
        let old = body(&asked("claude-sonnet-4-5"), &thoughts, false);
        assert_eq!(old.get("thinking"), None, "after a restart the turn ends without thinking");
        assert_eq!(old["messages"][1]["content"][0]["type"], "tool_use");
        thoughts.keep("claude-sonnet-4-5", &reply.calls, thinking);
        let known = body(&asked("claude-sonnet-4-5"), &thoughts, false);
        assert_eq!(known["thinking"], json!({"type": "enabled", "budget_tokens": 1_024}));
        assert_eq!(known["messages"][1]["content"], answer["content"]);
        let other = body(&asked("claude-sonnet-4-0"), &thoughts, false);
        assert_eq!(other.get("thinking"), None, "what another model thought is of no use");
        assert_eq!(other["messages"][1]["content"][0]["type"], "tool_use");
        let adaptive = body(&asked("claude-opus-4-6"), &thoughts, false);
        assert_eq!(
            adaptive["thinking"],
            json!({"type": "adaptive"}),
            "one that decides itself demands nothing"
        );
    }

    #[test]
    fn an_answer_in_pieces_is_the_same_as_a_whole_one() {
        let used = json!({"input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 1, "output_tokens": 1});
        let mut pieces = Draft::default();
        let events = [
            json!({"type": "message_start", "message": {"usage": used}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
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
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "I look"},
            {"type": "tool_use", "id": "a", "name": "look", "input": {"x": 1}},
        ]);
        let mut used = used;
        used["output_tokens"] = json!(7);
        let answer = json!({"content": blocks.clone(), "stop_reason": "tool_use", "usage": used});
        whole("host", &answer, &mut at_once).unwrap();
        assert_eq!(pieces.thinking, at_once.thinking);
        assert_eq!(pieces.thinking[0].block, blocks[0]);
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
