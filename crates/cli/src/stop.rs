//! Stops a run from outside: on a signal, or when its output can no longer be written. The first cause counts.

use std::io;
use std::sync::{Arc, OnceLock};

use autonoe_core::outcome::{RunOutcome, RunReport, exit};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStopCause {
    /// Name of the signal.
    Signal(&'static str),
    /// `autonoe stop --now` in another terminal.
    Requested,
    /// The system's error message when writing to standard output.
    OutputClosed(String),
}

/// Clones share the same state.
#[derive(Debug, Clone, Default)]
pub struct StopSignal {
    token: CancellationToken,
    cause: Arc<OnceLock<RunStopCause>>,
}

impl StopSignal {
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    pub fn is_requested(&self) -> bool {
        self.token.is_cancelled()
    }

    pub fn stop(&self, cause: RunStopCause) {
        let _ = self.cause.set(cause);
        self.token.cancel();
    }

    pub fn output_closed(&self, error: &io::Error) {
        let text = error.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        self.stop(RunStopCause::OutputClosed(text.to_owned()));
    }

    /// The error message if closed output is what ended the run.
    pub fn closed_output(&self, outcome: &RunOutcome) -> Option<&str> {
        match (outcome, self.cause.get()) {
            (RunOutcome::Interrupted, Some(RunStopCause::OutputClosed(why))) => Some(why),
            _ => None,
        }
    }

    /// Closed output is an error, not an interrupt by the user.
    pub fn exit_code(&self, report: &RunReport) -> u8 {
        if self.closed_output(&report.outcome).is_some() { exit::ERROR } else { report.exit_code }
    }
}

#[cfg(test)]
mod tests {
    use super::{RunStopCause, StopSignal};
    use autonoe_core::outcome::RunOutcome;
    use std::io;

    #[test]
    fn the_first_cause_counts() {
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        let stop = StopSignal::default();
        stop.output_closed(&closed);
        stop.stop(RunStopCause::Signal("SIGINT"));
        assert!(stop.is_requested());
        assert_eq!(stop.closed_output(&RunOutcome::Interrupted), Some("broken pipe"));
        assert_eq!(stop.closed_output(&RunOutcome::AllPassed), None, "the run had already ended");
        let stop = StopSignal::default();
        stop.stop(RunStopCause::Signal("SIGINT"));
        stop.output_closed(&closed);
        assert_eq!(stop.closed_output(&RunOutcome::Interrupted), None);
    }
}
