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
struct JsonEventLine<'a> {
    at: Timestamp,
    #[serde(flatten)]
    span: &'a SpanContext,
    #[serde(flatten)]
    event: &'a Event,
}

impl JsonSink {
    pub fn new(console: Arc<Console>) -> Self {
        Self { console }
    }
}

impl Sink for JsonSink {
    fn on(&self, span: &SpanContext, event: &Event) {
        // Chunks are repeated as a whole later, and conversations and instructions are internal.
        if matches!(
            event,
            Event::Agent(AgentEvent::Chunk { .. } | AgentEvent::Conversation { .. })
                | Event::Run(RunEvent::Instructed { .. })
        ) {
            return;
        }
        let line = JsonEventLine { at: Timestamp::now(), span, event };
        if let Ok(line) = self.console.redactor().json(&line) {
            self.console.json_line(&line);
        }
    }
}
