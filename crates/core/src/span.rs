//! Spans: where in a run an event belongs, for journals and for tracing.
//!
//! Ids are derived from the run's trace and the position of the span, not random, so that everything that
//! refers to the same session uses the same span.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::event::AgentEvent;

/// One trace per process of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TraceId(pub u128);

/// A span within a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SpanId(pub u64);

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl From<TraceId> for String {
    fn from(id: TraceId) -> Self {
        id.to_string()
    }
}

impl From<SpanId> for String {
    fn from(id: SpanId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for TraceId {
    type Error = std::num::ParseIntError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        u128::from_str_radix(&text, 16).map(Self)
    }
}

impl TryFrom<String> for SpanId {
    type Error = std::num::ParseIntError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        u64::from_str_radix(&text, 16).map(Self)
    }
}

/// Position of an event in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanContext {
    /// The run's id in the journal.
    pub run: i64,
    /// Number of the session within the run, from 1; `None` for the run's own events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u32>,
    /// The trace of this process.
    #[serde(default)]
    pub trace_id: TraceId,
    /// A run, a session, a model call or a tool call.
    #[serde(default)]
    pub span_id: SpanId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<SpanId>,
}

impl SpanContext {
    pub fn run(run: i64, trace_id: TraceId) -> Self {
        Self { run, session: None, trace_id, span_id: derive(trace_id, 0, 0), parent_span_id: None }
    }

    pub fn session(&self, number: u32) -> Self {
        let span_id = derive(self.trace_id, number, 0);
        let run = derive(self.trace_id, 0, 0);
        Self { session: Some(number), span_id, parent_span_id: Some(run), ..self.clone() }
    }

    /// The `nth` call of this session, from 1.
    fn call(&self, nth: u32) -> Self {
        let number = self.session.unwrap_or_default();
        let span_id = derive(self.trace_id, number, nth);
        Self { span_id, parent_span_id: Some(self.span_id), ..self.clone() }
    }
}

fn derive(TraceId(trace): TraceId, session: u32, call: u32) -> SpanId {
    let position = (u64::from(session) << 32) | u64::from(call);
    // The finishing steps of SplitMix64: each is a bijection, so different places stay different.
    let mut bits = (trace as u64) ^ position.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    // Zero is not a valid id.
    SpanId(if bits == 0 { 1 } else { bits })
}

/// Assigns spans to the events of a session: each model call and each tool call has its own span.
#[derive(Debug)]
pub struct SessionSpans {
    session: SpanContext,
    calls: u32,
    model: Option<SpanContext>,
    tools: HashMap<String, SpanContext>,
}

impl SessionSpans {
    pub fn new(session: SpanContext) -> Self {
        Self { session, calls: 0, model: None, tools: HashMap::new() }
    }

    pub fn of(&mut self, event: &AgentEvent) -> SpanContext {
        match event {
            AgentEvent::ModelCallStarted { .. } => {
                let span = self.next();
                self.model = Some(span.clone());
                span
            }
            AgentEvent::ModelCallEnded { .. } => self.model.take().unwrap_or_else(|| self.session.clone()),
            AgentEvent::Working { .. }
            | AgentEvent::Chunk { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::Usage(_) => self.model.clone().unwrap_or_else(|| self.session.clone()),
            AgentEvent::ToolCall(call) => {
                let span = self.next();
                self.tools.insert(call.id.clone(), span.clone());
                span
            }
            AgentEvent::ToolResult { id, .. } => {
                self.tools.remove(id).unwrap_or_else(|| self.session.clone())
            }
            AgentEvent::Conversation { .. }
            | AgentEvent::Warning { .. }
            | AgentEvent::UserMessage { .. }
            | AgentEvent::HostRefused { .. }
            | AgentEvent::Answer { .. }
            | AgentEvent::End { .. } => self.session.clone(),
        }
    }

    fn next(&mut self) -> SpanContext {
        self.calls += 1;
        self.session.call(self.calls)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{SessionSpans, SpanContext, SpanId, TraceId};
    use crate::event::AgentEvent;
    use crate::gate::{GateRuling, ToolCall};

    #[test]
    fn ids_are_distinct_and_reproducible() {
        let run = SpanContext::run(7, TraceId(0x1234_5678_9abc_def0_1234_5678_9abc_def0));
        let mut ids = HashSet::from([run.span_id]);
        for number in 1..200 {
            let session = run.session(number);
            assert_eq!(session, run.session(number));
            assert_eq!(session.parent_span_id, Some(run.span_id));
            assert!(ids.insert(session.span_id));
            assert!((1..20).all(|nth| ids.insert(session.call(nth).span_id)));
        }
    }

    #[test]
    fn ids_are_serialized_as_in_opentelemetry() {
        assert_eq!(serde_json::to_string(&TraceId(0xab)).expect("json"), format!("\"{:032x}\"", 0xab));
        assert_eq!(SpanId(0xab).to_string(), "00000000000000ab");
        let back: SpanId = serde_json::from_str("\"00000000000000ab\"").expect("read");
        assert_eq!(back, SpanId(0xab));
    }

    #[test]
    fn calls_begin_and_end_in_the_same_span() {
        let session = SpanContext::run(1, TraceId(1)).session(1);
        let mut spans = SessionSpans::new(session.clone());
        let started = spans.of(&AgentEvent::ModelCallStarted { model: "m".into() });
        assert_eq!(started.parent_span_id, Some(session.span_id));
        assert_eq!(spans.of(&AgentEvent::Text { text: "x".into() }), started);
        assert_eq!(spans.of(&AgentEvent::ModelCallEnded { fault: None }), started);
        let call = |id: &str| {
            AgentEvent::ToolCall(ToolCall {
                id: id.into(),
                name: "Read".into(),
                input: serde_json::json!({}),
            })
        };
        let (a, b) = (spans.of(&call("a")), spans.of(&call("b")));
        assert_ne!(a.span_id, b.span_id);
        let result = |id: &str| AgentEvent::tool_result(id, "Read", "", false, GateRuling::Allowed);
        assert_eq!(spans.of(&result("b")), b);
        assert_eq!(spans.of(&result("a")), a);
        assert_eq!(spans.of(&AgentEvent::Warning { message: "x".into() }), session);
    }
}
