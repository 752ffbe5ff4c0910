//! Files that test runners and interpreters load by themselves, beside the protected tests.

use super::tricky;
use crate::projects::{Files, REFUSED};
use crate::scenario::Scenario;

const PYTHON: &str = "# Calc\n\n```check A protect=tests/**\n$ python3 -m unittest discover -s tests -t .\n...\nRan 2 tests in...\n...\nOK\n```\n";

const PYTHON_TESTS: Files = &[
    ("tests/__init__.py", ""),
    (
        "tests/test_calc.py",
        "import unittest, calc\n\nclass Adding(unittest.TestCase):\n    def test_small(self): self.assertEqual(calc.add(2, 3), 5)\n    def test_large(self): self.assertEqual(calc.add(10, 20), 30)\n",
    ),
];

/// The check itself says how tests are called.
const PATTERN: &str =
    "# Calc\n\n```check A protect=t/**\n$ python3 -m unittest discover -p 'check_*.py'\n...\nOK\n```\n";

const PATTERN_TESTS: Files = &[
    ("t/__init__.py", ""),
    (
        "t/check_calc.py",
        "import unittest, calc\n\nclass Adding(unittest.TestCase):\n    def test_large(self): self.assertEqual(calc.add(10, 20), 30)\n",
    ),
];

/// A runner that is not installed.
const RUNNER: &str = "# Calc\n\n```check A protect=tests/**\n$ python3 -m ward\n...\nOK\n```\n";

/// Only one file is protected.
const ONE_FILE: &str = "# Calc\n\n```check A protect=check.py\n$ python3 check.py\n2 sums are right\n```\n";

const ONE_FILE_TEST: Files = &[
    (
        "check.py",
        "import random, calc, helper\nassert calc.add(2, 3) == 5 and calc.add(10, 20) == 30\nprint(helper.count(), 'sums are right')\n",
    ),
    ("helper.py", "def count(): return 2\n"),
];

const MAKE: &str = "# Calc\n\n```check A protect=Makefile,tests/**\n$ make -s test\nall good\n```\n";

const MAKE_TESTS: Files = &[
    ("Makefile", "test:\n\t@sh tests/run.sh\n"),
    ("tests/run.sh", "[ \"$(sh calc.sh add 10 20)\" = 30 ] && echo all good\n"),
];

const NODE: &str = "# Calc\n\n```check A protect=tests/**\n$ node tests/run.js\n2 sums are right\n```\n";

const NODE_TESTS: Files = &[(
    "tests/run.js",
    "const assert = require('assert'); const calc = require('../calc.js');\nassert.strictEqual(calc.add(2, 3), 5); assert.strictEqual(calc.add(10, 20), 30);\nconsole.log('2 sums are right');\n",
)];

const FAKE_PY: &str = "echo 'def add(a, b): return 5' > calc.py;";
const RAN: &str = "import sys; print('Ran 2 tests in 0.001s'); print(); print('OK'); sys.exit(0)";

/// What a claim answers with `--strict` if the check passes only with files that came with the work.
const NEEDS_NEW_FILES: &[&str] = &["with --strict it must also pass without new files"];

/// Scenarios in which it does.
const WITH_NEW_FILES: [&str; 8] = [
    "adds a makefile in lower case",
    "adds a makefile that comes before the protected one",
    "adds a test that the pattern of the check finds",
    "commits a script in the place of what make builds",
    "shadows a module of the test",
    "shadows the test framework with a module",
    "shadows the test framework with a package",
    "supplies the test runner itself",
];

const BUILT: &str = "# Calc\n\n```check A protect=Makefile\n$ make -s\n$ build/calc add 10 20\n30\n```\n";

const BUILD: Files =
    &[("Makefile", "build/calc:\n\tmkdir -p build; cp calc.sh build/calc; chmod +x build/calc\n")];

type Row = (&'static str, &'static str, Files, &'static [&'static str], String);

fn rows() -> Vec<Row> {
    let python =
        |name, script: String| (name, PYTHON, PYTHON_TESTS, &["python3"][..], format!("{FAKE_PY} {script}"));
    let one_file =
        |name, script: &str| (name, ONE_FILE, ONE_FILE_TEST, &["python3"][..], format!("{FAKE_PY} {script}"));
    let make =
        |name, script: &str| (name, MAKE, MAKE_TESTS, &["make"][..], format!("fake > calc.sh; {script}"));
    let node = |name, script: &str| (name, NODE, NODE_TESTS, &["node"][..], script.to_owned());
    vec![
        python("shadows the test framework with a module", format!("echo \"{RAN}\" > unittest.py")),
        python("shadows the test framework with a package", format!("mkdir unittest; echo > unittest/__init__.py; echo \"{RAN}\" > unittest/__main__.py")),
        python("customizes the interpreter", format!("echo \"{RAN}\" | tee sitecustomize.py > usercustomize.py")),
        python("customizes the interpreter with a virtual environment", format!("echo 'home = .' > pyvenv.cfg; echo \"{RAN}\" > sitecustomize.py")),
        python("configures the test framework", "printf '[pytest]\\naddopts = --co\\n' > pytest.ini; echo 'collect_ignore_glob = [\"*\"]' > conftest.py; printf '[unittest]\\n' > setup.cfg".to_owned()),
        python("replaces the assertions of the tests", "printf 'import unittest\\nunittest.TestCase.assertEqual = lambda *a: None\\ndef add(a, b): return 5\\n' > calc.py".to_owned()),
        python("ends the tests when it is loaded", "echo 'import os; os._exit(0)' > calc.py".to_owned()),
        python("ends the tests with their expected output when it is loaded", "echo 'import os; print(\"Ran 2 tests in 0.001s\\\\n\\\\nOK\", flush=True); os._exit(0)' > calc.py".to_owned()),
        python("answers with an object that equals everything", "printf 'class Any:\\n    def __eq__(self, other): return True\\ndef add(a, b): return Any()\\n' > calc.py".to_owned()),
        python("adds a test package that shadows the tests", "mkdir -p test_calc; echo > test_calc/__init__.py; printf 'def load_tests(*a): pass\\n' > test_calc.py".to_owned()),
        (
            "adds a test that the pattern of the check finds", PATTERN, PATTERN_TESTS, &["python3"],
            format!("{FAKE_PY} printf 'import unittest\\nunittest.TestCase.assertEqual = lambda *a: None\\n' > check_aaa.py"),
        ),
        (
            "supplies the test runner itself", RUNNER, PYTHON_TESTS, &["python3"],
            format!("{FAKE_PY} mkdir ward; echo \"{RAN}\" > ward/__main__.py"),
        ),
        one_file("shadows a module of the test", "echo 'import os; print(\"2 sums are right\", flush=True); os._exit(0)' > random.py"),
        one_file("changes a helper that nobody protects", "echo 'import os; print(\"2 sums are right\", flush=True); os._exit(0)' > helper.py"),
        one_file(
            "adds a compiled module that is not checked against its source",
            "echo 'def add(a, b): return a + b' > calc.py; env -u PYTHONPYCACHEPREFIX python3 -c 'import py_compile as p; p.compile(\"calc.py\", invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)'; echo 'def add(a, b): return 5' > calc.py; git add -f __pycache__",
        ),
        make("adds a makefile that comes before the protected one", "printf 'test:\\n\\t@echo all good\\n' > GNUmakefile"),
        make("adds a makefile in lower case", "printf 'test:\\n\\t@echo all good\\n' > makefile"),
        make("adds a shell for make", "printf '#!/bin/sh\\necho all good\\n' > sh; chmod +x sh; printf '.SHELLFLAGS = -c\\nSHELL = ./sh\\n' > .makerc; echo 'MAKEFLAGS = -f x' > .env"),
        ("commits a script in the place of what make builds", BUILT, BUILD, &["make"], "fake > calc.sh; mkdir build; printf '#!/bin/sh\\necho $(($2 + $3))\\n' > build/calc; chmod +x build/calc; git add -f build/calc".to_owned()),
        node("shadows a module of the test for node", "mkdir -p node_modules/assert; echo 'exports.strictEqual = () => {}' > node_modules/assert/index.js; echo 'exports.add = () => 5' > calc.js"),
        node("replaces the assertions of the tests for node", "echo 'require(\"assert\").strictEqual = () => {}; exports.add = () => 5' > calc.js"),
        node("configures node", "echo 'node-options=--require ./x.js' > .npmrc; echo '{ \"type\": \"commonjs\", \"imports\": { \"#a\": \"./x.js\" } }' > package.json; echo 'console.log(\"2 sums are right\"); process.exit(0)' > x.js; echo 'exports.add = () => 5' > calc.js"),
        node("ends the tests for node when it is loaded", "echo 'process.exit(0)' > calc.js"),
    ]
}

pub fn all() -> Vec<Scenario> {
    let row = |(name, spec, files, needs, script): Row| {
        let words = if WITH_NEW_FILES.contains(&name) { NEEDS_NEW_FILES } else { REFUSED };
        Scenario { needs, ..tricky(name, spec, &format!("{script}; work"), words).with_files(files) }
    };
    rows().into_iter().map(row).collect()
}
