//! Finds the model providers: the built-in ones, configured by environment variables, and those of the user's config.toml. A repository
//! cannot configure any.

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_model::{Price, PriceList, Provider, ProviderKind};
use autonoe_store::UserConfig;
use autonoe_store::user_config::ProviderConfig;

use crate::environment::Environment;
use crate::key_command::KeyCommand;

/// Service name of keys in the system keyring.
const KEYRING_SERVICE: &str = "autonoe";

const BUILT_IN: [ProviderKind; 4] =
    [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::Gemini, ProviderKind::Ollama];

/// Built-in providers come first. A provider without a key is not an error here; a key command that fails is.
pub async fn find(environment: &Environment, user: &UserConfig) -> Result<Vec<Provider>, Fault> {
    let mut providers: Vec<Provider> = BUILT_IN.map(|kind| from_variables(kind, environment)).into();
    for (name, config) in &user.providers {
        match providers.iter_mut().find(|provider| provider.name == *name) {
            Some(built_in) => configure(built_in, config, environment).await?,
            None => providers.push(custom(name, config, environment).await?),
        }
    }
    Ok(providers)
}

/// The built-in price list with the user's overrides.
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

/// A built-in provider, configured by its usual variables.
fn from_variables(kind: ProviderKind, environment: &Environment) -> Provider {
    let variable = |name: Option<&str>| name.and_then(|name| environment.variable(name));
    let base_url = variable(kind.base_url_variable());
    let api_key = variable(kind.key_variable());
    let protocol = match kind {
        ProviderKind::OpenAi => ProviderKind::of_openai(base_url.as_deref()),
        other => other,
    };
    Provider { name: kind.name().to_owned(), kind: protocol, base_url, api_key }
}

/// config.toml takes precedence over the environment.
async fn configure(
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

async fn custom(name: &str, config: &ProviderConfig, environment: &Environment) -> Result<Provider, Fault> {
    let wrong = |what: &str| {
        Fault::permanent(
            FaultLayer::Config,
            "user_config",
            format!("The provider '{name}' in config.toml {what}."),
        )
    };
    if name.is_empty() || name.contains(['/', ' ']) {
        return Err(wrong("has an invalid name: it must not be empty or contain a slash or a space"));
    }
    let kind = config.kind.as_deref().unwrap_or(ProviderKind::OpenAiCompatible.name());
    let kind = ProviderKind::parse(kind)?;
    if config.base_url.is_none() && kind == ProviderKind::OpenAiCompatible {
        return Err(wrong("needs a base_url"));
    }
    let api_key = key(name, config, environment).await?;
    Ok(Provider { name: name.to_owned(), kind, base_url: config.base_url.clone(), api_key })
}

/// `None` if config.toml does not say where the key is.
async fn key(
    name: &str,
    config: &ProviderConfig,
    environment: &Environment,
) -> Result<Option<String>, Fault> {
    if let Some(variable) = &config.key_variable {
        return Ok(environment.variable(variable));
    }
    if !config.key_command.is_empty() {
        return run_key_command(name, &config.key_command, environment).await.map(Some);
    }
    if config.keyring {
        let words: &[&str] = if cfg!(target_os = "macos") {
            &["security", "find-generic-password", "-w", "-s", KEYRING_SERVICE, "-a", name]
        } else {
            &["secret-tool", "lookup", "service", KEYRING_SERVICE, "provider", name]
        };
        let command: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        return run_key_command(name, &command, environment).await.map(Some);
    }
    Ok(None)
}

async fn run_key_command(name: &str, command: &[String], environment: &Environment) -> Result<String, Fault> {
    let key_command = KeyCommand {
        value: &format!("the key of the provider '{name}'"),
        section: &format!("[providers.{name}]"),
        code: "provider_not_configured",
        command,
    };
    key_command.run(environment).await
}
