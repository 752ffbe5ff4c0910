//! An edge of the graph: a transition and its kind.

/// A transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pub from: String,
    /// The target step; `None` is the end.
    pub to: Option<String>,
    /// When it is taken; empty if always.
    pub label: String,
    pub kind: EdgeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// The step has ended.
    Next,
    Pass,
    Fail,
    /// The agent is done, regardless of its completion condition.
    Complete,
    Retry,
    /// All retries failed, and another step runs instead.
    Fallback,
    /// All retries failed, and the step is skipped.
    Skip,
    /// A gateway branches on an answer.
    Branch,
    /// From a step to its first sub-step, or from one sub-step to the next.
    SubStep,
    /// The step has failed and escalates to another one.
    Escalation,
    /// Back from an escalation.
    Return,
    /// The agent ends after an escalation, as a failure.
    Abort,
}

impl EdgeKind {
    /// Whether the flow makes progress. A retry and an escalation do not.
    pub fn is_forward(self) -> bool {
        match self {
            Self::Next
            | Self::Pass
            | Self::Fail
            | Self::Complete
            | Self::Fallback
            | Self::Skip
            | Self::Branch
            | Self::SubStep
            | Self::Return => true,
            Self::Retry | Self::Escalation | Self::Abort => false,
        }
    }
}
