//! How long a provider asks us to wait, from the headers of an error response.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::HeaderMap;

/// Reads `retry-after-ms`, then `retry-after` in seconds or as a date, then the reset time of OpenAI's
/// exhausted limits.
pub(crate) fn read(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    let number = |name: &str| header(name)?.parse::<f64>().ok();
    let milliseconds =
        number("retry-after-ms").and_then(|wait| Duration::try_from_secs_f64(wait / 1000.0).ok());
    let seconds = || number("retry-after").and_then(|wait| Duration::try_from_secs_f64(wait).ok());
    let date = || until(header("retry-after")?, now);
    let limit_reset = || {
        ["requests", "tokens"]
            .into_iter()
            .filter(|limit| header(&format!("x-ratelimit-remaining-{limit}")) == Some("0"))
            .filter_map(|limit| go_duration(header(&format!("x-ratelimit-reset-{limit}"))?))
            .max()
    };
    milliseconds.or_else(seconds).or_else(date).or_else(limit_reset)
}

/// The time until a date; `None` if it is in the past.
fn until(date: &str, now: Timestamp) -> Option<Duration> {
    let at = DateTimeParser::new().relaxed_weekday(true).parse_timestamp(date).ok()?;
    Duration::try_from(at.duration_since(now)).ok()
}

/// Parses Go durations such as `1h2m3.5s` and `120ms`.
fn go_duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|letter: char| letter.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total += Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        rest = after;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::read;
    use jiff::Timestamp;
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
    use std::time::Duration;

    fn wait(given: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers: HeaderMap = given
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let now: Timestamp = "2026-10-21T07:28:00Z".parse().unwrap();
        read(&headers, now)
    }

    #[test]
    fn every_header_is_parsed() {
        let seconds = |seconds: f64| Some(Duration::from_secs_f64(seconds));
        assert_eq!(wait(&[("retry-after", "7")]), seconds(7.0));
        assert_eq!(wait(&[("retry-after", "1.5")]), seconds(1.5));
        assert_eq!(wait(&[("retry-after-ms", "250"), ("retry-after", "9")]), seconds(0.25));
        assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2026 07:29:30 GMT")]), seconds(90.0));
        let used_up = ("x-ratelimit-remaining-tokens", "0");
        assert_eq!(wait(&[used_up, ("x-ratelimit-reset-tokens", "6m0s")]), seconds(360.0));
        assert_eq!(wait(&[used_up, ("x-ratelimit-reset-tokens", "120ms")]), seconds(0.12));
        assert_eq!(wait(&[used_up, ("x-ratelimit-reset-tokens", "1h1m1.5s")]), seconds(3661.5));
    }

    #[test]
    fn invalid_values_are_ignored() {
        for value in ["soon", "-5", "1e400", "NaN", "", "Wed, 21 Oct 2026 07:00:00 GMT"] {
            assert_eq!(wait(&[("retry-after", value)]), None, "{value}");
        }
        let left = ("x-ratelimit-remaining-requests", "12");
        assert_eq!(wait(&[left, ("x-ratelimit-reset-requests", "6m0s")]), None, "not used up");
        for broken in ["6", "s", "6x", "6m5"] {
            let reset = ("x-ratelimit-reset-requests", broken);
            assert_eq!(wait(&[("x-ratelimit-remaining-requests", "0"), reset]), None, "{broken}");
        }
    }
}
