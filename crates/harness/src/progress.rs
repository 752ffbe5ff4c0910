//! Whether a session brought the work forward.
//!
//! The signals of a session are compared with the session before it: how different its output is, which files changed, what it marked as
//! progress, and which boxes it checked. They are weighted to a score from 0.0 to 1.0. Other observations correct the score: what is
//! verified, checks that fail as before, the same commands again, and edits that are undone again.

mod normalise;
mod similarity;
mod tree;

use std::collections::{BTreeSet, VecDeque};
use std::sync::LazyLock;
use std::time::Duration;

use autonoe_core::event::ProgressVerdict;
use regex::Regex;
use serde::{Deserialize, Serialize};

pub(crate) use normalise::{fingerprint, normalised};
pub use similarity::ratio;
pub use tree::{TreeChanges, TreeSnapshot};

/// A lower score means no progress.
pub const PROGRESS_THRESHOLD: f64 = 0.15;

/// Files that must change for the full score.
const FILES_FOR_FULL_SCORE: f64 = 3.0;

/// Score of a marker in the output; two are the full score.
const SCORE_OF_MARKER: f64 = 0.5;

/// At least this is the score of a session after which more is verified than ever before.
const SCORE_OF_VERIFIED: f64 = 0.5;

/// What remains of the score for each observation that speaks against it.
const DOUBT: f64 = 0.5;

/// Part of the commands that must be the same as before.
const SAME_COMMANDS: f64 = 0.9;

/// Trees that are remembered.
const TREES: usize = 100;

/// A session that spent this long in commands, and most of its time, has waited for something.
const LONG_WAIT: Duration = Duration::from_secs(10 * 60);

/// Sessions in a row that may wait. After that, waiting counts as no progress.
const WAITS: u32 = 3;

/// Commands of a session that are compared.
const MAX_COMMANDS: usize = 1000;

/// How much each signal counts.
pub struct Weights {
    pub output_diff: f64,
    pub file_changes: f64,
    pub explicit_markers: f64,
    pub checklist: f64,
}

pub const WEIGHTS: Weights =
    Weights { output_diff: 0.30, file_changes: 0.30, explicit_markers: 0.25, checklist: 0.15 };

static MARKER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?is)<progress>(.*?)</progress>").ok());

/// Signals used to calculate progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgressSignal {
    /// 0.0 = identical, 1.0 = completely different.
    pub output_diff_score: f64,
    /// 0.0 = no changes, 1.0 = significant. `None` if the files are unknown; the other signals then count for more.
    pub file_changes_score: Option<f64>,
    /// The content of `<progress>…</progress>`.
    pub explicit_markers: Vec<String>,
    /// 1.0 if more boxes are checked than before.
    pub checklist_progress: f64,
}

/// A check that failed after a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCheck {
    pub name: String,
    pub output: String,
}

/// What a session has left.
#[derive(Debug, Clone, Default)]
pub struct SessionTrace {
    pub output: String,
    /// The files after it; `None` if they are unknown.
    pub tree: Option<TreeSnapshot>,
    /// What is verified after it.
    pub verified: BTreeSet<String>,
    pub failed_checks: Vec<FailedCheck>,
    /// The commands that it ran, in order.
    pub commands: Vec<String>,
    pub duration: Duration,
    /// Of this, the time in which commands ran.
    pub in_commands: Duration,
}

/// What corrected the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// Something is verified that never was before.
    MoreVerified,
    /// Something is not verified any more.
    LessVerified,
    /// The same checks failed with the same output, so many sessions in a row.
    SameFailure {
        times: u32,
    },
    SameCommands,
    /// The files are as they were after an earlier session, but not the last one.
    Oscillation,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgressReport {
    pub signal: ProgressSignal,
    pub score: f64,
    pub verdict: ProgressVerdict,
    pub observations: Vec<Observation>,
}

/// Compares each session with those before it. What it remembers can be written to the journal; only the list of files is taken anew.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ProgressDetector {
    /// Normalised; empty before the first session.
    output: String,
    checked_boxes: usize,
    #[serde(skip)]
    tree: Option<TreeSnapshot>,
    /// Fingerprints of the trees, the newest last.
    trees: VecDeque<u64>,
    verified: BTreeSet<String>,
    /// Everything that was ever verified.
    ever_verified: BTreeSet<String>,
    /// Fingerprint of the checks that failed last, and how often they did so before.
    failure: Option<(u64, u32)>,
    commands: Vec<u64>,
    waits: u32,
}

impl ProgressDetector {
    /// Records the files before the first session.
    pub fn start(&mut self, tree: Option<TreeSnapshot>, verified: BTreeSet<String>) {
        self.ever_verified.extend(verified.iter().cloned());
        self.verified = verified;
        self.remember_tree(tree);
    }

    /// The files were replaced between two sessions; what the next one changes is compared with these.
    pub fn set_tree(&mut self, tree: Option<TreeSnapshot>) {
        self.remember_tree(tree);
    }

    /// Whether something is verified now that never was after a session.
    pub fn has_more_verified(&self, now: &BTreeSet<String>) -> bool {
        !now.is_subset(&self.ever_verified)
    }

    /// The last tree, so that the next snapshot reads changed files only. `None` at first and after a restart.
    pub fn tree(&self) -> Option<&TreeSnapshot> {
        self.tree.as_ref()
    }

    /// The signals of a session, compared with the last one.
    pub fn detect(&self, output: &str, tree: Option<&TreeSnapshot>) -> ProgressSignal {
        let normal = normalised(output);
        let output_diff_score = match (self.output.is_empty(), normal.is_empty()) {
            (_, true) => 0.0,
            (true, false) => 1.0,
            (false, false) => 1.0 - ratio(&self.output, &normal),
        };
        ProgressSignal {
            output_diff_score,
            file_changes_score: tree.and_then(|tree| self.file_changes(tree)),
            explicit_markers: markers(output),
            checklist_progress: if checked_boxes(output) > self.checked_boxes { 1.0 } else { 0.0 },
        }
    }

    /// The weighted score, 0.0 to 1.0.
    pub fn calculate_score(&self, signal: &ProgressSignal) -> f64 {
        let markers = (signal.explicit_markers.len() as f64 * SCORE_OF_MARKER).min(1.0);
        let others = WEIGHTS.output_diff * signal.output_diff_score
            + WEIGHTS.explicit_markers * markers
            + WEIGHTS.checklist * signal.checklist_progress;
        let score = match signal.file_changes_score {
            Some(files) => others + WEIGHTS.file_changes * files,
            None => others / (1.0 - WEIGHTS.file_changes),
        };
        score.clamp(0.0, 1.0)
    }

    /// Judges a session and remembers it.
    pub fn observe(&mut self, session: SessionTrace) -> ProgressReport {
        let mut signal = self.detect(&session.output, session.tree.as_ref());
        let observations = self.observations(&session);
        if observations.contains(&Observation::Oscillation) {
            signal.file_changes_score = signal.file_changes_score.map(|_| 0.0);
        }
        let mut score = self.calculate_score(&signal);
        for observation in &observations {
            score *= match observation {
                Observation::LessVerified | Observation::SameCommands | Observation::Oscillation => DOUBT,
                Observation::SameFailure { times } => DOUBT.powi(i32::try_from(*times).unwrap_or(i32::MAX)),
                Observation::MoreVerified => 1.0,
            };
        }
        if observations.contains(&Observation::MoreVerified) {
            score = score.max(SCORE_OF_VERIFIED);
        }
        let verdict = self.verdict(score, &session);
        self.remember(session, &observations);
        ProgressReport { signal, score, verdict, observations }
    }

    /// `None` if the files before are unknown.
    fn file_changes(&self, tree: &TreeSnapshot) -> Option<f64> {
        if let Some(before) = &self.tree {
            let changes = tree.changes_since(before).count();
            return Some((changes as f64 / FILES_FOR_FULL_SCORE).min(1.0));
        }
        // After a restart only the fingerprint is known: at least one file differs, or none does.
        let last = self.trees.back()?;
        Some(if *last == tree.fingerprint() { 0.0 } else { 1.0 / FILES_FOR_FULL_SCORE })
    }

    fn observations(&self, session: &SessionTrace) -> Vec<Observation> {
        let mut found = Vec::new();
        if session.verified.iter().any(|name| !self.ever_verified.contains(name)) {
            found.push(Observation::MoreVerified);
        }
        if self.verified.iter().any(|name| !session.verified.contains(name)) {
            found.push(Observation::LessVerified);
        }
        if let (Some((last, times)), Some(now)) = (self.failure, failure(&session.failed_checks))
            && last == now
        {
            found.push(Observation::SameFailure { times: times.saturating_add(1) });
        }
        if is_same(&self.commands, &command_fingerprints(&session.commands)) {
            found.push(Observation::SameCommands);
        }
        let tree = session.tree.as_ref().map(TreeSnapshot::fingerprint);
        if tree.is_some_and(|tree| self.trees.back() != Some(&tree) && self.trees.contains(&tree)) {
            found.push(Observation::Oscillation);
        }
        found
    }

    fn verdict(&mut self, score: f64, session: &SessionTrace) -> ProgressVerdict {
        if score >= PROGRESS_THRESHOLD {
            self.waits = 0;
            return ProgressVerdict::Progressed;
        }
        let has_waited = session.in_commands >= LONG_WAIT && session.in_commands * 2 >= session.duration;
        if has_waited && self.waits < WAITS {
            self.waits += 1;
            return ProgressVerdict::Waited;
        }
        ProgressVerdict::Idle
    }

    fn remember(&mut self, session: SessionTrace, observations: &[Observation]) {
        let times = observations.iter().find_map(|observation| match observation {
            Observation::SameFailure { times } => Some(*times),
            Observation::MoreVerified
            | Observation::LessVerified
            | Observation::SameCommands
            | Observation::Oscillation => None,
        });
        self.failure = failure(&session.failed_checks).map(|now| (now, times.unwrap_or(0)));
        self.output = normalised(&session.output);
        self.checked_boxes = checked_boxes(&session.output);
        self.commands = command_fingerprints(&session.commands);
        self.ever_verified.extend(session.verified.iter().cloned());
        self.verified = session.verified;
        self.remember_tree(session.tree);
    }

    fn remember_tree(&mut self, tree: Option<TreeSnapshot>) {
        if let Some(fingerprint) = tree.as_ref().map(TreeSnapshot::fingerprint)
            && self.trees.back() != Some(&fingerprint)
        {
            self.trees.push_back(fingerprint);
            if self.trees.len() > TREES {
                self.trees.pop_front();
            }
        }
        self.tree = tree;
    }
}

fn markers(output: &str) -> Vec<String> {
    let Some(marker) = &*MARKER else {
        return Vec::new();
    };
    let found = marker.captures_iter(output).filter_map(|captures| captures.get(1));
    found.map(|text| text.as_str().trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

fn checked_boxes(output: &str) -> usize {
    output.matches("[x]").count() + output.matches("[X]").count()
}

/// `None` if no check failed.
fn failure(checks: &[FailedCheck]) -> Option<u64> {
    let mut parts: Vec<String> =
        checks.iter().map(|check| format!("{}\n{}", check.name, normalised(&check.output))).collect();
    parts.sort();
    (!parts.is_empty()).then(|| fingerprint(parts.join("\n\n").as_bytes()))
}

/// In ascending order.
fn command_fingerprints(commands: &[String]) -> Vec<u64> {
    let each = commands.iter().take(MAX_COMMANDS).map(|command| fingerprint(command.trim().as_bytes()));
    let mut found: Vec<u64> = each.collect();
    found.sort_unstable();
    found
}

/// Whether almost all of the commands are the same; both are sorted.
fn is_same(before: &[u64], now: &[u64]) -> bool {
    let (mut left, mut right, mut common) = (before.iter().peekable(), now.iter().peekable(), 0_usize);
    while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
        match one.cmp(other) {
            std::cmp::Ordering::Less => drop(left.next()),
            std::cmp::Ordering::Greater => drop(right.next()),
            std::cmp::Ordering::Equal => {
                common += 1;
                left.next();
                right.next();
            }
        }
    }
    let all = before.len() + now.len();
    all > 0 && 2.0 * common as f64 / all as f64 >= SAME_COMMANDS
}

#[cfg(test)]
mod tests;
