//! Claude Code: the vendor's own binary, driven over its control protocol. A hook passes every tool call to
//! our gates; the settings of Claude Code, of the user and of the repository are ignored.

mod message;
mod profile;
mod session_result;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::event::{AgentEvent, Usage};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::gate::ToolCall;
use autonoe_core::money::Usd;
use autonoe_core::outcome::SessionEnd;
use autonoe_core::steering::Steering;
use autonoe_deliverables::{DeliverableService, answer_message};
use autonoe_mcp::{ConfiguredServers, McpTransport};
use serde_json::{Value, json};

use crate::answer::{AnswerCheck, ExpectedAnswer};
use crate::emit::{Emitter, events, model_failure};
use crate::guides;
use crate::sub_agents;
use crate::user_messages::take_messages;
use crate::vendor::{
    EXIT_LIMIT, JsonLineProcess, PreparedSession, ProcessOutput, ProtocolNoise, SERVER, VendorSession,
    VendorSettings, crashed, end_session,
};
use message::{AssistantBlock, ClaudeMessage, ClaudeToolRequest, ClaudeToolResult};
use session_result::ClaudeResult;

pub use profile::PROFILE;

pub const NAME: &str = "claude";

/// The built-in tools that our gates know. Others could act without a check: later, elsewhere, or in another
/// directory.
const TOOLS: &str = "Bash,BashOutput,KillShell,Read,Write,Edit,MultiEdit,NotebookEdit,Glob,Grep,LS,Task,TodoWrite,Skill,WebFetch,WebSearch";

/// No updates, no telemetry, no deferred tools, and few retries, so that errors are reported soon.
const ENVIRONMENT: [(&str, &str); 7] = [
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "4"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("ENABLE_TOOL_SEARCH", "false"),
    ("MCP_TIMEOUT", "60000"),
];

const START_LIMIT: Duration = Duration::from_secs(60);

/// The timeout of our hook; longer than the longest hook of a project, for which our gates wait.
const GATE_SECONDS: u32 = 660;

/// The file with the MCP servers. Their headers may be secret, and other users can read arguments.
const SERVERS: &str = "autonoe-servers.json";

/// The built-in tool for answers with a schema.
const ANSWER_TOOL: &str = "StructuredOutput";

const GATE: &str = "gate";

pub struct ClaudeBackend {
    settings: VendorSettings,
    deliverables: Arc<DeliverableService>,
}

impl ClaudeBackend {
    pub fn new(settings: VendorSettings, deliverables: Arc<DeliverableService>) -> Self {
        Self { settings, deliverables }
    }

    fn arguments(&self, spec: &SessionSpec) -> Vec<String> {
        let servers = self.settings.home.join(SERVERS).display().to_string();
        let mut arguments: Vec<String> = [
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--permission-mode",
            "default",
            "--permission-prompt-tool",
            "stdio",
            "--setting-sources",
            "",
            "--strict-mcp-config",
            "--mcp-config",
            &servers,
            "--tools",
            TOOLS,
            "--model",
            &spec.model,
        ]
        .map(str::to_owned)
        .to_vec();
        if let Some(tokens) = spec.thinking {
            arguments.extend(["--max-thinking-tokens".to_owned(), tokens.to_string()]);
        }
        if let Some(agents) = sub_agents::for_claude(&sub_agents::read(&self.settings.root)) {
            arguments.extend(["--agents".to_owned(), agents]);
        }
        arguments.extend(resume_arguments(spec.history.as_ref()));
        if let Some(schema) = &spec.answer_schema {
            arguments.extend(["--json-schema".to_owned(), schema.to_string()]);
        }
        arguments
    }

    /// The MCP servers in Claude Code's format. Messages for the deliverable tools come over the control
    /// protocol, so no process is started for them.
    fn servers(servers_of_user: &ConfiguredServers) -> Value {
        let mut servers = BTreeMap::from([(SERVER.to_owned(), json!({ "type": "sdk", "name": SERVER }))]);
        for (name, server) in &servers_of_user.configs {
            let entry = match &server.transport {
                McpTransport::Stdio { command, args, env, .. } => {
                    json!({ "type": "stdio", "command": command, "args": args, "env": env.0 })
                }
                McpTransport::Http { url, headers } => {
                    json!({ "type": "http", "url": url, "headers": headers.0 })
                }
            };
            servers.insert(name.clone(), entry);
        }
        json!({ "mcpServers": servers })
    }
}

#[async_trait]
impl Backend for ClaudeBackend {
    fn name(&self) -> &str {
        NAME
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        let (settings, warnings) = self.settings.with_login_headers().await;
        let arguments = self.arguments(&spec);
        let expected = ExpectedAnswer::new(spec.answer_schema)?;
        let PreparedSession { launch, access, mut vendor_session } = settings
            .prepare("Claude Code", spec.gates, spec.phase, &spec.directory, &self.deliverables)
            .await?;
        vendor_session.warnings = warnings;
        settings.write(SERVERS, &Self::servers(&settings.servers).to_string())?;
        let mut env: Vec<(&str, String)> =
            ENVIRONMENT.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        env.push(("CLAUDE_CONFIG_DIR", settings.home.display().to_string()));
        if let Some(access) = access {
            env.extend(access.key.map(|key| ("ANTHROPIC_API_KEY", key)));
            env.extend(access.base_url.map(|url| ("ANTHROPIC_BASE_URL", url)));
        }
        let process = match JsonLineProcess::start(launch.args(arguments).envs(env)) {
            Ok(process) => process,
            Err(error) => {
                vendor_session.close().await;
                let message = format!("Claude Code cannot be started: {error}.");
                return Err(Fault::transient(FaultLayer::System, "agent_not_started", message));
            }
        };
        Ok(Box::new(ClaudeAgent {
            process,
            vendor_session,
            expected,
            guides: guides::read(&settings.root),
            state: ClaudeState::default(),
            steering: spec.steering,
            settings,
            deliverables: Arc::clone(&self.deliverables),
        }))
    }
}

struct ClaudeAgent {
    process: JsonLineProcess,
    vendor_session: VendorSession,
    expected: ExpectedAnswer,
    guides: String,
    state: ClaudeState,
    steering: Steering,
    settings: VendorSettings,
    deliverables: Arc<DeliverableService>,
}

#[derive(Default)]
struct ClaudeState {
    /// Open calls: the name of the tool by call id.
    calls: HashMap<String, String>,
    /// The message whose usage was reported last: each part of a message repeats the usage.
    reported_message: Option<String>,
    /// Tokens of models that are not in our price list; Claude Code reports their cost in the result.
    unpriced: Usage,
    /// The cost reported so far.
    reported_cost: Usd,
    /// The last rejection because of a rate limit, with its reset time.
    limit: Option<Value>,
    /// The number of sub-agents in the background.
    sub_agents: usize,
    /// The answer in the last result.
    answer: String,
    /// The model reported last.
    model: String,
}

#[async_trait]
impl Agent for ClaudeAgent {
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

impl ClaudeAgent {
    async fn work(&mut self, instruction: String, emitter: &Emitter) -> Result<SessionEnd, Fault> {
        let hook = json!({ "matcher": "*", "hookCallbackIds": [GATE], "timeout": GATE_SECONDS });
        self.process
            .send(&json!({
                "type": "control_request",
                "request_id": "begin",
                "request": {
                    "subtype": "initialize", "hooks": { "PreToolUse": [hook] }, "sdkMcpServers": [SERVER],
                },
            }))
            .await;
        match tokio::time::timeout(START_LIMIT, self.ready(emitter)).await {
            Ok(ready) => ready?,
            Err(_) => {
                let message = format!("Claude Code was not ready within {} s.", START_LIMIT.as_secs());
                return Err(Fault::transient(FaultLayer::Agent, "agent_silent", message));
            }
        }
        self.send_user(&format!("{instruction}{}", self.guides)).await;
        loop {
            let message = self.next(emitter).await?;
            let Some(outcome) = self.handle(message, emitter).await else { continue };
            if let (SessionEnd::Completed, Some(text)) = (&outcome, self.messages(emitter).await) {
                self.send_user(&text).await;
                continue;
            }
            match self.expected.check(outcome, &self.state.answer, emitter).await {
                AnswerCheck::Done(outcome) => return Ok(outcome),
                AnswerCheck::Retry(prompt) => self.send_user(&prompt).await,
            }
        }
    }

    /// The messages that the user has sent meanwhile, as one text.
    async fn messages(&self, emitter: &Emitter) -> Option<String> {
        take_messages(&self.steering, emitter).await
    }

    /// Sends a user message.
    async fn send_user(&mut self, text: &str) {
        self.process
            .send(&json!({
                "type": "user",
                "message": { "role": "user", "content": text },
                "parent_tool_use_id": null,
                "session_id": "",
            }))
            .await;
    }

    /// Waits until our hook is registered.
    async fn ready(&mut self, emitter: &Emitter) -> Result<(), Fault> {
        loop {
            match self.next(emitter).await? {
                ClaudeMessage::Response { error: None } => return Ok(()),
                ClaudeMessage::Response { error: Some(error) } => {
                    let message = format!("Claude Code rejected our tool hook: {error}.");
                    return Err(Fault::permanent(FaultLayer::Agent, "agent_protocol", message)
                        .hint("Update Claude Code; `autonoe doctor` shows the oldest supported version."));
                }
                other => {
                    if let Some(outcome) = self.handle(other, emitter).await {
                        return Err(match outcome {
                            SessionEnd::ExecutionError { fault } => fault,
                            other => {
                                let message = format!("Claude Code ended early: {}.", other.name());
                                Fault::transient(FaultLayer::Agent, "agent_crashed", message)
                            }
                        });
                    }
                }
            }
        }
    }

    /// The next message; unknown ones are reported here.
    async fn next(&mut self, emitter: &Emitter) -> Result<ClaudeMessage, Fault> {
        loop {
            match self.process.next().await {
                ProcessOutput::Message(message) => match ClaudeMessage::read(message) {
                    ClaudeMessage::Unknown(kind) => {
                        self.vendor_session.noise(ProtocolNoise::UnknownMessage(kind), emitter).await?;
                    }
                    message => return Ok(message),
                },
                ProcessOutput::Noise(noise) => self.vendor_session.noise(noise, emitter).await?,
                ProcessOutput::End => return Err(crashed("Claude Code", &mut self.process).await),
            }
        }
    }

    /// Handles one message. Returns the outcome if the session has ended.
    async fn handle(&mut self, message: ClaudeMessage, emitter: &Emitter) -> Option<SessionEnd> {
        match message {
            ClaudeMessage::Init { session, model } => {
                let history = json!({ "claude_session": session });
                emitter.emit(AgentEvent::Conversation { history }).await;
                self.vendor_session.model_asked(&model, emitter).await;
                self.state.model = model;
            }
            ClaudeMessage::Assistant { id, model, blocks, usage } => {
                self.assistant(&id, &model, blocks, usage, emitter).await
            }
            ClaudeMessage::ToolResults(results) => self.results(results, emitter).await,
            ClaudeMessage::ToolRequest { id, request } => {
                // A tool is used only after the model has answered.
                self.vendor_session.model_answered(None, emitter).await;
                let answer = self.answer(request, emitter).await;
                let response = json!({ "subtype": "success", "request_id": id, "response": answer });
                self.process.send(&json!({ "type": "control_response", "response": response })).await;
            }
            ClaudeMessage::McpMessage { request, message } => {
                let answer = answer_message(&self.deliverables, &message).await;
                let answer = json!({ "mcp_response": answer.unwrap_or_else(|| json!({ "jsonrpc": "2.0", "result": {} })) });
                let response = json!({ "subtype": "success", "request_id": request, "response": answer });
                self.process.send(&json!({ "type": "control_response", "response": response })).await;
            }
            ClaudeMessage::UnknownRequest { request, what } => {
                let error = format!("autonoe does not support `{what}`");
                let response = json!({ "subtype": "error", "request_id": request, "error": error });
                self.process.send(&json!({ "type": "control_response", "response": response })).await;
            }
            ClaudeMessage::RateLimited(limit) => self.state.limit = Some(limit),
            ClaudeMessage::Retrying { attempt, status, error } => {
                let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
                let message = format!("Claude Code is retrying, attempt {attempt}: {error}{status}.");
                emitter.emit(AgentEvent::Warning { message }).await;
            }
            ClaudeMessage::SubAgents { working } => self.state.sub_agents = working,
            ClaudeMessage::Result(result) => {
                self.report_remaining_cost(&result, emitter).await;
                let outcome = result.outcome(self.state.limit.as_ref());
                self.vendor_session.model_answered(model_failure(&outcome), emitter).await;
                // Claude Code continues by itself when they have ended.
                if self.state.sub_agents > 0 && !result.is_error {
                    return None;
                }
                self.end_open_calls(result.is_error, emitter).await;
                self.state.answer = result.answer;
                return Some(outcome);
            }
            ClaudeMessage::Response { .. } | ClaudeMessage::Ignored | ClaudeMessage::Unknown(_) => {}
        }
        None
    }

    async fn assistant(
        &mut self,
        id: &str,
        model: &str,
        blocks: Vec<AssistantBlock>,
        usage: Usage,
        emitter: &Emitter,
    ) {
        let is_new = self.state.reported_message.as_deref() != Some(id);
        if is_new {
            self.vendor_session.model_asked(model, emitter).await;
        }
        for block in blocks {
            emitter
                .emit(match block {
                    AssistantBlock::Text(text) => AgentEvent::Text { text },
                    AssistantBlock::Thought(text) => AgentEvent::Thinking { text },
                    AssistantBlock::Call(call) => {
                        self.state.calls.insert(call.id.clone(), call.name.clone());
                        AgentEvent::ToolCall(call)
                    }
                })
                .await;
        }
        if !is_new {
            return;
        }
        self.state.reported_message = Some(id.to_owned());
        match self.settings.prices.cost(model, &usage) {
            Some(cost) => {
                self.state.reported_cost += cost;
                emitter.emit(AgentEvent::Usage(Usage { cost_usd: Some(cost), ..usage })).await;
            }
            None => {
                let unpriced = &mut self.state.unpriced;
                unpriced.input_tokens += usage.input_tokens;
                unpriced.output_tokens += usage.output_tokens;
                unpriced.cache_read_tokens += usage.cache_read_tokens;
                unpriced.cache_write_tokens += usage.cache_write_tokens;
            }
        }
    }

    async fn results(&mut self, results: Vec<ClaudeToolResult>, emitter: &Emitter) {
        let mut is_final_answer = true;
        for result in results {
            let name = self.state.calls.remove(&result.id).unwrap_or_default();
            // No model call follows the final answer.
            is_final_answer &= name == ANSWER_TOOL;
            self.vendor_session.result(emitter, &result.id, &name, result.content, result.is_error).await;
        }
        if self.state.calls.is_empty() && !is_final_answer {
            let model = self.state.model.clone();
            self.vendor_session.model_asked(&model, emitter).await;
        }
    }

    /// Reports the end of calls without a result.
    async fn end_open_calls(&mut self, is_error: bool, emitter: &Emitter) {
        for (id, name) in std::mem::take(&mut self.state.calls) {
            let content = "It ran until the session ended.".to_owned();
            self.vendor_session.result(emitter, &id, &name, content, is_error).await;
        }
    }

    /// Reports the part of the total cost that has not been reported yet.
    async fn report_remaining_cost(&mut self, result: &ClaudeResult, emitter: &Emitter) {
        let rest = result.cost.map(|total| Usd((total.0 - self.state.reported_cost.0).max(0.0)));
        let tokens = std::mem::take(&mut self.state.unpriced);
        let is_more = rest.is_some_and(|rest| rest.0 > 0.0) || tokens != Usage::default();
        if is_more {
            self.state.reported_cost += rest.unwrap_or_default();
            emitter.emit(AgentEvent::Usage(Usage { cost_usd: rest, ..tokens })).await;
        }
    }

    /// The decision of the gates, in the format of the request.
    async fn answer(&mut self, request: ClaudeToolRequest, emitter: &Emitter) -> Value {
        let (call, cwd, is_hook) = match request {
            ClaudeToolRequest::Hook { call, cwd } => (call, cwd, true),
            ClaudeToolRequest::Permission { call } => (call, None, false),
        };
        let named = ToolCall { name: gate_name(&call.name), ..call };
        let refusal = match named.name.as_str() {
            // It only answers, and exists only if a schema was requested.
            ANSWER_TOOL if self.expected.schema().is_some() => None,
            _ => self.vendor_session.refusal(&named, cwd.map(PathBuf::from).as_deref()).await,
        };
        match (is_hook, refusal) {
            (true, None) => {
                let mut output = json!({
                    "hookEventName": "PreToolUse", "permissionDecision": "allow",
                    "permissionDecisionReason": "allowed by autonoe's gates",
                });
                // Claude Code shows it to the model together with the tool's result.
                if let Some(text) = self.messages(emitter).await {
                    output["additionalContext"] = json!(text);
                }
                json!({ "hookSpecificOutput": output })
            }
            (true, Some(reason)) => json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
            } }),
            (false, None) => json!({ "behavior": "allow", "updatedInput": named.input }),
            (false, Some(reason)) => json!({ "behavior": "deny", "message": reason }),
        }
    }
}

/// Resumes a copy of an earlier conversation, so that the original can be resumed again if this session
/// fails.
fn resume_arguments(history: Option<&Value>) -> Vec<String> {
    let session = history.and_then(|history| history["claude_session"].as_str());
    session
        .map(|session| ["--resume", session, "--fork-session"].map(str::to_owned).to_vec())
        .unwrap_or_default()
}

/// The tool name that our gates know.
fn gate_name(name: &str) -> String {
    match name {
        "Agent" => "Task",
        "TaskStop" => "KillShell",
        "TaskOutput" => "BashOutput",
        other => other,
    }
    .to_owned()
}
