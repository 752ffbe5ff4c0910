//! Messages that an agent takes while it works: the user's, and those of the run itself.

use autonoe_core::event::AgentEvent;
use autonoe_core::steering::Steering;

use crate::emit::Emitter;

/// Takes the waiting messages and reports them. Returns them as one text for the agent; `None` if there are none.
pub(crate) async fn take_messages(steering: &Steering, emitter: &Emitter) -> Option<String> {
    let messages = steering.take();
    for message in &messages {
        emitter.emit(AgentEvent::UserMessage { text: message.text.clone() }).await;
    }
    let prompts = messages.iter().map(|message| message.prompt());
    // The session has reported it already.
    let texts: Vec<String> = prompts.chain(steering.take_advice()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}
