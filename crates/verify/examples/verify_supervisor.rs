//! The supervisor and the room process, for this crate's tests. In production the `autonoe` binary itself is both.

use autonoe_sandbox::{EXIT_SUPERVISOR_FAILED, run_helper_process};

fn main() {
    let first = std::env::args_os().nth(1);
    std::process::exit(run_helper_process(first.as_deref()).unwrap_or(EXIT_SUPERVISOR_FAILED));
}
