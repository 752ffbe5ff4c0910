//! The system's clock and signals.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use autonoe_core::clock::Clock;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::exit;
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The real clock.
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
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
        fastrand::f64()
    }
}

/// A runtime for the commands that need one: two threads, so that a busy one never keeps a signal waiting.
pub fn runtime() -> Result<tokio::runtime::Runtime, Fault> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|error| {
        Fault::lasting(Layer::System, "runtime", format!("No threads could be started: {error}."))
    })
}

/// The first SIGINT, SIGTERM or SIGHUP cancels `interrupt` and is told to `on_first`; the second ends the process,
/// and with it everything it started.
pub fn watch_signals(
    interrupt: CancellationToken,
    on_first: impl Fn(&str) + Send + 'static,
) -> Result<(), Fault> {
    let listen = |kind| {
        signal(kind).map_err(|error| {
            Fault::lasting(Layer::System, "signals", format!("Signals cannot be watched: {error}."))
        })
    };
    let mut interrupted = listen(SignalKind::interrupt())?;
    let mut terminated = listen(SignalKind::terminate())?;
    let mut hung_up = listen(SignalKind::hangup())?;
    tokio::spawn(async move {
        loop {
            let name = tokio::select! {
                _ = interrupted.recv() => "SIGINT",
                _ = terminated.recv() => "SIGTERM",
                _ = hung_up.recv() => "SIGHUP",
            };
            if interrupt.is_cancelled() {
                std::process::exit(i32::from(exit::INTERRUPTED));
            }
            on_first(name);
            interrupt.cancel();
        }
    });
    Ok(())
}
