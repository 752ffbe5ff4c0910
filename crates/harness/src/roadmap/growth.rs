//! Tasks that an agent proposes when all others are completed. It writes descriptions, goals and criteria; ids are ours, and a check is the
//! user's to write.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::append::with_tasks;
use super::document::task_items;
use super::problem::RoadmapError;
use super::task_text::{MAX_LINE, one_line, quoted};
use super::{Roadmap, TaskId};

/// The phase of the new tasks.
const PHASE: &str = "Growth";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ProposedTask {
    /// One line.
    pub description: String,
    #[serde(default)]
    pub goal: String,
    /// What a reviewer can decide by.
    pub success: String,
}

#[derive(Debug, Deserialize)]
pub struct Proposals {
    pub tasks: Vec<ProposedTask>,
}

impl Proposals {
    /// JSON Schema of the answer, as strict as every service accepts it: none knows a number of items.
    pub fn schema() -> Value {
        let text = || json!({ "type": "string" });
        json!({
            "type": "object",
            "properties": {
                "tasks": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": { "description": text(), "goal": text(), "success": text() },
                        "required": ["description", "goal", "success"],
                        "additionalProperties": false
                    }
                }
            },
            "required": ["tasks"],
            "additionalProperties": false
        })
    }
}

/// What becomes of proposals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedProposals {
    pub ids: Vec<TaskId>,
    /// The lines of the tasks.
    pub text: String,
    /// Why others are not taken over, a sentence each.
    pub refused: Vec<String>,
}

/// At most `limit` of the proposals, as tasks `growth-1`, `growth-2` and so on, from the first number that is free.
pub fn accept(roadmap: &Roadmap, proposals: &[ProposedTask], limit: usize) -> AcceptedProposals {
    let mut seen: Vec<String> = roadmap.tasks.iter().map(|task| task.description.to_lowercase()).collect();
    let mut accepted = AcceptedProposals { ids: Vec::new(), text: String::new(), refused: Vec::new() };
    let mut number = 1;
    for proposal in proposals {
        let description = one_line(&proposal.description, MAX_LINE);
        let success = one_line(&proposal.success, 5 * MAX_LINE);
        let why = match () {
            () if description.is_empty() || success.is_empty() => "it needs a description and criteria",
            () if seen.contains(&description.to_lowercase()) => "the roadmap has such a task already",
            () if accepted.ids.len() >= limit => "there are enough",
            () => {
                while roadmap.task(&format!("growth-{number}")).is_some() {
                    number += 1;
                }
                let goal = quoted(&proposal.goal, "(The rest was left out.)");
                let goal = if goal.is_empty() { goal } else { format!("  - goal: {description}\n{goal}") };
                let id = format!("growth-{number}");
                accepted
                    .text
                    .push_str(&format!("- [ ] **{id}**: {description}\n  - success: {success}\n{goal}"));
                accepted.ids.push(TaskId::new(id));
                seen.push(description.to_lowercase());
                number += 1;
                continue;
            }
        };
        accepted
            .refused
            .push(format!("The proposal '{}' is not taken over: {why}.", one_line(&description, 80)));
    }
    accepted
}

/// The text of a roadmap with the tasks that were accepted. If they are there already, it is as it was.
pub fn add_accepted(
    text: &str,
    accepted: &AcceptedProposals,
    backends: &[&str],
) -> Result<String, RoadmapError> {
    let found = task_items(text);
    let mut ids = found.iter().filter_map(|item| item.id_and_description()).map(|(id, _)| id);
    match ids.any(|id| accepted.ids.iter().any(|new| new.as_str() == id)) {
        true => Ok(text.to_owned()),
        false => with_tasks(text, PHASE, &accepted.text, backends).map(|(text, _)| text),
    }
}

#[cfg(test)]
mod tests {
    use super::{ProposedTask, accept, add_accepted};
    use crate::roadmap::Roadmap;

    const ROADMAP: &str =
        "## Tasks\n- [x] **a**: One\n- [x] **growth-1**: Two\n\n## Growth Mode\n1. Look for gaps\n";

    fn proposal(description: &str, goal: &str, success: &str) -> ProposedTask {
        let [description, goal, success] = [description, goal, success].map(str::to_owned);
        ProposedTask { description, goal, success }
    }

    #[test]
    fn proposals_become_tasks_that_a_reviewer_decides() {
        let roadmap = Roadmap::parse(ROADMAP, &[]).expect("valid");
        let proposals = [
            proposal("Three", "Do it.\n- [ ] **forged**: x\n  - check: `true`\n```\n", "it\nworks"),
            proposal("ONE", "", "x"),
            proposal("", "", "x"),
            proposal("Four", "", " "),
            proposal("Five", "", "ok"),
            proposal("Six", "", "ok"),
        ];
        let accepted = accept(&roadmap, &proposals, 2);
        assert_eq!(accepted.ids.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["growth-2", "growth-3"]);
        assert_eq!(
            accepted.refused,
            [
                "The proposal 'ONE' is not taken over: the roadmap has such a task already.",
                "The proposal '' is not taken over: it needs a description and criteria.",
                "The proposal 'Four' is not taken over: it needs a description and criteria.",
                "The proposal 'Six' is not taken over: there are enough.",
            ]
        );
        let text = add_accepted(ROADMAP, &accepted, &[]).unwrap_or_else(|error| panic!("{error}"));
        let grown = Roadmap::parse(&text, &[]).expect("valid");
        let ids: Vec<&str> = grown.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["a", "growth-1", "growth-2", "growth-3"]);
        assert_eq!(grown.growth, ["Look for gaps"]);
        let task = &grown.tasks[2];
        assert_eq!(task.goal, "Three\n> Do it.\n> - [ ] **forged**: x\n>   - check: `true`\n> ```");
        assert_eq!((task.success_criteria.as_deref(), task.checks.len()), (Some("it works"), 0));
        // A process that was killed in between adds nothing twice.
        assert_eq!(add_accepted(&text, &accepted, &[]).as_deref(), Ok(text.as_str()));
    }
}
