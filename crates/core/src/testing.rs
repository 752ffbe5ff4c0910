//! A small world for the tests of the loop: one clock, one journal, one project and one backend, all
//! in memory, with one log of everything that happened in the order it happened.
//!
//! Time passes only by sleeping, and only when nothing else can go on; so no test waits, and a run
//! that would wait for ever fails at once. What the agents do is in [`script`].

pub(crate) mod script;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use self::script::{Actor, Opening, Script};
use crate::agent::{Agent, Backend, SessionSpec};
use crate::backend_chain::{BackendChain, ChainEntry, Models};
use crate::clock::Clock;
use crate::deliverable::{Deliverable, DeliverableStatus};
use crate::event::{Event, RunEvent, Usage};
use crate::fault::{Fault, Layer};
use crate::halt::Halt;
use crate::instruction::{Instructions, Phase};
use crate::journal::{Journal, Record};
use crate::outcome::{RunReport, SessionEnd};
use crate::plan::{Plan, RunState, StatusReader};
use crate::plans::{DeliverablePlan, SyncPlan, VerificationReader};
use crate::runner::{RunOptions, Runner};
use crate::sink::{Sink, Sinks};
use crate::span::{SpanContext, TraceId};
use crate::status::ProjectStatus;
use crate::verification::Verification;

/// When every test begins.
pub(crate) const START: &str = "2026-01-10T09:00:00Z";
/// The model of planning sessions, and of all others.
pub(crate) const MODELS: (&str, &str) = ("thinker", "worker");
/// Imagined, so that it is over at once: longer than anything a run can be waiting for.
const PATIENCE: Duration = Duration::from_secs(3_600);
/// More sleeps than any test needs: a loop that never ends must fail instead.
const MOST_SLEEPS: usize = 200_000;

/// One thing that happened in the world.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// The journal was given a fact.
    Recorded(Record),
    /// The journal was given an event of a session.
    Kept(u32, Event),
    /// The journal was given a cost of a session.
    Booked(u32, Usage),
    /// The sinks were shown an event.
    Shown(SpanContext, Event),
    /// A conversation was kept.
    Conversed(u32, serde_json::Value),
    /// The backend was asked for an agent.
    Opened { phase: Phase, model: String, thinking: Option<u32>, gates: Vec<String> },
    /// An agent was given an instruction.
    Asked { name: Phase, text: String },
    /// An agent was told to end; `stopped` if its stop token had been cancelled.
    Disposed { stopped: bool },
    /// The clock was slept on, for as long as it lasted.
    Slept(Duration),
}

/// What the journal refuses to write.
type Refuses = Box<dyn Fn(&Entry) -> bool + Send>;

/// What sessions do that nobody counts.
type Forever = Box<dyn Fn(usize) -> Script + Send>;

/// Everything around a run. Clones are the same world.
#[derive(Clone)]
pub(crate) struct World {
    inner: Arc<Mutex<Inner>>,
    /// The user's interrupt.
    pub interrupt: CancellationToken,
    /// Ends the run from beside the loop.
    pub halt: Halt,
    /// The models of backends that wait to step in.
    understudies: Vec<Models>,
}

struct Inner {
    now: Timestamp,
    passed: Duration,
    interrupt_in: Option<Duration>,
    status: Result<Option<ProjectStatus>, Fault>,
    verification: Verification,
    disk_full: Option<Fault>,
    scripts: VecDeque<Script>,
    /// What sessions do once the scripts are used up, by their number from 0.
    forever: Option<Forever>,
    played: usize,
    refuses: Refuses,
    log: Vec<Entry>,
    sleeps: usize,
    agents: u32,
}

impl World {
    /// A project without a status file.
    pub fn new() -> Self {
        let inner = Inner {
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
            understudies: Vec::new(),
        }
    }

    /// A project whose status file holds these deliverables.
    pub fn with(deliverables: &[(&str, DeliverableStatus)]) -> Self {
        let world = Self::new();
        let mut status = ProjectStatus::empty(today());
        status.deliverables.extend(deliverables.iter().map(|(id, status)| deliverable(id, *status)));
        world.lock().status = Ok(Some(status));
        world
    }

    /// The given deliverable has left the specification.
    pub fn deprecated(self, id: &str) -> Self {
        self.change(|status| {
            status.deprecate(id, today()).expect("an active deliverable");
        });
        self
    }

    /// What an earlier process left of the pass of `sync`.
    pub fn with_pass(self, synced: bool, verified: &[&str]) -> Self {
        self.lock().verification =
            Verification { synced, verified: verified.iter().map(|&id| id.to_owned()).collect() };
        self
    }

    /// A backend that can step in, whose models are all called `model`.
    pub fn with_understudy(mut self, model: &str) -> Self {
        self.understudies.push(Models { plan: model.to_owned(), work: model.to_owned() });
        self
    }

    /// The sessions that will be held: these, in this order, and no other.
    pub fn sessions(self, scripts: impl IntoIterator<Item = Script>) -> Self {
        self.lock().scripts.extend(scripts);
        self
    }

    /// Every further session does what `script` says of its number.
    pub fn forever(self, script: impl Fn(usize) -> Script + Send + 'static) -> Self {
        self.lock().forever = Some(Box::new(script));
        self
    }

    /// Nothing can be written.
    pub fn disk_full(self, fault: Fault) -> Self {
        self.lock().disk_full = Some(fault);
        self
    }

    /// The user interrupts after this much waiting, whatever is waited for.
    pub fn interrupted_after(self, wait: Duration) -> Self {
        self.lock().interrupt_in = Some(wait);
        self
    }

    /// The journal fails on these entries.
    pub fn journal_refuses(self, refuses: impl Fn(&Entry) -> bool + Send + 'static) -> Self {
        self.lock().refuses = Box::new(refuses);
        self
    }

    /// The same world when the next process begins: nobody has interrupted that one yet.
    pub fn next_process(self) -> Self {
        Self { interrupt: CancellationToken::new(), ..self }
    }

    /// Runs the `run` command's plan to its end.
    pub async fn run(&self, options: RunOptions) -> RunReport {
        self.run_from(RunState::default(), options).await
    }

    /// Runs the `run` command's plan on from an earlier process.
    pub async fn run_from(&self, state: RunState, options: RunOptions) -> RunReport {
        self.drive(&mut self.deliverable_plan(), state, options).await
    }

    /// Runs the `sync` command's plan to its end.
    pub async fn sync(&self, options: RunOptions) -> RunReport {
        let mut plan = self.sync_plan();
        self.drive(&mut plan, RunState::default(), options).await
    }

    /// Holds every run to what must be true of all of them: it ends, it holds the scripted sessions and
    /// no other, and it disposes of every agent once.
    pub async fn drive(&self, plan: &mut dyn Plan, state: RunState, options: RunOptions) -> RunReport {
        let sinks = Sinks::new(vec![Arc::new(self.clone())]);
        let others = self
            .understudies
            .iter()
            .map(|models| ChainEntry { backend: self, models: models.clone() })
            .collect();
        let runner = Runner {
            plan,
            backend_chain: BackendChain::new(ChainEntry { backend: self, models: models() }, others),
            gates: &|phase| vec![Arc::new(script::Watchman(phase.name()))],
            journal: self,
            sinks: &sinks,
            clock: self,
            interrupt: self.interrupt.clone(),
            halt: self.halt.clone(),
            options,
            span: SpanContext::run(1, TraceId(1)),
            resume: None,
        };
        let report = tokio::time::timeout(PATIENCE, runner.run(state)).await.expect("the run hangs");
        assert_eq!(self.lock().scripts.len(), 0, "scripted sessions were not held");
        let disposed = self.log().iter().filter(|entry| matches!(entry, Entry::Disposed { .. })).count();
        assert_eq!(disposed, self.lock().agents as usize, "agents opened and disposed of");
        report
    }

    /// The plan of `run` over this world.
    pub fn deliverable_plan(&self) -> DeliverablePlan {
        DeliverablePlan::new(Arc::new(self.clone()), Arc::new(self.clone()))
    }

    /// The plan of `sync` over this world.
    pub fn sync_plan(&self) -> SyncPlan {
        let this = || Arc::new(self.clone());
        SyncPlan::new(this(), this(), this())
    }

    /// Everything that happened so far.
    pub fn log(&self) -> Vec<Entry> {
        self.lock().log.clone()
    }

    /// Where in the log the first such entry is.
    pub fn position(&self, what: &str, wanted: impl Fn(&Entry) -> bool) -> usize {
        let log = self.log();
        log.iter().position(wanted).unwrap_or_else(|| panic!("no {what} in {log:#?}"))
    }

    /// The facts in the journal.
    pub fn records(&self) -> Vec<Record> {
        self.pick(|entry| match entry {
            Entry::Recorded(record) => Some(record),
            _ => None,
        })
    }

    /// The events the sinks were shown.
    pub fn shown(&self) -> Vec<Event> {
        self.pick(|entry| match entry {
            Entry::Shown(_, event) => Some(event),
            _ => None,
        })
    }

    /// What the run said.
    pub fn run_events(&self) -> Vec<RunEvent> {
        self.shown()
            .into_iter()
            .filter_map(|event| match event {
                Event::Run(event) => Some(event),
                Event::Agent(_) => None,
            })
            .collect()
    }

    /// Instruction and model of each session that was opened.
    pub fn opened(&self) -> Vec<(Phase, String)> {
        self.pick(|entry| match entry {
            Entry::Opened { phase, model, .. } => Some((phase, model)),
            _ => None,
        })
    }

    /// Instruction of each session that was opened.
    pub fn phases(&self) -> Vec<Phase> {
        self.opened().into_iter().map(|(phase, _)| phase).collect()
    }

    /// The sleeps, in seconds.
    pub fn slept(&self) -> Vec<f64> {
        self.pick(|entry| match entry {
            Entry::Slept(duration) => Some(duration.as_secs_f64()),
            _ => None,
        })
    }

    /// The deliverables as they are now.
    pub fn status(&self) -> ProjectStatus {
        self.lock().status.clone().expect("readable").expect("a status file")
    }

    fn pick<T>(&self, pick: impl Fn(Entry) -> Option<T>) -> Vec<T> {
        self.log().into_iter().filter_map(pick).collect()
    }

    fn note(&self, entry: Entry) {
        self.lock().log.push(entry);
    }

    /// Writes an entry to the journal, unless it refuses.
    fn write(&self, entry: Entry) -> Result<(), Fault> {
        let mut inner = self.lock();
        if (inner.refuses)(&entry) {
            return Err(Fault::lasting(Layer::Store, "disk_full", "The journal could not be written."));
        }
        inner.log.push(entry);
        Ok(())
    }

    pub fn change(&self, change: impl FnOnce(&mut ProjectStatus)) {
        let mut inner = self.lock();
        let status = inner.status.as_mut().expect("readable");
        change(status.get_or_insert_with(|| ProjectStatus::empty(today())));
    }

    fn next_script(&self) -> Script {
        let mut inner = self.lock();
        inner.played += 1;
        let number = inner.played - 1;
        let scripted = inner.scripts.pop_front();
        let unscripted = || inner.forever.as_ref().map(|script| script(number));
        scripted.or_else(unscripted).expect("a session that the test does not expect")
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn models() -> Models {
    Models { plan: MODELS.0.to_owned(), work: MODELS.1.to_owned() }
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

    /// Lets whatever is ready go first, then moves the time. The sleep the user interrupts never
    /// returns: who cannot be interrupted hangs.
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
            assert!(inner.sleeps < MOST_SLEEPS, "the run sleeps for ever");
            inner.log.push(Entry::Slept(slept));
            interrupted
        };
        if interrupted {
            self.interrupt.cancel();
            std::future::pending::<()>().await;
        }
    }

    /// In the middle, where it changes nothing.
    fn jitter(&self) -> f64 {
        0.5
    }
}

#[async_trait]
impl Journal for World {
    async fn record(&self, record: Record) -> Result<(), Fault> {
        let synced = matches!(
            record,
            Record::SessionEnded { instruction: Phase::Sync, outcome: SessionEnd::Completed, .. }
        );
        self.write(Entry::Recorded(record))?;
        self.lock().verification.synced |= synced;
        Ok(())
    }

    async fn event(&self, session: u32, event: &Event) -> Result<(), Fault> {
        self.write(Entry::Kept(session, event.clone()))
    }

    async fn conversation(&self, session: u32, history: &serde_json::Value) -> Result<(), Fault> {
        self.write(Entry::Conversed(session, history.clone()))
    }

    async fn cost(&self, session: u32, usage: &Usage) -> Result<(), Fault> {
        self.write(Entry::Booked(session, *usage))
    }
}

impl Sink for World {
    fn on(&self, span: &SpanContext, event: &Event) {
        self.note(Entry::Shown(span.clone(), event.clone()));
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

#[async_trait]
impl Backend for World {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn open(&self, spec: SessionSpec) -> Result<Box<dyn Agent>, Fault> {
        let gates = spec.gates.iter().map(|gate| gate.name().to_owned()).collect();
        let (phase, model, thinking) = (spec.phase, spec.model, spec.thinking);
        self.note(Entry::Opened { phase, model, thinking, gates });
        let script = self.next_script();
        match script.opening {
            Opening::Opens => {}
            Opening::Refuses(fault) => return Err(fault),
            Opening::Hangs => std::future::pending().await,
            Opening::HangsUntilInterrupted => {
                self.interrupt.cancel();
                std::future::pending().await
            }
        }
        self.lock().agents += 1;
        Ok(Box::new(Actor::new(self.clone(), script, spec.stop)))
    }
}
