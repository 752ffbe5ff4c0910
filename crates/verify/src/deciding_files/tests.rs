use std::collections::BTreeMap;
use std::fs;

use autonoe_core::check::{Check, CheckOrigin};

use super::{
    CommittedEntry, DecidingKind, concerns, deciding_files, may_decide, package_settings, python_settings,
    readers_of,
};

#[test]
fn each_file_has_a_kind() {
    let directory = tempfile::tempdir().unwrap();
    let files: [(&str, bool, &[u8], Option<DecidingKind>); 28] = [
        (".npmrc", false, b"", Some(DecidingKind::Settings)),
        (".gitattributes", false, b"", readers_of(".gitattributes").map(DecidingKind::SettingsOf)),
        ("core/pom.xml", false, b"", Some(DecidingKind::SettingsOf(&["mvn", "mvnd", "mvnw"]))),
        ("settings.gradle.kts", false, b"", Some(DecidingKind::SettingsOf(&["gradle", "gradlew"]))),
        ("String.java", false, b"class String {}", Some(DecidingKind::Settings)),
        ("a/String.java", false, b"// x\npackage a;\nclass String {}", None),
        ("bin/sh", true, b"#!/bin/sh\n", Some(DecidingKind::Command)),
        ("docs/test", false, b"", None),
        ("calc", true, b"\x7fELF\0", Some(DecidingKind::Compiled)),
        ("data", false, b"\0", None),
        ("run.sh", true, b"#!/bin/sh\n", Some(DecidingKind::Script)),
        ("calc.h.gch", false, b"", Some(DecidingKind::Compiled)),
        ("lib/libcalc.so.1.2", false, b"", Some(DecidingKind::Compiled)),
        ("Calc.class", false, b"", Some(DecidingKind::Compiled)),
        ("a/package.json", false, b"{\"scripts\": {}}", Some(DecidingKind::Package)),
        ("package.json", false, b"{\"name\": \"a\"}", Some(DecidingKind::Package)),
        (".env", false, b"PORT=1\n", None),
        ("test.env", false, b"NODE_OPTIONS=-r ./x\n", Some(DecidingKind::Settings)),
        ("Makefile", false, b"", Some(DecidingKind::MakeRules)),
        ("rules/test.mk", false, b"", Some(DecidingKind::MakeRules)),
        ("tsconfig.json", false, b"{}", Some(DecidingKind::TypeScript)),
        ("package-lock.json", false, b"{}", None),
        ("some.social", false, b"", None),
        ("calc.c", false, b"", None),
        ("test_calc.py", false, b"", Some(DecidingKind::Test)),
        ("tests/run.sh", false, b"", Some(DecidingKind::Script)),
        ("tools/compare.py", false, b"", Some(DecidingKind::Script)),
        ("src/calc.py", false, b"", None),
    ];
    let mut entries = BTreeMap::new();
    for (path, is_executable, content, _) in &files {
        let full = directory.path().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, content).unwrap();
        let (from_top, hash) = (path.to_string(), String::new());
        let entry = CommittedEntry { from_top, hash, is_link: false, is_executable: *is_executable };
        if may_decide(path, &entry) {
            entries.insert(path.to_string(), entry);
        }
    }
    let found = deciding_files(directory.path(), &entries);
    for (path, _, _, kind) in files {
        assert_eq!(found.get(path).map(|file| file.kind), kind, "{path}");
    }
}

#[test]
fn only_what_decides_makes_a_difference() {
    let settings = |text: &str| package_settings(text.as_bytes());
    let package = settings(r#"{"name": "a", "scripts": {"test": "x"}}"#);
    assert_eq!(package, settings(r#"{"dependencies": {"b": "1"}, "scripts": {"test": "x"}}"#));
    assert_ne!(package, settings(r#"{"name": "a", "scripts": {"test": "y"}}"#));
    assert_ne!(package, settings(r#"{"name": "a", "scripts": {"test": "x"}, "jest": {}}"#));
    assert_eq!(settings("no"), None);
    assert_eq!(settings(r#"{"name": "a"}"#).as_deref(), Some(""));
    let settings = |text: &str| python_settings(text.as_bytes());
    let project = settings("[project]\nname = \"a\"\n[tool.pytest.ini_options]\naddopts = \"-q\"\n");
    assert_eq!(project, settings("[tool.ruff]\nx = 1\n[tool.pytest.ini_options]\naddopts = \"-q\"\n"));
    assert_ne!(project, settings("[tool.pytest.ini_options]\naddopts = \"--co\"\n"));
}

#[test]
fn files_concern_the_checks_that_use_them() {
    for (command, kind, expected) in [
        ("npm test", DecidingKind::Package, true),
        ("cd a && /usr/bin/npx jest", DecidingKind::Package, true),
        ("node --run test", DecidingKind::Package, true),
        ("node test.js", DecidingKind::Package, false),
        ("make -C a test", DecidingKind::MakeRules, true),
        ("cmake .", DecidingKind::MakeRules, false),
        ("sh make.sh", DecidingKind::MakeRules, false),
        ("npx tsc", DecidingKind::TypeScript, true),
        ("sh run.sh", DecidingKind::TypeScript, false),
        ("sh run.sh", DecidingKind::Compiled, true),
    ] {
        let check = Check::of_command(command, CheckOrigin::User);
        assert_eq!(concerns(kind, &[&check], &[]), expected, "{command}");
    }
    let check = Check { setup: vec!["make".to_owned()], ..Check::of_command("./a", CheckOrigin::User) };
    assert!(concerns(DecidingKind::MakeRules, &[&check], &[]));
}

#[test]
fn what_scripts_start_concerns_checks_too() {
    let check = Check::of_command("sh tests/run.sh", CheckOrigin::User);
    for (script, expected) in [
        ("set -e\nmake -s test\n", true),
        ("cd a && make", true),
        ("V=1 make", true),
        ("V=1 exec make", true),
        ("if ! make; then", true),
        ("out=$(/usr/bin/make -s)", true),
        ("subprocess.run(['make', '-s'])", true),
        ("execSync(\"make -s\")", true),
        ("\t@make x", true),
        ("# make sure that it adds", false),
        ("echo how to make it", false),
        ("cmake .", false),
        ("make.sh", false),
        ("make-it", false),
        ("sh a/make/b.sh", false),
    ] {
        let scripts = [script.to_owned()];
        assert_eq!(concerns(DecidingKind::MakeRules, &[&check], &scripts), expected, "{script}");
    }
}
