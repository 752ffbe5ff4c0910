//! The design contracts, shown one by one: each test quotes the heading that it shows. And the machine for real: commands in
//! rooms, files on disk, services on this machine.
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
mod issues;
mod lifecycle;
mod paths;
mod property;
mod resume;
mod service;
mod stage;
mod step_checks;
mod sub_steps;
mod support;
mod webhooks;
