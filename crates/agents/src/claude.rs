//! Claude Code: the vendor's own binary, driven over its control protocol. Every tool call is put to our gates by a hook
//! that it must ask; its own settings, the user's and the repository's are left out.

mod ending;
mod message;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::event::{AgentEvent, Usage};
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::gate::ToolCall;
use autonoe_core::money::Usd;
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::{DeliverableService, answer_message};
use autonoe_tools::Way;
use serde_json::{Value, json};

use crate::answer::{Expected, Next};
use crate::emit::{Emitter, events, model_failure};
use crate::guides;
use crate::vendor::{
    EXIT_LIMIT, Heard, JsonLineProcess, SERVER, Start, VendorSession, VendorSettings, conclude, crashed,
};
use ending::Ending;
use message::{Asked, Block, CallResult, Message};

/// What it is called.
pub const NAME: &str = "claude";

/// Its tools that our gates know. The others could act where nobody asks us: later, elsewhere, or in another directory.
const TOOLS: &str = "Bash,BashOutput,KillShell,Read,Write,Edit,MultiEdit,NotebookEdit,Glob,Grep,LS,Task,TodoWrite,Skill,WebFetch,WebSearch";

/// Nothing but the work: no updates, no telemetry, no deferred tools, and errors that are told before the night is over.
const QUIET: [(&str, &str); 7] = [
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "4"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("ENABLE_TOOL_SEARCH", "false"),
    ("MCP_TIMEOUT", "60000"),
];

/// How long it may take to be ready.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How long it waits for our gates, in seconds.
const GATE_SECONDS: u32 = 60;

/// The file that tells it of MCP servers. Their headers may be secrets, and arguments can be seen by everybody.
const SERVERS: &str = "autonoe-servers.json";

/// The tool with which it answers in the form that was asked for.
const ANSWER_TOOL: &str = "StructuredOutput";

/// The name of our hook.
const GATE: &str = "gate";

/// Opens sessions of Claude Code.
pub struct ClaudeBackend {
    settings: VendorSettings,
    deliverables: Arc<DeliverableService>,
}

impl ClaudeBackend {
    /// A backend whose agents work on deliverables through the given service.
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
        arguments.extend(taking_up(spec.history.as_ref()));
        if let Some(schema) = &spec.answer {
            arguments.extend(["--json-schema".to_owned(), schema.to_string()]);
        }
        arguments
    }

    /// The MCP servers, in its own form. It hands us what it says to that of the deliverable tools, so that no program is
    /// started for it.
    fn servers(&self) -> Value {
        let mut servers = BTreeMap::from([(SERVER.to_owned(), json!({ "type": "sdk", "name": SERVER }))]);
        for (name, server) in &self.settings.servers {
            let described = match &server.way {
                Way::Stdio { command, args, env, .. } => {
                    json!({ "type": "stdio", "command": command, "args": args, "env": env.0 })
                }
                Way::Http { url, headers } => json!({ "type": "http", "url": url, "headers": headers.0 }),
            };
            servers.insert(name.clone(), described);
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
        let (arguments, servers) = (self.arguments(&spec), self.servers());
        let expected = Expected::new(spec.answer)?;
        let Start { launch, reach, mut vendor_session } =
            self.settings.prepare("Claude Code", spec.gates, spec.phase, &self.deliverables).await?;
        self.settings.write(SERVERS, &servers.to_string())?;
        let mut env: Vec<(&str, String)> =
            QUIET.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        env.push(("CLAUDE_CONFIG_DIR", self.settings.home.display().to_string()));
        if let Some(reach) = reach {
            env.extend(reach.key.map(|key| ("ANTHROPIC_API_KEY", key)));
            env.extend(reach.base_url.map(|url| ("ANTHROPIC_BASE_URL", url)));
        }
        let talk = match JsonLineProcess::start(launch.args(arguments).envs(env)) {
            Ok(talk) => talk,
            Err(error) => {
                vendor_session.close().await;
                let message = format!("Claude Code cannot be started: {error}.");
                return Err(Fault::passing(Layer::System, "agent_not_started", message));
            }
        };
        Ok(Box::new(ClaudeAgent {
            talk,
            vendor_session,
            expected,
            guides: guides::read(&self.settings.root),
            seen: Seen::default(),
            settings: self.settings.clone(),
            deliverables: Arc::clone(&self.deliverables),
        }))
    }
}

/// One session of Claude Code.
struct ClaudeAgent {
    talk: JsonLineProcess,
    vendor_session: VendorSession,
    expected: Expected,
    guides: String,
    seen: Seen,
    settings: VendorSettings,
    deliverables: Arc<DeliverableService>,
}

/// What has been seen of a session so far.
#[derive(Default)]
struct Seen {
    /// The tools of calls that have not been answered.
    calls: HashMap<String, String>,
    /// The message whose tokens were booked last: each of its parts repeats them.
    booked: Option<String>,
    /// Tokens whose price is not in our list; the vendor tells their cost in the end.
    unpriced: Usage,
    /// What was booked with a price.
    priced: Usd,
    /// The vendor's word that a limit is reached, and when it ends.
    limit: Option<Value>,
    /// Sub-agents that work in the background.
    sub_agents: usize,
    /// What it answered in the end.
    answer: String,
    /// The model that it named last.
    model: String,
}

#[async_trait]
impl Agent for ClaudeAgent {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        events(|emitter| async move {
            let ended = self.work(instruction.text, &emitter).await;
            conclude(ended, Some(EXIT_LIMIT), &mut self.talk, &mut self.vendor_session, &emitter).await;
        })
    }

    async fn dispose(mut self: Box<Self>) -> Vec<String> {
        self.vendor_session.close().await
    }
}

impl ClaudeAgent {
    /// From the instruction to the result.
    async fn work(&mut self, instruction: String, emitter: &Emitter) -> Result<SessionEnd, Fault> {
        let hook = json!({ "matcher": "*", "hookCallbackIds": [GATE], "timeout": GATE_SECONDS });
        self.talk
            .say(&json!({
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
                return Err(Fault::passing(Layer::Agent, "agent_silent", message));
            }
        }
        self.tell(&format!("{instruction}{}", self.guides)).await;
        loop {
            let message = self.next(emitter).await?;
            let Some(outcome) = self.take(message, emitter).await else { continue };
            match self.expected.settle(outcome, &self.seen.answer, emitter).await {
                Next::Ended(outcome) => return Ok(outcome),
                Next::Again(words) => self.tell(&words).await,
            }
        }
    }

    /// Says something to it, as its user.
    async fn tell(&mut self, words: &str) {
        self.talk
            .say(&json!({
                "type": "user",
                "message": { "role": "user", "content": words },
                "parent_tool_use_id": null,
                "session_id": "",
            }))
            .await;
    }

    /// Waits until our hook is in its place.
    async fn ready(&mut self, emitter: &Emitter) -> Result<(), Fault> {
        loop {
            match self.next(emitter).await? {
                Message::Answered { error: None } => return Ok(()),
                Message::Answered { error: Some(error) } => {
                    let message = format!("Claude Code does not take our gates: {error}.");
                    return Err(Fault::lasting(Layer::Agent, "agent_protocol", message)
                        .hint("Update Claude Code; `autonoe doctor` tells the oldest version that is known to work."));
                }
                other => {
                    if let Some(outcome) = self.take(other, emitter).await {
                        return Err(match outcome {
                            SessionEnd::ExecutionError { fault } => fault,
                            other => {
                                let message = format!("Claude Code ended early: {}.", other.name());
                                Fault::passing(Layer::Agent, "agent_crashed", message)
                            }
                        });
                    }
                }
            }
        }
    }

    async fn next(&mut self, emitter: &Emitter) -> Result<Message, Fault> {
        loop {
            match self.talk.hear().await {
                Heard::Message(message) => return Ok(Message::read(message)),
                Heard::Noise(text) => {
                    let message = format!("Claude Code said something that is not a message: {text}");
                    emitter.emit(AgentEvent::Trouble { message }).await;
                }
                Heard::End => return Err(crashed("Claude Code", &mut self.talk).await),
            }
        }
    }

    /// Acts on one message; the outcome, if it is the last one.
    async fn take(&mut self, message: Message, emitter: &Emitter) -> Option<SessionEnd> {
        match message {
            Message::Begun { session, model } => {
                let history = json!({ "claude_session": session });
                emitter.emit(AgentEvent::Conversation { history }).await;
                self.vendor_session.asks(&model, emitter).await;
                self.seen.model = model;
            }
            Message::Said { id, model, blocks, usage } => {
                self.said(&id, &model, blocks, usage, emitter).await
            }
            Message::Results(results) => self.results(results, emitter).await,
            Message::Asks { request, asked } => {
                // Anyone who is about to use a tool has heard the model out.
                self.vendor_session.answered(None, emitter).await;
                let answer = self.answer(asked).await;
                let response = json!({ "subtype": "success", "request_id": request, "response": answer });
                self.talk.say(&json!({ "type": "control_response", "response": response })).await;
            }
            Message::ToServer { request, message } => {
                let answer = answer_message(&self.deliverables, &message).await;
                let answer = json!({ "mcp_response": answer.unwrap_or_else(|| json!({ "jsonrpc": "2.0", "result": {} })) });
                let response = json!({ "subtype": "success", "request_id": request, "response": answer });
                self.talk.say(&json!({ "type": "control_response", "response": response })).await;
            }
            Message::AsksWhatWeDoNotKnow { request, what } => {
                let error = format!("autonoe does not know `{what}`");
                let response = json!({ "subtype": "error", "request_id": request, "error": error });
                self.talk.say(&json!({ "type": "control_response", "response": response })).await;
            }
            Message::Limited(limit) => self.seen.limit = Some(limit),
            Message::Retries { attempt, status, error } => {
                let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
                let message = format!("Claude Code tries again, attempt {attempt}: {error}{status}.");
                emitter.emit(AgentEvent::Trouble { message }).await;
            }
            Message::SubAgents { working } => self.seen.sub_agents = working,
            Message::Ended(ending) => {
                self.book_the_rest(&ending, emitter).await;
                let outcome = ending.outcome(self.seen.limit.as_ref());
                self.vendor_session.answered(model_failure(&outcome), emitter).await;
                // It goes on by itself when they have ended.
                if self.seen.sub_agents > 0 && !ending.is_error {
                    return None;
                }
                self.end_what_is_open(ending.is_error, emitter).await;
                self.seen.answer = ending.answer;
                return Some(outcome);
            }
            Message::Answered { .. } | Message::Silent => {}
            Message::Unknown(what) => {
                let message = format!("Claude Code said something unknown to autonoe: {what}.");
                emitter.emit(AgentEvent::Trouble { message }).await;
            }
        }
        None
    }

    async fn said(&mut self, id: &str, model: &str, blocks: Vec<Block>, usage: Usage, emitter: &Emitter) {
        let is_new = self.seen.booked.as_deref() != Some(id);
        if is_new {
            self.vendor_session.asks(model, emitter).await;
        }
        for block in blocks {
            emitter
                .emit(match block {
                    Block::Text(text) => AgentEvent::Text { text },
                    Block::Thought(text) => AgentEvent::Thinking { text },
                    Block::Call(call) => {
                        self.seen.calls.insert(call.id.clone(), call.name.clone());
                        AgentEvent::ToolCall(call)
                    }
                })
                .await;
        }
        if !is_new {
            return;
        }
        self.seen.booked = Some(id.to_owned());
        match self.settings.prices.cost(model, &usage) {
            Some(cost) => {
                self.seen.priced += cost;
                emitter.emit(AgentEvent::Usage(Usage { cost_usd: Some(cost), ..usage })).await;
            }
            None => {
                let kept = &mut self.seen.unpriced;
                kept.input_tokens += usage.input_tokens;
                kept.output_tokens += usage.output_tokens;
                kept.cache_read_tokens += usage.cache_read_tokens;
                kept.cache_write_tokens += usage.cache_write_tokens;
            }
        }
    }

    async fn results(&mut self, results: Vec<CallResult>, emitter: &Emitter) {
        let mut is_over = true;
        for result in results {
            let name = self.seen.calls.remove(&result.id).unwrap_or_default();
            // After its answer the model is not asked again.
            is_over &= name == ANSWER_TOOL;
            self.vendor_session.result(emitter, &result.id, &name, result.content, result.is_error).await;
        }
        if self.seen.calls.is_empty() && !is_over {
            let model = self.seen.model.clone();
            self.vendor_session.asks(&model, emitter).await;
        }
    }

    /// Tells of calls that nothing more will be heard of.
    async fn end_what_is_open(&mut self, is_error: bool, emitter: &Emitter) {
        for (id, name) in std::mem::take(&mut self.seen.calls) {
            let content = "It ran until the session ended.".to_owned();
            self.vendor_session.result(emitter, &id, &name, content, is_error).await;
        }
    }

    /// What the vendor says that it cost, beyond what is booked already.
    async fn book_the_rest(&mut self, ending: &Ending, emitter: &Emitter) {
        let rest = ending.cost.map(|total| Usd((total.0 - self.seen.priced.0).max(0.0)));
        let tokens = std::mem::take(&mut self.seen.unpriced);
        let is_more = rest.is_some_and(|rest| rest.0 > 0.0) || tokens != Usage::default();
        if is_more {
            self.seen.priced += rest.unwrap_or_default();
            emitter.emit(AgentEvent::Usage(Usage { cost_usd: rest, ..tokens })).await;
        }
    }

    /// What the gates say, in the form of the question.
    async fn answer(&mut self, asked: Asked) -> Value {
        let (call, cwd, is_hook) = match asked {
            Asked::Hook { call, cwd } => (call, cwd, true),
            Asked::Permission { call } => (call, None, false),
        };
        let named = ToolCall { name: known_name(&call.name), ..call };
        let refusal = match named.name.as_str() {
            // It does nothing but answer, and is there only where a form was asked for.
            ANSWER_TOOL if self.expected.schema().is_some() => None,
            _ => self.vendor_session.refusal(&named, cwd.map(PathBuf::from).as_deref()).await,
        };
        match (is_hook, refusal) {
            (true, None) => json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "allow",
                "permissionDecisionReason": "autonoe's gates allow it",
            } }),
            (true, Some(reason)) => json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
            } }),
            (false, None) => json!({ "behavior": "allow", "updatedInput": named.input }),
            (false, Some(reason)) => json!({ "behavior": "deny", "message": reason }),
        }
    }
}

/// How it is told to resume an earlier conversation: in a copy, so that the earlier one can be taken up again, whatever
/// becomes of this session.
fn taking_up(history: Option<&Value>) -> Vec<String> {
    let session = history.and_then(|history| history["claude_session"].as_str());
    session
        .map(|session| ["--resume", session, "--fork-session"].map(str::to_owned).to_vec())
        .unwrap_or_default()
}

/// The name by which our gates know a tool.
fn known_name(name: &str) -> String {
    match name {
        "Agent" => "Task",
        "TaskStop" => "KillShell",
        "TaskOutput" => "BashOutput",
        other => other,
    }
    .to_owned()
}
