//! Durations as people read and write them: `1h 1m 1s`, `90m`.

use std::time::Duration;

/// Omits parts that are zero; below a second it is `0s` (seed 000, Duration Format).
pub fn format(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut parts = Vec::with_capacity(3);
    if hours > 0 {
        parts.push(format!("{hours}h"));
    }
    if minutes > 0 {
        parts.push(format!("{minutes}m"));
    }
    if seconds > 0 || parts.is_empty() {
        parts.push(format!("{seconds}s"));
    }
    parts.join(" ")
}

/// Formats elapsed time as a clock, `M:SS` or `H:MM:SS`, for the activity line.
pub fn format_clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a duration; write it like 90s, 45m, 2h or 1h30m")]
pub struct DurationError(String);

/// Parses `90s`, `45m`, `2h`, `1h30m`, `1h 30m`, `500ms`; a bare number is seconds. Signs are rejected.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let wrong = || DurationError(text.to_owned());
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let part = match &rest[..letters] {
            "" if total.is_zero() && rest.is_empty() => Duration::from_secs(number),
            "ms" => Duration::from_millis(number),
            "s" => Duration::from_secs(number),
            "m" => Duration::from_secs(number.checked_mul(60).ok_or_else(wrong)?),
            "h" => Duration::from_secs(number.checked_mul(3600).ok_or_else(wrong)?),
            "d" => Duration::from_secs(number.checked_mul(86_400).ok_or_else(wrong)?),
            _ => return Err(wrong()),
        };
        total = total.checked_add(part).ok_or_else(wrong)?;
        rest = rest[letters..].trim_start();
    }
    Ok(total)
}

/// Serializes a duration as a number of seconds, which is what JSON readers expect.
pub mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Serializes a duration as people write it: `30s`.
pub mod words {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// `30s`, or `1500ms` where whole seconds would lose precision.
    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&match duration.subsec_millis() {
            0 => super::format(*duration),
            _ => format!("{}ms", duration.as_millis()),
        })
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        super::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Like [`seconds`], for an optional duration.
pub mod seconds_option {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => serializer.serialize_some(&duration.as_secs_f64()),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Option::<f64>::deserialize(deserializer)?
            .map(|seconds| Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::{format, format_clock, parse};
    use std::time::Duration;

    #[test]
    fn duration_format_table_of_seed_000() {
        for (millis, text) in [
            (0, "0s"),
            (999, "0s"),
            (5_000, "5s"),
            (60_000, "1m"),
            (90_000, "1m 30s"),
            (3_600_000, "1h"),
            (3_605_000, "1h 5s"),
            (3_660_000, "1h 1m"),
            (3_661_000, "1h 1m 1s"),
        ] {
            assert_eq!(format(Duration::from_millis(millis)), text, "{millis} ms");
        }
    }

    #[test]
    fn the_clock_has_two_digit_seconds() {
        assert_eq!(format_clock(Duration::from_secs(5)), "0:05");
        assert_eq!(format_clock(Duration::from_secs(83)), "1:23");
        assert_eq!(format_clock(Duration::from_secs(3_725)), "1:02:05");
    }

    #[test]
    fn formatted_durations_parse_back() {
        for seconds in [0, 1, 59, 60, 3_599, 3_600, 3_661, 90_000] {
            let duration = Duration::from_secs(seconds);
            assert_eq!(parse(&format(duration)), Ok(duration));
        }
        assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse("45"), Ok(Duration::from_secs(45)));
    }

    #[test]
    fn serialized_durations_parse_back() {
        #[derive(serde::Serialize, serde::Deserialize)]
        struct LimitField(#[serde(with = "super::words")] Duration);
        for (millis, text) in [(500, "500ms"), (1_500, "1500ms"), (30_000, "30s"), (90_000, "1m 30s")] {
            let written = serde_json::to_value(LimitField(Duration::from_millis(millis))).unwrap();
            assert_eq!(written, text);
            let read: LimitField = serde_json::from_value(written).unwrap();
            assert_eq!(read.0, Duration::from_millis(millis));
        }
    }

    #[test]
    fn invalid_durations_are_rejected() {
        for text in [
            "",
            " ",
            "-5s",
            "1.5h",
            "NaN",
            "h",
            "5x",
            "5 5",
            "99999999999999999999h",
            "18446744073709551615h",
        ] {
            assert!(parse(text).is_err(), "{text:?} was accepted");
        }
    }
}
