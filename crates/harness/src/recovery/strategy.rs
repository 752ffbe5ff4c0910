//! The contract of a remedy.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::escalation::Rung;
use super::exploration::Exploration;
use crate::progress::FailedCheck;
use crate::roadmap::Task;

/// A remedy for a task that is stuck.
#[async_trait]
pub trait RecoveryStrategy: Send + Sync {
    fn name(&self) -> &'static str;

    /// Sessions that it may use.
    fn sessions(&self) -> u32;

    fn can_apply(&self, context: &LoopContext) -> bool;

    /// `rewriter` asks a model for other words; each remedy has words of its own, too.
    async fn apply(&self, task: &Task, context: &LoopContext, rewriter: &dyn Rewriter) -> RecoveryResult;
}

/// What the next session does differently.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecoveryResult {
    /// Whether there is something to try.
    pub success: bool,
    pub new_prompt: Option<String>,
    pub escalated_to: Option<Rung>,
    /// Approaches to be tried beside each other.
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
    /// The prompt of the last session.
    pub prompt: String,
    /// What the agent said in the sessions without progress, the newest last.
    pub tried: Vec<String>,
    pub failed_checks: Vec<FailedCheck>,
    /// The backend and the model of the last session.
    pub current: Rung,
    /// Backends and models of the user's configuration, the most capable last.
    pub ladder: Vec<Rung>,
    /// Whether tasks have workspaces, so that there can be several.
    pub can_branch: bool,
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
}

/// What a model is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewriteRequest {
    pub system: String,
    pub prompt: String,
}

/// Asks a model for other words.
#[async_trait]
pub trait Rewriter: Send + Sync {
    /// `None` if no model can be asked.
    async fn rewrite(&self, request: &RewriteRequest) -> Option<String>;
}

/// For runs in which no model is asked.
pub struct NoRewriter;

#[async_trait]
impl Rewriter for NoRewriter {
    async fn rewrite(&self, _request: &RewriteRequest) -> Option<String> {
        None
    }
}
