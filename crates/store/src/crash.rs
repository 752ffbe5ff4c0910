//! Named journal points at which a test may kill the process, to show that nothing is lost there.
//!
//! Only builds with debug assertions honour them; a release build carries the names and nothing else.

use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

/// A moment at which the state on disk is about to change or has just changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalPoint {
    /// A run was begun or taken up again.
    RunStarted,
    /// A session is on record, its agent not yet started.
    SessionStarted,
    /// An event of a session was written.
    EventWritten,
    /// A cost was booked.
    CostBooked,
    /// A change of `status.json` is on record, the file not yet written.
    StatusIntended,
    /// `status.json` was written, the journal does not know yet.
    StatusWritten,
    /// The journal knows that `status.json` was written.
    StatusApplied,
    /// A session's end is about to be recorded.
    SessionEnding,
    /// A session's end is on record.
    SessionEnded,
    /// The success of `sync`'s structural session is on record.
    Synced,
    /// A verification is on record.
    Verified,
    /// A quota wait is on record.
    QuotaWait,
    /// The run's end is about to be recorded.
    RunEnding,
    /// The run's end is on record.
    RunEnded,
}

impl JournalPoint {
    /// Every point, in the order a run meets them.
    pub const ALL: [Self; 14] = [
        Self::RunStarted,
        Self::SessionStarted,
        Self::EventWritten,
        Self::CostBooked,
        Self::StatusIntended,
        Self::StatusWritten,
        Self::StatusApplied,
        Self::SessionEnding,
        Self::SessionEnded,
        Self::Synced,
        Self::Verified,
        Self::QuotaWait,
        Self::RunEnding,
        Self::RunEnded,
    ];

    /// Its name.
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
            Self::Synced => "synced",
            Self::Verified => "verified",
            Self::QuotaWait => "quota-wait",
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

impl FromStr for CrashPoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, count) = text.split_once(':').unwrap_or((text, "1"));
        let point = JournalPoint::ALL.into_iter().find(|point| point.name() == name);
        let hits = count.parse().ok().filter(|count| *count > 0);
        match (point, hits) {
            (Some(point), Some(hits)) => Ok(Self { point, hits_left: AtomicU32::new(hits) }),
            _ => Err(format!("'{text}' is not a journal point; write it like session-started:2")),
        }
    }
}

impl CrashPoint {
    /// Kills the process if this is the awaited hit.
    pub(crate) fn hit(&self, point: JournalPoint) {
        if cfg!(debug_assertions) && point == self.point && self.hits_left.fetch_sub(1, Ordering::SeqCst) == 1
        {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    }
}
