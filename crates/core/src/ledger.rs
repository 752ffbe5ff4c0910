//! What was spent: booked as it is reported, added up over sessions.

use serde::{Deserialize, Serialize};

use crate::event::Usage;
use crate::money::Usd;

/// What was spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Dollars of all calls whose price is known.
    pub cost: Usd,
    /// True when a call's price was not known, so that `cost` is only a part.
    pub unpriced: bool,
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

impl Ledger {
    /// Books one report.
    pub fn book(&mut self, usage: &Usage) {
        self.cost += usage.cost_usd.unwrap_or_default();
        self.unpriced |= usage.cost_usd.is_none();
        self.input_tokens += usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
        self.output_tokens += usage.output_tokens;
    }

    /// Adds another ledger.
    pub fn add(&mut self, other: &Self) {
        self.cost += other.cost;
        self.unpriced |= other.unpriced;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
    }

    /// Whether anything was spent: a model has answered.
    pub fn is_any(&self) -> bool {
        self.input_tokens > 0 || self.output_tokens > 0 || self.cost > Usd::ZERO
    }

    /// The total, or none when a part of it is not known.
    pub fn total(&self) -> Option<Usd> {
        (!self.unpriced).then_some(self.cost)
    }
}
