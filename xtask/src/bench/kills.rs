//! Random kills: runs that are stopped at random moments, by every signal, on every sandbox layer, until they come to their end.
//!
//! A journey is one project on its way to that end. After each kill nothing may be left running; at the end the project and the
//! state must look as they do after a run that nobody stopped. Only measured when named: it takes long.

mod job;
mod journey;
mod layer;
mod residue;
mod signals;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;
use job::{Job, jobs};
use journey::{Account, travel};
use layer::{Layer, layers};

/// Kills in all, unless `AUTONOE_BENCH_KILLS` says otherwise.
const KILLS: usize = 1000;

/// Journeys at the same time.
const AT_ONCE: usize = 2;

/// Kills until there were enough, and says what was found after them.
pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    signals::deliver_to_children()?;
    let wanted =
        std::env::var("AUTONOE_BENCH_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(KILLS);
    let (jobs, layers) = (jobs()?, layers()?);
    let cases: Vec<(&Job, &Layer)> =
        jobs.iter().flat_map(|job| layers.iter().map(move |layer| (job, layer))).collect();
    let shares: usize = cases.iter().map(|(job, _)| job.share).sum();
    let accounts: Mutex<BTreeMap<String, Account>> = Mutex::default();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((job, layer)) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let kills = (wanted * job.share).div_ceil(shares);
                    let name = format!("{} on {}", job.name, layer.name);
                    let account = travel_until(autonoe, job, layer, kills);
                    eprintln!("{name}: {}", account.summary());
                    account.wrong.iter().for_each(|wrong| eprintln!("  {wrong}"));
                    let mut accounts = accounts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    accounts.insert(name, account);
                }
            });
        }
    });
    let accounts = accounts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(rows(&accounts))
}

/// Journeys of one kind, until there were that many kills.
fn travel_until(autonoe: &Path, job: &Job, layer: &Layer, kills: usize) -> Account {
    let mut account = Account::default();
    while account.kills < kills && account.journeys < kills {
        match travel(autonoe, job, layer, kills - account.kills) {
            Ok(one) => account.add(one),
            Err(error) => {
                account.journeys += 1;
                account.wrong.push(format!("the journey could not be made: {error}"));
            }
        }
    }
    account
}

fn rows(accounts: &BTreeMap<String, Account>) -> Vec<BenchRow> {
    let mut rows: Vec<BenchRow> = accounts.iter().map(|(name, account)| row(name, account)).collect();
    let mut all = Account::default();
    accounts.values().cloned().for_each(|account| all.add(account));
    rows.push(row("all of them", &all));
    rows
}

fn row(name: &str, account: &Account) -> BenchRow {
    BenchRow {
        what: format!("kills: {name}"),
        target: "nothing lost, doubled or left".to_owned(),
        measured: account.summary(),
        peer: "the same run, not killed".to_owned(),
        verdict: if account.wrong.is_empty() { BenchVerdict::Met } else { BenchVerdict::Missed },
    }
}
