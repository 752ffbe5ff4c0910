//! The keeper as a real process: what it reports, and that nothing survives it.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod ends;
mod reports;
mod support;
