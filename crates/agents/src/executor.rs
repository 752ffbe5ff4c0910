//! Executor: one task on one backend, the contract of seed 004. It never fails across its boundary: whatever goes wrong is in
//! the result. Failure is told by how the session ended, never by words in what the agent said.

use std::sync::Arc;
use std::time::Duration;

use autonoe_core::agent::{Agent, Backend, Instruction, SessionSpec};
use autonoe_core::event::Event;
use autonoe_core::gate::Gate;
use autonoe_core::instruction::InstructionName;
use autonoe_core::outcome::Outcome;
use futures::StreamExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a task may take unless it says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How much of what an agent said is shown to whoever judges it, in characters.
const MAX_JUDGED: usize = 2000;

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// What is to be reached.
    pub goal: String,
    /// When it is reached, if that is said.
    pub success_criteria: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// The JSON Schema that the answer must fit, if it must fit one.
    pub answer: Option<serde_json::Value>,
    /// The model for it; none for the executor's.
    pub model: Option<String>,
}

/// What became of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionResult {
    /// Whether the session came to its own end.
    pub success: bool,
    /// What the agent said.
    pub output: String,
    /// What it answered, where a form was asked for.
    pub answer: Option<serde_json::Value>,
    /// What went wrong.
    pub error: Option<String>,
    /// How long it took.
    pub duration: Duration,
    /// By what the conversation can be taken up, in the backend's own form.
    pub conversation: Option<serde_json::Value>,
}

/// Has tasks done by one backend.
pub struct Executor<'a> {
    /// Opens the agents.
    pub backend: &'a dyn Backend,
    /// The model of tasks that name none.
    pub default_model: String,
    /// Stand before every tool.
    pub gates: Vec<Arc<dyn Gate>>,
}

impl Executor<'_> {
    /// The backend's name.
    pub fn name(&self) -> &str {
        self.backend.name()
    }

    /// Has a task done. Whoever is not done in time is ended, with all it has started.
    pub async fn execute(&self, task: &Task, context: Option<&str>, model: Option<&str>) -> ExecutionResult {
        let model = model.or(task.model.as_deref()).unwrap_or(&self.default_model);
        self.session(&prompt(task, context), model, task.timeout, task.answer.clone()).await
    }

    /// Whether a task's criteria are met, as far as they say anything: another session is asked, with nothing but the
    /// criteria, what was said, and the project to look at.
    pub async fn verify_success(&self, task: &Task, result: &ExecutionResult) -> bool {
        let Some(criteria) = task.success_criteria.as_deref().filter(|_| result.success) else {
            return result.success;
        };
        let said: String = result.output.chars().take(MAX_JUDGED).collect();
        let question = format!(
            "Judge whether a task has been done. Look at the project yourself, change nothing.\n\n\
             ## Success Criteria\n{criteria}\n\n## What was reported\n{said}\n\n\
             End with one line that says YES if every criterion is met, else NO."
        );
        let model = task.model.as_deref().unwrap_or(&self.default_model);
        let verdict = self.session(&question, model, task.timeout, None).await;
        let last = verdict.output.lines().map(str::trim).rfind(|line| !line.is_empty());
        verdict.success && last == Some("YES")
    }

    async fn session(
        &self,
        prompt: &str,
        model: &str,
        timeout: Duration,
        answer: Option<serde_json::Value>,
    ) -> ExecutionResult {
        let start = Instant::now();
        let stop = CancellationToken::new();
        let spec = SessionSpec {
            phase: InstructionName::Coding,
            model: model.to_owned(),
            thinking: None,
            history: None,
            answer,
            gates: self.gates.clone(),
            stop: stop.clone(),
        };
        let mut heard = Heard::default();
        let mut agent = None;
        let work = async {
            let opened = agent.insert(self.backend.open(spec).await.map_err(|fault| fault.message)?);
            heard.listen(opened.as_mut(), prompt).await
        };
        let ended = match tokio::time::timeout(timeout, work).await {
            Ok(ended) => ended,
            Err(_) => Err(format!("Task timed out after {} seconds", timeout.as_secs())),
        };
        stop.cancel();
        if let Some(agent) = agent {
            agent.dispose().await;
        }
        ExecutionResult {
            success: ended.is_ok(),
            output: heard.said,
            answer: heard.answer,
            error: ended.err(),
            duration: start.elapsed(),
            conversation: heard.conversation,
        }
    }
}

/// What was heard of an agent.
#[derive(Default)]
struct Heard {
    said: String,
    answer: Option<serde_json::Value>,
    conversation: Option<serde_json::Value>,
}

impl Heard {
    /// Listens until the agent is done; an error says how else it ended.
    async fn listen(&mut self, agent: &mut dyn Agent, prompt: &str) -> Result<(), String> {
        let instruction = Instruction::briefed(InstructionName::Coding, prompt.to_owned(), None);
        let mut events = agent.query(instruction);
        while let Some(event) = events.next().await {
            match event {
                Event::Text { text } => {
                    self.said.push_str(&text);
                    self.said.push('\n');
                }
                Event::Answer { value } => self.answer = Some(value),
                Event::Conversation { history } => self.conversation = Some(history),
                Event::End { outcome: Outcome::Completed } => return Ok(()),
                Event::End { outcome: Outcome::ExecutionError { fault } } => return Err(fault.message),
                Event::End { outcome } => return Err(outcome.name().to_owned()),
                _ => {}
            }
        }
        Err("The agent ended without saying how.".to_owned())
    }
}

/// The prompt of a task, as seed 004 lays it out.
fn prompt(task: &Task, context: Option<&str>) -> String {
    let mut sections = vec![format!("## Goal\n{}", task.goal)];
    sections.extend(context.map(|context| format!("## Context\n{context}")));
    sections
        .extend(task.success_criteria.as_ref().map(|criteria| format!("## Success Criteria\n{criteria}")));
    sections.join("\n\n")
}

#[cfg(test)]
mod tests;
