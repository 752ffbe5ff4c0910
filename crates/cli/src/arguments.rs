//! Options shared between commands, with the valid range of each value.

use std::num::NonZeroU32;
use std::time::Duration;

use autonoe_core::limits::DEFAULT_MAX_RETRIES;
use autonoe_core::money::Usd;
use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use crate::backend_name::{BackendChoice, BackendWithModel};
use crate::completion_candidates;
use crate::project_args::ProjectArgs;

/// Tokens; used when `--thinking` is given without a budget.
const DEFAULT_THINKING: &str = "8192";

/// Tokens; models reject smaller budgets.
const MIN_THINKING: u32 = 1024;

/// Options of every command that runs agents
#[derive(Debug, Clone, Args)]
pub struct CommonArgs {
    #[command(flatten)]
    pub project: ProjectArgs,

    /// Maximum number of sessions [default: no limit]
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = whole_number_from_1, allow_negative_numbers = true)]
    pub max_iterations: Option<NonZeroU32>,

    /// Maximum number of consecutive failed sessions to retry; 0 to disable retries
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_MAX_RETRIES, value_parser = whole_number_from_0, allow_negative_numbers = true)]
    pub max_retries: u32,

    /// Spending limit in USD for the whole run [default: no limit]
    #[arg(long, value_name = "USD", allow_hyphen_values = true)]
    pub max_cost: Option<Usd>,

    /// Time limit for the whole run, such as 90m or 8h [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = positive_duration, allow_hyphen_values = true)]
    pub max_duration: Option<Duration>,

    /// Pause between sessions; also the first pause after an error
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = autonoe_core::duration::parse, allow_hyphen_values = true)]
    pub session_delay: Duration,

    /// Coding model: a name such as sonnet, gpt-5 or gemini-3-pro, or PROVIDER/NAME
    ///
    /// [default: sonnet, or the agent's default]
    #[arg(long, short, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub model: Option<String>,

    /// Agent to use: claude, codex, gemini, native (built in, works with any model provider), acp:'COMMAND' (any agent that
    /// speaks the Agent Client Protocol), a name from your config.toml, replay:FILE, or auto (the first one that is ready)
    #[arg(long, value_name = "NAME", default_value = "auto", add = ArgValueCandidates::new(completion_candidates::backends))]
    pub backend: BackendChoice,

    /// Fallback agents, tried in order when quota runs out, an agent is down or it is stuck: NAME or NAME:MODEL, comma-separated
    #[arg(long, value_name = "NAMES", value_delimiter = ',', add = ArgValueCandidates::new(completion_candidates::agents))]
    pub fallback: Vec<BackendWithModel>,

    /// Enable extended thinking, with a budget in tokens [default: 8192 if given without a value]
    #[arg(long, value_name = "BUDGET", num_args = 0..=1, default_missing_value = DEFAULT_THINKING, value_parser = thinking_budget, allow_negative_numbers = true)]
    pub thinking: Option<u32>,

    /// When quota runs out, wait for the reset instead of stopping
    #[arg(long)]
    pub wait_for_quota: bool,

    /// Maximum time to wait for an unreachable or overloaded model service [default: 2h]
    #[arg(long, value_name = "DURATION", value_parser = positive_duration, allow_hyphen_values = true)]
    pub max_outage: Option<Duration>,

    /// Pass this environment variable to the agent's commands; its value is redacted, except in what the agent commits (repeatable)
    #[arg(long, value_name = "NAME", value_parser = variable_name)]
    pub env: Vec<String>,

    /// Show the agent's messages and tool calls
    #[arg(long, short)]
    pub verbose: bool,

    /// Show every event
    #[arg(long, short)]
    pub debug: bool,

    /// Print one JSON event per line on standard output; the last one is the outcome
    #[arg(long)]
    pub json: bool,

    /// Run in the background; `autonoe attach` and `autonoe logs -f` show it
    #[arg(long, conflicts_with = "json")]
    pub detach: bool,

    /// Set for the process in the background
    #[arg(long, hide = true)]
    pub in_background: bool,

    /// Show only warnings, errors and the outcome
    #[arg(long, short, conflicts_with_all = ["verbose", "debug"])]
    pub quiet: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("expected the name of an environment variable; its value is taken from the environment")]
pub struct NotAVariable;

pub fn variable_name(text: &str) -> Result<String, NotAVariable> {
    let is_name = !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    if is_name { Ok(text.to_owned()) } else { Err(NotAVariable) }
}

/// Where agents work, and what they may do there
#[derive(Debug, Clone, Args)]
pub struct WorkArgs {
    /// Run without the sandbox
    #[arg(long)]
    pub no_sandbox: bool,

    /// Let agents work in your checkout, under the strict command policy, instead of a clone of their own
    #[arg(long)]
    pub in_place: bool,

    /// Allow rm and mv inside the project
    #[arg(long, short = 'D')]
    pub allow_destructive: bool,
}

/// Options of commands that read SPEC.md
#[derive(Debug, Clone, Args)]
pub struct SpecArgs {
    /// Planning model, which reads SPEC.md [default: opus, or the value of --model if that is not an Anthropic model]
    #[arg(long, short = 'P', value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub plan_model: Option<String>,

    /// Resume the conversation of the last session
    #[arg(long)]
    pub resume: bool,

    /// Plan SPEC.md from scratch; existing deliverables are backed up first
    #[arg(long, conflicts_with = "resume")]
    pub start_over: bool,
}

#[derive(Debug, thiserror::Error)]
enum OptionValueError {
    #[error("expected a whole number from {from} to {}", u32::MAX)]
    NotWholeNumber { from: u32 },
    #[error(transparent)]
    NotDuration(#[from] autonoe_core::duration::DurationError),
    #[error("expected a duration above 0, such as 90m or 8h")]
    ZeroDuration,
    #[error("expected a number of tokens from {MIN_THINKING} to {}", u32::MAX)]
    NotThinkingBudget,
}

fn whole_number_from_1(text: &str) -> Result<NonZeroU32, OptionValueError> {
    text.parse().map_err(|_| OptionValueError::NotWholeNumber { from: 1 })
}

fn whole_number_from_0(text: &str) -> Result<u32, OptionValueError> {
    text.parse().map_err(|_| OptionValueError::NotWholeNumber { from: 0 })
}

fn positive_duration(text: &str) -> Result<Duration, OptionValueError> {
    let duration = autonoe_core::duration::parse(text)?;
    if duration.is_zero() { Err(OptionValueError::ZeroDuration) } else { Ok(duration) }
}

fn thinking_budget(text: &str) -> Result<u32, OptionValueError> {
    match text.parse() {
        Ok(budget) if budget >= MIN_THINKING => Ok(budget),
        _ => Err(OptionValueError::NotThinkingBudget),
    }
}
