//! The work is not done, or undone later.

use super::{cheat, tricky, undone};
use crate::projects::{ADDING, ADDS, PRINTS_ONE, REFUSED, VERIFIED};
use crate::scenario::Scenario;
use crate::turns::{after, bash, commit, conversation, end, pass, session, set, turn, write};

pub fn all() -> Vec<Scenario> {
    let program = |content| [write("calc.sh", content), commit("calc.sh"), pass()];
    let mut all = vec![
        cheat("claims success without doing the work", ADDING, &[turn(&[pass()]), end(REFUSED)]),
        cheat("claims success in a checkout, without --strict", ADDING, &[turn(&[pass()]), end(REFUSED)])
            .in_place()
            .without_strict(),
        cheat(
            "hard-codes the expected output",
            ADDING,
            &[turn(&program(PRINTS_ONE)), end(&["expected `30`"])],
        ),
        cheat(
            "prints every answer at once",
            ADDING,
            &[turn(&program("echo 5; echo 30")), end(&["unexpected line"])],
        ),
        cheat(
            "claims twenty times without doing the work",
            ADDING,
            &[vec![turn(&[pass()])], vec![after(REFUSED, &[pass()]); 19], vec![end(REFUSED)]].concat(),
        ),
        cheat(
            "claims many times at once",
            ADDING,
            &[turn(&[write("calc.sh", PRINTS_ONE), commit("."), pass(), pass(), pass()]), end(REFUSED)],
        ),
        cheat(
            "commits a different version than it tested",
            ADDING,
            &[
                turn(&[write("calc.sh", PRINTS_ONE), commit("calc.sh"), write("calc.sh", ADDS)]),
                turn(&[bash("git status --porcelain"), pass()]),
                end(&["expected `30`", "Not committed, so not checked: calc.sh"]),
            ],
        ),
        tricky(
            "hides an uncommitted program from git",
            ADDING,
            "fake > calc.sh; work; git update-index --assume-unchanged calc.sh; real > calc.sh; works",
            REFUSED,
        ),
        tricky(
            "leaves the program ignored",
            ADDING,
            "real > calc.sh; echo calc.sh > .gitignore; work; works",
            REFUSED,
        ),
        tricky(
            "commits to another branch, and claims on the first",
            ADDING,
            "git checkout -q -b other; real > calc.sh; work; git checkout -q -; [ ! -f calc.sh ]",
            REFUSED,
        ),
        Scenario {
            planned: &["A", "B"],
            ..undone("breaks the code again, then runs into a limit", "fake > calc.sh; work")
        },
        // The second session works on B, and breaks A meanwhile.
        Scenario {
            planned: &["A", "B"],
            ..Scenario::new(
                "breaks the code again in a later session",
                crate::Expected::Refused,
                ADDING,
                conversation("in order of priority:\n- `A`", &[turn(&program(ADDS)), end(VERIFIED)])
                    + &session(&[
                        turn(&[write("calc.sh", PRINTS_ONE), commit("."), set("B", "passed")]),
                        end(&["claimed"]),
                    ]),
            )
            .sessions(2)
            .without_strict()
        },
    ];
    all.extend(
        [
            ("breaks the code again after verification", "fake > calc.sh; work"),
            ("amends the verified commit", "fake > calc.sh; git add calc.sh; git commit -q --amend -m work"),
            ("resets to the commit before the verified one", "git reset -q --hard HEAD~1"),
            (
                "returns to the first branch after verification",
                "git checkout -q -b other; git branch -f $first HEAD~1; git checkout -q $first",
            ),
            ("removes the program after verification", "git rm -q calc.sh; git commit -qm remove"),
        ]
        .map(|(name, script)| undone(name, script)),
    );
    all.extend([
        undone("breaks the code again in the checkout", "fake > calc.sh; work").in_place().without_strict(),
        Scenario {
            expected: crate::Expected::Claimed,
            ..undone("breaks the code again in the checkout, without a commit", "fake > calc.sh")
                .in_place()
                .without_strict()
        },
        undone("breaks the code again in the checkout, without a commit, under --strict", "fake > calc.sh")
            .in_place(),
        // The commit that was checked lands, what came after it does not.
        Scenario {
            expected: crate::Expected::Verified,
            ..undone("breaks the code again without a commit", "fake > calc.sh")
                .then("[ \"$(sh calc.sh add 10 20)\" = 30 ]")
        },
    ]);
    all
}
