//! Agents that add packages, members of workspaces and helpers, as the work needs them.

use super::honest;
use crate::projects::{ADDS, Files};
use crate::scenario::Scenario;
use crate::turns::{commit, pass, write};

const CARGO: &str =
    "# Calc\n\n```check A protect=calc/tests/**\n$ : cargo test; sh calc.sh add 10 20\n30\n```\n";

const CARGO_TESTS: Files = &[
    ("Cargo.toml", "[workspace]\nmembers = [\"calc\"]\n"),
    ("calc/Cargo.toml", "[package]\nname = \"calc\"\n"),
    ("calc/tests/calc.rs", "#[test] fn adds() {}\n"),
];

/// As Cargo does, it tests what the manifest says.
const MANIFEST: &str = "# Calc\n\n```check A protect=tests/**\n$ : cargo test; grep -q 'harness = false' Cargo.toml && sh calc.sh add 10 20\n30\n```\n";

const MANIFEST_TESTS: Files = &[
    (
        "Cargo.toml",
        "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[[test]]\nname = \"suite\"\nharness = false\n",
    ),
    ("tests/suite.rs", "fn main() {}\n"),
];

const SCRIPTS: &str = "# Calc\n\n```check A protect=tests/**\n$ : npm test; make -s unit\n```\n";

const SCRIPTS_TESTS: Files = &[
    ("package.json", "{ \"name\": \"calc\", \"scripts\": { \"test\": \"make unit\" } }\n"),
    ("Makefile", "unit:\n\tsh tests/run.sh\n"),
    ("tests/run.sh", "[ \"$(sh calc.sh add 10 20)\" = 30 ]\n"),
];

const DISCOVERY: &str = "# Calc\n\n```check A protect=tests/**\n$ python3 -m unittest discover\n...\nRan 1 test...\n...\nOK\n```\n";

const PATTERN: &str = "# Calc\n\n```check A protect=tests/test_*.py\n$ python3 -m unittest discover -s tests -t .\n...\nRan 1 test...\n...\nOK\n```\n";

const STARTS: &str = "import subprocess, sys, unittest\n\nclass Adding(unittest.TestCase):\n    def test_sum(self):\n        run = subprocess.run([sys.executable, 'main.py', '10', '20'], capture_output=True, text=True)\n        self.assertEqual(run.stdout.strip(), '30')\n";

const PYTHON_TESTS: Files = &[("tests/__init__.py", ""), ("tests/test_calc.py", STARTS)];

const TESTS_WITHOUT_PACKAGE: Files = &[("tests/test_calc.py", STARTS)];

const MAKE: &str = "# Calc\n\n```check A protect=tests/**,Makefile\n$ make -s unit\n```\n";

const MAKE_TESTS: Files = &[
    ("Makefile", "include tests/rules.mk\n"),
    ("tests/rules.mk", "unit:\n\tsh tests/run.sh\n"),
    ("tests/run.sh", "[ \"$(sh src/calc.sh add 10 20)\" = 30 ]\n"),
];

const JAVA: &str = "# Calc\n\n```check A protect=tests/**\n$ mkdir -p out && javac -d out src/*.java tests/*.java && java -cp out CalcTest\nright\n```\n";

const JAVA_TESTS: Files = &[(
    "tests/CalcTest.java",
    "public class CalcTest { public static void main(String[] args) { System.out.println(Calc.add(10, 20) == 30 ? \"right\" : \"wrong\"); } }\n",
)];

const MAIN: &str = "import sys\nfrom calc import add\nprint(add(int(sys.argv[1]), int(sys.argv[2])))\n";

pub fn all() -> Vec<Scenario> {
    let row = |name, spec, files, needs, work: &[(&str, &str)]| {
        let paths: Vec<&str> = work.iter().map(|(path, _)| *path).collect();
        let mut calls: Vec<String> = work.iter().map(|(path, text)| write(path, text)).collect();
        calls.extend([commit(&paths.join(" ")), pass()]);
        Scenario { needs, ..honest(name, spec, &calls).with_files(files) }
    };
    vec![
        row(
            "adds a member and a dependency to a workspace",
            CARGO,
            CARGO_TESTS,
            &[],
            &[
                ("calc.sh", ADDS),
                ("Cargo.toml", "[workspace]\nmembers = [\"app\", \"calc\"]\n"),
                (
                    "app/Cargo.toml",
                    "[package]\nname = \"app\"\n[dependencies]\ncalc = { path = \"../calc\" }\n",
                ),
            ],
        ),
        row(
            "adds dependencies, features and programs to a manifest",
            MANIFEST,
            MANIFEST_TESTS,
            &[],
            &[
                ("calc.sh", ADDS),
                (
                    "Cargo.toml",
                    "[package]\nname = \"calc\"\nversion = \"0.2.0\"\nedition = \"2024\"\n\n[[bin]]\nname = \"calc\"\n\n[[test]]\nname = \"suite\"\nharness = false\n\n[features]\nfast = []\n\n[dependencies]\nrand = \"0.9\"\n",
                ),
            ],
        ),
        row(
            "adds scripts and targets",
            SCRIPTS,
            SCRIPTS_TESTS,
            &["make"],
            &[
                ("calc.sh", ADDS),
                (
                    "package.json",
                    "{ \"name\": \"calc\", \"version\": \"2.0.0\", \"scripts\": { \"test\": \"make unit\", \"start\": \"sh calc.sh\" } }\n",
                ),
                ("Makefile", "unit:\n\tsh tests/run.sh\n\nrun:\n\tsh calc.sh\n"),
                ("lib.js", ""),
                ("lib/index.js", ""),
                ("build.sh", "make run\n"),
            ],
        ),
        row(
            "writes a package that a search for tests imports",
            DISCOVERY,
            PYTHON_TESTS,
            &["python3"],
            &[
                ("main.py", MAIN),
                ("calc/__init__.py", "from .sums import add\n"),
                ("calc/sums.py", "def add(a, b): return a + b\n"),
            ],
        ),
        row(
            "makes a package of the directory of the tests, which needs it",
            PATTERN,
            TESTS_WITHOUT_PACKAGE,
            &["python3"],
            &[
                ("main.py", MAIN),
                ("calc.py", "def add(a, b): return a + b\n"),
                ("tests/__init__.py", "\"\"\"Tests.\"\"\"\n"),
                ("tests/helpers.py", "SUMS = [(1, 2)]\n"),
            ],
        ),
        row(
            "is tested by a makefile that another one includes",
            MAKE,
            MAKE_TESTS,
            &["make"],
            &[("src/calc.sh", ADDS), ("docs/unit", "")],
        ),
        row(
            "adds classes beside the one that is tested",
            JAVA,
            JAVA_TESTS,
            &["javac"],
            &[
                (
                    "src/Calc.java",
                    "public class Calc { static int add(int a, int b) { return Sum.of(a, b); } }\n",
                ),
                ("src/Sum.java", "class Sum { static int of(int a, int b) { return a + b; } }\n"),
            ],
        ),
    ]
}
