//! The sink: turns events into spans and measurements. It only updates a table of open spans and queues the ended ones.
//! It uses the system clock, since spans are compared with those of other services.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use autonoe_core::event::{AgentEvent, Event, RunEvent, Usage};
use autonoe_core::fault::Fault;
use autonoe_core::gate::ToolCall;
use autonoe_core::outcome::{RunOutcome, RunReport, SessionEnd};
use autonoe_core::redact::Redactor;
use autonoe_core::sink::Sink;
use autonoe_core::span::{SpanContext, SpanId};
use opentelemetry::KeyValue;

use crate::content::{self, ContentPart};
use crate::conventions as attr;
use crate::export::SpanQueue;
use crate::meters::Meters;
use crate::open_span::{OpenSpan, SpanFailure, SpanType, SpanUsage, count};
use crate::provider::provider_of;
use crate::settings::Sampler;

/// The most spans open at once; further ones are ignored.
const MAX_OPEN: usize = 4096;

/// The most characters sent of a tool's name.
const MAX_NAME: usize = 128;

/// The most characters sent of a message.
const MAX_MESSAGE: usize = 1024;

/// Turns events into spans and measurements.
#[derive(Debug)]
pub struct TelemetrySink {
    pub(crate) span_queue: Option<SpanQueue>,
    pub(crate) meters: Option<Meters>,
    pub(crate) sampler: Sampler,
    /// Redacts captured content; `None` if content is not captured.
    pub(crate) content_redactor: Option<Redactor>,
    pub(crate) open: Mutex<HashMap<SpanId, OpenSpan>>,
}

impl Sink for TelemetrySink {
    fn on(&self, span: &SpanContext, event: &Event) {
        match event {
            Event::Agent(event) => self.on_agent(span, event),
            Event::Run(event) => self.on_run(span, event),
        }
    }
}

impl TelemetrySink {
    fn on_agent(&self, span: &SpanContext, event: &AgentEvent) {
        match event {
            AgentEvent::ModelCallStarted { model } => self.model_call_started(span, model),
            AgentEvent::Chunk { .. } => self.with(span, |call| {
                call.first_chunk.get_or_insert_with(SystemTime::now);
            }),
            AgentEvent::Text { text } => {
                self.capture(span, text, |call, text| call.content.push(ContentPart::Text, text))
            }
            AgentEvent::Thinking { text } => {
                self.capture(span, text, |call, text| call.content.push(ContentPart::Reasoning, text));
            }
            AgentEvent::Usage(usage) => self.add_usage(span, usage),
            AgentEvent::ModelCallEnded { fault } => {
                self.end(SpanType::ModelCall, span, fault.as_ref().map(|fault| self.failure(fault)))
            }
            AgentEvent::ToolCall(call) => self.tool_call_started(span, call),
            AgentEvent::ToolResult { content, is_error, denied_by, .. } => {
                self.tool_call_ended(span, content, *is_error, denied_by.as_deref());
            }
            AgentEvent::Warning { message } => self.event(span, "autonoe.trouble", message, Vec::new()),
            AgentEvent::HostRefused { host, port, message } => {
                let server = [
                    KeyValue::new("server.address", host.clone()),
                    KeyValue::new("server.port", i64::from(*port)),
                ];
                self.event(span, "autonoe.host_refused", message, server.into());
            }
            AgentEvent::Working { .. }
            | AgentEvent::UserMessage { .. }
            | AgentEvent::Conversation { .. }
            | AgentEvent::Answer { .. }
            | AgentEvent::End { .. } => {}
        }
    }

    fn on_run(&self, span: &SpanContext, event: &RunEvent) {
        match event {
            RunEvent::RunStarted { command, sessions_before, .. } => {
                self.start(SpanType::Run, span, command, |run| {
                    run.dimension(attr::WORKFLOW, command.clone());
                    run.attribute(attr::SESSIONS_BEFORE, i64::from(*sessions_before));
                });
            }
            RunEvent::SessionStarted { number, instruction, step, backend, model, .. } => {
                let (provider, model) = provider_of(model, backend);
                self.start(SpanType::Session, span, backend, |session| {
                    session.dimension(attr::AGENT, backend.clone());
                    session.dimension(attr::PROVIDER, provider);
                    session.dimension(attr::MODEL, model.to_owned());
                    session.attribute(attr::SESSION, i64::from(*number));
                    session.attribute(attr::INSTRUCTION, instruction.name());
                    if let Some(step) = step {
                        session.attribute(attr::STEP, step.clone());
                    }
                });
            }
            RunEvent::Instructed { text } => self.capture(span, text, |session, text| {
                let text = session.content.take(text);
                session.attribute(attr::INPUT_MESSAGES, content::instruction(&text));
            }),
            RunEvent::Retrying { errors, message, .. } => {
                let errors = vec![KeyValue::new("autonoe.errors_in_a_row", i64::from(*errors))];
                self.event(span, "autonoe.retrying", message, errors);
            }
            RunEvent::Outage { tries, message, .. } => {
                let tries = vec![KeyValue::new("autonoe.outage.tries", i64::from(*tries))];
                self.event(span, "autonoe.outage", message, tries);
            }
            RunEvent::SessionEnded { outcome, .. } => {
                self.with(span, |session| session.attribute(attr::OUTCOME, outcome.name()));
                self.end_with_children(SpanType::Session, span, self.session_failure(outcome));
            }
            RunEvent::Outcome(report) => self.run_ended(span, report),
            RunEvent::BackendChanged { .. }
            | RunEvent::StatusChanged(_)
            | RunEvent::UserMessage { .. }
            | RunEvent::Landing { .. }
            | RunEvent::Checked { .. }
            | RunEvent::Disputed { .. }
            | RunEvent::StepEnded { .. }
            | RunEvent::Escalated { .. }
            | RunEvent::Announcement { .. }
            | RunEvent::Notice { .. }
            | RunEvent::RepetitionNoticed { .. }
            | RunEvent::Progress { .. }
            | RunEvent::Remedy { .. }
            | RunEvent::BestOf(_)
            | RunEvent::Alert { .. }
            | RunEvent::Waiting { .. } => {}
            RunEvent::Warning { message } => self.event(span, "autonoe.trouble", message, Vec::new()),
        }
    }
}

impl TelemetrySink {
    /// Ends all spans that are still open, at shutdown.
    pub(crate) fn end_all(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let remaining = std::mem::take(&mut *open);
        drop(open);
        remaining.into_values().for_each(|span| self.finish(span, None));
    }

    fn model_call_started(&self, span: &SpanContext, model: &str) {
        let parent = span.parent_span_id.unwrap_or_default();
        let backend = self.with_id(parent, |session| session.subject().to_owned()).unwrap_or_default();
        let (provider, model) = provider_of(model, &backend);
        self.start(SpanType::ModelCall, span, model, |call| {
            call.dimension(attr::PROVIDER, provider);
            call.dimension(attr::MODEL, model.to_owned());
        });
    }

    /// Adds usage to the call and its session. A backend that does not report its calls reports usage for the session.
    fn add_usage(&self, span: &SpanContext, usage: &Usage) {
        let dimensions = self.with_id(span.span_id, |span| {
            span.usage.add(usage);
            (span.kind, span.dimensions.clone())
        });
        let Some((kind, dimensions)) = dimensions else { return };
        match kind {
            SpanType::ModelCall => {
                let session = span.parent_span_id.unwrap_or_default();
                self.with_id(session, |session| session.usage.add(usage));
            }
            SpanType::Session => {
                let mut span_usage = SpanUsage::default();
                span_usage.add(usage);
                self.measure(|meters| meters.tokens(&span_usage, &dimensions));
            }
            SpanType::Run | SpanType::ToolCall => {}
        }
        if let Some(cost) = usage.cost_usd {
            self.measure(|meters| meters.cost(cost, &dimensions));
        }
    }

    fn tool_call_started(&self, span: &SpanContext, call: &ToolCall) {
        // The model chose this name, which may not be that of any tool.
        let tool_name: String = call.name.chars().take(MAX_NAME).collect();
        self.start(SpanType::ToolCall, span, &tool_name, |tool| {
            tool.dimension(attr::TOOL, tool_name.clone());
            tool.dimension(attr::TOOL_TYPE, "function");
            tool.attribute(attr::TOOL_CALL, call.id.clone());
        });
        let Some(redactor) = self.redactor_for(span) else { return };
        let arguments = redactor.json(&call.input).unwrap_or_default();
        self.capture(span, &arguments, |tool, arguments| {
            let arguments = tool.content.take(arguments);
            tool.attribute(attr::TOOL_ARGUMENTS, arguments);
        });
    }

    fn tool_call_ended(&self, span: &SpanContext, content: &str, is_error: bool, denied_by: Option<&str>) {
        // The result of a call that was never reported arrives in the session's span.
        if self.with_id(span.span_id, |span| span.kind) != Some(SpanType::ToolCall) {
            return;
        }
        if let Some(gate) = denied_by {
            self.with(span, |tool| tool.attribute(attr::DENIED_BY, gate.to_owned()));
        }
        self.capture(span, content, |tool, content| {
            let result = tool.content.take(content);
            tool.attribute(attr::TOOL_RESULT, result);
        });
        let code = match (denied_by, is_error) {
            (Some(_), _) => Some("denied"),
            (None, true) => Some("tool_error"),
            (None, false) => None,
        };
        self.end(
            SpanType::ToolCall,
            span,
            code.map(|code| SpanFailure { code: code.to_owned(), message: None }),
        );
    }

    fn run_ended(&self, span: &SpanContext, report: &RunReport) {
        self.with(span, |run| {
            run.attribute(attr::OUTCOME, report.outcome.name());
            run.attribute(attr::EXIT_CODE, i64::from(report.exit_code));
            run.attribute(attr::ITERATIONS, i64::from(report.iterations));
            run.attribute(attr::PASSED, count(report.plan.tally().passed));
            run.attribute(attr::TOTAL, count(report.plan.tally().total));
            if let Some(cost) = report.cost_usd {
                run.attribute(attr::COST, cost.0);
            }
        });
        self.end_with_children(SpanType::Run, span, self.run_failure(&report.outcome));
    }

    fn start(
        &self,
        kind: SpanType,
        context: &SpanContext,
        subject: &str,
        describe: impl FnOnce(&mut OpenSpan),
    ) {
        let mut span = OpenSpan::start(kind, context, subject, SystemTime::now());
        describe(&mut span);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() < MAX_OPEN {
            open.insert(context.span_id, span);
        }
    }

    fn with(&self, span: &SpanContext, work: impl FnOnce(&mut OpenSpan)) {
        self.with_id(span.span_id, work);
    }

    fn with_id<T>(&self, id: SpanId, work: impl FnOnce(&mut OpenSpan) -> T) -> Option<T> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get_mut(&id).map(work)
    }

    /// The redactor, if the content of this span will be sent.
    fn redactor_for(&self, span: &SpanContext) -> Option<&Redactor> {
        let is_sent = self.span_queue.is_some() && self.sampler.samples(span.trace_id.0);
        self.content_redactor.as_ref().filter(|_| is_sent)
    }

    /// Passes the redacted text on, if content is captured.
    fn capture(&self, span: &SpanContext, text: &str, work: impl FnOnce(&mut OpenSpan, &str)) {
        if let Some(redactor) = self.redactor_for(span) {
            let text = redactor.text(text);
            self.with(span, |span| work(span, &text));
        }
    }

    fn event(&self, span: &SpanContext, name: &str, message: &str, mut attributes: Vec<KeyValue>) {
        attributes.extend(self.message(message).map(|message| KeyValue::new(attr::MESSAGE, message)));
        self.with(span, |span| span.event(name, attributes, SystemTime::now()));
    }

    fn measure(&self, work: impl FnOnce(&Meters)) {
        if let Some(meters) = &self.meters {
            work(meters);
        }
    }

    /// Ends a session or a run, after its children that are still open.
    fn end_with_children(&self, kind: SpanType, span: &SpanContext, failure: Option<SpanFailure>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let children: Vec<SpanId> = open
            .values()
            .filter(|child| child.context.span_id != span.span_id && child.context.trace_id == span.trace_id)
            .filter(|child| span.session.is_none() || child.context.session == span.session)
            .map(|child| child.context.span_id)
            .collect();
        let cut_off: Vec<OpenSpan> = children.iter().filter_map(|id| open.remove(id)).collect();
        drop(open);
        let interrupted = SpanFailure { code: "cut_off".to_owned(), message: None };
        cut_off.into_iter().for_each(|child| self.finish(child, Some(interrupted.clone())));
        self.end(kind, span, failure);
    }

    /// Ends a span if it has this type: the end of a call that was never reported arrives in its session's span.
    fn end(&self, kind: SpanType, span: &SpanContext, failure: Option<SpanFailure>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_expected = open.get(&span.span_id).is_some_and(|span| span.kind == kind);
        let ended = is_expected.then(|| open.remove(&span.span_id)).flatten();
        drop(open);
        if let Some(span) = ended {
            self.finish(span, failure);
        }
    }

    /// Measures an ended span and queues it.
    fn finish(&self, mut span: OpenSpan, failure: Option<SpanFailure>) {
        let now = SystemTime::now();
        let since = |time: SystemTime| time.duration_since(span.start).unwrap_or_default();
        let first_chunk = span.first_chunk.map(since);
        self.measure(|meters| {
            meters.span_ended(span.kind, since(now), &span.dimensions, failure.as_ref());
            if span.kind == SpanType::ModelCall && span.usage.is_reported {
                meters.tokens(&span.usage, &span.dimensions);
            }
            if let Some(took) = first_chunk {
                meters.first_chunk(took, &span.dimensions);
            }
        });
        let Some(span_queue) = &self.span_queue else { return };
        if !self.sampler.samples(span.context.trace_id.0) {
            return;
        }
        if let Some(took) = first_chunk {
            span.attribute(attr::STREAM, true);
            span.attribute(attr::FIRST_CHUNK, took.as_secs_f64());
        }
        span_queue.put(span.end(now, failure.as_ref()));
    }

    fn session_failure(&self, end: &SessionEnd) -> Option<SpanFailure> {
        match end {
            SessionEnd::ExecutionError { fault } => Some(self.failure(fault)),
            SessionEnd::QuotaExceeded { .. } => {
                Some(SpanFailure { code: end.name().to_owned(), message: None })
            }
            SessionEnd::Completed
            | SessionEnd::MaxTurns
            | SessionEnd::Stuck { .. }
            | SessionEnd::BudgetExceeded { .. }
            | SessionEnd::DurationExceeded { .. }
            | SessionEnd::Interrupted => None,
        }
    }

    fn run_failure(&self, outcome: &RunOutcome) -> Option<SpanFailure> {
        match outcome {
            RunOutcome::Failed { fault }
            | RunOutcome::MaxRetriesExceeded { fault, .. }
            | RunOutcome::Outage { fault, .. } => Some(self.failure(fault)),
            RunOutcome::QuotaExceeded { .. }
            | RunOutcome::Stuck { .. }
            | RunOutcome::Unverified { .. }
            | RunOutcome::TasksBlocked { .. }
            | RunOutcome::Unreviewed => Some(SpanFailure { code: outcome.name().to_owned(), message: None }),
            RunOutcome::BudgetExceeded { .. }
            | RunOutcome::DurationExceeded { .. }
            | RunOutcome::Interrupted
            | RunOutcome::AllPassed
            | RunOutcome::AllVerified
            | RunOutcome::AllBlocked
            | RunOutcome::ConditionMet { .. }
            | RunOutcome::MaxIterations { .. } => None,
        }
    }

    fn failure(&self, fault: &Fault) -> SpanFailure {
        SpanFailure { code: fault.code.clone(), message: self.message(&fault.message) }
    }

    /// The redacted message, if content is captured: messages may quote providers and tools.
    fn message(&self, message: &str) -> Option<String> {
        let redactor = self.content_redactor.as_ref()?;
        Some(redactor.text(message).chars().take(MAX_MESSAGE).collect())
    }
}
