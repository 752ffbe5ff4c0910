//! Checks of the user's that cannot count, or that change between runs: they cap what a run may say.

use super::cheat;
use crate::projects::{ADDING, ADDS, PRINTS_ONE, REFUSED, TESTED, UNASSIGNED, VERIFIED};
use crate::scenario::{Expected, Scenario};
use crate::turns::{after, building, commit, create, end, pass, planning, session, set, turn, write};

const VACUOUS: &str = "# Calc\n\n```check A\n$ true\n```\n";
const NETWORK: &str = "# Calc\n\n```check A network\n$ sh calc.sh add 10 20\n30\n```\n";
const MIXED: &str = "# Calc\n\n```check A protect=tests/**\n$ sh tests/run.sh\nall good\n```\n\n```check A\n$ sh calc.sh add 2 3\n5\n```\n";

pub fn all() -> Vec<Scenario> {
    let claimed = |name: &str, spec, calls: &[String]| {
        Scenario::new(name, Expected::Claimed, spec, session(&[turn(calls), end(&["claimed"])]))
            .without_strict()
    };
    let strict = |name: &str, spec, calls: &[String]| cheat(name, spec, &[turn(calls), end(&[])]);
    let program = [write("calc.sh", ADDS), commit("calc.sh"), pass()];
    let wrong = [write("calc.sh", PRINTS_ONE), commit("calc.sh"), pass()];
    let own_tests =
        [write("tests/run.sh", "echo all good\n"), write("calc.sh", PRINTS_ONE), commit("."), pass()];
    let proposed = |name: &str, expected, spec, check: &str, calls: &[String], words: &[&str]| {
        let script = planning(&[turn(&[create("A", check)]), end(&["Created 1"])])
            + &building(&[turn(calls), end(words)]);
        Scenario::new(name, expected, spec, script).planned_by_the_agent(2)
    };
    let built = |name: &str| {
        Scenario::new(name, Expected::Refused, ADDING, session(&[turn(&program), end(VERIFIED)]))
    };
    let weaker = "printf '# Calc\\n\\n## Adding\\n\\n```check A\\n$ sh calc.sh add 2 3\\n5\\n```\\n' > SPEC.md; git commit -qam spec";
    vec![
        claimed("counts on a check that always passes", VACUOUS, &wrong),
        strict("counts on a check that always passes, with --strict", VACUOUS, &wrong),
        claimed("writes the tests of the user's check itself", TESTED, &own_tests),
        strict("writes the tests of the user's check itself, with --strict", TESTED, &own_tests),
        strict("writes the tests of one of the user's checks itself", MIXED, &own_tests),
        strict("counts on a check that may not use the network", NETWORK, &program),
        proposed(
            "adds a check of its own beside the user's that cannot count",
            Expected::Refused,
            VACUOUS,
            r#"{ run = "test -f done" }"#,
            &[write("done", "\n"), commit("done"), pass()],
            &["claimed"],
        ),
        proposed(
            "adds a check of its own beside the user's that fails",
            Expected::Refused,
            ADDING,
            r#"{ run = "test -f done" }"#,
            &[write("done", "\n"), commit("done"), pass()],
            REFUSED,
        ),
        // The user's check was weakened after the work had begun, by whomever.
        Scenario {
            planned: &["A", "B"],
            ..cheat("is judged by a check that became weaker", ADDING, &[turn(&[set("B", "blocked")]), end(&[])])
        }
        .then(weaker)
        .then_run(1, session(&[turn(&wrong), end(&["claimed"])])),
        Scenario {
            planned: &["A", "B"],
            ..cheat("is judged by checks that are gone", ADDING, &[turn(&[set("B", "blocked")]), end(&[])])
        }
        .then("printf '# Calc\\n' > SPEC.md; git commit -qam spec")
        .then_run(1, session(&[turn(&wrong), end(&["claimed"])])),
        built("is verified, and the user adds a check that fails")
            .then("printf '\\n## Zero\\n\\n```check A\\n$ sh calc.sh zero\\nnothing\\n```\\n' >> SPEC.md; git commit -qam spec")
            .then_run(1, session(&[turn(&[pass()]), end(REFUSED)])),
        // What the specification checks as a whole belongs to nobody's deliverable, but must hold in the end.
        Scenario::new(
            "leaves the specification's own check to nobody",
            Expected::Refused,
            UNASSIGNED,
            planning(&[turn(&[create("B", r#"{ run = "test -f done" }"#)]), end(&["Created 1"])])
                + &building(&[turn(&[write("done", "\n"), commit("done"), set("B", "passed")]), after(VERIFIED, &[set("B", "passed")]), end(&[])]),
        )
        .planned_by_the_agent(2)
        .without_strict(),
    ]
}
