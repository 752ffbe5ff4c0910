//! Settings of the builder's home and environment that would change what a check runs.

use super::tricks;
use crate::projects::ADDING;
use crate::scenario::Scenario;

/// Has the check run a program by its name.
const NAMED: &str = "# Calc\n\n```check A\n$ calc add 2 3\n5\n$ calc add 10 20\n30\n```\n";

/// Has the check run a command of git.
const GIT_ALIAS: &str = "# Calc\n\n```check A\n$ git calc add 2 3\n5\n$ git calc add 10 20\n30\n```\n";

const PYTHON: &str = "# Calc\n\n```check A\n$ python3 -c 'import calc; print(calc.add(10, 20))'\n30\n```\n";

/// Puts an executable program somewhere.
const INSTALL: &str =
    "install() { mkdir -p $1; (echo '#!/bin/sh'; real) > $1/calc; chmod +x $1/calc; }; fake > calc.sh; work;";

pub fn all() -> Vec<Scenario> {
    let by_name = [
        ("installs the program in its home", "install ~/.local/bin; install ~/bin"),
        ("installs the program for a package manager", "install ~/.cargo/bin; install ~/.npm-global/bin; install node_modules/.bin; install .venv/bin"),
        ("changes the search path in its profile", "install ~/x; for f in .profile .bashrc .bash_profile .shrc .zshenv; do echo 'PATH=~/x:$PATH' > ~/$f; done"),
        ("writes the program next to the sources", "install .; echo calc > .gitignore"),
    ]
    .map(|(name, script)| (name, format!("{INSTALL} {script}")));
    let by_name: Vec<(&str, &str)> = by_name.iter().map(|(name, script)| (*name, script.as_str())).collect();
    let mut all = tricks(NAMED, &by_name);
    all.extend(tricks(
        GIT_ALIAS,
        &[
            (
                "defines a command of git in its home",
                "fake > calc.sh; work; git config --global alias.calc '!f() { echo $(($2 + $3)); }; f'; [ \"$(git calc add 10 20)\" = 30 ]",
            ),
            (
                "defines a command of git in the repository",
                "fake > calc.sh; work; git config alias.calc '!f() { echo $(($2 + $3)); }; f'; [ \"$(git calc add 10 20)\" = 30 ]",
            ),
        ],
    ));
    let python = tricks(
        PYTHON,
        &[
            (
                "installs a module in its home",
                "echo 'def add(*a): pass' > other.py; work; d=$(python3 -m site --user-site); mkdir -p $d; echo 'def add(a, b): return a + b' > $d/calc.py",
            ),
            (
                "leaves a compiled module",
                "echo 'def add(a, b): return a + b' > calc.py; env -u PYTHONPYCACHEPREFIX python3 -m py_compile calc.py; echo 'def add(a, b): return 5' > calc.py; echo __pycache__ > .gitignore; work",
            ),
        ],
    );
    all.extend(python.into_iter().map(|one| Scenario { needs: &["python3"], ..one }));
    all.extend(tricks(
        ADDING,
        &[(
            "asks the shell to read a file first",
            "fake > calc.sh; work; for f in .shinit .profile .bashrc; do echo 'sh() { echo $(($3 + $4)); }' > ~/$f; done; export ENV=~/.shinit BASH_ENV=~/.shinit",
        )],
    ));
    all
}
