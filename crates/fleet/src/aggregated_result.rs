//! What a fleet has achieved.

use std::collections::BTreeMap;

use autonoe_harness::handle::HarnessResult;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::coordination_strategy::CoordinationStrategy;

/// The result of harnesses under one strategy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AggregatedResult {
    pub strategy: CoordinationStrategy,
    pub success: bool,
    /// In the order in which the harnesses ended.
    pub results: Vec<HarnessResult>,
    /// Of a race or a vote; of a pipeline the last stage.
    pub winner: Option<HarnessResult>,
    /// Of a pipeline, what each stage said, as JSON.
    pub aggregated_output: Option<String>,
    /// Harnesses that were as good as the winner, which was chosen because it ended first.
    #[serde(default)]
    pub tied: Vec<String>,
    /// Harnesses whose commits have not come home: why, where they are, and what to do. With one of them, a fleet has not succeeded.
    #[serde(default)]
    pub left_behind: BTreeMap<String, String>,
    /// One sentence, and one more for each harness whose commits have not come home.
    pub summary: String,
    /// Set by the supervisor.
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
}

impl AggregatedResult {
    pub(crate) fn new(strategy: CoordinationStrategy, results: Vec<HarnessResult>) -> Self {
        Self {
            strategy,
            success: false,
            results,
            winner: None,
            aggregated_output: None,
            tied: Vec::new(),
            left_behind: BTreeMap::new(),
            summary: String::new(),
            started_at: None,
            completed_at: None,
        }
    }

    /// The result of one harness.
    pub fn of(&self, id: &str) -> Option<&HarnessResult> {
        self.results.iter().find(|result| result.harness_id == id)
    }
}
