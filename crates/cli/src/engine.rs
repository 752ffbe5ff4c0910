//! The wiring: puts the parts together for one run and lets the loop do the rest.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_agents::{NativeBackend, NativeSettings};
use autonoe_core::clock::Clock;
use autonoe_core::duration::format as format_duration;
use autonoe_core::event::Event;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::limits::Limits;
use autonoe_core::mode::Mode;
use autonoe_core::outcome::RunReport;
use autonoe_core::plan::{Models, Plan};
use autonoe_core::plans::{DeliverablePlan, SyncPlan, run_ended};
use autonoe_core::runner::{RunOptions, Runner};
use autonoe_core::sink::{Sink, Sinks};
use autonoe_core::span::{SpanContext, TraceId};
use autonoe_deliverables::{CallServer, Caller, DeliverableService};
use autonoe_model::{Tuning, resolve_alias};
use autonoe_policy::{PolicyOptions, gates_for, path_rules_for};
use autonoe_sandbox::{Layer as SandboxLayer, Premises, Sandbox};
use autonoe_store::config::AgentConfig;
use autonoe_store::journal::JournalOptions;
use autonoe_store::{Holder, Journal, Project, ProjectInstructions, ProjectLock, StatusStore, sha256_hex};
use tokio_util::sync::CancellationToken;

use crate::arguments::CommonArgs;
use crate::consent::ensure_trusted;
use crate::environment::Environment;
use crate::permissions::{allowed_tools, permission_rules};
use crate::premises;
use crate::present::{Console, Detail, JsonSink, Level, Presenter, Stream};
use crate::system::{SystemClock, runtime, watch_signals};

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
    /// What to warn about first.
    pub warning: Option<&'static str>,
}

/// Runs a plan to its end and returns the exit code.
pub fn drive(request: &Request<'_>, environment: &Environment) -> Result<u8, Fault> {
    let Request { mode, args, .. } = *request;
    let project = environment.project(&args.project)?;
    let spec = project.read_spec()?;
    let config = AgentConfig::load(&project)?;
    let user = environment.user_config()?;
    let mut policy = policy(request, &config, &project, environment)?;
    policy.readable = premises::readable(environment, &user);
    ensure_trusted(&project, &config)?;
    let instructions = ProjectInstructions::new(&project);
    instructions.check_all()?;
    let status = StatusStore::read(&project)?;
    project.check_writable()?;
    let is_over = mode == Mode::Run && status.is_some_and(|status| run_ended(status.tally()).is_some());
    if !is_over {
        environment.provider()?;
    }

    let interrupt = CancellationToken::new();
    let stream = if args.json { Stream::Err } else { Stream::Out };
    let console = Arc::new(Console::new(stream, environment.secrets(), {
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
        let premises = premises::lay_out(&project, environment, &user, &policy, sandbox)?;
        let engine =
            Engine { mode, args, project: &project, environment, console: Arc::clone(&console), interrupt };
        engine.run(&spec, instructions, policy, premises).await
    });
    console.stop();
    runtime.shutdown_timeout(Duration::from_millis(200));
    Ok(report?.exit_code)
}

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
        premises: Premises,
    ) -> Result<RunReport, Fault> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let socket = socket_path(self.project);
        let _lock = ProjectLock::take(self.project, &self.holder(clock.as_ref(), &socket))?;
        self.watch_signals()?;
        self.greet(premises.sandbox.layer());

        let sinks = self.sinks();
        let options =
            JournalOptions { secrets: self.environment.secrets(), crash: self.environment.crash_point()? };
        let spec_hash = sha256_hex(spec.as_bytes());
        let journal_file = self.project.journal_file();
        let (journal, begun) =
            Journal::begin(&journal_file, self.mode.name(), &spec_hash, clock.now(), options).await?;
        let status =
            Arc::new(StatusStore::open(self.project, Arc::clone(&journal), Arc::clone(&clock)).await?);
        let span = SpanContext::run(begun.run, TraceId(fastrand::u128(1..)));
        let sessions_before = if begun.resumed { begun.state.sessions } else { 0 };
        sinks.emit(&span, &Event::RunStarted { command: self.mode.name().to_owned(), sessions_before });

        let deliverables = Arc::new(DeliverableService::new(
            Arc::clone(&status),
            Arc::clone(&journal),
            self.mode.first_instruction(),
            Box::new({
                let (sinks, span) = (sinks.clone(), span.clone());
                move |change| sinks.emit(&span, &Event::StatusChanged(change.clone()))
            }),
        ));
        let _calls =
            CallServer::start(&socket, Arc::clone(&deliverables) as Arc<dyn Caller>).map_err(|error| {
                Fault::lasting(
                    Layer::System,
                    "socket",
                    format!("The socket {} cannot be opened: {error}.", socket.display()),
                )
            })?;
        let policy = Arc::new(policy);
        let backend = NativeBackend::new(self.native_settings(premises, &policy), deliverables);
        let mut plan = self.plan(status, &journal, instructions);
        self.console.start();
        let runner = Runner {
            plan: plan.as_mut(),
            backend: &backend,
            gates: &|phase| gates_for(phase, &policy),
            journal: journal.as_ref(),
            sinks: &sinks,
            clock: clock.as_ref(),
            interrupt: self.interrupt.clone(),
            options: self.options(),
            span: span.clone(),
        };
        Ok(runner.run(begun.state).await)
    }

    fn plan(
        &self,
        status: Arc<StatusStore>,
        journal: &Arc<Journal>,
        instructions: ProjectInstructions,
    ) -> Box<dyn Plan> {
        let instructions = Arc::new(instructions);
        let full_name = |model: &str| resolve_alias(model).to_owned();
        let models = Models { plan: full_name(&self.args.plan_model), work: full_name(&self.args.model) };
        match self.mode {
            Mode::Run => Box::new(DeliverablePlan::new(status, instructions, models)),
            Mode::Sync => Box::new(SyncPlan::new(status, Arc::clone(journal) as _, instructions, models)),
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

    fn native_settings(&self, premises: Premises, policy: &Arc<PolicyOptions>) -> NativeSettings {
        let policy = Arc::clone(policy);
        NativeSettings {
            root: self.project.root().to_owned(),
            provider: self.environment.provider(),
            tuning: Tuning::default(),
            premises,
            file_rules: Arc::new(move |phase| path_rules_for(phase, &policy)),
        }
    }

    fn sinks(&self) -> Sinks {
        let detail = match self.args {
            CommonArgs { quiet: true, .. } => Detail::Quiet,
            CommonArgs { debug: true, .. } => Detail::Debug,
            CommonArgs { verbose: true, .. } => Detail::Verbose,
            _ => Detail::Normal,
        };
        let mut sinks: Vec<Arc<dyn Sink>> =
            vec![Arc::new(Presenter::new(Arc::clone(&self.console), detail, self.mode.name()))];
        if self.args.json {
            sinks.push(Arc::new(JsonSink::new(Arc::clone(&self.console))));
        }
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
    fn greet(&self, layer: SandboxLayer) {
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
        let mut lines = vec![
            ("Working directory", self.project.root().display().to_string()),
            ("Backend", "native".to_owned()),
            ("Plan model", resolve_alias(&args.plan_model).to_owned()),
            ("Model", resolve_alias(&args.model).to_owned()),
            ("Sandbox", layer.name().to_owned()),
        ];
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
