//! Parses and checks a script written in TOML. Every error is one sentence with its position.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::conversation::{
    RepeatedFault, ScriptCall, ScriptConversation, ScriptReply, ScriptTurn, ScriptUsage,
};
use super::turn_error::{MAX_SLOW_MILLIS, MAX_TIMES, TurnError};
use crate::reply::{
    DeliveryFault, ErrorReply, FaultTiming, ScriptFault, ServiceError, ServiceErrorKind, StopReason,
};

#[derive(Debug)]
pub(super) struct ParseError {
    /// In bytes from the start of the script.
    pub offset: usize,
    pub message: String,
}

pub(super) fn parse(text: &str) -> Result<Vec<ScriptConversation>, ParseError> {
    let written: ScriptText = toml::from_str(text).map_err(|error| ParseError {
        offset: error.span().map_or(0, |span| span.start),
        message: error.message().replace('\n', ", "),
    })?;
    if written.conversation.is_empty() {
        return Err(ParseError {
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
            let message = format!("two conversations are named {:?}", conversation.name);
            return Err(ParseError { offset, message });
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
    usage: Option<ScriptUsage>,
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
    /// Only for the kind `status`.
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
    fn check(self, number: usize, offset: usize) -> Result<ScriptConversation, ParseError> {
        let name = self.name.unwrap_or_else(|| format!("conversation {number}"));
        let error =
            |message: &str| ParseError { offset, message: format!("{message} (conversation {name:?})") };
        if self.plays == Some(0) {
            return Err(error("`plays` must be at least 1; leave it out for any number"));
        }
        if self.turn.is_empty() {
            return Err(error("a conversation needs at least one [[conversation.turn]]"));
        }
        let mut turns = Vec::new();
        let mut pending = ScriptTurn::default();
        for (index, turn) in self.turn.into_iter().enumerate() {
            let offset = turn.span().start;
            let in_turn = |error: TurnError| ParseError {
                offset,
                message: format!("{error} (conversation {name:?}, turn {})", index + 1),
            };
            let (fault, reply) = turn.into_inner().check().map_err(in_turn)?;
            pending.faults.extend(fault);
            if reply.is_some() {
                pending.reply = reply;
                turns.push(std::mem::take(&mut pending));
            }
        }
        if pending.faults.iter().any(|repeated| repeated.fault.delivers()) {
            return Err(error("a `slow` fault needs a reply, in its own turn or a later one"));
        }
        if !pending.faults.is_empty() {
            turns.push(pending);
        }
        Ok(ScriptConversation { name, when: Texts::list(self.when), plays: self.plays, turns })
    }
}

impl TurnText {
    fn check(self) -> Result<(Option<RepeatedFault>, Option<ScriptReply>), TurnError> {
        let replies = self.thinking.is_some() || self.text.is_some() || !self.call.is_empty();
        let fault = self.fault.map(FaultText::check).transpose()?;
        if !replies {
            if fault.is_none() {
                return Err(TurnError::Nothing);
            }
            if self.expect.is_some() || self.usage.is_some() || self.stop.is_some() {
                return Err(TurnError::NoReply);
            }
            return Ok((fault, None));
        }
        if self.text.as_deref() == Some("") || self.thinking.as_deref() == Some("") {
            return Err(TurnError::EmptyText);
        }
        if self.call.iter().any(|call| call.tool.is_empty()) {
            return Err(TurnError::NoTool);
        }
        if self.call.iter().any(|call| !call.input.is_table() && !call.input.is_str()) {
            return Err(TurnError::Input);
        }
        if self.usage.is_some_and(|usage| usage.output.is_some_and(|output| usage.reasoning > Some(output))) {
            return Err(TurnError::Reasoning);
        }
        let stop =
            self.stop.unwrap_or(if self.call.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse });
        let reply = ScriptReply {
            expect: Texts::list(self.expect),
            thinking: self.thinking,
            text: self.text,
            calls: self
                .call
                .into_iter()
                .map(|call| ScriptCall { tool: call.tool, input: json(call.input) })
                .collect(),
            stop,
            usage: self.usage.unwrap_or_default(),
        };
        Ok((fault, Some(reply)))
    }
}

impl FaultText {
    fn check(self) -> Result<RepeatedFault, TurnError> {
        let (fault, times) = match self {
            FaultText::Status(text) => {
                let status = text.status.ok_or(TurnError::NoStatus)?;
                let code = StatusCode::from_u16(status)
                    .ok()
                    .filter(|code| code.is_client_error() || code.is_server_error())
                    .ok_or(TurnError::Status(status))?;
                ErrorText { status: None, ..text }.check(ServiceErrorKind::Status(code))?
            }
            FaultText::InvalidKey(text) => text.check(ServiceErrorKind::InvalidKey)?,
            FaultText::Quota(text) => text.check(ServiceErrorKind::Quota)?,
            FaultText::ContextLength(text) => text.check(ServiceErrorKind::ContextLength)?,
            FaultText::Overloaded(text) => text.check(ServiceErrorKind::Overloaded)?,
            FaultText::Empty { times } => (ScriptFault::Empty, times),
            FaultText::Cut { times } => (ScriptFault::Delivery(DeliveryFault::Cut), times),
            FaultText::Malformed { times } => (ScriptFault::Delivery(DeliveryFault::Malformed), times),
            FaultText::Silence { midway, times } => {
                (ScriptFault::Delivery(DeliveryFault::Silence(timing(midway))), times)
            }
            FaultText::Slow { millis, .. } if millis > MAX_SLOW_MILLIS => {
                return Err(TurnError::Millis(millis));
            }
            FaultText::Slow { millis, times } => {
                (ScriptFault::Delivery(DeliveryFault::Slow(Duration::from_millis(millis))), times)
            }
        };
        let times = times.unwrap_or(1);
        if !(1..=MAX_TIMES).contains(&times) {
            return Err(TurnError::Times(times));
        }
        Ok(RepeatedFault { fault, times })
    }
}

impl ErrorText {
    fn check(self, kind: ServiceErrorKind) -> Result<(ScriptFault, Option<u32>), TurnError> {
        if self.status.is_some() {
            return Err(TurnError::StrayStatus);
        }
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers {
            let value = HeaderValue::from_str(&value).map_err(|_| TurnError::HeaderValue(name.clone()))?;
            headers.insert(HeaderName::try_from(&name).map_err(|_| TurnError::HeaderName(name))?, value);
        }
        let retry_after = match (self.retry_after, self.retry_after_ms) {
            (Some(_), Some(_)) => {
                return Err(TurnError::RetryTwice);
            }
            (Some(seconds), None) => Some(Duration::from_secs(seconds.into())),
            (None, millis) => millis.map(|millis| Duration::from_millis(millis.into())),
        };
        let error = ServiceError { kind, message: self.message, retry_after };
        let details = self.error.into_iter().map(|(key, value)| (key, json(value))).collect();
        let timing = timing(self.midway);
        Ok((ScriptFault::Error(ErrorReply { error, headers, details, timing }), self.times))
    }
}

fn timing(midway: bool) -> FaultTiming {
    if midway { FaultTiming::Midway } else { FaultTiming::AtOnce }
}

fn no_arguments() -> toml::Value {
    toml::Value::Table(toml::Table::new())
}

/// Dates become strings.
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
