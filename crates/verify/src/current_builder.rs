//! Who builds: the backend and model of each session, and its cost so far, from the events of a run.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use autonoe_core::event::{AgentEvent, Event, RunEvent};
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;

use crate::evidence::Builder;

/// A sink that tracks the builders of a run.
#[derive(Debug, Default)]
pub struct CurrentBuilder(Mutex<Sessions>);

#[derive(Debug, Default)]
struct Sessions {
    /// By the number of the session.
    builders: BTreeMap<u32, Builder>,
    /// The sessions that have not ended, with the deliverables for which they were begun.
    at_work: BTreeMap<u32, Option<String>>,
    /// A deliverable that was built in a session before the last one, and its builder.
    credited: Option<(String, Builder)>,
}

impl CurrentBuilder {
    /// The builder of the session that began last.
    pub fn current(&self) -> Option<Builder> {
        self.lock().builders.values().next_back().cloned()
    }

    /// Until the next session, this deliverable is another session's: of several attempts at it, that one was chosen.
    pub fn credit(&self, deliverable: &str, backend: &str, model: &str) {
        let mut sessions = self.lock();
        let is_it = |builder: &&Builder| builder.backend == backend && builder.model == model;
        let known = sessions.builders.values().rev().find(is_it).cloned();
        let (backend, model) = (backend.to_owned(), model.to_owned());
        let builder = known.unwrap_or(Builder { backend, model, cost_usd: None });
        sessions.credited = Some((deliverable.to_owned(), builder));
    }

    /// The builder of a deliverable: of the sessions that work at the same time the one that was begun for it. One that works alone may build
    /// any of them.
    pub fn of(&self, deliverable: &str) -> Option<Builder> {
        let sessions = self.lock();
        if let Some((_, builder)) = sessions.credited.as_ref().filter(|(id, _)| id == deliverable) {
            return Some(builder.clone());
        }
        let is_for = |begun_for: &Option<String>| begun_for.as_deref() == Some(deliverable);
        let own =
            sessions.at_work.iter().find(|(_, begun_for)| sessions.at_work.len() > 1 && is_for(begun_for));
        let own = own.and_then(|(number, _)| sessions.builders.get(number));
        own.or_else(|| sessions.builders.values().next_back()).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for CurrentBuilder {
    fn on(&self, span: &SpanContext, event: &Event) {
        match event {
            Event::Run(RunEvent::SessionStarted { number, deliverable, backend, model, .. }) => {
                let (backend, model) = (backend.clone(), model.clone());
                let builder = Builder { backend, model, cost_usd: Some(Default::default()) };
                let mut sessions = self.lock();
                sessions.builders.insert(*number, builder);
                sessions.at_work.insert(*number, deliverable.clone());
                sessions.credited = None;
            }
            Event::Run(RunEvent::SessionEnded { number, .. }) => drop(self.lock().at_work.remove(number)),
            Event::Agent(AgentEvent::Usage(usage)) => {
                let number = span.session.unwrap_or_default();
                if let Some(builder) = self.lock().builders.get_mut(&number) {
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
