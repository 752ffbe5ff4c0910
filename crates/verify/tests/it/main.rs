//! Verification on temporary repositories: real git, real rooms, no agent and no command line.
#![allow(clippy::expect_used, clippy::unwrap_used, missing_docs)]

mod bad_checks;
mod check_setup;
mod checkouts;
mod claims;
mod commit_objects;
mod confirmation;
mod decisions;
mod evidence;
mod fixture;
mod forgeries;
mod in_place_of_tests;
mod manifests;
mod new_settings;
mod proposals;
mod protected_files;
mod red_first;
mod written_changes;
