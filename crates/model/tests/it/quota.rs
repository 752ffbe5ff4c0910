//! An exhausted quota is not a rate limit: it ends the session at once, with the time of the reset.

use std::time::Duration;

use autonoe_core::outcome::SessionEnd;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::support::{ask, ask_watched, model, retries, serve_fault};

/// The message and the reset time of a quota that ended the call without a retry.
async fn exceeded(fault: &str) -> (String, Option<Timestamp>) {
    let server = serve_fault(fault);
    let (result, progress) = ask_watched(&model(&server)).await;
    assert_eq!(retries(&progress).len(), 0, "{fault}");
    assert_eq!(server.requests().len(), 1, "{fault}");
    match result.expect_err(fault) {
        SessionEnd::QuotaExceeded { message, resets_at } => (message, resets_at),
        other => panic!("{fault}: {other:?}"),
    }
}

#[tokio::test]
async fn a_long_wait_is_a_quota_with_that_reset_time() {
    let before = Timestamp::now();
    let (message, resets_at) =
        exceeded("{ kind = 'status', status = 429, retry_after = 3600, message = 'Try later.' }").await;
    assert_eq!(message, "Try later.");
    let hour = SignedDuration::from_hours(1);
    assert!((before + hour..=Timestamp::now() + hour).contains(&resets_at.expect("a time")));
}

#[tokio::test]
async fn a_wait_of_just_over_a_minute_is_a_quota() {
    let (_, resets_at) = exceeded("{ kind = 'status', status = 429, retry_after = 61 }").await;
    assert!(resets_at.is_some());
}

#[tokio::test]
async fn the_header_reports_the_quota_and_its_reset() {
    let rejected = "'anthropic-ratelimit-unified-status' = 'rejected'";
    let reset = "'anthropic-ratelimit-unified-reset' = '1893456000'";
    let at = Some(Timestamp::from_second(1_893_456_000).unwrap());
    for (headers, wanted) in [
        (format!("{{ {rejected}, {reset} }}"), at),
        (format!("{{ {rejected} }}"), None),
        (format!("{{ {rejected}, 'anthropic-ratelimit-unified-reset' = 'soon' }}"), None),
        (format!("{{ {rejected}, {reset}, 'retry-after' = '7200' }}"), at),
    ] {
        let (_, resets_at) =
            exceeded(&format!("{{ kind = 'status', status = 429, headers = {headers} }}")).await;
        assert_eq!(resets_at, wanted, "{headers}");
    }
}

#[tokio::test]
async fn the_reset_time_is_parsed_from_the_vendors_message() {
    let text = "You've hit your limit · resets 6pm (UTC)";
    let (message, resets_at) =
        exceeded(&format!("{{ kind = 'status', status = 429, message = \"{text}\" }}")).await;
    assert_eq!(message, text);
    let resets_at = resets_at.expect("a time");
    let time = resets_at.to_zoned(TimeZone::UTC);
    assert_eq!((time.hour(), time.minute()), (18, 0));
    let ahead = resets_at.duration_since(Timestamp::now());
    let grace = autonoe_model::QUOTA_GRACE;
    assert!((-grace..=SignedDuration::from_hours(24)).contains(&ahead), "{ahead:?}");
}

#[tokio::test]
async fn a_short_rate_limit_is_not_a_quota_even_with_a_reset_header() {
    let allowed = "{ 'anthropic-ratelimit-unified-status' = 'allowed', \
                     'anthropic-ratelimit-unified-reset' = '1893456000', 'retry-after' = '0.01' }";
    let message = "This request would exceed your organization''s rate limit of 50 requests per minute";
    let server = serve_fault(&format!(
        "{{ kind = 'status', status = 429, headers = {allowed}, message = \"{message}\" }}"
    ));
    let (reply, progress) = ask_watched(&model(&server)).await;
    assert!(reply.is_ok());
    assert_eq!(retries(&progress)[0].1, Duration::from_millis(10));
}

#[tokio::test]
async fn a_long_wait_is_a_quota_only_for_rate_limits() {
    let server = serve_fault("{ kind = 'status', status = 401, retry_after = 3600 }");
    assert!(matches!(ask(&model(&server)).await, Err(SessionEnd::ExecutionError { .. })));
}
