//! Keeping a conversation within the model's window: first the outputs of old calls go, then a summary takes the place of
//! old turns.

use autonoe_core::event::AgentEvent;
use autonoe_model::Conversation;

use super::turns::Turns;
use crate::emit::Emitter;

/// How much of the window may be full before room is made.
const FULL: f64 = 0.8;
/// Turns whose outputs stay when room is made.
const TURNS_KEPT: usize = 8;
/// Turns that stay as they are when the model has said that it is too much.
const TURNS_KEPT_AT_LEAST: usize = 2;

const SUMMARISE: &str = "You summarise the work of a software engineer for anyone who resumes it. Say what was asked, \
     what was done and found out, which files matter and how they stand, what was decided and why, what failed, and what \
     is still to do. Leave out nothing that the rest of the work needs. Answer with the summary alone.";

impl Turns {
    /// Makes room before the window is full.
    pub(super) async fn make_room(&self, conversation: &mut Conversation, emitter: &Emitter) {
        let Some(window) = self.model.window() else {
            return;
        };
        let limit = (window as f64 * FULL) as u64;
        if conversation.estimated_tokens() <= limit {
            return;
        }
        let transcript = conversation.to_be_summarised(TURNS_KEPT);
        let freed = conversation.drop_old_outputs(TURNS_KEPT);
        if conversation.estimated_tokens() > limit {
            self.summarise(conversation, transcript, TURNS_KEPT, emitter).await;
        } else {
            told(&format!("about {freed} tokens of old outputs were dropped"), emitter).await;
        }
    }

    /// Makes as much room as can be made. False when there is nothing left to leave out.
    pub(super) async fn shorten(&self, conversation: &mut Conversation, emitter: &Emitter) -> bool {
        let transcript = conversation.to_be_summarised(TURNS_KEPT_AT_LEAST);
        let freed = conversation.drop_old_outputs(TURNS_KEPT_AT_LEAST);
        self.summarise(conversation, transcript, TURNS_KEPT_AT_LEAST, emitter).await || freed > 0
    }

    /// Puts a summary of the transcript in the place of the old turns.
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
        let Some(summary) = self.consult(SUMMARISE, transcript, emitter).await else {
            return false;
        };
        conversation.replace_with_summary(summary, kept);
        told("a summary takes the place of what was said before", emitter).await;
        true
    }
}

async fn told(what: &str, emitter: &Emitter) {
    emitter
        .emit(AgentEvent::Trouble { message: format!("The conversation was getting too long: {what}.") })
        .await;
}
