//! What this build is: its version, commit, target and features.
//!
//! `cargo xtask dist` provides commit and date; a plain build has neither, so that building never depends on git.

use jiff::civil::Date;
use jiff::{SpanRelativeTo, Unit};

/// Older builds lack fixes that matter, since models, agents and their prices change every month.
const OLD_AFTER_DAYS: i64 = 90;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// As Rust calls it, such as x86_64-unknown-linux-musl; from build.rs.
const TARGET: &str = env!("AUTONOE_BUILD_TARGET");

const COMMIT: Option<&str> = option_env!("AUTONOE_BUILD_COMMIT");

/// The day of the commit, such as 2026-11-16.
const DATE: Option<&str> = option_env!("AUTONOE_BUILD_DATE");

/// The lines of `autonoe --version --verbose`.
pub fn describe() -> String {
    let features = match features() {
        features if features.is_empty() => "none".to_owned(),
        features => features.join(", "),
    };
    format!(
        "autonoe {VERSION}\ncommit: {}\ndate: {}\ntarget: {TARGET}\nfeatures: {features}\n",
        COMMIT.unwrap_or("unknown, built from source"),
        DATE.unwrap_or("unknown"),
    )
}

/// What a plain build leaves out and this one has.
fn features() -> Vec<&'static str> {
    let optional = [("pdf", cfg!(feature = "pdf"))];
    optional.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
}

/// Says that this build is old; `None` if it is not, or if its date is unknown.
pub fn note_about_age(today: Date) -> Option<String> {
    age_note(DATE?, today)
}

fn age_note(date: &str, today: Date) -> Option<String> {
    let built: Date = date.parse().ok()?;
    let span = built.until((Unit::Day, today)).ok()?;
    let days = span.total((Unit::Day, SpanRelativeTo::days_are_24_hours())).ok()? as i64;
    (days > OLD_AFTER_DAYS).then(|| {
        format!(
            "this build is {days} days old ({date}); update it the way you installed it (docs/install.md); \
             it does not update itself"
        )
    })
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::age_note;

    #[test]
    fn a_build_is_old_after_90_days() {
        let today = date(2026, 11, 16);
        assert_eq!(age_note("2026-08-18", today), None, "90 days");
        let note = age_note("2026-08-17", today).expect("91 days");
        assert!(note.starts_with("this build is 91 days old (2026-08-17)"), "{note}");
        assert_eq!(age_note("2027-01-01", today), None, "the clock of this machine is wrong");
        assert_eq!(age_note("yesterday", today), None);
    }
}
