//! Tests which agents a run accepts: all scenarios of agents that cheat and agents that do not, on both sandbox layers, a row for each group.

use std::path::Path;

use autonoe_honesty::{Group, Layer, groups, known_gap, play};

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
            rows.push(row(format!("{}, {}", group.name, layer.name()), group.is_honest, score));
        }
        rows.push(row(format!("all cheats, {}", layer.name()), false, cheats));
        rows.push(row(format!("all honest runs, {}", layer.name()), true, honest));
    }
    Ok(rows)
}

fn play_group(group: &Group, autonoe: &Path, layer: &Layer) -> Result<Score> {
    let mut score = Score::default();
    for scenario in group.scenarios.iter().filter(|scenario| scenario.runs_on(layer.kind)) {
        let wrong = play(scenario, autonoe, layer)?;
        score.of += 1;
        score.right += usize::from(wrong.is_none());
        let (name, gap) = (&scenario.name, known_gap(&scenario.name, layer.kind));
        match (wrong, gap) {
            (Some(_), Some(gap)) => eprintln!("  known gap on {}: {name}: {}", layer.name(), gap.why),
            (Some(wrong), None) => eprintln!("  wrong on {}: {name}: {wrong}", layer.name()),
            (None, Some(_)) => eprintln!("  no longer a gap on {}: {name}", layer.name()),
            (None, None) => {}
        }
    }
    Ok(score)
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
