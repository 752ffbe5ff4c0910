use super::{Conversation, Image, Message, ToolDefinition, ToolResult};
use crate::provider::ProviderKind;
use crate::reply::{FinishReason, Reply, ReplyPart, RequestedCall};
use autonoe_core::event::Usage;
use serde_json::{Value, json};

/// A reply with a signed thought and calls with the given ids.
pub(crate) fn reply(text: &str, ids: &[&str], usage: Usage) -> Reply {
    let mut parts = vec![
        ReplyPart::Signature { signature: "c2lnbmVk".to_owned() },
        ReplyPart::Thought { text: "Hm.".to_owned() },
        ReplyPart::Opaque { data: json!({ "type": "redacted_thinking", "data": "eHl6" }) },
        ReplyPart::Text { text: text.to_owned() },
    ];
    let arguments = json!({ "file_path": "a" });
    let call = |id: &&str| RequestedCall {
        id: (*id).to_owned(),
        name: "Read".to_owned(),
        arguments: arguments.clone(),
    };
    parts.extend(ids.iter().map(|id| ReplyPart::Call {
        id: (*id).to_owned(),
        name: "Read".to_owned(),
        arguments: arguments.clone(),
        signatures: vec!["b2Y=".to_owned()],
    }));
    Reply {
        thinking: Some("Hm.".to_owned()),
        text: Some(text.to_owned()),
        calls: ids.iter().map(call).collect(),
        usage,
        stop: FinishReason::Natural,
        origin: ProviderKind::Anthropic,
        parts,
    }
}

fn new_conversation() -> Conversation {
    let tool = ToolDefinition {
        name: "Read".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: json!({ "type": "object" }),
    };
    Conversation::new("You are careful.", vec![tool], "Begin.".to_owned())
}

fn result(id: &str, text: &str) -> ToolResult {
    ToolResult::from((id.to_owned(), text.to_owned()))
}

fn results(conversation: &Conversation, at: usize) -> &[ToolResult] {
    match &conversation.messages[at] {
        Message::Tools { results } => results,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_call_gets_its_result_in_order_and_stray_results_are_dropped() {
    let mut conversation = new_conversation();
    let given = vec![result("c", "third"), result("x", "stray"), result("a", "first")];
    conversation.push_turn(reply("I look.", &["a", "b", "c"], Usage::default()), given);
    let sent: Vec<_> =
        results(&conversation, 1).iter().map(|result| (result.id.as_str(), result.text.as_str())).collect();
    assert_eq!(sent, [("a", "first"), ("b", "The call was not executed."), ("c", "third")]);
}

#[test]
fn unanswered_calls_get_a_placeholder_before_the_next_message() {
    let mut conversation = new_conversation();
    conversation.finish(reply("I look.", &["a"], Usage::default()));
    conversation.push_user("Never mind.");
    assert_eq!(results(&conversation, 1)[0].id, "a");
    conversation.continue_with(reply("Cut off.", &["b"], Usage::default()), "Continue.");
    assert_eq!(results(&conversation, 4)[0].id, "b");
    assert_eq!(conversation.messages.len(), 6);
    assert_eq!(conversation.turns(), 2);
}

#[test]
fn a_saved_conversation_is_restored_unchanged() {
    let mut conversation = new_conversation();
    let image = Image { media_type: "image/png".to_owned(), base64: "aW1n".to_owned() };
    let usage = Usage { input_tokens: 100, output_tokens: 20, ..Usage::default() };
    conversation.continue_with(reply("Half", &[], usage), "Continue.");
    conversation.push_turn(
        reply("I look.", &["a"], usage),
        vec![ToolResult { images: vec![image], ..result("a", "An image.") }],
    );
    conversation.replace_with_summary("Two files were read.".to_owned(), 1);
    let text = conversation.to_json().to_string();
    let restored = Conversation::from_json(serde_json::from_str(&text).unwrap()).unwrap();
    assert_eq!(restored, conversation);
    assert!(text.contains("c2lnbmVk") && text.contains("b2Y=") && text.contains("redacted_thinking"));
    let reply = reply("Done.", &["z"], usage);
    let saved = serde_json::to_value(&reply).unwrap();
    assert_eq!(serde_json::from_value::<Reply>(saved).unwrap(), reply);
}

#[test]
fn missing_and_stray_results_are_repaired_on_load() {
    let mut conversation = new_conversation();
    conversation.push_turn(
        reply("I look.", &["a", "b"], Usage::default()),
        vec![result("a", "one"), result("b", "two")],
    );
    let mut saved = conversation.to_json();
    saved["conversation"]["messages"][1]["results"].as_array_mut().unwrap().remove(0);
    let stray = json!({ "from": "tools", "results": [{ "id": "q", "text": "stray" }] });
    saved["conversation"]["messages"].as_array_mut().unwrap().push(stray);
    let restored = Conversation::from_json(saved).unwrap();
    assert_eq!(restored.messages.len(), 2);
    let ids: Vec<_> = results(&restored, 1).iter().map(|result| result.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
}

#[test]
fn an_invalid_saved_conversation_is_rejected_with_a_reason() {
    for (saved, wanted) in [
        (Value::Null, "no version"),
        (json!({ "version": 2, "conversation": {} }), "version 2"),
        (json!({ "version": 1, "conversation": { "system": "x" } }), "tools"),
        (json!({ "version": 1 }), "null"),
    ] {
        let fault = Conversation::from_json(saved.clone()).expect_err("refused");
        assert_eq!(fault.code, "conversation");
        assert!(fault.message.contains(wanted), "{saved}: {}", fault.message);
    }
}

#[test]
fn token_estimate_is_the_providers_count_plus_an_estimate_for_the_rest() {
    let mut conversation = new_conversation();
    let estimate = conversation.estimated_tokens();
    assert!((20..60).contains(&estimate), "{estimate}");
    let usage = Usage { input_tokens: 1_000, cache_read_tokens: 500, output_tokens: 100, ..Usage::default() };
    conversation.push_turn(reply("I look.", &["a"], usage), vec![result("a", &"x".repeat(4_000))]);
    assert_eq!(conversation.estimated_tokens(), 1_600 + 1_000);
    conversation.set_system_and_tools("You are careful.", new_conversation().tools);
    assert_eq!(conversation.estimated_tokens(), 1_600 + 1_000, "nothing changed");
    let image = Image { media_type: "image/png".to_owned(), base64: "x".repeat(100_000) };
    let with_image = ToolResult { images: vec![image], ..result("b", "") };
    conversation.push_turn(reply("I look.", &["b"], Usage::default()), vec![with_image]);
    let unmeasured = conversation.estimated_tokens();
    assert!((2_500..4_000).contains(&unmeasured), "without a count everything is estimated: {unmeasured}");
    conversation.set_system_and_tools("You are quick.", Vec::new());
    assert!(conversation.estimated_tokens() < unmeasured);
}
