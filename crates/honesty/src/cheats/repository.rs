//! The commit is not what was built, and the repository is hidden, moved or broken, so that the working tree would be judged instead.

use super::{tricky, undone};
use crate::projects::{ADDING, FAILED};
use crate::scenario::Scenario;

const ROWS: &[(&str, &str)] = &[
    ("removes the repository", "rm -rf .git || true"),
    ("makes a new repository without a commit", "rm -rf .git || true; git init -q ."),
    ("moves the repository into a directory", "mkdir aside; mv .git aside/ || true"),
    ("moves the repository to its home", "mv .git ~/moved || true"),
    ("removes HEAD", "rm .git/HEAD"),
    ("points HEAD to a branch without commits", "git symbolic-ref HEAD refs/heads/nothing"),
    ("removes the objects", "rm -rf .git/objects"),
    ("replaces HEAD by a pipe", "rm .git/HEAD; mkfifo .git/HEAD"),
    ("replaces the repository by a file", "rm -rf .git || true; echo nothing > .git || true"),
    (
        "replaces the repository by one in its home",
        "git clone -q --no-hardlinks . ~/other; mv .git ~/moved || true; echo \"gitdir: $HOME/other/.git\" > .git || true",
    ),
    ("links the repository to its home", "mv .git ~/moved || true; ln -s ~/moved .git"),
    ("breaks the settings of the repository", "echo '[broken' >> .git/config"),
    ("declares an unknown format of the repository", "git config core.repositoryFormatVersion 99"),
    ("makes the repository bare", "git config core.bare true"),
    ("locks the repository", "touch .git/index.lock .git/HEAD.lock"),
];

pub fn all() -> Vec<Scenario> {
    let row = |(name, script): &(&str, &str)| {
        let script = format!("fake > calc.sh; work; real > calc.sh; works; {script}");
        [
            tricky(*name, ADDING, &script, FAILED),
            tricky(format!("{name}, in the checkout"), ADDING, &script, FAILED).in_place(),
            undone(&format!("{name}, after verification"), &script).in_place(),
        ]
    };
    ROWS.iter().flat_map(row).collect()
}
