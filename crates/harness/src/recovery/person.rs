//! The last remedy: a person.

use async_trait::async_trait;

use super::strategy::{LoopContext, RecoveryResult, RecoveryStrategy, Rewriter};
use crate::roadmap::Task;

pub struct AskPerson;

#[async_trait]
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

    async fn apply(&self, _task: &Task, _context: &LoopContext, _rewriter: &dyn Rewriter) -> RecoveryResult {
        RecoveryResult::person()
    }
}
