//! The project: its files, its repository, and whether agents can work in it.

use std::io::IsTerminal;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::mode::Mode;
use autonoe_report::project_checks;
use autonoe_sandbox::{Repository, Sandbox, SandboxLayer};
use autonoe_store::config::AgentConfig;
use autonoe_store::journal::history::History;
use autonoe_store::{
    CheckRegistry, LockStatus, Project, ProjectInstructions, ProjectLock, StatusStore, Widening,
};
use autonoe_verify::why_other_project;

use super::DoctorFinding;
use crate::browser::{self, INSTALL, InstalledBrowser};
use crate::consent;
use crate::environment::Environment;
use crate::lock_project::describe_locks;
use crate::offered_servers::with_approved_servers;
use crate::preflight::{self, WorkMode};
use crate::room_config;
use crate::scratch::ScratchDir;
use crate::spec_template::refuse_template;
use crate::system::runtime;

pub fn findings(project: &Project, environment: &Environment, in_place: bool) -> Vec<DoctorFinding> {
    let config = AgentConfig::load(project);
    let locks = describe_locks(project).into_iter().map(|what| DoctorFinding::Note(format!("git: {what}")));
    let mut findings = vec![
        DoctorFinding::of("project", Ok(project.root().display().to_string())),
        DoctorFinding::of(
            "writable",
            project.predict_writable().map(|()| "the project and the state directory".into()),
        ),
        DoctorFinding::of("SPEC.md", spec(project)),
    ];
    findings.extend(config.as_ref().ok().and_then(|config| trust(config, project)));
    findings.extend(config.as_ref().ok().map(|config| browser(config, project, environment)));
    findings.push(DoctorFinding::of(".autonoe/agent.json", config.map(|config| effective_config(&config))));
    findings.extend([
        repository(project, in_place),
        checks(project, environment),
        DoctorFinding::of(
            "instructions",
            ProjectInstructions::new(project).check_all().map(|()| "ok".into()),
        ),
        DoctorFinding::of(".autonoe/status.json", deliverables(project)),
        DoctorFinding::of("journal", journal(project)),
        lock(project, in_place),
    ]);
    findings.extend(project.small_state_disk().map(DoctorFinding::Note).into_iter().chain(locks));
    findings
}

/// What the repository asks for and nobody has approved: a run asks on a terminal, and refuses without one.
fn trust(config: &AgentConfig, project: &Project) -> Option<DoctorFinding> {
    let widening = Widening::of(config, project)?;
    if widening.is_trusted(project) {
        return Some(DoctorFinding::Good(format!("trust: you have approved {}", widening.lines.join("; "))));
    }
    let would_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    Some(match would_ask {
        true => DoctorFinding::Note(format!(
            "trust: a run will ask you to approve what .autonoe/agent.json adds ({}); `autonoe trust` asks now",
            widening.lines.join("; ")
        )),
        false => DoctorFinding::fault("trust", &consent::not_trusted(&widening)),
    })
}

fn browser(config: &AgentConfig, project: &Project, environment: &Environment) -> DoctorFinding {
    if let Some(missing) = browser::missing(project, environment, &with_approved_servers(config, project)) {
        return DoctorFinding::Note(format!("browser: {missing}"));
    }
    let installed = InstalledBrowser::find(project.root(), environment);
    match (installed.missing(), installed.browser) {
        (None, Some(path)) => DoctorFinding::Good(format!("browser: {}", path.display())),
        (_, _) => DoctorFinding::Note(format!("browser: none; for agents that look at pages, {INSTALL}")),
    }
}

fn repository(project: &Project, in_place: bool) -> DoctorFinding {
    if let Err(fault) = room_config::search_repository(project) {
        return DoctorFinding::fault("git repository", &fault);
    }
    let has_one = !Repository::around(project.root()).directories.is_empty();
    match (has_one, in_place) {
        (true, _) => DoctorFinding::Good("git repository: ok".into()),
        (false, true) => {
            DoctorFinding::Note("git repository: none; checks run on a copy of the files".into())
        }
        (false, false) => DoctorFinding::Note(
            "git repository: none; a run creates one, and commits everything that git does not ignore".into(),
        ),
    }
}

fn journal(project: &Project) -> Result<String, Fault> {
    match History::open(&project.journal_file())? {
        Some(history) => history.integrity(),
        None => Ok("none yet".into()),
    }
}

fn lock(project: &Project, in_place: bool) -> DoctorFinding {
    match ProjectLock::status(project) {
        LockStatus::Free => DoctorFinding::Good("lock: free".into()),
        // Agents in workspaces of their own do not have the project lock.
        LockStatus::By(agent) if !in_place && ProjectLock::holder(project).is_none() => {
            DoctorFinding::Note(format!(
                "lock: free; `autonoe {}` (process {}) works at the same time, in a workspace of its own",
                agent.command, agent.pid
            ))
        }
        LockStatus::By(holder) => {
            DoctorFinding::Bad(format!("lock: held by `autonoe {}` (process {})", holder.command, holder.pid))
        }
        LockStatus::Unknown { pid } => {
            let pid = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
            DoctorFinding::Bad(format!("lock: held by another user or with another state directory{pid}"))
        }
    }
}

/// Whether agents can work in the project, by the preflight of a run.
pub fn try_work(
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
        Err(fault) => vec![DoctorFinding::fault("work", &fault)],
    }
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

fn spec(project: &Project) -> Result<String, Fault> {
    let text = project.read_spec()?;
    refuse_template(&text)?;
    Ok(format!("{} lines", text.lines().count()))
}

/// A check that cannot run never passes, so it keeps a run from ending well.
fn checks(project: &Project, environment: &Environment) -> DoctorFinding {
    let checks = CheckRegistry::load(project).and_then(|mut registry| project_checks(project, &mut registry));
    let checks = match checks {
        Ok(checks) => checks,
        Err(fault) => return DoctorFinding::fault("checks", &fault),
    };
    let has_network = environment.user_config().is_ok_and(|user| user.checks.network);
    let offline: Vec<&str> = checks
        .iter()
        .filter(|check| check.network && !has_network)
        .map(|check| check.name.as_str())
        .collect();
    match offline.is_empty() {
        true => DoctorFinding::Good(format!("checks: {} known", checks.len())),
        false => DoctorFinding::Note(format!(
            "checks: {} needs the network, which you have not allowed: set `network = true` under [checks] in your config.toml",
            offline.join(", ")
        )),
    }
}

fn effective_config(config: &AgentConfig) -> String {
    let config = config.effective(Mode::Run);
    let profiles: Vec<_> = config.profiles.iter().map(|profile| profile.name()).collect();
    let commands = if config.commands.is_empty() { "none".to_owned() } else { config.commands.join(", ") };
    format!("profiles {}; additional commands: {commands}", profiles.join(", "))
}
