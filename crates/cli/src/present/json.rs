//! `--json`: one event per line on standard output.

use std::sync::Arc;

use autonoe_core::event::{AgentEvent, Event, RunEvent};
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;
use jiff::Timestamp;
use serde::Serialize;

use super::console::Console;

pub struct JsonSink {
    console: Arc<Console>,
}

#[derive(Serialize)]
pub(super) struct JsonEventLine<'a> {
    at: Timestamp,
    #[serde(flatten)]
    span: &'a SpanContext,
    #[serde(flatten)]
    event: &'a Event,
}

impl<'a> JsonEventLine<'a> {
    /// `None` for events that are not shown.
    pub(super) fn new(span: &'a SpanContext, event: &'a Event) -> Option<Self> {
        // Chunks are repeated as a whole later, and conversations and instructions are internal.
        let is_shown = !matches!(
            event,
            Event::Agent(AgentEvent::Chunk { .. } | AgentEvent::Conversation { .. })
                | Event::Run(RunEvent::Instructed { .. })
        );
        is_shown.then(|| Self { at: Timestamp::now(), span, event })
    }
}

impl JsonSink {
    pub fn new(console: Arc<Console>) -> Self {
        Self { console }
    }
}

impl Sink for JsonSink {
    fn on(&self, span: &SpanContext, event: &Event) {
        let Some(line) = JsonEventLine::new(span, event) else { return };
        if let Ok(line) = self.console.redactor().json(&line) {
            self.console.json_line(&line);
        }
    }
}
