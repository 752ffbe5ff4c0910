//! How a run ended, in words: for the terminal, the report and alerts.

use crate::duration::format as format_duration;
use crate::outcome::{RunOutcome, no_progress};
use jiff::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    pub kind: EndingKind,
    pub sentence: String,
    /// What to do next.
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndingKind {
    Success,
    /// A limit or the user stopped the run; running again continues it.
    Stopped,
    Failure,
}

impl Ending {
    /// `reset` is a sentence about the time at which a quota resets.
    pub fn of(outcome: &RunOutcome, reset: impl FnOnce(Timestamp) -> String) -> Self {
        let (kind, sentence, hint) = parts(outcome, reset);
        Self { kind, sentence, hint }
    }
}

fn parts(
    outcome: &RunOutcome,
    reset: impl FnOnce(Timestamp) -> String,
) -> (EndingKind, String, Option<String>) {
    let text = |text: &str| text.to_owned();
    match outcome {
        RunOutcome::AllPassed => (EndingKind::Success, text("All achievable deliverables passed."), None),
        RunOutcome::ConditionMet { reason } => (EndingKind::Success, format!("Done: {reason}"), None),
        RunOutcome::AllVerified => (EndingKind::Success, text("Every deliverable was reviewed against the code."), None),
        RunOutcome::AllBlocked => (
            EndingKind::Failure,
            text("All deliverables are blocked."),
            Some(text(
                "`autonoe status` says what blocks each one. Once that is resolved: `autonoe unblock ID`, then `autonoe run`.",
            )),
        ),
        RunOutcome::MaxIterations { limit } => (
            EndingKind::Stopped,
            format!("Stopped: the limit of {limit} session(s) was reached."),
            Some(text("Run again to continue where this run stopped.")),
        ),
        RunOutcome::BudgetExceeded { limit_usd } => (
            EndingKind::Stopped,
            format!("Stopped: the cost limit of {limit_usd} was reached."),
            Some(text("Run again to continue where this run stopped; raise --max-cost if needed.")),
        ),
        RunOutcome::DurationExceeded { limit } => (
            EndingKind::Stopped,
            format!("Stopped: the time limit of {} was reached.", format_duration(*limit)),
            Some(text("Run again to continue where this run stopped.")),
        ),
        RunOutcome::QuotaExceeded { message, resets_at } => {
            let when = resets_at.map(|at| format!(" {}", reset(at))).unwrap_or_default();
            let hint =
                text("Run again after the reset, or use --wait-for-quota to wait for it.");
            (EndingKind::Failure, format!("Stopped: the quota is used up ({message}).{when}"), Some(hint))
        }
        RunOutcome::Interrupted => {
            (EndingKind::Stopped, text("Interrupted."), Some(text("Run again to continue where this run stopped.")))
        }
        RunOutcome::MaxRetriesExceeded { limit, fault } => (
            EndingKind::Failure,
            format!("Stopped after {} failed session(s) in a row: {}", limit + 1, fault.message),
            fault.hint.clone(),
        ),
        RunOutcome::Outage { limit, fault } => (
            EndingKind::Failure,
            format!("Stopped after waiting {} for the model service: {}", format_duration(*limit), fault.message),
            fault.hint.clone().or_else(|| {
                Some(text("Run again once it is back. --max-outage sets how long a run waits; --fallback names other agents to try."))
            }),
        ),
        RunOutcome::Stuck { idle_sessions, tried } => (
            EndingKind::Failure,
            format!("Stuck: {}.{}", no_progress(*idle_sessions), tried_words(tried)),
            Some(text(
                "Read .autonoe-note.md and `autonoe sessions list`, make SPEC.md clearer, then run again.",
            )),
        ),
        RunOutcome::TasksBlocked { chains } => (
            EndingKind::Failure,
            format!("{} task(s) of the roadmap are not completed: {}.", chains.len(), chains.join("; ")),
            Some(text(
                "`autonoe status` shows why. Fix the cause, make the task clearer in the roadmap, then `autonoe unblock --all` and run again.",
            )),
        ),
        RunOutcome::Unverified { claimed } => (
            EndingKind::Failure,
            format!("Everything passed, but no valid check confirms {} as it is now.", claimed.join(", ")),
            Some(text(
                "`autonoe status` shows why. Add checks to SPEC.md or .autonoe/checks.json, or accept those that wait for your decision (`autonoe checks`), \
                 then run again.",
            )),
        ),
        RunOutcome::Unreviewed => (
            EndingKind::Failure,
            text("Everything passed, but the review by another agent is incomplete."),
            Some(text("`autonoe status` shows what was reviewed. Run again to review the rest, or choose another agent with --verifier.")),
        ),
        RunOutcome::Failed { fault } => (EndingKind::Failure, fault.message.clone(), fault.hint.clone()),
    }
}

/// Empty if nothing was tried.
fn tried_words(tried: &[String]) -> String {
    match tried.is_empty() {
        true => String::new(),
        false => format!(" Tried: {}.", tried.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Ending, EndingKind};
    use crate::outcome::RunOutcome;
    use jiff::Timestamp;

    #[test]
    fn the_caller_says_when_a_quota_resets() {
        let at: Timestamp = "2026-11-16T09:00:00Z".parse().expect("timestamp");
        let outcome = RunOutcome::QuotaExceeded { message: "5 hours".to_owned(), resets_at: Some(at) };
        let ending = Ending::of(&outcome, |at| format!("It resets {at}."));
        assert_eq!(ending.kind, EndingKind::Failure);
        let wanted = "Stopped: the quota is used up (5 hours). It resets 2026-11-16T09:00:00Z.";
        assert_eq!(ending.sentence, wanted);
    }
}
