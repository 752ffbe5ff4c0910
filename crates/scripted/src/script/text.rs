//! The script as a person writes it, in TOML, and its translation into a checked one. Every mistake is one sentence with
//! the place where it was made.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::{CallLine, Conversation, GivenUsage, Line, Repeated, Turn};
use crate::reply::{Complaint, ErrorReply, Fault, Moment, Spoil, StopReason, Trouble};

/// The longest delay of a `slow` fault, per piece.
const MAX_SLOW_MILLIS: u64 = 60_000;

/// How often a fault may be served at most.
const MAX_TIMES: u32 = 10_000;

/// What is wrong with a script, and the byte where.
#[derive(Debug)]
pub(super) struct Mistake {
    pub offset: usize,
    pub message: String,
}

/// Reads and checks a whole script.
pub(super) fn read(text: &str) -> Result<Vec<Conversation>, Mistake> {
    let written: ScriptText = toml::from_str(text).map_err(|error| Mistake {
        offset: error.span().map_or(0, |span| span.start),
        message: error.message().replace('\n', ", "),
    })?;
    if written.conversation.is_empty() {
        return Err(Mistake {
            offset: 0,
            message: "a script needs at least one [[conversation]]".to_owned(),
        });
    }
    let mut names = BTreeSet::new();
    let mut conversations = Vec::new();
    for (index, conversation) in written.conversation.into_iter().enumerate() {
        let offset = conversation.span().start;
        let conversation = conversation.into_inner().check(index + 1, offset)?;
        if !names.insert(conversation.name.clone()) {
            let message = format!("a second conversation is named {:?}", conversation.name);
            return Err(Mistake { offset, message });
        }
        conversations.push(conversation);
    }
    Ok(conversations)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptText {
    #[serde(default)]
    conversation: Vec<Spanned<ConversationText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConversationText {
    name: Option<String>,
    when: Option<Texts>,
    plays: Option<u32>,
    #[serde(default)]
    turn: Vec<Spanned<TurnText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnText {
    expect: Option<Texts>,
    fault: Option<FaultText>,
    thinking: Option<String>,
    text: Option<String>,
    #[serde(default)]
    call: Vec<CallText>,
    usage: Option<GivenUsage>,
    stop: Option<StopReason>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallText {
    tool: String,
    #[serde(default = "no_arguments")]
    input: toml::Value,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum FaultText {
    Status(ErrorText),
    InvalidKey(ErrorText),
    Quota(ErrorText),
    ContextLength(ErrorText),
    Overloaded(ErrorText),
    Empty {
        times: Option<u32>,
    },
    Cut {
        times: Option<u32>,
    },
    Malformed {
        times: Option<u32>,
    },
    Silence {
        #[serde(default)]
        midway: bool,
        times: Option<u32>,
    },
    Slow {
        millis: u64,
        times: Option<u32>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorText {
    /// For the kind `status`, and only there.
    status: Option<u16>,
    message: Option<String>,
    retry_after: Option<u32>,
    retry_after_ms: Option<u32>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    error: toml::Table,
    #[serde(default)]
    midway: bool,
    times: Option<u32>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string or an array of strings")]
enum Texts {
    One(String),
    All(Vec<String>),
}

impl Texts {
    fn list(texts: Option<Texts>) -> Vec<String> {
        match texts {
            None => Vec::new(),
            Some(Texts::One(text)) => vec![text],
            Some(Texts::All(texts)) => texts,
        }
    }
}

impl ConversationText {
    fn check(self, number: usize, offset: usize) -> Result<Conversation, Mistake> {
        let name = self.name.unwrap_or_else(|| format!("conversation {number}"));
        let mistake =
            |message: &str| Mistake { offset, message: format!("{message} (conversation {name:?})") };
        if self.plays == Some(0) {
            return Err(mistake("`plays` must be at least 1; leave it out for any number"));
        }
        if self.turn.is_empty() {
            return Err(mistake("a conversation needs at least one [[conversation.turn]]"));
        }
        let mut turns = Vec::new();
        let mut pending = Turn::default();
        for (index, turn) in self.turn.into_iter().enumerate() {
            let offset = turn.span().start;
            let in_turn = |message| Mistake {
                offset,
                message: format!("{message} (conversation {name:?}, turn {})", index + 1),
            };
            let (fault, line) = turn.into_inner().check().map_err(in_turn)?;
            pending.faults.extend(fault);
            if line.is_some() {
                pending.line = line;
                turns.push(std::mem::take(&mut pending));
            }
        }
        if pending.faults.iter().any(|repeated| repeated.fault.delivers()) {
            return Err(mistake("a `slow` fault needs a reply to send slowly, in its turn or a later one"));
        }
        if !pending.faults.is_empty() {
            turns.push(pending);
        }
        Ok(Conversation { name, when: Texts::list(self.when), plays: self.plays, turns })
    }
}

impl TurnText {
    fn check(self) -> Result<(Option<Repeated>, Option<Line>), String> {
        let replies = self.thinking.is_some() || self.text.is_some() || !self.call.is_empty();
        let fault = self.fault.map(FaultText::check).transpose()?;
        if !replies {
            if fault.is_none() {
                return Err("a turn needs `text`, `thinking`, `call` or `fault`".to_owned());
            }
            if self.expect.is_some() || self.usage.is_some() || self.stop.is_some() {
                return Err("`expect`, `usage` and `stop` belong to a turn that replies, and this one has only a fault".to_owned());
            }
            return Ok((fault, None));
        }
        if self.text.as_deref() == Some("") || self.thinking.as_deref() == Some("") {
            return Err("`text` and `thinking` may be left out but not empty".to_owned());
        }
        if self.call.iter().any(|call| call.tool.is_empty()) {
            return Err("`tool` must name a tool".to_owned());
        }
        if self.call.iter().any(|call| !call.input.is_table() && !call.input.is_str()) {
            return Err("`input` must be a table, or a string that is sent as it is".to_owned());
        }
        if self.usage.is_some_and(|usage| usage.output.is_some_and(|output| usage.reasoning > Some(output))) {
            return Err("`reasoning` is a part of `output` and may not be more".to_owned());
        }
        let stop =
            self.stop.unwrap_or(if self.call.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse });
        let line = Line {
            expect: Texts::list(self.expect),
            thinking: self.thinking,
            text: self.text,
            calls: self
                .call
                .into_iter()
                .map(|call| CallLine { tool: call.tool, input: json(call.input) })
                .collect(),
            stop,
            usage: self.usage.unwrap_or_default(),
        };
        Ok((fault, Some(line)))
    }
}

impl FaultText {
    fn check(self) -> Result<Repeated, String> {
        let (fault, times) = match self {
            FaultText::Status(text) => {
                let status = text.status.ok_or("a `status` fault needs `status`")?;
                let code = StatusCode::from_u16(status)
                    .ok()
                    .filter(|code| code.is_client_error() || code.is_server_error())
                    .ok_or_else(|| format!("`status` is {status} and must be from 400 to 599"))?;
                ErrorText { status: None, ..text }.check(Trouble::Status(code))?
            }
            FaultText::InvalidKey(text) => text.check(Trouble::InvalidKey)?,
            FaultText::Quota(text) => text.check(Trouble::Quota)?,
            FaultText::ContextLength(text) => text.check(Trouble::ContextLength)?,
            FaultText::Overloaded(text) => text.check(Trouble::Overloaded)?,
            FaultText::Empty { times } => (Fault::Empty, times),
            FaultText::Cut { times } => (Fault::Spoil(Spoil::Cut), times),
            FaultText::Malformed { times } => (Fault::Spoil(Spoil::Malformed), times),
            FaultText::Silence { midway, times } => (Fault::Spoil(Spoil::Silence(moment(midway))), times),
            FaultText::Slow { millis, .. } if millis > MAX_SLOW_MILLIS => {
                return Err(format!("`millis` is {millis} and may be at most {MAX_SLOW_MILLIS}"));
            }
            FaultText::Slow { millis, times } => {
                (Fault::Spoil(Spoil::Slow(Duration::from_millis(millis))), times)
            }
        };
        let times = times.unwrap_or(1);
        if !(1..=MAX_TIMES).contains(&times) {
            return Err(format!("`times` is {times} and must be from 1 to {MAX_TIMES}"));
        }
        Ok(Repeated { fault, times })
    }
}

impl ErrorText {
    fn check(self, trouble: Trouble) -> Result<(Fault, Option<u32>), String> {
        if self.status.is_some() {
            return Err("`status` belongs to a fault of the kind `status`".to_owned());
        }
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers {
            let value = HeaderValue::from_str(&value)
                .map_err(|_| format!("the value of header `{name}` is not allowed in HTTP"))?;
            let name = HeaderName::try_from(&name)
                .map_err(|_| format!("`{name}` is not the name of an HTTP header"))?;
            headers.insert(name, value);
        }
        let retry_after = match (self.retry_after, self.retry_after_ms) {
            (Some(_), Some(_)) => return Err("`retry_after` and `retry_after_ms` say the same".to_owned()),
            (Some(seconds), None) => Some(Duration::from_secs(seconds.into())),
            (None, millis) => millis.map(|millis| Duration::from_millis(millis.into())),
        };
        let complaint = Complaint { trouble, message: self.message, retry_after };
        let details = self.error.into_iter().map(|(key, value)| (key, json(value))).collect();
        let moment = moment(self.midway);
        Ok((Fault::Error(ErrorReply { complaint, headers, details, moment }), self.times))
    }
}

fn moment(midway: bool) -> Moment {
    if midway { Moment::Midway } else { Moment::AtOnce }
}

fn no_arguments() -> toml::Value {
    toml::Value::Table(toml::Table::new())
}

/// TOML as JSON; dates become strings.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(yes) => Value::from(yes),
        toml::Value::Datetime(when) => Value::from(when.to_string()),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, json(value))).collect())
        }
    }
}
