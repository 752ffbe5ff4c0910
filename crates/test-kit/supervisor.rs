//! The supervisor and the room process, built as an example of each crate whose tests open rooms. In production the
//! `autonoe` binary itself is both.

use autonoe_sandbox::{EXIT_SUPERVISOR_FAILED, run_helper_process};

fn main() {
    let first = std::env::args_os().nth(1);
    std::process::exit(run_helper_process(first.as_deref()).unwrap_or(EXIT_SUPERVISOR_FAILED));
}
