//! One streamed reply in each wire format, compared field by field.

use serde_json::{Value, json};

use crate::dialect::{Dialect, StreamMode, TestConversation, events};
use crate::start;

const SCRIPT: &str = r#"
    [[conversation]]
      [[conversation.turn]]
      thinking = "Hm."
      text = "Hi."
      call = [{ tool = "Read", input = { a = 1 } }, { tool = "List" }]
      usage = { input = 10, output = 9, cache_read = 5, cache_write = 2, reasoning = 4 }
"#;

fn body(dialect: Dialect) -> String {
    let server = start(SCRIPT);
    let response = TestConversation::begin(dialect, StreamMode::Stream, "go").send(&server);
    let content_type =
        if dialect == Dialect::Ollama { "application/x-ndjson" } else { "text/event-stream; charset=utf-8" };
    assert_eq!(response.header("content-type"), Some(content_type));
    assert!(response.complete);
    response.body
}

/// The signature is deterministic; reading it from a reply avoids a literal.
fn signature() -> String {
    TestConversation::begin(Dialect::Responses, StreamMode::Whole, "go")
        .ask(&start(SCRIPT))
        .signature
        .unwrap()
}

#[test]
fn anthropic() {
    let names: Vec<String> = events(&body(Dialect::Anthropic))
        .iter()
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let signed = ["content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"];
    let expected =
        [&["message_start", "ping"][..], &signed, &block, &block, &block, &["message_delta", "message_stop"]];
    assert_eq!(names, expected.concat());
}

#[test]
fn chat() {
    let body = body(Dialect::Chat);
    assert!(body.ends_with("\n\ndata: [DONE]\n\n"));
    let chunk = |choices: Value, usage: Value| {
        json!({
            "id": "chatcmpl-1_1", "object": "chat.completion.chunk", "created": 1_767_225_600, "model": "some-model",
            "choices": choices, "usage": usage,
        })
    };
    let choice = |delta: Value, finish: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]), Value::Null)
    };
    let call = |call: Value| choice(json!({ "tool_calls": [call] }), Value::Null);
    let usage = json!({
        "prompt_tokens": 17, "completion_tokens": 9, "total_tokens": 26,
        "prompt_tokens_details": { "cached_tokens": 5, "cache_write_tokens": 2, "audio_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": 4, "audio_tokens": 0 },
    });
    assert_eq!(
        events(&body),
        [
            choice(json!({ "role": "assistant", "content": "" }), Value::Null),
            choice(json!({ "reasoning_content": "Hm." }), Value::Null),
            choice(json!({ "content": "Hi." }), Value::Null),
            call(
                json!({ "index": 0, "id": "toolu_1_1_1", "type": "function", "function": { "name": "Read", "arguments": "" } })
            ),
            call(json!({ "index": 0, "function": { "arguments": "{\"a\":1}" } })),
            call(
                json!({ "index": 1, "id": "toolu_1_1_2", "type": "function", "function": { "name": "List", "arguments": "" } })
            ),
            call(json!({ "index": 1, "function": { "arguments": "{}" } })),
            choice(json!({}), json!("tool_calls")),
            chunk(json!([]), usage),
        ]
    );
}

#[test]
fn responses() {
    let mut actual = events(&body(Dialect::Responses));
    for (number, event) in actual.iter_mut().enumerate() {
        assert_eq!(event.as_object_mut().unwrap().remove("sequence_number"), Some(json!(number)));
    }
    let response = |status: &str, output: Value, usage: Value| {
        json!({
            "id": "resp_1_1", "object": "response", "created_at": 1_767_225_600, "status": status, "error": null,
            "incomplete_details": null, "model": "some-model", "output": output, "parallel_tool_calls": true,
            "previous_response_id": null, "store": false, "usage": usage,
        })
    };
    let usage = json!({
        "input_tokens": 17, "input_tokens_details": { "cached_tokens": 5, "cache_write_tokens": 2 },
        "output_tokens": 9, "output_tokens_details": { "reasoning_tokens": 4 }, "total_tokens": 26,
    });
    let reasoning = |summary: Value| json!({ "id": "rs_1_1", "type": "reasoning", "summary": summary, "encrypted_content": signature() });
    let summary = |text: &str| json!({ "type": "summary_text", "text": text });
    let message = |status: &str, content: Value| json!({ "id": "msg_1_1", "type": "message", "status": status, "role": "assistant", "content": content });
    let text_part =
        |text: &str| json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": text });
    let call = |n: u32, status: &str, name: &str, arguments: &str| {
        json!({
            "id": format!("fc_toolu_1_1_{n}"), "type": "function_call", "status": status,
            "call_id": format!("toolu_1_1_{n}"), "name": name, "arguments": arguments,
        })
    };
    let done = [
        reasoning(json!([summary("Hm.")])),
        message("completed", json!([text_part("Hi.")])),
        call(1, "completed", "Read", "{\"a\":1}"),
        call(2, "completed", "List", "{}"),
    ];
    let begun = response("in_progress", json!([]), Value::Null);
    let (rs, msg, read, list) = ("rs_1_1", "msg_1_1", "fc_toolu_1_1_1", "fc_toolu_1_1_2");
    assert_eq!(
        actual,
        [
            json!({ "type": "response.created", "response": begun }),
            json!({ "type": "response.in_progress", "response": begun }),
            json!({ "type": "response.output_item.added", "output_index": 0, "item": reasoning(json!([])) }),
            json!({ "type": "response.reasoning_summary_part.added", "item_id": rs, "output_index": 0, "summary_index": 0, "part": summary("") }),
            json!({ "type": "response.reasoning_summary_text.delta", "item_id": rs, "output_index": 0, "summary_index": 0, "delta": "Hm." }),
            json!({ "type": "response.reasoning_summary_text.done", "item_id": rs, "output_index": 0, "summary_index": 0, "text": "Hm." }),
            json!({ "type": "response.reasoning_summary_part.done", "item_id": rs, "output_index": 0, "summary_index": 0, "part": summary("Hm.") }),
            json!({ "type": "response.output_item.done", "output_index": 0, "item": done[0] }),
            json!({ "type": "response.output_item.added", "output_index": 1, "item": message("in_progress", json!([])) }),
            json!({ "type": "response.content_part.added", "item_id": msg, "output_index": 1, "content_index": 0, "part": text_part("") }),
            json!({ "type": "response.output_text.delta", "item_id": msg, "output_index": 1, "content_index": 0, "delta": "Hi.", "logprobs": [] }),
            json!({ "type": "response.output_text.done", "item_id": msg, "output_index": 1, "content_index": 0, "text": "Hi.", "logprobs": [] }),
            json!({ "type": "response.content_part.done", "item_id": msg, "output_index": 1, "content_index": 0, "part": text_part("Hi.") }),
            json!({ "type": "response.output_item.done", "output_index": 1, "item": done[1] }),
            json!({ "type": "response.output_item.added", "output_index": 2, "item": call(1, "in_progress", "Read", "") }),
            json!({ "type": "response.function_call_arguments.delta", "item_id": read, "output_index": 2, "delta": "{\"a\":1}" }),
            json!({ "type": "response.function_call_arguments.done", "item_id": read, "output_index": 2, "arguments": "{\"a\":1}" }),
            json!({ "type": "response.output_item.done", "output_index": 2, "item": done[2] }),
            json!({ "type": "response.output_item.added", "output_index": 3, "item": call(2, "in_progress", "List", "") }),
            json!({ "type": "response.function_call_arguments.delta", "item_id": list, "output_index": 3, "delta": "{}" }),
            json!({ "type": "response.function_call_arguments.done", "item_id": list, "output_index": 3, "arguments": "{}" }),
            json!({ "type": "response.output_item.done", "output_index": 3, "item": done[3] }),
            json!({ "type": "response.completed", "response": response("completed", json!(done), usage) }),
        ]
    );
}

#[test]
fn gemini() {
    let usage = json!({
        "promptTokenCount": 17, "candidatesTokenCount": 5, "totalTokenCount": 26,
        "cachedContentTokenCount": 5, "thoughtsTokenCount": 4,
    });
    let chunk = |candidate: Value| json!({ "candidates": [candidate], "usageMetadata": usage, "modelVersion": "some-model", "responseId": "1_1" });
    let parts = |parts: Value| chunk(json!({ "index": 0, "content": { "parts": parts, "role": "model" } }));
    let read = json!({ "functionCall": { "name": "Read", "args": { "a": 1 }, "id": "toolu_1_1_1" }, "thoughtSignature": signature() });
    let list = json!({ "functionCall": { "name": "List", "args": {}, "id": "toolu_1_1_2" } });
    assert_eq!(
        events(&body(Dialect::Gemini)),
        [
            parts(json!([{ "text": "Hm.", "thought": true }])),
            parts(json!([{ "text": "Hi." }])),
            parts(json!([read, list])),
            chunk(
                json!({ "index": 0, "content": { "parts": [{ "text": "" }], "role": "model" }, "finishReason": "STOP" })
            ),
        ]
    );
}

#[test]
fn gemini_signs_at_the_end_of_a_reply_without_calls() {
    let server = start("[[conversation]]\n[[conversation.turn]]\nthinking = 'Hm.'\ntext = 'Hi.'");
    let talk = TestConversation::begin(Dialect::Gemini, StreamMode::Stream, "go");
    let chunks = events(&talk.send(&server).body);
    assert_eq!(
        chunks[2]["candidates"][0]["content"]["parts"],
        json!([{ "text": "", "thoughtSignature": signature() }])
    );
    let whole = TestConversation::begin(Dialect::Gemini, StreamMode::Whole, "go").ask(&server);
    assert_eq!((whole.text.as_str(), whole.signature), ("Hi.", Some(signature())));
}

#[test]
fn ollama() {
    let line = |message: Value| json!({ "model": "some-model", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false });
    let actual: Vec<Value> =
        body(Dialect::Ollama).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let calls = json!([
        { "id": "toolu_1_1_1", "function": { "index": 0, "name": "Read", "arguments": { "a": 1 } } },
        { "id": "toolu_1_1_2", "function": { "index": 1, "name": "List", "arguments": {} } },
    ]);
    let last = json!({
        "model": "some-model", "created_at": "2026-01-01T00:00:00Z", "message": { "role": "assistant", "content": "" },
        "done": true, "done_reason": "stop", "total_duration": 1_000_000,
        "prompt_eval_count": 17, "prompt_eval_cached_count": 5, "eval_count": 9,
    });
    assert_eq!(
        actual,
        [
            line(json!({ "role": "assistant", "content": "", "thinking": "Hm." })),
            line(json!({ "role": "assistant", "content": "Hi." })),
            line(json!({ "role": "assistant", "content": "", "tool_calls": calls })),
            last,
        ]
    );
}
