//! The MCP server `autonoe`: answers single messages, independent of the transport.

use autonoe_tools::ToolSpec;
use serde_json::{Value, json};

use crate::service::DeliverableService;
use crate::spec::spec;

/// Supported protocol versions, latest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// JSON-RPC error code for invalid JSON.
const PARSE_ERROR: i32 = -32_700;
/// JSON-RPC error code for an unknown method.
const METHOD_NOT_FOUND: i32 = -32_601;

/// `None` if the message needs no answer. The service's own phase decides which tools exist.
pub async fn answer_message(service: &DeliverableService, message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let params = &message["params"];
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": version(&params["protocolVersion"]),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "autonoe", "version": env!("CARGO_PKG_VERSION") },
        }),
        "ping" => json!({}),
        "tools/list" => {
            service.mark_loaded();
            json!({ "tools": tools(service) })
        }
        "tools/call" => {
            service.mark_loaded();
            let name = params["name"].as_str().unwrap_or_default();
            let answer = service.call(name, params["arguments"].clone()).await;
            json!({ "content": [{ "type": "text", "text": answer.content }], "isError": answer.is_error })
        }
        other => return Some(error(id, METHOD_NOT_FOUND, &format!("unknown method {other}"))),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// Answers one line of a client.
pub(crate) async fn answer_line(service: &DeliverableService, line: &[u8]) -> Option<Value> {
    match serde_json::from_slice(line) {
        Ok(message) => answer_message(service, &message).await,
        Err(_) if line.trim_ascii().is_empty() => None,
        Err(why) => Some(error(&Value::Null, PARSE_ERROR, &format!("invalid JSON: {why}"))),
    }
}

/// A JSON-RPC error response.
pub(crate) fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// The version that the client requests, or else our latest.
fn version(requested: &Value) -> &'static str {
    VERSIONS.into_iter().find(|known| requested == known).unwrap_or(VERSIONS[0])
}

fn tools(service: &DeliverableService) -> Vec<Value> {
    let phase = service.phase();
    let describe = |spec: ToolSpec| json!({ "name": spec.name, "description": spec.description, "inputSchema": spec.input_schema });
    let own = phase.tools().iter().map(|tool| spec(*tool, phase));
    own.chain(service.shared_specs(phase)).map(describe).collect()
}
