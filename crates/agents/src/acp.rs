//! Any agent that speaks the Agent Client Protocol, by its command line. What it asks for is put to our gates; what it
//! does without asking is put to them when it is told, and broken off if they refuse; the room holds it in any case.
//!
//! Of the protocol's crate only the messages are used: its connection owns handlers and tasks that outlive a call, and
//! here an agent works only while its events are asked for, on one borrowed session.

mod answers;
mod begin;
mod calls;
mod ending;
mod files;
mod message;
mod session;
mod terminals;
mod translate;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::SessionUpdate;
use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::event::{AgentEvent, Chunk, Usage};
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::money::Usd;
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::DeliverableService;
use futures::future::{Either, select};
use serde_json::{Value, json};

use crate::answer::{Expected, Next};
use crate::emit::{Emitter, events};
use crate::guides;
use crate::vendor::{
    Heard, JsonLineProcess, Reach, SERVER, Start, VendorSession, VendorSettings, conclude, crashed, follow_up,
};
use calls::{Calls, Ended, Steps, block_text};
use ending::{Named, usage};
use message::{Message, Refused};
pub use session::OWN_MODEL;
use terminals::Terminals;
use translate::Translated;

/// What it is called before a command of the user's.
pub const NAME: &str = "acp";

/// How long it may take to be ready.
const START_LIMIT: Duration = Duration::from_secs(120);

/// How long an agent may take to exit once its input is closed. Most wait for a signal; their work is told by then.
const EXIT_LIMIT: Duration = Duration::from_millis(100);

/// How often an agent that breaks its work off at a refusal is told the reason and sent on.
const MAX_FOLLOW_UPS: u32 = 20;

/// Opens sessions of an agent that the user named by its command.
pub struct AcpBackend {
    manner: AcpQuirks,
    settings: VendorSettings,
    deliverables: Arc<DeliverableService>,
}

/// In what one agent differs from another.
#[derive(Debug, Clone)]
pub(crate) struct AcpQuirks {
    /// Its name as a backend.
    pub backend: String,
    /// What it is called in messages.
    pub shown: String,
    /// How its user logs in.
    pub log_in: String,
    /// Arguments after the user's.
    pub args: Vec<String>,
    /// Whether it is told the model over the protocol.
    pub asks_for_model: bool,
    /// Whether it is offered to read and write files and to run commands through us.
    pub is_served: bool,
    /// How long it may take to exit once its input is closed; none for one that has nothing left to do then.
    pub exit_limit: Option<Duration>,
    /// How its model learns why a call was refused.
    pub refusing: Refusing,
    /// Whether it has asked for all tools by the time that a session has begun.
    pub loads_tools_first: bool,
}

/// How a refusal is said. The protocol has no place for reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusing {
    /// By the option to reject. An agent that stops at it is told the reason in the next prompt.
    ByOption,
    /// By an option that was not offered and is the reason itself, to an agent that repeats it to its model as an error.
    ByReason,
}

impl AcpBackend {
    /// A backend of this name whose agents work on deliverables through the given service.
    pub fn new(name: String, settings: VendorSettings, deliverables: Arc<DeliverableService>) -> Self {
        let manner = AcpQuirks {
            shown: format!("The agent '{name}'"),
            log_in: "Log in with the agent itself, where it is started by autonoe: docs/configuration.md tells how."
                .to_owned(),
            backend: name,
            args: Vec::new(),
            asks_for_model: true,
            is_served: true,
            exit_limit: Some(EXIT_LIMIT),
            refusing: Refusing::ByOption,
            loads_tools_first: false,
        };
        Self { manner, settings, deliverables }
    }
}

#[async_trait]
impl Backend for AcpBackend {
    fn name(&self) -> &str {
        &self.manner.backend
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        open(self.manner.clone(), &self.settings, &self.deliverables, spec, |_| Vec::new()).await
    }
}

/// Opens a session of an agent. `env` says by which variables it is told how to reach its service.
pub(crate) async fn open(
    manner: AcpQuirks,
    settings: &VendorSettings,
    deliverables: &Arc<DeliverableService>,
    spec: SessionSpec,
    env: impl FnOnce(Option<Reach>) -> Vec<(String, String)>,
) -> Result<Box<dyn Agent>, Fault> {
    let expected = Expected::new(spec.answer)?;
    let Start { launch, reach, mut vendor_session } =
        settings.prepare(&manner.shown, spec.gates, spec.phase, deliverables).await?;
    let talk = match JsonLineProcess::start(launch.args(&manner.args).envs(env(reach))) {
        Ok(talk) => talk,
        Err(error) => {
            vendor_session.close().await;
            let message = format!("{} cannot be started: {error}.", manner.shown);
            return Err(Fault::passing(Layer::System, "agent_not_started", message));
        }
    };
    let history = spec.history.filter(|history| history["backend"] == manner.backend.as_str());
    let servers = std::iter::once(SERVER.to_owned()).chain(settings.servers.keys().cloned()).collect();
    Ok(Box::new(AcpAgent {
        named: Named { name: manner.shown.clone(), log_in: manner.log_in.clone() },
        earlier: history.and_then(|history| history["acp_session"].as_str().map(str::to_owned)),
        model: spec.model,
        guides: guides::read(&settings.root),
        settings: settings.clone(),
        manner,
        expected,
        talk,
        vendor_session,
        asked: 0,
        session: String::new(),
        calls: Calls::new(servers),
        terminals: Terminals::default(),
        said: None,
        last_words: String::new(),
        cost: None,
        booked: Usd::default(),
        refusals: Vec::new(),
        is_replaying: false,
    }))
}

/// One session of an agent.
struct AcpAgent {
    manner: AcpQuirks,
    named: Named,
    settings: VendorSettings,
    model: String,
    /// The session to resume.
    earlier: Option<String>,
    guides: String,
    expected: Expected,
    talk: JsonLineProcess,
    vendor_session: VendorSession,
    /// The number of our last request.
    asked: u64,
    /// Its id of this session.
    session: String,
    calls: Calls,
    terminals: Terminals,
    /// What it has been saying, and whether it thinks it.
    said: Option<(Chunk, String)>,
    /// The last that it said as a whole in this turn.
    last_words: String,
    /// What the session cost so far, if it tells that.
    cost: Option<Usd>,
    /// What of that has been told.
    booked: Usd,
    /// The reasons of refusals in this turn.
    refusals: Vec<String>,
    /// Whether it repeats what was said in an earlier session.
    is_replaying: bool,
}

#[async_trait]
impl Agent for AcpAgent {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        events(|emitter| async move {
            let ended = self.work(instruction.text, &emitter).await;
            self.flush(&emitter).await;
            self.close_terminals(&emitter).await;
            conclude(ended, self.manner.exit_limit, &mut self.talk, &mut self.vendor_session, &emitter).await;
        })
    }

    async fn dispose(mut self: Box<Self>) -> Vec<String> {
        self.vendor_session.close().await
    }
}

impl AcpAgent {
    /// From the instruction to the end of the last turn.
    async fn work(&mut self, instruction: String, emitter: &Emitter) -> Result<SessionEnd, Fault> {
        match tokio::time::timeout(START_LIMIT, self.begin(emitter)).await {
            Ok(Ok(())) => {}
            Ok(Err(Halt::Fault(fault))) => return Err(fault),
            Ok(Err(Halt::Refused(refused))) => return Ok(self.named.failure(&refused)),
            Err(_) => {
                let message =
                    format!("{} was not ready within {} s.", self.manner.shown, START_LIMIT.as_secs());
                return Err(Fault::passing(Layer::Agent, "agent_silent", message));
            }
        }
        let history = json!({ "acp_session": self.session, "backend": self.manner.backend });
        emitter.emit(AgentEvent::Conversation { history }).await;
        let mut prompt = format!("{}{}", self.expected.told(instruction), self.guides);
        for _ in 0..MAX_FOLLOW_UPS {
            self.vendor_session.asks(&self.model, emitter).await;
            let content = json!([{ "type": "text", "text": prompt }]);
            let params = json!({ "sessionId": self.session, "prompt": content });
            self.last_words.clear();
            let answer = self.request("session/prompt", params, emitter).await;
            self.end_turn(emitter).await;
            let answer = match answer {
                Ok(answer) => answer,
                Err(Halt::Fault(fault)) => return Err(fault),
                Err(Halt::Refused(refused)) => return Ok(self.named.failure(&refused)),
            };
            self.book(&answer, emitter).await;
            self.vendor_session.answered(None, emitter).await;
            let refusals = std::mem::take(&mut self.refusals);
            if answer["stopReason"] == "cancelled" && !refusals.is_empty() {
                // The protocol has no place for reasons.
                prompt = follow_up(&refusals);
                continue;
            }
            let outcome = self.named.outcome(&answer);
            match self.expected.settle(outcome, &self.last_words, emitter).await {
                Next::Ended(outcome) => return Ok(outcome),
                Next::Again(words) => prompt = words,
            }
        }
        let message = format!("{} was refused something in {MAX_FOLLOW_UPS} turns.", self.manner.shown);
        Err(Fault::passing(Layer::Agent, "agent_cancelled", message))
    }

    /// Asks something, and attends to whatever comes before the answer.
    async fn request(&mut self, method: &str, params: Value, emitter: &Emitter) -> Result<Value, Halt> {
        self.asked += 1;
        let asked = self.asked;
        self.talk.say(&json!({ "jsonrpc": "2.0", "id": asked, "method": method, "params": params })).await;
        loop {
            match self.next(emitter).await? {
                Message::Answered { id, answer } if id == asked => return answer.map_err(Halt::Refused),
                Message::Answered { .. } | Message::Silent => {}
                Message::Update(update) => self.update(*update, emitter).await,
                Message::Asks { id, asked } => {
                    self.flush(emitter).await;
                    if let Some(answer) = self.answer(&id, asked, emitter).await {
                        self.reply(&id, answer).await;
                    }
                }
                Message::Unknown(what) => self.unknown(&what, emitter).await,
            }
        }
    }

    async fn reply(&mut self, id: &Value, answer: Result<Value, Refused>) {
        let answer = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(Refused { code, message }) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        };
        self.talk.say(&answer).await;
    }

    /// The next thing that it says. Its terminals go on meanwhile.
    async fn next(&mut self, emitter: &Emitter) -> Result<Message, Halt> {
        loop {
            let first = match select(pin!(self.talk.hear()), pin!(self.terminals.ended())).await {
                Either::Left((heard, _)) => Either::Left(heard),
                Either::Right((answers, _)) => Either::Right(answers),
            };
            let heard = match first {
                Either::Left(heard) => heard,
                Either::Right(answers) => {
                    for (id, status) in answers {
                        self.reply(&id, Ok(status)).await;
                    }
                    continue;
                }
            };
            match heard {
                Heard::Message(message) => return Ok(Message::read(message)),
                Heard::Noise(text) => {
                    let message =
                        format!("{} said something that is not a message: {text}", self.manner.shown);
                    emitter.emit(AgentEvent::Trouble { message }).await;
                }
                Heard::End => return Err(Halt::Fault(crashed(&self.manner.shown, &mut self.talk).await)),
            }
        }
    }

    async fn unknown(&self, what: &str, emitter: &Emitter) {
        let message = format!("{} said something unknown to autonoe: {what}.", self.manner.shown);
        emitter.emit(AgentEvent::Trouble { message }).await;
    }

    async fn update(&mut self, update: SessionUpdate, emitter: &Emitter) {
        if self.is_replaying {
            return;
        }
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                self.say(Chunk::Text, block_text(&chunk.content), emitter).await;
            }
            SessionUpdate::AgentThoughtChunk(chunk) => {
                self.say(Chunk::Thought, block_text(&chunk.content), emitter).await;
            }
            SessionUpdate::ToolCall(call) => {
                self.flush(emitter).await;
                let steps = self.calls.announced(call);
                self.walk(steps, emitter).await;
            }
            SessionUpdate::ToolCallUpdate(update) => {
                self.flush(emitter).await;
                let steps = self.calls.updated(update);
                self.walk(steps, emitter).await;
            }
            SessionUpdate::UsageUpdate(update) => {
                let cost = update.cost.filter(|cost| cost.currency == "USD");
                self.cost = cost.map(|cost| Usd(cost.amount)).or(self.cost);
            }
            SessionUpdate::UserMessageChunk(_)
            | SessionUpdate::Plan(_)
            | SessionUpdate::AvailableCommandsUpdate(_)
            | SessionUpdate::CurrentModeUpdate(_)
            | SessionUpdate::ConfigOptionUpdate(_)
            | SessionUpdate::SessionInfoUpdate(_) => {}
            other => {
                let what = serde_json::to_value(&other).unwrap_or_default();
                let what = what["sessionUpdate"].as_str().unwrap_or("an update").to_owned();
                self.unknown(&what, emitter).await;
            }
        }
    }

    /// Takes a piece of what it says; the whole is told when something else comes.
    async fn say(&mut self, kind: Chunk, piece: String, emitter: &Emitter) {
        if self.said.as_ref().is_some_and(|(before, _)| *before != kind) {
            self.flush(emitter).await;
        }
        self.said.get_or_insert_with(|| (kind, String::new())).1.push_str(&piece);
        emitter.emit(AgentEvent::Chunk { kind, text: piece }).await;
    }

    async fn flush(&mut self, emitter: &Emitter) {
        match self.said.take() {
            Some((_, text)) if text.trim().is_empty() => {}
            Some((Chunk::Text, text)) => {
                self.last_words.clone_from(&text);
                emitter.emit(AgentEvent::Text { text }).await;
            }
            Some((Chunk::Thought, text)) => emitter.emit(AgentEvent::Thinking { text }).await,
            None => {}
        }
    }

    /// Tells what is new of a call, and has the gates judge one that nobody asked for.
    async fn walk(&mut self, steps: Steps, emitter: &Emitter) {
        if let Some(call) = steps.tell {
            emitter.emit(AgentEvent::ToolCall(call)).await;
        }
        if let Some(call) = steps.unasked
            && let Some(reason) = self.refusal(Some(&call)).await
        {
            self.refuse(&call.first.id, reason, emitter).await;
            let params = json!({ "sessionId": self.session });
            self.talk.say(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params })).await;
            return;
        }
        if let Some(Ended { id, name, mut content, is_error, terminals }) = steps.result {
            for terminal in terminals {
                content.push_str(&self.terminals.told(&terminal));
            }
            self.vendor_session.result(emitter, &id, &name, content, is_error).await;
        }
    }

    /// What the gates say against a call, which they must know.
    async fn refusal(&mut self, call: Option<&Translated>) -> Option<String> {
        let Some(Translated { first, others, cwd }) = call else {
            return Some("It cannot be told what this call would do.".to_owned());
        };
        for call in std::iter::once(first).chain(others) {
            let refusal = self.vendor_session.refusal(call, cwd.as_deref()).await;
            if refusal.is_some() {
                return refusal;
            }
        }
        None
    }

    /// Tells of a refusal, and keeps the reason for an agent that stops at it.
    async fn refuse(&mut self, id: &str, reason: String, emitter: &Emitter) {
        let name = self.calls.close(id);
        self.refusals.push(format!("{name}: {reason}"));
        self.vendor_session.result(emitter, id, &name, reason, true).await;
    }

    /// Tells of everything that has not ended and will not.
    async fn end_turn(&mut self, emitter: &Emitter) {
        self.flush(emitter).await;
        for Ended { id, name, content, is_error, .. } in self.calls.unfinished() {
            self.vendor_session.result(emitter, &id, &name, content, is_error).await;
        }
    }

    /// Tells what a turn used. An agent that tells nothing is not free: its cost is not known.
    async fn book(&mut self, answer: &Value, emitter: &Emitter) {
        let mut told = usage(answer);
        if told.is_empty() {
            told.push((None, Usage::default()));
        }
        let cost = self.cost.take();
        let mut rest = cost.map(|total| Usd((total.0 - self.booked.0).max(0.0)));
        self.booked = cost.unwrap_or(self.booked);
        for (model, usage) in told {
            let model = model.unwrap_or_else(|| self.model.clone());
            let cost_usd = match &mut rest {
                // All of it with the first model: it is not told for each.
                Some(rest) => Some(std::mem::take(rest)),
                None => self.settings.prices.cost(&model, &usage),
            };
            emitter.emit(AgentEvent::Usage(Usage { cost_usd, ..usage })).await;
        }
    }
}

/// Why a request has no answer to resume.
enum Halt {
    /// The agent answered with an error.
    Refused(Refused),
    /// It cannot go on.
    Fault(Fault),
}
