//! What agents are called: on the command line, and to each other.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use autonoe_agents::{acp, claude, codex, gemini, replay};
use autonoe_core::backend_chain::Models;
use autonoe_core::fault::{Fault, Layer};
use autonoe_model::ProviderKind;
use autonoe_store::AgentCommand;

use crate::command_line::CommandLine;

/// One kind of agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendName {
    /// Our own, on any model provider.
    Native,
    /// Claude Code.
    Claude,
    /// OpenAI's Codex.
    Codex,
    /// The Gemini CLI.
    Gemini,
    /// Any that speaks the Agent Client Protocol, by its command.
    Acp(CommandLine),
    /// One that the user's configuration has a command for.
    Configured(String),
    /// A recording, from this file.
    Replay(PathBuf),
}

/// In the order in which `auto` looks at them.
pub const ALL: [BackendName; 4] =
    [BackendName::Claude, BackendName::Codex, BackendName::Gemini, BackendName::Native];

impl BackendName {
    /// As it is typed.
    pub fn name(&self) -> &str {
        match self {
            Self::Native => "native",
            Self::Claude => claude::NAME,
            Self::Codex => codex::NAME,
            Self::Gemini => gemini::NAME,
            Self::Acp(_) => acp::NAME,
            Self::Configured(name) => name,
            Self::Replay(_) => replay::NAME,
        }
    }

    /// The vendor of its models, if it has but one.
    pub fn vendor(&self) -> Option<ProviderKind> {
        match self {
            Self::Native | Self::Acp(_) | Self::Configured(_) | Self::Replay(_) => None,
            Self::Claude => Some(ProviderKind::Anthropic),
            Self::Codex => Some(ProviderKind::OpenAi),
            Self::Gemini => Some(ProviderKind::Gemini),
        }
    }

    /// The models that it works with unless the user says otherwise.
    pub fn default_models(&self) -> Models {
        let (plan, work) = match self {
            Self::Native | Self::Claude => ("opus", "sonnet"),
            Self::Codex => ("gpt-5.5", "gpt-5.5"),
            Self::Gemini => ("gemini-2.5-pro", "gemini-2.5-pro"),
            Self::Acp(_) | Self::Configured(_) => (acp::OWN_MODEL, acp::OWN_MODEL),
            Self::Replay(_) => ("recorded", "recorded"),
        };
        Models { plan: plan.to_owned(), work: work.to_owned() }
    }

    /// Refuses the name of an agent that the user's configuration does not know.
    pub fn check_configured(&self, agents: &BTreeMap<String, AgentCommand>) -> Result<(), Fault> {
        match self {
            Self::Configured(name) if !agents.contains_key(name) => Err(not_configured(name, agents)),
            _ => Ok(()),
        }
    }
}

/// What the user typed for `--backend`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendChoice {
    /// The first one that is ready.
    Auto,
    /// This one.
    Named(BackendName),
}

impl BackendChoice {
    /// The one that was named.
    pub fn name(&self) -> Option<BackendName> {
        match self {
            Self::Auto => None,
            Self::Named(name) => Some(name.clone()),
        }
    }
}

/// One of `--fallback`: an agent, and the model that it is to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Substitute {
    /// Which agent.
    pub backend: BackendName,
    /// Its model; none for its default.
    pub model: Option<String>,
}

impl FromStr for Substitute {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            // After these comes no model.
            Some(("acp" | "replay", _)) | None => Ok(Self { backend: text.parse()?, model: None }),
            Some((_, "")) => Err("after the colon comes a model".to_owned()),
            Some((backend, model)) => Ok(Self { backend: backend.parse()?, model: Some(model.to_owned()) }),
        }
    }
}

impl FromStr for BackendName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(file) = text.strip_prefix("replay:") {
            return Ok(Self::Replay(PathBuf::from(file)));
        }
        if let Some(command) = text.strip_prefix("acp:") {
            return command.parse().map(Self::Acp);
        }
        if let Some(backend) = ALL.into_iter().find(|backend| backend.name() == text) {
            return Ok(backend);
        }
        if is_agent_name(text) {
            return Ok(Self::Configured(text.to_owned()));
        }
        let names: Vec<_> = ALL.iter().map(|backend| backend.name().to_owned()).collect();
        Err(format!(
            "there is no agent of this name; there are {}, acp:COMMAND, replay:FILE, and [agents.NAME] of your config.toml",
            names.join(", ")
        ))
    }
}

impl FromStr for BackendChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Named) }
    }
}

/// Whether the user's configuration may have an agent of this name.
fn is_agent_name(text: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    !text.is_empty() && text.chars().all(is_plain)
}

/// There is no agent of this name.
pub fn not_configured(name: &str, agents: &BTreeMap<String, AgentCommand>) -> Fault {
    let known = ALL.iter().map(BackendName::name).chain(agents.keys().map(String::as_str));
    let known: Vec<&str> = known.collect();
    let message = format!("There is no agent '{name}'; there are {}.", known.join(", "));
    Fault::lasting(Layer::Config, "unknown_agent", message)
        .hint("Name one of them, acp:COMMAND, or describe it under [agents.NAME] in your config.toml.")
}
