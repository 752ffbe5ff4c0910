//! Phrases that the terminal and the report share.

use autonoe_core::money::Usd;
use autonoe_core::status::Tally;

/// `$0.12` or `unknown`.
pub fn cost(cost: Option<Usd>) -> String {
    cost.map_or_else(|| "unknown".into(), |cost| cost.to_string())
}

/// `7 passed: 5 verified (2 by the builder's checks), 2 claimed`, with the numbers that say less than they seem to.
pub fn assurance(tally: Tally) -> String {
    let Tally { passed, verified, .. } = tally;
    let of_all = [
        (tally.verified_partially, "on a partial sandbox layer"),
        (tally.verified_by_builder, "by the builder's checks"),
    ];
    let (of_all, of_some): (Vec<_>, Vec<_>) =
        of_all.into_iter().filter(|(count, _)| *count > 0).partition(|(count, _)| *count == verified);
    let of_all: String = of_all.iter().map(|(_, words)| format!(" {words}")).collect();
    let unchecked = (tally.with_unchecked_criteria, "with criteria that no check covers");
    let of_some = of_some.into_iter().chain((unchecked.0 > 0).then_some(unchecked));
    let of_some: Vec<String> = of_some.map(|(count, words)| format!("{count} {words}")).collect();
    let of_some = if of_some.is_empty() { String::new() } else { format!(" ({})", of_some.join(", ")) };
    let counts =
        format!("{passed} passed: {verified} verified{of_all}{of_some}, {} claimed", tally.claimed());
    match tally.doubted {
        0 => counts,
        count => format!("{counts} ({count} doubted by the independent review)"),
    }
}

#[cfg(test)]
mod tests {
    use autonoe_core::status::Tally;

    use super::assurance;

    #[test]
    fn every_combination_of_counts_reads_well() {
        let plain = Tally { total: 7, passed: 7, verified: 5, ..Tally::default() };
        for (by_builder, partially, in_part, words) in [
            (0, 0, 0, "5 verified, 2 claimed"),
            (5, 0, 0, "5 verified by the builder's checks, 2 claimed"),
            (2, 0, 0, "5 verified (2 by the builder's checks), 2 claimed"),
            (0, 5, 0, "5 verified on a partial sandbox layer, 2 claimed"),
            (5, 5, 0, "5 verified on a partial sandbox layer by the builder's checks, 2 claimed"),
            (2, 5, 0, "5 verified on a partial sandbox layer (2 by the builder's checks), 2 claimed"),
            (5, 3, 0, "5 verified by the builder's checks (3 on a partial sandbox layer), 2 claimed"),
            (
                2,
                3,
                1,
                "5 verified (3 on a partial sandbox layer, 2 by the builder's checks, 1 with criteria that no check covers), 2 claimed",
            ),
            (
                5,
                5,
                5,
                "5 verified on a partial sandbox layer by the builder's checks (5 with criteria that no check covers), 2 claimed",
            ),
        ] {
            let tally = Tally {
                verified_by_builder: by_builder,
                verified_partially: partially,
                with_unchecked_criteria: in_part,
                ..plain
            };
            assert_eq!(assurance(tally), format!("7 passed: {words}"));
        }
        let doubted = Tally { doubted: 1, ..plain };
        assert_eq!(
            assurance(doubted),
            "7 passed: 5 verified, 2 claimed (1 doubted by the independent review)"
        );
    }
}
