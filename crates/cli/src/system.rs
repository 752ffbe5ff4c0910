//! The system's clock and signals.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use autonoe_core::clock::Clock;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::outcome::exit;
use jiff::Timestamp;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::stop::{Stop, StopCause};

use crate::resources;

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

/// A runtime for the commands that need one: two threads, so that a busy one never keeps a signal waiting. What the machine does not
/// allow us is told here, since a runtime without threads ends the process.
pub fn runtime() -> Result<tokio::runtime::Runtime, Fault> {
    resources::check()?;
    // A file that may not grow is an error like a full disk, and no reason to be killed.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|error| {
        Fault::lasting(Layer::System, "runtime", format!("No threads could be started: {error}."))
    })
}

/// The first SIGINT, SIGTERM or SIGHUP stops the run and is told to `on_first`; the second ends the process, and with it
/// everything it started. Anyone who started us with one of them ignored, as `nohup` does, meant that.
pub fn watch_signals(stop: Stop, on_first: impl Fn(&str) + Send + 'static) -> Result<(), Fault> {
    let listen = |kind: SignalKind| match autonoe_sandbox::is_ignored(kind.as_raw_value()) {
        true => Ok(None),
        false => signal(kind).map(Some).map_err(|error| {
            Fault::lasting(Layer::System, "signals", format!("Signals cannot be watched: {error}."))
        }),
    };
    let mut interrupted = listen(SignalKind::interrupt())?;
    let mut terminated = listen(SignalKind::terminate())?;
    let mut hung_up = listen(SignalKind::hangup())?;
    tokio::spawn(async move {
        loop {
            let name = tokio::select! {
                () = next(&mut interrupted) => "SIGINT",
                () = next(&mut terminated) => "SIGTERM",
                () = next(&mut hung_up) => "SIGHUP",
            };
            if stop.is_asked() {
                std::process::exit(i32::from(exit::INTERRUPTED));
            }
            on_first(name);
            stop.stop(StopCause::Signal(name));
        }
    });
    Ok(())
}

/// The next signal of a kind; one that is ignored never comes.
async fn next(signals: &mut Option<Signal>) {
    match signals {
        Some(signals) => {
            signals.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether a write failed because the terminal is gone, and anyone who started us said that this shall not end us.
pub fn outlives_its_terminal(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
        && autonoe_sandbox::is_ignored(SignalKind::hangup().as_raw_value())
}
