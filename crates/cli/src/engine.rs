//! The wiring: puts the parts together for one run and lets the loop do the rest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_agents::NativeSettings;
use autonoe_core::agent::Backend;
use autonoe_core::check::Check;
use autonoe_core::clock::Clock;
use autonoe_core::crew::{Crew, Member, Models};
use autonoe_core::duration::format as format_duration;
use autonoe_core::event::Event;
use autonoe_core::examiner::Examiner;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::files::Guarded;
use autonoe_core::limits::Limits;
use autonoe_core::mode::Mode;
use autonoe_core::outcome::RunReport;
use autonoe_core::plan::Plan;
use autonoe_core::plans::{DeliverablePlan, SyncPlan, run_ended};
use autonoe_core::runner::{RunOptions, Runner};
use autonoe_core::sink::{Sink, Sinks};
use autonoe_core::span::{SpanContext, TraceId};
use autonoe_deliverables::{CallServer, DeliverableService};
use autonoe_model::{PriceList, Provider, Tuning};
use autonoe_policy::{Permissions, PolicyOptions, ToolPattern, gates_for, path_rules_for};
use autonoe_sandbox::{Premises, Sandbox};
use autonoe_store::config::AgentConfig;
use autonoe_store::journal::JournalOptions;
use autonoe_store::journal::history::History;
use autonoe_store::{
    AgentCommand, Holder, Journal, Project, ProjectInstructions, ProjectLock, StatusStore, UserConfig,
    sha256_hex,
};
use autonoe_telemetry::{Telemetry, TelemetrySettings};
use autonoe_tools::{Outputs, ServerConfig, ToolOptions};
use autonoe_verify::{Builders, ProjectExaminer, Site, last_commit, written_checks};
use tokio_util::sync::CancellationToken;

use crate::arguments::CommonArgs;
use crate::backend_name::Substitute;
use crate::backends::Workshop;
use crate::browser;
use crate::consent::ensure_trusted;
use crate::environment::Environment;
use crate::hiring::{Hired, hire, hire_verifier};
use crate::permissions::{allowed_tools, permission_rules};
use crate::premises;
use crate::present::{Console, Detail, JsonSink, Level, Presenter, Stream};
use crate::programs::{find_program, installation};
use crate::providers;
use crate::system::{SystemClock, runtime, watch_signals};

/// How long the end of a run waits for its traces and metrics to be taken.
const TELEMETRY_LIMIT: Duration = Duration::from_secs(2);

/// The longest path a Unix socket can have, with room to spare.
const MAX_SOCKET_PATH: usize = 100;

/// What is asked of a run beside its options.
pub struct Request<'a> {
    /// Which plan to follow.
    pub mode: Mode,
    /// The options that were typed.
    pub args: &'a CommonArgs,
    /// Whether `rm` and `mv` may be used.
    pub allow_destructive: bool,
    /// Commands that the user allows, beyond the profiles and the project's configuration.
    pub allow_commands: Vec<String>,
    /// Whether the user typed that there shall be no sandbox.
    pub no_sandbox: bool,
    /// Whether nothing counts but what is verified.
    pub is_strict: bool,
    /// Who has an independent look in the end.
    pub verifier: Option<&'a Substitute>,
    /// What to warn about first.
    pub warning: Option<&'static str>,
}

/// Runs a plan to its end and returns the exit code.
pub fn drive(request: &Request<'_>, environment: &Environment) -> Result<u8, Fault> {
    let Request { mode, args, .. } = *request;
    let project = environment.project(&args.project)?;
    let spec = project.read_spec()?;
    let written = written_checks(&project, &spec)?;
    let config = AgentConfig::load(&project)?;
    let user = environment.user_config()?;
    args.backend
        .name()
        .iter()
        .chain(args.fallback.iter().map(|substitute| &substitute.backend))
        .try_for_each(|name| name.check_configured(&user.agents))?;
    let mut policy = policy(request, &config, &project, environment)?;
    policy.tools.extend(tools_of_servers(&config, mode, &user));
    policy.readable = premises::readable(environment, &user);
    policy.readable.extend(prepared_outputs(&project));
    ensure_trusted(&project, &config)?;
    let instructions = ProjectInstructions::new(&project);
    instructions.check_all()?;
    let status = StatusStore::read(&project)?;
    project.check_writable()?;
    let is_over = mode == Mode::Run && status.is_some_and(|status| run_ended(status.tally()).is_some());
    let providers = providers::find(environment, &user)?;
    let crew = hire(args, environment, &providers, !is_over)?;
    let verifier = request.verifier.map(|typed| hire_verifier(typed, &providers)).transpose()?;
    let secrets = secrets(environment, &providers, &user);
    let telemetry = environment.telemetry(&user, secrets.clone())?;

    let interrupt = CancellationToken::new();
    let stream = if args.json { Stream::Err } else { Stream::Out };
    let console = Arc::new(Console::new(stream, secrets.clone(), {
        let interrupt = interrupt.clone();
        move || interrupt.cancel()
    }));
    let warn = |warning: &str| console.line(Level::Warning, &format!("Warning: {warning}"));
    request.warning.iter().for_each(|warning| warn(warning));
    let runtime = runtime()?;
    let report = runtime.block_on(async {
        let sandbox = match premises::disabled_by(request.no_sandbox, environment, &user) {
            Some(what) => {
                warn(&format!("the sandbox is disabled by {what}; system-level isolation is not enforced."));
                Sandbox::none(environment.ourselves()?)
            }
            None => premises::find_sandbox(environment, project.state_dir()).await?,
        };
        premises::shortcomings(sandbox.layer()).iter().for_each(|shortcoming| warn(shortcoming));
        if let Some(home) = premises::home_in_project(&project, environment) {
            warn(&format!(
                "the project holds your home directory, {}: agents may read and write it.",
                home.display()
            ));
        }
        policy.temp = premises::temporary(sandbox.layer(), &project);
        let mut premises = premises::lay_out(&project, environment, &user, &policy, sandbox)?;
        let engine =
            Engine { mode, args, project: &project, environment, console: Arc::clone(&console), interrupt };
        let site = premises::check_site(&project, environment, &user, &premises, "checkouts");
        let checking = Checking {
            verifier,
            written,
            site,
            guarded: Arc::clone(&policy.guarded),
            is_strict: request.is_strict,
        };
        let tools = native_tools(&config, mode, &project, environment, &user, &policy)?;
        premises.bounds.read.extend(tools.installed.iter().cloned());
        let prices = Arc::new(providers::prices(&user));
        let parts = Parts { crew, agents: user.agents, providers, prices, premises, tools };
        engine.run(&spec, instructions, policy, parts, checking, Watching { secrets, telemetry }).await
    });
    console.stop();
    runtime.shutdown_timeout(Duration::from_millis(200));
    Ok(report?.exit_code)
}

/// Who watches a run, and what they must not see.
struct Watching {
    secrets: Vec<String>,
    telemetry: TelemetrySettings,
}

/// What decides about the work.
struct Checking {
    verifier: Option<Hired>,
    written: Vec<Check>,
    site: Site,
    guarded: Guarded,
    is_strict: bool,
}

/// What the agents of a run are made from.
struct Parts {
    crew: Vec<Hired>,
    agents: BTreeMap<String, AgentCommand>,
    providers: Vec<Provider>,
    prices: Arc<PriceList>,
    premises: Premises,
    tools: NativeTools,
}

/// What its tools need beside the project.
struct NativeTools {
    options: ToolOptions,
    servers: BTreeMap<String, ServerConfig>,
    /// What must be readable for the user's own servers and the browser to start.
    installed: Vec<PathBuf>,
}

/// A backend and the models that it works with.
type Assembled = (Box<dyn Backend>, Models);

struct Engine<'a> {
    mode: Mode,
    args: &'a CommonArgs,
    project: &'a Project,
    environment: &'a Environment,
    console: Arc<Console>,
    interrupt: CancellationToken,
}

impl Engine<'_> {
    async fn run(
        self,
        spec: &str,
        instructions: ProjectInstructions,
        policy: PolicyOptions,
        parts: Parts,
        checking: Checking,
        Watching { secrets, telemetry }: Watching,
    ) -> Result<RunReport, Fault> {
        let telemetry = Telemetry::from_settings(telemetry)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let socket = socket_path(self.project);
        let _lock = ProjectLock::take(self.project, &self.holder(clock.as_ref(), &socket))?;
        self.watch_signals()?;
        self.greet(&parts);

        let builders = Arc::new(Builders::default());
        let sinks = self.sinks(telemetry.as_ref(), &builders);
        let options =
            JournalOptions { secrets, crash: self.environment.crash_point()?, ..JournalOptions::default() };
        let spec_hash = sha256_hex(spec.as_bytes());
        let resume = if self.args.resume { last_conversation(self.project)? } else { None };
        let journal_file = self.project.journal_file();
        let (journal, begun) =
            Journal::begin(&journal_file, self.mode.name(), &spec_hash, clock.now(), options).await?;
        let status =
            Arc::new(StatusStore::open(self.project, Arc::clone(&journal), Arc::clone(&clock)).await?);
        let span = SpanContext::run(begun.run, TraceId(fastrand::u128(1..)));
        let sessions_before = if begun.resumed { begun.state.sessions } else { 0 };
        sinks.emit(&span, &Event::RunStarted { command: self.mode.name().to_owned(), sessions_before });

        // We hold the project, so nobody else works there.
        checking.site.forget_leftovers(Duration::ZERO);
        let (is_strict, verifier) = (checking.is_strict, checking.verifier);
        let base = journal.began_on(last_commit(self.project.root()).as_deref()).await?;
        let examiner: Arc<dyn Examiner> = Arc::new(ProjectExaminer {
            project: self.project.clone(),
            site: checking.site,
            written: checking.written,
            status: Arc::clone(&status),
            journal: Arc::clone(&journal),
            clock: Arc::clone(&clock),
            tell: Box::new({
                let (sinks, span) = (sinks.clone(), span.clone());
                move |event| sinks.emit(&span, event)
            }),
            guarded: checking.guarded,
            builders,
            is_strict,
            complaints: Default::default(),
            base: std::sync::Mutex::new(base),
            working: Default::default(),
        });
        let deliverables = DeliverableService::new(
            Arc::clone(&status),
            Arc::clone(&journal),
            self.mode.first_instruction(),
            Box::new({
                let (sinks, span) = (sinks.clone(), span.clone());
                move |change| sinks.emit(&span, &Event::StatusChanged(change.clone()))
            }),
        );
        let deliverables = Arc::new(deliverables.examined_by(Arc::clone(&examiner)));
        let _calls = CallServer::start(&socket, Arc::clone(&deliverables)).map_err(|error| {
            Fault::lasting(
                Layer::System,
                "socket",
                format!("The socket {} cannot be opened: {error}.", socket.display()),
            )
        })?;
        let policy = Arc::new(policy);
        let mut plan = self.plan(status, &journal, instructions, examiner, is_strict, verifier.is_some());
        let (crew, verifier) = self.assemble(parts, verifier, &policy, socket, &deliverables)?;
        let mut members =
            crew.iter().map(|(backend, models)| Member { backend: backend.as_ref(), models: models.clone() });
        let Some(first) = members.next() else {
            return Err(Fault::lasting(Layer::Config, "no_agent", "There is no agent to work."));
        };
        let reviewer = verifier
            .as_ref()
            .map(|(backend, models)| Member { backend: backend.as_ref(), models: models.clone() });
        let crew = Crew::new(first, members.collect()).reviewed_by(reviewer);
        self.console.start();
        let runner = Runner {
            plan: plan.as_mut(),
            crew,
            gates: &|phase| gates_for(phase, &policy),
            journal: journal.as_ref(),
            sinks: &sinks,
            clock: clock.as_ref(),
            interrupt: self.interrupt.clone(),
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
        Ok(report)
    }

    fn plan(
        &self,
        status: Arc<StatusStore>,
        journal: &Arc<Journal>,
        instructions: ProjectInstructions,
        examiner: Arc<dyn Examiner>,
        is_strict: bool,
        is_reviewed: bool,
    ) -> Box<dyn Plan> {
        let instructions = Arc::new(instructions);
        match self.mode {
            Mode::Run => {
                let plan = DeliverablePlan::new(status, instructions).examined_by(examiner, is_strict);
                Box::new(if is_reviewed { plan.with_review() } else { plan })
            }
            Mode::Sync => Box::new(SyncPlan::new(status, Arc::clone(journal) as _, instructions)),
        }
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
            thinking: self.args.thinking,
        }
    }

    /// The agents, in the order in which they step in, and the one who looks at their work.
    fn assemble(
        &self,
        parts: Parts,
        verifier: Option<Hired>,
        policy: &Arc<PolicyOptions>,
        calls: PathBuf,
        deliverables: &Arc<DeliverableService>,
    ) -> Result<(Vec<Assembled>, Option<Assembled>), Fault> {
        let policy = Arc::clone(policy);
        let Parts { crew, agents, providers, prices, premises, tools } = parts;
        let native = NativeSettings {
            root: self.project.root().to_owned(),
            providers,
            tuning: Tuning { prices: Some(Arc::clone(&prices)), ..Tuning::default() },
            premises: premises.clone(),
            outputs: outputs(self.project),
            tools: tools.options,
            mcp_servers: tools.servers.clone(),
            file_rules: Arc::new(move |phase| path_rules_for(phase, &policy)),
        };
        let workshop = Workshop {
            environment: self.environment,
            premises,
            native,
            servers: tools.servers,
            prices,
            calls,
            deliverables: Arc::clone(deliverables),
            agents,
        };
        let build = |hired: Hired| Ok((workshop.build(&hired.backend)?, hired.models));
        let verifier = verifier.map(build).transpose()?;
        Ok((crew.into_iter().map(build).collect::<Result<_, Fault>>()?, verifier))
    }

    fn sinks(&self, telemetry: Option<&Telemetry>, builders: &Arc<Builders>) -> Sinks {
        let detail = match self.args {
            CommonArgs { quiet: true, .. } => Detail::Quiet,
            CommonArgs { debug: true, .. } => Detail::Debug,
            CommonArgs { verbose: true, .. } => Detail::Verbose,
            _ => Detail::Normal,
        };
        let mut sinks: Vec<Arc<dyn Sink>> = vec![
            Arc::new(Presenter::new(Arc::clone(&self.console), detail, self.mode.name())),
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
            command: self.mode.name().to_owned(),
            since: clock.now(),
            socket: Some(socket.to_owned()),
        }
    }

    fn watch_signals(&self) -> Result<(), Fault> {
        let console = Arc::clone(&self.console);
        watch_signals(self.interrupt.clone(), move |name| {
            console.line(Level::Warning, &format!("Received {name}, stopping... (once more to end at once)"));
        })
    }

    /// Says what is about to happen, with every limit in force.
    fn greet(&self, parts: &Parts) {
        if self.args.quiet {
            return;
        }
        let args = self.args;
        let say = |line: &str| self.console.line(Level::Info, line);
        say(&format!("Autonoe v{}", env!("CARGO_PKG_VERSION")));
        say("");
        say(match self.mode {
            Mode::Run => "Starting coding agent session...",
            Mode::Sync => "Starting sync mode...",
        });
        let mut lines = vec![("Working directory", self.project.root().display().to_string())];
        for (place, hired) in parts.crew.iter().enumerate() {
            let name = hired.backend.name();
            let because = hired.because.as_ref().filter(|because| !because.is_empty());
            lines.push(match place {
                0 => (
                    "Backend",
                    because.map_or_else(|| name.to_owned(), |because| format!("{name} ({because})")),
                ),
                _ => ("Fallback", name.to_owned()),
            });
            lines.push(("Plan model", hired.models.plan.clone()));
            lines.push(("Model", hired.models.work.clone()));
        }
        lines.push(("Sandbox", parts.premises.sandbox.layer().name().to_owned()));
        lines.extend(args.thinking.map(|budget| ("Thinking", format!("{budget} tokens"))));
        lines.extend(args.max_iterations.map(|count| ("Max iterations", count.to_string())));
        lines.extend(args.max_cost.map(|cost| ("Max cost", cost.to_string())));
        lines.extend(args.max_duration.map(|duration| ("Max duration", format_duration(duration))));
        lines.push(("Max retries", args.max_retries.to_string()));
        for (name, value) in lines {
            say(&format!("  {name}: {value}"));
        }
        say("");
    }
}

/// Everything that must never be shown or written down.
fn secrets(environment: &Environment, providers: &[Provider], user: &UserConfig) -> Vec<String> {
    let keys = providers.iter().filter_map(|provider| provider.api_key.clone());
    // What an agent of the user's is passed by name is most likely a key.
    let passed =
        user.agents.values().flat_map(|agent| &agent.env).filter_map(|name| environment.variable(name));
    environment.secrets().into_iter().chain(keys).chain(passed).collect()
}

/// What the native agent's tools need: skills, hosts, and the MCP servers of the project and of the user.
fn native_tools(
    config: &AgentConfig,
    mode: Mode,
    project: &Project,
    environment: &Environment,
    user: &UserConfig,
    policy: &PolicyOptions,
) -> Result<NativeTools, Fault> {
    let mut servers = config.effective(mode).mcp_servers;
    let named = config.mcp_servers.as_ref().is_some_and(|named| named.contains_key(browser::NAME));
    if !named && let Some(built_in) = servers.remove(browser::NAME) {
        let found = browser::server(project, environment, &built_in, policy.temp.as_deref());
        servers.extend(found.map(|server| (browser::NAME.to_owned(), server)));
    }
    let mut own: Vec<_> = servers.get(browser::NAME).filter(|_| !named).cloned().into_iter().collect();
    if mode == Mode::Run {
        own.extend(user.mcp_servers.values().cloned());
        servers.extend(user.mcp_servers.clone());
    }
    let programs = own.iter().filter_map(|server| find_program(server["command"].as_str()?, environment));
    let installed = programs.map(|program| installation(&program, environment)).collect();
    let read = |(name, value): (String, serde_json::Value)| match ServerConfig::parse(&name, &value) {
        Ok(config) => Ok((name, config)),
        Err(error) => Err(Fault::lasting(
            Layer::Config,
            "mcp_server",
            format!("An MCP server is not configured rightly: {error}"),
        )),
    };
    let servers = servers.into_iter().map(read).collect::<Result<_, _>>()?;
    let root = project.root();
    let of_project = [".autonoe/skills", ".agents/skills", ".claude/skills"].map(|place| root.join(place));
    let of_user = environment.config_home.iter().map(|place| place.join("skills"));
    let of_others = environment.home.iter().map(|home| home.join(".claude/skills"));
    let skills = of_project.into_iter().chain(of_user).chain(of_others).collect();
    let web_hosts = Permissions::new(policy).web_hosts();
    Ok(NativeTools { options: ToolOptions { skills, web_hosts }, servers, installed })
}

/// The tools of MCP servers that the user configured, or agreed to: allowed as they come.
fn tools_of_servers(config: &AgentConfig, mode: Mode, user: &UserConfig) -> Vec<ToolPattern> {
    let of_project = config.mcp_servers.iter().flatten().map(|(name, _)| name);
    let names = of_project.chain(user.mcp_servers.keys()).filter(|_| mode == Mode::Run);
    names.filter_map(|name| format!("mcp__{name}__*").parse().ok()).collect()
}

/// The conversation that `--resume` goes on with.
fn last_conversation(project: &Project) -> Result<Option<serde_json::Value>, Fault> {
    let kept = match History::open(&project.journal_file())? {
        Some(history) => history.last_conversation()?,
        None => None,
    };
    kept.map(Some).ok_or_else(|| {
        Fault::lasting(Layer::Config, "nothing_to_resume", "There is no conversation to go on with.")
            .hint("Leave --resume out; the next session starts afresh.")
    })
}

/// The same directory, made if need be: what does not exist cannot be allowed to be read.
fn prepared_outputs(project: &Project) -> Option<PathBuf> {
    let directory = outputs(project);
    Outputs::new(&directory).prepare().ok().map(|()| directory)
}

/// Where outputs are saved that are too long for a model.
fn outputs(project: &Project) -> PathBuf {
    project.state_dir().join("outputs")
}

/// What the agent's commands are judged by.
fn policy(
    request: &Request<'_>,
    config: &AgentConfig,
    project: &Project,
    environment: &Environment,
) -> Result<PolicyOptions, Fault> {
    let in_force = config.effective(request.mode);
    Ok(PolicyOptions {
        permissions: permission_rules(config, &in_force, project)?,
        tools: allowed_tools(config, &in_force, project)?,
        profiles: in_force.profiles,
        allow_destructive: request.allow_destructive,
        allow_commands: [in_force.commands, request.allow_commands.clone()].concat(),
        pkill_targets: in_force.pkill_targets,
        home: environment.home.clone(),
        ..PolicyOptions::new(request.mode, project.root())
    })
}

/// The socket for `autonoe mcp`: beside the lock, or in the temporary directory where that path is too long.
fn socket_path(project: &Project) -> PathBuf {
    let beside = project.state_dir().join("calls.sock");
    if beside.as_os_str().len() <= MAX_SOCKET_PATH {
        return beside;
    }
    let hash = sha256_hex(project.state_dir().as_os_str().as_encoded_bytes());
    std::env::temp_dir().join(format!("autonoe-{}.sock", &hash[..16]))
}
