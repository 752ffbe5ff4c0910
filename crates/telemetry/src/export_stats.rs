//! Counts how many items of a signal were queued, exported and lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The most characters kept of a failure reason.
const MAX_REASON: usize = 200;

/// The export statistics of one signal.
#[derive(Debug)]
pub struct ExportStats {
    destination: String,
    queued: AtomicU64,
    finished: AtomicU64,
    lost: AtomicU64,
    failure: Mutex<Option<String>>,
}

impl ExportStats {
    pub fn new(destination: String) -> Arc<Self> {
        Arc::new(Self {
            destination,
            queued: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            failure: Mutex::default(),
        })
    }

    pub fn destination(&self) -> &str {
        &self.destination
    }

    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// The last failure; `None` if nothing failed or items were dropped because the queue was full.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Resets the number of lost items, when a later export made up for them.
    pub fn clear_lost(&self) {
        self.lost.store(0, Ordering::Relaxed);
    }

    /// Counts everything that is still queued as lost.
    pub fn give_up(&self, reason: &str) {
        let pending =
            self.queued.load(Ordering::Relaxed).saturating_sub(self.finished.load(Ordering::Relaxed));
        if pending > 0 {
            self.record_lost(pending, reason);
        }
    }

    pub fn add_queued(&self, count: u64) {
        self.queued.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts items that were lost before they were queued.
    pub fn add_lost(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    /// Records queued items that the collector accepted.
    pub fn record_exported(&self, count: u64) {
        self.finished.fetch_add(count, Ordering::Relaxed);
    }

    /// Records queued items that could not be exported.
    pub fn record_lost(&self, count: u64, reason: &str) {
        self.finished.fetch_add(count, Ordering::Relaxed);
        self.add_lost(count);
        // The reason may quote the collector, so control characters are removed.
        let reason = reason.chars().filter(|letter| !letter.is_control()).take(MAX_REASON).collect();
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }
}
