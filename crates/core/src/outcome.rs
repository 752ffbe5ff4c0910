//! How a session ended, and how a run ended. Exit code, JSON, journal and messages all derive from these two
//! enums, so they cannot disagree.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, FaultLayer};
use crate::money::Usd;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SessionEnd {
    /// The agent reported that it is done.
    Completed,
    ExecutionError {
        fault: Fault,
    },
    /// The agent used up its turns.
    MaxTurns,
    /// The budget of the run is spent.
    BudgetExceeded {
        /// Limit of the whole run.
        limit_usd: Usd,
    },
    /// The time limit of the run is reached.
    DurationExceeded {
        /// Limit of the whole run.
        #[serde(rename = "limit_seconds", with = "crate::duration::seconds")]
        limit: Duration,
    },
    /// The vendor's quota is used up.
    QuotaExceeded {
        /// The vendor's message.
        message: String,
        /// `None` if no reset time could be read.
        resets_at: Option<Timestamp>,
    },
    /// Stopped by the user or by a signal.
    Interrupted,
}

impl SessionEnd {
    /// As in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::ExecutionError { .. } => "execution_error",
            Self::MaxTurns => "max_turns",
            Self::BudgetExceeded { .. } => "budget_exceeded",
            Self::DurationExceeded { .. } => "duration_exceeded",
            Self::QuotaExceeded { .. } => "quota_exceeded",
            Self::Interrupted => "interrupted",
        }
    }

    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::ExecutionError { fault } => Some(fault),
            Self::Completed
            | Self::MaxTurns
            | Self::BudgetExceeded { .. }
            | Self::DurationExceeded { .. }
            | Self::QuotaExceeded { .. }
            | Self::Interrupted => None,
        }
    }

    /// True for a session that was stopped before it could do its work: it does not count as an iteration.
    pub fn was_cut_short(&self) -> bool {
        matches!(self, Self::QuotaExceeded { .. } | Self::Interrupted)
    }

    /// The outcome of the run, if this end of a session ends the run as well.
    pub fn ends_run(&self) -> Option<RunOutcome> {
        match self.clone() {
            Self::BudgetExceeded { limit_usd } => Some(RunOutcome::BudgetExceeded { limit_usd }),
            Self::DurationExceeded { limit } => Some(RunOutcome::DurationExceeded { limit }),
            Self::QuotaExceeded { message, resets_at } => {
                Some(RunOutcome::QuotaExceeded { message, resets_at })
            }
            Self::Completed | Self::ExecutionError { .. } | Self::MaxTurns | Self::Interrupted => None,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RunOutcome {
    /// Every achievable deliverable has passed.
    AllPassed,
    /// Every active deliverable has been verified by `sync`.
    AllVerified,
    /// Every active deliverable is blocked.
    AllBlocked,
    /// The completion condition of a declarative agent is met.
    ConditionMet {
        /// The condition, in one sentence.
        reason: String,
    },
    /// The maximum number of sessions is reached.
    MaxIterations { limit: u32 },
    /// The budget is spent.
    BudgetExceeded { limit_usd: Usd },
    /// The time limit is reached.
    DurationExceeded {
        #[serde(rename = "limit_seconds", with = "crate::duration::seconds")]
        limit: Duration,
    },
    /// The vendor's quota is used up.
    QuotaExceeded {
        /// The vendor's message.
        message: String,
        /// `None` if no reset time could be read.
        resets_at: Option<Timestamp>,
    },
    /// Too many consecutive sessions failed.
    MaxRetriesExceeded { limit: u32, fault: Fault },
    /// The model service was unavailable for longer than the run may wait.
    Outage {
        #[serde(rename = "limit_seconds", with = "crate::duration::seconds")]
        limit: Duration,
        fault: Fault,
    },
    /// Sessions end without errors but make no progress; a person must look.
    Stuck {
        /// Consecutive sessions without progress.
        idle_sessions: u32,
    },
    /// Everything achievable has passed, but some of it is only claimed and the user accepts only verified
    /// deliverables.
    Unverified {
        /// Ids of deliverables that no check has verified.
        claimed: Vec<String>,
    },
    /// The user stopped it.
    Interrupted,
    /// A fault that no retry can fix.
    Failed { fault: Fault },
}

/// Exit codes, the same for every command.
pub mod exit {
    pub const DONE: u8 = 0;
    /// An unexpected error or a system fault.
    pub const ERROR: u8 = 1;
    /// Wrong usage or configuration.
    pub const USAGE: u8 = 2;
    pub const BLOCKED: u8 = 3;
    /// A limit was reached: sessions, money or time.
    pub const LIMIT: u8 = 4;
    pub const QUOTA: u8 = 5;
    /// Too many consecutive errors, or the model service was unavailable for too long.
    pub const ERRORS: u8 = 6;
    /// Stuck, or passed but not verified; a person must look.
    pub const STUCK: u8 = 7;
    pub const INTERRUPTED: u8 = 130;
}

impl RunOutcome {
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::AllPassed | Self::AllVerified | Self::ConditionMet { .. } => exit::DONE,
            Self::AllBlocked => exit::BLOCKED,
            Self::BudgetExceeded { .. } | Self::DurationExceeded { .. } | Self::MaxIterations { .. } => {
                exit::LIMIT
            }
            Self::QuotaExceeded { .. } => exit::QUOTA,
            Self::MaxRetriesExceeded { .. } | Self::Outage { .. } => exit::ERRORS,
            Self::Stuck { .. } | Self::Unverified { .. } => exit::STUCK,
            Self::Interrupted => exit::INTERRUPTED,
            Self::Failed { fault } => fault_exit_code(fault),
        }
    }

    /// True if the run ended before the work was done, without a fault that needs a person or an interrupt.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::MaxIterations { .. }
            | Self::BudgetExceeded { .. }
            | Self::DurationExceeded { .. }
            | Self::QuotaExceeded { .. }
            | Self::MaxRetriesExceeded { .. }
            | Self::Outage { .. }
            | Self::Stuck { .. } => true,
            Self::Interrupted
            | Self::AllPassed
            | Self::AllVerified
            | Self::AllBlocked
            | Self::ConditionMet { .. }
            | Self::Unverified { .. }
            | Self::Failed { .. } => false,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::BudgetExceeded { .. } => "budget_exceeded",
            Self::DurationExceeded { .. } => "duration_exceeded",
            Self::QuotaExceeded { .. } => "quota_exceeded",
            Self::Interrupted => "interrupted",
            Self::AllPassed => "all_passed",
            Self::AllVerified => "all_verified",
            Self::AllBlocked => "all_blocked",
            Self::ConditionMet { .. } => "condition_met",
            Self::MaxIterations { .. } => "max_iterations",
            Self::MaxRetriesExceeded { .. } => "max_retries_exceeded",
            Self::Outage { .. } => "outage",
            Self::Stuck { .. } => "stuck",
            Self::Unverified { .. } => "unverified",
            Self::Failed { .. } => "failed",
        }
    }

    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::MaxRetriesExceeded { fault, .. } | Self::Outage { fault, .. } | Self::Failed { fault } => {
                Some(fault)
            }
            Self::BudgetExceeded { .. }
            | Self::DurationExceeded { .. }
            | Self::QuotaExceeded { .. }
            | Self::Interrupted
            | Self::AllPassed
            | Self::AllVerified
            | Self::AllBlocked
            | Self::ConditionMet { .. }
            | Self::MaxIterations { .. }
            | Self::Stuck { .. }
            | Self::Unverified { .. } => None,
        }
    }
}

pub fn fault_exit_code(fault: &Fault) -> u8 {
    match fault.layer {
        FaultLayer::Config | FaultLayer::Plan | FaultLayer::Prompt => exit::USAGE,
        FaultLayer::Loop => exit::STUCK,
        FaultLayer::Store
        | FaultLayer::Model
        | FaultLayer::Agent
        | FaultLayer::System
        | FaultLayer::Lifecycle
        | FaultLayer::Completion => exit::ERROR,
    }
}

/// The account of a run: how it ended and what it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    #[serde(flatten)]
    pub outcome: RunOutcome,
    pub exit_code: u8,
    /// Sessions that count toward the limit.
    pub iterations: u32,
    pub deliverables_passed: usize,
    pub deliverables_total: usize,
    pub deliverables_blocked: usize,
    /// Passed deliverables that our own checks verified.
    #[serde(default)]
    pub deliverables_verified: usize,
    /// Passed deliverables that an agent only claims.
    #[serde(default)]
    pub deliverables_claimed: usize,
    /// Passed deliverables that a reviewer doubts.
    #[serde(default)]
    pub deliverables_doubted: usize,
    /// Deliverables verified by `sync` so far.
    pub verified: usize,
    /// Deliverables for `sync` to verify.
    pub verified_total: usize,
    #[serde(rename = "duration_seconds", with = "crate::duration::seconds")]
    pub duration: Duration,
    /// `None` if a price is unknown.
    pub cost_usd: Option<Usd>,
    /// Set for declarative agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentReport>>,
}

/// Result of a declarative agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReport {
    pub name: String,
    /// Finished steps, in order.
    pub path: Vec<String>,
    /// Number of times each step was entered, without retries.
    pub visits: BTreeMap<String, u32>,
    /// Whether each condition is met.
    pub conditions: BTreeMap<String, bool>,
    /// The current step; `None` after the last one.
    pub at: Option<String>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{RunOutcome, SessionEnd, exit};
    use crate::fault::{Fault, FaultLayer};
    use crate::money::Usd;

    #[test]
    fn every_outcome_has_its_exit_code_and_its_name_in_json() {
        let fault = |layer| Fault::permanent(layer, "code", "It broke.");
        let second = Duration::from_secs(1);
        let table = [
            (RunOutcome::AllPassed, exit::DONE),
            (RunOutcome::AllVerified, 0),
            (RunOutcome::ConditionMet { reason: "Three iterations.".into() }, 0),
            (RunOutcome::Failed { fault: fault(FaultLayer::Loop) }, 7),
            (RunOutcome::Failed { fault: fault(FaultLayer::System) }, 1),
            (RunOutcome::Failed { fault: fault(FaultLayer::Agent) }, 1),
            (RunOutcome::Failed { fault: fault(FaultLayer::Config) }, 2),
            (RunOutcome::AllBlocked, 3),
            (RunOutcome::MaxIterations { limit: 3 }, 4),
            (RunOutcome::BudgetExceeded { limit_usd: Usd(1.0) }, 4),
            (RunOutcome::DurationExceeded { limit: second }, 4),
            (RunOutcome::QuotaExceeded { message: String::new(), resets_at: None }, 5),
            (RunOutcome::MaxRetriesExceeded { limit: 3, fault: fault(FaultLayer::Model) }, 6),
            (RunOutcome::Outage { limit: second, fault: fault(FaultLayer::Model) }, 6),
            (RunOutcome::Stuck { idle_sessions: 10 }, 7),
            (RunOutcome::Unverified { claimed: vec!["A".into()] }, 7),
            (RunOutcome::Interrupted, 130),
        ];
        for (outcome, code) in table {
            assert_eq!(outcome.exit_code(), code, "{outcome:?}");
            let json = serde_json::to_value(&outcome).expect("outcomes serialize");
            assert_eq!(json["outcome"], outcome.name(), "{outcome:?}");
        }
    }

    #[test]
    fn every_end_of_a_session_has_its_name_in_json() {
        for end in [
            SessionEnd::Completed,
            SessionEnd::ExecutionError { fault: Fault::transient(FaultLayer::Agent, "code", "It broke.") },
            SessionEnd::MaxTurns,
            SessionEnd::BudgetExceeded { limit_usd: Usd(1.0) },
            SessionEnd::DurationExceeded { limit: Duration::from_secs(1) },
            SessionEnd::QuotaExceeded { message: String::new(), resets_at: None },
            SessionEnd::Interrupted,
        ] {
            let json = serde_json::to_value(&end).expect("ends serialize");
            assert_eq!(json["outcome"], end.name(), "{end:?}");
        }
    }
}
