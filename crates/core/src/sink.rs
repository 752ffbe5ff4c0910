//! Sinks: shown every event, they may not interfere.

use std::sync::Arc;

use crate::event::Event;
use crate::span::SpanContext;

/// Is shown every event. Must be cheap and can never fail the run.
pub trait Sink: Send + Sync {
    /// Takes notice of one event.
    fn on(&self, span: &SpanContext, event: &Event);
}

/// All sinks of a run, shown each event in order.
#[derive(Clone, Default)]
pub struct Sinks(Vec<Arc<dyn Sink>>);

impl Sinks {
    /// Bundles the given sinks.
    pub fn new(sinks: Vec<Arc<dyn Sink>>) -> Self {
        Self(sinks)
    }

    /// Shows an event to every sink.
    pub fn emit(&self, span: &SpanContext, event: impl Into<Event>) {
        let event = event.into();
        for sink in &self.0 {
            sink.on(span, &event);
        }
    }
}
