//! MCP servers as an agent uses them: misbehaving ones of our own, the public ones, and the public conformance suite.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod calls;
mod conformance;
mod http;
mod lives;
mod public;
mod support;
