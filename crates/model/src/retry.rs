//! When a failed model call is tried again.

use std::time::Duration;

/// Retries of one model call.
pub(crate) const MAX_RETRIES: u32 = 3;

/// The pause before the first retry; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The pause before retry number `retry` (from 1): exponential, with a quarter of jitter either way, and never
/// shorter than what the provider asked for.
pub(crate) fn pause(retry: u32, jitter: f64, asked: Option<Duration>) -> Duration {
    let doubled = FIRST_PAUSE * 2u32.pow(retry.saturating_sub(1).min(MAX_RETRIES));
    let jittered = doubled.mul_f64(0.75 + jitter / 2.0);
    jittered.max(asked.unwrap_or_default().min(crate::failure::LONGEST_RATE_LIMIT))
}
