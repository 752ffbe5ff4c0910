//! `autonoe agent run`

use std::collections::BTreeMap;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::clock::Clock as _;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::gate::Gate;
use autonoe_core::outcome::exit;
use autonoe_notify::Signer;
use autonoe_sandbox::{HostPattern, RoomConfig, SandboxLayer, SessionSandbox, UpstreamProxy};
use autonoe_store::journal::history::History;
use autonoe_store::{AgentLock, LockHolder, Project, UserConfig};
use autonoe_workflow::definition::{AgentDefinition, AgentFile};
use autonoe_workflow::faults::{CONFIGURATION_VALIDATION, DEPENDENCY_RESOLUTION};
use autonoe_workflow::system_host::{GithubIssues, SystemHost, WebhookTiming, Webhooks, check_allowed};
use autonoe_workflow::{
    BuildOptions, CreatedAgent, HostEffects, PlanState, ValidatedDefinition, build, nothing_to_resume,
    read_arguments,
};
use autonoe_workspace::{LandWhen, SiteOptions};
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use serde_json::Value;

use super::definition::load_agent;
use super::dry_run;
use crate::arguments::{CommonArgs, WorkArgs};
use crate::completion_candidates;
use crate::engine::{AgentJob, HostEffectsFactory, RunJob, RunRequest, agent_command, drive};
use crate::environment::Environment;
use crate::present;
use crate::programs::find_program;
use crate::system::SystemClock;

/// How long nothing may arrive on standard input.
const INPUT_LIMIT: Duration = Duration::from_secs(60);

/// Maximum size of standard input, in bytes.
const MAX_INPUT: u64 = 1024 * 1024;

/// Variables passed to `gh`.
const FOR_GH: [&str; 7] =
    ["HOME", "XDG_CONFIG_HOME", "GH_CONFIG_DIR", "GH_HOST", "GH_TOKEN", "GITHUB_TOKEN", "PATH"];

/// Run an agent
#[derive(Debug, Args)]
pub struct AgentRunArgs {
    /// Name of the agent
    #[arg(add = ArgValueCandidates::new(completion_candidates::declarative_agents))]
    name: String,

    /// Parameter of the agent; can be repeated
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = argument)]
    arguments: Vec<(String, String)>,

    /// Show the prompt of each step without calling a model
    #[arg(long, conflicts_with = "resume")]
    dry_run: bool,

    /// Resume the last run of this agent at its current step
    #[arg(long)]
    resume: bool,

    #[command(flatten)]
    common: CommonArgs,

    #[command(flatten)]
    work: WorkArgs,
}

#[derive(Debug, thiserror::Error)]
#[error("expected NAME=VALUE")]
struct AgentArgumentError;

fn argument(text: &str) -> Result<(String, String), AgentArgumentError> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(AgentArgumentError),
    }
}

pub fn cmd_run(args: AgentRunArgs, environment: &Environment) -> Result<u8, Fault> {
    let (project, definition) = load_agent(&args.name, &args.common.project, environment)?;
    let earlier = if args.resume { earlier(&project, &definition)? } else { None };
    let agent = prepare(definition, &args.arguments, earlier.as_ref(), environment)?;
    if let Some(earlier) = &earlier {
        agent.check_against(earlier)?;
    }
    if args.dry_run {
        present::print(&dry_run::as_text(&agent, &agent.dry_run()?));
        return Ok(exit::DONE);
    }
    let host_effects = host_effects(&project, &agent, environment)?;
    let agent_lock = (!args.work.in_place).then(|| agent_lock(&project, &args)).transpose()?;
    let slot = agent_lock.as_ref().map(|lock| lock.slot().to_owned());
    let job = AgentJob { name: args.name, agent, resumes: args.resume, host_effects };
    let site = || SiteOptions { when: LandWhen::End, slot, ..SiteOptions::default() };
    let request = RunRequest::new(RunJob::Agent(Box::new(job)), &args.common).working(&args.work, site);
    let request = RunRequest { agent_lock, ..request };
    drive(request, environment)
}

/// A workspace for this run; that of the run that is resumed.
fn agent_lock(project: &Project, args: &AgentRunArgs) -> Result<AgentLock, Fault> {
    project.check_writable()?;
    let command = agent_command(&args.name);
    let resumed = match History::open(&project.journal_file())? {
        Some(history) if args.resume => history.unfinished(&command)?.map(|(run, _)| run),
        _ => None,
    };
    let holder = LockHolder { pid: std::process::id(), command, since: SystemClock.now(), socket: None };
    AgentLock::take(project, &args.name, resumed, holder)
}

/// Reports everything that is invalid or missing before the run starts.
fn prepare(
    definition: AgentDefinition,
    typed: &[(String, String)],
    earlier: Option<&PlanState>,
    environment: &Environment,
) -> Result<CreatedAgent, Fault> {
    let definition = ValidatedDefinition::try_from(definition)?;
    let user = environment.user_config()?;
    let begun = earlier.map(|state| &state.begun_with);
    let arguments: BTreeMap<String, Value> = match begun {
        Some(begun) if typed.is_empty() => begun.arguments.clone(),
        _ => read_arguments(&definition.agent, typed)?,
    };
    let input = match begun {
        Some(begun) => begun.input.clone(),
        None => read_input(&definition.agent)?,
    };
    let hosts = webhook_hosts(&user)?;
    let options = BuildOptions {
        arguments,
        environment: &|name| environment.variable(name),
        input,
        has_gh: find_program("gh", environment).is_some(),
        may_notify: &|url| check_allowed(url, &hosts),
    };
    build(definition, options)
}

/// State of the last run of the agent; `None` if it was killed before it saved any.
fn earlier(project: &Project, definition: &AgentDefinition) -> Result<Option<PlanState>, Fault> {
    let unfinished = match History::open(&project.journal_file())? {
        Some(history) => history.unfinished(&agent_command(definition.name()))?,
        None => None,
    };
    let (_, state) = unfinished.ok_or_else(|| nothing_to_resume(definition.name()))?;
    // State that cannot be parsed is reported when the agent is started.
    Ok(state.and_then(|state| serde_json::from_value(state).ok()))
}

/// `None` if the agent does not read standard input.
fn read_input(agent: &AgentFile) -> Result<Option<String>, Fault> {
    if !agent.stdin {
        return Ok(None);
    }
    if std::io::stdin().is_terminal() {
        return Err(DEPENDENCY_RESOLUTION
            .fault(format!("The agent '{}' reads its input from standard input.", agent.name))
            .hint(format!("Pipe it in: autonoe agent run {} < FILE", agent.name)));
    }
    let bytes = read_to_end_of_input()?;
    if bytes.len() as u64 > MAX_INPUT {
        return Err(CONFIGURATION_VALIDATION
            .fault(format!("Standard input is longer than {MAX_INPUT} bytes."))
            .hint("Put it in a file of the project and pass the path to the agent."));
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| CONFIGURATION_VALIDATION.fault("Standard input is not UTF-8 text."))
}

fn host_effects(
    project: &Project,
    agent: &CreatedAgent,
    environment: &Environment,
) -> Result<HostEffectsFactory, Fault> {
    let user = environment.user_config()?;
    let upstream = environment.upstream.as_ref();
    let proxy = upstream.map(|(url, except)| UpstreamProxy::new(url, except)).transpose();
    let issues = GithubIssues {
        gh: find_program("gh", environment),
        environment: FOR_GH
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), environment.variable(name)?)))
            .collect(),
        ourselves: environment.own_executable()?,
        scratch: project.state_dir().join("gh"),
    };
    let secret = match &user.webhooks.secret_variable {
        None => None,
        Some(name) => Some(environment.variable(name).ok_or_else(|| {
            DEPENDENCY_RESOLUTION
                .fault(format!(
                    "The variable {name}, which should hold the secret of your webhooks, is not set."
                ))
                .hint("Set it, or remove `secret_variable` from [webhooks] in your config.toml.")
        })?),
    };
    let webhooks = Webhooks {
        hosts: webhook_hosts(&user)?,
        signer: secret.map(|secret| Signer::new(&secret)),
        proxy: proxy.map_err(|error| CONFIGURATION_VALIDATION.fault(format!("HTTPS_PROXY: {error}.")))?,
        timing: WebhookTiming::default(),
    };
    let directory = agent.definition().directory.clone();
    Ok(Box::new(move |room_config: &RoomConfig, root: &Path, gates: Vec<Arc<dyn Gate>>| {
        let root = root.to_owned();
        let session_sandbox = Arc::new(SessionSandbox::new(room_config.clone()));
        let gates = (room_config.sandbox.layer() == SandboxLayer::None).then_some(gates);
        Arc::new(SystemHost { root, directory, session_sandbox, issues, webhooks, gates })
            as Arc<dyn HostEffects>
    }))
}

/// Hosts that webhooks may be sent to.
fn webhook_hosts(user: &UserConfig) -> Result<Vec<HostPattern>, Fault> {
    let read = |text: &String| {
        let pattern = text.parse::<HostPattern>();
        pattern.map_err(|error| {
            Fault::permanent(
                FaultLayer::Config,
                "user_config",
                format!("'{text}' under [webhooks] is not a host: {error}."),
            )
        })
    };
    user.webhooks.hosts.iter().map(read).collect()
}

/// Reads at most [`MAX_INPUT`] bytes and one more. Standard input that stays open without content is a fault.
fn read_to_end_of_input() -> Result<Vec<u8>, Fault> {
    let unreadable = |why: &dyn std::fmt::Display| {
        DEPENDENCY_RESOLUTION.fault(format!("Standard input cannot be read: {why}."))
    };
    let (sender, pieces) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock().take(MAX_INPUT + 1);
        let mut piece = vec![0; 64 * 1024];
        loop {
            let read = input.read(&mut piece).map(|length| piece[..length].to_vec());
            let is_over = !matches!(&read, Ok(piece) if !piece.is_empty());
            // Nobody listens any more once the limit is over.
            if sender.send(read).is_err() || is_over {
                break;
            }
        }
    });
    let mut bytes = Vec::new();
    loop {
        match pieces.recv_timeout(INPUT_LIMIT) {
            Ok(Ok(piece)) if piece.is_empty() => return Ok(bytes),
            Ok(Ok(piece)) => bytes.extend(piece),
            Ok(Err(error)) => return Err(unreadable(&error)),
            Err(_) => {
                let limit = INPUT_LIMIT.as_secs();
                return Err(unreadable(&format!("nothing arrived for {limit} s, and it is still open")));
            }
        }
    }
}
