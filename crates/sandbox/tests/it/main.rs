//! Rooms and supervisors as real processes: what they report, what they block, and that nothing survives them.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod attacks;
mod attributes;
mod beside;
mod bounded_command;
mod bubblewrap;
mod credentials;
mod egress;
mod git_locks;
mod landlock;
mod limits;
mod records;
mod redirected;
mod reports;
mod shutdown;
mod support;
mod termination;
