//! The native agent: our own turn loop over a model and the built-in tools.
//!
//! A turn is: the model replies, its calls are put to the gates, what they allow is carried out, the
//! results go back. It ends when the model asks for nothing more.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::event::{Activity, Event};
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::files::FileRules;
use autonoe_core::gate::{Gate, Ruling, ToolCall, ask};
use autonoe_core::instruction::InstructionName;
use autonoe_core::outcome::Outcome;
use autonoe_deliverables::{Caller, DeliverableService, tools_for};
use autonoe_model::{Call, Conversation, Model, Progress, Provider, Reply, Stop, ToolDefinition, Tuning};
use autonoe_sandbox::{Premises, Quarters, Refusal};
use autonoe_tools::{Tool, ToolContext, ToolOutput, ToolSpec, Workspace, builtin};
use tokio_util::sync::CancellationToken;

use crate::emit::{Emitter, events};

/// Turns of one session before it is ended; a session that needs more has lost its way.
const MAX_TURNS: u32 = 250;

const SYSTEM_PROMPT: &str = include_str!("native/system.md");

const CUT_OFF: &str = "Your reply was cut off at the output limit. Go on where you were, in smaller steps.";

/// What the native backend is made from.
#[derive(Clone)]
pub struct NativeSettings {
    /// The project's directory.
    pub root: PathBuf,
    /// The model provider, or why there is none; that matters only once a session is opened.
    pub provider: Result<Provider, Fault>,
    /// How model calls are made; thinking is set per session.
    pub tuning: Tuning,
    /// Where the children of tools run.
    pub premises: Premises,
    /// The rules that files are put to when a tool opens them.
    pub file_rules: PhaseRules,
}

/// The file rules of each phase.
pub type PhaseRules = Arc<dyn Fn(InstructionName) -> Arc<dyn FileRules> + Send + Sync>;

/// Opens native agents.
pub struct NativeBackend {
    settings: NativeSettings,
    deliverables: Arc<DeliverableService>,
}

impl NativeBackend {
    /// A backend whose agents work on deliverables through the given service.
    pub fn new(settings: NativeSettings, deliverables: Arc<DeliverableService>) -> Self {
        Self { settings, deliverables }
    }
}

#[async_trait]
impl Backend for NativeBackend {
    fn name(&self) -> &str {
        "native"
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        let settings = &self.settings;
        let tuning = Tuning { thinking: spec.thinking, ..settings.tuning.clone() };
        let model = Model::anthropic(settings.provider.clone()?, &spec.model, &tuning)?;
        let quarters = Arc::new(Quarters::new(settings.premises.clone()));
        let rules = (settings.file_rules)(spec.phase);
        let workspace = Workspace::new(&settings.root, Arc::clone(&quarters), rules)
            .map_err(|error| Fault::lasting(Layer::System, "workspace", error.to_string()))?;
        self.deliverables.enter(spec.phase);
        let caller: Arc<dyn Caller> = Arc::clone(&self.deliverables) as _;
        let tools = builtin(Arc::new(workspace)).into_iter().chain(tools_for(spec.phase, &caller));
        let tools = tools.map(|tool| (tool.spec(), tool)).collect();
        let system = SYSTEM_PROMPT.replace("{project}", &settings.root.display().to_string());
        Ok(Box::new(NativeAgent { model, tools, quarters, gates: spec.gates, system, stop: spec.stop }))
    }
}

/// One opened native agent.
struct NativeAgent {
    model: Model,
    tools: Vec<(ToolSpec, Arc<dyn Tool>)>,
    quarters: Arc<Quarters>,
    gates: Vec<Arc<dyn Gate>>,
    system: String,
    stop: CancellationToken,
}

#[async_trait]
impl Agent for NativeAgent {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        events(|emitter| async move {
            let outcome = self.work(instruction, &emitter).await;
            for message in self.quarters.close().await {
                emitter.emit(Event::Trouble { message }).await;
            }
            emitter.emit(Event::End { outcome }).await;
        })
    }

    async fn dispose(self: Box<Self>) {
        self.stop.cancel();
        // After an interrupt the stream was dropped before its end; nobody is listening any more.
        self.quarters.close().await;
    }
}

impl NativeAgent {
    async fn work(&self, instruction: Instruction, emitter: &Emitter) -> Outcome {
        let mut conversation = Conversation::new(&self.system, self.definitions(), instruction.text);
        for _ in 0..MAX_TURNS {
            let reply = match self.ask(&conversation, emitter).await {
                Ok(reply) => reply,
                Err(outcome) => return outcome,
            };
            match (reply.stop, reply.calls.is_empty()) {
                (Stop::Refused, _) => return refused(),
                (Stop::Natural | Stop::OutputLimit, false) => {
                    let results = self.carry_out(&reply.calls, emitter).await;
                    conversation.answer(reply, results);
                }
                (Stop::OutputLimit, true) => conversation.go_on(reply, CUT_OFF),
                (Stop::Natural, true) => return Outcome::Completed,
            }
        }
        Outcome::MaxTurns
    }

    fn definitions(&self) -> Vec<ToolDefinition> {
        let specs = self.tools.iter().map(|(spec, _)| spec.clone());
        specs
            .map(|spec| ToolDefinition {
                name: spec.name,
                description: spec.description,
                input_schema: spec.input_schema,
            })
            .collect()
    }

    /// Has the model reply, and tells what it said and what that cost.
    async fn ask(&self, conversation: &Conversation, emitter: &Emitter) -> Result<Reply, Outcome> {
        emitter.emit(Event::ModelAsked { model: self.model.name().to_owned() }).await;
        let reply = self.model.reply(conversation, &|progress| tell(emitter, progress)).await;
        let fault = match &reply {
            Ok(reply) => {
                self.report(reply, emitter).await;
                None
            }
            Err(Outcome::ExecutionError { fault }) => Some(fault.clone()),
            Err(_) => None,
        };
        emitter.emit(Event::ModelDone { fault }).await;
        reply
    }

    /// Tells what the model said and what that cost, before anything is done about it.
    async fn report(&self, reply: &Reply, emitter: &Emitter) {
        if let Some(text) = reply.thinking.clone() {
            emitter.emit(Event::Thinking { text }).await;
        }
        if let Some(text) = reply.text.clone() {
            emitter.emit(Event::Text { text }).await;
        }
        emitter.emit(Event::Usage(reply.usage)).await;
    }

    /// Carries out the calls one after the other and returns each result with its call's id.
    async fn carry_out(&self, calls: &[Call], emitter: &Emitter) -> Vec<(String, String)> {
        let mut results = Vec::with_capacity(calls.len());
        for call in calls {
            let call =
                ToolCall { id: call.id.clone(), name: call.name.clone(), input: call.arguments.clone() };
            emitter.emit(Event::ToolCall(call.clone())).await;
            let (output, denied_by) = self.call(&call).await;
            emitter
                .emit(Event::ToolResult {
                    id: call.id.clone(),
                    name: call.name,
                    content: output.content.clone(),
                    is_error: output.is_error,
                    denied_by,
                })
                .await;
            for refusal in self.quarters.refusals().await {
                emitter.emit(host_refused(&refusal, self.quarters.how_to_allow())).await;
            }
            let content = if output.content.is_empty() { "(no output)".to_owned() } else { output.content };
            results.push((call.id, content));
        }
        results
    }

    /// Asks the gates and, if they allow it, calls the tool.
    async fn call(&self, call: &ToolCall) -> (ToolOutput, Option<String>) {
        let Some((_, tool)) = self.tools.iter().find(|(spec, _)| spec.name == call.name) else {
            let names: Vec<_> = self.tools.iter().map(|(spec, _)| spec.name.as_str()).collect();
            let message = format!("There is no tool '{}'. There are: {}.", call.name, names.join(", "));
            return (ToolOutput::error(message), None);
        };
        if !call.input.is_object() {
            return (ToolOutput::error("The arguments are not a JSON object; send them again."), None);
        }
        match ask(&self.gates, call).await {
            Ruling::Denied { gate, reason } => (ToolOutput::error(format!("Denied: {reason}")), Some(gate)),
            Ruling::Allowed => {
                let context = ToolContext::new(self.stop.child_token());
                (tool.call(call.input.clone(), &context).await, None)
            }
        }
    }
}

fn tell(emitter: &Emitter, progress: Progress) {
    emitter.tell(match progress {
        Progress::Thinking => Event::Working { activity: Activity::Thinking },
        Progress::Responding => Event::Working { activity: Activity::Responding },
        Progress::Retrying { retry, pause, fault } => Event::Trouble {
            message: format!("{} Retry {retry} in {:.1} s.", fault.message, pause.as_secs_f64()),
        },
    });
}

fn host_refused(refusal: &Refusal, how_to_allow: &str) -> Event {
    let message = format!("A command was kept from the network: {refusal} {how_to_allow}");
    Event::HostRefused { host: refusal.host.clone(), port: refusal.port, message }
}

fn refused() -> Outcome {
    let fault =
        Fault::passing(Layer::Model, "refused", "The model service refused to answer on grounds of content.");
    Outcome::ExecutionError { fault }
}
