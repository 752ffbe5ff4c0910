//! Repeated timings of one operation, with percentiles.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::result::Result;

#[derive(Default)]
pub struct Sample(Vec<Duration>);

impl Sample {
    pub fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Adds the time that `work` takes and returns its value.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let value = work();
        self.add(start.elapsed());
        value
    }

    /// Times two commands in turns, both of which must succeed.
    pub fn of_commands(commands: &mut [Command; 2], rounds: usize) -> Result<[Self; 2]> {
        let mut samples = [Self::default(), Self::default()];
        for _ in 0..rounds {
            for (command, sample) in commands.iter_mut().zip(&mut samples) {
                let status = sample.time(|| command.status())?;
                if !status.success() {
                    return Err(format!("{command:?} failed ({status}).").into());
                }
            }
        }
        Ok(samples)
    }

    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// In milliseconds.
    pub fn median(&self) -> f64 {
        self.percentile(50.0)
    }

    /// In milliseconds.
    pub fn percentile(&self, percent: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    }

    /// The median ratio of this sample to another, round by round: a machine that is slow for a while is slow
    /// for both.
    pub fn ratio(&self, other: &Self) -> f64 {
        let ratio = |(one, other): (&Duration, &Duration)| one.as_secs_f64() / other.as_secs_f64();
        let mut ratios: Vec<f64> = self.0.iter().zip(&other.0).map(ratio).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
    }

    pub fn summary(&self) -> String {
        format!("{:.2} ms median, {:.2} ms p95", self.median(), self.percentile(95.0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Sample;

    #[test]
    fn a_percentile_is_one_of_the_timings() {
        let sample = Sample((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!(sample.median(), 50.0);
        assert_eq!(sample.percentile(95.0), 95.0);
        assert_eq!(sample.percentile(99.0), 99.0);
        assert_eq!(sample.percentile(100.0), 100.0);
    }

    #[test]
    fn ratios_compare_timings_of_the_same_round() {
        let sample = |times: [u64; 3]| Sample(times.map(Duration::from_millis).to_vec());
        assert_eq!(sample([10, 200, 30]).ratio(&sample([10, 100, 60])), 1.0);
        assert!(Sample::default().ratio(&sample([1, 2, 3])).is_nan());
    }

    #[test]
    fn one_timing_is_its_own_percentile() {
        assert_eq!(Sample(vec![Duration::from_millis(7)]).percentile(99.0), 7.0);
    }
}
