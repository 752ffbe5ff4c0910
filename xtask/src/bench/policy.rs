//! Measures how long the command policy takes to decide.

use std::path::Path;
use std::time::Instant;

use autonoe_policy::{CommandPolicy, Mode, PolicyOptions};

use super::sample::Sample;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const ROUNDS: usize = 2000;
/// Timed together, since the clock is too coarse for one.
const DECISIONS_PER_ROUND: u32 = 10;
const TARGET_MS: f64 = 0.020;
/// The allowed factor for ten times the bytes: growth must stay roughly linear.
const TARGET_GROWTH: f64 = 20.0;

/// Commands of five parts: without and with paths to look up.
const COMMANDS: [(&str, &str); 2] = [
    (
        "words only",
        "npm ci && npm run build && npm test -- --coverage && git add -A && git commit -m 'build it'",
    ),
    (
        "with paths",
        "mkdir -p out && cp src/a.txt out/b.txt && cat out/b.txt > out/c.txt && wc -l out/c.txt && ls out",
    ),
];

pub fn measure(_autonoe: &Path) -> Result<Vec<BenchRow>> {
    let directory = tempfile::tempdir()?;
    let root = directory.path().canonicalize()?;
    for directory in ["src", "out"] {
        std::fs::create_dir(root.join(directory))?;
    }
    std::fs::write(root.join("src/a.txt"), "a\n")?;
    let policy = CommandPolicy::new(PolicyOptions::new(Mode::Run, &root));
    let mut rows = Vec::new();
    for (kind, command) in COMMANDS {
        let verdict = policy.check(command);
        if !verdict.is_allowed() {
            return Err(format!("`{command}` is denied: {}", verdict.reason).into());
        }
        let sample = time_decisions(&policy, command, ROUNDS);
        rows.push(BenchRow {
            what: format!("judging a command of five parts ({kind})"),
            target: format!("at most {:.0} µs", TARGET_MS * 1000.0),
            measured: format!(
                "{:.1} µs median, {:.1} µs p95",
                sample.median() * 1e3,
                sample.percentile(95.0) * 1e3
            ),
            peer: "none".to_owned(),
            verdict: BenchVerdict::at_most(sample.median(), TARGET_MS),
        });
    }
    let hostile = |bytes: usize| "$(".repeat(bytes / 4) + &"a;".repeat(bytes / 4);
    let (small, large) =
        (time_decisions(&policy, &hostile(10_000), 50), time_decisions(&policy, &hostile(100_000), 50));
    let growth = large.median() / small.median();
    rows.push(BenchRow {
        what: "judging 100 kB of nested substitutions".to_owned(),
        target: format!("at most {TARGET_GROWTH:.0} times as long as 10 kB"),
        measured: format!("{:.2} ms median: {growth:.1} times", large.median()),
        peer: format!("10 kB: {:.2} ms median", small.median()),
        verdict: BenchVerdict::at_most(growth, TARGET_GROWTH),
    });
    Ok(rows)
}

/// The time of one decision in each round.
fn time_decisions(policy: &CommandPolicy, command: &str, rounds: usize) -> Sample {
    let mut sample = Sample::default();
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..DECISIONS_PER_ROUND {
            std::hint::black_box(policy.check(std::hint::black_box(command)));
        }
        sample.add(start.elapsed() / DECISIONS_PER_ROUND);
    }
    sample
}
