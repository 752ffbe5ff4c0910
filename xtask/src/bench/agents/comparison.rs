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
        match reading {
            Reading::Time { wall, cpu, first_request } => {
                self.wall.add(wall);
                self.cpu.add(cpu);
                self.first_request.add(first_request);
            }
            Reading::Memory { peak_mb, own_mb } => {
                self.peak_mb = self.peak_mb.max(peak_mb);
                self.own_mb = self.own_mb.max(own_mb);
            }
        }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Reading, Readings};

    #[test]
    fn a_run_is_timed_or_weighed() {
        let mut readings = Readings::default();
        let [wall, cpu, first_request] = [3, 2, 1].map(Duration::from_secs);
        readings.add(Reading::Memory { peak_mb: 3.0, own_mb: 1.0 });
        readings.add(Reading::Time { wall, cpu, first_request });
        readings.add(Reading::Memory { peak_mb: 2.0, own_mb: 2.0 });
        assert_eq!([readings.peak_mb, readings.own_mb], [3.0, 2.0]);
        let timed =
            [&readings.wall, &readings.cpu, &readings.first_request].map(|sample| sample.percentile(0.0));
        assert_eq!(timed, [3_000.0, 2_000.0, 1_000.0]);
    }
}
