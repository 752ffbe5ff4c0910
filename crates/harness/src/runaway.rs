//! Signs that a loop has got out of hand: the same output again and again, sessions that become shorter and shorter, no end in sight.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::alerts::Severity;
use crate::progress::fingerprint;

/// Equal outputs in a row that are critical.
const SAME_OUTPUTS: usize = 5;

/// Characters of an output that are compared.
const COMPARED: usize = 1000;

/// Sessions without a time limit after which somebody should look.
const MANY_SESSIONS: u32 = 500;

/// Sessions whose durations are compared, at the beginning and at the end.
const WINDOW: usize = 10;

/// Sessions are too short if they take this part of the time of the first ones.
const SHORT_PART: f64 = 0.3;

/// Sessions are too short if they take less than this, in seconds.
const SHORT_SECONDS: f64 = 0.5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunawaySign {
    pub severity: Severity,
    /// A sentence.
    pub message: String,
}

/// Watches the sessions of one loop. Each sign is reported once; equal outputs are again when others were between them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunawayDetector {
    sessions: u32,
    outputs: VecDeque<u64>,
    /// In seconds.
    first: Vec<f64>,
    last: VecDeque<f64>,
    reported: Reported,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Reported {
    same_outputs: bool,
    short_sessions: bool,
    many_sessions: bool,
}

impl RunawayDetector {
    /// Records a session. Returns the most severe sign that is new. `output` is `None` if the session has settled something: agents that
    /// finish one task after another may say the same each time.
    pub fn observe(
        &mut self,
        output: Option<&str>,
        duration: Duration,
        has_time_limit: bool,
    ) -> Option<RunawaySign> {
        self.remember(output, duration);
        let signs = [
            (
                self.has_same_outputs(),
                &mut self.reported.same_outputs,
                Severity::Critical,
                format!("The last {SAME_OUTPUTS} sessions ended with the same output."),
            ),
            (
                is_short(&self.first, &self.last),
                &mut self.reported.short_sessions,
                Severity::Warning,
                format!("The last {WINDOW} sessions were much shorter than the first ones."),
            ),
            (
                self.sessions > MANY_SESSIONS && !has_time_limit,
                &mut self.reported.many_sessions,
                Severity::Warning,
                format!("More than {MANY_SESSIONS} sessions, and there is no time limit."),
            ),
        ];
        let mut new = None;
        for (is_seen, was_reported, severity, message) in signs {
            match (is_seen, *was_reported, &new) {
                // Other outputs are another sign.
                (false, _, _) => *was_reported &= severity != Severity::Critical,
                (true, false, None) => {
                    *was_reported = true;
                    new = Some(RunawaySign { severity, message });
                }
                (true, _, _) => {}
            }
        }
        new
    }

    fn remember(&mut self, output: Option<&str>, duration: Duration) {
        self.sessions = self.sessions.saturating_add(1);
        match output {
            None => self.outputs.clear(),
            Some(output) => {
                let start: String = output.chars().take(COMPARED).collect::<String>().trim().to_lowercase();
                self.outputs.push_back(fingerprint(start.as_bytes()));
            }
        }
        if self.outputs.len() > SAME_OUTPUTS {
            self.outputs.pop_front();
        }
        if self.first.len() < WINDOW {
            return self.first.push(duration.as_secs_f64());
        }
        self.last.push_back(duration.as_secs_f64());
        if self.last.len() > WINDOW {
            self.last.pop_front();
        }
    }

    fn has_same_outputs(&self) -> bool {
        self.outputs.len() == SAME_OUTPUTS && self.outputs.iter().all(|output| *output == self.outputs[0])
    }
}

fn is_short(first: &[f64], last: &VecDeque<f64>) -> bool {
    let mean = |sum: f64| sum / WINDOW as f64;
    let (before, now) = (mean(first.iter().sum()), mean(last.iter().sum()));
    last.len() == WINDOW && (now < before * SHORT_PART || now < SHORT_SECONDS)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{RunawayDetector, RunawaySign};
    use crate::alerts::Severity;

    fn signs(
        sessions: impl Iterator<Item = (String, u64)>,
        has_time_limit: bool,
    ) -> Vec<(usize, RunawaySign)> {
        let mut detector = RunawayDetector::default();
        let sign = |(number, (output, millis)): (usize, (String, u64))| {
            let sign = detector.observe(Some(&output), Duration::from_millis(millis), has_time_limit);
            sign.map(|sign| (number + 1, sign))
        };
        sessions.enumerate().filter_map(sign).collect()
    }

    #[test]
    fn the_same_output_five_times_is_critical_and_said_once() {
        let long = "x".repeat(1000);
        let found = signs((0..9).map(|n| (format!("  {long}{n}"), 60_000)), true);
        assert_eq!(found.len(), 1, "only the beginning counts: {found:?}");
        assert_eq!((found[0].0, found[0].1.severity), (5, Severity::Critical));
    }

    #[test]
    fn sessions_that_settle_something_may_say_the_same() {
        let mut detector = RunawayDetector::default();
        let minute = Duration::from_secs(60);
        for number in 0..12 {
            let output = (number % 4 != 3).then_some("Done.");
            assert_eq!(detector.observe(output, minute, true), None, "{number}");
        }
    }

    #[test]
    fn sessions_that_become_short_are_a_warning() {
        let found = signs((0..30).map(|n| (n.to_string(), if n < 10 { 60_000 } else { 10_000 })), true);
        assert_eq!((found.len(), found[0].0, found[0].1.severity), (1, 20, Severity::Warning));
        assert!(signs((0..30).map(|n| (n.to_string(), 20_000)), true).is_empty());
        let passing = |n| if n < 10 || (22..27).contains(&n) { 60_000 } else { 10_000 };
        assert_eq!(signs((0..60).map(|n| (n.to_string(), passing(n))), true).len(), 1, "it comes again");
        let quick = signs((0..30).map(|n| (n.to_string(), 400)), true);
        assert_eq!(quick.len(), 1, "less than half a second is always short");
    }

    #[test]
    fn many_sessions_are_a_warning_only_without_a_time_limit() {
        let sessions = || (0..600).map(|n| (n.to_string(), 60_000));
        assert_eq!(signs(sessions(), false).iter().map(|(number, _)| *number).collect::<Vec<_>>(), [501]);
        assert!(signs(sessions(), true).is_empty());
    }
}
