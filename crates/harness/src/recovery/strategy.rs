//! The contract of a remedy.

use serde::{Deserialize, Serialize};

use super::approaches::{Exploration, ExplorationState};
use super::rung::Rung;
use super::sections::joined;
use crate::progress::FailedCheck;
use crate::roadmap::Task;

/// Characters of a text from a model. A longer one is not used.
const LONGEST_REWRITE: usize = 20_000;

/// A remedy for a task that is stuck.
pub trait RecoveryStrategy: Send + Sync {
    fn name(&self) -> &'static str;

    /// Sessions that it may use.
    fn sessions(&self) -> u32;

    fn can_apply(&self, context: &LoopContext) -> bool;

    fn apply(&self, task: &Task, context: &LoopContext) -> RecoveryResult;
}

/// What the next session does differently.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveryResult {
    /// Whether there is something to try.
    pub success: bool,
    pub new_prompt: Option<String>,
    /// What a model is asked first, whose words then replace those of `new_prompt`. `None` once they are final.
    #[serde(default)]
    pub rewrite: Option<RewriteRequest>,
    pub escalated_to: Option<Rung>,
    /// Approaches to be tried, each from the same commit.
    pub branch: Option<Exploration>,
    pub needs_human: bool,
}

impl RecoveryResult {
    pub(super) fn prompt(text: String) -> Self {
        Self { success: true, new_prompt: Some(text), ..Self::default() }
    }

    pub(super) fn person() -> Self {
        Self { needs_human: true, ..Self::default() }
    }
}

/// What is known about a task that is stuck.
#[derive(Debug, Clone, Default)]
pub struct LoopContext {
    /// What a new prompt begins with; empty if it is added to that of the session.
    pub prompt: String,
    /// What the session was asked for; empty if the task says all of it.
    pub instruction: String,
    /// What the agent said in the sessions without progress, the newest last.
    pub tried: Vec<String>,
    pub failed_checks: Vec<FailedCheck>,
    /// The backend and the model of the last session.
    pub current: Rung,
    /// Backends and models of the user's configuration, the most capable last.
    pub ladder: Vec<Rung>,
    /// Whether there is a workspace, and checks that can compare what several approaches have led to.
    pub can_branch: bool,
    /// Those that make an attempt each, before anything else is tried; empty if nobody asked for that, or it was done.
    pub agents: Vec<Rung>,
    /// Remedies since the task became stuck. Set by [`super::Recovery`].
    pub applied: Vec<AppliedRemedy>,
    /// Of the budget. Set by [`super::Recovery`].
    pub sessions_left: u32,
}

impl LoopContext {
    /// Whether a remedy can be tried that was not tried before.
    pub(super) fn is_new(&self, name: &str) -> bool {
        self.sessions_left > 0 && self.applied.iter().all(|remedy| remedy.name != name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemedyOutcome {
    /// It is being tried.
    Open,
    Worked,
    Failed,
}

impl RemedyOutcome {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Open => "being tried",
            Self::Worked => "worked",
            Self::Failed => "no progress",
        }
    }
}

/// A remedy that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppliedRemedy {
    pub name: String,
    pub result: RecoveryResult,
    /// Sessions that it may use.
    pub sessions: u32,
    /// Sessions that it has used.
    pub used: u32,
    pub outcome: RemedyOutcome,
    /// How far the approaches are; only where there are some.
    #[serde(default)]
    pub exploration: ExplorationState,
}

/// What a model is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewriteRequest {
    pub prompt: String,
    /// Follows the model's words: what counts as success, and what was tried.
    pub rest: String,
}

impl RewriteRequest {
    /// The finished text; `None` if the words of the model cannot be used.
    fn finished(&self, words: &str) -> Option<String> {
        let words = words.trim();
        let is_usable = !words.is_empty() && words.chars().count() <= LONGEST_REWRITE;
        is_usable.then(|| joined(&[format!("## The task in other words\n{words}"), self.rest.clone()]))
    }
}

impl RecoveryResult {
    /// `words` are the model's; without any, or if they cannot be used, our own stay.
    pub(super) fn rewritten(&mut self, words: Option<&str>) {
        let request = self.rewrite.take();
        if let Some(text) = request.zip(words).and_then(|(request, words)| request.finished(words)) {
            self.new_prompt = Some(text);
        }
    }
}
