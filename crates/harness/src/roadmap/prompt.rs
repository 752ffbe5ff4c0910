//! What an agent gets to read about a task.

use super::{Roadmap, Task, TaskId};

/// Characters of a dependency's output that are shown.
const SHOWN_OUTPUT: usize = 2000;

impl Task {
    /// `## Goal`, `## Context` and `## Success Criteria`, separated by empty lines; parts that do not exist are left out.
    pub fn prompt(&self, context: Option<&str>) -> String {
        let mut sections = vec![format!("## Goal\n{}", self.goal)];
        sections.extend(context.filter(|text| !text.is_empty()).map(|text| format!("## Context\n{text}")));
        sections.extend(self.success_criteria.as_ref().map(|text| format!("## Success Criteria\n{text}")));
        sections.join("\n\n")
    }
}

impl Roadmap {
    /// The context of a task: the project, its constraints, and what the tasks that it depends on have said. `output` is the last
    /// output of a task; `None` if there is none.
    pub fn context(&self, task: &Task, output: impl Fn(&TaskId) -> Option<String>) -> String {
        let mut lines = vec![format!("Project: {}", self.name)];
        if !self.objective.is_empty() {
            lines.push(format!("Objective: {}", self.objective));
        }
        lines.extend(self.constraints.iter().map(|text| format!("Constraint: {text}")));
        let outputs: Vec<String> = task
            .depends
            .iter()
            .filter_map(|id| output(id).map(|output| format!("### {id}\n{}", shortened(output.trim()))))
            .collect();
        if !outputs.is_empty() {
            lines.push(format!("\n## Previous Task Outputs:\n{}", outputs.join("\n\n")));
        }
        lines.join("\n")
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_OUTPUT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
