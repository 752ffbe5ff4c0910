//! Opens agents that follow a script.

use async_trait::async_trait;
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use super::script::{AgentAction, AgentScript, Opening};
use super::{LogEntry, World, deliverable, today};
use crate::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use crate::deliverable::DeliverableStatus;
use crate::event::AgentEvent;
use crate::fault::{Fault, FaultLayer};

#[async_trait]
impl Backend for World {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        let gates = spec.gates.iter().map(|gate| gate.name().to_owned()).collect();
        let (phase, model, thinking) = (spec.phase, spec.model, spec.thinking);
        self.note(LogEntry::Opened { phase, model, thinking, gates });
        let script = self.next_script();
        match script.opening {
            Opening::Opens => {}
            Opening::Refuses(fault) => return Err(fault),
            Opening::Hangs => std::future::pending().await,
            Opening::HangsUntilInterrupted => {
                self.interrupt.cancel();
                std::future::pending().await
            }
        }
        self.lock().agents += 1;
        Ok(Box::new(ScriptedAgent { world: self.clone(), script, stop: spec.stop }))
    }
}

struct ScriptedAgent {
    world: World,
    script: AgentScript,
    stop: CancellationToken,
}

#[async_trait]
impl Agent for ScriptedAgent {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        let Instruction { name, text, .. } = instruction;
        self.world.note(LogEntry::Instructed { name, text });
        let world = &self.world;
        let acts = futures::stream::iter(std::mem::take(&mut self.script.acts));
        Box::pin(acts.filter_map(move |act| world.play(act)))
    }

    async fn dispose(self: Box<Self>) -> Vec<String> {
        self.world.note(LogEntry::Disposed { stopped: self.stop.is_cancelled() });
        if self.script.disposal_hangs {
            std::future::pending().await
        }
        self.script.cleanup_warnings
    }
}

impl World {
    async fn play(&self, act: AgentAction) -> Option<AgentEvent> {
        match act {
            AgentAction::Emit(event) => return Some(event),
            AgentAction::Create(id) => {
                let new = deliverable(&id, DeliverableStatus::Pending);
                self.change(|status| status.deliverables.push(new));
            }
            AgentAction::Set(id, wanted) => self.change(|status| {
                status.set_status(&id, wanted).expect("an allowed change");
            }),
            AgentAction::Attempt(id, wanted) => self.change(|status| {
                // A refusal is for the agent to handle.
                let _ = status.set_status(&id, wanted);
            }),
            AgentAction::Find(id, finding) => self.change(|status| {
                status.set_finding(&id, finding).expect("a known deliverable");
            }),
            AgentAction::Deprecate(id) => self.change(|status| {
                status.deprecate(&id, today()).expect("an active deliverable");
            }),
            AgentAction::Verify(id) => {
                self.lock().verification.verified.insert(id);
            }
            AgentAction::Corrupt => {
                let fault =
                    Fault::permanent(FaultLayer::Store, "corrupt_status", "status.json cannot be read.");
                self.lock().status = Err(fault);
            }
            AgentAction::Take(duration) => {
                let mut inner = self.lock();
                inner.now += duration;
                inner.passed += duration;
            }
            AgentAction::SetClock(to) => self.lock().now = to,
            AgentAction::Halt(fault) => self.halt.raise(&fault),
            AgentAction::UserInterrupts => self.interrupt.cancel(),
            AgentAction::Hang => std::future::pending().await,
        }
        None
    }
}
