//! Scripts for agents: a list of actions that ends with an outcome, with silence or with a hang.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::check::Finding;
use crate::deliverable::DeliverableStatus;
use crate::event::{AgentEvent, Usage};
use crate::fault::{Fault, FaultLayer};
use crate::gate::{Decision, Gate, ToolCall};
use crate::money::Usd;
use crate::outcome::{RunOutcome, SessionEnd};

pub(crate) struct AgentScript {
    pub(super) opening: Opening,
    pub(super) acts: Vec<AgentAction>,
    pub(super) disposal_hangs: bool,
    pub(super) cleanup_warnings: Vec<String>,
}

/// Result of opening the agent.
pub(super) enum Opening {
    Opens,
    Refuses(Fault),
    Hangs,
    HangsUntilInterrupted,
}

/// Something that an agent does, or that happens while it works.
pub(super) enum AgentAction {
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
