//! The clock the loop is given: real in the binary, imagined in tests.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

/// Tells the time and lets it pass. The only source of time in this crate.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The wall-clock time. Survives suspend, so waits for a point in time are measured against it.
    fn now(&self) -> Timestamp;

    /// The time since some fixed moment, which nobody can set. Limits are measured with it.
    fn monotonic(&self) -> Duration;

    /// Returns after `duration`.
    async fn sleep(&self, duration: Duration);

    /// A random number in `0.0..1.0`, for jitter.
    fn jitter(&self) -> f64;
}

/// The time from `start` to `now`, zero if the clock went backwards.
pub fn elapsed(start: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(start)).unwrap_or_default()
}
