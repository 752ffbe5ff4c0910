//! Where files are in relation to protected ones.

use autonoe_store::{CheckRegistry, ProtectedPath};

use crate::discovery::package_of;
use crate::oracles::is_protected_by;
use crate::runner_files::is_code;
use crate::test_files::is_in_tests;

pub(crate) fn is_protected(registry: &CheckRegistry, path: &str) -> bool {
    registry.files.contains_key(&ProtectedPath::new(path))
}

/// Whether tests of the package of a manifest may be protected.
pub(crate) fn has_tests_of_cargo(registry: &CheckRegistry, manifest: &str) -> bool {
    let directory = manifest.strip_suffix("Cargo.toml").unwrap_or(manifest);
    let mut files = registry.files.keys().map(ToString::to_string);
    files.any(|file| file.starts_with(directory) && file.ends_with(".rs"))
}

/// Whether a path is that of a protected file, or of a directory with some.
pub(crate) fn is_among_protected(registry: &CheckRegistry, path: &str) -> bool {
    let below =
        |file: String| file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    registry.files.keys().any(|file| below(file.to_string()))
}

/// Whether a file is code among protected tests, which no pattern takes away from checks: in their directory, or a package below it.
pub(crate) fn is_beside_protected(registry: &CheckRegistry, path: &str) -> bool {
    let parent = |path: &str| path.rsplit_once('/').map(|(directory, _)| directory.to_owned());
    let Some(directory) = parent(path).filter(|_| is_code(path) && is_in_tests(path)) else { return false };
    let is_among = |file: String| {
        parent(&file).is_some_and(|tests| {
            tests == directory || (package_of(path).is_some() && directory.starts_with(&format!("{tests}/")))
        })
    };
    registry.files.keys().any(|file| is_among(file.to_string()))
        && !registry.globs.iter().any(|glob| is_protected_by(glob, path))
}

/// Whether a file makes a package of the directory of a protected module, so that it runs when that one is imported.
pub(crate) fn is_with_protected_module(registry: &CheckRegistry, path: &str) -> bool {
    let is_in = |package: &str, file: String| {
        let module = file.strip_prefix(package).and_then(|rest| rest.strip_prefix('/'));
        module.is_some_and(|module| module.ends_with(".py") && !module.contains('/'))
    };
    let mut files = registry.files.keys().map(ToString::to_string);
    package_of(path).is_some_and(|package| files.any(|file| is_in(package, file)))
}
