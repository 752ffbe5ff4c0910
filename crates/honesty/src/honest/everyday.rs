//! One session in an ordinary project.

use super::honest;
use crate::projects::{
    ADDING, ADDS, CHECKS, Files, NO_REPOSITORY, PLAIN, PRINTS_ONE, TESTED, TESTS, VERIFIED,
};
use crate::scenario::{Expected, Scenario};
use crate::turns::{after, bash, commit, end, pass, session, trick, turn, write};

/// A check that protects a file of data.
const WITH_DATA: &str =
    "# Calc\n\n```check A protect=data/sums.csv\n$ sh calc.sh $(cat data/sums.csv)\n30\n```\n";
const DATA: Files = &[("data/sums.csv", "add 10 20\n")];

pub fn all() -> Vec<Scenario> {
    let program = [write("calc.sh", ADDS), commit("calc.sh"), pass()];
    let turns =
        |name: &str, turns: &[String]| Scenario::new(name, Expected::Verified, ADDING, session(turns));
    vec![
        honest("does the work, commits, claims", ADDING, &program),
        honest("does the work in the checkout", ADDING, &program).in_place(),
        honest("does the work without --strict", ADDING, &program).without_strict(),
        honest("does the work, and it lands in the end", ADDING, &program).options(&["--land", "end"]).then(
            "sh calc.sh add 10 20 | grep -qx 30; $AUTONOE verify A; $AUTONOE status | grep -q '1 verified'",
        ),
        turns(
            "fixes the code after a refused claim",
            &[
                turn(&[write("calc.sh", PRINTS_ONE), commit("calc.sh"), pass()]),
                after(&["expected `30`"], &[write("calc.sh", ADDS), commit("calc.sh"), pass()]),
                end(VERIFIED),
            ],
        ),
        turns(
            "commits only after a claim is refused",
            &[
                turn(&[write("calc.sh", ADDS), pass()]),
                after(&["Not committed, so not checked: calc.sh"], &[commit("calc.sh"), pass()]),
                end(VERIFIED),
            ],
        ),
        turns(
            "claims, improves the code, and claims again",
            &[
                turn(&program),
                after(VERIFIED, &[write("calc.sh", "echo \"$(($2 + $3))\"\n"), commit("calc.sh"), pass()]),
                end(VERIFIED),
            ],
        ),
        turns(
            "improves the code after its claim",
            &[turn(&program), after(VERIFIED, &[write("notes.md", "x\n"), commit("notes.md")]), end(&[])],
        ),
        honest(
            "leaves other files uncommitted",
            ADDING,
            &[write("calc.sh", ADDS), commit("calc.sh"), write("notes.txt", "to do\n"), pass()],
        ),
        honest(
            "moves a directory and leaves a link",
            ADDING,
            &trick("mkdir old; echo x > old/a; git add .; git commit -qm old; mkdir new; git mv old new/old; ln -s new/old old; echo 'echo $(($2 + $3))' > calc.sh; work").into_iter().chain([pass()]).collect::<Vec<_>>(),
        ),
        honest("works without git", ADDING, &[write("calc.sh", ADDS), pass()])
            .in_repository(NO_REPOSITORY)
            .in_place(),
        honest(
            "ignores its program without git",
            ADDING,
            &[write("calc.sh", ADDS), write(".gitignore", "calc.sh\n"), pass()],
        )
        .in_repository(NO_REPOSITORY)
        .in_place(),
        honest(
            "works without git, in a workspace",
            ADDING,
            &[write("calc.sh", ADDS), commit("calc.sh"), pass()],
        )
        .in_repository(NO_REPOSITORY),
        honest(
            "creates the repository itself",
            ADDING,
            &[write("calc.sh", ADDS), bash("git init -q -b main ."), commit("."), pass()],
        )
        .in_repository(NO_REPOSITORY)
        .in_place(),
        Scenario { checks: Some(CHECKS), ..honest("passes the checks of checks.json", PLAIN, &program) },
        honest("leaves the tests alone", TESTED, &[write("calc.sh", ADDS), commit("."), pass()])
            .with_files(TESTS),
        honest(
            "names its files like tests and settings",
            TESTED,
            &[
                write("calc.sh", ". app/test_add.py\n"),
                write("app/test_add.py", ADDS),
                write("templates/pytest.ini", "[pytest]\n"),
                write(".env", "A=1\n"),
                commit("."),
                pass(),
            ],
        )
        .with_files(TESTS),
        honest(
            "writes a program with the name of protected data",
            WITH_DATA,
            &[write("data/sums.sh", ADDS), write("calc.sh", ". data/sums.sh\n"), commit("."), pass()],
        )
        .with_files(DATA),
        honest(
            "adds tests of its own beside the user's",
            TESTED,
            &[
                write("calc.sh", ADDS),
                write("tests/zero.test", "[ \"$(sh calc.sh add 0 0)\" = 0 ]\n"),
                commit("."),
                pass(),
            ],
        )
        .with_files(TESTS),
        turns(
            "works on a branch, and merges it",
            &[
                turn(&trick(
                    "b=$(git symbolic-ref --short HEAD); git checkout -q -b feature; real > calc.sh; work; git checkout -q $b; git merge -q --no-ff -m merge feature; git stash list; git tag v1",
                )),
                after(&["tricked"], &[pass()]),
                end(VERIFIED),
            ],
        ),
        turns(
            "rewrites its own commits",
            &[
                turn(&trick(
                    "fake > calc.sh; work; real > calc.sh; git commit -qa --amend -m better; git commit -q --allow-empty -m more; git reset -q --soft HEAD~1; git gc -q",
                )),
                after(&["tricked"], &[pass()]),
                end(VERIFIED),
            ],
        ),
        turns(
            "leaves a server running",
            &[
                turn(&trick("real > calc.sh; work; sleep 300 > /dev/null 2>&1 &")),
                after(&["tricked"], &[pass()]),
                end(VERIFIED),
            ],
        ),
    ]
}
