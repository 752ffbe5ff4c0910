//! The loop of the native agent. A turn is: the model replies, its calls are put to the gates, what they allow is carried
//! out, the results go back. It ends when the model asks for nothing more.

use std::sync::Arc;

use autonoe_core::event::{Activity, AgentEvent, Chunk};
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::gate::ToolCall;
use autonoe_core::outcome::SessionEnd;
use autonoe_model::{Call, Conversation, Image, Model, Progress, Reply, Stop, ToolResult};
use autonoe_sandbox::SessionSandbox;
use autonoe_tools::ToolErrorCode;
use futures::future::join_all;
use serde_json::Value;

use super::toolbox::{Done, TASK, Toolbox, task_prompt};
use crate::emit::{Emitter, host_refused, model_failure};

/// Turns of one session before it is ended; a session that needs more has lost its way.
const MAX_TURNS: u32 = 250;
/// Turns of one sub-agent.
const MAX_TASK_TURNS: u32 = 50;

const CUT_OFF: &str = "Your reply was cut off at the output limit. Go on where you were, in smaller steps.";

/// What the turns of a session need.
pub(super) struct Turns {
    pub model: Model,
    pub tools: Toolbox,
    pub session_sandbox: Arc<SessionSandbox>,
    pub system: String,
}

/// Whose turns these are.
#[derive(Clone, Copy)]
enum Whose<'a> {
    /// The session's own.
    Own,
    /// A sub-agent's, which was called for with this id. Only its answer is heard; what it does and costs is told.
    Task(&'a str),
}

impl Turns {
    /// Holds the conversation to its end; how it ended, and the model's last words.
    pub(super) async fn hold(
        &self,
        conversation: &mut Conversation,
        emitter: &Emitter,
    ) -> (SessionEnd, String) {
        self.take_turns(conversation, emitter, Whose::Own).await
    }

    /// Ends everything that was started. Says what had to be put right.
    pub(super) async fn close(&self) -> Vec<String> {
        self.tools.close().await;
        self.session_sandbox.close().await
    }

    /// The same in a hurry: servers end with the room, and do not take the time that commands have to end.
    pub(super) async fn close_at_once(&self) -> Vec<String> {
        let ((), put_right) = tokio::join!(biased; self.tools.close(), self.session_sandbox.close());
        put_right
    }

    /// Turn by turn until the model is done; how that ended, and its last words.
    async fn take_turns(
        &self,
        conversation: &mut Conversation,
        emitter: &Emitter,
        whose: Whose<'_>,
    ) -> (SessionEnd, String) {
        let limit = if matches!(whose, Whose::Own) { MAX_TURNS } else { MAX_TASK_TURNS };
        let mut words = String::new();
        for _ in 0..limit {
            self.refresh(conversation, emitter, whose).await;
            let reply = match self.ask(conversation, emitter, whose).await {
                Ok(reply) => reply,
                Err(outcome) => return (outcome, words),
            };
            words = reply.text.clone().unwrap_or(words);
            match (reply.stop, reply.calls.is_empty()) {
                (Stop::Refused, _) => return (refused(), words),
                (Stop::Natural | Stop::OutputLimit, false) => {
                    let results = self.carry_out(&reply.calls, emitter, whose).await;
                    conversation.answer(reply, results);
                }
                (Stop::OutputLimit, true) => conversation.go_on(reply, CUT_OFF),
                (Stop::Natural, true) => {
                    conversation.conclude(reply);
                    self.keep(conversation, emitter, whose).await;
                    return (SessionEnd::Completed, words);
                }
            }
            self.keep(conversation, emitter, whose).await;
        }
        (SessionEnd::MaxTurns, words)
    }

    /// Tells the model of tools that have come or gone, and everybody of what is wrong with servers.
    async fn refresh(&self, conversation: &mut Conversation, emitter: &Emitter, whose: Whose<'_>) {
        for message in self.tools.problems() {
            emitter.emit(AgentEvent::Trouble { message }).await;
        }
        if matches!(whose, Whose::Own) && self.tools.have_changed() {
            conversation.equip(&self.system, self.tools.definitions());
        }
    }

    /// Has the model reply, and makes room first where that is needed. A prompt that was too long all the same is
    /// shortened and tried once more.
    async fn ask(
        &self,
        conversation: &mut Conversation,
        emitter: &Emitter,
        whose: Whose<'_>,
    ) -> Result<Reply, SessionEnd> {
        self.make_room(conversation, emitter).await;
        let reply = self.reply(conversation, emitter, whose).await;
        match &reply {
            Err(SessionEnd::ExecutionError { fault }) if fault.code == "context_length_exceeded" => {
                if self.shorten(conversation, emitter).await {
                    return self.reply(conversation, emitter, whose).await;
                }
                reply
            }
            _ => reply,
        }
    }

    /// Has the model reply, and tells what it said and what that cost.
    async fn reply(
        &self,
        conversation: &Conversation,
        emitter: &Emitter,
        whose: Whose<'_>,
    ) -> Result<Reply, SessionEnd> {
        emitter.emit(AgentEvent::ModelAsked { model: self.model.name().to_owned() }).await;
        let reply = self.model.reply(conversation, &|progress| tell(emitter, progress, whose)).await;
        let mut fault = None;
        match &reply {
            Ok(reply) => {
                let heard = matches!(whose, Whose::Own);
                if let Some(text) = reply.thinking.clone().filter(|_| heard) {
                    emitter.emit(AgentEvent::Thinking { text }).await;
                }
                if let Some(text) = reply.text.clone().filter(|_| heard) {
                    emitter.emit(AgentEvent::Text { text }).await;
                }
                emitter.emit(AgentEvent::Usage(reply.usage)).await;
            }
            Err(outcome) => fault = model_failure(outcome),
        }
        emitter.emit(AgentEvent::ModelDone { fault }).await;
        reply
    }

    /// Has the model answer something of our own, beside the conversation.
    pub(super) async fn consult(&self, system: &str, question: String, emitter: &Emitter) -> Option<String> {
        let conversation = Conversation::new(system, Vec::new(), question);
        self.reply(&conversation, emitter, Whose::Task("")).await.ok()?.text
    }

    /// Carries out the calls in their order; those that only look, side by side.
    async fn carry_out(&self, calls: &[Call], emitter: &Emitter, whose: Whose<'_>) -> Vec<ToolResult> {
        let mut results = Vec::with_capacity(calls.len());
        let mut rest = calls;
        while let Some(first) = rest.first() {
            let looking = rest.iter().take_while(|call| self.tools.only_looks(&call.name)).count();
            let (together, later) = rest.split_at(looking.max(1));
            rest = later;
            for call in together {
                emitter.emit(AgentEvent::ToolCall(named(call, whose))).await;
            }
            let done = if first.name == TASK && matches!(whose, Whose::Own) {
                vec![self.task(first, emitter).await]
            } else {
                join_all(together.iter().map(|call| self.tools.call(tool_call(call)))).await
            };
            for (call, done) in together.iter().zip(done) {
                let done = self.assisted(done, emitter).await;
                results.push(self.report(call, done, emitter, whose).await);
            }
        }
        results
    }

    /// Tells what a call came to, and gives it to the model.
    async fn report(&self, call: &Call, done: Done, emitter: &Emitter, whose: Whose<'_>) -> ToolResult {
        let Done { output, denied_by } = done;
        let ToolCall { id, name, .. } = named(call, whose);
        let (content, is_error) = (output.output.clone(), output.is_error());
        emitter.emit(AgentEvent::ToolResult { id, name, content, is_error, denied_by }).await;
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

    /// A sub-agent: a conversation of its own, with the same tools, gates and budget. Its last words are the result.
    async fn task(&self, call: &Call, emitter: &Emitter) -> Done {
        let prompt = match task_prompt(&call.arguments) {
            Ok(prompt) => prompt,
            Err(message) => return Done::failed(ToolErrorCode::ValidationError, message),
        };
        if let Some(denial) = self.tools.denial(&tool_call(call)).await {
            return denial;
        }
        let mut conversation = Conversation::new(&self.system, self.tools.definitions_for_task(), prompt);
        let turns = self.take_turns(&mut conversation, emitter, Whose::Task(&call.id));
        match Box::pin(turns).await {
            (SessionEnd::Completed, words) if !words.is_empty() => Done::with(words),
            (SessionEnd::Completed, _) => Done::with("The task ended without a word.".to_owned()),
            (outcome, words) => Done::failed(
                ToolErrorCode::Unknown,
                format!("The task ended early ({}). Its last words: {words}", outcome.name()),
            ),
        }
    }

    /// What a tool cannot finish without a model, the model finishes.
    async fn assisted(&self, done: Done, emitter: &Emitter) -> Done {
        if done.output.error_code() != Some(ToolErrorCode::LlmAssistRequired) {
            return done;
        }
        let request: Value = serde_json::from_str(&done.output.output).unwrap_or_default();
        let Some(prompt) = request["prompt"].as_str() else {
            return done;
        };
        match self
            .consult("Do what is asked, and answer with the result alone.", prompt.to_owned(), emitter)
            .await
        {
            Some(answer) => Done::with(answer),
            None => done,
        }
    }

    /// Keeps the conversation, so that it can be taken up.
    async fn keep(&self, conversation: &Conversation, emitter: &Emitter, whose: Whose<'_>) {
        if matches!(whose, Whose::Own) {
            emitter.emit(AgentEvent::Conversation { history: conversation.to_json() }).await;
        }
    }
}

fn tool_call(call: &Call) -> ToolCall {
    ToolCall { id: call.id.clone(), name: call.name.clone(), input: call.arguments.clone() }
}

/// The call as it is told: what a sub-agent calls bears the mark of its own call.
fn named(call: &Call, whose: Whose<'_>) -> ToolCall {
    match whose {
        Whose::Own => tool_call(call),
        Whose::Task(task) => ToolCall { id: format!("{task}/{}", call.id), ..tool_call(call) },
    }
}

fn tell(emitter: &Emitter, progress: Progress, whose: Whose<'_>) {
    emitter.tell(match progress {
        Progress::Thinking => AgentEvent::Working { activity: Activity::Thinking },
        Progress::Responding => AgentEvent::Working { activity: Activity::Responding },
        Progress::Thought(_) | Progress::Text(_) if matches!(whose, Whose::Task(_)) => return,
        Progress::Thought(text) => AgentEvent::Chunk { kind: Chunk::Thought, text },
        Progress::Text(text) => AgentEvent::Chunk { kind: Chunk::Text, text },
        Progress::Retrying { retry, pause, fault } => AgentEvent::Trouble {
            message: format!("{} Retry {retry} in {:.1} s.", fault.message, pause.as_secs_f64()),
        },
    });
}

fn refused() -> SessionEnd {
    let fault =
        Fault::passing(Layer::Model, "refused", "The model service refused to answer on grounds of content.");
    SessionEnd::ExecutionError { fault }
}

/// Bytes as the providers want them.
fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
