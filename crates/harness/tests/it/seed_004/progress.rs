//! Progress Detection Interface.

use std::collections::BTreeSet;

use autonoe_harness::progress::{ProgressDetector, ProgressSignal, SessionTrace, TreeSnapshot, WEIGHTS};

use super::Contract;

pub const CONTRACTS: &[Contract] = &[
    ("output_diff_score: float      # 0.0 = identical, 1.0 = completely different", || {
        let mut detector = ProgressDetector::default();
        detector.observe(session("same words"));
        assert_eq!(detector.detect("same words", None).output_diff_score, 0.0);
        assert_eq!(detector.detect("123456789", None).output_diff_score, 1.0);
    }),
    ("file_changes_score: float     # 0.0 = no changes, 1.0 = significant", || {
        let directory = tempfile::tempdir().unwrap();
        let mut detector = ProgressDetector::default();
        detector.start(TreeSnapshot::take(directory.path(), None).ok(), BTreeSet::new());
        let score = |detector: &ProgressDetector| {
            detector.detect("", TreeSnapshot::take(directory.path(), None).ok().as_ref()).file_changes_score
        };
        assert_eq!(score(&detector), Some(0.0));
        for name in ["a", "b", "c"] {
            std::fs::write(directory.path().join(name), "x").unwrap();
        }
        assert_eq!(score(&detector), Some(1.0));
    }),
    ("explicit_markers: List[str]   # <progress>...</progress> content", || {
        let signal = ProgressDetector::default().detect("<progress>half</progress>", None);
        assert_eq!(signal.explicit_markers, ["half"]);
    }),
    ("checklist_progress: float     # 0.0 = none, 1.0 = all complete", || {
        let mut detector = ProgressDetector::default();
        detector.observe(session("- [ ] a"));
        assert_eq!(detector.detect("- [ ] a", None).checklist_progress, 0.0);
        assert_eq!(detector.detect("- [x] a", None).checklist_progress, 1.0);
    }),
    ("'output_diff': 0.30", || assert_eq!(score(1.0, 0.0, 0, 0.0), 0.30)),
    ("'file_changes': 0.30", || assert_eq!(score(0.0, 1.0, 0, 0.0), 0.30)),
    ("'explicit_markers': 0.25", || assert_eq!(score(0.0, 0.0, 2, 0.0), 0.25)),
    ("'checklist': 0.15", || {
        assert_eq!(score(0.0, 0.0, 0, 1.0), 0.15);
        let sum = WEIGHTS.output_diff + WEIGHTS.file_changes + WEIGHTS.explicit_markers + WEIGHTS.checklist;
        assert!((sum - 1.0).abs() < 1e-9);
    }),
    ("marker_score = min(1.0, len(signal.explicit_markers) * 0.5)", || {
        assert_eq!(score(0.0, 0.0, 1, 0.0), 0.125);
        assert_eq!(score(0.0, 0.0, 9, 0.0), 0.25);
    }),
    ("Calculate weighted progress score (0.0-1.0).", || {
        assert!((score(1.0, 1.0, 2, 1.0) - 1.0).abs() < 1e-9);
        assert_eq!(score(0.0, 0.0, 0, 0.0), 0.0);
    }),
    ("Detects progress between iterations.", || {
        let mut detector = ProgressDetector::default();
        let first = detector.observe(session("I made a plan.")).score;
        let second = detector.observe(session("I made a plan.")).score;
        assert!(second < first, "{second} is not less than {first}: nothing is new");
    }),
    ("Uses weighted combination of signals.", || {
        let parts = score(1.0, 0.0, 0, 0.0)
            + score(0.0, 1.0, 0, 0.0)
            + score(0.0, 0.0, 2, 0.0)
            + score(0.0, 0.0, 0, 1.0);
        assert!((score(1.0, 1.0, 2, 1.0) - parts).abs() < 1e-9);
    }),
    ("Detect progress signals.", || {
        let signal = ProgressDetector::default().detect("<progress>half</progress>\n- [x] a", None);
        assert_eq!((signal.output_diff_score, signal.file_changes_score), (1.0, None));
        assert_eq!((signal.explicit_markers.len(), signal.checklist_progress), (1, 1.0));
    }),
];

fn session(output: &str) -> SessionTrace {
    SessionTrace { output: output.to_owned(), ..SessionTrace::default() }
}

fn score(output: f64, files: f64, markers: usize, checklist: f64) -> f64 {
    ProgressDetector::default().calculate_score(&ProgressSignal {
        output_diff_score: output,
        file_changes_score: Some(files),
        explicit_markers: vec!["x".to_owned(); markers],
        checklist_progress: checklist,
    })
}
