//! What a session costs beyond the model's own time: 40 small sessions, beside the same requests sent by a plain client.

use std::path::Path;
use std::time::Instant;

use super::place::{Place, serve, went_well};
use super::plain_client::PlainClient;
use super::sample::Sample;
use super::script;
use super::table::{Row, Verdict};
use crate::Result;

const TARGET_MS: f64 = 20.0;
const SESSIONS: u32 = 40;
const ROUNDS: usize = 20;

/// Measures whole runs, start and end of the process included, turn and turn about with the plain client.
pub fn measure(autonoe: &Path) -> Result<Vec<Row>> {
    let script = script::passing(SESSIONS as usize);
    let (mut ours, mut plain, mut own) = (Sample::default(), Sample::default(), Sample::default());
    let mut requests = 0;
    for _ in 0..ROUNDS {
        let place = Place::with_deliverables(SESSIONS as usize)?;
        let model = serve(&script)?;
        let mut command = place.run(autonoe, &model);
        let start = Instant::now();
        let status = command.status()?;
        let run = start.elapsed() / SESSIONS;
        went_well(status, 0, &model)?;

        let bodies: Vec<String> = model.requests().iter().map(|asked| asked.request.to_string()).collect();
        let again = serve(&script)?;
        let start = Instant::now();
        let mut client = PlainClient::connect(&again.base_url())?;
        for body in &bodies {
            client.post("/v1/messages", body)?;
        }
        let raw = start.elapsed() / SESSIONS;
        if !again.problems().is_empty() {
            return Err(format!("The plain client went against the script: {:?}", again.problems()).into());
        }
        requests = bodies.len();
        ours.add(run);
        plain.add(raw);
        own.add(run.saturating_sub(raw));
    }
    Ok(vec![Row {
        what: format!("our own time a session ({SESSIONS} sessions, {requests} model requests, no pause)"),
        target: format!("at most {TARGET_MS} ms"),
        measured: format!("{} of {:.2} ms a session ({ROUNDS} runs)", own.summary(), ours.median()),
        peer: format!("the same requests by a plain client: {} a session", plain.summary()),
        verdict: Verdict::at_most(own.median(), TARGET_MS),
    }])
}
