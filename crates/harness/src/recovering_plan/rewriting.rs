//! Other words for the task, from a model: a session of its own, run by the loop like any other, so that it costs, is journaled and can be
//! interrupted. If it fails, our own words are used.

use std::time::Duration;

use autonoe_core::agent::Instruction;
use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use autonoe_core::instruction::Phase;
use autonoe_core::money::Usd;
use autonoe_core::outcome::SessionEnd;
use autonoe_core::plan::{Iteration, NextSession, PlanVerdict, RunState, SessionOutput};
use serde_json::{Value, json};

use super::RecoveringPlan;

/// The time that a model has to find other words.
const TIME_LIMIT: Duration = Duration::from_secs(5 * 60);

impl RecoveringPlan<'_> {
    /// The session in which a model is asked; `None` if the words are final.
    pub(super) fn rewriting_session(&self) -> Option<NextSession> {
        let remedy = self.recovery.state().current()?;
        let request = remedy.result.rewrite.as_ref()?;
        let instruction = Instruction::of_step(Phase::Rewriting, &remedy.name, request.prompt.clone());
        Some(NextSession {
            answer_schema: Some(answer_schema()),
            time_limit: Some(TIME_LIMIT),
            is_optional: true,
            ..instruction.into()
        })
    }

    /// Whatever became of the session, the next one works on the task.
    pub(super) async fn judge_rewriting(&mut self, finished: &Iteration) -> Result<PlanVerdict, Fault> {
        if finished.outcome == SessionEnd::Interrupted {
            return Ok(PlanVerdict::Recovering);
        }
        self.note(finished);
        self.take_words(finished, finished.spent.cost).await?;
        Ok(PlanVerdict::Recovering)
    }

    /// Takes the words of a session that has ended before its process was killed. Returns whether the remedy was waiting for words.
    pub(super) async fn take_earlier_words(&mut self, so_far: &RunState, cost: Usd) -> Result<bool, Fault> {
        if self.rewriting_session().is_none() {
            return Ok(false);
        }
        let last = self.setup.memory.last_answer(Phase::Rewriting).await?;
        if let Some(last) = last.filter(|last| last.number > self.state.judged) {
            self.state.judged = last.number;
            (self.state.iterations, self.state.spent) = (so_far.iterations, so_far.spent.cost);
            self.take_words(&last, cost).await?;
        }
        Ok(true)
    }

    async fn take_words(&mut self, finished: &Iteration, cost: Usd) -> Result<(), Fault> {
        let words = words(&finished.output);
        let mut events = Vec::new();
        if words.is_none() {
            let message = "The model found no other words for the task, so a template is used.".to_owned();
            events.push(RunEvent::Notice { message });
        }
        self.recovery.rewritten(words, cost);
        events.extend(self.remedy_event());
        self.save_and_publish(&events).await
    }
}

fn words(output: &SessionOutput) -> Option<&str> {
    output.answer.as_ref()?.get("task")?.as_str()
}

fn answer_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "task": { "type": "string", "description": "The improved description of the task." } },
        "required": ["task"],
        "additionalProperties": false
    })
}
