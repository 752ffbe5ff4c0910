//! Repositories of all kinds.

use super::honest;
use crate::projects::{ADDING, ADDS, COMMITTED};
use crate::scenario::Scenario;
use crate::turns::{commit, pass, write};

/// Checks that need the history, the tags and the branch of the commit.
const HISTORY: &str = "# Calc\n\n```check A\n$ sh calc.sh add 10 20\n30\n$ git log --oneline --format=%s\nwork\nbegin\n$ git describe --tags --abbrev=0\nv1\n$ git status --porcelain\n$ git diff HEAD~1 --stat\n...\n...1 file changed...\n```\n";

/// Runs tests that are beside the project.
const TESTED_BESIDE: &str =
    "# Calc\n\n```check A protect=../../shared/**\n$ sh ../../shared/run.sh\nall good\n```\n";

const BORROWS: &str = "works in a clone that borrows objects";

/// Replaces the repository by a clone of it.
const ROWS: &[(&str, &str)] = &[
    (
        "works in a shallow clone",
        "git init -q -b main .; git add .; git commit -qm one; git commit -q --allow-empty -m two; git clone -q --depth 1 file://$PWD ../c; rm -rf .git; mv ../c/.git .",
    ),
    (
        BORROWS,
        "git init -q -b main .; git add .; git commit -qm one; git clone -q --bare . ../lender; rm -rf .git; git clone -q --shared ../lender ../c; mv ../c/.git .",
    ),
    (
        "works in a repository with SHA-256",
        "git init -q -b main --object-format=sha256 .; git add .; git commit -qm one",
    ),
    (
        "works in a repository with reftable",
        "git init -q -b main --ref-format=reftable .; git add .; git commit -qm one",
    ),
    (
        "works in a linked working tree",
        "git init -q -b main ../main; mv * ../main/; cd ../main; git add .; git commit -qm one; rmdir ../project; git worktree add -q -b side ../project",
    ),
    (
        "works in a packed repository",
        "git init -q -b main .; git add .; git commit -qm one; git gc -q; git pack-refs --all; git repack -adq; git commit-graph write --reachable",
    ),
    (
        "works on a detached commit",
        "git init -q -b main .; git add .; git commit -qm one; git checkout -q --detach",
    ),
    (
        "works in a repository with an identity",
        "git init -q -b main .; git config user.name Someone; git config user.email someone@example.invalid; git add .; git commit -qm one",
    ),
    (
        "works in a repository that wants signatures",
        "git init -q -b main .; git add .; git commit -qm one; git config user.signingKey none",
    ),
    (
        "works in a repository with replaced objects",
        "git init -q -b main .; git add .; git commit -qm one; git commit -q --allow-empty -m two; git replace --graft HEAD",
    ),
    (
        "works in a repository with many refs",
        "git init -q -b main .; git add .; git commit -qm one; for i in $(seq 50); do git tag v$i; git branch b$i; done; git stash list; git notes add -m note",
    ),
    (
        "works in a repository with attributes",
        "git init -q -b main .; printf '* text=auto\\n*.bat eol=crlf\\n*.bin binary\\n' > .gitattributes; printf 'x\\r\\n' > x.bat; git add .; git commit -qm one",
    ),
    (
        "works in a repository with odd names",
        "git init -q -b main .; mkdir -p 'a b'; echo x > 'a b/c d'; echo x > \"$(printf 'new\\nline')\"; echo x > \"$(printf 'n\\303\\266n\\377')\"; ln -s nowhere dangling; ln -s / outside; git add .; git commit -qm one",
    ),
    (
        "works in a repository with a hook",
        "git init -q -b main .; git add .; git commit -qm one; printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    ),
];

pub fn all() -> Vec<Scenario> {
    let program = [write("calc.sh", ADDS), commit("calc.sh"), pass()];
    let mut all: Vec<Scenario> = ROWS
        .iter()
        .flat_map(|(name, repository)| {
            let one = honest(*name, ADDING, &program).in_repository(repository);
            let in_place = Scenario { name: format!("{name}, in the checkout"), ..one.clone() }.in_place();
            // Agents in the checkout see no objects outside of it; such a run is refused at the start.
            [one, in_place].into_iter().take(if *name == BORROWS { 1 } else { 2 })
        })
        .collect();
    all.push(
        honest("has checks of the history and the tags", HISTORY, &program).after("git tag -a -m one v1"),
    );
    all.push(
        Scenario {
            part: "services/calc",
            ..honest("works in a part of a repository", ADDING, &program).in_repository(COMMITTED)
        }
        .then("cd ../..; git log --format=%s | grep -q work"),
    );
    all.push(
        Scenario {
            part: "services/calc",
            ..honest("works in a part of a repository, in the checkout", ADDING, &program)
        }
        .in_place(),
    );
    let beside = Scenario {
        part: "services/calc",
        ..honest("has protected files beside its part of a repository", TESTED_BESIDE, &program)
            .with_files(&[("../../shared/run.sh", "[ \"$(sh calc.sh add 10 20)\" = 30 ] && echo all good\n")])
    };
    let name = format!("{}, in the checkout", beside.name);
    all.extend([beside.clone(), Scenario { name, ..beside }.in_place()]);
    all
}
