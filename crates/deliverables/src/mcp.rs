//! The MCP server `autonoe`: on standard input and output for any client that speaks MCP, and message by message for one
//! that carries them itself.

use std::sync::Arc;

use autonoe_core::instruction::{DeliverableTool, InstructionName};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::{Value, json};

use crate::service::Caller;
use crate::spec::spec;

/// Serves the tools of a phase until the client goes away.
pub async fn serve_stdio(
    phase: InstructionName,
    caller: Arc<dyn Caller>,
    version: &str,
) -> Result<(), String> {
    let server = Server { phase, caller, version: version.to_owned() };
    let running = server.serve(rmcp::transport::stdio()).await.map_err(|error| error.to_string())?;
    running.waiting().await.map(drop).map_err(|error| error.to_string())
}

/// Answers one message of a client whose tools are those of a phase; nothing, if it wants no answer.
pub async fn answer_message(
    phase: InstructionName,
    caller: &dyn Caller,
    version: &str,
    message: &Value,
) -> Option<Value> {
    let id = message.get("id")?;
    let params = &message["params"];
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "autonoe", "version": version },
        }),
        "ping" => json!({}),
        "tools/list" => json!({ "tools": tools(phase) }),
        "tools/call" => {
            let answer =
                caller.call(params["name"].as_str().unwrap_or_default(), params["arguments"].clone()).await;
            json!({ "content": [{ "type": "text", "text": answer.content }], "isError": answer.is_error })
        }
        other => {
            let error = json!({ "code": NO_SUCH_METHOD, "message": format!("there is no method {other}") });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// The code of JSON-RPC for a method that is not known.
const NO_SUCH_METHOD: i32 = -32_601;

fn tools(phase: InstructionName) -> Vec<Tool> {
    let describe = |tool: &DeliverableTool| {
        let spec = spec(*tool, phase);
        let schema = match spec.input_schema {
            Value::Object(schema) => schema,
            _ => serde_json::Map::new(),
        };
        Tool::new(spec.name, spec.description, Arc::new(schema))
    };
    phase.tools().iter().map(describe).collect()
}

struct Server {
    phase: InstructionName,
    caller: Arc<dyn Caller>,
    version: String,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        config.server_info = Implementation::new("autonoe", self.version.clone());
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools(self.phase)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let answer = self.caller.call(&request.name, arguments).await;
        let content = vec![ContentBlock::text(answer.content)];
        let result =
            if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
        Ok(result.into())
    }
}
