//! The model providers that can be asked: those that everybody knows, with what the environment says of them, and the
//! user's own. No repository has a say in it.

use std::ffi::OsString;
use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};
use autonoe_model::{Price, PriceList, Provider, ProviderKind};
use autonoe_store::UserConfig;
use autonoe_store::user_config::ProviderConfig;

use crate::environment::Environment;
use crate::helper::{Helper, Said};

/// How long the user's command may take to print a key. Somebody may have to touch a token first.
const KEY_LIMIT: Duration = Duration::from_secs(60);

/// What keys are stored under in the system's keyring.
const KEYRING_SERVICE: &str = "autonoe";

/// The providers that everybody knows.
const KNOWN: [ProviderKind; 4] =
    [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::Gemini, ProviderKind::Ollama];

/// Finds the providers, the known ones first. A key that cannot be had is a fault only of its own provider's sessions.
pub async fn find(environment: &Environment, user: &UserConfig) -> Result<Vec<Provider>, Fault> {
    let mut providers: Vec<Provider> = KNOWN.map(|kind| customary(kind, environment)).into();
    for (name, config) in &user.providers {
        match providers.iter_mut().find(|provider| provider.name == *name) {
            Some(known) => change(known, config, environment).await?,
            None => providers.push(own(name, config, environment).await?),
        }
    }
    Ok(providers)
}

/// The shipped price list with the user's prices in it.
pub fn prices(user: &UserConfig) -> PriceList {
    let overrides = user.prices.iter().map(|(model, price)| {
        let price = Price {
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write: price.cache_write,
            long: None,
        };
        (model.clone(), price)
    });
    PriceList::shipped().clone().with_overrides(&overrides.collect())
}

/// A known provider with its customary variables.
fn customary(kind: ProviderKind, environment: &Environment) -> Provider {
    let variable = |name: Option<&str>| name.and_then(|name| environment.variable(name));
    let base_url = variable(kind.base_url_variable());
    let api_key = variable(kind.key_variable());
    let speaks = match kind {
        ProviderKind::OpenAi => ProviderKind::of_openai(base_url.as_deref()),
        other => other,
    };
    Provider { name: kind.name().to_owned(), kind: speaks, base_url, api_key }
}

/// What the user says of a provider goes before what the environment says.
async fn change(
    provider: &mut Provider,
    config: &ProviderConfig,
    environment: &Environment,
) -> Result<(), Fault> {
    if let Some(kind) = &config.kind {
        provider.kind = ProviderKind::parse(kind)?;
    }
    if let Some(base_url) = &config.base_url {
        provider.base_url = Some(base_url.clone());
    }
    if let Some(key) = key(&provider.name, config, environment).await? {
        provider.api_key = Some(key);
    }
    Ok(())
}

async fn own(name: &str, config: &ProviderConfig, environment: &Environment) -> Result<Provider, Fault> {
    let wrong = |what: &str| {
        Fault::lasting(Layer::Config, "user_config", format!("The provider '{name}' in config.toml {what}."))
    };
    if name.is_empty() || name.contains(['/', ' ']) {
        return Err(wrong("has a name with a slash or a space in it, or none"));
    }
    let kind = config.kind.as_deref().unwrap_or(ProviderKind::OpenAiCompatible.name());
    let kind = ProviderKind::parse(kind)?;
    if config.base_url.is_none() && kind == ProviderKind::OpenAiCompatible {
        return Err(wrong("needs a base_url"));
    }
    let api_key = key(name, config, environment).await?;
    Ok(Provider { name: name.to_owned(), kind, base_url: config.base_url.clone(), api_key })
}

/// The key, from where the user says it is.
async fn key(
    name: &str,
    config: &ProviderConfig,
    environment: &Environment,
) -> Result<Option<String>, Fault> {
    if let Some(variable) = &config.key_variable {
        return Ok(environment.variable(variable));
    }
    if !config.key_command.is_empty() {
        return printed_by(name, &config.key_command, environment).await.map(Some);
    }
    if config.keyring {
        let words: &[&str] = if cfg!(target_os = "macos") {
            &["security", "find-generic-password", "-w", "-s", KEYRING_SERVICE, "-a", name]
        } else {
            &["secret-tool", "lookup", "service", KEYRING_SERVICE, "provider", name]
        };
        let command: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        return printed_by(name, &command, environment).await.map(Some);
    }
    Ok(None)
}

/// The first line that a command of the user's prints.
async fn printed_by(name: &str, command: &[String], environment: &Environment) -> Result<String, Fault> {
    let failed = |why: String| {
        let shown = command.first().map(String::as_str).unwrap_or_default();
        Fault::lasting(
            Layer::Config,
            "provider_not_configured",
            format!("`{shown}` did not give the key of the provider '{name}': {why}."),
        )
        .hint(format!(
            "Run the command yourself: it must print the key within {} s, without a terminal to ask you on. It is in \
             [providers.{name}] of your config.toml.",
            KEY_LIMIT.as_secs()
        ))
    };
    let Some((program, args)) = command.split_first() else {
        return Err(failed("no command is given".to_owned()));
    };
    let helper = Helper {
        purpose: format!("the key of the provider '{name}'"),
        program: program.into(),
        args: args.iter().map(OsString::from).collect(),
        environment: environment.all(),
        directory: environment.directory(),
        limit: KEY_LIMIT,
        ourselves: &environment.ourselves()?,
    };
    let Said { code, output, complaint } = helper.ask().await.map_err(failed)?;
    let words = complaint.map(|words| format!("; it said: {words}")).unwrap_or_default();
    match output.lines().next().map(str::trim) {
        Some(key) if code == 0 && !key.is_empty() => Ok(key.to_owned()),
        Some(_) if code == 0 => Err(failed(format!("the first line that it printed is empty{words}"))),
        None if code == 0 => Err(failed(format!("it printed nothing{words}"))),
        Some(_) | None => Err(failed(format!("it ended with exit code {code}{words}"))),
    }
}
