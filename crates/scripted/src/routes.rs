//! What each path answers, and what is noted about it. It decides little itself: `conversation` says what to answer,
//! `wire` how it is written, `delivery` how it is sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use serde_json::Value;

use crate::conversation::{Cue, Stage, side_reply};
use crate::delivery;
use crate::log::{Answer, Asked, Log};
use crate::reply::{Fault, Prompt, Reply, Spoil};
use crate::script::Script;
use crate::wire::{Wire, anthropic};

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
        .route("/v1/messages", post(anthropic_messages))
        .route("/v1/messages/count_tokens", post(anthropic_count_tokens))
        .route("/_state", get(state))
        .fallback(nothing_here)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(shared)
}

async fn anthropic_messages(State(shared): State<Arc<Shared>>, uri: Uri, body: Received) -> Response {
    let wire = Wire::Anthropic;
    answer(&shared, wire, &uri, body, |prompt| converse(&shared, wire, prompt))
}

async fn anthropic_count_tokens(State(shared): State<Arc<Shared>>, uri: Uri, body: Received) -> Response {
    answer(&shared, Wire::Anthropic, &uri, body, |prompt| Outcome {
        response: Json(anthropic::token_count(prompt)).into_response(),
        answer: Answer::Count,
        problems: Vec::new(),
    })
}

async fn state(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(shared.log().state())
}

/// Not a problem: clients look around.
async fn nothing_here(method: Method, uri: Uri) -> Response {
    let message = format!("scripted: nothing answers {method} {}", uri.path());
    error(Wire::Anthropic, StatusCode::NOT_FOUND, &message)
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
    wire: Wire,
    uri: &Uri,
    body: Received,
    decide: impl FnOnce(&Prompt) -> Outcome,
) -> Response {
    let path = uri.path().to_owned();
    let bytes = body.as_ref().map_or(0, Bytes::len);
    let (request, read) = read(wire, body);
    let Outcome { response, answer, problems } = match &read {
        Ok(prompt) => decide(prompt),
        Err((status, message)) => Outcome {
            response: error(wire, *status, message),
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
fn read(wire: Wire, body: Received) -> (Value, Result<Prompt, (StatusCode, String)>) {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => {
            return (Value::Null, Err((rejection.status(), rejection.body_text())));
        }
    };
    let refused = |message| (StatusCode::BAD_REQUEST, message);
    match serde_json::from_slice(&body) {
        Ok(request) => {
            let prompt = wire.read(&request, body.len()).map_err(refused);
            (request, prompt)
        }
        Err(mistake) => (Value::Null, Err(refused(format!("the request is not JSON: {mistake}")))),
    }
}

/// Decides upon a request for a reply.
fn converse(shared: &Shared, wire: Wire, prompt: &Prompt) -> Outcome {
    if prompt.tools.is_empty() {
        let response = respond(wire, &side_reply(prompt), prompt.stream, None);
        return Outcome { response, answer: Answer::Side, problems: Vec::new() };
    }
    match shared.cue(prompt) {
        Ok(cue) => perform(wire, cue, prompt.stream),
        Err(sentence) => Outcome {
            response: error(wire, StatusCode::BAD_REQUEST, &format!("scripted: {sentence}")),
            answer: Answer::Refused(sentence.clone()),
            problems: vec![sentence],
        },
    }
}

fn perform(wire: Wire, cue: Cue, stream: bool) -> Outcome {
    let Cue { place, fault, reply, unmet } = cue;
    let problem =
        |sentence| format!("conversation {:?}, turn {}: {sentence}", place.conversation, place.turn);
    let problems = unmet.into_iter().map(problem).collect();
    let delivers = fault.as_ref().is_none_or(Fault::delivers);
    let response = match fault {
        None => respond(wire, &reply, stream, None),
        Some(Fault::Spoil(spoil)) => respond(wire, &reply, stream, Some(spoil)),
        Some(Fault::Status(fault)) => {
            (fault.headers, error(wire, fault.status, &fault.message)).into_response()
        }
    };
    let answer = if delivers { Answer::Turn(place) } else { Answer::Fault(place) };
    Outcome { response, answer, problems }
}

fn respond(wire: Wire, reply: &Reply, stream: bool, spoil: Option<Spoil>) -> Response {
    let payload = wire.reply(reply, stream);
    ([(CONTENT_TYPE, payload.content_type())], delivery::body(payload, spoil)).into_response()
}

fn error(wire: Wire, status: StatusCode, message: &str) -> Response {
    (status, Json(wire.error(status, message))).into_response()
}
