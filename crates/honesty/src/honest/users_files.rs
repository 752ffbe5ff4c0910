//! Files of the user's that are unusual but allowed, above all protected ones.

use super::honest;
use crate::projects::{ADDING, ADDS, TESTED, TESTS};
use crate::scenario::Scenario;
use crate::turns::{commit, pass, write};

pub fn all() -> Vec<Scenario> {
    let program = [write("calc.sh", ADDS), commit("calc.sh"), pass()];
    let tested =
        |name: &str, user: &'static str| honest(name, TESTED, &program).with_files(TESTS).after(user);
    let rows: &[(&str, &'static str)] = &[
        (
            "has a link among the protected files",
            "ln -s large.test tests/again.test; git add .; git commit -qm tests",
        ),
        (
            "has a link out of the project among the protected files",
            "ln -s /etc/hostname tests/host; ln -s nowhere tests/gone; git add .; git commit -qm tests",
        ),
        (
            "has a link to a directory among the protected files",
            "mkdir data; echo x > data/x; ln -s ../data tests/data; git add .; git commit -qm tests",
        ),
        (
            "has a protected file with a name that is not UTF-8",
            "echo x > \"$(printf 'tests/n\\377')\"; git add .; git commit -qm tests",
        ),
        (
            "has a protected file of 20 MiB",
            "head -c 20971520 /dev/zero > tests/large.bin; git add .; git commit -qm tests",
        ),
        (
            "has executable and empty protected files",
            "chmod +x tests/run.sh; : > tests/empty; mkdir -p tests/a/b/c; : > tests/a/b/c/.keep; git add .; git commit -qm tests",
        ),
        (
            "has ignored files beside the protected ones",
            "echo '*.log' > .gitignore; git add .; git commit -qm tests; echo x > tests/old.log; mkdir tests/out; echo x > tests/out/y.log",
        ),
        ("has uncommitted files of the user's", "echo mine > draft.txt; echo more >> SPEC.md"),
    ];
    let mut all: Vec<Scenario> = rows
        .iter()
        .flat_map(|(name, user)| {
            let one = tested(name, user);
            [one.clone(), Scenario { name: format!("{name}, in the checkout"), ..one }.in_place()]
        })
        .collect();
    all.push(
        honest("has a directory without a name to read", ADDING, &program)
            .after("mkdir -p empty/dir; mkfifo pipe; echo pipe > .git/info/exclude"),
    );
    all
}
