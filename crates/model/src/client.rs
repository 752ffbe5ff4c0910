//! The client: one conversation in, one whole reply out, retried where that can help.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::SessionEnd;
use futures::StreamExt;
use genai::chat::{ChatOptions, ChatStreamEvent, StopReason, StreamEnd};
use genai::resolver::AuthData;
use genai::{Client, ModelIden, ServiceTarget, WebConfig};
use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};

use crate::conversation::Conversation;
use crate::failure::{
    Failure, Site, WINDOW_FULL, broken, classify, cut_off, empty, endless, noted_failure, only_alive,
};
use crate::frames::{Noted, Watch};
use crate::page::ended_early;
use crate::price::{PriceList, resolve_alias};
use crate::provider::{Provider, ProviderKind};
use crate::reply::{Reply, Stop};
use crate::retry::{FIRST_PAUSE, MAX_RETRIES, pause};
use crate::{dialect, endpoint, thinking, window};

/// The longest that one try may take, however busy the service looks.
const LONGEST_TRY: Duration = Duration::from_secs(60 * 60);

/// The most that a service may send in one try; the longest replies have some hundred kilobytes.
const LARGEST_STREAM_BYTES: usize = 64 << 20;

/// What may be tuned about calls.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// Tokens to think with, if thinking is on.
    pub thinking: Option<u32>,
    /// How long the service may be silent before the call is given up.
    pub idle_timeout: Duration,
    /// How long it may send nothing but signs of life, such as pings, before the call is given up.
    pub content_timeout: Duration,
    /// The pause before the first retry; each further one is twice as long.
    pub retry_pause: Duration,
    /// The tokens the model can read at once, where that is known better than by its name.
    pub window: Option<u64>,
    /// What tokens cost; none means the list that ships with the binary.
    pub prices: Option<Arc<PriceList>>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            thinking: None,
            idle_timeout: Duration::from_secs(120),
            content_timeout: Duration::from_secs(10 * 60),
            retry_pause: FIRST_PAUSE,
            window: None,
            prices: None,
        }
    }
}

/// What is going on during a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// The model thinks.
    Thinking,
    /// The model answers.
    Responding,
    /// A further piece of what it thinks.
    Thought(String),
    /// A further piece of what it says. After a retry all of it is said anew.
    Text(String),
    /// The call failed and is tried again after a pause.
    Retrying {
        /// Which retry this is, from 1.
        retry: u32,
        /// The pause before it.
        pause: Duration,
        /// What went wrong.
        fault: Fault,
    },
}

/// Opens models, which share one HTTP client and its connections.
#[derive(Debug, Clone)]
pub struct Models {
    client: Client,
}

impl Models {
    /// Builds the client. It retries nothing and follows no redirection, which could take the key elsewhere.
    pub fn new() -> Result<Self, Fault> {
        let builder =
            autonoe_tls::client().retry(reqwest::retry::never()).redirect(reqwest::redirect::Policy::none());
        let failed = |error: String| Fault::lasting(Layer::System, "http_client", error);
        let http = WebConfig::default()
            .apply_to_builder(builder)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let client =
            Client::builder().with_reqwest(http).build().map_err(|error| failed(error.to_string()))?;
        Ok(Self { client })
    }

    /// A model of a provider, by its full name or alias. Nothing is sent yet.
    pub fn open(&self, provider: &Provider, name: &str, tuning: &Tuning) -> Result<Model, Fault> {
        let name = match provider.kind {
            ProviderKind::Anthropic => resolve_alias(name),
            ProviderKind::Gemini => name.strip_prefix("models/").unwrap_or(name),
            ProviderKind::OpenAi | ProviderKind::OpenAiCompatible | ProviderKind::Ollama => name,
        };
        let endpoint::Endpoint { url, headers } = endpoint::of(provider, name)?;
        let target = ServiceTarget {
            endpoint: genai::resolver::Endpoint::from_owned(url.clone()),
            auth: AuthData::RequestOverride { url, headers },
            model: ModelIden::new(endpoint::adapter(provider.kind), name),
        };
        Ok(Model {
            client: self.client.clone(),
            target,
            options: options(provider.kind, name, tuning),
            provider: provider.clone(),
            name: name.to_owned(),
            tuning: tuning.clone(),
        })
    }
}

/// One model of one provider.
#[derive(Debug)]
pub struct Model {
    client: Client,
    target: ServiceTarget,
    options: ChatOptions,
    provider: Provider,
    name: String,
    tuning: Tuning,
}

impl Model {
    /// A model with an HTTP client of its own; [`Models`] shares one.
    pub fn open(provider: &Provider, name: &str, tuning: &Tuning) -> Result<Self, Fault> {
        Models::new()?.open(provider, name, tuning)
    }

    /// Its full name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whose it is.
    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// The tokens it can read at once, if that is known. What Ollama lets a model read is set at the server.
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

    /// Has the model reply. Fails with the outcome the session should end with.
    pub async fn reply(
        &self,
        conversation: &Conversation,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Reply, SessionEnd> {
        let mut retry = 0;
        loop {
            let failure = match tokio::time::timeout(LONGEST_TRY, self.once(conversation, progress)).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(failure)) => failure,
                Err(_) => {
                    endless(&format!("took longer than {} minutes", LONGEST_TRY.as_secs() / 60), self.site())
                }
            };
            let fault = match failure {
                Failure::Final(outcome) => return Err(outcome),
                Failure::Passing(fault) if retry == MAX_RETRIES => {
                    return Err(SessionEnd::ExecutionError { fault });
                }
                Failure::Passing(fault) => fault,
            };
            retry += 1;
            let pause = pause(self.tuning.retry_pause, retry, fastrand::f64(), fault.retry_after);
            progress(Progress::Retrying { retry, pause, fault });
            tokio::time::sleep(pause).await;
        }
    }

    async fn once(
        &self,
        conversation: &Conversation,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Reply, Failure> {
        progress(Progress::Thinking);
        let kind = self.provider.kind;
        let watch = Arc::new(Watch::new(kind));
        let mut options = self.options.clone().with_raw_frame_sink_arc(Arc::clone(&watch) as _);
        if kind == ProviderKind::OpenAi {
            options = options.with_prompt_cache_key(cache_key(conversation));
        }
        let failed = |error: genai::Error| classify(&error, &watch.noted(), self.site());
        let request = dialect::request(conversation, kind);
        let response = self
            .client
            .exec_chat_stream(self.target.clone(), request, Some(&options))
            .await
            .map_err(failed)?;
        let mut stream = response.stream;
        let mut responding = false;
        let mut quiet_until = Instant::now() + self.tuning.content_timeout;
        loop {
            let Ok(event) = timeout_at(quiet_until, stream.next()).await else {
                return Err(only_alive(self.tuning.content_timeout));
            };
            let Some(event) = event else { break };
            if watch.bytes() > LARGEST_STREAM_BYTES {
                return Err(endless(
                    &format!("sent more than {} MiB", LARGEST_STREAM_BYTES >> 20),
                    self.site(),
                ));
            }
            let said = match event.map_err(failed)? {
                ChatStreamEvent::End(_) if watch.noted().was_no_stream() => break,
                ChatStreamEvent::End(end) => return self.finish(end, &watch.noted()),
                ChatStreamEvent::Chunk(chunk) => Some(Progress::Text(chunk.content)),
                ChatStreamEvent::ReasoningChunk(chunk) => {
                    quiet_until = Instant::now() + self.tuning.content_timeout;
                    progress(Progress::Thought(chunk.content));
                    continue;
                }
                ChatStreamEvent::ToolCallChunk(_) => None,
                ChatStreamEvent::Start
                | ChatStreamEvent::ThoughtSignatureChunk(_)
                | ChatStreamEvent::Heartbeat => continue,
            };
            quiet_until = Instant::now() + self.tuning.content_timeout;
            if !responding {
                responding = true;
                progress(Progress::Responding);
            }
            said.into_iter().for_each(progress);
        }
        Err(ended_early(&watch.noted(), self.target.endpoint.base_url(), self.site()).await)
    }

    /// Makes sure that what ended is a reply: the library ends a stream by itself where the service only fell silent.
    fn finish(&self, end: StreamEnd, noted: &Noted) -> Result<Reply, Failure> {
        let kind = self.provider.kind;
        if let Some(failure) = noted_failure(noted, self.site()) {
            return Err(failure);
        }
        let ends_by_word = matches!(kind, ProviderKind::Anthropic | ProviderKind::OpenAiCompatible);
        if end.captured_stop_reason.is_none() && !ends_by_word {
            return Err(cut_off(self.site()));
        }
        if let Some(reason) = end.captured_stop_reason.as_ref().and_then(|stop| no_end(stop, kind)) {
            return Err(broken(reason, self.site()));
        }
        let was_counted = end.captured_usage.is_some();
        let mut reply = dialect::reply(end, kind, noted);
        if reply.text.is_none() && reply.calls.is_empty() && reply.stop == Stop::Natural {
            return Err(empty(self.site()));
        }
        if was_counted {
            let prices = self.tuning.prices.as_deref().unwrap_or(PriceList::shipped());
            reply.usage.cost_usd = prices.cost_at(&self.provider, &self.name, &reply.usage);
        }
        Ok(reply)
    }

    fn site(&self) -> Site<'_> {
        Site { provider: &self.provider, model: &self.name, now: Timestamp::now() }
    }
}

/// Ends that are none: the window was full, a gateway failed, or Gemini could not write down a call.
fn no_end(stop: &StopReason, kind: ProviderKind) -> Option<&str> {
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

fn options(kind: ProviderKind, model: &str, tuning: &Tuning) -> ChatOptions {
    let thinking = thinking::ask(kind, model, tuning.thinking);
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_reasoning_content(thinking.told)
        .with_capture_tool_calls(true)
        .with_stream_header_timeout(tuning.idle_timeout)
        .with_stream_read_timeout(tuning.idle_timeout);
    options.reasoning_effort = thinking.effort;
    options.extra_body = thinking.extra_body;
    options
}

/// Has OpenAI look for what it cached of this conversation in the right place, and cache by itself.
fn cache_key(conversation: &Conversation) -> String {
    let mut hasher = DefaultHasher::new();
    (&conversation.system, &conversation.instruction).hash(&mut hasher);
    format!("autonoe-{:016x}", hasher.finish())
}
