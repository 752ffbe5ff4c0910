//! The keeper, the room and the parts of tools alone, for this crate's tests. In the product the `autonoe` binary itself is both.

use std::ffi::OsString;

use autonoe_sandbox::{EXIT_KEEPER_FAILED, play_part};

fn main() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let part = play_part(arguments.first().map(OsString::as_os_str));
    std::process::exit(part.or_else(|| autonoe_tools::play_part(&arguments)).unwrap_or(EXIT_KEEPER_FAILED));
}
