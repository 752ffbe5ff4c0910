//! The job of `autonoe harness run`: a roadmap, and the files by which others steer and watch it.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use autonoe_core::check::Check;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_deliverables::SharedTools;
use autonoe_harness::alerts::OnCritical;
use autonoe_harness::control::HarnessDirectory;
use autonoe_harness::harness_record::HarnessRecord;
use autonoe_harness::roadmap::{Roadmap, Task};
use autonoe_harness::task_plan::RoadmapFile;
use autonoe_store::{Project, ProjectInstructions};
use autonoe_verify::written_checks;
use jiff::Timestamp;

use super::fleet_tools::FleetTools;
use crate::path_in_project::path_in_project;

pub struct RoadmapJob {
    pub file: Arc<RoadmapFile>,
    pub roadmap: Roadmap,
    /// Name of the directory below `.harness/`.
    pub id: String,
    pub on_critical: OnCritical,
    /// Value of `--growth`.
    pub growth: Option<NonZeroUsize>,
    /// `--fresh` was given.
    pub is_fresh: bool,
    /// `--max-duration` was given.
    pub has_time_limit: bool,
    /// The project whose context is shared; `None` outside of a fleet.
    pub fleet: Option<PathBuf>,
}

pub struct PreparedRoadmap {
    pub job: RoadmapJob,
    /// Checks of SPEC.md and checks.json, which stay as they are.
    pub written: Vec<Check>,
    pub instructions: ProjectInstructions,
}

impl RoadmapJob {
    /// The command as recorded in the journal.
    pub fn command(&self) -> String {
        format!("harness run {}", self.file.name().display())
    }

    pub fn prepare(self, project: &Project) -> Result<PreparedRoadmap, Fault> {
        let written = written_checks(project, &project.find_spec()?.unwrap_or_default())?;
        let instructions = ProjectInstructions::new(project);
        instructions.check_all()?;
        Ok(PreparedRoadmap { job: self, written, instructions })
    }

    /// Tools with which agents reach the context of the fleet; `None` outside of one. `work_root` is the project as agents see it.
    pub fn shared_tools(&self, work_root: &Path) -> Result<Option<Arc<dyn SharedTools>>, Fault> {
        let open = |fleet: &PathBuf| {
            let tools = FleetTools::open(fleet, &self.id, work_root)?;
            Ok(Arc::new(tools) as Arc<dyn SharedTools>)
        };
        self.fleet.as_ref().map(open).transpose()
    }

    /// Backends that tasks ask for.
    pub fn backends(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .roadmap
            .tasks
            .iter()
            .filter(|task| !task.done)
            .flat_map(|task| &task.cli)
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A task whose backends are all in `unusable`; `None` if there is none.
    pub fn without_backend<T>(&self, unusable: &[(String, T)]) -> Option<&Task> {
        let is_unusable = |name: &String| unusable.iter().any(|(unusable, _)| unusable == name);
        let mut open = self.roadmap.tasks.iter().filter(|task| !task.done && !task.cli.is_empty());
        open.find(|task| task.cli.iter().all(is_unusable))
    }

    /// The files of the harness, and sentences about what was found there. Requires the project lock.
    pub fn open_harness(
        &self,
        project: &Project,
        now: Timestamp,
    ) -> Result<(Arc<HarnessRecord>, Vec<String>), Fault> {
        let directory = HarnessDirectory::create(project.root(), &self.id).map_err(|error| {
            Fault::permanent(FaultLayer::Config, "harness_files", error.to_string())
                .hint("Choose another name with --id.")
        })?;
        let (record, mut said) = HarnessRecord::open(directory.into(), self.on_critical, now)?;
        if self.growth.is_none() && !self.roadmap.growth.is_empty() {
            let name = self.file.name().display();
            said.push(format!("`## Growth Mode` of {name} is not used without --growth."));
        }
        Ok((Arc::new(record), said))
    }
}

/// The roadmap relative to the project; a fault if it does not exist or is not in there.
pub fn name_in_project(project: &Project, typed: &Path) -> Result<PathBuf, Fault> {
    let name = path_in_project(project, typed)?;
    // A link in place of the file itself is reported when it is read.
    match project.root().join(&name).symlink_metadata() {
        Ok(found) if found.is_dir() => {
            let message = format!("{} is a directory, not a file.", typed.display());
            Err(Fault::permanent(FaultLayer::Config, "roadmap", message))
        }
        Ok(_) => Ok(name),
        Err(_) => {
            let message = format!("{} does not exist.", typed.display());
            Err(Fault::permanent(FaultLayer::Config, "roadmap", message)
                .hint("`autonoe harness init` writes a roadmap to start from."))
        }
    }
}
