//! Outage: the model service is unavailable. The run waits in growing pauses, up to a limit of its own;
//! failures of the agent are counted elsewhere.

use std::time::Duration;

use jiff::Timestamp;

/// Default time a run waits for an unavailable service.
pub const DEFAULT_MAX_OUTAGE: Duration = Duration::from_secs(2 * 60 * 60);

/// Longest pause between two attempts, unless the service asks for more.
pub const MAX_OUTAGE_PAUSE: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// When the service was first found unavailable.
    pub since: Timestamp,
    /// Consecutive sessions that found it unavailable.
    pub tries: u32,
    /// Total waiting time, including the current pause. Measured with the monotonic clock, so time in suspend
    /// does not count.
    pub waited: Duration,
    /// Time of the next attempt.
    pub until: Timestamp,
    /// When the run gives up, if nothing changes.
    pub gives_up_at: Timestamp,
    /// Error message of the last attempt.
    pub message: String,
}

/// Describes one session that found the service unavailable.
pub struct OutageObservation<'a> {
    /// The outage so far, if the service was already unavailable.
    pub before: Option<&'a Outage>,
    /// Duration of the session.
    pub session: Duration,
    pub now: Timestamp,
    /// Pause to the next attempt, before the limit is applied.
    pub pause: Duration,
    pub message: &'a str,
}

impl Outage {
    /// The outage after one more failed session, or `None` if `limit` is used up.
    pub fn next(observed: &OutageObservation<'_>, limit: Duration) -> Option<Self> {
        let waited = observed.before.map_or(Duration::ZERO, |before| before.waited + observed.session);
        let left = limit.checked_sub(waited).filter(|left| !left.is_zero())?;
        let pause = observed.pause.min(left);
        let after = |wait: Duration| {
            let wait = jiff::SignedDuration::try_from(wait).unwrap_or(jiff::SignedDuration::MAX);
            observed.now.checked_add(wait).unwrap_or(Timestamp::MAX)
        };
        Some(Self {
            since: observed.before.map_or(observed.now, |before| before.since),
            tries: observed.before.map_or(0, |before| before.tries) + 1,
            waited: waited + pause,
            until: after(pause),
            gives_up_at: after(left),
            message: observed.message.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Outage, OutageObservation};
    use jiff::Timestamp;
    use std::time::Duration;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn observed<'a>(before: Option<&'a Outage>, session: u64, pause: u64) -> OutageObservation<'a> {
        let now = Timestamp::UNIX_EPOCH;
        OutageObservation { before, session: seconds(session), now, pause: seconds(pause), message: "down" }
    }

    #[test]
    fn waiting_time_adds_up_to_exactly_the_limit() {
        let limit = seconds(100);
        let first = Outage::next(&observed(None, 35, 60), limit).expect("the first");
        assert_eq!(
            (first.tries, first.waited),
            (1, seconds(60)),
            "the session that detected the outage is not waiting time"
        );
        let second = Outage::next(&observed(Some(&first), 10, 60), limit).expect("the second");
        assert_eq!((second.tries, second.waited), (2, limit), "the last pause is cut down to the limit");
        assert_eq!(second.until, second.gives_up_at);
        assert_eq!(Outage::next(&observed(Some(&second), 10, 60), limit), None);
    }
}
