//! Kernel calls that no Rust library offers, made safe to use.
#![cfg(unix)]

pub mod inherited;
#[cfg(target_os = "linux")]
pub mod lease;
#[cfg(target_os = "linux")]
mod notify;

#[cfg(target_os = "linux")]
pub use notify::{Inheritance, PendingSystemCall, SeccompListener, install};
