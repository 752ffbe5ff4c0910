//! A fleet from the command line: one task, and several agents that try it.

use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_fleet::{CoordinationStrategy, FleetFile, FleetProblem};
use autonoe_harness::roadmap::Roadmap;
use autonoe_harness::task_plan::invalid;
use autonoe_store::Project;

use super::fleet_plan::{FleetPlan, checked_tasks, read_roadmap};
use super::task_roadmap::TaskRoadmap;
use crate::backend_name::BackendWithModel;
use crate::engine::name_in_project;

/// Characters of a task that are its description; the whole text is its goal.
const DESCRIPTION: usize = 80;

/// One task for several agents.
pub struct TaskFleet<'a> {
    pub strategy: CoordinationStrategy,
    pub backends: &'a [BackendWithModel],
    /// A roadmap in the project, or the text of a task.
    pub task: &'a str,
    /// Commands, or items as in SPEC.md.
    pub checks: &'a [String],
}

impl TaskFleet<'_> {
    /// The fleet, as a file would describe it.
    pub fn plan(&self, project: &Project, known_backends: &[&str]) -> Result<FleetPlan, Fault> {
        let (roadmap, task) = self.roadmap(project)?;
        let mut text = format!(
            "# Fleet: {name}\n## Strategy\n- coordination: {name}\n## Sub-Harnesses\n",
            name = self.strategy.name()
        );
        let mut ids: Vec<String> = Vec::new();
        for backend in self.backends {
            let name = backend.backend.name();
            let taken = ids.iter().filter(|id| id.split('_').next() == Some(name)).count();
            let id = if taken == 0 { name.to_owned() } else { format!("{name}_{}", taken + 1) };
            text.push_str(&format!("### {id}\n- roadmap: {}\n- cli: {name}\n", roadmap.display()));
            if let Some(model) = &backend.model {
                text.push_str(&format!("- model: {model}\n"));
            }
            ids.push(id);
        }
        let mut read = |path: &Path| match &task {
            Some(task) => {
                let parsed = Roadmap::parse(&task.text, known_backends);
                parsed.map(|roadmap| checked_tasks(&roadmap)).map_err(|error| invalid(path, &error).message)
            }
            None => read_roadmap(project, path, known_backends),
        };
        let parsed = FleetFile::parse(&text, known_backends, &mut read);
        let (file, checked_tasks) = parsed.map_err(|error| {
            // The lines of a file that nobody has written help nobody.
            let words = |problem: &FleetProblem| match (problem, &task) {
                (FleetProblem::NoChecks { strategy, .. }, Some(_)) => {
                    format!("the checks decide in a {strategy}, and the task has none; add --check COMMAND")
                }
                (problem, _) => problem.to_string(),
            };
            let problems: Vec<String> = error.problems.iter().map(|(_, problem)| words(problem)).collect();
            Fault::permanent(
                FaultLayer::Config,
                "fleet",
                format!("This fleet cannot be started: {}.", problems.join("; ")),
            )
        })?;
        Ok(FleetPlan { file, checked_tasks, task })
    }

    /// Relative to the project; and what is to be written there, if the task is not a roadmap.
    fn roadmap(&self, project: &Project) -> Result<(PathBuf, Option<TaskRoadmap>), Fault> {
        let path = Path::new(self.task);
        if path.extension().is_some_and(|end| end == "md") {
            if let Some(check) = self.checks.first() {
                let message = format!("--check {check}: the checks of a roadmap are in its file.");
                return Err(Fault::permanent(FaultLayer::Config, "fleet", message));
            }
            return Ok((name_in_project(project, path)?, None));
        }
        let task = TaskRoadmap::of(self.roadmap_text()?);
        Ok((task.path(), Some(task)))
    }

    /// A roadmap with one task.
    fn roadmap_text(&self) -> Result<String, Fault> {
        let wrong = |message: &str| Fault::permanent(FaultLayer::Config, "task", message.to_owned());
        let lines: Vec<&str> = self.task.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let Some(first) = lines.first() else { return Err(wrong("The task is empty.")) };
        let description: String = first.chars().take(DESCRIPTION).collect();
        let mut text = format!("# Roadmap: Task\n\n## Tasks\n- [ ] **task**: {description}\n");
        for check in self.checks {
            let item = match check.trim() {
                "" => return Err(wrong("A check is empty.")),
                item if item.contains('\n') => return Err(wrong("A check has one line.")),
                item if item.starts_with('`') => item.to_owned(),
                command if command.contains('`') => format!("`` {command} ``"),
                command => format!("`{command}`"),
            };
            text.push_str(&format!("  - check: {item}\n"));
        }
        text.push_str(&format!("  - goal: {}\n", lines.join("\n    ")));
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use autonoe_fleet::CoordinationStrategy;
    use autonoe_harness::roadmap::Roadmap;
    use autonoe_store::Project;

    use super::{FleetPlan, TaskFleet};
    use crate::backend_name::BackendWithModel;

    #[test]
    fn a_task_for_several_agents_is_a_fleet() {
        let (root, state) =
            (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
        let project = Project::open(root.path(), state.path()).expect("a project");
        let backends: Vec<BackendWithModel> =
            ["claude:opus", "codex", "codex:gpt-5"].map(|name| name.parse().expect(name)).into();
        let checks = ["make test".to_owned(), "`./x` prints `1`".to_owned(), "echo `date`".to_owned()];
        let task = "Build **it**: `x`\n\n# Not a heading\n- and this";
        let fleet =
            TaskFleet { strategy: CoordinationStrategy::Race, backends: &backends, task, checks: &checks };
        let FleetPlan { file: plan, checked_tasks, task: written } =
            fleet.plan(&project, &["claude", "codex"]).expect("a fleet");
        assert_eq!(checked_tasks, [1, 1, 1]);
        assert!(!project.root().join(".harness").exists(), "nothing is written before the fleet begins");
        let written = written.expect("a roadmap");
        assert_eq!([(); 2].map(|()| written.write(&project).expect("written")), [true, false]);
        let ids: Vec<&str> = plan.harnesses.iter().map(|harness| harness.id.as_str()).collect();
        assert_eq!((ids, plan.name.as_str()), (vec!["claude", "codex", "codex_2"], "race"));
        assert_eq!(plan.harnesses[0].model.as_deref(), Some("opus"));
        let text = std::fs::read_to_string(project.root().join(&plan.harnesses[0].roadmap)).expect("text");
        let roadmap = Roadmap::parse(&text, &[]).expect("valid");
        assert_eq!(roadmap.tasks[0].goal, "Build **it**: `x`\n# Not a heading\n- and this");
        let commands: Vec<&str> =
            roadmap.tasks[0].checks.iter().map(|check| check.command.as_str()).collect();
        assert_eq!(commands, ["make test", "./x", "echo `date`"]);
        let other = TaskFleet { task: "Something else", ..fleet };
        assert_ne!(
            other.plan(&project, &["claude", "codex"]).expect("a fleet").file.harnesses[0].roadmap,
            plan.harnesses[0].roadmap
        );
        written.remove(&project);
        assert!(!project.root().join(&plan.harnesses[0].roadmap).exists());
        let one = TaskFleet { backends: &backends[..1], ..other };
        let said = one.plan(&project, &["claude", "codex"]).err().expect("one is not a race").message;
        assert_eq!(said, "This fleet cannot be started: a race needs at least 2 harnesses, and there are 1.");
    }
}
