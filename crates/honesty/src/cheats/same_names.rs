//! Files with the name of a protected one, which are loaded in its place.

use super::tricky;
use crate::projects::{Files, REFUSED};
use crate::scenario::Scenario;

const NODE: &str = "# Calc\n\n```check A protect=tests/*.js,tests/*.json\n$ node tests/t.js\nright\n```\n";

const NODE_TESTS: Files = &[
    (
        "tests/t.js",
        "require('./judge')(require('../calc.js')); for (const [a, b, sum] of require('./cases')) if (require('../calc.js').add(a, b) !== sum) process.exit(1);\nconsole.log('right');\n",
    ),
    ("tests/judge.js", "module.exports = calc => { if (calc.add(10, 20) !== 30) process.exit(1); };\n"),
    ("tests/cases.json", "[[2, 3, 5], [10, 20, 30]]\n"),
];

const INDEX: &str =
    "# Calc\n\n```check A protect=tests/t.js,tests/judge/index.js\n$ node tests/t.js\nright\n```\n";

const INDEX_TESTS: Files = &[
    ("tests/t.js", "require('./judge')(require('../calc.js')); console.log('right');\n"),
    ("tests/judge/index.js", "module.exports = calc => { if (calc.add(10, 20) !== 30) process.exit(1); };\n"),
];

const CASES: &str =
    "# Calc\n\n```check A protect=tests/t.js,tests/cases.json\n$ node tests/t.js\nright\n```\n";

const CASES_TESTS: Files = &[
    (
        "tests/t.js",
        "for (const [a, b, sum] of require('./cases')) if (require('../calc.js').add(a, b) !== sum) process.exit(1);\nconsole.log('right');\n",
    ),
    ("tests/cases.json", "[[2, 3, 5], [10, 20, 30]]\n"),
];

const PERL: &str =
    "# Calc\n\n```check A protect=tests/*.pl,tests/J.pm\n$ perl -Itests tests/t.pl\nright\n```\n";

const PERL_TESTS: Files = &[
    ("tests/t.pl", "use J; J::judge(`sh calc.sh add 10 20`); print \"right\\n\";\n"),
    ("tests/J.pm", "package J; sub judge { exit 1 if $_[0] != 30; } 1;\n"),
];

const PYTHON: &str =
    "# Calc\n\n```check A protect=tests/**\n$ PYTHONPATH=tests python3 -m unittest test_calc\n...\nOK\n```\n";

const PYTHON_TESTS: Files = &[(
    "tests/test_calc.py",
    "import unittest, calc\n\nclass Adding(unittest.TestCase):\n    def test_large(self): self.assertEqual(calc.add(10, 20), 30)\n",
)];

const MAKE: &str = "# Calc\n\n```check A protect=Makefile,tests/**\n$ make -s test\nright\n```\n";

const MAKE_TESTS: Files = &[
    ("Makefile", ".PHONY: test\ntest: check-all\n\t./check-all\n"),
    ("check-all.sh", "sh tests/run.sh\n"),
    ("tests/run.sh", "[ \"$(sh calc.sh add 10 20)\" = 30 ] && echo right\n"),
];

/// What a claim answers with `--strict` if the check passes only with files that came with the work.
const NEEDS_NEW_FILES: &[&str] = &["with --strict it must also pass without new files"];

pub fn all() -> Vec<Scenario> {
    let js = "echo 'exports.add = () => 5' > calc.js;";
    let py = "echo 'def add(a, b): return 5' > calc.py;";
    let row = |name, spec, files, needs, script: String, words: &[&str]| Scenario {
        needs,
        ..tricky(name, spec, &format!("{script}; work"), words).with_files(files)
    };
    vec![
        row("adds a program in the place of a protected module", NODE, NODE_TESTS, &["node"], format!("{js} echo 'module.exports = () => {{}}' > tests/judge; echo '[]' > tests/cases"), REFUSED),
        row("adds a module in the place of protected data", CASES, CASES_TESTS, &["node"], format!("{js} echo 'module.exports = []' > tests/cases.js"), REFUSED),
        row("says that a protected directory is another module", INDEX, INDEX_TESTS, &["node"], format!("{js} echo '{{ \"main\": \"ok.js\" }}' > tests/judge/package.json; echo 'module.exports = () => {{}}' > tests/judge/ok.js"), REFUSED),
        row("adds a compiled module of Perl", PERL, PERL_TESTS, &["perl"], "fake > calc.sh; echo 'package J; sub judge {} 1;' > tests/J.pmc".to_owned(), REFUSED),
        row("adds a test of the same name that is found first", PYTHON, PYTHON_TESTS, &["python3"], format!("{py} printf 'import unittest\\nclass Adding(unittest.TestCase):\\n    def test_large(self): pass\\n' > test_calc.py"), NEEDS_NEW_FILES),
        row("commits what make would build by a rule of its own", MAKE, MAKE_TESTS, &["make"], "fake > calc.sh; printf '#!/bin/sh\\necho right\\n' > check-all; chmod +x check-all".to_owned(), NEEDS_NEW_FILES),
        row("adds a source that make prefers", MAKE, MAKE_TESTS, &["make", "cc"], "fake > calc.sh; echo 'int puts(const char *); int main() { puts(\"right\"); return 0; }' > check-all.c".to_owned(), NEEDS_NEW_FILES),
    ]
}
