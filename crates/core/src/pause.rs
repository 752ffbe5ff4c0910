//! Pauses of the loop: between sessions, after errors, during outages.

use std::time::Duration;

use crate::outage::MAX_OUTAGE_PAUSE;

/// Default pause between two sessions (seed 000: `delayBetweenSessions`).
pub const DEFAULT_SESSION_DELAY: Duration = Duration::from_secs(3);

/// Longest pause after an error, unless the other side asks for more.
pub const MAX_RETRY_PAUSE: Duration = Duration::from_secs(60);

/// Upper bound for the wait that a provider may ask for after an error.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(600);

/// Shortest first pause during an outage: a session delay of zero must not hammer the service.
const MIN_OUTAGE_PAUSE: Duration = Duration::from_secs(1);

/// Interval at which the countdown is updated while waiting.
pub const COUNTDOWN_EVERY: Duration = Duration::from_secs(1);

/// Pause before attempt `errors + 1`: doubles with each consecutive error, with 25% jitter either way, and is
/// never shorter than `requested`.
pub fn after_errors(errors: u32, base: Duration, jitter: f64, requested: Option<Duration>) -> Duration {
    growing(errors, base, MAX_RETRY_PAUSE, jitter, requested)
}

/// Pause before the next attempt after `tries` attempts found the service unavailable: grows like
/// [`after_errors`], but further.
pub fn during_outage(tries: u32, base: Duration, jitter: f64, requested: Option<Duration>) -> Duration {
    growing(tries, base.max(MIN_OUTAGE_PAUSE), MAX_OUTAGE_PAUSE, jitter, requested)
}

fn growing(
    tries: u32,
    base: Duration,
    longest: Duration,
    jitter: f64,
    requested: Option<Duration>,
) -> Duration {
    let doubled = base.saturating_mul(2u32.saturating_pow(tries.saturating_sub(1)));
    let jittered = doubled.min(longest).mul_f64(0.75 + jitter.clamp(0.0, 1.0) / 2.0);
    jittered.max(requested.unwrap_or_default().min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::{MAX_RETRY_AFTER, MAX_RETRY_PAUSE, after_errors, during_outage};
    use crate::outage::MAX_OUTAGE_PAUSE;
    use std::time::Duration;

    const BASE: Duration = Duration::from_secs(3);

    #[test]
    fn pauses_grow_whatever_the_jitter() {
        for errors in 1..4 {
            let longest = after_errors(errors, BASE, 1.0, None);
            let shortest_next = after_errors(errors + 1, BASE, 0.0, None);
            assert!(shortest_next > longest, "after {errors} errors");
        }
    }

    #[test]
    fn pauses_during_an_outage_grow_to_five_minutes() {
        let pauses: Vec<u64> = (1..10).map(|tries| during_outage(tries, BASE, 0.5, None).as_secs()).collect();
        assert_eq!(pauses, [3, 6, 12, 24, 48, 96, 192, 300, 300]);
        assert!(during_outage(u32::MAX, BASE, 1.0, None) <= MAX_OUTAGE_PAUSE.mul_f64(1.25));
        assert!(!during_outage(1, Duration::ZERO, 0.0, None).is_zero());
    }

    #[test]
    fn pauses_are_bounded() {
        assert!(after_errors(u32::MAX, BASE, 1.0, None) <= MAX_RETRY_PAUSE.mul_f64(1.25));
        assert_eq!(after_errors(1, BASE, 0.5, Some(Duration::from_secs(90))), Duration::from_secs(90));
        assert_eq!(after_errors(1, BASE, 0.5, Some(Duration::MAX)), MAX_RETRY_AFTER);
        assert_eq!(after_errors(5, Duration::ZERO, 0.5, None), Duration::ZERO);
    }
}
