use super::excerpt;
use crate::conversation::{Conversation, Image, Message, ToolDefinition, ToolResult};
use crate::dialect;
use crate::provider::ProviderKind;
use crate::reply::{FinishReason, Reply, ReplyPart, RequestedCall};
use autonoe_core::event::Usage;
use genai::chat::ChatRole;
use proptest::prelude::*;
use serde_json::json;

const SYSTEM: &str = "You are careful.";
const INSTRUCTION: &str = "Build the thing.";

fn reply(number: usize, calls: usize) -> Reply {
    let ids: Vec<String> = (0..calls).map(|call| format!("call_{number}_{call}")).collect();
    let mut parts = vec![ReplyPart::Text { text: format!("Turn {number}.") }];
    parts.extend(ids.iter().map(|id| ReplyPart::Call {
        id: id.clone(),
        name: "Read".to_owned(),
        arguments: json!({ "n": number }),
        signatures: Vec::new(),
    }));
    Reply {
        thinking: None,
        text: Some(format!("Turn {number}.")),
        calls: ids
            .into_iter()
            .map(|id| RequestedCall { id, name: "Read".to_owned(), arguments: json!({ "n": number }) })
            .collect(),
        usage: Usage { input_tokens: 1_000 * (number as u64 + 1), output_tokens: 50, ..Usage::default() },
        stop: FinishReason::Natural,
        origin: ProviderKind::OpenAiCompatible,
        parts,
    }
}

fn new_conversation() -> Conversation {
    let tool = ToolDefinition {
        name: "Read".to_owned(),
        description: "Reads.".to_owned(),
        input_schema: json!({ "type": "object" }),
    };
    Conversation::new(SYSTEM, vec![tool], INSTRUCTION.to_owned())
}

fn add_turn(conversation: &mut Conversation, number: usize, calls: usize, length: usize, images: usize) {
    let reply = reply(number, calls);
    let image = Image { media_type: "image/png".to_owned(), base64: "aW1n".to_owned() };
    let results = reply.calls.iter().map(|call| ToolResult {
        id: call.id.clone(),
        text: format!("{number}:").repeat(length),
        images: vec![image.clone(); images],
    });
    let results = results.collect();
    conversation.push_turn(reply, results);
}

fn four_turns() -> Conversation {
    let mut conversation = new_conversation();
    for number in 0..4 {
        add_turn(&mut conversation, number, 1, 1_000, usize::from(number == 1));
    }
    conversation
}

fn outputs(conversation: &Conversation) -> Vec<&ToolResult> {
    let results = conversation.messages.iter().filter_map(|message| match message {
        Message::Tools { results } => Some(results),
        Message::User { .. } | Message::Model { .. } => None,
    });
    results.flatten().collect()
}

#[test]
fn old_outputs_become_a_note_with_their_length() {
    let mut conversation = four_turns();
    let before = conversation.estimated_tokens();
    let freed = conversation.drop_old_outputs(2);
    let outputs = outputs(&conversation);
    assert!(outputs[0].text.contains("2000 characters was dropped"), "{}", outputs[0].text);
    assert!(outputs[1].text.contains("2000 characters and 1 image"), "{}", outputs[1].text);
    assert!(outputs[1].images.is_empty());
    assert!(outputs[2].text.starts_with("2:2:") && outputs[3].text.starts_with("3:3:"));
    assert!(freed > 2 * 400, "{freed}");
    assert_eq!(conversation.estimated_tokens(), before - freed);
    assert_eq!(conversation.clone().drop_old_outputs(2), 0, "a note is not dropped again");
    assert_eq!(conversation.drop_old_outputs(9), 0);
}

#[test]
fn the_transcript_covers_exactly_what_the_summary_replaces() {
    let mut conversation = four_turns();
    assert_eq!(conversation.transcript_to_summarise(4), None);
    let transcript = conversation.transcript_to_summarise(1).expect("three turns");
    for entry in ["MODEL: Turn 0.", "CALL: Read {\"n\":1}", "RESULT: 2:2:", "(1 images)"] {
        assert!(transcript.contains(entry), "{entry} in {transcript}");
    }
    assert!(!transcript.contains("Turn 3.") && !transcript.contains(INSTRUCTION));
    conversation.replace_with_summary("Three files were read.".to_owned(), 1);
    assert_eq!(conversation.turns(), 1);
    assert!(
        conversation.opening().starts_with(INSTRUCTION)
            && conversation.opening().contains("Three files were read.")
    );
    let again = conversation.transcript_to_summarise(0).expect("one turn");
    assert!(again.contains("Three files were read.") && again.contains("Turn 3."), "{again}");
    conversation.replace_with_summary("Four.".to_owned(), 0);
    assert_eq!((conversation.turns(), conversation.transcript_to_summarise(0)), (0, None));
    assert!(conversation.opening().contains("Four.") && !conversation.opening().contains("Three files"));
}

#[test]
fn a_long_transcript_is_cut_with_a_note() {
    let mut conversation = new_conversation();
    for number in 0..400 {
        add_turn(&mut conversation, number, 2, 2_000, 0);
    }
    let transcript = conversation.transcript_to_summarise(1).expect("many turns");
    assert!(transcript.len() < 401_000, "{}", transcript.len());
    assert!(transcript.contains("characters cut] …"));
    assert_eq!(excerpt("short", 10), "short");
    let umlauts = "ü".repeat(100);
    assert!(excerpt(&umlauts, 50).contains("[76 characters cut]"), "{}", excerpt(&umlauts, 50));
}

#[derive(Debug, Clone)]
enum ConversationEdit {
    AddTurn { calls: usize, length: usize, images: usize },
    Continue,
    PushUser,
    Drop(usize),
    Summarise(usize),
    Reload,
}

fn steps() -> impl Strategy<Value = Vec<ConversationEdit>> {
    let step = prop_oneof![
        4 => (1..4usize, 0..300usize, 0..2usize)
            .prop_map(|(calls, length, images)| ConversationEdit::AddTurn { calls, length, images }),
        1 => Just(ConversationEdit::Continue),
        1 => Just(ConversationEdit::PushUser),
        2 => (0..5usize).prop_map(ConversationEdit::Drop),
        2 => (0..5usize).prop_map(ConversationEdit::Summarise),
        1 => Just(ConversationEdit::Reload),
    ];
    proptest::collection::vec(step, 1..30)
}

proptest! {
    #[test]
    fn compaction_keeps_results_with_their_calls_and_the_instruction(steps in steps()) {
        let mut conversation = new_conversation();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                ConversationEdit::AddTurn { calls, length, images } => add_turn(&mut conversation, number, calls, length, images),
                ConversationEdit::Continue => conversation.continue_with(reply(number, 1), "Continue."),
                ConversationEdit::PushUser => conversation.push_user("And now?"),
                ConversationEdit::Drop(keep) => { conversation.drop_old_outputs(keep); }
                ConversationEdit::Summarise(keep) => {
                    let turns = conversation.turns();
                    if conversation.transcript_to_summarise(keep).is_some() {
                        conversation.replace_with_summary(format!("Up to {number}."), keep);
                        prop_assert_eq!(conversation.turns(), turns.min(keep));
                    }
                }
                ConversationEdit::Reload => {
                    let reloaded = Conversation::from_json(conversation.to_json()).expect("ours");
                    prop_assert_eq!(&reloaded, &conversation);
                    conversation = reloaded;
                }
            }
            check(&conversation)?;
        }
    }
}

fn check(conversation: &Conversation) -> Result<(), TestCaseError> {
    prop_assert_eq!(&conversation.system, SYSTEM);
    prop_assert!(conversation.opening().starts_with(INSTRUCTION));
    for (at, message) in conversation.messages.iter().enumerate() {
        let calls: Vec<&str> = message.calls().collect();
        let answered: Vec<&str> = match conversation.messages.get(at + 1) {
            Some(Message::Tools { results }) => results.iter().map(|result| result.id.as_str()).collect(),
            Some(Message::User { .. } | Message::Model { .. }) | None => Vec::new(),
        };
        prop_assert_eq!(calls, answered, "message {}", at);
    }
    for kind in ProviderKind::ALL {
        let request = dialect::request(conversation, kind);
        prop_assert_eq!(request.system.as_deref(), Some(SYSTEM));
        prop_assert_eq!(&request.messages[0].role, &ChatRole::User);
        prop_assert!(
            request.messages[0].content.first_text().is_some_and(|text| text.starts_with(INSTRUCTION))
        );
        prop_assert!(request.messages.iter().all(|message| !message.content.is_empty()));
    }
    Ok(())
}
