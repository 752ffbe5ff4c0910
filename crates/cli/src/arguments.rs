//! What `run`, `sync` and the other commands share of what can be typed, with the valid range of each value.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use autonoe_core::limits::DEFAULT_MAX_RETRIES;
use autonoe_core::money::Usd;
use clap::Args;

use crate::backend_name::{BackendChoice, Substitute};

/// The thinking budget when `--thinking` is given without one, in tokens.
const DEFAULT_THINKING: &str = "8192";

/// The smallest thinking budget a model takes, in tokens.
const MIN_THINKING: u32 = 1024;

/// Which project.
#[derive(Debug, Clone, Args)]
pub struct ProjectArgs {
    /// Project directory [default: the current directory]
    #[arg(long, short = 'p', value_name = "DIR")]
    pub project_dir: Option<PathBuf>,
}

/// What all commands share that run agents.
#[derive(Debug, Clone, Args)]
pub struct CommonArgs {
    /// The project.
    #[command(flatten)]
    pub project: ProjectArgs,

    /// Maximum number of sessions [default: no limit]
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = whole_number_from_1, allow_negative_numbers = true)]
    pub max_iterations: Option<NonZeroU32>,

    /// Failed sessions in a row to try again; 0 for none
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_MAX_RETRIES, value_parser = whole_number_from_0, allow_negative_numbers = true)]
    pub max_retries: u32,

    /// Dollars to spend at most, over all sessions of the run [default: no limit]
    #[arg(long, value_name = "USD", value_parser = dollars, allow_hyphen_values = true)]
    pub max_cost: Option<Usd>,

    /// Time to take at most, such as 90m or 8h [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = positive_duration, allow_hyphen_values = true)]
    pub max_duration: Option<Duration>,

    /// Pause between sessions, and first pause after an error
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = autonoe_core::duration::parse, allow_hyphen_values = true)]
    pub session_delay: Duration,

    /// Model for the work: a name such as sonnet, gpt-5 or gemini-3-pro, or PROVIDER/NAME
    ///
    /// [default: sonnet, or the default of the agent]
    #[arg(long, short, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub model: Option<String>,

    /// Agent to drive: claude, codex, gemini, native (our own, on any model provider), acp:'COMMAND' (any that speaks the
    /// Agent Client Protocol), one of your config.toml, replay:FILE, or auto, the first that is ready
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub backend: BackendChoice,

    /// Agents that go on, in this order, when quota is used up or an agent is down: NAME or NAME:MODEL, with commas between
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub fallback: Vec<Substitute>,

    /// Let the model think first, with a budget in tokens [default: 8192 if given without one]
    #[arg(long, value_name = "BUDGET", num_args = 0..=1, default_missing_value = DEFAULT_THINKING, value_parser = thinking_budget, allow_negative_numbers = true)]
    pub thinking: Option<u32>,

    /// Wait for the quota to reset instead of ending
    #[arg(long)]
    pub wait_for_quota: bool,

    /// How long to wait for a model service that cannot be reached or is overloaded [default: 2h]
    #[arg(long, value_name = "DURATION", value_parser = positive_duration, allow_hyphen_values = true)]
    pub max_outage: Option<Duration>,

    /// Show what the agent says and which tools it uses
    #[arg(long, short)]
    pub verbose: bool,

    /// Show every event
    #[arg(long, short)]
    pub debug: bool,

    /// Print one JSON event a line on standard output, the last one the outcome
    #[arg(long)]
    pub json: bool,

    /// Say only what went wrong and how it ended
    #[arg(long, short, conflicts_with_all = ["verbose", "debug"])]
    pub quiet: bool,
}

/// What only those commands have that read SPEC.md.
#[derive(Debug, Clone, Args)]
pub struct SpecArgs {
    /// Model for reading the specification [default: opus, or what --model says if that is not Anthropic's]
    #[arg(long, short = 'P', value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub plan_model: Option<String>,

    /// Resume the conversation of the last session
    #[arg(long)]
    pub resume: bool,

    /// Plan SPEC.md anew: the deliverables so far are put aside, once
    #[arg(long, conflicts_with = "resume")]
    pub start_over: bool,
}

fn whole_number_from_1(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| format!("give a whole number from 1 to {}", u32::MAX))
}

fn whole_number_from_0(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("give a whole number from 0 to {}", u32::MAX))
}

fn dollars(text: &str) -> Result<Usd, String> {
    match text.strip_prefix('$').unwrap_or(text).parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(Usd(amount)),
        _ => Err("give an amount in dollars above 0, such as 20 or 0.50".into()),
    }
}

fn positive_duration(text: &str) -> Result<Duration, String> {
    let duration = autonoe_core::duration::parse(text)?;
    if duration.is_zero() { Err("give a duration above 0, such as 90m or 8h".into()) } else { Ok(duration) }
}

fn thinking_budget(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(budget) if budget >= MIN_THINKING => Ok(budget),
        _ => Err(format!("give a whole number of tokens from {MIN_THINKING} to {}", u32::MAX)),
    }
}
