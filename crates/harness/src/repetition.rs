//! Repetition within a session: the same calls with the same results again and again.
//!
//! Calls that wait for something take their time, so quick repetitions count for more than slow ones. A call whose result changes, such
//! as a look at a job that advances, is not a repetition. A few calls that take turns are one, like a change, a test and its undoing.

use std::collections::VecDeque;
use std::sync::LazyLock;
use std::time::Duration;

use autonoe_core::call_watch::{CallWatch, FinishedCall, RepetitionVerdict};
use regex::Regex;

use crate::progress::{fingerprint, normalised};

/// Calls that may take turns.
const LONGEST_ROUND: usize = 4;

/// Quick repetitions after which the agent is informed.
pub const TELL_AFTER: u32 = 5;

/// Quick repetitions after which the session ends.
pub const END_AFTER: u32 = 15;

/// Slow repetitions that count as much as a quick one.
const SLOW: u32 = 4;

/// A round with a call that takes this long waits for something.
const WAITS: Duration = Duration::from_secs(10);

/// How long something took, as programs say it: it differs each time.
static TOOK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b[0-9]+\.[0-9]+ ?(s|ms|sec|secs|seconds)\b").ok());

#[derive(Debug, Clone, Copy)]
struct SeenCall {
    fingerprint: u64,
    is_slow: bool,
}

/// Watches the calls of one session.
#[derive(Debug, Default)]
pub struct RepetitionDetector {
    /// The newest last.
    calls: VecDeque<SeenCall>,
    has_told: bool,
}

impl CallWatch for RepetitionDetector {
    fn observe(&mut self, call: FinishedCall<'_>) -> RepetitionVerdict {
        let result = normalised(call.result);
        let result = TOOK.as_ref().map_or(result.as_str().into(), |took| took.replace_all(&result, ""));
        let text = format!("{}\n{}\n{result}", call.tool, call.input.trim());
        let seen = SeenCall { fingerprint: fingerprint(text.as_bytes()), is_slow: call.elapsed >= WAITS };
        self.calls.push_back(seen);
        if self.calls.len() > LONGEST_ROUND * (END_AFTER * SLOW) as usize + LONGEST_ROUND {
            self.calls.pop_front();
        }
        let (round, repetitions) = self.repetitions();
        if repetitions >= END_AFTER {
            return RepetitionVerdict::End(ending(call.tool, round));
        }
        if repetitions < TELL_AFTER {
            self.has_told = self.has_told && repetitions > 0;
            return RepetitionVerdict::Fine;
        }
        match std::mem::replace(&mut self.has_told, true) {
            true => RepetitionVerdict::Fine,
            false => RepetitionVerdict::Tell(message(call.tool, round)),
        }
    }
}

impl RepetitionDetector {
    /// The number of calls that take turns, and how many quick repetitions their rounds are worth, the first round not counted.
    fn repetitions(&self) -> (usize, u32) {
        let rounds = (1..=LONGEST_ROUND).map(|round| (round, self.repetitions_of(round)));
        rounds.max_by_key(|(round, repetitions)| (*repetitions, LONGEST_ROUND - round)).unwrap_or((1, 0))
    }

    fn repetitions_of(&self, round: usize) -> u32 {
        let newest_first = || self.calls.iter().rev();
        let pairs = newest_first().zip(newest_first().skip(round));
        let same = pairs.take_while(|(one, other)| one.fingerprint == other.fingerprint).count();
        let mut worth = 0;
        for number in 0..same / round {
            let is_slow = newest_first().skip(number * round).take(round).any(|call| call.is_slow);
            worth += if is_slow { 1 } else { SLOW };
        }
        worth / SLOW
    }
}

fn what(tool: &str, round: usize) -> String {
    match round {
        1 => format!("The same call of {tool} had the same result"),
        _ => format!("The same {round} calls had the same results"),
    }
}

fn message(tool: &str, round: usize) -> String {
    format!(
        "{} {TELL_AFTER} times in a row. Repeating it will not change that. Say what you have learned from it, and try \
         something else: read the error again, look at another part of the problem, or report what blocks you. If you wait for \
         something, wait longer between two looks. If this continues, the session ends.",
        what(tool, round)
    )
}

fn ending(tool: &str, round: usize) -> String {
    format!("{} {END_AFTER} times in a row, so the session was ended as stuck.", what(tool, round))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use autonoe_core::call_watch::{CallWatch as _, FinishedCall, RepetitionVerdict};

    use super::RepetitionDetector;

    fn call<'a>(input: &'a str, result: &'a str, seconds: u64) -> FinishedCall<'a> {
        FinishedCall { tool: "Bash", input, result, elapsed: Duration::from_secs(seconds) }
    }

    /// The numbers of the calls, from 1, after which the agent was informed and the session ended.
    fn play(calls: impl Iterator<Item = (String, String, u64)>) -> (Vec<usize>, Option<usize>) {
        let mut detector = RepetitionDetector::default();
        let mut informed = Vec::new();
        for (number, (input, result, seconds)) in calls.enumerate() {
            match detector.observe(call(&input, &result, seconds)) {
                RepetitionVerdict::Fine => {}
                RepetitionVerdict::Tell(message) => {
                    assert!(message.contains("5 times in a row"), "{message}");
                    informed.push(number + 1);
                }
                RepetitionVerdict::End(_) => return (informed, Some(number + 1)),
            }
        }
        (informed, None)
    }

    fn row(input: &str, result: &str, seconds: u64) -> (String, String, u64) {
        (input.to_owned(), result.to_owned(), seconds)
    }

    #[test]
    fn the_same_call_with_the_same_result_is_reported_once_and_then_ends_the_session() {
        let same = (0..250).map(|n| row("cat a.txt", &format!("no such file, took 0.{n}s"), 0));
        assert_eq!(play(same), (vec![6], Some(16)));
    }

    #[test]
    fn calls_that_take_turns_are_a_repetition_too() {
        let round = [row("sed -i s/a/b/ f", "", 0), row("make", "failed", 2), row("sed -i s/b/a/ f", "", 0)];
        let (informed, ended) = play(round.into_iter().cycle().take(250));
        assert_eq!((informed, ended), (vec![18], Some(48)));
    }

    #[test]
    fn changing_output_and_changing_calls_are_not() {
        let polling = (0..250).map(|n| row("curl /job", &format!("{n} of 250 done"), 0));
        assert_eq!(play(polling), (vec![], None));
        let reading = (0..250).map(|n| row(&format!("cat file{n}"), "empty", 0));
        assert_eq!(play(reading), (vec![], None));
    }

    #[test]
    fn a_slow_look_at_something_may_be_repeated_longer() {
        let waiting = (0..250).map(|_| row("sleep 30; curl /health", "starting", 30));
        assert_eq!(play(waiting), (vec![21], Some(61)));
    }

    #[test]
    fn something_else_in_between_starts_anew() {
        let same = |count| (0..count).map(|_| row("ls", "a b", 0));
        let calls = same(12).chain([row("cat a", "text", 0)]).chain(same(12));
        assert_eq!(play(calls), (vec![6, 19], None));
    }
}
