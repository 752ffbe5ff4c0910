//! Measures the startup time of `autonoe --version` and `autonoe status`, compared with a bare `true`.

use std::path::Path;
use std::process::Command;

use super::project::{BenchProject, check_run, serve};
use super::sample::Sample;
use super::script;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const ROUNDS: usize = 300;
const DELIVERABLES: usize = 200;
const SESSIONS: usize = 5;
const TARGET_MS: f64 = 10.0;
/// The exit code of a run that reached its limit.
const LIMIT_REACHED: i32 = 4;

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let project = used_project(autonoe)?;
    let mut commands =
        [project.command(Path::new("true")), project.command(autonoe), project.command(autonoe)];
    commands[1].arg("--version");
    commands[2].arg("status");
    let mut samples = [Sample::default(), Sample::default(), Sample::default()];
    for round in 0..ROUNDS {
        // Rotates the order, so that each is first equally often.
        for which in (0..3).map(|step| (round + step) % 3) {
            samples[which].time(|| succeed(&mut commands[which]))?;
        }
    }
    let [bare, version, status] = samples;
    let on_a_project = format!("`autonoe status`, {DELIVERABLES} deliverables");
    Ok(vec![row("`autonoe --version`", &version, &bare), row(&on_a_project, &status, &bare)])
}

fn row(what: &str, ours: &Sample, bare: &Sample) -> BenchRow {
    let difference = ours.median() - bare.median();
    let late = ours.percentile(95.0) - bare.percentile(95.0);
    BenchRow {
        what: what.to_owned(),
        target: format!("at most {TARGET_MS} ms above `true`"),
        measured: format!(
            "{}: {difference:+.2} ms median, {late:+.2} ms p95 ({ROUNDS} times)",
            ours.summary()
        ),
        peer: format!("`true`: {}", bare.summary()),
        verdict: BenchVerdict::at_most(difference, TARGET_MS),
    }
}

fn used_project(autonoe: &Path) -> Result<BenchProject> {
    let project = BenchProject::with_deliverables(DELIVERABLES)?;
    let model = serve(&script::passing(SESSIONS))?;
    let status = project.run(autonoe, &model).args(["-n", &SESSIONS.to_string()]).status()?;
    check_run(status, LIMIT_REACHED, &model)?;
    Ok(project)
}

fn succeed(command: &mut Command) -> Result {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed ({status}).").into()) }
}
