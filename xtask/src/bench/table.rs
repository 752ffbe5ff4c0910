//! The results table of the benchmarks.

use std::path::Path;

use crate::result::Result;

pub type Measure = fn(&Path) -> Result<Vec<BenchRow>>;

pub struct BenchRow {
    pub what: String,
    /// Empty if the row is only for comparison.
    pub target: String,
    pub measured: String,
    /// The measurement to compare with, taken in the same run.
    pub peer: String,
    pub verdict: BenchVerdict,
}

#[derive(Clone, Copy)]
pub enum BenchVerdict {
    Met,
    Missed,
    NoTarget,
}

impl BenchVerdict {
    pub fn at_most(measured: f64, target: f64) -> Self {
        if measured <= target { Self::Met } else { Self::Missed }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "**missed**",
            Self::NoTarget => "–",
        }
    }
}

pub fn render(rows: &[BenchRow]) -> String {
    let mut text =
        "| what | target | measured | peer in the same run | verdict |\n|---|---|---|---|---|\n".to_owned();
    for row in rows {
        let BenchRow { what, target, measured, peer, verdict } = row;
        text.push_str(&format!("| {what} | {target} | {measured} | {peer} | {} |\n", verdict.word()));
    }
    text.trim_end().to_owned()
}
