//! What scripted agents do: a list of acts, ending in a word about the end, in silence or in a hang.

use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{Entry, World, deliverable, today};
use crate::agent::{Agent, EventStream, Instruction};
use crate::check::Finding;
use crate::deliverable::DeliverableStatus;
use crate::event::{AgentEvent, Usage};
use crate::fault::{Fault, Layer};
use crate::gate::{Decision, Gate, ToolCall};
use crate::money::Usd;
use crate::outcome::{RunOutcome, SessionEnd};

/// One session of an agent.
pub(crate) struct Script {
    pub(super) opening: Opening,
    acts: Vec<Act>,
    disposal_hangs: bool,
    put_right: Vec<String>,
}

/// What becomes of the attempt to open the agent.
pub(super) enum Opening {
    Opens,
    Refuses(Fault),
    Hangs,
    HangsUntilInterrupted,
}

/// One thing an agent does, or that happens while it works.
enum Act {
    Tell(AgentEvent),
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

/// A session that opens; what it does and how it ends follows.
pub(crate) fn session() -> Script {
    Script { opening: Opening::Opens, acts: Vec::new(), disposal_hangs: false, put_right: Vec::new() }
}

/// A session whose agent cannot be opened.
pub(crate) fn cannot_open(fault: Fault) -> Script {
    Script { opening: Opening::Refuses(fault), ..session() }
}

/// A session whose agent is opened and opened and opened.
pub(crate) fn hangs_while_opening() -> Script {
    Script { opening: Opening::Hangs, ..session() }
}

/// The same, and the user interrupts it.
pub(crate) fn interrupted_while_opening() -> Script {
    Script { opening: Opening::HangsUntilInterrupted, ..session() }
}

/// The quota is used up, until then.
pub(crate) fn out_of_quota(resets_at: Option<Timestamp>) -> SessionEnd {
    SessionEnd::QuotaExceeded { message: "You've hit your limit".to_owned(), resets_at }
}

/// The same, as the end of a run.
pub(crate) fn quota_exceeded(resets_at: Option<Timestamp>) -> RunOutcome {
    out_of_quota(resets_at).ends_run().expect("it ends a run")
}

/// A fault that another try may overcome.
pub(crate) fn passing(code: &str) -> Fault {
    Fault::passing(Layer::Agent, code, "It broke.")
}

/// The model service cannot be reached.
pub(crate) fn away() -> Fault {
    Fault::outage(Layer::Model, "network_error", "Connection refused.")
}

/// A fault that only a person can fix.
pub(crate) fn lasting(code: &str) -> Fault {
    Fault::lasting(Layer::Agent, code, "It is broken.")
}

impl Script {
    /// Says something.
    pub fn says(self, text: &str) -> Self {
        self.tells(AgentEvent::Text { text: text.to_owned() })
    }

    /// Tells of an event.
    pub fn tells(self, event: AgentEvent) -> Self {
        self.act(Act::Tell(event))
    }

    /// Spends dollars, or tokens without a price.
    pub fn spends(self, cost: impl Into<Option<f64>>) -> Self {
        let cost_usd = cost.into().map(Usd);
        self.tells(AgentEvent::Usage(Usage {
            input_tokens: 10,
            output_tokens: 2,
            cost_usd,
            ..Usage::default()
        }))
    }

    /// Fails since the service is away.
    pub fn finds_service_away(self) -> Self {
        self.fails(away())
    }

    /// Creates a deliverable.
    pub fn creates(self, id: &str) -> Self {
        self.act(Act::Create(id.to_owned()))
    }

    /// Sets a deliverable's status.
    pub fn sets(self, id: &str, status: DeliverableStatus) -> Self {
        self.act(Act::Set(id.to_owned(), status))
    }

    /// Sets a deliverable to passed.
    pub fn passes(self, id: &str) -> Self {
        self.sets(id, DeliverableStatus::Passed)
    }

    /// Sets a deliverable to blocked.
    pub fn blocks(self, id: &str) -> Self {
        self.sets(id, DeliverableStatus::Blocked)
    }

    /// Sets a deliverable's status if the rules allow it.
    pub fn attempts(self, id: &str, status: DeliverableStatus) -> Self {
        self.act(Act::Attempt(id.to_owned(), status))
    }

    /// Claims that a deliverable passed, and this is found.
    pub fn finds(self, id: &str, finding: Finding) -> Self {
        self.act(Act::Find(id.to_owned(), finding))
    }

    /// Marks a deliverable as gone from the specification.
    pub fn deprecates(self, id: &str) -> Self {
        self.act(Act::Deprecate(id.to_owned()))
    }

    /// Marks a deliverable as verified.
    pub fn verifies(self, id: &str) -> Self {
        self.act(Act::Verify(id.to_owned()))
    }

    /// Leaves a status file that cannot be read.
    pub fn corrupts_the_status(self) -> Self {
        self.act(Act::Corrupt)
    }

    /// Works for that long.
    pub fn takes(self, duration: Duration) -> Self {
        self.act(Act::Take(duration))
    }

    /// Somebody sets the clock.
    pub fn sets_clock(self, to: Timestamp) -> Self {
        self.act(Act::SetClock(to))
    }

    /// Something breaks beside the loop that no session can repair.
    pub fn halts(self, fault: Fault) -> Self {
        self.act(Act::Halt(fault))
    }

    /// The user interrupts just now.
    pub fn user_interrupts(self) -> Self {
        self.act(Act::UserInterrupts)
    }

    /// Does not end when it is disposed of.
    pub fn never_disposed(mut self) -> Self {
        self.disposal_hangs = true;
        self
    }

    /// Says, when it is disposed of, that something had to be put right.
    pub fn puts_right(mut self, message: &str) -> Self {
        self.put_right.push(message.to_owned());
        self
    }

    /// Ends, and says so.
    pub fn ends(self, outcome: SessionEnd) -> Self {
        self.tells(AgentEvent::End { outcome })
    }

    /// Ends well.
    pub fn completes(self) -> Self {
        self.ends(SessionEnd::Completed)
    }

    /// Ends with a fault.
    pub fn fails(self, fault: Fault) -> Self {
        self.ends(SessionEnd::ExecutionError { fault })
    }

    /// Never says another word, and does not end.
    pub fn hangs(self) -> Self {
        self.act(Act::Hang)
    }

    fn act(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }
}

/// An agent that plays its script.
pub(super) struct Actor {
    world: World,
    script: Script,
    stop: CancellationToken,
}

impl Actor {
    pub(super) fn new(world: World, script: Script, stop: CancellationToken) -> Self {
        Self { world, script, stop }
    }
}

#[async_trait]
impl Agent for Actor {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        let Instruction { name, text, .. } = instruction;
        self.world.note(Entry::Asked { name, text });
        let world = &self.world;
        let acts = futures::stream::iter(std::mem::take(&mut self.script.acts));
        Box::pin(acts.filter_map(move |act| world.play(act)))
    }

    async fn dispose(self: Box<Self>) -> Vec<String> {
        self.world.note(Entry::Disposed { stopped: self.stop.is_cancelled() });
        if self.script.disposal_hangs {
            std::future::pending().await
        }
        self.script.put_right
    }
}

impl World {
    async fn play(&self, act: Act) -> Option<AgentEvent> {
        match act {
            Act::Tell(event) => return Some(event),
            Act::Create(id) => {
                let new = deliverable(&id, DeliverableStatus::Pending);
                self.change(|status| status.deliverables.push(new));
            }
            Act::Set(id, wanted) => self.change(|status| {
                status.set_status(&id, wanted).expect("an allowed change");
            }),
            Act::Attempt(id, wanted) => self.change(|status| {
                // A refusal is the agent's affair.
                let _ = status.set_status(&id, wanted);
            }),
            Act::Find(id, finding) => self.change(|status| {
                status.set_finding(&id, finding).expect("a known deliverable");
            }),
            Act::Deprecate(id) => self.change(|status| {
                status.deprecate(&id, today()).expect("an active deliverable");
            }),
            Act::Verify(id) => {
                self.lock().verification.verified.insert(id);
            }
            Act::Corrupt => {
                let fault = Fault::lasting(Layer::Store, "corrupt_status", "status.json cannot be read.");
                self.lock().status = Err(fault);
            }
            Act::Take(duration) => {
                let mut inner = self.lock();
                inner.now += duration;
                inner.passed += duration;
            }
            Act::SetClock(to) => self.lock().now = to,
            Act::Halt(fault) => self.halt.raise(&fault),
            Act::UserInterrupts => self.interrupt.cancel(),
            Act::Hang => std::future::pending().await,
        }
        None
    }
}

/// A gate that only has a name.
pub(super) struct Watchman(pub &'static str);

#[async_trait]
impl Gate for Watchman {
    fn name(&self) -> &str {
        self.0
    }

    async fn check(&self, _call: &ToolCall) -> Decision {
        Decision::Abstain
    }
}
