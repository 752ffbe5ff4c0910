//! Retry limits and backoff of model calls.

use std::time::Duration;

pub(crate) const MAX_RETRIES: u32 = 3;

/// The default pause before the first retry; each further one is twice as long.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The pause before retry number `retry` (from 1): exponential, with 25 % jitter, and never shorter than the
/// provider's `retry_after`, which is capped.
pub(crate) fn pause(first: Duration, retry: u32, jitter: f64, retry_after: Option<Duration>) -> Duration {
    let doubled = first * 2u32.pow(retry.saturating_sub(1).min(MAX_RETRIES));
    let jittered = doubled.mul_f64(0.75 + jitter / 2.0);
    jittered.max(retry_after.unwrap_or_default().min(crate::failure::LONGEST_RATE_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::{FIRST_PAUSE, pause};
    use std::time::Duration;

    const MILLIS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn pauses_double_with_25_percent_jitter() {
        for (retry, jitter, millis) in
            [(1, 0.5, 500), (2, 0.5, 1000), (3, 0.5, 2000), (1, 0.0, 375), (1, 1.0, 625), (3, 0.0, 1500)]
        {
            assert_eq!(
                pause(FIRST_PAUSE, retry, jitter, None),
                MILLIS(millis),
                "retry {retry}, jitter {jitter}"
            );
        }
        assert_eq!(pause(MILLIS(1), 3, 0.5, None), MILLIS(4));
    }

    #[test]
    fn retry_after_is_a_capped_minimum() {
        assert_eq!(pause(FIRST_PAUSE, 1, 0.5, Some(MILLIS(7000))), MILLIS(7000));
        assert_eq!(pause(FIRST_PAUSE, 3, 0.5, Some(MILLIS(700))), MILLIS(2000), "ours is longer");
        assert_eq!(pause(FIRST_PAUSE, 1, 0.5, Some(MILLIS(3_600_000))), MILLIS(60_000));
    }
}
