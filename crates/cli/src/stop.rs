//! What stops a run from outside: a signal, or that nobody reads what it prints any more. The first cause is the one that counts.

use std::io;
use std::sync::{Arc, OnceLock};

use autonoe_core::outcome::{RunOutcome, RunReport, exit};
use tokio_util::sync::CancellationToken;

/// Why a run was stopped from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopCause {
    /// The user, or the system, sent this signal.
    Signal(&'static str),
    /// What it prints on standard output can no longer be written, and this is what the system says.
    OutputClosed(String),
}

/// Stops a run, and remembers why. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    token: CancellationToken,
    cause: Arc<OnceLock<StopCause>>,
}

impl Stop {
    /// Cancelled when the run is to stop.
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Whether the run is to stop.
    pub fn is_asked(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Stops the run.
    pub fn stop(&self, cause: StopCause) {
        let _ = self.cause.set(cause);
        self.token.cancel();
    }

    /// Stops the run because standard output can no longer be written.
    pub fn output_closed(&self, error: &io::Error) {
        let text = error.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        self.stop(StopCause::OutputClosed(text.to_owned()));
    }

    /// What the system said when standard output was closed, if that is what ended a run.
    pub fn closed_output(&self, outcome: &RunOutcome) -> Option<&str> {
        match (outcome, self.cause.get()) {
            (RunOutcome::Interrupted, Some(StopCause::OutputClosed(why))) => Some(why),
            _ => None,
        }
    }

    /// The exit code of a run. One that nobody could follow any more was not interrupted by its user.
    pub fn exit_code(&self, report: &RunReport) -> u8 {
        if self.closed_output(&report.outcome).is_some() { exit::ERROR } else { report.exit_code }
    }
}

#[cfg(test)]
mod tests {
    use super::{Stop, StopCause};
    use autonoe_core::outcome::RunOutcome;
    use std::io;

    #[test]
    fn the_first_cause_counts() {
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        let stop = Stop::default();
        stop.output_closed(&closed);
        stop.stop(StopCause::Signal("SIGINT"));
        assert!(stop.is_asked());
        assert_eq!(stop.closed_output(&RunOutcome::Interrupted), Some("broken pipe"));
        assert_eq!(stop.closed_output(&RunOutcome::AllPassed), None, "it had ended by itself");
        let stop = Stop::default();
        stop.stop(StopCause::Signal("SIGINT"));
        stop.output_closed(&closed);
        assert_eq!(stop.closed_output(&RunOutcome::Interrupted), None);
    }
}
