//! The ladder of the user's configuration: backends and models that stuck runs try, and whether each could work now.

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_harness::recovery::Rung;
use autonoe_model::Provider;
use autonoe_store::UserConfig;

use crate::backend_name::{ALL, BackendName, BackendWithModel};
use crate::environment::Environment;
use crate::programs::find_program;
use crate::resolve_backends::{ResolvedBackend, resolve_verifier};
use crate::vendors::{self, Readiness};

pub struct LadderRung {
    /// As written.
    pub name: String,
    /// `Err` says why it cannot work, as a clause.
    pub backend: Result<ResolvedBackend, String>,
}

impl LadderRung {
    /// With the model that it would use; `None` if it cannot work.
    pub fn rung(&self) -> Option<Rung> {
        let resolved = self.backend.as_ref().ok()?;
        let (backend, model) = (resolved.backend.name().to_owned(), Some(resolved.models.work.clone()));
        Some(Rung { backend, model })
    }

    /// A clause for the user; `None` if it can work.
    pub fn why_skipped(&self) -> Option<String> {
        let why = self.backend.as_ref().err()?;
        Some(format!("{} in your recovery ladder is skipped: {why}.", self.name))
    }
}

/// A name that is not a backend's is a fault; one that is not ready is reported with its rung.
pub fn resolve_ladder(
    user: &UserConfig,
    providers: &[Provider],
    environment: &Environment,
) -> Result<Vec<LadderRung>, Fault> {
    let rung = |name: &String| -> Result<LadderRung, Fault> {
        let (backend, model) = match name.split_once('/') {
            Some((backend, model)) => (backend, Some(model.to_owned())),
            None => (name.as_str(), None),
        };
        let parsed = backend.parse::<BackendName>().ok().filter(|backend| is_known(backend, user));
        let known = parsed.filter(|_| model.as_deref() != Some(""));
        let backend = known.ok_or_else(|| unknown(name, user))?;
        let backend = resolve_ready(&BackendWithModel { backend, model }, user, providers, environment);
        Ok(LadderRung { name: name.clone(), backend })
    };
    user.recovery.ladder.iter().map(rung).collect()
}

/// Whether it is known by its name alone.
pub fn is_known(backend: &BackendName, user: &UserConfig) -> bool {
    match backend {
        BackendName::Native | BackendName::Claude | BackendName::Codex | BackendName::Gemini => true,
        BackendName::Configured(name) => user.agents.contains_key(name),
        // A command or a file may contain slashes and commas itself.
        BackendName::Acp(_) | BackendName::Replay(_) => false,
    }
}

fn unknown(name: &str, user: &UserConfig) -> Fault {
    let known = ALL.iter().map(BackendName::name).chain(user.agents.keys().map(String::as_str));
    let message = format!(
        "The recovery ladder in your config.toml has '{name}', which is not an agent, or an agent and a model. Available agents: {}.",
        known.collect::<Vec<_>>().join(", ")
    );
    Fault::permanent(FaultLayer::Config, "recovery_ladder", message)
        .hint("Write `AGENT` or `AGENT/MODEL`, such as \"codex\" or \"claude/opus\".")
}

/// `Err` says why the agent cannot work, as a clause.
pub fn resolve_ready(
    rung: &BackendWithModel,
    user: &UserConfig,
    providers: &[Provider],
    environment: &Environment,
) -> Result<ResolvedBackend, String> {
    let name = rung.backend.name().to_owned();
    match vendors::readiness(&rung.backend, environment) {
        Some(Readiness { program: None, .. }) => return Err(format!("{name} is not installed")),
        Some(Readiness { login: None, .. }) => return Err(format!("{name} is not logged in")),
        Some(Readiness { program: Some(_), login: Some(_), .. }) | None => {}
    }
    let program = user.agents.get(&name).and_then(|agent| agent.command.first());
    if let Some(program) = program.filter(|program| find_program(program, environment).is_none()) {
        return Err(format!("`{program}` is not on the PATH"));
    }
    let clause = |fault: Fault| fault.message.trim_end_matches('.').to_owned();
    resolve_verifier(rung, providers).map_err(clause)
}
