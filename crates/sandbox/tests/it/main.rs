//! Rooms and supervisors as real processes: what they report, what they hold back, and that nothing survives them.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod bounded_command;
mod egress;
mod ends;
mod git_locks;
mod holds;
mod landlock;
mod limits;
mod records;
mod reports;
mod shutdown;
mod support;
