//! Exchanges the two paths in its arguments as fast as it can until it is killed. Prints `ready` after the first exchange.
#![allow(clippy::expect_used)]

use rustix::fs::{CWD, RenameFlags, renameat_with};

fn main() {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    let [one, other] = paths.as_slice() else { panic!("two paths are needed") };
    let swap = || renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("both paths exist");
    swap();
    println!("ready");
    loop {
        swap();
    }
}
