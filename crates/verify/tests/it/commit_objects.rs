//! A check sees what its commit reaches, and nothing else of the repository.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use autonoe_core::check::Assurance;
use autonoe_core::event::RunEvent;
use autonoe_sandbox::RoomLimits;
use serde_json::json;

use super::fixture::{ADDS, SPEC, VerifyFixture, check};

/// Runs a command as a check of the last commit; it must pass.
async fn assert_passes(fixture: &VerifyFixture, command: &str) {
    let run = fixture.run_check(RoomLimits::default(), check(command, json!({}))).await;
    assert!(run.passed(), "{command}: {}: {}", run.sentence(), run.output);
}

#[tokio::test]
async fn objects_that_the_commit_does_not_reach_are_not_there() {
    let fixture = VerifyFixture::with_files("# Spec\n", &[("a", "a\n")]);
    fixture.write("answer", "dangling\n");
    let dangling = fixture.git(&["hash-object", "-w", "answer"]);
    fixture.git(&["checkout", "-q", "-b", "other"]);
    let other = fixture.commit(&[("other", "other branch\n")]);
    fixture.git(&["checkout", "-q", "main"]);
    fixture.write("a", "stashed\n");
    fixture.git(&["stash", "-q"]);
    let stash = fixture.git(&["rev-parse", "stash"]);
    // All of these may also be in the history that is kept between checks.
    for commits in 0..2 {
        for hash in [&dangling, &other, &stash] {
            assert_passes(&fixture, &format!("git cat-file -e HEAD && ! git cat-file -e {hash}")).await;
        }
        assert_passes(&fixture, "[ -z \"$(git fsck --unreachable --no-reflogs 2>&1 | grep unreachable)\" ]")
            .await;
        fixture.commit(&[("more", &commits.to_string())]);
    }
}

#[tokio::test]
async fn history_and_tags_are_there() {
    let fixture = VerifyFixture::with_files("# Spec\n", &[("a", "one\n")]);
    fixture.git(&["tag", "-a", "-m", "first", "v1.0"]);
    fixture.commit(&[("a", "two\n")]);
    fixture.git(&["tag", "light"]);
    fixture.git(&["checkout", "-q", "-b", "other"]);
    fixture.commit(&[("b", "b\n")]);
    fixture.git(&["tag", "elsewhere"]);
    fixture.git(&["checkout", "-q", "main"]);
    let command = "[ \"$(git describe)\" = v1.0-1-g$(git rev-parse --short HEAD) ] && [ \"$(git describe --tags)\" = light ] \
                   && [ \"$(git tag | wc -l)\" = 2 ] && [ \"$(git log --format=%h | wc -l)\" = 2 ] && git log -p > /dev/null";
    assert_passes(&fixture, command).await;
    // The second time, the history is taken from what was kept.
    fixture.commit(&[("a", "three\n")]);
    assert_passes(&fixture, "[ \"$(git log --format=%h | wc -l)\" = 3 ] && [ \"$(git show v1.0:a)\" = one ]")
        .await;
    assert_eq!(fs::read_dir(fixture.home().join("history")).unwrap().count(), 1);
}

#[tokio::test]
async fn a_shallow_or_shared_clone_is_checked() {
    let fixture = VerifyFixture::with_files("# Spec\n", &[("a", "one\n")]);
    fixture.commit(&[("a", "two\n")]);
    let url = format!("file://{}", fixture.project.root().display());
    for (name, args, commits) in [("shallow", ["--depth", "1"], 1), ("shared", ["--shared", "--quiet"], 2)] {
        let clone = fixture.home().join(name);
        let from = if name == "shared" { fixture.project.root().to_str().unwrap() } else { &url };
        fixture.git(&["clone", "-q", args[0], args[1], from, clone.to_str().unwrap()]);
        let command = format!("[ \"$(cat a)\" = two ] && [ \"$(git log --format=%h | wc -l)\" = {commits} ]");
        let result = fixture.run_checks(&clone, RoomLimits::default(), &[check(&command, json!({}))]).await;
        assert!(result.runs.iter().all(|(_, now)| now.passed()), "{name}: {:?}", result.runs);
    }
}

#[tokio::test]
async fn the_specification_and_our_own_files_are_not_there() {
    let spec = "# Spec\n\nThe answer is 42.\n";
    let fixture = VerifyFixture::with_files(spec, &[(".autonoe/checks.json", "{\"checks\":[]}\n")]);
    fixture.commit(&[("a", "a\n"), (".autonoe/deep/checks.json", "{\"checks\":[]}\n")]);
    // The second time, most objects come from the history that was kept.
    for text in ["b\n", "c\n"] {
        for command in [
            "[ ! -e SPEC.md ] && [ ! -e .autonoe ]",
            "! git show HEAD:SPEC.md | grep answer",
            "! git log -p --all -- SPEC.md .autonoe | grep -e 'answer is' -e '{.checks'",
            // Git works as if nothing was missing.
            "[ -z \"$(git status --porcelain)\" ] && git archive HEAD | tar t | grep -q SPEC.md",
            "git diff HEAD~1 > /dev/null && git commit -q --allow-empty -m x && git stash list",
        ] {
            assert_passes(&fixture, command).await;
        }
        fixture.commit(&[("a", text)]);
    }
    // The same text in another file is that file's.
    fixture.commit(&[("copy.md", spec)]);
    assert_passes(&fixture, "grep -q 42 copy.md && [ ! -e SPEC.md ]").await;
}

#[tokio::test]
async fn git_can_be_used_in_a_check() {
    let fixture = VerifyFixture::with_files("# Spec\n", &[("a", "a\n")]);
    let command = "git commit -q --allow-empty -m x && git init -q --bare /tmp/bare && cd /tmp/bare && git rev-parse --git-dir \
                   && git init -q ../work && cd ../work && git commit -q --allow-empty -m y && git push -q ../bare HEAD:main";
    assert_passes(&fixture, command).await;
}

#[tokio::test]
async fn one_check_leaves_nothing_for_the_next() {
    let fixture = VerifyFixture::with_files("# Spec\n", &[("a", "a\n"), ("built/.keep", "")]);
    let one = check(
        "echo changed > a; echo x > built/x; echo y > \"$HOME/y\"; echo z > /tmp/z; git config core.bare true",
        json!({}),
    );
    let other = check(
        "[ \"$(cat a)\" = a ] && [ ! -e built/x ] && [ ! -e \"$HOME/y\" ] && [ ! -e /tmp/z ] && git status --porcelain",
        json!({}),
    );
    let result = fixture.run_checks(fixture.project.root(), RoomLimits::default(), &[one, other]).await;
    assert!(result.runs.iter().all(|(_, now)| now.passed()), "{:?}", result.runs);
}

#[tokio::test]
async fn a_repository_that_was_there_must_stay() {
    let fixture = VerifyFixture::with_files("# Spec\n", &[("part/a", "a\n")]);
    let mut checkouts = fixture.checkouts(fixture.project.root(), RoomLimits::default()).await;
    checkouts.repository = Some(fixture.path(".git"));
    checkouts.check_out(None).await.map_err(|fault| fault.message).unwrap().close().await;
    fs::rename(fixture.path(".git/HEAD"), fixture.path(".git/old")).unwrap();
    let Err(fault) = checkouts.check_out(None).await else { panic!("the files were copied") };
    assert!(fault.message.contains("was removed, moved or replaced"), "{}", fault.message);
    fs::rename(fixture.path(".git/old"), fixture.path(".git/HEAD")).unwrap();

    // A repository in a part of it.
    fixture.git_in(&fixture.path("part"), &["init", "-q", "."]);
    checkouts.root = fixture.path("part");
    let Err(fault) = checkouts.check_out(None).await else { panic!("another repository was used") };
    assert_eq!(fault.code, "repository_gone");
}

#[tokio::test]
async fn new_files_that_test_runners_read_are_named() {
    let fixture = VerifyFixture::with_files(SPEC, &[("setup.cfg", "")]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS), ("tests/conftest.py", ""), ("json.py", "")]);
    let named =
        "Test runners and other tools read these new files by themselves: json.py, tests/conftest.py.";
    examiner.assert_claim("A", Assurance::Verified, &[named]).await;
    assert_eq!(fixture.evidence("A").unwrap()["runner_files"], json!(["json.py", "tests/conftest.py"]));
}

/// `pkg/json.py` is `pkg.json`, unless Python looks for modules in `pkg`.
#[tokio::test]
async fn modules_of_a_package_are_named_only_where_python_searches_it() {
    for (command, named) in [
        ("sh calc.sh add 2 3", "verified"),
        ("sh calc.sh add 2 3 # pkg/run.py", "new files by themselves: pkg/json.py."),
        ("cd ./pkg && sh ../calc.sh add 2 3", "new files by themselves: pkg/json.py."),
        (": python3 -m unittest discover pkg; sh calc.sh add 2 3", "new files by themselves: pkg/json.py."),
        (": 'import sys' && : PYTHONPATH=pkg; sh calc.sh add 2 3", "new files by themselves: pkg/json.py."),
        (": python3 -m pkg add; sh calc.sh add 2 3", "verified"),
        (": '[sys.executable, \"-m\", \"pkg\"]'; sh calc.sh add 2 3", "verified"),
        (": 'from pkg import add'; : 'import os, pkg'; sh calc.sh add 2 3", "verified"),
    ] {
        let spec = format!("# Calc\n\n```check A\n$ {command}\n5\n```\n");
        let fixture = VerifyFixture::new(&spec);
        let examiner = fixture.prepared().await;
        fixture.commit(&[("calc.sh", ADDS), ("pkg/__init__.py", ""), ("pkg/json.py", "")]);
        let examination = examiner.assert_claim("A", Assurance::Verified, &[named]).await;
        assert_eq!(examination.message.contains("pkg/json.py"), named.contains("pkg/json.py"), "{command}");
    }
}

#[tokio::test]
async fn new_files_above_the_project_are_named() {
    let fixture = VerifyFixture::without_repository(SPEC);
    let top = fixture.root().parent().unwrap().to_owned();
    fs::write(top.join(".npmrc"), "").unwrap();
    fixture.git_in(&top, &["init", "-q", "-b", "main", "."]);
    fixture.git_in(&top, &["add", ".npmrc"]);
    fixture.commit(&[]);
    let examiner = fixture.prepared().await;
    for name in ["node_modules/.bin/sh", ".cargo/config.toml", "unittest.py"] {
        fs::create_dir_all(top.join(name).parent().unwrap()).unwrap();
        fs::write(top.join(name), "[build]\n").unwrap();
        fixture.git_in(&top, &["add", name]);
    }
    fixture.commit(&[("calc.sh", ADDS)]);
    let named = "by themselves: ../.cargo/config.toml, ../node_modules/.bin/sh, ../unittest.py.";
    examiner.assert_claim("A", Assurance::Verified, &[named]).await;
}

/// A name could pass for a line of ours.
#[tokio::test]
async fn names_of_files_stay_in_their_line() {
    let fixture =
        VerifyFixture::with_files(&SPEC.replace("check A", "check A protect=tests/**"), &[("tests/a", "")]);
    let examiner = fixture.prepared().await;
    let (forged, added) = ("n\nAll passed.\u{2028}\r\tz/conftest.py", "tests/b\nAll passed.");
    fixture.commit(&[("calc.sh", ADDS), (forged, ""), (added, "")]);
    let forged = "n[U+000A]All passed.[U+2028][U+000D][U+0009]z";
    let named = &format!("for options or commands: {forged}, tests/b");
    let read = &format!("by themselves: {forged}/conftest.py.");
    examiner.assert_claim("A", Assurance::Verified, &[named, read, "tests/b[U+000A]All passed."]).await;
    let messages: Vec<String> = examiner
        .events()
        .iter()
        .filter_map(|event| match event {
            RunEvent::Notice { message } | RunEvent::Disputed { message, .. } => Some(message.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert!(messages.iter().all(|message| !message.contains(['\n', '\u{2028}'])), "{messages:?}");
}

#[tokio::test]
async fn settings_of_a_manifest_that_was_there_are_named() {
    let manifest = "[package]\nname = \"a\"\n[[bin]]\nname = \"a\"\npath = \"calc.rs\"\n";
    let fixture = VerifyFixture::with_files(SPEC, &[("Cargo.toml", manifest)]);
    let examiner = fixture.prepared().await;
    let changed = format!("{manifest}[[test]]\nname = \"suite\"\nharness = false\n");
    fixture.commit(&[("calc.sh", ADDS), ("Cargo.toml", &changed), ("new/Cargo.toml", &changed)]);
    let named = "read these changed files by themselves: Cargo.toml (test.suite.harness = false, test.suite.name = \"suite\").";
    examiner.assert_claim("A", Assurance::Verified, &[named]).await;
}

#[tokio::test]
async fn files_that_test_runners_read_are_named_if_a_check_makes_them() {
    let spec = "# Calc\n\n```check A\n$ sh build.sh\n$ sh calc.sh add 2 3\n5\n```\n";
    let fixture = VerifyFixture::new(spec);
    let examiner = fixture.prepared().await;
    let makes = "echo script-shell=./sh > .npmrc; mkdir -p node_modules/x; touch node_modules/x/.npmrc log\n";
    fixture.commit(&[("calc.sh", ADDS), ("build.sh", makes)]);
    let named = "by themselves: .npmrc (made by a check's command).";
    examiner.assert_claim("A", Assurance::Verified, &[named]).await;
}

/// Compared with what was there when the checks were new.
#[tokio::test]
async fn changed_settings_and_what_checks_run_are_named() {
    let spec = "# Calc\n\n```check A protect=b.mk\n$ : make and npm; sh calc.sh add 2 3\n5\n```\n\
                \n```check B\n$ sh calc.sh add 2 3\n5\n```\n";
    let package = r#"{"scripts": {"test": "sh tests.sh"}, "dependencies": {}}"#;
    let own = [
        (".npmrc", "a=1\n"),
        ("pytest.ini", ""),
        ("package.json", package),
        ("rules.mk", "add:\n"),
        ("b.mk", ""),
    ];
    let fixture = VerifyFixture::with_files(spec, &own);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS), ("package.json", &package.replace("{}}", "{\"a\": \"1\"}}"))]);
    let message = examiner.assert_claim("A", Assurance::Verified, &[]).await.message;
    assert!(!message.contains("written or changed") && !message.contains("by themselves"), "{message}");

    let package = package.replace("tests.sh", "other.sh");
    fixture.commit(&[
        (".npmrc", "a=2\n"),
        ("package.json", &package),
        ("rules.mk", "add:\n\ttrue\n"),
        ("a/Makefile", ""),
        ("b.mk", "x"),
    ]);
    let settings = "Test runners and other tools read these changed files by themselves: .npmrc.";
    let run = "What the checks run was written or changed with the work: a/Makefile, package.json (scripts), rules.mk.";
    examiner.assert_claim("A", Assurance::Verified, &[settings, run]).await;
    let evidence = fixture.evidence("A").unwrap();
    assert_eq!(evidence["changed_settings"], json!([".npmrc"]));
    assert_eq!(evidence["run_by_checks"], json!(["a/Makefile", "package.json (scripts)", "rules.mk"]));
    // Its check runs neither.
    let message = examiner.assert_claim("B", Assurance::Verified, &[settings]).await.message;
    assert!(!message.contains("written or changed"), "{message}");
}

#[tokio::test]
async fn tests_that_are_gone_and_names_of_protected_files_elsewhere_are_named() {
    let spec = "# Calc\n\n```check A protect=tests/judge.h,tests/judge.py\n$ : python3 -m unittest discover -s tests; sh calc.sh add 2 3\n5\n```\n";
    let own = [
        ("tests/judge.h", "int judge(void);\n"),
        ("tests/judge.py", "\n"),
        ("tests/test_a.py", "fails\n"),
        ("old/judge.py", "\n"),
    ];
    let fixture = VerifyFixture::with_files(spec, &own);
    let examiner = fixture.prepared().await;
    fs::remove_file(fixture.path("tests/test_a.py")).unwrap();
    fixture.commit(&[
        ("calc.sh", ADDS),
        ("include/judge.h", ""),
        ("old/judge.py", "changed\n"),
        ("src/judge.py", ""),
    ]);
    let found_first =
        "Test runners and other tools read these new files by themselves: include/judge.h, src/judge.py.";
    let gone = "What the checks run was written or changed with the work: tests/test_a.py (removed).";
    examiner.assert_claim("A", Assurance::Verified, &[found_first, gone]).await;
}

#[tokio::test]
async fn new_commands_compiled_files_and_settings_of_tools_are_named() {
    let fixture = VerifyFixture::with_files(SPEC, &[("lib/old.so", "1"), ("tsconfig.json", "{}")]);
    let examiner = fixture.prepared().await;
    for (name, content) in [("tools/sh", "#!/bin/sh\n"), ("calc", "\u{7f}ELF\0"), ("run", "#!/bin/sh\n")] {
        fixture.write(name, content);
        fs::set_permissions(fixture.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink("/bin/true", fixture.path("tools/diff")).unwrap();
    let source = "class String {}";
    let packaged = format!("package a;\n{source}");
    fixture.commit(&[
        ("calc.sh", ADDS),
        ("calc.h.gch", ""),
        ("docs/test", ""),
        (".gitattributes", ""),
        (".flake8", ""),
        ("String.java", source),
        ("node_modules/chai/index.js", ""),
        ("node_modules/chai/package.json", "{}"),
        (".venv/bin/activate", ""),
        ("a/String.java", &packaged),
        ("tsconfig.json", "{ }"),
    ]);
    let settings = "Test runners and other tools read these new files by themselves: String.java.";
    let commands = "These new programs have the names of common commands: tools/diff, tools/sh.";
    let compiled = "These new files are compiled, and nobody can read what they do: calc, calc.h.gch.";
    let dependencies = "with the work, and tests may load them: .venv, node_modules/chai.";
    let said = [settings, commands, compiled, dependencies];
    let message = examiner.assert_claim("A", Assurance::Verified, &said).await.message;
    // No check compiles TypeScript, or runs git or a linter.
    assert!(["tsconfig", ".gitattributes", "flake8"].iter().all(|name| !message.contains(name)), "{message}");
}

#[tokio::test]
async fn settings_of_linters_and_git_are_named_if_a_check_runs_them() {
    for (command, name) in [
        ("sh calc.sh add 2 3; : git status", ".gitignore"),
        ("sh calc.sh add 2 3; : cargo fmt --check", "rustfmt.toml"),
        ("sh calc.sh add 2 3; : make lint", ".flake8"),
        ("sh calc.sh add 2 3; : awk -f tests/a.awk", "data/bad=-9.txt"),
    ] {
        let spec = SPEC.replace("sh calc.sh add 2 3", command);
        let fixture = VerifyFixture::with_files(&spec, &[("Makefile", "lint:\n\tflake8 .\n")]);
        let examiner = fixture.prepared().await;
        fixture.commit(&[("calc.sh", ADDS), (name, "x\n")]);
        examiner.assert_claim("A", Assurance::Verified, &[&format!("by themselves: {name}.")]).await;
    }
}

/// An agent that may change the tests decides what the check shows.
#[tokio::test]
async fn tests_that_no_check_protects_are_named_if_they_are_changed_with_the_work() {
    let named = "What the checks run was written or changed with the work: tests/run.sh";
    let spec = "# Calc\n\n```check A\n$ sh tests/run.sh\n5\n```\n";
    let fixture = VerifyFixture::with_files(spec, &[("tests/run.sh", "sh calc.sh add 2 3\n")]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS), ("tests/other.sh", "")]);
    let message = examiner.assert_claim("A", Assurance::Verified, &[]).await.message;
    assert!(!message.contains("written or changed"), "{message}");
    fixture.commit(&[("tests/run.sh", "echo 5\n")]);
    examiner.assert_claim("A", Assurance::Verified, &[named]).await;

    let fixture = VerifyFixture::with_files(spec, &[]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("tests/run.sh", "echo 5\n")]);
    examiner.assert_claim("A", Assurance::Verified, &[named]).await;

    let discovers = spec.replace("sh tests/run.sh", "echo 5; python3 -m unittest 2> /dev/null");
    let fixture =
        VerifyFixture::with_files(&discovers.replace("echo 5;", "cat done; "), &[("tests/test_a.py", "")]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("done", "5\n"), ("tests/test_a.py", "pass\n")]);
    let named = named.replace("run.sh", "test_a.py");
    let claim = examiner.claim("A").await;
    assert!(claim.message.contains(&named), "{}", claim.message);
}

/// With `-E`, Python does not read the variable that says where compiled modules are.
#[tokio::test]
async fn a_compiled_form_of_a_protected_module_is_not_loaded() {
    let compile = "mkdir -p tests/__pycache__; touch tests/__pycache__/left 2> /dev/null || true";
    let spec = format!(
        "# Calc\n\n```check A protect=tests/t.py,tests/helper.py\n$ {compile}\n$ ls tests/__pycache__; sh calc.sh add 2 3\n5\n```\n"
    );
    let fixture = VerifyFixture::with_files(&spec, &[("tests/t.py", ""), ("tests/helper.py", "")]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

/// What a check runs through its protected script.
#[tokio::test]
async fn what_a_protected_script_runs_is_named() {
    let spec = "# Calc\n\n```check A protect=tests/**\n$ sh tests/run.sh\n5\n```\n\n```check B\n$ sh calc.sh add 2 3\n5\n```\n";
    let judge = "true ||\n    npm run cases\nsh calc.sh add 2 3\n";
    let fixture = VerifyFixture::with_files(spec, &[("tests/run.sh", judge), ("package.json", "{}")]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS), ("package.json", r#"{"scripts": {"cases": "true"}}"#)]);
    let named = "written or changed with the work: package.json (scripts).";
    examiner.assert_claim("A", Assurance::Verified, &[named]).await;
    let message = examiner.assert_claim("B", Assurance::Verified, &[]).await.message;
    assert!(!message.contains("package.json"), "{message}");
}

/// What a link leads to is read in its place.
#[tokio::test]
async fn settings_behind_links_that_were_there_are_named() {
    let spec = "# Calc\n\n```check A\n$ : npm; sh calc.sh add 2 3\n5\n```\n";
    let own =
        [("cfg/npm.conf", "a=1\n"), ("cfg/p.json", "{}"), ("vendor/bin/mocha", ""), ("vendor/bin/sh", "")];
    let fixture = VerifyFixture::with_files(spec, &own);
    fs::create_dir(fixture.path("node_modules")).unwrap();
    for (target, link) in [
        ("cfg/npm.conf", ".npmrc"),
        ("cfg/p.json", "package.json"),
        ("../vendor/bin", "node_modules/.bin"),
        ("..", "vendor/up"),
        ("/etc", "outside"),
    ] {
        symlink(target, fixture.path(link)).unwrap();
    }
    fixture.commit(&[]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    let message = examiner.assert_claim("A", Assurance::Verified, &[]).await.message;
    assert!(!message.contains("by themselves") && !message.contains("changed with the work"), "{message}");
    fixture.commit(&[
        ("cfg/npm.conf", "a=2\n"),
        ("cfg/p.json", r#"{"scripts": {"test": "true"}}"#),
        ("vendor/bin/mocha", "true"),
        ("vendor/bin/node", ""),
    ]);
    let new = "Test runners and other tools read these new files by themselves: node_modules/.bin/node.";
    let changed = "Test runners and other tools read these changed files by themselves: .npmrc, node_modules/.bin/mocha.";
    let run = "written or changed with the work: package.json (scripts).";
    examiner.assert_claim("A", Assurance::Verified, &[new, changed, run]).await;
}
