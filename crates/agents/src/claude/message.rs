//! What Claude Code says, line by line. Whatever it is, it becomes a message: an unknown one is told, never dropped.

use autonoe_core::event::Usage;
use autonoe_core::gate::ToolCall;
use serde_json::Value;

use super::ending::Ending;

/// Kinds of system messages that tell nothing an event is for.
const SILENT: [&str; 12] = [
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

/// What it calls a sub-agent among the tasks in the background.
const SUB_AGENT: &str = "local_agent";

/// One line.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// A turn begins; the session has this id.
    Begun { session: String, model: String },
    /// A part of an answer.
    Said { id: String, model: String, blocks: Vec<Block>, usage: Usage },
    /// Tools answered.
    Results(Vec<CallResult>),
    /// It asks whether a tool may be used.
    Asks { request: String, asked: Asked },
    /// It says something to an MCP server of ours.
    ToServer { request: String, message: Value },
    /// It asks something else.
    AsksWhatWeDoNotKnow { request: String, what: String },
    /// It answers what we asked.
    Answered { error: Option<String> },
    /// The service refuses further work until a limit resets.
    Limited(Value),
    /// A call of the model failed and is tried again.
    Retries { attempt: u64, status: Option<u64>, error: String },
    /// How many sub-agents work in the background. It will be heard again when they have ended; commands that it left
    /// there are not its work any more.
    SubAgents { working: usize },
    /// The work has ended.
    Ended(Ending),
    /// Nothing to tell.
    Silent,
    /// A kind that did not exist when this was written.
    Unknown(String),
}

/// A part of an answer.
#[derive(Debug, PartialEq)]
pub(super) enum Block {
    Text(String),
    Thought(String),
    Call(ToolCall),
}

/// How a call ended.
#[derive(Debug, PartialEq)]
pub(super) struct CallResult {
    pub id: String,
    pub content: String,
    pub is_error: bool,
}

/// A question about a tool.
#[derive(Debug, PartialEq)]
pub(super) enum Asked {
    /// Before it is used, by our hook.
    Hook { call: ToolCall, cwd: Option<String> },
    /// Where its own rules would ask a person.
    Permission { call: ToolCall },
}

impl Message {
    pub(super) fn read(message: Value) -> Self {
        let kind = text(&message["type"]);
        let subtype = text(&message["subtype"]);
        match (kind.as_str(), subtype.as_str()) {
            ("system", "init") => {
                Self::Begun { session: text(&message["session_id"]), model: text(&message["model"]) }
            }
            ("system", "api_retry") => Self::Retries {
                attempt: message["attempt"].as_u64().unwrap_or_default(),
                status: message["error_status"].as_u64(),
                error: text(&message["error"]),
            },
            ("system", "background_tasks_changed") => {
                let tasks = message["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
                let working = tasks.iter().filter(|task| task["task_type"] == SUB_AGENT).count();
                Self::SubAgents { working }
            }
            ("system", subtype) if SILENT.contains(&subtype) => Self::Silent,
            ("assistant", _) => said(&message["message"]),
            ("user", _) => Self::Results(results(&message["message"]["content"])),
            ("result", _) => Self::Ended(Ending::read(&message)),
            ("rate_limit_event", _) => match message["rate_limit_info"]["status"].as_str() {
                Some("rejected") => Self::Limited(message["rate_limit_info"].clone()),
                _ => Self::Silent,
            },
            ("control_request", _) => asks(&message),
            ("control_response", _) => {
                let response = &message["response"];
                let failed = response["subtype"] == "error";
                Self::Answered { error: failed.then(|| text(&response["error"])) }
            }
            (
                "stream_event" | "keep_alive" | "control_cancel_request" | "tool_progress" | "auth_status",
                _,
            ) => Self::Silent,
            _ if subtype.is_empty() => Self::Unknown(kind),
            _ => Self::Unknown(format!("{kind}/{subtype}")),
        }
    }
}

fn said(message: &Value) -> Message {
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let blocks = blocks.iter().filter_map(|block| match block["type"].as_str()? {
        "text" => Some(Block::Text(text(&block["text"]))),
        "thinking" => Some(Block::Thought(text(&block["thinking"])))
            .filter(|block| *block != Block::Thought(String::new())),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Some(Block::Call(ToolCall {
            id: text(&block["id"]),
            name: text(&block["name"]),
            input: block["input"].clone(),
        })),
        // Signatures, redacted thoughts, results of the service's own tools.
        _ => None,
    });
    let usage = &message["usage"];
    let count = |name: &str| usage[name].as_u64().unwrap_or_default();
    Message::Said {
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

/// The results in what is said in the user's name; other texts there are its own affair.
fn results(content: &Value) -> Vec<CallResult> {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let results = blocks.iter().filter(|block| block["type"] == "tool_result");
    results
        .map(|block| CallResult {
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

fn asks(message: &Value) -> Message {
    let request = text(&message["request_id"]);
    let asked = &message["request"];
    let call = |id: &Value, name: &Value, input: &Value| ToolCall {
        id: text(id),
        name: text(name),
        input: input.clone(),
    };
    match asked["subtype"].as_str() {
        Some("hook_callback") => {
            let input = &asked["input"];
            let call = call(&input["tool_use_id"], &input["tool_name"], &input["tool_input"]);
            Message::Asks {
                request,
                asked: Asked::Hook { call, cwd: input["cwd"].as_str().map(str::to_owned) },
            }
        }
        Some("can_use_tool") => {
            let call = call(&asked["tool_use_id"], &asked["tool_name"], &asked["input"]);
            Message::Asks { request, asked: Asked::Permission { call } }
        }
        Some("mcp_message") => Message::ToServer { request, message: asked["message"].clone() },
        other => Message::AsksWhatWeDoNotKnow { request, what: other.unwrap_or_default().to_owned() },
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
