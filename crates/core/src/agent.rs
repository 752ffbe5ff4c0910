//! Backend and Agent: what the loop needs of whatever does the work.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures::Stream;
use tokio_util::sync::CancellationToken;

use crate::event::AgentEvent;
use crate::fault::Fault;
use crate::gate::Gate;
use crate::instruction::Phase;

/// What a session is opened with.
#[derive(Clone)]
pub struct SessionSpec {
    /// The phase, which decides the deliverable tools and what may be written.
    pub phase: Phase,
    /// The model's name as the user gave it.
    pub model: String,
    /// Tokens the model may think with, if thinking is on.
    pub thinking: Option<u32>,
    /// The conversation to resume, in the backend's own form; none begins a new one.
    pub history: Option<serde_json::Value>,
    /// The JSON Schema that the answer must fit, if it must fit one; it is then told as [`AgentEvent::Answer`].
    pub answer: Option<serde_json::Value>,
    /// Asked before every tool call.
    pub gates: Vec<Arc<dyn Gate>>,
    /// Cancelled when the session must end at once.
    pub stop: CancellationToken,
}

/// What an agent is told to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Which one it is.
    pub name: Phase,
    /// The words.
    pub text: String,
    /// The step of a declarative agent that it belongs to.
    pub step: Option<String>,
}

impl Instruction {
    /// The text, followed by what the session should know beside it.
    pub fn briefed(name: Phase, text: String, briefing: Option<String>) -> Self {
        let text = match briefing {
            Some(briefing) => format!("{}\n\n{briefing}", text.trim_end()),
            None => text,
        };
        Self { name, text, step: None }
    }

    /// The words of a step of a declarative agent.
    pub fn of_step(name: Phase, step: &str, text: String) -> Self {
        Self { name, text, step: Some(step.to_owned()) }
    }

    /// What it is called on record: its name, and its step if it has one.
    pub fn label(&self) -> String {
        match &self.step {
            Some(step) => format!("{} {step}", self.name),
            None => self.name.to_string(),
        }
    }
}

/// The events of one instruction, ending with [`AgentEvent::End`].
pub type EventStream<'a> = Pin<Box<dyn Stream<Item = AgentEvent> + Send + 'a>>;

/// A kind of agent that can be opened.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Its name, as in `--backend`.
    fn name(&self) -> &str;

    /// Opens a fresh agent.
    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault>;
}

/// One opened backend.
#[async_trait]
pub trait Agent: Send {
    /// Works on an instruction and tells what happens.
    fn query(&mut self, instruction: Instruction) -> EventStream<'_>;

    /// Ends it and everything it started. Returns what had to be put right, unless its events have told that.
    async fn dispose(self: Box<Self>) -> Vec<String>;
}
