//! Wires up one run: resolves settings, sandbox, backends and sinks, then hands over to the Runner.

mod banner;
mod job;
mod setup;
pub mod status_setup;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_agents::NativeSettings;
use autonoe_core::agent::Backend;
use autonoe_core::backend_chain::{BackendChain, ChainEntry, PhaseModels};
use autonoe_core::clock::Clock;
use autonoe_core::event::RunEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::halt::Halt;
use autonoe_core::instruction::Phase;
use autonoe_core::journal::{Journal as _, JournalRecord};
use autonoe_core::limits::Limits;
use autonoe_core::money::Usd;
use autonoe_core::outage::DEFAULT_MAX_OUTAGE;
use autonoe_core::outcome::{RunOutcome, RunReport, exit};
use autonoe_core::runner::{RunOptions, Runner};
use autonoe_core::sink::{Sink, Sinks};
use autonoe_core::span::{SpanContext, TraceId};
use autonoe_deliverables::{CallServer, DeliverableService};
use autonoe_files::WriteFailure;
use autonoe_model::{PriceList, Provider, Tuning};
use autonoe_policy::{PolicyOptions, gates_for, path_rules_for};
use autonoe_sandbox::{RoomConfig, rooms_closed};
use autonoe_store::config::AgentConfig;
use autonoe_store::journal::JournalOptions;
use autonoe_store::{AcpAgentConfig, LockHolder, Project, SqliteJournal, StatusStore};
use autonoe_telemetry::{Telemetry, TelemetrySettings};
use autonoe_verify::{CheckoutFactory, CurrentBuilder, last_commit};
use autonoe_workflow::AgentResult;

pub use self::job::{AgentJob, HostEffectsFactory, RunJob, agent_command};
use self::job::{JobPlan, PlanContext, PreparedJob, RunTitle};
use self::setup::{
    NativeTools, create_outputs_dir, last_conversation, mcp_tool_patterns, native_tools, outputs_dir, policy,
    secrets,
};
use self::status_setup::StatusSetup;
use crate::arguments::CommonArgs;
use crate::backend_factory::BackendFactory;
use crate::consent::ensure_trusted;
use crate::environment::Environment;
use crate::lock_project::{lock_project, socket_path};
use crate::preflight;
use crate::present::{
    self, Console, JsonSink, MessageLevel, OutputStream, Presenter, SignalNotice, Verbosity,
};
use crate::providers;
use crate::resolve_backends::{ResolvedBackend, resolve_backends, resolve_verifier};
use crate::room_config;
use crate::stop::StopSignal;
use crate::system::{SystemClock, outlives_its_terminal, runtime, watch_signals};

/// Maximum time to wait at the end of a run for rooms that are still shutting down.
const ROOM_LIMIT: Duration = Duration::from_secs(3);

/// Maximum time to wait at the end of a run for the telemetry collector.
const TELEMETRY_LIMIT: Duration = Duration::from_secs(2);

pub struct RunRequest<'a> {
    pub job: RunJob<'a>,
    pub args: &'a CommonArgs,
    /// Value of `--plan-model`.
    pub plan_model: Option<&'a str>,
    /// Resume the conversation of the last session.
    pub resume: bool,
    /// Back up the existing deliverables and plan from scratch.
    pub start_over: bool,
    /// Allow `rm` and `mv`.
    pub allow_destructive: bool,
    /// Allowed in addition to the profiles and the project's configuration.
    pub allow_commands: Vec<String>,
    /// `--no-sandbox` was given.
    pub no_sandbox: bool,
    /// Printed before anything else.
    pub warning: Option<&'static str>,
}

/// Runs a job to its end and returns the exit code.
pub fn drive(request: RunRequest<'_>, environment: &Environment) -> Result<u8, Fault> {
    let (args, mode, title) = (request.args, request.job.mode(), request.job.title());
    let project = environment.project(&args.project)?;
    let config = AgentConfig::load(&project)?;
    let user = environment.user_config()?;
    let runtime = runtime()?;
    let (stop, signal_notice) = (StopSignal::default(), SignalNotice::default());
    runtime.block_on(async { watch_signals(stop.clone(), signal_notice.clone().on_signal()) })?;
    let without_sandbox = room_config::disabled_by(request.no_sandbox, environment, &user);
    let detecting =
        runtime.spawn(room_config::detect_host(&project, environment, without_sandbox.is_some())?);
    args.backend
        .name()
        .iter()
        .chain(args.fallback.iter().map(|fallback| &fallback.backend))
        .try_for_each(|name| name.check_configured(&user.agents))?;
    let mut policy = policy(&request, &config, &project, environment)?;
    policy.tools.extend(mcp_tool_patterns(&config, mode, &user));
    policy.readable = room_config::readable(environment, &user);
    policy.readable.extend(create_outputs_dir(&project));
    let RunRequest { job, resume, start_over, warning, plan_model, .. } = request;
    let verifier = match &job {
        RunJob::Run { verifier, .. } => *verifier,
        RunJob::Sync | RunJob::Agent(_) => None,
    };
    let job = job.prepare(&project, start_over)?;
    ensure_trusted(&project, &config)?;
    project.check_writable()?;
    let finding = stop.token().run_until_cancelled_owned(providers::find(environment, &user));
    let Some(providers) = runtime.block_on(finding).transpose()? else {
        return Ok(exit::INTERRUPTED);
    };
    let backend_chain = resolve_backends(args, plan_model, environment, &providers, !job.is_over())?;
    let verifier = verifier.map(|verifier| resolve_verifier(verifier, &providers)).transpose()?;
    let secrets = secrets(environment, &providers, &user);
    let telemetry = environment.telemetry(&user, secrets.clone())?;

    let stream = if args.json { OutputStream::Err } else { OutputStream::Out };
    let console = Arc::new(Console::new(stream, secrets.clone(), {
        let stop = stop.clone();
        move |error| {
            if !outlives_its_terminal(error) {
                stop.output_closed(error);
            }
        }
    }));
    signal_notice.use_console(&console);
    let warn = |warning: &str| console.line(MessageLevel::Warning, &format!("Warning: {warning}"));
    warning.iter().for_each(|warning| warn(warning));
    if let Some(small) = project.small_state_disk() {
        warn(&format!("{small}."));
    }
    let ended = runtime.block_on(async {
        if let Some(what) = without_sandbox {
            warn(&format!("the sandbox is disabled by {what}; system-level isolation is not enforced."));
        }
        let Some(detected) = stop.token().run_until_cancelled(detecting).await else {
            return Ok(None);
        };
        let host = detected.map_err(|error| {
            Fault::permanent(FaultLayer::System, "sandbox", format!("Sandbox detection failed: {error}."))
        })?;
        let sandbox = host.sandbox?;
        host.identity.warning().iter().for_each(|warning| warn(warning));
        room_config::limitations(sandbox.layer()).iter().for_each(|limitation| warn(limitation));
        if let Some(home) = room_config::home_in_project(&project, environment) {
            warn(&format!(
                "the project contains your home directory, {}; agents can read and write it.",
                home.display()
            ));
        }
        policy.temp = room_config::temporary(sandbox.layer(), &project);
        let mut room_config =
            room_config::build(&project, environment, &user, &policy, sandbox, &host.identity)?;
        let checking = preflight::check(&project, &room_config);
        let Some(warnings) = stop.token().run_until_cancelled(checking).await.transpose()? else {
            return Ok(None);
        };
        let checkouts =
            room_config::checkout_factory(&project, environment, &user, &room_config, "checkouts");
        let tools = native_tools(&config, mode, &project, environment, &user, &policy)?;
        room_config.bounds.read.extend(tools.installed.iter().cloned());
        let prices = Arc::new(providers::prices(&user));
        let resume = if resume { last_conversation(&project)? } else { None };
        let inputs =
            BackendInputs { backend_chain, agents: user.agents, providers, prices, room_config, tools };
        let console = Arc::clone(&console);
        let max_outage = args.max_outage.or(user.run.max_outage).unwrap_or(DEFAULT_MAX_OUTAGE);
        let stop = stop.clone();
        let engine = Engine {
            title,
            args,
            start_over,
            project: &project,
            environment,
            console,
            stop,
            max_outage,
            halt: Halt::default(),
            warnings,
        };
        let observers = Observers { secrets, telemetry };
        engine
            .run(job, policy, inputs, VerificationSetup { verifier, checkouts }, observers, resume)
            .await
            .map(Some)
    });
    console.stop();
    runtime.block_on(rooms_closed(ROOM_LIMIT));
    runtime.shutdown_timeout(Duration::from_millis(200));
    let Some((report, result)) = ended? else {
        return Ok(exit::INTERRUPTED);
    };
    if let Some(mut answer) = result.and_then(|result| result.answer).filter(|_| !args.json) {
        console.redactor().value(&mut answer);
        present::print_answer(&format!("{answer:#}\n"))?;
    }
    Ok(stop.exit_code(&report))
}

/// The report of a run that was interrupted before its first session.
fn interrupted_before_first_session() -> RunReport {
    RunReport {
        outcome: RunOutcome::Interrupted,
        exit_code: exit::INTERRUPTED,
        iterations: 0,
        deliverables_passed: 0,
        deliverables_total: 0,
        deliverables_blocked: 0,
        deliverables_verified: 0,
        deliverables_claimed: 0,
        deliverables_doubted: 0,
        verified: 0,
        verified_total: 0,
        duration: Duration::ZERO,
        cost_usd: Some(Usd(0.0)),
        agent: None,
    }
}

struct Observers {
    secrets: Vec<String>,
    telemetry: TelemetrySettings,
}

struct VerificationSetup {
    verifier: Option<ResolvedBackend>,
    checkouts: CheckoutFactory,
}

struct BackendInputs {
    backend_chain: Vec<ResolvedBackend>,
    agents: BTreeMap<String, AcpAgentConfig>,
    providers: Vec<Provider>,
    prices: Arc<PriceList>,
    room_config: RoomConfig,
    tools: NativeTools,
}

type BuiltBackend = (Box<dyn Backend>, PhaseModels);

struct Engine<'a> {
    title: RunTitle,
    args: &'a CommonArgs,
    start_over: bool,
    project: &'a Project,
    environment: &'a Environment,
    console: Arc<Console>,
    stop: StopSignal,
    max_outage: Duration,
    /// Ends the run when its state cannot be written.
    halt: Halt,
    /// Emitted before the first session.
    warnings: Vec<String>,
}

impl Engine<'_> {
    async fn run(
        self,
        job: PreparedJob,
        policy: PolicyOptions,
        inputs: BackendInputs,
        VerificationSetup { verifier, checkouts }: VerificationSetup,
        Observers { secrets, telemetry }: Observers,
        resume: Option<serde_json::Value>,
    ) -> Result<(RunReport, Option<AgentResult>), Fault> {
        let telemetry = Telemetry::from_settings(telemetry)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let socket = socket_path(self.project);
        let locked = lock_project(self.project, &self.holder(clock.as_ref(), &socket))?;
        banner::print_banner(&self, &inputs);

        let builders = Arc::new(CurrentBuilder::default());
        let sinks = self.sinks(telemetry.as_ref(), &builders);
        let options =
            JournalOptions { secrets, crash: self.environment.crash_point()?, resume: job.earlier() };
        let journal_file = self.project.journal_file();
        let (journal, begun) =
            SqliteJournal::begin(&journal_file, &self.title.command, &job.spec_hash(), clock.now(), options)
                .await?;
        let status =
            Arc::new(StatusStore::open(self.project, Arc::clone(&journal), Arc::clone(&clock)).await?);
        let span = SpanContext::run(begun.run, TraceId(fastrand::u128(1..)));
        let sessions_before = if begun.resumed { begun.state.sessions } else { 0 };
        sinks.emit(&span, RunEvent::RunStarted { command: self.title.command.clone(), sessions_before });
        for message in locked.messages.iter().chain(&self.warnings) {
            sinks.emit(&span, RunEvent::Warning { message: message.clone() });
        }

        if job.has_deliverables() {
            let setup = StatusSetup {
                project: self.project,
                status: &status,
                journal: &journal,
                other_project: job.other_project(),
                now: clock.now(),
            };
            match self.start_over {
                true => self.console.line(MessageLevel::Info, &setup.start_over().await?),
                false => {
                    if let Some(restored) = setup.restore().await? {
                        sinks.emit(&span, &restored);
                    }
                }
            }
        }
        // We hold the project lock, so every checkout there is stale.
        checkouts.remove_leftovers(Duration::ZERO);
        let first = job.first_phase();
        let context = PlanContext {
            project: self.project,
            journal: Arc::clone(&journal),
            status: Arc::clone(&status),
            clock: Arc::clone(&clock),
            checkouts,
            guarded: Arc::clone(&policy.guarded),
            gates: gates_for(Phase::Step, &policy),
            builders,
            sinks: sinks.clone(),
            span: span.clone(),
        };
        // An agent's entry actions may take long; an interrupt must not wait for them.
        let planning = context.plan(job, verifier.as_ref(), &inputs.room_config);
        let Some(mut plan) = self.stop.token().run_until_cancelled(planning).await.transpose()? else {
            let report = interrupted_before_first_session();
            journal.record(JournalRecord::RunEnded(Box::new(report.clone()))).await?;
            sinks.emit(&span, RunEvent::Outcome(report.clone()));
            return Ok((report, None));
        };
        let deliverables = self.deliverables(first, &plan, status, &journal, &sinks, &span);
        let _calls = CallServer::start(&socket, Arc::clone(&deliverables)).map_err(|error| {
            let WriteFailure { why, advice } = WriteFailure::of(&socket, &error);
            let message = format!("The socket {} cannot be opened: {why}.", socket.display());
            Fault::permanent(FaultLayer::System, "socket", message).hint(advice)
        })?;
        let policy = Arc::new(policy);
        let (backends, verifier) = self.build_backends(inputs, verifier, &policy, socket, &deliverables)?;
        let mut entries = backends
            .iter()
            .map(|(backend, models)| ChainEntry { backend: backend.as_ref(), models: models.clone() });
        let Some(first) = entries.next() else {
            return Err(Fault::permanent(
                FaultLayer::Config,
                "no_agent",
                "No agent is configured for this run.",
            ));
        };
        let reviewer = verifier
            .as_ref()
            .map(|(backend, models)| ChainEntry { backend: backend.as_ref(), models: models.clone() });
        let backend_chain = BackendChain::new(first, entries.collect()).reviewed_by(reviewer);
        self.console.start();
        let runner = Runner {
            plan: plan.plan(),
            backend_chain,
            gates: &|phase| gates_for(phase, &policy),
            journal: journal.as_ref(),
            sinks: &sinks,
            clock: clock.as_ref(),
            interrupt: self.stop.token(),
            halt: self.halt.clone(),
            options: self.options(),
            span: span.clone(),
            resume,
        };
        let report = runner.run(begun.state).await;
        // Only the report needs this; the outcome does not depend on it.
        let _ = journal.record_end_commit(last_commit(self.project.root()).as_deref()).await;
        if let Some(telemetry) = telemetry {
            telemetry.shutdown(TELEMETRY_LIMIT).await;
            if let Some(problem) = telemetry.loss_warning() {
                self.console.line(MessageLevel::Warning, &format!("Warning: {problem}"));
            }
        }
        Ok((report, plan.stop()))
    }

    fn deliverables(
        &self,
        first: Phase,
        plan: &JobPlan,
        status: Arc<StatusStore>,
        journal: &Arc<SqliteJournal>,
        sinks: &Sinks,
        span: &SpanContext,
    ) -> Arc<DeliverableService> {
        let (sinks, span) = (sinks.clone(), span.clone());
        let notify = Box::new(move |change: &autonoe_core::status::StatusChange| {
            sinks.emit(&span, RunEvent::StatusChanged(change.clone()));
        });
        let service = DeliverableService::new(status, Arc::clone(journal), first, notify);
        let service = service.halting(self.halt.clone());
        Arc::new(match plan.examiner() {
            Some(examiner) => service.examined_by(examiner),
            None => service,
        })
    }

    fn options(&self) -> RunOptions {
        RunOptions {
            limits: Limits {
                max_iterations: self.args.max_iterations,
                max_cost: self.args.max_cost,
                max_duration: self.args.max_duration,
            },
            max_retries: self.args.max_retries,
            session_delay: self.args.session_delay,
            wait_for_quota: self.args.wait_for_quota,
            max_outage: self.max_outage,
            thinking: self.args.thinking,
        }
    }

    /// The backends in fallback order, and the verifier.
    fn build_backends(
        &self,
        inputs: BackendInputs,
        verifier: Option<ResolvedBackend>,
        policy: &Arc<PolicyOptions>,
        calls: PathBuf,
        deliverables: &Arc<DeliverableService>,
    ) -> Result<(Vec<BuiltBackend>, Option<BuiltBackend>), Fault> {
        let policy = Arc::clone(policy);
        let BackendInputs { backend_chain, agents, providers, prices, room_config, tools } = inputs;
        let native = NativeSettings {
            root: self.project.root().to_owned(),
            providers,
            tuning: Tuning { prices: Some(Arc::clone(&prices)), ..Tuning::default() },
            room_config: room_config.clone(),
            outputs: outputs_dir(self.project),
            tools: tools.options,
            mcp_servers: tools.servers.clone(),
            file_rules: Arc::new(move |phase| path_rules_for(phase, &policy)),
        };
        let factory = BackendFactory {
            environment: self.environment,
            room_config,
            native,
            servers: tools.servers,
            prices,
            calls,
            deliverables: Arc::clone(deliverables),
            agents,
        };
        let build = |resolved: ResolvedBackend| Ok((factory.build(&resolved.backend)?, resolved.models));
        let verifier = verifier.map(build).transpose()?;
        Ok((backend_chain.into_iter().map(build).collect::<Result<_, Fault>>()?, verifier))
    }

    fn sinks(&self, telemetry: Option<&Telemetry>, builders: &Arc<CurrentBuilder>) -> Sinks {
        let verbosity = match self.args {
            CommonArgs { quiet: true, .. } => Verbosity::Quiet,
            CommonArgs { debug: true, .. } => Verbosity::Debug,
            CommonArgs { verbose: true, .. } => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        let mut sinks: Vec<Arc<dyn Sink>> = vec![
            Arc::new(Presenter::new(
                Arc::clone(&self.console),
                verbosity,
                self.title.command.clone(),
                self.stop.clone(),
            )),
            Arc::clone(builders) as _,
        ];
        if self.args.json {
            sinks.push(Arc::new(JsonSink::new(Arc::clone(&self.console))));
        }
        sinks.extend(telemetry.map(Telemetry::sink));
        Sinks::new(sinks)
    }

    fn holder(&self, clock: &dyn Clock, socket: &Path) -> LockHolder {
        LockHolder {
            pid: std::process::id(),
            command: self.title.command.clone(),
            since: clock.now(),
            socket: Some(socket.to_owned()),
        }
    }
}
