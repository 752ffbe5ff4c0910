use super::{read_usage, reply, request};
use crate::conversation::{Conversation, Image, ToolResult};
use crate::frames::StreamNotes;
use crate::provider::ProviderKind;
use crate::reply::{FinishReason, Reply, ReplyPart};
use genai::chat::{ChatMessage, ChatRole, ContentPart, MessageContent, StopReason, StreamEnd, ToolCall};
use serde_json::{Value, json};

fn end(parts: Vec<ContentPart>, stop: &str) -> StreamEnd {
    StreamEnd {
        captured_content: Some(MessageContent::from_parts(parts)),
        captured_stop_reason: Some(StopReason::from(stop.to_owned())),
        ..StreamEnd::default()
    }
}

fn call(id: &str, arguments: Value) -> ContentPart {
    ContentPart::ToolCall(ToolCall {
        call_id: id.to_owned(),
        fn_name: "Read".to_owned(),
        fn_arguments: arguments,
        thought_signatures: Some(vec!["of the call".to_owned()]),
    })
}

fn replied(kind: ProviderKind, parts: Vec<ContentPart>) -> Reply {
    reply(end(parts, "stop"), kind, &StreamNotes::default())
}

fn sent_messages(kind: ProviderKind, conversation: &Conversation) -> Vec<ChatMessage> {
    request(conversation, kind).messages
}

#[test]
fn ids_are_made_unique() {
    let parts = vec![
        call("call#Read#0", json!({})),
        call("call#Read#0", json!({})),
        call("", json!({})),
        call("same", json!({ "n": 1 })),
        call("same", json!({ "n": 2 })),
    ];
    let reply = replied(ProviderKind::Gemini, parts);
    let mut ids: Vec<_> = reply.calls.iter().map(|call| call.id.clone()).collect();
    assert_eq!(ids[3], "same");
    assert!(ids[0].starts_with("call#Read#"), "the library recognises it as generated: {}", ids[0]);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
}

#[test]
fn signatures_and_thoughts_go_back_only_to_their_provider() {
    let parts = vec![
        ContentPart::ThoughtSignature("signed".to_owned()),
        ContentPart::ReasoningContent("Hm.".to_owned()),
        ContentPart::Text("I look.".to_owned()),
        call("a", json!({ "n": 1 })),
    ];
    let mut conversation = Conversation::new("", Vec::new(), "Begin.".to_owned());
    conversation.push_turn(replied(ProviderKind::Anthropic, parts), vec![("a".to_owned(), "A.".to_owned())]);
    for kind in ProviderKind::ALL {
        let message = &sent_messages(kind, &conversation)[1];
        let own = kind == ProviderKind::Anthropic;
        assert_eq!(message.content.contains_thought_signature(), own, "{kind}");
        assert_eq!(message.content.contains_reasoning_content(), own, "{kind}");
        let calls = message.content.tool_calls();
        assert_eq!(calls[0].thought_signatures.is_some(), own, "{kind}");
    }
}

#[test]
fn arguments_that_are_not_an_object_are_wrapped_in_one() {
    for (arguments, wanted) in [
        (json!("{\"file"), json!({ "invalid_json": "{\"file" })),
        (json!([1]), json!({ "invalid_json": "[1]" })),
        (json!({ "a": 1 }), json!({ "a": 1 })),
    ] {
        let reply = replied(ProviderKind::OpenAi, vec![call("a", arguments.clone())]);
        assert_eq!(reply.calls[0].arguments, arguments, "as it came");
        let mut conversation = Conversation::new("", Vec::new(), "Begin.".to_owned());
        conversation.finish(reply);
        for kind in ProviderKind::ALL {
            let message = &sent_messages(kind, &conversation)[1];
            assert_eq!(message.content.tool_calls()[0].fn_arguments, wanted, "{kind}");
        }
    }
}

#[test]
fn images_are_in_the_result_or_follow_it() {
    let parts = vec![call("a", json!({})), call("b", json!({}))];
    let mut conversation = Conversation::new("", Vec::new(), "Begin.".to_owned());
    let image = Image { media_type: "image/png".to_owned(), base64: "aW1n".to_owned() };
    let with_image = ToolResult { id: "b".to_owned(), text: "An image.".to_owned(), images: vec![image] };
    conversation.push_turn(
        replied(ProviderKind::OpenAi, parts),
        vec![ToolResult::from(("a".to_owned(), "Text.".to_owned())), with_image],
    );
    let roles = |kind| {
        sent_messages(kind, &conversation).into_iter().skip(2).map(|message| message.role).collect::<Vec<_>>()
    };
    assert_eq!(roles(ProviderKind::Anthropic), [ChatRole::Tool]);
    assert_eq!(roles(ProviderKind::OpenAi), [ChatRole::Tool, ChatRole::User]);
    assert_eq!(roles(ProviderKind::Ollama), [ChatRole::Tool, ChatRole::Tool, ChatRole::User]);
    let message = &sent_messages(ProviderKind::Anthropic, &conversation)[2];
    let block = message.content.custom_parts()[0].data.clone();
    assert_eq!(block["content"][1]["source"]["data"], "aW1n");
    for kind in
        [ProviderKind::OpenAi, ProviderKind::OpenAiCompatible, ProviderKind::Gemini, ProviderKind::Ollama]
    {
        let last = sent_messages(kind, &conversation).pop().expect("a message");
        assert_eq!(last.content.binaries().len(), 1, "{kind}");
    }
}

#[test]
fn a_reply_with_nothing_to_send_back_does_not_become_an_empty_message() {
    let reply = replied(ProviderKind::OpenAi, vec![ContentPart::ThoughtSignature("signed".to_owned())]);
    let mut conversation = Conversation::new("", Vec::new(), "Begin.".to_owned());
    conversation.continue_with(reply, "Continue.");
    for kind in ProviderKind::ALL {
        assert!(sent_messages(kind, &conversation)[1].content.contains_text(), "{kind}");
    }
}

#[test]
fn ids_use_only_characters_the_provider_accepts() {
    let mut conversation = Conversation::new("", Vec::new(), "Begin.".to_owned());
    let reply = replied(ProviderKind::Gemini, vec![call("call#Read#0", json!({}))]);
    let id = reply.calls[0].id.clone();
    conversation.push_turn(reply, vec![(id.clone(), "A.".to_owned())]);
    let gemini = sent_messages(ProviderKind::Gemini, &conversation);
    assert_eq!(gemini[1].content.tool_calls()[0].call_id, id);
    let anthropic = sent_messages(ProviderKind::Anthropic, &conversation);
    let sent_id = &anthropic[1].content.tool_calls()[0].call_id;
    assert!(!sent_id.contains('#'), "{sent_id}");
    assert_eq!(&anthropic[2].content.tool_responses()[0].call_id, sent_id);
}

#[test]
fn thoughts_are_kept_where_the_server_wants_them_back() {
    let thought = || StreamEnd { captured_reasoning_content: Some("Hm.".to_owned()), ..end(vec![], "stop") };
    let wants = StreamNotes { wants_thoughts_back: true, ..StreamNotes::default() };
    let reply_with_thought = reply(thought(), ProviderKind::OpenAiCompatible, &wants);
    assert_eq!(reply_with_thought.parts, [ReplyPart::Thought { text: "Hm.".to_owned() }]);
    assert_eq!(reply(thought(), ProviderKind::OpenAiCompatible, &StreamNotes::default()).parts, []);
}

#[test]
fn stop_reasons_are_mapped() {
    for (stop, wanted) in [
        ("stop", FinishReason::Natural),
        ("tool_calls", FinishReason::Natural),
        ("length", FinishReason::OutputLimit),
        ("incomplete", FinishReason::OutputLimit),
        ("SAFETY", FinishReason::Refused),
        ("refusal", FinishReason::Refused),
    ] {
        let parts = vec![ContentPart::Text("So.".to_owned())];
        assert_eq!(
            reply(end(parts, stop), ProviderKind::OpenAi, &StreamNotes::default()).stop,
            wanted,
            "{stop}"
        );
    }
    let refused = StreamNotes { refused: true, ..StreamNotes::default() };
    assert_eq!(reply(end(vec![], "stop"), ProviderKind::OpenAi, &refused).stop, FinishReason::Refused);
}

#[test]
fn usage_is_normalised_across_providers() {
    let usage = |value: Value| read_usage(&serde_json::from_value(value).unwrap());
    let counted = usage(json!({
        "prompt_tokens": 100, "prompt_tokens_details": { "cached_tokens": 60, "cache_creation_tokens": 10 },
        "completion_tokens": 50, "completion_tokens_details": { "reasoning_tokens": 20 },
    }));
    assert_eq!((counted.input_tokens, counted.cache_read_tokens, counted.cache_write_tokens), (30, 60, 10));
    assert_eq!((counted.output_tokens, counted.reasoning_tokens), (50, 20));
    let excluded =
        usage(json!({ "completion_tokens": 35, "completion_tokens_details": { "reasoning_tokens": 192 } }));
    assert_eq!((excluded.output_tokens, excluded.reasoning_tokens), (227, 192));
    let negative = usage(json!({ "prompt_tokens": -1, "completion_tokens": -5 }));
    assert_eq!((negative.input_tokens, negative.output_tokens), (0, 0));
}

#[test]
fn missing_arguments_become_an_empty_object() {
    for arguments in [json!(null), json!(""), json!(" "), json!({})] {
        let reply = replied(ProviderKind::OpenAiCompatible, vec![call("a", arguments)]);
        assert_eq!(reply.calls[0].arguments, json!({}));
    }
}

#[test]
fn an_empty_copy_of_a_call_is_dropped() {
    let reply =
        replied(ProviderKind::OpenAiCompatible, vec![call("a", json!("")), call("a", json!({ "n": 1 }))]);
    assert_eq!(reply.calls.len(), 1);
    assert_eq!(reply.calls[0].arguments, json!({ "n": 1 }));
}
