//! `autonoe sync`

use autonoe_core::fault::Fault;
use clap::Args;

use crate::arguments::{CommonArgs, SpecArgs};
use crate::engine::{Job, Request, drive};
use crate::environment::Environment;

/// Bring the deliverables in line with SPEC.md
#[derive(Debug, Clone, Args)]
pub struct SyncArgs {
    /// Options shared with other commands.
    #[command(flatten)]
    pub common: CommonArgs,

    /// Options shared with `run`.
    #[command(flatten)]
    pub spec: SpecArgs,
}

/// Brings the deliverables in line with SPEC.md and verifies them.
pub fn cmd_sync(args: SyncArgs, environment: Environment) -> Result<u8, Fault> {
    let request = Request {
        job: Job::Sync,
        args: &args.common,
        plan_model: args.spec.plan_model.as_deref(),
        resume: args.spec.resume,
        start_over: args.spec.start_over,
        allow_destructive: false,
        allow_commands: Vec::new(),
        no_sandbox: false,
        warning: None,
    };
    drive(request, &environment)
}
