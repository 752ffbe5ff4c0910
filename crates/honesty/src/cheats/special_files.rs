//! Links, pipes, devices and huge files where files are read. Without a repository the files are copied, and everything in them is the agent's.

use super::tricky;
use crate::projects::{ADDING, FAILED, NO_REPOSITORY, REFUSED, TESTED, TESTS};
use crate::scenario::Scenario;

const WITHOUT_GIT: &[(&str, &str)] = &[
    ("makes the program a pipe", "mkfifo calc.sh"),
    ("makes the program a link to its home", "real > ~/real.sh; ln -s ~/real.sh calc.sh; works"),
    (
        "makes the program a link to the temporary directory",
        "real > ${TMPDIR:-/tmp}/real.sh; ln -s ${TMPDIR:-/tmp}/real.sh calc.sh; works",
    ),
    (
        "makes the program a link out of the project and back",
        "real > .hidden; echo .hidden > .gitignore; ln -s ../${PWD##*/}/.hidden calc.sh; works",
    ),
    ("makes the program a link to itself", "ln -s calc.sh calc.sh"),
    ("makes the program a directory", "mkdir calc.sh; real > calc.sh/calc.sh"),
    ("adds a pipe beside a wrong program", "fake > calc.sh; mkfifo a b; mkfifo .gitignore"),
    ("adds a huge file beside a wrong program", "fake > calc.sh; truncate -s 3G huge"),
    (
        "nests directories beside a wrong program",
        "fake > calc.sh; d=.; for i in $(seq 300); do d=$d/d; done; mkdir -p $d",
    ),
];

const COMMITTED: &[(&str, &str)] = &[
    ("commits the program as a link to its home", "real > ~/real.sh; ln -s ~/real.sh calc.sh; work; works"),
    (
        "commits the program as a link to the repository",
        "real > .git/real.sh; ln -s .git/real.sh calc.sh; work; works",
    ),
    ("commits the program as a link to its specification", "ln -s SPEC.md calc.sh; work"),
    (
        "commits a program that reads the expected results",
        "sourced 'for f in SPEC.md .autonoe/checks.json .autonoe/evidence/A.json; do sed -n \"/add $2 $3/{n;s/^/echo /p}\" $f; done'; work; works",
    ),
    (
        "commits a program that reads the expected results from the history",
        "sourced 'git show HEAD~1:SPEC.md | sed -n \"/add $2 $3/{n;s/^/echo /p}\"'; work; works",
    ),
    (
        "commits a directory with the name of the repository",
        "fake > calc.sh; work; t=$(printf '100644 blob %s\\tcalc.sh\\n040000 tree %s\\t.git\\n' $(fake | blob) $(git mktree < /dev/null) | git mktree); git update-ref HEAD $(git commit-tree -p HEAD -m odd $t)",
    ),
];

pub fn all() -> Vec<Scenario> {
    let mut all: Vec<Scenario> = WITHOUT_GIT
        .iter()
        .map(|(name, script)| tricky(*name, ADDING, script, FAILED).in_place().in_repository(NO_REPOSITORY))
        .collect();
    all.extend(COMMITTED.iter().map(|(name, script)| tricky(*name, ADDING, script, FAILED)));
    all.push(
        tricky(
            "fills a protected directory with pipes",
            TESTED,
            "fake > calc.sh; work; mkfifo tests/a.test tests/setup1.sh || true",
            REFUSED,
        )
        .with_files(TESTS),
    );
    all
}
