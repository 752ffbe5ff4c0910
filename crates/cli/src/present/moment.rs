//! A moment in words: the day and the time in the local zone, and how long it is until then.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// `Mon 16 Nov 09:00 CET`, in the local zone.
pub fn local_time(at: Timestamp) -> String {
    shown(at, TimeZone::system())
}

/// When a quota resets or has reset: `It resets Mon 16 Nov 09:00 CET (in 14 h 20 min).`
pub fn reset(at: Timestamp) -> String {
    reset_seen(at, Timestamp::now(), TimeZone::system())
}

/// How long it is until then: `14 h 20 min`; none if it is past.
pub fn until(at: Timestamp) -> Option<String> {
    ahead(at, Timestamp::now())
}

fn reset_seen(at: Timestamp, now: Timestamp, zone: TimeZone) -> String {
    let shown = shown(at, zone);
    match ahead(at, now) {
        Some(ahead) => format!("It resets {shown} (in {ahead})."),
        None => format!("It was to reset {shown}."),
    }
}

fn shown(at: Timestamp, zone: TimeZone) -> String {
    at.to_zoned(zone).strftime("%a %-d %b %H:%M %Z").to_string()
}

fn ahead(at: Timestamp, now: Timestamp) -> Option<String> {
    let ahead = at.duration_since(now);
    if ahead <= SignedDuration::ZERO {
        return None;
    }
    // Rounded to the minute, up: who comes back then must not be early.
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

    use super::reset_seen;

    #[test]
    fn a_reset_names_the_day_and_how_long_it_is_until_then() {
        let now: Timestamp = "2026-11-15T18:40:00Z".parse().expect("timestamp");
        for (at, zone, words) in [
            ("2026-11-16T09:00:00Z", "UTC", "It resets Mon 16 Nov 09:00 UTC (in 14 h 20 min)."),
            ("2026-11-16T08:00:00Z", "Europe/Berlin", "It resets Mon 16 Nov 09:00 CET (in 13 h 20 min)."),
            ("2026-11-15T19:00:00Z", "UTC", "It resets Sun 15 Nov 19:00 UTC (in 20 min)."),
            ("2026-11-15T18:40:01Z", "UTC", "It resets Sun 15 Nov 18:40 UTC (in 1 min)."),
            ("2026-11-15T20:40:00Z", "UTC", "It resets Sun 15 Nov 20:40 UTC (in 2 h)."),
            ("2026-11-21T20:41:00Z", "UTC", "It resets Sat 21 Nov 20:41 UTC (in 6 d 2 h)."),
            ("2026-11-15T18:40:00Z", "UTC", "It was to reset Sun 15 Nov 18:40 UTC."),
            ("2026-11-14T09:00:00Z", "UTC", "It was to reset Sat 14 Nov 09:00 UTC."),
        ] {
            let zone = TimeZone::get(zone).expect("zone");
            assert_eq!(reset_seen(at.parse().expect("timestamp"), now, zone), words);
        }
    }
}
