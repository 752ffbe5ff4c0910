//! A fleet from the command line: one task, and several agents that try it.

use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_files::{UntrustedDir, Visibility};
use autonoe_fleet::{CoordinationStrategy, FleetFile};
use autonoe_store::{Project, sha256_hex};

use crate::backend_name::BackendWithModel;
use crate::engine::name_in_project;
use crate::write_fault::cannot_write;

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
    /// The fleet, as a file would describe it. The roadmap of a task is written to `.harness/`.
    pub fn plan(&self, project: &Project, known_backends: &[&str]) -> Result<FleetFile, Fault> {
        let roadmap = self.roadmap(project)?;
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
        FleetFile::parse(&text, known_backends).map_err(|error| {
            // The lines of a file that nobody has written help nobody.
            let problems: Vec<String> =
                error.problems.iter().map(|(_, problem)| problem.to_string()).collect();
            Fault::permanent(
                FaultLayer::Config,
                "fleet",
                format!("This fleet cannot be started: {}.", problems.join("; ")),
            )
        })
    }

    fn roadmap(&self, project: &Project) -> Result<PathBuf, Fault> {
        let path = Path::new(self.task);
        if path.extension().is_some_and(|end| end == "md") {
            if let Some(check) = self.checks.first() {
                let message = format!("--check {check}: the checks of a roadmap are in its file.");
                return Err(Fault::permanent(FaultLayer::Config, "fleet", message));
            }
            return name_in_project(project, path);
        }
        let text = self.roadmap_text()?;
        let name = format!("task-{}.md", &sha256_hex(text.as_bytes())[..8]);
        let directory = project.root().join(".harness");
        let written = UntrustedDir::open(project.root())
            .and_then(|root| root.create_missing(Path::new(".harness"), Visibility::OwnerOnly))
            .and_then(|all| {
                all.write_missing(".gitignore".as_ref(), b"*\n")?;
                all.replace(name.as_ref(), text.as_bytes(), Visibility::OwnerOnly)
            });
        written.map_err(|error| cannot_write(FaultLayer::System, "fleet", &directory, &error))?;
        Ok(Path::new(".harness").join(name))
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

    use super::TaskFleet;
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
        let plan = fleet.plan(&project, &["claude", "codex"]).expect("a fleet");
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
            other.plan(&project, &["claude", "codex"]).expect("a fleet").harnesses[0].roadmap,
            plan.harnesses[0].roadmap
        );
        let one = TaskFleet { backends: &backends[..1], ..other };
        let said = one.plan(&project, &["claude", "codex"]).expect_err("one is no race").message;
        assert_eq!(said, "This fleet cannot be started: a race needs at least 2 harnesses, and there are 1.");
    }
}
