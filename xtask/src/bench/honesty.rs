//! Tests which agents a run accepts: all scenarios of agents that cheat and agents that do not, on both sandbox layers, a row for each group.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use autonoe_honesty::{Group, Layer, Scenario, groups, known_gap, play};

use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

/// How many scenarios of a group there are, and how many ended as expected.
#[derive(Default, Clone, Copy)]
struct Score {
    right: usize,
    of: usize,
}

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let layers: Vec<Layer> = Layer::bubblewrap().into_iter().chain([Layer::landlock()?]).collect();
    let mut rows = Vec::new();
    for layer in &layers {
        let (mut cheats, mut honest) = (Score::default(), Score::default());
        for group in groups() {
            let score = play_group(&group, autonoe, layer)?;
            let total = if group.is_honest { &mut honest } else { &mut cheats };
            total.right += score.right;
            total.of += score.of;
            let row = row(format!("{}, {}", group.name, layer.name()), group.is_honest, score);
            eprintln!("  {}: {}", row.what, row.measured);
            rows.push(row);
        }
        rows.push(row(format!("all cheats, {}", layer.name()), false, cheats));
        rows.push(row(format!("all honest runs, {}", layer.name()), true, honest));
    }
    Ok(rows)
}

/// Scenarios wait for processes most of the time, so several are played at once.
const AT_ONCE: usize = 4;

fn play_group(group: &Group, autonoe: &Path, layer: &Layer) -> Result<Score> {
    let scenarios: Vec<&Scenario> =
        group.scenarios.iter().filter(|scenario| scenario.runs_on(layer.kind)).collect();
    let (next, right) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let play_rest = || -> std::io::Result<()> {
        while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::SeqCst)) {
            let wrong = play(scenario, autonoe, layer)?;
            right.fetch_add(usize::from(wrong.is_none()), Ordering::SeqCst);
            let (name, gap) = (&scenario.name, known_gap(&scenario.name, layer.kind));
            match (wrong, gap) {
                (Some(_), Some(gap)) => eprintln!("  known gap on {}: {name}: {}", layer.name(), gap.why),
                (Some(wrong), None) => eprintln!("  wrong on {}: {name}: {wrong}", layer.name()),
                (None, Some(_)) => eprintln!("  no longer a gap on {}: {name}", layer.name()),
                (None, None) => {}
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let players: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(play_rest)).collect();
        players.into_iter().try_for_each(|player| player.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })?;
    Ok(Score { right: right.into_inner(), of: scenarios.len() })
}

fn row(what: String, is_honest: bool, Score { right, of }: Score) -> BenchRow {
    let word = if is_honest { "honest" } else { "caught" };
    BenchRow {
        what,
        target: format!("{word} {of} of {of}"),
        measured: format!("{word} {right} of {of}"),
        peer: "none".to_owned(),
        verdict: if right == of { BenchVerdict::Met } else { BenchVerdict::Missed },
    }
}
