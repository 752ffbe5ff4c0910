//! `autonoe doctor`

use std::path::{Path, PathBuf};

use autonoe_agents::VendorProfile;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::mode::Mode;
use autonoe_core::outcome::exit;
use autonoe_core::redact::Redactor;
use autonoe_model::{PriceList, Provider, ProviderKind};
use autonoe_report::project_checks;
use autonoe_sandbox::{Sandbox, SandboxLayer};
use autonoe_store::config::AgentConfig;
use autonoe_store::journal::history::History;
use autonoe_store::{CheckRegistry, LockStatus, Project, ProjectInstructions, ProjectLock, StatusStore};
use autonoe_verify::why_other_project;
use clap::Args;

use crate::arguments::ProjectArgs;
use crate::backend_name::ALL;
use crate::environment::Environment;
use crate::lock_project::describe_locks;
use crate::notify_settings::TargetResolver;
use crate::preflight::{self, WorkMode};
use crate::present;
use crate::probe;
use crate::providers;
use crate::resources;
use crate::room_config;
use crate::scratch::ScratchDir;
use crate::system::runtime;
use crate::vendors::{self, Readiness};

/// Check your setup
///
/// Shows what is installed and whether `autonoe run` would start here. Changes nothing and sends nothing. Exits with 0 if a run would
/// start, with 2 if not.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Look at what matters for `run --in-place`, such as the hooks of your repository
    #[arg(long)]
    in_place: bool,
}

enum DoctorFinding {
    Good(String),
    /// A run starts regardless.
    Note(String),
    /// A run would not start.
    Bad(String),
}

pub fn cmd_doctor(args: &DoctorArgs, environment: &Environment) -> Result<u8, Fault> {
    let mut findings = runtime()?.block_on(machine_findings(environment));
    let (sandbox_findings, sandbox) = runtime()?.block_on(sandbox(environment));
    findings.extend(sandbox_findings);
    match environment.project(&args.project) {
        Ok(project) => {
            findings.extend(project_findings(&project));
            findings.extend(runtime()?.block_on(notify_findings(environment, project.root())));
            findings.extend(
                sandbox
                    .map(|sandbox| try_work(&project, environment, sandbox, args.in_place))
                    .unwrap_or_default(),
            );
        }
        Err(fault) => findings.push(bad("project", &fault)),
    }
    let mut text = format!("Autonoe v{}\n\n", env!("CARGO_PKG_VERSION"));
    let mut ready = true;
    for finding in findings {
        let (mark, words) = match finding {
            DoctorFinding::Good(words) => ("ok  ", words),
            DoctorFinding::Note(words) => ("note", words),
            DoctorFinding::Bad(words) => {
                ready = false;
                ("BAD ", words)
            }
        };
        text.push_str(&format!("{mark} {words}\n"));
    }
    text.push_str(if ready {
        "\n`autonoe run` is ready to start here.\n"
    } else {
        "\n`autonoe run` would not start here.\n"
    });
    present::print(&Redactor::new(&environment.secrets()).text(&text));
    Ok(if ready { exit::DONE } else { exit::USAGE })
}

async fn machine_findings(environment: &Environment) -> Vec<DoctorFinding> {
    let mut findings = vec![
        match find(environment, "git") {
            Some(path) => DoctorFinding::Good(format!("git: {}", path.display())),
            None => DoctorFinding::Note("git is not on the PATH; agents need it to commit their work".into()),
        },
        match find(environment, "bash").or_else(|| find(environment, "sh")) {
            Some(path) => DoctorFinding::Good(format!("shell: {}", path.display())),
            None => DoctorFinding::Bad("neither bash nor sh is on the PATH".into()),
        },
    ];
    let agents = agents(environment).await;
    let has_agent = agents.iter().any(|(_, is_ready)| *is_ready);
    findings.extend(agents.into_iter().map(|(finding, _)| finding));
    findings.extend(models(environment, has_agent).await);
    let prices = PriceList::shipped();
    let models: Vec<_> = prices.models().collect();
    findings.push(DoctorFinding::Good(format!(
        "prices: {} of {}, for {}",
        prices.source,
        prices.date,
        models.join(", ")
    )));
    findings
}

/// Whether each vendor's agent is installed and logged in. Only `--version` is run.
async fn agents(environment: &Environment) -> Vec<(DoctorFinding, bool)> {
    let mut findings = Vec::new();
    for name in &ALL {
        let Some(readiness) = vendors::readiness(name, environment) else { continue };
        let is_ready = readiness.login.is_some() && readiness.program.is_some();
        findings.push((agent(name.name(), &readiness, environment).await, is_ready));
    }
    findings
}

async fn agent(name: &str, readiness: &Readiness, environment: &Environment) -> DoctorFinding {
    let Readiness { profile, program, login } = readiness;
    let VendorProfile { oldest, install, log_in, ungated, .. } = profile;
    let Some(program) = program else {
        return DoctorFinding::Note(format!("backend {name}: not installed; `{install}`"));
    };
    let mut text = format!("backend {name}: {}", program.display());
    let is_old = match probe::version(program, environment).await {
        Ok(version) => {
            text.push_str(&format!(", version {}", probe::format_version(version)));
            version < *oldest
        }
        Err(why) => {
            text.push_str(&format!(", version unknown ({why})"));
            false
        }
    };
    match login {
        Some(login) => text.push_str(&format!(", {login} is present (not tested)")),
        None => text.push_str(&format!(", no login found; {log_in}")),
    }
    text.push_str(", every tool call is checked by our gates");
    text.extend(ungated.map(|what| format!(" except {what}, which only the sandbox restricts")));
    if is_old {
        let oldest = probe::format_version(*oldest);
        text.push_str(&format!(
            "; older than {oldest}, the oldest version known to work; update with `{install}`"
        ));
    }
    if login.is_some() && !is_old { DoctorFinding::Good(text) } else { DoctorFinding::Note(text) }
}

/// Which model providers are configured; none is contacted. With a vendor's agent ready, none is needed.
async fn models(environment: &Environment, has_agent: bool) -> Vec<DoctorFinding> {
    let found = match environment.user_config() {
        Ok(user) => providers::find(environment, &user).await,
        Err(fault) => Err(fault),
    };
    let providers = match found {
        Ok(providers) => providers,
        Err(fault) => return vec![bad("model providers", &fault)],
    };
    let line = |provider: &Provider| {
        let url = provider.base_url.as_deref().map(|url| format!(" at {url}")).unwrap_or_default();
        format!("backend native, provider {} ({}){url}", provider.name, provider.kind)
    };
    let ready = |provider: &&Provider| provider.is_configured();
    let mut findings: Vec<_> = providers
        .iter()
        .map(|provider| match provider.is_configured() {
            true => DoctorFinding::Good(format!("{}: ready (not tested)", line(provider))),
            false => DoctorFinding::Note(format!("{}: no key", line(provider))),
        })
        .collect();
    // Ollama needs no key, so it is always configured, but the default models are from other providers.
    if !has_agent && providers.iter().filter(ready).all(|provider| provider.kind == ProviderKind::Ollama) {
        findings.push(DoctorFinding::Bad(
            "no agent is ready: install one and log in, set a model provider's key such as ANTHROPIC_API_KEY, or configure \
             your own model server in config.toml"
                .into(),
        ));
    }
    findings
}

/// The sandbox, tried out for real, and what each of its layers enforces.
async fn sandbox(environment: &Environment) -> (Vec<DoctorFinding>, Option<Sandbox>) {
    let bad = |what: &str, fault: &Fault| (vec![bad(what, fault)], None);
    let user = match environment.user_config() {
        Ok(user) => user,
        Err(fault) => return bad("config.toml", &fault),
    };
    if let Some(what) = room_config::disabled_by(false, environment, &user) {
        let words = format!("sandbox: disabled by {what}; agents' commands are not confined");
        return (vec![DoctorFinding::Note(words)], environment.own_executable().ok().map(Sandbox::none));
    }
    let found = match environment.own_executable() {
        Ok(own_executable) => {
            room_config::find_sandbox(&own_executable, &environment.path, &std::env::temp_dir()).await
        }
        Err(fault) => Err(fault),
    };
    match found {
        Ok(sandbox) => {
            let good = enforced(sandbox.layer()).into_iter().map(DoctorFinding::Good);
            let gaps = sandbox.layer().gaps().into_iter();
            let gaps = gaps.map(|gap| DoctorFinding::Note(format!("sandbox, partial: {gap}")));
            (good.chain(gaps).collect(), Some(sandbox))
        }
        Err(fault) if fault.code == resources::TOO_LOW => bad("limits", &fault),
        Err(fault) => bad("sandbox", &fault),
    }
}

/// Whether agents can work in the project, by the preflight of a run.
fn try_work(
    project: &Project,
    environment: &Environment,
    sandbox: Sandbox,
    in_place: bool,
) -> Vec<DoctorFinding> {
    // It is among the findings already, and git might wait for it.
    if room_config::search_repository(project).is_err() {
        return Vec::new();
    }
    let warnings = ScratchDir::new().map_err(|error| {
        let message = format!("the temporary directory cannot be written: {error}");
        Fault::permanent(FaultLayer::System, "scratch", message)
    });
    let warnings = warnings.and_then(|scratch| {
        let user = environment.user_config()?;
        let room_config = room_config::for_preflight(project, environment, &user, sandbox, scratch.path())?;
        let work_mode = match room_config.sandbox.layer() {
            SandboxLayer::None => WorkMode::InPlace,
            _ if in_place => WorkMode::InPlace,
            SandboxLayer::Bubblewrap | SandboxLayer::Landlock | SandboxLayer::Seatbelt => WorkMode::Workspace,
        };
        runtime()?.block_on(preflight::check(project, &room_config, work_mode))
    });
    match warnings {
        Ok(warnings) if warnings.is_empty() => {
            vec![DoctorFinding::Good("work: agents can work, and the project can be written".into())]
        }
        Ok(warnings) => {
            warnings.into_iter().map(|what| DoctorFinding::Note(format!("work: {what}"))).collect()
        }
        Err(fault) => vec![bad("work", &fault)],
    }
}

/// The targets of notifications; none is notified.
async fn notify_findings(environment: &Environment, project: &Path) -> Vec<DoctorFinding> {
    // A config.toml that is wrong is among the findings already.
    let user = environment.user_config().unwrap_or_default();
    let mut resolver = TargetResolver::new(environment, project);
    let mut findings = Vec::new();
    for (name, config) in &user.notify.targets {
        findings.push(match resolver.resolve(name, config).await {
            Ok(target) => {
                let what = format!("notify {name}: {}", target.channel.describe());
                match target.channel.problem() {
                    None => DoctorFinding::Good(format!("{what} (not tested; `autonoe notify test` does)")),
                    Some(problem) => DoctorFinding::Note(format!("{what}, but {problem}")),
                }
            }
            Err(fault) => bad(&format!("notify {name}"), &fault),
        });
    }
    findings
}

fn enforced(layer: SandboxLayer) -> Vec<String> {
    let rows: &[(&str, &str)] = match layer {
        SandboxLayer::Bubblewrap => &[
            ("files", "bubblewrap: private view of the file system, read-only except for the project"),
            (
                "network",
                "bubblewrap: private network with loopback only; outbound through our egress proxy, by host",
            ),
            ("processes", "bubblewrap: private process ids; all processes end with the session"),
            ("system calls", "seccomp, no new privileges, no capabilities"),
            ("limits", "kernel limits, plus monitoring of processes and disk"),
        ],
        SandboxLayer::Landlock => &[
            ("files", "Landlock: only the project is writable; our process judges changes of attributes"),
            (
                "network",
                "Landlock and seccomp: our process connects sockets, to our egress proxy only; servers listen on loopback only",
            ),
            (
                "processes",
                "Landlock where the kernel supports it, and a supervisor: all processes end with the session",
            ),
            ("system calls", "seccomp, no new privileges, no capabilities"),
            ("limits", "kernel limits, plus monitoring of processes and disk"),
        ],
        SandboxLayer::Seatbelt => &[("files and network", "sandbox-exec")],
        SandboxLayer::None => &[],
    };
    rows.iter().map(|(what, by)| format!("sandbox, {what}: {by}")).collect()
}

fn project_findings(project: &Project) -> Vec<DoctorFinding> {
    let check = |name: &str, result: Result<String, Fault>| match result {
        Ok(words) => DoctorFinding::Good(format!("{name}: {words}")),
        Err(fault) => bad(name, &fault),
    };
    let locks = describe_locks(project).into_iter().map(|what| DoctorFinding::Note(format!("git: {what}")));
    let mut findings = vec![
        check("project", Ok(project.root().display().to_string())),
        check("writable", project.predict_writable().map(|()| "the project and the state directory".into())),
        check("SPEC.md", project.read_spec().map(|text| format!("{} lines", text.lines().count()))),
        check(".autonoe/agent.json", AgentConfig::load(project).map(|config| effective_config(&config))),
        check("git repository", room_config::search_repository(project).map(|()| "ok".into())),
        check("checks", checks(project)),
        check("instructions", ProjectInstructions::new(project).check_all().map(|()| "ok".into())),
        check(".autonoe/status.json", deliverables(project)),
        check(
            "journal",
            History::open(&project.journal_file()).and_then(|history| match history {
                Some(history) => history.integrity(),
                None => Ok("none yet".into()),
            }),
        ),
        match ProjectLock::status(project) {
            LockStatus::Free => DoctorFinding::Good("lock: free".into()),
            LockStatus::By(holder) => DoctorFinding::Bad(format!(
                "lock: held by `autonoe {}` (process {})",
                holder.command, holder.pid
            )),
            LockStatus::Unknown { pid } => {
                let pid = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                DoctorFinding::Bad(format!("lock: held by another user or with another state directory{pid}"))
            }
        },
    ];
    findings.extend(project.small_state_disk().map(DoctorFinding::Note).into_iter().chain(locks));
    findings
}

fn bad(name: &str, fault: &Fault) -> DoctorFinding {
    let hint = fault.hint.as_ref().map(|hint| format!("\n     hint: {hint}")).unwrap_or_default();
    DoctorFinding::Bad(format!("{name}: {}{hint}", fault.message))
}

fn deliverables(project: &Project) -> Result<String, Fault> {
    if let Some(status) = StatusStore::read(project)? {
        return Ok(format!("{} active deliverables", status.tally().total));
    }
    if let Some(why) = why_other_project(project)? {
        return Ok(format!("none yet; the recorded ones are another project's, since {why}"));
    }
    Ok(match StatusStore::deleted(project)? {
        Some(status) => {
            format!(
                "deleted; the next run restores its {} deliverables from the journal",
                status.tally().total
            )
        }
        None => "none yet".into(),
    })
}

fn checks(project: &Project) -> Result<String, Fault> {
    let checks = project_checks(project, &CheckRegistry::load(project)?)?;
    Ok(format!("{} known", checks.len()))
}

fn effective_config(config: &AgentConfig) -> String {
    let config = config.effective(Mode::Run);
    let profiles: Vec<_> = config.profiles.iter().map(|profile| profile.name()).collect();
    let commands = if config.commands.is_empty() { "none".to_owned() } else { config.commands.join(", ") };
    format!("profiles {}; additional commands: {commands}", profiles.join(", "))
}

fn find(environment: &Environment, program: &str) -> Option<PathBuf> {
    std::env::split_paths(&environment.path)
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
}
