//! Any agent that supports the Agent Client Protocol, started by its command line. Our gates decide the calls
//! that it asks about. Calls without a request are checked when they are reported, and the turn is cancelled
//! if the gates refuse; the room confines the agent in any case.
//!
//! Only the message types of the protocol's crate are used: its connection owns handlers and tasks that
//! outlive a call, while our agents run only as long as their events are polled.

mod calls;
mod files;
mod message;
mod requests;
mod session;
mod start;
mod terminals;
mod translate;
mod turn_end;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agent_client_protocol_schema::v1::SessionUpdate;
use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::event::{AgentEvent, ChunkKind, Usage};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::money::Usd;
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::DeliverableService;
use futures::future::{Either, select};
use serde_json::{Value, json};

use crate::answer::{AnswerCheck, ExpectedAnswer};
use crate::emit::{Emitter, events};
use crate::guides;
use crate::vendor::{
    JsonLineProcess, PreparedSession, ProcessOutput, ProtocolNoise, SERVER, ServiceAccess, VendorSession,
    VendorSettings, crashed, end_session, follow_up,
};
use calls::{CallActions, CallEnd, CallTracker, block_text};
use message::{AcpMessage, RpcError};
pub use session::OWN_MODEL;
use terminals::Terminals;
use translate::TranslatedCall;
use turn_end::{AgentLabel, usage};

/// The prefix before the user's command.
pub const NAME: &str = "acp";

const START_LIMIT: Duration = Duration::from_secs(120);

/// How long an agent may take to exit after its input is closed. Most exit only on a signal; their work is
/// done by then.
const EXIT_LIMIT: Duration = Duration::from_millis(100);

/// How often an agent that stops at a refusal is given the reason and continued.
const MAX_FOLLOW_UPS: u32 = 20;

/// Opens sessions of an agent that is given by its command.
pub struct AcpBackend {
    quirks: AcpQuirks,
    settings: VendorSettings,
    deliverables: Arc<DeliverableService>,
}

/// How ACP agents differ from each other.
#[derive(Debug, Clone)]
pub(crate) struct AcpQuirks {
    /// The backend name.
    pub backend: String,
    /// The name in messages.
    pub display_name: String,
    /// A hint how to log in.
    pub log_in: String,
    /// Arguments appended to the command.
    pub args: Vec<String>,
    /// Whether the model is set over the protocol.
    pub sets_model: bool,
    /// Whether the level of thinking is set over the protocol.
    pub sets_thinking: bool,
    /// Whether the user knows that it offers no level; the same for all sessions of a run.
    pub thinking_warned: Arc<AtomicBool>,
    /// Whether we offer to read and write files and to run commands for it.
    pub serves_files: bool,
    /// How long it may take to exit after its input is closed; `None` means that it is stopped at once.
    pub exit_limit: Option<Duration>,
    pub refusal_style: RefusalStyle,
    /// Whether it has loaded all tools by the time it reports the session as started.
    pub loads_tools_first: bool,
}

/// How the reason of a refusal reaches the model. The protocol has no field for reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalStyle {
    /// By the option to reject. If the agent stops, the next prompt contains the reason.
    ByOption,
    /// By an option id that was not offered and is the reason itself, for agents that pass it to the model as
    /// an error.
    ByReason,
}

impl AcpBackend {
    pub fn new(name: String, settings: VendorSettings, deliverables: Arc<DeliverableService>) -> Self {
        let quirks = AcpQuirks {
            display_name: format!("The agent '{name}'"),
            log_in: "Log in with the agent itself, in the environment in which autonoe starts it: see docs/configuration.md."
                .to_owned(),
            backend: name,
            args: Vec::new(),
            sets_model: true,
            sets_thinking: true,
            thinking_warned: Arc::default(),
            serves_files: true,
            exit_limit: Some(EXIT_LIMIT),
            refusal_style: RefusalStyle::ByOption,
            loads_tools_first: false,
        };
        Self { quirks, settings, deliverables }
    }
}

#[async_trait]
impl Backend for AcpBackend {
    fn name(&self) -> &str {
        &self.quirks.backend
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        open(self.quirks.clone(), &self.settings, &self.deliverables, spec, |_| Vec::new()).await
    }
}

/// Opens a session. `env` returns the variables that configure the access to the model service.
pub(crate) async fn open(
    quirks: AcpQuirks,
    settings: &VendorSettings,
    deliverables: &Arc<DeliverableService>,
    spec: SessionSpec,
    env: impl FnOnce(Option<ServiceAccess>) -> Vec<(String, String)>,
) -> Result<Box<dyn Agent>, Fault> {
    let expected = ExpectedAnswer::new(spec.answer_schema)?;
    let (settings, warnings) = settings.with_login_headers().await;
    let PreparedSession { launch, access, mut vendor_session } =
        settings.prepare(&quirks.display_name, spec.gates, spec.phase, &spec.directory, deliverables).await?;
    vendor_session.warnings = warnings;
    let process = match JsonLineProcess::start(launch.args(&quirks.args).envs(env(access))) {
        Ok(process) => process,
        Err(error) => {
            vendor_session.close().await;
            let message = format!("{} cannot be started: {error}.", quirks.display_name);
            return Err(Fault::transient(FaultLayer::System, "agent_not_started", message));
        }
    };
    let history = spec.history.filter(|history| history["backend"] == quirks.backend.as_str());
    let servers =
        std::iter::once(SERVER.to_owned()).chain(settings.servers.configs.keys().cloned()).collect();
    Ok(Box::new(AcpAgent {
        label: AgentLabel { name: quirks.display_name.clone(), log_in: quirks.log_in.clone() },
        earlier: history.and_then(|history| history["acp_session"].as_str().map(str::to_owned)),
        model: spec.model,
        thinking: spec.thinking,
        guides: guides::read(&settings.root),
        settings,
        quirks,
        expected,
        process,
        vendor_session,
        last_request: 0,
        session: String::new(),
        calls: CallTracker::new(servers),
        terminals: Terminals::default(),
        streaming: None,
        last_text: String::new(),
        cost: None,
        reported_cost: Usd::default(),
        refusals: Vec::new(),
        is_replaying: false,
    }))
}

struct AcpAgent {
    quirks: AcpQuirks,
    label: AgentLabel,
    settings: VendorSettings,
    model: String,
    /// Thinking budget in tokens; `None` if none was asked for.
    thinking: Option<u32>,
    /// The session to resume.
    earlier: Option<String>,
    guides: String,
    expected: ExpectedAnswer,
    process: JsonLineProcess,
    vendor_session: VendorSession,
    /// The id of our last request.
    last_request: u64,
    /// The agent's id of this session.
    session: String,
    calls: CallTracker,
    terminals: Terminals,
    /// The text or thought that is being streamed.
    streaming: Option<(ChunkKind, String)>,
    /// The last complete text of this turn.
    last_text: String,
    /// The cost of the session so far, if the agent reports it.
    cost: Option<Usd>,
    /// The part of it that has been reported.
    reported_cost: Usd,
    /// The reasons of the refusals in this turn.
    refusals: Vec<String>,
    /// Whether the agent is replaying an earlier session.
    is_replaying: bool,
}

#[async_trait]
impl Agent for AcpAgent {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        events(|emitter| async move {
            let ended = self.work(instruction.text, &emitter).await;
            self.flush(&emitter).await;
            self.close_terminals(&emitter).await;
            end_session(ended, self.quirks.exit_limit, &mut self.process, &mut self.vendor_session, &emitter)
                .await;
        })
    }

    async fn dispose(mut self: Box<Self>) -> Vec<String> {
        self.vendor_session.close().await
    }
}

impl AcpAgent {
    async fn work(&mut self, instruction: String, emitter: &Emitter) -> Result<SessionEnd, Fault> {
        match tokio::time::timeout(START_LIMIT, self.start_session(emitter)).await {
            Ok(Ok(())) => {}
            Ok(Err(AcpRequestError::Fault(fault))) => return Err(fault),
            Ok(Err(AcpRequestError::Rejected(error))) => return Ok(self.label.failure(&error)),
            Err(_) => {
                let message =
                    format!("{} was not ready within {} s.", self.quirks.display_name, START_LIMIT.as_secs());
                return Err(Fault::transient(FaultLayer::Agent, "agent_silent", message));
            }
        }
        let history = json!({ "acp_session": self.session, "backend": self.quirks.backend });
        emitter.emit(AgentEvent::Conversation { history }).await;
        let mut prompt = format!("{}{}", self.expected.with_schema(instruction), self.guides);
        for _ in 0..MAX_FOLLOW_UPS {
            self.vendor_session.model_asked(&self.model, emitter).await;
            let content = json!([{ "type": "text", "text": prompt }]);
            let params = json!({ "sessionId": self.session, "prompt": content });
            self.last_text.clear();
            let answer = self.request("session/prompt", params, emitter).await;
            self.end_turn(emitter).await;
            let answer = match answer {
                Ok(answer) => answer,
                Err(AcpRequestError::Fault(fault)) => return Err(fault),
                Err(AcpRequestError::Rejected(error)) => return Ok(self.label.failure(&error)),
            };
            self.report_usage(&answer, emitter).await;
            self.vendor_session.model_answered(None, emitter).await;
            let refusals = std::mem::take(&mut self.refusals);
            if answer["stopReason"] == "cancelled" && !refusals.is_empty() {
                prompt = follow_up(&refusals);
                continue;
            }
            let outcome = self.label.outcome(&answer);
            match self.expected.check(outcome, &self.last_text, emitter).await {
                AnswerCheck::Done(outcome) => return Ok(outcome),
                AnswerCheck::Retry(next) => prompt = next,
            }
        }
        let message = format!(
            "{} did not finish within {MAX_FOLLOW_UPS} turns: each ended with a refusal or an invalid answer.",
            self.quirks.display_name
        );
        Err(Fault::transient(FaultLayer::Agent, "agent_cancelled", message))
    }

    /// Sends a request and handles other messages until the response arrives.
    async fn request(
        &mut self,
        method: &str,
        params: Value,
        emitter: &Emitter,
    ) -> Result<Value, AcpRequestError> {
        self.last_request += 1;
        let request_id = self.last_request;
        self.process
            .send(&json!({ "jsonrpc": "2.0", "id": request_id, "method": method, "params": params }))
            .await;
        loop {
            match self.next(emitter).await? {
                AcpMessage::Response { id, answer } if id == request_id => {
                    return answer.map_err(AcpRequestError::Rejected);
                }
                AcpMessage::Response { .. } | AcpMessage::Ignored | AcpMessage::Unknown(_) => {}
                AcpMessage::Update(update) => self.update(*update, emitter).await?,
                AcpMessage::Request { id, request } => {
                    self.flush(emitter).await;
                    if let Some(answer) = self.answer(&id, request, emitter).await {
                        self.reply(&id, answer).await;
                    }
                }
            }
        }
    }

    async fn reply(&mut self, id: &Value, answer: Result<Value, RpcError>) {
        let answer = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(RpcError { code, message }) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        };
        self.process.send(&answer).await;
    }

    /// The next message; unknown ones are reported here. Terminals are served meanwhile.
    async fn next(&mut self, emitter: &Emitter) -> Result<AcpMessage, AcpRequestError> {
        loop {
            let first = match select(pin!(self.process.next()), pin!(self.terminals.ended())).await {
                Either::Left((output, _)) => Either::Left(output),
                Either::Right((answers, _)) => Either::Right(answers),
            };
            let output = match first {
                Either::Left(output) => output,
                Either::Right(answers) => {
                    for (id, status) in answers {
                        self.reply(&id, Ok(status)).await;
                    }
                    continue;
                }
            };
            match output {
                ProcessOutput::Message(message) => {
                    let message = AcpMessage::read(message);
                    if let Some(kind) = message.unknown_kind() {
                        let noise = ProtocolNoise::UnknownMessage(kind.to_owned());
                        self.vendor_session.noise(noise, emitter).await.map_err(AcpRequestError::Fault)?;
                    }
                    return Ok(message);
                }
                ProcessOutput::Noise(noise) => {
                    self.vendor_session.noise(noise, emitter).await.map_err(AcpRequestError::Fault)?;
                }
                ProcessOutput::End => {
                    return Err(AcpRequestError::Fault(
                        crashed(&self.quirks.display_name, &mut self.process).await,
                    ));
                }
            }
        }
    }

    async fn update(&mut self, update: SessionUpdate, emitter: &Emitter) -> Result<(), AcpRequestError> {
        if self.is_replaying {
            return Ok(());
        }
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                self.stream(ChunkKind::Text, block_text(&chunk.content), emitter).await;
            }
            SessionUpdate::AgentThoughtChunk(chunk) => {
                self.stream(ChunkKind::Thought, block_text(&chunk.content), emitter).await;
            }
            SessionUpdate::ToolCall(call) => {
                self.flush(emitter).await;
                let actions = self.calls.announced(call);
                self.apply(actions, emitter).await;
            }
            SessionUpdate::ToolCallUpdate(update) => {
                self.flush(emitter).await;
                let actions = self.calls.updated(update);
                self.apply(actions, emitter).await;
            }
            SessionUpdate::UsageUpdate(update) => {
                let cost = update.cost.filter(|cost| cost.currency == "USD");
                self.cost = cost.map(|cost| Usd(cost.amount)).or(self.cost);
            }
            SessionUpdate::UserMessageChunk(_)
            | SessionUpdate::Plan(_)
            | SessionUpdate::AvailableCommandsUpdate(_)
            | SessionUpdate::CurrentModeUpdate(_)
            | SessionUpdate::ConfigOptionUpdate(_)
            | SessionUpdate::SessionInfoUpdate(_) => {}
            other => {
                let what = serde_json::to_value(&other).unwrap_or_default();
                let what = what["sessionUpdate"].as_str().unwrap_or("an update").to_owned();
                let noise = ProtocolNoise::UnknownMessage(what);
                self.vendor_session.noise(noise, emitter).await.map_err(AcpRequestError::Fault)?;
            }
        }
        Ok(())
    }

    /// Handles a fragment of text or thought; the whole is reported when something else arrives.
    async fn stream(&mut self, kind: ChunkKind, piece: String, emitter: &Emitter) {
        if self.streaming.as_ref().is_some_and(|(before, _)| *before != kind) {
            self.flush(emitter).await;
        }
        self.streaming.get_or_insert_with(|| (kind, String::new())).1.push_str(&piece);
        emitter.emit(AgentEvent::Chunk { kind, text: piece }).await;
    }

    async fn flush(&mut self, emitter: &Emitter) {
        match self.streaming.take() {
            Some((_, text)) if text.trim().is_empty() => {}
            Some((ChunkKind::Text, text)) => {
                self.last_text.clone_from(&text);
                emitter.emit(AgentEvent::Text { text }).await;
            }
            Some((ChunkKind::Thought, text)) => emitter.emit(AgentEvent::Thinking { text }).await,
            None => {}
        }
    }

    /// Reports changes of a call, and checks a call for which the agent did not ask permission.
    async fn apply(&mut self, actions: CallActions, emitter: &Emitter) {
        if let Some(call) = actions.report {
            emitter.emit(AgentEvent::ToolCall(call)).await;
        }
        if let Some(call) = actions.unapproved
            && let Some(reason) = self.refusal(Some(&call)).await
        {
            self.refuse(&call.first.id, reason, emitter).await;
            let params = json!({ "sessionId": self.session });
            self.process
                .send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }))
                .await;
            return;
        }
        if let Some(CallEnd { id, name, mut content, is_error, terminals }) = actions.result {
            for terminal in terminals {
                content.push_str(&self.terminals.output_for_result(&terminal));
            }
            self.vendor_session.result(emitter, &id, &name, content, is_error).await;
        }
    }

    /// The reason to refuse a call; `None` if it is allowed. A call that cannot be translated is refused.
    async fn refusal(&mut self, call: Option<&TranslatedCall>) -> Option<String> {
        let Some(TranslatedCall { first, others, cwd }) = call else {
            return Some("autonoe cannot determine what this call would do.".to_owned());
        };
        for call in std::iter::once(first).chain(others) {
            let refusal = self.vendor_session.refusal(call, cwd.as_deref()).await;
            if refusal.is_some() {
                return refusal;
            }
        }
        None
    }

    /// Reports a refusal and keeps the reason, in case the agent stops.
    async fn refuse(&mut self, id: &str, reason: String, emitter: &Emitter) {
        let name = self.calls.close(id);
        self.refusals.push(format!("{name}: {reason}"));
        self.vendor_session.result(emitter, id, &name, reason, true).await;
    }

    /// Reports the end of the turn's text and of calls without a result.
    async fn end_turn(&mut self, emitter: &Emitter) {
        self.flush(emitter).await;
        for CallEnd { id, name, content, is_error, .. } in self.calls.unfinished() {
            self.vendor_session.result(emitter, &id, &name, content, is_error).await;
        }
    }

    /// Reports the usage of a turn. If the agent reports none, the cost is unknown, not zero.
    async fn report_usage(&mut self, answer: &Value, emitter: &Emitter) {
        let mut used = usage(answer);
        if used.is_empty() {
            used.push((None, Usage::default()));
        }
        let cost = self.cost.take();
        let mut rest = cost.map(|total| Usd((total.0 - self.reported_cost.0).max(0.0)));
        self.reported_cost = cost.unwrap_or(self.reported_cost);
        for (model, usage) in used {
            let model = model.unwrap_or_else(|| self.model.clone());
            let cost_usd = match &mut rest {
                // The cost is not reported per model, so all of it goes to the first.
                Some(rest) => Some(std::mem::take(rest)),
                None => self.settings.prices.cost(&model, &usage),
            };
            emitter.emit(AgentEvent::Usage(Usage { cost_usd, ..usage })).await;
        }
    }
}

/// Why a request has no result.
enum AcpRequestError {
    Rejected(RpcError),
    /// The session cannot continue.
    Fault(Fault),
}
