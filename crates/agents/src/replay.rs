//! Recorded sessions, played back. Nothing is executed and nothing is spent, but for the deliverable tools: they are ours,
//! so that a run on a recording ends as the recorded one did.

mod cassette;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::event::{AgentEvent, Usage};
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::gate::ToolCall;
use autonoe_core::money::Usd;
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::DeliverableService;

use crate::emit::{Emitter, events};
pub use cassette::{Cassette, Recorded, Recording};

/// What it is called.
pub const NAME: &str = "replay";

/// What the names of deliverable tools begin with.
const DELIVERABLE_TOOLS: &str = "mcp__autonoe__";

/// Plays the sessions of a cassette, each once.
pub struct ReplayBackend {
    left: Mutex<Vec<Recorded>>,
    deliverables: Arc<DeliverableService>,
}

impl ReplayBackend {
    /// A backend that plays this cassette.
    pub fn new(cassette: Cassette, deliverables: Arc<DeliverableService>) -> Self {
        Self { left: Mutex::new(cassette.sessions), deliverables }
    }

    /// The next session with this instruction.
    fn take(&self, instruction: &str) -> Option<Recorded> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let next = left.iter().position(|recorded| recorded.instruction == instruction)?;
        Some(left.remove(next))
    }
}

#[async_trait]
impl Backend for ReplayBackend {
    fn name(&self) -> &str {
        NAME
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        let phase = spec.phase.name();
        let recorded = self.take(phase).ok_or_else(|| {
            let message = format!("The recording has no further session for the instruction '{phase}'.");
            Fault::lasting(Layer::Config, "recording_ended", message)
        })?;
        self.deliverables.enter(spec.phase);
        Ok(Box::new(ReplayAgent { recorded, deliverables: Arc::clone(&self.deliverables) }))
    }
}

struct ReplayAgent {
    recorded: Recorded,
    deliverables: Arc<DeliverableService>,
}

#[async_trait]
impl Agent for ReplayAgent {
    fn query(&mut self, _instruction: Instruction) -> EventStream<'_> {
        events(|emitter| async move {
            for Recording { event, .. } in std::mem::take(&mut self.recorded.events) {
                let is_end = matches!(event, AgentEvent::End { .. });
                self.play(event, &emitter).await;
                if is_end {
                    return;
                }
            }
            let fault =
                Fault::passing(Layer::Agent, "recording_ended", "The recording of the session stops here.");
            emitter.emit(AgentEvent::End { outcome: SessionEnd::ExecutionError { fault } }).await;
        })
    }

    async fn dispose(self: Box<Self>) -> Vec<String> {
        Vec::new()
    }
}

impl ReplayAgent {
    async fn play(&self, event: AgentEvent, emitter: &Emitter) {
        match event {
            AgentEvent::Usage(usage) => {
                emitter.emit(AgentEvent::Usage(Usage { cost_usd: Some(Usd(0.0)), ..usage })).await
            }
            AgentEvent::ToolCall(call) => {
                emitter.emit(AgentEvent::ToolCall(call.clone())).await;
                self.carry_out(&call, emitter).await;
            }
            other => emitter.emit(other).await,
        }
    }

    /// Calls a deliverable tool; what it answers was recorded, unless it now fails.
    async fn carry_out(&self, call: &ToolCall, emitter: &Emitter) {
        let Some(tool) = call.name.strip_prefix(DELIVERABLE_TOOLS) else {
            return;
        };
        let answer = self.deliverables.call(tool, call.input.clone()).await;
        if answer.is_error {
            let message = format!("Played back, {} fails: {}", call.name, answer.content);
            emitter.emit(AgentEvent::Trouble { message }).await;
        }
    }
}
