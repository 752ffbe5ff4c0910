//! Plays back recorded sessions. Nothing is executed and nothing is spent, except that the deliverable tools
//! are called, so that a replayed run ends like the recorded one.

mod cassette;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::event::{AgentEvent, Usage};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::gate::ToolCall;
use autonoe_core::money::Usd;
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::DeliverableService;

use crate::emit::{Emitter, events};
pub use cassette::{Cassette, CassetteError, RecordedEvent, RecordedSession};

pub const NAME: &str = "replay";

/// The prefix of deliverable tools.
const DELIVERABLE_TOOLS: &str = "mcp__autonoe__";

/// Plays each session of a cassette once.
pub struct ReplayBackend {
    remaining: Mutex<Vec<RecordedSession>>,
    deliverables: Arc<DeliverableService>,
}

impl ReplayBackend {
    pub fn new(cassette: Cassette, deliverables: Arc<DeliverableService>) -> Self {
        Self { remaining: Mutex::new(cassette.sessions), deliverables }
    }

    /// Removes and returns the next session with this instruction.
    fn take(&self, instruction: &str) -> Option<RecordedSession> {
        let mut remaining = self.remaining.lock().unwrap_or_else(PoisonError::into_inner);
        let next = remaining.iter().position(|recorded| recorded.instruction == instruction)?;
        Some(remaining.remove(next))
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
            let message = format!("The recording has no more sessions for the instruction '{phase}'.");
            Fault::permanent(FaultLayer::Config, "recording_ended", message)
        })?;
        self.deliverables.enter(spec.phase);
        Ok(Box::new(ReplayAgent { recorded, deliverables: Arc::clone(&self.deliverables) }))
    }
}

struct ReplayAgent {
    recorded: RecordedSession,
    deliverables: Arc<DeliverableService>,
}

#[async_trait]
impl Agent for ReplayAgent {
    fn query(&mut self, _instruction: Instruction) -> EventStream<'_> {
        events(|emitter| async move {
            for RecordedEvent { event, .. } in std::mem::take(&mut self.recorded.events) {
                let is_end = matches!(event, AgentEvent::End { .. });
                self.play(event, &emitter).await;
                if is_end {
                    return;
                }
            }
            let fault = Fault::transient(
                FaultLayer::Agent,
                "recording_ended",
                "The recording of this session is incomplete: it has no end.",
            );
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
                self.call_deliverable_tool(&call, emitter).await;
            }
            other => emitter.emit(other).await,
        }
    }

    /// Calls a deliverable tool. The recorded result is played back; only a failure is reported.
    async fn call_deliverable_tool(&self, call: &ToolCall, emitter: &Emitter) {
        let Some(tool) = call.name.strip_prefix(DELIVERABLE_TOOLS) else {
            return;
        };
        let answer = self.deliverables.call(tool, call.input.clone()).await;
        if answer.is_error {
            let message = format!("{} failed in the replay: {}", call.name, answer.content);
            emitter.emit(AgentEvent::Warning { message }).await;
        }
    }
}
