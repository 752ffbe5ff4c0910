//! Has the linker write down in a short form where the binary refers to itself, which every start of it reads, also those of the
//! small parts that it plays. The C library can read that form since version 2.36; one that is older would not start it.

use std::env;
use std::process::Command;

/// The first version of the GNU C library that reads the short form.
const SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_for_this_machine = env::var("HOST") == env::var("TARGET");
    if is_for_this_machine && glibc().is_some_and(|version| version >= SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's GNU C library; none if it has another one.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?.stdout;
    let (major, minor) = str::from_utf8(&said).ok()?.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
