//! Measures the size of the binary and, on request, the time of a clean build.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;
use crate::workspace::cargo;

const TARGET_MB: f64 = 35.0;
const TARGET_MINUTES: f64 = 6.0;
const JOBS: &str = "2";
/// The unit of processor times in /proc on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let megabytes = fs::metadata(autonoe)?.len() as f64 / 1e6;
    Ok(vec![BenchRow {
        what: "release binary".to_owned(),
        target: format!("under {TARGET_MB} MB"),
        measured: format!("{megabytes:.1} MB"),
        peer: "none".to_owned(),
        verdict: BenchVerdict::at_most(megabytes, TARGET_MB),
    }])
}

/// Builds in an empty target directory, with the crates already downloaded.
pub fn measure_build() -> Result<Vec<BenchRow>> {
    let target = tempfile::Builder::new().prefix("autonoe-build-").tempdir()?;
    let build = ["build", "--quiet", "--release", "--package", "autonoe", "--jobs", JOBS];
    let (start, cpu_before) = (Instant::now(), children_cpu_seconds());
    let status = cargo().args(build).env("CARGO_TARGET_DIR", target.path()).status()?;
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    let cpu_minutes = (children_cpu_seconds() - cpu_before) / 60.0;
    if !status.success() {
        return Err("The clean build failed; see above.".into());
    }
    Ok(vec![BenchRow {
        what: "clean release build".to_owned(),
        target: format!("under {TARGET_MINUTES} minutes on {JOBS} cores"),
        measured: format!(
            "{minutes:.1} minutes with {JOBS} jobs; {cpu_minutes:.1} minutes of processor time"
        ),
        peer: "none".to_owned(),
        verdict: BenchVerdict::at_most(minutes, TARGET_MINUTES),
    }])
}

/// The processor time of all children that have ended, in seconds: more meaningful than the clock on a busy machine.
fn children_cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // User and system time are the 14th and 15th field after the name, which ends at the last parenthesis.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
}
