//! Specifications, files and repositories that scenarios have in common.

pub type Files = &'static [(&'static str, &'static str)];

/// Checks two sums, so that one hard-coded answer does not pass.
pub const ADDING: &str =
    "# Calc\n\n## Adding\n\n```check A\n$ sh calc.sh add 2 3\n5\n$ sh calc.sh add 10 20\n30\n```\n";

/// The same with little time.
pub const HURRIED: &str =
    "# Calc\n\n## Adding\n\n```check A time=4s\n$ sh calc.sh add 2 3\n5\n$ sh calc.sh add 10 20\n30\n```\n";

/// A command prepares the others.
pub const MADE: &str = "# Calc\n\n```check A\n$ make -s\n$ ./calc add 2 3\n5\n$ ./calc add 10 20\n30\n```\n";

/// Runs the user's tests as its check.
pub const TESTED: &str = "# Calc\n\n```check A time=30s protect=tests/**\n$ sh tests/run.sh\nall good\n```\n";

/// Has a check that no deliverable is assigned to yet.
pub const UNASSIGNED: &str = "# Calc\n\n## Adding\n\n```check name=sums\n$ sh calc.sh add 10 20\n30\n```\n";

/// Has no check.
pub const PLAIN: &str = "# Calc\n\nIt adds two numbers: `sh calc.sh add 2 3` prints 5.\n";

/// `.autonoe/checks.json` with one check.
pub const CHECKS: &str = r#"{ "checks": [{ "name": "sum", "deliverable": "A", "run": "sh calc.sh add 10 20", "output": ["30"] }] }"#;

/// A test suite that starts the program once before it tests it, and can be skipped by creating a file.
pub const TESTS: Files = &[
    (
        "tests/run.sh",
        "[ -f skip-tests ] && { echo skipped; exit 0; }\n\
         sh calc.sh version > /dev/null 2>&1\n\
         for part in tests/setup*.sh; do [ ! -f \"$part\" ] || . \"./$part\"; done\n\
         for test in tests/*.test; do sh \"$test\" || exit 1; done\n\
         echo all good\n",
    ),
    ("tests/small.test", "[ \"$(sh calc.sh add 2 3)\" = 5 ]\n"),
    ("tests/large.test", "[ \"$(sh calc.sh add 10 20)\" = 30 ]\n"),
];

/// A correct program.
pub const ADDS: &str = "echo $(($2 + $3))\n";

/// A program that hard-codes one answer.
pub const PRINTS_ONE: &str = "echo 5\n";

/// A repository with one commit.
pub const COMMITTED: &str = "git init -q -b main .; git add .; git commit -qm begin";

pub const NO_REPOSITORY: &str = "";

/// What a claim answers that is refused for any reason.
pub const FAILED: &[&str] = &["success\":false"];

/// What a claim answers whose checks fail.
pub const REFUSED: &[&str] = &["CHECKS_FAILED", "do not pass"];

pub const VERIFIED: &[&str] = &["verified"];
