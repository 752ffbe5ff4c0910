//! The HTTP routes, and the log entry for each request. `player` chooses the answer, `wire` encodes it, `delivery`
//! sends it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::delivery::{self, Payload};
use crate::log::{LoggedRequest, RequestLog, ScriptedAnswer};
use crate::player::{NoAnswer, PlannedAnswer, ScriptPlayer, side_reply};
use crate::reply::{
    DeliveryFault, ErrorReply, FaultTiming, Prompt, ScriptFault, ServiceError, ServiceErrorKind, WireReply,
    estimated_tokens,
};
use crate::script::ModelScript;
use crate::wire::{ErrorChannel, RetryHint, Wire, anthropic, chat, gemini, ollama, responses};

const MAX_BODY_BYTES: usize = 32 << 20;

#[derive(Debug)]
pub(crate) struct Shared {
    player: Mutex<ScriptPlayer>,
    log: Mutex<RequestLog>,
}

impl Shared {
    pub fn new(script: ModelScript) -> Shared {
        Shared { player: Mutex::new(ScriptPlayer::new(script)), log: Mutex::default() }
    }

    pub fn log(&self) -> MutexGuard<'_, RequestLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_answer(&self, prompt: &Prompt) -> Result<PlannedAnswer, NoAnswer> {
        self.player.lock().unwrap_or_else(PoisonError::into_inner).next(prompt)
    }
}

type Received = Result<Bytes, BytesRejection>;

pub(crate) fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/messages", post(|state, uri, body| reply(&anthropic::WIRE, state, uri, body)))
        .route(
            "/v1/messages/count_tokens",
            post(|state, uri, body| count_tokens(&anthropic::WIRE, state, uri, body)),
        )
        .route("/v1/chat/completions", post(|state, uri, body| reply(&chat::WIRE, state, uri, body)))
        .route("/v1/responses", post(|state, uri, body| reply(&responses::WIRE, state, uri, body)))
        .route("/v1/models", get(async || Json(models())))
        .route("/v1beta/models", get(async || Json(models())))
        .route("/v1beta/models/{model_and_method}", post(gemini_method))
        .route("/api/chat", post(|state, uri, body| reply(&ollama::WIRE, state, uri, body)))
        .route("/api/tags", get(async || Json(models())))
        .route("/_state", get(state))
        .fallback(not_found)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(shared)
}

async fn reply(wire: &'static Wire, State(shared): State<Arc<Shared>>, uri: Uri, body: Received) -> Response {
    handle(&shared, wire, &uri, body, |prompt| scripted_reply(&shared, wire, prompt))
}

/// The answer has the keys of all services that count tokens.
async fn count_tokens(
    wire: &'static Wire,
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    body: Received,
) -> Response {
    handle(&shared, wire, &uri, body, |prompt| {
        let tokens = estimated_tokens(prompt.bytes);
        HandledRequest {
            response: Json(json!({ "input_tokens": tokens, "totalTokens": tokens })).into_response(),
            answer: ScriptedAnswer::Count,
            problems: Vec::new(),
        }
    })
}

async fn gemini_method(state: State<Arc<Shared>>, method: Method, uri: Uri, body: Received) -> Response {
    let wire = &gemini::WIRE;
    match uri.path().rsplit_once(':').map(|(_, method)| method) {
        Some("generateContent" | "streamGenerateContent") => reply(wire, state, uri, body).await,
        Some("countTokens") => count_tokens(wire, state, uri, body).await,
        Some(_) | None => not_found(method, uri).await,
    }
}

/// A list of one model, with the keys of all services.
fn models() -> Value {
    let model = json!({
        "id": "scripted",
        "object": "model",
        "type": "model",
        "created": 0,
        "created_at": "2026-01-01T00:00:00Z",
        "owned_by": "scripted",
        "name": "scripted",
        "model": "scripted",
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    });
    json!({ "object": "list", "data": [model], "has_more": false, "models": [model] })
}

async fn state(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(shared.log().state())
}

/// Not recorded as a problem: clients probe for other paths.
async fn not_found(method: Method, uri: Uri) -> Response {
    let message = format!("scripted: no route for {method} {}", uri.path());
    refuse(&anthropic::WIRE, StatusCode::NOT_FOUND, message)
}

struct HandledRequest {
    response: Response,
    answer: ScriptedAnswer,
    problems: Vec<String>,
}

/// Reads a request, lets `decide` answer it, and logs both.
fn handle(
    shared: &Shared,
    wire: &Wire,
    uri: &Uri,
    body: Received,
    decide: impl FnOnce(&Prompt) -> HandledRequest,
) -> Response {
    let path = uri.path().to_owned();
    // A client that was killed while it sent its request has asked nothing.
    if let Err(rejection) = &body
        && rejection.status() == StatusCode::BAD_REQUEST
    {
        return refuse(wire, rejection.status(), rejection.body_text());
    }
    let bytes = body.as_ref().map_or(0, Bytes::len);
    let (request, read) = read(wire, &path, body);
    let HandledRequest { response, answer, problems } = match &read {
        Ok(prompt) => decide(prompt),
        Err((status, message)) => HandledRequest {
            response: refuse(wire, *status, message.clone()),
            answer: ScriptedAnswer::Refused(message.clone()),
            problems: vec![format!("POST {path}: {message}")],
        },
    };
    let Prompt { model, stream, messages, tools, .. } = read.unwrap_or_default();
    let request = LoggedRequest { path, model, stream, messages, tools, answer, request: Arc::new(request) };
    let mut log = shared.log();
    problems.into_iter().for_each(|problem| log.problem(problem));
    log.record(bytes, request);
    response
}

/// The request (null if it is not JSON), and its prompt or the status and message that refuse it.
fn read(wire: &Wire, path: &str, body: Received) -> (Value, Result<Prompt, (StatusCode, String)>) {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => {
            return (Value::Null, Err((rejection.status(), rejection.body_text())));
        }
    };
    let refused = |message| (StatusCode::BAD_REQUEST, message);
    match serde_json::from_slice(&body) {
        Ok(request) => {
            let prompt = (wire.read)(path, &request).map_err(|refusal| refused(refusal.0));
            (request, prompt.map(|prompt| Prompt { bytes: body.len(), ..prompt }))
        }
        Err(error) => (Value::Null, Err(refused(format!("the request is not JSON: {error}")))),
    }
}

fn scripted_reply(shared: &Shared, wire: &Wire, prompt: &Prompt) -> HandledRequest {
    if prompt.tools.is_empty() {
        let response = respond(wire, &side_reply(prompt), prompt, None);
        return HandledRequest { response, answer: ScriptedAnswer::Side, problems: Vec::new() };
    }
    match shared.next_answer(prompt) {
        Ok(answer) => serve(wire, answer, prompt),
        Err(problem) => HandledRequest {
            response: refuse(wire, StatusCode::BAD_REQUEST, format!("scripted: {problem}")),
            answer: ScriptedAnswer::Refused(problem.to_string()),
            problems: vec![problem.to_string()],
        },
    }
}

fn serve(wire: &Wire, answer: PlannedAnswer, prompt: &Prompt) -> HandledRequest {
    let PlannedAnswer { position, fault, reply, unmet } = answer;
    let problem = |text| format!("conversation {:?}, turn {}: {text}", position.conversation, position.turn);
    let problems = unmet.into_iter().map(problem).collect();
    let delivers = fault.as_ref().is_none_or(ScriptFault::delivers);
    let response = match fault {
        None => respond(wire, &reply, prompt, None),
        Some(ScriptFault::Delivery(fault)) => respond(wire, &reply, prompt, Some(fault)),
        Some(ScriptFault::Empty) => respond(wire, &reply.emptied(), prompt, None),
        Some(ScriptFault::Error(error)) => fail(wire, error, reply, prompt),
    };
    let answer = if delivers { ScriptedAnswer::Turn(position) } else { ScriptedAnswer::Fault(position) };
    HandledRequest { response, answer, problems }
}

fn respond(wire: &Wire, reply: &WireReply, prompt: &Prompt, fault: Option<DeliveryFault>) -> Response {
    let (content_type, payload) = match prompt.stream {
        true => (wire.stream_type, Payload::Stream((wire.stream)(reply, prompt))),
        false => ("application/json", Payload::Document((wire.whole)(reply).to_string().into())),
    };
    ([(CONTENT_TYPE, content_type)], delivery::body(payload, fault)).into_response()
}

/// Answers with an error response, or ends a stream with an error.
fn fail(wire: &Wire, error_reply: ErrorReply, reply: WireReply, prompt: &Prompt) -> Response {
    let ErrorReply { error, headers, details, timing } = error_reply;
    let (status, mut body) = (wire.error)(&error, &prompt.model);
    if let Some(body_error) = body["error"].as_object_mut() {
        body_error.extend(details);
    }
    let late = error.kind == ServiceErrorKind::ContextLength && wire.context_length == ErrorChannel::Stream;
    if prompt.stream && (late || timing == FaultTiming::Midway) {
        let reply = if late { reply.emptied() } else { reply };
        let mut sent = Payload::Stream((wire.stream)(&reply, prompt)).first_half();
        sent.push((wire.stream_error)(&reply, &body));
        let body = delivery::body(Payload::Stream(sent), None);
        return ([(CONTENT_TYPE, wire.stream_type)], headers, body).into_response();
    }
    let hints = match wire.retry {
        RetryHint::Header => retry_headers(&error),
        RetryHint::Body => HeaderMap::new(),
    };
    if status == StatusCode::BAD_GATEWAY && error.message.is_none() {
        return (status, hints, headers, Html(BAD_GATEWAY)).into_response();
    }
    (status, hints, headers, Json(body)).into_response()
}

/// What the load balancer in front of a service answers when the service is down.
const BAD_GATEWAY: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n";

/// `retry-after` in seconds, and `retry-after-ms` if seconds are not exact.
fn retry_headers(error: &ServiceError) -> HeaderMap {
    const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
    let mut headers = HeaderMap::new();
    if let Some(wait) = error.retry_after {
        let millis = wait.as_millis() as u64;
        headers.insert(RETRY_AFTER, millis.div_ceil(1000).into());
        if !millis.is_multiple_of(1000) {
            headers.insert(RETRY_AFTER_MS, millis.into());
        }
    }
    headers
}

fn refuse(wire: &Wire, status: StatusCode, message: String) -> Response {
    let (status, body) = (wire.error)(&ServiceError::refused(status, message), "");
    (status, Json(body)).into_response()
}
