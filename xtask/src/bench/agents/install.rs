//! The npm packages of the other agents, shared with the tests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::npm;
use crate::result::Result;

pub struct Package {
    pub name: &'static str,
    pub version: &'static str,
    pub program: PackageProgram,
}

pub enum PackageProgram {
    /// A file of this name in the package for this platform.
    Native(&'static str),
    /// A script in `node_modules/.bin`.
    Script(&'static str),
}

/// Installs all packages, if needed, and returns the program of this one.
pub fn install(package: &Package) -> Result<PathBuf> {
    npm::install()?;
    let modules = npm::directory()?.join("node_modules");
    let program = match package.program {
        PackageProgram::Script(name) => Some(modules.join(".bin").join(name)).filter(|path| path.exists()),
        PackageProgram::Native(name) => {
            platform_packages(&modules, package).iter().find_map(|path| find(path, name))
        }
    };
    program.ok_or_else(|| format!("{} has no program for this platform", package.name).into())
}

/// The packages of the form `name-platform`.
fn platform_packages(modules: &Path, package: &Package) -> Vec<PathBuf> {
    let (scope, name) = package.name.split_once('/').unwrap_or((".", package.name));
    let prefix = format!("{name}-");
    let mut packages = entries(&modules.join(scope));
    packages.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)));
    packages
}

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
