//! How long it takes to resume a run whose process died, after 10,000 events; beside it, the same after a hundred.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use autonoe_core::event::{AgentEvent, Usage};
use autonoe_core::fault::Fault;
use autonoe_core::instruction::Phase;
use autonoe_core::journal::{Journal as _, Record};
use autonoe_core::ledger::Ledger;
use autonoe_core::money::Usd;
use autonoe_core::outcome::SessionEnd;
use autonoe_store::journal::{Begun, JournalOptions};
use autonoe_store::{Journal, StatusStore};
use jiff::Timestamp;
use tokio::runtime::Runtime;

use super::place::{Place, serve};
use super::sample::Sample;
use super::script;
use super::system_clock::SystemClock;
use super::table::{Row, Verdict};
use crate::Result;

const TARGET_MS: f64 = 100.0;
const EVENTS_PER_SESSION: u32 = 100;
const SESSIONS: u32 = 100;
const ROUNDS: usize = 50;
const RUNS: usize = 20;
/// A run that has not asked the model by then never will.
const PATIENCE: Duration = Duration::from_secs(10);

/// Measures the store alone, then the whole way to the first model request.
pub fn measure(autonoe: &Path) -> Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let places = [interrupted_run(&runtime, SESSIONS)?, interrupted_run(&runtime, 1)?];
    let mut opened = [Sample::default(), Sample::default()];
    for _ in 0..ROUNDS {
        for (place, sample) in places.iter().zip(&mut opened) {
            open(&runtime, place, sample)?;
        }
    }
    let mut asked = [Sample::default(), Sample::default()];
    for _ in 0..RUNS {
        for (place, sample) in places.iter().zip(&mut asked) {
            sample.add(first_request(autonoe, place)?);
        }
    }
    Ok(vec![
        row("resume of a 10,000-event run: journal and status open", &opened),
        row("… whole: `autonoe run` to its first model request", &asked),
    ])
}

fn row(what: &str, [long, short]: &[Sample; 2]) -> Row {
    Row {
        what: what.to_owned(),
        target: format!("at most {TARGET_MS} ms"),
        measured: format!("{} ({} times)", long.summary(), long.count()),
        peer: format!("{EVENTS_PER_SESSION}-event run: {}", short.summary()),
        verdict: Verdict::at_most(long.percentile(95.0), TARGET_MS),
    }
}

/// A project whose run stopped in the middle of its last session.
fn interrupted_run(runtime: &Runtime, sessions: u32) -> Result<Place> {
    let place = Place::with_deliverables(200)?;
    let file = place.project()?.journal_file();
    runtime.block_on(async {
        let (journal, _) = begin(&file).await?;
        for number in 1..=sessions {
            hold_session(&journal, number, number < sessions).await?;
        }
        Ok::<_, Fault>(())
    })?;
    Ok(place)
}

async fn hold_session(journal: &Journal, number: u32, ends: bool) -> std::result::Result<(), Fault> {
    let instruction = Phase::Coding;
    let (backend, model) = ("native".to_owned(), "sonnet".to_owned());
    journal.record(Record::SessionStarted { number, instruction, step: None, backend, model }).await?;
    for event in 0..EVENTS_PER_SESSION {
        journal
            .event(number, &AgentEvent::Text { text: format!("{event} {}", "x".repeat(760)) }.into())
            .await?;
    }
    let usage =
        Usage { input_tokens: 12_000, output_tokens: 400, cost_usd: Some(Usd(0.042)), ..Usage::default() };
    journal.cost(number, &usage).await?;
    if ends {
        let (outcome, duration, spent) = (SessionEnd::Completed, Duration::from_secs(60), Ledger::default());
        journal
            .record(Record::SessionEnded { number, instruction, outcome, spent, duration, said: None })
            .await?;
    }
    Ok(())
}

async fn begin(file: &Path) -> std::result::Result<(Arc<Journal>, Begun), Fault> {
    Journal::begin(file, "run", "spec", Timestamp::now(), JournalOptions::default()).await
}

/// Takes up the run as `autonoe run` does, and leaves it unfinished again.
fn open(runtime: &Runtime, place: &Place, sample: &mut Sample) -> Result {
    let project = place.project()?;
    let file = project.journal_file();
    let start = Instant::now();
    let (store, begun) = runtime.block_on(async {
        let (journal, begun) = begin(&file).await?;
        let store = StatusStore::open(&project, journal, Arc::new(SystemClock)).await?;
        Ok::<_, Fault>((store, begun))
    })?;
    sample.add(start.elapsed());
    drop(store);
    if begun.resumed { Ok(()) } else { Err("The run was begun anew instead of resumed.".into()) }
}

/// Starts `autonoe run` and ends it once the model was asked.
fn first_request(autonoe: &Path, place: &Place) -> Result<Duration> {
    let model = serve(&script::silent())?;
    let mut command = place.run(autonoe, &model);
    let start = Instant::now();
    let mut run = command.spawn()?;
    let waited = loop {
        let waited = start.elapsed();
        if !model.requests().is_empty() {
            break Ok(waited);
        }
        if run.try_wait()?.is_some() || waited > PATIENCE {
            break Err("`autonoe run` did not ask the model.".into());
        }
        thread::sleep(Duration::from_micros(200));
    };
    run.kill()?;
    run.wait()?;
    waited
}
