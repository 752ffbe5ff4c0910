use super::excerpt;
use crate::conversation::{Conversation, Image, Message, ToolDefinition, ToolResult};
use crate::dialect;
use crate::provider::ProviderKind;
use crate::reply::{Call, Part, Reply, Stop};
use autonoe_core::event::Usage;
use genai::chat::ChatRole;
use proptest::prelude::*;
use serde_json::json;

const SYSTEM: &str = "You are careful.";
const INSTRUCTION: &str = "Build the thing.";

fn reply(number: usize, calls: usize) -> Reply {
    let ids: Vec<String> = (0..calls).map(|call| format!("call_{number}_{call}")).collect();
    let mut parts = vec![Part::Text { text: format!("Turn {number}.") }];
    parts.extend(ids.iter().map(|id| Part::Call {
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
            .map(|id| Call { id, name: "Read".to_owned(), arguments: json!({ "n": number }) })
            .collect(),
        usage: Usage { input_tokens: 1_000 * (number as u64 + 1), output_tokens: 50, ..Usage::default() },
        stop: Stop::Natural,
        origin: ProviderKind::OpenAiCompatible,
        parts,
    }
}

fn begun() -> Conversation {
    let tool = ToolDefinition {
        name: "Read".to_owned(),
        description: "Reads.".to_owned(),
        input_schema: json!({ "type": "object" }),
    };
    Conversation::new(SYSTEM, vec![tool], INSTRUCTION.to_owned())
}

fn answer(talk: &mut Conversation, number: usize, calls: usize, length: usize, images: usize) {
    let reply = reply(number, calls);
    let image = Image { media_type: "image/png".to_owned(), base64: "aW1n".to_owned() };
    let results = reply.calls.iter().map(|call| ToolResult {
        id: call.id.clone(),
        text: format!("{number}:").repeat(length),
        images: vec![image.clone(); images],
    });
    let results = results.collect();
    talk.answer(reply, results);
}

fn four_turns() -> Conversation {
    let mut talk = begun();
    for number in 0..4 {
        answer(&mut talk, number, 1, 1_000, usize::from(number == 1));
    }
    talk
}

fn outputs(talk: &Conversation) -> Vec<&ToolResult> {
    let results = talk.messages.iter().filter_map(|message| match message {
        Message::Tools { results } => Some(results),
        Message::User { .. } | Message::Model { .. } => None,
    });
    results.flatten().collect()
}

#[test]
fn old_outputs_become_a_note_that_tells_their_length() {
    let mut talk = four_turns();
    let before = talk.estimated_tokens();
    let freed = talk.drop_old_outputs(2);
    let outputs = outputs(&talk);
    assert!(outputs[0].text.contains("2000 characters was dropped"), "{}", outputs[0].text);
    assert!(outputs[1].text.contains("2000 characters and a picture"), "{}", outputs[1].text);
    assert!(outputs[1].images.is_empty());
    assert!(outputs[2].text.starts_with("2:2:") && outputs[3].text.starts_with("3:3:"));
    assert!(freed > 2 * 400, "{freed}");
    assert_eq!(talk.estimated_tokens(), before - freed);
    assert_eq!(talk.clone().drop_old_outputs(2), 0, "a note is not dropped again");
    assert_eq!(talk.drop_old_outputs(9), 0);
}

#[test]
fn what_is_to_be_summarised_is_what_the_summary_replaces() {
    let mut talk = four_turns();
    assert_eq!(talk.to_be_summarised(4), None);
    let transcript = talk.to_be_summarised(1).expect("three turns");
    for told in ["MODEL: Turn 0.", "CALL: Read {\"n\":1}", "RESULT: 2:2:", "(1 pictures)"] {
        assert!(transcript.contains(told), "{told} in {transcript}");
    }
    assert!(!transcript.contains("Turn 3.") && !transcript.contains(INSTRUCTION));
    talk.replace_with_summary("Three files were read.".to_owned(), 1);
    assert_eq!(talk.turns(), 1);
    assert!(talk.opening().starts_with(INSTRUCTION) && talk.opening().contains("Three files were read."));
    let again = talk.to_be_summarised(0).expect("one turn");
    assert!(again.contains("Three files were read.") && again.contains("Turn 3."), "{again}");
    talk.replace_with_summary("Four.".to_owned(), 0);
    assert_eq!((talk.turns(), talk.to_be_summarised(0)), (0, None));
    assert!(talk.opening().contains("Four.") && !talk.opening().contains("Three files"));
}

#[test]
fn a_transcript_has_an_end_and_says_what_was_cut() {
    let mut talk = begun();
    for number in 0..400 {
        answer(&mut talk, number, 2, 2_000, 0);
    }
    let transcript = talk.to_be_summarised(1).expect("many turns");
    assert!(transcript.len() < 401_000, "{}", transcript.len());
    assert!(transcript.contains("characters cut] …"));
    assert_eq!(excerpt("kurz", 10), "kurz");
    let umlauts = "ü".repeat(100);
    assert!(excerpt(&umlauts, 50).contains("[76 characters cut]"), "{}", excerpt(&umlauts, 50));
}

#[derive(Debug, Clone)]
enum Step {
    Answer { calls: usize, length: usize, images: usize },
    GoOn,
    Ask,
    Drop(usize),
    Summarise(usize),
    Keep,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..4usize, 0..300usize, 0..2usize)
            .prop_map(|(calls, length, images)| Step::Answer { calls, length, images }),
        1 => Just(Step::GoOn),
        1 => Just(Step::Ask),
        2 => (0..5usize).prop_map(Step::Drop),
        2 => (0..5usize).prop_map(Step::Summarise),
        1 => Just(Step::Keep),
    ];
    proptest::collection::vec(step, 1..30)
}

proptest! {
    #[test]
    fn whatever_is_compacted_calls_keep_their_results_and_the_instruction_stays(steps in steps()) {
        let mut talk = begun();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Answer { calls, length, images } => answer(&mut talk, number, calls, length, images),
                Step::GoOn => talk.go_on(reply(number, 1), "Go on."),
                Step::Ask => talk.ask("And now?"),
                Step::Drop(keep) => { talk.drop_old_outputs(keep); }
                Step::Summarise(keep) => {
                    let turns = talk.turns();
                    if talk.to_be_summarised(keep).is_some() {
                        talk.replace_with_summary(format!("Up to {number}."), keep);
                        prop_assert_eq!(talk.turns(), turns.min(keep));
                    }
                }
                Step::Keep => {
                    let taken_up = Conversation::from_json(talk.to_json()).expect("ours");
                    prop_assert_eq!(&taken_up, &talk);
                    talk = taken_up;
                }
            }
            check(&talk)?;
        }
    }
}

fn check(talk: &Conversation) -> Result<(), TestCaseError> {
    prop_assert_eq!(&talk.system, SYSTEM);
    prop_assert!(talk.opening().starts_with(INSTRUCTION));
    for (at, message) in talk.messages.iter().enumerate() {
        let calls: Vec<&str> = message.calls().collect();
        let answered: Vec<&str> = match talk.messages.get(at + 1) {
            Some(Message::Tools { results }) => results.iter().map(|result| result.id.as_str()).collect(),
            Some(Message::User { .. } | Message::Model { .. }) | None => Vec::new(),
        };
        prop_assert_eq!(calls, answered, "message {}", at);
    }
    for kind in ProviderKind::ALL {
        let request = dialect::request(talk, kind);
        prop_assert_eq!(request.system.as_deref(), Some(SYSTEM));
        prop_assert_eq!(&request.messages[0].role, &ChatRole::User);
        prop_assert!(
            request.messages[0].content.first_text().is_some_and(|text| text.starts_with(INSTRUCTION))
        );
        prop_assert!(request.messages.iter().all(|message| !message.content.is_empty()));
    }
    Ok(())
}
