//! The things that Codex tells of: what it said, thought and did. What it did becomes calls of tools as our gates know them.

use std::path::PathBuf;

use autonoe_core::gate::ToolCall;
use serde_json::{Value, json};

use super::shell::unwrapped;

/// Kinds that tell nothing an event is for.
const SILENT: [&str; 9] = [
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

/// One thing, at its beginning or at its end.
#[derive(Debug, PartialEq)]
pub(super) struct Item {
    pub id: String,
    pub kind: Kind,
}

/// What it is.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    Said(String),
    Thought(String),
    Did(Deed),
    /// Nothing to tell.
    Silent,
    /// A kind that did not exist when this was written.
    Unknown(String),
}

/// Something done: with one tool, or to several files at once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Deed {
    pub calls: Vec<ToolCall>,
    pub cwd: Option<PathBuf>,
    /// What came of it, once it has ended.
    pub result: String,
    pub is_error: bool,
}

impl Item {
    pub(super) fn read(item: &Value) -> Self {
        let id = text(&item["id"]);
        let did = |calls, result| {
            let is_error = matches!(item["status"].as_str(), Some("failed" | "declined"));
            let cwd = item["cwd"].as_str().map(PathBuf::from);
            Kind::Did(Deed { calls, cwd, result, is_error })
        };
        let one = |name: &str, input| vec![ToolCall { id: id.clone(), name: name.to_owned(), input }];
        let kind = match item["type"].as_str().unwrap_or_default() {
            "agentMessage" => Kind::Said(text(&item["text"])),
            "reasoning" => Kind::Thought(thought(item)),
            "commandExecution" => {
                let command = unwrapped(&text(&item["command"]));
                did(one("Bash", json!({ "command": command })), output(item))
            }
            "fileChange" => did(changes(&id, &item["changes"]), text(&item["status"])),
            "mcpToolCall" => {
                let name = format!("mcp__{}__{}", text(&item["server"]), text(&item["tool"]));
                did(one(&name, item["arguments"].clone()), answer(item))
            }
            "dynamicToolCall" => {
                let content = parts(&item["contentItems"]);
                did(one(&text(&item["tool"]), item["arguments"].clone()), content)
            }
            "collabAgentToolCall" => {
                did(one("Task", json!({ "prompt": item["prompt"] })), text(&item["status"]))
            }
            "webSearch" => did(one("WebSearch", json!({ "query": item["query"] })), String::new()),
            "imageView" => did(one("Read", json!({ "file_path": item["path"] })), String::new()),
            kind if SILENT.contains(&kind) => Kind::Silent,
            unknown => Kind::Unknown(unknown.to_owned()),
        };
        Self { id, kind }
    }
}

fn thought(item: &Value) -> String {
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

/// A change of a file is a call of its own, and so is the place that it is moved to.
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

fn answer(item: &Value) -> String {
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
