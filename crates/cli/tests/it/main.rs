//! End-to-end tests: the real binary, the real native agent, a scripted model on loopback.
//!
//! Every process is started with an empty environment, its own HOME and a dummy key.
#![allow(clippy::expect_used, clippy::unwrap_used, missing_docs)]

mod acp;
mod acp_requests;
mod answers;
mod bad_checks;
mod bad_input;
mod binary;
mod browser;
mod checkouts;
mod checks;
mod claude;
mod codex;
mod codex_exec;
mod collector;
mod commands;
mod declared;
mod deleted_status;
mod demo;
mod disks;
mod endurance;
mod event_order;
mod full_disk;
mod gemini;
mod git_locks;
mod helpers;
mod honesty;
mod interrupt;
mod kill;
mod matrix;
mod mcp;
mod native;
mod odd_places;
mod outages;
mod outcomes;
mod policy;
mod quota;
mod replay;
mod report;
mod sandbox;
mod second_home;
mod strange_files;
mod support;
mod sync;
mod tls;
mod trials;
mod vendors;
