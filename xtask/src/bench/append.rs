//! How long the journal keeps a session waiting, with 16 sessions streaming at once.
//!
//! Events are handed over; a cost waits until it is on disk. Beside it: the bare minimum of the latter, one line appended
//! to a file and synced. Blocks of both alternate.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use autonoe_core::event::{AgentEvent, Usage};
use autonoe_core::fault::Fault;
use autonoe_core::journal::Journal as _;
use autonoe_core::money::Usd;
use autonoe_store::Journal;
use autonoe_store::journal::JournalOptions;
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::place::Place;
use super::sample::Sample;
use super::table::{Row, Verdict};
use crate::Result;

const TARGET_MS: f64 = 1.0;
const SESSIONS: u32 = 16;
const BLOCKS: usize = 5;
const CALLS_PER_BLOCK: usize = 200;
const CALLS_FLAT_OUT: usize = 2000;
/// Far more than a model streams: a hundred events a second in each session.
const PACE: Duration = Duration::from_millis(10);
const COST_EVERY: usize = 20;
const EVENT_BYTES: usize = 800;
const SYNCS_PER_BLOCK: usize = 100;

/// Waits of the two kinds of call.
#[derive(Default)]
struct Waits {
    events: Sample,
    costs: Sample,
}

/// Measures it at a steady pace, then as fast as it goes.
pub fn measure(_autonoe: &Path) -> Result<Vec<Row>> {
    let place = Place::new()?;
    let file = place.project()?.journal_file();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (journal, _) = runtime.block_on(Journal::begin(
        &file,
        "run",
        "spec",
        Timestamp::now(),
        JournalOptions::default(),
    ))?;
    let mut log = File::create(place.root().join("bare.log"))?;
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
    // All of it is on disk once the last handle is gone.
    drop(journal);
    let calls = flat_out.events.count() + flat_out.costs.count();
    let rate = calls as f64 / start.elapsed().as_secs_f64();
    Ok(rows(paced, &flat_out, &bare, rate))
}

fn rows(paced: Waits, flat_out: &Waits, bare: &Sample, rate: f64) -> Vec<Row> {
    let synced = format!("{EVENT_BYTES} bytes appended and synced: {}, {}", bare.summary(), p99(bare));
    let row = |what: &str, target: &str, sample: &Sample, peer: &str, verdict| Row {
        what: what.to_owned(),
        target: target.to_owned(),
        measured: format!("{} ({:.3} ms median, {} calls)", p99(sample), sample.median(), sample.count()),
        peer: peer.to_owned(),
        verdict,
    };
    let of_events = row("… of these, events (handed over)", "", &paced.events, "none", Verdict::NoTarget);
    let of_costs = row("… of these, costs (on disk on return)", "", &paced.costs, &synced, Verdict::NoTarget);
    let mut every = paced.events;
    every.extend(paced.costs);
    let what = format!("journal append, {SESSIONS} sessions at {} events/s each", 1000 / PACE.as_millis());
    let verdict = Verdict::at_most(every.percentile(99.0), TARGET_MS);
    let target = format!("p99 at most {TARGET_MS} ms");
    let fast = format!("… the same as fast as it goes: {rate:.0} calls/s, events");
    vec![
        row(&what, &target, &every, &synced, verdict),
        of_events,
        of_costs,
        row(&fast, "", &flat_out.events, "none", Verdict::NoTarget),
    ]
}

fn p99(sample: &Sample) -> String {
    format!("{:.3} ms p99", sample.percentile(99.0))
}

/// Lets every session make so many calls and returns how long each call took.
async fn stream(journal: &Arc<Journal>, calls: usize, pace: Option<Duration>) -> Result<Waits> {
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
    journal: &Journal,
    session: u32,
    calls: usize,
    pace: Option<Duration>,
) -> std::result::Result<Waits, Fault> {
    let event =
        AgentEvent::Text { text: "x".repeat(EVENT_BYTES - r#"{"type":"text","text":""}"#.len()) }.into();
    let usage =
        Usage { input_tokens: 12_000, output_tokens: 400, cost_usd: Some(Usd(0.042)), ..Usage::default() };
    let mut waits = Waits::default();
    // Sessions do not stream in step.
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
