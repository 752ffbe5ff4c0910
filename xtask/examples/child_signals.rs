//! Prints which signals a child of the kill benchmark ignores. A test starts it with signals that are ignored.
#![allow(missing_docs)]

#[path = "../src/result.rs"]
mod result;
#[path = "../src/bench/kills/signals.rs"]
mod signals;

use std::process::Command;

fn main() -> result::Result {
    signals::deliver_to_children()?;
    let status = Command::new("grep").args(["SigIgn", "/proc/self/status"]).status()?;
    if status.success() { Ok(()) } else { Err(format!("grep: {status}").into()) }
}
