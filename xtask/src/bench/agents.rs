//! Compares the native agent with codex, claude and gemini: the same task for each, with the scripted model.
//!
//! The task is ten shell calls, one per turn, and an answer. The agents take turns, so that a busy moment of the machine does
//! not always affect the same one. Only measured when named: it installs the other agents first.

mod claude;
mod codex;
mod comparison;
mod contestant;
mod gemini;
mod install;
mod meter;
mod native;
mod targets;
mod vendor;

use std::path::Path;

use super::table::BenchRow;
use crate::result::Result;
use comparison::ComparisonRow;
use contestant::{Contestant, ContestantRunner};
use meter::Metric;
pub use vendor::{BenchVendor, CLAUDE, CODEX, GEMINI};

/// Timed runs of each agent.
const ROUNDS: usize = 21;
/// Earlier runs of each agent in which its memory is measured.
const MEMORY_ROUNDS: usize = 3;

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    meter::adopt_orphans()?;
    let contestants: Vec<Contestant> =
        native::ALL.into_iter().chain(codex::ALL).chain(claude::ALL).chain(gemini::ALL).collect();
    let mut runners: Vec<_> = contestants.iter().map(|contestant| warm_up(contestant, autonoe)).collect();
    for round in 1..=ROUNDS {
        eprintln!("round {round} of {ROUNDS} …");
        let first = round % runners.len();
        runners.rotate_left(first);
        // Reverses the order every other round, so that no agent always follows the same one.
        match round % 2 {
            0 => runners.iter_mut().for_each(|runner| runner.run(Metric::Time)),
            _ => runners.iter_mut().rev().for_each(|runner| runner.run(Metric::Time)),
        }
        runners.rotate_right(first);
    }
    let rows: Vec<ComparisonRow> = runners.into_iter().map(ContestantRunner::into_row).collect();
    println!("{}\n", comparison::render(&rows, ROUNDS));
    Ok(targets::rows(&rows))
}

/// Installs and warms up an agent with a run that does not count, then measures its memory.
fn warm_up<'a>(contestant: &'a Contestant, autonoe: &Path) -> ContestantRunner<'a> {
    eprintln!("warming up {} …", contestant.name);
    let mut runner = ContestantRunner::new(contestant, autonoe);
    runner.run(Metric::Time);
    runner.reset();
    (0..MEMORY_ROUNDS).for_each(|_| runner.run(Metric::Memory));
    runner
}
