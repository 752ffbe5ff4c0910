//! Limits of a run. Each is optional, none can be zero, and each has its own outcome.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::money::Usd;
use crate::outcome::RunOutcome;
use crate::plan::RunState;

/// Default number of consecutive retries of a failed session.
pub const DEFAULT_MAX_RETRIES: u32 = 3;

/// Consecutive sessions without error or progress after which a run counts as stuck.
pub const MAX_IDLE_SESSIONS: u32 = 10;

/// What a run may use up.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Maximum number of sessions.
    pub max_iterations: Option<NonZeroU32>,
    pub max_cost: Option<Usd>,
    pub max_duration: Option<Duration>,
}

impl Limits {
    /// The first limit that has been reached.
    pub fn reached(&self, so_far: &RunState, elapsed: Duration) -> Option<RunOutcome> {
        if let Some(limit) = self.max_iterations
            && so_far.iterations >= limit.get()
        {
            return Some(RunOutcome::MaxIterations { limit: limit.get() });
        }
        if let Some(limit_usd) = self.max_cost
            && so_far.spent.cost >= limit_usd
        {
            return Some(RunOutcome::BudgetExceeded { limit_usd });
        }
        if let Some(limit) = self.max_duration
            && elapsed >= limit
        {
            return Some(RunOutcome::DurationExceeded { limit });
        }
        None
    }
}
