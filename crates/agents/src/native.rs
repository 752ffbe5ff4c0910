//! The native agent: our own turn loop over a model and tools. This file opens one; `turns` is the loop.

mod compaction;
mod server_record;
mod toolbox;
mod turns;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::event::AgentEvent;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::files::FileRules;
use autonoe_core::instruction::Phase;
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::{DeliverableService, tools_for};
use autonoe_model::{Conversation, ModelChoice, Models, Provider, Tuning};
use autonoe_sandbox::{RoomConfig, SessionSandbox};
use autonoe_tools::{McpHost, McpServers, ServerConfig, ToolOptions, Workspace, builtin};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::answer::{Expected, Next};
use crate::emit::{Emitter, events};
use crate::guides;
use server_record::ServerRecord;
use toolbox::Toolbox;
use turns::Turns;

const SYSTEM_PROMPT: &str = include_str!("native/system.md");

/// What the native backend is made from.
#[derive(Clone)]
pub struct NativeSettings {
    /// The project's directory.
    pub root: PathBuf,
    /// The providers that can be asked.
    pub providers: Vec<Provider>,
    /// How model calls are made; thinking is set per session.
    pub tuning: Tuning,
    /// Where the children of tools run.
    pub room_config: RoomConfig,
    /// The rules that files are put to when a tool opens them.
    pub file_rules: PhaseRules,
    /// Where outputs are saved that are too long for a model.
    pub outputs: PathBuf,
    /// What the built-in tools need beside the project.
    pub tools: ToolOptions,
    /// The MCP servers that are started for each session.
    pub mcp_servers: BTreeMap<String, ServerConfig>,
}

/// The file rules of each phase.
pub type PhaseRules = Arc<dyn Fn(Phase) -> Arc<dyn FileRules> + Send + Sync>;

/// Opens native agents.
pub struct NativeBackend {
    settings: NativeSettings,
    models: Models,
    deliverables: Arc<DeliverableService>,
    /// What its sessions have learned of the MCP servers.
    servers: Arc<ServerRecord>,
}

impl NativeBackend {
    /// A backend whose agents work on deliverables through the given service.
    pub fn new(settings: NativeSettings, deliverables: Arc<DeliverableService>) -> Result<Self, Fault> {
        Ok(Self { settings, models: Models::new()?, deliverables, servers: Arc::default() })
    }
}

#[async_trait]
impl Backend for NativeBackend {
    fn name(&self) -> &str {
        "native"
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        let settings = &self.settings;
        let expected = Expected::new(spec.answer)?;
        let choice = ModelChoice::parse(&spec.model, &settings.providers)?;
        let provider = choice.provider_among(&settings.providers)?;
        let tuning = Tuning { thinking: spec.thinking, ..settings.tuning.clone() };
        let model = self.models.open(&provider, &choice.model, &tuning)?;
        let session_sandbox = Arc::new(SessionSandbox::new(settings.room_config.clone()));
        let rules = (settings.file_rules)(spec.phase);
        let workspace =
            Workspace::new(&settings.root, Arc::clone(&session_sandbox), rules, &settings.outputs)
                .map_err(|error| Fault::lasting(Layer::System, "workspace", error.to_string()))?;
        let workspace = Arc::new(workspace);
        self.deliverables.enter(spec.phase);
        let fixed =
            builtin(&workspace, &settings.tools).into_iter().chain(tools_for(spec.phase, &self.deliverables));
        let servers = (!settings.mcp_servers.is_empty()).then(|| {
            McpServers::start(
                settings.mcp_servers.clone(),
                McpHost::new(&settings.root, Arc::clone(&session_sandbox)),
            )
        });
        let tools = Toolbox::new(
            fixed.collect(),
            spec.phase.may_write(),
            servers,
            Arc::clone(&self.servers),
            workspace,
            spec.gates,
            spec.stop.clone(),
        );
        let system = SYSTEM_PROMPT.replace("{project}", &settings.root.display().to_string());
        let system = format!("{system}{}", guides::read(&settings.root));
        let turns = Turns { model, tools, session_sandbox, system };
        Ok(Box::new(NativeAgent { turns, expected, history: spec.history, stop: spec.stop }))
    }
}

/// One opened native agent.
struct NativeAgent {
    turns: Turns,
    expected: Expected,
    /// The conversation to resume.
    history: Option<Value>,
    stop: CancellationToken,
}

#[async_trait]
impl Agent for NativeAgent {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        events(|emitter| async move {
            for message in self.turns.tools.gather().await {
                emitter.emit(AgentEvent::Trouble { message }).await;
            }
            let instruction = self.expected.told(instruction.text);
            let mut conversation = self.begin(instruction, &emitter).await;
            let outcome = self.hold(&mut conversation, &emitter).await;
            for message in self.turns.close().await {
                emitter.emit(AgentEvent::Trouble { message }).await;
            }
            emitter.emit(AgentEvent::End { outcome }).await;
        })
    }

    async fn dispose(self: Box<Self>) -> Vec<String> {
        self.stop.cancel();
        // After an interrupt the stream was dropped before its end.
        self.turns.close_at_once().await
    }
}

impl NativeAgent {
    /// A new conversation, or the one that is taken up.
    async fn begin(&mut self, instruction: String, emitter: &Emitter) -> Conversation {
        let definitions = self.turns.tools.definitions();
        if let Some(history) = self.history.take() {
            match Conversation::from_json(history) {
                Ok(mut conversation) => {
                    conversation.equip(&self.turns.system, definitions);
                    conversation.ask(&instruction);
                    return conversation;
                }
                Err(fault) => emitter.emit(AgentEvent::Trouble { message: fault.message }).await,
            }
        }
        Conversation::new(&self.turns.system, definitions, instruction)
    }

    /// Holds the conversation until it has come to the answer that is expected of it.
    async fn hold(&mut self, conversation: &mut Conversation, emitter: &Emitter) -> SessionEnd {
        loop {
            let (outcome, words) = self.turns.hold(conversation, emitter).await;
            match self.expected.settle(outcome, &words, emitter).await {
                Next::Ended(outcome) => return outcome,
                Next::Again(words) => conversation.ask(&words),
            }
        }
    }
}
