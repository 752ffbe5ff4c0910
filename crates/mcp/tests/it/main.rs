//! MCP servers used the way an agent uses them: misbehaving test servers, public servers, and the conformance suite.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod calls;
mod conformance;
mod http;
mod lifecycle;
mod loopback;
mod public;
mod support;
