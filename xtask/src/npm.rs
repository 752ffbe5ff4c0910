//! The packages of npm that some tests talk to, in the versions of `xtask/npm/package-lock.json`.
//!
//! They are installed once, into the target directory, and again when the lock file changes. Where there is no node, the
//! tests that need them say that they are skipped; under `CI=true` they fail.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::workspace::root;

/// The variable that tells tests where the packages are.
const VARIABLE: &str = "AUTONOE_TEST_NPM";
/// What npm needs to know.
const FILES: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];
/// A copy of the lock file, made when all that it names was installed.
const DONE: &str = "installed.json";

/// Installs the packages, if they are not there.
pub fn install() -> Result {
    let (from, to) = (root().join("xtask/npm"), place()?);
    if is_done(&from, &to) {
        return Ok(());
    }
    println!("== needs: npm ci");
    fs::create_dir_all(&to)?;
    for file in FILES {
        fs::copy(from.join(file), to.join(file))?;
    }
    let mut npm = Command::new("npm");
    // What a package would run when it is installed is not needed by any of these.
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&to);
    let status = npm.status().map_err(|error| format!("npm cannot be started: {error}."))?;
    if !status.success() {
        return Err(format!("`npm ci` failed ({status}).").into());
    }
    fs::copy(from.join("package-lock.json"), to.join(DONE))?;
    Ok(())
}

/// The variable for the tests, if the packages are installed.
pub fn variable() -> Option<(&'static str, PathBuf)> {
    let place = place().ok()?;
    is_done(&root().join("xtask/npm"), &place).then_some((VARIABLE, place))
}

/// In the target directory, which we lie in ourselves.
pub fn place() -> Result<PathBuf> {
    let ourselves = env::current_exe()?;
    let target = ourselves.ancestors().nth(2).ok_or("The target directory cannot be found.")?;
    Ok(target.join("npm"))
}

fn is_done(from: &Path, to: &Path) -> bool {
    let wanted = fs::read(from.join("package-lock.json"));
    matches!((wanted, fs::read(to.join(DONE))), (Ok(wanted), Ok(done)) if wanted == done)
}
