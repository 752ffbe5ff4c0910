//! The tools of a session: the built-in ones, the deliverable ones, those of MCP servers, and Task.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use autonoe_core::gate::{Gate, Ruling, ToolCall, ask_in};
use autonoe_model::ToolDefinition;
use autonoe_tools::{
    DEFAULT_START_LIMIT, McpServers, Tool, ToolContext, ToolErrorCode, ToolOutput, ToolSpec, Workspace,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::server_record::ServerRecord;

/// The tool that has a sub-agent do something.
pub(super) const TASK: &str = "Task";

/// How long a session waits for its MCP servers before it begins. A model that knows its tools from the first request on
/// uses them, and what the provider cached of the request stays valid.
const GATHERING: Duration = Duration::from_secs(5);

/// What a call came to.
pub(super) struct Done {
    pub output: ToolOutput,
    /// The gate that refused it, if one did.
    pub denied_by: Option<String>,
}

impl Done {
    pub(super) fn with(text: String) -> Self {
        Self { output: ToolOutput::ok(text), denied_by: None }
    }

    pub(super) fn failed(code: ToolErrorCode, message: impl Into<String>) -> Self {
        Self { output: ToolOutput::error(code, message), denied_by: None }
    }
}

/// The tools of a session and the gates before them.
pub(super) struct Toolbox {
    fixed: Vec<(ToolSpec, Arc<dyn Tool>)>,
    servers: Option<McpServers>,
    /// What the run knows of them.
    record: Arc<ServerRecord>,
    /// The generation of the servers' tools that the model knows.
    known: AtomicU64,
    workspace: Arc<Workspace>,
    gates: Vec<Arc<dyn Gate>>,
    stop: CancellationToken,
    /// Whether sub-agents may be called for.
    tasks: bool,
}

impl Toolbox {
    pub(super) fn new(
        fixed: Vec<Arc<dyn Tool>>,
        tasks: bool,
        servers: Option<McpServers>,
        record: Arc<ServerRecord>,
        workspace: Arc<Workspace>,
        gates: Vec<Arc<dyn Gate>>,
        stop: CancellationToken,
    ) -> Self {
        let fixed = fixed.into_iter().map(|tool| (tool.spec(), tool)).collect();
        Self { fixed, servers, record, known: AtomicU64::new(0), workspace, gates, stop, tasks }
    }

    /// What the model is told of the tools that are there now.
    pub(super) fn definitions(&self) -> Vec<ToolDefinition> {
        if let Some(servers) = &self.servers {
            self.known.store(servers.generation(), Ordering::Relaxed);
        }
        let mut definitions = self.definitions_for_task();
        definitions.extend(self.tasks.then(task_definition));
        definitions
    }

    /// The same for a sub-agent, which has none below it.
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

    /// Whether tools have come or gone since the model was last told of them.
    pub(super) fn have_changed(&self) -> bool {
        let now = self.servers.as_ref().map_or(0, McpServers::generation);
        now != self.known.load(Ordering::Relaxed)
    }

    /// Waits for the servers, but not for slow ones: their tools join when they are there. Says which they are, of each once in a run,
    /// and those that were not there in the session before are not waited for at all.
    pub(super) async fn gather(&self) -> Vec<String> {
        let Some(servers) = &self.servers else {
            return Vec::new();
        };
        let silent = self.record.silent();
        let settled = self.stop.run_until_cancelled(servers.settled_but(&silent));
        match tokio::time::timeout(GATHERING, settled).await {
            Ok(_) => Vec::new(),
            Err(_) => {
                let late = servers.pending().difference(&silent).cloned().collect();
                self.record.late(&late, GATHERING, DEFAULT_START_LIMIT)
            }
        }
    }

    /// What is wrong with servers, since this was last asked and as far as it has not been told in this run.
    pub(super) fn problems(&self) -> Vec<String> {
        self.record.news(self.servers.as_ref().map(McpServers::problems).unwrap_or_default())
    }

    /// Whether a tool changes nothing, so that several may be called at the same time.
    pub(super) fn only_looks(&self, name: &str) -> bool {
        match self.fixed.iter().find(|(spec, _)| spec.name == name) {
            Some((spec, _)) => spec.read_only,
            None => {
                self.served().iter().map(|tool| tool.spec()).any(|spec| spec.name == name && spec.read_only)
            }
        }
    }

    /// Puts a call to the gates and, if they allow it, carries it out.
    pub(super) async fn call(&self, call: ToolCall) -> Done {
        let Some(tool) = self.find(&call.name) else {
            let names: Vec<_> = self.definitions_for_task().into_iter().map(|tool| tool.name).collect();
            let message = format!("There is no tool '{}'. There are: {}.", call.name, names.join(", "));
            return Done::failed(ToolErrorCode::NotFound, message);
        };
        if !call.input.is_object() {
            let message = "The arguments are not a JSON object; send them again.";
            return Done::failed(ToolErrorCode::ValidationError, message);
        }
        if let Some(denial) = self.denial(&call).await {
            return denial;
        }
        let mut context = ToolContext::new(self.stop.child_token());
        context.call_id = Some(call.id);
        let output = autonoe_tools::call(tool.as_ref(), call.input, &context, self.workspace.outputs()).await;
        Done { output, denied_by: None }
    }

    /// Why the gates refuse a call, if they do.
    pub(super) async fn denial(&self, call: &ToolCall) -> Option<Done> {
        match ask_in(&self.gates, call, Some(&self.workspace.cwd())).await {
            Ruling::Allowed => None,
            Ruling::Denied { gate, reason } => {
                let output = ToolOutput::error(ToolErrorCode::PermissionDenied, format!("Denied: {reason}"));
                Some(Done { output, denied_by: Some(gate) })
            }
        }
    }

    /// Ends the servers.
    pub(super) async fn close(&self) {
        if let Some(servers) = &self.servers {
            self.record.came(&servers.pending());
            servers.close().await;
        }
    }

    fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let fixed = self.fixed.iter().find(|(spec, _)| spec.name == name).map(|(_, tool)| Arc::clone(tool));
        fixed.or_else(|| self.served().into_iter().find(|tool| tool.spec().name == name))
    }

    fn served(&self) -> Vec<Arc<dyn Tool>> {
        self.servers.as_ref().map(McpServers::tools).unwrap_or_default()
    }
}

fn task_definition() -> ToolDefinition {
    ToolDefinition {
        name: TASK.to_owned(),
        description: "Has a sub-agent do a piece of work: it starts with the prompt alone, has the same tools, and its \
             last message is the result. Use it for searches and questions whose details you need not see."
            .to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "description": { "type": "string", "description": "The work in a few words." },
                "prompt": { "type": "string", "description": "All the sub-agent needs to know, and what to report." },
            },
            "required": ["description", "prompt"],
        }),
    }
}

/// What a sub-agent is told.
pub(super) fn task_prompt(arguments: &Value) -> Result<String, String> {
    match arguments.get("prompt").and_then(Value::as_str).map(str::trim) {
        Some(prompt) if !prompt.is_empty() => Ok(prompt.to_owned()),
        _ => Err("Task needs `prompt`: what the sub-agent is to do, as a text.".to_owned()),
    }
}
