//! Another model, along the ladder of the user's configuration.

use super::nudge::facts;
use super::rung::Rung;
use super::sections::joined;
use super::strategy::{LoopContext, RecoveryResult, RecoveryStrategy};
use crate::roadmap::Task;

pub(super) const ESCALATION: &str = "escalation";

pub struct ModelEscalator;

impl RecoveryStrategy for ModelEscalator {
    fn name(&self) -> &'static str {
        ESCALATION
    }

    fn sessions(&self) -> u32 {
        2
    }

    fn can_apply(&self, context: &LoopContext) -> bool {
        context.sessions_left > 0 && next(context).is_some()
    }

    fn apply(&self, _task: &Task, context: &LoopContext) -> RecoveryResult {
        RecoveryResult {
            success: true,
            new_prompt: Some(joined(&[context.prompt.clone(), facts(context)])),
            escalated_to: next(context).cloned(),
            ..RecoveryResult::default()
        }
    }
}

/// The next rung that was not tried: above the current one another vendor's first, then the others above, then other vendors' below.
fn next(context: &LoopContext) -> Option<&Rung> {
    let place = context.ladder.iter().position(|rung| *rung == context.current);
    let (below, above) = context.ladder.split_at(place.map_or(0, |place| place + 1));
    let was_tried = |rung: &Rung| {
        context.applied.iter().any(|remedy| remedy.result.escalated_to.as_ref() == Some(rung))
            || *rung == context.current
    };
    let is_other = |rung: &Rung| rung.backend != context.current.backend;
    let mut other_above = above.iter().filter(|rung| is_other(rung) && !was_tried(rung));
    let mut same_above = above.iter().filter(|rung| !is_other(rung) && !was_tried(rung));
    let mut other_below = below.iter().rev().filter(|rung| is_other(rung) && !was_tried(rung));
    other_above.next().or_else(|| same_above.next()).or_else(|| other_below.next())
}
