//! The supervisor, the room process and the tools' helper processes, for this crate's tests. In production the `autonoe`
//! binary itself is all of them.

use std::ffi::OsString;

use autonoe_sandbox::{EXIT_SUPERVISOR_FAILED, run_helper_process};

fn main() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let exit_code = run_helper_process(arguments.first().map(OsString::as_os_str))
        .or_else(|| autonoe_tools::run_helper_process(&arguments));
    std::process::exit(exit_code.unwrap_or(EXIT_SUPERVISOR_FAILED));
}
