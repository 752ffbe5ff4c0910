//! The table that a measurement's rows end up in.

use std::path::Path;

use crate::Result;

/// Takes a measurement of the given `autonoe`.
pub type Measure = fn(&Path) -> Result<Vec<Row>>;

/// One thing that was measured.
pub struct Row {
    /// What it is.
    pub what: String,
    /// What it should be, or that it is only for comparison.
    pub target: String,
    /// What it is on this machine.
    pub measured: String,
    /// What was measured beside it, in the same run.
    pub peer: String,
    /// Whether the target is met.
    pub verdict: Verdict,
}

/// How a measurement compares with its target.
#[derive(Clone, Copy)]
pub enum Verdict {
    /// It is within it.
    Met,
    /// It is not.
    Missed,
    /// There is none.
    NoTarget,
}

impl Verdict {
    /// The verdict on a number that must not be above its target.
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

/// The rows as Markdown.
pub fn render(rows: &[Row]) -> String {
    let mut text =
        "| what | target | measured | peer in the same run | verdict |\n|---|---|---|---|---|\n".to_owned();
    for row in rows {
        let Row { what, target, measured, peer, verdict } = row;
        text.push_str(&format!("| {what} | {target} | {measured} | {peer} | {} |\n", verdict.word()));
    }
    text.trim_end().to_owned()
}
