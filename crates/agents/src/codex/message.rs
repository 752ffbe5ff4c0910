//! Messages of Codex's app server: one JSON-RPC message per line, without the version field. Unknown messages
//! are reported, never dropped.

use std::path::PathBuf;

use autonoe_core::event::Usage;
use serde_json::Value;

use super::item::CodexItem;
use super::turn_end::CodexTurnEnd;

/// Notifications without a corresponding event: fragments of what is also sent as a whole, and internal
/// state.
const IGNORED: [&str; 36] = [
    "account/gatewayOAuth/changed",
    "account/login/completed",
    "account/updated",
    "app/list/updated",
    "fs/changed",
    "hook/completed",
    "hook/started",
    "item/agentMessage/delta",
    "item/commandExecution/outputDelta",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/mcpToolCall/progress",
    "item/plan/delta",
    "item/reasoning/summaryPartAdded",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/textDelta",
    "model/safetyBuffering/updated",
    "model/verification",
    "modelProvider/authRecoveryCompleted",
    "modelProvider/authRecoveryStarted",
    "remoteControl/status/changed",
    "serverRequest/resolved",
    "skills/changed",
    "thread/compacted",
    "thread/environment/connected",
    "thread/name/updated",
    "thread/prediction/updated",
    "thread/queue/changed",
    "thread/readState/changed",
    "thread/settings/updated",
    "thread/started",
    "thread/status/changed",
    "turn/diff/updated",
    "turn/moderationMetadata",
    "turn/plan/updated",
    "turn/started",
];

/// Prefixes of warnings that are not passed on: that the repository's settings are ignored, which is
/// intended, and that Codex uses its bundled bubblewrap for its own sandbox, which makes no difference.
const IGNORED_WARNINGS: [&str; 2] = ["Project-local config", "Codex could not find bubblewrap on PATH"];

/// Codex's own message for a request that it rejects.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub(super) struct CodexRejection(pub(super) String);

#[derive(Debug, PartialEq)]
pub(super) enum CodexMessage {
    Response {
        id: u64,
        result: Result<Value, CodexRejection>,
    },
    Approval {
        request: Value,
        approval: ApprovalRequest,
    },
    UnknownRequest {
        request: Value,
        what: String,
    },
    ItemStarted(CodexItem),
    ItemCompleted(CodexItem),
    TokenUsage {
        turn: String,
        usage: Usage,
    },
    RateLimits(Value),
    /// A model call failed and is being retried.
    Retrying(String),
    Warning(String),
    /// An MCP server has started, or failed to start.
    McpServer {
        name: String,
        error: Option<String>,
    },
    TurnCompleted {
        thread: String,
        end: CodexTurnEnd,
    },
    Ignored,
    /// A message type that is not known to us.
    Unknown(String),
}

#[derive(Debug, PartialEq)]
pub(super) enum ApprovalRequest {
    Command {
        item: String,
        line: String,
        cwd: Option<PathBuf>,
    },
    /// File changes; the item with this id describes them.
    FileChange(String),
    Mcp {
        server: String,
        arguments: Value,
    },
    /// Input for a running program, or anything else that is not a command.
    Unsupported(&'static str),
    /// An MCP server asks the user a question.
    Elicitation,
}

impl CodexMessage {
    pub(super) fn read(message: &Value) -> Self {
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(request_id)) => request(method, request_id.clone(), params),
            (Some(method), None) => notification(method, params),
            (None, Some(id)) => Self::Response {
                id: id.as_u64().unwrap_or_default(),
                result: match message.get("error") {
                    Some(error) => Err(CodexRejection(text(&error["message"]))),
                    None => Ok(message["result"].clone()),
                },
            },
            (None, None) => Self::Unknown("a message without a method".to_owned()),
        }
    }
}

fn request(method: &str, request: Value, params: &Value) -> CodexMessage {
    let item = text(&params["itemId"]);
    let approval = match method {
        "item/commandExecution/requestApproval" => {
            match (params["kind"].as_str(), params["command"].as_str()) {
                (Some("command") | None, Some(line)) if params["networkApprovalContext"].is_null() => {
                    let cwd = params["cwd"].as_str().map(PathBuf::from);
                    ApprovalRequest::Command { item, line: line.to_owned(), cwd }
                }
                (Some("writeStdin"), _) => ApprovalRequest::Unsupported("input for a running program"),
                (Some(_) | None, _) => ApprovalRequest::Unsupported("something that is not a command"),
            }
        }
        "item/fileChange/requestApproval" => ApprovalRequest::FileChange(item),
        "mcpServer/elicitation/request" => match params["_meta"]["codex_approval_kind"].as_str() {
            Some("mcp_tool_call") => ApprovalRequest::Mcp {
                server: text(&params["serverName"]),
                arguments: params["_meta"]["tool_params"].clone(),
            },
            Some(_) | None => ApprovalRequest::Elicitation,
        },
        unknown => return CodexMessage::UnknownRequest { request, what: unknown.to_owned() },
    };
    CodexMessage::Approval { request, approval }
}

fn notification(method: &str, params: &Value) -> CodexMessage {
    match method {
        "item/started" => CodexMessage::ItemStarted(CodexItem::read(&params["item"])),
        "item/completed" => CodexMessage::ItemCompleted(CodexItem::read(&params["item"])),
        "thread/tokenUsage/updated" => CodexMessage::TokenUsage {
            turn: text(&params["turnId"]),
            usage: usage(&params["tokenUsage"]["last"]),
        },
        "account/rateLimits/updated" => CodexMessage::RateLimits(params["rateLimits"].clone()),
        "error" if params["willRetry"] == true => CodexMessage::Retrying(error_text(&params["error"])),
        // Repeated at the end of the turn.
        "error" => CodexMessage::Ignored,
        "turn/completed" => CodexMessage::TurnCompleted {
            thread: text(&params["threadId"]),
            end: CodexTurnEnd::read(&params["turn"]),
        },
        "mcpServer/startupStatus/updated" => {
            let name = text(&params["name"]);
            match params["status"].as_str() {
                Some("ready") => CodexMessage::McpServer { name, error: None },
                Some("failed" | "cancelled") => {
                    CodexMessage::McpServer { name, error: Some(text(&params["error"])) }
                }
                Some(_) | None => CodexMessage::Ignored,
            }
        }
        // Without input it only polls for more output.
        "item/commandExecution/terminalInteraction" => match params["stdin"].as_str() {
            Some("") | None => CodexMessage::Ignored,
            Some(typed) => CodexMessage::Warning(format!("it sent input to a running program: {typed}")),
        },
        "model/rerouted" => CodexMessage::Warning(format!(
            "the model was rerouted to {} from {}",
            text(&params["toModel"]),
            text(&params["fromModel"])
        )),
        "warning" | "guardianWarning" => warning(&params["message"]),
        "configWarning" | "deprecationNotice" => warning(&params["summary"]),
        silent if IGNORED.contains(&silent) => CodexMessage::Ignored,
        unknown => CodexMessage::Unknown(unknown.to_owned()),
    }
}

fn warning(message: &Value) -> CodexMessage {
    let message = text(message);
    match IGNORED_WARNINGS.iter().any(|prefix| message.starts_with(prefix)) {
        true => CodexMessage::Ignored,
        false => CodexMessage::Warning(message),
    }
}

fn error_text(error: &Value) -> String {
    match error["additionalDetails"].as_str() {
        Some(details) => format!("{}: {details}", text(&error["message"])),
        None => text(&error["message"]),
    }
}

/// Codex includes cached tokens in the input tokens; we count them separately.
pub(super) fn usage(usage: &Value) -> Usage {
    let count = |name: &str| usage[name].as_u64().unwrap_or_default();
    let (read, written) = (count("cachedInputTokens"), count("cacheWriteInputTokens"));
    Usage {
        input_tokens: count("inputTokens").saturating_sub(read + written),
        output_tokens: count("outputTokens"),
        reasoning_tokens: count("reasoningOutputTokens"),
        cache_read_tokens: read,
        cache_write_tokens: written,
        cost_usd: None,
    }
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{ApprovalRequest, CodexMessage};
    use crate::codex::item::CodexItemKind;

    const TRANSCRIPTS: [&str; 4] = [
        include_str!("../../tests/fixtures/codex/appserver-interrupt.jsonl"),
        include_str!("../../tests/fixtures/codex/appserver-text.jsonl"),
        include_str!("../../tests/fixtures/codex/appserver-tool-allow.jsonl"),
        include_str!("../../tests/fixtures/codex/appserver-tool-deny.jsonl"),
    ];

    /// The messages from Codex in a recording.
    fn recorded(transcript: &str) -> impl Iterator<Item = CodexMessage> {
        let lines = transcript.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.filter(|line| line["dir"] == "<").map(|line| CodexMessage::read(&line["msg"]))
    }

    #[test]
    fn no_recorded_message_is_unknown() {
        for message in TRANSCRIPTS.into_iter().flat_map(recorded) {
            match &message {
                CodexMessage::Unknown(_) | CodexMessage::UnknownRequest { .. } => panic!("{message:?}"),
                CodexMessage::ItemStarted(item) | CodexMessage::ItemCompleted(item) => {
                    assert!(!matches!(item.kind, CodexItemKind::Unknown(_)), "{item:?}")
                }
                _ => {}
            }
        }
    }

    #[test]
    fn relevant_warnings_are_passed_on() {
        let read = |method: &str, field: &str, text: &str| {
            CodexMessage::read(&serde_json::json!({ "method": method, "params": { field: text } }))
        };
        assert_eq!(
            read("warning", "message", "mind the gap"),
            CodexMessage::Warning("mind the gap".to_owned())
        );
        let own_sandbox = "Codex could not find bubblewrap on PATH. Install it.";
        for method in ["configWarning", "deprecationNotice"] {
            assert_eq!(read(method, "summary", own_sandbox), CodexMessage::Ignored);
            assert_eq!(read(method, "summary", "x"), CodexMessage::Warning("x".to_owned()));
        }
    }

    #[test]
    fn approval_requests_are_parsed() {
        let approvals: Vec<ApprovalRequest> = recorded(TRANSCRIPTS[2])
            .filter_map(|message| match message {
                CodexMessage::Approval { approval, .. } => Some(approval),
                _ => None,
            })
            .collect();
        let [ApprovalRequest::Command { item, line, cwd }, ApprovalRequest::FileChange(change)] =
            &approvals[..]
        else {
            panic!("{approvals:?}");
        };
        assert_eq!((item.as_str(), line.as_str()), ("toolu_00005_0", "/bin/bash -lc 'echo hi-from-shell'"));
        assert!(cwd.is_some());
        assert_eq!(change, "toolu_00006_0");
    }

    #[test]
    fn calls_and_results_are_parsed() {
        let mut calls = Vec::new();
        for message in recorded(TRANSCRIPTS[3]) {
            if let CodexMessage::ItemCompleted(item) = message
                && let CodexItemKind::Action(action) = item.kind
            {
                assert!(action.is_error, "it was declined");
                calls.extend(action.calls.into_iter().map(|call| (call.name, call.input)));
            }
        }
        assert_eq!(calls[0].0, "Bash");
        assert_eq!(calls[0].1["command"], "echo hi-from-shell");
        assert_eq!(calls[1].0, "Write");
        assert!(calls[1].1["file_path"].as_str().expect("path").ends_with("/out.txt"));
    }
}
