//! `--best-of` and `--backends`: who makes an attempt at a hard deliverable, and who can judge the attempts.

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_harness::recovery::{BestOf, Rung};
use autonoe_model::Provider;
use autonoe_store::UserConfig;

use crate::backend_name::{ALL, BackendWithModel};
use crate::environment::Environment;
use crate::recovery_ladder::{is_known, resolve_ready};
use crate::resolve_backends::ResolvedBackend;

/// Attempts of one deliverable: each is a session, and those that pass are compared two at a time.
pub const MAX_ATTEMPTS: usize = 5;

/// What the user asked for.
#[derive(Debug, Clone)]
pub struct BestOfRequest {
    pub attempts: usize,
    /// Empty for the first agents that are ready.
    pub backends: Vec<BackendWithModel>,
}

/// What that means here.
#[derive(Debug)]
pub struct ResolvedBestOf {
    pub best_of: BestOf,
    /// All that it needs.
    pub backends: Vec<ResolvedBackend>,
    /// Agents that make no attempt, and why, as sentences.
    pub skipped: Vec<String>,
}

impl BestOfRequest {
    /// `preferred` are the run's other backends, the verifier first; they can judge.
    pub fn resolve(
        &self,
        preferred: &[ResolvedBackend],
        user: &UserConfig,
        providers: &[Provider],
        environment: &Environment,
    ) -> Result<ResolvedBestOf, Fault> {
        self.check(user)?;
        let ready = |wanted: &BackendWithModel| resolve_ready(wanted, user, providers, environment);
        let of_vendors = || ALL.into_iter().map(|backend| BackendWithModel { backend, model: None });
        let wanted = if self.backends.is_empty() { of_vendors().collect() } else { self.backends.clone() };
        let (mut agents, mut skipped) = (Vec::new(), Vec::new());
        for one in &wanted {
            match ready(one) {
                Ok(agent) if agents.len() < self.attempts => agents.push(agent),
                Ok(_) => {}
                Err(why) => skipped.push(why),
            }
        }
        let is_enough =
            if self.backends.is_empty() { agents.len() == self.attempts } else { agents.len() > 1 };
        if !is_enough {
            return Err(too_few(self.attempts, &agents, &skipped));
        }
        // Of a default list, nobody expects those that are not installed.
        let skipped: Vec<String> = match self.backends.is_empty() {
            true => Vec::new(),
            false => skipped.iter().map(|why| format!("{why}, so it makes no attempt.")).collect(),
        };
        let others: Vec<ResolvedBackend> = of_vendors().filter_map(|vendor| ready(&vendor).ok()).collect();
        let judges = preferred.iter().chain(&agents).chain(&others).map(rung).collect();
        let best_of = BestOf { agents: agents.iter().map(rung).collect(), judges };
        let backends = agents.iter().chain(preferred).chain(&others).cloned().collect();
        Ok(ResolvedBestOf { best_of, backends, skipped })
    }

    /// What is wrong with the list itself.
    fn check(&self, user: &UserConfig) -> Result<(), Fault> {
        for BackendWithModel { backend, .. } in &self.backends {
            backend.check_configured(&user.agents)?;
            if !is_known(backend, user) {
                let message = format!(
                    "--backends takes the names of agents, and {} is a command or a file.",
                    backend.name()
                );
                return Err(unusable(message)
                    .hint("Define the agent under [agents.NAME] in your config.toml and use that name."));
            }
        }
        let twice =
            self.backends.iter().enumerate().find(|(place, one)| self.backends[..*place].contains(one));
        if let Some((_, BackendWithModel { backend, .. })) = twice {
            let message = format!("--backends names {} twice with the same model.", backend.name());
            return Err(unusable(message)
                .hint("Name different agents, or different models: claude:opus,claude:sonnet."));
        }
        let (named, attempts) = (self.backends.len(), self.attempts);
        match named == 0 || named == attempts {
            true => Ok(()),
            false => Err(unusable(format!(
                "--best-of {attempts} needs {attempts} agents, but --backends names {named}."
            ))
            .hint(format!("Name {attempts} agents, or use --best-of {named} if that is what you want."))),
        }
    }
}

/// Without a workspace there is nothing to go back to.
pub fn needs_workspace() -> Fault {
    unusable(
        "--best-of needs workspaces, since every attempt begins with the same commit; agents work in your checkout here."
            .to_owned(),
    )
    .hint("Use it with the sandbox, and without --in-place.")
}

fn too_few(attempts: usize, agents: &[ResolvedBackend], missing: &[String]) -> Fault {
    let ready: Vec<&str> = agents.iter().map(|agent| agent.backend.name()).collect();
    let ready = match ready.is_empty() {
        true => "none is ready".to_owned(),
        false => format!("only {} can work", ready.join(", ")),
    };
    let why = if missing.is_empty() { String::new() } else { format!(": {}", missing.join(", ")) };
    unusable(format!("--best-of {attempts} needs several agents, and {ready}{why}."))
        .hint("`autonoe doctor` says what each agent needs. --backends chooses them.")
}

fn unusable(message: String) -> Fault {
    Fault::permanent(FaultLayer::Config, "best_of", message)
}

fn rung(resolved: &ResolvedBackend) -> Rung {
    Rung { backend: resolved.backend.name().to_owned(), model: Some(resolved.models.work.clone()) }
}

#[derive(Debug, thiserror::Error)]
#[error("expected a number of attempts from 2 to {MAX_ATTEMPTS}")]
pub struct NotANumberOfAttempts;

/// One attempt would be a session as any other.
pub fn attempts(text: &str) -> Result<usize, NotANumberOfAttempts> {
    text.parse().ok().filter(|count| (2..=MAX_ATTEMPTS).contains(count)).ok_or(NotANumberOfAttempts)
}
