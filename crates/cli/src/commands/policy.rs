//! `autonoe policy`

use std::io::BufRead;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::mode::Mode;
use autonoe_core::outcome::exit;
use autonoe_core::profile::Profile;
use autonoe_policy::{CommandPolicy, CommandVerdict, PolicyLevel, PolicyOptions};
use autonoe_sandbox::SandboxLayer;
use autonoe_store::Project;
use autonoe_store::config::AgentConfig;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::lock_project::removable_locks;
use crate::permissions::policy_level;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::room_config::{detect_host, disabled_by};
use crate::system::runtime;

/// Show what the command policy decides, and by which rule
#[derive(Debug, Args)]
pub struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Check whether a shell command is allowed, and by which rule
    ///
    /// Exits with 0 if it is allowed, with 3 if it is denied.
    Check(CheckArgs),
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// Shell command; several words are joined with spaces
    #[arg(
        required_unless_present = "batch",
        conflicts_with = "batch",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<String>,

    #[command(flatten)]
    project: ProjectArgs,

    /// Command under which the agent runs
    #[arg(long, default_value = "run")]
    mode: ModeName,

    /// How much the policy judges itself [default: what a run here would use]
    #[arg(long)]
    level: Option<LevelName>,

    /// Language profile; can be repeated [default: those in .autonoe/agent.json, or else all]
    #[arg(long, value_name = "NAME", value_parser = profile)]
    profile: Vec<Profile>,

    /// Allow rm and mv, like `autonoe run --allow-destructive`
    #[arg(long, short = 'D')]
    allow_destructive: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Read commands from standard input, one JSON string per line, and print one JSON verdict per line
    #[arg(long)]
    batch: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeName {
    /// `autonoe run`
    Run,
    /// `autonoe sync`
    Sync,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LevelName {
    /// Any program may run in the sandbox, except what publishes, signals others or turns protections off
    Contained,
    /// Only listed commands may run, on checked paths
    Strict,
}

#[derive(Debug, thiserror::Error)]
#[error("expected one of {}", Profile::ALL.map(|profile| profile.name()).join(", "))]
struct UnknownProfile;

fn profile(name: &str) -> Result<Profile, UnknownProfile> {
    Profile::ALL.into_iter().find(|profile| profile.name() == name).ok_or(UnknownProfile)
}

pub fn cmd_policy(args: &PolicyArgs, environment: &Environment) -> Result<u8, Fault> {
    let PolicyCommand::Check(args) = &args.command;
    let policy = policy(args, &environment.project(&args.project)?, environment)?;
    if args.batch {
        return batch(&policy);
    }
    let command = args.command.join(" ");
    let verdict = policy.check(&command);
    match args.json {
        true => present::print_json(&format!("{}\n", as_json(&command, &verdict))),
        false => present::print(&as_text(&verdict)),
    }
    Ok(if verdict.is_allowed() { exit::DONE } else { exit::BLOCKED })
}

fn policy(args: &CheckArgs, project: &Project, environment: &Environment) -> Result<CommandPolicy, Fault> {
    let config = AgentConfig::load(project)?;
    let mode = match args.mode {
        ModeName::Run => Mode::Run,
        ModeName::Sync => Mode::Sync,
    };
    let level = match args.level {
        Some(LevelName::Contained) => PolicyLevel::Contained,
        Some(LevelName::Strict) => PolicyLevel::Strict,
        None => usual_level(&config, project, environment)?,
    };
    let config = config.effective(mode);
    let profiles = if args.profile.is_empty() { config.profiles } else { Profile::active(&args.profile) };
    Ok(CommandPolicy::new(PolicyOptions {
        level,
        is_throwaway: mode == Mode::Sync,
        profiles,
        allow_destructive: args.allow_destructive,
        allow_commands: config.commands,
        pkill_targets: config.pkill_targets,
        git_locks: removable_locks(project),
        ..PolicyOptions::new(mode, project.root())
    }))
}

/// The level of a run that is started here without options.
fn usual_level(
    config: &AgentConfig,
    project: &Project,
    environment: &Environment,
) -> Result<PolicyLevel, Fault> {
    let without_sandbox = disabled_by(false, environment, &environment.user_config()?).is_some();
    let host = runtime()?.block_on(detect_host(project, environment, without_sandbox)?);
    // Without a sandbox there is no run either.
    let layer = host.sandbox.map_or(SandboxLayer::None, |sandbox| sandbox.layer());
    Ok(policy_level(config, layer, !without_sandbox))
}

fn batch(policy: &CommandPolicy) -> Result<u8, Fault> {
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let wrong = |what: String| {
            Fault::permanent(
                FaultLayer::Config,
                "batch",
                format!("Line {} cannot be read: {what}.", number + 1),
            )
            .hint("Each line is one command as a JSON string, such as \"ls -la\".")
        };
        let line = line.map_err(|error| wrong(error.to_string()))?;
        let command: String = serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?;
        present::print_json(&format!("{}\n", as_json(&command, &policy.check(&command))));
    }
    Ok(exit::DONE)
}

fn as_json(command: &str, verdict: &CommandVerdict) -> Value {
    let mut json = json!({
        "command": command,
        "allowed": verdict.is_allowed(),
        "rule": verdict.rule,
        "reason": verdict.reason,
    });
    if let Some(instead) = &verdict.instead {
        json["instead"] = json!(instead);
    }
    json
}

fn as_text(verdict: &CommandVerdict) -> String {
    let word = if verdict.is_allowed() { "allowed" } else { "denied" };
    let mut text = format!("{word} ({})\n{}\n", verdict.rule, verdict.reason);
    if let Some(instead) = &verdict.instead {
        text.push_str(&format!("Instead: {instead}\n"));
    }
    text
}
