//! What `codex exec --json` says, line by line. Its words are those of the app server, spelled otherwise; an unknown line is
//! told, never dropped.

use autonoe_core::event::Usage;
use serde_json::{Map, Value, json};

use super::super::ending::Ending;
use super::super::item::Item;
use super::super::message::{text, usage};

/// How a line begins that tells of another try.
const RETRIES: &str = "Reconnecting...";

/// One line.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// The conversation has this id.
    Thread(String),
    /// Something begins.
    Begun(Item),
    /// Something is done.
    Done(Item),
    /// A call of the model failed and is tried again.
    Retries(String),
    /// It warns of something.
    Warns(String),
    /// Something failed, as the end of the turn will say again if there is one.
    Failed(String),
    /// The turn has ended; what the conversation used so far.
    Ended { ending: Ending, total: Option<Usage> },
    /// Nothing to tell.
    Silent,
    /// A kind that did not exist when this was written.
    Unknown(String),
}

impl Line {
    /// Reads a line of a turn. Its ids begin anew in each, so they are told with its number.
    pub(super) fn read(line: &Value, turn: u32) -> Self {
        let error = || text(&line["item"]["message"]);
        match (line["type"].as_str().unwrap_or_default(), line["item"]["type"].as_str()) {
            ("thread.started", _) => Self::Thread(text(&line["thread_id"])),
            ("item.started" | "item.completed", Some("error")) => Self::Warns(error()),
            ("item.started", Some(_)) => Self::Begun(item(&line["item"], turn)),
            ("item.completed", Some(_)) => Self::Done(item(&line["item"], turn)),
            ("turn.completed", _) => {
                let total = Some(usage(&Value::Object(respelled(&line["usage"]))));
                Self::Ended { ending: Ending::completed(), total }
            }
            ("turn.failed", _) => {
                Self::Ended { ending: Ending::failed(text(&line["error"]["message"])), total: None }
            }
            ("error", _) => {
                let words = text(&line["message"]);
                match words.strip_prefix(RETRIES) {
                    Some(try_again) => Self::Retries(try_again.trim().to_owned()),
                    None => Self::Failed(words),
                }
            }
            ("turn.started" | "item.updated", _) => Self::Silent,
            (unknown, _) => Self::Unknown(unknown.to_owned()),
        }
    }
}

/// A thing as the app server would tell of it.
fn item(item: &Value, turn: u32) -> Item {
    let mut told = respelled(item);
    told.insert("id".to_owned(), json!(format!("{turn}/{}", text(&item["id"]))));
    let kind = match item["type"].as_str().unwrap_or_default() {
        "todo_list" => "plan".to_owned(),
        "collab_tool_call" => "collabAgentToolCall".to_owned(),
        "reasoning" => {
            told.insert("summary".to_owned(), json!([item["text"]]));
            "reasoning".to_owned()
        }
        "file_change" => {
            let changes = item["changes"].as_array().into_iter().flatten();
            let changes =
                changes.map(|change| json!({ "path": change["path"], "kind": { "type": change["kind"] } }));
            told.insert("changes".to_owned(), changes.collect());
            "fileChange".to_owned()
        }
        other => camel(other),
    };
    told.insert("type".to_owned(), json!(kind));
    Item::read(&Value::Object(told))
}

/// An object with its keys in the app server's spelling.
fn respelled(object: &Value) -> Map<String, Value> {
    object.as_object().into_iter().flatten().map(|(key, value)| (camel(key), value.clone())).collect()
}

/// `cached_input_tokens` as `cachedInputTokens`.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let mut spelled = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        spelled.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        spelled.push_str(letters.as_str());
    }
    spelled
}
