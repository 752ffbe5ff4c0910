//! How long a harness has been at work that another supervisor has started. Its start is on record as a time of day, and clocks jump; so that
//! time is kept between what is certain: the age of its process, and the time for which supervisors and this machine have been up.

use std::fs;
use std::time::Duration;

use jiff::SignedDuration;

/// The unit of process times in `/proc`, per second; the kernel has the same for all programs.
const TICKS: f64 = 100.0;

/// Time since the machine was started, time asleep included; `None` where the system does not say.
#[derive(Debug, Clone, Copy)]
pub(super) struct BootTime(pub(super) Option<Duration>);

impl BootTime {
    pub(super) fn now() -> Self {
        let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
        let seconds = text.split_whitespace().next().and_then(|seconds| seconds.parse().ok());
        Self(seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()))
    }

    /// Of a process with this identity, of this boot; zero if that is not known.
    pub(super) fn age_of(self, identity: &str) -> Duration {
        let ticks = identity.rsplit_once(':').and_then(|(_, ticks)| ticks.parse::<f64>().ok());
        let began = ticks.and_then(|ticks| Duration::try_from_secs_f64(ticks / TICKS).ok());
        self.0.zip(began).map(|(now, began)| now.saturating_sub(began)).unwrap_or_default()
    }
}

/// `since_start` is what the clock says, negative if it was put back.
pub(super) fn time_used(
    since_start: SignedDuration,
    process_age: Duration,
    most: Option<Duration>,
) -> Duration {
    let since_start = Duration::try_from(since_start).unwrap_or_default();
    most.map_or(since_start, |most| since_start.min(most)).max(process_age)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use autonoe_harness::process::process_identity;
    use jiff::SignedDuration;

    use super::{BootTime, time_used};

    #[test]
    fn a_clock_that_jumps_moves_a_limit_only_as_far_as_it_can_be_true() {
        let (hour, day) = (Duration::from_secs(3600), Duration::from_secs(24 * 3600));
        let used = |hours: i64, age, most| time_used(SignedDuration::from_hours(hours), age, most);
        assert_eq!(used(2, hour, Some(day)), 2 * hour);
        assert_eq!(used(2, Duration::ZERO, None), 2 * hour, "where the system says nothing");
        assert_eq!(used(-50, hour, Some(day)), hour, "put back");
        assert_eq!(used(20 * 365 * 24, hour, Some(day)), day, "put forward");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_is_younger_than_its_machine() {
        let now = BootTime::now();
        let age = now.age_of(&process_identity(std::process::id()));
        assert!(now.0.is_some_and(|up| age < up), "{now:?} {age:?}");
        assert_eq!(now.age_of("what is this"), Duration::ZERO);
    }
}
