//! Providers and their kinds. Reads no environment and no files.

use std::fmt;

use autonoe_core::fault::{Fault, FaultLayer};
use serde::{Deserialize, Serialize};

use crate::code::ModelErrorCode;

/// Which wire protocol a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// The Anthropic Messages API.
    Anthropic,
    /// The OpenAI Responses API.
    #[serde(rename = "openai")]
    OpenAi,
    /// The Chat Completions API, which many servers implement.
    #[serde(rename = "openai-compatible")]
    OpenAiCompatible,
    Gemini,
    Ollama,
}

impl ProviderKind {
    pub const ALL: [Self; 5] =
        [Self::Anthropic, Self::OpenAi, Self::OpenAiCompatible, Self::Gemini, Self::Ollama];

    /// The name used in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiCompatible => "openai-compatible",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    pub fn parse(name: &str) -> Result<Self, Fault> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            not_supported(format!(
                "Unknown provider kind '{name}'. Valid kinds: {}.",
                Self::ALL.map(Self::name).join(", ")
            ))
        })
    }

    /// The protocol to use at `OPENAI_BASE_URL`: Responses at OpenAI itself, Chat Completions elsewhere.
    pub fn of_openai(base_url: Option<&str>) -> Self {
        let host = |url: &str| reqwest::Url::parse(url).ok()?.host_str().map(str::to_owned);
        match base_url.map(host) {
            None => Self::OpenAi,
            Some(Some(host)) if host == "openai.com" || host.ends_with(".openai.com") => Self::OpenAi,
            Some(_) => Self::OpenAiCompatible,
        }
    }

    /// The customary environment variable for the API key.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::OpenAiCompatible | Self::Ollama => None,
        }
    }

    /// The customary environment variable for the base URL.
    pub fn base_url_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_BASE_URL"),
            Self::OpenAi => Some("OPENAI_BASE_URL"),
            Self::Gemini => Some("GOOGLE_GEMINI_BASE_URL"),
            Self::Ollama => Some("OLLAMA_HOST"),
            Self::OpenAiCompatible => None,
        }
    }

    /// The vendor's own address; `None` for kinds without a vendor.
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

#[derive(Clone, PartialEq, Eq)]
pub struct Provider {
    /// The name used in configuration and on the command line.
    pub name: String,
    pub kind: ProviderKind,
    /// With or without the API version; `None` means the vendor's own.
    pub base_url: Option<String>,
    /// `None` for local servers that need no key.
    pub api_key: Option<String>,
}

impl Provider {
    /// A provider that needs no configuration beyond a key. The key is not filled in.
    pub fn built_in(name: &str) -> Option<Self> {
        let kind = ProviderKind::ALL.into_iter().find(|kind| kind.name() == name)?;
        kind.vendor_base_url()?;
        Some(Self { name: name.to_owned(), kind, base_url: None, api_key: None })
    }

    /// Whether the user has configured a key or a base URL.
    pub fn is_set_up(&self) -> bool {
        self.base_url.is_some() || self.api_key.is_some()
    }

    /// Whether a call can be made.
    pub fn is_configured(&self) -> bool {
        match (&self.base_url, &self.api_key) {
            (_, Some(_)) | (Some(_), None) => true,
            (None, None) => self.kind == ProviderKind::Ollama,
        }
    }
}

/// Written by hand so that the key never reaches a log.
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

/// The fault of a provider or a kind that does not exist.
pub(crate) fn not_supported(message: String) -> Fault {
    Fault::permanent(FaultLayer::Config, ModelErrorCode::ProviderNotSupported.as_str(), message)
}

/// The fault of a provider that needs a key and has none.
pub(crate) fn no_key(provider: &Provider) -> Fault {
    let code = ModelErrorCode::ProviderNotConfigured.as_str();
    match provider.kind.key_variable().filter(|_| provider.name == provider.kind.name()) {
        Some(variable) => Fault::permanent(FaultLayer::Config, code, format!("{variable} is not set."))
            .hint("Set it to your API key, or run `autonoe demo`, which needs none."),
        None => Fault::permanent(
            FaultLayer::Config,
            code,
            format!("The provider '{}' has neither a key nor a base URL.", provider.name),
        )
        .hint(format!("Set one under [providers.{}] in your config.toml.", provider.name)),
    }
}

#[cfg(test)]
mod tests;
