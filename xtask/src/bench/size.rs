//! How large the binary is and, when asked for, how long a clean build takes.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::table::{Row, Verdict};
use crate::Result;
use crate::workspace::cargo;

const TARGET_MB: f64 = 35.0;
const TARGET_MINUTES: f64 = 7.0;
const JOBS: &str = "2";
/// The unit of processor times in /proc, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Looks at the binary.
pub fn measure(autonoe: &Path) -> Result<Vec<Row>> {
    let megabytes = fs::metadata(autonoe)?.len() as f64 / 1e6;
    Ok(vec![Row {
        what: "release binary".to_owned(),
        target: format!("under {TARGET_MB} MB"),
        measured: format!("{megabytes:.1} MB"),
        peer: "none".to_owned(),
        verdict: Verdict::at_most(megabytes, TARGET_MB),
    }])
}

/// Builds everything anew in a directory of its own, the crates already downloaded.
pub fn measure_build() -> Result<Vec<Row>> {
    let target = tempfile::Builder::new().prefix("autonoe-build-").tempdir()?;
    let build = ["build", "--quiet", "--release", "--package", "autonoe", "--jobs", JOBS];
    let (start, worked) = (Instant::now(), children_worked());
    let status = cargo().args(build).env("CARGO_TARGET_DIR", target.path()).status()?;
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    let worked = (children_worked() - worked) / 60.0;
    if !status.success() {
        return Err("The clean build failed; see above.".into());
    }
    Ok(vec![Row {
        what: "clean release build".to_owned(),
        target: format!("under {TARGET_MINUTES} minutes on {JOBS} cores"),
        measured: format!("{minutes:.1} minutes with {JOBS} jobs; {worked:.1} minutes of processor time"),
        peer: "none".to_owned(),
        verdict: Verdict::at_most(minutes, TARGET_MINUTES),
    }])
}

/// The processor time of all children that have ended, in seconds: on a busy machine it says more than the clock.
fn children_worked() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which ends with the last parenthesis, user and system time are the 14th and 15th field.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
}
