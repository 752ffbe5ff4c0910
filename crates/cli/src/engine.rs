//! Runs a job: resolves everything it needs once, then lets the loop do the rest.

mod announcer;
mod banner;
mod branches;
mod control;
mod estimate;
mod fleet_tools;
mod job;
mod merged_examiner;
mod next_steps;
mod notifier;
pub mod port_server;
mod request;
mod resolve;
mod roadmap_job;
mod run_workers;
mod setup;
pub mod status_setup;
mod task_store;

use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use autonoe_core::attempt::OpenAttempt;
use autonoe_core::backend_chain::{BackendChain, ChainEntry};
use autonoe_core::clock::Clock;
use autonoe_core::event::{AnnouncementSubject, RunEvent};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::list_names;
use autonoe_core::gate::Gate;
use autonoe_core::halt::Halt;
use autonoe_core::instruction::Phase;
use autonoe_core::journal::{Journal as _, JournalRecord};
use autonoe_core::outcome::{RunOutcome, RunReport};
use autonoe_core::plan::{Plan, StatusReader};
use autonoe_core::runner::Runner;
use autonoe_core::sink::{Sink, Sinks};
use autonoe_core::span::{SpanContext, TraceId};
use autonoe_core::steering::Steering;
use autonoe_deliverables::DeliverableService;
use autonoe_harness::failed_checks::FailedChecks;
use autonoe_harness::harness_record::HarnessRecord;
use autonoe_harness::recovering_plan::{BranchSite, RecoveringPlan, RecoverySetup};
use autonoe_harness::repetition::RepetitionDetector;
use autonoe_policy::{HookGate, gates_for};
use autonoe_sandbox::{RoomConfig, rooms_closed};
use autonoe_store::journal::JournalOptions;
use autonoe_store::{ControlDirectory, LockHolder, Others, Project, ProjectUse, SqliteJournal, StatusStore};
use autonoe_telemetry::Telemetry;
use autonoe_verify::{CurrentBuilder, last_commit};
use autonoe_workflow::AgentResult;
use autonoe_workspace::{
    HubLayout, LandingPlan, LateCommits, Settled, SiteEvent, Start, WorkerSite, WorkspaceSite,
};

use self::announcer::Announcer;
use self::branches::CheckedBranches;
use self::control::ControlWatch;
pub use self::estimate::{average, estimate};
use self::job::PlanContext;
pub use self::job::{AgentJob, HostEffectsFactory, RunJob, agent_command, is_old_plan};
use self::merged_examiner::MergedWork;
pub use self::next_steps::{DeliverableCost, cost_by_deliverable, why_blocked};
use self::notifier::RunNotifier;
use self::port_server::{PortPlace, PortServer};
pub use self::request::RunRequest;
use self::resolve::{ResolvedRun, ResolvedWorker, RunBackend};
pub use self::roadmap_job::{RoadmapJob, name_in_project};
use self::run_workers::{BuiltBackend, RunWorkers, built_backend, serve_calls};
use self::status_setup::{StatusSetup, reset_lost, vanished};
use self::task_store::LandableTasks;
use crate::arguments::CommonArgs;
use crate::detach::{leave_terminal, start_detached};
use crate::environment::Environment;
use crate::lock_project::{join_project, lock_project};
use crate::present::{
    self, Console, EventLog, JsonSink, LineTimes, MessageLevel, OutputFormat, Presenter, SignalNotice,
    Verbosity,
};
use crate::stop::StopSignal;
use crate::system::{SystemClock, outlives_its_terminal, runtime, watch_signals};

/// Maximum time to wait at the end of a run for rooms that are still shutting down.
const ROOM_LIMIT: Duration = Duration::from_secs(3);

/// Maximum time to wait at the end of a run for the telemetry collector.
const TELEMETRY_LIMIT: Duration = Duration::from_secs(2);

/// Time after which a run says what it is doing before its first session.
const TAKES_A_WHILE: Duration = Duration::from_secs(5);

/// Runs a job to its end and returns the exit code.
pub fn drive(request: RunRequest<'_>, environment: &Environment) -> Result<u8, Fault> {
    let args = request.args;
    if args.detach {
        return start_detached(&environment.project(&args.project)?, environment);
    }
    if args.in_background {
        leave_terminal();
    }
    let runtime = runtime()?;
    let (stop, signal_notice) = (StopSignal::default(), SignalNotice::default());
    let ended = runtime.block_on(async {
        watch_signals(stop.clone(), signal_notice.clone().on_signal())?;
        let resolving = ResolvedRun::resolve(request, environment);
        let run = match unless_stopped(&stop, args.max_duration, resolving).await {
            Ok(run) => run?,
            Err(outcome) => return Ok(JobEnd::NotStarted(outcome)),
        };
        let screen = Screen::open(args, &run, &stop)?;
        signal_notice.use_console(&screen.console);
        let ended = screen.execute(run).await;
        screen.finish_notifications(ended.as_ref().err(), args.in_background).await;
        screen.console.stop();
        ended.map(|ended| JobEnd::Ended(Box::new(ended), screen.console))
    });
    runtime.block_on(rooms_closed(ROOM_LIMIT));
    runtime.shutdown_timeout(Duration::from_millis(200));
    let ((report, result), console) = match ended? {
        JobEnd::Ended(ended, console) => (*ended, console),
        JobEnd::NotStarted(outcome) => {
            if !stop.is_requested() {
                present::report_end(&outcome);
            }
            return Ok(outcome.exit_code());
        }
    };
    if let Some(mut answer) = result.and_then(|result| result.answer).filter(|_| !args.json) {
        console.redactor().value(&mut answer);
        console.answer(format!("{answer:#}\n"))?;
    }
    Ok(stop.exit_code(&report))
}

enum JobEnd {
    /// There was no run yet when it was stopped.
    NotStarted(RunOutcome),
    Ended(Box<(RunReport, Option<AgentResult>)>, Arc<Console>),
}

/// Calls `announce` if the work takes a while.
async fn with_notice<T>(work: impl Future<Output = T>, announce: impl FnOnce()) -> T {
    let mut work = pin!(work);
    match tokio::time::timeout(TAKES_A_WHILE, &mut work).await {
        Ok(done) => done,
        Err(_) => {
            announce();
            work.await
        }
    }
}

/// Drops `work` on a signal and at the time limit. Before the first session there is no loop that would do it.
async fn unless_stopped<T>(
    stop: &StopSignal,
    max_duration: Option<Duration>,
    work: impl Future<Output = T>,
) -> Result<T, RunOutcome> {
    let limit = max_duration.unwrap_or(Duration::MAX);
    match stop.token().run_until_cancelled(tokio::time::timeout(limit, work)).await {
        None => Err(RunOutcome::Interrupted),
        Some(Err(_)) => Err(RunOutcome::DurationExceeded { limit }),
        Some(Ok(done)) => Ok(done),
    }
}

/// Who sees the run and can stop it.
struct Screen {
    console: Arc<Console>,
    verbosity: Verbosity,
    json: bool,
    stop: StopSignal,
    /// Ends the run when its state cannot be written.
    halt: Halt,
    /// Outlives the locks of the run, so that a slow receiver does not keep them.
    notifier: Mutex<Option<RunNotifier>>,
}

impl Screen {
    fn open(args: &CommonArgs, run: &ResolvedRun, stop: &StopSignal) -> Result<Self, Fault> {
        let format = if args.json { OutputFormat::Json } else { OutputFormat::Text };
        let on_error = {
            let stop = stop.clone();
            move |error: &std::io::Error| {
                if !outlives_its_terminal(error) {
                    stop.output_closed(error);
                }
            }
        };
        let console = Arc::new(Console::new(format, &run.secrets, on_error)?);
        let verbosity = match args {
            CommonArgs { quiet: true, .. } => Verbosity::Quiet,
            CommonArgs { debug: true, .. } => Verbosity::Debug,
            CommonArgs { verbose: true, .. } => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        let (stop, halt, notifier) = (stop.clone(), Halt::default(), Mutex::default());
        Ok(Self { console, verbosity, json: args.json, stop, halt, notifier })
    }

    fn warn(&self, warning: &str) {
        self.console.line(MessageLevel::Warning, &format!("Warning: {warning}"));
    }

    async fn execute(&self, mut run: ResolvedRun) -> Result<(RunReport, Option<AgentResult>), Fault> {
        let telemetry = Telemetry::from_settings(std::mem::take(&mut run.telemetry))?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let mut locked = match run.agent_lock.take() {
            Some(agent) => join_project(&run.project, agent)?,
            None => {
                let project_use =
                    if run.workspace.is_some() { ProjectUse::Deliverables } else { ProjectUse::Checkout };
                lock_project(&run.project, &holder(&run, clock.as_ref()), project_use)?
            }
        };
        let (warnings, banner) = (warning_lines(&run.notices), banner::lines(&run));
        let ResolvedRun { title, project, job, policy, checkouts, verifier, .. } = run;

        let builders = Arc::new(CurrentBuilder::default());
        let secrets = run.secrets.clone();
        let options = JournalOptions {
            secrets: run.secrets.clone(),
            crash: run.crash,
            resume: job.earlier(),
            in_progress: locked.with_others(Others::runs)?,
        };
        let command = title.command.clone();
        let (journal, begun) = SqliteJournal::begin(
            &project.journal_file(),
            &title.command,
            &job.spec_hash(),
            clock.now(),
            options,
        )
        .await?;
        let opened = job.roadmap().map(|job| job.open_harness(&project, clock.now())).transpose()?;
        let (harness, found) = opened.unzip();
        if let (Some(harness), Some(limit)) = (&harness, run.options.limits.max_duration) {
            harness.limit_time(limit, begun.state.time_before);
        }
        let steering = control::steering(&project, harness.as_ref());
        let notifier = RunNotifier::start(&project, begun.run, run.notify, &run.secrets, &self.console);
        let notifications = notifier.as_ref().map(RunNotifier::sink);
        *self.notifier() = notifier;
        let failed_checks = Arc::new(FailedChecks::default());
        let other_sinks = telemetry.as_ref().map(Telemetry::sink).into_iter().chain(notifications);
        let other_sinks = other_sinks.chain([Arc::clone(&failed_checks) as Arc<dyn Sink>]);
        let other_sinks = other_sinks.chain(harness.iter().map(|harness| Arc::clone(harness) as _));
        let announcer = Arc::new(Announcer {
            sinks: self.sinks(&project, begun.run, other_sinks, &builders),
            command,
            project: project.clone(),
            console: Arc::clone(&self.console),
            is_quiet: self.verbosity == Verbosity::Quiet,
            approval: run.approve_plan.then(|| steering.clone()),
            planned_spec: job.planned_spec(),
            planning: Mutex::default(),
        });
        let sinks = Sinks::new(vec![Arc::clone(&announcer) as Arc<dyn Sink>]);
        locked.record_run(begun.run)?;
        let status = match locked.has_project_lock() {
            true => StatusStore::open(&project, Arc::clone(&journal), Arc::clone(&clock))
                .await?
                .redacting(&secrets),
            false => StatusStore::beside_another(&project, Arc::clone(&journal), Arc::clone(&clock)),
        };
        let status = Arc::new(status);
        let span = SpanContext::run(begun.run, TraceId(fastrand::u128(1..)));
        let sessions_before = if begun.resumed { begun.state.sessions } else { 0 };
        sinks.emit(
            &span,
            RunEvent::RunStarted {
                command: title.command,
                sessions_before,
                cost_before_usd: begun.state.spent.cost,
                max_cost_usd: run.options.limits.max_cost,
                max_sessions: run.options.limits.max_iterations.map(NonZeroU32::get),
            },
        );
        for (about, lines) in
            [(AnnouncementSubject::Warnings, warnings), (AnnouncementSubject::Start, banner)]
        {
            if !lines.is_empty() {
                sinks.emit(&span, RunEvent::Announcement { about, lines });
            }
        }
        let found = found.iter().flatten();
        for message in
            locked.messages.iter().chain(&run.warnings).chain(job.spec_change().as_ref()).chain(found)
        {
            sinks.emit(&span, RunEvent::Warning { message: message.clone() });
        }

        if job.has_deliverables() {
            let setup = StatusSetup {
                project: &project,
                status: &status,
                journal: &journal,
                other_project: job.other_project(),
                now: clock.now(),
            };
            match run.start_over {
                true => sinks.emit(&span, RunEvent::Notice { message: setup.start_over().await? }),
                false => {
                    if let Some(restored) = setup.restore().await? {
                        sinks.emit(&span, &restored);
                    }
                }
            }
        }
        if locked.has_project_lock() {
            let (sinks, span) = (sinks.clone(), span.clone());
            status.restore_vanished(Box::new(move |status| {
                sinks.emit(&span, RunEvent::Warning { message: vanished(status) });
            }));
        }
        if let Some(spec) = job.planned_spec()
            && project.planned_spec().is_none()
            && status.load().await?.is_some()
        {
            // They were planned before this was recorded.
            project.set_planned_spec(&spec)?;
        }
        if run.workspace.is_none() && HubLayout::in_state(project.state_dir()).has_unfinished_landing() {
            let message =
                "A landing was interrupted, so the files in your checkout are only partly as after it.";
            return Err(Fault::permanent(FaultLayer::Config, "unfinished_landing", message).hint(
                "`autonoe land` finishes it, `autonoe land --discard` takes it back; then run again.",
            ));
        }
        // We hold the project lock or that of the slot, so the workspace is ours to prepare.
        let mut site = match run.workspace {
            Some((hub, options)) => {
                hub.sweep_unless(|| locked.with_others(|others| !others.is_empty())).await?;
                let known = if job.has_deliverables() { status.load().await? } else { None };
                let settled = known.as_ref().map(Settled::of).unwrap_or_default();
                let start = if begun.resumed { Start::Resumed } else { Start::New };
                let preparing = WorkspaceSite::prepare(hub, begun.run, start, options, &settled);
                let preparing = with_notice(preparing, || {
                    let message = "The workspace is being prepared; large files take a while.".to_owned();
                    sinks.emit(&span, RunEvent::Notice { message });
                });
                let site = match self.before_sessions(run.options.limits.max_duration, preparing).await {
                    Ok(site) => site,
                    Err(outcome) => return end_early(outcome, &journal, &sinks, &span).await,
                };
                if let Some(message) = site.beginning.map(present::beginning) {
                    sinks.emit(&span, RunEvent::Notice { message });
                }
                if let Some(finished) = site.finished.clone() {
                    sinks.emit(&span, landing_event(finished));
                }
                if let Some(message) = site.warning.clone() {
                    sinks.emit(&span, RunEvent::Warning { message });
                }
                if let Some(message) = reset_lost(&status, &site.lost).await? {
                    sinks.emit(&span, RunEvent::Warning { message });
                }
                Some(site)
            }
            None => None,
        };
        let worker_names: Vec<String> = run.workers.iter().map(|worker| worker.name.clone()).collect();
        let worker_sites = match &site {
            Some(site) => site.workers(&worker_names).await?,
            None => Vec::new(),
        };
        for left_behind in worker_sites.iter().filter_map(|worker| worker.left_behind.clone()) {
            sinks.emit(&span, landing_event(left_behind));
        }
        if let Some(site) = site.as_ref().filter(|_| worker_sites.is_empty() && job.has_deliverables()) {
            let settled = status.load().await?.as_ref().map(Settled::of).unwrap_or_default();
            let begun = site.begun_by_workers(&settled).await?;
            if !begun.is_empty() {
                let message = format!(
                    "Begun by several agents and not continued by this run: {}. `autonoe run --agents 2` continues it.",
                    begun.join(", ")
                );
                sinks.emit(&span, RunEvent::Warning { message });
            }
        }
        // Without the project lock, a run may have some; with it, every checkout there is stale.
        if locked.has_project_lock() {
            checkouts.remove_leftovers(Duration::ZERO);
        }
        checkouts.remember_ignore_files().await?;
        let first = job.first_phase();
        let landing_status = match &harness {
            Some(harness) => {
                let (status, harness) = (Arc::clone(&status), Arc::clone(harness));
                Some(Arc::new(LandableTasks { status, harness }) as Arc<dyn StatusReader>)
            }
            None => job.has_deliverables().then(|| Arc::clone(&status) as Arc<dyn StatusReader>),
        };
        let recovery_status = job.has_deliverables().then(|| Arc::clone(&status) as Arc<dyn StatusReader>);
        let open = status.load().await?.is_some_and(|status| status.tally().passed < status.tally().total);
        let has_plan_to_build = open && job.has_current_plan();
        let context = PlanContext {
            project: &project,
            work_root: &run.work_root,
            journal: Arc::clone(&journal),
            status: Arc::clone(&status),
            clock: Arc::clone(&clock),
            checkouts,
            guarded: Arc::clone(&policy.guarded),
            workers: (run.workers.iter().zip(&worker_sites))
                .map(|(worker, site)| {
                    (worker.work_root.clone(), Arc::clone(&worker.policy.guarded), site.held())
                })
                .collect(),
            has_best_of: run.best_of.is_some(),
            gates: gates_for(Phase::Step, &policy),
            builders: Arc::clone(&builders),
            sinks: sinks.clone(),
            span: span.clone(),
            failed_checks: Arc::clone(&failed_checks),
            harness: harness.clone(),
        };
        let shared = job.roadmap().map(|job| job.shared_tools(&run.work_root)).transpose()?.flatten();
        // An agent's entry actions may take long.
        let planning = context.plan(job, verifier.is_some(), &run.room_config);
        let mut plan = match self.before_sessions(run.options.limits.max_duration, planning).await {
            Ok(plan) => plan,
            Err(outcome) => return end_early(outcome, &journal, &sinks, &span).await,
        };
        if let Some(site) = &mut site {
            // Now the plan has said which edits of an earlier process are not the user's.
            site.know_own_edits().await?;
            if let Some(message) = present::left_out(site.left_out()) {
                sinks.emit(&span, RunEvent::Warning { message });
            }
        }
        let merged_work = plan.examiner().map(|examiner| {
            let (sinks, span) = (sinks.clone(), span.clone());
            Arc::new(MergedWork {
                examiner,
                status: Arc::clone(&status) as Arc<dyn StatusReader>,
                clock: Arc::clone(&clock),
                journal: Arc::clone(&journal),
                on_event: Box::new(move |event: &RunEvent| sinks.emit(&span, event)),
                merged: Mutex::default(),
                waiting: Mutex::default(),
            })
        });
        let tools = || self.deliverables(Phase::Coding, Arc::clone(&status), &journal, &sinks, &span);
        let _ports = locked
            .has_project_lock()
            .then(|| serve_ports(&project, &run.room_config, &run.workers, &worker_sites));
        let workers = RunWorkers::build(run.workers, &worker_sites, merged_work.as_ref(), tools)?;
        let (attempt, branch_status) = (Arc::new(OpenAttempt::default()), Arc::clone(&status));
        let mut deliverables =
            self.deliverables(first, status, &journal, &sinks, &span).attempting(Arc::clone(&attempt));
        if let Some(examiner) = plan.examiner() {
            deliverables = deliverables.examined_by(examiner);
        }
        if let Some(preparation) = site.as_ref().and_then(WorkspaceSite::claim_preparation) {
            deliverables = deliverables.prepared_by(preparation);
        }
        if let Some(shared) = shared {
            deliverables = deliverables.sharing(shared);
        }
        if let Some(harness) = harness.clone() {
            // Tasks wait for others and have limits of their own, so an agent speaks for its own one only.
            deliverables = deliverables.assigning(Box::new(move || harness.current_task()));
        }
        let deliverables = Arc::new(deliverables);
        let branches = site.as_ref().and_then(WorkspaceSite::branches).zip(plan.examiner());
        let branches = branches.map(|(workspace, examiner)| {
            let (status, deliverables) = (branch_status as Arc<dyn StatusReader>, Arc::clone(&deliverables));
            let site = CheckedBranches { workspace, examiner, status, deliverables, builders, attempt };
            Arc::new(site) as Arc<dyn BranchSite>
        });
        let _calls = serve_calls(&run.socket, &deliverables)?;
        let build = |backend: RunBackend| built_backend(backend, &deliverables);
        let verifier = verifier.map(build).transpose()?;
        let backends = run.backends.into_iter().map(build).collect::<Result<Vec<_>, Fault>>()?;
        let named = run.named_backends.into_iter().map(build).collect::<Result<Vec<_>, Fault>>()?;
        let mut entries = backends.iter().enumerate().map(|(place, backend)| ChainEntry {
            others: workers.backends_at(place),
            ..chain_entry(backend)
        });
        let Some(first) = entries.next() else {
            return Err(Fault::permanent(
                FaultLayer::Config,
                "no_agent",
                "No agent is configured for this run.",
            ));
        };
        self.console.start();
        let is_alone = locked.with_others(Others::is_empty)?;
        // Requests that are there already are for an earlier run, unless another one works here.
        let control = ControlDirectory::of(&project);
        let left = match is_alone {
            true if begun.resumed => control.begin_again(),
            true => control.begin(),
            false => Vec::new(),
        };
        for left in left {
            let message = format!("A request to {left} was left for an earlier run; it is ignored.");
            sinks.emit(&span, RunEvent::Warning { message });
        }
        let record = harness.clone();
        let _control = self.watch_control(&project, &steering, harness);
        if has_plan_to_build {
            announcer.ask_first(&span);
        }
        let recorded = recovery_status.clone();
        let on_landing = |event: SiteEvent| sinks.emit(&span, landing_event(event));
        let mut landing_plan;
        let session_plan: &mut dyn Plan = match &mut site {
            Some(site) => {
                let (inner, workers) = (plan.plan(), worker_sites.as_slice());
                let status = landing_status;
                landing_plan = LandingPlan {
                    inner,
                    site,
                    status,
                    recorded,
                    workers,
                    late_commits: merged_work.map(|work| work as Arc<dyn LateCommits>),
                    on_event: &on_landing,
                    is_new: true,
                };
                &mut landing_plan
            }
            None => plan.plan(),
        };
        let on_recovery = |event: &RunEvent| sinks.emit(&span, event);
        let on_missed = |event: &RunEvent| {
            if let Some(record) = &record {
                record.on(&span, &event.into());
            }
        };
        let recovery = RecoverySetup {
            root: run.work_root.clone(),
            memory: Arc::clone(&journal) as _,
            status: recovery_status,
            failed_checks,
            budget: run.recovery_budget,
            ladder: run.ladder,
            best_of: run.best_of,
            has_workers: !worker_sites.is_empty(),
            branches,
            on_event: &on_recovery,
            on_missed: &on_missed,
        };
        let mut recovering_plan = RecoveringPlan::resume(session_plan, recovery).await?;
        let runner = Runner {
            plan: &mut recovering_plan,
            backend_chain: BackendChain::new(first, entries.collect())
                .reviewed_by(verifier.as_ref().map(chain_entry))
                .with_named(named.iter().map(chain_entry).collect()),
            gates: &|phase, worker, session| {
                let policy = workers.policy(worker).unwrap_or(&policy);
                let mut gates = gates_for(phase, policy);
                // Last: a hook runs only for what no other gate denies.
                let hooks = HookGate::new(policy, format!("run-{}-session-{session}", begun.run));
                gates.extend(hooks.map(|hooks| Arc::new(hooks) as Arc<dyn Gate>));
                gates
            },
            journal: journal.as_ref(),
            sinks: &sinks,
            clock: clock.as_ref(),
            interrupt: self.stop.token(),
            halt: self.halt.clone(),
            steering,
            options: run.options,
            workers: u32::try_from(worker_sites.len()).unwrap_or(u32::MAX).max(1),
            span: span.clone(),
            resume: run.resume,
            call_watch: &|| Box::new(RepetitionDetector::default()),
        };
        let report = runner.run(begun.state).await;
        // Only the report needs this; the outcome does not depend on it.
        let _ = journal.record_end_commit(last_commit(&run.work_root).as_deref()).await;
        if let Some(telemetry) = telemetry {
            telemetry.shutdown(TELEMETRY_LIMIT).await;
            if let Some(problem) = telemetry.loss_warning() {
                self.warn(&problem);
            }
        }
        if is_alone {
            // They were for this run.
            ControlDirectory::of(&project).begin();
        }
        let result = plan.stop(&report.outcome);
        Ok((report, result))
    }

    /// Waits for deliveries, but neither long nor after an interrupt: the next run delivers the rest.
    async fn finish_notifications(&self, fault: Option<&Fault>, in_background: bool) {
        let notifier = self.notifier().take();
        if let Some(notifier) = notifier {
            notifier.finish(fault, in_background, &self.stop.token(), &self.console).await;
        }
    }

    fn notifier(&self) -> MutexGuard<'_, Option<RunNotifier>> {
        self.notifier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs something that comes before the first session. Returns how the run ends if an interrupt, the time limit or a fault ends it.
    async fn before_sessions<T>(
        &self,
        limit: Option<Duration>,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, RunOutcome> {
        let done = unless_stopped(&self.stop, limit, work).await?;
        done.map_err(|fault| RunOutcome::Failed { fault })
    }

    fn watch_control(
        &self,
        project: &Project,
        steering: &Steering,
        harness: Option<Arc<HarnessRecord>>,
    ) -> ControlWatch {
        let console = Arc::clone(&self.console);
        let warn = move |why: &str| console.line(MessageLevel::Warning, &format!("Warning: {why}"));
        ControlWatch::start(project, harness, steering.clone(), self.stop.clone(), self.halt.clone(), warn)
    }

    fn deliverables(
        &self,
        first: Phase,
        status: Arc<StatusStore>,
        journal: &Arc<SqliteJournal>,
        sinks: &Sinks,
        span: &SpanContext,
    ) -> DeliverableService {
        let (sinks, span) = (sinks.clone(), span.clone());
        let notify = Box::new(move |change: &autonoe_core::status::StatusChange| {
            sinks.emit(&span, RunEvent::StatusChanged(change.clone()));
        });
        DeliverableService::new(status, Arc::clone(journal), first, notify).halting(self.halt.clone())
    }

    fn sinks(
        &self,
        project: &Project,
        run: i64,
        others: impl Iterator<Item = Arc<dyn Sink>>,
        builders: &Arc<CurrentBuilder>,
    ) -> Sinks {
        let console = Arc::clone(&self.console);
        let presenter = Presenter::new(console, self.verbosity, self.stop.clone(), LineTimes::OnTerminal);
        let log = EventLog::create(&project.event_logs(), run, Arc::clone(&self.console));
        let mut sinks: Vec<Arc<dyn Sink>> =
            vec![Arc::new(presenter), Arc::new(log), Arc::clone(builders) as _];
        if self.json {
            sinks.push(Arc::new(JsonSink::new(Arc::clone(&self.console))));
        }
        sinks.extend(others);
        Sinks::new(sinks)
    }
}

/// Ends a run that has not come to its first session.
async fn end_early(
    outcome: RunOutcome,
    journal: &SqliteJournal,
    sinks: &Sinks,
    span: &SpanContext,
) -> Result<(RunReport, Option<AgentResult>), Fault> {
    let report = RunReport::without_session(outcome);
    journal.record(JournalRecord::RunEnded(Box::new(report.clone()))).await?;
    sinks.emit(span, RunEvent::Outcome(report.clone()));
    Ok((report, None))
}

fn warning_lines(notices: &[String]) -> Vec<String> {
    notices.iter().map(|notice| format!("Warning: {notice}")).collect()
}

/// Lets the user open ports in the rooms of sessions; if that cannot be had, the run works without.
fn serve_ports(
    project: &Project,
    room_config: &RoomConfig,
    workers: &[ResolvedWorker],
    sites: &[WorkerSite],
) -> Option<PortServer> {
    let of_run = PortPlace { deliverable: Box::new(|| None), sessions: room_config.sessions.clone() };
    let of_workers = workers.iter().zip(sites.to_vec()).map(|(worker, site)| PortPlace {
        deliverable: Box::new(move || site.held()),
        sessions: worker.sessions.clone(),
    });
    PortServer::start(project, of_workers.chain([of_run]).collect()).ok()
}

fn chain_entry((backend, models): &BuiltBackend) -> ChainEntry<'_> {
    ChainEntry::new(backend.as_ref(), models.clone())
}

fn landing_event(event: SiteEvent) -> RunEvent {
    match event {
        SiteEvent::Saved { files, left } if left.is_empty() => RunEvent::Notice {
            message: format!("The session left {files} uncommitted file(s), which were committed for it."),
        },
        SiteEvent::Saved { left, .. } => RunEvent::Warning {
            message: format!(
                "These files of the workspace cannot be committed, so they do not land: {}.",
                list_names(&left)
            ),
        },
        SiteEvent::Ignored { files } => RunEvent::Warning {
            message: format!(
                "Git ignores these files of the workspace, so they do not land, and no check has shown that the rest works without them: {}. If they belong to the project, change .gitignore.",
                list_names(&files)
            ),
        },
        SiteEvent::Unusable { why } => {
            RunEvent::Warning { message: format!("{why} What was fetched before is kept.") }
        }
        SiteEvent::NoteAppended => RunEvent::Notice {
            message: "You have edited .autonoe-note.md meanwhile: the agent's note is below yours."
                .to_owned(),
        },
        SiteEvent::NoteKept { why } => RunEvent::Warning {
            message: format!(
                ".autonoe-note.md cannot be read ({why}), so the agent's note was not written there."
            ),
        },
        SiteEvent::Landed { branch, commit, ci_files, hook_files, filtered_files } => {
            let advice = present::filtered_files(&filtered_files);
            RunEvent::Landing { branch, commit, why: None, advice, ci_files, hook_files }
        }
        SiteEvent::Apart { branch, commit, why } => RunEvent::Landing {
            advice: Some(why.advice(&branch)),
            branch,
            commit,
            why: Some(why.to_string()),
            ci_files: Vec::new(),
            hook_files: Vec::new(),
        },
    }
}

fn holder(run: &ResolvedRun, clock: &dyn Clock) -> LockHolder {
    LockHolder {
        pid: std::process::id(),
        command: run.title.command.clone(),
        since: clock.now(),
        socket: Some(run.socket.clone()),
    }
}
