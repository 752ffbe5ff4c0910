//! A scripted service, a model that uses it, and the progress that the model reports.

use std::sync::Mutex;
use std::time::Duration;

use autonoe_core::event::Usage;
use autonoe_core::fault::Fault;
use autonoe_core::outcome::SessionEnd;
use autonoe_model::{
    Conversation, Model, Provider, ProviderKind, Reply, ReplyProgress, ToolDefinition, Tuning,
};
use autonoe_scripted::{ModelScript, ScriptedServer};
use serde_json::json;

pub const TOOL: &str = "Read";

pub fn serve(script: &str) -> ScriptedServer {
    ScriptedServer::start(ModelScript::parse(script).unwrap()).unwrap()
}

/// A fault, followed by the reply "At last.".
pub fn serve_fault(fault: &str) -> ScriptedServer {
    serve(&format!(
        "[[conversation]]\n[[conversation.turn]]\nfault = {fault}\n[[conversation.turn]]\ntext = 'At last.'"
    ))
}

/// Default timeouts, with almost no pause before retries.
pub fn quick() -> Tuning {
    Tuning { retry_pause: Duration::from_millis(1), ..Tuning::default() }
}

pub fn provider(kind: ProviderKind, base_url: &str) -> Provider {
    Provider {
        name: kind.name().to_owned(),
        kind,
        base_url: Some(base_url.to_owned()),
        api_key: Some("test-key".to_owned()),
    }
}

pub fn model_at(base_url: &str, name: &str, tuning: &Tuning) -> Model {
    Model::open(&provider(ProviderKind::Anthropic, base_url), name, tuning).unwrap()
}

/// A thinking model of each kind; Gemini twice, since only newer models send call ids.
pub const THINKERS: [(ProviderKind, &str); 6] = [
    (ProviderKind::Anthropic, "claude-sonnet-4-5"),
    (ProviderKind::OpenAi, "gpt-5.2"),
    (ProviderKind::OpenAiCompatible, "org/any-model-max"),
    (ProviderKind::Gemini, "gemini-3-pro-preview"),
    (ProviderKind::Gemini, "gemini-2.5-pro"),
    (ProviderKind::Ollama, "qwen3"),
];

pub fn model(server: &ScriptedServer) -> Model {
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

/// The reply, and the progress reported meanwhile.
pub async fn ask_watched(model: &Model) -> (Result<Reply, SessionEnd>, Vec<ReplyProgress>) {
    let progress = Mutex::new(Vec::new());
    let reply = model.reply(&conversation(), &|update| progress.lock().unwrap().push(update)).await;
    (reply, progress.into_inner().unwrap())
}

#[track_caller]
pub fn fault(result: Result<Reply, SessionEnd>) -> Fault {
    match result.expect_err("the call fails") {
        SessionEnd::ExecutionError { fault } => fault,
        other => panic!("not a fault: {other:?}"),
    }
}

/// The reported retries: number, pause and fault.
pub fn retries(progress: &[ReplyProgress]) -> Vec<(u32, Duration, &Fault)> {
    progress
        .iter()
        .filter_map(|update| match update {
            ReplyProgress::Retrying { retry, pause, fault } => Some((*retry, *pause, fault)),
            ReplyProgress::Thinking
            | ReplyProgress::Responding
            | ReplyProgress::Text(_)
            | ReplyProgress::Wasted(_)
            | ReplyProgress::Thought(_) => None,
        })
        .collect()
}

/// What replies have cost that could not be used.
pub fn wasted(progress: &[ReplyProgress]) -> Vec<&Usage> {
    progress
        .iter()
        .filter_map(|update| if let ReplyProgress::Wasted(usage) = update { Some(usage) } else { None })
        .collect()
}

/// The progress without text and thought fragments.
pub fn markers(progress: &[ReplyProgress]) -> Vec<&ReplyProgress> {
    progress
        .iter()
        .filter(|update| !matches!(update, ReplyProgress::Text(_) | ReplyProgress::Thought(_)))
        .collect()
}

/// The concatenated thought fragments and text fragments.
pub fn pieces(progress: &[ReplyProgress]) -> (String, String) {
    let mut thought = String::new();
    let mut text = String::new();
    for update in progress {
        match update {
            ReplyProgress::Thought(piece) => thought.push_str(piece),
            ReplyProgress::Text(piece) => text.push_str(piece),
            ReplyProgress::Thinking
            | ReplyProgress::Responding
            | ReplyProgress::Wasted(_)
            | ReplyProgress::Retrying { .. } => {}
        }
    }
    (thought, text)
}

#[track_caller]
pub fn assert_no_problems(server: &ScriptedServer) {
    assert_eq!(server.problems(), [""; 0]);
}
