//! Resolves a run once, from its request, the configuration and the environment. Nothing after it reads the environment, and
//! nothing before it has changed the project.

use std::path::PathBuf;
use std::sync::Arc;

use autonoe_agents::NativeSettings;
use autonoe_core::backend_chain::PhaseModels;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::files::ProtectedFiles;
use autonoe_core::limits::Limits;
use autonoe_core::mode::Mode;
use autonoe_core::money::Usd;
use autonoe_core::outage::DEFAULT_MAX_OUTAGE;
use autonoe_core::redact::SecretValues;
use autonoe_core::runner::RunOptions;
use autonoe_harness::recovery::{BestOf, RECOVERY_SHARE, RecoveryBudget, Rung};
use autonoe_model::Tuning;
use autonoe_policy::{PolicyOptions, path_rules_for};
use autonoe_sandbox::{RoomConfig, RunningSandboxes, SandboxLayer};
use autonoe_store::config::AgentConfig;
use autonoe_store::user_config::RunConfig;
use autonoe_store::{AgentLock, CrashPoint, Project};
use autonoe_telemetry::TelemetrySettings;
use autonoe_verify::CheckoutFactory;
use autonoe_workspace::{Hub, HubLayout, SiteOptions};

use super::job::{PreparedJob, RunJob, RunTitle};
use super::request::RunRequest;
use super::roadmap_job::RoadmapJob;
use super::setup::{
    NativeTools, create_outputs_dir, last_conversation, mcp_tool_patterns, native_tools, no_web_search,
    policy, secrets,
};
use crate::arguments::CommonArgs;
use crate::backend_name::BackendName;
use crate::backend_settings::{BackendSettings, SettingsReader};
use crate::best_of::needs_workspace;
use crate::browser;
use crate::consent::ensure_trusted;
use crate::environment::Environment;
use crate::known_repository::check_repository;
use crate::lock_project::socket_path;
use crate::name_resolution;
use crate::notify_settings::NotifySettings;
use crate::offered_servers::with_approved_servers;
use crate::open_hub::open_hub_with;
use crate::permissions::{hooks_not_covered, policy_level};
use crate::preflight::{self, WorkMode};
use crate::providers;
use crate::recovery_ladder::{LadderRung, resolve_ladder};
use crate::resolve_backends::{ResolvedBackend, resolve_backends, resolve_named, resolve_verifier};
use crate::room_config;
use crate::work_place::WorkPlace;

pub struct ResolvedRun {
    pub title: RunTitle,
    pub project: Project,
    pub job: PreparedJob,
    pub options: RunOptions,
    pub policy: Arc<PolicyOptions>,
    /// In fallback order.
    pub backends: Vec<RunBackend>,
    pub verifier: Option<RunBackend>,
    /// For tasks of a roadmap that ask for them, and for the ladder.
    pub named_backends: Vec<RunBackend>,
    /// What the run tries when it is stuck, as far as it is ready.
    pub ladder: Vec<Rung>,
    /// Who makes an attempt at what a session has failed at.
    pub best_of: Option<BestOf>,
    pub recovery_budget: RecoveryBudget,
    pub room_config: RoomConfig,
    pub checkouts: CheckoutFactory,
    /// The project as agents see it.
    pub work_root: PathBuf,
    /// Those that build deliverables at the same time; empty if one is built after another.
    pub workers: Vec<ResolvedWorker>,
    /// The hub of the workspace, and how it is used; `None` if agents work in the user's checkout.
    pub workspace: Option<(Hub, SiteOptions)>,
    /// Of an agent that may work at the same time as others.
    pub agent_lock: Option<AgentLock>,
    /// The conversation that the first session resumes.
    pub resume: Option<serde_json::Value>,
    /// Back up the existing deliverables and plan from scratch.
    pub start_over: bool,
    /// Whether the user is asked before the plan is built.
    pub approve_plan: bool,
    /// Socket on which deliverable tool calls are served.
    pub socket: PathBuf,
    pub telemetry: TelemetrySettings,
    pub notify: NotifySettings,
    /// Values to redact from output and files.
    pub secrets: SecretValues,
    pub crash: Option<CrashPoint>,
    /// Shown before the banner.
    pub notices: Vec<String>,
    /// Emitted before the first session.
    pub warnings: Vec<String>,
}

/// Where a worker works, and how: as the run itself, but for the place.
pub struct ResolvedWorker {
    /// The name of its workspace.
    pub name: String,
    pub work_root: PathBuf,
    pub policy: Arc<PolicyOptions>,
    /// Socket on which its deliverable tool calls are served.
    pub socket: PathBuf,
    pub sessions: RunningSandboxes,
    /// As those of the run, in the same order.
    pub backends: Vec<RunBackend>,
}

/// A backend of the run with its models.
pub struct RunBackend {
    pub name: BackendName,
    pub settings: BackendSettings,
    pub models: PhaseModels,
    /// Why `auto` chose it; `None` if the user named it.
    pub because: Option<String>,
}

impl ResolvedRun {
    pub async fn resolve(mut request: RunRequest<'_>, environment: &Environment) -> Result<Self, Fault> {
        let (args, mode, title) = (request.args, request.job.mode(), request.job.title());
        let project = environment.project(&args.project)?;
        let own_config = AgentConfig::load(&project)?;
        let config = with_approved_servers(&own_config, &project);
        let user = environment.user_config()?;
        let without_sandbox = room_config::disabled_by(request.no_sandbox, environment, &user);
        if without_sandbox.is_some() {
            request.site = None;
            request.agent_lock = None;
        }
        let detecting =
            tokio::spawn(room_config::detect_host(&project, environment, without_sandbox.is_some())?);
        let fallbacks = args.fallback.iter().map(|fallback| fallback.backend.clone());
        args.backend
            .name()
            .into_iter()
            .chain(fallbacks)
            .try_for_each(|name| name.check_configured(&user.agents))?;
        let place = match &request.site {
            Some(options) => WorkPlace::workspace(&project, options),
            None => WorkPlace::in_place(&project),
        };
        let mut policy = policy(&request, &config, &project, environment, &place)?;
        policy.tools.extend(mcp_tool_patterns(&config, mode, &user));
        policy.readable = room_config::readable(environment, &user);
        policy.written = room_config::written(&project, environment, &user);
        let redirected = room_config::redirected(&policy.readable, &policy.written);
        policy.readable.extend(create_outputs_dir(&place));
        // Agents may read what their project says about them, wherever they work.
        policy.readable.push(project.autonoe_dir());
        let RunRequest {
            job,
            resume,
            start_over,
            approve_plan,
            warning,
            plan_model,
            site,
            agent_lock,
            workers,
            best_of,
            ..
        } = request;
        let verifier = match &job {
            RunJob::Run { verifier, .. } | RunJob::Roadmap { verifier, .. } => *verifier,
            RunJob::Plan | RunJob::Sync | RunJob::Agent(_) => None,
        };
        let is_strict = matches!(job, RunJob::Run { is_strict: true, .. });
        let job = job.prepare(&project, start_over)?;
        ensure_trusted(&project, &own_config)?;
        project.check_writable()?;
        if site.is_none() && without_sandbox.is_none() {
            check_repository(&project)?;
        }
        let providers = providers::find(environment, &user).await?;
        let chain = resolve_backends(args, plan_model, environment, &providers, !job.is_over())?;
        let verifier = verifier.map(|verifier| resolve_verifier(verifier, &providers)).transpose()?;
        let named = job.roadmap().map(RoadmapJob::backends).unwrap_or_default();
        let is_other = |name: &&str| chain.first().is_none_or(|first| first.backend.name() != *name);
        let named = named.into_iter().filter(is_other);
        let named = named.map(|name| (name.to_owned(), resolve_named(name, &user, &providers)));
        let mut named: Vec<(String, Result<ResolvedBackend, Fault>)> = named.collect();
        let ladder = resolve_ladder(&user, &providers, environment)?;
        let rungs = ladder.iter().filter_map(LadderRung::rung).collect();
        let mut skipped = ladder.iter().filter_map(LadderRung::why_skipped).collect::<Vec<_>>();
        let best_of = best_of.filter(|_| !job.is_over());
        if best_of.is_some() && site.is_none() {
            return Err(needs_workspace());
        }
        let of_ladder: Vec<ResolvedBackend> =
            ladder.into_iter().filter_map(|rung| rung.backend.ok()).collect();
        let judges: Vec<ResolvedBackend> =
            verifier.iter().chain(&of_ladder).chain(chain.first()).cloned().collect();
        let resolved = best_of.map(|best_of| best_of.resolve(&judges, &user, &providers, environment));
        let (best_of, attempting) = match resolved.transpose()? {
            Some(resolved) => {
                skipped.extend(resolved.skipped);
                (Some(resolved.best_of), resolved.backends)
            }
            None => (None, Vec::new()),
        };
        for resolved in of_ladder.into_iter().chain(attempting) {
            let is_known = |(_, other): &(String, Result<ResolvedBackend, Fault>)| {
                other.as_ref().is_ok_and(|other| other.backend == resolved.backend)
            };
            if !named.iter().any(is_known) {
                named.push((resolved.backend.name().to_owned(), Ok(resolved)));
            }
        }
        let passed = environment.passed_variables(&args.env, &user)?;
        let values = passed.iter().map(|(_, value)| value.clone());
        let secrets = SecretValues::from(
            secrets(environment, &providers, &user).into_iter().chain(values).collect::<Vec<_>>(),
        );
        let telemetry = environment.telemetry(&user, secrets.clone())?;
        let notify = NotifySettings::resolve(&user, environment, project.root()).await?;
        notify.secrets.iter().for_each(|secret| secrets.add(secret));

        let mut notices: Vec<String> = warning.map(str::to_owned).into_iter().collect();
        notices.extend(project.small_state_disk().map(|small| format!("{small}.")));
        notices.extend(notify.problems());
        notices.extend(skipped);
        let unset = user.sandbox.env.iter().filter(|name| environment.variable(name).is_none());
        notices.extend(
            unset.map(|name| format!("{name} is not set, although your config.toml passes it to commands.")),
        );
        notices.extend(without_sandbox.map(|what| {
            format!("the sandbox is disabled by {what}; system-level isolation is not enforced, and agents work in your checkout.")
        }));
        let host = detecting.await.map_err(|error| {
            Fault::permanent(FaultLayer::System, "sandbox", format!("Sandbox detection failed: {error}."))
        })?;
        let sandbox = host.sandbox?;
        if is_strict && sandbox.layer() != SandboxLayer::Bubblewrap {
            return Err(strict_needs_bubblewrap(sandbox.layer()));
        }
        notices.extend(host.identity.warning());
        notices.extend(name_resolution::problem().map(|why| format!("{why}.")));
        notices.extend(room_config::limitations(sandbox.layer()));
        notices.extend(redirected);
        let is_in_place = site.is_none();
        let home = room_config::home_in_project(&project, environment).filter(|_| is_in_place);
        notices.extend(home.map(|home| {
            format!(
                "the project contains your home directory, {}; agents can read and write it.",
                home.display()
            )
        }));
        notices.extend(chain.iter().filter_map(|resolved| no_web_search(&resolved.backend, &policy)));
        notices.extend(hooks_not_covered(&config.effective(mode), &project));
        if mode == Mode::Run {
            notices.extend(browser::missing(&project, environment, &config));
        }
        policy.temp = room_config::temporary(sandbox.layer(), &place);
        policy.can_agents_write_hook_files = sandbox.layer() == SandboxLayer::Landlock;
        policy.level = policy_level(&config, sandbox.layer(), site.is_some());
        policy.is_throwaway = site.as_ref().is_some_and(|site| site.is_throwaway);
        let room_of = |policy: &mut PolicyOptions, place: &WorkPlace| -> Result<RoomConfig, Fault> {
            let (sandbox, identity) = (sandbox.clone(), &host.identity);
            let mut room_config =
                room_config::build(&project, environment, &user, policy, sandbox, identity, place)?;
            room_config::pass_variables(&mut room_config, passed.clone());
            policy.mapping = room_config.bounds.mapping();
            Ok(room_config)
        };
        let mut room_config = room_of(&mut policy, &place)?;
        let names = (1..=workers).filter(|_| site.is_some()).map(|number| format!("worker-{number}"));
        let mut worker_places = Vec::new();
        for name in names {
            let own = WorkPlace::of_worker(&project, &name);
            let of_run = |path: &&PathBuf| **path == place.outputs;
            let readable = policy.readable.iter().filter(|path| !of_run(path)).cloned();
            let mut policy = PolicyOptions {
                readable: readable.chain(create_outputs_dir(&own)).collect(),
                hook_files: policy
                    .hook_files
                    .iter()
                    .map(|file| file.moved(|path| own.moved(&place, path)))
                    .collect(),
                root: own.root.clone(),
                temp: room_config::temporary(sandbox.layer(), &own),
                guarded: ProtectedFiles::default(),
                ..policy.clone()
            };
            let room_config = room_of(&mut policy, &own)?;
            worker_places.push((name, own, policy, room_config));
        }
        if site.is_none() && job.has_deliverables() {
            refuse_without_waiting_commits(&project, environment, without_sandbox.is_some()).await?;
        }
        let warnings = match site {
            Some(_) => {
                let users = room_config::of_checkout(&project, environment, &user, &room_config);
                preflight::check(&project, &users, WorkMode::Workspace).await?
            }
            None => preflight::check(&project, &room_config, WorkMode::InPlace).await?,
        };
        let checkouts =
            room_config::checkout_factory(&project, environment, &user, &room_config, "checks", &place);
        let checkouts = CheckoutFactory { secrets: secrets.clone(), ..checkouts };
        let hub = place.open_hub(&project, &checkouts.room_config, host.identity.as_pair(), environment);
        let tools = native_tools(&config, mode, &project, environment, &user, &policy, &secrets)?;
        room_config.bounds.read.extend(tools.installed.iter().cloned());
        let NativeTools { options: tool_options, servers, installed } = tools;
        let resume = if resume { last_conversation(&project)? } else { None };
        let options = options(args, &user.run);
        let share = user.recovery.share.unwrap_or(RECOVERY_SHARE);
        let recovery_cost = options.limits.max_cost.map(|limit| Usd(limit.0 * share));
        let recovery_budget = RecoveryBudget { cost: recovery_cost, ..RecoveryBudget::default() };

        let (policy, socket) =
            (Arc::new(policy), socket_path(&project, agent_lock.as_ref().map(AgentLock::slot)));
        let prices = Arc::new(providers::prices(&user));
        let rules = Arc::clone(&policy);
        let mut reader = SettingsReader {
            environment,
            native: NativeSettings {
                root: place.root.clone(),
                providers,
                tuning: Tuning { prices: Some(Arc::clone(&prices)), ..Tuning::default() },
                room_config: room_config.clone(),
                outputs: place.outputs.clone(),
                tools: tool_options,
                mcp_servers: servers,
                file_rules: Arc::new(move |phase| path_rules_for(phase, &rules)),
            },
            prices,
            calls: socket.clone(),
            agents: user.agents,
        };
        let backend =
            |reader: &SettingsReader<'_>, resolved: &ResolvedBackend| -> Result<RunBackend, Fault> {
                let ResolvedBackend { backend: name, models, because } = resolved.clone();
                Ok(RunBackend { settings: reader.read(&name)?, name, models, because })
            };
        let verifier = verifier.map(|verifier| backend(&reader, &verifier)).transpose()?;
        let (mut named_backends, mut unusable) = (Vec::new(), Vec::new());
        for (name, resolved) in named {
            match resolved.and_then(|resolved| backend(&reader, &resolved)) {
                Ok(backend) => named_backends.push(backend),
                Err(fault) => unusable.push((name, fault)),
            }
        }
        if let Some(task) = job.roadmap().and_then(|job| job.without_backend(&unusable)) {
            let first = unusable.iter().position(|(name, _)| task.cli.first() == Some(name));
            return Err(unusable.swap_remove(first.unwrap_or_default()).1);
        }
        // Each of these tasks names another one too.
        notices.extend(unusable.into_iter().map(|(_, fault)| fault.message));
        let backends = chain.iter().map(|entry| backend(&reader, entry)).collect::<Result<_, Fault>>()?;
        let mut workers = Vec::new();
        for (name, own, policy, mut room_config) in worker_places {
            let (policy, socket) = (Arc::new(policy), socket_path(&project, Some(&name)));
            room_config.bounds.read.extend(installed.iter().cloned());
            let rules = Arc::clone(&policy);
            reader.native.root = own.root.clone();
            let sessions = room_config.sessions.clone();
            reader.native.room_config = room_config;
            reader.native.outputs.clone_from(&own.outputs);
            reader.native.file_rules = Arc::new(move |phase| path_rules_for(phase, &rules));
            reader.calls = socket.clone();
            let backends = chain.iter().map(|entry| backend(&reader, entry)).collect::<Result<_, Fault>>()?;
            workers.push(ResolvedWorker { name, work_root: own.root, policy, socket, sessions, backends });
        }
        let crash = environment.crash_point()?;
        Ok(Self {
            title,
            project,
            job,
            options,
            policy,
            backends,
            verifier,
            named_backends,
            ladder: rungs,
            best_of,
            recovery_budget,
            room_config,
            checkouts,
            work_root: place.root,
            workers,
            workspace: hub.zip(site),
            agent_lock,
            resume,
            start_over,
            approve_plan,
            socket,
            telemetry,
            notify,
            secrets,
            crash,
            notices,
            warnings,
        })
    }
}

fn options(args: &CommonArgs, defaults: &RunConfig) -> RunOptions {
    RunOptions {
        limits: Limits {
            max_iterations: args.max_iterations.or(defaults.max_iterations),
            max_cost: args.max_cost.or(defaults.max_cost),
            max_duration: args.max_duration.or(defaults.max_duration),
        },
        max_retries: args.max_retries,
        session_delay: args.session_delay,
        wait_for_quota: args.wait_for_quota,
        max_outage: args.max_outage.or(defaults.max_outage).unwrap_or(DEFAULT_MAX_OUTAGE),
        thinking: args.thinking,
    }
}

fn strict_needs_bubblewrap(layer: SandboxLayer) -> Fault {
    let available = match layer {
        SandboxLayer::None => "the sandbox is disabled".to_owned(),
        SandboxLayer::Bubblewrap | SandboxLayer::Landlock | SandboxLayer::Seatbelt => {
            format!("this machine has {} only", layer.name())
        }
    };
    let message = format!(
        "--strict needs bubblewrap, which keeps checks apart from all that agents have left, and {available}."
    );
    Fault::permanent(FaultLayer::Config, "strict_layer", message).hint(
        "Install bubblewrap and allow user namespaces; or run without --strict: then `autonoe status` and the report say on which layer each \
         deliverable was verified.",
    )
}

/// A run in place would not have the commits of an earlier one that wait to land, and take what passed with them for done.
async fn refuse_without_waiting_commits(
    project: &Project,
    environment: &Environment,
    no_sandbox: bool,
) -> Result<(), Fault> {
    let layout = HubLayout::in_state(project.state_dir());
    // A landing that is half done is refused for that reason.
    if layout.runs().next().is_none() || layout.has_unfinished_landing() {
        return Ok(());
    }
    let Some(waiting) = open_hub_with(project, environment, no_sandbox).await?.unlanded().await? else {
        return Ok(());
    };
    let place = waiting.users_branch.map_or_else(|| "to land".to_owned(), |branch| format!("on {branch}"));
    let message = format!("Commits of an earlier run wait {place}, and a run in place would not have them.");
    Err(Fault::permanent(FaultLayer::Config, "unlanded", message)
        .hint("`autonoe land` lands them, `autonoe land --discard` gives them up; then run again."))
}
