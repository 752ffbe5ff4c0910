//! The native agent beside codex, claude and gemini: the same task for each, every one against the scripted model.
//!
//! The task is ten shell calls, one a turn, and an answer. The agents take turns, so that a busy moment of the machine is
//! not always the same one's. Only measured when named: it installs the others first.

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

use super::table::Row;
use crate::Result;
use comparison::Line;
use contestant::{Contestant, Runner};
use meter::Look;
pub use vendor::{CLAUDE, CODEX, GEMINI, Vendor};

/// Runs of each that are timed.
const ROUNDS: usize = 21;
/// Runs of each before those, in which its memory is looked at.
const WEIGHINGS: usize = 3;

/// Measures all of them, prints how they compare and returns what that says about our targets.
pub fn measure(autonoe: &Path) -> Result<Vec<Row>> {
    meter::adopt_orphans()?;
    let contestants: Vec<Contestant> =
        native::ALL.into_iter().chain(codex::ALL).chain(claude::ALL).chain(gemini::ALL).collect();
    let mut runners: Vec<_> = contestants.iter().map(|contestant| warm(contestant, autonoe)).collect();
    for round in 1..=ROUNDS {
        eprintln!("round {round} of {ROUNDS} …");
        let first = round % runners.len();
        runners.rotate_left(first);
        // There and back, so that nobody always comes after the same one.
        match round % 2 {
            0 => runners.iter_mut().for_each(|runner| runner.run(Look::Time)),
            _ => runners.iter_mut().rev().for_each(|runner| runner.run(Look::Time)),
        }
        runners.rotate_right(first);
    }
    let lines: Vec<Line> = runners.into_iter().map(Runner::into_line).collect();
    println!("{}\n", comparison::render(&lines, ROUNDS));
    Ok(targets::rows(&lines))
}

/// Gets it ready with one run that does not count, and weighs it.
fn warm<'a>(contestant: &'a Contestant, autonoe: &Path) -> Runner<'a> {
    eprintln!("warming up {} …", contestant.name);
    let mut runner = Runner::new(contestant, autonoe);
    runner.run(Look::Time);
    runner.forget();
    (0..WEIGHINGS).for_each(|_| runner.run(Look::Memory));
    runner
}
