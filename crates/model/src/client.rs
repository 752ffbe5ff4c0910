//! The client: takes a conversation, returns a complete reply, and retries failures that may pass.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use autonoe_core::event::Usage;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::SessionEnd;
use futures::StreamExt;
use genai::chat::{ChatOptions, ChatStreamEvent, StopReason, StreamEnd};
use genai::resolver::AuthData;
use genai::{Client, Headers, ModelIden, ServiceTarget, WebConfig};
use jiff::Timestamp;
use tokio::time::{Instant, sleep, timeout_at};

use crate::conversation::Conversation;
use crate::failure::{
    CallContext, ModelFailure, WINDOW_FULL, broken, classify, cut_off, empty, instead_of_stream,
    keep_alives_only, noted_failure, too_large, too_slow, transport_failed,
};
use crate::frame_splitter::Framing;
use crate::frames::{FrameWatch, StreamNotes};
use crate::price::{PriceList, resolve_alias};
use crate::provider::{Provider, ProviderKind};
use crate::reply::{FinishReason, Reply};
use crate::retry::{FIRST_PAUSE, MAX_RETRIES, pause};
use crate::transport::{Exchange, Service};
use crate::{dialect, endpoint, thinking, window};

/// Options of model calls.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// Thinking budget in tokens; `None` means the provider's default.
    pub thinking: Option<u32>,
    /// The attempt fails if no data arrives for this long.
    pub idle_timeout: Duration,
    /// The call fails if only keep-alives such as pings arrive for this long.
    pub content_timeout: Duration,
    /// The call fails after this time, with all its retries, even if content is still arriving.
    pub call_timeout: Duration,
    /// The pause before the first retry; each further one is twice as long.
    pub retry_pause: Duration,
    /// Context window in tokens, where it differs from the default for the model's name.
    pub window: Option<u64>,
    /// Limit for the messages of a request, whatever the service reports about its window. Providers refuse larger ones.
    pub max_conversation_bytes: u64,
    /// `None` means the list that ships with the binary.
    pub prices: Option<Arc<PriceList>>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            thinking: None,
            idle_timeout: Duration::from_secs(120),
            content_timeout: Duration::from_secs(10 * 60),
            call_timeout: Duration::from_secs(60 * 60),
            retry_pause: FIRST_PAUSE,
            window: None,
            max_conversation_bytes: 32 << 20,
            prices: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum ReplyProgress {
    Thinking,
    Responding,
    /// The next fragment of the thinking.
    Thought(String),
    /// The next fragment of the text. After a retry the text starts over.
    Text(String),
    /// What a reply has cost that cannot be used.
    Wasted(Usage),
    /// The call failed and is retried after `pause`.
    Retrying {
        /// Counts from 1.
        retry: u32,
        pause: Duration,
        fault: Fault,
    },
}

/// Opens models that share one HTTP client and its connections.
#[derive(Debug, Clone)]
pub struct ModelClient {
    http: reqwest::Client,
    /// Connects to our own sockets only.
    library: Client,
    /// The names of the providers that have replied.
    answered: Arc<Mutex<BTreeSet<String>>>,
}

impl ModelClient {
    /// The HTTP clients do not retry by themselves, and follow no redirects, since those could leak the key to
    /// another host.
    pub fn new() -> Result<Self, Fault> {
        let builder = || {
            autonoe_tls::client().retry(reqwest::retry::never()).redirect(reqwest::redirect::Policy::none())
        };
        let failed = |error: String| Fault::permanent(FaultLayer::System, "http_client", error);
        let http = WebConfig::default()
            .apply_to_builder(builder())
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let local = builder()
            .no_proxy()
            .no_gzip()
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let library =
            Client::builder().with_reqwest(local).build().map_err(|error| failed(error.to_string()))?;
        Ok(Self { http, library, answered: Arc::default() })
    }

    /// Opens a model by its full name or alias. Sends nothing yet.
    pub fn open(&self, provider: &Provider, name: &str, tuning: &Tuning) -> Result<Model, Fault> {
        let name = match provider.kind {
            ProviderKind::Anthropic => resolve_alias(name),
            ProviderKind::Gemini => name.strip_prefix("models/").unwrap_or(name),
            ProviderKind::OpenAi | ProviderKind::OpenAiCompatible | ProviderKind::Ollama => name,
        };
        let endpoint::Endpoint { url, headers } = endpoint::of(provider, name)?;
        let service = Service {
            http: self.http.clone(),
            url,
            headers,
            framing: framing(provider.kind),
            idle_timeout: tuning.idle_timeout,
        };
        Ok(Model {
            client: self.clone(),
            service,
            options: options(provider.kind, name, tuning),
            provider: provider.clone(),
            name: name.to_owned(),
            tuning: tuning.clone(),
        })
    }
}

#[derive(Debug)]
pub struct Model {
    client: ModelClient,
    service: Service,
    options: ChatOptions,
    provider: Provider,
    name: String,
    tuning: Tuning,
}

impl Model {
    /// Opens a model with its own HTTP client; [`ModelClient`] shares one between models.
    pub fn open(provider: &Provider, name: &str, tuning: &Tuning) -> Result<Self, Fault> {
        ModelClient::new()?.open(provider, name, tuning)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// The context window in tokens; `None` if unknown. With Ollama it is configured on the server.
    pub fn window(&self) -> Option<u64> {
        let by_name = || match self.provider.kind {
            ProviderKind::Ollama => None,
            ProviderKind::Anthropic
            | ProviderKind::OpenAi
            | ProviderKind::OpenAiCompatible
            | ProviderKind::Gemini => window::of(&self.name),
        };
        self.tuning.window.or_else(by_name)
    }

    /// Requests a reply. The error is the outcome the session should end with.
    pub async fn reply(
        &self,
        conversation: &Conversation,
        progress: &(dyn Fn(ReplyProgress) + Send + Sync),
    ) -> Result<Reply, SessionEnd> {
        if conversation.estimated_bytes() > self.tuning.max_conversation_bytes {
            return Err(too_large(self.tuning.max_conversation_bytes));
        }
        let deadline = Instant::now() + self.tuning.call_timeout;
        let mut retry = 0;
        loop {
            let failure = match timeout_at(deadline, self.attempt(conversation, progress)).await {
                Ok(Ok(reply)) => {
                    self.answered().insert(self.provider.name.clone());
                    return Ok(reply);
                }
                Ok(Err(failure)) => failure,
                Err(_) => too_slow(self.tuning.call_timeout),
            };
            let fault = match failure {
                ModelFailure::Final(outcome) => return Err(outcome),
                ModelFailure::Retryable(fault) => fault,
            };
            retry += 1;
            let pause = pause(self.tuning.retry_pause, retry, fastrand::f64(), fault.retry_after);
            if retry > MAX_RETRIES || Instant::now() + pause >= deadline {
                return Err(SessionEnd::ExecutionError { fault });
            }
            progress(ReplyProgress::Retrying { retry, pause, fault });
            sleep(pause).await;
        }
    }

    async fn attempt(
        &self,
        conversation: &Conversation,
        progress: &(dyn Fn(ReplyProgress) + Send + Sync),
    ) -> Result<Reply, ModelFailure> {
        progress(ReplyProgress::Thinking);
        let transport_failed = |failure| transport_failed(&failure, self.context());
        let exchange = Exchange::open(&self.service).await.map_err(transport_failed)?;
        let url = exchange.url().map_err(transport_failed)?;
        tokio::select! {
            biased;
            reply = self.read(&exchange, url, conversation, progress) => reply,
            failure = exchange.carry() => Err(transport_failed(failure)),
        }
    }

    /// Has the library send the request to `url` and reads the stream that it returns.
    async fn read(
        &self,
        exchange: &Exchange<'_>,
        url: String,
        conversation: &Conversation,
        progress: &(dyn Fn(ReplyProgress) + Send + Sync),
    ) -> Result<Reply, ModelFailure> {
        let kind = self.provider.kind;
        let frames = Arc::new(FrameWatch::new(kind));
        let mut options = self.options.clone().with_raw_frame_sink_arc(Arc::clone(&frames) as _);
        if kind == ProviderKind::OpenAi {
            options = options.with_prompt_cache_key(cache_key(conversation));
        }
        let failed = |error: genai::Error| self.failed(&error, &frames.notes(), exchange);
        let target = ServiceTarget {
            endpoint: genai::resolver::Endpoint::from_owned(url.clone()),
            auth: AuthData::RequestOverride { url, headers: Headers::default() },
            model: ModelIden::new(endpoint::adapter(kind), self.name.as_str()),
        };
        let request = dialect::request(conversation, kind);
        let response =
            self.client.library.exec_chat_stream(target, request, Some(&options)).await.map_err(failed)?;
        let mut stream = response.stream;
        let mut responding = false;
        let mut argument_lengths = HashMap::new();
        let mut content_deadline = Instant::now() + self.tuning.content_timeout;
        loop {
            let Ok(event) = timeout_at(content_deadline, stream.next()).await else {
                return Err(keep_alives_only(self.tuning.content_timeout));
            };
            let Some(event) = event else { break };
            let update = match event.map_err(failed)? {
                ChatStreamEvent::End(_) if !frames.notes().has_events => break,
                ChatStreamEvent::End(end) => return self.finish(end, &frames.notes(), progress),
                ChatStreamEvent::Chunk(chunk) if chunk.content.is_empty() => continue,
                ChatStreamEvent::Chunk(chunk) => Some(ReplyProgress::Text(chunk.content)),
                ChatStreamEvent::ReasoningChunk(chunk) if chunk.content.is_empty() => continue,
                ChatStreamEvent::ReasoningChunk(chunk) => {
                    content_deadline = Instant::now() + self.tuning.content_timeout;
                    progress(ReplyProgress::Thought(chunk.content));
                    continue;
                }
                ChatStreamEvent::ToolCallChunk(chunk) => {
                    // The arguments received so far; without new ones it is a keep-alive.
                    let length = chunk.tool_call.fn_arguments.as_str().map_or(0, str::len);
                    if argument_lengths.insert(chunk.tool_call.call_id, length) == Some(length) {
                        continue;
                    }
                    None
                }
                ChatStreamEvent::Start
                | ChatStreamEvent::ThoughtSignatureChunk(_)
                | ChatStreamEvent::Heartbeat => continue,
            };
            content_deadline = Instant::now() + self.tuning.content_timeout;
            if !responding {
                responding = true;
                progress(ReplyProgress::Responding);
            }
            update.into_iter().for_each(progress);
        }
        let instead = instead_of_stream(&frames.notes(), &exchange.start(), self.context());
        Err(instead.unwrap_or_else(|| cut_off(self.context())))
    }

    /// Classifies an error of the library, which may be due to something that it did not see.
    fn failed(&self, error: &genai::Error, notes: &StreamNotes, exchange: &Exchange<'_>) -> ModelFailure {
        let context = self.context();
        noted_failure(notes, context)
            .or_else(|| instead_of_stream(notes, &exchange.start(), context))
            .or_else(|| exchange.failure().map(|failure| transport_failed(&failure, context)))
            .unwrap_or_else(|| classify(error, notes, context))
    }

    /// Checks that the reply is complete, and reports what it has cost otherwise.
    fn finish(
        &self,
        end: StreamEnd,
        notes: &StreamNotes,
        progress: &(dyn Fn(ReplyProgress) + Send + Sync),
    ) -> Result<Reply, ModelFailure> {
        let failure = self.failure_of(&end, notes);
        let has_usage = end.captured_usage.is_some();
        let mut reply = dialect::reply(end, self.provider.kind, notes);
        if has_usage {
            let prices = self.tuning.prices.as_deref().unwrap_or(PriceList::shipped());
            reply.usage.cost_usd = prices.cost_at(&self.provider, &self.name, &reply.usage);
        }
        let is_empty = reply.text.is_none() && reply.calls.is_empty() && reply.stop == FinishReason::Natural;
        match failure.or_else(|| is_empty.then(|| empty(self.context()))) {
            None => Ok(reply),
            Some(failure) => {
                if has_usage {
                    progress(ReplyProgress::Wasted(reply.usage));
                }
                Err(failure)
            }
        }
    }

    /// What is wrong with the end of a stream: the library also reports one when the service just stops sending.
    fn failure_of(&self, end: &StreamEnd, notes: &StreamNotes) -> Option<ModelFailure> {
        let kind = self.provider.kind;
        if let Some(failure) = noted_failure(notes, self.context()) {
            return Some(failure);
        }
        // These streams end with an explicit end event.
        let has_end_event = matches!(kind, ProviderKind::Anthropic | ProviderKind::OpenAiCompatible);
        if end.captured_stop_reason.is_none() && !has_end_event {
            return Some(cut_off(self.context()));
        }
        let reason = end.captured_stop_reason.as_ref().and_then(|stop| failed_stop(stop, kind))?;
        Some(broken(reason, self.context()))
    }

    fn context(&self) -> CallContext<'_> {
        let has_answered = self.answered().contains(&self.provider.name);
        CallContext { provider: &self.provider, model: &self.name, now: Timestamp::now(), has_answered }
    }

    fn answered(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.client.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The stop reason, if it is a failure: the context window was full, a gateway failed, or Gemini produced a
/// malformed call.
fn failed_stop(stop: &StopReason, kind: ProviderKind) -> Option<&str> {
    let reason = stop.raw();
    let is_other = matches!(stop, StopReason::Other(_));
    match kind {
        ProviderKind::Anthropic => reason == WINDOW_FULL,
        ProviderKind::OpenAiCompatible => reason == "error",
        ProviderKind::Gemini => is_other,
        ProviderKind::OpenAi | ProviderKind::Ollama => false,
    }
    .then_some(reason)
}

fn framing(kind: ProviderKind) -> Framing {
    match kind {
        ProviderKind::Anthropic
        | ProviderKind::OpenAi
        | ProviderKind::OpenAiCompatible
        | ProviderKind::Gemini => Framing::Events,
        ProviderKind::Ollama => Framing::Lines,
    }
}

fn options(kind: ProviderKind, model: &str, tuning: &Tuning) -> ChatOptions {
    let thinking = thinking::request(kind, model, tuning.thinking);
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_reasoning_content(thinking.capture)
        .with_capture_tool_calls(true);
    options.reasoning_effort = thinking.effort;
    options.extra_body = thinking.extra_body;
    options
}

/// Routes all requests of a conversation to the same OpenAI cache.
fn cache_key(conversation: &Conversation) -> String {
    let mut hasher = DefaultHasher::new();
    (&conversation.system, &conversation.instruction).hash(&mut hasher);
    format!("autonoe-{:016x}", hasher.finish())
}
