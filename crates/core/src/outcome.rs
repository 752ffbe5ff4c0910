//! How a session ended, and how a run ended. One enum each stands behind the exit code, the JSON, the journal and every
//! message, so that they cannot disagree.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Layer};
use crate::money::Usd;

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SessionEnd {
    /// The agent came to its own end.
    Completed,
    /// The session failed.
    ExecutionError { fault: Fault },
    /// The agent used up the turns it was given.
    MaxTurns,
    /// The money is spent.
    BudgetExceeded {
        /// For the whole run.
        limit_usd: Usd,
    },
    /// The time is up.
    DurationExceeded {
        /// For the whole run.
        #[serde(rename = "limit_seconds", with = "crate::duration::seconds")]
        limit: Duration,
    },
    /// The vendor's quota is used up.
    QuotaExceeded {
        /// The vendor's words.
        message: String,
        /// None if no reset could be read.
        resets_at: Option<Timestamp>,
    },
    /// Somebody stopped it.
    Interrupted,
}

impl SessionEnd {
    /// The stable name, as in JSON.
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

    /// The fault behind it, if there is one.
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

    /// True for a session that others ended before it could do its work: it does not count as an iteration.
    pub fn was_cut_short(&self) -> bool {
        matches!(self, Self::QuotaExceeded { .. } | Self::Interrupted)
    }

    /// The end of the run, where the end of one session is that as well.
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
    /// The condition under which a declarative agent is done holds.
    ConditionMet {
        /// Which one, in a sentence.
        reason: String,
    },
    /// The allowed number of sessions is used up.
    MaxIterations { limit: u32 },
    /// The money is spent.
    BudgetExceeded { limit_usd: Usd },
    /// The time is up.
    DurationExceeded {
        #[serde(rename = "limit_seconds", with = "crate::duration::seconds")]
        limit: Duration,
    },
    /// The vendor's quota is used up.
    QuotaExceeded {
        /// The vendor's words.
        message: String,
        /// None if no reset could be read.
        resets_at: Option<Timestamp>,
    },
    /// Too many sessions failed in a row.
    MaxRetriesExceeded {
        /// The retries that were allowed.
        limit: u32,
        /// The last failure.
        fault: Fault,
    },
    /// The model service was away for longer than the run may wait for it.
    Outage {
        #[serde(rename = "limit_seconds", with = "crate::duration::seconds")]
        limit: Duration,
        /// What the last try said.
        fault: Fault,
    },
    /// Sessions end well but settle nothing; a person must look.
    Stuck {
        /// In a row.
        idle_sessions: u32,
    },
    /// Everything achievable has passed, but by an agent's word alone, and the user accepts only what is verified.
    Unverified {
        /// The deliverables that nothing has checked.
        claimed: Vec<String>,
    },
    /// The user stopped it.
    Interrupted,
    /// A fault that no retry can fix.
    Failed { fault: Fault },
}

/// Exit codes, the same for every command.
pub mod exit {
    /// All passed or verified.
    pub const DONE: u8 = 0;
    /// An unexpected error, or a fault of the machine.
    pub const ERROR: u8 = 1;
    /// Wrong usage or configuration.
    pub const USAGE: u8 = 2;
    /// All deliverables are blocked.
    pub const BLOCKED: u8 = 3;
    /// A limit was reached: sessions, money or time.
    pub const LIMIT: u8 = 4;
    /// The vendor's quota is used up.
    pub const QUOTA: u8 = 5;
    /// Too many errors in a row, or the model service was away for too long.
    pub const ERRORS: u8 = 6;
    /// Stuck; a person must look.
    pub const STUCK: u8 = 7;
    /// Interrupted.
    pub const INTERRUPTED: u8 = 130;
}

impl RunOutcome {
    /// The process's exit code for this end.
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

    /// True for a run that ended while there was still something to do, by nobody's fault or by too many.
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

    /// The stable name, as in JSON.
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

    /// The fault behind it, if there is one.
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

/// The exit code for a fault that ends the process.
pub fn fault_exit_code(fault: &Fault) -> u8 {
    match fault.layer {
        Layer::Config | Layer::Plan | Layer::Prompt => exit::USAGE,
        Layer::Loop => exit::STUCK,
        Layer::Store | Layer::Model | Layer::Agent | Layer::System | Layer::Lifecycle | Layer::Completion => {
            exit::ERROR
        }
    }
}

/// The account of a run: how it ended and what it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// How it ended.
    #[serde(flatten)]
    pub outcome: RunOutcome,
    /// The process's exit code.
    pub exit_code: u8,
    /// Sessions held.
    pub iterations: u32,
    /// Active deliverables that have passed.
    pub deliverables_passed: usize,
    /// Active deliverables.
    pub deliverables_total: usize,
    /// Active deliverables that are blocked.
    pub deliverables_blocked: usize,
    /// Of those that passed, the ones that we verified ourselves.
    #[serde(default)]
    pub deliverables_verified: usize,
    /// Of those that passed, the ones that an agent claims.
    #[serde(default)]
    pub deliverables_claimed: usize,
    /// Of those that passed, the ones that an independent look doubts.
    #[serde(default)]
    pub deliverables_doubted: usize,
    /// Deliverables verified so far, in `sync`.
    pub verified: usize,
    /// Deliverables to verify, in `sync`.
    pub verified_total: usize,
    /// How long the run took.
    #[serde(rename = "duration_seconds", with = "crate::duration::seconds")]
    pub duration: Duration,
    /// What all sessions cost; none when a price was not known.
    pub cost_usd: Option<Usd>,
    /// How a declarative agent went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentReport>>,
}

/// How a declarative agent went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReport {
    /// Its name.
    pub name: String,
    /// The steps that it finished, in order.
    pub path: Vec<String>,
    /// How often each step was entered; retries do not count.
    pub visits: BTreeMap<String, u32>,
    /// How each of its conditions stands.
    pub conditions: BTreeMap<String, bool>,
    /// The step that it is at, unless it is through.
    pub at: Option<String>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{RunOutcome, SessionEnd, exit};
    use crate::fault::{Fault, Layer};
    use crate::money::Usd;

    #[test]
    fn every_outcome_has_its_exit_code_and_its_name_in_json() {
        let fault = |layer| Fault::lasting(layer, "code", "It broke.");
        let second = Duration::from_secs(1);
        let table = [
            (RunOutcome::AllPassed, exit::DONE),
            (RunOutcome::AllVerified, 0),
            (RunOutcome::ConditionMet { reason: "Three iterations.".into() }, 0),
            (RunOutcome::Failed { fault: fault(Layer::Loop) }, 7),
            (RunOutcome::Failed { fault: fault(Layer::System) }, 1),
            (RunOutcome::Failed { fault: fault(Layer::Agent) }, 1),
            (RunOutcome::Failed { fault: fault(Layer::Config) }, 2),
            (RunOutcome::AllBlocked, 3),
            (RunOutcome::MaxIterations { limit: 3 }, 4),
            (RunOutcome::BudgetExceeded { limit_usd: Usd(1.0) }, 4),
            (RunOutcome::DurationExceeded { limit: second }, 4),
            (RunOutcome::QuotaExceeded { message: String::new(), resets_at: None }, 5),
            (RunOutcome::MaxRetriesExceeded { limit: 3, fault: fault(Layer::Model) }, 6),
            (RunOutcome::Outage { limit: second, fault: fault(Layer::Model) }, 6),
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
            SessionEnd::ExecutionError { fault: Fault::passing(Layer::Agent, "code", "It broke.") },
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
