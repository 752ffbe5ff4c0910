//! Codex: the vendor's own binary, driven over its app server. It asks before commands, changes of files and the tools of
//! MCP servers, and our gates answer; its own settings are ours, the user's and the repository's are left out. A Codex whose
//! app server does not answer is driven by `exec`, where that is safe.

mod approval;
mod config;
mod deeds;
mod ending;
mod exec;
mod item;
mod message;
mod shell;
mod strict;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::event::{AgentEvent, Usage};
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::instruction::Phase;
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::DeliverableService;
use autonoe_sandbox::Layer as SandboxLayer;
use futures::future::{Either, select};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answer::{Expected, Next};
use crate::emit::{Emitter, events, model_failure};
use crate::guides;
use crate::vendor::{
    EXIT_LIMIT, Heard, JsonLineProcess, Reach, SERVER, Start, VendorSession, VendorSettings, conclude,
    crashed,
};
use config::Asks;
pub use config::UserProvider;
use item::Deed;
use message::Message;

/// What it is called.
pub const NAME: &str = "codex";

/// How long it may take to be ready.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How long further MCP servers are waited for: what it works without at first, the model does not know of.
const GATHERING: Duration = Duration::from_secs(5);

/// Where it keeps rules of its own for commands that need no question.
const RULES: &str = "rules";

/// Budgets up to this many tokens ask for low effort.
const LOW_UP_TO: u32 = 4_096;

/// Budgets up to this many tokens ask for medium effort, larger ones for high effort.
const MEDIUM_UP_TO: u32 = 16_384;

/// The code of JSON-RPC for a method that is not known.
const UNKNOWN_METHOD: i32 = -32_601;

/// The codes of faults by which an app server shows that it does not speak our protocol.
const NO_SERVER: [&str; 2] = ["agent_crashed", "agent_protocol"];

/// Opens sessions of Codex.
pub struct CodexBackend {
    settings: VendorSettings,
    deliverables: Arc<DeliverableService>,
}

impl CodexBackend {
    /// A backend whose agents work on deliverables through the given service.
    pub fn new(settings: VendorSettings, deliverables: Arc<DeliverableService>) -> Self {
        Self { settings, deliverables }
    }
}

#[async_trait]
impl Backend for CodexBackend {
    fn name(&self) -> &str {
        NAME
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        let expected = Expected::new(spec.answer)?;
        let Start { launch, reach, mut vendor_session } =
            self.settings.prepare("Codex", spec.gates, spec.phase, &self.deliverables).await?;
        let told = config::config(&self.settings, &vendor_session.server, reach.as_ref(), Asks::Always);
        self.settings.write("config.toml", &told)?;
        forget_rules(&self.settings.home)?;
        let env = env(&self.settings, reach.as_ref());
        let talk = match JsonLineProcess::start(launch.args(["app-server"]).envs(env)) {
            Ok(talk) => talk,
            Err(error) => {
                vendor_session.close().await;
                let message = format!("Codex cannot be started: {error}.");
                return Err(Fault::passing(Layer::System, "agent_not_started", message));
            }
        };
        let history = spec.history.unwrap_or_default();
        Ok(Box::new(CodexAgent {
            talk,
            vendor_session,
            expected,
            guides: guides::read(&self.settings.root),
            history: history["codex_thread"].as_str().map(str::to_owned),
            phase: spec.phase,
            reach,
            model: spec.model,
            effort: spec.thinking.map(effort),
            settings: self.settings.clone(),
            seen: Seen { booked: exec::booked(&history), ..Seen::default() },
        }))
    }
}

/// What it is told by the environment.
fn env(settings: &VendorSettings, reach: Option<&Reach>) -> Vec<(&'static str, String)> {
    let mut env = vec![("CODEX_HOME", settings.home.display().to_string())];
    env.extend(reach.and_then(|reach| reach.key.clone()).map(|key| (config::KEY_VARIABLE, key)));
    env
}

/// Rules that an earlier session left behind would let commands past our gates.
fn forget_rules(home: &Path) -> Result<(), Fault> {
    match fs::remove_dir_all(home.join(RULES)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let message = format!("{} cannot be removed: {error}.", home.join(RULES).display());
            Err(Fault::lasting(Layer::System, "agent_home", message))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// How much it should think.
fn effort(tokens: u32) -> &'static str {
    if tokens <= LOW_UP_TO {
        "low"
    } else if tokens <= MEDIUM_UP_TO {
        "medium"
    } else {
        "high"
    }
}

/// One session of Codex.
struct CodexAgent {
    talk: JsonLineProcess,
    vendor_session: VendorSession,
    expected: Expected,
    guides: String,
    /// The conversation to resume.
    history: Option<String>,
    phase: Phase,
    reach: Option<Reach>,
    model: String,
    effort: Option<&'static str>,
    settings: VendorSettings,
    seen: Seen,
}

/// What has been seen of a session so far.
#[derive(Default)]
struct Seen {
    /// How many requests we have made.
    requests: u64,
    thread: String,
    turn: String,
    /// The model that it named.
    model: String,
    /// The MCP servers that have started or failed to.
    served: HashSet<String>,
    /// Why the one with the deliverable tools failed to.
    toolless: Option<String>,
    /// What was begun and has not ended.
    open: BTreeMap<String, Deed>,
    /// Whether something has ended that the model asked for in this call, so that it will be asked again.
    is_owed: bool,
    /// Why a deed was refused.
    refusals: HashMap<String, String>,
    /// Answers that wait until Codex has taken in why it is refused, by the request that tells it.
    refusing: HashMap<u64, Value>,
    /// What was last said of the user's limits.
    limits: Option<Value>,
    /// What it said last.
    said: String,
    /// What is booked of the conversation, where only its total is told.
    booked: Usage,
}

#[async_trait]
impl Agent for CodexAgent {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        events(|emitter| async move {
            let ended = self.work(instruction.text, &emitter).await;
            conclude(ended, Some(EXIT_LIMIT), &mut self.talk, &mut self.vendor_session, &emitter).await;
        })
    }

    async fn dispose(mut self: Box<Self>) -> Vec<String> {
        self.vendor_session.close().await
    }
}

impl CodexAgent {
    /// From the instruction to the end of the turn.
    async fn work(&mut self, instruction: String, emitter: &Emitter) -> Result<SessionEnd, Fault> {
        match in_time(self.greet(emitter)).await {
            Err(fault) if NO_SERVER.contains(&fault.code.as_str()) && self.needs_no_approval() => {
                return self.exec(instruction, &fault, emitter).await;
            }
            greeted => greeted?,
        }
        in_time(self.begin(instruction, emitter)).await?;
        loop {
            let message = self.next(emitter).await?;
            let Some(outcome) = self.take(message, emitter).await else { continue };
            self.vendor_session.answered(model_failure(&outcome), emitter).await;
            match self.expected.settle(outcome, &self.seen.said, emitter).await {
                Next::Ended(outcome) => return Ok(outcome),
                Next::Again(words) => self.turn(words, emitter).await?,
            }
        }
    }

    /// Until it has answered that it speaks our protocol.
    async fn greet(&mut self, emitter: &Emitter) -> Result<(), Fault> {
        let client = json!({ "name": "autonoe", "title": "Autonoe", "version": env!("CARGO_PKG_VERSION") });
        self.ask("initialize", json!({ "clientInfo": client }), emitter).await?.map_err(not_understood)?;
        self.talk.say(&json!({ "method": "initialized" })).await;
        Ok(())
    }

    /// Until it works on the instruction.
    async fn begin(&mut self, instruction: String, emitter: &Emitter) -> Result<(), Fault> {
        let started = self.conversation(emitter).await?;
        self.seen.thread = started["thread"]["id"].as_str().unwrap_or_default().to_owned();
        self.seen.model = started["model"].as_str().unwrap_or(&self.model).to_owned();
        self.gather(emitter).await?;

        self.turn(self.prompt(instruction), emitter).await?;
        let history = json!({ "codex_thread": self.seen.thread });
        emitter.emit(AgentEvent::Conversation { history }).await;
        Ok(())
    }

    /// Waits for its MCP servers: for the deliverable tools until they are there, for others a while.
    async fn gather(&mut self, emitter: &Emitter) -> Result<(), Fault> {
        let deadline = Instant::now() + GATHERING;
        let deliverables = Arc::clone(&self.vendor_session.deliverables);
        // The deliverable tools are one more.
        while self.seen.served.len() < self.settings.servers.len() + 1 {
            let message = if self.vendor_session.has_tools() || self.seen.toolless.is_some() {
                match tokio::time::timeout_at(deadline, self.next(emitter)).await {
                    Ok(message) => message,
                    Err(_) => break,
                }
            } else {
                match select(pin!(self.next(emitter)), pin!(deliverables.loaded())).await {
                    Either::Left((message, _)) => message,
                    Either::Right(_) => continue,
                }
            };
            // Nothing that was begun can end yet.
            let _ = self.take(message?, emitter).await;
        }
        match self.seen.toolless.take() {
            Some(why) if !self.vendor_session.has_tools() => {
                Err(self.vendor_session.tools_missing(Some(&why)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Has it begin to work on something.
    async fn turn(&mut self, text: String, emitter: &Emitter) -> Result<(), Fault> {
        let mut turn = json!({ "threadId": self.seen.thread, "input": [{ "type": "text", "text": text }] });
        if let Some(effort) = self.effort {
            turn["effort"] = json!(effort);
        }
        if let Some(schema) = self.strict_schema() {
            turn["outputSchema"] = schema.clone();
        }
        self.seen.said.clear();
        let turn = self.ask("turn/start", turn, emitter).await?.map_err(not_understood)?;
        self.seen.turn = turn["turn"]["id"].as_str().unwrap_or_default().to_owned();
        self.asks(emitter).await;
        Ok(())
    }

    /// The instruction, and what it must know beside it.
    fn prompt(&self, instruction: String) -> String {
        let told = match self.strict_schema() {
            Some(_) => instruction,
            None => self.expected.told(instruction),
        };
        format!("{told}{}", self.guides)
    }

    /// The form of the answer, if the service can hold the model to it.
    fn strict_schema(&self) -> Option<&Value> {
        self.expected.schema().filter(|schema| strict::is_strict(schema))
    }

    /// Begins a conversation, or resumes one.
    async fn conversation(&mut self, emitter: &Emitter) -> Result<Value, Fault> {
        // Its own sandbox cannot be built within ours.
        let sandbox = match self.settings.room_config.sandbox.layer() {
            SandboxLayer::None => "workspace-write",
            SandboxLayer::Bubblewrap | SandboxLayer::Landlock | SandboxLayer::Seatbelt => {
                "danger-full-access"
            }
        };
        let mut params = json!({
            "cwd": self.settings.root, "model": self.model, "approvalPolicy": "untrusted", "sandbox": sandbox,
        });
        match self.history.take() {
            None => self.ask("thread/start", params, emitter).await?.map_err(not_understood),
            Some(thread) => {
                params["threadId"] = json!(thread);
                self.ask("thread/resume", params, emitter).await?.map_err(|error| {
                    let message = format!("Codex cannot resume the conversation {thread}: {error}.");
                    // The next try begins a new one.
                    Fault::passing(Layer::Agent, "conversation_lost", message)
                })
            }
        }
    }

    /// Asks for something and waits for the answer, or for the words in which it is refused.
    async fn ask(
        &mut self,
        method: &str,
        params: Value,
        emitter: &Emitter,
    ) -> Result<Result<Value, String>, Fault> {
        let request = self.request(method, params).await;
        loop {
            match self.next(emitter).await? {
                Message::Answered { id, result } if id == request => return Ok(result),
                other => {
                    if let Some(outcome) = self.take(other, emitter).await {
                        return Err(outcome.fault().cloned().unwrap_or_else(|| {
                            let message = format!("Codex ended early: {}.", outcome.name());
                            Fault::passing(Layer::Agent, "agent_crashed", message)
                        }));
                    }
                }
            }
        }
    }

    /// Makes a request; its answer will be heard.
    async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.seen.requests += 1;
        let id = self.seen.requests;
        self.talk.say(&json!({ "id": id, "method": method, "params": params })).await;
        id
    }

    async fn next(&mut self, emitter: &Emitter) -> Result<Message, Fault> {
        loop {
            match self.talk.hear().await {
                Heard::Message(message) => return Ok(Message::read(&message)),
                Heard::Noise(text) => {
                    let message = format!("Codex said something that is not a message: {text}");
                    emitter.emit(AgentEvent::Trouble { message }).await;
                }
                Heard::End => return Err(crashed("Codex", &mut self.talk).await),
            }
        }
    }

    /// Acts on one message; the outcome, if it is the last one.
    async fn take(&mut self, message: Message, emitter: &Emitter) -> Option<SessionEnd> {
        let trouble = |message| emitter.emit(AgentEvent::Trouble { message });
        match message {
            Message::Begun(item) => self.begun(item, emitter).await,
            Message::Done(item) => self.done(item, emitter).await,
            Message::Asks { request, asked } => self.answer(request, asked).await,
            Message::AsksWhatWeDoNotKnow { request, what } => {
                let error =
                    json!({ "code": UNKNOWN_METHOD, "message": format!("autonoe does not know `{what}`") });
                self.talk.say(&json!({ "id": request, "error": error })).await;
                trouble(format!("Codex asked for something unknown to autonoe: {what}.")).await;
            }
            Message::Answered { id, result } => {
                if let Some(answer) = self.seen.refusing.remove(&id) {
                    self.talk.say(&answer).await;
                }
                if let Err(error) = result {
                    trouble(format!("Codex could not be told why something was refused: {error}.")).await;
                }
            }
            Message::Spent { turn, usage } if turn == self.seen.turn => {
                let cost_usd = self.settings.prices.cost(&self.model, &usage);
                self.asks(emitter).await;
                let is_owed = std::mem::take(&mut self.seen.is_owed);
                emitter.emit(AgentEvent::Usage(Usage { cost_usd, ..usage })).await;
                // It is told once for each call of the model, when the tools that were called for have ended too.
                self.vendor_session.answered(None, emitter).await;
                if is_owed && self.seen.open.is_empty() {
                    self.asks(emitter).await;
                }
            }
            Message::Limits(limits) => self.seen.limits = Some(limits),
            Message::Retries(words) => trouble(format!("Codex tries again: {words}.")).await,
            Message::Warns(words) => trouble(format!("Codex warns: {words}.")).await,
            Message::Served { name, error } => {
                if let Some(error) = error {
                    trouble(format!("Codex warns: the MCP server {name} does not start: {error}.")).await;
                    self.seen.toolless = self.seen.toolless.take().or((name == SERVER).then_some(error));
                }
                self.seen.served.insert(name);
            }
            Message::Ended { thread, ending } if thread == self.seen.thread => {
                self.end_what_is_open(emitter).await;
                return Some(ending.outcome(self.seen.limits.as_ref()));
            }
            // What was spent earlier in a conversation, and the ends of others.
            Message::Spent { .. } | Message::Ended { .. } | Message::Silent => {}
            Message::Unknown(what) => {
                trouble(format!("Codex said something unknown to autonoe: {what}.")).await;
            }
        }
        None
    }
}

/// What does not take longer than it may.
async fn in_time(ready: impl Future<Output = Result<(), Fault>>) -> Result<(), Fault> {
    tokio::time::timeout(START_LIMIT, ready).await.unwrap_or_else(|_| {
        let message = format!("Codex was not ready within {} s.", START_LIMIT.as_secs());
        Err(Fault::passing(Layer::Agent, "agent_silent", message))
    })
}

fn not_understood(error: String) -> Fault {
    let message = format!("Codex does not take what it is asked: {error}.");
    Fault::lasting(Layer::Agent, "agent_protocol", message)
        .hint("Update Codex; `autonoe doctor` tells the oldest version that is known to work.")
}
