//! Resolves the backends of a run: the chosen agent, its fallbacks, the verifier, and the models of each.

use autonoe_core::backend_chain::PhaseModels;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_model::{ModelChoice, Provider, ProviderKind};

use autonoe_store::UserConfig;

use crate::arguments::CommonArgs;
use crate::backend_name::{ALL, BackendChoice, BackendName, BackendWithModel};
use crate::environment::Environment;
use crate::vendors::{self, Readiness};

/// Planning model for Anthropic.
const DEFAULT_PLAN_MODEL: &str = "opus";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedBackend {
    pub backend: BackendName,
    pub models: PhaseModels,
    /// Why `auto` chose it; `None` if the user named it.
    pub because: Option<String>,
}

/// The agent for this run first, then its fallbacks. `checks` validates that a provider is configured for the native agent's models.
pub fn resolve_backends(
    args: &CommonArgs,
    plan_model: Option<&str>,
    environment: &Environment,
    providers: &[Provider],
    checks: bool,
) -> Result<Vec<ResolvedBackend>, Fault> {
    let (first, because) = match &args.backend {
        BackendChoice::Named(name) => (name.clone(), None),
        BackendChoice::Auto => {
            let (name, because) = first_ready(args.model.as_deref(), environment, providers);
            let is_ready = name != BackendName::Native || providers.iter().any(Provider::is_set_up);
            if checks && args.model.is_none() && !is_ready {
                return Err(no_agent_ready(&because));
            }
            (name, Some(because))
        }
    };
    // --model and --plan-model are for the first agent only: fallbacks have other model names.
    let own = models(&first, args.model.as_deref(), plan_model, providers)?;
    let mut resolved = vec![ResolvedBackend { backend: first, models: own, because }];
    for BackendWithModel { backend, model } in &args.fallback {
        let models = models(backend, model.as_deref(), None, providers)?;
        if resolved.iter().all(|other| (&other.backend, &other.models) != (backend, &models)) {
            resolved.push(ResolvedBackend { backend: backend.clone(), models, because: None });
        }
    }
    for ResolvedBackend { models, .. } in
        resolved.iter().filter(|resolved| checks && resolved.backend == BackendName::Native)
    {
        for model in [&models.plan, &models.work] {
            ModelChoice::parse(model, providers)?.provider_among(providers)?;
        }
    }
    Ok(resolved)
}

pub fn resolve_verifier(
    verifier: &BackendWithModel,
    providers: &[Provider],
) -> Result<ResolvedBackend, Fault> {
    let BackendWithModel { backend, model } = verifier;
    let models = models(backend, model.as_deref(), None, providers)?;
    if *backend == BackendName::Native {
        ModelChoice::parse(&models.work, providers)?.provider_among(providers)?;
    }
    Ok(ResolvedBackend { backend: backend.clone(), models, because: None })
}

/// A backend that a task of a roadmap asks for, with its default models.
pub fn resolve_named(
    name: &str,
    user: &UserConfig,
    providers: &[Provider],
) -> Result<ResolvedBackend, Fault> {
    let backend = name.parse::<BackendName>().map_err(|error| {
        let message = format!("The roadmap asks for the agent '{name}': {error}.");
        Fault::permanent(FaultLayer::Config, "roadmap", message)
    })?;
    backend.check_configured(&user.agents)?;
    resolve_verifier(&BackendWithModel { backend, model: None }, providers)
}

/// Whether the agent offers the model, judged by its vendor. `PROVIDER/NAME` works with the native agent only.
fn has_model(backend: &BackendName, model: &str, providers: &[Provider]) -> bool {
    let vendor = ModelChoice::parse(model, providers).ok().filter(|_| !model.contains('/'));
    match backend.profile() {
        None => true,
        Some(profile) => vendor.is_some_and(|choice| choice.provider == profile.models_of.name()),
    }
}

fn no_agent_ready(because: &str) -> Fault {
    let message = format!("No agent is ready: {because}, and no model provider's key is set.");
    Fault::permanent(FaultLayer::Config, "no_agent", message).hint(
        "You can install `claude`, `codex` or `gemini` and log in; set the key of a model provider, such as ANTHROPIC_API_KEY, \
         OPENAI_API_KEY or GEMINI_API_KEY; or configure your own model server in config.toml (docs/configuration.md). \
         To watch a complete run without any of these: `autonoe demo`.",
    )
}

/// The first agent that offers the model, is installed and logged in, with the reason; the native agent if there is none.
pub fn first_ready(
    model: Option<&str>,
    environment: &Environment,
    providers: &[Provider],
) -> (BackendName, String) {
    let mut missing = Vec::new();
    for backend in ALL {
        let name = backend.name().to_owned();
        if let Some(model) = model.filter(|model| !has_model(&backend, model, providers)) {
            missing.push(format!("{name} does not offer {model}"));
            continue;
        }
        match vendors::readiness(&backend, environment) {
            Some(Readiness { program: Some(_), login: Some(login), .. }) => {
                return (backend, format!("{name} is installed and {login} is present"));
            }
            Some(Readiness { program: Some(_), login: None, .. }) => {
                missing.push(format!("{name} is not logged in"))
            }
            Some(Readiness { program: None, .. }) => missing.push(format!("{name} is not installed")),
            None => return (backend, missing.join(", ")),
        }
    }
    (BackendName::Native, missing.join(", "))
}

/// The models the user named, or else the agent's defaults.
fn models(
    backend: &BackendName,
    work: Option<&str>,
    plan: Option<&str>,
    providers: &[Provider],
) -> Result<PhaseModels, Fault> {
    let defaults = backend.default_models();
    if *backend == BackendName::Native {
        return native_models(work.unwrap_or(&defaults.work), plan, providers);
    }
    let default_plan = match (work, *backend == BackendName::Claude) {
        (Some(work), false) => work.to_owned(),
        (Some(_), true) | (None, _) => defaults.plan,
    };
    Ok(PhaseModels {
        plan: plan.map_or(default_plan, str::to_owned),
        work: work.map_or(defaults.work, str::to_owned),
    })
}

/// Keeps the provider's name where the user gave one. If the coding model is from another vendor than Anthropic, it is the default
/// for planning too.
fn native_models(work: &str, plan: Option<&str>, providers: &[Provider]) -> Result<PhaseModels, Fault> {
    let full = |typed: &str| -> Result<(String, String), Fault> {
        match ModelChoice::parse(typed, providers) {
            Ok(choice) if typed.contains('/') => Ok((choice.to_string(), choice.provider)),
            Ok(choice) => Ok((choice.model, choice.provider)),
            // An unknown model name is sent to the first provider that the user has configured.
            Err(fault) if typed.contains('/') => Err(fault),
            Err(fault) => match providers.iter().find(|provider| provider.is_set_up()) {
                Some(provider) => Ok((format!("{}/{typed}", provider.name), provider.name.clone())),
                None => Err(fault),
            },
        }
    };
    let (work, vendor) = full(work)?;
    let plan = match plan {
        Some(typed) => full(typed)?.0,
        None if vendor == ProviderKind::Anthropic.name() => full(DEFAULT_PLAN_MODEL)?.0,
        None => work.clone(),
    };
    Ok(PhaseModels { plan, work })
}
