//! The last remedy: a person.

use super::strategy::{LoopContext, RecoveryResult, RecoveryStrategy};
use crate::roadmap::Task;

pub struct AskPerson;

impl RecoveryStrategy for AskPerson {
    fn name(&self) -> &'static str {
        "human"
    }

    fn sessions(&self) -> u32 {
        0
    }

    fn can_apply(&self, context: &LoopContext) -> bool {
        context.applied.iter().all(|remedy| remedy.name != self.name())
    }

    fn apply(&self, _task: &Task, _context: &LoopContext) -> RecoveryResult {
        RecoveryResult::person()
    }
}
