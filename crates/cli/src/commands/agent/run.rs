//! `autonoe agent run`

use std::collections::BTreeMap;
use std::io::{IsTerminal, Read};
use std::sync::Arc;

use autonoe_core::fault::{Fault, Layer};
use autonoe_core::gate::Gate;
use autonoe_core::outcome::exit;
use autonoe_sandbox::{HostPattern, Layer as SandboxLayer, RoomConfig, SessionSandbox, UpstreamProxy};
use autonoe_store::journal::history::History;
use autonoe_store::{Project, UserConfig};
use autonoe_workflow::definition::{AgentDefinition, AgentFile};
use autonoe_workflow::faults::{CONFIGURATION_VALIDATION, DEPENDENCY_RESOLUTION};
use autonoe_workflow::machine::{Issues, Machine, Patience, Signer, Webhooks, check_allowed};
use autonoe_workflow::{
    BuildOptions, Created, HostEffects, PlanState, Validated, build, nothing_to_resume, read_arguments,
};
use clap::Args;
use serde_json::Value;

use super::{read, rehearse};
use crate::arguments::CommonArgs;
use crate::commands::run::DESTRUCTIVE;
use crate::engine::{AgentJob, HostEffectsFactory, Job, Request, agent_command, drive};
use crate::environment::Environment;
use crate::present;
use crate::programs::find_program;

/// The most that is read from standard input, in bytes.
const MAX_INPUT: u64 = 1024 * 1024;

/// What `gh` is passed of the environment.
const FOR_GH: [&str; 7] =
    ["HOME", "XDG_CONFIG_HOME", "GH_CONFIG_DIR", "GH_HOST", "GH_TOKEN", "GITHUB_TOKEN", "PATH"];

/// Run an agent to its end
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The agent
    name: String,

    /// A parameter of the agent; repeat it for each
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = argument)]
    arguments: Vec<(String, String)>,

    /// Show what each step would be told, and ask no model
    #[arg(long, conflicts_with = "resume")]
    dry_run: bool,

    /// Resume the last run of this agent, at the step that it was in
    #[arg(long)]
    resume: bool,

    /// Options shared with other commands.
    #[command(flatten)]
    common: CommonArgs,

    /// Run without the sandbox
    #[arg(long)]
    no_sandbox: bool,

    /// Allow rm and mv inside the project
    #[arg(long, short = 'D')]
    allow_destructive: bool,
}

fn argument(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("give it as NAME=VALUE".to_owned()),
    }
}

/// Runs it.
pub fn cmd_run(args: RunArgs, environment: &Environment) -> Result<u8, Fault> {
    let (project, definition) = read(&args.name, &args.common.project, environment)?;
    let earlier = if args.resume { earlier(&project, &definition)? } else { None };
    let agent = prepare(definition, &args.arguments, earlier.as_ref(), environment)?;
    if let Some(earlier) = &earlier {
        agent.check_against(earlier)?;
    }
    if args.dry_run {
        present::print(&rehearse::as_text(&agent, &agent.rehearse()?));
        return Ok(exit::DONE);
    }
    let outside = outside(&project, &agent, environment)?;
    let request = Request {
        job: Job::Agent(Box::new(AgentJob { name: args.name, agent, resumes: args.resume, outside })),
        args: &args.common,
        plan_model: None,
        resume: false,
        start_over: false,
        allow_destructive: args.allow_destructive,
        allow_commands: Vec::new(),
        no_sandbox: args.no_sandbox,
        warning: args.allow_destructive.then_some(DESTRUCTIVE),
    };
    drive(request, environment)
}

/// Finds everything that is wrong or missing, before anything begins.
fn prepare(
    definition: AgentDefinition,
    typed: &[(String, String)],
    earlier: Option<&PlanState>,
    environment: &Environment,
) -> Result<Created, Fault> {
    let definition = Validated::try_from(definition)?;
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
    let hosts = hosts(&user)?;
    let options = BuildOptions {
        arguments,
        environment: &|name| environment.variable(name),
        input,
        has_gh: find_program("gh", environment).is_some(),
        may_notify: &|url| check_allowed(url, &hosts),
    };
    build(definition, options)
}

/// What the last run of the agent remembers; none if it died before it remembered anything.
fn earlier(project: &Project, definition: &AgentDefinition) -> Result<Option<PlanState>, Fault> {
    let unfinished = match History::open(&project.journal_file())? {
        Some(history) => history.unfinished(&agent_command(definition.name()))?,
        None => None,
    };
    let (_, kept) = unfinished.ok_or_else(|| nothing_to_resume(definition.name()))?;
    // What cannot be read is told when the agent is started.
    Ok(kept.and_then(|kept| serde_json::from_value(kept).ok()))
}

/// Standard input, if the agent wants it.
fn read_input(agent: &AgentFile) -> Result<Option<String>, Fault> {
    if !agent.stdin {
        return Ok(None);
    }
    if std::io::stdin().is_terminal() {
        return Err(DEPENDENCY_RESOLUTION
            .fault(format!("The agent '{}' reads its input from standard input.", agent.name))
            .hint(format!("Pipe it in: autonoe agent run {} < FILE", agent.name)));
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_INPUT + 1).read_to_end(&mut bytes);
    if let Err(error) = read {
        return Err(DEPENDENCY_RESOLUTION.fault(format!("Standard input cannot be read: {error}.")));
    }
    if bytes.len() as u64 > MAX_INPUT {
        return Err(CONFIGURATION_VALIDATION
            .fault(format!("Standard input is longer than {MAX_INPUT} bytes."))
            .hint("Put it in a file of the project, and tell the agent where that is."));
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| CONFIGURATION_VALIDATION.fault("What comes on standard input is not UTF-8 text."))
}

/// What the agent reaches the machine through.
fn outside(
    project: &Project,
    agent: &Created,
    environment: &Environment,
) -> Result<HostEffectsFactory, Fault> {
    let user = environment.user_config()?;
    let upstream = environment.upstream.as_ref();
    let proxy = upstream.map(|(url, except)| UpstreamProxy::new(url, except)).transpose();
    let issues = Issues {
        gh: find_program("gh", environment),
        environment: FOR_GH
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), environment.variable(name)?)))
            .collect(),
        ourselves: environment.ourselves()?,
        scratch: project.state_dir().join("gh"),
    };
    let secret = match &user.webhooks.secret_variable {
        None => None,
        Some(name) => Some(environment.variable(name).ok_or_else(|| {
            DEPENDENCY_RESOLUTION
                .fault(format!("The variable {name}, which holds the secret of your webhooks, is not set."))
                .hint("Set it, or take `secret_variable` out of [webhooks] in your config.toml.")
        })?),
    };
    let webhooks = Webhooks {
        hosts: hosts(&user)?,
        signer: secret.map(|secret| Signer::new(&secret)),
        proxy: proxy.map_err(|error| CONFIGURATION_VALIDATION.fault(format!("HTTPS_PROXY: {error}.")))?,
        patience: Patience::default(),
    };
    let (root, directory) = (project.root().to_owned(), agent.definition().directory.clone());
    Ok(Box::new(move |room_config: &RoomConfig, gates: Vec<Arc<dyn Gate>>| {
        let session_sandbox = Arc::new(SessionSandbox::new(room_config.clone()));
        let gates = (room_config.sandbox.layer() == SandboxLayer::None).then_some(gates);
        Arc::new(Machine { root, directory, session_sandbox, issues, webhooks, gates })
            as Arc<dyn HostEffects>
    }))
}

/// The hosts that webhooks may be on.
fn hosts(user: &UserConfig) -> Result<Vec<HostPattern>, Fault> {
    let read = |text: &String| {
        let pattern = text.parse::<HostPattern>();
        pattern.map_err(|error| {
            Fault::lasting(
                Layer::Config,
                "user_config",
                format!("'{text}' under [webhooks] is not a host: {error}."),
            )
        })
    };
    user.webhooks.hosts.iter().map(read).collect()
}
