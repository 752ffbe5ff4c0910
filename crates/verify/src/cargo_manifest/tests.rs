use std::fs;

use super::{changed_settings, manifest_of, manifest_text};

const USERS: &str = r#"
    [package]
    name = "calc"
    version = "1.0.0"
    edition = "2021"
    [lib]
    path = "calc.rs"
    [[test]]
    name = "suite"
    path = "spec/suite.rs"
    harness = false
    [[example]]
    name = "demo"
    test = true
    [[bench]]
    name = "speed"
    harness = false
    [features]
    default = ["std"]
    full = ["slow", "dep:judge"]
    slow = []
    std = []
    [dependencies]
    rand = "1"
    judge = { version = "1", optional = true }
    serde = { version = "1", optional = true, features = ["derive"] }
    [profile.test.package.calc]
    overflow-checks = true
"#;

/// What is named if this becomes that.
fn changed(from: &str, to: &str) -> Vec<String> {
    assert!(USERS.contains(from), "{from}");
    changed_settings(USERS, &USERS.replacen(from, to, 1))
}

#[test]
fn what_is_gone_or_other_than_it_was_is_named() {
    for (from, to, named) in [
        ("edition = \"2021\"", "", "package.edition is gone"),
        ("edition = \"2021\"", "edition = \"2015\"", "package.edition = \"2015\""),
        ("edition = \"2021\"", "edition = \"2021\"\nautotests = false", "package.autotests = false"),
        ("edition = \"2021\"", "edition = \"2021\"\nbuild = \"x.rs\"", "package.build = \"x.rs\""),
        ("spec/suite.rs", "fake.rs", "test.suite.path = \"fake.rs\""),
        ("harness = false\n    [[ex", "[[ex", "test.suite.harness is gone"),
        ("harness = false\n    [f", "[f", "bench.speed.harness is gone"),
        (
            "    harness = false\n    [f",
            "    bench = false\n    harness = false\n[f",
            "bench.speed.bench = false",
        ),
        ("test = true", "", "example.demo.test is gone"),
        ("default = [\"std\"]", "", "features.default is gone"),
        ("default = [\"std\"]", "default = [\"std\", \"slow\"]", "features.default = [\"std\", \"slow\"]"),
        ("full = [\"slow\", \"dep:judge\"]", "full = []", "features.full = []"),
        ("full = [\"slow\", ", "full = [", "features.full = [\"dep:judge\"]"),
        ("slow = []", "", "features.slow is gone"),
        ("version = \"1\", optional = true, f", "version = \"1\", f", "features.serde is gone"),
        ("slow = []", "slow = [\"dep:serde\"]", "features.serde is gone"),
        ("serde = {", "serde2 = {", "features.serde is gone"),
        ("rand = \"1\"", "rand = { path = \"x\" }", "dependencies.rand.path = \"x\""),
        ("rand = \"1\"", "rand = { version = \"1\", package = \"x\" }", "dependencies.rand.package = \"x\""),
        ("rand = \"1\"", "rand = \"1\"\nstd = \"1\"", "dependencies.std.version = true"),
        (
            "overflow-checks = true",
            "overflow-checks = false",
            "profile.test.package.calc.overflow-checks = false",
        ),
        (
            "[profile",
            "[profile.dev]\ndebug-assertions = false\n[profile",
            "profile.dev.debug-assertions = false",
        ),
        (
            "[profile",
            "[profile.test]\ninherits = \"release\"\n[profile",
            "profile.test.inherits = \"release\"",
        ),
        ("path = \"calc.rs\"", "test = false", "lib.test = false"),
        (
            "[profile",
            "[patch.crates-io]\nrand = { path = \"x\" }\n[profile",
            "patch.crates-io.rand.path = \"x\"",
        ),
        ("[profile", "[lints.rust]\na = \"allow\"\n[profile", "lints.rust.a = \"allow\""),
        ("[profile", "[workspace]\nexclude = [\"a\"]\n[profile", "workspace.exclude = [\"a\"]"),
        (
            "[profile",
            "[[test]]\nname = \"x\"\nrequired-features = [\"y\"]\n[profile",
            "test.x.required-features = [\"y\"]",
        ),
    ] {
        let found = changed(from, to);
        assert!(found.iter().any(|setting| setting == named), "{to}: {found:?}");
    }
    let gone = changed(&USERS[USERS.find("[[test]]").unwrap()..USERS.find("[[example]]").unwrap()], "");
    assert_eq!(gone, ["test.suite.harness is gone", "test.suite.name is gone", "test.suite.path is gone"]);
}

#[test]
fn what_only_adds_to_a_manifest_is_not_named() {
    for (from, to) in [
        (
            "version = \"1.0.0\"",
            "version = \"2.0.0\"\nauthors = [\"a\"]\nrust-version = \"1.80\"\nautotests = true",
        ),
        ("rand = \"1\"", "rand = \"2\"\nregex = { version = \"1\", features = [\"std\"], optional = true }"),
        ("rand = \"1\"", ""),
        ("rand = \"1\"", "rand.workspace = true"),
        ("rand = \"1\"", "rand = { version = \"1.2\", features = [\"std\"] }\nlocal = { path = \"local\" }"),
        ("[\"derive\"]", "[\"derive\", \"rc\"]"),
        ("slow = []", "slow = [\"more\"]\nmore = []"),
        (
            "[features]",
            "[[bin]]\nname = \"calc\"\n[[test]]\nname = \"more\"\n[[bench]]\nname = \"x\"\n[features]",
        ),
        ("[profile", "[profile.release]\nlto = true\n[dev-dependencies]\nproptest = \"1\"\n[profile"),
        (
            "[profile",
            "[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n[workspace]\nmembers = [\"a\"]\nresolver = \"2\"\n[profile",
        ),
        ("[profile", "[package.metadata.docs]\na = true\n[profile"),
    ] {
        assert_eq!(changed(from, to), <[&str; 0]>::default(), "{to}");
    }
}

#[test]
fn the_meaning_of_a_setting_depends_on_others() {
    // Cargo of 2015 looks for no other tests beside one that is named.
    let old = "[package]\nname = \"calc\"\n";
    let named = format!("{old}[[test]]\nname = \"one\"\n");
    assert_eq!(changed_settings(old, &named), ["test.one.name = \"one\""]);
    assert_eq!(changed_settings(old, &format!("test = []\n{old}")), ["test = []"]);
    // In a package that is the root of a workspace, only it is tested.
    let members = "[workspace]\nmembers = [\"a\"]\n";
    assert_eq!(changed_settings(members, &format!("{old}{members}")), ["package.name = \"calc\""]);
    let none = format!("{members}default-members = []\n");
    assert_eq!(changed_settings(members, &none), ["workspace.default-members = []"]);
    assert_eq!(changed_settings("", &format!("{old}{members}")), <[&str; 0]>::default());
    assert_eq!(changed_settings("not toml [", "not toml ["), <[&str; 0]>::default());
}

#[test]
fn the_paths_that_cargo_finds_by_itself_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let text = |targets: &str| {
        let manifest = format!("[package]\nname = \"calc\"\nbuild = \"build.rs\"\n{targets}");
        fs::write(directory.path().join("Cargo.toml"), manifest).unwrap();
        manifest_text(directory.path(), "Cargo.toml")
    };
    for (table, name, path) in [
        ("[lib]", "calc", "src/lib.rs"),
        ("[[bin]]", "calc", "src/main.rs"),
        ("[[bin]]", "x", "src/bin/x.rs"),
        ("[[test]]", "x", "./tests/x.rs"),
        ("[[test]]", "x", "tests/x/main.rs"),
        ("[[example]]", "x", "examples/x.rs"),
    ] {
        let text = text(&format!("{table}\nname = \"{name}\"\npath = \"{path}\"\n"));
        assert!(!text.contains("path") && !text.contains("build"), "{text}");
    }
    assert!(text("[[test]]\nname = \"x\"\npath = \"tests/y.rs\"\n").contains("tests/y.rs"));
    // Beside the test that Cargo would find, it leads elsewhere.
    fs::create_dir(directory.path().join("tests")).unwrap();
    fs::write(directory.path().join("tests/x.rs"), "").unwrap();
    assert!(text("[[test]]\nname = \"x\"\npath = \"tests/x/main.rs\"\n").contains("main.rs"));
    assert_eq!(manifest_of("a/Cargo.toml (features.full is gone)"), Some("a/Cargo.toml"));
    assert_eq!(manifest_of("conftest.py"), None);
}
