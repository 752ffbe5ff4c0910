//! `autonoe doctor`

use std::path::PathBuf;

use autonoe_core::fault::{Fault, Layer as FaultLayer};
use autonoe_core::mode::Mode;
use autonoe_core::outcome::exit;
use autonoe_core::redact::Redactor;
use autonoe_model::{PriceList, Provider, ProviderKind};
use autonoe_sandbox::{Layer, Sandbox};
use autonoe_store::config::AgentConfig;
use autonoe_store::journal::history::History;
use autonoe_store::{CheckBook, Held, Project, ProjectInstructions, ProjectLock, StatusStore};
use clap::Args;

use crate::acquire::describe_locks;
use crate::arguments::ProjectArgs;
use crate::backend_name::ALL;
use crate::commands::checks::known;
use crate::environment::Environment;
use crate::preflight;
use crate::present;
use crate::probe;
use crate::providers;
use crate::resources;
use crate::room_config;
use crate::scratch::Scratch;
use crate::system::runtime;
use crate::vendors::{self, Readiness};

/// Tell what is installed and whether a run would work
///
/// Nothing is changed and nothing is sent anywhere. Exits with 0 if `autonoe run` would start here, with 2 if not.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The project.
    #[command(flatten)]
    project: ProjectArgs,
}

/// What a check found.
enum Finding {
    Good(String),
    /// A run works without it.
    Note(String),
    /// A run would not start.
    Bad(String),
}

/// Examines the machine and the project.
pub fn cmd_doctor(args: &DoctorArgs, environment: &Environment) -> Result<u8, Fault> {
    let mut findings = runtime()?.block_on(machine(environment));
    let (held, sandbox) = runtime()?.block_on(sandbox(environment));
    findings.extend(held);
    match environment.project(&args.project) {
        Ok(project) => {
            findings.extend(examine(&project));
            findings.extend(sandbox.map(|sandbox| work(&project, environment, sandbox)).unwrap_or_default());
        }
        Err(fault) => findings.push(bad("project", &fault)),
    }
    let mut text = format!("Autonoe v{}\n\n", env!("CARGO_PKG_VERSION"));
    let mut ready = true;
    for finding in findings {
        let (mark, words) = match finding {
            Finding::Good(words) => ("ok  ", words),
            Finding::Note(words) => ("note", words),
            Finding::Bad(words) => {
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

async fn machine(environment: &Environment) -> Vec<Finding> {
    let mut findings = vec![
        match find(environment, "git") {
            Some(path) => Finding::Good(format!("git: {}", path.display())),
            None => {
                Finding::Note("git is not on the PATH; agents are told to commit their work with it".into())
            }
        },
        match find(environment, "bash").or_else(|| find(environment, "sh")) {
            Some(path) => Finding::Good(format!("shell: {}", path.display())),
            None => Finding::Bad("neither bash nor sh is on the PATH".into()),
        },
    ];
    let agents = agents(environment).await;
    let has_agent = agents.iter().any(|(_, is_ready)| *is_ready);
    findings.extend(agents.into_iter().map(|(finding, _)| finding));
    findings.extend(models(environment, has_agent).await);
    let prices = PriceList::shipped();
    let models: Vec<_> = prices.models().collect();
    findings.push(Finding::Good(format!(
        "prices: {} of {}, for {}",
        prices.source,
        prices.date,
        models.join(", ")
    )));
    findings
}

/// Which agents of other vendors could be driven, and whether they could log in. They are asked for their version alone.
async fn agents(environment: &Environment) -> Vec<(Finding, bool)> {
    let mut examined = Vec::new();
    for name in &ALL {
        let Some(readiness) = vendors::readiness(name, environment) else { continue };
        let is_ready = readiness.login.is_some() && readiness.program.is_some();
        examined.push((agent(name.name(), &readiness, environment).await, is_ready));
    }
    examined
}

async fn agent(name: &str, readiness: &Readiness, environment: &Environment) -> Finding {
    let Readiness { program, login, oldest, install, log_in, ungated } = readiness;
    let Some(program) = program else {
        return Finding::Note(format!("backend {name}: not installed; `{install}`"));
    };
    let mut words = format!("backend {name}: {}", program.display());
    let is_old = match probe::version(program, environment).await {
        Ok(version) => {
            words.push_str(&format!(", version {}", probe::show(version)));
            version < *oldest
        }
        Err(why) => {
            words.push_str(&format!(", version unknown ({why})"));
            false
        }
    };
    match login {
        Some(login) => words.push_str(&format!(", {login} is there (not tried)")),
        None => words.push_str(&format!(", login unknown: nothing was found; {log_in}")),
    }
    words.push_str(", every tool is put to our gates");
    words.extend(ungated.map(|what| format!(" but {what}, which the sandbox alone holds")));
    if is_old {
        let oldest = probe::show(*oldest);
        words.push_str(&format!("; older than {oldest}, the oldest that is known to work: `{install}`"));
    }
    if login.is_some() && !is_old { Finding::Good(words) } else { Finding::Note(words) }
}

/// Which model providers could be asked; none is. With another agent at hand none is needed.
async fn models(environment: &Environment, has_agent: bool) -> Vec<Finding> {
    let found = match environment.user_config() {
        Ok(user) => providers::find(environment, &user).await,
        Err(fault) => Err(fault),
    };
    let providers = match found {
        Ok(providers) => providers,
        Err(fault) => return vec![bad("model providers", &fault)],
    };
    let line = |provider: &Provider| {
        let place = provider.base_url.as_deref().map(|url| format!(" at {url}")).unwrap_or_default();
        format!("backend native, provider {} ({}){place}", provider.name, provider.kind)
    };
    let ready = |provider: &&Provider| provider.is_configured();
    let mut findings: Vec<_> = providers
        .iter()
        .map(|provider| match provider.is_configured() {
            true => Finding::Good(format!("{}: ready (not tried)", line(provider))),
            false => Finding::Note(format!("{}: no key", line(provider))),
        })
        .collect();
    // Ollama is always configured, but the usual models are somebody else's.
    if !has_agent && providers.iter().filter(ready).all(|provider| provider.kind == ProviderKind::Ollama) {
        findings.push(Finding::Bad(
            "no agent is ready: install one and log in, set a key of a model provider such as ANTHROPIC_API_KEY, or name a \
             server of your own in config.toml"
                .into(),
        ));
    }
    findings
}

/// Which layer holds what, tried for real, and the sandbox itself.
async fn sandbox(environment: &Environment) -> (Vec<Finding>, Option<Sandbox>) {
    let bad = |what: &str, fault: &Fault| (vec![bad(what, fault)], None);
    let user = match environment.user_config() {
        Ok(user) => user,
        Err(fault) => return bad("config.toml", &fault),
    };
    if let Some(what) = room_config::disabled_by(false, environment, &user) {
        let words = format!("sandbox: disabled by {what}; commands of agents are not confined");
        return (vec![Finding::Note(words)], environment.ourselves().ok().map(Sandbox::none));
    }
    let found = match environment.ourselves() {
        Ok(ourselves) => {
            room_config::find_sandbox(&ourselves, &environment.path, &std::env::temp_dir()).await
        }
        Err(fault) => Err(fault),
    };
    match found {
        Ok(sandbox) => {
            let good = holds(sandbox.layer()).into_iter().map(Finding::Good);
            let short = room_config::shortcomings(sandbox.layer());
            let short = short.map(|what| Finding::Note(format!("sandbox: {what}")));
            (good.chain(short).collect(), Some(sandbox))
        }
        Err(fault) if fault.code == resources::TOO_LOW => bad("limits", &fault),
        Err(fault) => bad("sandbox", &fault),
    }
}

/// Whether agents could work in the project, asked as a run asks.
fn work(project: &Project, environment: &Environment, sandbox: Sandbox) -> Vec<Finding> {
    let asked = Scratch::new().map_err(|error| {
        let message = format!("the temporary directory cannot be written: {error}");
        Fault::lasting(FaultLayer::System, "scratch", message)
    });
    let asked = asked.and_then(|scratch| {
        let user = environment.user_config()?;
        let room_config = room_config::for_a_look(project, environment, &user, sandbox, scratch.path())?;
        runtime()?.block_on(preflight::check(project, &room_config))
    });
    match asked {
        Ok(told) if told.is_empty() => vec![Finding::Good("work: agents can write the project".into())],
        Ok(told) => told.into_iter().map(|what| Finding::Note(format!("work: {what}"))).collect(),
        Err(fault) => vec![bad("work", &fault)],
    }
}

/// What holds what.
fn holds(layer: Layer) -> Vec<String> {
    let rows: &[(&str, &str)] = match layer {
        Layer::Bubblewrap => &[
            ("files", "bubblewrap: own view of the file system, read-only but for the project"),
            ("network", "bubblewrap: own network with loopback only; out through our proxy, by host"),
            ("processes", "bubblewrap: own process ids; all end with the session"),
            ("system calls", "seccomp, no new privileges, no capabilities"),
            ("limits", "kernel limits and a watch on processes and disk"),
        ],
        Layer::Landlock => &[
            ("files", "Landlock: nothing but the project can be written"),
            ("network", "Landlock and seccomp: no connection but to our proxy"),
            ("processes", "Landlock where the kernel has it, and a supervisor: all end with the session"),
            ("system calls", "seccomp, no new privileges, no capabilities"),
            ("limits", "kernel limits and a watch on processes and disk"),
        ],
        Layer::Seatbelt => &[("files and network", "sandbox-exec")],
        Layer::None => &[],
    };
    rows.iter().map(|(what, by)| format!("sandbox, {what}: {by}")).collect()
}

fn examine(project: &Project) -> Vec<Finding> {
    let check = |name: &str, result: Result<String, Fault>| match result {
        Ok(words) => Finding::Good(format!("{name}: {words}")),
        Err(fault) => bad(name, &fault),
    };
    let locks = describe_locks(project).into_iter().map(|what| Finding::Note(format!("git: {what}")));
    let mut findings = vec![
        check("project", Ok(project.root().display().to_string())),
        check("writable", project.look_writable().map(|()| "the project and the state directory".into())),
        check("SPEC.md", project.read_spec().map(|text| format!("{} lines", text.lines().count()))),
        check(".autonoe/agent.json", AgentConfig::load(project).map(|config| in_force(&config))),
        check("git settings", room_config::check_git_settings(project).map(|()| "fine".into())),
        check("checks", checks(project)),
        check("instructions", ProjectInstructions::new(project).check_all().map(|()| "fine".into())),
        check(".autonoe/status.json", deliverables(project)),
        check(
            "journal",
            History::open(&project.journal_file()).and_then(|history| match history {
                Some(history) => history.integrity(),
                None => Ok("not there yet".into()),
            }),
        ),
        match ProjectLock::held(project) {
            Held::Free => Finding::Good("lock: free".into()),
            Held::By(holder) => {
                Finding::Bad(format!("lock: held by `autonoe {}` (process {})", holder.command, holder.pid))
            }
            Held::Unknown { pid } => {
                let pid = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                Finding::Bad(format!("lock: held by another user or with another state directory{pid}"))
            }
        },
    ];
    findings.extend(project.small_state_disk().map(Finding::Note).into_iter().chain(locks));
    findings
}

/// A run would not start, and what to do about it.
fn bad(name: &str, fault: &Fault) -> Finding {
    let hint = fault.hint.as_ref().map(|hint| format!("\n     hint: {hint}")).unwrap_or_default();
    Finding::Bad(format!("{name}: {}{hint}", fault.message))
}

/// The deliverables, as they are or as the journal has them.
fn deliverables(project: &Project) -> Result<String, Fault> {
    if let Some(status) = StatusStore::read(project)? {
        return Ok(format!("{} active deliverables", status.tally().total));
    }
    Ok(match StatusStore::deleted(project)? {
        Some(status) => {
            format!("gone; a run restores its {} deliverables from the journal", status.tally().total)
        }
        None => "not there yet".into(),
    })
}

/// The checks that are written down and those that were proposed.
fn checks(project: &Project) -> Result<String, Fault> {
    let checks = known(project, &CheckBook::load(project)?)?;
    Ok(format!("{} known", checks.len()))
}

/// What the configuration comes to in a run.
fn in_force(config: &AgentConfig) -> String {
    let config = config.effective(Mode::Run);
    let profiles: Vec<_> = config.profiles.iter().map(|profile| profile.name()).collect();
    let commands = if config.commands.is_empty() { "none".to_owned() } else { config.commands.join(", ") };
    format!("profiles {}; further commands: {commands}", profiles.join(", "))
}

fn find(environment: &Environment, program: &str) -> Option<PathBuf> {
    std::env::split_paths(&environment.path)
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
}
