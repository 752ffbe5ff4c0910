//! When to try again after a vendor's quota is used up. `model` reads the vendors' messages.

use jiff::{SignedDuration, Timestamp};

/// Extra wait after a reset: vendors round the time down to the minute, and clocks differ.
pub const MARGIN: SignedDuration = SignedDuration::from_secs(60);
/// The first wait when the reset is unknown; each further one is twice as long.
pub const UNKNOWN_WAIT_FIRST: SignedDuration = SignedDuration::from_mins(5);
/// Longest wait when the reset is unknown.
pub const UNKNOWN_WAIT_MAX: SignedDuration = SignedDuration::from_mins(60);
/// Maximum number of consecutive waits: for unknown resets, together just under eight days. The longest quota window is a week.
pub const WAITS_MAX: u32 = 194;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaWait {
    /// When work resumes: the reset plus a margin, or a guess.
    pub until: Timestamp,
    /// The reset time stated by the vendor.
    pub resets_at: Option<Timestamp>,
}

/// When to try again: [`MARGIN`] after the reset, or after now if the reset has passed.
///
/// With an unknown reset, after [`UNKNOWN_WAIT_FIRST`], then twice that, up to
/// [`UNKNOWN_WAIT_MAX`]; `waits_so_far` counts the waits in a row without a working session
/// between them. `None` means that [`WAITS_MAX`] were in vain: give up.
pub fn wake_up(resets_at: Option<Timestamp>, now: Timestamp, waits_so_far: u32) -> Option<Timestamp> {
    if waits_so_far >= WAITS_MAX {
        return None;
    }
    let (from, wait) = match resets_at {
        Some(reset) => (reset.max(now), MARGIN),
        None => {
            let doubled = UNKNOWN_WAIT_FIRST.saturating_mul(1 << waits_so_far.min(30));
            (now, doubled.min(UNKNOWN_WAIT_MAX))
        }
    };
    Some(from.checked_add(wait).unwrap_or(Timestamp::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakes_up_after_the_reset_or_backs_off() {
        let now: Timestamp = "2026-07-14T12:00:00Z".parse().expect("a time");
        let wait = |resets: Option<Timestamp>, so_far| {
            wake_up(resets, now, so_far).map(|wake| wake.duration_since(now))
        };
        let eight_days = SignedDuration::from_hours(8 * 24);
        let hour = SignedDuration::from_hours(1);
        assert_eq!(wait(Some(now + hour), 7), Some(hour + MARGIN));
        assert_eq!(
            wait(Some(now - SignedDuration::from_mins(10)), 0),
            Some(MARGIN),
            "a past reset waits the margin only"
        );
        assert_eq!(wait(Some(Timestamp::MAX), 0), Some(Timestamp::MAX.duration_since(now)));

        let waits: Vec<_> = (0..u32::MAX).map_while(|count| wait(None, count)).collect();
        assert_eq!(
            waits[..6].iter().map(SignedDuration::as_mins).collect::<Vec<_>>(),
            [5, 10, 20, 40, 60, 60]
        );
        let all = waits.into_iter().fold(SignedDuration::ZERO, |sum, wait| sum + wait);
        assert!(eight_days - UNKNOWN_WAIT_MAX < all && all <= eight_days, "{all}");
        assert_eq!(wait(None, u32::MAX), None);
    }
}
