//! Named points at which a test may kill the process, to show that nothing is lost.
//!
//! Only builds with debug assertions act on them; a release build contains just the names.

use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

/// A moment at which the state on disk is about to change or has just changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalPoint {
    RunStarted,
    /// A session is recorded; its agent has not started.
    SessionStarted,
    EventWritten,
    CostBooked,
    /// A change of `status.json` is recorded; the file has not been written.
    StatusIntended,
    /// `status.json` is written; the journal has not recorded that.
    StatusWritten,
    /// The journal has recorded that `status.json` was written.
    StatusApplied,
    /// The end of a session is about to be recorded.
    SessionEnding,
    SessionEnded,
    Verified,
    /// The state of a plan is about to be saved.
    PlanMoving,
    PlanMoved,
    /// What was merged and checked is about to be recorded as finished.
    MergeAccepting,
    /// It is recorded; the branch of the run does not have it.
    MergeRecorded,
    /// The branch of the run has it; the status of what was claimed does not say so.
    MergeAccepted,
    QuotaWait,
    /// The start or the end of an outage is recorded.
    Outage,
    /// The end of the run is about to be recorded.
    RunEnding,
    RunEnded,
}

impl JournalPoint {
    /// In the order in which a run reaches them.
    pub const ALL: [Self; 19] = [
        Self::RunStarted,
        Self::SessionStarted,
        Self::EventWritten,
        Self::CostBooked,
        Self::StatusIntended,
        Self::StatusWritten,
        Self::StatusApplied,
        Self::SessionEnding,
        Self::SessionEnded,
        Self::Verified,
        Self::PlanMoving,
        Self::PlanMoved,
        Self::MergeAccepting,
        Self::MergeRecorded,
        Self::MergeAccepted,
        Self::QuotaWait,
        Self::Outage,
        Self::RunEnding,
        Self::RunEnded,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::RunStarted => "run-started",
            Self::SessionStarted => "session-started",
            Self::EventWritten => "event-written",
            Self::CostBooked => "cost-booked",
            Self::StatusIntended => "status-intended",
            Self::StatusWritten => "status-written",
            Self::StatusApplied => "status-applied",
            Self::SessionEnding => "session-ending",
            Self::SessionEnded => "session-ended",
            Self::Verified => "verified",
            Self::PlanMoving => "plan-moving",
            Self::PlanMoved => "plan-moved",
            Self::MergeAccepting => "merge-accepting",
            Self::MergeRecorded => "merge-recorded",
            Self::MergeAccepted => "merge-accepted",
            Self::QuotaWait => "quota-wait",
            Self::Outage => "outage",
            Self::RunEnding => "run-ending",
            Self::RunEnded => "run-ended",
        }
    }
}

/// Kills this process at the n-th hit of a point, written `point:n`.
#[derive(Debug)]
pub struct CrashPoint {
    point: JournalPoint,
    hits_left: AtomicU32,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a journal point; write it like session-started:2")]
pub struct CrashPointError(String);

impl FromStr for CrashPoint {
    type Err = CrashPointError;

    fn from_str(text: &str) -> Result<Self, CrashPointError> {
        let (name, count) = text.split_once(':').unwrap_or((text, "1"));
        let point = JournalPoint::ALL.into_iter().find(|point| point.name() == name);
        let hits = count.parse().ok().filter(|count| *count > 0);
        match (point, hits) {
            (Some(point), Some(hits)) => Ok(Self { point, hits_left: AtomicU32::new(hits) }),
            _ => Err(CrashPointError(text.to_owned())),
        }
    }
}

impl CrashPoint {
    pub(crate) fn hit(&self, point: JournalPoint) {
        if cfg!(debug_assertions) && point == self.point && self.hits_left.fetch_sub(1, Ordering::SeqCst) == 1
        {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CrashPoint, JournalPoint};
    use std::sync::atomic::Ordering;

    #[test]
    fn every_point_is_read_by_its_name_with_or_without_a_count() {
        for point in JournalPoint::ALL {
            for (text, hits) in [
                (point.name().to_owned(), 1),
                (format!("{}:1", point.name()), 1),
                (format!("{}:12", point.name()), 12),
            ] {
                let crash: CrashPoint = text.parse().expect("valid");
                assert_eq!(crash.point, point, "{text}");
                assert_eq!(crash.hits_left.load(Ordering::SeqCst), hits, "{text}");
            }
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut names = JournalPoint::ALL.map(JournalPoint::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), JournalPoint::ALL.len());
    }

    #[test]
    fn anything_else_is_rejected_with_an_example() {
        for text in
            ["", ":1", "session", "session-started:", "session-started:0", "session-started:-1", "synced:x"]
        {
            let message = text.parse::<CrashPoint>().expect_err(text).to_string();
            assert!(message.contains(text) && message.contains("session-started:2"), "{message}");
        }
    }

    #[test]
    fn a_hit_of_another_point_does_not_count() {
        let crash: CrashPoint = "run-ended:2".parse().expect("valid");
        crash.hit(JournalPoint::RunStarted);
        assert_eq!(crash.hits_left.load(Ordering::SeqCst), 2);
        crash.hit(JournalPoint::RunEnded);
        assert_eq!(crash.hits_left.load(Ordering::SeqCst), 1, "and the process is alive");
    }
}
