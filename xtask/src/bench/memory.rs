//! Measures the peak memory of `autonoe run` itself, without its children.
//!
//! The sessions read, search, write and print large files, because a session's memory grows with its tool results.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::process::peak_mb;
use super::project::{BenchProject, check_run, serve};
use super::script::{call, conversation, done, passed, turn, turn_after};
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const SESSIONS: usize = 20;
const TARGET_MB: f64 = 50.0;
const FILE_LINES: usize = 20_000;
const SAMPLE_EVERY: Duration = Duration::from_millis(2);

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let project = BenchProject::with_deliverables(SESSIONS)?;
    let file: String =
        (1..=FILE_LINES).map(|line| format!("line {line} of a file as large as they get\n")).collect();
    fs::write(project.root().join("large.txt"), &file)?;
    let model = serve(&heavy_sessions(&file))?;
    let mut run = project.run(autonoe, &model).spawn()?;
    let mut peak = 0.0;
    let status = loop {
        // The kernel keeps the peak, so a late sample still includes it.
        peak = peak_mb(run.id()).unwrap_or(peak);
        if let Some(status) = run.try_wait()? {
            break status;
        }
        thread::sleep(SAMPLE_EVERY);
    };
    check_run(status, 0, &model)?;
    let requests = model.requests().len();
    Ok(vec![BenchRow {
        what: "resident memory of `autonoe run`, children aside, peak".to_owned(),
        target: format!("at most {TARGET_MB} MB"),
        measured: format!(
            "{peak:.1} MB ({SESSIONS} sessions, {requests} model requests, files of {:.1} MB)",
            file.len() as f64 / 1e6
        ),
        peer: "none".to_owned(),
        verdict: BenchVerdict::at_most(peak, TARGET_MB),
    }])
}

fn heavy_sessions(file: &str) -> String {
    let session = |number: usize| {
        let copy = format!("copy-{number}.txt");
        conversation(&[
            turn(&[call("Read", &[("file_path", "large.txt")])]),
            turn_after("line 1 of", &[call("Bash", &[("command", "cat large.txt")])]),
            turn_after("line 1 of", &[call("Grep", &[("pattern", "7 of a"), ("output_mode", "content")])]),
            turn_after("line 7 of", &[call("Write", &[("file_path", &copy), ("content", &file[..200_000])])]),
            turn(&[passed(number)]),
            done(),
        ])
    };
    (1..=SESSIONS).map(session).collect()
}
