//! What an agent asks of us: whether it may use a tool, to read and write files, to run commands. The gates are asked
//! before any of it.

use std::path::{Component, Path};

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, PermissionOption, PermissionOptionKind, RequestPermissionRequest,
};
use autonoe_core::event::AgentEvent;
use autonoe_core::gate::ToolCall;
use serde_json::{Value, json};

use super::files::{self, FAILED};
use super::message::{Asked, Refused};
use super::{AcpAgent, Refusing, terminals};
use crate::emit::Emitter;

/// The protocol's code for a method that is not there.
const NO_SUCH_METHOD: i64 = -32601;

/// Before the reason of a refusal.
const REFUSED: &str = "Refused by autonoe's rules, not by a person:";

impl AcpAgent {
    /// The answer to what it asks; none if it comes later.
    pub(super) async fn answer(
        &mut self,
        id: &Value,
        asked: Asked,
        emitter: &Emitter,
    ) -> Option<Result<Value, Refused>> {
        Some(match asked {
            Asked::Permission(request) => Ok(self.permission(*request, emitter).await),
            Asked::Read(request) => {
                let call = files::read_call(&format!("fs-{id}"), &request);
                match self.may_touch(call, &request.path, emitter).await {
                    Ok(()) => files::read(&self.vendor_session, &request).await,
                    Err(refused) => Err(refused),
                }
            }
            Asked::Write(request) => {
                let call = files::write_call(&format!("fs-{id}"), &request);
                match self.may_touch(call, &request.path, emitter).await {
                    Ok(()) => files::write(&self.vendor_session, &request).await,
                    Err(refused) => Err(refused),
                }
            }
            Asked::Run(request) => self.run(&request, emitter).await,
            Asked::Output(request) => self.terminals.output(&request.terminal_id.0),
            Asked::Wait(request) => return self.terminals.wait(&request.terminal_id.0, id),
            Asked::Kill(request) => self.terminals.kill(&request.terminal_id.0).await.map(|()| json!({})),
            Asked::Release(request) => self.release(&request.terminal_id.0, emitter).await,
            Asked::Other(what) => {
                self.unknown(&what, emitter).await;
                Err(Refused { code: NO_SUCH_METHOD, message: format!("autonoe does not know `{what}`") })
            }
        })
    }

    /// Asks the gates about a file. One that is allowed is part of a call that the agent tells of itself.
    async fn may_touch(&mut self, call: ToolCall, path: &Path, emitter: &Emitter) -> Result<(), Refused> {
        let reason = match path.starts_with(&self.settings.root) {
            true => self.vendor_session.refusal(&call, None).await,
            false => Some(format!("{} is not in the project.", path.display())),
        };
        match reason {
            None => Ok(()),
            Some(reason) => Err(self.turn_down(call, reason, emitter).await),
        }
    }

    /// Runs a command. One that the agent has not told of as a call of its own is told as one.
    async fn run(&mut self, request: &CreateTerminalRequest, emitter: &Emitter) -> Result<Value, Refused> {
        let id = self.terminals.next_id()?;
        let cwd = request.cwd.clone().unwrap_or_else(|| self.settings.root.clone());
        let call = terminals::call(&id, request);
        let leads_back = cwd.components().any(|part| part == Component::ParentDir);
        let reason = match cwd.starts_with(&self.settings.root) && !leads_back {
            true => self.vendor_session.refusal(&call, Some(&cwd)).await,
            false => Some(format!("{} is not in the project.", cwd.display())),
        };
        if let Some(reason) = reason {
            return Err(self.turn_down(call, reason, emitter).await);
        }
        let is_told = self.calls.has_command();
        self.terminals.create(&self.vendor_session, &id, request, &cwd, is_told).await?;
        if !is_told {
            emitter.emit(AgentEvent::ToolCall(call)).await;
        }
        Ok(json!({ "terminalId": id }))
    }

    async fn release(&mut self, id: &str, emitter: &Emitter) -> Result<Value, Refused> {
        let released = self.terminals.release(id).await?;
        for (waiting, status) in released.answers {
            self.reply(&waiting, Ok(status)).await;
        }
        if let Some((output, is_error)) = released.untold {
            self.vendor_session.result(emitter, id, "Bash", output, is_error).await;
        }
        Ok(json!({}))
    }

    /// Ends every command that still runs.
    pub(super) async fn close_terminals(&mut self, emitter: &Emitter) {
        for id in self.terminals.ids() {
            // Each is there.
            let _ = self.release(&id, emitter).await;
        }
    }

    /// Tells of a call that is refused.
    async fn turn_down(&mut self, call: ToolCall, reason: String, emitter: &Emitter) -> Refused {
        let (id, name) = (call.id.clone(), call.name.clone());
        emitter.emit(AgentEvent::ToolCall(call)).await;
        self.vendor_session.result(emitter, &id, &name, reason.clone(), true).await;
        Refused { code: FAILED, message: reason }
    }

    async fn permission(&mut self, request: RequestPermissionRequest, emitter: &Emitter) -> Value {
        let id = request.tool_call.tool_call_id.to_string();
        if self.calls.is_closed(&id) {
            return chosen(option(&request.options, PermissionOptionKind::RejectOnce));
        }
        let (call, translated) = self.calls.asked(request.tool_call);
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
            None => Some("The agent offers no way to allow it only once.".to_owned()),
        });
        let Some(reason) = refusal else {
            return chosen(choice);
        };
        let answer = match self.manner.refusing {
            Refusing::ByOption => chosen(choice),
            Refusing::ByReason => selected(&format!("{REFUSED} {reason}")),
        };
        self.refuse(&id, reason, emitter).await;
        answer
    }
}

/// The option of a kind. One that would hold for later calls is never taken.
fn option(options: &[PermissionOption], kind: PermissionOptionKind) -> Option<&PermissionOption> {
    options.iter().find(|option| option.kind == kind)
}

/// The answer to a question for permission.
fn chosen(option: Option<&PermissionOption>) -> Value {
    match option {
        Some(option) => selected(&option.option_id.0),
        None => json!({ "outcome": { "outcome": "cancelled" } }),
    }
}

fn selected(id: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": id } })
}
