//! The MCP server `autonoe` on standard input and output, for any client that speaks MCP.

use std::sync::Arc;

use autonoe_core::instruction::InstructionName;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::Value;

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
        let tools = self.phase.tools().iter().map(|tool| {
            let spec = spec(*tool, self.phase);
            let schema = match spec.input_schema {
                Value::Object(schema) => schema,
                _ => serde_json::Map::new(),
            };
            Tool::new(spec.name, spec.description, Arc::new(schema))
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
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
