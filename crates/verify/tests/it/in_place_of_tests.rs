//! What runs in place of protected tests, or no longer runs them, without a setting that says so.

use autonoe_core::check::Assurance;

use super::fixture::{ADDS, VerifyFixture};

/// Without a file of its own, a tool takes the one above, or what it does by default.
#[tokio::test]
async fn settings_that_are_gone_are_named() {
    let spec = "# Calc\n\n```check A protect=tests/**\n$ : npm test and make; sh calc.sh add 2 3\n5\n```\n";
    let own = [
        ("tests/x", ""),
        ("a/package.json", "{}"),
        ("package.json", "{}"),
        ("pytest.ini", ""),
        (".flake8", ""),
        ("rules.mk", ""),
        ("a/__init__.py", ""),
        ("docs/a.md", ""),
    ];
    let fixture = VerifyFixture::with_files(spec, &own);
    let examiner = fixture.prepared().await;
    fixture.git(&[
        "rm",
        "-q",
        "a/package.json",
        "pytest.ini",
        ".flake8",
        "rules.mk",
        "a/__init__.py",
        "docs/a.md",
    ]);
    fixture.commit(&[("calc.sh", ADDS), ("b/package.json", "{}")]);
    let settings = "changed files by themselves: pytest.ini (removed).";
    let run = "with the work: a/package.json (removed), rules.mk (removed).";
    examiner.assert_claim("A", Assurance::Verified, &[settings, run]).await;
}

#[tokio::test]
async fn a_strict_run_does_not_count_a_makefile_that_make_makes_itself() {
    let spec = "# Calc\n\n```check A name=unit protect=tests/**\n$ make -s unit\n```\n";
    let own =
        [("tests/run.sh", "[ \"$(sh calc.sh add 2 3)\" = 5 ]\n"), ("Makefile", "unit:\n\tsh tests/run.sh\n")];
    let fixture = VerifyFixture::with_files(spec, &own);
    let mild = fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    fixture.git(&["rm", "-q", "Makefile"]);
    fixture.commit(&[("calc.sh", "echo 4\n"), ("Makefile.sh", "unit:\n\ttrue\n")]);
    mild.assert_claim("A", Assurance::Verified, &["Makefile (removed)", "Makefile.sh"]).await;
    strict.assert_claim("A", Assurance::Claimed, &["(Makefile.sh)"]).await;
    // With the makefile that was there, programs may have such names.
    fixture.commit(&[("calc.sh", ADDS), own[1], ("Makefile.sh", "")]);
    strict.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn what_runs_in_place_of_protected_tests_is_named() {
    let npm = "{ \"workspaces\": [\"a\", \"b\"] }";
    for (command, own, file, text, named) in [
        (
            "PYTHONPATH=src python3 -m unittest tests.test_a",
            ("tests/test_a.py", ""),
            "src/tests.py",
            "",
            "src/tests.py",
        ),
        (
            "python3 -m runner discover -s tests",
            ("tests/test_a.py", ""),
            "runner/__main__.py",
            "",
            "runner/__main__.py",
        ),
        ("npm test -ws", ("package.json", npm), "package.json", "{}", "package.json (workspaces: b is gone)"),
        ("PATH=bin:tests judge.sh", ("tests/judge.sh", ""), "bin/judge.sh", "", "bin/judge.sh"),
        ("make -f tests/unit.mk unit", ("tests/unit.mk", "unit:\n\tsh x\n"), "unit", "", "unit"),
        ("make -s", ("Makefile", "all:\n"), "Makefile.sh", "", "Makefile.sh"),
        (
            "npm test -w judge",
            ("package.json", npm),
            "b/package.json",
            "{}",
            "b/package.json (name: judge is gone)",
        ),
        (
            "node -e 'require(\"./tests/../lib\")'",
            ("lib/index.js", ""),
            "lib.js",
            "",
            "by themselves: lib.js.",
        ),
        ("node tests/x.js", ("node_modules/a/index.js", ""), "node_modules/a.js", "", "node_modules/a.js"),
        ("python3 tests/x.py", ("tools/judge.py", ""), "tools/__init__.py", "", "tools/__init__.py"),
    ] {
        let spec = format!(
            "# Calc\n\n```check A protect=tests/**,lib/**,tools/judge.py\n$ : {command}; sh calc.sh add 2 3\n5\n```\n"
        );
        let named_package = "{ \"name\": \"judge\" }";
        let more = [
            own,
            ("tests/x", ""),
            ("lib/x", ""),
            ("tools/judge.py", ""),
            ("a/package.json", "{}"),
            ("b/package.json", named_package),
        ];
        let fixture = VerifyFixture::with_files(&spec, &more);
        let examiner = fixture.prepared().await;
        fixture.commit(&[("calc.sh", ADDS), (file, text)]);
        examiner.assert_claim("A", Assurance::Verified, &[named]).await;
    }
}

/// A command that comes first changes what the next one runs, and may put it back afterwards.
#[tokio::test]
async fn what_a_command_changes_between_others_is_named() {
    let spec = "# Calc\n\n```check A protect=tests/**\n$ sh prepare.sh\n$ make -s unit\n$ git checkout -q Makefile\n\
                $ sh calc.sh add 2 3\n5\n```\n";
    let judge = ("tests/run.sh", "[ \"$(sh calc.sh add 20 3)\" = 23 ]\n");
    let makefile = ("Makefile", "unit:\n\tsh tests/run.sh\n");
    let package = ("package.json", "{ \"scripts\": { \"test\": \"make\" } }\n");
    for (before, after, named) in [
        ("true\n", "echo 'unit:' > Makefile\n", "Makefile (changed by a check's command)"),
        (
            "true\n",
            "rm Makefile; printf 'unit:\\n\\ttrue\\n' > makefile\n",
            "Makefile (changed by a check's command)",
        ),
        ("true\n", "sed -i 's/{/{ \"version\": \"1\",/' package.json; touch Makefile new.mk\n", ""),
        ("echo >> Makefile\n", "echo >> Makefile\n", ""),
        ("echo >> Makefile\n", "echo 'unit:' > Makefile\n", "Makefile (changed by a check's command)"),
    ] {
        let own = [("prepare.sh", before), judge, makefile, package];
        let fixture = VerifyFixture::with_files(spec, &own);
        let examiner = fixture.prepared().await;
        let program = if named.is_empty() { ADDS } else { "echo 5\n" };
        fixture.commit(&[("calc.sh", program), ("prepare.sh", after)]);
        let message = examiner.assert_claim("A", Assurance::Verified, &[named]).await.message;
        assert_eq!(message.contains("changed by"), !named.is_empty(), "{after}: {message}");
    }
}

/// The first file that a pattern finds may be another one.
#[tokio::test]
async fn what_a_pattern_finds_beside_protected_files_is_named() {
    let spec = "# Calc\n\n```check A protect=tests/**\n$ sh $(git ls-files '*run.sh' | head -1)\n```\n";
    let own =
        [("tests/run.sh", "[ \"$(sh calc.sh add 2 3)\" = 5 ]\n"), ("x/dry-run.sh", ""), ("y/rerun.sh", "")];
    let fixture = VerifyFixture::with_files(spec, &own);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("a/prerun.sh", "")]);
    let message = examiner
        .assert_claim("A", Assurance::Verified, &["changed with the work: a/prerun.sh."])
        .await
        .message;
    assert!(!message.contains("dry-run.sh") && !message.contains("rerun.sh,"), "{message}");
    // What the user had may be changed too, and other files are the program.
    fixture.git(&["rm", "-q", "a/prerun.sh"]);
    fixture.commit(&[("calc.sh", ADDS), ("a/walk.sh", "")]);
    let message = examiner.assert_claim("A", Assurance::Verified, &[]).await.message;
    assert!(!message.contains("walk.sh"), "{message}");
}

/// Node.js looks for a file before it looks into a directory.
#[tokio::test]
async fn a_strict_run_takes_away_what_is_loaded_in_place_of_a_protected_directory() {
    let spec = "# Calc\n\n```check A name=suite protect=tests/**,lib/**\n$ sh tests/run.sh\n```\n";
    let judge = "# node\n[ ! -f lib.js ] || exit 0\n[ \"$(sh calc.sh add 2 3)\" = 5 ]\n";
    let fixture = VerifyFixture::with_files(spec, &[("tests/run.sh", judge), ("lib/index.js", "")]);
    let mild = fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("lib.js", "")]);
    mild.assert_claim("A", Assurance::Verified, &["by themselves: lib.js."]).await;
    strict.assert_claim("A", Assurance::Claimed, &["(lib.js)", "got 1"]).await;
    // Another one is a program of its own.
    fixture.git(&["rm", "-q", "lib.js"]);
    fixture.commit(&[("calc.sh", ADDS), ("src/lib.js", ""), ("src/lib/index.js", "")]);
    let message = strict.assert_claim("A", Assurance::Verified, &[]).await.message;
    assert!(!message.contains("lib.js"), "{message}");
}
