use std::sync::LazyLock;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use autonoe_core::clock::Clock;
use jiff::Timestamp;

/// A clock that stands still and whose sleeps return at once.
pub struct FixedClock;

impl FixedClock {
    /// Noon on 2 January 2026, UTC.
    pub const NOON: Timestamp = Timestamp::constant(1_767_355_200, 0);
}

#[async_trait]
impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Self::NOON
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, _: Duration) {}

    fn jitter(&self) -> f64 {
        0.5
    }
}

/// The time of the machine, without jitter.
pub struct RealTimeClock;

#[async_trait]
impl Clock for RealTimeClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn jitter(&self) -> f64 {
        0.5
    }
}
