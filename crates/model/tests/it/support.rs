//! A scripted service, a model of it, and what the model tells while it works.

use std::sync::Mutex;
use std::time::Duration;

use autonoe_core::fault::Fault;
use autonoe_core::outcome::SessionEnd;
use autonoe_model::{Conversation, Model, Progress, Provider, ProviderKind, Reply, ToolDefinition, Tuning};
use autonoe_scripted::{Script, Server};
use serde_json::json;

pub const TOOL: &str = "Read";

pub fn serve(script: &str) -> Server {
    Server::start(Script::parse(script).unwrap()).unwrap()
}

/// One reply, "At last.", with a fault in front of it.
pub fn serve_fault(fault: &str) -> Server {
    serve(&format!(
        "[[conversation]]\n[[conversation.turn]]\nfault = {fault}\n[[conversation.turn]]\ntext = 'At last.'"
    ))
}

/// Retries almost at once and waits as long as the test needs.
pub fn quick() -> Tuning {
    Tuning { retry_pause: Duration::from_millis(1), ..Tuning::default() }
}

/// A provider of that kind at an address.
pub fn provider(kind: ProviderKind, base_url: &str) -> Provider {
    Provider {
        name: kind.name().to_owned(),
        kind,
        base_url: Some(base_url.to_owned()),
        api_key: Some("test-key".to_owned()),
    }
}

/// Anthropic's model of that name.
pub fn model_at(base_url: &str, name: &str, tuning: &Tuning) -> Model {
    Model::open(&provider(ProviderKind::Anthropic, base_url), name, tuning).unwrap()
}

/// A model of each kind that thinks; Gemini twice, since only newer models give their calls ids.
pub const THINKERS: [(ProviderKind, &str); 6] = [
    (ProviderKind::Anthropic, "claude-sonnet-4-5"),
    (ProviderKind::OpenAi, "gpt-5.2"),
    (ProviderKind::OpenAiCompatible, "org/any-model-max"),
    (ProviderKind::Gemini, "gemini-3-pro-preview"),
    (ProviderKind::Gemini, "gemini-2.5-pro"),
    (ProviderKind::Ollama, "qwen3"),
];

pub fn model(server: &Server) -> Model {
    model_at(&server.base_url(), "sonnet", &quick())
}

pub fn conversation() -> Conversation {
    let tool = ToolDefinition {
        name: TOOL.to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: json!({ "type": "object", "properties": { "file_path": { "type": "string" } } }),
    };
    Conversation::new("You are careful.", vec![tool], "Begin.".to_owned())
}

pub async fn ask(model: &Model) -> Result<Reply, SessionEnd> {
    ask_watched(model).await.0
}

/// The reply, and what was told on the way.
pub async fn ask_watched(model: &Model) -> (Result<Reply, SessionEnd>, Vec<Progress>) {
    let told = Mutex::new(Vec::new());
    let reply = model.reply(&conversation(), &|progress| told.lock().unwrap().push(progress)).await;
    (reply, told.into_inner().unwrap())
}

/// The fault a session ends with.
#[track_caller]
pub fn fault(result: Result<Reply, SessionEnd>) -> Fault {
    match result.expect_err("the call fails") {
        SessionEnd::ExecutionError { fault } => fault,
        other => panic!("not a fault: {other:?}"),
    }
}

/// The retries that were announced: their numbers, pauses and faults.
pub fn retries(told: &[Progress]) -> Vec<(u32, Duration, &Fault)> {
    told.iter()
        .filter_map(|progress| match progress {
            Progress::Retrying { retry, pause, fault } => Some((*retry, *pause, fault)),
            Progress::Thinking | Progress::Responding | Progress::Text(_) | Progress::Thought(_) => None,
        })
        .collect()
}

/// What was told, without the pieces of what was said.
pub fn markers(told: &[Progress]) -> Vec<&Progress> {
    told.iter().filter(|progress| !matches!(progress, Progress::Text(_) | Progress::Thought(_))).collect()
}

/// All pieces of what was thought, and of what was said.
pub fn pieces(told: &[Progress]) -> (String, String) {
    let mut thought = String::new();
    let mut said = String::new();
    for progress in told {
        match progress {
            Progress::Thought(piece) => thought.push_str(piece),
            Progress::Text(piece) => said.push_str(piece),
            Progress::Thinking | Progress::Responding | Progress::Retrying { .. } => {}
        }
    }
    (thought, said)
}

#[track_caller]
pub fn assert_no_problems(server: &Server) {
    assert_eq!(server.problems(), [""; 0]);
}
