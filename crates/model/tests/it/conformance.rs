//! The same script on every provider: text, thinking, several calls at once, an image in a result, every
//! fault.

use std::sync::Mutex;
use std::time::Duration;

use autonoe_core::fault::Fault;
use autonoe_core::outcome::SessionEnd;
use autonoe_model::{
    Conversation, FinishReason, Image, Model, ModelClient, ProviderKind, Reply, ReplyProgress,
    ToolDefinition, ToolResult, Tuning,
};
use autonoe_scripted::ScriptedServer;
use serde_json::{Value, json};

use crate::support::{
    THINKERS, ask, ask_watched, assert_no_problems, conversation, fault, pieces, provider, quick, retries,
    serve, serve_fault, wasted,
};

/// The first call and three retries.
const ALL_TRIES: usize = 4;

/// Shares one client within a test; building one per model would take most of the time.
struct SharedModels(ModelClient);

impl SharedModels {
    fn new() -> Self {
        Self(ModelClient::new().unwrap())
    }

    fn open(&self, kind: ProviderKind, name: &str, server: &ScriptedServer, tuning: &Tuning) -> Model {
        self.0.open(&provider(kind, &server.base_url()), name, tuning).unwrap()
    }
}

fn thinking() -> Tuning {
    Tuning { thinking: Some(2_048), ..quick() }
}

fn impatient() -> Tuning {
    Tuning { idle_timeout: Duration::from_millis(200), ..quick() }
}

fn image_result(id: &str, text: &str) -> ToolResult {
    let image = Image { media_type: "image/png".to_owned(), base64: "iVBORw0KGgo=".to_owned() };
    ToolResult { id: id.to_owned(), text: text.to_owned(), images: vec![image] }
}

async fn watched(model: &Model, conversation: &Conversation) -> (Reply, Vec<ReplyProgress>) {
    let progress = Mutex::new(Vec::new());
    let reply = model.reply(conversation, &|update| progress.lock().unwrap().push(update)).await;
    (reply.expect("a reply"), progress.into_inner().unwrap())
}

#[tokio::test]
async fn the_script_runs_on_every_provider() {
    let models = SharedModels::new();
    const SCRIPT: &str = "
        [[conversation]]
          [[conversation.turn]]
          thinking = 'Two files at once, which is quicker than one after the other.'
          text = 'I look at both of them, and at what they have to do with each other.'
          call = [{ tool = 'Read', input = { file_path = 'a' } }, { tool = 'Read', input = { file_path = 'b' } }]
          usage = { input = 1000, output = 200, cache_read = 300, reasoning = 40 }
          [[conversation.turn]]
          expect = ['content of a', 'content of b', '[image image/png]']
          thinking = 'Now I know.'
          text = 'One more.'
          call = [{ tool = 'Read', input = { file_path = 'c' } }]
          [[conversation.turn]]
          expect = 'content of c'
          text = 'Done.'";
    for (kind, name) in THINKERS {
        let server = serve(SCRIPT);
        let model = models.open(kind, name, &server, &thinking());
        let mut conversation = conversation();
        let (first, progress) = watched(&model, &conversation).await;
        assert_eq!(
            first.thinking.as_deref(),
            Some("Two files at once, which is quicker than one after the other."),
            "{kind}"
        );
        assert_eq!(
            first.text.as_deref(),
            Some("I look at both of them, and at what they have to do with each other."),
            "{kind}"
        );
        assert_eq!(
            pieces(&progress),
            (first.thinking.clone().unwrap(), first.text.clone().unwrap()),
            "{kind}"
        );
        assert!(progress.len() > 5, "{kind}: streamed: {progress:?}");
        let paths: Vec<&Value> = first.calls.iter().map(|call| &call.arguments["file_path"]).collect();
        assert_eq!(paths, ["a", "b"], "{kind}");
        assert_eq!((first.usage.input_tokens, first.usage.cache_read_tokens), (1000, 300), "{kind}");
        assert_eq!(first.usage.output_tokens, 200, "{kind}");
        // Ollama never reports them, and neither does the scripted Anthropic.
        let reports_reasoning = !matches!(kind, ProviderKind::Anthropic | ProviderKind::Ollama);
        assert_eq!(first.usage.reasoning_tokens, if reports_reasoning { 40 } else { 0 }, "{kind}");
        let ids: Vec<String> = first.calls.iter().map(|call| call.id.clone()).collect();
        let results = vec![
            image_result(&ids[1], "content of b"),
            ToolResult::from((ids[0].clone(), "content of a".to_owned())),
        ];
        conversation.push_turn(first, results);
        conversation = Conversation::from_json(conversation.to_json()).expect("saved");
        let (second, _) = watched(&model, &conversation).await;
        let results = vec![(second.calls[0].id.clone(), "content of c".to_owned())];
        conversation.push_turn(second, results);
        let (third, _) = watched(&model, &conversation).await;
        assert_eq!((third.text.as_deref(), third.stop), (Some("Done."), FinishReason::Natural), "{kind}");
        assert_no_problems(&server);
        assert_eq!(server.requests().len(), 3, "{kind}");
        assert_eq!(server.requests()[0].model, name, "the name is sent as it is");
    }
}

#[tokio::test]
async fn thinking_is_requested_in_each_providers_format_and_only_with_a_budget() {
    let models = SharedModels::new();
    for (kind, name, pointer, wanted) in [
        (ProviderKind::Anthropic, "claude-sonnet-4-5", "/thinking/budget_tokens", json!(2048)),
        (ProviderKind::OpenAi, "gpt-5.2", "/reasoning/effort", json!("low")),
        (ProviderKind::OpenAiCompatible, "any", "/reasoning_effort", json!("low")),
        (
            ProviderKind::Gemini,
            "gemini-2.5-pro",
            "/generationConfig/thinkingConfig/thinkingBudget",
            json!(2048),
        ),
        (
            ProviderKind::Gemini,
            "gemini-3-pro-preview",
            "/generationConfig/thinkingConfig/thinkingLevel",
            json!("LOW"),
        ),
        (ProviderKind::Ollama, "qwen3", "/think", json!(true)),
    ] {
        for (tuning, wanted) in [(thinking(), Some(&wanted)), (quick(), None)] {
            let server = serve("[[conversation]]\n[[conversation.turn]]\ntext = 'Done.'");
            ask(&models.open(kind, name, &server, &tuning)).await.expect(name);
            let request = server.requests()[0].request.clone();
            assert_eq!(request.pointer(pointer), wanted, "{kind} {name}");
        }
    }
}

#[tokio::test]
async fn a_model_without_thinking_gets_no_reasoning_request_and_keeps_its_name() {
    let models = SharedModels::new();
    for (kind, name) in [
        (ProviderKind::OpenAi, "gpt-4.1"),
        (ProviderKind::OpenAi, "gpt-5.1-codex-max"),
        (ProviderKind::OpenAiCompatible, "qwen3-max"),
        (ProviderKind::OpenAiCompatible, "deepseek/deepseek-r1-zero"),
        (ProviderKind::Gemini, "gemini-flash-low"),
        (ProviderKind::Anthropic, "claude-model-high"),
    ] {
        let server = serve("[[conversation]]\n[[conversation.turn]]\ntext = 'Done.'");
        ask(&models.open(kind, name, &server, &quick())).await.expect(name);
        let sent = server.requests()[0].clone();
        assert_eq!(sent.model, name);
        if name == "gpt-4.1" {
            assert!(sent.request.get("reasoning").is_none() && sent.request.get("include").is_none());
        }
    }
}

#[tokio::test]
async fn stop_reasons_are_mapped_on_every_provider() {
    let models = SharedModels::new();
    for (kind, name) in THINKERS {
        for (stop, wanted) in [
            ("end_turn", FinishReason::Natural),
            ("max_tokens", FinishReason::OutputLimit),
            ("refusal", FinishReason::Refused),
        ] {
            if (kind, stop) == (ProviderKind::Ollama, "refusal") {
                continue; // Ollama has no stop reason for refusals.
            }
            let server =
                serve(&format!("[[conversation]]\n[[conversation.turn]]\ntext = 'So.'\nstop = '{stop}'"));
            let reply = ask(&models.open(kind, name, &server, &quick())).await.expect(stop);
            assert_eq!(reply.stop, wanted, "{kind} {stop}");
        }
    }
}

/// The code that a scripted fault has on a provider.
fn code_of(kind: ProviderKind, fault: &str) -> &'static str {
    match (kind, fault) {
        (_, "invalid_key") => "authentication_error",
        (_, "context_length") => "context_length_exceeded",
        (_, "overloaded") => "overloaded",
        (_, "empty" | "malformed") => "invalid_response",
        (_, "cut") => "network_error",
        (_, "silence") => "timeout",
        (ProviderKind::Anthropic | ProviderKind::OpenAi | ProviderKind::OpenAiCompatible, "quota") => {
            "billing_error"
        }
        (_, "quota") => "quota_exceeded",
        _ => panic!("{fault}"),
    }
}

fn result_code(result: Result<Reply, SessionEnd>) -> String {
    match result.expect_err("the call fails") {
        SessionEnd::ExecutionError { fault } => fault.code,
        SessionEnd::QuotaExceeded { .. } => "quota_exceeded".to_owned(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_fault_has_its_code_on_every_provider() {
    let models = SharedModels::new();
    for (kind, name) in THINKERS {
        for what in
            ["invalid_key", "quota", "context_length", "overloaded", "empty", "malformed", "cut", "silence"]
        {
            let server = serve_fault(&format!("{{ kind = '{what}', times = 100 }}"));
            let tuning = if what == "silence" { impatient() } else { quick() };
            let (result, progress) = ask_watched(&models.open(kind, name, &server, &tuning)).await;
            let code = result_code(result);
            assert_eq!(code, code_of(kind, what), "{kind} {name} {what}: {progress:?}");
            let retried =
                matches!(code.as_str(), "overloaded" | "invalid_response" | "network_error" | "timeout");
            let wanted = if retried { ALL_TRIES } else { 1 };
            assert_eq!(retries(&progress).len() + 1, wanted, "{kind} {name} {what}");
            // A request that was given up may not have reached the server yet.
            if what != "silence" {
                assert_eq!(server.requests().len(), wanted, "{kind} {name} {what}");
            }
        }
    }
}

#[tokio::test]
async fn a_fault_in_the_middle_of_a_stream_has_the_same_code() {
    let models = SharedModels::new();
    for (kind, name) in THINKERS {
        for what in ["overloaded", "quota", "context_length"] {
            let server = serve_fault(&format!("{{ kind = '{what}', midway = true, times = 100 }}"));
            let code = result_code(ask(&models.open(kind, name, &server, &quick())).await);
            // Ollama's stream has only error messages, and none for this.
            let wanted = match (kind, what) {
                (ProviderKind::Ollama, "overloaded") => "server_error",
                _ => code_of(kind, what),
            };
            assert_eq!(code, wanted, "{kind} {name} {what}");
        }
        let server = serve_fault("{ kind = 'silence', midway = true, times = 100 }");
        let tuning = impatient();
        assert_eq!(result_code(ask(&models.open(kind, name, &server, &tuning)).await), "timeout", "{kind}");
    }
}

#[tokio::test]
async fn every_status_has_its_code_on_every_provider() {
    let models = SharedModels::new();
    for (kind, name) in THINKERS {
        for (status, wanted) in [
            (400, "invalid_request"),
            (401, "authentication_error"),
            (402, "billing_error"),
            (403, "authentication_error"),
            (404, "model_not_found"),
            (408, "timeout"),
            (413, "context_length_exceeded"),
            (422, "invalid_request"),
            (429, "rate_limited"),
            (500, "server_error"),
            (502, "server_error"),
            (503, "overloaded"),
            (504, "timeout"),
            (529, "overloaded"),
        ] {
            let server = serve_fault(&format!("{{ kind = 'status', status = {status}, times = 100 }}"));
            let fault = fault(ask(&models.open(kind, name, &server, &quick())).await);
            assert_eq!(fault.code, wanted, "{kind} {status}: {}", fault.message);
            match wanted {
                "authentication_error" => assert!(fault.hint.is_some(), "{kind} {status}"),
                "model_not_found" => assert!(fault.message.contains(name), "{}", fault.message),
                _ => assert!(fault.message.contains(&status.to_string()), "{}", fault.message),
            }
            assert!(!fault.message.contains("test-key"), "{}", fault.message);
        }
    }
}

#[tokio::test]
async fn transient_failures_are_retried_on_every_provider() {
    let models = SharedModels::new();
    for (kind, name) in THINKERS {
        for what in ["overloaded", "empty", "malformed", "cut"] {
            let server = serve_fault(&format!("{{ kind = '{what}', times = 2 }}"));
            let (reply, progress) = ask_watched(&models.open(kind, name, &server, &quick())).await;
            assert_eq!(reply.expect(what).text.as_deref(), Some("At last."), "{kind} {what}");
            assert_eq!(retries(&progress).len(), 2, "{kind} {what}");
            if what == "empty" {
                assert_eq!(wasted(&progress).len(), 2, "the service charges for them too: {kind}");
            }
            assert_no_problems(&server);
        }
    }
}

#[tokio::test]
async fn retry_after_is_respected_and_a_long_one_is_a_quota() {
    let models = SharedModels::new();
    for (kind, name) in THINKERS {
        let server = serve_fault("{ kind = 'status', status = 429, retry_after_ms = 30 }");
        let (reply, progress) = ask_watched(&models.open(kind, name, &server, &quick())).await;
        assert!(reply.is_ok(), "{kind}");
        assert_eq!(retries(&progress)[0].1, Duration::from_millis(30), "{kind}");
        let server = serve_fault("{ kind = 'status', status = 429, retry_after = 3600, times = 100 }");
        let result = ask(&models.open(kind, name, &server, &quick())).await;
        assert!(
            matches!(result, Err(SessionEnd::QuotaExceeded { resets_at: Some(_), .. })),
            "{kind}: {result:?}"
        );
        assert_eq!(server.requests().len(), 1, "{kind}");
    }
}

#[tokio::test]
async fn malformed_arguments_are_returned_as_text_and_can_be_answered() {
    let models = SharedModels::new();
    for (kind, name) in THINKERS {
        let server = serve(
            "[[conversation]]
               [[conversation.turn]]
               call = [{ tool = 'Read', input = '{\"file_path\": ' }]
               [[conversation.turn]]
               expect = 'not JSON'
               text = 'Sorry.'",
        );
        let model = models.open(kind, name, &server, &quick());
        let mut conversation = conversation();
        let first = model.reply(&conversation, &|_| {}).await.expect("a reply");
        assert!(!first.calls[0].arguments.is_object(), "{kind}: {:?}", first.calls);
        let id = first.calls[0].id.clone();
        conversation.push_turn(first, vec![(id, "The arguments are not JSON.".to_owned())]);
        let second = model.reply(&conversation, &|_| {}).await.expect("a reply");
        assert_eq!(second.text.as_deref(), Some("Sorry."), "{kind}");
        assert_no_problems(&server);
    }
}

#[tokio::test]
async fn tool_schemas_are_sent_as_each_provider_accepts_them() {
    let models = SharedModels::new();
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": false,
        "$defs": { "Edit": { "type": "object", "properties": { "old": { "type": "string" } } } },
        "properties": { "edit": { "$ref": "#/$defs/Edit" } },
    });
    let tool =
        ToolDefinition { name: "Edit".to_owned(), description: "Edits.".to_owned(), input_schema: schema };
    for (kind, name, pointer) in [
        (ProviderKind::Anthropic, "claude-sonnet-5", "/tools/0/input_schema"),
        (ProviderKind::OpenAi, "gpt-5.2", "/tools/0/parameters"),
        (ProviderKind::OpenAiCompatible, "any", "/tools/0/function/parameters"),
        (ProviderKind::Gemini, "gemini-3-pro", "/tools/0/functionDeclarations/0/parametersJsonSchema"),
        (ProviderKind::Ollama, "qwen3", "/tools/0/function/parameters"),
    ] {
        let server = serve("[[conversation]]\n[[conversation.turn]]\ntext = 'Done.'");
        let conversation = Conversation::new("You are careful.", vec![tool.clone()], "Begin.".to_owned());
        models.open(kind, name, &server, &quick()).reply(&conversation, &|_| {}).await.expect(name);
        let request = server.requests()[0].request.clone();
        let sent = request.pointer(pointer).expect(pointer);
        assert_eq!(sent["type"], "object", "{kind}");
        assert!(sent.get("$schema").is_none(), "{kind}: {sent}");
        let is_restricted = matches!(kind, ProviderKind::Gemini | ProviderKind::Ollama);
        assert_eq!(sent["properties"]["edit"].get("$ref").is_none(), is_restricted, "{kind}: {sent}");
        assert_eq!(sent.get("additionalProperties").is_none(), is_restricted, "{kind}: {sent}");
        assert!(!request.to_string().contains("\"strict\":true"), "{kind}");
    }
}

#[tokio::test]
async fn a_rejected_schema_is_reported_with_the_providers_message() {
    let models = SharedModels::new();
    for (kind, name) in THINKERS {
        let message = "Invalid schema for function Read: schema must be a dream.";
        let server =
            serve_fault(&format!("{{ kind = 'status', status = 400, message = '{message}', times = 100 }}"));
        let fault = fault(ask(&models.open(kind, name, &server, &quick())).await);
        assert_eq!(fault.code, "invalid_request", "{kind}");
        assert!(fault.message.contains(message), "{kind}: {}", fault.message);
        assert_eq!(server.requests().len(), 1, "{kind}");
    }
}

#[test]
fn a_provider_without_a_key_fails_before_anything_is_sent() {
    for kind in [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::Gemini] {
        let mut provider = provider(kind, "");
        (provider.base_url, provider.api_key) = (None, None);
        let fault: Fault = Model::open(&provider, "any", &quick()).expect_err("no key");
        assert_eq!(fault.code, "provider_not_configured", "{kind}");
        assert!(fault.message.contains(kind.key_variable().unwrap()), "{}", fault.message);
    }
}

#[tokio::test]
async fn a_local_server_needs_no_key() {
    for (kind, name) in [(ProviderKind::OpenAiCompatible, "any"), (ProviderKind::Ollama, "qwen3")] {
        let server = serve("[[conversation]]\n[[conversation.turn]]\ntext = 'Done.'");
        let mut provider = provider(kind, &server.base_url());
        provider.api_key = None;
        let reply = ask(&Model::open(&provider, name, &quick()).unwrap()).await.expect(name);
        assert_eq!(reply.usage.cost_usd, None, "the price is unknown");
    }
}

#[tokio::test]
async fn openai_requests_carry_a_cache_key() {
    let models = SharedModels::new();
    let server = serve("[[conversation]]\n[[conversation.turn]]\ntext = 'Done.'");
    ask(&models.open(ProviderKind::OpenAi, "gpt-5.6-sol", &server, &quick())).await.expect("a reply");
    let request = server.requests()[0].request.clone();
    assert!(request["prompt_cache_key"].as_str().is_some_and(|key| key.starts_with("autonoe-")), "{request}");
    assert_eq!((request["store"].as_bool(), request.get("prompt_cache_options")), (Some(false), None));
}

#[test]
fn windows_are_known_by_name_or_configured() {
    let window = |kind, name, configured| {
        let tuning = Tuning { window: configured, ..quick() };
        Model::open(&provider(kind, "http://127.0.0.1:9"), name, &tuning).unwrap().window()
    };
    assert_eq!(window(ProviderKind::Anthropic, "sonnet", None), Some(200_000));
    assert_eq!(window(ProviderKind::Anthropic, "sonnet", Some(1_000_000)), Some(1_000_000));
    assert_eq!(window(ProviderKind::OpenAiCompatible, "some-model", None), None);
    assert_eq!(window(ProviderKind::Ollama, "gpt-oss", None), None, "the server decides");
    assert_eq!(window(ProviderKind::Ollama, "gpt-oss", Some(65_536)), Some(65_536));
}
