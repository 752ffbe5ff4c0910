//! The backend and model of the current session, and its cost so far, from the events of a run.

use std::sync::{Mutex, PoisonError};

use autonoe_core::event::{AgentEvent, Event, RunEvent};
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;

use crate::evidence::Builder;

/// A sink that tracks the current builder.
#[derive(Debug, Default)]
pub struct CurrentBuilder(Mutex<Option<Builder>>);

impl CurrentBuilder {
    /// The current or last builder.
    pub fn current(&self) -> Option<Builder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sink for CurrentBuilder {
    fn on(&self, _: &SpanContext, event: &Event) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Run(RunEvent::SessionStarted { backend, model, .. }) => {
                let (backend, model) = (backend.clone(), model.clone());
                *current = Some(Builder { backend, model, cost_usd: Some(Default::default()) });
            }
            Event::Agent(AgentEvent::Usage(usage)) => {
                if let Some(builder) = current.as_mut() {
                    builder.cost_usd = match (builder.cost_usd, usage.cost_usd) {
                        (Some(so_far), Some(more)) => Some(so_far + more),
                        _ => None,
                    };
                }
            }
            Event::Run(_) | Event::Agent(_) => {}
        }
    }
}
