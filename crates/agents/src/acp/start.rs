//! Initializes the connection and starts a session, or resumes an earlier one, with its model and tools.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use autonoe_core::event::AgentEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use futures::future::{Either, select};
use serde_json::{Value, json};

use super::files::FAILED;
use super::message::{AcpMessage, RpcError};
use super::session::{self, AcpModelChoice, OWN_MODEL};
use super::{AcpAgent, AcpRequestError};
use crate::emit::Emitter;

/// A replay of an earlier session is over after this long without a message.
const REPLAY_PAUSE: Duration = Duration::from_millis(300);

/// How long to wait until the agent has loaded its tools: the model does not learn of tools that appear after
/// the first request. Agents that connect to MCP servers lazily load them later.
const TOOLS_WAIT: Duration = Duration::from_secs(5);

impl AcpAgent {
    /// Initializes the connection and starts or resumes a session.
    pub(super) async fn start_session(&mut self, emitter: &Emitter) -> Result<(), AcpRequestError> {
        let initialized =
            self.request("initialize", session::initialize_params(self.quirks.serves_files), emitter).await?;
        let params = session::session_params(&self.settings, &self.vendor_session, &initialized);
        let started = match self.earlier.take().filter(|_| session::can_load(&initialized)) {
            Some(earlier) => self.load(earlier, params.clone(), emitter).await?,
            None => None,
        };
        let started = match started {
            Some(started) => started,
            None => {
                let started = self.request("session/new", params, emitter).await?;
                self.session = started["sessionId"].as_str().unwrap_or_default().to_owned();
                started
            }
        };
        self.set_model(&started, emitter).await?;
        self.set_thinking(&started, emitter).await?;
        self.wait_for_tools(emitter).await
    }

    /// Waits until the agent has loaded the deliverable tools, at most [`TOOLS_WAIT`].
    async fn wait_for_tools(&mut self, emitter: &Emitter) -> Result<(), AcpRequestError> {
        if self.quirks.loads_tools_first && !self.vendor_session.has_tools() {
            return Err(AcpRequestError::Fault(self.vendor_session.tools_missing(None)));
        }
        let deliverables = Arc::clone(&self.vendor_session.deliverables);
        let mut loaded = pin!(tokio::time::timeout(TOOLS_WAIT, deliverables.loaded()));
        while !self.vendor_session.has_tools() {
            let message = match select(pin!(self.next(emitter)), &mut loaded).await {
                Either::Left((message, _)) => message?,
                Either::Right(_) => break,
            };
            self.handle_early_message(message).await;
        }
        Ok(())
    }

    /// Resumes an earlier session; `None` if the agent cannot load it.
    async fn load(
        &mut self,
        earlier: String,
        mut params: Value,
        emitter: &Emitter,
    ) -> Result<Option<Value>, AcpRequestError> {
        params["sessionId"] = json!(earlier);
        self.is_replaying = true;
        let loaded = self.request("session/load", params, emitter).await;
        self.wait_for_replay(emitter).await?;
        self.is_replaying = false;
        match loaded {
            Ok(started) => {
                self.session = earlier;
                Ok(Some(started))
            }
            Err(AcpRequestError::Rejected(error)) => {
                let message = format!(
                    "{} cannot resume its last session: {}.",
                    self.quirks.display_name, error.message
                );
                emitter.emit(AgentEvent::Warning { message }).await;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Waits for the end of the replay of an earlier session: some agents respond before it is complete.
    async fn wait_for_replay(&mut self, emitter: &Emitter) -> Result<(), AcpRequestError> {
        while let Ok(message) = tokio::time::timeout(REPLAY_PAUSE, self.next(emitter)).await {
            self.handle_early_message(message?).await;
        }
        Ok(())
    }

    /// Handles a message that arrives before the first prompt.
    async fn handle_early_message(&mut self, message: AcpMessage) {
        match message {
            AcpMessage::Request { id, .. } => {
                let message = "the session has not started yet".to_owned();
                self.reply(&id, Err(RpcError { code: FAILED, message })).await;
            }
            AcpMessage::Update(_)
            | AcpMessage::Response { .. }
            | AcpMessage::Ignored
            | AcpMessage::Unknown(_) => {}
        }
    }

    /// An agent that offers no level of thinking works without; that is said once in a run.
    async fn set_thinking(&mut self, started: &Value, emitter: &Emitter) -> Result<(), AcpRequestError> {
        let Some(tokens) = self.thinking.filter(|_| self.quirks.sets_thinking) else {
            return Ok(());
        };
        match session::choose_thinking(started, tokens) {
            Some((method, mut choice)) => {
                choice["sessionId"] = json!(self.session);
                self.request(method, choice, emitter).await.map(|_| ())
            }
            None => {
                if !self.quirks.thinking_warned.swap(true, Ordering::Relaxed) {
                    let message = format!(
                        "--thinking has no effect with '{}': it offers no such setting.",
                        self.quirks.backend
                    );
                    emitter.emit(AgentEvent::Warning { message }).await;
                }
                Ok(())
            }
        }
    }

    async fn set_model(&mut self, started: &Value, emitter: &Emitter) -> Result<(), AcpRequestError> {
        if !self.quirks.sets_model || self.model == OWN_MODEL {
            return Ok(());
        }
        match session::choose_model(started, &self.model) {
            AcpModelChoice::Current => Ok(()),
            AcpModelChoice::Request(method, mut choice) => {
                choice["sessionId"] = json!(self.session);
                self.request(method, choice, emitter).await.map(|_| ())
            }
            AcpModelChoice::Unknown { offered } => {
                let message = format!("{} has no model '{}'.", self.quirks.display_name, self.model);
                let fault = Fault::permanent(FaultLayer::Config, "unknown_model", message);
                Err(AcpRequestError::Fault(match offered.is_empty() {
                    true => fault.hint("It does not support choosing a model; omit --model."),
                    false => fault.hint(format!("Available models: {}.", offered.join(", "))),
                }))
            }
        }
    }
}
