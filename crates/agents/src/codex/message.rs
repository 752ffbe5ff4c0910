//! What Codex says, line by line: JSON-RPC without its version. Whatever it is, it becomes a message: an unknown one is
//! told, never dropped.

use std::path::PathBuf;

use autonoe_core::event::Usage;
use serde_json::Value;

use super::ending::Ending;
use super::item::Item;

/// Notifications that tell nothing an event is for: pieces of what comes as a whole, and states of its own.
const SILENT: [&str; 36] = [
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

/// How warnings begin that are not passed on: that the repository's own settings are left out, which is what we want, and that
/// its own sandbox is built with the bubblewrap that it brings along, if it is built at all.
const OF_NO_CONCERN: [&str; 2] = ["Project-local config", "Codex could not find bubblewrap on PATH"];

/// One line.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// It answers what we asked.
    Answered { id: u64, result: Result<Value, String> },
    /// It asks whether something may be done.
    Asks { request: Value, asked: Asked },
    /// It asks something else.
    AsksWhatWeDoNotKnow { request: Value, what: String },
    /// Something begins.
    Begun(Item),
    /// Something is done.
    Done(Item),
    /// Tokens were spent in a turn.
    Spent { turn: String, usage: Usage },
    /// How much of the user's limits is used.
    Limits(Value),
    /// A call of the model failed and is tried again.
    Retries(String),
    /// It warns of something.
    Warns(String),
    /// An MCP server has started, or has failed to.
    Served { name: String, error: Option<String> },
    /// A turn of a conversation has ended.
    Ended { thread: String, ending: Ending },
    /// Nothing to tell.
    Silent,
    /// A kind that did not exist when this was written.
    Unknown(String),
}

/// A question whether something may be done.
#[derive(Debug, PartialEq)]
pub(super) enum Asked {
    /// A command.
    Command { item: String, line: String, cwd: Option<PathBuf> },
    /// What was told of as an item: changes of files.
    Item(String),
    /// A tool of an MCP server.
    Mcp { server: String, arguments: Value },
    /// Input for a program that runs, or something else that is not a command.
    Unjudged(&'static str),
    /// An MCP server wants something of the user.
    Elicitation,
}

impl Message {
    pub(super) fn read(message: &Value) -> Self {
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(request)) => asks(method, request.clone(), params),
            (Some(method), None) => tells(method, params),
            (None, Some(id)) => Self::Answered {
                id: id.as_u64().unwrap_or_default(),
                result: match message.get("error") {
                    Some(error) => Err(text(&error["message"])),
                    None => Ok(message["result"].clone()),
                },
            },
            (None, None) => Self::Unknown("a message without a method".to_owned()),
        }
    }
}

fn asks(method: &str, request: Value, params: &Value) -> Message {
    let item = text(&params["itemId"]);
    let asked = match method {
        "item/commandExecution/requestApproval" => {
            match (params["kind"].as_str(), params["command"].as_str()) {
                (Some("command") | None, Some(line)) if params["networkApprovalContext"].is_null() => {
                    let cwd = params["cwd"].as_str().map(PathBuf::from);
                    Asked::Command { item, line: line.to_owned(), cwd }
                }
                (Some("writeStdin"), _) => Asked::Unjudged("input for a program that runs"),
                (Some(_) | None, _) => Asked::Unjudged("something that is not a command"),
            }
        }
        "item/fileChange/requestApproval" => Asked::Item(item),
        "mcpServer/elicitation/request" => match params["_meta"]["codex_approval_kind"].as_str() {
            Some("mcp_tool_call") => Asked::Mcp {
                server: text(&params["serverName"]),
                arguments: params["_meta"]["tool_params"].clone(),
            },
            Some(_) | None => Asked::Elicitation,
        },
        unknown => return Message::AsksWhatWeDoNotKnow { request, what: unknown.to_owned() },
    };
    Message::Asks { request, asked }
}

fn tells(method: &str, params: &Value) -> Message {
    match method {
        "item/started" => Message::Begun(Item::read(&params["item"])),
        "item/completed" => Message::Done(Item::read(&params["item"])),
        "thread/tokenUsage/updated" => {
            Message::Spent { turn: text(&params["turnId"]), usage: usage(&params["tokenUsage"]["last"]) }
        }
        "account/rateLimits/updated" => Message::Limits(params["rateLimits"].clone()),
        "error" if params["willRetry"] == true => Message::Retries(failure(&params["error"])),
        // The end of the turn says it again.
        "error" => Message::Silent,
        "turn/completed" => {
            Message::Ended { thread: text(&params["threadId"]), ending: Ending::read(&params["turn"]) }
        }
        "mcpServer/startupStatus/updated" => {
            let name = text(&params["name"]);
            match params["status"].as_str() {
                Some("ready") => Message::Served { name, error: None },
                Some("failed" | "cancelled") => Message::Served { name, error: Some(text(&params["error"])) },
                Some(_) | None => Message::Silent,
            }
        }
        // Nothing typed: it looks whether there is more output.
        "item/commandExecution/terminalInteraction" => match params["stdin"].as_str() {
            Some("") | None => Message::Silent,
            Some(typed) => Message::Warns(format!("it typed into a program that runs: {typed}")),
        },
        "model/rerouted" => Message::Warns(format!(
            "another model answers, {} for {}",
            text(&params["toModel"]),
            text(&params["fromModel"])
        )),
        "warning" | "guardianWarning" => warns(&params["message"]),
        "configWarning" | "deprecationNotice" => warns(&params["summary"]),
        silent if SILENT.contains(&silent) => Message::Silent,
        unknown => Message::Unknown(unknown.to_owned()),
    }
}

fn warns(words: &Value) -> Message {
    let words = text(words);
    match OF_NO_CONCERN.iter().any(|beginning| words.starts_with(beginning)) {
        true => Message::Silent,
        false => Message::Warns(words),
    }
}

fn failure(error: &Value) -> String {
    match error["additionalDetails"].as_str() {
        Some(details) => format!("{}: {details}", text(&error["message"])),
        None => text(&error["message"]),
    }
}

/// Its input tokens contain those that a cache had.
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

    use super::{Asked, Message};
    use crate::codex::item::Kind;

    const TRANSCRIPTS: [&str; 4] = [
        include_str!("../../tests/fixtures/codex/appserver-interrupt.jsonl"),
        include_str!("../../tests/fixtures/codex/appserver-text.jsonl"),
        include_str!("../../tests/fixtures/codex/appserver-tool-allow.jsonl"),
        include_str!("../../tests/fixtures/codex/appserver-tool-deny.jsonl"),
    ];

    /// What was heard in a recording.
    fn heard(transcript: &str) -> impl Iterator<Item = Message> {
        let lines = transcript.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.filter(|line| line["dir"] == "<").map(|line| Message::read(&line["msg"]))
    }

    #[test]
    fn nothing_in_the_recordings_is_unknown() {
        for message in TRANSCRIPTS.into_iter().flat_map(heard) {
            match &message {
                Message::Unknown(_) | Message::AsksWhatWeDoNotKnow { .. } => panic!("{message:?}"),
                Message::Begun(item) | Message::Done(item) => {
                    assert!(!matches!(item.kind, Kind::Unknown(_)), "{item:?}")
                }
                _ => {}
            }
        }
    }

    #[test]
    fn warnings_are_passed_on_if_they_concern_anybody() {
        let read = |method: &str, field: &str, words: &str| {
            Message::read(&serde_json::json!({ "method": method, "params": { field: words } }))
        };
        assert_eq!(read("warning", "message", "mind the gap"), Message::Warns("mind the gap".to_owned()));
        let own_sandbox = "Codex could not find bubblewrap on PATH. Install it.";
        for method in ["configWarning", "deprecationNotice"] {
            assert_eq!(read(method, "summary", own_sandbox), Message::Silent);
            assert_eq!(read(method, "summary", "x"), Message::Warns("x".to_owned()));
        }
    }

    #[test]
    fn questions_are_understood() {
        let asked: Vec<Asked> = heard(TRANSCRIPTS[2])
            .filter_map(|message| match message {
                Message::Asks { asked, .. } => Some(asked),
                _ => None,
            })
            .collect();
        let [Asked::Command { item, line, cwd }, Asked::Item(change)] = &asked[..] else {
            panic!("{asked:?}");
        };
        assert_eq!((item.as_str(), line.as_str()), ("toolu_00005_0", "/bin/bash -lc 'echo hi-from-shell'"));
        assert!(cwd.is_some());
        assert_eq!(change, "toolu_00006_0");
    }

    #[test]
    fn calls_and_results_are_told() {
        let mut calls = Vec::new();
        for message in heard(TRANSCRIPTS[3]) {
            if let Message::Done(item) = message
                && let Kind::Did(deed) = item.kind
            {
                assert!(deed.is_error, "it was declined");
                calls.extend(deed.calls.into_iter().map(|call| (call.name, call.input)));
            }
        }
        assert_eq!(calls[0].0, "Bash");
        assert_eq!(calls[0].1["command"], "echo hi-from-shell");
        assert_eq!(calls[1].0, "Write");
        assert!(calls[1].1["file_path"].as_str().expect("path").ends_with("/out.txt"));
    }
}
