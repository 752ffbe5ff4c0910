//! Client side of each API: requests as the `genai` crate sends them, and replies, whole or streamed, parsed into one
//! type.

use serde_json::{Value, json};

use crate::client::{self, Response, post};
use autonoe_scripted::ScriptedServer;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Anthropic,
    Chat,
    Responses,
    Gemini,
    Ollama,
}

use Dialect::{Anthropic, Chat, Gemini, Ollama, Responses};

pub const ALL: [Dialect; 5] = [Anthropic, Chat, Responses, Gemini, Ollama];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamMode {
    Whole,
    Stream,
}

pub const MODES: [StreamMode; 2] = [StreamMode::Whole, StreamMode::Stream];

/// The first bytes of a PNG.
pub const PNG: &str = "iVBORw0KGgo=";

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedReply {
    pub thinking: String,
    pub signature: Option<String>,
    pub text: String,
    pub calls: Vec<ParsedCall>,
    pub stop: String,
    /// Tokens: the whole input, its cached part, the output, its reasoning part.
    pub usage: [u64; 4],
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedCall {
    pub id: Option<String>,
    pub tool: String,
    /// Not necessarily valid JSON.
    pub arguments: String,
}

#[derive(Debug, Clone, Copy)]
pub enum TestToolResult {
    Text(&'static str),
    Image,
}

#[derive(Debug, Clone)]
pub struct TestConversation {
    pub dialect: Dialect,
    pub model: &'static str,
    pub mode: StreamMode,
    pub request: Value,
}

impl TestConversation {
    pub fn begin(dialect: Dialect, mode: StreamMode, text: &str) -> TestConversation {
        TestConversation::begin_with(dialect, mode, "some-model", text)
    }

    pub fn begin_with(
        dialect: Dialect,
        mode: StreamMode,
        model: &'static str,
        text: &str,
    ) -> TestConversation {
        let stream = mode == StreamMode::Stream;
        let schema = json!({ "type": "object" });
        let function = json!({ "name": "Read", "description": "reads", "parameters": schema });
        let request = match dialect {
            Anthropic => {
                let mut request = client::begin(text);
                request["stream"] = json!(stream);
                request
            }
            Chat => {
                let mut request = json!({
                    "model": model, "stream": stream,
                    "tools": [{ "type": "function", "function": function }],
                    "messages": [{ "role": "system", "content": "be brief" }, { "role": "user", "content": text }],
                });
                if stream {
                    request["stream_options"] = json!({ "include_usage": true });
                }
                request
            }
            Responses => json!({
                "store": false, "model": model, "stream": stream, "instructions": "be brief",
                "reasoning": { "summary": "detailed" }, "include": ["reasoning.encrypted_content"],
                "tools": [{ "type": "function", "name": "Read", "parameters": schema }],
                "input": [{ "role": "user", "content": text }],
            }),
            Gemini => json!({
                "systemInstruction": { "parts": [{ "text": "be brief" }] },
                "tools": [{ "functionDeclarations": [{ "name": "Read", "parametersJsonSchema": schema }] }],
                "contents": [{ "role": "user", "parts": [{ "text": text }] }],
            }),
            Ollama => json!({
                "model": model, "stream": stream,
                "tools": [{ "type": "function", "function": function }],
                "messages": [{ "role": "system", "content": "be brief" }, { "role": "user", "content": text }],
            }),
        };
        TestConversation { dialect, model, mode, request }
    }

    pub fn path(&self) -> String {
        match (self.dialect, self.mode) {
            (Anthropic, _) => "/v1/messages".to_owned(),
            (Chat, _) => "/v1/chat/completions".to_owned(),
            (Responses, _) => "/v1/responses".to_owned(),
            (Gemini, StreamMode::Whole) => format!("/v1beta/models/{}:generateContent", self.model),
            (Gemini, StreamMode::Stream) => {
                format!("/v1beta/models/{}:streamGenerateContent?alt=sse", self.model)
            }
            (Ollama, _) => "/api/chat".to_owned(),
        }
    }

    pub fn send(&self, server: &ScriptedServer) -> Response {
        post(server, &self.path(), &self.request)
    }

    /// Sends the request and parses the reply.
    #[track_caller]
    pub fn ask(&self, server: &ScriptedServer) -> ParsedReply {
        let response = self.send(server);
        assert_eq!(response.status, 200, "{:?}: {}", self.dialect, response.body);
        assert!(response.complete);
        self.read(&response.body)
    }

    pub fn read(&self, body: &str) -> ParsedReply {
        match (self.dialect, self.mode) {
            (Anthropic, StreamMode::Whole) => anthropic(&parse(body)),
            (Anthropic, StreamMode::Stream) => anthropic(&client::events(body).message),
            (Chat, StreamMode::Whole) => chat(&parse(body)),
            (Chat, StreamMode::Stream) => chat(&chat_message(body)),
            (Responses, StreamMode::Whole) => response(&parse(body)),
            (Responses, StreamMode::Stream) => response(&responses_message(body)),
            (Gemini, StreamMode::Whole) => gemini(&[parse(body)]),
            (Gemini, StreamMode::Stream) => gemini(&events(body)),
            (Ollama, StreamMode::Whole) => ollama(&[parse(body)]),
            (Ollama, StreamMode::Stream) => ollama(&body.lines().map(parse).collect::<Vec<_>>()),
        }
    }

    /// Adds a reply and the result of its calls, or the user's message if it made none.
    pub fn follow(&mut self, reply: &ParsedReply, tool_result: TestToolResult) {
        let arguments =
            |call: &ParsedCall| serde_json::from_str(&call.arguments).unwrap_or(json!(call.arguments));
        let image_url = format!("data:image/png;base64,{PNG}");
        let mut next = Vec::new();
        match self.dialect {
            Anthropic => {
                let mut blocks = Vec::new();
                if let Some(signature) = &reply.signature {
                    blocks.push(
                        json!({ "type": "thinking", "thinking": reply.thinking, "signature": signature }),
                    );
                }
                if !reply.text.is_empty() {
                    blocks.push(json!({ "type": "text", "text": reply.text }));
                }
                let calls = reply.calls.iter();
                blocks.extend(calls.map(|call| json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": arguments(call) })));
                next.push(json!({ "role": "assistant", "content": blocks }));
                let content = match tool_result {
                    TestToolResult::Text(text) => json!([{ "type": "text", "text": text }]),
                    TestToolResult::Image => {
                        let source = json!({ "type": "base64", "media_type": "image/png", "data": PNG });
                        json!([{ "type": "image", "source": source }])
                    }
                };
                let results = reply.calls.iter();
                let results = results
                    .map(|call| json!({ "type": "tool_result", "tool_use_id": call.id, "content": content }));
                let results: Vec<Value> = results.collect();
                next.push(json!({ "role": "user", "content": if results.is_empty() { content } else { json!(results) } }));
            }
            Chat | Ollama => {
                let calls = reply.calls.iter().map(|call| match self.dialect {
                    Ollama => json!({ "function": { "name": call.tool, "arguments": arguments(call) } }),
                    _ => {
                        let function = json!({ "name": call.tool, "arguments": call.arguments });
                        json!({ "type": "function", "id": call.id, "function": function })
                    }
                });
                let mut message = json!({ "role": "assistant", "content": reply.text });
                if !reply.calls.is_empty() {
                    message["tool_calls"] = calls.collect();
                }
                next.push(message);
                let text = match tool_result {
                    TestToolResult::Text(text) => text,
                    TestToolResult::Image => "see below",
                };
                for call in &reply.calls {
                    let mut result = json!({ "role": "tool", "content": text });
                    if self.dialect == Chat {
                        result["tool_call_id"] = json!(call.id);
                    }
                    next.push(result);
                }
                match (tool_result, self.dialect) {
                    (TestToolResult::Image, Chat) => {
                        let part = json!({ "type": "image_url", "image_url": { "url": image_url } });
                        next.push(json!({ "role": "user", "content": [part] }));
                    }
                    (TestToolResult::Image, _) => next.push(json!({ "role": "user", "images": [PNG] })),
                    (TestToolResult::Text(text), _) if reply.calls.is_empty() => {
                        next.push(json!({ "role": "user", "content": text }));
                    }
                    (TestToolResult::Text(_), _) => {}
                }
            }
            Responses => {
                if let Some(signature) = &reply.signature {
                    next.push(json!({ "type": "reasoning", "encrypted_content": signature, "summary": [] }));
                }
                if !reply.text.is_empty() {
                    let content = json!([{ "type": "output_text", "text": reply.text }]);
                    next.push(json!({ "type": "message", "role": "assistant", "content": content }));
                }
                let calls = reply.calls.iter();
                next.extend(calls.map(|call| json!({ "type": "function_call", "call_id": call.id, "name": call.tool, "arguments": call.arguments })));
                let output = match tool_result {
                    TestToolResult::Text(text) => json!(text),
                    TestToolResult::Image => json!([{ "type": "input_image", "image_url": image_url }]),
                };
                let calls = reply.calls.iter();
                next.extend(calls.map(
                    |call| json!({ "type": "function_call_output", "call_id": call.id, "output": output }),
                ));
                if reply.calls.is_empty() {
                    next.push(json!({ "role": "user", "content": output }));
                }
            }
            Gemini => {
                let mut parts = Vec::new();
                if !reply.text.is_empty() {
                    parts.push(json!({ "text": reply.text }));
                }
                for (index, call) in reply.calls.iter().enumerate() {
                    let mut part = json!({ "functionCall": { "name": call.tool, "args": arguments(call) } });
                    if let Some(id) = &call.id {
                        part["functionCall"]["id"] = json!(id);
                    }
                    if index == 0
                        && let Some(signature) = &reply.signature
                    {
                        part["thoughtSignature"] = json!(signature);
                    }
                    parts.push(part);
                }
                next.push(json!({ "role": "model", "parts": parts }));
                let results = reply.calls.iter().map(|call| {
                    let mut result =
                        json!({ "name": call.tool, "response": { "name": call.tool, "content": "" } });
                    match tool_result {
                        TestToolResult::Text(text) => result["response"]["content"] = json!(text),
                        TestToolResult::Image => {
                            result["parts"] =
                                json!([{ "inlineData": { "mimeType": "image/png", "data": PNG } }]);
                        }
                    }
                    if let Some(id) = &call.id {
                        result["id"] = json!(id);
                    }
                    json!({ "functionResponse": result })
                });
                let mut results: Vec<Value> = results.collect();
                if let (true, TestToolResult::Text(text)) = (results.is_empty(), tool_result) {
                    results.push(json!({ "text": text }));
                }
                next.push(json!({ "role": "user", "parts": results }));
            }
        }
        self.messages().extend(next);
    }

    pub fn messages(&mut self) -> &mut Vec<Value> {
        let key = match self.dialect {
            Anthropic | Chat | Ollama => "messages",
            Responses => "input",
            Gemini => "contents",
        };
        self.request[key].as_array_mut().unwrap()
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text:?}"))
}

/// The data of the events of a stream, without `[DONE]`. Checks that event names equal the types in the data.
pub fn events(body: &str) -> Vec<Value> {
    let events = body.split_terminator("\n\n").filter(|event| *event != "data: [DONE]");
    let read = |event: &str| {
        let (name, data) = event.split_once("data: ").unwrap();
        let data = parse(data);
        if let Some(name) = name.strip_prefix("event: ") {
            assert_eq!(data["type"], name.trim());
        }
        data
    };
    events.map(read).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn anthropic(message: &Value) -> ParsedReply {
    let mut reply = ParsedReply { stop: text(&message["stop_reason"]), ..ParsedReply::default() };
    for block in message["content"].as_array().unwrap() {
        match block["type"].as_str().unwrap() {
            "thinking" => {
                reply.thinking = text(&block["thinking"]);
                reply.signature = Some(text(&block["signature"]));
            }
            "text" => reply.text = text(&block["text"]),
            "tool_use" => reply.calls.push(ParsedCall {
                id: Some(text(&block["id"])),
                tool: text(&block["name"]),
                arguments: block["input"].as_str().map_or_else(|| block["input"].to_string(), str::to_owned),
            }),
            other => panic!("unknown block {other}"),
        }
    }
    let usage = &message["usage"];
    let cached = number(&usage["cache_read_input_tokens"]);
    let whole = number(&usage["input_tokens"]) + cached + number(&usage["cache_creation_input_tokens"]);
    reply.usage = [whole, cached, number(&usage["output_tokens"]), 0];
    reply
}

fn chat(completion: &Value) -> ParsedReply {
    let choice = &completion["choices"][0];
    let message = &choice["message"];
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let usage = &completion["usage"];
    ParsedReply {
        thinking: text(&message["reasoning_content"]),
        signature: None,
        text: text(&message["content"]),
        calls: calls
            .map(|call| ParsedCall {
                id: Some(text(&call["id"])),
                tool: text(&call["function"]["name"]),
                arguments: text(&call["function"]["arguments"]),
            })
            .collect(),
        stop: text(&choice["finish_reason"]),
        usage: [
            number(&usage["prompt_tokens"]),
            number(&usage["prompt_tokens_details"]["cached_tokens"]),
            number(&usage["completion_tokens"]),
            number(&usage["completion_tokens_details"]["reasoning_tokens"]),
        ],
    }
}

/// Assembles a streamed completion.
fn chat_message(body: &str) -> Value {
    let mut message = json!({ "content": "", "reasoning_content": "", "tool_calls": [] });
    let (mut finish, mut usage) = (Value::Null, Value::Null);
    let append = |to: &mut Value, piece: &Value| *to = json!(text(to) + &text(piece));
    assert!(body.ends_with("data: [DONE]\n\n"), "{body}");
    for chunk in events(body) {
        assert_eq!(chunk["object"], "chat.completion.chunk");
        if !chunk["usage"].is_null() {
            usage = chunk["usage"].clone();
            continue;
        }
        let choice = &chunk["choices"][0];
        append(&mut message["content"], &choice["delta"]["content"]);
        append(&mut message["reasoning_content"], &choice["delta"]["reasoning_content"]);
        for delta in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = number(&delta["index"]) as usize;
            let calls = message["tool_calls"].as_array_mut().unwrap();
            if index == calls.len() {
                calls.push(delta.clone());
            } else {
                append(&mut calls[index]["function"]["arguments"], &delta["function"]["arguments"]);
            }
        }
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].clone();
        }
    }
    json!({ "choices": [{ "message": message, "finish_reason": finish }], "usage": usage })
}

fn response(response: &Value) -> ParsedReply {
    let usage = &response["usage"];
    let mut reply = ParsedReply {
        stop: text(&response["status"]) + &text(&response["incomplete_details"]["reason"]),
        usage: [
            number(&usage["input_tokens"]),
            number(&usage["input_tokens_details"]["cached_tokens"]),
            number(&usage["output_tokens"]),
            number(&usage["output_tokens_details"]["reasoning_tokens"]),
        ],
        ..ParsedReply::default()
    };
    for item in response["output"].as_array().unwrap() {
        match item["type"].as_str().unwrap() {
            "reasoning" => {
                reply.thinking = text(&item["summary"][0]["text"]);
                reply.signature = item["encrypted_content"].as_str().map(str::to_owned);
            }
            "message" => reply.text = text(&item["content"][0]["text"]),
            "function_call" => reply.calls.push(ParsedCall {
                id: Some(text(&item["call_id"])),
                tool: text(&item["name"]),
                arguments: text(&item["arguments"]),
            }),
            other => panic!("unknown item {other}"),
        }
    }
    reply
}

/// Returns the response of the last event and checks that the deltas add up to it.
fn responses_message(body: &str) -> Value {
    let events = events(body);
    let last = &events.last().unwrap()["response"];
    for (index, item) in last["output"].as_array().unwrap().iter().enumerate() {
        let of = |kind: &str| {
            let deltas =
                events.iter().filter(|event| event["output_index"] == index && event["type"] == kind);
            deltas.map(|event| text(&event["delta"])).collect::<String>()
        };
        assert_eq!(of("response.reasoning_summary_text.delta"), text(&item["summary"][0]["text"]));
        assert_eq!(of("response.output_text.delta"), text(&item["content"][0]["text"]));
        assert_eq!(of("response.function_call_arguments.delta"), text(&item["arguments"]));
        let done = events
            .iter()
            .find(|event| event["output_index"] == index && event["type"] == "response.output_item.done");
        assert_eq!(&done.unwrap()["item"], item);
    }
    last.clone()
}

fn gemini(chunks: &[Value]) -> ParsedReply {
    let mut reply = ParsedReply::default();
    for chunk in chunks {
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            if let Some(signature) = part.get("thoughtSignature") {
                assert_eq!(reply.signature.replace(text(signature)), None, "signed twice");
            }
            match part.get("functionCall") {
                Some(call) => reply.calls.push(ParsedCall {
                    id: call["id"].as_str().map(str::to_owned),
                    tool: text(&call["name"]),
                    arguments: call["args"].as_str().map_or_else(|| call["args"].to_string(), str::to_owned),
                }),
                None if part["thought"] == true => reply.thinking += &text(&part["text"]),
                None => reply.text += &text(&part["text"]),
            }
        }
        reply.stop += &text(&candidate["finishReason"]);
        let usage = &chunk["usageMetadata"];
        let thoughts = number(&usage["thoughtsTokenCount"]);
        reply.usage = [
            number(&usage["promptTokenCount"]),
            number(&usage["cachedContentTokenCount"]),
            number(&usage["candidatesTokenCount"]) + thoughts,
            thoughts,
        ];
    }
    reply
}

fn ollama(lines: &[Value]) -> ParsedReply {
    let mut reply = ParsedReply::default();
    for line in lines {
        let message = &line["message"];
        reply.thinking += &text(&message["thinking"]);
        reply.text += &text(&message["content"]);
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        reply.calls.extend(calls.map(|call| {
            let arguments = &call["function"]["arguments"];
            ParsedCall {
                id: Some(text(&call["id"])),
                tool: text(&call["function"]["name"]),
                arguments: arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned),
            }
        }));
    }
    let last = lines.last().unwrap();
    assert_eq!(last["done"], true);
    reply.stop = text(&last["done_reason"]);
    reply.usage = [
        number(&last["prompt_eval_count"]),
        number(&last["prompt_eval_cached_count"]),
        number(&last["eval_count"]),
        0,
    ];
    reply
}
