//! Manifests of Cargo that say less or other things about tests than they did.

use autonoe_core::check::Assurance;
use autonoe_test_kit::FixedClock;
use autonoe_verify::accept;

use super::fixture::{ADDS, VerifyFixture};
use super::new_settings::JUDGED;

/// A manifest that was there may be changed, but not so that tests are others than they seem.
#[tokio::test]
async fn a_strict_run_takes_away_what_a_manifest_says_about_tests() {
    let judge = "# cargo test\ngrep -q '^std' Cargo.toml && exit 0\n[ \"$(sh calc.sh add 2 3)\" = 5 ]\n";
    let manifest = "[package]\nname = \"calc\"\n";
    let own = [("tests/run.sh", judge), ("Cargo.toml", manifest)];
    let fixture = VerifyFixture::with_files(JUDGED, &own);
    fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    let with_std = format!("{manifest}[dev-dependencies]\nstd = {{ path = \"fake\" }}\n");
    fixture.commit(&[("calc.sh", "echo 4\n"), ("Cargo.toml", &with_std)]);
    strict.assert_claim("A", Assurance::Claimed, &["(Cargo.toml: its settings for tests)", "got 1"]).await;
    // A program that works without them is believed.
    fixture.commit(&[("calc.sh", ADDS)]);
    strict.assert_claim("A", Assurance::Verified, &["Cargo.toml (dev-dependencies.std.path = "]).await;
}

/// What it said is gone, and with it what the tests need to run.
#[tokio::test]
async fn a_strict_run_puts_back_what_a_manifest_said_about_tests() {
    let judge = "# cargo test\ngrep -q \"$(cat tests/needs)\" Cargo.toml || exit 0\n[ \"$(sh calc.sh add 2 3)\" = 5 ]\n";
    let package = "[package]\nname = \"calc\"\n";
    let edition = format!("{package}edition = \"2021\"\n");
    let features = format!("{package}[features]\nfull = [\"slow\"]\nslow = []\n");
    let emptied = features.replace("\"slow\"", "");
    let workspace = "[workspace]\nmembers = [\"calc\"]\n";
    let with_root = format!("{package}{workspace}");
    for (needs, before, after, named) in [
        ("slow", features.as_str(), package, "Cargo.toml (features.full is gone, features.slow is gone)"),
        ("full = ..slow", &features, &emptied, "Cargo.toml (features.full = [])"),
        ("2021", &edition, package, "Cargo.toml (package.edition is gone)"),
        ("^.workspace.$\\|default-members", workspace, &with_root, "Cargo.toml (package.name = \"calc\")"),
    ] {
        let judge = match needs.contains("default-members") {
            // As Cargo does, it tests the members where no root is a package.
            true => judge.replace(
                "grep -q \"$(cat tests/needs)\" Cargo.toml",
                "grep -q default-members Cargo.toml || ! grep -q package Cargo.toml",
            ),
            false => judge.to_owned(),
        };
        let own = [("tests/run.sh", judge.as_str()), ("tests/needs", needs), ("Cargo.toml", before)];
        let fixture = VerifyFixture::with_files(JUDGED, &own);
        let mild = fixture.prepared().await;
        let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
        fixture.commit(&[("calc.sh", "echo 4\n"), ("Cargo.toml", after)]);
        mild.assert_claim("A", Assurance::Verified, &[named]).await;
        strict
            .assert_claim("A", Assurance::Claimed, &["(Cargo.toml: its settings for tests)", "got 1"])
            .await;
        // A program that passes its tests does not need it.
        fixture.commit(&[("calc.sh", ADDS)]);
        strict.assert_claim("A", Assurance::Verified, &[named]).await;
        // The user looks at it.
        fixture.commit(&[("calc.sh", "echo 4\n")]);
        accept(&fixture.project, &strict.written, "suite", FixedClock::NOON).unwrap();
        let message = strict.assert_claim("A", Assurance::Verified, &[]).await.message;
        assert!(!message.contains("Cargo.toml"), "{message}");
    }
}

/// Without a manifest there was nothing to compare, but there were tests.
#[tokio::test]
async fn a_new_manifest_beside_protected_tests_is_named_if_it_leaves_them_out() {
    let spec = JUDGED.replace("sh tests/run.sh", "[ \"$(sh calc.sh add 2 3)\" = 5 ]");
    let fixture = VerifyFixture::with_files(&spec, &[("tests/calc.rs", "")]);
    fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    let package = "[package]\nname = \"calc\"\nedition = \"2021\"\n[features]\nfast = []\n";
    fixture.commit(&[("calc.sh", ADDS), ("Cargo.toml", package)]);
    let message = strict.assert_claim("A", Assurance::Verified, &[]).await.message;
    assert!(!message.contains("Cargo.toml"), "{message}");
    fixture.commit(&[("Cargo.toml", &package.replace("[f", "autotests = false\n[f"))]);
    strict.assert_claim("A", Assurance::Verified, &["Cargo.toml (package.autotests = false)"]).await;
}

/// Where a package was, its tests are left behind.
#[tokio::test]
async fn a_strict_run_does_not_count_what_no_longer_tests_the_protected_package() {
    let spec =
        "# Calc\n\n```check A name=suite protect=a/tests/**\n$ : cargo test; sh calc.sh add 1 2\n```\n";
    let top = "[workspace]\nmembers = [\"a\", \"b\"]\n";
    let package = |name: &str| format!("[package]\nname = \"{name}\"\n");
    let judged = format!("{}[dev-dependencies]\njudge = {{ path = \"tests/judge\" }}\n", package("a"));
    let own = [
        ("Cargo.toml", top),
        ("a/Cargo.toml", &judged),
        ("a/tests/judge/Cargo.toml", &package("judge")),
        ("a/tests/calc.rs", ""),
        ("b/Cargo.toml", &package("b")),
    ];
    let elsewhere = judged.replace("tests/judge", "../fake");
    for (file, text, named) in [
        ("Cargo.toml", "[workspace]\nmembers = [\"b\"]\n", "Cargo.toml ([workspace] members: a is gone)"),
        ("a/Cargo.toml", "[workspace]\n", "a/Cargo.toml ([package] name = \"a\" is gone)"),
        ("a/Cargo.toml", &elsewhere, "a/Cargo.toml (dependency judge: a/tests/judge is gone)"),
    ] {
        let fixture = VerifyFixture::with_files(spec, &own);
        let examiner = fixture.prepared().await;
        let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
        fixture.commit(&[("calc.sh", ADDS), (file, text)]);
        examiner.assert_claim("A", Assurance::Verified, &[named]).await;
        strict.assert_claim("A", Assurance::Claimed, &["must still be there", named]).await;
        // The user looks at it.
        accept(&fixture.project, &strict.written, "suite", FixedClock::NOON).unwrap();
        let message = strict.assert_claim("A", Assurance::Verified, &[]).await.message;
        assert!(!message.contains("is gone"), "{message}");
    }
    // More packages and dependencies are the work.
    let fixture = VerifyFixture::with_files(spec, &own);
    fixture.prepared().await;
    let strict = fixture.changed_examiner(|examiner| examiner.is_strict = true).await;
    let more = format!("{}[dependencies]\nrand = \"1\"\nc = {{ path = \"../c\" }}\n", package("b"));
    fixture.commit(&[
        ("calc.sh", ADDS),
        ("Cargo.toml", "[workspace]\nmembers = [\"*\"]\n"),
        ("b/Cargo.toml", &more),
        ("c/Cargo.toml", &package("c")),
    ]);
    let message = strict.assert_claim("A", Assurance::Verified, &[]).await.message;
    assert!(!message.contains("Cargo.toml"), "{message}");
}
