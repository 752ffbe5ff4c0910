//! One session with a vendor's agent, from our side: the gates, the room, the deliverable tools, and what is told of calls.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::event::{Activity, AgentEvent};
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::gate::{Gate, Ruling, ToolCall, ask_in};
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::DeliverableService;
use autonoe_sandbox::{Launch, OpenError, SessionSandbox};

use super::login::Borrowed;
use super::{JsonLineProcess, SERVER, ServerCommand, VendorSettings};
use crate::emit::{Emitter, host_refused, model_failure};

/// One session of a vendor's agent, as far as it is the same for all of them.
pub(crate) struct VendorSession {
    /// What the agent is called in messages.
    pub(super) name: String,
    /// The MCP server of the deliverable tools, for agents that start it as a program.
    pub server: ServerCommand,
    pub deliverables: Arc<DeliverableService>,
    pub(super) session_sandbox: Arc<SessionSandbox>,
    pub(super) gates: Vec<Arc<dyn Gate>>,
    pub(super) borrowed: Option<Borrowed>,
    /// The gate that refused a call, by the call's id, until the agent tells of it.
    pub(super) denials: HashMap<String, String>,
    /// Whether the model has been asked and has not answered.
    pub(super) is_asking: bool,
}

impl VendorSession {
    /// Asks the gates; the reason, if one refuses.
    pub(crate) async fn refusal(&mut self, call: &ToolCall, cwd: Option<&Path>) -> Option<String> {
        match ask_in(&self.gates, call, cwd).await {
            Ruling::Allowed => None,
            Ruling::Denied { gate, reason } => {
                self.denials.insert(call.id.clone(), gate);
                Some(reason)
            }
        }
    }

    /// Prepares to start the agent's program once more in the session's room.
    pub(crate) async fn relaunch(&self, settings: &VendorSettings) -> Result<Launch, Fault> {
        settings.launch(&self.session_sandbox).await
    }

    /// Prepares to run a program in the session's room.
    pub(crate) async fn command(&self, program: &str) -> Result<Launch, OpenError> {
        self.session_sandbox.command(program).await
    }

    /// Tells that the agent asks the model, unless it is asking already.
    pub(crate) async fn asks(&mut self, model: &str, emitter: &Emitter) {
        if !std::mem::replace(&mut self.is_asking, true) {
            emitter.emit(AgentEvent::ModelAsked { model: model.to_owned() }).await;
            emitter.emit(AgentEvent::Working { activity: Activity::Thinking }).await;
        }
    }

    /// Whether the model has been asked and has not answered.
    pub(crate) fn is_asking(&self) -> bool {
        self.is_asking
    }

    /// Tells that the model has answered, or why it did not, if it was asked. A session that is broken off tells nothing: what
    /// was cut off is known by that.
    pub(crate) async fn answered(&mut self, fault: Option<Fault>, emitter: &Emitter) {
        if std::mem::take(&mut self.is_asking) {
            emitter.emit(AgentEvent::ModelDone { fault }).await;
        }
    }

    /// Tells how a call ended, and what was refused at the egress proxy meanwhile.
    pub(crate) async fn result(
        &mut self,
        emitter: &Emitter,
        id: &str,
        name: &str,
        content: String,
        is_error: bool,
    ) {
        let denied_by = self.denials.remove(id);
        let is_error = is_error || denied_by.is_some();
        let (id, name) = (id.to_owned(), name.to_owned());
        emitter.emit(AgentEvent::ToolResult { id, name, content, is_error, denied_by }).await;
        for refusal in self.session_sandbox.refusals().await {
            emitter.emit(host_refused(&refusal, self.session_sandbox.how_to_allow())).await;
        }
    }

    /// Whether the agent has asked for the deliverable tools, or needs none.
    pub(crate) fn has_tools(&self) -> bool {
        self.deliverables.has_been_loaded()
    }

    /// The fault of an agent that has no deliverable tools, with its own words about that if it has any: nothing that it does
    /// can be recorded.
    pub(crate) fn tools_missing(&self, why: Option<&str>) -> Fault {
        let name = &self.name;
        let message = match why {
            Some(why) => format!(
                "{name} could not start the MCP server `{SERVER}`, so it has no deliverable tools: {why}."
            ),
            None => {
                format!("{name} had no deliverable tools: it never asked the MCP server `{SERVER}` for them.")
            }
        };
        Fault::passing(Layer::Agent, "tools_missing", message)
            .hint("SPEC.md and the project are not the cause. Update the agent, or choose another one with --backend.")
    }

    /// What a session came to: without tools, its work cannot have been what it was asked for.
    fn judged(&self, ended: Result<SessionEnd, Fault>) -> Result<SessionEnd, Fault> {
        match ended? {
            SessionEnd::Completed | SessionEnd::MaxTurns if !self.has_tools() => {
                Err(self.tools_missing(None))
            }
            outcome => Ok(outcome),
        }
    }

    /// Ends everything that the session started and returns the login. Says what had to be put right.
    pub(crate) async fn close(&mut self) -> Vec<String> {
        let mut troubles = self.session_sandbox.close().await;
        if let Some(borrowed) = self.borrowed.take() {
            troubles.extend(borrowed.give_back().err());
        }
        troubles
    }
}

/// The end of a session: the program is let go and may take `limit` to exit, if it has anything left to do; everything that
/// it started is ended, and it is told how the work ended.
pub(crate) async fn conclude(
    ended: Result<SessionEnd, Fault>,
    limit: Option<Duration>,
    talk: &mut JsonLineProcess,
    vendor_session: &mut VendorSession,
    emitter: &Emitter,
) {
    let failure = ended.as_ref().map_or_else(|fault| Some(fault.clone()), model_failure);
    vendor_session.answered(failure, emitter).await;
    talk.hang_up();
    if let Some(limit) = limit {
        talk.program.finish(limit).await;
    }
    for message in vendor_session.close().await {
        emitter.emit(AgentEvent::Trouble { message }).await;
    }
    let outcome = vendor_session.judged(ended).unwrap_or_else(|fault| SessionEnd::ExecutionError { fault });
    emitter.emit(AgentEvent::End { outcome }).await;
}
