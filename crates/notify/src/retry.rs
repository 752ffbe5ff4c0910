//! When a delivery is tried again, and when it is given up.

use std::time::Duration;

use autonoe_core::notification::{NotificationEvent, NotificationLevel};

/// The pause after each failed attempt; there is one attempt more than there are pauses.
const PAUSES: [Duration; 7] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(2 * 60),
    Duration::from_secs(10 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(60 * 60),
];

/// The longest pause that a receiver may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(60 * 60);

/// How long it is worth knowing that a run waits, and that it ended.
const WAIT_EXPIRY: Duration = Duration::from_secs(60 * 60);
const EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a delivery is worth trying.
pub fn expiry(event: NotificationEvent, level: NotificationLevel) -> Duration {
    // At another level, the run has ended.
    let is_wait = matches!(event, NotificationEvent::Quota | NotificationEvent::Outage)
        && level == NotificationLevel::Warning;
    if is_wait { WAIT_EXPIRY } else { EXPIRY }
}

/// The pause after so many failed attempts; `None` if there were enough.
pub fn pause_after(attempts: u32, asked: Option<Duration>) -> Option<Duration> {
    let index = usize::try_from(attempts.max(1) - 1).ok()?;
    let pause = *PAUSES.get(index)?;
    Some(asked.map_or(pause, |asked| asked.clamp(pause, MAX_PAUSE)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use autonoe_core::notification::{NotificationEvent, NotificationLevel};

    use super::{expiry, pause_after};

    #[test]
    fn a_wait_is_worth_knowing_for_an_hour_and_an_end_for_a_day() {
        let hours = |event, level| expiry(event, level).as_secs() / 3600;
        assert_eq!(hours(NotificationEvent::Quota, NotificationLevel::Warning), 1);
        assert_eq!(hours(NotificationEvent::Outage, NotificationLevel::Warning), 1);
        assert_eq!(hours(NotificationEvent::Outage, NotificationLevel::Error), 24);
        assert_eq!(hours(NotificationEvent::Done, NotificationLevel::Success), 24);
        assert_eq!(hours(NotificationEvent::Blocked, NotificationLevel::Warning), 24);
    }

    #[test]
    fn pauses_grow_and_end() {
        let pauses: Vec<_> = (1..20).map_while(|attempts| pause_after(attempts, None)).collect();
        assert_eq!(pauses.len(), 7);
        assert!(pauses.is_sorted() && pauses[0] == Duration::from_secs(1), "{pauses:?}");
    }

    #[test]
    fn a_receiver_may_ask_for_a_longer_pause_but_not_for_ever() {
        let asked = |seconds| pause_after(1, Some(Duration::from_secs(seconds)));
        assert_eq!(asked(0), Some(Duration::from_secs(1)));
        assert_eq!(asked(20), Some(Duration::from_secs(20)));
        assert_eq!(asked(1_000_000), Some(Duration::from_secs(3600)));
        assert_eq!(pause_after(8, Some(Duration::from_secs(1))), None);
    }
}
