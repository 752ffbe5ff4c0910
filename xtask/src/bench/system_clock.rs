//! The real time, for what needs a clock.

use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::clock::Clock;
use jiff::Timestamp;

/// The machine's clock, without chance.
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        static START: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn jitter(&self) -> f64 {
        0.5
    }
}
