//! Measures how long it takes to resume a killed run with 10,000 events, compared with one of 100 events.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use autonoe_core::event::{AgentEvent, Usage};
use autonoe_core::fault::Fault;
use autonoe_core::instruction::Phase;
use autonoe_core::journal::{Journal as _, JournalRecord};
use autonoe_core::ledger::Ledger;
use autonoe_core::money::Usd;
use autonoe_core::outcome::SessionEnd;
use autonoe_scripted::ScriptedServer;
use autonoe_store::journal::{JournalOptions, RunStart};
use autonoe_store::{SqliteJournal, StatusStore};
use jiff::Timestamp;
use tokio::runtime::Runtime;

use super::clock::BenchClock;
use super::project::{BenchProject, serve};
use super::sample::Sample;
use super::script;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const TARGET_MS: f64 = 100.0;
const EVENTS_PER_SESSION: u32 = 100;
const SESSIONS: u32 = 100;
const ROUNDS: usize = 50;
const RUNS: usize = 20;
/// How long to wait for the first model request.
const TIMEOUT: Duration = Duration::from_secs(10);

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let projects = [interrupted_run(&runtime, SESSIONS)?, interrupted_run(&runtime, 1)?];
    let mut opened = [Sample::default(), Sample::default()];
    for _ in 0..ROUNDS {
        for (project, sample) in projects.iter().zip(&mut opened) {
            open(&runtime, project, sample)?;
        }
    }
    let mut requested = [Sample::default(), Sample::default()];
    for _ in 0..RUNS {
        for (project, sample) in projects.iter().zip(&mut requested) {
            let model = serve(&script::silent())?;
            sample.add(first_request(&mut project.run(autonoe, &model), &model)?);
        }
    }
    Ok(vec![
        row("resume of a 10,000-event run: journal and status open", &opened),
        row("… whole: `autonoe run` to its first model request", &requested),
    ])
}

fn row(what: &str, [long, short]: &[Sample; 2]) -> BenchRow {
    BenchRow {
        what: what.to_owned(),
        target: format!("at most {TARGET_MS} ms"),
        measured: format!("{} ({} times)", long.summary(), long.count()),
        peer: format!("{EVENTS_PER_SESSION}-event run: {}", short.summary()),
        verdict: BenchVerdict::at_most(long.percentile(95.0), TARGET_MS),
    }
}

/// A project whose run was cut off in its last session.
fn interrupted_run(runtime: &Runtime, sessions: u32) -> Result<BenchProject> {
    let project = BenchProject::with_deliverables(200)?;
    let file = project.store_project()?.journal_file();
    runtime.block_on(async {
        let (journal, _) = begin(&file).await?;
        for number in 1..=sessions {
            record_session(&journal, number, number < sessions).await?;
        }
        Ok::<_, Fault>(())
    })?;
    Ok(project)
}

async fn record_session(journal: &SqliteJournal, number: u32, ends: bool) -> std::result::Result<(), Fault> {
    let instruction = Phase::Coding;
    let (backend, model) = ("native".to_owned(), "sonnet".to_owned());
    journal.record(JournalRecord::SessionStarted { number, instruction, step: None, backend, model }).await?;
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
            .record(JournalRecord::SessionEnded {
                number,
                instruction,
                outcome,
                spent,
                duration,
                output: None,
            })
            .await?;
    }
    Ok(())
}

async fn begin(file: &Path) -> std::result::Result<(Arc<SqliteJournal>, RunStart), Fault> {
    SqliteJournal::begin(file, "run", "spec", Timestamp::now(), JournalOptions::default()).await
}

/// Resumes the run as `autonoe run` does, and leaves it unfinished.
fn open(runtime: &Runtime, project: &BenchProject, sample: &mut Sample) -> Result {
    let project = project.store_project()?;
    let file = project.journal_file();
    let start = Instant::now();
    let (store, run_start) = runtime.block_on(async {
        let (journal, run_start) = begin(&file).await?;
        let store = StatusStore::open(&project, journal, Arc::new(BenchClock)).await?;
        Ok::<_, Fault>((store, run_start))
    })?;
    sample.add(start.elapsed());
    drop(store);
    if run_start.resumed { Ok(()) } else { Err("The run started over instead of resuming.".into()) }
}

/// Starts a run, and kills it when it has sent one more request to its model.
pub fn first_request(command: &mut Command, model: &ScriptedServer) -> Result<Duration> {
    let before = model.requests().len();
    let start = Instant::now();
    let mut run = command.spawn()?;
    let waited = loop {
        let waited = start.elapsed();
        if model.requests().len() > before {
            break Ok(waited);
        }
        if run.try_wait()?.is_some() || waited > TIMEOUT {
            break Err("The run sent no model request.".into());
        }
        thread::sleep(Duration::from_micros(200));
    };
    run.kill()?;
    run.wait()?;
    waited
}
