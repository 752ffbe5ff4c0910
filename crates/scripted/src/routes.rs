//! What each path answers, and what is noted about it. It decides little itself: `conversation` says what to answer,
//! `wire` how it is written, `delivery` how it is sent.

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

use crate::conversation::{Cue, Stage, side_reply};
use crate::delivery::{self, Payload};
use crate::log::{Answer, Asked, Log};
use crate::reply::{Complaint, ErrorReply, Fault, Moment, Prompt, Reply, Spoil, Trouble, estimated_tokens};
use crate::script::Script;
use crate::wire::{Complains, RetryHint, Wire, anthropic, chat, gemini, ollama, responses};

/// The largest request body that is read.
const MAX_BODY_BYTES: usize = 32 << 20;

/// What the routes and the owner of the server share.
#[derive(Debug)]
pub(crate) struct Shared {
    stage: Mutex<Stage>,
    log: Mutex<Log>,
}

impl Shared {
    pub fn new(script: Script) -> Shared {
        Shared { stage: Mutex::new(Stage::new(script)), log: Mutex::default() }
    }

    pub fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cue(&self, prompt: &Prompt) -> Result<Cue, String> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner).next(prompt)
    }
}

type Received = Result<Bytes, BytesRejection>;

/// Everything the server answers.
pub(crate) fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/messages", post(|state, uri, body| talk(&anthropic::WIRE, state, uri, body)))
        .route(
            "/v1/messages/count_tokens",
            post(|state, uri, body| count(&anthropic::WIRE, state, uri, body)),
        )
        .route("/v1/chat/completions", post(|state, uri, body| talk(&chat::WIRE, state, uri, body)))
        .route("/v1/responses", post(|state, uri, body| talk(&responses::WIRE, state, uri, body)))
        .route("/v1/models", get(async || Json(models())))
        .route("/v1beta/models", get(async || Json(models())))
        .route("/v1beta/models/{model_and_method}", post(gemini_method))
        .route("/api/chat", post(|state, uri, body| talk(&ollama::WIRE, state, uri, body)))
        .route("/api/tags", get(async || Json(models())))
        .route("/_state", get(state))
        .fallback(nothing_here)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(shared)
}

async fn talk(wire: &'static Wire, State(shared): State<Arc<Shared>>, uri: Uri, body: Received) -> Response {
    answer(&shared, wire, &uri, body, |prompt| converse(&shared, wire, prompt))
}

/// Counts tokens: the answer has the key of each service that is asked here.
async fn count(wire: &'static Wire, State(shared): State<Arc<Shared>>, uri: Uri, body: Received) -> Response {
    answer(&shared, wire, &uri, body, |prompt| {
        let tokens = estimated_tokens(prompt.bytes);
        Outcome {
            response: Json(json!({ "input_tokens": tokens, "totalTokens": tokens })).into_response(),
            answer: Answer::Count,
            problems: Vec::new(),
        }
    })
}

async fn gemini_method(state: State<Arc<Shared>>, method: Method, uri: Uri, body: Received) -> Response {
    let wire = &gemini::WIRE;
    match uri.path().rsplit_once(':').map(|(_, method)| method) {
        Some("generateContent" | "streamGenerateContent") => talk(wire, state, uri, body).await,
        Some("countTokens") => count(wire, state, uri, body).await,
        Some(_) | None => nothing_here(method, uri).await,
    }
}

/// A list of one model, with all that each service says of a model.
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

/// Not a problem: clients look around.
async fn nothing_here(method: Method, uri: Uri) -> Response {
    let message = format!("scripted: nothing answers {method} {}", uri.path());
    refuse(&anthropic::WIRE, StatusCode::NOT_FOUND, message)
}

/// What is sent, and what is noted about it.
struct Outcome {
    response: Response,
    answer: Answer,
    problems: Vec<String>,
}

/// Reads a request, has it decided upon, and enters both in the log.
fn answer(
    shared: &Shared,
    wire: &Wire,
    uri: &Uri,
    body: Received,
    decide: impl FnOnce(&Prompt) -> Outcome,
) -> Response {
    let path = uri.path().to_owned();
    let bytes = body.as_ref().map_or(0, Bytes::len);
    let (request, read) = read(wire, &path, body);
    let Outcome { response, answer, problems } = match &read {
        Ok(prompt) => decide(prompt),
        Err((status, message)) => Outcome {
            response: refuse(wire, *status, message.clone()),
            answer: Answer::Refused(message.clone()),
            problems: vec![format!("POST {path}: {message}")],
        },
    };
    let Prompt { model, stream, messages, tools, .. } = read.unwrap_or_default();
    let asked = Asked { path, model, stream, messages, tools, answer, request: Arc::new(request) };
    let mut log = shared.log();
    problems.into_iter().for_each(|sentence| log.problem(sentence));
    log.asked(bytes, asked);
    response
}

/// The request, null if it is not JSON, and what it says or why it is refused.
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
            let prompt = (wire.read)(path, &request).map_err(refused);
            (request, prompt.map(|prompt| Prompt { bytes: body.len(), ..prompt }))
        }
        Err(mistake) => (Value::Null, Err(refused(format!("the request is not JSON: {mistake}")))),
    }
}

/// Decides upon a request for a reply.
fn converse(shared: &Shared, wire: &Wire, prompt: &Prompt) -> Outcome {
    if prompt.tools.is_empty() {
        let response = respond(wire, &side_reply(prompt), prompt, None);
        return Outcome { response, answer: Answer::Side, problems: Vec::new() };
    }
    match shared.cue(prompt) {
        Ok(cue) => perform(wire, cue, prompt),
        Err(sentence) => Outcome {
            response: refuse(wire, StatusCode::BAD_REQUEST, format!("scripted: {sentence}")),
            answer: Answer::Refused(sentence.clone()),
            problems: vec![sentence],
        },
    }
}

fn perform(wire: &Wire, cue: Cue, prompt: &Prompt) -> Outcome {
    let Cue { place, fault, reply, unmet } = cue;
    let problem =
        |sentence| format!("conversation {:?}, turn {}: {sentence}", place.conversation, place.turn);
    let problems = unmet.into_iter().map(problem).collect();
    let delivers = fault.as_ref().is_none_or(Fault::delivers);
    let response = match fault {
        None => respond(wire, &reply, prompt, None),
        Some(Fault::Spoil(spoil)) => respond(wire, &reply, prompt, Some(spoil)),
        Some(Fault::Empty) => respond(wire, &reply.emptied(), prompt, None),
        Some(Fault::Error(error)) => fail(wire, error, reply, prompt),
    };
    let answer = if delivers { Answer::Turn(place) } else { Answer::Fault(place) };
    Outcome { response, answer, problems }
}

fn respond(wire: &Wire, reply: &Reply, prompt: &Prompt, spoil: Option<Spoil>) -> Response {
    let (content_type, payload) = match prompt.stream {
        true => (wire.stream_type, Payload::Stream((wire.stream)(reply, prompt))),
        false => ("application/json", Payload::Document((wire.whole)(reply).to_string().into())),
    };
    ([(CONTENT_TYPE, content_type)], delivery::body(payload, spoil)).into_response()
}

/// Answers with an error, or breaks a stream off with one.
fn fail(wire: &Wire, error: ErrorReply, reply: Reply, prompt: &Prompt) -> Response {
    let ErrorReply { complaint, headers, details, moment } = error;
    let (status, mut body) = (wire.error)(&complaint, &prompt.model);
    if let Some(error) = body["error"].as_object_mut() {
        error.extend(details);
    }
    let late = complaint.trouble == Trouble::ContextLength && wire.context_length == Complains::InStream;
    if prompt.stream && (late || moment == Moment::Midway) {
        let reply = if late { reply.emptied() } else { reply };
        let mut sent = Payload::Stream((wire.stream)(&reply, prompt)).first_half();
        sent.push((wire.stream_error)(&reply, &body));
        let body = delivery::body(Payload::Stream(sent), None);
        return ([(CONTENT_TYPE, wire.stream_type)], headers, body).into_response();
    }
    let hints = match wire.retry {
        RetryHint::Header => retry_headers(&complaint),
        RetryHint::Body => HeaderMap::new(),
    };
    if status == StatusCode::BAD_GATEWAY && complaint.message.is_none() {
        return (status, hints, headers, Html(BAD_GATEWAY)).into_response();
    }
    (status, hints, headers, Json(body)).into_response()
}

/// What stands before a service answers for it when it is gone, and knows nothing of its errors.
const BAD_GATEWAY: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n";

/// When to try again: in seconds, and exactly where seconds do not suffice.
fn retry_headers(complaint: &Complaint) -> HeaderMap {
    const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
    let mut headers = HeaderMap::new();
    if let Some(wait) = complaint.retry_after {
        let millis = wait.as_millis() as u64;
        headers.insert(RETRY_AFTER, millis.div_ceil(1000).into());
        if !millis.is_multiple_of(1000) {
            headers.insert(RETRY_AFTER_MS, millis.into());
        }
    }
    headers
}

fn refuse(wire: &Wire, status: StatusCode, message: String) -> Response {
    let (status, body) = (wire.error)(&Complaint::refused(status, message), "");
    (status, Json(body)).into_response()
}
