//! What `autonoe fleet up` begins, from a fleet file.

use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{ReadError, read_bytes_beneath, to_text};
use autonoe_fleet::FleetFile;
use autonoe_harness::roadmap::Roadmap;
use autonoe_harness::task_plan::RoadmapFile;
use autonoe_store::Project;

use super::task_roadmap::TaskRoadmap;
use crate::engine::name_in_project;

/// Largest size of a fleet file, in bytes; the parser says what is wrong with a larger one.
const MAX_FLEET_FILE: u64 = 2 * 1024 * 1024;

/// A fleet that may begin.
pub struct FleetPlan {
    pub file: FleetFile,
    /// Of each harness: tasks that checks decide about.
    pub checked_tasks: Vec<u32>,
    /// The roadmap of a task from the command line, which is not written yet.
    pub task: Option<TaskRoadmap>,
}

/// Reads the fleet file, and the roadmaps that it names.
pub fn read_plan(project: &Project, file: &str, backends: &[&str]) -> Result<FleetPlan, Fault> {
    let wrong = |message: String| Fault::permanent(FaultLayer::Config, "fleet", message);
    let path = Path::new(file);
    if path.symlink_metadata().is_err()
        && !path.is_absolute()
        && project.root().join(path).symlink_metadata().is_err()
    {
        return Err(wrong(format!("{file} does not exist.")).hint("docs/fleet.md describes the file."));
    }
    // As every other file of a project, it may be named from the project or from here.
    let typed = if path.symlink_metadata().is_ok() { path.to_owned() } else { project.root().join(path) };
    let name = name_in_project(project, &typed)?;
    let text = read_bytes_beneath(project.root(), &name, MAX_FLEET_FILE).and_then(to_text);
    let text = text.map_err(|error: ReadError| {
        wrong(format!("{} cannot be read: {error}.", name.display())).hint(error.advice())
    })?;
    let mut read = |path: &Path| read_roadmap(project, path, backends);
    let (file, checked_tasks) = FleetFile::parse(&text, backends, &mut read).map_err(|error| {
        let count = match error.problems.len() {
            1 => "a problem".to_owned(),
            several => format!("{several} problems"),
        };
        wrong(format!("{} has {count}:\n{error}", name.display())).hint("docs/fleet.md describes the file.")
    })?;
    Ok(FleetPlan { file, checked_tasks, task: None })
}

/// Tasks of a roadmap that checks decide about.
pub fn checked_tasks(roadmap: &Roadmap) -> u32 {
    let checked = roadmap.tasks.iter().filter(|task| !task.done && !task.checks.is_empty()).count();
    u32::try_from(checked).unwrap_or(u32::MAX)
}

/// Reads a roadmap of the project for a fleet; an error is a sentence without its dot.
pub fn read_roadmap(project: &Project, path: &Path, backends: &[&str]) -> Result<u32, String> {
    let name: PathBuf = path.components().collect();
    if project.root().join(&name).symlink_metadata().is_err() {
        return Err(format!("{} does not exist", name.display()));
    }
    match RoadmapFile::open(project.root(), &name, backends) {
        Ok((_, roadmap)) => Ok(checked_tasks(&roadmap)),
        // Its lines are not those of the fleet file.
        Err(fault) => Err(fault.message.trim_end_matches('.').replace('\n', "\n  ")),
    }
}
