//! The native agent: our own turn loop over a model and tools. This file opens sessions; `turns` is the loop.

mod compaction;
mod server_record;
mod toolbox;
mod turns;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec, start_directory};
use autonoe_core::event::AgentEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::files::FileRules;
use autonoe_core::instruction::Phase;
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::{DeliverableService, tools_for};
use autonoe_mcp::{ConfiguredServers, McpHost, McpServers};
use autonoe_model::{Conversation, ModelChoice, ModelClient, Provider, Tuning};
use autonoe_sandbox::{RoomConfig, SessionSandbox};
use autonoe_tools::{ToolOptions, Workspace, builtin};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::answer::{AnswerCheck, ExpectedAnswer};
use crate::emit::{Emitter, events};
use crate::guides;
use crate::sub_agents;
use server_record::ServerRecord;
use toolbox::Toolbox;
use turns::Turns;

/// For planning and for the other phases.
pub const DEFAULT_MODELS: (&str, &str) = ("opus", "sonnet");

const SYSTEM_PROMPT: &str = include_str!("native/system.md");

#[derive(Clone)]
pub struct NativeSettings {
    pub root: PathBuf,
    pub providers: Vec<Provider>,
    /// `thinking` is overridden per session.
    pub tuning: Tuning,
    /// The room of the processes that tools start.
    pub room_config: RoomConfig,
    /// The rules that are checked when a tool opens a file.
    pub file_rules: PhaseRules,
    /// The directory for outputs that are too long for a model.
    pub outputs: PathBuf,
    pub tools: ToolOptions,
    /// Started for each session.
    pub mcp_servers: ConfiguredServers,
}

pub type PhaseRules = Arc<dyn Fn(Phase) -> Arc<dyn FileRules> + Send + Sync>;

pub struct NativeBackend {
    settings: NativeSettings,
    models: ModelClient,
    deliverables: Arc<DeliverableService>,
    /// Shared by all sessions of the run.
    servers: Arc<ServerRecord>,
}

impl NativeBackend {
    pub fn new(settings: NativeSettings, deliverables: Arc<DeliverableService>) -> Result<Self, Fault> {
        Ok(Self { settings, models: ModelClient::new()?, deliverables, servers: Arc::default() })
    }
}

#[async_trait]
impl Backend for NativeBackend {
    fn name(&self) -> &str {
        "native"
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        let settings = &self.settings;
        let expected = ExpectedAnswer::new(spec.answer_schema)?;
        let choice = ModelChoice::parse(&spec.model, &settings.providers)?;
        let provider = choice.provider_among(&settings.providers)?;
        let tuning = Tuning { thinking: spec.thinking, ..settings.tuning.clone() };
        let model = self.models.open(&provider, &choice.model, &tuning)?;
        let session_sandbox = SessionSandbox::of_agent(settings.room_config.clone());
        let rules = (settings.file_rules)(spec.phase);
        let workspace =
            Workspace::new(&settings.root, Arc::clone(&session_sandbox), rules, &settings.outputs)
                .map_err(|error| Fault::permanent(FaultLayer::System, "workspace", error.to_string()))?;
        // Stays in the project itself if there is no such directory.
        workspace.enter(&start_directory(workspace.root(), &spec.directory));
        let workspace = Arc::new(workspace);
        self.deliverables.enter(spec.phase);
        let fixed =
            builtin(&workspace, &settings.tools).into_iter().chain(tools_for(spec.phase, &self.deliverables));
        let ConfiguredServers { configs, logins } = settings.mcp_servers.clone();
        let servers = (!configs.is_empty()).then(|| {
            let host = McpHost::new(&settings.root, Arc::clone(&session_sandbox));
            McpServers::start(configs, McpHost { logins, ..host })
        });
        let tools = Toolbox::new(
            fixed.collect(),
            spec.phase.may_write().then(|| sub_agents::read(&settings.root)),
            servers,
            Arc::clone(&self.servers),
            workspace,
            spec.gates,
            spec.stop.clone(),
        );
        let shown = settings.room_config.bounds.shown(&settings.root);
        let system = SYSTEM_PROMPT.replace("{project}", &shown.display().to_string());
        let system = format!("{system}{}", guides::read(&settings.root));
        let steering = spec.steering;
        let turns = Turns { model, tools, session_sandbox, system, task_turns: AtomicU32::new(0), steering };
        Ok(Box::new(NativeAgent { turns, expected, history: spec.history, stop: spec.stop }))
    }
}

struct NativeAgent {
    turns: Turns,
    expected: ExpectedAnswer,
    /// The conversation to resume.
    history: Option<Value>,
    stop: CancellationToken,
}

#[async_trait]
impl Agent for NativeAgent {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        events(|emitter| async move {
            for message in self.turns.tools.wait_for_servers().await {
                emitter.emit(AgentEvent::Warning { message }).await;
            }
            let instruction = self.expected.with_schema(instruction.text);
            let mut conversation = self.begin(instruction, &emitter).await;
            let outcome = self.run(&mut conversation, &emitter).await;
            for message in self.turns.close().await {
                emitter.emit(AgentEvent::Warning { message }).await;
            }
            emitter.emit(AgentEvent::End { outcome }).await;
        })
    }

    async fn dispose(self: Box<Self>) -> Vec<String> {
        self.stop.cancel();
        // After an interrupt the stream was dropped before it could close the session.
        self.turns.close_at_once().await
    }
}

impl NativeAgent {
    /// A new conversation, or the earlier one with the instruction appended.
    async fn begin(&mut self, instruction: String, emitter: &Emitter) -> Conversation {
        let definitions = self.turns.tools.definitions();
        if let Some(history) = self.history.take() {
            match Conversation::from_json(history) {
                Ok(mut conversation) => {
                    conversation.set_system_and_tools(&self.turns.system, definitions);
                    conversation.push_user(&instruction);
                    return conversation;
                }
                Err(fault) => emitter.emit(AgentEvent::Warning { message: fault.message }).await,
            }
        }
        Conversation::new(&self.turns.system, definitions, instruction)
    }

    /// Runs turns until the answer is valid.
    async fn run(&mut self, conversation: &mut Conversation, emitter: &Emitter) -> SessionEnd {
        loop {
            let (outcome, text) = self.turns.run(conversation, emitter).await;
            match self.expected.check(outcome, &text, emitter).await {
                AnswerCheck::Done(outcome) => return outcome,
                AnswerCheck::Retry(prompt) => conversation.push_user(&prompt),
            }
        }
    }
}
