//! The user's configuration, `config.toml` in the configuration directory: settings for every project.
//!
//! No repository can set any of this. It decides how far the sandbox reaches, so it is parsed strictly, and
//! only if nobody but the user could have written it. The meaning of hosts and limits is left to the code
//! that enforces them.

mod error;
mod notify;

use std::collections::BTreeMap;
use std::fs::File;
use std::num::NonZeroU32;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::money::Usd;
use autonoe_files::{ReadError, SETTINGS_LIMIT, open_regular, read_opened, to_text};
use serde::de::{Deserialize, Deserializer, Error as _};

use self::error::{PathProblem, TomlError, UserConfigError};
pub use self::notify::{ChannelConfig, NotifyConfig, NotifyTargetConfig, ValueSource, WebhookShape};
use crate::byte_size::ByteSize;

/// Write bits of group and others.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// All sections and fields are optional.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserConfig {
    pub sandbox: SandboxConfig,
    pub network: NetworkConfig,
    /// `[providers.NAME]`.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Key: `model` or `provider/model`.
    pub prices: BTreeMap<String, PriceConfig>,
    /// The user's own servers, in the format of `agent.json`.
    pub mcp_servers: BTreeMap<String, serde_json::Value>,
    pub telemetry: TelemetryConfig,
    pub agents: BTreeMap<String, AcpAgentConfig>,
    pub checks: ChecksConfig,
    pub webhooks: WebhooksConfig,
    pub notify: NotifyConfig,
    pub run: RunConfig,
    pub recovery: RecoveryConfig,
}

/// Defaults for options of runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// Default of `--max-cost`.
    #[serde(deserialize_with = "positive_dollars")]
    pub max_cost: Option<Usd>,
    /// Default of `--max-duration`.
    #[serde(deserialize_with = "positive_duration")]
    pub max_duration: Option<Duration>,
    /// Default of `--max-iterations`.
    #[serde(deserialize_with = "at_least_one")]
    pub max_iterations: Option<NonZeroU32>,
    /// Default of `--max-outage`.
    #[serde(deserialize_with = "positive_duration")]
    pub max_outage: Option<Duration>,
}

/// What is tried when a run is stuck.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecoveryConfig {
    /// `BACKEND` or `BACKEND/MODEL`, as written, the most capable last.
    pub ladder: Vec<String>,
    /// The part of `--max-cost` that remedies may use.
    #[serde(deserialize_with = "share")]
    pub share: Option<f64>,
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match f64::deserialize(deserializer)? {
        share if share > 0.0 && share <= 1.0 => Ok(Some(share)),
        _ => Err(D::Error::custom("give a part of --max-cost above 0 and at most 1, such as 0.25")),
    }
}

fn positive_dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Usd>, D::Error> {
    match f64::deserialize(deserializer)? {
        dollars if dollars.is_finite() && dollars > 0.0 => Ok(Some(Usd(dollars))),
        _ => Err(D::Error::custom("give a number of dollars above 0, such as 20")),
    }
}

fn positive_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    match autonoe_core::duration::parse(&text) {
        Ok(duration) if !duration.is_zero() => Ok(Some(duration)),
        Ok(_) => Err(D::Error::custom("give a duration above 0, such as \"90m\" or \"2h\"")),
        Err(wrong) => Err(D::Error::custom(wrong)),
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChecksConfig {
    /// Whether a check that needs the network may reach the hosts that commands of `run` may reach.
    pub network: bool,
}

/// Where declarative agents may escalate to.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebhooksConfig {
    pub hosts: Vec<String>,
    /// Environment variable with the secret for signing messages.
    pub secret_variable: Option<String>,
}

/// `[agents.NAME]`: an agent that speaks the Agent Client Protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcpAgentConfig {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Names of environment variables to pass.
    #[serde(default)]
    pub env: Vec<String>,
    /// Hosts of its models, which it may also reach in `sync`.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// A model provider, or overrides for a known one.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// Wire protocol; `None` for a provider known by its name.
    pub kind: Option<String>,
    pub base_url: Option<String>,
    /// Environment variable with its key.
    pub key_variable: Option<String>,
    /// A command that prints its key.
    pub key_command: Vec<String>,
    /// Whether its key is in the system keyring, under `autonoe` and the provider's name.
    pub keyring: bool,
}

/// Dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceConfig {
    /// Uncached input.
    pub input: f64,
    /// Output, including thinking.
    pub output: f64,
    /// `None` means the price of uncached input.
    pub cache_read: Option<f64>,
    /// `None` means the price of uncached input.
    pub cache_write: Option<f64>,
}

/// Where traces and metrics go. The standard `OTEL_*` variables take precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryConfig {
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub endpoint: Option<String>,
    /// `OTEL_EXPORTER_OTLP_PROTOCOL`.
    pub protocol: Option<String>,
    /// `OTEL_EXPORTER_OTLP_HEADERS`.
    pub headers: Option<String>,
    /// `OTEL_SERVICE_NAME`.
    pub service_name: Option<String>,
    /// Whether texts, arguments and results are sent too.
    pub capture_content: bool,
}

/// What commands may access and use.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxConfig {
    /// `false` is `--no-sandbox` for every run.
    pub enabled: bool,
    /// Additional readable paths, absolute once loaded.
    pub read: Vec<PathBuf>,
    /// Additional writable paths, absolute once loaded.
    pub write: Vec<PathBuf>,
    /// Names of environment variables that commands get.
    pub env: Vec<String>,
    /// Maximum number of processes; `None` uses the sandbox's default.
    #[serde(deserialize_with = "at_least_one")]
    pub max_processes: Option<NonZeroU32>,
    /// Maximum memory per process; `None` uses the sandbox's default.
    pub max_memory: Option<ByteSize>,
    /// Maximum file size; `None` uses the sandbox's default.
    pub max_file_size: Option<ByteSize>,
}

/// Where commands may connect to.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkConfig {
    /// Additional hosts for commands in `run`, as written.
    pub allow: Vec<String>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            read: Vec::new(),
            write: Vec::new(),
            env: Vec::new(),
            max_processes: None,
            max_memory: None,
            max_file_size: None,
        }
    }
}

impl UserConfig {
    /// An absent file means all defaults. `~/` stands for `home`.
    pub fn load(path: &Path, home: Option<&Path>) -> Result<Self, Fault> {
        let wrong = |error: UserConfigError| {
            Fault::permanent(
                FaultLayer::Config,
                "user_config",
                format!("{} is not valid: {error}.", path.display()),
            )
            .hint("Fix the file; docs/configuration.md describes every field.")
        };
        let unreadable = |error: ReadError| {
            let message = format!("{} cannot be read: {error}.", path.display());
            Fault::permanent(FaultLayer::Config, "user_config", message).hint(error.advice())
        };
        let Some(file) = open_regular(path).map_err(unreadable)? else {
            return Ok(Self::default());
        };
        check_owner(&file, path)?;
        let text = read_opened(&file, SETTINGS_LIMIT).and_then(to_text).map_err(unreadable)?;
        Self::parse(&text, home).map_err(wrong)
    }

    fn parse(text: &str, home: Option<&Path>) -> Result<Self, UserConfigError> {
        let wrong = |field: String, error: &toml::de::Error| {
            let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
            UserConfigError::Toml(TomlError { field, message: error.message().trim_end().to_owned(), line })
        };
        let reader = toml::Deserializer::parse(text).map_err(|error| wrong(".".to_owned(), &error))?;
        let mut config: Self = serde_path_to_error::deserialize(reader)
            .map_err(|error| wrong(error.path().to_string(), error.inner()))?;
        for (field, paths) in [("read", &mut config.sandbox.read), ("write", &mut config.sandbox.write)] {
            for (index, path) in paths.iter_mut().enumerate() {
                *path =
                    resolve(path, home).map_err(|problem| UserConfigError::Path { field, index, problem })?;
            }
        }
        for (model, price) in &config.prices {
            let given = [Some(price.input), Some(price.output), price.cache_read, price.cache_write];
            if given.into_iter().flatten().any(|dollars| !dollars.is_finite() || dollars < 0.0) {
                return Err(UserConfigError::Price { model: model.clone() });
            }
        }
        for (name, agent) in &config.agents {
            if agent.command.first().is_none_or(|program| program.trim().is_empty()) {
                return Err(UserConfigError::Command { agent: name.clone() });
            }
        }
        if config.webhooks.secret_variable.as_deref().is_some_and(|name| !is_variable(name)) {
            return Err(UserConfigError::SecretVariable);
        }
        Ok(config)
    }
}

/// Whether this is a valid name of an environment variable.
fn is_variable(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Settings that widen the sandbox must come from the user. The directory needs no check: a file that others
/// put there would belong to them.
fn check_owner(file: &File, path: &Path) -> Result<(), Fault> {
    let refused = |what: String, hint: String| {
        Err(Fault::permanent(FaultLayer::Config, "user_config", format!("{} {what}.", path.display()))
            .hint(hint))
    };
    let metadata = match file.metadata() {
        Ok(metadata) => metadata,
        Err(error) => {
            return refused(
                format!("cannot be examined: {error}"),
                "Check the disk that it is on.".to_owned(),
            );
        }
    };
    let us = rustix::process::geteuid();
    if metadata.uid() != us.as_raw() && metadata.uid() != rustix::process::Uid::ROOT.as_raw() {
        return refused(
            format!("belongs to another user ({})", metadata.uid()),
            "It decides what commands may do. Review it, then replace it with your own copy.".to_owned(),
        );
    }
    if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return refused(
            format!("can be written by other users (mode {:03o})", metadata.mode() & 0o777),
            format!("It decides what commands may do. Review it, then run: chmod go-w '{}'", path.display()),
        );
    }
    Ok(())
}

/// Absolute, with `~` resolved.
fn resolve(path: &Path, home: Option<&Path>) -> Result<PathBuf, PathProblem> {
    let resolved = match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        (Ok(_), None) => return Err(PathProblem::NoHome(path.to_owned())),
        (Err(_), _) => path.to_owned(),
    };
    if !resolved.is_absolute() {
        return Err(PathProblem::Relative(path.to_owned()));
    }
    if resolved.components().any(|part| part == Component::ParentDir) {
        return Err(PathProblem::Parent(path.to_owned()));
    }
    Ok(resolved)
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NonZeroU32>, D::Error> {
    let number = u32::deserialize(deserializer)?;
    let number = NonZeroU32::new(number);
    number.map(Some).ok_or_else(|| D::Error::custom("0 is not a valid limit; zero never means unlimited"))
}

#[cfg(test)]
mod tests;
