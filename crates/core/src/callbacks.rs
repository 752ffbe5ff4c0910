//! Callbacks: the events of a session as the calls of seed 003, in its order, for whoever would rather be called than
//! look at events.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::event::{Activity, Chunk, Event, Usage};
use crate::fault::Fault;
use crate::outcome::Outcome;
use crate::sink::Sink;
use crate::span::SpanContext;

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolExecution {
    /// What the model was told.
    pub output: String,
    /// Whether the call failed or was refused.
    pub is_error: bool,
    /// The gate that refused it, if one did.
    pub denied_by: Option<String>,
}

/// Is called as a session goes on. Every method may be left out; none may block or fail the run.
#[expect(unused_variables, reason = "a method that is left out looks at nothing")]
pub trait AgentCallbacks: Send + Sync {
    /// The agent begins with an instruction.
    fn on_agent_start(&self, span: &SpanContext, query: &str) {}
    /// The agent is done; the answer is the last thing it said. Called once for each start, after an error too.
    fn on_agent_end(&self, span: &SpanContext, answer: &str) {}
    /// The model is asked.
    fn on_llm_start(&self, span: &SpanContext, model: &str) {}
    /// A piece of the model's answer came.
    fn on_llm_stream(&self, span: &SpanContext, chunk: &str) {}
    /// The model has answered, or failed to.
    fn on_llm_end(&self, span: &SpanContext, response: &str, usage: Option<&Usage>) {}
    /// A tool is called.
    fn on_tool_start(&self, span: &SpanContext, tool: &str, args: &Value) {}
    /// A tool has answered, or its call was refused.
    fn on_tool_end(&self, span: &SpanContext, tool: &str, execution: &ToolExecution) {}
    /// Something that takes a while begins.
    fn on_spinner_start(&self, message: &str) {}
    /// It is over.
    fn on_spinner_stop(&self) {}
    /// The session failed; the end follows.
    fn on_error(&self, span: &SpanContext, fault: &Fault) {}
    /// Something to know when looking for a mistake.
    fn on_debug(&self, message: &str) {}
    /// Everything, as JSON.
    fn on_trace(&self, event: &Event) {}
}

/// Makes callbacks of events.
#[derive(Debug, Default)]
pub struct CallbackSink<C> {
    callbacks: C,
    sessions: Mutex<HashMap<u32, Running>>,
}

/// What is remembered of a session until it ends.
#[derive(Debug, Default)]
struct Running {
    answer: String,
    response: String,
    usage: Option<Usage>,
    spinning: bool,
}

impl<C: AgentCallbacks> CallbackSink<C> {
    /// A sink that calls these.
    pub fn new(callbacks: C) -> Self {
        Self { callbacks, sessions: Mutex::default() }
    }

    /// What is called.
    pub fn callbacks(&self) -> &C {
        &self.callbacks
    }

    fn with<T>(&self, span: &SpanContext, work: impl FnOnce(&mut Running) -> T) -> T {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        work(sessions.entry(span.session.unwrap_or_default()).or_default())
    }

    fn stop_spinner(&self, span: &SpanContext) {
        if self.with(span, |running| std::mem::take(&mut running.spinning)) {
            self.callbacks.on_spinner_stop();
        }
    }
}

impl<C: AgentCallbacks> Sink for CallbackSink<C> {
    fn on(&self, span: &SpanContext, event: &Event) {
        let calls = &self.callbacks;
        match event {
            Event::Instructed { text } => {
                self.with(span, |running| *running = Running::default());
                calls.on_agent_start(span, text);
            }
            Event::Working { activity } => {
                self.with(span, |running| running.spinning = true);
                calls.on_spinner_start(match activity {
                    Activity::Thinking => "Thinking...",
                    Activity::Responding => "Responding...",
                });
            }
            Event::ModelAsked { model } => {
                self.with(span, |running| {
                    running.response.clear();
                    running.usage = None;
                });
                calls.on_llm_start(span, model);
            }
            Event::Chunk { kind: Chunk::Text, text } => calls.on_llm_stream(span, text),
            Event::Text { text } => self.with(span, |running| {
                running.response.push_str(text);
                running.answer.clone_from(text);
            }),
            Event::Usage(usage) => self.with(span, |running| running.usage = Some(*usage)),
            Event::ModelDone { fault } => {
                self.stop_spinner(span);
                let (response, usage) =
                    self.with(span, |running| (std::mem::take(&mut running.response), running.usage.take()));
                calls.on_llm_end(span, &response, usage.as_ref());
                if let Some(fault) = fault {
                    calls.on_debug(&fault.message);
                }
            }
            Event::ToolCall(call) => calls.on_tool_start(span, &call.name, &call.input),
            Event::ToolResult { name, content, is_error, denied_by, .. } => {
                let execution = ToolExecution {
                    output: content.clone(),
                    is_error: *is_error,
                    denied_by: denied_by.clone(),
                };
                calls.on_tool_end(span, name, &execution);
            }
            Event::Trouble { message } | Event::HostRefused { message, .. } => calls.on_debug(message),
            Event::SessionEnded { number, outcome, .. } => {
                self.stop_spinner(span);
                let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
                let ended = sessions.remove(number);
                drop(sessions);
                if let Outcome::ExecutionError { fault } = outcome {
                    calls.on_error(span, fault);
                }
                if let Some(running) = ended {
                    calls.on_agent_end(span, &running.answer);
                }
            }
            Event::Chunk { kind: Chunk::Thought, .. }
            | Event::Thinking { .. }
            | Event::Conversation { .. }
            | Event::Answer { .. }
            | Event::End { .. }
            | Event::RunStarted { .. }
            | Event::SessionStarted { .. }
            | Event::BackendChanged { .. }
            | Event::StatusChanged(_)
            | Event::Checked { .. }
            | Event::Disputed { .. }
            | Event::StepEnded { .. }
            | Event::Escalated { .. }
            | Event::Retrying { .. }
            | Event::Outage { .. }
            | Event::Waiting { .. }
            | Event::Outcome(_) => {}
        }
        calls.on_trace(event);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use serde_json::Value;

    use super::{AgentCallbacks, CallbackSink, ToolExecution};
    use crate::event::{Activity, Chunk, Event, Usage};
    use crate::fault::{Fault, Layer};
    use crate::gate::ToolCall;
    use crate::outcome::Outcome;
    use crate::sink::Sink;
    use crate::span::{SessionSpans, SpanContext, TraceId};

    #[derive(Default)]
    struct Recorder(Mutex<Vec<String>>);

    impl Recorder {
        fn note(&self, line: String) {
            self.0.lock().expect("not poisoned").push(line);
        }
    }

    impl AgentCallbacks for Recorder {
        fn on_agent_start(&self, _: &SpanContext, query: &str) {
            self.note(format!("agent start {query}"));
        }
        fn on_agent_end(&self, _: &SpanContext, answer: &str) {
            self.note(format!("agent end {answer}"));
        }
        fn on_llm_start(&self, _: &SpanContext, model: &str) {
            self.note(format!("llm start {model}"));
        }
        fn on_llm_stream(&self, _: &SpanContext, chunk: &str) {
            self.note(format!("llm stream {chunk}"));
        }
        fn on_llm_end(&self, _: &SpanContext, response: &str, usage: Option<&Usage>) {
            self.note(format!("llm end {response} {:?}", usage.map(|usage| usage.output_tokens)));
        }
        fn on_tool_start(&self, _: &SpanContext, tool: &str, _: &Value) {
            self.note(format!("tool start {tool}"));
        }
        fn on_tool_end(&self, _: &SpanContext, tool: &str, execution: &ToolExecution) {
            self.note(format!("tool end {tool} {}", execution.output));
        }
        fn on_spinner_start(&self, message: &str) {
            self.note(format!("spinner {message}"));
        }
        fn on_spinner_stop(&self) {
            self.note("spinner stop".into());
        }
        fn on_error(&self, _: &SpanContext, fault: &Fault) {
            self.note(format!("error {}", fault.code));
        }
    }

    fn show(sink: &CallbackSink<Recorder>, events: &[Event]) {
        let mut spans = SessionSpans::new(SpanContext::run(1, TraceId(1)).session(1));
        for event in events {
            sink.on(&spans.of(event), event);
        }
    }

    fn ended(outcome: Outcome) -> Event {
        Event::SessionEnded { number: 1, outcome, cost_usd: None, duration: Duration::ZERO }
    }

    #[test]
    fn seed_003_the_callbacks_come_in_its_order() {
        let sink = CallbackSink::new(Recorder::default());
        let call = ToolCall { id: "1".into(), name: "Read".into(), input: Value::Null };
        let result = Event::ToolResult {
            id: "1".into(),
            name: "Read".into(),
            content: "text".into(),
            is_error: false,
            denied_by: None,
        };
        let usage = Usage { output_tokens: 3, ..Usage::default() };
        show(
            &sink,
            &[
                Event::Instructed { text: "do it".into() },
                Event::ModelAsked { model: "m".into() },
                Event::Working { activity: Activity::Thinking },
                Event::Chunk { kind: Chunk::Text, text: "I".into() },
                Event::Text { text: "I read".into() },
                Event::Usage(usage),
                Event::ModelDone { fault: None },
                Event::ToolCall(call),
                result,
                Event::ModelAsked { model: "m".into() },
                Event::Text { text: "done".into() },
                Event::ModelDone { fault: None },
                Event::End { outcome: Outcome::Completed },
                ended(Outcome::Completed),
            ],
        );
        let seen = sink.callbacks().0.lock().expect("not poisoned").clone();
        assert_eq!(
            seen,
            [
                "agent start do it",
                "llm start m",
                "spinner Thinking...",
                "llm stream I",
                "spinner stop",
                "llm end I read Some(3)",
                "tool start Read",
                "tool end Read text",
                "llm start m",
                "llm end done None",
                "agent end done",
            ]
        );
    }

    #[test]
    fn an_error_comes_before_the_end_and_both_come_once() {
        let sink = CallbackSink::new(Recorder::default());
        let fault = Fault::passing(Layer::Model, "timeout", "late");
        show(
            &sink,
            &[
                Event::Instructed { text: "do it".into() },
                Event::ModelAsked { model: "m".into() },
                Event::ModelDone { fault: Some(fault.clone()) },
                Event::End { outcome: Outcome::ExecutionError { fault: fault.clone() } },
                ended(Outcome::ExecutionError { fault }),
            ],
        );
        let seen = sink.callbacks().0.lock().expect("not poisoned").clone();
        assert_eq!(
            seen,
            ["agent start do it", "llm start m", "llm end  None", "error timeout", "agent end "]
        );
    }
}
