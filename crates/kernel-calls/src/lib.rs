//! Kernel calls that no Rust library offers, made safe to use.
#![cfg(unix)]

mod fork;
pub mod inherited;
#[cfg(target_os = "linux")]
pub mod lease;
#[cfg(target_os = "linux")]
mod notify;

pub use fork::{Forked, fork};
#[cfg(target_os = "linux")]
pub use notify::{Inheritance, PendingSystemCall, SeccompListener, install};
