//! What a shell completes besides commands and options: agents, and the ids of the project in the current directory. What cannot be read
//! offers nothing, since a completion has no place for an error.

use autonoe_core::fault::Fault;
use autonoe_store::journal::history::History;
use autonoe_store::{Project, StatusStore};
use autonoe_workflow::list;
use clap_complete::engine::CompletionCandidate;

use crate::backend_name::ALL;
use crate::environment::Environment;
use crate::project_args::ProjectArgs;

/// The newest sessions that are offered.
const MAX_SESSIONS: usize = 50;

/// Values of `--backend`.
pub fn backends() -> Vec<CompletionCandidate> {
    std::iter::once(CompletionCandidate::new("auto")).chain(agents()).collect()
}

/// Values of `--fallback` and `--verifier`.
pub fn agents() -> Vec<CompletionCandidate> {
    let built_in = ALL.iter().map(|backend| CompletionCandidate::new(backend.name()));
    let user = Environment::read().and_then(|environment| environment.user_config()).unwrap_or_default();
    built_in.chain(user.agents.keys().map(CompletionCandidate::new)).collect()
}

/// Ids of deliverables, with their descriptions.
pub fn deliverables() -> Vec<CompletionCandidate> {
    let status = project().and_then(|project| StatusStore::read(&project)).ok().flatten();
    let candidate = |item: &autonoe_core::deliverable::Deliverable| {
        CompletionCandidate::new(&item.id).help(Some(item.description.clone().into()))
    };
    status.iter().flat_map(|status| status.active()).map(candidate).collect()
}

/// Ids of sessions, the newest first.
pub fn sessions() -> Vec<CompletionCandidate> {
    let sessions = project().and_then(|project| match History::open(&project.journal_file())? {
        Some(history) => history.sessions(MAX_SESSIONS),
        None => Ok(Vec::new()),
    });
    sessions
        .unwrap_or_default()
        .iter()
        .map(|row| CompletionCandidate::new(format!("{}.{}", row.run, row.number)))
        .collect()
}

/// Names of declarative agents.
pub fn declarative_agents() -> Vec<CompletionCandidate> {
    let directories = project().and_then(|project| list(&project.agents_dir())).unwrap_or_default();
    directories
        .iter()
        .filter_map(|directory| Some(CompletionCandidate::new(directory.file_name()?)))
        .collect()
}

fn project() -> Result<Project, Fault> {
    Environment::read()?.project(&ProjectArgs { project_dir: None })
}
