//! Growth: when all tasks are completed, and only if the user asked for it, one session looks for further ones. What it proposes is added to
//! the user's roadmap and run like the rest.

use std::num::NonZeroUsize;

use autonoe_core::agent::Instruction;
use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::instruction::Phase;
use autonoe_core::outcome::SessionEnd;
use autonoe_core::plan::{Iteration, NextSession};

use super::TaskPlan;
use crate::roadmap::{Proposals, Roadmap, TaskId, accept};

const RULES: &str = include_str!("growth.md");

/// The name of the session.
const STEP: &str = "growth";

/// Completed tasks that are shown to it, and characters of what each has said.
const SHOWN_TASKS: usize = 10;
const SHOWN_OUTPUT: usize = 200;

/// Whether a session looked for further tasks. Sessions of tasks have other phases.
pub(super) fn is_growth(instruction: &Instruction) -> bool {
    instruction.name == Phase::Inspection
}

impl TaskPlan {
    /// How many further tasks may be proposed; `None` if none are wanted, or if they were looked for.
    pub(super) fn may_grow(&self) -> Option<NonZeroUsize> {
        self.setup.growth.filter(|_| !self.state.growth.is_over)
    }

    pub(super) fn growth_session(&self, limit: NonZeroUsize) -> NextSession {
        self.setup.record.growth_began();
        let output = |id: &TaskId| self.state.begun.get(id).map(|begun| begun.output.clone());
        let text = prompt(&self.roadmap, limit, output);
        let instruction = Instruction::of_step(Phase::Inspection, STEP, text);
        NextSession {
            answer_schema: Some(Proposals::schema()),
            time_limit: Some(self.roadmap.defaults.timeout),
            ..instruction.into()
        }
    }

    /// Takes over what a session has proposed. One that was cut short is repeated.
    pub(super) async fn judge_growth(&mut self, finished: &Iteration) -> Result<(), Fault> {
        let Some(limit) = self.may_grow().filter(|_| finished.counts()) else {
            return self.save().await;
        };
        self.state.growth.is_over = true;
        self.state.growth.sessions += 1;
        let answer = finished.output.answer.clone().filter(|_| finished.outcome == SessionEnd::Completed);
        let Some(Ok(proposals)) = answer.map(serde_json::from_value::<Proposals>) else {
            self.save().await?;
            let why = "the session that looked for some ended without an answer";
            return self.warn(format!("No further task was added: {why}.")).await;
        };
        let accepted = accept(&self.roadmap, &proposals.tasks, limit.get());
        let refused = accepted.refused.clone();
        self.state.growth.accepted = Some(accepted).filter(|accepted| !accepted.ids.is_empty());
        self.save().await?;
        for sentence in refused {
            self.warn(sentence).await?;
        }
        match self.state.growth.accepted {
            Some(_) => self.write_accepted().await,
            None => {
                let message = "No further task was added: the agent proposes none.".to_owned();
                self.publish(RunEvent::Notice { message }).await
            }
        }
    }

    /// Adds accepted tasks to the file. Repeating it changes nothing.
    pub(super) async fn write_accepted(&mut self) -> Result<(), Fault> {
        let Some(accepted) = &self.state.growth.accepted else {
            return Ok(());
        };
        // On record first: a process that is killed must know its own text again.
        if self.state.growth.added.is_none()
            && let Ok(Some(added)) = self.setup.file.text_of_tasks(accepted)
        {
            self.setup.file.has_written(std::iter::empty(), Some(added.clone()));
            self.state.growth.added = Some(added);
            self.save().await?;
        }
        let Some(accepted) = &self.state.growth.accepted else {
            return Ok(());
        };
        let ids: Vec<&str> = accepted.ids.iter().map(|id| id.as_str()).collect();
        let name = self.setup.file.name().display();
        let message = format!("All tasks are completed. Further ones, added to {name}: {}.", ids.join(", "));
        match self.setup.file.add_tasks(accepted) {
            Ok(()) => self.publish(RunEvent::Notice { message }).await?,
            Err(fault) => self.warn(fault.message).await?,
        }
        self.state.growth.accepted = None;
        self.save().await?;
        self.read_file().await
    }
}

fn prompt(roadmap: &Roadmap, limit: NonZeroUsize, output: impl Fn(&TaskId) -> Option<String>) -> String {
    let mut text = format!(
        "# Your job: propose further tasks for a roadmap\n\nProject: {}\nObjective: {}\n",
        roadmap.name, roadmap.objective
    );
    roadmap.constraints.iter().for_each(|line| text.push_str(&format!("Constraint: {line}\n")));
    for criterion in &roadmap.success_criteria {
        let mark = if criterion.done { 'x' } else { ' ' };
        text.push_str(&format!("- [{mark}] {}\n", criterion.text));
    }
    text.push_str("\n## Completed tasks\n");
    let left_out = roadmap.tasks.len().saturating_sub(SHOWN_TASKS);
    if left_out > 0 {
        text.push_str(&format!("{left_out} earlier ones, then:\n"));
    }
    for task in roadmap.tasks.iter().skip(left_out) {
        let said: String = output(&task.id).unwrap_or_default().chars().take(SHOWN_OUTPUT).collect();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!("- {}: {} {said}\n", task.id, task.description));
    }
    if !roadmap.growth.is_empty() {
        text.push_str(&format!("\n## What to look for\n{}\n", roadmap.growth.join("\n")));
    }
    text.push_str(&format!("\n{}", RULES.replace("{limit}", &limit.to_string())));
    text
}
