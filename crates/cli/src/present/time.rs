//! Times for people: local day and time, and the time remaining until then.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// `Mon 16 Nov 09:00 CET`, in the local time zone.
pub fn local_time(at: Timestamp) -> String {
    format_in(at, TimeZone::system())
}

/// `09:00:00`, in the local time zone.
pub fn time_of_day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// `It resets Mon 16 Nov 09:00 CET (in 14 h 20 min).`
pub fn reset(at: Timestamp) -> String {
    reset_sentence(at, Timestamp::now(), TimeZone::system())
}

/// `14 h 20 min`; `None` if `at` is in the past.
pub fn until(at: Timestamp) -> Option<String> {
    remaining(at, Timestamp::now())
}

fn reset_sentence(at: Timestamp, now: Timestamp, zone: TimeZone) -> String {
    let time = format_in(at, zone);
    match remaining(at, now) {
        Some(remaining) => format!("It resets {time} (in {remaining})."),
        None => format!("It should have reset {time}."),
    }
}

fn format_in(at: Timestamp, zone: TimeZone) -> String {
    at.to_zoned(zone).strftime("%a %-d %b %H:%M %Z").to_string()
}

fn remaining(at: Timestamp, now: Timestamp) -> Option<String> {
    let ahead = at.duration_since(now);
    if ahead <= SignedDuration::ZERO {
        return None;
    }
    // Rounded up to the minute, so that waiting that long is always enough.
    let minutes = (ahead.as_secs() + i64::from(ahead.subsec_nanos() > 0) + 59) / 60;
    let (days, hours, minutes) = (minutes / (24 * 60), minutes / 60 % 24, minutes % 60);
    let parts = match (days, hours) {
        (0, 0) => vec![(minutes, "min")],
        (0, _) => vec![(hours, "h"), (minutes, "min")],
        (_, _) => vec![(days, "d"), (hours, "h")],
    };
    let parts =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}"));
    Some(parts.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::reset_sentence;

    #[test]
    fn a_reset_names_the_day_and_the_time_remaining() {
        let now: Timestamp = "2026-11-15T18:40:00Z".parse().expect("timestamp");
        for (at, zone, words) in [
            ("2026-11-16T09:00:00Z", "UTC", "It resets Mon 16 Nov 09:00 UTC (in 14 h 20 min)."),
            ("2026-11-16T08:00:00Z", "Europe/Berlin", "It resets Mon 16 Nov 09:00 CET (in 13 h 20 min)."),
            ("2026-11-15T19:00:00Z", "UTC", "It resets Sun 15 Nov 19:00 UTC (in 20 min)."),
            ("2026-11-15T18:40:01Z", "UTC", "It resets Sun 15 Nov 18:40 UTC (in 1 min)."),
            ("2026-11-15T20:40:00Z", "UTC", "It resets Sun 15 Nov 20:40 UTC (in 2 h)."),
            ("2026-11-21T20:41:00Z", "UTC", "It resets Sat 21 Nov 20:41 UTC (in 6 d 2 h)."),
            ("2026-11-15T18:40:00Z", "UTC", "It should have reset Sun 15 Nov 18:40 UTC."),
            ("2026-11-14T09:00:00Z", "UTC", "It should have reset Sat 14 Nov 09:00 UTC."),
        ] {
            let zone = TimeZone::get(zone).expect("zone");
            assert_eq!(reset_sentence(at.parse().expect("timestamp"), now, zone), words);
        }
    }
}
