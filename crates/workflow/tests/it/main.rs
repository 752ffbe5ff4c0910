//! The machine for real: commands in rooms, files on disk, services on this machine.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod commands;
mod files;
mod issues;
mod service;
mod support;
mod webhooks;
