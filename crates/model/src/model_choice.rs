//! Which provider and model a user's input refers to. Reads no environment and no files.

use std::fmt;

use autonoe_core::fault::{Fault, FaultLayer};

use crate::code::ModelErrorCode;
use crate::price::resolve_alias;
use crate::provider::{Provider, ProviderKind, no_key, not_supported};

/// Providers that need no configuration beyond a key.
const BUILT_IN: [ProviderKind; 4] =
    [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::Gemini, ProviderKind::Ollama];

/// Prefixes of model names, by vendor.
const WELL_KNOWN: [(&str, ProviderKind); 8] = [
    ("claude", ProviderKind::Anthropic),
    ("gpt", ProviderKind::OpenAi),
    ("chatgpt", ProviderKind::OpenAi),
    ("codex", ProviderKind::OpenAi),
    ("o1", ProviderKind::OpenAi),
    ("o3", ProviderKind::OpenAi),
    ("o4", ProviderKind::OpenAi),
    ("gemini", ProviderKind::Gemini),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The name of a configured or built-in provider.
    pub provider: String,
    /// The full name; aliases are resolved.
    pub model: String,
}

impl ModelChoice {
    /// Parses `provider/name`, a well-known name, or an alias. `known` are the configured providers.
    pub fn parse(typed: &str, known: &[Provider]) -> Result<Self, Fault> {
        let typed = typed.trim();
        let names: Vec<&str> = choices(known);
        if let Some((provider, model)) = typed.split_once('/') {
            if !names.contains(&provider) {
                return Err(not_supported(format!(
                    "Unknown provider '{provider}' in the model '{typed}'. Valid providers: {}.",
                    names.join(", ")
                )));
            }
            if model.is_empty() {
                return Err(Fault::permanent(
                    FaultLayer::Config,
                    ModelErrorCode::ModelNotFound.as_str(),
                    format!("'{typed}' names a provider but no model."),
                )
                .hint(format!("Write {provider}/NAME.")));
            }
            return Ok(Self::new(provider, model));
        }
        let full = resolve_alias(typed);
        let vendor = WELL_KNOWN.iter().find(|(prefix, _)| begins(full, prefix));
        match vendor {
            Some((_, kind)) => Ok(Self::new(kind.name(), full)),
            None => Err(not_supported(format!(
                "The provider of the model '{typed}' is unknown. Valid providers: {}.",
                names.join(", ")
            ))
            .hint(format!("Write the provider too: PROVIDER/{typed}."))),
        }
    }

    pub fn provider_among(&self, known: &[Provider]) -> Result<Provider, Fault> {
        let configured = known.iter().find(|provider| provider.name == self.provider).cloned();
        let provider = configured.or_else(|| Provider::built_in(&self.provider)).ok_or_else(|| {
            not_supported(format!(
                "Unknown provider '{}'. Valid providers: {}.",
                self.provider,
                choices(known).join(", ")
            ))
        })?;
        if provider.is_configured() { Ok(provider) } else { Err(no_key(&provider)) }
    }

    fn new(provider: &str, model: &str) -> Self {
        let model = if provider == ProviderKind::Anthropic.name() { resolve_alias(model) } else { model };
        Self { provider: provider.to_owned(), model: model.to_owned() }
    }
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// Anything may follow `claude` or `gpt`, but `o1` must be a whole word.
fn begins(name: &str, prefix: &str) -> bool {
    let Some(rest) = name.strip_prefix(prefix) else { return false };
    let is_word = prefix.ends_with(|last: char| last.is_ascii_digit());
    !is_word || rest.is_empty() || rest.starts_with('-')
}

fn choices(known: &[Provider]) -> Vec<&str> {
    let built_in = BUILT_IN.map(ProviderKind::name);
    let own = known.iter().map(|provider| provider.name.as_str()).filter(|name| !built_in.contains(name));
    built_in.into_iter().chain(own).collect()
}

#[cfg(test)]
mod tests;
