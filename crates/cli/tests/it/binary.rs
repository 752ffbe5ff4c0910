//! The binary as a file.

use std::fs::File;
use std::io::Read;
use std::process::Command;

/// The version that a binary asks the C library for if its references to itself are in the short form.
const SHORT_FORM: &[u8] = b"GLIBC_ABI_DT_RELR";

/// Where the names are that a binary asks for.
const BEGINNING: u64 = 1024 * 1024;

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn references_to_itself_are_in_the_short_form_where_that_can_be_read() {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().expect("a C library").stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let minor = said.trim().strip_prefix("glibc 2.").and_then(|minor| minor.parse::<u32>().ok());
    let mut beginning = Vec::new();
    let binary = File::open(env!("CARGO_BIN_EXE_autonoe")).expect("our binary");
    binary.take(BEGINNING).read_to_end(&mut beginning).expect("read");
    let is_short = beginning.windows(SHORT_FORM.len()).any(|bytes| bytes == SHORT_FORM);
    assert_eq!(is_short, minor.is_some_and(|minor| minor >= 36), "{said}");
}
