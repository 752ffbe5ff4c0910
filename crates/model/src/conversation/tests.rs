use super::{Conversation, Image, Message, ToolDefinition, ToolResult};
use crate::provider::ProviderKind;
use crate::reply::{Call, Part, Reply, Stop};
use autonoe_core::event::Usage;
use serde_json::{Value, json};

/// A reply with a signed thought and calls of the given ids.
pub(crate) fn reply(text: &str, ids: &[&str], usage: Usage) -> Reply {
    let mut parts = vec![
        Part::Signature { signature: "c2lnbmVk".to_owned() },
        Part::Thought { text: "Hm.".to_owned() },
        Part::Opaque { data: json!({ "type": "redacted_thinking", "data": "eHl6" }) },
        Part::Text { text: text.to_owned() },
    ];
    let arguments = json!({ "file_path": "a" });
    let call =
        |id: &&str| Call { id: (*id).to_owned(), name: "Read".to_owned(), arguments: arguments.clone() };
    parts.extend(ids.iter().map(|id| Part::Call {
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
        stop: Stop::Natural,
        origin: ProviderKind::Anthropic,
        parts,
    }
}

fn begun() -> Conversation {
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
fn every_call_gets_its_result_in_order_and_nothing_else_does() {
    let mut talk = begun();
    let given = vec![result("c", "third"), result("x", "stray"), result("a", "first")];
    talk.answer(reply("I look.", &["a", "b", "c"], Usage::default()), given);
    let told: Vec<_> =
        results(&talk, 1).iter().map(|result| (result.id.as_str(), result.text.as_str())).collect();
    assert_eq!(told, [("a", "first"), ("b", "The call was not carried out."), ("c", "third")]);
}

#[test]
fn calls_that_nobody_answered_are_answered_when_the_talk_goes_on() {
    let mut talk = begun();
    talk.conclude(reply("I look.", &["a"], Usage::default()));
    talk.ask("Never mind.");
    assert_eq!(results(&talk, 1)[0].id, "a");
    talk.go_on(reply("Cut off.", &["b"], Usage::default()), "Go on.");
    assert_eq!(results(&talk, 4)[0].id, "b");
    assert_eq!(talk.messages.len(), 6);
    assert_eq!(talk.turns(), 2);
}

#[test]
fn what_is_kept_is_the_same_when_it_is_taken_up_again() {
    let mut talk = begun();
    let image = Image { media_type: "image/png".to_owned(), base64: "aW1n".to_owned() };
    let usage = Usage { input_tokens: 100, output_tokens: 20, ..Usage::default() };
    talk.go_on(reply("Half", &[], usage), "Go on.");
    talk.answer(
        reply("I look.", &["a"], usage),
        vec![ToolResult { images: vec![image], ..result("a", "A picture.") }],
    );
    talk.replace_with_summary("It went well.".to_owned(), 1);
    let text = talk.to_json().to_string();
    let taken_up = Conversation::from_json(serde_json::from_str(&text).unwrap()).unwrap();
    assert_eq!(taken_up, talk);
    assert!(text.contains("c2lnbmVk") && text.contains("b2Y=") && text.contains("redacted_thinking"));
    let reply = reply("Done.", &["z"], usage);
    let kept = serde_json::to_value(&reply).unwrap();
    assert_eq!(serde_json::from_value::<Reply>(kept).unwrap(), reply);
}

#[test]
fn what_was_cut_off_is_brought_into_order() {
    let mut talk = begun();
    talk.answer(
        reply("I look.", &["a", "b"], Usage::default()),
        vec![result("a", "one"), result("b", "two")],
    );
    let mut kept = talk.to_json();
    kept["conversation"]["messages"][1]["results"].as_array_mut().unwrap().remove(0);
    let stray = json!({ "from": "tools", "results": [{ "id": "q", "text": "stray" }] });
    kept["conversation"]["messages"].as_array_mut().unwrap().push(stray);
    let taken_up = Conversation::from_json(kept).unwrap();
    assert_eq!(taken_up.messages.len(), 2);
    let ids: Vec<_> = results(&taken_up, 1).iter().map(|result| result.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
}

#[test]
fn what_is_no_conversation_of_ours_is_refused_with_a_reason() {
    for (kept, wanted) in [
        (Value::Null, "no version"),
        (json!({ "version": 2, "conversation": {} }), "version 2"),
        (json!({ "version": 1, "conversation": { "system": "x" } }), "tools"),
        (json!({ "version": 1 }), "null"),
    ] {
        let fault = Conversation::from_json(kept.clone()).expect_err("refused");
        assert_eq!(fault.code, "conversation");
        assert!(fault.message.contains(wanted), "{kept}: {}", fault.message);
    }
}

#[test]
fn tokens_are_what_the_provider_counted_and_a_guess_for_the_rest() {
    let mut talk = begun();
    let guess = talk.estimated_tokens();
    assert!((20..60).contains(&guess), "{guess}");
    let usage = Usage { input_tokens: 1_000, cache_read_tokens: 500, output_tokens: 100, ..Usage::default() };
    talk.answer(reply("I look.", &["a"], usage), vec![result("a", &"x".repeat(4_000))]);
    assert_eq!(talk.estimated_tokens(), 1_600 + 1_000);
    talk.equip("You are careful.", begun().tools);
    assert_eq!(talk.estimated_tokens(), 1_600 + 1_000, "nothing changed");
    let image = Image { media_type: "image/png".to_owned(), base64: "x".repeat(100_000) };
    let shown = ToolResult { images: vec![image], ..result("b", "") };
    talk.answer(reply("I look.", &["b"], Usage::default()), vec![shown]);
    let unmeasured = talk.estimated_tokens();
    assert!((2_500..4_000).contains(&unmeasured), "nobody counted, so all is guessed: {unmeasured}");
    talk.equip("You are quick.", Vec::new());
    assert!(talk.estimated_tokens() < unmeasured);
}
