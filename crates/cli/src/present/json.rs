//! `--json`: one event a line on standard output.

use std::sync::Arc;

use autonoe_core::event::Event;
use autonoe_core::sink::{Sink, SpanContext};
use jiff::Timestamp;
use serde::Serialize;

use super::console::Console;

/// Prints every event as JSON.
pub struct JsonSink {
    console: Arc<Console>,
    secrets: Vec<String>,
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
    /// Prints on the console's standard output, with secrets blotted out.
    pub fn new(console: Arc<Console>, secrets: Vec<String>) -> Self {
        Self { console, secrets }
    }
}

impl Sink for JsonSink {
    fn on(&self, span: &SpanContext, event: &Event) {
        let Ok(mut line) = serde_json::to_string(&Line { at: Timestamp::now(), span, event }) else {
            return;
        };
        for secret in &self.secrets {
            line = line.replace(secret.as_str(), "[redacted]");
        }
        self.console.raw_line(&line);
    }
}
