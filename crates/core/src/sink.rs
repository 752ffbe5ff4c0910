//! Sinks: receive every event and cannot interfere with the run.

use std::sync::Arc;

use crate::event::Event;
use crate::span::SpanContext;

/// Receives every event. Must be cheap and can never fail the run.
pub trait Sink: Send + Sync {
    fn on(&self, span: &SpanContext, event: &Event);
}

/// All sinks of a run, called in order.
#[derive(Clone, Default)]
pub struct Sinks(Vec<Arc<dyn Sink>>);

impl Sinks {
    pub fn new(sinks: Vec<Arc<dyn Sink>>) -> Self {
        Self(sinks)
    }

    pub fn emit(&self, span: &SpanContext, event: impl Into<Event>) {
        self.on(span, &event.into());
    }
}

impl Sink for Sinks {
    fn on(&self, span: &SpanContext, event: &Event) {
        for sink in &self.0 {
            sink.on(span, event);
        }
    }
}
