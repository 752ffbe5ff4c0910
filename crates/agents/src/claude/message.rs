//! Messages of Claude Code, one per line. Unknown messages are reported, never dropped.

use autonoe_core::event::Usage;
use autonoe_core::gate::ToolCall;
use serde_json::Value;

use super::session_result::ClaudeResult;

/// System messages without a corresponding event.
const IGNORED: [&str; 12] = [
    "compact_boundary",
    "hook_progress",
    "hook_response",
    "hook_started",
    "local_command_output",
    "permission_denied",
    "session_state_changed",
    "status",
    "task_notification",
    "task_progress",
    "task_started",
    "task_updated",
];

/// The type of sub-agents among the background tasks.
const SUB_AGENT: &str = "local_agent";

#[derive(Debug, PartialEq)]
pub(super) enum ClaudeMessage {
    /// A turn starts; `session` is the id of the session.
    Init {
        session: String,
        model: String,
    },
    Assistant {
        id: String,
        model: String,
        blocks: Vec<AssistantBlock>,
        usage: Usage,
    },
    ToolResults(Vec<ClaudeToolResult>),
    ToolRequest {
        id: String,
        request: ClaudeToolRequest,
    },
    /// A message for our MCP server.
    McpMessage {
        request: String,
        message: Value,
    },
    UnknownRequest {
        request: String,
        what: String,
    },
    /// The response to our request.
    Response {
        error: Option<String>,
    },
    /// Requests are rejected until a limit resets.
    RateLimited(Value),
    /// A model call failed and is being retried.
    Retrying {
        attempt: u64,
        status: Option<u64>,
        error: String,
    },
    /// The number of sub-agents in the background. Claude Code continues when they have ended; commands in
    /// the background do not keep the session open.
    SubAgents {
        working: usize,
    },
    Result(ClaudeResult),
    Ignored,
    /// A message type that is not known to us.
    Unknown(String),
}

#[derive(Debug, PartialEq)]
pub(super) enum AssistantBlock {
    Text(String),
    Thought(String),
    Call(ToolCall),
}

#[derive(Debug, PartialEq)]
pub(super) struct ClaudeToolResult {
    pub id: String,
    pub content: String,
    pub is_error: bool,
}

#[derive(Debug, PartialEq)]
pub(super) enum ClaudeToolRequest {
    /// From our hook, before every call.
    Hook { call: ToolCall, cwd: Option<String> },
    /// Where Claude Code would ask a person.
    Permission { call: ToolCall },
}

impl ClaudeMessage {
    pub(super) fn read(message: Value) -> Self {
        let kind = text(&message["type"]);
        let subtype = text(&message["subtype"]);
        match (kind.as_str(), subtype.as_str()) {
            ("system", "init") => {
                Self::Init { session: text(&message["session_id"]), model: text(&message["model"]) }
            }
            ("system", "api_retry") => Self::Retrying {
                attempt: message["attempt"].as_u64().unwrap_or_default(),
                status: message["error_status"].as_u64(),
                error: text(&message["error"]),
            },
            ("system", "background_tasks_changed") => {
                let tasks = message["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
                let working = tasks.iter().filter(|task| task["task_type"] == SUB_AGENT).count();
                Self::SubAgents { working }
            }
            ("system", subtype) if IGNORED.contains(&subtype) => Self::Ignored,
            ("assistant", _) => assistant(&message["message"]),
            ("user", _) => Self::ToolResults(results(&message["message"]["content"])),
            ("result", _) => Self::Result(ClaudeResult::read(&message)),
            ("rate_limit_event", _) => match message["rate_limit_info"]["status"].as_str() {
                Some("rejected") => Self::RateLimited(message["rate_limit_info"].clone()),
                _ => Self::Ignored,
            },
            ("control_request", _) => control_request(&message),
            ("control_response", _) => {
                let response = &message["response"];
                let failed = response["subtype"] == "error";
                Self::Response { error: failed.then(|| text(&response["error"])) }
            }
            (
                "stream_event" | "keep_alive" | "control_cancel_request" | "tool_progress" | "auth_status",
                _,
            ) => Self::Ignored,
            _ if subtype.is_empty() => Self::Unknown(kind),
            _ => Self::Unknown(format!("{kind}/{subtype}")),
        }
    }
}

fn assistant(message: &Value) -> ClaudeMessage {
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let blocks = blocks.iter().filter_map(|block| match block["type"].as_str()? {
        "text" => Some(AssistantBlock::Text(text(&block["text"]))),
        "thinking" => Some(AssistantBlock::Thought(text(&block["thinking"])))
            .filter(|block| *block != AssistantBlock::Thought(String::new())),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Some(AssistantBlock::Call(ToolCall {
            id: text(&block["id"]),
            name: text(&block["name"]),
            input: block["input"].clone(),
        })),
        // Signatures, redacted thoughts, results of server-side tools.
        _ => None,
    });
    let usage = &message["usage"];
    let count = |name: &str| usage[name].as_u64().unwrap_or_default();
    ClaudeMessage::Assistant {
        id: text(&message["id"]),
        model: text(&message["model"]),
        blocks: blocks.collect(),
        usage: Usage {
            input_tokens: count("input_tokens"),
            output_tokens: count("output_tokens"),
            reasoning_tokens: usage["output_tokens_details"]["thinking_tokens"].as_u64().unwrap_or_default(),
            cache_read_tokens: count("cache_read_input_tokens"),
            cache_write_tokens: count("cache_creation_input_tokens"),
            cost_usd: None,
        },
    }
}

/// The tool results in a user message; other content is internal.
fn results(content: &Value) -> Vec<ClaudeToolResult> {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let results = blocks.iter().filter(|block| block["type"] == "tool_result");
    results
        .map(|block| ClaudeToolResult {
            id: text(&block["tool_use_id"]),
            content: content_text(&block["content"]),
            is_error: block["is_error"].as_bool().unwrap_or_default(),
        })
        .collect()
}

fn content_text(content: &Value) -> String {
    let Some(parts) = content.as_array() else {
        return text(content);
    };
    let parts = parts.iter().map(|part| match part["type"].as_str() {
        Some("text") => text(&part["text"]),
        other => format!("[{}]", other.unwrap_or("unknown")),
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn control_request(message: &Value) -> ClaudeMessage {
    let id = text(&message["request_id"]);
    let body = &message["request"];
    let call = |call_id: &Value, name: &Value, input: &Value| ToolCall {
        id: text(call_id),
        name: text(name),
        input: input.clone(),
    };
    match body["subtype"].as_str() {
        Some("hook_callback") => {
            let input = &body["input"];
            let call = call(&input["tool_use_id"], &input["tool_name"], &input["tool_input"]);
            ClaudeMessage::ToolRequest {
                id,
                request: ClaudeToolRequest::Hook { call, cwd: input["cwd"].as_str().map(str::to_owned) },
            }
        }
        Some("can_use_tool") => {
            let call = call(&body["tool_use_id"], &body["tool_name"], &body["input"]);
            ClaudeMessage::ToolRequest { id, request: ClaudeToolRequest::Permission { call } }
        }
        Some("mcp_message") => ClaudeMessage::McpMessage { request: id, message: body["message"].clone() },
        other => ClaudeMessage::UnknownRequest { request: id, what: other.unwrap_or_default().to_owned() },
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
