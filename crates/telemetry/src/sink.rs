//! The sink: makes spans and measurements of events. Cheap: it keeps what has begun in a table and puts what has
//! ended into a queue. It reads no clock but the system's, since spans are looked at beside those of others.

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

use crate::content::{self, Part};
use crate::conventions as name;
use crate::delivery::Outbox;
use crate::meters::Meters;
use crate::open_span::{Failure, Kind, OpenSpan, Spent, count};
use crate::provider::provider_of;
use crate::settings::Sampler;

/// How many spans may be open at once; calls beyond that are not followed.
const MAX_OPEN: usize = 4096;

/// How many characters of a tool's name are sent.
const MAX_NAME: usize = 128;

/// How many characters of a sentence are sent.
const MAX_MESSAGE: usize = 1024;

/// Makes spans and measurements of events.
#[derive(Debug)]
pub struct TelemetrySink {
    pub(crate) outbox: Option<Outbox>,
    pub(crate) meters: Option<Meters>,
    pub(crate) sampler: Sampler,
    /// What redacts secrets, where content is captured.
    pub(crate) captures: Option<Redactor>,
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
            AgentEvent::ModelAsked { model } => self.model_asked(span, model),
            AgentEvent::Chunk { .. } => self.with(span, |call| {
                call.first_chunk.get_or_insert_with(SystemTime::now);
            }),
            AgentEvent::Text { text } => {
                self.capture(span, text, |call, text| call.content.say(Part::Text, text))
            }
            AgentEvent::Thinking { text } => {
                self.capture(span, text, |call, text| call.content.say(Part::Reasoning, text));
            }
            AgentEvent::Usage(usage) => self.used(span, usage),
            AgentEvent::ModelDone { fault } => {
                self.end(Kind::Chat, span, fault.as_ref().map(|fault| self.failure(fault)))
            }
            AgentEvent::ToolCall(call) => self.tool_called(span, call),
            AgentEvent::ToolResult { content, is_error, denied_by, .. } => {
                self.tool_answered(span, content, *is_error, denied_by.as_deref());
            }
            AgentEvent::Trouble { message } => self.note(span, "autonoe.trouble", message, Vec::new()),
            AgentEvent::HostRefused { host, port, message } => {
                let server = [
                    KeyValue::new("server.address", host.clone()),
                    KeyValue::new("server.port", i64::from(*port)),
                ];
                self.note(span, "autonoe.host_refused", message, server.into());
            }
            AgentEvent::Working { .. }
            | AgentEvent::Conversation { .. }
            | AgentEvent::Answer { .. }
            | AgentEvent::End { .. } => {}
        }
    }

    fn on_run(&self, span: &SpanContext, event: &RunEvent) {
        match event {
            RunEvent::RunStarted { command, sessions_before } => {
                self.begin(Kind::Run, span, command, |run| {
                    run.tell(name::WORKFLOW, command.clone());
                    run.detail(name::SESSIONS_BEFORE, i64::from(*sessions_before));
                });
            }
            RunEvent::SessionStarted { number, instruction, step, backend, model } => {
                let (provider, model) = provider_of(model, backend);
                self.begin(Kind::Session, span, backend, |session| {
                    session.tell(name::AGENT, backend.clone());
                    session.tell(name::PROVIDER, provider);
                    session.tell(name::MODEL, model.to_owned());
                    session.detail(name::SESSION, i64::from(*number));
                    session.detail(name::INSTRUCTION, instruction.name());
                    if let Some(step) = step {
                        session.detail(name::STEP, step.clone());
                    }
                });
            }
            RunEvent::Instructed { text } => self.capture(span, text, |session, text| {
                let text = session.content.take(text);
                session.detail(name::INPUT_MESSAGES, content::instruction(&text));
            }),
            RunEvent::Retrying { errors, message, .. } => {
                let errors = vec![KeyValue::new("autonoe.errors_in_a_row", i64::from(*errors))];
                self.note(span, "autonoe.retrying", message, errors);
            }
            RunEvent::Outage { tries, message, .. } => {
                let tries = vec![KeyValue::new("autonoe.outage.tries", i64::from(*tries))];
                self.note(span, "autonoe.outage", message, tries);
            }
            RunEvent::SessionEnded { outcome, .. } => {
                self.with(span, |session| session.detail(name::OUTCOME, outcome.name()));
                self.end_with_parts(Kind::Session, span, self.failure_of_session(outcome));
            }
            RunEvent::Outcome(report) => self.run_ended(span, report),
            RunEvent::BackendChanged { .. }
            | RunEvent::StatusChanged(_)
            | RunEvent::Checked { .. }
            | RunEvent::Disputed { .. }
            | RunEvent::StepEnded { .. }
            | RunEvent::Escalated { .. }
            | RunEvent::Waiting { .. } => {}
            RunEvent::Trouble { message } => self.note(span, "autonoe.trouble", message, Vec::new()),
        }
    }
}

impl TelemetrySink {
    /// Ends whatever is still open: nobody will come to do it.
    pub(crate) fn end_all(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let left = std::mem::take(&mut *open);
        drop(open);
        left.into_values().for_each(|span| self.settle(span, None));
    }

    fn model_asked(&self, span: &SpanContext, model: &str) {
        let parent = span.parent_span_id.unwrap_or_default();
        let backend = self.with_id(parent, |session| session.subject().to_owned()).unwrap_or_default();
        let (provider, model) = provider_of(model, &backend);
        self.begin(Kind::Chat, span, model, |call| {
            call.tell(name::PROVIDER, provider);
            call.tell(name::MODEL, model.to_owned());
        });
    }

    /// Books what was spent, on the call and on its session. Where calls are not seen, the session is all there is.
    fn used(&self, span: &SpanContext, usage: &Usage) {
        let dimensions = self.with_id(span.span_id, |place| {
            place.spent.add(usage);
            (place.kind, place.dimensions.clone())
        });
        let Some((kind, dimensions)) = dimensions else { return };
        match kind {
            Kind::Chat => {
                let session = span.parent_span_id.unwrap_or_default();
                self.with_id(session, |session| session.spent.add(usage));
            }
            Kind::Session => {
                let mut spent = Spent::default();
                spent.add(usage);
                self.measure(|meters| meters.tokens(&spent, &dimensions));
            }
            Kind::Run | Kind::Tool => {}
        }
        if let Some(cost) = usage.cost_usd {
            self.measure(|meters| meters.cost(cost, &dimensions));
        }
    }

    fn tool_called(&self, span: &SpanContext, call: &ToolCall) {
        // The model chose this name; it need not be one of a tool.
        let tool_name: String = call.name.chars().take(MAX_NAME).collect();
        self.begin(Kind::Tool, span, &tool_name, |tool| {
            tool.tell(name::TOOL, tool_name.clone());
            tool.tell(name::TOOL_TYPE, "function");
            tool.detail(name::TOOL_CALL, call.id.clone());
        });
        let Some(redactor) = self.captures_of(span) else { return };
        let arguments = redactor.json(&call.input).unwrap_or_default();
        self.capture(span, &arguments, |tool, arguments| {
            let arguments = tool.content.take(arguments);
            tool.detail(name::TOOL_ARGUMENTS, arguments);
        });
    }

    fn tool_answered(&self, span: &SpanContext, content: &str, is_error: bool, denied_by: Option<&str>) {
        // The answer to a call that was not seen comes in the session's span.
        if self.with_id(span.span_id, |place| place.kind) != Some(Kind::Tool) {
            return;
        }
        if let Some(gate) = denied_by {
            self.with(span, |tool| tool.detail(name::DENIED_BY, gate.to_owned()));
        }
        self.capture(span, content, |tool, content| {
            let result = tool.content.take(content);
            tool.detail(name::TOOL_RESULT, result);
        });
        let code = match (denied_by, is_error) {
            (Some(_), _) => Some("denied"),
            (None, true) => Some("tool_error"),
            (None, false) => None,
        };
        self.end(Kind::Tool, span, code.map(|code| Failure { code: code.to_owned(), message: None }));
    }

    fn run_ended(&self, span: &SpanContext, report: &RunReport) {
        self.with(span, |run| {
            run.detail(name::OUTCOME, report.outcome.name());
            run.detail(name::EXIT_CODE, i64::from(report.exit_code));
            run.detail(name::ITERATIONS, i64::from(report.iterations));
            run.detail(name::PASSED, count(report.deliverables_passed));
            run.detail(name::TOTAL, count(report.deliverables_total));
            if let Some(cost) = report.cost_usd {
                run.detail(name::COST, cost.0);
            }
        });
        self.end_with_parts(Kind::Run, span, self.failure_of_run(&report.outcome));
    }

    fn begin(&self, kind: Kind, context: &SpanContext, subject: &str, describe: impl FnOnce(&mut OpenSpan)) {
        let mut span = OpenSpan::begin(kind, context, subject, SystemTime::now());
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

    /// What redacts secrets, where content of this span will be sent.
    fn captures_of(&self, span: &SpanContext) -> Option<&Redactor> {
        let is_sent = self.outbox.is_some() && self.sampler.takes(span.trace_id.0);
        self.captures.as_ref().filter(|_| is_sent)
    }

    /// Does something with a text without its secrets, where content is captured.
    fn capture(&self, span: &SpanContext, text: &str, work: impl FnOnce(&mut OpenSpan, &str)) {
        if let Some(redactor) = self.captures_of(span) {
            let text = redactor.text(text);
            self.with(span, |span| work(span, &text));
        }
    }

    fn note(&self, span: &SpanContext, what: &str, message: &str, mut attributes: Vec<KeyValue>) {
        attributes.extend(self.message(message).map(|message| KeyValue::new(name::MESSAGE, message)));
        self.with(span, |span| span.note(what, attributes, SystemTime::now()));
    }

    fn measure(&self, work: impl FnOnce(&Meters)) {
        if let Some(meters) = &self.meters {
            work(meters);
        }
    }

    /// Ends a session or a run, and first what was cut off in it.
    fn end_with_parts(&self, kind: Kind, span: &SpanContext, failure: Option<Failure>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let parts: Vec<SpanId> = open
            .values()
            .filter(|part| part.context.span_id != span.span_id && part.context.trace_id == span.trace_id)
            .filter(|part| span.session.is_none() || part.context.session == span.session)
            .map(|part| part.context.span_id)
            .collect();
        let cut_off: Vec<OpenSpan> = parts.iter().filter_map(|id| open.remove(id)).collect();
        drop(open);
        let interrupted = Failure { code: "cut_off".to_owned(), message: None };
        cut_off.into_iter().for_each(|part| self.settle(part, Some(interrupted.clone())));
        self.end(kind, span, failure);
    }

    /// Ends a span, if it is of this kind: the end of a call that was not seen is not the end of its session.
    fn end(&self, kind: Kind, span: &SpanContext, failure: Option<Failure>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_meant = open.get(&span.span_id).is_some_and(|span| span.kind == kind);
        let ended = is_meant.then(|| open.remove(&span.span_id)).flatten();
        drop(open);
        if let Some(span) = ended {
            self.settle(span, failure);
        }
    }

    /// Measures a span that ended and sends it on its way.
    fn settle(&self, mut span: OpenSpan, failure: Option<Failure>) {
        let now = SystemTime::now();
        let since = |time: SystemTime| time.duration_since(span.start).unwrap_or_default();
        let first_chunk = span.first_chunk.map(since);
        self.measure(|meters| {
            meters.ended(span.kind, since(now), &span.dimensions, failure.as_ref());
            if span.kind == Kind::Chat && span.spent.reported {
                meters.tokens(&span.spent, &span.dimensions);
            }
            if let Some(took) = first_chunk {
                meters.first_chunk(took, &span.dimensions);
            }
        });
        let Some(outbox) = &self.outbox else { return };
        if !self.sampler.takes(span.context.trace_id.0) {
            return;
        }
        if let Some(took) = first_chunk {
            span.detail(name::STREAM, true);
            span.detail(name::FIRST_CHUNK, took.as_secs_f64());
        }
        outbox.put(span.end(now, failure.as_ref()));
    }

    fn failure_of_session(&self, end: &SessionEnd) -> Option<Failure> {
        match end {
            SessionEnd::ExecutionError { fault } => Some(self.failure(fault)),
            SessionEnd::QuotaExceeded { .. } => Some(Failure { code: end.name().to_owned(), message: None }),
            SessionEnd::Completed
            | SessionEnd::MaxTurns
            | SessionEnd::BudgetExceeded { .. }
            | SessionEnd::DurationExceeded { .. }
            | SessionEnd::Interrupted => None,
        }
    }

    fn failure_of_run(&self, outcome: &RunOutcome) -> Option<Failure> {
        match outcome {
            RunOutcome::Failed { fault }
            | RunOutcome::MaxRetriesExceeded { fault, .. }
            | RunOutcome::Outage { fault, .. } => Some(self.failure(fault)),
            RunOutcome::QuotaExceeded { .. } | RunOutcome::Stuck { .. } | RunOutcome::Unverified { .. } => {
                Some(Failure { code: outcome.name().to_owned(), message: None })
            }
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

    fn failure(&self, fault: &Fault) -> Failure {
        Failure { code: fault.code.clone(), message: self.message(&fault.message) }
    }

    /// A sentence, where it may be sent: providers and tools are quoted in some.
    fn message(&self, message: &str) -> Option<String> {
        let redactor = self.captures.as_ref()?;
        Some(redactor.text(message).chars().take(MAX_MESSAGE).collect())
    }
}
