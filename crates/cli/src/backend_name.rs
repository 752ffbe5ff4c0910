//! Backend names as typed on the command line, with the default models of each.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use autonoe_agents::{VendorProfile, acp, claude, codex, gemini, native, replay};
use autonoe_core::backend_chain::PhaseModels;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_store::AcpAgentConfig;

use crate::command_line::{CommandLine, CommandLineError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendName {
    Native,
    Claude,
    Codex,
    Gemini,
    /// Any agent that speaks the Agent Client Protocol.
    Acp(CommandLine),
    /// An `[agents.NAME]` entry of the user's config.toml.
    Configured(String),
    /// A cassette file to play back.
    Replay(PathBuf),
}

/// In the order in which `auto` tries them.
pub const ALL: [BackendName; 4] =
    [BackendName::Claude, BackendName::Codex, BackendName::Gemini, BackendName::Native];

impl BackendName {
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

    /// `None` if the backend is not a vendor's agent.
    pub fn profile(&self) -> Option<&'static VendorProfile> {
        match self {
            Self::Native | Self::Acp(_) | Self::Configured(_) | Self::Replay(_) => None,
            Self::Claude => Some(&claude::PROFILE),
            Self::Codex => Some(&codex::PROFILE),
            Self::Gemini => Some(&gemini::PROFILE),
        }
    }

    pub fn default_models(&self) -> PhaseModels {
        let (plan, work) = match (self, self.profile()) {
            (_, Some(profile)) => profile.default_models,
            (Self::Acp(_) | Self::Configured(_), None) => (acp::OWN_MODEL, acp::OWN_MODEL),
            (Self::Replay(_), None) => ("recorded", "recorded"),
            (Self::Native | Self::Claude | Self::Codex | Self::Gemini, None) => native::DEFAULT_MODELS,
        };
        PhaseModels { plan: plan.to_owned(), work: work.to_owned() }
    }

    /// Fails if this names an agent that the user's config.toml does not define.
    pub fn check_configured(&self, agents: &BTreeMap<String, AcpAgentConfig>) -> Result<(), Fault> {
        match self {
            Self::Configured(name) if !agents.contains_key(name) => Err(not_configured(name, agents)),
            _ => Ok(()),
        }
    }
}

/// The value of `--backend`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendChoice {
    /// The first backend that is ready.
    Auto,
    Named(BackendName),
}

impl BackendChoice {
    /// `None` for `auto`.
    pub fn name(&self) -> Option<BackendName> {
        match self {
            Self::Auto => None,
            Self::Named(name) => Some(name.clone()),
        }
    }
}

/// A value of `--fallback` or `--verifier`: `NAME` or `NAME:MODEL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendWithModel {
    pub backend: BackendName,
    /// `None` for the backend's default model.
    pub model: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendNameError {
    #[error(
        "unknown agent; expected one of {}, acp:COMMAND, replay:FILE, or a name from [agents.NAME] in your config.toml",
        ALL.each_ref().map(BackendName::name).join(", ")
    )]
    Unknown,
    #[error("expected a model after the colon")]
    NoModel,
    #[error(transparent)]
    Command(#[from] CommandLineError),
}

impl FromStr for BackendWithModel {
    type Err = BackendNameError;

    fn from_str(text: &str) -> Result<Self, BackendNameError> {
        match text.split_once(':') {
            // The rest is a command or a file, not a model.
            Some(("acp" | "replay", _)) | None => Ok(Self { backend: text.parse()?, model: None }),
            Some((_, "")) => Err(BackendNameError::NoModel),
            Some((backend, model)) => Ok(Self { backend: backend.parse()?, model: Some(model.to_owned()) }),
        }
    }
}

impl FromStr for BackendName {
    type Err = BackendNameError;

    fn from_str(text: &str) -> Result<Self, BackendNameError> {
        if let Some(file) = text.strip_prefix("replay:") {
            return Ok(Self::Replay(PathBuf::from(file)));
        }
        if let Some(command) = text.strip_prefix("acp:") {
            return Ok(Self::Acp(command.parse()?));
        }
        if let Some(backend) = ALL.into_iter().find(|backend| backend.name() == text) {
            return Ok(backend);
        }
        if is_agent_name(text) {
            return Ok(Self::Configured(text.to_owned()));
        }
        Err(BackendNameError::Unknown)
    }
}

impl FromStr for BackendChoice {
    type Err = BackendNameError;

    fn from_str(text: &str) -> Result<Self, BackendNameError> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Named) }
    }
}

fn is_agent_name(text: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    !text.is_empty() && text.chars().all(is_plain)
}

pub fn not_configured(name: &str, agents: &BTreeMap<String, AcpAgentConfig>) -> Fault {
    let known = ALL.iter().map(BackendName::name).chain(agents.keys().map(String::as_str));
    let known: Vec<&str> = known.collect();
    let message = format!("There is no agent '{name}'. Available: {}.", known.join(", "));
    Fault::permanent(FaultLayer::Config, "unknown_agent", message)
        .hint("Use one of these or acp:COMMAND, or define it under [agents.NAME] in your config.toml.")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::ALL;

    /// What an executor of other harnesses has, in the order of the table.
    const EXECUTOR: [&str; 11] = [
        "cli_name",
        "default_model",
        "execute",
        "verify_success",
        "_build_prompt",
        "_detect_failure",
        "ExecutionResult.success",
        "ExecutionResult.output",
        "ExecutionResult.error",
        "ExecutionResult.duration_seconds",
        "ExecutionResult.conversation_id",
    ];

    /// Quoted from the executors of other harnesses:
    /// "Implementations: CodexExecutor, GeminiExecutor, ClaudeExecutor"
    /// "Name of this CLI (codex, gemini, claude)."
    /// "Default model for this CLI."
    #[test]
    fn executors_are_backends() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/roadmaps.md");
        let page = fs::read_to_string(path).expect("a page");
        let rows = page.lines().skip_while(|line| !line.starts_with("| executor |")).skip(2);
        let rows: Vec<Vec<&str>> = rows
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        let names: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
        assert_eq!(names, EXECUTOR);
        for row in &rows {
            assert!(row.len() == 3 && row[2].contains(".rs`: `"), "{row:?} names the test that shows it");
        }
        let backends: Vec<String> = ALL.iter().map(|backend| format!("`{}`", backend.name())).collect();
        assert!(rows[0][1].ends_with(&backends.join(", ")), "{}", rows[0][1]);
        let models: Vec<String> = ALL
            .iter()
            .map(|backend| format!("`{}` has `{}`", backend.name(), backend.default_models().work))
            .collect();
        assert!(rows[1][1].ends_with(&models.join("; ")), "{}, not {}", rows[1][1], models.join("; "));
        for cli in ["codex", "gemini", "claude"] {
            assert!(ALL.iter().any(|backend| backend.name() == cli), "{cli}");
        }
    }
}
