//! `--json`: one event a line on standard output.

use std::sync::Arc;

use autonoe_core::event::{AgentEvent, Event, RunEvent};
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;
use jiff::Timestamp;
use serde::Serialize;

use super::console::Console;

/// Prints every event as JSON.
pub struct JsonSink {
    console: Arc<Console>,
}

#[derive(Serialize)]
struct Line<'a> {
    at: Timestamp,
    #[serde(flatten)]
    span: &'a SpanContext,
    #[serde(flatten)]
    event: &'a Event,
}

impl JsonSink {
    /// Prints on the console's standard output.
    pub fn new(console: Arc<Console>) -> Self {
        Self { console }
    }
}

impl Sink for JsonSink {
    fn on(&self, span: &SpanContext, event: &Event) {
        // The whole comes later; and an instruction is not something that happened.
        if matches!(
            event,
            Event::Agent(AgentEvent::Chunk { .. } | AgentEvent::Conversation { .. })
                | Event::Run(RunEvent::Instructed { .. })
        ) {
            return;
        }
        let line = Line { at: Timestamp::now(), span, event };
        if let Ok(line) = self.console.redactor().json(&line) {
            self.console.json_line(&line);
        }
    }
}
