//! Ledger: tokens and money spent, added up over calls and sessions.

use serde::{Deserialize, Serialize};

use crate::event::Usage;
use crate::money::Usd;

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Total of all calls with a known price.
    pub cost: Usd,
    /// True if the price of some call is unknown, so that `cost` is incomplete.
    pub unpriced: bool,
    /// Including cached ones.
    pub input_tokens: u64,
    pub output_tokens: u64,
}

impl Ledger {
    pub fn add_usage(&mut self, usage: &Usage) {
        self.cost += usage.cost_usd.unwrap_or_default();
        self.unpriced |= usage.cost_usd.is_none();
        self.input_tokens += usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
        self.output_tokens += usage.output_tokens;
    }

    pub fn add(&mut self, other: &Self) {
        self.cost += other.cost;
        self.unpriced |= other.unpriced;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
    }

    /// Whether anything was spent, that is, whether a model has replied.
    pub fn is_nonzero(&self) -> bool {
        self.input_tokens > 0 || self.output_tokens > 0 || self.cost > Usd::ZERO
    }

    /// `None` if a part of the total is unknown.
    pub fn total(&self) -> Option<Usd> {
        (!self.unpriced).then_some(self.cost)
    }
}
