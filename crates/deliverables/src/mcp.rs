//! The MCP server `autonoe`, message by message, anyone who carries them.

use autonoe_core::instruction::{DeliverableTool, Phase};
use serde_json::{Value, json};

use crate::service::DeliverableService;
use crate::spec::spec;

/// The versions of the protocol that begin with a greeting and have all that is said here; the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The code of JSON-RPC for what is not JSON.
const NO_JSON: i32 = -32_700;
/// The code of JSON-RPC for a method that is not known.
const NO_SUCH_METHOD: i32 = -32_601;

/// Answers one message of a client; nothing, if it wants no answer. The service's own phase decides which tools there are.
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
            service.note_loaded();
            json!({ "tools": tools(service.phase()) })
        }
        "tools/call" => {
            service.note_loaded();
            let name = params["name"].as_str().unwrap_or_default();
            let answer = service.call(name, params["arguments"].clone()).await;
            json!({ "content": [{ "type": "text", "text": answer.content }], "isError": answer.is_error })
        }
        other => return Some(error(id, NO_SUCH_METHOD, &format!("there is no method {other}"))),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// Answers one line of a client that should be a message.
pub(crate) async fn answer_line(service: &DeliverableService, line: &[u8]) -> Option<Value> {
    match serde_json::from_slice(line) {
        Ok(message) => answer_message(service, &message).await,
        Err(_) if line.trim_ascii().is_empty() => None,
        Err(why) => Some(error(&Value::Null, NO_JSON, &format!("this is not JSON: {why}"))),
    }
}

/// The answer to a request that has no result.
pub(crate) fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// The version that a client asks for, or else the newest of ours.
fn version(asked: &Value) -> &'static str {
    VERSIONS.into_iter().find(|known| asked == known).unwrap_or(VERSIONS[0])
}

fn tools(phase: Phase) -> Vec<Value> {
    let describe = |tool: &DeliverableTool| {
        let spec = spec(*tool, phase);
        json!({ "name": spec.name, "description": spec.description, "inputSchema": spec.input_schema })
    };
    phase.tools().iter().map(describe).collect()
}
