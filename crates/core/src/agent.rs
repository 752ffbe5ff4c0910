//! Backend and Agent: the interface between the loop and the coding agents it drives.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures::Stream;
use tokio_util::sync::CancellationToken;

use crate::event::AgentEvent;
use crate::fault::Fault;
use crate::gate::Gate;
use crate::instruction::Phase;
use crate::steering::Steering;

#[derive(Clone)]
pub struct SessionSpec {
    /// Decides which deliverable tools are offered and whether files may be written.
    pub phase: Phase,
    pub model: String,
    /// Thinking budget in tokens; `None` if thinking is off.
    pub thinking: Option<u32>,
    /// The conversation to resume, in the backend's own format; `None` starts a new one.
    pub history: Option<serde_json::Value>,
    /// JSON Schema of the final answer, which is then reported as [`AgentEvent::Answer`].
    pub answer_schema: Option<serde_json::Value>,
    /// Where it starts, relative to the project; see [`start_directory`].
    pub directory: PathBuf,
    /// Checked before every tool call.
    pub gates: Vec<Arc<dyn Gate>>,
    /// Cancelled when the session must end at once.
    pub stop: CancellationToken,
    /// Messages of the user. What a backend does not take, the next session gets.
    pub steering: Steering,
}

/// The directory in which a session starts. The project itself, if there is no such directory below it: agents may have put a link there.
pub fn start_directory(root: &Path, relative: &Path) -> PathBuf {
    let real = root.join(relative).canonicalize().ok().filter(|real| real.is_dir());
    let is_below = |real: &PathBuf| root.canonicalize().is_ok_and(|root| real.starts_with(root));
    match real.filter(is_below) {
        Some(_) => root.join(relative).components().collect(),
        None => root.to_owned(),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    pub name: Phase,
    pub text: String,
    /// Step of a declarative agent, if the instruction belongs to one.
    pub step: Option<String>,
    /// The deliverable that is next in order of priority, if the instruction is to build one.
    pub deliverable: Option<String>,
}

impl Instruction {
    /// Appends `briefing` to the instruction text.
    pub fn briefed(name: Phase, text: String, briefing: Option<String>) -> Self {
        let text = match briefing {
            Some(briefing) => format!("{}\n\n{briefing}", text.trim_end()),
            None => text,
        };
        Self { name, text, step: None, deliverable: None }
    }

    pub fn of_step(name: Phase, step: &str, text: String) -> Self {
        Self { name, text, step: Some(step.to_owned()), deliverable: None }
    }

    /// Appends a paragraph.
    #[must_use]
    pub fn with_paragraph(self, paragraph: &str) -> Self {
        Self { text: format!("{}\n\n{paragraph}", self.text.trim_end()), ..self }
    }

    /// The name used in the journal: the phase, and the step if there is one.
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
    /// As in `--backend`.
    fn name(&self) -> &str;

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault>;
}

/// One opened backend.
#[async_trait]
pub trait Agent: Send {
    /// Works on an instruction and streams events. Dropping the stream cancels the work.
    fn query(&mut self, instruction: Instruction) -> EventStream<'_>;

    /// Ends the agent and everything it started. Returns warnings about cleanup that its events have not
    /// reported.
    async fn dispose(self: Box<Self>) -> Vec<String>;
}
