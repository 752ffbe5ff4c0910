//! The other agents' packages, at fixed versions, installed by name into `target/npm-agents`.
//!
//! The registry is the one npm is configured for. Packages' own scripts do not run, so the first time any of their code does
//! is in the benchmark's empty environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;
use crate::workspace::root;

/// An npm package with a program.
pub struct Package {
    /// Its name, with its scope.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The program to start.
    pub program: Program,
}

/// Where a package has its program.
pub enum Program {
    /// A file of this name in the package for this platform, beside the package itself.
    Native(&'static str),
    /// A script that npm puts among the package's commands.
    Script(&'static str),
}

/// Installs a package, unless that version is there, and returns its program.
pub fn install(package: &Package) -> Result<PathBuf> {
    let directory = root().join("target/npm-agents").join(package.name.replace('/', "+"));
    if installed_version(&directory, package).as_deref() != Some(package.version) {
        eprintln!("installing {} {} …", package.name, package.version);
        npm_install(&directory, package)?;
    }
    let modules = directory.join("node_modules");
    let program = match package.program {
        Program::Script(name) => Some(modules.join(".bin").join(name)).filter(|path| path.exists()),
        Program::Native(name) => {
            platform_packages(&modules, package).iter().find_map(|path| find(path, name))
        }
    };
    program.ok_or_else(|| format!("{} has no program for this platform", package.name).into())
}

fn npm_install(directory: &Path, package: &Package) -> Result {
    fs::create_dir_all(directory)?;
    let mut npm = Command::new("npm");
    npm.arg("install").arg("--prefix").arg(directory);
    npm.args([
        "--ignore-scripts",
        "--no-package-lock",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]);
    npm.arg(format!("{}@{}", package.name, package.version));
    let output =
        npm.stdin(Stdio::null()).output().map_err(|error| format!("npm cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = said.lines().next().unwrap_or("npm gives no reason");
    Err(format!("{} cannot be installed: {reason}", package.name).into())
}

fn installed_version(directory: &Path, package: &Package) -> Option<String> {
    let manifest = fs::read(directory.join("node_modules").join(package.name).join("package.json")).ok()?;
    let manifest: Value = serde_json::from_slice(&manifest).ok()?;
    manifest["version"].as_str().map(str::to_owned)
}

/// The packages named like this one with a platform after it.
fn platform_packages(modules: &Path, package: &Package) -> Vec<PathBuf> {
    let (scope, name) = package.name.split_once('/').unwrap_or((".", package.name));
    let prefix = format!("{name}-");
    let mut packages = entries(&modules.join(scope));
    packages.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)));
    packages
}

/// A file of this name, however deep.
fn find(directory: &Path, name: &str) -> Option<PathBuf> {
    entries(directory).into_iter().find_map(|path| match path.is_dir() {
        true => find(&path, name),
        false => Some(path).filter(|path| path.ends_with(name)),
    })
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
