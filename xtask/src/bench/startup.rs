//! How long a person waits for a small answer: `autonoe --version` and `autonoe status`, beside a bare `true`.

use std::path::Path;
use std::process::Command;

use super::place::{Place, serve, went_well};
use super::sample::Sample;
use super::script;
use super::table::{Row, Verdict};
use crate::Result;

const ROUNDS: usize = 300;
const DELIVERABLES: usize = 200;
const SESSIONS: usize = 5;
const TARGET_MS: f64 = 10.0;
/// The exit code of a run that reached its limit.
const LIMIT_REACHED: i32 = 4;

/// Measures it on a project that has run before.
pub fn measure(autonoe: &Path) -> Result<Vec<Row>> {
    let place = project(autonoe)?;
    let mut commands = [place.command(Path::new("true")), place.command(autonoe), place.command(autonoe)];
    commands[1].arg("--version");
    commands[2].arg("status");
    let mut samples = [Sample::default(), Sample::default(), Sample::default()];
    for round in 0..ROUNDS {
        // Each takes its turn to be first.
        for which in (0..3).map(|step| (round + step) % 3) {
            samples[which].time(|| succeed(&mut commands[which]))?;
        }
    }
    let [bare, version, status] = samples;
    let on_a_project = format!("`autonoe status`, {DELIVERABLES} deliverables");
    Ok(vec![row("`autonoe --version`", &version, &bare), row(&on_a_project, &status, &bare)])
}

fn row(what: &str, ours: &Sample, bare: &Sample) -> Row {
    let difference = ours.median() - bare.median();
    let late = ours.percentile(95.0) - bare.percentile(95.0);
    Row {
        what: what.to_owned(),
        target: format!("at most {TARGET_MS} ms above `true`"),
        measured: format!(
            "{}: {difference:+.2} ms median, {late:+.2} ms p95 ({ROUNDS} times)",
            ours.summary()
        ),
        peer: format!("`true`: {}", bare.summary()),
        verdict: Verdict::at_most(difference, TARGET_MS),
    }
}

/// A project with a journal of a few sessions.
fn project(autonoe: &Path) -> Result<Place> {
    let place = Place::with_deliverables(DELIVERABLES)?;
    let model = serve(&script::passing(SESSIONS))?;
    let status = place.run(autonoe, &model).args(["-n", &SESSIONS.to_string()]).status()?;
    went_well(status, LIMIT_REACHED, &model)?;
    Ok(place)
}

fn succeed(command: &mut Command) -> Result {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed ({status}).").into()) }
}
