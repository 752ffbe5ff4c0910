//! The clock that the loop is given: real in the binary, simulated in tests.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

/// The only source of time in this crate.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Wall-clock time. It advances during suspend, so waits for a point in time are measured against it.
    fn now(&self) -> Timestamp;

    /// Time since a fixed moment, unaffected by changes of the wall clock. Limits are measured with it.
    fn monotonic(&self) -> Duration;

    async fn sleep(&self, duration: Duration);

    /// Random, in `0.0..1.0`.
    fn jitter(&self) -> f64;
}

/// Time from `start` to `now`; zero if the clock went backwards.
pub fn elapsed(start: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(start)).unwrap_or_default()
}
