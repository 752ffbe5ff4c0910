//! The system's clock, async runtime and signals.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use autonoe_core::clock::Clock;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use jiff::Timestamp;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::resources;
use crate::stop::{RunStopCause, StopSignal};

/// Bytes; independent of the limit of the shell.
const THREAD_STACK: usize = 2 * 1024 * 1024;

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

/// Two worker threads, so that a busy one does not delay a signal. Resource limits are checked first, since a runtime that cannot start
/// its threads panics.
pub fn runtime() -> Result<tokio::runtime::Runtime, Fault> {
    resources::check()?;
    // Exceeding the file size limit then fails the write, like a full disk, instead of killing the process.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).thread_stack_size(THREAD_STACK).enable_all().build().map_err(|error| {
        Fault::permanent(FaultLayer::System, "runtime", format!("No threads could be started: {error}."))
    })
}

/// The first SIGINT, SIGTERM or SIGHUP stops the run and is passed to `on_first`; the second ends the process and everything it
/// started. A signal that is ignored at start, as with `nohup`, stays ignored.
pub fn watch_signals(stop: StopSignal, on_first: impl Fn(&str) + Send + 'static) -> Result<(), Fault> {
    let listen = |kind: SignalKind| match autonoe_sandbox::is_ignored(kind.as_raw_value()) {
        true => Ok(None),
        false => signal(kind).map(Some).map_err(|error| {
            Fault::permanent(FaultLayer::System, "signals", format!("Signals cannot be watched: {error}."))
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
            if stop.is_requested() {
                std::process::exit(i32::from(exit::INTERRUPTED));
            }
            on_first(name);
            stop.stop(RunStopCause::Signal(name));
        }
    });
    Ok(())
}

/// Waits for the next signal; forever if it is ignored.
async fn next(signals: &mut Option<Signal>) {
    match signals {
        Some(signals) => {
            signals.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether a write failed because the terminal is gone while SIGHUP is ignored, so that the run should continue.
pub fn outlives_its_terminal(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
        && autonoe_sandbox::is_ignored(SignalKind::hangup().as_raw_value())
}
