//! What each agent took, side by side.

use super::meter::Reading;
use crate::bench::sample::Sample;

/// One agent in the table.
pub struct Line {
    /// Its name and version.
    pub name: String,
    /// Whether it is from this repository.
    pub is_ours: bool,
    /// The one beside whom it is put, if it is another's and driven by ours.
    pub beside: Option<&'static str>,
    /// What it took, or why that is not known.
    pub readings: Result<Readings, String>,
}

/// What an agent took over its runs.
#[derive(Default)]
pub struct Readings {
    /// From start to end.
    pub wall: Sample,
    /// Processor time.
    pub cpu: Sample,
    /// Until the first request.
    pub first_request: Sample,
    /// The largest resident memory of any of its processes in any run, in megabytes.
    pub peak_mb: f64,
    /// The most memory that our own processes had together in any run, in megabytes.
    pub own_mb: f64,
    /// How many events the last run had, if it was one of ours.
    pub events: usize,
}

impl Readings {
    /// Adds a run.
    pub fn add(&mut self, reading: Reading) {
        self.wall.add(reading.wall);
        self.cpu.add(reading.cpu);
        self.first_request.add(reading.first_request);
        self.peak_mb = self.peak_mb.max(reading.peak_mb);
        self.own_mb = self.own_mb.max(reading.own_mb);
    }
}

/// The lines as Markdown.
pub fn render(lines: &[Line], rounds: usize) -> String {
    let mut text = format!(
        "| agent, {rounds} runs each | wall time | processor time | largest process | first request |\n|---|---|---|---|---|\n"
    );
    for Line { name, readings, .. } in lines {
        match readings {
            Ok(Readings { wall, cpu, first_request, peak_mb, .. }) => {
                let [wall, cpu, first_request] = [wall, cpu, first_request].map(spread);
                text.push_str(&format!("| {name} | {wall} | {cpu} | {peak_mb:.0} MB | {first_request} |\n"));
            }
            Err(why) => {
                let why = why.replace('|', "/").replace('\n', " ");
                text.push_str(&format!("| {name} | not measured: {why} | | | |\n"));
            }
        }
    }
    text.trim_end().to_owned()
}

/// The median, and the least and the most.
fn spread(sample: &Sample) -> String {
    let [least, most] = [0.0, 100.0].map(|percent| sample.percentile(percent));
    format!("{:.0} ms ({least:.0} to {most:.0})", sample.median())
}
