//! Measures how long a session waits for the journal, with 16 sessions streaming at once.
//!
//! Events are queued; a cost returns only when it is on disk. The peer is the minimum for the latter: one line appended to a
//! file and synced. Blocks of both alternate.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use autonoe_core::event::{AgentEvent, Usage};
use autonoe_core::fault::Fault;
use autonoe_core::journal::Journal as _;
use autonoe_core::money::Usd;
use autonoe_store::SqliteJournal;
use autonoe_store::journal::JournalOptions;
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::project::BenchProject;
use super::sample::Sample;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const TARGET_MS: f64 = 1.0;
const SESSIONS: u32 = 16;
const BLOCKS: usize = 5;
const CALLS_PER_BLOCK: usize = 200;
const CALLS_FLAT_OUT: usize = 2000;
/// 100 events a second in each session, far more than a model streams.
const PACE: Duration = Duration::from_millis(10);
const COST_EVERY: usize = 20;
const EVENT_BYTES: usize = 800;
const SYNCS_PER_BLOCK: usize = 100;

#[derive(Default)]
struct Waits {
    events: Sample,
    costs: Sample,
}

pub fn measure(_autonoe: &Path) -> Result<Vec<BenchRow>> {
    let project = BenchProject::new()?;
    let file = project.store_project()?.journal_file();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (journal, _) = runtime.block_on(SqliteJournal::begin(
        &file,
        "run",
        "spec",
        Timestamp::now(),
        JournalOptions::default(),
    ))?;
    let mut log = File::create(project.root().join("bare.log"))?;
    let (mut paced, mut bare) = (Waits::default(), Sample::default());
    for _ in 0..BLOCKS {
        let waits = runtime.block_on(stream(&journal, CALLS_PER_BLOCK, Some(PACE)))?;
        paced.events.extend(waits.events);
        paced.costs.extend(waits.costs);
        for _ in 0..SYNCS_PER_BLOCK {
            bare.time(|| log.write_all(&[b'x'; EVENT_BYTES]).and_then(|()| log.sync_data()))?;
        }
    }
    let start = Instant::now();
    let flat_out = runtime.block_on(stream(&journal, CALLS_FLAT_OUT, None))?;
    // Dropping the last handle waits until everything is on disk.
    drop(journal);
    let calls = flat_out.events.count() + flat_out.costs.count();
    let rate = calls as f64 / start.elapsed().as_secs_f64();
    Ok(rows(paced, &flat_out, &bare, rate))
}

fn rows(paced: Waits, flat_out: &Waits, bare: &Sample, rate: f64) -> Vec<BenchRow> {
    let synced = format!("{EVENT_BYTES} bytes appended and synced: {}, {}", bare.summary(), p99(bare));
    let row = |what: &str, target: &str, sample: &Sample, peer: &str, verdict| BenchRow {
        what: what.to_owned(),
        target: target.to_owned(),
        measured: format!("{} ({:.3} ms median, {} calls)", p99(sample), sample.median(), sample.count()),
        peer: peer.to_owned(),
        verdict,
    };
    let of_events =
        row("… of these, events (handed over)", "", &paced.events, "none", BenchVerdict::NoTarget);
    let of_costs =
        row("… of these, costs (on disk on return)", "", &paced.costs, &synced, BenchVerdict::NoTarget);
    let mut every = paced.events;
    every.extend(paced.costs);
    let what = format!("journal append, {SESSIONS} sessions at {} events/s each", 1000 / PACE.as_millis());
    let verdict = BenchVerdict::at_most(every.percentile(99.0), TARGET_MS);
    let target = format!("p99 at most {TARGET_MS} ms");
    let fast = format!("… the same as fast as it goes: {rate:.0} calls/s, events");
    vec![
        row(&what, &target, &every, &synced, verdict),
        of_events,
        of_costs,
        row(&fast, "", &flat_out.events, "none", BenchVerdict::NoTarget),
    ]
}

fn p99(sample: &Sample) -> String {
    format!("{:.3} ms p99", sample.percentile(99.0))
}

async fn stream(journal: &Arc<SqliteJournal>, calls: usize, pace: Option<Duration>) -> Result<Waits> {
    let mut sessions = JoinSet::new();
    for session in 1..=SESSIONS {
        let journal = Arc::clone(journal);
        sessions.spawn(async move { stream_one(&journal, session, calls, pace).await });
    }
    let mut all = Waits::default();
    while let Some(waits) = sessions.join_next().await {
        let waits = waits??;
        all.events.extend(waits.events);
        all.costs.extend(waits.costs);
    }
    Ok(all)
}

async fn stream_one(
    journal: &SqliteJournal,
    session: u32,
    calls: usize,
    pace: Option<Duration>,
) -> std::result::Result<Waits, Fault> {
    let event =
        AgentEvent::Text { text: "x".repeat(EVENT_BYTES - r#"{"type":"text","text":""}"#.len()) }.into();
    let usage =
        Usage { input_tokens: 12_000, output_tokens: 400, cost_usd: Some(Usd(0.042)), ..Usage::default() };
    let mut waits = Waits::default();
    // Staggers the sessions.
    tokio::time::sleep(pace.unwrap_or_default() * session / SESSIONS).await;
    let mut ticks = pace.map(tokio::time::interval);
    for number in 1..=calls {
        if let Some(ticks) = &mut ticks {
            ticks.tick().await;
        }
        let start = Instant::now();
        if number % COST_EVERY == 0 {
            journal.cost(session, &usage).await?;
            waits.costs.add(start.elapsed());
        } else {
            journal.event(session, &event).await?;
            waits.events.add(start.elapsed());
        }
    }
    Ok(waits)
}
