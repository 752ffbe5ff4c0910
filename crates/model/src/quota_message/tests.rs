#![allow(clippy::unwrap_used)]

use super::*;

const NOW: &str = "2026-07-14T12:00:00Z";
const LOCAL: &str = "Europe/Berlin";

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

fn read_at(text: &str, now: &str, local: &str) -> Option<QuotaNotice> {
    read_quota_message(text, now.parse().unwrap(), &zone(local))
}

/// The reset of a quota message as text, `"unknown"` included.
fn reset(text: &str, now: &str, local: &str) -> String {
    match read_at(text, now, local).unwrap_or_else(|| panic!("not a quota message: {text}")).resets {
        Reset::At(reset) => reset.to_string(),
        Reset::Unknown => "unknown".to_owned(),
    }
}

fn model(name: &str) -> QuotaLimit {
    QuotaLimit::Model(name.to_owned())
}

#[test]
fn every_known_message_is_read() {
    use QuotaLimit::{ExtraUsage, FiveHour, Session, Unspecified, Usage, Weekly};
    #[rustfmt::skip]
    let table = [
        // Claude Code 2.1
        ("You've hit your limit · resets 6pm (UTC)", Unspecified, "2026-07-14T18:00:00Z"),
        ("You've hit your session limit · resets 8:30pm (Asia/Tokyo)", Session, "2026-07-15T11:30:00Z"),
        ("You've hit your weekly limit · resets 11pm (America/Anchorage)", Weekly, "2026-07-15T07:00:00Z"),
        ("You've hit your Opus limit · resets 3am (UTC)", model("Opus"), "2026-07-15T03:00:00Z"),
        ("You've hit your Sonnet limit · resets 12pm (UTC)", model("Sonnet"), "2026-07-14T12:00:00Z"),
        ("You've hit your Fable 5 limit · resets 12am (UTC)", model("Fable 5"), "2026-07-15T00:00:00Z"),
        ("You've hit your usage limit · resets 6:30pm (UTC)", Usage, "2026-07-14T18:30:00Z"),
        ("You've hit your 5-hour limit · resets 3am (UTC)", FiveHour, "2026-07-15T03:00:00Z"),
        ("You've hit your weekly limit · resets Jul 15 at 12am (Asia/Seoul)", Weekly, "2026-07-14T15:00:00Z"),
        ("You've hit your limit · resets Jul 16, 10:59am (America/New_York)", Unspecified, "2026-07-16T14:59:00Z"),
        ("You've hit your limit · resets Jul 16, 2026, 10:59am (UTC)", Unspecified, "2026-07-16T10:59:00Z"),
        ("You're out of extra usage · resets 7pm (America/New_York)", ExtraUsage, "2026-07-14T23:00:00Z"),
        ("You're out of usage credits · resets 7pm (UTC)", ExtraUsage, "2026-07-14T19:00:00Z"),
        ("You've hit your monthly spend limit · raise it at claude.ai/settings/usage", ExtraUsage, "unknown"),
        ("You've hit your org's monthly usage limit · resets 7pm (UTC)", Usage, "2026-07-14T19:00:00Z"),
        // older versions
        ("Weekly limit reached · resets 10am (Asia/Seoul) · /upgrade to Max", Weekly, "2026-07-15T01:00:00Z"),
        ("Opus weekly limit reached ∙ resets Jul 17, 9am", model("Opus"), "2026-07-17T07:00:00Z"),
        ("5-hour limit reached ∙ resets 1am", FiveHour, "2026-07-14T23:00:00Z"),
        ("Session limit reached • resets 18:00", Session, "2026-07-14T16:00:00Z"),
        ("Limit reached · resets 5pm (Etc/Unknown)", Unspecified, "unknown"),
        ("Claude AI usage limit reached|1784077200", Usage, "2026-07-15T01:00:00Z"),
        ("Claude AI usage limit reached|1784077200123", Usage, "2026-07-15T01:00:00.123Z"),
        ("Claude usage limit reached. Your limit will reset at 3pm (UTC).", Usage, "2026-07-14T15:00:00Z"),
        ("Your limit will reset at 1pm (Etc/GMT+5)", Unspecified, "2026-07-14T18:00:00Z"),
        // Codex
        ("You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage \
          to purchase more credits or try again at 2:15 AM.", Usage, "2026-07-15T00:15:00Z"),
        ("You've hit your usage limit. Visit https://x.y or try again at Jul 16th, 2026 3:39 AM.", Usage, "2026-07-16T01:39:00Z"),
        ("You've hit your usage limit for GPT-5.3-Codex-Spark. Switch to another model now, or try again at 9:20 PM.",
          model("GPT-5.3-Codex-Spark"), "2026-07-14T19:20:00Z"),
        ("You've hit your usage limit. Try again in 2 hours 5 minutes.", Usage, "2026-07-14T14:05:00Z"),
        ("Internal error: You've hit your usage limit. Upgrade to Pro or try again at 3:39 PM.", Usage, "2026-07-14T13:39:00Z"),
        ("You've hit your usage limit. Try again in 45 minutes.", Usage, "2026-07-14T12:45:00Z"),
        ("■ You've hit your usage limit. Upgrade to Pro or try again in 5 days 22 hours 11\nminutes.", Usage, "2026-07-20T10:11:00Z"),
        ("You've hit your usage limit. Upgrade to Pro, or wait for limits to reset (every 5h and every week.).", Usage, "unknown"),
        // spelling variants
        ("YOU’VE HIT YOUR LIMIT - RESETS AT 6PM (utc)", Unspecified, "2026-07-14T18:00:00Z"),
        ("you have reached your weekly limit, reset at 6 p.m. UTC", Weekly, "2026-07-14T18:00:00Z"),
        ("You've hit your session limit · resets 6:30\u{202f}PM", Session, "2026-07-14T16:30:00Z"),
        ("You've hit your session limit · resets in 1d 5h", Session, "2026-07-15T17:00:00Z"),
        ("API Error 400: You're out of extra usage. Add more at claude.ai/settings/usage", ExtraUsage, "unknown"),
        ("Working on it.\n  ⎿  You've hit your limit · resets 6pm (UTC)\r\n", Unspecified, "2026-07-14T18:00:00Z"),
        ("Usage limit reached for 5 hour. Your limit will reset at 2026-07-14 18:55:29", FiveHour, "unknown"),
    ];
    for (text, limit, resets) in table {
        assert_eq!(reset(text, NOW, LOCAL), resets, "{text}");
        assert_eq!(read_at(text, NOW, LOCAL).unwrap().limit, limit, "{text}");
    }
}

#[test]
fn other_texts_are_not_quota_messages() {
    let long = format!("You've hit your limit · resets 6pm (UTC)\n{}", "I handled it. ".repeat(30));
    for text in [
        "",
        "Done. All tests pass.",
        "API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try again later.",
        "This request would exceed your organization's rate limit. Please try again later.",
        "You've hit your rate limit. Try again in 20 seconds.",
        "Rate limit reached for gpt-5 on tokens per min. Please try again in 2s.",
        "exceeded retry limit, last status: 429 Too Many Requests",
        "Context limit reached · /compact or /clear to continue, or try again",
        "Recursion limit reached",
        "Memory usage limit reached.",
        "Limit reached.",
        "You've used 92% of your weekly limit · resets 6pm (UTC)",
        "Approaching weekly limit · resets 6pm (UTC)",
        "You're now using extra usage · Your session limit resets 6pm (UTC)",
        "You've hit your limit of three parameters.",
        "Weekly limit reached in the second test, which resets 6pm.",
        "The CLI prints: You've hit your limit · resets 6pm (UTC)",
        "> You've hit your limit · resets 6pm (UTC)",
        "\"You've hit your limit · resets 6pm (UTC)\" is now detected.",
        &long,
    ] {
        assert_eq!(read_at(text, NOW, LOCAL), None, "{text}");
    }
}

#[test]
fn a_doubtful_time_is_unknown() {
    for time in [
        "13pm",
        "0am",
        "6:75pm",
        "24:00",
        "25:00",
        "6",
        "6:3pm",
        "6:300pm",
        "6pmish",
        "18:00+02:00",
        "soon",
        "Aug 20",
        "Mon 12:00am",
        "Feb 30, 6pm",
        "6pm (Mars/Olympus)",
        "6pm (UTC+5)",
        "6pm ()",
        "6pm PT",
        "6pm (in 2 hours)",
        "Jul 12, 6pm",
        "Jul 30, 6pm",
        "Jul 15, 2027, 6pm",
        "Jul 15, 2025, 6pm",
        "in 5 months",
        "in 9 days",
    ] {
        assert_eq!(reset(&format!("You've hit your limit · resets {time}"), NOW, LOCAL), "unknown", "{time}");
    }
    for epoch in ["1", "0000000000", "1749924000", "9999999999", "178407720012", "9999999999999999999999"] {
        assert_eq!(
            reset(&format!("Claude AI usage limit reached|{epoch}"), NOW, LOCAL),
            "unknown",
            "{epoch}"
        );
    }
}

#[test]
fn a_reset_of_a_moment_ago_is_not_tomorrow() {
    let text = "You've hit your limit · resets 3am (UTC)";
    for (now, resets) in [
        ("2026-07-15T02:59:59Z", "2026-07-15T03:00:00Z"),
        ("2026-07-15T03:00:00Z", "2026-07-15T03:00:00Z"),
        ("2026-07-15T03:00:30Z", "2026-07-15T03:00:00Z"),
        ("2026-07-15T03:10:00Z", "2026-07-15T03:00:00Z"),
        ("2026-07-15T03:10:01Z", "2026-07-16T03:00:00Z"),
    ] {
        assert_eq!(reset(text, now, LOCAL), resets, "{now}");
    }
    let past_midnight = reset("Weekly limit reached · resets 11:59pm (UTC)", "2026-07-15T00:03:00Z", LOCAL);
    assert_eq!(past_midnight, "2026-07-14T23:59:00Z");
    let dated = reset("Weekly limit reached · resets Jul 14 at 11:55am (UTC)", NOW, LOCAL);
    assert_eq!(dated, "2026-07-14T11:55:00Z");
    assert_eq!(reset("Usage limit reached|1784030100", NOW, LOCAL), "2026-07-14T11:55:00Z");
}

#[test]
fn the_year_rolls_over() {
    let year_end = "2026-12-30T12:00:00Z";
    for (time, now, resets) in [
        ("Jan 2, 10:59am", year_end, "2027-01-02T10:59:00Z"),
        ("Jan 2, 2027, 10:59am", year_end, "2027-01-02T10:59:00Z"),
        ("Dec 31 at 11pm", year_end, "2026-12-31T23:00:00Z"),
        ("Dec 31 at 11:58pm", "2027-01-01T00:02:00Z", "2026-12-31T23:58:00Z"),
        ("Feb 29 at 6am", "2028-02-27T00:00:00Z", "2028-02-29T06:00:00Z"),
        ("Feb 29 at 6am", "2027-02-27T00:00:00Z", "unknown"),
    ] {
        assert_eq!(
            reset(&format!("You've hit your limit · resets {time} (UTC)"), now, LOCAL),
            resets,
            "{time}"
        );
    }
}

#[test]
fn clocks_go_forward_and_back() {
    let text = "You've hit your limit · resets 2:30am (Europe/Berlin)";
    for (now, resets) in [
        ("2026-03-28T23:00:00Z", "2026-03-29T01:30:00Z"), // 2:30 is skipped: 3:30 summer time
        ("2026-10-24T22:00:00Z", "2026-10-25T00:30:00Z"), // 2:30 comes twice: the first
        ("2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"), // the first is gone: the second, not tomorrow's
        ("2026-10-25T02:00:00Z", "2026-10-26T01:30:00Z"), // both are gone
    ] {
        assert_eq!(reset(text, now, "UTC"), resets, "{now}");
    }
}

#[test]
fn a_formatted_time_reads_back() {
    let formats = [
        "You've hit your limit · resets %-I:%M%P (%Q)",
        "Weekly limit reached ∙ resets %H:%M (%Q)",
        "You've hit your usage limit. Or try again at %-I:%M %p.",
        "You've hit your weekly limit · resets %b %-d at %-I:%M%P (%Q)",
        "You've hit your usage limit. Or try again at %b %-dth, %Y %-I:%M %p.",
    ];
    for name in
        ["UTC", "America/Anchorage", "America/St_Johns", "Etc/GMT+5", "Asia/Kathmandu", "Pacific/Kiritimati"]
    {
        for now in [NOW, "2026-12-31T12:00:00Z", "2028-02-28T23:57:00Z"] {
            let (zone, now): (_, Timestamp) = (zone(name), now.parse().unwrap());
            // Without a date, the last minutes of the next 24 hours are read as the ones just past: GRACE.
            for minutes in (0..24 * 60 - GRACE.as_mins()).step_by(37) {
                let reset = now + SignedDuration::from_mins(minutes);
                for format in formats {
                    let text = reset.to_zoned(zone.clone()).strftime(format).to_string();
                    let notice = read_quota_message(&text, now, &zone);
                    assert_eq!(
                        notice.map(|notice| notice.resets),
                        Some(Reset::At(reset)),
                        "{text} at {now} in {name}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_limit_has_a_readable_name() {
    assert_eq!(QuotaLimit::FiveHour.to_string(), "5-hour limit");
    assert_eq!(model("Opus").to_string(), "Opus limit");
}
