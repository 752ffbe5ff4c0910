//! Measures the parts of the harness that run between sessions: roadmaps, their schedule, and the score of a session.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use autonoe_harness::progress::{ProgressDetector, SessionTrace, TreeSnapshot};
use autonoe_harness::roadmap::Roadmap;
use autonoe_harness::schedule::{Next, Schedule, TaskRecord, TaskStatus};

use super::sample::Sample;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const ROUNDS: usize = 50;
const TASKS: usize = 1000;
const SCHEDULE_TARGET_MS: f64 = 50.0;
const FILES: usize = 5000;
const FILES_PER_DIRECTORY: usize = 50;
const CHANGED_FILES: usize = 20;
const SCORE_TARGET_MS: f64 = 30.0;

pub fn measure(_autonoe: &Path) -> Result<Vec<BenchRow>> {
    Ok(vec![measure_schedule()?, measure_score()?])
}

fn measure_schedule() -> Result<BenchRow> {
    let text = roadmap();
    let mut sample = Sample::default();
    for _ in 0..ROUNDS {
        let run = sample.time(|| run_all(&text))?;
        if run != TASKS {
            return Err(format!("{run} of {TASKS} tasks were scheduled").into());
        }
    }
    Ok(BenchRow {
        what: format!("a roadmap of {TASKS} tasks with dependencies: parsed, and each task scheduled"),
        target: format!("at most {SCHEDULE_TARGET_MS:.0} ms"),
        measured: format!("{} ({ROUNDS} times)", sample.summary()),
        peer: "none".to_owned(),
        verdict: BenchVerdict::at_most(sample.median(), SCHEDULE_TARGET_MS),
    })
}

/// Each task depends on three earlier ones.
fn roadmap() -> String {
    let mut text = "# Roadmap: Bench\n## Objective\nMeasure.\n## Tasks\n".to_owned();
    for number in 0..TASKS {
        let depends: Vec<String> = [1, 7, 50]
            .iter()
            .filter(|back| **back <= number)
            .map(|back| format!("t{}", number - back))
            .collect();
        let depends = if depends.is_empty() { "none".to_owned() } else { depends.join(", ") };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "- [ ] **t{number}**: Task {number}\n  - timeout: 1h\n  - depends: {depends}\n  - check: `make t{number}`\n"
        );
    }
    text
}

/// The number of tasks that were run.
fn run_all(text: &str) -> Result<usize> {
    let mut schedule = Schedule::new(&Roadmap::parse(text, &[])?);
    let mut run = 0;
    while let Next::Run(id) = schedule.next() {
        schedule.set(id.as_str(), TaskRecord { status: TaskStatus::Completed, attempts: 1 });
        run += 1;
    }
    Ok(run)
}

fn measure_score() -> Result<BenchRow> {
    let directory = tempfile::tempdir()?;
    let root = directory.path();
    for number in 0..FILES {
        let path = root.join(format!("d{}", number / FILES_PER_DIRECTORY));
        fs::create_dir_all(&path)?;
        fs::write(path.join(format!("f{number}.rs")), format!("fn f{number}() {{}}\n").repeat(40))?;
    }
    fs::write(root.join(".gitignore"), "/target\n*.log\n")?;
    let mut detector = ProgressDetector::default();
    detector.start(Some(TreeSnapshot::take(root, None)?), BTreeSet::new());
    let mut sample = Sample::default();
    for round in 0..ROUNDS {
        for number in 0..CHANGED_FILES {
            fs::write(root.join(format!("d{number}/new.rs")), format!("// {round}\n").repeat(40))?;
        }
        let output = output(round);
        let report = sample.time(|| {
            let tree = TreeSnapshot::take(root, detector.tree())?;
            let session = SessionTrace { output, tree: Some(tree), ..SessionTrace::default() };
            Ok::<_, std::io::Error>(detector.observe(session))
        })?;
        if report.signal.file_changes_score != Some(1.0) {
            return Err(format!("the changed files were not seen: {report:?}").into());
        }
    }
    Ok(BenchRow {
        what: format!(
            "the score of a session: {FILES} files, {CHANGED_FILES} of them changed, 32 KiB of output"
        ),
        target: format!("at most {SCORE_TARGET_MS:.0} ms"),
        measured: format!("{} ({ROUNDS} times)", sample.summary()),
        peer: "none".to_owned(),
        verdict: BenchVerdict::at_most(sample.median(), SCORE_TARGET_MS),
    })
}

/// Differs from round to round, but not in every word.
fn output(round: usize) -> String {
    let mut text = String::new();
    for line in 0..700 {
        let _ =
            writeln!(text, "line {line}: compiled part {} of round {}", line * 7 % 97, (line * round) % 11);
    }
    text
}
