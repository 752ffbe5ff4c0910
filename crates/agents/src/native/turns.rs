//! The loop of the native agent. In each turn the model replies, the gates check its calls, the allowed calls
//! are run, and the results are sent back. The loop ends when the model makes no more calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use autonoe_core::event::{Activity, AgentEvent, ChunkKind};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::gate::ToolCall;
use autonoe_core::outcome::SessionEnd;
use autonoe_core::steering::Steering;
use autonoe_model::{
    Conversation, FinishReason, Image, Model, Reply, ReplyProgress, RequestedCall, ToolResult,
};
use autonoe_sandbox::SessionSandbox;
use autonoe_tools::ToolErrorCode;
use futures::future::join_all;
use serde_json::Value;

use super::toolbox::{CallOutcome, TASK, Toolbox, task_prompt};
use crate::emit::{Emitter, host_refused, model_failure};
use crate::sub_agents::SubAgent;
use crate::user_messages::take_messages;

/// Limit per session; a session that needs more is not making progress.
const MAX_TURNS: u32 = 250;
/// Limit per sub-agent.
const MAX_TASK_TURNS: u32 = 50;
/// Limit of all sub-agents of a session together.
const MAX_TASK_TURNS_OF_SESSION: u32 = 250;

const CUT_OFF: &str =
    "Your reply was cut off at the output limit. Continue where it ended, in smaller steps.";

pub(super) struct Turns {
    pub model: Model,
    pub tools: Toolbox,
    pub session_sandbox: Arc<SessionSandbox>,
    pub system: String,
    /// Turns of the session's sub-agents so far.
    pub task_turns: AtomicU32,
    /// Messages of the user.
    pub steering: Steering,
}

#[derive(Clone, Copy)]
enum TurnOwner<'a> {
    Session,
    /// A sub-agent, by the id of its Task call. Its text is not reported, but its calls and costs are.
    Task(&'a str),
}

impl Turns {
    /// Runs the conversation to its end. Returns the outcome and the model's last text.
    pub(super) async fn run(
        &self,
        conversation: &mut Conversation,
        emitter: &Emitter,
    ) -> (SessionEnd, String) {
        self.run_turns(conversation, emitter, TurnOwner::Session).await
    }

    /// Stops the servers, then the room. Returns warnings.
    pub(super) async fn close(&self) -> Vec<String> {
        let mut warnings = self.tools.close().await;
        warnings.extend(self.session_sandbox.close().await);
        warnings
    }

    /// Like [`close`](Self::close), but stops servers and room at the same time, so servers get no time to
    /// exit.
    pub(super) async fn close_at_once(&self) -> Vec<String> {
        let (mut warnings, more) = tokio::join!(biased; self.tools.close(), self.session_sandbox.close());
        warnings.extend(more);
        warnings
    }

    /// Runs turns until the model makes no more calls. Returns the outcome and the last text.
    async fn run_turns(
        &self,
        conversation: &mut Conversation,
        emitter: &Emitter,
        owner: TurnOwner<'_>,
    ) -> (SessionEnd, String) {
        let limit = if matches!(owner, TurnOwner::Session) { MAX_TURNS } else { MAX_TASK_TURNS };
        let mut last_text = String::new();
        for _ in 0..limit {
            if matches!(owner, TurnOwner::Task(_)) {
                if self.task_turns_are_used_up() {
                    break;
                }
                self.task_turns.fetch_add(1, Ordering::Relaxed);
            }
            self.refresh(conversation, emitter, owner).await;
            self.add_messages(conversation, emitter, owner).await;
            let reply = match self.ask(conversation, emitter, owner).await {
                Ok(reply) => reply,
                Err(outcome) => return (outcome, last_text),
            };
            last_text = reply.text.clone().unwrap_or(last_text);
            match (reply.stop, reply.calls.is_empty()) {
                (FinishReason::Refused, _) => return (refused(), last_text),
                (FinishReason::Natural | FinishReason::OutputLimit, false) => {
                    let results = self.run_calls(&reply.calls, emitter, owner).await;
                    conversation.push_turn(reply, results);
                }
                (FinishReason::OutputLimit, true) => conversation.continue_with(reply, CUT_OFF),
                (FinishReason::Natural, true) => {
                    conversation.finish(reply);
                    if !self.add_messages(conversation, emitter, owner).await {
                        self.save(conversation, emitter, owner).await;
                        return (SessionEnd::Completed, last_text);
                    }
                }
            }
            self.save(conversation, emitter, owner).await;
        }
        (SessionEnd::MaxTurns, last_text)
    }

    /// Updates the tools in the conversation and reports problems of servers.
    async fn refresh(&self, conversation: &mut Conversation, emitter: &Emitter, owner: TurnOwner<'_>) {
        for message in self.tools.problems() {
            emitter.emit(AgentEvent::Warning { message }).await;
        }
        if matches!(owner, TurnOwner::Session) && self.tools.have_changed() {
            conversation.set_system_and_tools(&self.system, self.tools.definitions());
        }
    }

    /// Appends the messages that the user has sent meanwhile. Returns whether there were any.
    async fn add_messages(
        &self,
        conversation: &mut Conversation,
        emitter: &Emitter,
        owner: TurnOwner<'_>,
    ) -> bool {
        let text = match owner {
            TurnOwner::Session => take_messages(&self.steering, emitter).await,
            TurnOwner::Task(_) => None,
        };
        text.iter().for_each(|text| conversation.push_user(text));
        text.is_some()
    }

    /// Requests a reply, after compaction if needed. If the prompt is still too long, it is shortened and
    /// sent once more.
    async fn ask(
        &self,
        conversation: &mut Conversation,
        emitter: &Emitter,
        owner: TurnOwner<'_>,
    ) -> Result<Reply, SessionEnd> {
        self.compact_if_needed(conversation, emitter).await;
        let reply = self.reply(conversation, emitter, owner).await;
        match &reply {
            Err(SessionEnd::ExecutionError { fault }) if fault.code == "context_length_exceeded" => {
                if self.shorten(conversation, emitter).await {
                    return self.reply(conversation, emitter, owner).await;
                }
                reply
            }
            _ => reply,
        }
    }

    /// Requests a reply and reports its content and usage.
    async fn reply(
        &self,
        conversation: &Conversation,
        emitter: &Emitter,
        owner: TurnOwner<'_>,
    ) -> Result<Reply, SessionEnd> {
        emitter.emit(AgentEvent::ModelCallStarted { model: self.model.name().to_owned() }).await;
        let reply =
            self.model.reply(conversation, &|progress| report_progress(emitter, progress, owner)).await;
        let mut fault = None;
        match &reply {
            Ok(reply) => {
                let is_reported = matches!(owner, TurnOwner::Session);
                if let Some(text) = reply.thinking.clone().filter(|_| is_reported) {
                    emitter.emit(AgentEvent::Thinking { text }).await;
                }
                if let Some(text) = reply.text.clone().filter(|_| is_reported) {
                    emitter.emit(AgentEvent::Text { text }).await;
                }
                emitter.emit(AgentEvent::Usage(reply.usage)).await;
            }
            Err(outcome) => fault = model_failure(outcome),
        }
        emitter.emit(AgentEvent::ModelCallEnded { fault }).await;
        reply
    }

    /// Asks the model a question of our own, outside of the conversation.
    pub(super) async fn ask_separately(
        &self,
        system: &str,
        question: String,
        emitter: &Emitter,
    ) -> Option<String> {
        let conversation = Conversation::new(system, Vec::new(), question);
        self.reply(&conversation, emitter, TurnOwner::Task("")).await.ok()?.text
    }

    /// Runs the calls in order; consecutive read-only calls run concurrently.
    async fn run_calls(
        &self,
        calls: &[RequestedCall],
        emitter: &Emitter,
        owner: TurnOwner<'_>,
    ) -> Vec<ToolResult> {
        let mut results = Vec::with_capacity(calls.len());
        let mut rest = calls;
        while let Some(first) = rest.first() {
            let read_only = rest.iter().take_while(|call| self.tools.is_read_only(&call.name)).count();
            let (batch, later) = rest.split_at(read_only.max(1));
            rest = later;
            for call in batch {
                emitter.emit(AgentEvent::ToolCall(reported_call(call, owner))).await;
            }
            let done = if first.name == TASK && matches!(owner, TurnOwner::Session) {
                vec![self.task(first, emitter).await]
            } else {
                join_all(batch.iter().map(|call| self.tools.call(tool_call(call)))).await
            };
            for (call, done) in batch.iter().zip(done) {
                let done = self.with_model_assistance(done, emitter).await;
                results.push(self.report(call, done, emitter, owner).await);
            }
        }
        results
    }

    /// Reports the result of a call and returns it for the model.
    async fn report(
        &self,
        call: &RequestedCall,
        outcome: CallOutcome,
        emitter: &Emitter,
        owner: TurnOwner<'_>,
    ) -> ToolResult {
        let CallOutcome { output, ruling } = outcome;
        let ToolCall { id, name, .. } = reported_call(call, owner);
        let (content, is_error) = (output.output.clone(), output.is_error());
        emitter.emit(AgentEvent::tool_result(id, name, content, is_error, ruling)).await;
        for refusal in self.session_sandbox.refusals().await {
            emitter.emit(host_refused(&refusal, self.session_sandbox.how_to_allow())).await;
        }
        let images = output
            .attachments
            .into_iter()
            .map(|attachment| Image { media_type: attachment.media_type, base64: base64(&attachment.data) });
        let text = if output.output.is_empty() { "(no output)".to_owned() } else { output.output };
        ToolResult { id: call.id.clone(), text, images: images.collect() }
    }

    /// Runs a sub-agent: a separate conversation with the same tools, gates and budget. Its last text is the
    /// result.
    async fn task(&self, call: &RequestedCall, emitter: &Emitter) -> CallOutcome {
        let Some(prompt) = task_prompt(&call.arguments) else {
            let message = "Task needs `prompt`: the instructions for the sub-agent, as a string.".to_owned();
            return CallOutcome::failed(ToolErrorCode::ValidationError, message);
        };
        let sub_agent = match self.tools.sub_agent(&call.arguments) {
            Ok(sub_agent) => sub_agent,
            Err(message) => return CallOutcome::failed(ToolErrorCode::NotFound, message),
        };
        if let Some(denial) = self.tools.denial(&tool_call(call)).await {
            return denial;
        }
        if self.task_turns_are_used_up() {
            let message = format!(
                "The sub-agents of this session have used all of their {MAX_TASK_TURNS_OF_SESSION} turns. \
                 Do the work without Task."
            );
            return CallOutcome::failed(ToolErrorCode::RateLimited, message);
        }
        let mut definitions = self.tools.definitions_for_task();
        let system = match sub_agent {
            Some(SubAgent { name, prompt, tools, .. }) => {
                definitions.retain(|tool| tools.as_ref().is_none_or(|tools| tools.contains(&tool.name)));
                format!("{}\n\nYou are the project's sub-agent {name}:\n{prompt}", self.system)
            }
            None => self.system.clone(),
        };
        let mut conversation = Conversation::new(&system, definitions, prompt);
        let turns = self.run_turns(&mut conversation, emitter, TurnOwner::Task(&call.id));
        match Box::pin(turns).await {
            (SessionEnd::Completed, last_text) if !last_text.is_empty() => CallOutcome::ok(last_text),
            (SessionEnd::Completed, _) => CallOutcome::ok("The task ended without an answer.".to_owned()),
            (outcome, last_text) => CallOutcome::failed(
                ToolErrorCode::Unknown,
                format!("The task ended early ({}). Its last text: {last_text}", outcome.name()),
            ),
        }
    }

    fn task_turns_are_used_up(&self) -> bool {
        self.task_turns.load(Ordering::Relaxed) >= MAX_TASK_TURNS_OF_SESSION
    }

    /// If a tool needs a model to produce its result, asks the model.
    async fn with_model_assistance(&self, outcome: CallOutcome, emitter: &Emitter) -> CallOutcome {
        if outcome.output.error_code() != Some(ToolErrorCode::LlmAssistRequired) {
            return outcome;
        }
        let request: Value = serde_json::from_str(&outcome.output.output).unwrap_or_default();
        let Some(prompt) = request["prompt"].as_str() else {
            return outcome;
        };
        match self
            .ask_separately(
                "Follow the instructions and answer with the result alone.",
                prompt.to_owned(),
                emitter,
            )
            .await
        {
            Some(answer) => CallOutcome::ok(answer),
            None => outcome,
        }
    }

    /// Reports the conversation, so that it can be resumed.
    async fn save(&self, conversation: &Conversation, emitter: &Emitter, owner: TurnOwner<'_>) {
        if matches!(owner, TurnOwner::Session) {
            emitter.emit(AgentEvent::Conversation { history: conversation.to_json() }).await;
        }
    }
}

fn tool_call(call: &RequestedCall) -> ToolCall {
    ToolCall { id: call.id.clone(), name: call.name.clone(), input: call.arguments.clone() }
}

/// The call as it is reported: ids of a sub-agent's calls are prefixed with the id of its Task call.
fn reported_call(call: &RequestedCall, owner: TurnOwner<'_>) -> ToolCall {
    match owner {
        TurnOwner::Session => tool_call(call),
        TurnOwner::Task(task) => ToolCall { id: format!("{task}/{}", call.id), ..tool_call(call) },
    }
}

fn report_progress(emitter: &Emitter, progress: ReplyProgress, owner: TurnOwner<'_>) {
    emitter.emit_now(match progress {
        ReplyProgress::Thinking => AgentEvent::Working { activity: Activity::Thinking },
        ReplyProgress::Responding => AgentEvent::Working { activity: Activity::Responding },
        ReplyProgress::Thought(_) | ReplyProgress::Text(_) if matches!(owner, TurnOwner::Task(_)) => return,
        ReplyProgress::Thought(text) => AgentEvent::Chunk { kind: ChunkKind::Thought, text },
        ReplyProgress::Text(text) => AgentEvent::Chunk { kind: ChunkKind::Text, text },
        ReplyProgress::Wasted(usage) => AgentEvent::Usage(usage),
        ReplyProgress::Retrying { retry, pause, fault } => AgentEvent::Warning {
            message: format!("{} Retry {retry} in {:.1} s.", fault.message, pause.as_secs_f64()),
        },
    });
}

fn refused() -> SessionEnd {
    let fault = Fault::transient(
        FaultLayer::Model,
        "refused",
        "The model service refused to answer because of the content.",
    );
    SessionEnd::ExecutionError { fault }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
