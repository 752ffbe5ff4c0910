//! Tests of the design contracts, each of which quotes the contract that it covers, and of the real host: commands in
//! sandboxes, files on disk, webhooks on this machine.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod commands;
mod completion;
mod configuration;
mod contexts;
mod contracts;
mod endings;
mod errors;
mod escalation;
mod files;
mod host_fixture;
mod issues;
mod lifecycle;
mod paths;
mod property;
mod resume;
mod run_fixture;
mod step_checks;
mod sub_steps;
mod webhook_server;
mod webhooks;
