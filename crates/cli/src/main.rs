//! The binary: reads what was typed and the environment, does one command, exits with its code.
//!
//! This crate is the only one that reads the environment, prints, or exits.

mod acquire;
mod arguments;
mod backend_factory;
mod backend_name;
mod browser;
mod command_line;
mod commands;
mod consent;
mod engine;
mod environment;
mod helper;
mod options;
mod permissions;
mod preflight;
mod present;
mod probe;
mod programs;
mod providers;
mod recordings;
mod report;
mod resolve_backends;
mod resources;
mod room_config;
mod scratch;
mod stop;
mod system;
mod vendors;
mod write_fault;

use std::process::ExitCode;

use autonoe_core::fault::Fault;
use autonoe_core::outcome::{exit, fault_exit_code};
use autonoe_core::redact::Redactor;
use clap::{CommandFactory, Parser};

use crate::environment::Environment;
use crate::options::{Cli, Command};

fn main() -> ExitCode {
    let typed: Vec<_> = std::env::args_os().skip(1).collect();
    let part = autonoe_sandbox::run_helper_process(typed.first().map(AsRef::as_ref))
        .or_else(|| {
            autonoe_deliverables::run_helper_process(
                &typed,
                std::env::var_os(autonoe_deliverables::CALLS_VARIABLE),
            )
        })
        .or_else(|| autonoe_tools::run_helper_process(&typed));
    if let Some(code) = part {
        std::process::exit(code);
    }
    let cli = Cli::parse();
    let (secrets, done) = match Environment::read() {
        Ok(environment) => (environment.secrets(), dispatch(cli, environment)),
        Err(fault) => (Vec::new(), Err(fault)),
    };
    let code = done.unwrap_or_else(|fault| {
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
        Some(Command::Run(args)) => commands::run::cmd_run(args, environment),
        Some(Command::Sync(args)) => commands::sync::cmd_sync(args, environment),
        Some(Command::Status(args)) => commands::status::cmd_status(&args, &environment),
        Some(Command::Verify(args)) => commands::verify::cmd_verify(&args, &environment),
        Some(Command::Checks(args)) => commands::checks::cmd_checks(&args, &environment),
        Some(Command::Report(args)) => commands::report::cmd_report(&args, &environment),
        Some(Command::Agent(args)) => commands::agent::cmd_agent(args, &environment),
        Some(Command::Init(args)) => commands::init::cmd_init(&args),
        Some(Command::Doctor(args)) => commands::doctor::cmd_doctor(&args, &environment),
        Some(Command::Demo(args)) => commands::demo::cmd_demo(args, environment),
        Some(Command::Policy(args)) => commands::policy::cmd_policy(&args, &environment),
        Some(Command::Trust(args)) => commands::trust::cmd_trust(&args, &environment),
        Some(Command::Sessions(args)) => commands::sessions::cmd_sessions(&args, &environment),
        Some(Command::Mcp(args)) => commands::mcp::cmd_mcp(&args, environment),
        Some(Command::Completions(args)) => commands::completions::cmd_completions(&args, Cli::command()),
        Some(Command::Man(args)) => commands::man::cmd_man(&args, Cli::command()),
    }
}
