//! Checks that build and test in several languages.

use super::honest;
use crate::projects::{ADDS, Files, MADE};
use crate::scenario::Scenario;
use crate::turns::{bash, commit, pass, write};

const UNITTEST: &str = "# Calc\n\n```check A protect=tests/**\n$ python3 -m unittest discover -s tests -t .\n...\nRan 1 test in...\n...\nOK\n```\n";
const PYTHON_TESTS: Files = &[
    ("tests/__init__.py", ""),
    (
        "tests/test_calc.py",
        "import unittest, calc\nclass Adding(unittest.TestCase):\n    def test_sum(self): self.assertEqual(calc.add(10, 20), 30)\n",
    ),
];
const NODE: &str = "# Calc\n\n```check A protect=test/**\n$ node test/run.js\n30\n```\n\n- Check: `node -p \"require('./calc.js').add(2, 3)\"` prints `5` for A within 30s\n";
const NODE_TESTS: Files = &[("test/run.js", "console.log(require('../calc.js').add(10, 20))\n")];
const SETUP: &str = r#"{ "checks": [{ "name": "sum", "deliverable": "A", "setup": ["make -s", "mkdir out && cp calc out/"], "run": "./out/calc add 10 20", "output": ["30"], "exact": true },
  { "name": "again", "deliverable": "A", "setup": ["make -s", "mkdir out && cp calc out/"], "run": "./out/calc add 2 3", "output": ["5"] }] }"#;
const EXITS: &str = "# Calc\n\n```check A time=1m\n$ sh calc.sh wrong\n...is not a number\n? 2\n$ sh calc.sh add 2 3 | tr 5 6\n6\n```\n";

pub fn all() -> Vec<Scenario> {
    let make = [
        write("calc.sh", &format!("#!/bin/sh\n{ADDS}")),
        write(
            "Makefile",
            "calc: calc.sh\n\tcp calc.sh calc\n\tchmod +x calc\n\tchmod 555 .\n\tchmod 755 .\n",
        ),
        commit("calc.sh Makefile"),
        pass(),
    ];
    let python = [
        write("calc.py", "def add(a, b): return a + b\n"),
        bash("python3 -m unittest discover -s tests -t ."),
        bash("ls tests"),
        commit("calc.py"),
        pass(),
    ];
    let node = [
        write("calc.js", "exports.add = (a, b) => a + b\n"),
        bash("node test/run.js"),
        commit("calc.js"),
        pass(),
    ];
    let exits = [
        write("calc.sh", "[ $1 = add ] || { echo \"$1 is not a number\" >&2; exit 2; }\necho $(($2 + $3))\n"),
        commit("calc.sh"),
        pass(),
    ];
    let python_one = |name: &str| Scenario {
        needs: &["python3"],
        ..honest(name, UNITTEST, &python).with_files(PYTHON_TESTS)
    };
    let made = |name: &str| Scenario { needs: &["make"], ..honest(name, MADE, &make) };
    vec![
        made("builds with make before the checks"),
        made("builds with make before the checks, in the checkout").in_place(),
        Scenario {
            checks: Some(SETUP),
            needs: &["make"],
            ..honest("builds in the setup of checks.json", "# Calc\n", &make)
        },
        python_one("tests with python, which leaves compiled files"),
        python_one("tests with python in the checkout, which leaves compiled files").in_place(),
        Scenario { needs: &["node"], ..honest("tests with node", NODE, &node).with_files(NODE_TESTS) },
        honest("has checks of exit codes and errors", EXITS, &exits),
        honest(
            "has a check that needs the repository of its checkout",
            "# Calc\n\n```check A\n$ git ls-files calc.sh && sh calc.sh add 10 20 && git commit -q --allow-empty -m x && git tag x && git stash list\ncalc.sh\n30\n```\n",
            &[write("calc.sh", ADDS), commit("calc.sh"), pass()],
        ),
        honest(
            "has a check that uses its home and temporary directory",
            "# Calc\n\n```check A\n$ cp calc.sh ~/c && mkdir -p ~/.cache/x && t=$(mktemp) && sh ~/c add 10 20 > $t && cat $t\n30\n```\n",
            &[write("calc.sh", ADDS), commit("calc.sh"), pass()],
        ),
        honest(
            "has a check with a server of its own",
            "# Calc\n\n```check A\n$ (mkfifo p; while :; do cat p; done > out & echo $! > pid; sh calc.sh add 10 20 > p; sleep 0.3; kill $(cat pid)); cat out\n30\n```\n",
            &[write("calc.sh", ADDS), commit("calc.sh"), pass()],
        ),
    ]
}
