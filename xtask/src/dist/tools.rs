//! Tools that releases are made and tried with: zig, as a C compiler and linker with its own musl, cargo-zigbuild, which lets cargo use it, and uvx.
//!
//! They come from PyPI in fixed versions, into directories of their own below `target`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::result::Result;
use crate::workspace::root;

pub const ZIG_VERSION: &str = "0.17.0";
const ZIGBUILD_VERSION: &str = "0.24.0";
const DIRECTORY: &str = "target/dist-tools";

/// For trials of the wheel.
const UV_VERSION: &str = "0.13.8";
const UV_DIRECTORY: &str = "target/dist-uv";

/// cargo-zigbuild, which finds zig before everything else on its search path.
pub fn cargo_zigbuild() -> Result<Command> {
    let directory = root().join(DIRECTORY);
    let done = directory.join(format!("zig-{ZIG_VERSION}-zigbuild-{ZIGBUILD_VERSION}"));
    if !done.exists() {
        let packages = [format!("ziglang=={ZIG_VERSION}"), format!("cargo-zigbuild=={ZIGBUILD_VERSION}")];
        install(&directory, &packages)?;
        fs::write(&done, "")?;
    }
    let before = directory.join("bin");
    let inherited = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([before.clone()].into_iter().chain(env::split_paths(&inherited)))?;
    let mut zigbuild = Command::new(before.join("cargo-zigbuild"));
    zigbuild.env("PATH", path);
    Ok(zigbuild)
}

/// The program uvx, with uv beside it; installed now if it was not before.
pub fn uvx() -> Result<PathBuf> {
    let directory = root().join(UV_DIRECTORY);
    let program = directory.join("bin/uvx");
    if !program.exists() {
        install(&directory, &[format!("uv=={UV_VERSION}")])?;
    }
    Ok(program)
}

fn install(directory: &Path, packages: &[String]) -> Result {
    println!("installing {} into {}", packages.join(" and "), directory.display());
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(directory))?;
    let pip: PathBuf = directory.join("bin/pip");
    run(Command::new(pip).args(["install", "--quiet", "--disable-pip-version-check"]).args(packages))
}

fn run(command: &mut Command) -> Result {
    let shown = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| format!("{shown} cannot be started: {error}."))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} failed ({status}); see above.").into()) }
}
