//! What Codex says and does, as events: its words, its calls of tools and of the model.

use autonoe_core::event::AgentEvent;
use autonoe_core::gate::ToolCall;

use super::CodexAgent;
use super::item::{Item, Kind};
use crate::emit::Emitter;

impl CodexAgent {
    /// Tells that it asks the model, unless it is asking already.
    pub(super) async fn asks(&mut self, emitter: &Emitter) {
        if !self.vendor_session.is_asking() {
            self.seen.is_owed = false;
            self.vendor_session.asks(&self.seen.model, emitter).await;
        }
    }

    pub(super) async fn begun(&mut self, item: Item, emitter: &Emitter) {
        if let Kind::Did(deed) = item.kind {
            for call in &deed.calls {
                emitter.emit(AgentEvent::ToolCall(call.clone())).await;
            }
            self.seen.open.insert(item.id, deed);
        }
    }

    pub(super) async fn done(&mut self, item: Item, emitter: &Emitter) {
        match item.kind {
            Kind::Said(text) => {
                self.asks(emitter).await;
                self.seen.said.clone_from(&text);
                emitter.emit(AgentEvent::Text { text }).await;
            }
            Kind::Thought(text) if text.is_empty() => {}
            Kind::Thought(text) => {
                self.asks(emitter).await;
                emitter.emit(AgentEvent::Thinking { text }).await;
            }
            Kind::Did(deed) => {
                if self.seen.open.remove(&item.id).is_none() {
                    for call in &deed.calls {
                        emitter.emit(AgentEvent::ToolCall(call.clone())).await;
                    }
                }
                let result = self.seen.refusals.remove(&item.id).unwrap_or(deed.result);
                self.tell(deed.calls, &result, deed.is_error, emitter).await;
                match self.vendor_session.is_asking() {
                    true => self.seen.is_owed = true,
                    false if self.seen.open.is_empty() => self.asks(emitter).await,
                    false => {}
                }
            }
            Kind::Silent => {}
            Kind::Unknown(what) => {
                let message = format!("Codex did something unknown to autonoe: {what}.");
                emitter.emit(AgentEvent::Trouble { message }).await;
            }
        }
    }

    pub(super) async fn tell(
        &mut self,
        calls: Vec<ToolCall>,
        result: &str,
        is_error: bool,
        emitter: &Emitter,
    ) {
        for call in calls {
            self.vendor_session.result(emitter, &call.id, &call.name, result.to_owned(), is_error).await;
        }
    }

    /// Programs that run in the background end with the session.
    pub(super) async fn end_what_is_open(&mut self, emitter: &Emitter) {
        for deed in std::mem::take(&mut self.seen.open).into_values() {
            self.tell(deed.calls, "It ran until the session ended.", false, emitter).await;
        }
    }
}
