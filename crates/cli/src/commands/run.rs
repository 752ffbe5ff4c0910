//! `autonoe run`

use autonoe_core::fault::Fault;
use clap::Args;

use crate::arguments::{CommonArgs, SpecArgs};
use crate::backend_name::Substitute;
use crate::engine::{Job, Request, drive};
use crate::environment::Environment;

pub const DESTRUCTIVE: &str =
    "destructive commands (rm, mv) are enabled; files can be deleted within the project directory.";

/// Build what SPEC.md asks for
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Options shared with other commands.
    #[command(flatten)]
    pub common: CommonArgs,

    /// Options shared with `sync`.
    #[command(flatten)]
    pub spec: SpecArgs,

    /// Run without the sandbox
    #[arg(long)]
    pub no_sandbox: bool,

    /// Allow rm and mv inside the project
    #[arg(long, short = 'D')]
    pub allow_destructive: bool,

    /// Accept only what is verified: what merely an agent claims does not count as done
    #[arg(long)]
    pub strict: bool,

    /// Agent that has an independent look in the end at what no check covers: NAME or NAME:MODEL, another than the builder
    #[arg(long, value_name = "NAME")]
    pub verifier: Option<Substitute>,
}

/// Builds what SPEC.md asks for.
pub fn cmd_run(args: RunArgs, environment: Environment) -> Result<u8, Fault> {
    let request = Request {
        job: Job::Run { is_strict: args.strict, verifier: args.verifier.as_ref() },
        args: &args.common,
        plan_model: args.spec.plan_model.as_deref(),
        resume: args.spec.resume,
        start_over: args.spec.start_over,
        allow_destructive: args.allow_destructive,
        allow_commands: Vec::new(),
        no_sandbox: args.no_sandbox,
        warning: args.allow_destructive.then_some(DESTRUCTIVE),
    };
    drive(request, &environment)
}
