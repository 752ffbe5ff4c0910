//! The agents and model providers: what is installed, which login each would use, and which one `--backend auto` chooses.

use autonoe_agents::VendorProfile;
use autonoe_model::{Provider, ProviderKind};
use autonoe_store::UserConfig;

use super::DoctorFinding;
use crate::backend_name::ALL;
use crate::environment::Environment;
use crate::probe;
use crate::providers;
use crate::recovery_ladder::{LadderRung, resolve_ladder};
use crate::resolve_backends::first_ready;
use crate::vendors::{self, Readiness};

pub async fn findings(environment: &Environment) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let mut has_agent = false;
    for name in &ALL {
        let Some(readiness) = vendors::readiness(name, environment) else { continue };
        has_agent |= readiness.login.is_some() && readiness.program.is_some();
        findings.push(agent(name.name(), &readiness, environment).await);
    }
    findings.extend(models(environment, has_agent).await);
    findings
}

/// Whether a vendor's agent is installed and logged in. Only `--version` is run.
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
        Some(login) => {
            text.push_str(&format!(
                ", logs in with {} (not tested)",
                shown_login(login, profile, environment)
            ));
        }
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

/// A variable by its name, a file by its path.
fn shown_login(login: &str, profile: &VendorProfile, environment: &Environment) -> String {
    let (_, _, files) = profile.home;
    let directory = vendors::directory(profile, environment).filter(|_| files.contains(&login));
    directory.map_or_else(|| login.to_owned(), |directory| directory.join(login).display().to_string())
}

/// Which model providers are configured; none is contacted. With a vendor's agent ready, none is needed.
async fn models(environment: &Environment, has_agent: bool) -> Vec<DoctorFinding> {
    let user = match environment.user_config() {
        Ok(user) => user,
        Err(fault) => return vec![DoctorFinding::fault("model providers", &fault)],
    };
    let providers = match providers::find(environment, &user).await {
        Ok(providers) => providers,
        Err(fault) => return vec![DoctorFinding::fault("model providers", &fault)],
    };
    let mut findings: Vec<_> = providers.iter().map(|provider| model_provider(provider, &user)).collect();
    // Ollama needs no key, so it is always configured, but the default models are from other providers.
    let mut ready = providers.iter().filter(|provider| provider.is_configured());
    if !has_agent && ready.all(|provider| provider.kind == ProviderKind::Ollama) {
        findings.push(DoctorFinding::Bad(
            "no agent is ready: install one and log in, set a model provider's key such as ANTHROPIC_API_KEY, configure \
             your own model server in config.toml, or choose a model of Ollama with `-m ollama/NAME`"
                .into(),
        ));
    } else {
        let (backend, because) = first_ready(None, environment, &providers);
        findings.push(DoctorFinding::Good(format!("a run uses the agent {}: {because}", backend.name())));
    }
    findings.extend(ladder(environment, &user, &providers));
    findings
}

/// What a stuck run would try.
fn ladder(environment: &Environment, user: &UserConfig, providers: &[Provider]) -> Vec<DoctorFinding> {
    let rungs = match resolve_ladder(user, providers, environment) {
        Ok(rungs) => rungs,
        Err(fault) => return vec![DoctorFinding::fault("recovery ladder", &fault)],
    };
    let finding = |rung: &LadderRung| match &rung.backend {
        Ok(resolved) => {
            let model = &resolved.models.work;
            DoctorFinding::Good(format!("recovery ladder, {}: ready, with the model {model}", rung.name))
        }
        Err(why) => DoctorFinding::Note(format!("recovery ladder, {}: skipped, since {why}", rung.name)),
    };
    rungs.iter().map(finding).collect()
}

fn model_provider(provider: &Provider, user: &UserConfig) -> DoctorFinding {
    let url = provider.base_url.as_deref().map(|url| format!(" at {url}")).unwrap_or_default();
    let line = format!("backend native, provider {} ({}){url}", provider.name, provider.kind);
    match (provider.is_configured(), provider.api_key.is_some()) {
        (true, true) => DoctorFinding::Good(format!(
            "{line}: ready, with the key from {} (not tested)",
            key_source(provider, user)
        )),
        (true, false) if provider.kind == ProviderKind::Ollama => DoctorFinding::Note(format!(
            "{line}: needs no key; used only for models of it, such as `-m {}/NAME` (not tested)",
            provider.name
        )),
        (true, false) => DoctorFinding::Good(format!("{line}: ready, without a key (not tested)")),
        (false, _) => DoctorFinding::Note(format!("{line}: no key")),
    }
}

/// The same order as in [`providers::find`].
fn key_source(provider: &Provider, user: &UserConfig) -> String {
    let config = user.providers.get(&provider.name);
    match config {
        Some(config) if config.key_variable.is_some() => config.key_variable.clone().unwrap_or_default(),
        Some(config) if !config.key_command.is_empty() => format!("`{}`", config.key_command[0]),
        Some(config) if config.keyring => "the system's keyring".to_owned(),
        Some(_) | None => provider.kind.key_variable().unwrap_or("your config.toml").to_owned(),
    }
}
