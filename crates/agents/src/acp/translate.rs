//! Translates an agent's tool calls into calls that our gates know. The protocol names kinds of tools, not
//! tools. The details are in the input, the diffs, the locations or the title, depending on the agent.

use std::collections::BTreeSet;
use std::path::PathBuf;

use agent_client_protocol_schema::v1::{self as acp, ToolCallContent, ToolKind};
use autonoe_core::gate::ToolCall;
use serde_json::{Value, json};

/// Tools with the same name in agents and in our gates.
const SAME_NAMES: [&str; 10] = [
    "BashOutput",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "NotebookEdit",
    "Skill",
    "Task",
    "TodoWrite",
    "WebSearch",
];

/// Input fields that contain a path.
const PATH_FIELDS: [&str; 6] =
    ["file_path", "filePath", "filepath", "absolute_path", "notebook_path", "path"];

/// A call that the gates know. A change of several files becomes several calls, which must all be allowed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TranslatedCall {
    pub first: ToolCall,
    pub others: Vec<ToolCall>,
    /// The working directory of a command; `None` means the project.
    pub cwd: Option<PathBuf>,
}

/// `servers` are the agent's MCP servers. `None` if it is unclear what the call would do.
pub(super) fn translate(call: &acp::ToolCall, servers: &[String]) -> Option<TranslatedCall> {
    let input = call.raw_input.clone().unwrap_or(Value::Null);
    if let Some(name) = mcp_name(call, servers) {
        let input = if input["arguments"].is_object() { input["arguments"].clone() } else { input };
        return one(call, &name, input);
    }
    let name = tool_name(call);
    if let Some(name) = name.filter(|name| SAME_NAMES.contains(name)) {
        return one(call, name, input);
    }
    match call.kind {
        ToolKind::Execute => {
            let mut translated = one(call, "Bash", json!({ "command": command(call)? }))?;
            let cwd = ["cwd", "workdir"].iter().find_map(|field| input[*field].as_str());
            translated.cwd = cwd.map(PathBuf::from);
            Some(translated)
        }
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => changes(call),
        ToolKind::Read => {
            let path = paths(call).into_iter().next()?;
            one(call, "Read", json!({ "file_path": path }))
        }
        ToolKind::Search if name == Some("google_web_search") => {
            one(call, "WebSearch", json!({ "query": call.title }))
        }
        ToolKind::Search => {
            let mut query = json!({ "pattern": call.title });
            if let Some(path) = paths(call).into_iter().next() {
                query["path"] = json!(path);
            }
            one(call, "Grep", query)
        }
        ToolKind::Fetch => one(call, "WebFetch", json!({ "url": url(call)? })),
        _ => None,
    }
}

/// The call as the agent describes it, for the journal.
pub(super) fn untranslated(call: &acp::ToolCall) -> ToolCall {
    let name = tool_name(call).unwrap_or(&call.title).to_owned();
    let input = call.raw_input.clone().unwrap_or_else(|| json!({ "title": call.title }));
    ToolCall { id: call.tool_call_id.to_string(), name, input }
}

fn one(call: &acp::ToolCall, name: &str, input: Value) -> Option<TranslatedCall> {
    let first = ToolCall { id: call.tool_call_id.to_string(), name: name.to_owned(), input };
    Some(TranslatedCall { first, others: Vec::new(), cwd: None })
}

/// The agent's name of the tool, if known. The Gemini CLI prefixes the call id with it.
fn tool_name(call: &acp::ToolCall) -> Option<&str> {
    let meta = call.meta.as_ref().and_then(|meta| meta.values().find_map(|meta| meta["toolName"].as_str()));
    let before_id = call.tool_call_id.0.split_once("__").map(|(name, _)| name);
    call.name.as_deref().or(meta).or(before_id)
}

/// `mcp__SERVER__TOOL` for a call of an MCP tool, from any of the spellings that agents use.
fn mcp_name(call: &acp::ToolCall, servers: &[String]) -> Option<String> {
    let input = call.raw_input.as_ref();
    let invocation =
        input.map(|input| if input["invocation"].is_object() { &input["invocation"] } else { input });
    if let Some(invocation) = invocation
        && let (Some(server), Some(tool)) = (invocation["server"].as_str(), invocation["tool"].as_str())
    {
        return Some(format!("mcp__{server}__{tool}"));
    }
    let title = Some(call.title.as_str()).filter(|_| call.kind == ToolKind::Other);
    let names = [tool_name(call), title];
    servers.iter().find_map(|server| {
        let spellings = [
            format!("mcp__{server}__"),
            format!("mcp_{server}_"),
            format!("mcp.{server}."),
            format!("{server}_"),
        ];
        let tool = names
            .iter()
            .flatten()
            .find_map(|name| spellings.iter().find_map(|spelling| name.strip_prefix(spelling.as_str())))?;
        Some(format!("mcp__{server}__{tool}"))
    })
}

/// The command line. The title is used only if there is no input: most agents decorate the title.
fn command(call: &acp::ToolCall) -> Option<String> {
    let Some(input) = &call.raw_input else {
        return Some(call.title.clone()).filter(|title| !title.trim().is_empty());
    };
    match &input["command"] {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words = words.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
            if words.is_empty() { None } else { Some(command_line(&words)) }
        }
        _ => None,
    }
}

/// Joins words to a command line. For `sh -c SCRIPT` it is the script.
pub(super) fn command_line(words: &[&str]) -> String {
    match words {
        [shell, "-c" | "-lc", line] if shell.ends_with("sh") => (*line).to_owned(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

/// Quotes a word for a shell.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./=:,@%+".contains(char);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// One call per changed file.
fn changes(call: &acp::ToolCall) -> Option<TranslatedCall> {
    let mut calls = Vec::new();
    for content in &call.content {
        if let ToolCallContent::Diff(diff) = content {
            let path = diff.path.display().to_string();
            let input = match diff.old_text.as_deref().filter(|old| !old.is_empty()) {
                Some(old) => json!({ "file_path": path, "old_string": old, "new_string": diff.new_text }),
                None => json!({ "file_path": path, "content": diff.new_text }),
            };
            calls.push((path, input));
        }
    }
    for path in paths(call) {
        if calls.iter().all(|(known, _)| *known != path) {
            calls.push((path.clone(), json!({ "file_path": path })));
        }
    }
    let id = call.tool_call_id.to_string();
    let mut calls = calls.into_iter().map(|(_, input)| {
        let name = if input["old_string"].is_string() { "Edit" } else { "Write" };
        ToolCall { id: id.clone(), name: name.to_owned(), input }
    });
    Some(TranslatedCall { first: calls.next()?, others: calls.collect(), cwd: None })
}

/// All paths in a call.
fn paths(call: &acp::ToolCall) -> BTreeSet<String> {
    let input = call.raw_input.as_ref();
    let fields = PATH_FIELDS.iter().filter_map(|field| input?[*field].as_str().map(str::to_owned));
    let changed = input.and_then(|input| input["changes"].as_object());
    let changed = changed.into_iter().flat_map(|changes| changes.keys().cloned());
    let moved = input.and_then(|input| input["changes"].as_object()).into_iter().flat_map(|changes| {
        changes.values().filter_map(|change| change["move_path"].as_str().map(str::to_owned))
    });
    let located = call.locations.iter().map(|location| location.path.display().to_string());
    fields.chain(changed).chain(moved).chain(located).collect()
}

fn url(call: &acp::ToolCall) -> Option<String> {
    let from_input = call.raw_input.as_ref().and_then(|input| input["url"].as_str());
    let mut words = call.title.split(|char: char| char.is_whitespace() || "\"'`<>()".contains(char));
    let found = || words.find(|word| word.starts_with("http://") || word.starts_with("https://"));
    from_input.or_else(found).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use agent_client_protocol_schema::v1 as acp;
    use serde_json::{Value, json};

    use super::translate;

    fn names(call: Value) -> Vec<(String, Value)> {
        let call: acp::ToolCall = serde_json::from_value(call).expect("a tool call");
        let servers = ["autonoe".to_owned(), "play".to_owned()];
        translate(&call, &servers)
            .map(|translated| {
                let calls = std::iter::once(translated.first).chain(translated.others);
                calls.map(|call| (call.name, call.input)).collect()
            })
            .unwrap_or_default()
    }

    #[track_caller]
    fn assert_is(call: Value, name: &str, input: Value) {
        assert_eq!(names(call), [(name.to_owned(), input)]);
    }

    #[test]
    fn commands() {
        let gemini = json!({ "toolCallId": "run_shell_command__1", "title": "ls -la", "kind": "execute" });
        assert_is(gemini, "Bash", json!({ "command": "ls -la" }));
        let codex = json!({ "toolCallId": "1", "title": "x", "kind": "execute",
            "rawInput": { "command": ["/bin/bash", "-lc", "rm -rf ~"], "cwd": "/p" } });
        assert_is(codex, "Bash", json!({ "command": "rm -rf ~" }));
        let words = json!({ "toolCallId": "1", "title": "x", "kind": "execute", "rawInput": { "command": ["echo", "a b"] } });
        assert_is(words, "Bash", json!({ "command": "echo 'a b'" }));
    }

    #[test]
    fn a_decorated_title_is_not_a_command() {
        let call = json!({ "toolCallId": "1", "title": "Terminal", "kind": "execute", "rawInput": {} });
        assert_eq!(names(call), []);
    }

    #[test]
    fn every_changed_file_is_a_call() {
        let call = json!({ "toolCallId": "1", "title": "Edit", "kind": "edit",
            "content": [{ "type": "diff", "path": "/p/a", "newText": "new" }],
            "rawInput": { "changes": { "/p/a": {}, "/p/b": { "move_path": "/p/c" } } } });
        let paths: Vec<_> =
            names(call).into_iter().map(|(name, input)| (name, input["file_path"].clone())).collect();
        let write = |path: &str| ("Write".to_owned(), json!(path));
        assert_eq!(paths, [write("/p/a"), write("/p/b"), write("/p/c")]);
        let edit = json!({ "toolCallId": "1", "title": "Edit", "kind": "edit",
            "content": [{ "type": "diff", "path": "/p/a", "oldText": "old", "newText": "new" }] });
        assert_is(edit, "Edit", json!({ "file_path": "/p/a", "old_string": "old", "new_string": "new" }));
    }

    #[test]
    fn mcp_tools_in_each_spelling() {
        for call in [
            json!({ "toolCallId": "mcp_autonoe_set_status__1", "title": "set_status (autonoe MCP Server)", "kind": "other" }),
            json!({ "toolCallId": "1", "name": "mcp__autonoe__set_status", "title": "x", "kind": "other" }),
            json!({ "toolCallId": "1", "title": "autonoe_set_status", "kind": "other" }),
            json!({ "toolCallId": "1", "title": "x", "kind": "execute", "rawInput": { "server": "autonoe", "tool": "set_status" } }),
        ] {
            let translated = names(call.clone());
            assert_eq!(translated[0].0, "mcp__autonoe__set_status", "{call}");
        }
    }

    #[test]
    fn reading_searching_and_the_web() {
        let read =
            json!({ "toolCallId": "1", "title": "a", "kind": "read", "locations": [{ "path": "/p/a" }] });
        assert_is(read, "Read", json!({ "file_path": "/p/a" }));
        let fetch = json!({ "toolCallId": "1", "title": "Fetching \"https://a.b/c\"", "kind": "fetch" });
        assert_is(fetch, "WebFetch", json!({ "url": "https://a.b/c" }));
        let search = json!({ "toolCallId": "google_web_search__1", "title": "rust", "kind": "search" });
        assert_is(search, "WebSearch", json!({ "query": "rust" }));
    }

    #[test]
    fn unknown_kinds_are_not_translated() {
        for kind in ["think", "switch_mode", "other", "sing"] {
            assert_eq!(names(json!({ "toolCallId": "1", "title": "x", "kind": kind })), [], "{kind}");
        }
        assert_eq!(names(json!({ "toolCallId": "1", "title": "x", "kind": "edit" })), []);
    }
}
