//! A clock for code that needs one.

use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::clock::Clock;
use jiff::Timestamp;

/// The machine's clock, with constant jitter.
pub struct BenchClock;

#[async_trait]
impl Clock for BenchClock {
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
