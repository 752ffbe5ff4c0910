//! A span that has started and not yet ended, and its conversion to OTLP when it ends.

use std::time::SystemTime;

use autonoe_core::event::Usage;
use autonoe_core::span::SpanContext;
use opentelemetry::{KeyValue, Value};
use opentelemetry_proto::tonic::Attributes;
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use crate::content::CapturedContent;
use crate::conventions as attr;

/// The most events in one span.
const MAX_EVENTS: usize = 128;

/// The sampled flag of the W3C trace context.
const SAMPLED: u32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanType {
    Run,
    Session,
    ModelCall,
    ToolCall,
}

impl SpanType {
    /// The operation name in the semantic conventions.
    pub fn operation(self) -> &'static str {
        match self {
            Self::Run => "invoke_workflow",
            Self::Session => "invoke_agent",
            Self::ModelCall => "chat",
            Self::ToolCall => "execute_tool",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanFailure {
    pub code: String,
    /// `None` where content is not captured: a message may quote providers and tools.
    pub message: Option<String>,
}

#[derive(Debug)]
pub struct OpenSpan {
    pub kind: SpanType,
    pub context: SpanContext,
    pub start: SystemTime,
    /// Low-cardinality attributes, used for the span and for its measurements.
    pub dimensions: Vec<KeyValue>,
    /// When the first chunk of the reply arrived.
    pub first_chunk: Option<SystemTime>,
    pub usage: SpanUsage,
    pub content: CapturedContent,
    subject: String,
    attributes: Vec<KeyValue>,
    events: Vec<Event>,
    events_dropped: u32,
}

impl OpenSpan {
    /// Starts a span. Its name is the operation followed by the subject.
    pub fn start(kind: SpanType, context: &SpanContext, subject: &str, now: SystemTime) -> Self {
        Self {
            kind,
            context: context.clone(),
            start: now,
            dimensions: vec![KeyValue::new(attr::OPERATION, kind.operation())],
            first_chunk: None,
            usage: SpanUsage::default(),
            content: CapturedContent::default(),
            subject: subject.to_owned(),
            attributes: vec![KeyValue::new(attr::RUN, context.run)],
            events: Vec::new(),
            events_dropped: 0,
        }
    }

    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Adds an attribute to the span and its measurements.
    pub fn dimension(&mut self, key: &'static str, value: impl Into<Value>) {
        self.dimensions.push(KeyValue::new(key, value));
    }

    /// Adds an attribute to the span only.
    pub fn attribute(&mut self, key: &'static str, value: impl Into<Value>) {
        self.attributes.push(KeyValue::new(key, value));
    }

    pub fn event(&mut self, name: &str, attributes: Vec<KeyValue>, now: SystemTime) {
        if self.events.len() == MAX_EVENTS {
            self.events_dropped += 1;
            return;
        }
        self.events.push(Event {
            time_unix_nano: nanoseconds(now),
            name: name.to_owned(),
            attributes: Attributes::from(attributes).0,
            dropped_attributes_count: 0,
        });
    }

    pub fn end(mut self, now: SystemTime, failure: Option<&SpanFailure>) -> Span {
        self.add_usage_attributes();
        if let Some(messages) = self.content.messages() {
            self.attribute(attr::OUTPUT_MESSAGES, messages);
        }
        if self.content.cut() > 0 {
            self.attribute(attr::CUT, count(self.content.cut()));
        }
        if let Some(SpanFailure { code, .. }) = failure {
            self.attribute(attr::ERROR, code.clone());
        }
        let status = failure.map(|SpanFailure { code, message }| Status {
            code: StatusCode::Error.into(),
            message: message.as_ref().map_or_else(|| code.clone(), |message| format!("{code}: {message}")),
        });
        let kind = match self.kind {
            SpanType::ModelCall => SpanKind::Client,
            SpanType::Run | SpanType::Session | SpanType::ToolCall => SpanKind::Internal,
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
            attributes: Attributes::from(self.dimensions.into_iter().chain(self.attributes)).0,
            events: self.events,
            dropped_events_count: self.events_dropped,
            status,
            ..Span::default()
        }
    }

    fn add_usage_attributes(&mut self) {
        let SpanUsage { total, is_reported, .. } = self.usage;
        if !is_reported {
            return;
        }
        self.attribute(attr::INPUT_TOKENS, to_i64(self.usage.input()));
        self.attribute(attr::OUTPUT_TOKENS, to_i64(total.output_tokens));
        for (key, tokens) in [
            (attr::REASONING_TOKENS, total.reasoning_tokens),
            (attr::CACHE_READ_TOKENS, total.cache_read_tokens),
            (attr::CACHE_WRITE_TOKENS, total.cache_write_tokens),
        ] {
            if tokens > 0 {
                self.attribute(key, to_i64(tokens));
            }
        }
        if let Some(cost) = total.cost_usd.filter(|_| !self.usage.is_unpriced) {
            self.attribute(attr::COST, cost.0);
        }
    }
}

/// The usage of a span. One unknown price makes its whole cost unknown.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpanUsage {
    pub total: Usage,
    pub is_reported: bool,
    is_unpriced: bool,
}

impl SpanUsage {
    pub fn add(&mut self, usage: &Usage) {
        let sum = &mut self.total;
        sum.input_tokens += usage.input_tokens;
        sum.output_tokens += usage.output_tokens;
        sum.reasoning_tokens += usage.reasoning_tokens;
        sum.cache_read_tokens += usage.cache_read_tokens;
        sum.cache_write_tokens += usage.cache_write_tokens;
        match usage.cost_usd {
            Some(cost) => sum.cost_usd = Some(sum.cost_usd.unwrap_or_default() + cost),
            None => self.is_unpriced = true,
        }
        self.is_reported = true;
    }

    /// All input tokens. The semantic conventions include cached tokens, `core` does not.
    pub fn input(&self) -> u64 {
        self.total.input_tokens + self.total.cache_read_tokens + self.total.cache_write_tokens
    }
}

pub fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
