//! Phrases that the terminal and the report share.

use autonoe_core::money::Usd;
use autonoe_core::status::Tally;

/// `$0.12` or `unknown`.
pub fn cost(cost: Option<Usd>) -> String {
    cost.map_or_else(|| "unknown".into(), |cost| cost.to_string())
}

/// `7 passed: 5 verified, 2 claimed`, with the numbers that say less than they seem to.
pub fn assurance(tally: Tally) -> String {
    let by_builder = match tally.verified_by_builder {
        0 => String::new(),
        count if count == tally.verified => " by the builder's checks".to_owned(),
        count => format!(" ({count} by the builder's checks)"),
    };
    let partially = match tally.verified_partially {
        0 => "",
        _ => " on a partial sandbox layer",
    };
    let by_builder = format!("{by_builder}{partially}");
    let Tally { passed, verified, .. } = tally;
    let counts = format!("{passed} passed: {verified} verified{by_builder}, {} claimed", tally.claimed());
    match tally.doubted {
        0 => counts,
        count => format!("{counts} ({count} doubted by the independent review)"),
    }
}
