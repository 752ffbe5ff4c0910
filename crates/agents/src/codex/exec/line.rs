//! Output lines of `codex exec --json`. They contain the app server's items with other key names. Unknown
//! lines are reported, never dropped.

use autonoe_core::event::Usage;
use serde_json::{Map, Value, json};

use super::super::item::CodexItem;
use super::super::message::{text, usage};
use super::super::turn_end::CodexTurnEnd;

/// Prefix of messages about retries.
const RETRIES: &str = "Reconnecting...";

#[derive(Debug, PartialEq)]
pub(super) enum ExecLine {
    /// The id of the conversation.
    Thread(String),
    ItemStarted(CodexItem),
    ItemCompleted(CodexItem),
    /// A model call failed and is being retried.
    Retrying(String),
    Warning(String),
    /// An error; repeated at the end of the turn, if the turn gets there.
    Failed(String),
    /// `total` is the usage of the whole conversation so far.
    TurnCompleted {
        end: CodexTurnEnd,
        total: Option<Usage>,
    },
    Ignored,
    /// A line type that is not known to us.
    Unknown(String),
}

impl ExecLine {
    /// Item ids restart in each turn, so the number of the turn is added to them.
    pub(super) fn read(line: &Value, turn: u32) -> Self {
        let error = || text(&line["item"]["message"]);
        match (line["type"].as_str().unwrap_or_default(), line["item"]["type"].as_str()) {
            ("thread.started", _) => Self::Thread(text(&line["thread_id"])),
            ("item.started" | "item.completed", Some("error")) => Self::Warning(error()),
            ("item.started", Some(_)) => Self::ItemStarted(item(&line["item"], turn)),
            ("item.completed", Some(_)) => Self::ItemCompleted(item(&line["item"], turn)),
            ("turn.completed", _) => {
                let total = Some(usage(&Value::Object(camel_keys(&line["usage"]))));
                Self::TurnCompleted { end: CodexTurnEnd::completed(), total }
            }
            ("turn.failed", _) => Self::TurnCompleted {
                end: CodexTurnEnd::failed(text(&line["error"]["message"])),
                total: None,
            },
            ("error", _) => {
                let message = text(&line["message"]);
                match message.strip_prefix(RETRIES) {
                    Some(retry) => Self::Retrying(retry.trim().to_owned()),
                    None => Self::Failed(message),
                }
            }
            ("turn.started" | "item.updated", _) => Self::Ignored,
            (unknown, _) => Self::Unknown(unknown.to_owned()),
        }
    }
}

/// Converts an item to the app server's format.
fn item(item: &Value, turn: u32) -> CodexItem {
    let mut converted = camel_keys(item);
    converted.insert("id".to_owned(), json!(format!("{turn}/{}", text(&item["id"]))));
    let kind = match item["type"].as_str().unwrap_or_default() {
        "todo_list" => "plan".to_owned(),
        "collab_tool_call" => "collabAgentToolCall".to_owned(),
        "reasoning" => {
            converted.insert("summary".to_owned(), json!([item["text"]]));
            "reasoning".to_owned()
        }
        "file_change" => {
            let changes = item["changes"].as_array().into_iter().flatten();
            let changes =
                changes.map(|change| json!({ "path": change["path"], "kind": { "type": change["kind"] } }));
            converted.insert("changes".to_owned(), changes.collect());
            "fileChange".to_owned()
        }
        other => camel(other),
    };
    converted.insert("type".to_owned(), json!(kind));
    CodexItem::read(&Value::Object(converted))
}

/// Converts the keys of an object to camel case.
fn camel_keys(object: &Value) -> Map<String, Value> {
    object.as_object().into_iter().flatten().map(|(key, value)| (camel(key), value.clone())).collect()
}

/// `cached_input_tokens` as `cachedInputTokens`.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel_case = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel_case.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel_case.push_str(letters.as_str());
    }
    camel_case
}
