//! A span that has begun and not yet ended, and what becomes of it when it ends.

use std::time::SystemTime;

use autonoe_core::event::Usage;
use autonoe_core::span::SpanContext;
use opentelemetry::{KeyValue, Value};
use opentelemetry_proto::tonic::Attributes;
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use crate::content::Content;
use crate::conventions as name;

/// How many notes one span carries.
const MAX_NOTES: usize = 128;

/// Set when a trace is sampled, as in W3C's trace context.
const SAMPLED: u32 = 1;

/// What a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A run.
    Run,
    /// A session.
    Session,
    /// A model call.
    Chat,
    /// A tool call.
    Tool,
}

impl Kind {
    /// What the conventions call it.
    pub fn operation(self) -> &'static str {
        match self {
            Self::Run => "invoke_workflow",
            Self::Session => "invoke_agent",
            Self::Chat => "chat",
            Self::Tool => "execute_tool",
        }
    }
}

/// Why a span failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// A stable code.
    pub code: String,
    /// A sentence, where it may be sent.
    pub message: Option<String>,
}

/// A span that has begun.
#[derive(Debug)]
pub struct OpenSpan {
    /// What it is.
    pub kind: Kind,
    /// Where in the run it belongs.
    pub context: SpanContext,
    /// When it began.
    pub start: SystemTime,
    /// What tells it from others of its kind, few values each: attributes of the span and of its measurements.
    pub dimensions: Vec<KeyValue>,
    /// When the first piece of an answer came.
    pub first_chunk: Option<SystemTime>,
    /// What was spent in it.
    pub spent: Spent,
    /// What was said in it.
    pub content: Content,
    subject: String,
    details: Vec<KeyValue>,
    notes: Vec<Event>,
    notes_lost: u32,
}

impl OpenSpan {
    /// Begins a span. The subject is the second word of its name.
    pub fn begin(kind: Kind, context: &SpanContext, subject: &str, now: SystemTime) -> Self {
        Self {
            kind,
            context: context.clone(),
            start: now,
            dimensions: vec![KeyValue::new(name::OPERATION, kind.operation())],
            first_chunk: None,
            spent: Spent::default(),
            content: Content::default(),
            subject: subject.to_owned(),
            details: vec![KeyValue::new(name::RUN, context.run)],
            notes: Vec::new(),
            notes_lost: 0,
        }
    }

    /// The second word of its name.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Adds an attribute that measurements have too.
    pub fn tell(&mut self, key: &'static str, value: impl Into<Value>) {
        self.dimensions.push(KeyValue::new(key, value));
    }

    /// Adds an attribute.
    pub fn detail(&mut self, key: &'static str, value: impl Into<Value>) {
        self.details.push(KeyValue::new(key, value));
    }

    /// Notes that something happened in it.
    pub fn note(&mut self, what: &str, attributes: Vec<KeyValue>, now: SystemTime) {
        if self.notes.len() == MAX_NOTES {
            self.notes_lost += 1;
            return;
        }
        self.notes.push(Event {
            time_unix_nano: nanoseconds(now),
            name: what.to_owned(),
            attributes: Attributes::from(attributes).0,
            dropped_attributes_count: 0,
        });
    }

    /// Ends it, with what failed if something did.
    pub fn end(mut self, now: SystemTime, failure: Option<&Failure>) -> Span {
        self.say_what_was_spent();
        if let Some(messages) = self.content.messages() {
            self.detail(name::OUTPUT_MESSAGES, messages);
        }
        if self.content.cut() > 0 {
            self.detail(name::CUT, count(self.content.cut()));
        }
        if let Some(Failure { code, .. }) = failure {
            self.detail(name::ERROR, code.clone());
        }
        let status = failure.map(|Failure { code, message }| Status {
            code: StatusCode::Error.into(),
            message: message.as_ref().map_or_else(|| code.clone(), |message| format!("{code}: {message}")),
        });
        let kind = match self.kind {
            Kind::Chat => SpanKind::Client,
            Kind::Run | Kind::Session | Kind::Tool => SpanKind::Internal,
        };
        Span {
            trace_id: self.context.trace_id.0.to_be_bytes().to_vec(),
            span_id: self.context.span_id.0.to_be_bytes().to_vec(),
            parent_span_id: self
                .context
                .parent_span_id
                .map_or_else(Vec::new, |id| id.0.to_be_bytes().to_vec()),
            flags: SAMPLED,
            name: format!("{} {}", self.kind.operation(), self.subject),
            kind: kind.into(),
            start_time_unix_nano: nanoseconds(self.start),
            end_time_unix_nano: nanoseconds(now.max(self.start)),
            attributes: Attributes::from(self.dimensions.into_iter().chain(self.details)).0,
            events: self.notes,
            dropped_events_count: self.notes_lost,
            status,
            ..Span::default()
        }
    }

    fn say_what_was_spent(&mut self) {
        let Spent { usage, reported, .. } = self.spent;
        if !reported {
            return;
        }
        self.detail(name::INPUT_TOKENS, whole(self.spent.input()));
        self.detail(name::OUTPUT_TOKENS, whole(usage.output_tokens));
        for (key, tokens) in [
            (name::REASONING_TOKENS, usage.reasoning_tokens),
            (name::CACHE_READ_TOKENS, usage.cache_read_tokens),
            (name::CACHE_WRITE_TOKENS, usage.cache_write_tokens),
        ] {
            if tokens > 0 {
                self.detail(key, whole(tokens));
            }
        }
        if let Some(cost) = usage.cost_usd.filter(|_| !self.spent.unpriced) {
            self.detail(name::COST, cost.0);
        }
    }
}

/// What was spent in a span. An unknown price makes the whole cost unknown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// The sum.
    pub usage: Usage,
    /// Whether anything was reported.
    pub reported: bool,
    unpriced: bool,
}

impl Spent {
    /// Adds to it.
    pub fn add(&mut self, usage: &Usage) {
        let sum = &mut self.usage;
        sum.input_tokens += usage.input_tokens;
        sum.output_tokens += usage.output_tokens;
        sum.reasoning_tokens += usage.reasoning_tokens;
        sum.cache_read_tokens += usage.cache_read_tokens;
        sum.cache_write_tokens += usage.cache_write_tokens;
        match usage.cost_usd {
            Some(cost) => sum.cost_usd = Some(sum.cost_usd.unwrap_or_default() + cost),
            None => self.unpriced = true,
        }
        self.reported = true;
    }

    /// All input tokens: the conventions count the cached ones among them, `core` does not.
    pub fn input(&self) -> u64 {
        self.usage.input_tokens + self.usage.cache_read_tokens + self.usage.cache_write_tokens
    }
}

/// A count as attributes have it.
pub fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
