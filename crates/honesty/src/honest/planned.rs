//! The agent lists the deliverables and proposes checks.

use crate::projects::{ADDING, ADDS, PLAIN, UNASSIGNED, VERIFIED};
use crate::scenario::{Expected, Scenario};
use crate::turns::{building, commit, create, create_with, end, pass, planning, session, set, turn, write};

pub fn all() -> Vec<Scenario> {
    let sum = r#"{ run = "sh calc.sh add 10 20", output = ["30"], criteria = [1] }"#;
    let builds = || building(&[turn(&[write("calc.sh", ADDS), commit("calc.sh"), pass()]), end(VERIFIED)]);
    let plans = |name: &str, spec, calls: &[String]| {
        let script = planning(&[turn(calls), end(&["Created 1"])]) + &builds();
        Scenario::new(name, Expected::Verified, spec, script).planned_by_the_agent(2)
    };
    let tests = |test: &str| {
        [
            write("tests/all.sh", test),
            commit("tests"),
            create("A", r#"{ run = "sh tests/all.sh", protect = ["tests/**"] }"#),
        ]
    };
    vec![
        plans("proposes a check that fails first, then passes it", PLAIN, &[create("A", sum)]),
        plans(
            "proposes a check that runs its own tests",
            PLAIN,
            &tests("[ \"$(sh calc.sh add 10 20)\" = 30 ]\n"),
        ),
        plans(
            "takes over a check of the specification",
            UNASSIGNED,
            &[create("A", r#"{ spec = "sums", criteria = [1] }"#)],
        ),
        plans("names the deliverable as the specification's check does", ADDING, &[create("A", "")]),
        plans("adds a check of its own beside the user's", ADDING, &[create("A", sum)]),
        plans(
            "repairs a plan that was refused",
            PLAIN,
            &[create("A", ""), create_with("A", "", r#"["x"]"#, sum), create("A", sum)],
        )
        .only_with_bubblewrap(),
        plans(
            "repairs a plan that was refused for its check",
            PLAIN,
            &[
                create("A", r#"{ run = " ", name = "sum" }"#),
                create("A", r#"{ run = "sh calc.sh add 10 20", output = ["30"], name = "sum" }"#),
            ],
        ),
        // Two deliverables, each with a check that is almost the other's.
        Scenario::new(
            "proposes similar checks for two deliverables",
            Expected::Verified,
            PLAIN,
            planning(&[
                turn(&[create("A", sum), create("B", r#"{ run = "sh calc.sh add 2 3", output = ["5"] }"#)]),
                end(&["Created 1"]),
            ]) + &session(&[
                turn(&[write("calc.sh", ADDS), commit("calc.sh"), pass(), set("B", "passed")]),
                end(VERIFIED),
            ]),
        )
        .planned_by_the_agent(2),
    ]
}
