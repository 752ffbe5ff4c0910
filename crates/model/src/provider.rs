//! Providers: whose models we can ask, and which one the user means by what they typed. Reads nothing but its arguments.

use std::fmt;

use autonoe_core::fault::{Fault, Layer};
use serde::{Deserialize, Serialize};

use crate::code::ModelErrorCode;
use crate::price::resolve_alias;

/// Which wire protocol a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    #[serde(rename = "openai")]
    OpenAi,
    /// Chat Completions, as many servers speak it.
    #[serde(rename = "openai-compatible")]
    OpenAiCompatible,
    /// Google's Gemini.
    Gemini,
    /// Ollama's own.
    Ollama,
}

impl ProviderKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Anthropic, Self::OpenAi, Self::OpenAiCompatible, Self::Gemini, Self::Ollama];

    /// Its name, as in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiCompatible => "openai-compatible",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Reads a name from a configuration file.
    pub fn parse(name: &str) -> Result<Self, Fault> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            not_supported(format!(
                "There is no provider kind '{name}'. There are: {}.",
                Self::ALL.map(Self::name).join(", ")
            ))
        })
    }

    /// What speaks at the place `OPENAI_BASE_URL` names: Responses at OpenAI itself, Chat Completions elsewhere.
    pub fn of_openai(base_url: Option<&str>) -> Self {
        let host = |url: &str| reqwest::Url::parse(url).ok()?.host_str().map(str::to_owned);
        match base_url.map(host) {
            None => Self::OpenAi,
            Some(Some(host)) if host == "openai.com" || host.ends_with(".openai.com") => Self::OpenAi,
            Some(_) => Self::OpenAiCompatible,
        }
    }

    /// The variable that customarily holds the key.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::OpenAiCompatible | Self::Ollama => None,
        }
    }

    /// The variable that customarily holds the base URL.
    pub fn base_url_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_BASE_URL"),
            Self::OpenAi => Some("OPENAI_BASE_URL"),
            Self::Gemini => Some("GOOGLE_GEMINI_BASE_URL"),
            Self::Ollama => Some("OLLAMA_HOST"),
            Self::OpenAiCompatible => None,
        }
    }

    /// The vendor's own address, if there is a vendor.
    pub(crate) fn vendor_base_url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::OpenAi => Some("https://api.openai.com"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com"),
            Self::Ollama => Some("http://localhost:11434"),
            Self::OpenAiCompatible => None,
        }
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a provider is and how we prove who we are.
#[derive(Clone, PartialEq, Eq)]
pub struct Provider {
    /// What the user calls it.
    pub name: String,
    /// What it speaks.
    pub kind: ProviderKind,
    /// Base URL, with or without its version; none means the vendor's own.
    pub base_url: Option<String>,
    /// The key; a local server needs none.
    pub api_key: Option<String>,
}

impl Provider {
    /// The provider everybody knows by that name, without a key yet.
    pub fn built_in(name: &str) -> Option<Self> {
        let kind = ProviderKind::ALL.into_iter().find(|kind| kind.name() == name)?;
        kind.vendor_base_url()?;
        Some(Self { name: name.to_owned(), kind, base_url: None, api_key: None })
    }

    /// True when the user has said something of it: a key, or where it is.
    pub fn is_set_up(&self) -> bool {
        self.base_url.is_some() || self.api_key.is_some()
    }

    /// True when nothing stands between this provider and a call.
    pub fn is_configured(&self) -> bool {
        match (&self.base_url, &self.api_key) {
            (_, Some(_)) | (Some(_), None) => true,
            (None, None) => self.kind == ProviderKind::Ollama,
        }
    }
}

/// Keys are not for logs.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key.as_ref().map(|_| "…"))
            .finish()
    }
}

/// Providers that need no configuration beyond a key.
const BUILT_IN: [ProviderKind; 4] =
    [ProviderKind::Anthropic, ProviderKind::OpenAi, ProviderKind::Gemini, ProviderKind::Ollama];

/// How the models of a vendor begin.
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

/// Which model of which provider the user means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The provider's name: one of the user's own, or a built-in one.
    pub provider: String,
    /// The model's full name.
    pub model: String,
}

impl ModelChoice {
    /// Reads `provider/name`, a well-known name, or an alias. `known` are the providers the user configured.
    pub fn parse(typed: &str, known: &[Provider]) -> Result<Self, Fault> {
        let typed = typed.trim();
        let names: Vec<&str> = choices(known);
        if let Some((provider, model)) = typed.split_once('/') {
            if !names.contains(&provider) {
                return Err(not_supported(format!(
                    "There is no provider '{provider}' for the model '{typed}'. There are: {}.",
                    names.join(", ")
                )));
            }
            if model.is_empty() {
                return Err(Fault::lasting(
                    Layer::Config,
                    ModelErrorCode::ModelNotFound.as_str(),
                    format!("'{typed}' names a provider and no model."),
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
                "Nobody knows whose model '{typed}' is. The providers are: {}.",
                names.join(", ")
            ))
            .hint(format!("Name the provider too: PROVIDER/{typed}."))),
        }
    }

    /// The chosen provider, or why it cannot be used yet.
    pub fn provider_among(&self, known: &[Provider]) -> Result<Provider, Fault> {
        let configured = known.iter().find(|provider| provider.name == self.provider).cloned();
        let provider = configured.or_else(|| Provider::built_in(&self.provider)).ok_or_else(|| {
            not_supported(format!(
                "There is no provider '{}'. There are: {}.",
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

/// Letters may go on after `claude` or `gpt`, but `o1` must be a word.
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

fn not_supported(message: String) -> Fault {
    Fault::lasting(Layer::Config, ModelErrorCode::ProviderNotSupported.as_str(), message)
}

/// A provider that needs a key and has none.
pub(crate) fn no_key(provider: &Provider) -> Fault {
    let code = ModelErrorCode::ProviderNotConfigured.as_str();
    match provider.kind.key_variable().filter(|_| provider.name == provider.kind.name()) {
        Some(variable) => Fault::lasting(Layer::Config, code, format!("{variable} is not set."))
            .hint("Set it to your key, or see the main job without one: `autonoe demo`."),
        None => Fault::lasting(
            Layer::Config,
            code,
            format!("The provider '{}' has neither a key nor a base URL.", provider.name),
        )
        .hint(format!("Give it one under [providers.{}] in your config.toml.", provider.name)),
    }
}

#[cfg(test)]
mod tests;
