//! What happens between runs: the user edits, accepts and continues.

use super::honest;
use crate::projects::{ADDING, ADDS, TESTED, TESTS, VERIFIED};
use crate::scenario::{Expected, Scenario};
use crate::turns::{commit, end, pass, session, set, tool, turn, write};

pub fn all() -> Vec<Scenario> {
    let program = [write("calc.sh", ADDS), commit("calc.sh"), pass()];
    let again = || session(&[turn(&[pass()]), end(VERIFIED)]);
    // B is blocked first, so that another run has something to do.
    let waits = |name: &str, spec| Scenario {
        planned: &["A", "B"],
        ..Scenario::new(name, Expected::Verified, spec, session(&[turn(&[set("B", "blocked")]), end(&[])]))
    };
    let built = || session(&[turn(&program), end(VERIFIED)]);
    vec![
        waits("continues in a second run", ADDING).then_run(1, built()),
        waits("continues after the user raised a time limit", ADDING)
            .then("sed -i 's/check A/check A time=9m/' SPEC.md; git commit -qam more")
            .then_run(1, built()),
        honest("is verified, and the user raises a time limit", ADDING, &program)
            .then("sed -i 's/check A/check A time=9m/' SPEC.md; git commit -qam more")
            .then_run(1, again()),
        honest("is verified, and a second run finds nothing to do", ADDING, &program).then_run(1, again()),
        waits("continues after the user accepted a changed check", ADDING)
            .then("sed -i 's/add 10 20/add 15 15/' SPEC.md; git commit -qam more; $AUTONOE checks; $AUTONOE checks accept SPEC.md || $AUTONOE checks accept adding-2")
            .then_run(1, built()),
        waits("continues after the user wrote more tests", TESTED)
            .with_files(TESTS)
            .then("echo '[ \"$(sh calc.sh add 0 0)\" = 0 ]' > tests/zero.test; git add tests; git commit -qm tests")
            .then_run(1, built()),
        waits("continues after the user committed something else", ADDING)
            .then("echo x > other.txt; git add other.txt; git commit -qm other")
            .then_run(1, built()),
        waits("continues in the checkout after a run in a workspace", ADDING).then_run(1, built()),
        honest("is verified, synced, and still verified", ADDING, &program)
            .then_sync(session(&[turn(&[tool("list", "")]), end(&[]), ]))
            .then("$AUTONOE status | grep -q '1 verified'; $AUTONOE verify"),
        honest("is verified, and the evidence reproduces", ADDING, &program)
            .then("$AUTONOE verify; $AUTONOE verify A --json; $AUTONOE report > page; grep -q verified page"),
    ]
}
