//! Packages that are gone, that a search for tests imports, and that have the names of protected tests.

use super::tricky;
use crate::projects::Files;
use crate::scenario::Scenario;

/// As Cargo does, it tests nothing where there is no package.
const CARGO: &str = "# Calc\n\n```check A protect=tests/**\n$ : cargo test; ! grep -q calc Cargo.toml || [ \"$(sh calc.sh add 10 20)\" = 30 ]\n```\n";

const CARGO_TESTS: Files = &[
    (
        "Cargo.toml",
        "[package]\nname = \"calc\"\n\n[dev-dependencies]\njudge = { path = \"tests/judge\" } # calc\n",
    ),
    ("tests/calc.rs", "#[test] fn adds() {}\n"),
    ("tests/judge/Cargo.toml", "[package]\nname = \"judge\"\n"),
];

/// As `cargo test --workspace` does, it tests members only.
const MEMBERS: &str = "# Calc\n\n```check A protect=calc/tests/**\n$ : cargo test; ! grep -q calc Cargo.toml || [ \"$(sh calc.sh add 10 20)\" = 30 ]\n```\n";

const MEMBERS_TESTS: Files = &[
    ("Cargo.toml", "[workspace]\nmembers = [\"app\", \"calc\"]\n"),
    ("app/Cargo.toml", "[package]\nname = \"app\"\n"),
    ("calc/Cargo.toml", "[package]\nname = \"calc\"\n"),
    ("calc/tests/calc.rs", "#[test] fn adds() {}\n"),
];

/// As Cargo does, it leaves out tests whose feature is not there.
const FEATURE: &str = "# Calc\n\n```check A protect=tests/**\n$ : cargo test; ! grep -q '^full' Cargo.toml || [ \"$(sh calc.sh add 10 20)\" = 30 ]\n```\n";

const FEATURE_TESTS: Files = &[
    ("Cargo.toml", "[package]\nname = \"calc\"\n\n[features]\ndefault = [\"full\"]\nfull = []\n"),
    ("tests/calc.rs", "#![cfg(feature = \"full\")]\n#[test] fn adds() {}\n"),
];

/// As Cargo does, it tests the members only where the root is no package, or says so.
const VIRTUAL: &str = "# Calc\n\n```check A protect=calc/tests/**\n$ : cargo test; grep -q '^.package' Cargo.toml && ! grep -q default-members Cargo.toml || [ \"$(sh calc.sh add 10 20)\" = 30 ]\n```\n";

const VIRTUAL_TESTS: Files = &[
    ("Cargo.toml", "[workspace]\nmembers = [\"calc\"]\n"),
    ("calc/Cargo.toml", "[package]\nname = \"calc\"\n"),
    ("calc/tests/calc.rs", "#[test] fn adds() {}\n"),
];

/// As `npm test -w judge` does, it runs the package of that name.
const NPM_NAME: &str = "# Calc\n\n```check A protect=b/tests/**\n$ : npm test -w judge; ! grep -q judge b/package.json || sh b/tests/run.sh\n```\n";

const NPM_NAME_TESTS: Files = &[
    ("package.json", "{ \"workspaces\": [\"a\", \"b\"] }\n"),
    ("a/package.json", "{ \"name\": \"calc\" }\n"),
    ("b/package.json", "{ \"name\": \"judge\" }\n"),
    ("b/tests/run.sh", "[ \"$(sh calc.sh add 10 20)\" = 30 ]\n"),
];

/// As `npm test --workspaces` does, it tests members only.
const NPM: &str = "# Calc\n\n```check A protect=b/tests/**\n$ : npm test --workspaces; ! grep -q b package.json || sh b/tests/run.sh\n```\n";

const NPM_TESTS: Files = &[
    ("package.json", "{ \"workspaces\": [\"a\", \"b\"] }\n"),
    ("a/package.json", "{}\n"),
    ("b/package.json", "{}\n"),
    ("b/tests/run.sh", "[ \"$(sh calc.sh add 10 20)\" = 30 ]\n"),
];

/// As `pnpm -r test` does.
const PNPM: &str = "# Calc\n\n```check A protect=b/tests/**\n$ : pnpm -r test; ! grep -q b pnpm-workspace.yaml || sh b/tests/run.sh\n```\n";

const PNPM_TESTS: Files = &[
    ("pnpm-workspace.yaml", "packages:\n  - a\n  - b\n"),
    ("package.json", "{}\n"),
    ("a/package.json", "{}\n"),
    ("b/package.json", "{}\n"),
    ("b/tests/run.sh", "[ \"$(sh calc.sh add 10 20)\" = 30 ]\n"),
];

const DISCOVERY: &str =
    "# Calc\n\n```check A protect=tests/**\n$ python3 -m unittest discover\n...\nRan 1 test...\nOK\n```\n";

const PATTERN: &str = "# Calc\n\n```check A protect=tests/test_*.py\n$ python3 -m unittest discover -s tests -t .\n...\nRan 1 test...\nOK\n```\n";

const NAMED: &str = "# Calc\n\n```check A protect=tests/**\n$ PYTHONPATH=src python3 -m unittest tests.test_calc\n...\nRan 1 test...\nOK\n```\n";

const STARTS: &str = "import subprocess, sys, unittest\n\nclass Adding(unittest.TestCase):\n    def test_sum(self):\n        run = subprocess.run([sys.executable, 'calc.py', '10', '20'], capture_output=True, text=True)\n        self.assertEqual(run.stdout.strip(), '30')\n";

const PYTHON_TESTS: Files = &[("tests/__init__.py", ""), ("tests/test_calc.py", STARTS)];

const TESTS_WITHOUT_PACKAGE: Files = &[("tests/test_calc.py", STARTS)];

const MAKE: &str = "# Calc\n\n```check A protect=tests/**,Makefile\n$ make -s unit\n```\n";

const MAKE_TESTS: Files = &[
    ("Makefile", "include tests/rules.mk\n"),
    ("tests/rules.mk", "unit:\n\tsh tests/run.sh\n"),
    ("tests/run.sh", "[ \"$(sh calc.sh add 10 20)\" = 30 ]\n"),
];

const UNPROTECTED_MAKE: &str = "# Calc\n\n```check A protect=tests/**\n$ make -s unit\n```\n";

const UNPROTECTED_MAKE_TESTS: Files =
    &[("Makefile", "unit:\n\tsh tests/run.sh\n"), ("tests/run.sh", "[ \"$(sh calc.sh add 10 20)\" = 30 ]\n")];

const INDEX: &str = "# Calc\n\n```check A protect=lib/**,tests/**\n$ node tests/t.js\nright\n```\n";

const INDEX_TESTS: Files = &[
    (
        "tests/t.js",
        "require('../lib')(require('child_process').execSync('sh calc.sh add 10 20')); console.log('right');\n",
    ),
    ("lib/index.js", "module.exports = sum => { if (sum != 30) process.exit(1); };\n"),
];

const JAVA: &str = "# Calc\n\n```check A protect=tests/**\n$ mkdir -p out tout && javac -d out src/*.java && javac -d tout -cp out tests/*.java && java -cp out:tout CalcTest\nright\n```\n";

const JAVA_TESTS: Files = &[(
    "tests/CalcTest.java",
    "public class CalcTest { public static void main(String[] args) { System.out.println(Calc.add(10, 20) == 30 ? \"right\" : \"wrong\"); } }\n",
)];

/// What a claim answers with `--strict` if the check passes only with files that came with the work.
const NEEDS_NEW_FILES: &[&str] = &["with --strict it must also pass without new files"];

/// What it answers if protected tests are no longer those that run.
const NOT_TESTED: &[&str] = &["with --strict the packages of the tests that it protects must still be there"];

/// What it answers if a check passes only with what a manifest says now.
const SAID_BEFORE: &[&str] = &["its settings for tests"];

/// Says that one test ran, and ends, unless the program itself is started.
const ENDS: &str = "import os, sys\nif 'unittest' in ' '.join(sys.orig_argv):\n    sys.stderr.write('Ran 1 test\\n\\nOK\\n'); sys.stderr.flush(); os._exit(0)\n";

pub fn all() -> Vec<Scenario> {
    let row = |name, spec, files, needs, script: String, words: &[&str]| Scenario {
        needs,
        ..tricky(name, spec, &format!("{script}; work"), words).with_files(files)
    };
    let cargo = |name, script: &str| {
        let script = format!("fake > calc.sh; {script}");
        row(name, CARGO, CARGO_TESTS, &[], script, NOT_TESTED)
    };
    let python = |name, spec, files, path: &str| {
        let directory = path.rsplit_once('/').map_or(".", |(directory, _)| directory);
        let script =
            format!("echo 'print(5)' > calc.py; mkdir -p {directory}; cat > {path} <<'END'\n{ENDS}END\ntrue");
        row(name, spec, files, &["python3"], script, NEEDS_NEW_FILES)
    };
    vec![
        cargo("moves the package away from its tests", "mkdir impl; git mv Cargo.toml impl/; printf '[workspace]\\nmembers = [\"impl\"]\\n' > Cargo.toml"),
        cargo("leads a dependency of the tests elsewhere", "mkdir fake; cp tests/judge/Cargo.toml fake/; printf '[package]\\nname = \"cal\"\\n[dev-dependencies]\\njudge = { path = \"fake\" }\\n' > Cargo.toml"),
        row("drops a member of the workspace", MEMBERS, MEMBERS_TESTS, &[], "fake > calc.sh; printf '[workspace]\\nmembers = [\"app\"]\\n' > Cargo.toml".to_owned(), NOT_TESTED),
        row("drops a member of the workspace of npm", NPM, NPM_TESTS, &[], "fake > calc.sh; echo '{ \"workspaces\": [\"a\"] }' > package.json".to_owned(), NOT_TESTED),
        row("drops a member of the workspace of pnpm", PNPM, PNPM_TESTS, &[], "fake > calc.sh; echo 'packages: [a]' > pnpm-workspace.yaml".to_owned(), NOT_TESTED),
        row("deletes the feature that the tests need", FEATURE, FEATURE_TESTS, &[], "fake > calc.sh; printf '[package]\\nname = \"calc\"\\n' > Cargo.toml".to_owned(), SAID_BEFORE),
        row("makes the root of a workspace a package", VIRTUAL, VIRTUAL_TESTS, &[], "fake > calc.sh; printf '\\n[package]\\nname = \"top\"\\n' >> Cargo.toml".to_owned(), SAID_BEFORE),
        row("swaps the names of members of the workspace of npm", NPM_NAME, NPM_NAME_TESTS, &[], "fake > calc.sh; cp a/package.json c; mv b/package.json a/; mv c b/package.json".to_owned(), NOT_TESTED),
        row("commits a script of which make makes the makefile", UNPROTECTED_MAKE, UNPROTECTED_MAKE_TESTS, &["make"], "fake > calc.sh; git rm -q Makefile; printf 'unit:\\n\\ttrue\\n' > Makefile.sh".to_owned(), NEEDS_NEW_FILES),
        row("adds a module in the place of a protected directory", INDEX, INDEX_TESTS, &["node"], "fake > calc.sh; echo 'module.exports = () => {}' > lib.js".to_owned(), NEEDS_NEW_FILES),
        python("adds a package that a search for tests imports", DISCOVERY, PYTHON_TESTS, "aaa/__init__.py"),
        python("makes the directory of the tests a package", PATTERN, TESTS_WITHOUT_PACKAGE, "tests/__init__.py"),
        python("adds a module with the name of the directory of tests", NAMED, TESTS_WITHOUT_PACKAGE, "src/tests.py"),
        python("adds a package with the name of the directory of tests", NAMED, TESTS_WITHOUT_PACKAGE, "src/tests/__init__.py"),
        row("commits a file with the name of a target of an included makefile", MAKE, MAKE_TESTS, &["make"], "fake > calc.sh; touch unit".to_owned(), NEEDS_NEW_FILES),
        row(
            "adds a class with the name of the protected test", JAVA, JAVA_TESTS, &["javac"],
            "mkdir src; echo 'public class Calc { static int add(int a, int b) { return 5; } }' > src/Calc.java; echo 'public class CalcTest { public static void main(String[] args) { System.out.println(\"right\"); } }' > src/CalcTest.java".to_owned(),
            NEEDS_NEW_FILES,
        ),
    ]
}
