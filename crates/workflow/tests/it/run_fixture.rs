//! A fixture for runs of agents: their files, a scripted model, a memory that survives simulated kills, and a fake host. The
//! loop is the real one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::backend_chain::{BackendChain, ChainEntry, PhaseModels};
use autonoe_core::call_watch::NoCallWatch;
use autonoe_core::clock::Clock;
use autonoe_core::event::{AgentEvent, Event, RunEvent, Usage};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::instruction::Phase;
use autonoe_core::journal::{Journal, JournalRecord};
use autonoe_core::limits::Limits;
use autonoe_core::outcome::{RunReport, SessionEnd};
use autonoe_core::plan::{Iteration, PlanMemory, RunState, SessionOutput};
use autonoe_core::runner::{RunOptions, Runner};
use autonoe_core::sink::Sinks;
use autonoe_core::span::{SpanContext, TraceId};
use autonoe_workflow::definition::AgentDefinition;
use autonoe_workflow::{
    AgentResult, BuildOptions, CreatedAgent, HostCommandOutcome, HostEffects, IssueError, StartOptions,
    ValidatedDefinition, WebhookMessage, build, load, read_arguments,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Writes an agent's files and reads them back.
pub fn definition(agent: Value, steps: Value, prompts: &[(&str, &str)]) -> (TempDir, AgentDefinition) {
    let dir = tempfile::tempdir().expect("a directory");
    let name = agent["name"].as_str().unwrap_or("worker").to_owned();
    let directory = dir.path().join(&name);
    write(
        &directory,
        "agent.json",
        &with_defaults(agent, json!({"version": "1.0.0", "name": "worker", "description": "Works."})),
    );
    write(&directory, "steps.json", &with_defaults(steps, json!({"version": "1.0.0", "entryStep": "work"})));
    for (path, text) in prompts {
        let file = directory.join("prompts").join(path);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        std::fs::write(file, text).expect("a prompt");
    }
    let definition = load(&directory).expect("a readable definition");
    (dir, definition)
}

fn with_defaults(mut value: Value, defaults: Value) -> Value {
    for (name, default) in defaults.as_object().expect("an object") {
        if value.get(name).is_none() {
            value[name] = default.clone();
        }
    }
    value
}

fn write(directory: &Path, name: &str, value: &Value) {
    std::fs::create_dir_all(directory).expect("a directory");
    std::fs::write(directory.join(name), value.to_string()).expect("a file");
}

pub fn build_agent(definition: AgentDefinition, arguments: &[(&str, &str)]) -> Result<CreatedAgent, Fault> {
    let typed: Vec<(String, String)> =
        arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let arguments = read_arguments(&definition.agent, &typed)?;
    let options = BuildOptions {
        arguments,
        environment: &|_| None,
        input: None,
        has_gh: true,
        may_notify: &|_| Ok(()),
    };
    build(ValidatedDefinition::try_from(definition)?, options)
}

/// More sessions than any test needs, so that a run that never ends fails.
const MAX_SESSIONS: usize = 1_000;

/// What a session was request.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRequest {
    pub step: String,
    pub phase: Phase,
    pub text: String,
    pub history: Option<Value>,
    pub wants_answer: bool,
    /// The number of sessions that had ended before.
    pub ended: usize,
}

#[derive(Debug, Clone)]
pub struct ScriptedReply {
    pub text: String,
    pub answer: Option<Value>,
    pub outcome: SessionEnd,
}

/// A completed session with this text.
pub fn says(text: &str) -> ScriptedReply {
    ScriptedReply { text: text.to_owned(), answer: None, outcome: SessionEnd::Completed }
}

/// A completed session with this structured answer.
pub fn answers(answer: Value) -> ScriptedReply {
    ScriptedReply { text: String::new(), answer: Some(answer), outcome: SessionEnd::Completed }
}

/// A session with another end.
pub fn ends(outcome: SessionEnd) -> ScriptedReply {
    ScriptedReply { text: String::new(), answer: None, outcome }
}

type Replies = dyn Fn(usize, &SessionRequest) -> ScriptedReply + Send + Sync;

/// Backend, journal, memory and clock of a run. Clones share their state.
#[derive(Clone)]
pub struct RunFixture {
    state: Arc<Mutex<FixtureState>>,
    replies: Arc<Replies>,
    host: Arc<FakeHost>,
}

#[derive(Default)]
struct FixtureState {
    requests: Vec<SessionRequest>,
    events: Vec<RunEvent>,
    recorded_events: Vec<RunEvent>,
    saved: Option<Value>,
    last: Option<Iteration>,
    conversation: Option<Value>,
    sessions: u32,
    ended_sessions: usize,
    /// The number of writes after which the process is killed; `None` for never.
    kill_after: Option<usize>,
    writes: usize,
    slept: Duration,
}

/// Host effects with canned results. The last result of each list is repeated.
#[derive(Default)]
pub struct FakeHost {
    pub commands: Mutex<BTreeMap<String, Vec<HostCommandOutcome>>>,
    pub programs: Mutex<Vec<HostCommandOutcome>>,
    pub program_inputs: Mutex<Vec<Value>>,
    pub files: Mutex<BTreeMap<String, String>>,
    pub issue: Mutex<Vec<Result<String, IssueError>>>,
    pub messages: Mutex<Vec<WebhookMessage>>,
    pub notify_fault: Mutex<Option<Fault>>,
    /// If set, decides the outcome of every command.
    pub any_command: Mutex<Option<Box<dyn Fn() -> HostCommandOutcome + Send>>>,
}

/// A command that exits with a code and prints this.
pub fn exits(code: i32, output: &str) -> HostCommandOutcome {
    HostCommandOutcome { exit: Some(code), output: output.to_owned(), summary: format!("exit code {code}") }
}

#[async_trait]
impl HostEffects for FakeHost {
    async fn command(&self, command: &str, _: Duration) -> HostCommandOutcome {
        if let Some(decide) = self.any_command.lock().expect("no panic").as_ref() {
            return decide();
        }
        let mut commands = self.commands.lock().expect("no panic");
        let ends = commands.get_mut(command).unwrap_or_else(|| panic!("unexpected command `{command}`"));
        if ends.len() > 1 { ends.remove(0) } else { ends[0].clone() }
    }

    async fn program(&self, _: &str, input: &Value, _: Duration) -> HostCommandOutcome {
        self.program_inputs.lock().expect("no panic").push(input.clone());
        let mut ends = self.programs.lock().expect("no panic");
        if ends.len() > 1 { ends.remove(0) } else { ends[0].clone() }
    }

    async fn file(&self, path: &str) -> Result<Option<String>, Fault> {
        Ok(self.files.lock().expect("no panic").get(path).cloned())
    }

    async fn issue(&self, _: &str, _: &str) -> Result<String, IssueError> {
        let mut states = self.issue.lock().expect("no panic");
        if states.len() > 1 { states.remove(0) } else { states[0].clone() }
    }

    async fn notify(&self, message: &WebhookMessage) -> Result<(), Fault> {
        if let Some(fault) = self.notify_fault.lock().expect("no panic").clone() {
            return Err(fault);
        }
        self.messages.lock().expect("no panic").push(message.clone());
        Ok(())
    }
}

pub struct FinishedRun {
    pub report: RunReport,
    pub result: AgentResult,
}

impl FinishedRun {
    /// The code of the fault that ended the run; empty if there is none.
    pub fn code(&self) -> &str {
        self.report.outcome.fault().map_or("", |fault| &fault.code)
    }

    /// The steps in the order in which they ended.
    pub fn path(&self) -> Vec<String> {
        self.report.plan.steps().expect("an agent").path.clone()
    }
}

impl RunFixture {
    pub fn new(replies: impl Fn(usize, &SessionRequest) -> ScriptedReply + Send + Sync + 'static) -> Self {
        Self { state: Arc::default(), replies: Arc::new(replies), host: Arc::default() }
    }

    /// Sessions give these replies in order, and repeat the last one.
    pub fn replying(replies: Vec<ScriptedReply>) -> Self {
        Self::new(move |number, _| replies[number.min(replies.len() - 1)].clone())
    }

    pub fn host(&self) -> &FakeHost {
        &self.host
    }

    /// Simulates a kill of the process after this many more writes.
    pub fn kill_after(&self, writes: usize) {
        let mut state = self.state.lock().expect("no panic");
        (state.kill_after, state.writes) = (Some(writes), 0);
    }

    pub fn stay_alive(&self) {
        self.state.lock().expect("no panic").kill_after = None;
    }

    pub fn requests(&self) -> Vec<SessionRequest> {
        self.state.lock().expect("no panic").requests.clone()
    }

    pub fn events(&self) -> Vec<RunEvent> {
        self.state.lock().expect("no panic").events.clone()
    }

    pub fn recorded_events(&self) -> Vec<RunEvent> {
        self.state.lock().expect("no panic").recorded_events.clone()
    }

    pub fn ended_sessions(&self) -> usize {
        self.state.lock().expect("no panic").ended_sessions
    }

    pub fn saved(&self) -> Option<Value> {
        self.state.lock().expect("no panic").saved.clone()
    }

    pub fn start_options(&self, resumes: bool) -> StartOptions {
        let state = Arc::clone(&self.state);
        StartOptions {
            memory: Arc::new(self.clone()),
            host: Arc::clone(&self.host) as _,
            on_event: Box::new(move |event| state.lock().expect("no panic").events.push(event.clone())),
            resumes,
        }
    }

    /// Runs an agent from its start.
    pub async fn run(&self, agent: CreatedAgent) -> FinishedRun {
        self.run_or_resume(agent, false).await.expect("the agent starts")
    }

    pub async fn run_or_resume(&self, agent: CreatedAgent, resumes: bool) -> Result<FinishedRun, Fault> {
        let mut started = agent.start(self.start_options(resumes)).await?;
        let sinks = Sinks::new(Vec::new());
        let models = PhaseModels { plan: "model".into(), work: "model".into() };
        let sessions = self.state.lock().expect("no panic").sessions;
        let runner = Runner {
            plan: started.plan(),
            backend_chain: BackendChain::new(ChainEntry::new(self, models), Vec::new()),
            gates: &|_, _, _| Vec::new(),
            journal: self,
            sinks: &sinks,
            clock: self,
            interrupt: CancellationToken::new(),
            halt: Default::default(),
            steering: Default::default(),
            options: RunOptions {
                limits: Limits::default(),
                session_delay: Duration::ZERO,
                ..RunOptions::default()
            },
            workers: 1,
            span: SpanContext::run(1, TraceId(1)),
            resume: None,
            call_watch: &|| Box::new(NoCallWatch),
        };
        let report = runner.run(RunState { sessions, ..RunState::default() }).await;
        let result = started.stop(&report.outcome);
        Ok(FinishedRun { report, result })
    }

    /// Counts a write; fails if the process is killed before it.
    fn write(&self) -> Result<(), Fault> {
        let mut state = self.state.lock().expect("no panic");
        state.writes += 1;
        match state.kill_after {
            Some(limit) if state.writes > limit => {
                Err(Fault::permanent(FaultLayer::Store, "killed", "The process was killed."))
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[async_trait]
impl Backend for RunFixture {
    fn name(&self) -> &str {
        "fixture"
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        Ok(Box::new(FixtureAgent { fixture: self.clone(), spec }))
    }
}

struct FixtureAgent {
    fixture: RunFixture,
    spec: SessionSpec,
}

#[async_trait]
impl Agent for FixtureAgent {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        let mut request = SessionRequest {
            step: instruction.step.clone().unwrap_or_default(),
            phase: self.spec.phase,
            text: instruction.text,
            history: self.spec.history.clone(),
            wants_answer: self.spec.answer_schema.is_some(),
            ended: 0,
        };
        let number = {
            let mut state = self.fixture.state.lock().expect("no panic");
            request.ended = state.ended_sessions;
            state.requests.push(request.clone());
            state.requests.len() - 1
        };
        assert!(number < MAX_SESSIONS, "the run does not end");
        let reply = (self.fixture.replies)(number, &request);
        let mut events = vec![AgentEvent::Conversation { history: json!({ "after": number + 1 }) }];
        if !reply.text.is_empty() {
            events.push(AgentEvent::Text { text: reply.text });
        }
        events.extend(reply.answer.map(|value| AgentEvent::Answer { value }));
        events.push(AgentEvent::End { outcome: reply.outcome });
        Box::pin(futures::stream::iter(events))
    }

    async fn dispose(self: Box<Self>) -> Vec<String> {
        Vec::new()
    }
}

#[async_trait]
impl Journal for RunFixture {
    async fn record(&self, record: JournalRecord) -> Result<(), Fault> {
        self.write()?;
        let mut state = self.state.lock().expect("no panic");
        match record {
            JournalRecord::SessionStarted { number, .. } => state.sessions = number,
            JournalRecord::SessionEnded { number, outcome, spent, duration, output, .. } => {
                state.ended_sessions += 1;
                let output = output.map(|output| *output).unwrap_or_default();
                let instruction = Instruction::of_step(Phase::Step, "", String::new());
                let (backend, model) = ("scripted".to_owned(), "scripted".to_owned());
                let worker = 0;
                state.last = Some(Iteration {
                    number,
                    worker,
                    backend,
                    model,
                    instruction,
                    outcome,
                    spent,
                    duration,
                    output,
                });
            }
            JournalRecord::QuotaWait(_)
            | JournalRecord::Outage(_)
            | JournalRecord::OutageOver
            | JournalRecord::RunEnded(_) => {}
        }
        Ok(())
    }

    async fn event(&self, _: u32, _: &Event) -> Result<(), Fault> {
        Ok(())
    }

    async fn conversation(&self, _: u32, history: &Value) -> Result<(), Fault> {
        self.state.lock().expect("no panic").conversation = Some(history.clone());
        Ok(())
    }

    async fn cost(&self, _: u32, _: &Usage) -> Result<(), Fault> {
        Ok(())
    }
}

#[async_trait]
impl PlanMemory for RunFixture {
    async fn load(&self) -> Result<Option<Value>, Fault> {
        Ok(self.saved())
    }

    async fn load_earlier(&self) -> Result<Option<Value>, Fault> {
        Ok(None)
    }

    async fn load_all(&self) -> Result<Vec<Value>, Fault> {
        Ok(Vec::new())
    }

    async fn save(&self, state: &Value) -> Result<(), Fault> {
        self.write()?;
        self.state.lock().expect("no panic").saved = Some(state.clone());
        Ok(())
    }

    async fn recovery(&self) -> Result<Option<Value>, Fault> {
        Ok(None)
    }

    async fn earlier_recovery(&self) -> Result<Option<Value>, Fault> {
        Ok(None)
    }

    async fn save_recovery(&self, _state: &Value, _events: &[RunEvent]) -> Result<(), Fault> {
        self.write()
    }

    async fn record_event(&self, event: &RunEvent) -> Result<(), Fault> {
        self.state.lock().expect("no panic").recorded_events.push(event.clone());
        Ok(())
    }

    async fn last_answer(&self, _: Phase) -> Result<Option<Iteration>, Fault> {
        Ok(None)
    }

    async fn last_session(&self) -> Result<Option<Iteration>, Fault> {
        Ok(self.state.lock().expect("no panic").last.clone())
    }

    async fn conversation(&self) -> Result<Option<Value>, Fault> {
        Ok(self.state.lock().expect("no panic").conversation.clone())
    }
}

#[async_trait]
impl Clock for RunFixture {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn monotonic(&self) -> Duration {
        self.state.lock().expect("no panic").slept
    }

    async fn sleep(&self, duration: Duration) {
        self.state.lock().expect("no panic").slept += duration;
        tokio::task::yield_now().await;
    }

    fn jitter(&self) -> f64 {
        0.0
    }
}

/// A session output with this text.
pub fn output(text: &str) -> SessionOutput {
    SessionOutput { text: text.to_owned(), ..SessionOutput::default() }
}
