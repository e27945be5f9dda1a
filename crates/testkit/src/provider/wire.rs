//! Both APIs from the other side: their requests as a model is asked, a model's answer as they say it.

use domain::id::{AgentId, CallId};
use domain::session::{Message, Speaker};
use domain::tool::{Call, FinishTask, Tool as _, Want};
use domain::usage::Usage;
use ports::model::{RawCall, Request};
use serde_json::{Value, json};

/// So long are the pieces of a stream.
const PIECE_CHARS: usize = 7;

/// What is said, and how it ends.
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) calls: Vec<RawCall>,
    pub(super) usage: Usage,
    pub(super) refusal: Option<String>,
    pub(super) is_cut: bool,
    /// Said in place of what it took.
    pub(super) miscounted: Option<Value>,
}

impl Reply {
    pub(super) fn of(reply: ports::model::Reply) -> Self {
        let ports::model::Reply { text, calls, usage } = reply;
        Self { text, calls, usage, refusal: None, is_cut: false, miscounted: None }
    }
}

/// The answer with `finish_task` behind its words, if there are only words and the task is to be ended.
pub(super) fn ended(mut reply: Reply, is_due: bool) -> Reply {
    if is_due && reply.calls.is_empty() && !reply.text.trim().is_empty() {
        let arguments = json!({"status": "done", "result": reply.text}).to_string();
        let (id, name) = ("call-end".to_owned(), FinishTask::NAME.to_owned());
        reply.calls.push(RawCall { id, name, arguments });
    }
    reply
}

/// Whether there is a task to end, and none of the parts that were made of it is open.
fn is_due(body: &Value, messages: &[Message]) -> bool {
    let tools = body["tools"].as_array().into_iter().flatten();
    let mut names =
        tools.filter_map(|tool| tool["name"].as_str().or_else(|| tool["function"]["name"].as_str()));
    let of_parts = messages.iter().rev().find_map(|message| match message.speaker {
        Speaker::ToolResult if message.content.contains(" is created for ") => Some(true),
        Speaker::User if message.content.contains("All parts of your task have ended") => Some(false),
        _ => None,
    });
    names.any(|name| name == FinishTask::NAME) && of_parts != Some(true)
}

/// What a model is asked by either API. The model's name stands for the agent: the APIs do not know agents.
pub(super) fn request(body: &Value) -> Request {
    let mut system = text_of(&body["system"]);
    let mut messages = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        match message["role"].as_str().unwrap_or_default() {
            "system" => system.push_str(&text_of(&message["content"])),
            "tool" => messages.push(result(&message["tool_call_id"], &message["content"])),
            "assistant" => messages.push(answer(message)),
            _ => match message["content"].as_array() {
                Some(blocks) => messages.extend(blocks.iter().map(|block| match block["type"].as_str() {
                    Some("tool_result") => result(&block["tool_use_id"], &block["content"]),
                    _ => said(Speaker::User, without_mark(text_of(&block["text"]))),
                })),
                None => messages.push(said(Speaker::User, without_mark(text_of(&message["content"])))),
            },
        }
    }
    let answers = messages.iter().filter(|m| m.speaker == Speaker::Assistant).count();
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    let is_due = is_due(body, &messages);
    Request {
        agent: AgentId::new(model.as_str()),
        model,
        system,
        messages,
        tools: [].into(),
        turn: u32::try_from(answers).unwrap_or(u32::MAX).saturating_add(1),
        max_tokens: None,
        temperature: None,
        thinking: None,
        schema: None,
        is_due,
        progress: Default::default(),
    }
}

/// The words in the mark of who says them.
fn without_mark(text: String) -> String {
    let inside = text.strip_prefix("<message ").and_then(|rest| rest.split_once(">\n"));
    let words = inside.and_then(|(_, rest)| rest.strip_suffix("\n</message>")).map(str::to_owned);
    words.unwrap_or(text)
}

/// A text, or the texts of blocks.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|b| b["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn answer(message: &Value) -> Message {
    let call = |id: &Value, name: &Value, arguments: String| Call {
        id: CallId::new(id.as_str().unwrap_or_default()),
        arguments,
        want: Want::Invalid { tool: name.as_str().unwrap_or_default().to_owned(), error: String::new() },
        seen: None,
    };
    let openai = message["tool_calls"].as_array().into_iter().flatten().map(|c| {
        let function = &c["function"];
        call(&c["id"], &function["name"], function["arguments"].as_str().unwrap_or_default().to_owned())
    });
    let blocks = message["content"].as_array().into_iter().flatten();
    let anthropic = blocks
        .filter(|block| block["type"] == "tool_use")
        .map(|block| call(&block["id"], &block["name"], block["input"].to_string()));
    Message {
        calls: openai.chain(anthropic).collect(),
        ..said(Speaker::Assistant, text_of(&message["content"]))
    }
}

fn result(id: &Value, content: &Value) -> Message {
    let call = CallId::new(id.as_str().unwrap_or_default());
    Message { call: Some(call), ..said(Speaker::ToolResult, text_of(content)) }
}

fn said(speaker: Speaker, content: String) -> Message {
    crate::model::message(speaker, &content)
}

fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect()
}

fn openai_usage(Reply { usage, miscounted, .. }: &Reply) -> Value {
    if let Some(miscounted) = miscounted {
        return miscounted.clone();
    }
    json!({
        "prompt_tokens": usage.tokens_in,
        "completion_tokens": usage.tokens_out,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

fn openai_stop(reply: &Reply) -> &'static str {
    match (reply.is_cut, reply.calls.is_empty()) {
        (true, _) => "length",
        (false, true) => "stop",
        (false, false) => "tool_calls",
    }
}

/// A whole answer of OpenAI.
pub(super) fn openai(reply: &Reply) -> Value {
    let calls: Vec<Value> = reply
        .calls
        .iter()
        .map(|c| json!({"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}))
        .collect();
    let mut message = json!({"role": "assistant", "content": reply.text, "refusal": reply.refusal});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": openai_stop(reply)}],
        "usage": openai_usage(reply),
    })
}

/// The same as events.
pub(super) fn openai_events(reply: &Reply) -> Vec<String> {
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}], "usage": null});
    let mut values = vec![delta(json!({"role": "assistant", "content": ""}))];
    values.extend(pieces(&reply.text).into_iter().map(|piece| delta(json!({"content": piece}))));
    if let Some(refusal) = &reply.refusal {
        values.push(delta(json!({"refusal": refusal})));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let function = json!({"name": call.name, "arguments": ""});
        let begun = json!({"index": index, "id": call.id, "type": "function", "function": function});
        values.push(delta(json!({"tool_calls": [begun]})));
    }
    // The arguments of all calls, mixed: which piece belongs to which is told by the index alone.
    let arguments: Vec<Vec<String>> = reply.calls.iter().map(|call| pieces(&call.arguments)).collect();
    let longest = arguments.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..longest {
        for (index, pieces) in arguments.iter().enumerate() {
            if let Some(piece) = pieces.get(at) {
                let more = json!({"index": index, "function": {"arguments": piece}});
                values.push(delta(json!({"tool_calls": [more]})));
            }
        }
    }
    values.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": openai_stop(reply)}]}));
    values.push(json!({"choices": [], "usage": openai_usage(reply)}));
    let mut events: Vec<String> = values.iter().map(|value| format!("data: {value}\n\n")).collect();
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn anthropic_usage(Reply { usage, miscounted, .. }: &Reply) -> Value {
    if let Some(miscounted) = miscounted {
        return miscounted.clone();
    }
    json!({
        "input_tokens": usage.tokens_in - usage.cache_read - usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
        "output_tokens": usage.tokens_out,
    })
}

fn anthropic_stop(reply: &Reply) -> &'static str {
    match (reply.is_cut, &reply.refusal, reply.calls.is_empty()) {
        (true, _, _) => "max_tokens",
        (false, Some(_), _) => "refusal",
        (false, None, true) => "end_turn",
        (false, None, false) => "tool_use",
    }
}

fn anthropic_text(reply: &Reply) -> &str {
    reply.refusal.as_deref().unwrap_or(&reply.text)
}

/// A whole answer of Anthropic. Arguments that are no JSON cannot be said whole, and are left out.
pub(super) fn anthropic(reply: &Reply) -> Value {
    let text = Some(anthropic_text(reply)).filter(|text| !text.is_empty());
    let text = text.map(|text| json!({"type": "text", "text": text}));
    let calls = reply.calls.iter().map(|call| {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
    });
    json!({
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": text.into_iter().chain(calls).collect::<Vec<_>>(),
        "stop_reason": anthropic_stop(reply),
        "usage": anthropic_usage(reply),
    })
}

/// The same as events.
pub(super) fn anthropic_events(reply: &Reply) -> Vec<String> {
    let start = json!({"id": "msg_1", "role": "assistant", "content": [], "usage": anthropic_usage(reply)});
    let mut values = vec![json!({"type": "message_start", "message": start}), json!({"type": "ping"})];
    let mut index = 0;
    let mut block = |begun: Value, deltas: Vec<Value>, values: &mut Vec<Value>| {
        values.push(json!({"type": "content_block_start", "index": index, "content_block": begun}));
        values.extend(
            deltas.into_iter().map(|d| json!({"type": "content_block_delta", "index": index, "delta": d})),
        );
        values.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    };
    let text = anthropic_text(reply);
    if !text.is_empty() {
        let deltas = pieces(text).into_iter().map(|piece| json!({"type": "text_delta", "text": piece}));
        block(json!({"type": "text", "text": ""}), deltas.collect(), &mut values);
    }
    for call in &reply.calls {
        let deltas = pieces(&call.arguments)
            .into_iter()
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        let begun = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
        block(begun, deltas.collect(), &mut values);
    }
    let usage = json!({"output_tokens": reply.usage.tokens_out});
    let usage = reply.miscounted.clone().unwrap_or(usage);
    values.push(
        json!({"type": "message_delta", "delta": {"stop_reason": anthropic_stop(reply)}, "usage": usage}),
    );
    values.push(json!({"type": "message_stop"}));
    let event =
        |value: &Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default());
    values.iter().map(event).collect()
}
