//! Spending: what a run has spent, including its sessions that have not ended yet.

use std::sync::{Arc, Mutex, PoisonError};

use crate::money::Usd;

/// Clones add to the same total.
#[derive(Debug, Clone, Default)]
pub struct Spending(Arc<Mutex<Usd>>);

impl Spending {
    pub fn new(so_far: Usd) -> Self {
        Self(Arc::new(Mutex::new(so_far)))
    }

    /// Returns the new total.
    pub fn add(&self, cost: Usd) -> Usd {
        let mut total = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *total += cost;
        *total
    }

    pub fn total(&self) -> Usd {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
