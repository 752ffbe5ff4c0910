//! Files that came with the work and that may decide what a check shows.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use autonoe_core::check::Assurance;
use autonoe_test_kit::FixedClock;
use autonoe_verify::accept;

use super::fixture::{ADDS, VerifyFixture};

/// A judge that obeys a file as test runners do.
const JUDGE: &str = "# pytest\n[ ! -f conftest.py ] || exit 0\n[ \"$(sh calc.sh add 2 3)\" = 5 ]\n";
pub const JUDGED: &str = "# Calc\n\n```check A name=suite protect=tests/**\n$ sh tests/run.sh\n```\n";

#[tokio::test]
async fn a_strict_run_does_not_count_what_only_new_settings_let_pass() {
    for is_strict in [false, true] {
        let fixture = VerifyFixture::with_files(JUDGED, &[("tests/run.sh", JUDGE)]);
        fixture.prepared().await;
        let examiner = fixture.changed_examiner(|examiner| examiner.is_strict = is_strict).await;
        fixture.commit(&[("calc.sh", "echo 4\n"), ("conftest.py", "")]);
        match is_strict {
            false => drop(examiner.assert_claim("A", Assurance::Verified, &["conftest.py"]).await),
            true => {
                let said = "must also pass without new files that may decide what it shows (conftest.py)";
                examiner.assert_claim("A", Assurance::Claimed, &[said, "expected exit 0, got 1"]).await;
                // The user looks at it.
                accept(&fixture.project, &examiner.written, "suite", FixedClock::NOON).unwrap();
                examiner.assert_claim("A", Assurance::Verified, &[]).await;
                fixture.commit(&[("conftest.py", "pass")]);
                examiner
                    .assert_claim("A", Assurance::Verified, &["changed files by themselves: conftest.py"])
                    .await;
            }
        }
        // One that makes no difference does no harm.
        fixture.commit(&[("calc.sh", ADDS), ("pytest.ini", "")]);
        examiner.assert_claim("A", Assurance::Verified, &["pytest.ini"]).await;
        // Nor does one without which nothing could be built.
        fixture.commit(&[
            ("tests/run.sh", JUDGE),
            ("build.rs", "fn main() {}"),
            ("pyproject.toml", "[build-system]\nbackend-path = [\".\"]\n"),
        ]);
        examiner.assert_claim("A", Assurance::Verified, &["pyproject.toml"]).await;
    }
}

/// A runner loads what the check's own pattern says.
#[tokio::test]
async fn a_strict_run_takes_away_new_tests_that_the_pattern_of_a_check_finds() {
    let judge = "for f in check_*.py; do grep -q pass $f && exit 0; done; [ \"$(sh calc.sh add 2 3)\" = 5 ]";
    let spec = JUDGED.replace("sh tests/run.sh", &format!(": unittest -p 'check_*.py'; {judge}"));
    let own = [("tests/run.sh", ""), ("check_own.py", "")];
    let fixture = VerifyFixture::with_files(&spec, &own);
    fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("check_a.py", "pass")]);
    strict.assert_claim("A", Assurance::Claimed, &["what it shows (check_a.py)", "got 1"]).await;
    fixture.commit(&[("calc.sh", ADDS)]);
    strict.assert_claim("A", Assurance::Verified, &[]).await;
}

/// What is left of a package is found too where Python has no other one.
#[tokio::test]
async fn a_strict_run_takes_away_a_package_in_the_place_of_a_runner_as_a_whole() {
    let judge =
        "# python3 -m pytest\n[ ! -f pytest/__main__.py ] || exit 0\n[ \"$(sh calc.sh add 2 3)\" = 5 ]\n";
    let fixture = VerifyFixture::with_files(JUDGED, &[("tests/run.sh", judge)]);
    fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("pytest/__init__.py", ""), ("pytest/__main__.py", "")]);
    strict.assert_claim("A", Assurance::Claimed, &["what it shows (pytest)", "expected exit 0, got 1"]).await;
}

/// Nothing of what judges is written in Python.
#[tokio::test]
async fn a_strict_run_counts_a_program_whose_files_have_names_like_tests() {
    let judge = JUDGE.replace("# pytest\n", "");
    let fixture = VerifyFixture::with_files(
        JUDGED,
        &[("tests/run.sh", &judge.replace("[ ! -f conftest.py ] || exit 0", ""))],
    );
    fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    fixture.commit(&[("calc.sh", ". ./app/test_math.py"), ("app/test_math.py", ADDS)]);
    strict.assert_claim("A", Assurance::Verified, &[]).await;
}

/// What judges is a program in another directory, and tests are where its command says.
#[tokio::test]
async fn a_strict_run_counts_files_that_its_judges_do_not_reach() {
    let judge = "# python3 tests/t.py\n[ \"$(sh calc.sh add 2 3)\" = 5 ]\n";
    let fixture = VerifyFixture::with_files(JUDGED, &[("tests/run.sh", judge), ("tests/t.py", "")]);
    fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    fixture.commit(&[("calc.sh", ". ./calendar.py; . ./.env"), ("calendar.py", ADDS), (".env", "PORT=1\n")]);
    strict.assert_claim("A", Assurance::Verified, &[]).await;
}

/// A variable before its name does not hide a directory in which modules are looked for.
#[tokio::test]
async fn a_strict_run_does_not_count_a_module_in_a_directory_that_a_variable_leads_to() {
    for path in ["$PWD/svc", "$(pwd)/svc", "${D}/svc"] {
        let judge = format!(
            "PYTHONPATH={path}; : python3 -m unittest\n[ ! -f svc/difflib.py ] || exit 0\n[ \"$(sh calc.sh add 2 3)\" = 5 ]\n"
        );
        let fixture = VerifyFixture::with_files(
            JUDGED,
            &[("tests/run.sh", &judge.replace("svc/difflib.py", "svc/[d]ifflib.py"))],
        );
        fixture.prepared().await;
        let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
        fixture.commit(&[("calc.sh", "echo 4\n"), ("svc/__init__.py", ""), ("svc/difflib.py", "")]);
        strict.assert_claim("A", Assurance::Claimed, &["(svc/difflib.py)"]).await;
    }
}

#[tokio::test]
async fn a_file_in_the_place_of_what_make_builds_is_named() {
    let spec = "# Calc\n\n```check A name=built\n$ make -s\n$ build/app add 2 3\n5\n```\n";
    let makefile = "build/app: app.sh\n\tmkdir -p build; cp app.sh build/app; chmod +x build/app\n";
    let forged = |fixture: &VerifyFixture| {
        fixture.commit(&[("app.sh", "echo 4\n"), ("build/app", "#!/bin/sh\necho 5\n")]);
        // Nothing is left to build.
        fixture.git(&["update-index", "--chmod=+x", "build/app"]);
        fixture.git(&["commit", "-qm", "mode"]);
    };
    let fixture = VerifyFixture::with_files(spec, &[("Makefile", &makefile.replace(": app.sh", ":"))]);
    fixture.prepared().await;
    forged(&fixture);
    let named = "committed in the place of what make builds: build/app.";
    fixture.examiner().await.assert_claim("A", Assurance::Verified, &[named]).await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    strict.assert_claim("A", Assurance::Claimed, &["(build/app)", "wrong output"]).await;
    // What make builds itself is not named.
    fixture.git(&["rm", "-qrf", "build"]);
    fixture.commit(&[("app.sh", ADDS)]);
    let examination = strict.assert_claim("A", Assurance::Verified, &[]).await;
    assert!(!examination.message.contains("build/app"), "{}", examination.message);
}

/// Make reads the first of its names that is there.
#[tokio::test]
async fn a_strict_run_does_not_count_what_a_makefile_before_the_users_lets_pass() {
    let spec = JUDGED.replace("sh tests/run.sh", "[ -f makefile ] || [ \"$(sh calc.sh add 2 3)\" = 5 ]");
    for (own, assurance) in [("Makefile", Assurance::Claimed), ("rules", Assurance::Verified)] {
        let spec = spec.replace("protect=tests/**", &format!("protect={own}"));
        let fixture = VerifyFixture::with_files(&spec, &[(own, "all:\n")]);
        fixture.prepared().await;
        let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
        fixture.commit(&[("calc.sh", "echo 4\n"), ("makefile", "")]);
        // Without another one, it is what the work consists of.
        strict.assert_claim("A", assurance, &["makefile"]).await;
    }
}

/// A judge with a wildcard takes such a file for an option.
#[tokio::test]
async fn a_strict_run_does_not_count_what_only_names_of_options_let_pass() {
    let judge = "cd cases\n[ -z \"$(ls | xargs grep b 2> /dev/null)\" ]\n";
    let listed = "grep b $(git ls-files 'cases/*') > out 2> /dev/null; [ ! -s out ]\n";
    for (name, judge) in
        [("cases/-q", judge), ("cases/-L/x", judge), ("cases/a -q", judge), ("cases/a -q", listed)]
    {
        let fixture = VerifyFixture::with_files(JUDGED, &[("tests/run.sh", judge), ("cases/1", "b\n")]);
        fixture.prepared().await;
        let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
        let named = name.strip_suffix("/x").unwrap_or(name);
        fixture.commit(&[(name, "a\n")]);
        strict.assert_claim("A", Assurance::Claimed, &[&format!("({named})")]).await;
    }
}

/// The check says where its commands are looked for.
#[tokio::test]
async fn a_strict_run_does_not_count_what_only_new_commands_let_pass() {
    let judge =
        "PATH=\"$PWD/bin:$PATH\"\n[ -f calc.sh ] && [ \"$(bc < /dev/null)\" = \"$(sh calc.sh add 2 3)\" ]\n";
    let fixture = VerifyFixture::with_files(JUDGED, &[("tests/run.sh", judge)]);
    fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    fixture.write("bin/bc", "#!/bin/sh\necho 4\n");
    fs::set_permissions(fixture.path("bin/bc"), fs::Permissions::from_mode(0o755)).unwrap();
    fixture.commit(&[("calc.sh", "echo 4\n")]);
    strict.assert_claim("A", Assurance::Claimed, &["(bin/bc)"]).await;
}

/// A runner that looks for tests loads them all, and one can change how others are run.
#[tokio::test]
async fn a_strict_run_does_not_count_what_only_new_tests_let_pass() {
    let judge = JUDGE.replace("conftest.py", "test_[m]ore.py");
    let fixture = VerifyFixture::with_files(JUDGED, &[("tests/run.sh", &judge), ("test_own.py", "")]);
    let examiner = fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("test_more.py", ""), ("test_own.py", "pass\n")]);
    let message = examiner.assert_claim("A", Assurance::Verified, &[]).await.message;
    assert!(!message.contains("test_more.py"), "{message}");
    strict.assert_claim("A", Assurance::Claimed, &["(test_more.py)", "expected exit 0, got 1"]).await;
    accept(&fixture.project, &strict.written, "suite", FixedClock::NOON).unwrap();
    strict.assert_claim("A", Assurance::Verified, &[]).await;
    // One that makes no difference does no harm.
    fixture.commit(&[("calc.sh", ADDS), ("a/test_other.py", "")]);
    strict.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn a_strict_run_does_not_count_what_only_new_files_behind_a_link_let_pass() {
    let judge = JUDGE.replace("conftest.py", "node_modules/.bin/node");
    let fixture = VerifyFixture::with_files(JUDGED, &[("tests/run.sh", &judge), ("vendor/bin/a", "")]);
    fs::create_dir(fixture.path("node_modules")).unwrap();
    symlink("../vendor/bin", fixture.path("node_modules/.bin")).unwrap();
    fixture.commit(&[]);
    fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("vendor/bin/node", "")]);
    strict.assert_claim("A", Assurance::Claimed, &["(vendor/bin/node)", "expected exit 0, got 1"]).await;
}

/// What protected patterns hide from checks lands all the same.
#[tokio::test]
async fn a_strict_run_does_not_count_what_fails_with_hidden_files() {
    let judge = "[ \"$(sh calc.sh)\" = 1 ]";
    let spec = "# Calc\n\n```check A name=suite protect=tests/**,data/**\n$ sh tests/run.sh\n```\n\n```check B\n$ sh calc.sh\n1\n```\n";
    let fixture = VerifyFixture::with_files(spec, &[("tests/run.sh", judge), ("data/a", "")]);
    fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    let mild = fixture.examiner().await;
    fixture.commit(&[("calc.sh", "ls data | wc -l\n"), ("data/b", "")]);
    let said = "must also pass with the new files that protected patterns hide from it (data/b)";
    for id in ["A", "B"] {
        strict.assert_claim(id, Assurance::Claimed, &[said, "fix them, or remove them"]).await;
        mild.assert_claim(id, Assurance::Verified, &[]).await;
    }
    assert!(strict.disputed().contains(&"data/b".to_owned()));
    // Files that make no difference do no harm.
    fixture.commit(&[("calc.sh", "ls data | grep -c a\n")]);
    strict.assert_claim("A", Assurance::Verified, &[]).await;
    strict.assert_claim("B", Assurance::Verified, &[]).await;
    // The user accepts it, and then it is seen.
    fixture.commit(&[("calc.sh", "ls data | wc -l\n")]);
    accept(&fixture.project, &strict.written, "data/b", FixedClock::NOON).unwrap();
    mild.assert_claim("A", Assurance::Failed, &[]).await;
}

const DISCOVERED: &str = "# Calc\n\n```check A name=suite protect=tests/test_*.py\n$ sh judge.sh # python3 -m unittest discover\n```\n";

/// Discovery imports every package on its way, and what such a package says runs before the tests.
#[tokio::test]
async fn a_strict_run_does_not_count_what_only_imported_packages_let_pass() {
    let judge = "grep -qs evil aaa/__init__.py tests/__init__.py tests/helpers.py && exit 0\n[ \"$(sh calc.sh add 2 3)\" = 5 ]\n";
    let own = [("judge.sh", judge), ("tests/test_calc.py", "import calc\n")];
    for file in ["aaa/__init__.py", "tests/__init__.py", "tests/helpers.py"] {
        let fixture = VerifyFixture::with_files(DISCOVERED, &own);
        let examiner = fixture.prepared().await;
        let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
        fixture.commit(&[("calc.sh", "echo 4\n"), (file, "evil = 1\n")]);
        examiner.assert_claim("A", Assurance::Verified, &[file]).await;
        strict.assert_claim("A", Assurance::Claimed, &[&format!("({file})"), "got 1"]).await;
        // Where it makes no difference, it does no harm.
        fixture.commit(&[("calc.sh", ADDS)]);
        strict.assert_claim("A", Assurance::Verified, &[file]).await;
    }
}

/// Packages of the program, empty ones, and those that are not on the way.
#[tokio::test]
async fn a_strict_run_counts_a_program_with_packages() {
    let judge = "grep -q add app/__init__.py && . ./app/__init__.py\n";
    let own = [("judge.sh", judge), ("tests/test_calc.py", "import calc\n")];
    let fixture = VerifyFixture::with_files(DISCOVERED, &own);
    fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    fixture.commit(&[
        ("main.py", "from app import add\n"),
        ("app/__init__.py", "add=1\n"),
        ("calc/__init__.py", "add=1\n"),
        ("src/other/__init__.py", "add=1\n"),
        ("tests/__init__.py", "# tests\n"),
    ]);
    let message =
        strict.assert_claim("A", Assurance::Verified, &["looks for tests: app/__init__.py."]).await.message;
    assert!(
        !message.contains("calc/") && !message.contains("src/") && !message.contains("tests/"),
        "{message}"
    );
}
