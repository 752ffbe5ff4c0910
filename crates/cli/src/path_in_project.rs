//! A roadmap that somebody names, as a path below the project.

use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_store::Project;

/// The path of a file relative to the project; a fault if it is not in there. Its directory must exist. A relative path is one from where the
/// user stands, or else from the project.
pub fn path_in_project(project: &Project, typed: &Path) -> Result<PathBuf, Fault> {
    let real = |path: PathBuf| match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(parent.canonicalize()?.join(name)),
        _ => path.canonicalize(),
    };
    let from_here = std::path::absolute(typed).and_then(real);
    let is_elsewhere = from_here.as_ref().map_or(true, |path| !path.starts_with(project.root()));
    let path = match real(project.root().join(typed)) {
        Ok(path) if typed.is_relative() && is_elsewhere => Ok(path),
        _ => from_here,
    };
    let path = path.map_err(|error| fault(format!("{} cannot be read: {error}.", typed.display())))?;
    path.strip_prefix(project.root()).map(Path::to_owned).map_err(|_| {
        fault(format!("{} is not in the project {}.", typed.display(), project.root().display()))
            .hint("Put the roadmap into the project, or choose the project with --project-dir.")
    })
}

fn fault(message: String) -> Fault {
    Fault::permanent(FaultLayer::Config, "roadmap", message)
}
