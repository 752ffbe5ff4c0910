//! Turns Codex's items into events: text, reasoning, tool calls and model calls.

use autonoe_core::event::AgentEvent;
use autonoe_core::gate::ToolCall;

use super::CodexAgent;
use super::item::{CodexItem, CodexItemKind};
use crate::emit::Emitter;

impl CodexAgent {
    /// Reports a model call, unless one is open already.
    pub(super) async fn model_asked(&mut self, emitter: &Emitter) {
        if !self.vendor_session.is_asking() {
            self.state.expects_model_call = false;
            self.vendor_session.model_asked(&self.state.model, emitter).await;
        }
    }

    pub(super) async fn item_started(&mut self, item: CodexItem, emitter: &Emitter) {
        if let CodexItemKind::Action(action) = item.kind {
            for call in &action.calls {
                emitter.emit(AgentEvent::ToolCall(call.clone())).await;
            }
            self.state.open.insert(item.id, action);
        }
    }

    pub(super) async fn item_completed(&mut self, item: CodexItem, emitter: &Emitter) {
        match item.kind {
            CodexItemKind::Message(text) => {
                self.model_asked(emitter).await;
                self.state.last_text.clone_from(&text);
                emitter.emit(AgentEvent::Text { text }).await;
            }
            CodexItemKind::Reasoning(text) if text.is_empty() => {}
            CodexItemKind::Reasoning(text) => {
                self.model_asked(emitter).await;
                emitter.emit(AgentEvent::Thinking { text }).await;
            }
            CodexItemKind::Action(action) => {
                if self.state.open.remove(&item.id).is_none() {
                    for call in &action.calls {
                        emitter.emit(AgentEvent::ToolCall(call.clone())).await;
                    }
                }
                let result = self.state.refusals.remove(&item.id).unwrap_or(action.result);
                self.report_results(action.calls, &result, action.is_error, emitter).await;
                match self.vendor_session.is_asking() {
                    true => self.state.expects_model_call = true,
                    false if self.state.open.is_empty() => self.model_asked(emitter).await,
                    false => {}
                }
            }
            CodexItemKind::Ignored => {}
            CodexItemKind::Unknown(what) => {
                let message = format!("Codex sent an item that autonoe does not know: {what}.");
                emitter.emit(AgentEvent::Warning { message }).await;
            }
        }
    }

    pub(super) async fn report_results(
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

    /// Reports the end of actions that still run, such as background programs, which end with the session.
    pub(super) async fn end_open_actions(&mut self, emitter: &Emitter) {
        for action in std::mem::take(&mut self.state.open).into_values() {
            self.report_results(action.calls, "It ran until the session ended.", false, emitter).await;
        }
    }
}
