//! Vendors' quota messages: which limit was hit and when it resets.
//!
//! This is the only module where a vendor's prose decides control flow. It is pure: the caller supplies the
//! time and the zone. Where a vendor also sends a structured signal, the adapter reads
//! that first. In doubt a reset is [`Reset::Unknown`]: another attempt within the hour is cheap, while a
//! wrong time of day costs up to a day.

use std::fmt;
use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use regex::{Captures, Regex};

/// A reset this little in the past means "just now"; beyond it, a time of day means tomorrow.
pub const GRACE: SignedDuration = SignedDuration::from_mins(10);
/// The longest quota window is a week. A reset farther ahead than this and [`GRACE`] is misread.
pub const FARTHEST_RESET: SignedDuration = SignedDuration::from_hours(8 * 24);
/// A longer text is an agent's reply; the longest known message has under 200 characters.
pub const MESSAGE_MAX_CHARS: usize = 400;

/// Content of a vendor's quota message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaNotice {
    pub limit: QuotaLimit,
    pub resets: Reset,
}

/// The limit that was hit, as far as the message names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuotaLimit {
    /// "session limit": Claude's five hours, in newer builds.
    Session,
    /// "5-hour limit".
    FiveHour,
    /// "weekly limit", over all models.
    Weekly,
    /// One model's limit, by the vendor's name for it: "Opus", "GPT-5.3-Codex-Spark".
    Model(String),
    /// "usage limit".
    Usage,
    /// Paid usage beyond the plan: "extra usage", "usage credits", "spend limit".
    ExtraUsage,
    /// "limit", and nothing more.
    Unspecified,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// At this instant, which may lie up to [`GRACE`] in the past.
    At(Timestamp),
    /// No time was given, or it cannot be read with certainty.
    Unknown,
}

impl Reset {
    pub fn at(self) -> Option<Timestamp> {
        match self {
            Self::At(instant) => Some(instant),
            Self::Unknown => None,
        }
    }
}

impl fmt::Display for QuotaLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session => f.write_str("session limit"),
            Self::FiveHour => f.write_str("5-hour limit"),
            Self::Weekly => f.write_str("weekly limit"),
            Self::Model(name) => write!(f, "{name} limit"),
            Self::Usage => f.write_str("usage limit"),
            Self::ExtraUsage => f.write_str("extra usage limit"),
            Self::Unspecified => f.write_str("limit"),
        }
    }
}

/// Reads a vendor's quota message. `None` when the text is not one.
///
/// `local` is the zone of the process that wrote the message, for times that name none. A text is
/// a quota message when
///
/// - it has at most [`MESSAGE_MAX_CHARS`] characters: a longer one is an answer about quotas;
/// - a vendor's phrase starts a line, after at most their bullet, `API Error:` or `Internal error:`, and ends as
///   theirs do, at a separator, a full stop or the reset: "Weekly limit reached in test 2" is not
///   one;
/// - the limit is one that vendors are known to name, or the text also speaks of a reset. A rate,
///   context, token, request or turn limit is never one.
pub fn read_quota_message(text: &str, now: Timestamp, local: &TimeZone) -> Option<QuotaNotice> {
    let text = text.trim().replace('’', "'");
    if text.chars().count() > MESSAGE_MAX_CHARS {
        return None;
    }
    let phrase = PHRASE.captures(&text)?;
    let limit = limit(&phrase)?;
    let certain = match &limit {
        QuotaLimit::Model(name) => MODEL_FAMILY.is_match(name),
        QuotaLimit::Unspecified => phrase.name("reached").is_none(),
        QuotaLimit::Session
        | QuotaLimit::FiveHour
        | QuotaLimit::Weekly
        | QuotaLimit::Usage
        | QuotaLimit::ExtraUsage => true,
    };
    (certain || RESET_WORD.is_match(&text)).then(|| QuotaNotice { limit, resets: resets(&text, now, local) })
}

/// All groups except `of` (as in "limit for …") name the limit.
static PHRASE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xim) ^ [\s⎿■🖐]*
        (?: (?:api\x20|internal\x20|claude\x20code\x20returned\x20an\x20)? error (?:\x20result|\x20\d+)? : \s* )?
        (?: you(?:'|\x20ha)ve \x20 (?:hit|reached) \x20 your \x20
            (?<yours> (?:[\w.'-]+\x20+){0,4} ) limit
          | (?<reached> (?:[\w.'-]+\x20+){0,4} ) limit \x20 (?:has\x20been\x20)? reached
          | your \x20 (?<will_reset> (?:[\w.'-]+\x20+){0,2} ) limits? \x20 will \x20 reset
          | you're \x20 out \x20 of \x20 (?<out_of> extra\x20usage | usage\x20credits )
        )
        (?: \x20 for \x20 (?<of> \S+? (?:\x20\S+?){0,2} ) )?
        (?: \s*[·∙•|–—] | \s-\s | [.,;:!](?:\s|$) | \s+(?:resets?|try|at)\b | \s*$ )",
    )
});
static MODEL_FAMILY: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(?:opus|sonnet|haiku|fable|gpt)\b"));
static RESET_WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(?:resets?|try again)\b"));

/// Words before "limit" that do not distinguish limits.
const FILLERS: [&str; 6] = ["the", "claude", "ai", "your", "org's", "monthly"];
/// Limits of a request or a session, which no quota reset lifts.
const NOT_QUOTAS: [&str; 8] = ["rate", "context", "token", "tokens", "request", "requests", "turn", "turns"];

fn limit(phrase: &Captures<'_>) -> Option<QuotaLimit> {
    let of = phrase.name("of").map(|of| of.as_str());
    let name = ["yours", "reached", "will_reset", "out_of"]
        .into_iter()
        .find_map(|group| phrase.name(group))?
        .as_str();
    match (limit_named(name)?, of) {
        (QuotaLimit::Usage | QuotaLimit::Unspecified, Some(of)) => limit_named(of),
        (limit, _) => Some(limit),
    }
}

fn limit_named(name: &str) -> Option<QuotaLimit> {
    let is_in = |list: &[&str], word: &str| list.iter().any(|w| w.eq_ignore_ascii_case(word));
    let mut words: Vec<&str> = name.split_whitespace().filter(|word| !is_in(&FILLERS, word)).collect();
    if words.iter().any(|word| is_in(&NOT_QUOTAS, word)) {
        return None;
    }
    Some(match words.join(" ").to_lowercase().as_str() {
        "" => QuotaLimit::Unspecified,
        "session" => QuotaLimit::Session,
        "5-hour" | "5 hour" | "five-hour" | "five hour" => QuotaLimit::FiveHour,
        "weekly" => QuotaLimit::Weekly,
        "usage" => QuotaLimit::Usage,
        "extra usage" | "usage credits" | "usage credit" | "spend" => QuotaLimit::ExtraUsage,
        _ => {
            words.pop_if(|last| last.eq_ignore_ascii_case("weekly"));
            QuotaLimit::Model(words.join(" "))
        }
    })
}

/// `limit reached|1749924000`: seconds since 1970, or milliseconds.
static EPOCH: LazyLock<Regex> = LazyLock::new(|| pattern(r"\|\s*(?:(?<seconds>\d{10})|(?<millis>\d{13}))\b"));
/// `try again in 2 days 5 hours 1 minute`, `resets in 1d 5h`.
static RELATIVE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi) \b (?:resets? | try\x20again) \s+ in
        (?: \s+ (?<days>\d{1,3}) \s* d(?:ays?)? \b ,? )?
        (?: \s+ (?:and\s+)? (?<hours>\d{1,3}) \s* h(?:ours?|rs?)? \b ,? )?
        (?: \s+ (?:and\s+)? (?<minutes>\d{1,3}) \s* m(?:in(?:ute)?s?)? \b ,? )?
        (?: \s+ (?:and\s+)? (?<seconds>\d{1,3}) \s* s(?:ec(?:ond)?s?)? \b )?",
    )
});
/// `resets 6:30pm (Asia/Tokyo)`, `try again at Mar 10th, 2026 3:39 AM`, `reset at 18:00 UTC`.
static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi) \b (?:resets? | try\x20again) (?:\s+(?:at|on|after))? :? \s+
        (?: (?<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \s+
            (?<day>\d{1,2})(?:st|nd|rd|th)? (?: ,?\s+ (?<year>20\d\d) )? (?: , | \s+at )* \s+ )?
        (?<hour>\d{1,2}) (?: :(?<minute>\d\d) (?: :\d\d )? )? (?: \s*(?<half>[ap])\.?m\b\.? )?
        (?: \s*\((?<zone>[^)]*)\) | \s+(?<bare_zone>(?-i:[A-Z]{2,5}))\b | [\s.,;·∙•] | $ )",
    )
});

fn resets(text: &str, now: Timestamp, local: &TimeZone) -> Reset {
    epoch(text)
        .or_else(|| relative(text, now))
        .filter(|reset| is_plausible(*reset, now))
        .or_else(|| clock(text, now, local))
        .map_or(Reset::Unknown, Reset::At)
}

fn is_plausible(reset: Timestamp, now: Timestamp) -> bool {
    let ahead = reset.duration_since(now);
    -GRACE <= ahead && ahead <= FARTHEST_RESET + GRACE
}

fn epoch(text: &str) -> Option<Timestamp> {
    let found = EPOCH.captures(text)?;
    match number(&found, "seconds") {
        Some(seconds) => Timestamp::from_second(seconds).ok(),
        None => Timestamp::from_millisecond(number(&found, "millis")?).ok(),
    }
}

fn relative(text: &str, now: Timestamp) -> Option<Timestamp> {
    let found = RELATIVE.captures(text)?;
    let parts = [("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1)]
        .map(|(unit, seconds)| Some(number::<i64>(&found, unit)? * seconds));
    let seconds = parts.into_iter().flatten().reduce(|sum, part| sum + part)?;
    now.checked_add(SignedDuration::from_secs(seconds)).ok()
}

/// The first plausible instant at which a clock in the named zone shows the time in the message.
///
/// A zone that cannot be read (`Etc/Unknown`, `PT`) gives `None`; assuming the local one would be a guess.
fn clock(text: &str, now: Timestamp, local: &TimeZone) -> Option<Timestamp> {
    let found = CLOCK.captures(text)?;
    let time = time_of_day(&found)?;
    let zone = match found.name("zone").or_else(|| found.name("bare_zone")) {
        Some(name) => TimeZone::get(name.as_str().trim()).ok().filter(|zone| !zone.is_unknown())?,
        None => local.clone(),
    };
    let today = now.to_zoned(zone.clone()).date();
    let dates = match found.name("month") {
        Some(_) => dates_named(&found, today),
        None => vec![today.yesterday().ok()?, today, today.tomorrow().ok()?],
    };
    dates
        .into_iter()
        .flat_map(|date| instants(date.to_datetime(time), &zone))
        .find(|reset| is_plausible(*reset, now))
}

/// `12am` is 0 and `12pm` is 12; `13pm`, `0am`, a lone `6` and minute 75 are not times.
fn time_of_day(found: &Captures<'_>) -> Option<Time> {
    let hour: i8 = number(found, "hour")?;
    let minute: Option<i8> = number(found, "minute");
    let hour = match (found.name("half").map(|half| half.as_str()), hour) {
        (Some("a" | "A"), 1..=12) => hour % 12,
        (Some(_), 1..=12) => hour % 12 + 12,
        (None, 0..=23) if minute.is_some() => hour,
        _ => return None,
    };
    Time::new(hour, minute.unwrap_or(0), 0, 0).ok()
}

/// The date as written; without a year, that day in last, this and next year.
fn dates_named(found: &Captures<'_>, today: Date) -> Vec<Date> {
    let years = match number(found, "year") {
        Some(year) => year..=year,
        None => today.year() - 1..=today.year() + 1,
    };
    let written = |year| format!("{} {} {year}", &found["month"], &found["day"]);
    years.filter_map(|year| Date::strptime("%b %d %Y", written(year)).ok()).collect()
}

/// A time skipped by daylight saving is read as if it had not been skipped. A repeated time yields both
/// instants, so that the second is not mistaken for the next day's.
fn instants(when: DateTime, zone: &TimeZone) -> impl Iterator<Item = Timestamp> + use<> {
    let reading = zone.to_ambiguous_timestamp(when);
    [reading.compatible(), reading.later()].into_iter().flatten()
}

fn number<N: std::str::FromStr>(found: &Captures<'_>, group: &str) -> Option<N> {
    found.name(group)?.as_str().parse().ok()
}

#[expect(clippy::expect_used, reason = "constants, all used in tests")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

#[cfg(test)]
mod tests;
