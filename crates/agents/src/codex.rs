//! Codex: the vendor's own binary, driven over its app server. It requests approval of commands, file changes
//! and MCP tool calls, and our gates decide. It runs with our settings; the user's and the repository's are
//! ignored. If the app server does not work, `codex exec` is used instead, where that is safe.

mod approval;
mod config;
mod exec;
mod item;
mod item_events;
mod message;
mod profile;
mod shell;
mod strict;
mod turn_end;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::event::{AgentEvent, Usage};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::instruction::Phase;
use autonoe_core::outcome::SessionEnd;
use autonoe_core::steering::Steering;
use autonoe_deliverables::DeliverableService;
use autonoe_sandbox::SandboxLayer;
use futures::future::{Either, select};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answer::{AnswerCheck, ExpectedAnswer};
use crate::effort::effort;
use crate::emit::{Emitter, events, model_failure};
use crate::guides;
use crate::user_messages::take_messages;
use crate::vendor::{
    EXIT_LIMIT, JsonLineProcess, PreparedSession, ProcessOutput, ProtocolNoise, SERVER, ServiceAccess,
    VendorSession, VendorSettings, crashed, end_session,
};
use config::ApprovalMode;
pub use config::UserProvider;
use item::CodexAction;
use message::{CodexMessage, CodexRejection};

pub use profile::PROFILE;

pub const NAME: &str = "codex";

const START_LIMIT: Duration = Duration::from_secs(60);

/// How long to wait for the user's MCP servers: the model does not learn of tools that appear after the first
/// request.
const SERVER_WAIT: Duration = Duration::from_secs(5);

/// The directory of Codex's own rules, which approve commands without asking.
const RULES: &str = "rules";

/// JSON-RPC error code.
const UNKNOWN_METHOD: i32 = -32_601;

/// Fault codes of an app server that does not support our protocol.
const APP_SERVER_UNUSABLE: [&str; 2] = ["agent_crashed", "agent_protocol"];

pub struct CodexBackend {
    settings: VendorSettings,
    deliverables: Arc<DeliverableService>,
}

impl CodexBackend {
    pub fn new(settings: VendorSettings, deliverables: Arc<DeliverableService>) -> Self {
        Self { settings, deliverables }
    }
}

#[async_trait]
impl Backend for CodexBackend {
    fn name(&self) -> &str {
        NAME
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        let expected = ExpectedAnswer::new(spec.answer_schema)?;
        let (settings, warnings) = self.settings.with_login_headers().await;
        let PreparedSession { launch, access, mut vendor_session } =
            settings.prepare("Codex", spec.gates, spec.phase, &spec.directory, &self.deliverables).await?;
        vendor_session.warnings = warnings;
        let config = config::config(&settings, &vendor_session, access.as_ref(), ApprovalMode::Always);
        settings.write("config.toml", &config)?;
        // Rules left by an earlier session would let commands bypass our gates.
        settings.remove(RULES)?;
        let env = env(&settings, access.as_ref());
        let process = match JsonLineProcess::start(launch.args(["app-server"]).envs(env)) {
            Ok(process) => process,
            Err(error) => {
                vendor_session.close().await;
                let message = format!("Codex cannot be started: {error}.");
                return Err(Fault::transient(FaultLayer::System, "agent_not_started", message));
            }
        };
        let history = spec.history.unwrap_or_default();
        Ok(Box::new(CodexAgent {
            process,
            vendor_session,
            expected,
            guides: guides::read(&settings.root),
            history: history["codex_thread"].as_str().map(str::to_owned),
            phase: spec.phase,
            access,
            model: spec.model,
            effort: spec.thinking.map(effort),
            steering: spec.steering,
            settings,
            state: CodexState { reported_usage: reported_usage(&history), ..CodexState::default() },
        }))
    }
}

/// The usage that earlier sessions reported for a conversation.
fn reported_usage(history: &Value) -> Usage {
    serde_json::from_value(history["codex_booked"].clone()).unwrap_or_default()
}

fn env(settings: &VendorSettings, access: Option<&ServiceAccess>) -> Vec<(&'static str, String)> {
    let mut env = vec![("CODEX_HOME", settings.home.display().to_string())];
    env.extend(access.and_then(|access| access.key.clone()).map(|key| (config::KEY_VARIABLE, key)));
    env
}

struct CodexAgent {
    process: JsonLineProcess,
    vendor_session: VendorSession,
    expected: ExpectedAnswer,
    guides: String,
    /// The conversation to resume.
    history: Option<String>,
    phase: Phase,
    access: Option<ServiceAccess>,
    model: String,
    effort: Option<&'static str>,
    steering: Steering,
    settings: VendorSettings,
    state: CodexState,
}

#[derive(Default)]
struct CodexState {
    /// The id of our last request.
    requests: u64,
    thread: String,
    turn: String,
    /// The model reported by Codex.
    model: String,
    /// MCP servers that have started or failed to start.
    settled_servers: HashSet<String>,
    /// Why the server of the deliverable tools failed to start.
    tools_error: Option<String>,
    /// Actions that have started and not ended, by item id.
    open: BTreeMap<String, CodexAction>,
    /// Whether an action of the current model call has ended, so that another model call follows.
    expects_model_call: bool,
    /// Reasons of refused actions, by item id.
    refusals: HashMap<String, String>,
    /// Declining responses, held back until Codex has acknowledged the reason, by the id of the request that
    /// carries the reason.
    pending_declines: HashMap<u64, Value>,
    /// Messages of the user that Codex has not acknowledged, by the id of the request.
    sent_messages: HashMap<u64, String>,
    /// Messages of the user that came too late for their turn.
    late_messages: Vec<String>,
    /// The last report of the user's limits.
    limits: Option<Value>,
    /// The text of the last message.
    last_text: String,
    /// Usage of the conversation reported so far; `codex exec` reports only totals.
    reported_usage: Usage,
}

#[async_trait]
impl Agent for CodexAgent {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        events(|emitter| async move {
            let ended = self.work(instruction.text, &emitter).await;
            end_session(ended, Some(EXIT_LIMIT), &mut self.process, &mut self.vendor_session, &emitter).await;
        })
    }

    async fn dispose(mut self: Box<Self>) -> Vec<String> {
        self.vendor_session.close().await
    }
}

impl CodexAgent {
    async fn work(&mut self, instruction: String, emitter: &Emitter) -> Result<SessionEnd, Fault> {
        match within_start_limit(self.initialize(emitter)).await {
            Err(fault) if APP_SERVER_UNUSABLE.contains(&fault.code.as_str()) && self.needs_no_approval() => {
                return self.exec(instruction, &fault, emitter).await;
            }
            initialized => initialized?,
        }
        within_start_limit(self.begin(instruction, emitter)).await?;
        loop {
            if let Some(text) = take_messages(&self.steering, emitter).await {
                self.steer(text).await;
            }
            let steering = self.steering.clone();
            let message = tokio::select! {
                message = self.next(emitter) => message?,
                () = steering.has_messages() => continue,
            };
            let Some(outcome) = self.handle(message, emitter).await else { continue };
            self.vendor_session.model_answered(model_failure(&outcome), emitter).await;
            let late = std::mem::take(&mut self.state.late_messages);
            if let (SessionEnd::Completed, false) = (&outcome, late.is_empty()) {
                self.turn(late.join("\n\n"), emitter).await?;
                continue;
            }
            match self.expected.check(outcome, &self.state.last_text, emitter).await {
                AnswerCheck::Done(outcome) => return Ok(outcome),
                AnswerCheck::Retry(prompt) => self.turn(prompt, emitter).await?,
            }
        }
    }

    async fn initialize(&mut self, emitter: &Emitter) -> Result<(), Fault> {
        let client = json!({ "name": "autonoe", "title": "Autonoe", "version": env!("CARGO_PKG_VERSION") });
        self.call("initialize", json!({ "clientInfo": client }), emitter)
            .await
            .map_err(CodexCallError::into_fault)?;
        self.process.send(&json!({ "method": "initialized" })).await;
        Ok(())
    }

    /// Opens the conversation and starts the first turn.
    async fn begin(&mut self, instruction: String, emitter: &Emitter) -> Result<(), Fault> {
        let started = self.conversation(emitter).await?;
        self.state.thread = started["thread"]["id"].as_str().unwrap_or_default().to_owned();
        self.state.model = started["model"].as_str().unwrap_or(&self.model).to_owned();
        self.wait_for_servers(emitter).await?;

        self.turn(self.prompt(instruction), emitter).await?;
        let history = json!({ "codex_thread": self.state.thread });
        emitter.emit(AgentEvent::Conversation { history }).await;
        Ok(())
    }

    /// Waits for the MCP servers: for the deliverable tools up to the start limit, for others at most
    /// [`SERVER_WAIT`].
    async fn wait_for_servers(&mut self, emitter: &Emitter) -> Result<(), Fault> {
        let deadline = Instant::now() + SERVER_WAIT;
        let deliverables = Arc::clone(&self.vendor_session.deliverables);
        // The server of the deliverable tools is not in the settings.
        while self.state.settled_servers.len() < self.settings.servers.configs.len() + 1 {
            let message = if self.vendor_session.has_tools() || self.state.tools_error.is_some() {
                match tokio::time::timeout_at(deadline, self.next(emitter)).await {
                    Ok(message) => message,
                    Err(_) => break,
                }
            } else {
                match select(pin!(self.next(emitter)), pin!(deliverables.loaded())).await {
                    Either::Left((message, _)) => message,
                    Either::Right(_) => continue,
                }
            };
            // No turn is running yet that could end.
            let _ = self.handle(message?, emitter).await;
        }
        match self.state.tools_error.take() {
            Some(why) if !self.vendor_session.has_tools() => {
                Err(self.vendor_session.tools_missing(Some(&why)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Starts a turn.
    async fn turn(&mut self, text: String, emitter: &Emitter) -> Result<(), Fault> {
        let mut turn = json!({ "threadId": self.state.thread, "input": [{ "type": "text", "text": text }] });
        if let Some(effort) = self.effort {
            turn["effort"] = json!(effort);
        }
        if let Some(schema) = self.strict_schema() {
            turn["outputSchema"] = schema.clone();
        }
        self.state.last_text.clear();
        let turn = self.call("turn/start", turn, emitter).await.map_err(CodexCallError::into_fault)?;
        self.state.turn = turn["turn"]["id"].as_str().unwrap_or_default().to_owned();
        self.model_asked(emitter).await;
        Ok(())
    }

    fn prompt(&self, instruction: String) -> String {
        let instruction = match self.strict_schema() {
            Some(_) => instruction,
            None => self.expected.with_schema(instruction),
        };
        format!("{instruction}{}", self.guides)
    }

    /// The schema of the answer, if the service can enforce it.
    fn strict_schema(&self) -> Option<&Value> {
        self.expected.schema().filter(|schema| strict::is_strict(schema))
    }

    /// Starts a conversation or resumes the earlier one.
    async fn conversation(&mut self, emitter: &Emitter) -> Result<Value, Fault> {
        // Codex's own sandbox does not work inside ours.
        let sandbox = match self.settings.room_config.sandbox.layer() {
            SandboxLayer::None => "workspace-write",
            SandboxLayer::Bubblewrap | SandboxLayer::Landlock | SandboxLayer::Seatbelt => {
                "danger-full-access"
            }
        };
        let mut params = json!({
            "cwd": self.vendor_session.shown_start(), "model": self.model, "approvalPolicy": "untrusted", "sandbox": sandbox,
        });
        match self.history.take() {
            None => self.call("thread/start", params, emitter).await.map_err(CodexCallError::into_fault),
            Some(thread) => {
                params["threadId"] = json!(thread);
                self.call("thread/resume", params, emitter).await.map_err(|error| match error {
                    CodexCallError::Rejected(rejection) => {
                        let message = format!("Codex cannot resume the conversation {thread}: {rejection}.");
                        // The next attempt starts a new one.
                        Fault::transient(FaultLayer::Agent, "conversation_lost", message)
                    }
                    CodexCallError::Fault(fault) => fault,
                })
            }
        }
    }

    /// Sends a request and waits for the response.
    async fn call(
        &mut self,
        method: &str,
        params: Value,
        emitter: &Emitter,
    ) -> Result<Value, CodexCallError> {
        let request = self.request(method, params).await;
        loop {
            match self.next(emitter).await? {
                CodexMessage::Response { id, result } if id == request => return Ok(result?),
                other => {
                    if let Some(outcome) = self.handle(other, emitter).await {
                        let fault = outcome.fault().cloned().unwrap_or_else(|| {
                            let message = format!("Codex ended early: {}.", outcome.name());
                            Fault::transient(FaultLayer::Agent, "agent_crashed", message)
                        });
                        return Err(fault.into());
                    }
                }
            }
        }
    }

    /// Adds text to the running turn.
    async fn steer(&mut self, text: String) {
        let steer = self.steering_request(&text);
        let id = self.request("turn/steer", steer).await;
        self.state.sent_messages.insert(id, text);
    }

    fn steering_request(&self, text: &str) -> Value {
        json!({
            "threadId": self.state.thread, "expectedTurnId": self.state.turn,
            "input": [{ "type": "text", "text": text }],
        })
    }

    /// Sends a request without waiting; returns its id.
    async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.state.requests += 1;
        let id = self.state.requests;
        self.process.send(&json!({ "id": id, "method": method, "params": params })).await;
        id
    }

    /// The next message; unknown ones are reported here.
    async fn next(&mut self, emitter: &Emitter) -> Result<CodexMessage, Fault> {
        loop {
            match self.process.next().await {
                ProcessOutput::Message(message) => match CodexMessage::read(&message) {
                    CodexMessage::Unknown(kind) => {
                        self.vendor_session.noise(ProtocolNoise::UnknownMessage(kind), emitter).await?;
                    }
                    message => return Ok(message),
                },
                ProcessOutput::Noise(noise) => self.vendor_session.noise(noise, emitter).await?,
                ProcessOutput::End => return Err(crashed("Codex", &mut self.process).await),
            }
        }
    }

    /// Handles one message. Returns the outcome if the turn has ended.
    async fn handle(&mut self, message: CodexMessage, emitter: &Emitter) -> Option<SessionEnd> {
        let warn = |message| emitter.emit(AgentEvent::Warning { message });
        match message {
            CodexMessage::ItemStarted(item) => self.item_started(item, emitter).await,
            CodexMessage::ItemCompleted(item) => self.item_completed(item, emitter).await,
            CodexMessage::Approval { request, approval } => self.answer(request, approval).await,
            CodexMessage::UnknownRequest { request, what } => {
                let error = json!({ "code": UNKNOWN_METHOD, "message": format!("autonoe does not support `{what}`") });
                self.process.send(&json!({ "id": request, "error": error })).await;
                warn(format!("Codex sent a request that autonoe does not support: {what}.")).await;
            }
            CodexMessage::Response { id, result } => {
                if let Some(answer) = self.state.pending_declines.remove(&id) {
                    self.process.send(&answer).await;
                }
                let sent = self.state.sent_messages.remove(&id);
                if let (Err(_), Some(text)) = (&result, sent) {
                    self.state.late_messages.push(text);
                } else if let Err(error) = result {
                    warn(format!("Codex rejected the reason for a refusal: {error}.")).await;
                }
            }
            CodexMessage::TokenUsage { turn, usage } if turn == self.state.turn => {
                let cost_usd = self.settings.prices.cost(&self.model, &usage);
                self.model_asked(emitter).await;
                let expects_model_call = std::mem::take(&mut self.state.expects_model_call);
                emitter.emit(AgentEvent::Usage(Usage { cost_usd, ..usage })).await;
                // Codex reports usage once per model call, after the tools of that call have ended.
                self.vendor_session.model_answered(None, emitter).await;
                if expects_model_call && self.state.open.is_empty() {
                    self.model_asked(emitter).await;
                }
            }
            CodexMessage::RateLimits(limits) => self.state.limits = Some(limits),
            CodexMessage::Retrying(message) => warn(format!("Codex is retrying: {message}.")).await,
            CodexMessage::Warning(message) => warn(format!("Codex warning: {message}.")).await,
            CodexMessage::McpServer { name, error } => {
                if let Some(error) = error {
                    warn(format!("Codex warning: the MCP server {name} did not start: {error}.")).await;
                    self.state.tools_error =
                        self.state.tools_error.take().or((name == SERVER).then_some(error));
                }
                self.state.settled_servers.insert(name);
            }
            CodexMessage::TurnCompleted { thread, end } if thread == self.state.thread => {
                self.end_open_actions(emitter).await;
                return Some(end.outcome(self.state.limits.as_ref()));
            }
            // Usage of earlier turns, and ends of other threads.
            CodexMessage::TokenUsage { .. }
            | CodexMessage::TurnCompleted { .. }
            | CodexMessage::Ignored
            | CodexMessage::Unknown(_) => {}
        }
        None
    }
}

async fn within_start_limit(ready: impl Future<Output = Result<(), Fault>>) -> Result<(), Fault> {
    tokio::time::timeout(START_LIMIT, ready).await.unwrap_or_else(|_| {
        let message = format!("Codex was not ready within {} s.", START_LIMIT.as_secs());
        Err(Fault::transient(FaultLayer::Agent, "agent_silent", message))
    })
}

#[derive(Debug, thiserror::Error)]
enum CodexCallError {
    #[error(transparent)]
    Rejected(#[from] CodexRejection),
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl CodexCallError {
    fn into_fault(self) -> Fault {
        match self {
            CodexCallError::Rejected(rejection) => {
                let message = format!("Codex rejected a request of autonoe: {rejection}.");
                Fault::permanent(FaultLayer::Agent, "agent_protocol", message)
                    .hint("Update Codex; `autonoe doctor` shows the oldest supported version.")
            }
            CodexCallError::Fault(fault) => fault,
        }
    }
}
