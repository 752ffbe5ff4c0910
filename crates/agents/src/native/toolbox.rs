//! The tools of a session: built-in tools, deliverable tools, tools of MCP servers, and Task.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use autonoe_core::gate::{Gate, GateContext, GateRuling, ToolCall, ask_in};
use autonoe_mcp::{DEFAULT_START_LIMIT, McpServers};
use autonoe_model::ToolDefinition;
use autonoe_tools::{Tool, ToolContext, ToolErrorCode, ToolOutput, ToolSpec, Workspace};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::server_record::ServerRecord;
use crate::hook_room::HookRoom;
use crate::sub_agents::SubAgent;

/// The tool that starts a sub-agent.
pub(super) const TASK: &str = "Task";

/// The sub-agent without instructions of its own.
const GENERAL: &str = "general-purpose";

/// How long a session waits for its MCP servers before it starts. Tools that are known from the first request
/// on are more likely to be used, and the provider's cache of the request stays valid.
const SERVER_WAIT: Duration = Duration::from_secs(5);

pub(super) struct CallOutcome {
    pub output: ToolOutput,
    pub ruling: GateRuling,
}

impl CallOutcome {
    pub(super) fn ok(text: String) -> Self {
        Self { output: ToolOutput::ok(text), ruling: GateRuling::Allowed }
    }

    pub(super) fn failed(code: ToolErrorCode, message: impl Into<String>) -> Self {
        Self { output: ToolOutput::error(code, message), ruling: GateRuling::Allowed }
    }
}

pub(super) struct Toolbox {
    fixed: Vec<(ToolSpec, Arc<dyn Tool>)>,
    servers: Option<McpServers>,
    record: Arc<ServerRecord>,
    /// The generation of the servers' tools that was last sent to the model.
    sent_generation: AtomicU64,
    workspace: Arc<Workspace>,
    hook_room: HookRoom,
    gates: Vec<Arc<dyn Gate>>,
    stop: CancellationToken,
    /// The sub-agents that the Task tool names; `None` if there is no such tool.
    tasks: Option<Vec<SubAgent>>,
}

impl Toolbox {
    pub(super) fn new(
        fixed: Vec<Arc<dyn Tool>>,
        tasks: Option<Vec<SubAgent>>,
        servers: Option<McpServers>,
        record: Arc<ServerRecord>,
        workspace: Arc<Workspace>,
        gates: Vec<Arc<dyn Gate>>,
        stop: CancellationToken,
    ) -> Self {
        let fixed = fixed.into_iter().map(|tool| (tool.spec(), tool)).collect();
        let hook_room = HookRoom::new(workspace.session_sandbox(), workspace.root());
        let sent_generation = AtomicU64::new(0);
        Self { fixed, servers, record, sent_generation, workspace, hook_room, gates, stop, tasks }
    }

    /// The currently available tools, for the model.
    pub(super) fn definitions(&self) -> Vec<ToolDefinition> {
        if let Some(servers) = &self.servers {
            self.sent_generation.store(servers.generation(), Ordering::Relaxed);
        }
        let mut definitions = self.definitions_for_task();
        definitions.extend(self.tasks.as_deref().map(task_definition));
        definitions
    }

    /// The tools of a sub-agent, which cannot start further sub-agents.
    pub(super) fn definitions_for_task(&self) -> Vec<ToolDefinition> {
        let fixed = self.fixed.iter().map(|(spec, _)| spec.clone());
        let served = self.served().into_iter().map(|tool| tool.spec());
        let defined = fixed.chain(served).map(|spec| ToolDefinition {
            name: spec.name,
            description: spec.description,
            input_schema: spec.input_schema,
        });
        defined.collect()
    }

    /// The sub-agent that a Task call names; an error for the model if there is none of this name. `None` is one without instructions of its own.
    pub(super) fn sub_agent(&self, arguments: &Value) -> Result<Option<&SubAgent>, String> {
        let named = arguments.get("subagent_type").and_then(Value::as_str).filter(|name| !name.is_empty());
        let Some(name) = named.filter(|name| *name != GENERAL) else { return Ok(None) };
        let known = self.tasks.as_deref().unwrap_or_default();
        known.iter().find(|agent| agent.name == name).map(Some).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|agent| agent.name.as_str()).chain([GENERAL]).collect();
            format!("There is no sub-agent '{name}'. Available: {}.", names.join(", "))
        })
    }

    /// Whether tools have been added or removed since the last [`definitions`](Self::definitions).
    pub(super) fn have_changed(&self) -> bool {
        let now = self.servers.as_ref().map_or(0, McpServers::generation);
        now != self.sent_generation.load(Ordering::Relaxed)
    }

    /// Waits for the servers, at most [`SERVER_WAIT`]; tools of later ones are added when they are ready.
    /// Servers that were not ready during an earlier session are not waited for. Returns messages about slow
    /// servers, each once per run.
    pub(super) async fn wait_for_servers(&self) -> Vec<String> {
        let Some(servers) = &self.servers else {
            return Vec::new();
        };
        let slow = self.record.slow();
        let settled = self.stop.run_until_cancelled(servers.settled_except(&slow));
        match tokio::time::timeout(SERVER_WAIT, settled).await {
            Ok(_) => Vec::new(),
            Err(_) => {
                let late = servers.pending().difference(&slow).cloned().collect();
                self.record.timed_out(&late, SERVER_WAIT, DEFAULT_START_LIMIT)
            }
        }
    }

    /// Problems of servers that have not been reported in this run.
    pub(super) fn problems(&self) -> Vec<String> {
        self.record.unreported(self.servers.as_ref().map(McpServers::problems).unwrap_or_default())
    }

    /// Whether a tool is read-only, so that several calls may run at the same time.
    pub(super) fn is_read_only(&self, name: &str) -> bool {
        match self.fixed.iter().find(|(spec, _)| spec.name == name) {
            Some((spec, _)) => spec.read_only,
            None => {
                self.served().iter().map(|tool| tool.spec()).any(|spec| spec.name == name && spec.read_only)
            }
        }
    }

    /// Checks a call with the gates and, if they allow it, runs it.
    pub(super) async fn call(&self, call: ToolCall) -> CallOutcome {
        let Some(tool) = self.find(&call.name) else {
            let names: Vec<_> = self.definitions_for_task().into_iter().map(|tool| tool.name).collect();
            let message = format!("There is no tool '{}'. Available tools: {}.", call.name, names.join(", "));
            return CallOutcome::failed(ToolErrorCode::NotFound, message);
        };
        if !call.input.is_object() {
            let message = "The arguments are not a JSON object. Call the tool again with valid arguments.";
            return CallOutcome::failed(ToolErrorCode::ValidationError, message);
        }
        if let Some(denial) = self.denial(&call).await {
            return denial;
        }
        let mut context = ToolContext::new(self.stop.child_token());
        context.call_id = Some(call.id);
        let output = autonoe_tools::call(tool.as_ref(), call.input, &context, self.workspace.outputs()).await;
        CallOutcome { output, ruling: GateRuling::Allowed }
    }

    /// The outcome of a refused call; `None` if the gates allow it.
    pub(super) async fn denial(&self, call: &ToolCall) -> Option<CallOutcome> {
        let cwd = self.workspace.cwd();
        let context = GateContext { cwd: Some(&cwd), hook_runner: Some(&self.hook_room) };
        match ask_in(&self.gates, call, context).await {
            GateRuling::Allowed => None,
            GateRuling::Denied { gate, reason } => {
                let output = ToolOutput::error(ToolErrorCode::PermissionDenied, format!("Denied: {reason}"));
                Some(CallOutcome { output, ruling: GateRuling::Denied { gate, reason } })
            }
        }
    }

    /// Stops the servers and the hooks. Returns warnings.
    pub(super) async fn close(&self) -> Vec<String> {
        if let Some(servers) = &self.servers {
            self.record.session_ended(&servers.pending());
            servers.close().await;
        }
        self.hook_room.close().await
    }

    fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let fixed = self.fixed.iter().find(|(spec, _)| spec.name == name).map(|(_, tool)| Arc::clone(tool));
        fixed.or_else(|| self.served().into_iter().find(|tool| tool.spec().name == name))
    }

    fn served(&self) -> Vec<Arc<dyn Tool>> {
        self.servers.as_ref().map(McpServers::tools).unwrap_or_default()
    }
}

fn task_definition(sub_agents: &[SubAgent]) -> ToolDefinition {
    let mut description =
        "Starts a sub-agent for a piece of work. It sees only the prompt, has the same tools, and its \
         last message is the result. Use it for searches and questions whose details you do not need to see."
            .to_owned();
    let mut properties = json!({
        "description": { "type": "string", "description": "A short description of the work." },
        "prompt": { "type": "string", "description": "Everything the sub-agent needs to know, and what to report." },
    });
    if !sub_agents.is_empty() {
        description.push_str(" The project has these sub-agents with instructions of their own:");
        for agent in sub_agents {
            description.push_str(&format!("\n- {}: {}", agent.name, agent.description));
        }
        let names: Vec<&str> = sub_agents.iter().map(|agent| agent.name.as_str()).chain([GENERAL]).collect();
        properties["subagent_type"] =
            json!({ "type": "string", "enum": names, "description": "The sub-agent to start." });
    }
    ToolDefinition {
        name: TASK.to_owned(),
        description,
        input_schema: json!({ "type": "object", "properties": properties, "required": ["description", "prompt"] }),
    }
}

/// `None` if it is missing, empty or not a string.
pub(super) fn task_prompt(arguments: &Value) -> Option<String> {
    let prompt = arguments.get("prompt")?.as_str()?.trim();
    (!prompt.is_empty()).then(|| prompt.to_owned())
}
