//! The other agents' packages: those that the tests have, installed in the same place.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Result, npm};

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

/// Installs the packages, unless they are there, and returns the program of this one.
pub fn install(package: &Package) -> Result<PathBuf> {
    npm::install()?;
    let modules = npm::place()?.join("node_modules");
    let program = match package.program {
        Program::Script(name) => Some(modules.join(".bin").join(name)).filter(|path| path.exists()),
        Program::Native(name) => {
            platform_packages(&modules, package).iter().find_map(|path| find(path, name))
        }
    };
    program.ok_or_else(|| format!("{} has no program for this platform", package.name).into())
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
