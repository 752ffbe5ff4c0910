//! Keeps a conversation within the model's context window: first drops old tool outputs, then replaces old
//! turns by a summary.

use autonoe_core::event::AgentEvent;
use autonoe_model::Conversation;

use super::turns::Turns;
use crate::emit::Emitter;

/// The fraction of the window above which the conversation is compacted.
const MAX_WINDOW_USE: f64 = 0.8;
/// Turns that are kept unchanged.
const TURNS_KEPT: usize = 8;
/// Turns that are kept unchanged after the model service rejected the conversation as too long.
const MIN_TURNS_KEPT: usize = 2;

const SUMMARY_PROMPT: &str = "You summarise the work of a software engineer for a colleague who will continue it. State the task, what was \
     done and found, which files matter and their current state, what was decided and why, what failed, and what is \
     left to do. Leave out nothing that the rest of the work needs. Answer with the summary alone.";

impl Turns {
    /// Compacts the conversation before the window is full.
    pub(super) async fn compact_if_needed(&self, conversation: &mut Conversation, emitter: &Emitter) {
        let Some(window) = self.model.window() else {
            return;
        };
        let limit = (window as f64 * MAX_WINDOW_USE) as u64;
        if conversation.estimated_tokens() <= limit {
            return;
        }
        let transcript = conversation.transcript_to_summarise(TURNS_KEPT);
        let freed = conversation.drop_old_outputs(TURNS_KEPT);
        if conversation.estimated_tokens() > limit {
            self.summarise(conversation, transcript, TURNS_KEPT, emitter).await;
        } else {
            report(&format!("dropped about {freed} tokens of old tool outputs"), emitter).await;
        }
    }

    /// Compacts as much as possible. Returns false if there was nothing to remove.
    pub(super) async fn shorten(&self, conversation: &mut Conversation, emitter: &Emitter) -> bool {
        let transcript = conversation.transcript_to_summarise(MIN_TURNS_KEPT);
        let freed = conversation.drop_old_outputs(MIN_TURNS_KEPT);
        self.summarise(conversation, transcript, MIN_TURNS_KEPT, emitter).await || freed > 0
    }

    /// Replaces the old turns by a summary of the transcript. Returns false if there is no transcript or no
    /// summary.
    async fn summarise(
        &self,
        conversation: &mut Conversation,
        transcript: Option<String>,
        kept: usize,
        emitter: &Emitter,
    ) -> bool {
        let Some(transcript) = transcript else {
            return false;
        };
        let Some(summary) = self.ask_separately(SUMMARY_PROMPT, transcript, emitter).await else {
            return false;
        };
        conversation.replace_with_summary(summary, kept);
        report("replaced earlier turns by a summary", emitter).await;
        true
    }
}

async fn report(action: &str, emitter: &Emitter) {
    emitter
        .emit(AgentEvent::Warning { message: format!("The conversation was getting too long: {action}.") })
        .await;
}
