//! `autonoe fleet up`

use std::sync::Arc;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::money::Usd;
use autonoe_core::outcome::exit;
use autonoe_fleet::{
    CoordinationStrategy, FleetEvent, FleetFile, FleetLock, FleetOutcome, MetaStateError, Supervisor,
    SupervisorError, WakeUp,
};
use autonoe_store::Project;
use clap::{Args, Command, ValueEnum};
use clap_complete::engine::ArgValueCandidates;
use tokio::signal::unix::{SignalKind, signal};

use super::KnownFleet;
use super::fleet_plan::{FleetPlan, read_plan};
use super::processes::{refuse_unknown, with_processes};
use super::screen::FleetScreen;
use super::task_fleet::TaskFleet;
use crate::backend_name::{self, BackendWithModel};
use crate::completion_candidates;
use crate::environment::Environment;
use crate::fleet_clones::{FleetClones, arguments};
use crate::open_hub::open_hub_with;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::system::runtime;

/// Start the harnesses of a fleet file, or continue them
///
/// Runs until all of them have ended. If this process is killed, the harnesses continue, and the same command finds them again. Their commits come to
/// branches autonoe/FLEET/ID of your repository; your checkout is not touched.
#[derive(Debug, Args)]
pub struct FleetUpArgs {
    /// The fleet file; or, with --strategy, a task: a sentence, or a roadmap in the project [default: FLEET.md]
    #[arg(value_name = "FLEET.md|TASK")]
    target: Option<String>,

    /// Give one task to several agents
    #[arg(long, value_name = "STRATEGY", requires = "backends", requires = "target")]
    strategy: Option<StrategyChoice>,

    /// The agents: NAME or NAME:MODEL, comma-separated
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "strategy", add = ArgValueCandidates::new(completion_candidates::agents))]
    backends: Vec<BackendWithModel>,

    /// A command that decides whether the task is done (repeatable)
    #[arg(long, value_name = "COMMAND", requires = "strategy")]
    check: Vec<String>,

    /// Spending limit in USD for all harnesses together [default: `max_cost` of the file, or no limit]
    #[arg(long, value_name = "USD", allow_hyphen_values = true)]
    max_cost: Option<Usd>,

    /// Print one JSON event per line; the last one is the result
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectArgs,

    /// Options of `autonoe harness run` for every harness, such as -- --max-cost 5
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StrategyChoice {
    Parallel,
    Pipeline,
    Race,
    Voting,
}

impl From<StrategyChoice> for CoordinationStrategy {
    fn from(choice: StrategyChoice) -> Self {
        match choice {
            StrategyChoice::Parallel => Self::Parallel,
            StrategyChoice::Pipeline => Self::Pipeline,
            StrategyChoice::Race => Self::Race,
            StrategyChoice::Voting => Self::Voting,
        }
    }
}

pub fn cmd_up(args: &FleetUpArgs, environment: &Environment, parser: &Command) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let backends = known_backends(environment)?;
    let backends: Vec<&str> = backends.iter().map(String::as_str).collect();
    let plan = match args.strategy {
        Some(strategy) => TaskFleet {
            strategy: strategy.into(),
            backends: &args.backends,
            task: args.target.as_deref().unwrap_or_default(),
            checks: &args.check,
        }
        .plan(&project, &backends)?,
        None => read_plan(&project, args.target.as_deref().unwrap_or("FLEET.md"), &backends)?,
    };
    let FleetPlan { file: mut plan, checked_tasks, task } = plan;
    plan.settings.max_cost = args.max_cost.or(plan.settings.max_cost);
    let no_sandbox = check_options(&plan, &project, &args.options, parser)?;
    // What cannot be read is reported later.
    if let Ok(known) = KnownFleet::read(project.root())
        && known.is_none_or(|known| known.row.result.is_some())
        && FleetLock::holder(project.root()).is_none()
    {
        refuse_unknown(&project, environment)?;
    }

    let runtime = runtime()?;
    let wake_up = Arc::new(WakeUp::new().map_err(|error| {
        Fault::permanent(FaultLayer::System, "pipe", format!("No pipe can be opened: {error}."))
    })?);
    watch_signals(&runtime, &wake_up)?;
    let hub = runtime.block_on(open_hub_with(&project, environment, no_sandbox))?;
    let own_executable = environment.own_executable()?;
    let clones = FleetClones {
        project: &project,
        environment,
        hub,
        runtime: &runtime,
        own_executable,
        options: &args.options,
    };
    let screen = FleetScreen::open(args.json, environment)?;
    let (left_out, beginning) = runtime.block_on(clones.hub.begin_clones())?;
    let is_given = |name: &str| {
        name.ends_with(".md") && plan.harnesses.iter().any(|harness| harness.roadmap.ends_with(name))
    };
    let left_out = left_out.iter().map(String::as_str).filter(|name| !is_given(name) && *name != "FLEET.md");
    beginning.map(present::beginning).iter().for_each(|message| screen.warn(message));
    let show = |event: &FleetEvent| screen.show(event);
    let new_task = match task {
        Some(task) => task.write(&project)?.then_some(task),
        None => None,
    };
    let supervisor = Supervisor::open(project.root(), &plan, &checked_tasks, &clones, &wake_up, &show);
    let supervisor = supervisor.map_err(|error| {
        new_task.iter().for_each(|task| task.remove(&project));
        let is_unreadable = matches!(
            error,
            SupervisorError::State(MetaStateError::Foreign { .. } | MetaStateError::Database(_))
        );
        let fault = supervisor_fault(error);
        if is_unreadable { with_processes(fault, &project, environment) } else { fault }
    })?;
    // Not before: a fleet that does not begin leaves nothing out.
    present::left_out(left_out).iter().for_each(|message| screen.warn(message));
    clones.remove_earlier(supervisor.number())?.iter().for_each(|message| screen.warn(message));
    let (outcome, _) = supervisor.run().map_err(supervisor_fault)?;
    Ok(match outcome {
        FleetOutcome::Succeeded => exit::DONE,
        FleetOutcome::Failed => exit::BLOCKED,
        FleetOutcome::Interrupted => exit::INTERRUPTED,
        FleetOutcome::TimedOut => exit::LIMIT,
    })
}

/// Names that `cli` of a harness may have.
fn known_backends(environment: &Environment) -> Result<Vec<String>, Fault> {
    let built_in = backend_name::ALL.iter().map(|backend| backend.name().to_owned());
    Ok(built_in.chain(environment.user_config()?.agents.into_keys()).collect())
}

/// Parses the command of every harness before any of them starts. Returns whether they run without the sandbox.
fn check_options(
    plan: &FleetFile,
    project: &Project,
    options: &[String],
    parser: &Command,
) -> Result<bool, Fault> {
    for harness in &plan.harnesses {
        let command = arguments(harness, project.root(), project.root(), options);
        let command = std::iter::once("autonoe".into()).chain(command);
        let parsed = parser.clone().try_get_matches_from(command);
        if let Err(error) = parsed {
            let text = error.to_string();
            let why = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            let message = format!("The options for {} are wrong: {why}.", harness.id);
            return Err(Fault::permanent(FaultLayer::Config, "options", message)
                .hint("`autonoe harness run --help` lists them."));
        }
    }
    if plan.settings.max_cost.is_some() && options.iter().any(|option| option.starts_with("--max-cost")) {
        let message = "--max-cost can be given for the fleet or for every harness, not for both.";
        return Err(Fault::permanent(FaultLayer::Config, "options", message));
    }
    let refused = ["--detach", "--dry-run", "--id", "--in-place", "--project-dir", "-p"];
    let names = options.iter().map(|option| option.split('=').next().unwrap_or_default());
    if let Some(option) = names.into_iter().find(|name| refused.contains(name)) {
        let message = format!("{option} cannot be given to the harnesses of a fleet.");
        return Err(Fault::permanent(FaultLayer::Config, "options", message));
    }
    Ok(options.iter().any(|option| option == "--no-sandbox"))
}

/// The first signal stops the fleet, the second kills its harnesses. SIGHUP ends only this process: the harnesses continue.
fn watch_signals(runtime: &tokio::runtime::Runtime, wake_up: &Arc<WakeUp>) -> Result<(), Fault> {
    let _entered = runtime.enter();
    let wrong = |error: std::io::Error| {
        Fault::permanent(FaultLayer::System, "signals", format!("Signals cannot be watched: {error}."))
    };
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut signals = signal(kind).map_err(wrong)?;
        let wake_up = Arc::clone(wake_up);
        runtime.spawn(async move {
            while signals.recv().await.is_some() {
                wake_up.request_stop();
            }
        });
    }
    Ok(())
}

fn supervisor_fault(error: SupervisorError) -> Fault {
    match &error {
        SupervisorError::Lock(_) => Fault::permanent(FaultLayer::Config, "fleet_locked", error.to_string())
            .hint("`autonoe fleet status` shows it, `autonoe fleet stop` ends it."),
        SupervisorError::State(MetaStateError::Unfinished { .. }) => {
            Fault::permanent(FaultLayer::Config, "fleet_state", error.to_string())
        }
        SupervisorError::State(_) => Fault::permanent(FaultLayer::System, "fleet_state", error.to_string()),
        SupervisorError::Context(_) | SupervisorError::Host(_) => {
            Fault::permanent(FaultLayer::System, "fleet", error.to_string())
        }
    }
}
