//! ProgressTracker: whether a session brought the run forward.
//!
//! A session is progress if the set of settled deliverables is one that the run has not had before. Rewriting
//! a finding or toggling the same statuses is not progress, however often it happens.

use std::collections::{BTreeSet, HashSet};

use crate::check::Assurance;
use crate::status::ProjectStatus;
use crate::verification::Verification;

/// Each entry names a deliverable and how it was settled.
pub type Settled = BTreeSet<(String, &'static str)>;

/// Remembers every set of settled deliverables that a run has had.
#[derive(Debug, Default)]
pub struct ProgressTracker {
    seen: HashSet<Settled>,
    best: usize,
    sessions_since_best: usize,
}

impl ProgressTracker {
    /// Records the starting point of the run. Later calls have no effect.
    pub fn start(&mut self, settled: Settled) {
        if self.seen.is_empty() {
            self.best = settled.len();
            self.seen.insert(settled);
        }
    }

    /// Whether the session that led to `settled` was progress.
    ///
    /// After a setback, each of at most `setbacks` entries may take one session to recover. Beyond that only
    /// a new maximum counts, so that statuses set at random do not keep a run alive either.
    pub fn advanced(&mut self, settled: Settled, setbacks: usize) -> bool {
        if settled.len() > self.best {
            self.best = settled.len();
            self.sessions_since_best = 0;
        } else {
            self.sessions_since_best += 1;
        }
        self.seen.insert(settled) && self.sessions_since_best <= setbacks
    }
}

/// The active deliverables that passed or are blocked, and which of them our checks confirmed.
pub fn settled(status: &ProjectStatus) -> Settled {
    let settled = status.active().filter(|item| item.status.is_settled());
    let confirmed = status.active().filter(|item| item.assurance() == Some(Assurance::Verified));
    settled
        .map(|item| (item.id.clone(), item.status.name()))
        .chain(confirmed.map(|item| (item.id.clone(), "confirmed")))
        .collect()
}

/// Like [`settled`], plus the progress of a `sync` pass.
pub fn settled_in_sync(status: &ProjectStatus, pass: &Verification) -> Settled {
    let verified = status.active().filter(|item| pass.verified.contains(&item.id));
    let mut all = settled(status);
    all.extend(verified.map(|item| (item.id.clone(), "verified")));
    all.extend(pass.synced.then(|| (String::new(), "synced")));
    all
}

#[cfg(test)]
mod tests {
    use super::{ProgressTracker, Settled};

    fn set(ids: &[&str]) -> Settled {
        ids.iter().map(|id| ((*id).to_owned(), "passed")).collect()
    }

    #[test]
    fn a_set_that_occurred_before_is_not_progress() {
        let mut tracker = ProgressTracker::default();
        tracker.start(set(&[]));
        assert!(tracker.advanced(set(&["A"]), 3));
        assert!(!tracker.advanced(set(&["A"]), 3), "nothing changed");
        assert!(!tracker.advanced(set(&[]), 3), "the run started with it");
        assert!(tracker.advanced(set(&["B"]), 3));
        assert!(!tracker.advanced(set(&["A"]), 3), "it occurred before");
        assert!(tracker.advanced(set(&["A", "B"]), 3));
    }

    #[test]
    fn new_sets_without_a_new_maximum_are_progress_only_for_a_while() {
        let mut tracker = ProgressTracker::default();
        tracker.start(set(&["A", "B", "C"]));
        let smaller = [set(&["A", "B"]), set(&["A"]), set(&["B"]), set(&["C"]), set(&["B", "C"])];
        let advanced = smaller.map(|settled| tracker.advanced(settled, 3));
        assert_eq!(advanced, [true, true, true, false, false]);
        assert!(tracker.advanced(set(&["A", "B", "C", "D"]), 3), "a new maximum counts again");
    }
}
