//! How a session ended, and how a run ended. Exit code, JSON, journal and messages all derive from these two
//! enums, so they cannot disagree.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, FaultLayer};
use crate::money::Usd;
use crate::status::Tally;
use crate::verification::VerificationProgress;

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
    /// The agent made the same calls with the same results again and again.
    Stuck {
        /// A sentence for people.
        reason: String,
    },
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
            Self::Stuck { .. } => "stuck",
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
            | Self::Stuck { .. }
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
            Self::Completed
            | Self::ExecutionError { .. }
            | Self::MaxTurns
            | Self::Stuck { .. }
            | Self::Interrupted => None,
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
    /// Tasks of a roadmap could not be completed; the others are.
    TasksBlocked {
        /// For each of them, what it waits for, as a clause.
        chains: Vec<String>,
    },
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
        /// Names of the remedies that were tried, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tried: Vec<String>,
    },
    /// Everything achievable has passed, but some of it is only claimed and the user accepts only verified
    /// deliverables.
    Unverified {
        /// Ids of deliverables that no check has verified.
        claimed: Vec<String>,
    },
    /// Everything achievable has passed, but the review that the user asked for is incomplete: the reviewer left
    /// something out, again and again.
    Unreviewed,
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
    /// Stuck, or passed but not verified or reviewed; a person must look.
    pub const STUCK: u8 = 7;
    pub const INTERRUPTED: u8 = 130;
}

impl RunOutcome {
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::AllPassed | Self::AllVerified | Self::ConditionMet { .. } => exit::DONE,
            Self::AllBlocked | Self::TasksBlocked { .. } => exit::BLOCKED,
            Self::BudgetExceeded { .. } | Self::DurationExceeded { .. } | Self::MaxIterations { .. } => {
                exit::LIMIT
            }
            Self::QuotaExceeded { .. } => exit::QUOTA,
            Self::MaxRetriesExceeded { .. } | Self::Outage { .. } => exit::ERRORS,
            Self::Stuck { .. } | Self::Unverified { .. } | Self::Unreviewed => exit::STUCK,
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
            | Self::TasksBlocked { .. }
            | Self::ConditionMet { .. }
            | Self::Unverified { .. }
            | Self::Unreviewed
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
            Self::TasksBlocked { .. } => "tasks_blocked",
            Self::ConditionMet { .. } => "condition_met",
            Self::MaxIterations { .. } => "max_iterations",
            Self::MaxRetriesExceeded { .. } => "max_retries_exceeded",
            Self::Outage { .. } => "outage",
            Self::Stuck { .. } => "stuck",
            Self::Unverified { .. } => "unverified",
            Self::Unreviewed => "unreviewed",
            Self::Failed { .. } => "failed",
        }
    }

    /// The name for people: `sync` looks at everything and verifies nothing.
    pub fn shown_name(&self) -> &'static str {
        if *self == Self::AllVerified { "all_reviewed" } else { self.name() }
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
            | Self::TasksBlocked { .. }
            | Self::ConditionMet { .. }
            | Self::MaxIterations { .. }
            | Self::Stuck { .. }
            | Self::Unverified { .. }
            | Self::Unreviewed => None,
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

/// How a run ended and what it did.
///
/// In JSON the fields of the plan's part stand beside the common ones; see [`FlatReport`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "FlatReport", into = "FlatReport")]
pub struct RunReport {
    pub outcome: RunOutcome,
    pub exit_code: u8,
    /// Sessions that count toward the limit.
    pub iterations: u32,
    pub duration: Duration,
    /// `None` if a price is unknown.
    pub cost_usd: Option<Usd>,
    pub plan: PlanReport,
}

/// What a plan has achieved. `verified` means two things, so they are apart: our checks confirmed a passed deliverable (in the
/// tally), or a session of `sync` looked at one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanReport {
    Deliverables(Tally),
    Sync { tally: Tally, reviewed: VerificationProgress },
    Steps(Box<AgentReport>),
}

impl PlanReport {
    /// Zero for plans without deliverables.
    pub fn tally(&self) -> Tally {
        match self {
            Self::Deliverables(tally) | Self::Sync { tally, .. } => *tally,
            Self::Steps(_) => Tally::default(),
        }
    }

    /// What `sync` has looked at; zero for other plans.
    pub fn reviewed(&self) -> VerificationProgress {
        match self {
            Self::Sync { reviewed, .. } => *reviewed,
            Self::Deliverables(_) | Self::Steps(_) => VerificationProgress::default(),
        }
    }

    /// `None` for plans over deliverables.
    pub fn steps(&self) -> Option<&AgentReport> {
        match self {
            Self::Steps(agent) => Some(agent),
            Self::Deliverables(_) | Self::Sync { .. } => None,
        }
    }
}

impl RunReport {
    /// The report of a run that ended before its first session.
    pub fn without_session(outcome: RunOutcome) -> Self {
        Self {
            exit_code: outcome.exit_code(),
            outcome,
            iterations: 0,
            duration: Duration::ZERO,
            cost_usd: Some(Usd(0.0)),
            plan: PlanReport::Deliverables(Tally::default()),
        }
    }
}

/// A report as it is in `--json` and in the journal, since before plans had reports of their own.
#[derive(Serialize, Deserialize)]
struct FlatReport {
    #[serde(flatten)]
    outcome: RunOutcome,
    exit_code: u8,
    iterations: u32,
    deliverables_passed: usize,
    deliverables_total: usize,
    deliverables_blocked: usize,
    #[serde(default)]
    deliverables_verified: usize,
    #[serde(default)]
    deliverables_verified_by_builder: usize,
    #[serde(default)]
    deliverables_verified_partially: usize,
    #[serde(default)]
    deliverables_with_unchecked_criteria: usize,
    #[serde(default)]
    deliverables_claimed: usize,
    #[serde(default)]
    deliverables_doubted: usize,
    verified: usize,
    verified_total: usize,
    #[serde(rename = "duration_seconds", with = "crate::duration::seconds")]
    duration: Duration,
    cost_usd: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<Box<AgentReport>>,
}

impl From<RunReport> for FlatReport {
    fn from(report: RunReport) -> Self {
        let RunReport { outcome, exit_code, iterations, duration, cost_usd, plan } = report;
        let (tally, reviewed) = (plan.tally(), plan.reviewed());
        let agent = match plan {
            PlanReport::Steps(agent) => Some(agent),
            PlanReport::Deliverables(_) | PlanReport::Sync { .. } => None,
        };
        Self {
            outcome,
            exit_code,
            iterations,
            deliverables_passed: tally.passed,
            deliverables_total: tally.total,
            deliverables_blocked: tally.blocked,
            deliverables_verified: tally.verified,
            deliverables_verified_by_builder: tally.verified_by_builder,
            deliverables_verified_partially: tally.verified_partially,
            deliverables_with_unchecked_criteria: tally.with_unchecked_criteria,
            deliverables_claimed: tally.claimed(),
            deliverables_doubted: tally.doubted,
            verified: reviewed.verified,
            verified_total: reviewed.total,
            duration,
            cost_usd,
            agent,
        }
    }
}

impl From<FlatReport> for RunReport {
    fn from(flat: FlatReport) -> Self {
        let tally = Tally {
            total: flat.deliverables_total,
            passed: flat.deliverables_passed,
            verified: flat.deliverables_verified,
            verified_by_builder: flat.deliverables_verified_by_builder,
            verified_partially: flat.deliverables_verified_partially,
            with_unchecked_criteria: flat.deliverables_with_unchecked_criteria,
            doubted: flat.deliverables_doubted,
            blocked: flat.deliverables_blocked,
        };
        let reviewed = VerificationProgress { verified: flat.verified, total: flat.verified_total };
        let plan = match flat.agent {
            Some(agent) => PlanReport::Steps(agent),
            None if reviewed.total > 0 => PlanReport::Sync { tally, reviewed },
            None => PlanReport::Deliverables(tally),
        };
        Self {
            outcome: flat.outcome,
            exit_code: flat.exit_code,
            iterations: flat.iterations,
            duration: flat.duration,
            cost_usd: flat.cost_usd,
            plan,
        }
    }
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

/// That sessions have led to nothing.
pub fn no_progress(sessions: u32) -> String {
    match sessions {
        1 => "1 session made no progress".to_owned(),
        _ => format!("{sessions} sessions in a row made no progress"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{AgentReport, PlanReport, RunOutcome, RunReport, SessionEnd, exit};
    use crate::fault::{Fault, FaultLayer};
    use crate::money::Usd;
    use crate::status::Tally;
    use crate::verification::VerificationProgress;

    #[test]
    fn a_report_has_the_same_flat_fields_whatever_its_plan() {
        let tally = Tally {
            total: 4,
            passed: 3,
            verified: 2,
            verified_by_builder: 1,
            verified_partially: 1,
            with_unchecked_criteria: 1,
            doubted: 1,
            blocked: 1,
        };
        let reviewed = VerificationProgress { verified: 1, total: 4 };
        let agent = AgentReport {
            name: "triage".into(),
            path: vec!["look".into()],
            visits: [("look".to_owned(), 1)].into(),
            conditions: Default::default(),
            at: None,
        };
        for plan in [
            PlanReport::Deliverables(tally),
            PlanReport::Sync { tally, reviewed },
            PlanReport::Steps(agent.into()),
        ] {
            let report =
                RunReport { plan: plan.clone(), ..RunReport::without_session(RunOutcome::Interrupted) };
            let json = serde_json::to_value(&report).expect("reports serialize");
            assert_eq!(json["outcome"], "interrupted");
            assert_eq!(json["exit_code"], 130);
            assert_eq!(json["deliverables_passed"], plan.tally().passed);
            assert_eq!(json["deliverables_claimed"], plan.tally().claimed());
            assert_eq!(json["verified_total"], if matches!(plan, PlanReport::Sync { .. }) { 4 } else { 0 });
            assert_eq!(json.get("agent").is_some(), matches!(plan, PlanReport::Steps(_)));
            assert_eq!(serde_json::from_value::<RunReport>(json).expect("reports are read back"), report);
        }
    }

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
            (RunOutcome::Stuck { idle_sessions: 10, tried: Vec::new() }, 7),
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
            SessionEnd::Stuck { reason: String::new() },
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
