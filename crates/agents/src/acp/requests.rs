//! Requests of an agent: permission for a tool call, reading and writing files, running commands. All are
//! checked by the gates first.

use std::path::{Component, Path};

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, PermissionOption, PermissionOptionKind, RequestPermissionRequest,
};
use autonoe_core::event::AgentEvent;
use autonoe_core::gate::ToolCall;
use serde_json::{Value, json};

use super::files::{self, FAILED};
use super::message::{AcpRequest, RpcError};
use super::{AcpAgent, RefusalStyle, terminals};
use crate::emit::Emitter;

/// JSON-RPC error code.
const METHOD_NOT_FOUND: i64 = -32601;

/// The prefix of the reason.
const REFUSED: &str = "Refused by autonoe's rules, not by a person:";

impl AcpAgent {
    /// The response; `None` if it is sent later.
    pub(super) async fn answer(
        &mut self,
        id: &Value,
        request: AcpRequest,
        emitter: &Emitter,
    ) -> Option<Result<Value, RpcError>> {
        Some(match request {
            AcpRequest::Permission(request) => Ok(self.permission(*request, emitter).await),
            AcpRequest::Read(request) => {
                let call = files::read_call(&format!("fs-{id}"), &request);
                match self.check_file_access(call, &request.path, emitter).await {
                    Ok(()) => files::read(&self.vendor_session, &request).await,
                    Err(error) => Err(error),
                }
            }
            AcpRequest::Write(request) => {
                let call = files::write_call(&format!("fs-{id}"), &request);
                match self.check_file_access(call, &request.path, emitter).await {
                    Ok(()) => files::write(&self.vendor_session, &request).await,
                    Err(error) => Err(error),
                }
            }
            AcpRequest::Run(request) => self.run(&request, emitter).await,
            AcpRequest::Output(request) => self.terminals.output(&request.terminal_id.0),
            AcpRequest::Wait(request) => return self.terminals.wait(&request.terminal_id.0, id),
            AcpRequest::Kill(request) => {
                self.terminals.kill(&request.terminal_id.0).await.map(|()| json!({}))
            }
            AcpRequest::Release(request) => self.release(&request.terminal_id.0, emitter).await,
            AcpRequest::Other(what) => Err(RpcError {
                code: METHOD_NOT_FOUND,
                message: format!("autonoe does not support `{what}`"),
            }),
        })
    }

    /// Checks a file access with the gates. Only a refusal is reported: an allowed access is part of a call
    /// that the agent reports itself.
    async fn check_file_access(
        &mut self,
        call: ToolCall,
        path: &Path,
        emitter: &Emitter,
    ) -> Result<(), RpcError> {
        let reason = match path.starts_with(self.settings.shown_root()) {
            true => self.vendor_session.refusal(&call, None).await,
            false => Some(format!("{} is not in the project.", path.display())),
        };
        match reason {
            None => Ok(()),
            Some(reason) => Err(self.report_refusal(call, reason, emitter).await),
        }
    }

    /// Runs a command. It is reported as a call of its own, unless the agent has reported one.
    async fn run(&mut self, request: &CreateTerminalRequest, emitter: &Emitter) -> Result<Value, RpcError> {
        let id = self.terminals.next_id()?;
        let root = self.settings.shown_root();
        let cwd = request.cwd.clone().unwrap_or_else(|| self.vendor_session.shown_start());
        let call = terminals::call(&id, request);
        let has_parent = cwd.components().any(|part| part == Component::ParentDir);
        let reason = match cwd.starts_with(&root) && !has_parent {
            true => self.vendor_session.refusal(&call, Some(&cwd)).await,
            false => Some(format!("{} is not in the project.", cwd.display())),
        };
        if let Some(reason) = reason {
            return Err(self.report_refusal(call, reason, emitter).await);
        }
        let is_reported = self.calls.has_command();
        self.terminals.create(&self.vendor_session, &id, request, &cwd, is_reported).await?;
        if !is_reported {
            emitter.emit(AgentEvent::ToolCall(call)).await;
        }
        Ok(json!({ "terminalId": id }))
    }

    async fn release(&mut self, id: &str, emitter: &Emitter) -> Result<Value, RpcError> {
        let released = self.terminals.release(id).await?;
        for (waiting, status) in released.answers {
            self.reply(&waiting, Ok(status)).await;
        }
        if let Some((output, is_error)) = released.unreported {
            self.vendor_session.result(emitter, id, "Bash", output, is_error).await;
        }
        Ok(json!({}))
    }

    /// Stops all running commands.
    pub(super) async fn close_terminals(&mut self, emitter: &Emitter) {
        for id in self.terminals.ids() {
            // The id exists, so this cannot fail.
            let _ = self.release(&id, emitter).await;
        }
    }

    /// Reports a refused call.
    async fn report_refusal(&mut self, call: ToolCall, reason: String, emitter: &Emitter) -> RpcError {
        let (id, name) = (call.id.clone(), call.name.clone());
        emitter.emit(AgentEvent::ToolCall(call)).await;
        self.vendor_session.result(emitter, &id, &name, reason.clone(), true).await;
        RpcError { code: FAILED, message: reason }
    }

    async fn permission(&mut self, request: RequestPermissionRequest, emitter: &Emitter) -> Value {
        let id = request.tool_call.tool_call_id.to_string();
        if self.calls.is_closed(&id) {
            return chosen(option(&request.options, PermissionOptionKind::RejectOnce));
        }
        let (call, translated) = self.calls.permission_requested(request.tool_call);
        if let Some(call) = call {
            emitter.emit(AgentEvent::ToolCall(call)).await;
        }
        let refusal = self.refusal(translated.as_ref()).await;
        let choice = match &refusal {
            None => option(&request.options, PermissionOptionKind::AllowOnce),
            Some(_) => option(&request.options, PermissionOptionKind::RejectOnce),
        };
        let refusal = refusal.or_else(|| match choice {
            Some(_) => None,
            None => Some("The agent offers no option to allow this call only once.".to_owned()),
        });
        let Some(reason) = refusal else {
            return chosen(choice);
        };
        let answer = match self.quirks.refusal_style {
            RefusalStyle::ByOption => chosen(choice),
            RefusalStyle::ByReason => selected(&format!("{REFUSED} {reason}")),
        };
        self.refuse(&id, reason, emitter).await;
        answer
    }
}

/// The option of a kind. Options that apply to later calls too are never chosen.
fn option(options: &[PermissionOption], kind: PermissionOptionKind) -> Option<&PermissionOption> {
    options.iter().find(|option| option.kind == kind)
}

fn chosen(option: Option<&PermissionOption>) -> Value {
    match option {
        Some(option) => selected(&option.option_id.0),
        None => json!({ "outcome": { "outcome": "cancelled" } }),
    }
}

fn selected(id: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": id } })
}
