use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use autonoe_core::event::ProgressVerdict;

use super::{
    FailedCheck, Observation, ProgressDetector, ProgressSignal, SessionTrace, TreeSnapshot, normalised,
};

fn session(output: &str) -> SessionTrace {
    SessionTrace { output: output.to_owned(), ..SessionTrace::default() }
}

fn trace(root: &Path, detector: &ProgressDetector, output: &str) -> SessionTrace {
    let tree = TreeSnapshot::take(root, detector.tree()).expect("a snapshot");
    SessionTrace { tree: Some(tree), ..session(output) }
}

fn failing(output: &str, check: &str) -> SessionTrace {
    let failed = FailedCheck { name: "suite".to_owned(), output: check.to_owned() };
    SessionTrace { failed_checks: vec![failed], ..session(output) }
}

#[test]
fn output_is_compared_without_times_case_and_white_space() {
    let one = "Built at 2026-01-02T03:04:05 in   run 1768000000123\nOK";
    let other = "built at 2025-12-31 23:59:59 in run 1700000000\n\n ok";
    assert_eq!(normalised(one), normalised(other));
    let mut detector = ProgressDetector::default();
    assert_eq!(detector.observe(session(one)).signal.output_diff_score, 1.0, "nothing before it");
    assert_eq!(detector.observe(session(other)).signal.output_diff_score, 0.0);
    assert_eq!(detector.observe(session("")).signal.output_diff_score, 0.0);
}

#[test]
fn the_beginning_and_the_end_of_a_long_output_are_compared() {
    let long = |middle: &str, end: &str| format!("{}{}{end}", "ä ".repeat(10_000), middle.repeat(20_000));
    let mut detector = ProgressDetector::default();
    detector.observe(session(&long("one ", "€ end")));
    let score = |output: &str| detector.detect(output, None).output_diff_score;
    assert_eq!(score(&long("one ", "€ end")), 0.0);
    assert!(score(&long("two ", "€ end")) > 0.3);
}

#[test]
fn markers_and_boxes_count() {
    let mut detector = ProgressDetector::default();
    detector.observe(session("- [x] one\n- [ ] two"));
    let output = "- [x] one\n- [x] two\n<progress> two is done </progress><PROGRESS>\nmore\n</PROGRESS><progress> </progress>";
    let report = detector.observe(session(output));
    assert_eq!(report.signal.explicit_markers, ["two is done", "more"]);
    assert_eq!(report.signal.checklist_progress, 1.0);
    assert_eq!(detector.observe(session(output)).signal.checklist_progress, 0.0, "it did not rise");
}

#[test]
fn an_old_change_does_not_count_again_and_an_untracked_file_does() {
    let directory = tempfile::tempdir().expect("directory");
    let root = directory.path();
    fs::write(root.join("old.txt"), "uncommitted\n".repeat(100)).expect("written");
    let mut detector = ProgressDetector::default();
    detector.start(TreeSnapshot::take(root, None).ok(), BTreeSet::new());
    let scores: Vec<f64> =
        (0..3).map(|_| detector.observe(trace(root, &detector.clone(), "same")).score).collect();
    assert_eq!(scores, [0.30, 0.0, 0.0]);
    for name in ["a", "b", "c"] {
        fs::write(root.join(name), "new").expect("written");
    }
    let report = detector.observe(trace(root, &detector.clone(), "same"));
    assert_eq!((report.signal.file_changes_score, report.score), (Some(1.0), 0.30));
    assert_eq!(report.verdict, ProgressVerdict::Progressed);
}

#[test]
fn without_files_the_other_signals_count_for_more() {
    let detector = ProgressDetector::default();
    let signal = ProgressSignal {
        output_diff_score: 1.0,
        file_changes_score: None,
        explicit_markers: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
        checklist_progress: 1.0,
    };
    assert!((detector.calculate_score(&signal) - 1.0).abs() < 1e-9);
    let half = ProgressSignal { explicit_markers: Vec::new(), checklist_progress: 0.0, ..signal };
    assert!((detector.calculate_score(&half) - 0.30 / 0.70).abs() < 1e-9);
}

#[test]
fn undone_edits_are_not_progress() {
    let directory = tempfile::tempdir().expect("directory");
    let root = directory.path();
    let mut detector = ProgressDetector::default();
    detector.start(TreeSnapshot::take(root, None).ok(), BTreeSet::new());
    let mut seen = Vec::new();
    for content in ["one", "two", "one", "two"] {
        for name in ["a", "b", "c"] {
            fs::write(root.join(name), content).expect("written");
        }
        let report = detector.observe(trace(root, &detector.clone(), "I fixed it."));
        seen.push((report.verdict, report.observations.contains(&Observation::Oscillation)));
    }
    let (progressed, idle) = (ProgressVerdict::Progressed, ProgressVerdict::Idle);
    assert_eq!(seen, [(progressed, false), (progressed, false), (idle, true), (idle, true)]);
}

#[test]
fn the_same_failure_again_and_again_outweighs_new_words_and_new_edits() {
    let directory = tempfile::tempdir().expect("directory");
    let root = directory.path();
    let mut detector = ProgressDetector::default();
    detector.start(TreeSnapshot::take(root, None).ok(), BTreeSet::new());
    let mut verdicts = Vec::new();
    for (number, words) in
        ["alpha beta", "gamma delta", "completely other", "and now this"].iter().enumerate()
    {
        for name in ["a", "b", "c"] {
            fs::write(root.join(name), format!("{number}")).expect("written");
        }
        let tree = trace(root, &detector.clone(), words).tree;
        let failed = failing(words, "2 of 3 failed at 2026-01-01 10:00:00");
        verdicts.push(detector.observe(SessionTrace { tree, ..failed }).verdict);
    }
    let (progressed, idle) = (ProgressVerdict::Progressed, ProgressVerdict::Idle);
    assert_eq!(verdicts, [progressed, progressed, idle, idle]);
    let other = failing("and now this", "1 of 3 failed");
    assert_eq!(detector.observe(other).observations, [], "another failure is something new");
}

#[test]
fn more_that_is_verified_is_progress_but_only_once() {
    let mut detector = ProgressDetector::default();
    detector.observe(session("same"));
    let with = |names: &[&str]| SessionTrace {
        verified: names.iter().map(|name| (*name).to_owned()).collect(),
        ..session("same")
    };
    let report = detector.observe(with(&["A"]));
    assert_eq!((report.verdict, report.score), (ProgressVerdict::Progressed, 0.5));
    assert_eq!(detector.observe(with(&[])).observations, [Observation::LessVerified]);
    assert_eq!(detector.observe(with(&["A"])).verdict, ProgressVerdict::Idle, "it was verified before");
}

#[test]
fn the_same_commands_are_a_doubt_and_a_long_test_run_is_not() {
    let with = |output: &str, minutes: u64| SessionTrace {
        commands: vec!["make test".to_owned()],
        duration: Duration::from_secs(minutes * 60 + 60),
        in_commands: Duration::from_secs(minutes * 60),
        ..session(output)
    };
    let mut detector = ProgressDetector::default();
    detector.observe(with("waiting", 0));
    let report = detector.observe(with("waiting", 0));
    assert_eq!(
        (report.verdict, &report.observations[..]),
        (ProgressVerdict::Idle, &[Observation::SameCommands][..])
    );
    let verdicts: Vec<_> = (0..4).map(|_| detector.observe(with("waiting", 30)).verdict).collect();
    let waited = ProgressVerdict::Waited;
    assert_eq!(verdicts, [waited, waited, waited, ProgressVerdict::Idle], "but not for ever");
}

#[test]
fn what_was_seen_survives_a_restart() {
    let directory = tempfile::tempdir().expect("directory");
    let root = directory.path();
    let mut detector = ProgressDetector::default();
    detector.start(TreeSnapshot::take(root, None).ok(), BTreeSet::new());
    for content in ["one", "two"] {
        fs::write(root.join("a"), content).expect("written");
        detector.observe(trace(root, &detector.clone(), "same"));
    }
    let saved = serde_json::to_string(&detector).expect("saved");
    let mut detector: ProgressDetector = serde_json::from_str(&saved).expect("restored");
    let report = detector.observe(trace(root, &detector.clone(), "same"));
    assert_eq!((report.signal.file_changes_score, report.score), (Some(0.0), 0.0));
    fs::write(root.join("a"), "one").expect("written");
    let report = detector.observe(trace(root, &detector.clone(), "same"));
    assert_eq!(report.observations, [Observation::Oscillation]);
}
