//! Where the workspace is, and how cargo and our own binary are started from here.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;

/// The directory of the workspace.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// What cargo tells the programs it runs about themselves.
const ABOUT_US: [&str; 3] = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_"];

/// The cargo that started us, in the workspace, with the environment it would have if a person started it.
///
/// Some build scripts watch the variables that cargo sets for their own package. Were ours passed on, each of them would
/// run again, and everything above it be built anew, whenever `cargo build` and `cargo xtask` take turns.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let about_us = |name: &OsString| ABOUT_US.iter().any(|prefix| name.to_string_lossy().starts_with(prefix));
    for name in env::vars_os().map(|(name, _)| name).filter(about_us) {
        cargo.env_remove(name);
    }
    cargo.current_dir(root());
    cargo
}

/// Whether `cargo NAME` can be run here.
pub fn has_cargo_command(name: &str) -> bool {
    let version = cargo().args([name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Builds `autonoe` in the profile we were built in and returns its path, which is beside ours.
pub fn build_autonoe() -> Result<PathBuf> {
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let status = cargo().args(["build", "--quiet", "--package", "autonoe", "--profile", profile]).status()?;
    if !status.success() {
        return Err("autonoe does not build; see above.".into());
    }
    Ok(env::current_exe()?.with_file_name("autonoe"))
}
