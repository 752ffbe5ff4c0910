//! The workspace directory, and commands to start cargo and build our own binary.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::result::Result;

pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Variables that cargo sets for the programs it runs.
const PACKAGE_VARIABLES: [&str; 3] = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_"];

/// The cargo that started us, in the workspace, with the environment of a cargo started by hand.
///
/// Some build scripts watch the variables that cargo sets for their own package. If ours were passed on, these scripts would
/// run again, and their dependents be rebuilt, whenever `cargo build` and `cargo xtask` alternate.
pub fn cargo() -> Command {
    like_cargo(Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into())))
}

/// Another program that starts cargo, in the same place and environment.
pub fn like_cargo(mut cargo: Command) -> Command {
    let is_ours =
        |name: &OsString| PACKAGE_VARIABLES.iter().any(|prefix| name.to_string_lossy().starts_with(prefix));
    for name in env::vars_os().map(|(name, _)| name).filter(is_ours) {
        cargo.env_remove(name);
    }
    cargo.current_dir(root());
    cargo
}

pub fn has_cargo_command(name: &str) -> bool {
    let version = cargo().args([name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Builds `autonoe` in the profile of this program and returns its path.
pub fn build_autonoe() -> Result<PathBuf> {
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let status = cargo().args(["build", "--quiet", "--package", "autonoe", "--profile", profile]).status()?;
    if !status.success() {
        return Err("autonoe does not build; see above.".into());
    }
    Ok(env::current_exe()?.with_file_name("autonoe"))
}
