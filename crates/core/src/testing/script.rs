//! Scripts for agents: a list of actions that ends with an outcome, with silence or with a hang.

use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{LogEntry, World, deliverable, today};
use crate::agent::{Agent, EventStream, Instruction};
use crate::check::Finding;
use crate::deliverable::DeliverableStatus;
use crate::event::{AgentEvent, Usage};
use crate::fault::{Fault, FaultLayer};
use crate::gate::{Decision, Gate, ToolCall};
use crate::money::Usd;
use crate::outcome::{RunOutcome, SessionEnd};

pub(crate) struct AgentScript {
    pub(super) opening: Opening,
    acts: Vec<AgentAction>,
    disposal_hangs: bool,
    cleanup_warnings: Vec<String>,
}

/// Result of opening the agent.
pub(super) enum Opening {
    Opens,
    Refuses(Fault),
    Hangs,
    HangsUntilInterrupted,
}

/// Something that an agent does, or that happens while it works.
enum AgentAction {
    Emit(AgentEvent),
    Create(String),
    Set(String, DeliverableStatus),
    Attempt(String, DeliverableStatus),
    Find(String, Finding),
    Deprecate(String),
    Verify(String),
    Corrupt,
    Take(Duration),
    SetClock(Timestamp),
    UserInterrupts,
    Halt(Fault),
    Hang,
}

/// Opens and does nothing yet.
pub(crate) fn session() -> AgentScript {
    AgentScript {
        opening: Opening::Opens,
        acts: Vec::new(),
        disposal_hangs: false,
        cleanup_warnings: Vec::new(),
    }
}

pub(crate) fn cannot_open(fault: Fault) -> AgentScript {
    AgentScript { opening: Opening::Refuses(fault), ..session() }
}

/// Opening never finishes.
pub(crate) fn hangs_while_opening() -> AgentScript {
    AgentScript { opening: Opening::Hangs, ..session() }
}

/// Opening never finishes, and the user interrupts it.
pub(crate) fn interrupted_while_opening() -> AgentScript {
    AgentScript { opening: Opening::HangsUntilInterrupted, ..session() }
}

pub(crate) fn out_of_quota(resets_at: Option<Timestamp>) -> SessionEnd {
    SessionEnd::QuotaExceeded { message: "You've hit your limit".to_owned(), resets_at }
}

/// [`out_of_quota`] as the outcome of a run.
pub(crate) fn quota_exceeded(resets_at: Option<Timestamp>) -> RunOutcome {
    out_of_quota(resets_at).ends_run().expect("it ends a run")
}

pub(crate) fn transient(code: &str) -> Fault {
    Fault::transient(FaultLayer::Agent, code, "It broke.")
}

pub(crate) fn unavailable() -> Fault {
    Fault::outage(FaultLayer::Model, "network_error", "Connection refused.")
}

pub(crate) fn permanent(code: &str) -> Fault {
    Fault::permanent(FaultLayer::Agent, code, "It is broken.")
}

impl AgentScript {
    pub fn says(self, text: &str) -> Self {
        self.emits(AgentEvent::Text { text: text.to_owned() })
    }

    pub fn emits(self, event: AgentEvent) -> Self {
        self.act(AgentAction::Emit(event))
    }

    /// Spends dollars; `None` is tokens without a known price.
    pub fn spends(self, cost: impl Into<Option<f64>>) -> Self {
        let cost_usd = cost.into().map(Usd);
        self.emits(AgentEvent::Usage(Usage {
            input_tokens: 10,
            output_tokens: 2,
            cost_usd,
            ..Usage::default()
        }))
    }

    pub fn finds_service_unavailable(self) -> Self {
        self.fails(unavailable())
    }

    pub fn creates(self, id: &str) -> Self {
        self.act(AgentAction::Create(id.to_owned()))
    }

    pub fn sets(self, id: &str, status: DeliverableStatus) -> Self {
        self.act(AgentAction::Set(id.to_owned(), status))
    }

    pub fn passes(self, id: &str) -> Self {
        self.sets(id, DeliverableStatus::Passed)
    }

    pub fn blocks(self, id: &str) -> Self {
        self.sets(id, DeliverableStatus::Blocked)
    }

    /// Like [`AgentScript::sets`], but the change may be refused.
    pub fn attempts(self, id: &str, status: DeliverableStatus) -> Self {
        self.act(AgentAction::Attempt(id.to_owned(), status))
    }

    /// Claims that a deliverable passed, with this result of its checks.
    pub fn finds(self, id: &str, finding: Finding) -> Self {
        self.act(AgentAction::Find(id.to_owned(), finding))
    }

    pub fn deprecates(self, id: &str) -> Self {
        self.act(AgentAction::Deprecate(id.to_owned()))
    }

    pub fn verifies(self, id: &str) -> Self {
        self.act(AgentAction::Verify(id.to_owned()))
    }

    /// Leaves an unreadable status file.
    pub fn corrupts_the_status(self) -> Self {
        self.act(AgentAction::Corrupt)
    }

    pub fn takes(self, duration: Duration) -> Self {
        self.act(AgentAction::Take(duration))
    }

    pub fn sets_clock(self, to: Timestamp) -> Self {
        self.act(AgentAction::SetClock(to))
    }

    /// A permanent fault outside the loop.
    pub fn halts(self, fault: Fault) -> Self {
        self.act(AgentAction::Halt(fault))
    }

    pub fn user_interrupts(self) -> Self {
        self.act(AgentAction::UserInterrupts)
    }

    /// Hangs when it is disposed of.
    pub fn never_disposed(mut self) -> Self {
        self.disposal_hangs = true;
        self
    }

    /// Reports a cleanup when it is disposed of.
    pub fn reports_cleanup(mut self, message: &str) -> Self {
        self.cleanup_warnings.push(message.to_owned());
        self
    }

    pub fn ends(self, outcome: SessionEnd) -> Self {
        self.emits(AgentEvent::End { outcome })
    }

    pub fn completes(self) -> Self {
        self.ends(SessionEnd::Completed)
    }

    pub fn fails(self, fault: Fault) -> Self {
        self.ends(SessionEnd::ExecutionError { fault })
    }

    /// Emits nothing more and does not end.
    pub fn hangs(self) -> Self {
        self.act(AgentAction::Hang)
    }

    fn act(mut self, act: AgentAction) -> Self {
        self.acts.push(act);
        self
    }
}

pub(super) struct ScriptedAgent {
    world: World,
    script: AgentScript,
    stop: CancellationToken,
}

impl ScriptedAgent {
    pub(super) fn new(world: World, script: AgentScript, stop: CancellationToken) -> Self {
        Self { world, script, stop }
    }
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

/// A gate that only has a name.
pub(super) struct NamedGate(pub &'static str);

#[async_trait]
impl Gate for NamedGate {
    fn name(&self) -> &str {
        self.0
    }

    async fn check(&self, _call: &ToolCall) -> Decision {
        Decision::Abstain
    }
}
