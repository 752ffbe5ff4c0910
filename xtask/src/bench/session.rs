//! Measures our own overhead per session: 40 small sessions, compared with the same requests sent by a plain client.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::plain_client::PlainClient;
use super::project::{BenchProject, check_run, serve};
use super::sample::Sample;
use super::script;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const TARGET_MS: f64 = 20.0;
const SESSIONS: u32 = 40;
const ROUNDS: usize = 20;

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let help = Command::new(autonoe).args(["run", "--help"]).env_clear().output()?.stdout;
    // Earlier versions knew no other place.
    if !String::from_utf8_lossy(&help).contains("--in-place") {
        return Ok(vec![measure_in(autonoe, "in place", &[])?]);
    }
    Ok(vec![measure_in(autonoe, "in a workspace", &[])?, measure_in(autonoe, "in place", &["--in-place"])?])
}

fn measure_in(autonoe: &Path, place: &str, options: &[&str]) -> Result<BenchRow> {
    let script = script::passing(SESSIONS as usize);
    let (mut ours, mut plain, mut own) = (Sample::default(), Sample::default(), Sample::default());
    let mut requests = 0;
    for _ in 0..ROUNDS {
        let project = BenchProject::with_deliverables(SESSIONS as usize)?;
        let model = serve(&script)?;
        let mut command = project.run(autonoe, &model);
        command.args(options);
        let start = Instant::now();
        let status = command.status()?;
        let run = start.elapsed() / SESSIONS;
        check_run(status, 0, &model)?;

        let bodies: Vec<String> = model.requests().iter().map(|logged| logged.request.to_string()).collect();
        let again = serve(&script)?;
        let start = Instant::now();
        let mut client = PlainClient::connect(&again.base_url())?;
        for body in &bodies {
            client.post("/v1/messages", body)?;
        }
        let raw = start.elapsed() / SESSIONS;
        if !again.problems().is_empty() {
            return Err(format!("The plain client did not follow the script: {:?}", again.problems()).into());
        }
        requests = bodies.len();
        ours.add(run);
        plain.add(raw);
        own.add(run.saturating_sub(raw));
    }
    Ok(BenchRow {
        what: format!(
            "our own time a session {place} ({SESSIONS} sessions, {requests} model requests, no pause)"
        ),
        target: format!("at most {TARGET_MS} ms"),
        measured: format!("{} of {:.2} ms a session ({ROUNDS} runs)", own.summary(), ours.median()),
        peer: format!("the same requests by a plain client: {} a session", plain.summary()),
        verdict: BenchVerdict::at_most(own.median(), TARGET_MS),
    })
}
