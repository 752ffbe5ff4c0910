//! The keeper and the room alone, for this crate's tests. In the product the `autonoe` binary itself is both.

use autonoe_sandbox::{EXIT_KEEPER_FAILED, play_part};

fn main() {
    let first = std::env::args_os().nth(1);
    std::process::exit(play_part(first.as_deref()).unwrap_or(EXIT_KEEPER_FAILED));
}
