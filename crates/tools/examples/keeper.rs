//! The supervisor, the room and the parts of tools alone, for this crate's tests. In the product the `autonoe` binary itself is both.

use std::ffi::OsString;

use autonoe_sandbox::{EXIT_SUPERVISOR_FAILED, run_helper_process};

fn main() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let part = run_helper_process(arguments.first().map(OsString::as_os_str));
    std::process::exit(
        part.or_else(|| autonoe_tools::run_helper_process(&arguments)).unwrap_or(EXIT_SUPERVISOR_FAILED),
    );
}
