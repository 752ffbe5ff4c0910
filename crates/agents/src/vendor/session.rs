//! One session of a vendor's agent, from our side: the gates, the room, the deliverable tools, and the events
//! of calls.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::event::{Activity, AgentEvent};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::gate::{Gate, GateContext, GateRuling, ToolCall, ask_in};
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::DeliverableService;
use autonoe_sandbox::{Launch, OpenError, SessionSandbox};

use super::json_lines::JsonLineProcess;
use super::login::BorrowedLogin;
use super::noise::{NoiseMeter, ProtocolNoise};
use super::server_command::{SERVER, ServerCommand};
use crate::emit::{Emitter, host_refused, model_failure};
use crate::hook_room::HookRoom;

pub(crate) struct VendorSession {
    /// The agent's name in messages.
    pub(super) name: String,
    pub(super) root: PathBuf,
    /// Where the agent starts.
    pub(super) start: PathBuf,
    /// The MCP server of the deliverable tools, for agents that start it as a program.
    pub server: ServerCommand,
    pub deliverables: Arc<DeliverableService>,
    pub(super) session_sandbox: Arc<SessionSandbox>,
    pub(super) hook_room: HookRoom,
    pub(super) gates: Vec<Arc<dyn Gate>>,
    pub(super) borrowed: Option<BorrowedLogin>,
    /// The rulings on refused calls, by call id, until the agent reports the results.
    pub(super) denials: HashMap<String, GateRuling>,
    /// Reported when the session is closed.
    pub warnings: Vec<String>,
    /// Whether a model call is open.
    pub(super) is_asking: bool,
    pub(super) noise: NoiseMeter,
}

impl VendorSession {
    /// The reason of the gate that refuses the call; `None` if it is allowed.
    pub(crate) async fn refusal(&mut self, call: &ToolCall, cwd: Option<&Path>) -> Option<String> {
        let start = (self.start != self.root).then(|| self.shown_start());
        let cwd = cwd.or(start.as_deref());
        match ask_in(&self.gates, call, GateContext { cwd, hook_runner: Some(&self.hook_room) }).await {
            GateRuling::Allowed => None,
            GateRuling::Denied { gate, reason } => {
                let ruling = GateRuling::Denied { gate, reason: reason.clone() };
                self.denials.insert(call.id.clone(), ruling);
                Some(reason)
            }
        }
    }

    /// The directory in which the agent starts, as it sees it.
    pub(crate) fn shown_start(&self) -> PathBuf {
        self.session_sandbox.bounds().shown(&self.start)
    }

    /// Whether the room cannot take the place of the gates.
    pub(crate) fn must_ask_gates(&self) -> bool {
        self.gates.iter().any(|gate| gate.must_be_asked())
    }

    pub(crate) async fn command(&self, program: &str) -> Result<Launch, OpenError> {
        self.session_sandbox.command(program).await
    }

    /// Reports the start of a model call, unless one is open.
    pub(crate) async fn model_asked(&mut self, model: &str, emitter: &Emitter) {
        if !std::mem::replace(&mut self.is_asking, true) {
            emitter.emit(AgentEvent::ModelCallStarted { model: model.to_owned() }).await;
            emitter.emit(AgentEvent::Working { activity: Activity::Thinking }).await;
        }
    }

    pub(crate) fn is_asking(&self) -> bool {
        self.is_asking
    }

    /// Reports the end of the open model call, if there is one. Not called for an interrupted session, so its
    /// open call has no end event.
    pub(crate) async fn model_answered(&mut self, fault: Option<Fault>, emitter: &Emitter) {
        if std::mem::take(&mut self.is_asking) {
            emitter.emit(AgentEvent::ModelCallEnded { fault }).await;
        }
    }

    /// Reports the result of a call, and the hosts that the egress proxy refused meanwhile.
    pub(crate) async fn result(
        &mut self,
        emitter: &Emitter,
        id: &str,
        name: &str,
        content: String,
        is_error: bool,
    ) {
        let ruling = self.denials.remove(id).unwrap_or(GateRuling::Allowed);
        emitter.emit(AgentEvent::tool_result(id, name, content, is_error, ruling)).await;
        for refusal in self.session_sandbox.refusals().await {
            emitter.emit(host_refused(&refusal, self.session_sandbox.how_to_allow())).await;
        }
    }

    /// Reports what the agent printed beside its protocol. Fails if it is too much.
    pub(crate) async fn noise(&mut self, noise: ProtocolNoise, emitter: &Emitter) -> Result<(), Fault> {
        if let Some(message) = self.noise.count(&self.name, &noise)? {
            emitter.emit(AgentEvent::Warning { message }).await;
        }
        Ok(())
    }

    /// Whether the agent has loaded the deliverable tools, or needs none.
    pub(crate) fn has_tools(&self) -> bool {
        self.deliverables.has_been_loaded()
    }

    /// The fault of an agent without deliverable tools, whose work could not be recorded. `why` is the
    /// agent's own error message, if it has one.
    pub(crate) fn tools_missing(&self, why: Option<&str>) -> Fault {
        let name = &self.name;
        let message = match why {
            Some(why) => format!(
                "{name} could not start the MCP server `{SERVER}`, so it has no deliverable tools: {why}."
            ),
            None => {
                format!(
                    "{name} had no deliverable tools: it never requested them from the MCP server `{SERVER}`."
                )
            }
        };
        Fault::transient(FaultLayer::Agent, "tools_missing", message)
            .hint("SPEC.md and the project are not the cause. Update the agent, or choose another agent with --backend.")
    }

    /// A session without deliverable tools counts as failed, since its work could not be recorded.
    fn require_tools(&self, ended: Result<SessionEnd, Fault>) -> Result<SessionEnd, Fault> {
        match ended? {
            SessionEnd::Completed | SessionEnd::MaxTurns if !self.has_tools() => {
                Err(self.tools_missing(None))
            }
            outcome => Ok(outcome),
        }
    }

    /// Stops all processes of the session and copies the login back. Returns warnings.
    pub(crate) async fn close(&mut self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.extend(self.hook_room.close().await);
        warnings.extend(self.session_sandbox.close().await);
        if let Some(borrowed) = self.borrowed.take() {
            warnings.extend(borrowed.give_back().err().map(|error| error.to_string()));
        }
        warnings
    }
}

/// Ends a session: closes the input, gives the program `limit` to exit (`None`: no time), stops all processes
/// of the session and reports the outcome.
pub(crate) async fn end_session(
    ended: Result<SessionEnd, Fault>,
    limit: Option<Duration>,
    process: &mut JsonLineProcess,
    vendor_session: &mut VendorSession,
    emitter: &Emitter,
) {
    let failure = ended.as_ref().map_or_else(|fault| Some(fault.clone()), model_failure);
    vendor_session.model_answered(failure, emitter).await;
    process.close_input();
    if let Some(limit) = limit {
        process.program.finish(limit).await;
    }
    for message in vendor_session.close().await {
        emitter.emit(AgentEvent::Warning { message }).await;
    }
    let outcome =
        vendor_session.require_tools(ended).unwrap_or_else(|fault| SessionEnd::ExecutionError { fault });
    emitter.emit(AgentEvent::End { outcome }).await;
}
