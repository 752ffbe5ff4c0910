//! The wiring: puts the parts together for one run and lets the loop do the rest.

mod beginning;
mod greeting;
mod job;
mod means;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_agents::NativeSettings;
use autonoe_core::agent::Backend;
use autonoe_core::backend_chain::{BackendChain, ChainEntry, Models};
use autonoe_core::clock::Clock;
use autonoe_core::event::RunEvent;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::halt::Halt;
use autonoe_core::instruction::Phase;
use autonoe_core::journal::{Journal as _, Record};
use autonoe_core::limits::Limits;
use autonoe_core::money::Usd;
use autonoe_core::outage::DEFAULT_MAX_OUTAGE;
use autonoe_core::outcome::{RunOutcome, RunReport, exit};
use autonoe_core::runner::{RunOptions, Runner};
use autonoe_core::sink::{Sink, Sinks};
use autonoe_core::span::{SpanContext, TraceId};
use autonoe_deliverables::{CallServer, DeliverableService};
use autonoe_files::WriteTrouble;
use autonoe_model::{PriceList, Provider, Tuning};
use autonoe_policy::{PolicyOptions, gates_for, path_rules_for};
use autonoe_sandbox::RoomConfig;
use autonoe_store::config::AgentConfig;
use autonoe_store::journal::JournalOptions;
use autonoe_store::{AgentCommand, Holder, Journal, Project, StatusStore};
use autonoe_telemetry::{Telemetry, TelemetrySettings};
use autonoe_verify::{Builders, CheckoutFactory, last_commit};
use autonoe_workflow::AgentResult;

use self::beginning::Beginning;
pub use self::job::{AgentJob, HostEffectsFactory, Job, agent_command};
use self::job::{Planned, Surroundings, Title, Work};
use self::means::{
    NativeTools, last_conversation, native_tools, outputs, policy, prepared_outputs, secrets, socket_path,
    tools_of_servers,
};
use crate::acquire::acquire;
use crate::arguments::CommonArgs;
use crate::backend_factory::BackendFactory;
use crate::consent::ensure_trusted;
use crate::environment::Environment;
use crate::preflight;
use crate::present::{self, Console, Detail, JsonSink, Level, Presenter, Screen, Stream};
use crate::providers;
use crate::resolve_backends::{ResolvedBackend, resolve_backends, resolve_verifier};
use crate::room_config;
use crate::stop::Stop;
use crate::system::{SystemClock, outlives_its_terminal, runtime, watch_signals};

/// How long the end of a run waits for its traces and metrics to be taken.
const TELEMETRY_LIMIT: Duration = Duration::from_secs(2);

/// What is asked of a run beside its options.
pub struct Request<'a> {
    /// What it is to do.
    pub job: Job<'a>,
    /// The options that were typed.
    pub args: &'a CommonArgs,
    /// The model that reads the specification.
    pub plan_model: Option<&'a str>,
    /// Whether it resumes the conversation of the last session.
    pub resume: bool,
    /// Whether the deliverables so far are put aside.
    pub start_over: bool,
    /// Whether `rm` and `mv` may be used.
    pub allow_destructive: bool,
    /// Commands that the user allows, beyond the profiles and the project's configuration.
    pub allow_commands: Vec<String>,
    /// Whether the user typed that there shall be no sandbox.
    pub no_sandbox: bool,
    /// What to warn about first.
    pub warning: Option<&'static str>,
}

/// Runs a plan to its end and returns the exit code.
pub fn drive(request: Request<'_>, environment: &Environment) -> Result<u8, Fault> {
    let (args, mode, title) = (request.args, request.job.mode(), request.job.title());
    let project = environment.project(&args.project)?;
    let config = AgentConfig::load(&project)?;
    let user = environment.user_config()?;
    let runtime = runtime()?;
    let (stop, screen) = (Stop::default(), Screen::default());
    runtime.block_on(async { watch_signals(stop.clone(), screen.clone().on_signal()) })?;
    let without_sandbox = room_config::disabled_by(request.no_sandbox, environment, &user);
    let survey = runtime.spawn(room_config::survey(&project, environment, without_sandbox.is_some())?);
    args.backend
        .name()
        .iter()
        .chain(args.fallback.iter().map(|substitute| &substitute.backend))
        .try_for_each(|name| name.check_configured(&user.agents))?;
    let mut policy = policy(&request, &config, &project, environment)?;
    policy.tools.extend(tools_of_servers(&config, mode, &user));
    policy.readable = room_config::readable(environment, &user);
    policy.readable.extend(prepared_outputs(&project));
    let Request { job, resume, start_over, warning, plan_model, .. } = request;
    let verifier = match &job {
        Job::Run { verifier, .. } => *verifier,
        Job::Sync | Job::Agent(_) => None,
    };
    let work = job.prepare(&project, start_over)?;
    ensure_trusted(&project, &config)?;
    project.check_writable()?;
    let found = stop.token().run_until_cancelled_owned(providers::find(environment, &user));
    let Some(providers) = runtime.block_on(found).transpose()? else {
        return Ok(exit::INTERRUPTED);
    };
    let backend_chain = resolve_backends(args, plan_model, environment, &providers, !work.is_over())?;
    let verifier = verifier.map(|typed| resolve_verifier(typed, &providers)).transpose()?;
    let secrets = secrets(environment, &providers, &user);
    let telemetry = environment.telemetry(&user, secrets.clone())?;

    let stream = if args.json { Stream::Err } else { Stream::Out };
    let console = Arc::new(Console::new(stream, secrets.clone(), {
        let stop = stop.clone();
        move |error| {
            if !outlives_its_terminal(error) {
                stop.output_closed(error);
            }
        }
    }));
    screen.open(&console);
    let warn = |warning: &str| console.line(Level::Warning, &format!("Warning: {warning}"));
    warning.iter().for_each(|warning| warn(warning));
    if let Some(small) = project.small_state_disk() {
        warn(&format!("{small}."));
    }
    let ended = runtime.block_on(async {
        if let Some(what) = without_sandbox {
            warn(&format!("the sandbox is disabled by {what}; system-level isolation is not enforced."));
        }
        let Some(surveyed) = stop.token().run_until_cancelled(survey).await else {
            return Ok(None);
        };
        let surveyed = surveyed.map_err(|error| {
            Fault::lasting(Layer::System, "sandbox", format!("The sandbox was not looked for: {error}."))
        })?;
        let sandbox = surveyed.sandbox?;
        surveyed.identity.warning().iter().for_each(|warning| warn(warning));
        room_config::shortcomings(sandbox.layer()).iter().for_each(|shortcoming| warn(shortcoming));
        if let Some(home) = room_config::home_in_project(&project, environment) {
            warn(&format!(
                "the project holds your home directory, {}: agents may read and write it.",
                home.display()
            ));
        }
        policy.temp = room_config::temporary(sandbox.layer(), &project);
        let mut room_config =
            room_config::lay_out(&project, environment, &user, &policy, sandbox, &surveyed.identity)?;
        let warnings = preflight::check(&project, &room_config).await?;
        let site = room_config::check_site(&project, environment, &user, &room_config, "checkouts");
        let tools = native_tools(&config, mode, &project, environment, &user, &policy)?;
        room_config.bounds.read.extend(tools.installed.iter().cloned());
        let prices = Arc::new(providers::prices(&user));
        let resume = if resume { last_conversation(&project)? } else { None };
        let parts = Parts { backend_chain, agents: user.agents, providers, prices, room_config, tools };
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
        let watching = Watching { secrets, telemetry };
        engine.run(work, policy, parts, Checking { verifier, site }, watching, resume).await.map(Some)
    });
    console.stop();
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

/// The account of a run that was interrupted before its first session.
fn stopped_before_its_first_session() -> RunReport {
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

/// Who watches a run, and what they must not see.
struct Watching {
    secrets: Vec<String>,
    telemetry: TelemetrySettings,
}

/// What decides about the work.
struct Checking {
    verifier: Option<ResolvedBackend>,
    site: CheckoutFactory,
}

/// What the agents of a run are made from.
struct Parts {
    backend_chain: Vec<ResolvedBackend>,
    agents: BTreeMap<String, AgentCommand>,
    providers: Vec<Provider>,
    prices: Arc<PriceList>,
    room_config: RoomConfig,
    tools: NativeTools,
}

/// A backend and the models that it works with.
type Assembled = (Box<dyn Backend>, Models);

struct Engine<'a> {
    title: Title,
    args: &'a CommonArgs,
    start_over: bool,
    project: &'a Project,
    environment: &'a Environment,
    console: Arc<Console>,
    stop: Stop,
    max_outage: Duration,
    /// Ends the run when its state cannot be written.
    halt: Halt,
    /// What is to be said before the first session.
    warnings: Vec<String>,
}

impl Engine<'_> {
    async fn run(
        self,
        work: Work,
        policy: PolicyOptions,
        parts: Parts,
        Checking { verifier, site }: Checking,
        Watching { secrets, telemetry }: Watching,
        resume: Option<serde_json::Value>,
    ) -> Result<(RunReport, Option<AgentResult>), Fault> {
        let telemetry = Telemetry::from_settings(telemetry)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let socket = socket_path(self.project);
        let acquired = acquire(self.project, &self.holder(clock.as_ref(), &socket))?;
        greeting::greet(&self, &parts);

        let builders = Arc::new(Builders::default());
        let sinks = self.sinks(telemetry.as_ref(), &builders);
        let options =
            JournalOptions { secrets, crash: self.environment.crash_point()?, earlier: work.earlier() };
        let journal_file = self.project.journal_file();
        let (journal, begun) =
            Journal::begin(&journal_file, &self.title.command, &work.spec_hash(), clock.now(), options)
                .await?;
        let status =
            Arc::new(StatusStore::open(self.project, Arc::clone(&journal), Arc::clone(&clock)).await?);
        let span = SpanContext::run(begun.run, TraceId(fastrand::u128(1..)));
        let sessions_before = if begun.resumed { begun.state.sessions } else { 0 };
        sinks.emit(&span, RunEvent::RunStarted { command: self.title.command.clone(), sessions_before });
        for message in acquired.messages.iter().chain(&self.warnings) {
            sinks.emit(&span, RunEvent::Trouble { message: message.clone() });
        }

        if work.has_deliverables() {
            let beginning = Beginning { project: self.project, status: &status, journal: &journal };
            match self.start_over {
                true => self.console.line(Level::Info, &beginning.start_over(clock.now()).await?),
                false => {
                    if let Some(restored) = beginning.restore().await? {
                        sinks.emit(&span, &restored);
                    }
                }
            }
        }
        // We hold the project, so nobody else works there.
        site.forget_leftovers(Duration::ZERO);
        let first = work.first_phase();
        let surroundings = Surroundings {
            project: self.project,
            journal: Arc::clone(&journal),
            status: Arc::clone(&status),
            clock: Arc::clone(&clock),
            site,
            guarded: Arc::clone(&policy.guarded),
            gates: gates_for(Phase::Step, &policy),
            builders,
            sinks: sinks.clone(),
            span: span.clone(),
        };
        // What an agent does on entry may take its time; an interrupt does not wait for it.
        let planning = surroundings.plan(work, verifier.as_ref(), &parts.room_config);
        let Some(mut planned) = self.stop.token().run_until_cancelled(planning).await.transpose()? else {
            let report = stopped_before_its_first_session();
            journal.record(Record::RunEnded(Box::new(report.clone()))).await?;
            sinks.emit(&span, RunEvent::Outcome(report.clone()));
            return Ok((report, None));
        };
        let deliverables = self.deliverables(first, &planned, status, &journal, &sinks, &span);
        let _calls = CallServer::start(&socket, Arc::clone(&deliverables)).map_err(|error| {
            let WriteTrouble { why, advice } = WriteTrouble::of(&socket, &error);
            let message = format!("The socket {} cannot be opened: {why}.", socket.display());
            Fault::lasting(Layer::System, "socket", message).hint(advice)
        })?;
        let policy = Arc::new(policy);
        let (backend_chain, verifier) = self.assemble(parts, verifier, &policy, socket, &deliverables)?;
        let mut members = backend_chain
            .iter()
            .map(|(backend, models)| ChainEntry { backend: backend.as_ref(), models: models.clone() });
        let Some(first) = members.next() else {
            return Err(Fault::lasting(Layer::Config, "no_agent", "There is no agent to work."));
        };
        let reviewer = verifier
            .as_ref()
            .map(|(backend, models)| ChainEntry { backend: backend.as_ref(), models: models.clone() });
        let backend_chain = BackendChain::new(first, members.collect()).reviewed_by(reviewer);
        self.console.start();
        let runner = Runner {
            plan: planned.plan(),
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
        // Without it the run still ended as it did.
        let _ = journal.ended_on(last_commit(self.project.root()).as_deref()).await;
        if let Some(telemetry) = telemetry {
            telemetry.shutdown(TELEMETRY_LIMIT).await;
            if let Some(complaint) = telemetry.complaint() {
                self.console.line(Level::Warning, &format!("Warning: {complaint}"));
            }
        }
        Ok((report, planned.stop()))
    }

    /// The deliverable tools of the run.
    fn deliverables(
        &self,
        first: Phase,
        planned: &Planned,
        status: Arc<StatusStore>,
        journal: &Arc<Journal>,
        sinks: &Sinks,
        span: &SpanContext,
    ) -> Arc<DeliverableService> {
        let (sinks, span) = (sinks.clone(), span.clone());
        let notify = Box::new(move |change: &autonoe_core::status::StatusChange| {
            sinks.emit(&span, RunEvent::StatusChanged(change.clone()));
        });
        let service = DeliverableService::new(status, Arc::clone(journal), first, notify);
        let service = service.halting(self.halt.clone());
        Arc::new(match planned.examiner() {
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

    /// The agents, in the order in which they step in, and the one who looks at their work.
    fn assemble(
        &self,
        parts: Parts,
        verifier: Option<ResolvedBackend>,
        policy: &Arc<PolicyOptions>,
        calls: PathBuf,
        deliverables: &Arc<DeliverableService>,
    ) -> Result<(Vec<Assembled>, Option<Assembled>), Fault> {
        let policy = Arc::clone(policy);
        let Parts { backend_chain, agents, providers, prices, room_config, tools } = parts;
        let native = NativeSettings {
            root: self.project.root().to_owned(),
            providers,
            tuning: Tuning { prices: Some(Arc::clone(&prices)), ..Tuning::default() },
            room_config: room_config.clone(),
            outputs: outputs(self.project),
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

    fn sinks(&self, telemetry: Option<&Telemetry>, builders: &Arc<Builders>) -> Sinks {
        let detail = match self.args {
            CommonArgs { quiet: true, .. } => Detail::Quiet,
            CommonArgs { debug: true, .. } => Detail::Debug,
            CommonArgs { verbose: true, .. } => Detail::Verbose,
            _ => Detail::Normal,
        };
        let mut sinks: Vec<Arc<dyn Sink>> = vec![
            Arc::new(Presenter::new(
                Arc::clone(&self.console),
                detail,
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

    fn holder(&self, clock: &dyn Clock, socket: &Path) -> Holder {
        Holder {
            pid: std::process::id(),
            command: self.title.command.clone(),
            since: clock.now(),
            socket: Some(socket.to_owned()),
        }
    }
}
