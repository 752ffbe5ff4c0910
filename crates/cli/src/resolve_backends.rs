//! Who works in a run: the agent that was chosen, those who step in for it, and the models of each.

use autonoe_core::backend_chain::Models;
use autonoe_core::fault::{Fault, Layer};
use autonoe_model::{ModelChoice, Provider, ProviderKind};

use crate::arguments::CommonArgs;
use crate::backend_name::{ALL, BackendChoice, BackendName, Substitute};
use crate::environment::Environment;
use crate::vendors::{self, Readiness};

/// Reads the specification at Anthropic, unless the user says otherwise.
const DEFAULT_PLAN_MODEL: &str = "opus";

/// One who works or waits to step in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedBackend {
    /// Which agent.
    pub backend: BackendName,
    /// Its models.
    pub models: Models,
    /// Why it was taken, if nobody named it.
    pub because: Option<String>,
}

/// The agent for this run first, then those who step in. `checks` has the native agent's models looked up.
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
                return Err(nobody(&because));
            }
            (name, Some(because))
        }
    };
    // What was typed for the first one is not for those who step in: they know other names.
    let own = models(&first, args.model.as_deref(), plan_model, providers)?;
    let mut resolved = vec![ResolvedBackend { backend: first, models: own, because }];
    for Substitute { backend, model } in &args.fallback {
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

/// The one who looks at what the others have built.
pub fn resolve_verifier(typed: &Substitute, providers: &[Provider]) -> Result<ResolvedBackend, Fault> {
    let Substitute { backend, model } = typed;
    let models = models(backend, model.as_deref(), None, providers)?;
    if *backend == BackendName::Native {
        ModelChoice::parse(&models.work, providers)?.provider_among(providers)?;
    }
    Ok(ResolvedBackend { backend: backend.clone(), models, because: None })
}

/// Whether a model that the user named is one of the agent's: by its vendor, and a provider's name means our own agent.
fn has_model(backend: &BackendName, model: &str, providers: &[Provider]) -> bool {
    let vendor = ModelChoice::parse(model, providers).ok().filter(|_| !model.contains('/'));
    match backend.vendor() {
        None => true,
        Some(kind) => vendor.is_some_and(|choice| choice.provider == kind.name()),
    }
}

/// There is nobody who could work.
fn nobody(because: &str) -> Fault {
    let message = format!("No agent is ready: {because}, and no key of a model provider is set.");
    Fault::lasting(Layer::Config, "no_agent", message).hint(
        "There are three ways: install `claude`, `codex` or `gemini` and log in; set the key of a model provider, such as \
         ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY; or name a server of your own in config.toml \
         (docs/configuration.md). To see the main job without any: `autonoe demo`.",
    )
}

/// The first agent that has the model, is there and can log in; our own, if no other is.
fn first_ready(
    model: Option<&str>,
    environment: &Environment,
    providers: &[Provider],
) -> (BackendName, String) {
    let mut missing = Vec::new();
    for backend in ALL {
        let name = backend.name().to_owned();
        if let Some(model) = model.filter(|model| !has_model(&backend, model, providers)) {
            missing.push(format!("{name} does not have {model}"));
            continue;
        }
        match vendors::readiness(&backend, environment) {
            Some(Readiness { program: Some(_), login: Some(login), .. }) => {
                return (backend, format!("{name} is installed and {login} is there"));
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

/// The models of an agent: what was typed, or else its own.
fn models(
    backend: &BackendName,
    work: Option<&str>,
    plan: Option<&str>,
    providers: &[Provider],
) -> Result<Models, Fault> {
    let usual = backend.default_models();
    if *backend == BackendName::Native {
        return native_models(work.unwrap_or(&usual.work), plan, providers);
    }
    let usual_plan = match (work, *backend == BackendName::Claude) {
        (Some(work), false) => work.to_owned(),
        (Some(_), true) | (None, _) => usual.plan,
    };
    Ok(Models { plan: plan.map_or(usual_plan, str::to_owned), work: work.map_or(usual.work, str::to_owned) })
}

/// The native agent's models, with their providers' names where the user gave them. Anyone who chooses another vendor for the
/// work means it for reading the specification too.
fn native_models(work: &str, plan: Option<&str>, providers: &[Provider]) -> Result<Models, Fault> {
    let full = |typed: &str| -> Result<(String, String), Fault> {
        match ModelChoice::parse(typed, providers) {
            Ok(choice) if typed.contains('/') => Ok((choice.to_string(), choice.provider)),
            Ok(choice) => Ok((choice.model, choice.provider)),
            // A name that nobody knows is asked of the first provider that the user has set up.
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
    Ok(Models { plan, work })
}
