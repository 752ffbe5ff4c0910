//! Phrases that the terminal and the report share.

use autonoe_core::money::Usd;
use autonoe_core::status::Tally;

/// `$0.12` or `unknown`.
pub fn cost(cost: Option<Usd>) -> String {
    cost.map_or_else(|| "unknown".into(), |cost| cost.to_string())
}

/// `7 passed: 5 verified, 2 claimed`, with the number of doubted ones if any.
pub fn assurance(tally: Tally) -> String {
    let counts = format!("{} passed: {} verified, {} claimed", tally.passed, tally.verified, tally.claimed());
    match tally.doubted {
        0 => counts,
        count => format!("{counts} ({count} doubted by the independent review)"),
    }
}
