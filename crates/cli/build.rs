//! Passes on the name of the target, which only a build script knows, and decides how the binary is linked. Every start processes all
//! relocations, including those of the helper processes that run this binary. So builds for tests, which start them by the thousand, are
//! linked at a fixed address, and others with packed relative relocations (DT_RELR) where the host's C library supports them. A glibc
//! older than 2.36 refuses to load such a binary.

use std::env;
use std::process::Command;

/// First glibc that supports DT_RELR.
const MIN_GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=AUTONOE_BUILD_TARGET={}", env::var("TARGET").unwrap_or_default());
    let is_native_build = env::var("HOST") == env::var("TARGET");
    if is_native_build
        && env::var("PROFILE").is_ok_and(|profile| profile == "debug")
        && cfg!(target_os = "linux")
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    } else if is_native_build && glibc().is_some_and(|version| version >= MIN_GLIBC) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// `None` if the host does not use glibc.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?.stdout;
    let (major, minor) = str::from_utf8(&output).ok()?.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
