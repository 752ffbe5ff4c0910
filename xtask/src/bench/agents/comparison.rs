//! The table that compares the agents.

use super::meter::RunReading;
use crate::bench::sample::Sample;
use crate::result::Result;

pub struct ComparisonRow {
    /// With the version.
    pub name: String,
    pub is_ours: bool,
    /// For a vendor's agent driven by `autonoe`: the name of the same agent alone.
    pub compared_with: Option<&'static str>,
    /// The error is the reason why it was not measured.
    pub readings: Result<AgentReadings>,
}

#[derive(Default)]
pub struct AgentReadings {
    pub wall: Sample,
    pub cpu: Sample,
    pub first_request: Sample,
    /// The peak resident memory of any of its processes in any run.
    pub peak_mb: f64,
    /// The peak total memory of our own processes in any run.
    pub own_mb: f64,
    /// The number of events of the last run; 0 if it was not a run of `autonoe`.
    pub events: usize,
}

impl AgentReadings {
    pub fn add(&mut self, reading: RunReading) {
        match reading {
            RunReading::Time { wall, cpu, first_request } => {
                self.wall.add(wall);
                self.cpu.add(cpu);
                self.first_request.add(first_request);
            }
            RunReading::Memory { peak_mb, own_mb } => {
                self.peak_mb = self.peak_mb.max(peak_mb);
                self.own_mb = self.own_mb.max(own_mb);
            }
        }
    }
}

pub fn render(rows: &[ComparisonRow], rounds: usize) -> String {
    let mut text = format!(
        "| agent, {rounds} runs each | wall time | processor time | largest process | first request |\n|---|---|---|---|---|\n"
    );
    for ComparisonRow { name, readings, .. } in rows {
        match readings {
            Ok(AgentReadings { wall, cpu, first_request, peak_mb, .. }) => {
                let [wall, cpu, first_request] = [wall, cpu, first_request].map(spread);
                text.push_str(&format!("| {name} | {wall} | {cpu} | {peak_mb:.0} MB | {first_request} |\n"));
            }
            Err(error) => {
                let error = error.to_string().replace('|', "/").replace('\n', " ");
                text.push_str(&format!("| {name} | not measured: {error} | | | |\n"));
            }
        }
    }
    text.trim_end().to_owned()
}

/// The median with minimum and maximum.
fn spread(sample: &Sample) -> String {
    let [min, max] = [0.0, 100.0].map(|percent| sample.percentile(percent));
    format!("{:.0} ms ({min:.0} to {max:.0})", sample.median())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{AgentReadings, RunReading};

    #[test]
    fn a_run_measures_time_or_memory() {
        let mut readings = AgentReadings::default();
        let [wall, cpu, first_request] = [3, 2, 1].map(Duration::from_secs);
        readings.add(RunReading::Memory { peak_mb: 3.0, own_mb: 1.0 });
        readings.add(RunReading::Time { wall, cpu, first_request });
        readings.add(RunReading::Memory { peak_mb: 2.0, own_mb: 2.0 });
        assert_eq!([readings.peak_mb, readings.own_mb], [3.0, 2.0]);
        let timed =
            [&readings.wall, &readings.cpu, &readings.first_request].map(|sample| sample.percentile(0.0));
        assert_eq!(timed, [3_000.0, 2_000.0, 1_000.0]);
    }
}
