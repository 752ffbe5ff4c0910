//! The client: one conversation in, one whole reply out, retried where that can help.

use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::Outcome;
use futures::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatStreamEvent, StreamEnd};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden};
use jiff::Timestamp;

use crate::conversation::{Conversation, Reply};
use crate::failure::{Failure, classify, cut_off};
use crate::price::{PriceList, resolve_alias};
use crate::retry::{FIRST_PAUSE, MAX_RETRIES, pause};
use crate::thinking;

/// Where a provider is and how we prove who we are.
#[derive(Clone)]
pub struct Provider {
    /// Base URL as the vendor's variable gives it, without `/v1`; none means the vendor's own.
    pub base_url: Option<String>,
    /// The key.
    pub api_key: String,
}

/// What may be tuned about calls.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// Tokens to think with, if thinking is on.
    pub thinking: Option<u32>,
    /// How long the service may be silent before the call is given up.
    pub idle_timeout: Duration,
    /// The pause before the first retry; each further one is twice as long.
    pub retry_pause: Duration,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { thinking: None, idle_timeout: Duration::from_secs(120), retry_pause: FIRST_PAUSE }
    }
}

/// What is going on during a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// The model thinks.
    Thinking,
    /// The model answers.
    Responding,
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

/// One model of one provider.
pub struct Model {
    client: Client,
    iden: ModelIden,
    options: ChatOptions,
    retry_pause: Duration,
}

impl Model {
    /// A model of Anthropic's, by full name or alias.
    pub fn anthropic(provider: Provider, name: &str, tuning: &Tuning) -> Result<Self, Fault> {
        let base = provider.base_url.as_deref().unwrap_or("https://api.anthropic.com");
        let base = base.trim_end_matches('/');
        let base = if base.ends_with("/v1") { format!("{base}/") } else { format!("{base}/v1/") };
        // A second installation finds the first one in place, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .append_provider_config(
                AdapterKind::Anthropic,
                (Endpoint::from_owned(base), AuthData::from_single(provider.api_key)),
            )
            .build()
            .map_err(|error| Fault::lasting(Layer::System, "http_client", error.to_string()))?;
        let mut options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_content(true)
            .with_capture_reasoning_content(true)
            .with_capture_tool_calls(true)
            .with_stream_header_timeout(tuning.idle_timeout)
            .with_stream_read_timeout(tuning.idle_timeout);
        let iden = ModelIden::new(AdapterKind::Anthropic, resolve_alias(name));
        options.reasoning_effort = Some(thinking::effort(&iden.model_name, tuning.thinking));
        Ok(Self { client, iden, options, retry_pause: tuning.retry_pause })
    }

    /// Its full name.
    pub fn name(&self) -> &str {
        &self.iden.model_name
    }

    /// Has the model reply. Fails with the outcome the session should end with.
    pub async fn reply(
        &self,
        conversation: &Conversation,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Reply, Outcome> {
        let mut retry = 0;
        loop {
            let failure = match self.once(conversation, progress).await {
                Ok(end) => return Ok(self.priced(Reply::from_end(end))),
                Err(failure) => failure,
            };
            let fault = match failure {
                Failure::Final(outcome) => return Err(outcome),
                Failure::Passing(fault) if retry == MAX_RETRIES => {
                    return Err(Outcome::ExecutionError { fault });
                }
                Failure::Passing(fault) => fault,
            };
            retry += 1;
            let pause = pause(self.retry_pause, retry, fastrand::f64(), fault.retry_after);
            progress(Progress::Retrying { retry, pause, fault });
            tokio::time::sleep(pause).await;
        }
    }

    async fn once(
        &self,
        conversation: &Conversation,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<StreamEnd, Failure> {
        progress(Progress::Thinking);
        let failed = |error: genai::Error| classify(&error, &self.iden.model_name, Timestamp::now());
        let response = self
            .client
            .exec_chat_stream(self.iden.clone(), conversation.to_request(), Some(&self.options))
            .await
            .map_err(failed)?;
        let mut stream = response.stream;
        let mut responding = false;
        while let Some(event) = stream.next().await {
            match event.map_err(failed)? {
                ChatStreamEvent::End(end) => return Ok(end),
                ChatStreamEvent::Chunk(_) | ChatStreamEvent::ToolCallChunk(_) if !responding => {
                    responding = true;
                    progress(Progress::Responding);
                }
                ChatStreamEvent::Start
                | ChatStreamEvent::Chunk(_)
                | ChatStreamEvent::ReasoningChunk(_)
                | ChatStreamEvent::ThoughtSignatureChunk(_)
                | ChatStreamEvent::ToolCallChunk(_)
                | ChatStreamEvent::Heartbeat => {}
            }
        }
        Err(cut_off())
    }

    fn priced(&self, mut reply: Reply) -> Reply {
        reply.usage.cost_usd = PriceList::shipped().cost(&self.iden.model_name, &reply.usage);
        reply
    }
}
