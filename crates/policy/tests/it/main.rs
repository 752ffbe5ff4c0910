//! Tests of the command policy: corpora of hostile and everyday commands, the documented scenarios, limits, and a
//! differential test against real bash.
#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod bash_sandbox;
mod corpus;
mod differential;
mod fixture;
mod git_repositories;
mod given_variables;
mod grammar;
mod known_arguments;
mod limits;
mod pools;
mod real;
mod reshaped_text;
mod shown_paths;
mod tables;
mod values;

#[test]
fn hostile_commands_are_denied() {
    corpus::check("hostile.toml", include_str!("../corpus/hostile.toml"), 250);
}

#[test]
fn everyday_commands_are_allowed() {
    corpus::check("everyday.toml", include_str!("../corpus/everyday.toml"), 200);
}

#[test]
fn documented_scenarios_get_the_expected_verdicts() {
    corpus::check("seed_rows.toml", include_str!("../corpus/seed_rows.toml"), 50);
}

#[test]
fn the_strict_level_allows_nothing_that_the_contained_level_denies() {
    let corpora = corpus::commands();
    corpus::check_levels(
        corpora.iter().map(String::as_str).chain(include_str!("../corpus/real.txt").lines()),
    );
}
