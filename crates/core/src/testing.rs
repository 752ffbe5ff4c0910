//! In-memory environment for the tests of the loop: clock, journal, project and backend, with one log of
//! everything that happened, in order.
//!
//! Time passes only by sleeping, and only when nothing else can make progress. So no test really waits, and a
//! run that would wait forever fails at once. The behaviour of agents is in [`script`].

pub(crate) mod script;
mod scripted_agent;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use self::script::{AgentScript, NamedGate};
use crate::backend_chain::{BackendChain, ChainEntry, PhaseModels};
use crate::call_watch::NoCallWatch;
use crate::clock::Clock;
use crate::deliverable::{Deliverable, DeliverableStatus};
use crate::event::{Event, RunEvent, Usage};
use crate::fault::{Fault, FaultLayer};
use crate::halt::Halt;
use crate::instruction::{Instructions, Phase};
use crate::journal::{Journal, JournalRecord};
use crate::outcome::{RunReport, SessionEnd};
use crate::plan::{Plan, RunState, StatusReader};
use crate::plans::{DeliverablePlan, SyncPlan, VerificationReader};
use crate::runner::{RunOptions, Runner};
use crate::sink::{Sink, Sinks};
use crate::span::{SpanContext, TraceId};
use crate::status::ProjectStatus;
use crate::steering::Steering;
use crate::verification::Verification;

pub(crate) const START: &str = "2026-01-10T09:00:00Z";
/// Models of planning sessions and of all others.
pub(crate) const MODELS: (&str, &str) = ("thinker", "worker");
/// In simulated time: longer than anything a run can wait for.
const HANG_LIMIT: Duration = Duration::from_secs(3_600);
/// More sleeps than any test needs: an endless loop must fail instead.
const MAX_SLEEPS: usize = 200_000;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LogEntry {
    Recorded(JournalRecord),
    Stored(u32, Event),
    CostRecorded(u32, Usage),
    Shown(SpanContext, Event),
    ConversationStored(u32, serde_json::Value),
    Opened {
        phase: Phase,
        model: String,
        thinking: Option<u32>,
        gates: Vec<String>,
    },
    Instructed {
        name: Phase,
        text: String,
    },
    /// `stopped` if the stop token had been cancelled.
    Disposed {
        stopped: bool,
    },
    Slept(Duration),
}

type RefusalRule = Box<dyn Fn(&LogEntry) -> bool + Send>;

/// Produces the scripts of all further sessions, by their number.
type ScriptFactory = Box<dyn Fn(usize) -> AgentScript + Send>;

/// Everything around a run. Clones share the same state.
#[derive(Clone)]
pub(crate) struct World {
    inner: Arc<Mutex<WorldState>>,
    pub interrupt: CancellationToken,
    /// Ends the run from outside the loop.
    pub halt: Halt,
    pub steering: Steering,
    /// Models of the fallback backends.
    fallbacks: Vec<PhaseModels>,
    workers: u32,
}

struct WorldState {
    now: Timestamp,
    passed: Duration,
    interrupt_in: Option<Duration>,
    status: Result<Option<ProjectStatus>, Fault>,
    verification: Verification,
    disk_full: Option<Fault>,
    scripts: VecDeque<AgentScript>,
    /// Behaviour of sessions once the scripts are used up, by their number from 0.
    forever: Option<ScriptFactory>,
    played: usize,
    refuses: RefusalRule,
    log: Vec<LogEntry>,
    sleeps: usize,
    agents: u32,
}

impl World {
    /// Starts without a status file.
    pub fn new() -> Self {
        let inner = WorldState {
            now: timestamp(START),
            passed: Duration::ZERO,
            interrupt_in: None,
            status: Ok(None),
            verification: Verification::default(),
            disk_full: None,
            scripts: VecDeque::new(),
            forever: None,
            played: 0,
            refuses: Box::new(|_| false),
            log: Vec::new(),
            sleeps: 0,
            agents: 0,
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
            interrupt: CancellationToken::new(),
            halt: Halt::default(),
            steering: Steering::default(),
            fallbacks: Vec::new(),
            workers: 1,
        }
    }

    pub fn with(deliverables: &[(&str, DeliverableStatus)]) -> Self {
        let world = Self::new();
        let mut status = ProjectStatus::empty(today());
        status.deliverables.extend(deliverables.iter().map(|(id, status)| deliverable(id, *status)));
        world.lock().status = Ok(Some(status));
        world
    }

    pub fn deprecated(self, id: &str) -> Self {
        self.change(|status| {
            status.deprecate(id, today()).expect("an active deliverable");
        });
        self
    }

    /// State of a `sync` pass left by an earlier process.
    pub fn with_pass(self, synced: bool, verified: &[&str]) -> Self {
        self.lock().verification =
            Verification { synced, verified: verified.iter().map(|&id| id.to_owned()).collect() };
        self
    }

    /// Adds a fallback backend whose models are all called `model`.
    pub fn with_fallback(mut self, model: &str) -> Self {
        self.fallbacks.push(PhaseModels { plan: model.to_owned(), work: model.to_owned() });
        self
    }

    /// The expected sessions: exactly these, in this order.
    pub fn sessions(self, scripts: impl IntoIterator<Item = AgentScript>) -> Self {
        self.lock().scripts.extend(scripts);
        self
    }

    /// Every further session follows the script for its number.
    pub fn forever(self, script: impl Fn(usize) -> AgentScript + Send + 'static) -> Self {
        self.lock().forever = Some(Box::new(script));
        self
    }

    /// Sessions that may be at work at the same time.
    pub fn workers(self, workers: u32) -> Self {
        Self { workers, ..self }
    }

    pub fn disk_full(self, fault: Fault) -> Self {
        self.lock().disk_full = Some(fault);
        self
    }

    /// The user interrupts after this much waiting, whatever the run waits for.
    pub fn interrupted_after(self, wait: Duration) -> Self {
        self.lock().interrupt_in = Some(wait);
        self
    }

    /// The journal fails to write these entries.
    pub fn journal_refuses(self, refuses: impl Fn(&LogEntry) -> bool + Send + 'static) -> Self {
        self.lock().refuses = Box::new(refuses);
        self
    }

    /// The same world in the next process, which nobody has interrupted yet.
    pub fn next_process(self) -> Self {
        Self { interrupt: CancellationToken::new(), ..self }
    }

    pub async fn run(&self, options: RunOptions) -> RunReport {
        self.run_from(RunState::default(), options).await
    }

    /// Resumes the `run` command's plan from an earlier process.
    pub async fn run_from(&self, state: RunState, options: RunOptions) -> RunReport {
        self.drive(&mut self.deliverable_plan(), state, options).await
    }

    pub async fn sync(&self, options: RunOptions) -> RunReport {
        let mut plan = self.sync_plan();
        self.drive(&mut plan, RunState::default(), options).await
    }

    /// Checks what must be true of every run: it ends, it runs exactly the scripted sessions, and it disposes
    /// of every agent once.
    pub async fn drive(&self, plan: &mut dyn Plan, state: RunState, options: RunOptions) -> RunReport {
        let sinks = Sinks::new(vec![Arc::new(self.clone())]);
        let others = self.fallbacks.iter().map(|models| ChainEntry::new(self, models.clone())).collect();
        let runner = Runner {
            plan,
            backend_chain: BackendChain::new(ChainEntry::new(self, models()), others),
            gates: &|phase, _, _| vec![Arc::new(NamedGate(phase.name()))],
            journal: self,
            sinks: &sinks,
            clock: self,
            interrupt: self.interrupt.clone(),
            halt: self.halt.clone(),
            steering: self.steering.clone(),
            options,
            workers: self.workers,
            span: SpanContext::run(1, TraceId(1)),
            resume: None,
            call_watch: &|| Box::new(NoCallWatch),
        };
        let report = tokio::time::timeout(HANG_LIMIT, runner.run(state)).await.expect("the run hangs");
        assert_eq!(self.lock().scripts.len(), 0, "scripted sessions were not run");
        let disposed = self.log().iter().filter(|entry| matches!(entry, LogEntry::Disposed { .. })).count();
        assert_eq!(disposed, self.lock().agents as usize, "agents opened and disposed of");
        report
    }

    pub fn deliverable_plan(&self) -> DeliverablePlan {
        DeliverablePlan::new(Arc::new(self.clone()), Arc::new(self.clone()))
    }

    pub fn sync_plan(&self) -> SyncPlan {
        let this = || Arc::new(self.clone());
        SyncPlan::new(this(), this(), this())
    }

    pub fn log(&self) -> Vec<LogEntry> {
        self.lock().log.clone()
    }

    /// Position of the first matching entry in the log.
    pub fn position(&self, what: &str, wanted: impl Fn(&LogEntry) -> bool) -> usize {
        let log = self.log();
        log.iter().position(wanted).unwrap_or_else(|| panic!("no {what} in {log:#?}"))
    }

    pub fn records(&self) -> Vec<JournalRecord> {
        self.pick(|entry| match entry {
            LogEntry::Recorded(record) => Some(record),
            _ => None,
        })
    }

    pub fn shown(&self) -> Vec<Event> {
        self.pick(|entry| match entry {
            LogEntry::Shown(_, event) => Some(event),
            _ => None,
        })
    }

    pub fn run_events(&self) -> Vec<RunEvent> {
        self.shown()
            .into_iter()
            .filter_map(|event| match event {
                Event::Run(event) => Some(event),
                Event::Agent(_) => None,
            })
            .collect()
    }

    pub fn opened(&self) -> Vec<(Phase, String)> {
        self.pick(|entry| match entry {
            LogEntry::Opened { phase, model, .. } => Some((phase, model)),
            _ => None,
        })
    }

    pub fn phases(&self) -> Vec<Phase> {
        self.opened().into_iter().map(|(phase, _)| phase).collect()
    }

    /// In seconds.
    pub fn slept(&self) -> Vec<f64> {
        self.pick(|entry| match entry {
            LogEntry::Slept(duration) => Some(duration.as_secs_f64()),
            _ => None,
        })
    }

    pub fn status(&self) -> ProjectStatus {
        self.lock().status.clone().expect("readable").expect("a status file")
    }

    fn pick<T>(&self, pick: impl Fn(LogEntry) -> Option<T>) -> Vec<T> {
        self.log().into_iter().filter_map(pick).collect()
    }

    fn note(&self, entry: LogEntry) {
        self.lock().log.push(entry);
    }

    /// Fails for entries that the journal refuses.
    fn write(&self, entry: LogEntry) -> Result<(), Fault> {
        let mut inner = self.lock();
        if (inner.refuses)(&entry) {
            return Err(Fault::permanent(
                FaultLayer::Store,
                "disk_full",
                "The journal could not be written.",
            ));
        }
        inner.log.push(entry);
        Ok(())
    }

    pub fn change(&self, change: impl FnOnce(&mut ProjectStatus)) {
        let mut inner = self.lock();
        let status = inner.status.as_mut().expect("readable");
        change(status.get_or_insert_with(|| ProjectStatus::empty(today())));
    }

    fn next_script(&self) -> AgentScript {
        let mut inner = self.lock();
        inner.played += 1;
        let number = inner.played - 1;
        let scripted = inner.scripts.pop_front();
        let unscripted = || inner.forever.as_ref().map(|script| script(number));
        scripted.or_else(unscripted).expect("a session that the test does not expect")
    }

    fn lock(&self) -> MutexGuard<'_, WorldState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn models() -> PhaseModels {
    PhaseModels { plan: MODELS.0.to_owned(), work: MODELS.1.to_owned() }
}

pub(crate) fn timestamp(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn today() -> jiff::civil::Date {
    jiff::civil::date(2026, 1, 10)
}

fn deliverable(id: &str, status: DeliverableStatus) -> Deliverable {
    Deliverable {
        id: id.to_owned(),
        description: format!("{id} described"),
        acceptance_criteria: vec!["it works".to_owned()],
        status,
        blocked_reason: None,
        order: Default::default(),
        deprecated_at: None,
        finding: None,
        review: None,
    }
}

#[async_trait]
impl Clock for World {
    fn now(&self) -> Timestamp {
        self.lock().now
    }

    fn monotonic(&self) -> Duration {
        self.lock().passed
    }

    /// Lets everything that is ready run first, then advances the time. A sleep that the user interrupts
    /// never returns, so code that is not interruptible hangs.
    async fn sleep(&self, duration: Duration) {
        tokio::task::yield_now().await;
        let interrupted = {
            let mut inner = self.lock();
            let interrupted = inner.interrupt_in.is_some_and(|left| left <= duration);
            let slept = inner.interrupt_in.map_or(duration, |left| left.min(duration));
            inner.interrupt_in = inner.interrupt_in.map(|left| left - slept);
            inner.now += slept;
            inner.passed += slept;
            inner.sleeps += 1;
            assert!(inner.sleeps < MAX_SLEEPS, "the run sleeps forever");
            inner.log.push(LogEntry::Slept(slept));
            interrupted
        };
        if interrupted {
            self.interrupt.cancel();
            std::future::pending::<()>().await;
        }
    }

    /// The midpoint, where it has no effect.
    fn jitter(&self) -> f64 {
        0.5
    }
}

#[async_trait]
impl Journal for World {
    async fn record(&self, record: JournalRecord) -> Result<(), Fault> {
        let synced = matches!(
            record,
            JournalRecord::SessionEnded { instruction: Phase::Sync, outcome: SessionEnd::Completed, .. }
        );
        self.write(LogEntry::Recorded(record))?;
        self.lock().verification.synced |= synced;
        Ok(())
    }

    async fn event(&self, session: u32, event: &Event) -> Result<(), Fault> {
        self.write(LogEntry::Stored(session, event.clone()))
    }

    async fn conversation(&self, session: u32, history: &serde_json::Value) -> Result<(), Fault> {
        self.write(LogEntry::ConversationStored(session, history.clone()))
    }

    async fn cost(&self, session: u32, usage: &Usage) -> Result<(), Fault> {
        self.write(LogEntry::CostRecorded(session, *usage))
    }
}

impl Sink for World {
    fn on(&self, span: &SpanContext, event: &Event) {
        self.note(LogEntry::Shown(span.clone(), event.clone()));
    }
}

#[async_trait]
impl StatusReader for World {
    async fn load(&self) -> Result<Option<ProjectStatus>, Fault> {
        self.lock().status.clone()
    }

    async fn ensure_writable(&self) -> Result<(), Fault> {
        match &self.lock().disk_full {
            Some(fault) => Err(fault.clone()),
            None => Ok(()),
        }
    }
}

#[async_trait]
impl VerificationReader for World {
    async fn verification(&self) -> Result<Verification, Fault> {
        Ok(self.lock().verification.clone())
    }
}

#[async_trait]
impl Instructions for World {
    async fn resolve(&self, name: Phase) -> Result<String, Fault> {
        Ok(name.name().to_owned())
    }
}
