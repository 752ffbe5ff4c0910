//! Items of a Codex thread: messages, reasoning and actions. Actions are translated into tool calls that our
//! gates know.

use std::path::PathBuf;

use autonoe_core::gate::ToolCall;
use serde_json::{Value, json};

use super::shell::unwrap_shell;

/// Item types without a corresponding event.
const IGNORED: [&str; 9] = [
    "contextCompaction",
    "enteredReviewMode",
    "exitedReviewMode",
    "functionCallOutput",
    "hookPrompt",
    "plan",
    "sleep",
    "subAgentActivity",
    "userMessage",
];

/// An item, when it starts or when it is completed.
#[derive(Debug, PartialEq)]
pub(super) struct CodexItem {
    pub id: String,
    pub kind: CodexItemKind,
}

#[derive(Debug, PartialEq)]
pub(super) enum CodexItemKind {
    Message(String),
    Reasoning(String),
    Action(CodexAction),
    Ignored,
    /// An item type that is not known to us.
    Unknown(String),
}

/// One tool call, or the changes of several files at once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CodexAction {
    pub calls: Vec<ToolCall>,
    pub cwd: Option<PathBuf>,
    /// Empty until the action has ended.
    pub result: String,
    pub is_error: bool,
}

impl CodexItem {
    pub(super) fn read(item: &Value) -> Self {
        let id = text(&item["id"]);
        let action = |calls, result| {
            let is_error = matches!(item["status"].as_str(), Some("failed" | "declined"));
            let cwd = item["cwd"].as_str().map(PathBuf::from);
            CodexItemKind::Action(CodexAction { calls, cwd, result, is_error })
        };
        let one = |name: &str, input| vec![ToolCall { id: id.clone(), name: name.to_owned(), input }];
        let kind = match item["type"].as_str().unwrap_or_default() {
            "agentMessage" => CodexItemKind::Message(text(&item["text"])),
            "reasoning" => CodexItemKind::Reasoning(reasoning(item)),
            "commandExecution" => {
                let command = unwrap_shell(&text(&item["command"]));
                action(one("Bash", json!({ "command": command })), output(item))
            }
            "fileChange" => action(changes(&id, &item["changes"]), text(&item["status"])),
            "mcpToolCall" => {
                let name = format!("mcp__{}__{}", text(&item["server"]), text(&item["tool"]));
                action(one(&name, item["arguments"].clone()), mcp_result(item))
            }
            "dynamicToolCall" => {
                let content = parts(&item["contentItems"]);
                action(one(&text(&item["tool"]), item["arguments"].clone()), content)
            }
            "collabAgentToolCall" => {
                action(one("Task", json!({ "prompt": item["prompt"] })), text(&item["status"]))
            }
            "webSearch" => action(one("WebSearch", json!({ "query": item["query"] })), String::new()),
            "imageView" => action(one("Read", json!({ "file_path": item["path"] })), String::new()),
            kind if IGNORED.contains(&kind) => CodexItemKind::Ignored,
            unknown => CodexItemKind::Unknown(unknown.to_owned()),
        };
        Self { id, kind }
    }
}

fn reasoning(item: &Value) -> String {
    let lines = |name: &str| -> Vec<String> {
        item[name].as_array().into_iter().flatten().map(text).filter(|line| !line.is_empty()).collect()
    };
    let summary = lines("summary");
    if summary.is_empty() { lines("content").join("\n") } else { summary.join("\n") }
}

fn output(item: &Value) -> String {
    let output = text(&item["aggregatedOutput"]);
    match item["exitCode"].as_i64() {
        Some(0) | None => output,
        Some(code) => format!("{output}\nExit code {code}").trim_start().to_owned(),
    }
}

/// Each changed file becomes a call of its own, and so does the target of a move.
fn changes(id: &str, changes: &Value) -> Vec<ToolCall> {
    let mut calls: Vec<ToolCall> = Vec::new();
    let mut call = |name: &str, input: Value| {
        let id = if calls.is_empty() { id.to_owned() } else { format!("{id}.{}", calls.len() + 1) };
        calls.push(ToolCall { id, name: name.to_owned(), input });
    };
    for change in changes.as_array().into_iter().flatten() {
        let path = &change["path"];
        match change["kind"]["type"].as_str() {
            Some("add") => call("Write", json!({ "file_path": path, "content": change["diff"] })),
            Some(_) | None => call("Edit", json!({ "file_path": path, "diff": change["diff"] })),
        }
        let moved = &change["kind"]["move_path"];
        if !moved.is_null() {
            call("Write", json!({ "file_path": moved }));
        }
    }
    calls
}

fn mcp_result(item: &Value) -> String {
    match item["error"]["message"].as_str() {
        Some(error) => error.to_owned(),
        None => parts(&item["result"]["content"]),
    }
}

fn parts(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten().map(|part| match part["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{}]", part["type"].as_str().unwrap_or("unknown")),
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
