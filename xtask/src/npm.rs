//! The npm packages that some tests use, in the versions of `xtask/npm/package-lock.json`.
//!
//! They are installed once, into the target directory, and again when the lock file changes. Without node, the tests that
//! need them are skipped; under `CI=true` they fail.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::result::Result;
use crate::workspace::root;

const VARIABLE: &str = "AUTONOE_TEST_NPM";
const FILES: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];
/// A copy of the lock file, written after a complete installation.
const DONE: &str = "installed.json";

pub fn install() -> Result {
    let (from, to) = (root().join("xtask/npm"), directory()?);
    if is_done(&from, &to) {
        return Ok(());
    }
    println!("== prerequisites: npm ci");
    fs::create_dir_all(&to)?;
    for file in FILES {
        fs::copy(from.join(file), to.join(file))?;
    }
    let mut npm = Command::new("npm");
    // None of these packages needs its install scripts.
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&to);
    let status = npm.status().map_err(|error| format!("npm cannot be started: {error}."))?;
    if !status.success() {
        return Err(format!("`npm ci` failed ({status}).").into());
    }
    fs::copy(from.join("package-lock.json"), to.join(DONE))?;
    Ok(())
}

/// The environment variable for the tests; `None` if the packages are not installed.
pub fn variable() -> Option<(&'static str, PathBuf)> {
    let directory = directory().ok()?;
    is_done(&root().join("xtask/npm"), &directory).then_some((VARIABLE, directory))
}

/// In the target directory, which contains this program.
pub fn directory() -> Result<PathBuf> {
    let program = env::current_exe()?;
    let target = program.ancestors().nth(2).ok_or("Cannot find the target directory.")?;
    Ok(target.join("npm"))
}

fn is_done(from: &Path, to: &Path) -> bool {
    let expected = fs::read(from.join("package-lock.json"));
    matches!((expected, fs::read(to.join(DONE))), (Ok(expected), Ok(done)) if expected == done)
}
