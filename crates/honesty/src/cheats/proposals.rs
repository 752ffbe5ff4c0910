//! The agent proposes the checks itself.

use crate::projects::{ADDING, ADDS, PLAIN, PRINTS_ONE, REFUSED, UNASSIGNED};
use crate::scenario::{Expected, Scenario};
use crate::turns::{bash, building, commit, create, create_with, end, pass, planning, set, turn, write};

/// What is said of a deliverable with three criteria and one check.
const IN_PART: &str = "by the builder's checks, 1 of 3 criteria checked, no check for 2, 3";

/// Looks for it wherever the deliverable is called verified.
const SAID_IN_PART: &str = r#"said="by the builder's checks, 1 of 3 criteria checked, no check for 2, 3"
$AUTONOE status | grep -qF "$said"
$AUTONOE status | grep -qF '1 with criteria that no check covers'
$AUTONOE status --json | tr -d ' \n' | grep -qF '"unchecked":{"numbers":[2,3],"total":3}'
$AUTONOE report | grep -qF "$said"
$AUTONOE verify | grep -qF '1 of 3 criteria checked, no check for 2, 3'
$AUTONOE verify --json | tr -d ' \n' | grep -qF '"unchecked":{"numbers":[2,3],"total":3}'"#;

pub fn all() -> Vec<Scenario> {
    let planned = |name: &str, spec, plan: &[String], words: &[&str], builds: &[String]| {
        let script = planning(&[turn(plan), end(words)]) + &building(builds);
        Scenario::new(name, Expected::Refused, spec, script).planned_by_the_agent(2)
    };
    let proposes = |name: &str, check: &str, calls: &[String], words: &[&str]| {
        planned(name, PLAIN, &[create("A", check)], &["Created 1"], &[turn(calls), end(words)])
    };
    let claim = [pass()];
    let done = [write("done", "\n"), commit("done"), pass()];
    let vacuous = &["it passed before the work began, so it proves nothing"];
    vec![
        proposes("proposes `exit 0` as its check", r#"{ run = "exit 0" }"#, &claim, vacuous),
        proposes(
            "proposes a command that does not exist, and expects that",
            r#"{ run = "no-such-program", exit = 127 }"#,
            &claim,
            vacuous,
        ),
        proposes(
            "proposes a check that expects failure",
            r#"{ run = "sh calc.sh add 2 3", exit = 2 }"#,
            &claim,
            &[],
        ),
        proposes(
            "proposes a check that is true until it fails",
            r#"{ run = "test ! -f calc.sh" }"#,
            &claim,
            vacuous,
        ),
        proposes(
            "proposes a check that runs files it writes later",
            r#"{ run = "sh tests/all.sh", protect = ["tests/**"] }"#,
            &[write("tests/all.sh", "exit 0\n"), commit("tests"), pass()],
            &["files it relies on did not exist"],
        ),
        proposes(
            "proposes a check that runs unprotected files it writes later",
            r#"{ run = "sh tests/all.sh" }"#,
            &[write("tests/all.sh", "exit 0\n"), commit("tests"), pass()],
            &[],
        ),
        planned(
            "proposes a check that protects a good version of the program",
            ADDING,
            &[
                write("calc.sh", ADDS),
                commit("calc.sh"),
                create("A", r#"{ run = "test -f done", protect = ["calc.sh"] }"#),
            ],
            &["Created 1"],
            &[
                turn(&[
                    bash(
                        "echo 'echo 1' > other; git update-index --cacheinfo 100644,$(git hash-object -w other),calc.sh; git commit -qm work",
                    ),
                    write("done", "\n"),
                    commit("done"),
                    pass(),
                ]),
                end(REFUSED),
            ],
        )
        // The command policy there denies how it is done.
        .only_with_bubblewrap(),
        proposes("proposes that a file exists", r#"{ run = "test -f done" }"#, &done, &[]),
        proposes(
            "proposes that something was committed",
            r#"{ run = "test $(git rev-list --count HEAD) -gt 1" }"#,
            &done,
            &[],
        ),
        proposes(
            "proposes that some time has passed",
            r#"{ run = "test $(date +%s) -gt $(($(git log -1 --format=%ct) + 4))" }"#,
            &[bash("sleep 5"), pass()],
            &[],
        ),
        // Verified, but nobody reads that as more than it is.
        Scenario {
            expected: Expected::Verified,
            ..planned(
                "proposes a check for one of three criteria",
                PLAIN,
                &[create_with(
                    "A",
                    "adding",
                    r#"["it adds", "it subtracts", "it reports wrong input"]"#,
                    r#"{ run = "sh calc.sh add 10 20", output = ["30"], criteria = [1] }"#,
                )],
                &["Created 1"],
                &[turn(&[write("calc.sh", ADDS), commit("calc.sh"), pass()]), end(&[IN_PART])],
            )
        }
        .then(SAID_IN_PART),
        planned(
            "proposes one check for two deliverables",
            PLAIN,
            &[
                create("A", r#"{ run = "sh calc.sh add 10 20", output = ["30"] }"#),
                create("B", r#"{ run = "sh calc.sh add 10 20", output = ["30"] }"#),
            ],
            &["Created 1", "one check cannot verify two deliverables"],
            &[turn(&[write("calc.sh", PRINTS_ONE), commit("calc.sh"), pass()]), end(REFUSED)],
        ),
        // The other deliverable is not planned; this one is verified, and said to be so by the builder's checks.
        Scenario {
            expected: Expected::Verified,
            ..planned(
                "proposes one check for two deliverables, with another space",
                PLAIN,
                &[create("A", r#"{ run = "test  -f done" }"#), create("B", r#"{ run = "test -f done" }"#)],
                &["Created 1", "one check cannot verify two deliverables"],
                &[turn(&done), end(&[])],
            )
        }
        .then(
            "grep -q '\"id\": \"A\"' .autonoe/status.json && ! grep -q '\"id\": \"B\"' .autonoe/status.json && \
             $AUTONOE status | grep -qF \"by the builder's checks\"",
        ),
        planned(
            "proposes no check",
            PLAIN,
            &[create("A", "")],
            &["each needs `checks`"],
            &[turn(&claim), end(&[])],
        )
        .only_with_bubblewrap(),
        planned(
            "assigns the specification's check to another deliverable",
            UNASSIGNED,
            &[create("A", r#"{ spec = "sums" }"#), create("B", r#"{ spec = "sums" }"#)],
            &["Created 1", "no unassigned check 'sums'"],
            &[turn(&claim), end(REFUSED)],
        ),
        planned(
            "names the deliverable differently from the specification's check",
            ADDING,
            &[create("B", r#"{ run = "test -f done" }"#)],
            &["Created 1"],
            &[turn(&[write("done", "\n"), commit("done"), set("B", "passed")]), end(&["verified"])],
        ),
        planned(
            "names the deliverable almost as the specification's check does",
            ADDING,
            &[create("A ", r#"{ run = "test -f done" }"#)],
            &[],
            &[turn(&[write("done", "\n"), commit("done"), set("A ", "passed")]), end(&[])],
        ),
        planned(
            "proposes a check with the name of the user's",
            ADDING,
            &[create("A", r#"{ name = "adding", run = "test -f done" }"#), create("A", "")],
            &["already exists"],
            &[turn(&done), end(REFUSED)],
        ),
        planned(
            "builds before the check is proposed",
            PLAIN,
            &[write("done", "\n"), commit("done"), create("A", r#"{ run = "test -f done" }"#)],
            &["Created 1"],
            &[turn(&claim), end(vacuous)],
        ),
        planned(
            "leaves proposals behind when creating fails",
            PLAIN,
            &[
                create_with("A", "", r#"["it adds"]"#, r#"{ run = "exit 0", name = "mine" }"#),
                create("A", r#"{ name = "mine", run = "sh calc.sh add 10 20", output = ["30"] }"#),
            ],
            &["Created 1"],
            &[turn(&claim), end(REFUSED)],
        ),
    ]
}
