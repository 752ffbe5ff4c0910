//! The binary: parses the command line, reads the environment, runs one command and exits with its code.
//!
//! This crate is the only one that reads the environment, prints, or exits.

mod arguments;
mod backend_name;
mod backend_settings;
mod best_of;
mod branch_name;
mod browser;
mod build_info;
mod check_room;
mod ci_scripts;
mod command_line;
mod commands;
mod completion_candidates;
mod consent;
mod detach;
mod engine;
mod environment;
mod fleet_clones;
mod helper;
mod key_command;
mod known_repository;
mod labelled_issues;
mod lock_project;
mod name_resolution;
mod nearest_command;
mod notify_settings;
mod offered_servers;
mod open_hub;
mod options;
mod output_file;
mod passed_names;
mod path_in_project;
mod permissions;
mod preflight;
mod present;
mod probe;
mod programs;
mod project_args;
mod providers;
mod recordings;
mod recovery_ladder;
mod resolve_backends;
mod resources;
mod room_config;
mod scratch;
mod search_path;
mod spec_draft;
mod spec_template;
mod stop;
mod survey;
mod system;
mod unseen_commits;
mod vendors;
mod watch;
mod work_place;
mod write_fault;

use std::process::ExitCode;

use autonoe_core::fault::Fault;
use autonoe_core::outcome::{exit, fault_exit_code};
use autonoe_core::redact::Redactor;
use clap::{CommandFactory, Parser};
use clap_complete::CompleteEnv;

use crate::environment::Environment;
use crate::nearest_command::suggest_command;
use crate::options::{Cli, CliCommand};

/// musl's own allocator is many times slower when several threads allocate.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let helper_exit = autonoe_sandbox::run_helper_process(args.first().map(AsRef::as_ref))
        .or_else(|| {
            autonoe_deliverables::run_helper_process(
                &args,
                std::env::var_os(autonoe_deliverables::CALLS_VARIABLE),
            )
        })
        .or_else(|| autonoe_tools::run_helper_process(&args));
    if let Some(code) = helper_exit {
        std::process::exit(code);
    }
    search_path::leave_project(&args);
    present::report_panics();
    // Before anything else: what follows needs more stack than some shells allow.
    if let Err(fault) = resources::raise_memory_limits() {
        present::report_fault(&fault, &Redactor::new(&[]));
        return ExitCode::from(fault_exit_code(&fault));
    }
    CompleteEnv::with_factory(Cli::command).var(commands::completions::VARIABLE).complete();
    let cli = Cli::try_parse().unwrap_or_else(|error| {
        let args: Vec<String> = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        present::exit_with_usage(&suggest_command(error, Cli::command(), &args))
    });
    // Needs nothing of the environment, not even a home.
    if cli.version {
        let short = format!("autonoe {}\n", build_info::VERSION);
        present::print(&if cli.verbose { build_info::describe() } else { short });
        return ExitCode::from(exit::DONE);
    }
    let (secrets, result) = match Environment::read() {
        Ok(environment) => {
            if environment.variable("NO_COLOR").is_some() {
                present::disable_colours();
            }
            (environment.secrets(), dispatch(cli, environment))
        }
        Err(fault) => (Vec::new(), Err(fault)),
    };
    let code = result.unwrap_or_else(|fault| {
        present::report_fault(&fault, &Redactor::new(&secrets));
        fault_exit_code(&fault)
    });
    ExitCode::from(code)
}

fn dispatch(cli: Cli, environment: Environment) -> Result<u8, Fault> {
    match cli.command {
        None => {
            let help = Cli::command().render_help();
            present::print_ansi(&help);
            Ok(exit::DONE)
        }
        Some(CliCommand::Run(args)) => commands::run::cmd_run(args, environment),
        Some(CliCommand::Plan(args)) => commands::plan::cmd_plan(&args, &environment),
        Some(CliCommand::Sync(args)) => commands::sync::cmd_sync(args, environment),
        Some(CliCommand::Status(args)) => commands::status::cmd_status(&args, &environment),
        Some(CliCommand::Attach(args)) => commands::follow::cmd_attach(&args, &environment),
        Some(CliCommand::Logs(args)) => commands::follow::cmd_logs(&args, &environment),
        Some(CliCommand::Open(args)) => commands::open::cmd_open(&args, &environment),
        Some(CliCommand::Tell(args)) => commands::steer::cmd_tell(&args, &environment),
        Some(CliCommand::Pause(args)) => commands::steer::cmd_pause(&args, &environment),
        Some(CliCommand::Resume(args)) => commands::steer::cmd_resume(&args, &environment),
        Some(CliCommand::Stop(args)) => commands::steer::cmd_stop(&args, &environment),
        Some(CliCommand::Unblock(args)) => commands::unblock::cmd_unblock(&args, &environment),
        Some(CliCommand::Land(args)) => commands::land::cmd_land(&args, &environment),
        Some(CliCommand::Pr(args)) => commands::pr::cmd_pr(&args, &environment),
        Some(CliCommand::Diff(args)) => commands::land::cmd_diff(&args, &environment),
        Some(CliCommand::Verify(args)) => commands::verify::cmd_verify(&args, &environment),
        Some(CliCommand::Checks(args)) => commands::checks::cmd_checks(&args, &environment),
        Some(CliCommand::Report(args)) => commands::report::cmd_report(&args, &environment),
        Some(CliCommand::Cost(args)) => commands::cost::cmd_cost(&args, &environment),
        Some(CliCommand::Agent(args)) => commands::agent::cmd_agent(args, &environment),
        Some(CliCommand::Harness(args)) => commands::harness::cmd_harness(args, &environment),
        Some(CliCommand::Fleet(args)) => commands::fleet::cmd_fleet(args, &environment, Cli::command),
        Some(CliCommand::Init(args)) => commands::init::cmd_init(&args, &environment),
        Some(CliCommand::Doctor(args)) => commands::doctor::cmd_doctor(&args, &environment),
        Some(CliCommand::Demo(args)) => commands::demo::cmd_demo(args, environment),
        Some(CliCommand::Policy(args)) => commands::policy::cmd_policy(&args, &environment),
        Some(CliCommand::Trust(args)) => commands::trust::cmd_trust(&args, &environment),
        Some(CliCommand::Notify(args)) => commands::notify::cmd_notify(&args, &environment),
        Some(CliCommand::Sessions(args)) => commands::sessions::cmd_sessions(&args, &environment),
        Some(CliCommand::Mcp(args)) => commands::mcp::cmd_mcp(&args, environment),
        Some(CliCommand::Completions(args)) => commands::completions::cmd_completions(&args),
        Some(CliCommand::Man(args)) => commands::man::cmd_man(&args, Cli::command()),
        Some(CliCommand::CheckDocs(args)) => commands::check_docs::cmd_check_docs(&args, &Cli::command()),
    }
}
