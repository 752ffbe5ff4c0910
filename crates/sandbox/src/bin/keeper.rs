//! The keeper alone, for this crate's tests. The product's keeper is the `autonoe` binary itself.

use autonoe_sandbox::{EXIT_KEEPER_FAILED, KEEP_ARG, keep};

fn main() {
    let mut args = std::env::args_os().skip(1);
    let code = match args.next() {
        Some(first) if first == KEEP_ARG => keep(args),
        _ => EXIT_KEEPER_FAILED,
    };
    std::process::exit(code);
}
