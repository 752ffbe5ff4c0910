//! A stage for agents: their files, a model that answers from a script, a memory that outlives their processes, and an outside
//! that is what a test says. The loop on it is the real one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use autonoe_core::agent::{Agent, Backend, EventStream, Instruction, SessionSpec};
use autonoe_core::backend_chain::{BackendChain, ChainEntry, Models};
use autonoe_core::clock::Clock;
use autonoe_core::event::{AgentEvent, Event, RunEvent, Usage};
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::instruction::Phase;
use autonoe_core::journal::{Journal, Record};
use autonoe_core::limits::Limits;
use autonoe_core::outcome::{RunReport, SessionEnd};
use autonoe_core::plan::{Iteration, PlanMemory, RunState, Said};
use autonoe_core::runner::{RunOptions, Runner};
use autonoe_core::sink::Sinks;
use autonoe_core::span::{SpanContext, TraceId};
use autonoe_workflow::definition::AgentDefinition;
use autonoe_workflow::{
    AgentResult, BuildOptions, CommandEnd, Created, HostEffects, Notice, StartOptions, Validated, build,
    load, read_arguments,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Writes an agent's files and reads them back.
pub fn definition(agent: Value, steps: Value, prompts: &[(&str, &str)]) -> (TempDir, AgentDefinition) {
    let place = tempfile::tempdir().expect("a directory");
    let name = agent["name"].as_str().unwrap_or("worker").to_owned();
    let directory = place.path().join(&name);
    write(
        &directory,
        "agent.json",
        &with_usual(agent, json!({"version": "1.0.0", "name": "worker", "description": "Works."})),
    );
    write(&directory, "steps.json", &with_usual(steps, json!({"version": "1.0.0", "entryStep": "work"})));
    for (path, text) in prompts {
        let file = directory.join("prompts").join(path);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        std::fs::write(file, text).expect("a prompt");
    }
    let definition = load(&directory).expect("a definition that can be read");
    (place, definition)
}

fn with_usual(mut value: Value, usual: Value) -> Value {
    for (name, usual) in usual.as_object().expect("an object") {
        if value.get(name).is_none() {
            value[name] = usual.clone();
        }
    }
    value
}

fn write(directory: &Path, name: &str, value: &Value) {
    std::fs::create_dir_all(directory).expect("a directory");
    std::fs::write(directory.join(name), value.to_string()).expect("a file");
}

/// An agent that is ready to be started, with these arguments.
pub fn created(definition: AgentDefinition, arguments: &[(&str, &str)]) -> Result<Created, Fault> {
    let given: Vec<(String, String)> =
        arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let arguments = read_arguments(&definition.agent, &given)?;
    let options = BuildOptions {
        arguments,
        environment: &|_| None,
        input: None,
        has_gh: true,
        may_notify: &|_| Ok(()),
    };
    build(Validated::try_from(definition)?, options)
}

/// More sessions than any test needs: a run that never ends must fail instead.
const MOST_SESSIONS: usize = 1_000;

/// What a session was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub step: String,
    pub phase: Phase,
    pub text: String,
    pub history: Option<Value>,
    pub wants_answer: bool,
    /// How many sessions had ended on record.
    pub ended: usize,
}

/// How a session answers.
#[derive(Debug, Clone)]
pub struct Reply {
    pub text: String,
    pub answer: Option<Value>,
    pub outcome: SessionEnd,
}

/// Says this and is done.
pub fn says(text: &str) -> Reply {
    Reply { text: text.to_owned(), answer: None, outcome: SessionEnd::Completed }
}

/// Gives this answer and is done.
pub fn answers(answer: Value) -> Reply {
    Reply { text: String::new(), answer: Some(answer), outcome: SessionEnd::Completed }
}

/// Ends otherwise.
pub fn ends(outcome: SessionEnd) -> Reply {
    Reply { text: String::new(), answer: None, outcome }
}

type Replies = dyn Fn(usize, &Asked) -> Reply + Send + Sync;

/// Where an agent is played. Clones are the same stage.
#[derive(Clone)]
pub struct Stage {
    inner: Arc<Mutex<Inner>>,
    replies: Arc<Replies>,
    outside: Arc<Elsewhere>,
}

#[derive(Default)]
struct Inner {
    asked: Vec<Asked>,
    told: Vec<RunEvent>,
    noted: Vec<RunEvent>,
    kept: Option<Value>,
    last: Option<Iteration>,
    conversation: Option<Value>,
    sessions: u32,
    ended: usize,
    /// After how many writes the process dies.
    dies_after: Option<usize>,
    writes: usize,
    slept: Duration,
}

/// What is outside, as a test says.
#[derive(Default)]
pub struct Elsewhere {
    pub commands: Mutex<BTreeMap<String, Vec<CommandEnd>>>,
    pub programs: Mutex<Vec<CommandEnd>>,
    pub given: Mutex<Vec<Value>>,
    pub files: Mutex<BTreeMap<String, String>>,
    pub issue: Mutex<Vec<Result<String, String>>>,
    pub notices: Mutex<Vec<Notice>>,
    pub refuses: Mutex<Option<Fault>>,
    /// Decides about every command that nothing else was said of.
    pub decides: Mutex<Option<Box<dyn Fn() -> CommandEnd + Send>>>,
}

/// A command that exits with a code and prints this.
pub fn exits(code: i32, output: &str) -> CommandEnd {
    CommandEnd { exit: Some(code), output: output.to_owned(), sentence: format!("exit code {code}") }
}

#[async_trait]
impl HostEffects for Elsewhere {
    async fn command(&self, command: &str, _: Duration) -> CommandEnd {
        if let Some(decide) = self.decides.lock().expect("no panic").as_ref() {
            return decide();
        }
        let mut commands = self.commands.lock().expect("no panic");
        let ends = commands.get_mut(command).unwrap_or_else(|| panic!("nobody expects `{command}`"));
        if ends.len() > 1 { ends.remove(0) } else { ends[0].clone() }
    }

    async fn program(&self, _: &str, input: &Value, _: Duration) -> CommandEnd {
        self.given.lock().expect("no panic").push(input.clone());
        let mut ends = self.programs.lock().expect("no panic");
        if ends.len() > 1 { ends.remove(0) } else { ends[0].clone() }
    }

    async fn file(&self, path: &str) -> Result<Option<String>, Fault> {
        Ok(self.files.lock().expect("no panic").get(path).cloned())
    }

    async fn issue(&self, _: &str, _: &str) -> Result<String, String> {
        let mut states = self.issue.lock().expect("no panic");
        if states.len() > 1 { states.remove(0) } else { states[0].clone() }
    }

    async fn notify(&self, notice: &Notice) -> Result<(), Fault> {
        if let Some(fault) = self.refuses.lock().expect("no panic").clone() {
            return Err(fault);
        }
        self.notices.lock().expect("no panic").push(notice.clone());
        Ok(())
    }
}

/// How a run went.
pub struct Played {
    pub report: RunReport,
    pub result: AgentResult,
}

impl Played {
    /// The fault that ended it.
    pub fn code(&self) -> &str {
        self.report.outcome.fault().map_or("", |fault| &fault.code)
    }

    /// Its steps, as they were left.
    pub fn path(&self) -> Vec<String> {
        self.report.agent.as_ref().expect("an agent").path.clone()
    }
}

impl Stage {
    pub fn new(replies: impl Fn(usize, &Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self { inner: Arc::default(), replies: Arc::new(replies), outside: Arc::default() }
    }

    /// A stage on which sessions answer one after the other, the last for ever.
    pub fn saying(replies: Vec<Reply>) -> Self {
        Self::new(move |number, _| replies[number.min(replies.len() - 1)].clone())
    }

    pub fn outside(&self) -> &Elsewhere {
        &self.outside
    }

    /// The process dies after so many more writes.
    pub fn dies_after(&self, writes: usize) {
        let mut inner = self.inner.lock().expect("no panic");
        (inner.dies_after, inner.writes) = (Some(writes), 0);
    }

    pub fn lives(&self) {
        self.inner.lock().expect("no panic").dies_after = None;
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.inner.lock().expect("no panic").asked.clone()
    }

    pub fn told(&self) -> Vec<RunEvent> {
        self.inner.lock().expect("no panic").told.clone()
    }

    pub fn noted(&self) -> Vec<RunEvent> {
        self.inner.lock().expect("no panic").noted.clone()
    }

    pub fn ended(&self) -> usize {
        self.inner.lock().expect("no panic").ended
    }

    pub fn kept(&self) -> Option<Value> {
        self.inner.lock().expect("no panic").kept.clone()
    }

    pub fn start_options(&self, resumes: bool) -> StartOptions {
        let inner = Arc::clone(&self.inner);
        StartOptions {
            memory: Arc::new(self.clone()),
            outside: Arc::clone(&self.outside) as _,
            tell: Box::new(move |event| inner.lock().expect("no panic").told.push(event.clone())),
            resumes,
        }
    }

    /// Plays an agent from its beginning.
    pub async fn play(&self, agent: Created) -> Played {
        self.go(agent, false).await.expect("it starts")
    }

    /// Plays it, or resumes it.
    pub async fn go(&self, agent: Created, resumes: bool) -> Result<Played, Fault> {
        let mut started = agent.start(self.start_options(resumes)).await?;
        let sinks = Sinks::new(Vec::new());
        let models = Models { plan: "model".into(), work: "model".into() };
        let sessions = self.inner.lock().expect("no panic").sessions;
        let runner = Runner {
            plan: started.plan(),
            backend_chain: BackendChain::new(ChainEntry { backend: self, models }, Vec::new()),
            gates: &|_| Vec::new(),
            journal: self,
            sinks: &sinks,
            clock: self,
            interrupt: CancellationToken::new(),
            halt: Default::default(),
            options: RunOptions {
                limits: Limits::default(),
                session_delay: Duration::ZERO,
                ..RunOptions::default()
            },
            span: SpanContext::run(1, TraceId(1)),
            resume: None,
        };
        let report = runner.run(RunState { sessions, ..RunState::default() }).await;
        Ok(Played { report, result: started.stop() })
    }

    /// One more write; an error if the process dies before it.
    fn write(&self) -> Result<(), Fault> {
        let mut inner = self.inner.lock().expect("no panic");
        inner.writes += 1;
        match inner.dies_after {
            Some(limit) if inner.writes > limit => {
                Err(Fault::lasting(Layer::Store, "killed", "The process was killed."))
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[async_trait]
impl Backend for Stage {
    fn name(&self) -> &str {
        "stage"
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        Ok(Box::new(Player { stage: self.clone(), spec }))
    }
}

struct Player {
    stage: Stage,
    spec: SessionSpec,
}

#[async_trait]
impl Agent for Player {
    fn query(&mut self, instruction: Instruction) -> EventStream<'_> {
        let mut asked = Asked {
            step: instruction.step.clone().unwrap_or_default(),
            phase: self.spec.phase,
            text: instruction.text,
            history: self.spec.history.clone(),
            wants_answer: self.spec.answer.is_some(),
            ended: 0,
        };
        let number = {
            let mut inner = self.stage.inner.lock().expect("no panic");
            asked.ended = inner.ended;
            inner.asked.push(asked.clone());
            inner.asked.len() - 1
        };
        assert!(number < MOST_SESSIONS, "the run does not end");
        let reply = (self.stage.replies)(number, &asked);
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
impl Journal for Stage {
    async fn record(&self, record: Record) -> Result<(), Fault> {
        self.write()?;
        let mut inner = self.inner.lock().expect("no panic");
        match record {
            Record::SessionStarted { number, .. } => inner.sessions = number,
            Record::SessionEnded { number, outcome, spent, duration, said, .. } => {
                inner.ended += 1;
                let said = said.map(|said| *said).unwrap_or_default();
                let instruction = Instruction::of_step(Phase::Step, "", String::new());
                inner.last = Some(Iteration { number, instruction, outcome, spent, duration, said });
            }
            Record::QuotaWait(_) | Record::Outage(_) | Record::OutageOver | Record::RunEnded(_) => {}
        }
        Ok(())
    }

    async fn event(&self, _: u32, _: &Event) -> Result<(), Fault> {
        Ok(())
    }

    async fn conversation(&self, _: u32, history: &Value) -> Result<(), Fault> {
        self.inner.lock().expect("no panic").conversation = Some(history.clone());
        Ok(())
    }

    async fn cost(&self, _: u32, _: &Usage) -> Result<(), Fault> {
        Ok(())
    }
}

#[async_trait]
impl PlanMemory for Stage {
    async fn recall(&self) -> Result<Option<Value>, Fault> {
        Ok(self.kept())
    }

    async fn keep(&self, state: &Value) -> Result<(), Fault> {
        self.write()?;
        self.inner.lock().expect("no panic").kept = Some(state.clone());
        Ok(())
    }

    async fn note(&self, event: &RunEvent) -> Result<(), Fault> {
        self.inner.lock().expect("no panic").noted.push(event.clone());
        Ok(())
    }

    async fn last_session(&self) -> Result<Option<Iteration>, Fault> {
        Ok(self.inner.lock().expect("no panic").last.clone())
    }

    async fn conversation(&self) -> Result<Option<Value>, Fault> {
        Ok(self.inner.lock().expect("no panic").conversation.clone())
    }
}

#[async_trait]
impl Clock for Stage {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn monotonic(&self) -> Duration {
        self.inner.lock().expect("no panic").slept
    }

    async fn sleep(&self, duration: Duration) {
        self.inner.lock().expect("no panic").slept += duration;
        tokio::task::yield_now().await;
    }

    fn jitter(&self) -> f64 {
        0.0
    }
}

/// What was said in a session, for tests of single parts.
pub fn said(text: &str) -> Said {
    Said { text: text.to_owned(), ..Said::default() }
}
