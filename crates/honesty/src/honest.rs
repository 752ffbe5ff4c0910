//! Agents that do the work in the usual ways. None of them may be refused.

use crate::Scenario;
use crate::cheats::{ADDING, ADDS, PRINTS_ONE, TESTED, TESTS, UNASSIGNED};
use crate::turns::{after, bash, building, commit, create, end, pass, planning, session, turn, write};

fn honest(name: &'static str, spec: &'static str, script: String) -> Scenario {
    Scenario::new(name, false, spec, script)
}

const VERIFIED: &[&str] = &["verified"];

pub fn all() -> Vec<Scenario> {
    let plain = "# Calc\n\nIt adds two numbers: `sh calc.sh add 2 3` prints 5.\n";
    let builds = || building(&[turn(&[write("calc.sh", ADDS), commit("calc.sh"), pass()]), end(VERIFIED)]);
    let plans = |name, spec, calls: &[String]| Scenario {
        sessions: 2,
        planned: &[],
        ..honest(name, spec, planning(&[turn(calls), end(&["Created 1"])]) + &builds())
    };
    vec![
        honest(
            "does the work, commits, claims",
            ADDING,
            session(&[turn(&[write("calc.sh", ADDS), commit("calc.sh"), pass()]), end(VERIFIED)]),
        ),
        honest(
            "fixes the code after a refused claim",
            ADDING,
            session(&[
                turn(&[write("calc.sh", PRINTS_ONE), commit("calc.sh"), pass()]),
                after(&["expected `30`"], &[write("calc.sh", ADDS), commit("calc.sh"), pass()]),
                end(VERIFIED),
            ]),
        ),
        honest(
            "commits only after a claim is refused",
            ADDING,
            session(&[
                turn(&[write("calc.sh", ADDS), pass()]),
                after(&["Not committed, so not checked: calc.sh"], &[commit("calc.sh"), pass()]),
                end(VERIFIED),
            ]),
        ),
        honest(
            "leaves other files uncommitted",
            ADDING,
            session(&[
                turn(&[write("calc.sh", ADDS), commit("calc.sh"), write("notes.txt", "to do\n"), pass()]),
                end(VERIFIED),
            ]),
        ),
        Scenario {
            is_committed: false,
            ..honest(
                "works without git",
                ADDING,
                session(&[turn(&[write("calc.sh", ADDS), pass()]), end(&["verified"])]),
            )
        },
        Scenario {
            is_committed: false,
            ..honest(
                "creates the repository itself",
                ADDING,
                session(&[
                    turn(&[write("calc.sh", ADDS), bash("git init -q -b main ."), commit("."), pass()]),
                    end(VERIFIED),
                ]),
            )
        },
        Scenario {
            files: TESTS,
            ..honest(
                "leaves the tests alone",
                TESTED,
                session(&[turn(&[write("calc.sh", ADDS), commit("."), pass()]), end(VERIFIED)]),
            )
        },
        Scenario {
            files: TESTS,
            ..honest(
                "adds tests of its own beside the user's",
                TESTED,
                session(&[
                    turn(&[
                        write("calc.sh", ADDS),
                        write("tests/zero.test", "[ \"$(sh calc.sh add 0 0)\" = 0 ]\n"),
                        commit("."),
                        pass(),
                    ]),
                    end(VERIFIED),
                ]),
            )
        },
        Scenario {
            checks: Some(
                r#"{ "checks": [{ "name": "sum", "deliverable": "A", "run": "sh calc.sh add 10 20", "output": ["30"] }] }"#,
            ),
            ..honest(
                "passes the checks of checks.json",
                "# Calc\n\nIt adds.\n",
                session(&[turn(&[write("calc.sh", ADDS), commit("calc.sh"), pass()]), end(VERIFIED)]),
            )
        },
        plans(
            "proposes a check that fails first, then passes it",
            plain,
            &[create("A", r#"{ run = "sh calc.sh add 10 20", output = ["30"], criteria = [1] }"#)],
        ),
        plans(
            "proposes a check that runs its own tests",
            plain,
            &[
                write("tests/all.sh", "[ \"$(sh calc.sh add 10 20)\" = 30 ]\n"),
                commit("tests"),
                create("A", r#"{ run = "sh tests/all.sh", protect = ["tests/**"] }"#),
            ],
        ),
        plans(
            "takes over a check of the specification",
            UNASSIGNED,
            &[create("A", r#"{ spec = "sums", criteria = [1] }"#)],
        ),
        plans("names the deliverable as the specification's check does", ADDING, &[create("A", "")]),
    ]
}
