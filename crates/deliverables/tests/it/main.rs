//! The deliverable tools on a real store: descriptions, permissions and notifications.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod change;
mod claims;
mod client;
mod list;
mod mcp;
mod mcp_relay;
mod phases;
mod schemas;
mod slow;
mod socket;
mod support;
mod verify;
