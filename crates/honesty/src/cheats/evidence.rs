//! Evidence that does not fit what was verified: `autonoe verify` must say so.

use crate::projects::{ADDING, ADDS, PRINTS_ONE, REFUSED, VERIFIED};
use crate::scenario::{Expected, Scenario};
use crate::turns::{commit, end, pass, session, turn, write};

/// What the user finds after a verified run; the script fails if `autonoe verify` accepts it.
const ROWS: &[(&str, &str)] = &[
    (
        "has evidence without checks",
        r#"sed -i 's/"run": "sh calc.sh add 10 20"/"run": "true"/; s/"checks": \[/"checks": [], "was": [/' .autonoe/evidence/A.json"#,
    ),
    (
        "has evidence of another command",
        r#"sed -i 's/sh calc.sh add 10 20/true/; s/"30"//' .autonoe/evidence/A.json"#,
    ),
    (
        "has evidence of another commit",
        r#"git commit -q --allow-empty -m other; sed -i "s/\"commit\": \"[0-9a-f]*\"/\"commit\": \"$(git rev-parse HEAD~2)\"/" .autonoe/evidence/A.json"#,
    ),
    (
        "has evidence of a commit that does not exist",
        r#"sed -i 's/"commit": "....../"commit": "000000/' .autonoe/evidence/A.json"#,
    ),
    ("has evidence that is not JSON", "echo x > .autonoe/evidence/A.json"),
    (
        "has evidence that is a link",
        "mv .autonoe/evidence/A.json x; ln -s /dev/zero .autonoe/evidence/A.json",
    ),
    (
        "has evidence of an option instead of a commit",
        r#"sed -i 's/"commit": "[0-9a-f]*"/"commit": "--output=x"/' .autonoe/evidence/A.json"#,
    ),
];

pub fn all() -> Vec<Scenario> {
    let build = || session(&[turn(&[write("calc.sh", ADDS), commit("calc.sh"), pass()]), end(VERIFIED)]);
    let forged = |(name, script): &(&str, &'static str)| {
        Scenario::new(*name, Expected::Verified, ADDING, build()).then(script).then("! $AUTONOE verify A")
    };
    let no_evidence = "! test -f .autonoe/evidence/A.json";
    let failing = session(&[turn(&[write("calc.sh", PRINTS_ONE), commit("calc.sh"), pass()]), end(REFUSED)]);
    let mut all: Vec<Scenario> = ROWS.iter().map(forged).collect();
    all.push(
        Scenario::new("fails, so that there is no evidence", Expected::Refused, ADDING, failing)
            .then(no_evidence),
    );
    all.push(
        Scenario::new("is verified, and the user breaks it", Expected::Verified, ADDING, build())
            .then("echo echo 5 > calc.sh; git commit -qam broken; $AUTONOE verify A"),
    );
    all
}
