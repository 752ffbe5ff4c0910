//! Properties of the binary file.

use std::fs::File;
use std::io::Read;
use std::process::Command;

/// The symbol version that a binary requires from glibc if its relative relocations are packed.
const SHORT_FORM: &[u8] = b"GLIBC_ABI_DT_RELR";

/// The required symbol versions are within this many bytes of the start.
const BEGINNING: u64 = 1024 * 1024;

/// Where the kind of an ELF file is, and that of one with a fixed address.
const KIND: usize = 16;
const FIXED: [u8; 2] = [2, 0];

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn every_start_processes_few_relocations() {
    let printed = Command::new("getconf").arg("GNU_LIBC_VERSION").output().expect("a C library").stdout;
    let printed = String::from_utf8_lossy(&printed).into_owned();
    let minor = printed.trim().strip_prefix("glibc 2.").and_then(|minor| minor.parse::<u32>().ok());
    let mut beginning = Vec::new();
    let binary = File::open(env!("CARGO_BIN_EXE_autonoe")).expect("our binary");
    binary.take(BEGINNING).read_to_end(&mut beginning).expect("read");
    let is_fixed = beginning[KIND..KIND + 2] == FIXED;
    assert_eq!(is_fixed, cfg!(debug_assertions), "only builds for tests have a fixed address");
    if !is_fixed {
        let is_short = beginning.windows(SHORT_FORM.len()).any(|bytes| bytes == SHORT_FORM);
        assert_eq!(is_short, minor.is_some_and(|minor| minor >= 36), "{printed}");
    }
}
