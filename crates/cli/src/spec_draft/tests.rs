use std::fs;

use autonoe_verify::read_spec;

use super::{CheckNetwork, from_sentence, template};
use crate::survey::ProjectSurvey;

const OFFLINE: (&str, &str) = ("Cargo.toml", "[package]\nname = \"x\"\n");
const WITH_PACKAGES: (&str, &str) =
    ("package.json", r#"{"scripts": {"test": "vitest"}, "devDependencies": {"vitest": "3"}}"#);

fn survey(files: &[(&str, &str)]) -> ProjectSurvey {
    let directory = tempfile::tempdir().expect("directory");
    for (name, content) in files {
        fs::write(directory.path().join(name), content).expect("written");
    }
    ProjectSurvey::of(directory.path())
}

/// The checks of a specification, each with whether it has the network.
fn checks(spec: &str) -> Vec<(String, String, bool)> {
    let checks = read_spec(spec).unwrap_or_else(|error| panic!("{error} in {spec}"));
    checks.into_iter().map(|check| (check.name, check.command, check.network)).collect()
}

#[test]
fn the_template_of_an_empty_project_shows_checks_and_contains_none() {
    let spec = template("x", &survey(&[]), CheckNetwork::Denied);
    assert!(spec.starts_with("# x\n\nOne or two sentences: what this software is"), "{spec}");
    assert!(spec.contains("```check") && spec.contains("The language, the framework"), "{spec}");
    assert_eq!(checks(&spec), []);
}

#[test]
fn tests_that_can_run_are_checks() {
    let spec = template("x", &survey(&[OFFLINE]), CheckNetwork::Denied);
    assert_eq!(checks(&spec), [("rust-tests".to_owned(), "cargo test".to_owned(), false)]);
    assert!(spec.contains("- Language: Rust, with cargo (`Cargo.toml`)\n- Tests: `cargo test`\n"), "{spec}");
    assert!(!spec.contains("\n\n\n"), "{spec}");
}

#[test]
fn tests_that_need_packages_are_checks_only_where_checks_have_the_network() {
    let both = survey(&[OFFLINE, WITH_PACKAGES]);
    let denied = template("x", &both, CheckNetwork::Denied);
    assert_eq!(checks(&denied).len(), 1, "{denied}");
    assert!(denied.contains("````markdown\n```check name=javascript-tests time=10m network\n"), "{denied}");
    let allowed = template("x", &both, CheckNetwork::Allowed);
    let npm = ("javascript-tests".to_owned(), "npm install && npm test".to_owned(), true);
    assert_eq!(checks(&allowed).last(), Some(&npm), "{allowed}");
    assert!(!allowed.contains("remove the outer fence"), "{allowed}");
}

#[test]
fn a_sentence_becomes_a_specification() {
    let spec = from_sentence(
        "  add\nlogin with a password.",
        &survey(&[OFFLINE, WITH_PACKAGES]),
        CheckNetwork::Denied,
    );
    assert!(
        spec.starts_with("# Add login with a password\n\nadd login with a password.\n\n## Checks\n"),
        "{spec}"
    );
    assert_eq!(checks(&spec).len(), 1, "{spec}");
    assert!(!spec.contains("greet") && spec.contains("- Tests: `npm install && npm test`"), "{spec}");
    assert_eq!(from_sentence("a game", &survey(&[]), CheckNetwork::Denied), "# A game\n\na game\n");
    let long = from_sentence(&"word ".repeat(40), &survey(&[]), CheckNetwork::Denied);
    let title = long.lines().next().expect("a title");
    assert!(title.len() < 64 && title.ends_with("word"), "{title}");
}
