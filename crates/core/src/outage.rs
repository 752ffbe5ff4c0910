//! Outage: the model service is away. The run waits for it, in pauses that grow, up to a limit of its own; failures of
//! the agent are counted elsewhere.

use std::time::Duration;

use jiff::Timestamp;

/// How long a run waits for a service that is away, unless the user says otherwise.
pub const DEFAULT_MAX_OUTAGE: Duration = Duration::from_secs(2 * 60 * 60);

/// The longest pause between two tries, unless the service asks for more.
pub const MAX_OUTAGE_PAUSE: Duration = Duration::from_secs(5 * 60);

/// A service that is away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// When it was first seen to be away.
    pub since: Timestamp,
    /// Sessions in a row that found it away.
    pub tries: u32,
    /// The time that the run has waited, this pause included. Measured, not read off a clock: time in suspend is not in it.
    pub waited: Duration,
    /// When the next session tries again.
    pub until: Timestamp,
    /// When the run gives up, if nothing changes.
    pub gives_up_at: Timestamp,
    /// What the last try said.
    pub message: String,
}

/// What is known when a session found the service away.
pub struct Seen<'a> {
    /// The outage before it, if the service was away already.
    pub before: Option<&'a Outage>,
    /// How long the session took.
    pub session: Duration,
    /// Now.
    pub now: Timestamp,
    /// The pause that would follow, before the limit is applied.
    pub pause: Duration,
    /// What went wrong.
    pub message: &'a str,
}

impl Outage {
    /// The outage as it stands after one more session, or none when `limit` is used up.
    pub fn next(seen: &Seen<'_>, limit: Duration) -> Option<Self> {
        let waited = seen.before.map_or(Duration::ZERO, |before| before.waited + seen.session);
        let left = limit.checked_sub(waited).filter(|left| !left.is_zero())?;
        let pause = seen.pause.min(left);
        let after = |wait: Duration| {
            let wait = jiff::SignedDuration::try_from(wait).unwrap_or(jiff::SignedDuration::MAX);
            seen.now.checked_add(wait).unwrap_or(Timestamp::MAX)
        };
        Some(Self {
            since: seen.before.map_or(seen.now, |before| before.since),
            tries: seen.before.map_or(0, |before| before.tries) + 1,
            waited: waited + pause,
            until: after(pause),
            gives_up_at: after(left),
            message: seen.message.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Outage, Seen};
    use jiff::Timestamp;
    use std::time::Duration;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn seen<'a>(before: Option<&'a Outage>, session: u64, pause: u64) -> Seen<'a> {
        let now = Timestamp::UNIX_EPOCH;
        Seen { before, session: seconds(session), now, pause: seconds(pause), message: "down" }
    }

    #[test]
    fn what_is_waited_adds_up_to_the_limit_and_no_further() {
        let limit = seconds(100);
        let first = Outage::next(&seen(None, 35, 60), limit).expect("the first");
        assert_eq!(
            (first.tries, first.waited),
            (1, seconds(60)),
            "the session that found it out is not a wait"
        );
        let second = Outage::next(&seen(Some(&first), 10, 60), limit).expect("the second");
        assert_eq!((second.tries, second.waited), (2, limit), "the last pause is cut down to the limit");
        assert_eq!(second.until, second.gives_up_at);
        assert_eq!(Outage::next(&seen(Some(&second), 10, 60), limit), None);
    }
}
