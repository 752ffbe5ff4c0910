use std::time::{Duration, Instant};

/// Far above what any test needs: reaching it is a failure, not a measurement.
const DEADLINE: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Blocks until the condition holds.
#[track_caller]
pub fn until(description: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting until {description}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Like [`until`], while other tasks of the test run.
pub async fn until_async(description: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting until {description}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
